/* OTLP profiles: a dictionary of tables, and profiles whose samples refer to entries by index.
 *
 * Malformed bytes refuse the request. A profile with an index out of range is dropped, and so is a
 * sample with neither value nor time; both are counted. */
#include "decode/otlp/otlp_profile.h"

static void otlp_profile_read_scope(struct sf_otlp_reader *r, struct sf_pb *pb)
{
    struct sf_pb msg = sf_pb_msg(pb), again = msg;
    struct sf_attrs resource = r->resource;
    /* The scope may come after its profiles. */
    while (sf_pb_next(&msg) && !r->b->is_full) {
        if (msg.tag == SF_PB_TAG(1, SF_PB_LEN))
            sf_otlp_profile_owner_read(r, &msg, 3);
        else
            sf_pb_skip(&msg);
    }
    while (sf_pb_next(&again) && sf_profile_build_ok(r->b) && !r->err) {
        if (again.tag == SF_PB_TAG(2, SF_PB_LEN))
            sf_otlp_profile_samples_read(r, &again);
        else
            sf_pb_skip(&again);
    }
    r->resource = resource;
    r->n_resources++;
    sf_pb_join(pb, &msg);
    sf_pb_join(pb, &again);
}

static void otlp_profile_read_resource(struct sf_otlp_reader *r, struct sf_pb *pb)
{
    struct sf_pb msg = sf_pb_msg(pb), again = msg;
    r->resource = (struct sf_attrs){0};
    r->n_resources++;
    while (sf_pb_next(&msg) && !r->b->is_full) {
        if (msg.tag == SF_PB_TAG(1, SF_PB_LEN))
            sf_otlp_profile_owner_read(r, &msg, 1);
        else
            sf_pb_skip(&msg);
    }
    while (sf_pb_next(&again) && sf_profile_build_ok(r->b)) {
        if (again.tag == SF_PB_TAG(2, SF_PB_LEN))
            otlp_profile_read_scope(r, &again);
        else
            sf_pb_skip(&again);
    }
    sf_pb_join(pb, &msg);
    sf_pb_join(pb, &again);
}

/* Checks all bytes that can be checked without knowing the version. */
static enum sf_err check_bytes(const struct sf_otlp_reader *r)
{
    struct sf_pb top = sf_pb_init(r->body);
    while (sf_pb_next(&top)) {
        if ((top.tag & 7) == SF_PB_LEN && top.field <= 2) {
            struct sf_pb msg = sf_pb_msg(&top);
            while (sf_pb_next(&msg))
                sf_pb_skip(&msg);
            sf_pb_join(&top, &msg);
        } else {
            sf_pb_skip(&top);
        }
    }
    return sf_pb_why(&top, "otlp", r->b->why);
}

static enum sf_err otlp_profile_read_body(struct sf_otlp_reader *r)
{
    struct sf_pb pb = sf_pb_init(r->body);
    r->layout = &sf_otlp_layouts[r->version];
    r->fault = sf_pb_init(SF_BYTES_NONE);
    if (r->version != SF_OTLP_1_4 && !r->has_tables && !sf_otlp_profile_tables_read(r, pb, true))
        return SF_OK; /* finish() reports the error */
    while (sf_pb_next(&pb) && sf_profile_build_ok(r->b)) {
        if (pb.tag == SF_PB_TAG(1, SF_PB_LEN))
            otlp_profile_read_resource(r, &pb);
        else
            sf_pb_skip(&pb);
    }
    sf_pb_join(&pb, &r->fault);
    if (!r->err && sf_pb_ok(&pb) && !r->b->is_full)
        sf_otlp_profile_text_list(r);
    return r->err ? r->err : sf_pb_why(&pb, "otlp", r->b->why);
}

static struct sf_otlp_reader *otlp_profile_new_reader(struct sf_profile_build *b, sf_bytes body)
{
    struct sf_otlp_reader *r = sf_profile_new(b, 1, sizeof(*r));
    if (!r)
        return NULL;
    r->b = b;
    r->body = body.p ? body : (sf_bytes){(const uint8_t *)"", 0};
    r->fault = sf_pb_init(SF_BYTES_NONE);
    return r;
}

static enum sf_err decode_pb(struct sf_profile_build *b, sf_str bytes)
{
    struct sf_otlp_reader *r = otlp_profile_new_reader(b, sf_str_bytes(bytes));
    enum sf_err err;
    if (!r)
        return SF_OK; /* finish() reports the error */
    err = check_bytes(r);
    if (!err)
        err = sf_otlp_profile_version_find(r, b->hint->otlp_version);
    return err || b->is_full ? err : otlp_profile_read_body(r);
}

/* One request, or one per line, as the Collector writes files. */
static enum sf_err decode_json(struct sf_profile_build *b, sf_str text)
{
    enum sf_err err = SF_OK;
    do {
        enum sf_otlp_version version;
        struct sf_otlp_reader *r;
        sf_bytes body;
        err = sf_otlp_profile_json_transcribe(b, &text, &body, &version);
        r = err || b->is_full ? NULL : otlp_profile_new_reader(b, body);
        if (!r)
            break; /* full: finish() reports the error */
        r->is_json = true;
        r->version = version;
        err = otlp_profile_read_body(r);
    } while (!err && text.len && sf_profile_build_ok(b));
    return err;
}

/* The first profile of the body, if there is one. */
static struct sf_pb first_profile(struct sf_pb pb)
{
    for (int level = 0; level < 3; level++) {
        uint32_t want = SF_PB_TAG(level ? 2 : 1, SF_PB_LEN);
        bool found = false;
        while (!found && sf_pb_next(&pb)) {
            found = pb.tag == want;
            if (!found)
                sf_pb_skip(&pb);
        }
        if (!found)
            return sf_pb_init(SF_BYTES_NONE);
        pb = sf_pb_msg(&pb);
    }
    return pb;
}

/* Only resources and a dictionary at the top level, or, without a dictionary, a profile with its
 * own strings; a pprof has fields above 2, and spans have no strings there. */
static bool is_pb(sf_str bytes)
{
    struct sf_pb pb = sf_pb_init(sf_str_bytes(bytes)), part;
    bool has_dictionary = false, has_resource = false, has_strings = false;
    while (sf_pb_next(&pb)) {
        if (pb.tag != SF_PB_TAG(1, SF_PB_LEN) && pb.tag != SF_PB_TAG(2, SF_PB_LEN))
            return false;
        has_resource |= pb.field == 1;
        has_dictionary |= pb.field == 2;
        part = sf_pb_msg(&pb);
        /* Both begin with messages; a table of labels begins with a number. */
        if (sf_pb_next(&part) && part.tag == SF_PB_TAG(1, SF_PB_VARINT))
            return false;
    }
    if (!sf_pb_ok(&pb) || !has_resource)
        return false;
    pb = first_profile(sf_pb_init(sf_str_bytes(bytes)));
    while (sf_pb_next(&pb)) {
        has_strings |= pb.tag == SF_PB_TAG(10, SF_PB_LEN);
        sf_pb_skip(&pb);
    }
    return has_dictionary || has_strings;
}

static bool otlp_profile_is_json(sf_str bytes)
{
    sf_str head = sf_str_part(sf_str_trim(bytes), 0, 4096);
    return head.len && head.p[0] == '{' &&
           (sf_str_find(head, SF_STR("\"resourceProfiles\""), &(size_t){0}) ||
            sf_str_find(head, SF_STR("\"resource_profiles\""), &(size_t){0}) ||
            (sf_str_find(head, SF_STR("\"dictionary\""), &(size_t){0}) &&
             sf_str_find(bytes, SF_STR("\"resourceProfiles\""), &(size_t){0})));
}

const struct sf_profile_format sf_otlp_format = {
    .name = "otlp",
    .also = "otlp-protobuf",
    .is = is_pb,
    .decode = decode_pb,
};

const struct sf_profile_format sf_otlp_json_format = {
    .name = "otlp-json",
    .also = "",
    .is = otlp_profile_is_json,
    .decode = decode_json,
};

/* otlp_profile_text.c - lists the texts of an OTLP body that the batch decoded from it may not
 * have.
 *
 * A body is logged as received only if every text in it was searched for secrets. Numbers, lists of
 * numbers and ids are no texts. Names of functions are in the batch; all other strings, attributes
 * and names of scopes are listed for intake. A field of bytes that is none of these (a payload in
 * another format, a map, a field of a later version) is not searched: the body is not logged. */
#include "decode/otlp/otlp_profile.h"

enum { MAX_LISTED = 1000 };

struct text_walk {
    struct sf_otlp_reader *r;
    bool has_hidden; /* a text that is neither in the batch nor listed */
};

#define FIELD(n) ((uint32_t)1 << (n))

static void list_text(struct text_walk *w, sf_str key, sf_str val)
{
    struct sf_profile_build *b = w->r->b;
    struct sf_label *to;
    if (!val.len || w->has_hidden)
        return;
    if (b->unseen.n == MAX_LISTED || sf_profile_clean(b, val).p != val.p) {
        w->has_hidden = true;
        return;
    }
    to = sf_profile_list_more(b, &b->unseen, sizeof(*to));
    if (to) {
        *to = (struct sf_label){key, val};
        b->unseen.n++;
    }
}

/* Fields of bytes only where `lists` has them: lists of numbers. */
static void expect_numbers(struct text_walk *w, struct sf_pb msg, uint32_t lists)
{
    while (sf_pb_next(&msg)) {
        if ((msg.tag & 7) == SF_PB_LEN && (msg.field > 31 || !(lists >> msg.field & 1)))
            w->has_hidden = true;
        sf_pb_skip(&msg);
    }
}

static void expect_id(struct text_walk *w, struct sf_pb *pb, size_t len)
{
    sf_bytes id = sf_pb_bytes(pb);
    w->has_hidden |= id.len != 0 && id.len != len;
}

/* ---- attributes ---- */

static sf_str walk_value(struct text_walk *w, struct sf_pb *pb)
{
    struct sf_pb any = sf_pb_msg(pb);
    sf_str out = SF_STR_NONE;
    uint32_t n = 0;
    while (sf_pb_next(&any)) {
        struct sf_value v = {.type = SF_VALUE_INT};
        w->has_hidden |= n++ > 0;
        switch (any.tag) {
        case SF_PB_TAG(1, SF_PB_LEN): out = sf_pb_str(&any); break;
        case SF_PB_TAG(2, SF_PB_VARINT): sf_pb_skip(&any); break;
        case SF_PB_TAG(3, SF_PB_VARINT):
            v.i64 = sf_pb_i64(&any);
            out = sf_otlp_profile_attrs_label_text(w->r->b, v);
            break;
        case SF_PB_TAG(8, SF_PB_VARINT):
            out = sf_otlp_profile_tables_str(w->r, sf_pb_u64(&any));
            break;
        default:
            w->has_hidden = true;
            sf_pb_skip(&any);
            break;
        }
    }
    return out;
}

/* `key_field` is the field with the key as an index. */
static void walk_attr(struct text_walk *w, struct sf_pb kv, uint32_t key_field)
{
    sf_str key = SF_STR_NONE, val = SF_STR_NONE;
    uint32_t n_keys = 0, n_vals = 0;
    while (sf_pb_next(&kv)) {
        if (kv.tag == SF_PB_TAG(1, SF_PB_LEN)) {
            key = sf_pb_str(&kv);
            list_text(w, SF_STR("otlp.key"), key);
            n_keys++;
        } else if (kv.tag == SF_PB_TAG(key_field, SF_PB_VARINT)) {
            key = sf_otlp_profile_tables_str(w->r, sf_pb_u64(&kv));
            n_keys++;
        } else if (kv.tag == SF_PB_TAG(2, SF_PB_LEN)) {
            val = walk_value(w, &kv);
            n_vals++;
        } else {
            w->has_hidden |= (kv.tag & 7) == SF_PB_LEN;
            sf_pb_skip(&kv);
        }
    }
    w->has_hidden |= n_keys > 1 || n_vals > 1;
    list_text(w, key, val);
}

/* ---- the dictionary ---- */

static void walk_location(struct text_walk *w, struct sf_pb msg)
{
    while (sf_pb_next(&msg)) {
        if (msg.tag == SF_PB_TAG(3, SF_PB_LEN)) {
            expect_numbers(w, sf_pb_msg(&msg), 0);
            continue;
        }
        w->has_hidden |= (msg.tag & 7) == SF_PB_LEN && msg.field != w->r->layout->location_attrs;
        sf_pb_skip(&msg);
    }
}

static void walk_link(struct text_walk *w, struct sf_pb msg)
{
    while (sf_pb_next(&msg)) {
        if (msg.tag == SF_PB_TAG(1, SF_PB_LEN)) {
            expect_id(w, &msg, 16);
        } else if (msg.tag == SF_PB_TAG(2, SF_PB_LEN)) {
            expect_id(w, &msg, 8);
        } else {
            w->has_hidden |= (msg.tag & 7) == SF_PB_LEN;
            sf_pb_skip(&msg);
        }
    }
}

/* Was the entry decoded to its end? Then r->has_other tells about it, too. */
static bool is_decoded(const struct sf_otlp_reader *r, enum sf_otlp_table_kind kind, uint32_t i)
{
    uint32_t place = r->tables[kind].places[i];
    return place != SF_OTLP_NEW && place != SF_NONE;
}

static void walk_tables(struct text_walk *w)
{
    struct sf_otlp_reader *r = w->r;
    for (uint32_t i = 0; i < r->tables[SF_OTLP_MAPPINGS].n; i++)
        expect_numbers(w, sf_otlp_entry(r, SF_OTLP_MAPPINGS, i), FIELD(5));
    for (uint32_t i = 0; i < r->tables[SF_OTLP_LOCATIONS].n; i++) {
        if (!is_decoded(r, SF_OTLP_LOCATIONS, i))
            walk_location(w, sf_otlp_entry(r, SF_OTLP_LOCATIONS, i));
    }
    for (uint32_t i = 0; i < r->tables[SF_OTLP_FUNCTIONS].n; i++) {
        if (!is_decoded(r, SF_OTLP_FUNCTIONS, i))
            expect_numbers(w, sf_otlp_entry(r, SF_OTLP_FUNCTIONS, i), 0);
    }
    for (uint32_t i = 0; i < r->tables[SF_OTLP_LINKS].n; i++)
        walk_link(w, sf_otlp_entry(r, SF_OTLP_LINKS, i));
    for (uint32_t i = 0; i < r->tables[SF_OTLP_STACKS].n; i++) {
        if (!is_decoded(r, SF_OTLP_STACKS, i))
            expect_numbers(w, sf_otlp_entry(r, SF_OTLP_STACKS, i), FIELD(1));
    }
    for (uint32_t i = 0; i < r->tables[SF_OTLP_ATTRS].n && !w->has_hidden; i++)
        walk_attr(w, sf_otlp_entry(r, SF_OTLP_ATTRS, i), 1);
    for (uint32_t i = 0; i < r->tables[SF_OTLP_STRINGS].n && !w->has_hidden; i++) {
        sf_str text = sf_bytes_str(r->tables[SF_OTLP_STRINGS].items[i]);
        if (!r->seen[i])
            list_text(w, SF_STR("otlp.string"), text);
        else if (sf_profile_clean(r->b, text).p != text.p)
            w->has_hidden = true; /* the batch has it in another form */
    }
}

/* ---- resources, scopes, profiles ---- */

/* A Resource (attributes are field 1) or InstrumentationScope (field 3, after name and version). */
static void walk_owner(struct text_walk *w, struct sf_pb msg, uint32_t attrs)
{
    while (sf_pb_next(&msg)) {
        if (msg.tag == SF_PB_TAG(attrs, SF_PB_LEN)) {
            walk_attr(w, sf_pb_msg(&msg), 3);
        } else if ((msg.tag & 7) == SF_PB_LEN && msg.field < attrs) {
            list_text(w, SF_STR("otel.scope"), sf_pb_str(&msg));
        } else {
            w->has_hidden |= (msg.tag & 7) == SF_PB_LEN;
            sf_pb_skip(&msg);
        }
    }
}

static void walk_profile(struct text_walk *w, struct sf_pb msg)
{
    const struct sf_otlp_layout *l = w->r->layout;
    uint32_t lists = FIELD(l->sample.values) | FIELD(l->sample.attrs) | FIELD(l->sample.times);
    while (sf_pb_next(&msg) && !w->has_hidden) {
        if ((msg.tag & 7) != SF_PB_LEN || msg.field == l->profile.attrs)
            sf_pb_skip(&msg);
        else if (msg.field == 2)
            expect_numbers(w, sf_pb_msg(&msg), lists);
        else if (msg.field == 1 || msg.field == l->profile.period_type)
            expect_numbers(w, sf_pb_msg(&msg), 0);
        else if (msg.field == l->profile.id)
            expect_id(w, &msg, sizeof(sf_profile_id));
        else
            expect_id(w, &msg, 0); /* a payload in another format, or its name */
    }
}

static void walk_scope(struct text_walk *w, struct sf_pb msg)
{
    while (sf_pb_next(&msg)) {
        switch (msg.tag) {
        case SF_PB_TAG(1, SF_PB_LEN): walk_owner(w, sf_pb_msg(&msg), 3); break;
        case SF_PB_TAG(2, SF_PB_LEN): walk_profile(w, sf_pb_msg(&msg)); break;
        case SF_PB_TAG(3, SF_PB_LEN): list_text(w, SF_STR("schema_url"), sf_pb_str(&msg)); break;
        default:
            w->has_hidden |= (msg.tag & 7) == SF_PB_LEN;
            sf_pb_skip(&msg);
            break;
        }
    }
}

static void walk_resource(struct text_walk *w, struct sf_pb msg)
{
    while (sf_pb_next(&msg)) {
        switch (msg.tag) {
        case SF_PB_TAG(1, SF_PB_LEN): walk_owner(w, sf_pb_msg(&msg), 1); break;
        case SF_PB_TAG(2, SF_PB_LEN): walk_scope(w, sf_pb_msg(&msg)); break;
        case SF_PB_TAG(3, SF_PB_LEN): list_text(w, SF_STR("schema_url"), sf_pb_str(&msg)); break;
        default:
            w->has_hidden |= (msg.tag & 7) == SF_PB_LEN;
            sf_pb_skip(&msg);
            break;
        }
    }
}

void sf_otlp_profile_text_list(struct sf_otlp_reader *r)
{
    struct text_walk w = {.r = r, .has_hidden = r->has_other};
    struct sf_pb pb = sf_pb_init(r->body);
    if (!r->seen)
        return;
    while (sf_pb_next(&pb) && !w.has_hidden) {
        if (pb.tag == SF_PB_TAG(1, SF_PB_LEN)) {
            walk_resource(&w, sf_pb_msg(&pb));
        } else if (pb.tag == SF_PB_TAG(2, SF_PB_LEN)) {
            sf_pb_skip(&pb); /* its tables were located before */
        } else {
            w.has_hidden |= (pb.tag & 7) == SF_PB_LEN;
            sf_pb_skip(&pb);
        }
    }
    if (!w.has_hidden)
        walk_tables(&w);
    r->b->is_all_seen = !w.has_hidden && !r->b->is_full && sf_pb_ok(&pb);
}

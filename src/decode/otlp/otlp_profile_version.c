/* Detects the OTLP version. Requests carry no version number, and since 1.4 all versions use the
 * same path while field numbers have changed. A version is recognised by the location of the
 * tables, the wire type of a profile's time, and the form of table entries. Between 1.9 and 1.10
 * only field numbers of Sample changed, so both are tried on the samples, and the one under which
 * they are consistent is used. */
#include <inttypes.h>

#include "decode/otlp/otlp_profile.h"

#define TABLES_IN_DICTIONARY(stacks) \
    {                                \
        1, 2, 3, 4, 5, 6, stacks     \
    }

const struct sf_otlp_layout sf_otlp_layouts[SF_OTLP_VERSIONS] = {
    [SF_OTLP_1_4] =
        {.sample = {.start = 1, .length = 2, .values = 3, .attrs = 4, .link = 5, .times = 6},
         .profile = {.time = 11,
                     .duration = 12,
                     .period_type = 13,
                     .period = 14,
                     .id = 17,
                     .format = 20,
                     .payload = 21,
                     .attrs = 22,
                     .locations = 5},
         .location_attrs = 5,
         .tables = {3, 4, 6, 9, 10, 7, 0}},
    [SF_OTLP_1_7] =
        {.sample = {.start = 1, .length = 2, .values = 3, .attrs = 4, .link = 5, .times = 6},
         .profile = {.time = 4,
                     .duration = 5,
                     .period_type = 6,
                     .period = 7,
                     .id = 10,
                     .format = 12,
                     .payload = 13,
                     .attrs = 14,
                     .locations = 3},
         .location_attrs = 5,
         .tables = TABLES_IN_DICTIONARY(0)},
    [SF_OTLP_1_8] = {.sample = {.stack = 1, .values = 2, .attrs = 3, .link = 4, .times = 5},
                     .profile = {.time = 3,
                                 .duration = 4,
                                 .period_type = 5,
                                 .period = 6,
                                 .id = 8,
                                 .format = 10,
                                 .payload = 11,
                                 .attrs = 12},
                     .location_attrs = 4,
                     .tables = TABLES_IN_DICTIONARY(7),
                     .has_zero = true},
    [SF_OTLP_1_9] = {.sample = {.stack = 1, .values = 2, .attrs = 3, .link = 4, .times = 5},
                     .profile = {.time = 3,
                                 .duration = 4,
                                 .period_type = 5,
                                 .period = 6,
                                 .id = 7,
                                 .format = 9,
                                 .payload = 10,
                                 .attrs = 11},
                     .location_attrs = 4,
                     .tables = TABLES_IN_DICTIONARY(7),
                     .has_zero = true},
    [SF_OTLP_1_10] = {.sample = {.stack = 1, .attrs = 2, .link = 3, .values = 4, .times = 5},
                      .profile = {.time = 3,
                                  .duration = 4,
                                  .period_type = 5,
                                  .period = 6,
                                  .id = 7,
                                  .format = 9,
                                  .payload = 10,
                                  .attrs = 11},
                      .location_attrs = 4,
                      .tables = TABLES_IN_DICTIONARY(7),
                      .has_zero = true},
};

struct trial { /* trial of one layout */
    const struct sf_otlp_layout *l;
    uint64_t n_wrong;
    int shape; /* form of the profile's samples so far; 0: none seen */
};

struct evidence {
    bool has_dictionary, has_samples;
    bool has_tables;           /* tables are in profiles: 1.4 or 1.5 */
    bool is_fixed, is_indices; /* field 3 of a profile: a fixed number, or a list */
    bool has_old_attr, has_old_unit, has_new_entry;
    bool has_8;       /* a field that only 1.8 has */
    bool has_strings; /* attributes by index: 1.10 and later */
    struct trial trials[2];
    uint64_t n_samples; /* samples tried */
};

/* --- samples, under two layouts --- */

static uint32_t count_run(struct sf_pb *pb, bool is_times)
{
    struct sf_pb run = sf_pb_run(pb);
    uint64_t v;
    uint32_t n = 0;
    while (is_times ? sf_pb_run_fixed64(&run, &v) : sf_pb_run_varint(&run, &v))
        n++;
    return n + !sf_pb_ok(&run); /* a malformed list must not compare equal */
}

static bool try_attrs(struct sf_otlp_reader *r, struct sf_pb *pb, uint32_t *seen, uint32_t *n_seen)
{
    struct sf_pb run = sf_pb_run(pb);
    uint64_t v;
    bool is_good = true;
    while (sf_pb_run_varint(&run, &v) && is_good) {
        is_good = v && v < r->tables[SF_OTLP_ATTRS].n && *n_seen < SF_LIMIT_SAMPLE_LABELS;
        for (uint32_t i = 0; is_good && i < *n_seen; i++)
            is_good = !sf_str_eq(sf_otlp_profile_attrs_at(r, seen[i])->key,
                                 sf_otlp_profile_attrs_at(r, (uint32_t)v)->key);
        if (is_good)
            seen[(*n_seen)++] = (uint32_t)v;
    }
    return is_good && sf_pb_ok(&run);
}

enum { SHAPE_BAD = -1, SHAPE_SUM = 1, SHAPE_EVENTS, SHAPE_TIMED };

static void try_sample(struct sf_otlp_reader *r, struct sf_pb pb, struct trial *t)
{
    uint32_t seen[SF_LIMIT_SAMPLE_LABELS], n_seen = 0, n_values = 0, n_times = 0, n_links = 0;
    bool is_good = true;
    int shape;
    while (sf_pb_next(&pb)) {
        if (pb.field == t->l->sample.values) {
            n_values += count_run(&pb, false);
        } else if (pb.field == t->l->sample.times) {
            n_times += count_run(&pb, true);
        } else if (pb.field == t->l->sample.attrs) {
            is_good &= try_attrs(r, &pb, seen, &n_seen);
        } else if (pb.field == t->l->sample.link) {
            bool is_number = (pb.tag & 7) == SF_PB_VARINT;
            uint64_t v = sf_pb_u64(&pb);
            is_good &= is_number && n_links++ == 0 && v < r->tables[SF_OTLP_LINKS].n;
        } else {
            sf_pb_skip(&pb);
        }
    }
    shape = n_values && !n_times              ? SHAPE_SUM
            : !n_values && n_times            ? SHAPE_EVENTS
            : n_values && n_values == n_times ? SHAPE_TIMED
                                              : SHAPE_BAD;
    if (shape == SHAPE_SUM && n_values > 1)
        is_good = false;
    if (!t->shape)
        t->shape = shape;
    t->n_wrong += !is_good || shape == SHAPE_BAD || shape != t->shape;
}

/* --- evidence in the messages --- */

static bool otlp_profile_version_has_field(struct sf_pb pb, uint32_t tag)
{
    bool found = false;
    while (sf_pb_next(&pb)) {
        found |= pb.tag == tag;
        sf_pb_skip(&pb);
    }
    return found;
}

static void inspect_attr(struct sf_pb kv, struct evidence *e)
{
    while (sf_pb_next(&kv)) {
        e->has_strings |= kv.tag == SF_PB_TAG(3, SF_PB_VARINT);
        if (kv.tag == SF_PB_TAG(2, SF_PB_LEN))
            e->has_strings |= otlp_profile_version_has_field(sf_pb_msg(&kv),
                                                             SF_PB_TAG(8, SF_PB_VARINT));
        else
            sf_pb_skip(&kv);
    }
}

/* Examines the attributes of a resource or a scope. */
static void inspect_attrs(struct sf_pb pb, uint32_t field, struct evidence *e)
{
    while (sf_pb_next(&pb)) {
        if (pb.tag == SF_PB_TAG(field, SF_PB_LEN))
            inspect_attr(sf_pb_msg(&pb), e);
        else
            sf_pb_skip(&pb);
    }
}

static void inspect_profile(struct sf_pb pb, struct evidence *e)
{
    while (sf_pb_next(&pb)) {
        switch (pb.tag) {
        case SF_PB_TAG(1, SF_PB_LEN):
            e->has_8 |= otlp_profile_version_has_field(sf_pb_msg(&pb), SF_PB_TAG(3, SF_PB_VARINT));
            continue;
        case SF_PB_TAG(2, SF_PB_LEN): e->has_samples = true; break;
        case SF_PB_TAG(3, SF_PB_I64): e->is_fixed = true; break;
        case SF_PB_TAG(3, SF_PB_LEN): e->is_indices = true; break;
        case SF_PB_TAG(8, SF_PB_LEN):
        case SF_PB_TAG(12, SF_PB_LEN):
        case SF_PB_TAG(12, SF_PB_VARINT): e->has_8 = true; break;
        case SF_PB_TAG(10, SF_PB_LEN): e->has_tables = true; break;
        default: break;
        }
        sf_pb_skip(&pb);
    }
}

static void inspect_dictionary(struct sf_pb pb, struct evidence *e)
{
    e->has_dictionary = true;
    while (sf_pb_next(&pb)) {
        if (pb.tag == SF_PB_TAG(6, SF_PB_LEN)) {
            struct sf_pb entry = sf_pb_msg(&pb);
            bool is_old = otlp_profile_version_has_field(entry, SF_PB_TAG(1, SF_PB_LEN));
            e->has_old_attr |= is_old;
            e->has_new_entry |= !is_old;
        } else if (pb.tag == SF_PB_TAG(7, SF_PB_LEN)) {
            struct sf_pb entry = sf_pb_msg(&pb);
            bool has_1 = false, has_2 = false, is_new = entry.at == entry.end;
            while (sf_pb_next(&entry)) {
                has_1 |= entry.tag == SF_PB_TAG(1, SF_PB_VARINT);
                has_2 |= entry.tag == SF_PB_TAG(2, SF_PB_VARINT);
                is_new |= entry.tag == SF_PB_TAG(1, SF_PB_LEN);
                sf_pb_skip(&entry);
            }
            e->has_old_unit |= has_1 && has_2;
            e->has_new_entry |= is_new;
        } else {
            sf_pb_skip(&pb);
        }
    }
}

/* Whether there is enough evidence and only one of the two layouts had no contradictions. */
static bool is_settled(const struct evidence *e)
{
    return e->n_samples >= 256 && !e->trials[0].n_wrong != !e->trials[1].n_wrong;
}

static void try_profile(struct sf_otlp_reader *r, struct sf_pb pb, struct evidence *e)
{
    e->trials[0].shape = e->trials[1].shape = 0;
    while (sf_pb_next(&pb) && !is_settled(e) && !r->b->is_full) {
        struct sf_pb sample;
        if (pb.tag != SF_PB_TAG(2, SF_PB_LEN)) {
            sf_pb_skip(&pb);
            continue;
        }
        sample = sf_pb_msg(&pb);
        for (int t = 0; t < 2; t++)
            try_sample(r, sample, &e->trials[t]);
        e->n_samples++;
    }
}

/* Walks down to the profiles: to examine them, or to try their samples. */
static void walk_profiles(struct sf_otlp_reader *r, struct evidence *e, bool is_trial)
{
    struct sf_pb top = sf_pb_init(r->body), resource, scope;
    while (sf_pb_next(&top)) {
        if (top.tag == SF_PB_TAG(2, SF_PB_LEN) && !is_trial) {
            inspect_dictionary(sf_pb_msg(&top), e);
            continue;
        }
        if (top.tag != SF_PB_TAG(1, SF_PB_LEN)) {
            sf_pb_skip(&top);
            continue;
        }
        resource = sf_pb_msg(&top);
        while (sf_pb_next(&resource)) {
            if (resource.tag == SF_PB_TAG(1, SF_PB_LEN) && !is_trial) {
                inspect_attrs(sf_pb_msg(&resource), 1, e);
                continue;
            }
            if (resource.tag != SF_PB_TAG(2, SF_PB_LEN)) {
                sf_pb_skip(&resource);
                continue;
            }
            scope = sf_pb_msg(&resource);
            while (sf_pb_next(&scope)) {
                if (scope.tag == SF_PB_TAG(1, SF_PB_LEN) && !is_trial)
                    inspect_attrs(sf_pb_msg(&scope), 3, e);
                else if (scope.tag != SF_PB_TAG(2, SF_PB_LEN))
                    sf_pb_skip(&scope);
                else if (is_trial)
                    try_profile(r, sf_pb_msg(&scope), e);
                else
                    inspect_profile(sf_pb_msg(&scope), e);
            }
        }
    }
}

/* Decides between 1.9 and 1.10 by the field numbers inside Sample; the tables are the same in
 * both. */
static enum sf_otlp_version try_samples(struct sf_otlp_reader *r, struct evidence *e)
{
    r->layout = &sf_otlp_layouts[SF_OTLP_1_10];
    if (!sf_otlp_profile_tables_read(r, sf_pb_init(r->body), true))
        return SF_OTLP_1_10; /* full: finish() reports the error */
    e->trials[0].l = &sf_otlp_layouts[SF_OTLP_1_10];
    e->trials[1].l = &sf_otlp_layouts[SF_OTLP_1_9];
    r->has_tables = true;
    walk_profiles(r, e, true);
    return e->trials[1].n_wrong < e->trials[0].n_wrong ? SF_OTLP_1_9 : SF_OTLP_1_10;
}

static bool version_of_name(sf_str name, enum sf_otlp_version *out)
{
    static const struct {
        const char *name;
        enum sf_otlp_version version;
    } names[] = {{"1.4", SF_OTLP_1_4},  {"1.5", SF_OTLP_1_4}, {"1.7", SF_OTLP_1_7},
                 {"1.8", SF_OTLP_1_8},  {"1.9", SF_OTLP_1_9}, {"1.10", SF_OTLP_1_10},
                 {"1.11", SF_OTLP_1_10}};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (sf_str_eq(name, sf_str_from(names[i].name))) {
            *out = names[i].version;
            return true;
        }
    }
    return false;
}

enum sf_err sf_otlp_profile_version_find(struct sf_otlp_reader *r, sf_str name)
{
    struct evidence e = {0};
    if (name.len)
        return version_of_name(name, &r->version)
                   ? SF_OK
                   : sf_fail(r->b->why, SF_ERR_INPUT, "otlp: no profiles version \"%.*s\"",
                             SF_STR_ARG(name));
    walk_profiles(r, &e, false);
    if (!e.has_dictionary && e.has_tables)
        r->version = SF_OTLP_1_4;
    else if (!e.has_dictionary && e.has_samples)
        return sf_fail(r->b->why, SF_ERR_INPUT,
                       "otlp: profiles without a dictionary (version 1.6 cannot send one)");
    else if (!e.is_fixed &&
             (e.is_indices || (!e.has_new_entry && (e.has_old_attr || e.has_old_unit))))
        r->version = SF_OTLP_1_7;
    else if (e.has_strings)
        r->version = SF_OTLP_1_10;
    else if (e.has_8)
        r->version = SF_OTLP_1_8;
    else
        r->version = try_samples(r, &e);
    return SF_OK;
}

/* Profiles of an OTLP request. Each is checked completely before it is used, because an index out
 * of range drops the profile but not the request. */
#include <inttypes.h>

#include "base/num.h"
#include "decode/otlp/otlp_profile.h"
#include "decode/profile_type.h"

struct value_type {
    sf_str type, unit;
};

struct profile_read {
    struct value_type types[SF_LIMIT_SAMPLE_TYPES], period_type;
    uint32_t n_types, n_samples;
    int64_t time_ns, duration_ns, period;
    sf_profile_id id;
    sf_str format, payload;
    struct sf_profile_ids ids;    /* common to all samples */
    struct sf_profile_list paths; /* 1.4 to 1.7: indexes of locations; samples are ranges of it */
    uint32_t whats[SF_LIMIT_SAMPLE_TYPES];
    int64_t factor; /* multiplies the values, if there is one sample type */
    bool is_wait;   /* timestamps are the ends of intervals */
    bool is_check;  /* first pass: only checks */
    const char *bad;
    uint64_t bad_at, bad_of; /* the index out of range, and the length of its table */
    size_t bad_off;
};

static void set_bad(struct profile_read *p, const char *what, uint64_t at, uint64_t of, size_t off)
{
    if (p->bad)
        return;
    p->bad = what;
    p->bad_at = at;
    p->bad_of = of;
    p->bad_off = off;
}

static size_t otlp_profile_samples_off_of(const struct sf_otlp_reader *r, const struct sf_pb *pb)
{
    return (size_t)(pb->at - r->body.p);
}

/* --- the head --- */

static struct value_type otlp_profile_samples_read_value_type(struct sf_otlp_reader *r,
                                                              struct sf_pb *pb)
{
    struct value_type vt = {0};
    struct sf_pb msg = sf_pb_msg(pb);
    while (sf_pb_next(&msg)) {
        switch (msg.field) {
        case 1: vt.type = sf_otlp_profile_tables_str(r, sf_pb_u64(&msg)); break;
        case 2:
            vt.unit = sf_profile_type_unit_of(sf_otlp_profile_tables_str(r, sf_pb_u64(&msg)));
            break;
        default: sf_pb_skip(&msg); break;
        }
    }
    sf_pb_join(pb, &msg);
    if (!sf_profile_type_of_sample(vt.type, r->b->a, &vt.type))
        r->b->is_full = true;
    return vt;
}

static int64_t otlp_profile_samples_read_time(struct sf_pb *pb)
{
    uint64_t v = (pb->tag & 7) == SF_PB_I64 ? sf_pb_fixed64(pb) : sf_pb_u64(pb);
    return v <= INT64_MAX ? (int64_t)v : 0;
}

static void read_profile_attrs(struct sf_otlp_reader *r, struct sf_pb *pb, struct profile_read *p)
{
    struct sf_pb run = sf_pb_run(pb);
    uint64_t at;
    while (sf_pb_run_varint(&run, &at)) {
        const struct sf_otlp_attr *a;
        if (at >= r->tables[SF_OTLP_ATTRS].n) {
            set_bad(p, "its attribute", at, r->tables[SF_OTLP_ATTRS].n,
                    otlp_profile_samples_off_of(r, &run));
            continue;
        }
        a = sf_otlp_profile_attrs_at(r, (uint32_t)at);
        if (a->text.len)
            sf_profile_label_ids_take_str(&p->ids, a->key, a->text);
    }
    sf_pb_join(pb, &run);
}

static void read_locations(struct sf_otlp_reader *r, struct sf_pb *pb, struct profile_read *p)
{
    struct sf_pb run = sf_pb_run(pb);
    uint64_t at;
    while (sf_pb_run_varint(&run, &at) && !r->b->is_full) {
        uint32_t place = sf_otlp_profile_tables_location(r, at), *to;
        if (place == SF_NONE)
            set_bad(p, "location", at, r->tables[SF_OTLP_LOCATIONS].n,
                    otlp_profile_samples_off_of(r, &run));
        to = sf_profile_list_more(r->b, &p->paths, sizeof(*to));
        if (!to)
            break;
        *to = place;
        p->paths.n++;
    }
    sf_pb_join(pb, &run);
}

static void read_head_field(struct sf_otlp_reader *r, struct sf_pb *pb, struct profile_read *p)
{
    const struct sf_otlp_layout *l = r->layout;
    uint32_t f = pb->field;
    sf_bytes id;
    if (pb->tag == SF_PB_TAG(1, SF_PB_LEN)) {
        struct value_type vt = otlp_profile_samples_read_value_type(r, pb);
        if (p->n_types < SF_LIMIT_SAMPLE_TYPES)
            p->types[p->n_types++] = vt;
        else
            set_bad(p, "sample type", p->n_types, SF_LIMIT_SAMPLE_TYPES,
                    otlp_profile_samples_off_of(r, pb));
    } else if (f == l->profile.time) {
        p->time_ns = otlp_profile_samples_read_time(pb);
    } else if (f == l->profile.duration) {
        p->duration_ns = otlp_profile_samples_read_time(pb);
    } else if (f == l->profile.period_type) {
        p->period_type = otlp_profile_samples_read_value_type(r, pb);
    } else if (f == l->profile.period) {
        p->period = sf_pb_i64(pb);
    } else if (f == l->profile.id) {
        id = sf_pb_bytes(pb);
        if (id.len == sizeof(p->id.b))
            memcpy(p->id.b, id.p, id.len);
    } else if (f == l->profile.format) {
        p->format = sf_pb_str(pb);
    } else if (f == l->profile.payload) {
        p->payload = sf_pb_str(pb);
    } else if (f == l->profile.attrs) {
        read_profile_attrs(r, pb, p);
    } else if (f == l->profile.locations) {
        read_locations(r, pb, p);
    } else {
        p->n_samples += pb->tag == SF_PB_TAG(2, SF_PB_LEN);
        sf_pb_skip(pb);
    }
}

/* --- samples --- */

static bool otlp_profile_samples_push(struct sf_otlp_reader *r, struct sf_profile_list *l,
                                      uint64_t v)
{
    int64_t *to = sf_profile_list_more(r->b, l, sizeof(*to));
    if (!to)
        return false;
    *to = (int64_t)v;
    l->n++;
    return true;
}

static void otlp_profile_samples_read_numbers(struct sf_otlp_reader *r, struct sf_pb *pb,
                                              struct sf_profile_list *to)
{
    /* Times are fixed numbers since 1.8 and varints before; a list of either has no tags. */
    bool is_fixed = to == &r->sample.times && r->layout->has_zero;
    struct sf_pb run = sf_pb_run(pb);
    uint64_t v;
    while (is_fixed ? sf_pb_run_fixed64(&run, &v) : sf_pb_run_varint(&run, &v)) {
        if (!otlp_profile_samples_push(r, to, v))
            break;
    }
    sf_pb_join(pb, &run);
}

static void read_sample_attrs(struct sf_otlp_reader *r, struct sf_pb *pb, struct profile_read *p)
{
    struct sf_otlp_sample *s = &r->sample;
    struct sf_pb run = sf_pb_run(pb);
    uint64_t at;
    while (sf_pb_run_varint(&run, &at)) {
        if (at >= r->tables[SF_OTLP_ATTRS].n)
            set_bad(p, "attribute", at, r->tables[SF_OTLP_ATTRS].n,
                    otlp_profile_samples_off_of(r, &run));
        else if (s->n_attrs < SF_LIMIT_SAMPLE_LABELS)
            s->attrs[s->n_attrs++] = (uint32_t)at;
        else if (!p->is_check)
            sf_profile_build_drop(r->b, &r->b->drops.n_labels,
                                  "otlp: more than %d attributes on a sample",
                                  SF_LIMIT_SAMPLE_LABELS);
    }
    sf_pb_join(pb, &run);
}

/* Reads the current sample into r->sample. */
static void otlp_profile_samples_read_sample(struct sf_otlp_reader *r, struct sf_pb *pb,
                                             struct profile_read *p)
{
    const struct sf_otlp_layout *l = r->layout;
    struct sf_otlp_sample *s = &r->sample;
    struct sf_pb msg = sf_pb_msg(pb);
    s->stack = s->start = s->length = s->link = 0;
    s->has_link = false;
    s->n_attrs = s->values.n = s->times.n = 0;
    while (sf_pb_next(&msg) && !r->b->is_full) {
        uint32_t f = msg.field;
        if (f == l->sample.stack) {
            s->stack = sf_pb_u64(&msg);
        } else if (f == l->sample.start) {
            s->start = sf_pb_u64(&msg);
        } else if (f == l->sample.length) {
            s->length = sf_pb_u64(&msg);
        } else if (f == l->sample.values) {
            otlp_profile_samples_read_numbers(r, &msg, &s->values);
        } else if (f == l->sample.times) {
            otlp_profile_samples_read_numbers(r, &msg, &s->times);
        } else if (f == l->sample.attrs) {
            read_sample_attrs(r, &msg, p);
        } else if (f == l->sample.link) {
            s->has_link = (msg.tag & 7) == SF_PB_VARINT;
            s->link = sf_pb_u64(&msg);
        } else {
            sf_pb_skip(&msg);
        }
    }
    if (s->link == 0 && l->has_zero)
        s->has_link = false;
    sf_pb_join(pb, &msg);
}

/* Checks the sample's indexes. */
static void check_sample(struct sf_otlp_reader *r, struct profile_read *p, size_t off)
{
    const struct sf_otlp_sample *s = &r->sample;
    if (s->has_link && s->link >= r->tables[SF_OTLP_LINKS].n)
        set_bad(p, "link", s->link, r->tables[SF_OTLP_LINKS].n, off);
    if (r->layout->sample.stack) {
        if (s->stack && sf_otlp_profile_tables_stack(r, s->stack) == SF_NONE && !r->b->is_full)
            set_bad(p, "stack", s->stack, r->tables[SF_OTLP_STACKS].n, off);
    } else if (s->start > p->paths.n || s->length > p->paths.n - s->start) {
        set_bad(p, "location index", sf_add_sat_u64(s->start, s->length), p->paths.n, off);
    }
}

static void take_link(struct sf_otlp_reader *r, struct sf_sample *out)
{
    struct sf_pb pb = sf_pb_part(r->body, r->tables[SF_OTLP_LINKS].items[r->sample.link]);
    while (sf_pb_next(&pb)) {
        sf_bytes id;
        if ((pb.tag & 7) != SF_PB_LEN) {
            sf_pb_skip(&pb);
            continue;
        }
        id = sf_pb_bytes(&pb);
        if (pb.field == 1 && id.len == sizeof(out->trace_id.b))
            memcpy(out->trace_id.b, id.p, id.len);
        if (pb.field == 2 && id.len == sizeof(out->span_id))
            out->span_id = sf_load_u64be(id.p);
    }
}

/* Uses the attributes: owner of the sample, its ids, and the labels of its series. */
static uint32_t otlp_profile_samples_take_attrs(struct sf_otlp_reader *r,
                                                const struct profile_read *p, struct sf_sample *out,
                                                const struct sf_profile_owner **owner)
{
    const struct sf_otlp_sample *s = &r->sample;
    struct sf_label labels[SF_LIMIT_SAMPLE_LABELS];
    uint32_t owners[SF_LIMIT_SAMPLE_LABELS], n_labels = 0, n_owners = 0;
    struct sf_profile_ids ids = p->ids;
    uint32_t set;
    if (s->n_attrs == 0 && r->bare.owner && r->bare.resource == r->n_resources &&
        r->bare.n_owners == r->owners.n) {
        sf_profile_label_ids_put(&ids, out);
        *owner = r->bare.owner;
        return r->bare.set;
    }
    for (uint32_t i = 0; i < s->n_attrs; i++) {
        const struct sf_otlp_attr *a = sf_otlp_profile_attrs_at(r, s->attrs[i]);
        if (sf_otlp_profile_owner_is_key(a->key)) {
            owners[n_owners++] = s->attrs[i];
        } else if (a->val.type == SF_VALUE_INT) {
            if (!sf_profile_label_ids_take_num(&ids, a->key, a->val.i64))
                labels[n_labels++] = (struct sf_label){a->key, a->text};
        } else if (a->key.len && a->text.len && !sf_str_starts(a->key, SF_STR("__")) &&
                   !sf_profile_label_ids_take_str(&ids, a->key, a->text)) {
            labels[n_labels++] = (struct sf_label){a->key, a->text};
        }
    }
    sf_profile_label_ids_put(&ids, out);
    *owner = sf_otlp_profile_owner(r, owners, n_owners);
    set = *owner ? sf_profile_build_set(r->b, *owner, labels, n_labels) : SF_NONE;
    if (s->n_attrs == 0) {
        r->bare.owner = *owner;
        r->bare.resource = r->n_resources;
        r->bare.n_owners = r->owners.n;
        r->bare.set = set;
    }
    return set;
}

static int64_t times_factor(const struct profile_read *p, int64_t v)
{
    int64_t out;
    if (__builtin_mul_overflow(v, p->factor, &out))
        return v < 0 ? INT64_MIN : INT64_MAX;
    return out;
}

static uint32_t otlp_profile_samples_clamp_count(int64_t n)
{
    return n < 1 ? 1 : n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static void otlp_profile_samples_add_value(struct sf_otlp_reader *r, const struct profile_read *p,
                                           const struct sf_profile_owner *owner,
                                           struct sf_sample *out, int64_t v)
{
    out->value = times_factor(p, v);
    out->count = p->factor > 1 ? otlp_profile_samples_clamp_count(v) : 1;
    sf_profile_build_sample(r->b, owner, out);
}

/* Adds one sample for each timestamp; a wait is stamped with its end. */
static void otlp_profile_samples_add_moments(struct sf_otlp_reader *r, const struct profile_read *p,
                                             const struct sf_profile_owner *owner,
                                             struct sf_sample *out)
{
    const struct sf_otlp_sample *s = &r->sample;
    const int64_t *times = s->times.items, *values = s->values.items;
    bool has_values = s->values.n == s->times.n && !(p->n_types == 1 && s->values.n == 0);
    for (uint32_t i = 0; i < s->times.n && sf_profile_build_ok(r->b); i++) {
        int64_t v = has_values ? values[i] : 1;
        out->has_time = times[i] > 0;
        out->start_ns = out->has_time ? times[i] : 0;
        out->length_ns = 0;
        if (p->is_wait && v > 0 && out->has_time && v < out->start_ns) {
            out->start_ns -= v;
            out->length_ns = v;
        }
        otlp_profile_samples_add_value(r, p, owner, out, v);
    }
}

static void drop_sample(struct sf_otlp_reader *r, uint32_t n, size_t off)
{
    struct sf_profile_build *b = r->b;
    if (r->is_json)
        sf_profile_build_drop(b, &b->drops.n_samples,
                              "otlp: profile %" PRIu32 ": sample %" PRIu32 " has %" PRIu32
                              " values and %" PRIu32 " timestamps",
                              r->n_profiles, n, r->sample.values.n, r->sample.times.n);
    else
        sf_profile_build_drop(b, &b->drops.n_samples,
                              "otlp: profile %" PRIu32 ": sample %" PRIu32
                              " at byte %zu has %" PRIu32 " values and %" PRIu32 " timestamps",
                              r->n_profiles, n, off, r->sample.values.n, r->sample.times.n);
}

/* Whether each timestamp is an event. The host profiler of 2025 sends the value [1] for any number
 * of them. */
static bool has_moments(const struct sf_otlp_reader *r, const struct profile_read *p)
{
    const struct sf_otlp_sample *s = &r->sample;
    if (!s->times.n || p->n_types > 1)
        return false;
    return s->values.n == 0 || s->values.n == s->times.n ||
           (!r->layout->has_zero && s->values.n == 1 && ((int64_t *)s->values.items)[0] == 1);
}

static bool is_shape_good(const struct sf_otlp_reader *r, const struct profile_read *p)
{
    const struct sf_otlp_sample *s = &r->sample;
    if (!r->layout->has_zero)
        return has_moments(r, p) || (s->values.n && s->values.n == p->n_types);
    return s->times.n ? !s->values.n || s->values.n == s->times.n : s->values.n > 0;
}

static void otlp_profile_samples_add_sample(struct sf_otlp_reader *r, const struct profile_read *p)
{
    const struct sf_otlp_sample *s = &r->sample;
    const int64_t *values = s->values.items;
    const struct sf_profile_owner *owner;
    struct sf_sample out = {0};
    uint32_t set = otlp_profile_samples_take_attrs(r, p, &out, &owner);
    int64_t sum = 0;

    if (!owner)
        return;
    if (s->has_link)
        take_link(r, &out);
    out.stack = r->layout->sample.stack
                    ? sf_otlp_profile_tables_stack(r, s->stack)
                    : sf_profile_build_stack(
                          r->b, s->length ? (uint32_t *)p->paths.items + s->start : NULL,
                          s->length);
    out.series = sf_profile_build_series(r->b, set, p->whats[0]);
    if (has_moments(r, p)) {
        otlp_profile_samples_add_moments(r, p, owner, &out);
    } else if (p->n_types > 1 && !r->layout->has_zero) {
        for (uint32_t t = 0; t < p->n_types; t++) {
            out.series = sf_profile_build_series(r->b, set, p->whats[t]);
            otlp_profile_samples_add_value(r, p, owner, &out, values[t]);
        }
    } else {
        for (uint32_t i = 0; i < s->values.n; i++)
            sum = sf_add_sat_i64(sum, values[i]);
        otlp_profile_samples_add_value(r, p, owner, &out, sum);
    }
}

/* --- the profile --- */

static sf_str otlp_profile_samples_name_of(const struct profile_read *p, sf_str type)
{
    static const sf_str families[] = {{"process_cpu", 11}, {"wall", 4},  {"memory", 6},
                                      {"mutex", 5},        {"block", 5}, {"goroutines", 10},
                                      {"off_cpu", 7}};
    sf_str types[SF_LIMIT_SAMPLE_TYPES], name;
    for (uint32_t t = 0; t < p->n_types; t++)
        types[t] = t ? p->types[t].type : type;
    name = sf_profile_type_name_of(types, p->n_types, SF_STR_NONE);
    for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++) {
        if (sf_str_eq(families[i], name))
            return name;
    }
    return p->period_type.type.len && p->period ? p->period_type.type : type;
}

/* Counts of samples with a period in time are converted to time, which is what users query. */
static void otlp_profile_samples_name_types(struct sf_otlp_reader *r, struct profile_read *p)
{
    int64_t period_ns = sf_profile_type_unit_ns(p->period_type.unit);
    bool is_time = p->n_types == 1 && sf_str_eq(p->types[0].type, SF_STR("samples")) &&
                   sf_str_eq(p->types[0].unit, SF_STR("count")) && period_ns && p->period > 0 &&
                   p->period <= INT64_MAX / period_ns && p->period_type.type.len;
    p->factor = 1;
    if (is_time) {
        p->factor = p->period *= period_ns;
        p->types[0] = (struct value_type){p->period_type.type, SF_STR("nanoseconds")};
        p->period_type.unit = SF_STR("nanoseconds");
    }
    p->is_wait = p->n_types == 1 && sf_str_eq(p->types[0].unit, SF_STR("nanoseconds")) &&
                 (sf_str_eq(p->types[0].type, SF_STR("off_cpu")) ||
                  sf_str_eq(p->types[0].type, SF_STR("delay")));
    for (uint32_t t = 0; t < p->n_types; t++) {
        struct sf_profile_what what = {
            .type = {.name = otlp_profile_samples_name_of(p, p->types[0].type),
                     .sample_type = p->types[t].type,
                     .sample_unit = p->types[t].unit,
                     .period_type = p->period_type.type,
                     .period_unit = p->period_type.unit},
            .time_ns = p->time_ns,
            .duration_ns = p->duration_ns,
            .period = p->period,
            .id = p->id};
        p->whats[t] = sf_profile_build_what(r->b, &what, p->n_types == 1);
    }
}

static void each_sample(struct sf_otlp_reader *r, struct sf_pb pb, struct profile_read *p,
                        struct sf_pb *fault)
{
    uint32_t n = 0;
    while (sf_pb_next(&pb) && sf_profile_build_ok(r->b) && !p->bad) {
        size_t off = otlp_profile_samples_off_of(r, &pb);
        if (pb.tag != SF_PB_TAG(2, SF_PB_LEN)) {
            sf_pb_skip(&pb);
            continue;
        }
        otlp_profile_samples_read_sample(r, &pb, p);
        if (!sf_pb_ok(&pb))
            break;
        if (p->is_check)
            check_sample(r, p, off);
        else if (is_shape_good(r, p))
            otlp_profile_samples_add_sample(r, p);
        else
            drop_sample(r, n, off);
        n++;
    }
    sf_pb_join(fault, &pb);
}

static void drop_profile(struct sf_otlp_reader *r, const struct profile_read *p)
{
    struct sf_profile_build *b = r->b;
    if (r->is_json)
        sf_profile_build_drop(b, &b->drops.n_parts,
                              "otlp: profile %" PRIu32 ": %s %" PRIu64 ", of %" PRIu64,
                              r->n_profiles, p->bad, p->bad_at, p->bad_of);
    else
        sf_profile_build_drop(b, &b->drops.n_parts,
                              "otlp: profile %" PRIu32 " at byte %zu: %s %" PRIu64 ", of %" PRIu64,
                              r->n_profiles, p->bad_off, p->bad, p->bad_at, p->bad_of);
}

static void take_payload(struct sf_otlp_reader *r, const struct profile_read *p)
{
    struct sf_profile_owner outer = r->b->me;
    const struct sf_profile_owner *owner = sf_otlp_profile_owner(r, NULL, 0);
    if (!owner)
        return;
    r->b->me = *owner;
    r->err = sf_profile_format_decode_inside(r->b, p->format, p->payload);
    r->b->me = outer;
}

void sf_otlp_profile_samples_read(struct sf_otlp_reader *r, struct sf_pb *pb)
{
    struct sf_pb msg = sf_pb_msg(pb), again = msg;
    struct profile_read read = {.is_check = true}, *p = &read;

    if (r->version == SF_OTLP_1_4) {
        r->n_resources++; /* the same indexes may mean other attributes now */
        if (!sf_otlp_profile_tables_read(r, msg, false))
            return;
    }
    while (sf_pb_next(&msg) && !r->b->is_full)
        read_head_field(r, &msg, p);
    if (!sf_pb_join(pb, &msg) || r->b->is_full)
        return;
    each_sample(r, again, p, pb);
    p->is_check = false;
    if (p->bad) {
        drop_profile(r, p);
    } else if (sf_pb_ok(pb) && !p->n_samples && p->payload.len) {
        take_payload(r, p);
    } else if (sf_pb_ok(pb) && !r->b->is_full) {
        if (!p->n_types) /* no type given: a count */
            p->types[p->n_types++] = (struct value_type){SF_STR("samples"), SF_STR("count")};
        otlp_profile_samples_name_types(r, p);
        sf_profile_table_expect(r->b, p->n_samples);
        each_sample(r, again, p, pb);
    }
    r->n_profiles++;
}

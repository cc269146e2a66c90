/* Samples of a pprof and their labels. */
#include <inttypes.h>

#include "base/key.h"
#include "decode/pprof/pprof.h"
#include "decode/profile_type.h"

struct sample_read {
    int64_t values[SF_LIMIT_SAMPLE_TYPES];
    uint32_t n_values;
    struct sf_label labels[SF_LIMIT_SAMPLE_LABELS];
    uint32_t n_labels;
    struct sf_profile_ids ids;
    uint64_t nums; /* hash of the numeric labels: equal stacks may differ in them */
};

/* The role of a key, cached: samples use the same few keys. */
static enum sf_label_role pprof_samples_role_of(struct sf_pprof *p, int64_t key_at, sf_str key)
{
    size_t at = (uint64_t)key_at % SF_PPROF_ROLES;
    if (p->roles[at].key != key_at) { /* string 0 is never a key, so an empty entry does not
                                       * match */
        p->roles[at].key = key_at;
        p->roles[at].role = sf_profile_label_role(key);
    }
    return p->roles[at].role;
}

/* Whether the label was parsed as an id: the batch then holds all of its text, as a number. */
static bool is_id_of(const struct sf_profile_ids *ids, enum sf_label_role role)
{
    return (role == SF_LABEL_SPAN_ID && ids->span_id) ||
           (role == SF_LABEL_ROOT_SPAN_ID && ids->root_span_id) ||
           (role == SF_LABEL_TRACE_ID && !sf_trace_id_is_zero(ids->trace_id));
}

static void pprof_samples_read_label(struct sf_pprof *p, struct sf_pb *pb, struct sample_read *s)
{
    int64_t key_at = 0, str = 0, num = 0;
    enum sf_label_role role;
    sf_str key, val;
    bool is_taken;
    struct sf_pb msg = sf_pb_msg(pb);
    while (sf_pb_next(&msg)) {
        sf_pprof_expect_number(p, &msg);
        switch (msg.field) {
        case 1: key_at = sf_pb_i64(&msg); break;
        case 2: str = sf_pb_i64(&msg); break;
        case 3: num = sf_pb_i64(&msg); break;
        default: sf_pb_skip(&msg); break;
        }
    }
    if (!sf_pb_join(pb, &msg))
        return;
    key = sf_pprof_str(p, key_at, &p->b->drops.n_labels, "a label's key");
    if (!key.len)
        return;
    if (!str) {
        sf_profile_label_ids_take_num(&s->ids, key, num);
        s->nums += sf_key_mix(sf_key_u64((uint64_t)key_at + 1), (uint64_t)num); /* in any order */
        return;
    }
    val = sf_pprof_str(p, str, &p->b->drops.n_labels, "a label's value");
    role = pprof_samples_role_of(p, key_at, key);
    is_taken = sf_profile_label_ids_take_role(&s->ids, role, key, val);
    if (is_id_of(&s->ids, role)) {
        sf_pprof_note(p, key_at);
        sf_pprof_note(p, str);
    } else {
        sf_pprof_tell(p, key_at, str);
    }
    if (is_taken || !val.len || sf_str_starts(key, SF_STR("__")))
        return;
    if (s->n_labels == SF_LIMIT_SAMPLE_LABELS) {
        sf_profile_build_drop(p->b, &p->b->drops.n_labels, "pprof: more than %d labels on a sample",
                              SF_LIMIT_SAMPLE_LABELS);
        return;
    }
    s->labels[s->n_labels++] = (struct sf_label){key, val};
}

static void push_location(struct sf_pprof *p, uint64_t id)
{
    uint32_t at = sf_id_map_find(&p->locations, id), place, *to;
    if (at == SF_NONE) {
        sf_profile_build_drop(p->b, &p->b->drops.n_frames,
                              "pprof: location %" PRIu64 " is not in the profile", id);
        return;
    }
    place = p->locations.places[at];
    if (place == SF_NONE)
        return; /* neither name nor address: the frame can be dropped */
    to = sf_profile_list_more(p->b, &p->stack, sizeof(*to));
    if (!to)
        return;
    *to = place;
    p->stack.n++;
}

enum { QUICK_RUN = 1 << 16 };

/* The same for a list when ids are 1, 2, 3, ...: each takes at least a byte, so the space is
 * reserved once. */
static void push_locations(struct sf_pprof *p, struct sf_pb *run)
{
    const uint32_t *places = p->locations.places;
    uint32_t n_known = p->locations.n, *to;
    size_t most = (size_t)(run->end - run->at);
    uint64_t id;
    if (most > QUICK_RUN || p->stack.n > QUICK_RUN || p->locations.at.n_slots ||
        !sf_profile_table_room(p->b, &p->stack, sizeof(*to), (uint32_t)most)) {
        while (sf_pb_run_varint(run, &id) && !p->b->is_full)
            push_location(p, id);
        return;
    }
    to = (uint32_t *)p->stack.items + p->stack.n;
    while (sf_pb_run_varint(run, &id)) {
        if (id - 1 >= n_known) { /* id 0 wraps around to a large number */
            sf_profile_build_drop(p->b, &p->b->drops.n_frames,
                                  "pprof: location %" PRIu64 " is not in the profile", id);
            continue;
        }
        *to = places[id - 1];
        to += *to != SF_NONE; /* neither name nor address: the frame can be dropped */
    }
    p->stack.n = (uint32_t)(to - (uint32_t *)p->stack.items);
}

static bool pprof_samples_read_sample(struct sf_pprof *p, struct sf_pb *pb, struct sample_read *s)
{
    struct sf_pb msg = sf_pb_msg(pb), run;
    uint64_t v;
    s->n_values = s->n_labels = 0;
    s->nums = 0;
    s->ids = (struct sf_profile_ids){0};
    p->stack.n = 0;
    while (sf_pb_next(&msg) && !p->b->is_full) {
        switch (msg.field) {
        case 1:
            run = sf_pb_run(&msg);
            push_locations(p, &run);
            sf_pb_join(&msg, &run);
            break;
        case 2:
            run = sf_pb_run(&msg);
            while (sf_pb_run_varint(&run, &v)) {
                if (s->n_values < p->n_types)
                    s->values[s->n_values] = (int64_t)v;
                s->n_values += s->n_values <= p->n_types;
            }
            sf_pb_join(&msg, &run);
            break;
        case 3: pprof_samples_read_label(p, &msg, s); break;
        default:
            sf_pprof_expect_number(p, &msg);
            sf_pb_skip(&msg);
            break;
        }
    }
    return sf_pb_join(pb, &msg);
}

static uint32_t pprof_samples_clamp_count(int64_t n)
{
    return n < 1 ? 1 : n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/* Number of events for value `t` of a sample. */
static uint32_t pprof_samples_count_of(const struct sf_pprof *p, const struct sample_read *s,
                                       uint32_t t)
{
    bool is_time = p->is_time[t];
    if (p->count_type != SF_NONE && (is_time || t == p->count_type))
        return pprof_samples_clamp_count(s->values[p->count_type]);
    if (is_time && p->period > 0 && sf_str_eq(p->type_units[t], p->period_unit))
        return pprof_samples_clamp_count(s->values[t] / p->period);
    return 1;
}

/* Of a pair only cumulative values are subtracted; gauges are taken from the later dump. True: the
 * sample was handled. */
static bool add_to_delta(struct sf_pprof *p, const struct sample_read *s, uint32_t set, uint32_t t,
                         const struct sf_sample *sample)
{
    if (!p->delta)
        return false;
    if (p->delta_types[t] != SF_NONE && sf_profile_type_is_total(p->type_names[t]))
        sf_pprof_delta_add(
            p->delta, &(struct sf_pprof_delta_key){set, sample->stack, p->delta_types[t], s->nums},
            p->is_before, sample);
    else if (!p->is_before)
        return false;
    return true;
}

static void add_derived(struct sf_pprof *p, const struct sample_read *s, uint32_t set,
                        struct sf_sample *out)
{
    if (p->derived == SF_NONE || p->is_before)
        return;
    if (__builtin_mul_overflow(s->values[0], p->derived_ns, &out->value))
        out->value = s->values[0] < 0 ? INT64_MIN : INT64_MAX;
    out->series = sf_profile_build_series(p->b, set, p->derived);
    out->count = pprof_samples_clamp_count(s->values[0]);
    sf_profile_build_sample(p->b, &p->b->me, out);
}

static bool pprof_samples_is_wanted(const struct sf_pprof *p, uint32_t t)
{
    enum sf_profile_part part = p->b->hint->part;
    return part == SF_PROFILE_WHOLE ||
           sf_profile_type_is_total(p->type_names[t]) == (part == SF_PROFILE_TOTALS);
}

/* Most samples have no labels, or those of the previous one. */
static uint32_t pprof_samples_set_of(struct sf_pprof *p, const struct sample_read *s)
{
    if (s->n_labels)
        return sf_profile_build_set(p->b, &p->b->me, s->labels, s->n_labels);
    if (p->bare_set == SF_NONE)
        p->bare_set = sf_profile_build_set(p->b, &p->b->me, NULL, 0);
    return p->bare_set;
}

static uint32_t pprof_samples_series_of(struct sf_pprof *p, uint32_t set, uint32_t t)
{
    if (p->last_set != set || set == SF_NONE) {
        p->last_set = set;
        memset(p->last_series, 0xff, sizeof(p->last_series)); /* SF_NONE */
    }
    if (p->last_series[t] == SF_NONE)
        p->last_series[t] = sf_profile_build_series(p->b, set, p->whats[t]);
    return p->last_series[t];
}

static void pprof_samples_add_sample(struct sf_pprof *p, const struct sample_read *s)
{
    struct sf_profile_build *b = p->b;
    struct sf_sample out = {.stack = sf_profile_build_stack(b, p->stack.items, p->stack.n)};
    uint32_t set = pprof_samples_set_of(p, s);

    sf_profile_label_ids_put(&s->ids, &out);
    for (uint32_t t = 0; t < p->n_types && sf_profile_build_ok(b); t++) {
        if (!s->values[t] || !pprof_samples_is_wanted(p, t))
            continue;
        out.value = s->values[t];
        out.count = pprof_samples_count_of(p, s, t);
        if (add_to_delta(p, s, set, t, &out))
            continue;
        out.series = pprof_samples_series_of(p, set, t);
        sf_profile_build_sample(b, &b->me, &out);
    }
    add_derived(p, s, set, &out);
}

enum sf_err sf_pprof_samples_read(struct sf_pprof *p)
{
    struct sf_pb pb = sf_pprof_part(p, 2);
    struct sf_profile_build *b = p->b;
    struct sample_read *s = sf_profile_new(b, 1, sizeof(*s));
    uint32_t n = 0;

    while (s && sf_pb_next(&pb) && sf_profile_build_ok(b)) {
        size_t off = (size_t)(pb.at - p->body.p);
        if (pb.tag != SF_PB_TAG(2, SF_PB_LEN)) {
            sf_pb_skip(&pb);
            continue;
        }
        if (!pprof_samples_read_sample(p, &pb, s))
            break;
        if (s->n_values == p->n_types)
            pprof_samples_add_sample(p, s);
        else
            sf_profile_build_drop(b, &b->drops.n_samples,
                                  "pprof: sample %" PRIu32 " at byte %zu has %s%" PRIu32
                                  " values, the profile %" PRIu32 " sample types",
                                  n, off, s->n_values > p->n_types ? "more than " : "",
                                  s->n_values > p->n_types ? p->n_types : s->n_values, p->n_types);
        n++;
    }
    return sf_pb_why(&pb, "pprof", b->why);
}

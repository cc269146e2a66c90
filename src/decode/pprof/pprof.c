/* pprof: one protobuf message, in which elements refer to each other by number.
 *
 * The order of fields is free (the Go runtime writes its strings last, others between the samples),
 * so the top level is walked first for counts and scalars, and then for each kind of element, from
 * its first to its last: strings, functions, mappings, locations, samples.
 *
 * Errors of single elements are common in practice (a missing location, a wrong number of values):
 * then the frame or the sample is dropped; with a malformed message the whole profile. Two
 * concatenated profiles are one valid message with colliding ids: they are recognised by the
 * repeated time. */
#include "decode/pprof/pprof.h"
#include "base/time_unit.h"

#include <inttypes.h>

#include "decode/frame_kind.h"
#include "decode/profile_type.h"
#include "model/answer/known.h"

sf_str sf_pprof_str(struct sf_pprof *p, int64_t at, uint64_t *counter, const char *what)
{
    if (at == 0)
        return SF_STR_NONE;
    if (at > 0 && at < p->n_strings)
        return p->strings[at];
    sf_profile_build_drop(p->b, counter, "pprof: %s is string %" PRId64 ", of %" PRIu32, what, at,
                          p->n_strings);
    return SF_STR("(unknown)");
}

static struct sf_pprof_value_type pprof_read_value_type(struct sf_pprof *p, struct sf_pb *pb)
{
    struct sf_pprof_value_type vt = {0};
    struct sf_pb m = sf_pb_msg(pb);
    while (sf_pb_next(&m)) {
        sf_pprof_expect_number(p, &m);
        switch (m.field) {
        case 1: vt.type = sf_pb_i64(&m); break;
        case 2: vt.unit = sf_pb_i64(&m); break;
        default: sf_pb_skip(&m); break;
        }
    }
    sf_pb_join(pb, &m);
    return vt;
}

/* Extends the part of a field by the element that begins at `from`. */
static void pprof_extend_part(struct sf_pprof *p, uint32_t field, const uint8_t *from,
                              const uint8_t *to)
{
    sf_bytes *part = &p->parts[field];
    if (!part->len)
        part->p = from;
    part->len = (size_t)(to - part->p);
}

static enum sf_err pprof_read_counts(struct sf_pprof *p)
{
    struct sf_pb pb = sf_pb_init(p->body);
    const uint8_t *from = pb.at;
    for (; sf_pb_next(&pb); from = pb.at) {
        switch (pb.tag) {
        case SF_PB_TAG(1, SF_PB_LEN):
            if (p->n_types == SF_LIMIT_SAMPLE_TYPES)
                return sf_fail(p->b->why, SF_ERR_LIMIT, "pprof: more than %d sample types",
                               SF_LIMIT_SAMPLE_TYPES);
            p->types[p->n_types++] = pprof_read_value_type(p, &pb);
            continue;
        case SF_PB_TAG(9, SF_PB_VARINT):
            p->time_ns = sf_pb_i64(&pb);
            p->n_times++;
            continue;
        case SF_PB_TAG(10, SF_PB_VARINT): p->duration_ns = sf_pb_i64(&pb); continue;
        case SF_PB_TAG(11, SF_PB_LEN): p->period_type = pprof_read_value_type(p, &pb); continue;
        case SF_PB_TAG(12, SF_PB_VARINT): p->period = sf_pb_i64(&pb); continue;
        case SF_PB_TAG(2, SF_PB_LEN): p->n_samples++; break;
        case SF_PB_TAG(3, SF_PB_LEN): p->n_mappings++; break;
        case SF_PB_TAG(4, SF_PB_LEN): p->n_locations++; break;
        case SF_PB_TAG(5, SF_PB_LEN): p->n_functions++; break;
        case SF_PB_TAG(6, SF_PB_LEN): p->n_strings++; break;
        case SF_PB_TAG(13, SF_PB_LEN): break; /* comments: numbers of strings */
        default: sf_pprof_expect_number(p, &pb); break;
        }
        sf_pb_skip(&pb);
        if (pb.field < SF_PPROF_FIELDS)
            pprof_extend_part(p, pb.field, from, pb.at);
    }
    if (!sf_pb_ok(&pb))
        return sf_pb_why(&pb, "pprof", p->b->why);
    if (p->n_times > 1)
        return sf_fail(p->b->why, SF_ERR_INPUT,
                       "pprof: %" PRIu32 " profiles one behind the other, send them apart",
                       p->n_times);
    if (p->n_samples && !p->n_strings)
        return sf_fail(p->b->why, SF_ERR_INPUT, "pprof: no string table");
    if (p->n_samples && !p->n_types)
        return sf_fail(p->b->why, SF_ERR_INPUT, "pprof: no sample types");
    if (p->n_samples > SF_LIMIT_SAMPLES)
        return sf_fail(p->b->why, SF_ERR_LIMIT, "pprof: %" PRIu32 " samples, more than %u",
                       p->n_samples, SF_LIMIT_SAMPLES);
    return SF_OK;
}

static void pprof_read_strings(struct sf_pprof *p)
{
    struct sf_pb pb = sf_pprof_part(p, 6);
    uint32_t n = 0;
    p->strings = sf_profile_new(p->b, p->n_strings + 1u, sizeof(*p->strings));
    p->seen = sf_profile_new(p->b, p->n_strings + 1u, sizeof(*p->seen));
    p->told = sf_profile_new(p->b, p->n_strings + 1u, sizeof(*p->told));
    if (p->b->is_full)
        return;
    while (sf_pb_next(&pb)) {
        sf_str sent;
        if (pb.tag != SF_PB_TAG(6, SF_PB_LEN)) {
            sf_pb_skip(&pb);
            continue;
        }
        sent = sf_pb_str(&pb);
        p->strings[n] = sf_profile_clean(p->b, sent);
        p->has_hidden |= p->strings[n].p != sent.p || (n == 0 && sent.len);
        n++;
    }
}

enum { MAX_UNSEEN = 1000 };

static void pprof_list_unseen(struct sf_pprof *p, sf_str key, sf_str val)
{
    struct sf_label *to;
    if (p->b->unseen.n == MAX_UNSEEN) {
        p->has_hidden = true;
        return;
    }
    to = sf_profile_list_more(p->b, &p->b->unseen, sizeof(*to));
    if (to) {
        *to = (struct sf_label){key, val};
        p->b->unseen.n++;
    }
}

void sf_pprof_tell(struct sf_pprof *p, int64_t key, int64_t val)
{
    if (key <= 0 || key >= p->n_strings || val <= 0 || val >= p->n_strings ||
        p->told[val] == (uint32_t)key + 1)
        return;
    p->told[val] = (uint32_t)key + 1;
    sf_pprof_note(p, key);
    sf_pprof_note(p, val);
    pprof_list_unseen(p, p->strings[key], p->strings[val]);
}

/* Lists the strings that nothing refers to, once the whole profile has been read. */
static void pprof_tell_rest(struct sf_pprof *p)
{
    struct sf_profile_build *b = p->b;
    for (uint32_t i = 1; i < p->n_strings && !b->is_full && !p->has_hidden; i++) {
        if (!p->seen[i] && p->strings[i].len)
            pprof_list_unseen(p, SF_STR("pprof.string"), p->strings[i]);
    }
    b->is_all_seen = !b->is_inside && !p->has_hidden;
}

/* An exported estimate is still an estimate when it is read again. */
static void read_comments(struct sf_pprof *p)
{
    struct sf_pb pb = sf_pprof_part(p, 13);
    while (sf_pb_next(&pb)) {
        if (pb.field != 13) {
            sf_pb_skip(&pb);
            continue;
        }
        struct sf_pb run = sf_pb_run(&pb);
        uint64_t at;
        while (sf_pb_run_varint(&run, &at))
            p->b->is_estimate |= at > 0 && at < p->n_strings &&
                                 sf_str_starts(p->strings[at], SF_STR(SF_ESTIMATE_FRAME ":"));
        sf_pb_join(&pb, &run);
    }
}

/* Old clients of Python and Ruby wrote microseconds instead of nanoseconds, which gives a time in
 * 1970. */
static void fix_times(struct sf_pprof *p)
{
    const int64_t year = 365 * SF_NS_PER_DAY;
    if (p->time_ns > 0 && p->time_ns < year) {
        bool is_micros = p->time_ns > year / 100 && p->time_ns <= INT64_MAX / 1000;
        p->time_ns = is_micros ? p->time_ns * 1000 : 0;
        if (p->duration_ns > 0 && p->duration_ns < INT64_MAX / 1000)
            p->duration_ns *= 1000;
    }
    if (p->time_ns < 0)
        p->time_ns = 0;
    if (p->duration_ns < 0)
        p->duration_ns = 0;
}

/* The two libraries that write pprof in Node use the time of serialisation: the end. They are
 * recognised by the name of their sample type ("sample" instead of "samples"). If the upload gives
 * its time range, that is used instead. */
static void fix_end(struct sf_pprof *p)
{
    const struct sf_profile_hint *hint = p->b->hint;
    sf_str name, unit = SF_STR("nanoseconds");
    if (hint->from_ns != 0 || p->n_types < 2 || p->duration_ns <= 0 || p->time_ns <= p->duration_ns)
        return;
    name = sf_pprof_str(p, p->types[1].type, &p->b->drops.n_labels, "a sample type");
    if (sf_str_eq(sf_pprof_str(p, p->types[0].type, &p->b->drops.n_labels, "a sample type"),
                  SF_STR("sample")) &&
        (sf_str_eq(name, SF_STR("wall")) || sf_str_eq(name, SF_STR("cpu"))) &&
        sf_str_eq(p->type_units[0], SF_STR("count")) && sf_str_eq(p->type_units[1], unit) &&
        sf_str_eq(p->period_name, name) && sf_str_eq(p->period_unit, unit))
        p->time_ns -= p->duration_ns;
}

static bool is_event_count(const struct sf_pprof *p, uint32_t t)
{
    sf_str name = p->type_names[t];
    return sf_str_eq(p->type_units[t], SF_STR("count")) &&
           (sf_str_eq(name, SF_STR("samples")) || sf_str_eq(name, SF_STR("sample")) ||
            sf_str_eq(name, SF_STR("contentions")));
}

/* A single type "samples, count" with a period in time means CPU time; it is also added as such,
 * because clients query CPU time. */
static void derive_time(struct sf_pprof *p, struct sf_profile_what what)
{
    int64_t unit_ns = sf_profile_type_unit_ns(p->period_unit);
    if (p->n_types != 1 || p->count_type != 0 || p->period <= 0 || !unit_ns ||
        p->period > INT64_MAX / unit_ns)
        return;
    p->derived_ns = p->period * unit_ns;
    what.type.sample_type = p->period_name.len ? p->period_name : SF_STR("cpu");
    what.type.sample_unit = SF_STR("nanoseconds");
    what.type.period_type = what.type.sample_type;
    what.type.period_unit = SF_STR("nanoseconds");
    what.period = p->derived_ns;
    p->derived = sf_profile_build_what(p->b, &what, false);
}

static void pprof_name_types(struct sf_pprof *p)
{
    struct sf_profile_build *b = p->b;
    struct sf_profile_what what;

    for (uint32_t t = 0; t < p->n_types; t++) {
        sf_str type = sf_pprof_str(p, p->types[t].type, &b->drops.n_labels, "a sample type");
        sf_str unit = sf_pprof_str(p, p->types[t].unit, &b->drops.n_labels, "a unit");
        if (!sf_profile_type_of_sample(type, b->a, &p->type_names[t]))
            b->is_full = true;
        p->type_units[t] = sf_profile_type_unit_of(unit);
        p->is_time[t] = sf_profile_type_unit_ns(p->type_units[t]) != 0;
        if (p->count_type == SF_NONE && is_event_count(p, t))
            p->count_type = t;
    }
    p->period_name = sf_pprof_str(p, p->period_type.type, &b->drops.n_labels, "the period type");
    p->period_unit = sf_profile_type_unit_of(
        sf_pprof_str(p, p->period_type.unit, &b->drops.n_labels, "the period unit"));
    fix_end(p);
    for (uint32_t t = 0; t < p->n_types; t++) {
        what = (struct sf_profile_what){
            .type = {.name = sf_profile_type_name_of(p->type_names, p->n_types,
                                                     b->hint->sample_type_config),
                     .sample_type = p->type_names[t],
                     .sample_unit = p->type_units[t],
                     .period_type = p->period_name,
                     .period_unit = p->period_unit},
            .time_ns = p->time_ns,
            .duration_ns = p->duration_ns,
            .period = p->period,
            .is_cumulative = b->hint->is_scrape && !b->hint->prev.len && !p->duration_ns &&
                             sf_profile_type_is_total(p->type_names[t]),
        };
        if (p->is_before)
            continue; /* already defined by the later dump */
        p->whats[t] = sf_profile_build_what(b, &what, p->n_types == 1);
        if (t == 0)
            derive_time(p, what);
    }
}

/* To be called after the counts were read. */
static enum sf_err read_content(struct sf_pprof *p)
{
    enum sf_err err;
    sf_profile_table_expect_symbols(p->b, p->n_functions, p->n_locations, p->n_samples);
    sf_profile_table_expect(p->b, (uint64_t)p->n_samples * p->n_types);
    err = sf_pprof_tables_read_functions(p);
    if (!err && !p->b->is_full)
        err = sf_pprof_tables_read_locations(p);
    if (!err && !p->b->is_full)
        err = sf_pprof_samples_read(p);
    return err;
}

static enum sf_err pprof_read_head(struct sf_pprof *p)
{
    enum sf_err err = pprof_read_counts(p);
    if (!err)
        fix_times(p);
    return err;
}

static void pprof_read_names(struct sf_pprof *p)
{
    pprof_read_strings(p);
    if (p->b->is_full)
        return;
    read_comments(p);
    pprof_name_types(p);
}

static struct sf_pprof *pprof_new_reader(struct sf_profile_build *b, sf_str bytes)
{
    struct sf_pprof *p = sf_profile_new(b, 1, sizeof(*p));
    if (!p)
        return NULL;
    p->b = b;
    p->body = sf_str_bytes(bytes);
    p->derived = p->count_type = p->bare_set = p->last_set = SF_NONE;
    p->spy_kind = sf_frame_kind_of_spy(b->hint->spy);
    return p;
}

/* Finds each sample type of `p` in the later dump. */
static void match_types(struct sf_pprof *p, const struct sf_pprof *after)
{
    for (uint32_t t = 0; t < p->n_types; t++) {
        p->delta_types[t] = SF_NONE;
        for (uint32_t u = 0; u < after->n_types; u++) {
            if (sf_str_eq(p->type_names[t], after->type_names[u]) &&
                sf_str_eq(p->type_units[t], after->type_units[u]))
                p->delta_types[t] = u;
        }
    }
}

/* The differences between two dumps of one process; the head of `after` is used. */
static enum sf_err decode_pair(struct sf_profile_build *b, struct sf_pprof *after)
{
    struct sf_pprof_delta delta;
    struct sf_pprof *before = pprof_new_reader(b, b->hint->prev);
    enum sf_err err;

    if (!before)
        return SF_OK; /* finish() reports the error */
    sf_pprof_delta_init(&delta, b);
    after->delta = before->delta = &delta;
    before->is_before = true;
    err = pprof_read_head(before);
    if (!err)
        pprof_read_names(before);
    if (err)
        goto before_failed;
    if (before->time_ns > 0 && after->time_ns > before->time_ns) {
        after->duration_ns = after->time_ns - before->time_ns;
        if (b->hint->is_scrape)
            after->time_ns = before->time_ns; /* the changes happened between the two dumps */
    }
    pprof_read_names(after);
    if (b->is_full)
        return SF_OK;
    match_types(before, after);
    match_types(after, after);
    err = read_content(before);
    if (err)
        goto before_failed;
    err = b->is_full ? SF_OK : read_content(after);
    if (!err && !b->is_full)
        sf_pprof_delta_finish(&delta, after->whats);
    return err;

before_failed:
    if (b->why)
        sf_why_prefix(b->why, "prev_profile");
    return err;
}

static enum sf_err pprof_decode_clean(struct sf_profile_build *b, sf_str bytes)
{
    struct sf_pprof *p;
    enum sf_err err;
    p = pprof_new_reader(b, bytes);
    if (!p)
        return SF_OK; /* finish() reports the error */
    err = pprof_read_head(p);
    if (err)
        return err;
    /* A profile with a duration is not a running total, however it was fetched. */
    if (b->hint->prev.len && !(b->hint->is_scrape && p->duration_ns))
        return decode_pair(b, p);
    pprof_read_names(p);
    if (b->is_full)
        return SF_OK;
    err = read_content(p);
    if (!err && !b->is_full)
        pprof_tell_rest(p);
    return err;
}

static enum sf_err pprof_decode(struct sf_profile_build *b, sf_str bytes)
{
    bool was_clean = b->is_clean;
    enum sf_err err;
    b->is_clean = true; /* by pprof_read_strings() */
    err = pprof_decode_clean(b, bytes);
    b->is_clean = was_clean;
    return err;
}

/* True if all top-level fields are those of a pprof and the first string is empty, which gives a
 * zero byte: no text, JSON or file with a magic number has that. */
bool sf_pprof_is_whole(sf_str bytes)
{
    struct sf_pb pb = sf_pb_init(sf_str_bytes(bytes));
    bool has_type = false, has_string = false;
    while (sf_pb_next(&pb)) {
        switch (pb.tag) {
        case SF_PB_TAG(1, SF_PB_LEN): has_type = true; break;
        case SF_PB_TAG(6, SF_PB_LEN):
            if (!has_string && sf_pb_str(&pb).len)
                return false;
            if (has_string)
                sf_pb_skip(&pb);
            has_string = true;
            continue;
        case SF_PB_TAG(2, SF_PB_LEN):
        case SF_PB_TAG(3, SF_PB_LEN):
        case SF_PB_TAG(4, SF_PB_LEN):
        case SF_PB_TAG(5, SF_PB_LEN):
        case SF_PB_TAG(7, SF_PB_VARINT):
        case SF_PB_TAG(8, SF_PB_VARINT):
        case SF_PB_TAG(9, SF_PB_VARINT):
        case SF_PB_TAG(10, SF_PB_VARINT):
        case SF_PB_TAG(11, SF_PB_LEN):
        case SF_PB_TAG(12, SF_PB_VARINT):
        case SF_PB_TAG(13, SF_PB_LEN):
        case SF_PB_TAG(14, SF_PB_VARINT): break;
        default: return false;
        }
        sf_pb_skip(&pb);
    }
    return has_type && has_string && sf_pb_ok(&pb);
}

static bool is_pprof(sf_str bytes)
{
    struct sf_pb pb = sf_pb_init(sf_str_bytes(bytes));
    bool has_type = false, has_string = false;
    while (sf_pb_next(&pb)) {
        has_type |= pb.tag == SF_PB_TAG(1, SF_PB_LEN);
        has_string |= pb.tag == SF_PB_TAG(6, SF_PB_LEN);
        sf_pb_skip(&pb);
    }
    /* A truncated one is accepted too, so that the error says where it ends. */
    return has_type && has_string && (sf_pb_ok(&pb) || pb.fault_off > bytes.len / 2);
}

const struct sf_profile_format sf_pprof_format = {
    .name = "pprof",
    .also = "",
    .is = is_pprof,
    .decode = pprof_decode,
};

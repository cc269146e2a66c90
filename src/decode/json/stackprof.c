/* stackprof's JSON: frames by id with their sample counts and, with "raw", the stacks:
 *
 *     "raw": [depth, ids from the root, how often, depth, ...], "raw_timestamp_deltas": [us, ...]
 *
 * There is a delta for each sample. Without raw stacks only the number of samples with a frame as
 * leaf is known. Intervals are microseconds of CPU or wall time, or allocations. */
#include <inttypes.h>
#include <math.h>

#include "base/key.h"
#include "decode/json/json_shape.h"
#include "decode/profile_build.h"
#include "decode/sample_sums.h"
#include "wire/json.h"

struct frame {
    sf_str id;
    uint32_t location;
    int64_t self;
};

struct reader {
    struct sf_profile_build *b;
    struct sf_json j;
    struct sf_sample_sums sums;
    struct sf_profile_list frames, raw, deltas, path; /* raw: sf_str; deltas: double */
    struct sf_table frame_at;
    sf_str mode;
    double interval;
    uint32_t counts, values; /* series */
    double unit;             /* factor of a value: 1000 (microseconds to nanoseconds), or 1 */
};

static sf_str stackprof_raw_value(struct sf_json *j)
{
    const char *from;
    sf_str raw;
    (void)sf_json_peek(j);
    from = j->at;
    sf_json_skip(j);
    raw = sf_json_ok(j) ? (sf_str){from, (size_t)(j->at - from)} : SF_STR_NONE;
    return raw.len > 1 && raw.p[0] == '"' ? sf_str_part(raw, 1, raw.len - 2) : raw;
}

struct frame_key {
    const struct reader *r;
    sf_str id;
};

static bool stackprof_is_frame(const struct sf_profile_build *b, uint32_t place, const void *key)
{
    const struct frame_key *k = key;
    (void)b;
    return sf_str_eq(((const struct frame *)k->r->frames.items)[place].id, k->id);
}

static bool is_new_frame(struct reader *r, sf_str id, struct sf_profile_spot *spot)
{
    struct frame_key key = {r, id};
    return sf_profile_table_is_new(r->b, &r->frame_at, sf_key_str(id), stackprof_is_frame, &key,
                                   spot);
}

static void stackprof_read_frame(struct reader *r, sf_str id)
{
    struct frame f = {.id = id};
    struct sf_function function = {0};
    struct sf_profile_spot spot;
    sf_str key;
    double v;
    if (!sf_json_object(&r->j))
        return;
    while (sf_json_key(&r->j, &key)) {
        if (sf_str_eq(key, SF_STR("name"))) {
            function.name = sf_json_str(&r->j);
        } else if (sf_str_eq(key, SF_STR("file"))) {
            function.file = sf_json_str(&r->j);
        } else if (sf_str_eq(key, SF_STR("line"))) {
            v = sf_json_f64(&r->j);
            function.start_line = v > 0 && v < INT32_MAX ? (uint32_t)v : 0;
        } else if (sf_str_eq(key, SF_STR("samples"))) {
            v = sf_json_f64(&r->j);
            f.self = v > 0 && v < 9e15 ? (int64_t)v : 0;
        } else {
            sf_json_skip(&r->j);
        }
    }
    if (!function.name.len)
        function.name = SF_STR("(unknown)");
    f.location = sf_profile_build_frame(r->b, &function, 0, SF_FRAME_RUBY);
    if (f.location != SF_NONE && is_new_frame(r, id, &spot))
        sf_profile_table_keep(r->b, &spot, &r->frames, &f, sizeof(f));
}

static void stackprof_read_all(struct reader *r)
{
    sf_str key, id, *word;
    double *delta;
    if (!sf_json_object(&r->j))
        return;
    while (sf_json_key(&r->j, &key) && !r->b->is_full) {
        bool is_list = sf_json_peek(&r->j) == SF_JSON_ARRAY;
        if (sf_str_eq(key, SF_STR("frames")) && sf_json_peek(&r->j) == SF_JSON_OBJECT) {
            if (sf_json_object(&r->j)) {
                while (sf_json_key(&r->j, &id) && !r->b->is_full)
                    stackprof_read_frame(r, id);
            }
        } else if (sf_str_eq(key, SF_STR("mode"))) {
            r->mode = stackprof_raw_value(&r->j);
        } else if (sf_str_eq(key, SF_STR("interval"))) {
            r->interval = sf_json_f64(&r->j);
        } else if (sf_str_eq(key, SF_STR("raw")) && is_list && sf_json_array(&r->j)) {
            while (sf_json_item(&r->j) &&
                   (word = sf_profile_list_more(r->b, &r->raw, sizeof(*word)))) {
                *word = stackprof_raw_value(&r->j);
                r->raw.n++;
            }
        } else if (sf_str_eq(key, SF_STR("raw_timestamp_deltas")) && is_list &&
                   sf_json_array(&r->j)) {
            while (sf_json_item(&r->j) &&
                   (delta = sf_profile_list_more(r->b, &r->deltas, sizeof(*delta)))) {
                *delta = sf_json_f64(&r->j);
                r->deltas.n++;
            }
        } else {
            sf_json_skip(&r->j);
        }
    }
}

static uint32_t stackprof_open_type(struct reader *r, const char *name, const char *type,
                                    const char *unit, int64_t period)
{
    struct sf_profile_what what = {.type = {sf_str_from(name), sf_str_from(type), sf_str_from(unit),
                                            sf_str_from(type), sf_str_from(unit)},
                                   .period = period};
    return sf_profile_build_series(r->b, sf_profile_build_set(r->b, &r->b->me, NULL, 0),
                                   sf_profile_build_what(r->b, &what, false));
}

static void stackprof_open_types(struct reader *r)
{
    bool is_wall = sf_str_eq(r->mode, SF_STR("wall")), is_cpu = sf_str_eq(r->mode, SF_STR("cpu"));
    if (!(r->interval > 0 && r->interval < 9e12))
        r->interval = 1;
    r->unit = is_wall || is_cpu ? 1000 : 1;
    r->values = SF_NONE;
    if (is_wall || is_cpu)
        r->values = stackprof_open_type(r, is_wall ? "wall" : "process_cpu",
                                        is_wall ? "wall" : "cpu", "nanoseconds",
                                        llround(r->interval * 1000));
    else if (sf_str_eq(r->mode, SF_STR("object")))
        r->values = stackprof_open_type(r, "memory", "alloc_objects", "count",
                                        llround(r->interval));
    r->counts = stackprof_open_type(r, is_wall ? "wall" : "process_cpu", "samples", "count", 0);
}

static void stackprof_add(struct reader *r, const uint32_t *path, uint32_t n, uint64_t count,
                          double value)
{
    struct sf_sample s = {.count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX,
                          .stack = sf_profile_build_path(r->b, path, n),
                          .series = r->counts,
                          .value = count < INT64_MAX ? (int64_t)count : INT64_MAX};
    sf_sample_sums_add(&r->sums, &s);
    s.series = r->values;
    s.value = value > 0 && value < 9e18 ? llround(value) : 0;
    sf_sample_sums_add(&r->sums, &s);
}

/* The time of the next `count` samples: their deltas, or the interval if there are none. */
static double stackprof_time_of(struct reader *r, uint32_t *at, uint64_t count)
{
    double sum = 0;
    if (r->unit < 2 || !r->deltas.n)
        return (double)count * r->interval * r->unit;
    for (; count && *at < r->deltas.n; count--, (*at)++) {
        double v = ((const double *)r->deltas.items)[*at];
        sum += v > 0 ? v : 0;
    }
    return sum * r->unit;
}

static void add_raw(struct reader *r)
{
    const sf_str *raw = r->raw.items;
    uint32_t at = 0, delta = 0;
    while (at < r->raw.n && sf_profile_build_ok(r->b)) {
        uint64_t depth, count;
        uint32_t from = at;
        bool is_good = true;
        if (!sf_str_to_u64(raw[at++], &depth) || depth >= r->raw.n - at ||
            !sf_str_to_u64(raw[at + (uint32_t)depth], &count)) {
            sf_profile_build_drop(
                r->b, &r->b->drops.n_parts,
                "stackprof: raw[%" PRIu32 "] is not a stack, the rest is left out", from);
            return;
        }
        r->path.n = 0;
        for (uint64_t i = 0; i < depth; i++, at++) {
            struct sf_profile_spot spot;
            uint32_t *to = sf_profile_list_more(r->b, &r->path, sizeof(*to));
            is_good &= !is_new_frame(r, raw[at], &spot) && spot.place != SF_NONE;
            if (!to || !is_good)
                continue;
            *to = ((const struct frame *)r->frames.items)[spot.place].location;
            r->path.n++;
        }
        at++;
        if (is_good)
            stackprof_add(r, r->path.items, r->path.n, count, stackprof_time_of(r, &delta, count));
        else
            sf_profile_build_drop(
                r->b, &r->b->drops.n_samples,
                "stackprof: the stack at raw[%" PRIu32 "] has a frame that is not there", from);
    }
}

static enum sf_err stackprof_decode(struct sf_profile_build *b, sf_str bytes)
{
    struct reader *r = sf_profile_new(b, 1, sizeof(*r));
    enum sf_err err;
    if (!r)
        return SF_OK; /* finish() reports the error */
    r->b = r->sums.b = b;
    sf_json_init(&r->j, bytes, b->a);
    stackprof_read_all(r);
    if (b->is_full)
        return SF_OK;
    sf_json_end(&r->j);
    err = sf_json_why(&r->j, "stackprof", b->why);
    if (err)
        return err;
    stackprof_open_types(r);
    if (r->raw.n) {
        add_raw(r);
        return SF_OK;
    }
    for (uint32_t i = 0; i < r->frames.n && sf_profile_build_ok(b); i++) {
        const struct frame *f = (const struct frame *)r->frames.items + i;
        if (f->self)
            stackprof_add(r, &f->location, 1, (uint64_t)f->self,
                          (double)f->self * r->interval * r->unit);
    }
    return SF_OK;
}

static bool is_stackprof(const struct sf_json_shape *s)
{
    return sf_json_shape_has(s, "", "frames") && sf_json_shape_has(s, "", "mode") &&
           sf_json_shape_has(s, "", "interval");
}

const struct sf_profile_format sf_stackprof_format = {
    .name = "stackprof",
    .also = "",
    .is_json = is_stackprof,
    .decode = stackprof_decode,
};

/* Pyroscope's flame graph as a file, as its pages export it:
 *
 *     "flamebearer": {"names": ["total", "main", ...], "levels": [[0, 9, 0, 0], [0, 5, 2, 1, ...]]}
 *     "metadata": {"format": "single", "units": "samples", "name": "cpu", "sampleRate": 100}
 *
 * A level lists bars from left to right, four numbers each: the gap to the previous bar, its total,
 * its self value, its name. The parent of a bar is the bar of the previous level that covers its
 * position. Two profiles in one ("double") do not contain the stacks of each and are refused.
 * Values are samples at `sampleRate` per second for times, or in `units`. */
#include <inttypes.h>

#include "base/limits.h"
#include "base/num.h"
#include "decode/json/json_shape.h"
#include "decode/profile_type.h"
#include "decode/sample_sums.h"
#include "wire/json.h"

struct bar {
    int64_t from, to;
    uint32_t parent;   /* index in `bars`; SF_NONE: none */
    uint32_t location; /* SF_NONE: the root, which has no frame */
};

struct reader {
    struct sf_profile_build *b;
    struct sf_json j;
    struct sf_profile_list names, numbers, ends; /* sf_str, int64_t, where each level ends */
    struct sf_profile_list locations, bars, path;
    struct sf_sample_sums sums;
    sf_str format, units, name;
    double rate;
    uint32_t series;
    int64_t unit_ns; /* duration of one sample; 0: values are not samples of time */
};

static void flamebearer_read_names(struct reader *r)
{
    sf_str *to;
    if (!sf_json_array(&r->j))
        return;
    while (sf_json_item(&r->j) && (to = sf_profile_list_more(r->b, &r->names, sizeof(*to)))) {
        *to = sf_json_str(&r->j);
        r->names.n++;
    }
}

static void flamebearer_read_levels(struct reader *r)
{
    int64_t *number;
    uint32_t *end;
    if (!sf_json_array(&r->j))
        return;
    while (sf_json_item(&r->j) && (end = sf_profile_list_more(r->b, &r->ends, sizeof(*end)))) {
        if (sf_json_array(&r->j)) {
            while (sf_json_item(&r->j) &&
                   (number = sf_profile_list_more(r->b, &r->numbers, sizeof(*number)))) {
                *number = sf_json_i64(&r->j);
                r->numbers.n++;
            }
        }
        *end = r->numbers.n;
        r->ends.n++;
    }
}

static void flamebearer_read_part(struct reader *r, bool is_flame)
{
    sf_str key;
    if (!sf_json_object(&r->j))
        return;
    while (sf_json_key(&r->j, &key) && !r->b->is_full) {
        if (is_flame && sf_str_eq(key, SF_STR("names")) && r->names.n == 0)
            flamebearer_read_names(r);
        else if (is_flame && sf_str_eq(key, SF_STR("levels")) && r->ends.n == 0)
            flamebearer_read_levels(r);
        else if (!is_flame && sf_str_eq(key, SF_STR("format")))
            r->format = sf_json_str(&r->j);
        else if (!is_flame && sf_str_eq(key, SF_STR("units")))
            r->units = sf_json_str(&r->j);
        else if (!is_flame && sf_str_eq(key, SF_STR("name")))
            r->name = sf_json_str(&r->j);
        else if (!is_flame && sf_str_eq(key, SF_STR("sampleRate")))
            r->rate = sf_json_f64(&r->j);
        else
            sf_json_skip(&r->j);
    }
}

/* CPU "samples" are converted to time; a sample rate of a billion means that they are nanoseconds
 * already. */
static void flamebearer_open_type(struct reader *r)
{
    sf_str type = r->name.len ? r->name : SF_STR("samples");
    bool is_time = sf_str_eq(type, SF_STR("cpu")) || sf_str_eq(type, SF_STR("wall"));
    bool is_count = sf_str_eq(r->units, SF_STR("samples")) ||
                    sf_str_eq(r->units, SF_STR("objects"));
    sf_str unit = sf_profile_type_unit_of(is_time && is_count ? SF_STR("nanoseconds")
                                          : is_count          ? SF_STR("count")
                                          : r->units.len      ? r->units
                                                              : SF_STR("count"));
    struct sf_profile_what what = {
        .type = {sf_profile_type_name_of(&type, 1, SF_STR_NONE), type, unit, type, unit}};
    if (is_time && is_count && r->rate >= 1 && r->rate <= 1e9)
        r->unit_ns = (int64_t)(1e9 / r->rate);
    r->series = sf_profile_build_series(r->b, sf_profile_build_set(r->b, &r->b->me, NULL, 0),
                                        sf_profile_build_what(r->b, &what, true));
}

static void open_names(struct reader *r)
{
    for (uint32_t i = 0; i < r->names.n && sf_profile_build_ok(r->b); i++) {
        sf_str name = ((const sf_str *)r->names.items)[i];
        uint32_t *to = sf_profile_list_more(r->b, &r->locations, sizeof(*to));
        if (!to)
            return;
        *to = sf_profile_build_frame(
            r->b, &(struct sf_function){.name = name.len ? name : SF_STR("(unknown)")}, 0,
            SF_FRAME_UNKNOWN);
        r->locations.n++;
    }
}

/* Adds the path from a bar to the root, leaf first, as a stack with the bar's self value. */
static void flamebearer_add_bar(struct reader *r, uint32_t at, int64_t self)
{
    const struct bar *bars = r->bars.items;
    struct sf_sample s = {.count = 1, .series = r->series, .value = self};
    r->path.n = 0;
    for (uint32_t i = at; i != SF_NONE && bars[i].location != SF_NONE; i = bars[i].parent) {
        uint32_t *to = sf_profile_list_more(r->b, &r->path, sizeof(*to));
        if (!to)
            return;
        *to = bars[i].location;
        r->path.n++;
    }
    if (r->unit_ns > 1 && __builtin_mul_overflow(self, r->unit_ns, &s.value))
        s.value = INT64_MAX;
    s.stack = sf_profile_build_stack(r->b, r->path.items, r->path.n);
    sf_sample_sums_add(&r->sums, &s);
}

/* Reads one level; `from` and `n_above` give the bars of the previous level. */
static const char *take_level(struct reader *r, const int64_t *n, uint32_t n_numbers, uint32_t from,
                              uint32_t n_above)
{
    int64_t x = 0;
    uint32_t above = 0;
    if (n_numbers % 4)
        return "a level is not made of fours";
    for (uint32_t i = 0; i < n_numbers && sf_profile_build_ok(r->b); i += 4) {
        struct bar *to = sf_profile_list_more(r->b, &r->bars, sizeof(*to));
        const struct bar *bars = r->bars.items;
        struct bar bar = {.parent = SF_NONE, .location = SF_NONE};
        if (!to)
            return NULL;
        if (n[i] < 0 || n[i + 1] < 0 || n[i + 2] < 0 || n[i + 2] > n[i + 1] || n[i + 3] < 0 ||
            n[i + 3] >= (int64_t)r->names.n || __builtin_add_overflow(x, n[i], &bar.from) ||
            __builtin_add_overflow(bar.from, n[i + 1], &bar.to))
            return "a bar whose numbers cannot be";
        x = bar.to;
        if (bar.from == bar.to) { /* an empty bar, which has no children */
            *to = bar;
            r->bars.n++;
            continue;
        }
        while (above < n_above && bars[from + above].to <= bar.from)
            above++;
        if (from + above > 0 || n_above) {
            if (above == n_above || bars[from + above].from > bar.from ||
                bars[from + above].to < bar.to)
                return "a bar that stands on none";
            bar.parent = from + above;
            bar.location = ((const uint32_t *)r->locations.items)[n[i + 3]];
        }
        *to = bar;
        r->bars.n++;
        if (n[i + 2])
            flamebearer_add_bar(r, r->bars.n - 1, n[i + 2]);
    }
    return NULL;
}

static enum sf_err take_levels(struct reader *r)
{
    const uint32_t *ends = r->ends.items;
    const int64_t *numbers = r->numbers.items; /* NULL: all levels are empty */
    uint32_t from = 0, n_above = 0;
    for (uint32_t i = 0; i < r->ends.n && sf_profile_build_ok(r->b); i++) {
        uint32_t begin = i ? ends[i - 1] : 0, n_bars = r->bars.n;
        const char *fault = i > 4 * SF_LIMIT_FRAMES
                                ? "too many levels"
                                : take_level(r, numbers ? numbers + begin : NULL, ends[i] - begin,
                                             from, n_above);
        if (fault)
            return sf_fail(r->b->why, SF_ERR_INPUT, "flamebearer: %s, in level %" PRIu32, fault, i);
        from = n_bars;
        n_above = r->bars.n - n_bars;
    }
    return SF_OK;
}

static enum sf_err flamebearer_decode(struct sf_profile_build *b, sf_str bytes)
{
    struct reader *r = sf_profile_new(b, 1, sizeof(*r));
    enum sf_err err;
    sf_str key;
    if (!r)
        return SF_OK; /* finish() reports the error */
    r->b = r->sums.b = b;
    sf_json_init(&r->j, bytes, b->a);
    if (sf_json_object(&r->j)) {
        while (sf_json_key(&r->j, &key) && !b->is_full) {
            if (sf_str_eq(key, SF_STR("flamebearer")))
                flamebearer_read_part(r, true);
            else if (sf_str_eq(key, SF_STR("metadata")))
                flamebearer_read_part(r, false);
            else
                sf_json_skip(&r->j);
        }
    }
    if (b->is_full)
        return SF_OK;
    sf_json_end(&r->j);
    err = sf_json_why(&r->j, "flamebearer", b->why);
    if (err)
        return err;
    if (sf_str_eq(r->format, SF_STR("double")))
        return sf_fail(b->why, SF_ERR_UNSUPPORTED,
                       "flamebearer: a comparison of two profiles is not a profile");
    flamebearer_open_type(r);
    open_names(r);
    return take_levels(r);
}

static bool is_flamebearer(const struct sf_json_shape *s)
{
    return sf_json_shape_has(s, "", "flamebearer");
}

const struct sf_profile_format sf_flamebearer_format = {
    .name = "flamebearer",
    .also = "",
    .is_json = is_flamebearer,
    .decode = flamebearer_decode,
};

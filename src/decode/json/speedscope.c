/* speedscope's file format: frames shared by all, and profiles that are lists of stacks with
 * weights ("sampled") or of frames that open and close ("evented").
 *
 * Keys may be in any order, so the text is read twice: for the frames, then for the profiles, each
 * of which is read twice again. An invalid profile is left out and the others are kept; of a sample
 * with an unknown frame only the sample is left out. */
#include <inttypes.h>
#include <math.h>

#include "base/limits.h"
#include "decode/frame_kind.h"
#include "decode/profile_build.h"
#include "decode/profile_type.h"
#include "wire/json.h"

enum { MAX_PROFILES = 4096 };

struct reader {
    struct sf_profile_build *b;
    struct sf_json j, again;       /* too large for the stack */
    struct sf_profile_list frames; /* indexes of locations */
    uint32_t n_profiles;

    /* State of the current profile. */
    sf_str type, unit, name;
    double end, last;
    double unit_ns; /* 0: no time */
    uint32_t series;
    struct sf_profile_list path, stacks, weights; /* path: frames; stacks: indexes or SF_NONE;
                                                   * weights: double */
    const char *bad;
};

/* --- frames --- */

static void speedscope_read_frame(struct reader *r, struct sf_json *j)
{
    struct sf_function f = {0};
    uint32_t line = 0, *to;
    sf_str key;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        double v;
        if (sf_str_eq(key, SF_STR("name"))) {
            f.name = sf_json_str(j);
        } else if (sf_str_eq(key, SF_STR("file"))) {
            f.file = sf_json_str(j);
        } else if (sf_str_eq(key, SF_STR("line"))) {
            v = sf_json_f64(j);
            line = v > 0 && v < 4e9 ? (uint32_t)v : 0;
        } else {
            sf_json_skip(j);
        }
    }
    if (!f.name.len)
        f.name = SF_STR("(unknown)");
    to = sf_profile_list_more(r->b, &r->frames, sizeof(*to));
    if (!to)
        return;
    *to = sf_profile_build_frame(r->b, &f, line, sf_frame_kind_of_file(f.file, SF_STR_NONE));
    r->frames.n++;
}

static void speedscope_read_frames(struct reader *r, struct sf_json *j)
{
    sf_str key;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (!sf_str_eq(key, SF_STR("frames"))) {
            sf_json_skip(j);
        } else if (sf_json_array(j)) {
            while (sf_json_item(j) && !r->b->is_full)
                speedscope_read_frame(r, j);
        }
    }
}

/* The location for the frame number at the cursor, or SF_NONE. */
static uint32_t speedscope_frame_at(struct reader *r, struct sf_json *j)
{
    double v = sf_json_f64(j);
    if (!(v >= 0 && v < (double)r->frames.n) || v != floor(v))
        return SF_NONE;
    return ((const uint32_t *)r->frames.items)[(uint32_t)v];
}

static void push_u32(struct reader *r, struct sf_profile_list *l, uint32_t v)
{
    uint32_t *to = sf_profile_list_more(r->b, l, sizeof(*to));
    if (!to)
        return;
    *to = v;
    l->n++;
}

/* --- sampled --- */

static void read_samples(struct reader *r, struct sf_json *j)
{
    if (!sf_json_array(j))
        return;
    while (sf_json_item(j) && sf_profile_build_ok(r->b)) {
        bool is_good = true;
        r->path.n = 0;
        if (!sf_json_array(j))
            continue;
        while (sf_json_item(j) && !r->b->is_full) {
            uint32_t place = speedscope_frame_at(r, j);
            is_good &= place != SF_NONE;
            if (is_good)
                push_u32(r, &r->path, place);
        }
        push_u32(r, &r->stacks,
                 is_good ? sf_profile_build_path(r->b, r->path.items, r->path.n) : SF_NONE);
    }
}

static void read_weights(struct reader *r, struct sf_json *j)
{
    if (!sf_json_array(j))
        return;
    while (sf_json_item(j) && !r->b->is_full) {
        double *to = sf_profile_list_more(r->b, &r->weights, sizeof(*to));
        if (!to)
            return;
        *to = sf_json_f64(j);
        r->weights.n++;
    }
}

/* Rounded after scaling: py-spy writes hundredths of seconds. */
static bool speedscope_value_of(const struct reader *r, double weight, int64_t *out)
{
    double v = r->unit_ns > 0 ? weight * r->unit_ns : weight;
    if (!(v >= 0 && v < 9e18))
        return false;
    *out = llround(v);
    return true;
}

static void speedscope_add(struct reader *r, uint32_t stack, int64_t value)
{
    struct sf_sample s = {.series = r->series, .stack = stack, .value = value};
    sf_profile_build_sample(r->b, &r->b->me, &s);
}

static void speedscope_add_samples(struct reader *r)
{
    const uint32_t *stacks = r->stacks.items;
    const double *weights = r->weights.items;
    if (r->stacks.n != r->weights.n) {
        r->bad = "as many weights as samples are needed";
        return;
    }
    for (uint32_t i = 0; i < r->stacks.n && sf_profile_build_ok(r->b); i++) {
        int64_t value;
        if (stacks[i] != SF_NONE && speedscope_value_of(r, weights[i], &value))
            speedscope_add(r, stacks[i], value);
        else
            sf_profile_build_drop(
                r->b, &r->b->drops.n_samples,
                "speedscope: profile %" PRIu32 ": sample %" PRIu32 " has %s", r->n_profiles, i,
                stacks[i] == SF_NONE ? "a frame that is not there" : "a weight that cannot be");
    }
}

/* --- evented --- */

/* The time between the last event and this one belongs to the open frame. */
static void speedscope_add_until(struct reader *r, double at)
{
    int64_t value;
    if (r->path.n && at > r->last && speedscope_value_of(r, at - r->last, &value))
        speedscope_add(r, sf_profile_build_path(r->b, r->path.items, r->path.n), value);
    r->last = at;
}

static void speedscope_take_event(struct reader *r, struct sf_json *j, bool *io_is_first)
{
    double at = NAN;
    uint32_t place = SF_NONE;
    sf_str key, type = SF_STR_NONE;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("at")))
            at = sf_json_f64(j);
        else if (sf_str_eq(key, SF_STR("frame")))
            place = speedscope_frame_at(r, j);
        else if (sf_str_eq(key, SF_STR("type")))
            type = sf_json_str(j);
        else
            sf_json_skip(j);
    }
    if (r->bad || !sf_json_ok(j))
        return;
    if (!isfinite(at) || (!*io_is_first && at < r->last)) {
        r->bad = "its events go back in time";
        return;
    }
    if (*io_is_first)
        r->last = at;
    *io_is_first = false;
    speedscope_add_until(r, at);
    if (place == SF_NONE)
        r->bad = "an event of a frame that is not there";
    else if (sf_str_eq(type, SF_STR("O")))
        push_u32(r, &r->path, place);
    else if (r->path.n && ((const uint32_t *)r->path.items)[r->path.n - 1] == place)
        r->path.n--;
    else
        r->bad = "a frame closes that is not the innermost";
}

static void speedscope_read_events(struct reader *r, struct sf_json *j)
{
    bool is_first = true;
    r->path.n = 0;
    if (!sf_json_array(j))
        return;
    while (sf_json_item(j) && sf_profile_build_ok(r->b))
        speedscope_take_event(r, j, &is_first);
    if (!r->bad && !is_first && r->end > r->last)
        speedscope_add_until(r, r->end); /* frames that are still open end with the profile */
}

/* --- a profile --- */

static void speedscope_read_head(struct reader *r, struct sf_json *j)
{
    sf_str key;
    r->type = r->unit = r->name = SF_STR_NONE;
    r->end = 0;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("type")))
            r->type = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("unit")))
            r->unit = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("name")))
            r->name = sf_profile_clean(r->b, sf_json_str(j));
        else if (sf_str_eq(key, SF_STR("endValue")))
            r->end = sf_json_f64(j);
        else
            sf_json_skip(j);
    }
}

/* The request may say what was measured; otherwise the unit determines it. */
static void speedscope_open_series(struct reader *r, bool is_only)
{
    const struct sf_profile_hint *hint = r->b->hint;
    struct sf_label label = {SF_STR("profile_name"), r->name};
    struct sf_profile_what what = {0};
    bool is_time = r->unit_ns > 0, is_bytes = sf_str_eq(r->unit, SF_STR("bytes")), unused;
    sf_str word = hint->type_word.len ? hint->type_word
                  : is_bytes          ? SF_STR("bytes")
                                      : SF_STR("cpu");
    if (!sf_profile_type_of_word(word, is_time, &what.type, &unused))
        sf_profile_type_of_word(SF_STR("cpu"), is_time, &what.type, &unused);
    if (is_bytes && !hint->type_word.len)
        what.type.sample_unit = SF_STR("bytes");
    r->series = sf_profile_build_series(
        r->b, sf_profile_build_set(r->b, &r->b->me, &label, r->name.len && !is_only),
        sf_profile_build_what(r->b, &what, true));
}

static bool speedscope_set_unit(struct reader *r)
{
    static const char *const plain[] = {"none", "bytes", ""};
    r->unit_ns = (double)sf_profile_type_unit_ns(r->unit);
    for (size_t i = 0; i < 3 && !(r->unit_ns > 0); i++) {
        if (sf_str_eq(r->unit, sf_str_from(plain[i])))
            return true;
    }
    return r->unit_ns > 0;
}

static void speedscope_read_body(struct reader *r, struct sf_json *j)
{
    bool is_sampled = sf_str_eq(r->type, SF_STR("sampled"));
    sf_str key;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key) && !r->b->is_full) {
        if (is_sampled && sf_str_eq(key, SF_STR("samples")))
            read_samples(r, j);
        else if (is_sampled && sf_str_eq(key, SF_STR("weights")))
            read_weights(r, j);
        else if (!is_sampled && sf_str_eq(key, SF_STR("events")))
            speedscope_read_events(r, j);
        else
            sf_json_skip(j);
    }
    if (is_sampled && sf_json_ok(j) && !r->b->is_full)
        speedscope_add_samples(r);
}

static void speedscope_read_profile(struct reader *r, bool is_only)
{
    uint32_t n_samples = r->b->samples.n;
    r->again = r->j;
    r->bad = NULL;
    r->stacks.n = r->weights.n = r->path.n = 0;
    speedscope_read_head(r, &r->again);
    if (!speedscope_set_unit(r))
        r->bad = "its unit is none of speedscope's";
    else if (!sf_str_eq(r->type, SF_STR("sampled")) && !sf_str_eq(r->type, SF_STR("evented")))
        r->bad = "it is neither sampled nor evented";
    if (r->bad) {
        sf_json_skip(&r->j);
    } else {
        speedscope_open_series(r, is_only);
        speedscope_read_body(r, &r->j);
    }
    if (r->bad) {
        r->b->samples.n = n_samples;
        sf_profile_build_drop(r->b, &r->b->drops.n_parts, "speedscope: profile %" PRIu32 ": %s",
                              r->n_profiles, r->bad);
    }
    r->n_profiles++;
}

/* --- the file --- */

static uint32_t read_shared(struct reader *r)
{
    uint32_t n_profiles = 0;
    sf_str key;
    if (!sf_json_object(&r->j))
        return 0;
    while (sf_json_key(&r->j, &key) && !r->b->is_full) {
        if (sf_str_eq(key, SF_STR("shared"))) {
            speedscope_read_frames(r, &r->j);
        } else if (sf_str_eq(key, SF_STR("profiles")) && sf_json_array(&r->j)) {
            while (sf_json_item(&r->j)) {
                sf_json_skip(&r->j);
                n_profiles++;
            }
        } else if (!sf_str_eq(key, SF_STR("profiles"))) {
            sf_json_skip(&r->j);
        }
    }
    return n_profiles;
}

static void speedscope_read_profiles(struct reader *r, uint32_t n_profiles)
{
    sf_str key;
    if (!sf_json_object(&r->j))
        return;
    while (sf_json_key(&r->j, &key) && sf_profile_build_ok(r->b)) {
        if (!sf_str_eq(key, SF_STR("profiles"))) {
            sf_json_skip(&r->j);
        } else if (sf_json_array(&r->j)) {
            while (sf_json_item(&r->j) && sf_profile_build_ok(r->b))
                speedscope_read_profile(r, n_profiles == 1);
        }
    }
}

static enum sf_err speedscope_decode(struct sf_profile_build *b, sf_str bytes)
{
    struct reader *r = sf_profile_new(b, 1, sizeof(*r));
    uint32_t n_profiles;
    enum sf_err err;
    if (!r)
        return SF_OK; /* finish() reports the error */
    r->b = b;
    sf_json_init(&r->j, bytes, b->a);
    n_profiles = read_shared(r);
    if (b->is_full)
        return SF_OK;
    sf_json_end(&r->j);
    err = sf_json_why(&r->j, "speedscope", b->why);
    if (err)
        return err;
    if (n_profiles > MAX_PROFILES)
        return sf_fail(b->why, SF_ERR_LIMIT, "speedscope: %" PRIu32 " profiles, more than %d",
                       n_profiles, MAX_PROFILES);
    sf_json_init(&r->j, bytes, b->a);
    speedscope_read_profiles(r, n_profiles);
    return sf_profile_build_ok(b) ? sf_json_why(&r->j, "speedscope", b->why) : SF_OK;
}

static bool is_speedscope(sf_str bytes)
{
    sf_str text = sf_str_trim(bytes);
    return text.len && text.p[0] == '{' &&
           sf_str_find(text, SF_STR("speedscope.app/file-format-schema.json"), &(size_t){0});
}

const struct sf_profile_format sf_speedscope_format = {
    .name = "speedscope",
    .also = "",
    .is = is_speedscope,
    .decode = speedscope_decode,
};

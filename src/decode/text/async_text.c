/* async-profiler's text ("-o traces", "-o flat", or both):
 *
 *     --- Execution profile ---
 *     Total samples       : 131152
 *
 *     --- 9902352571 ns (7.48%), 9820 samples          a stack, leaf first
 *       [ 0] copy_user_[k]
 *       [ 1] java.lang.Foo.bar_[j]
 *
 *               ns  percent  samples  top              leaves alone
 *       ----------  -------  -------  ---
 *       9902352571    7.48%     9820  copy_user_[k]
 *
 * The list of leaves is used only where there are no stacks: it says the same again. */
#include <inttypes.h>

#include "base/limits.h"
#include "decode/profile_type.h"
#include "decode/sample_sums.h"
#include "decode/text/stack_text.h"
#include "decode/text_word.h"

struct reader {
    struct sf_profile_build *b;
    struct sf_stack_text text;
    struct sf_sample_sums sums;
    struct sf_profile_list frames; /* leaf first */
    uint32_t values, counts;       /* series */
    int64_t value, count;
    bool is_open, is_typed, has_traces, is_flat;
    uint64_t n_line;
};

/* The unit of the numbers: nanoseconds, bytes, or events by their name. */
static void async_text_open_types(struct reader *r, sf_str unit)
{
    struct sf_profile_what what = {0};
    uint32_t set = sf_profile_build_set(r->b, &r->b->me, NULL, 0);
    const struct sf_profile_hint *hint = r->b->hint;
    bool is_time = sf_str_eq(unit, SF_STR("ns")), unused;
    sf_str word = hint->type_word.len                ? hint->type_word
                  : sf_str_eq(unit, SF_STR("bytes")) ? SF_STR("alloc_space")
                                                     : SF_STR("cpu");
    if (!sf_profile_type_of_word(word, is_time, &what.type, &unused))
        sf_profile_type_of_word(SF_STR("cpu"), is_time, &what.type, &unused);
    if (!is_time && !sf_str_eq(unit, SF_STR("bytes")) && !sf_str_starts(unit, SF_STR("sample")))
        what.type = (struct sf_profile_type){unit, unit, SF_STR("count"), unit, SF_STR("count")};
    r->values = sf_profile_build_series(r->b, set, sf_profile_build_what(r->b, &what, false));
    what.type = (struct sf_profile_type){what.type.name, SF_STR("samples"), SF_STR("count"),
                                         SF_STR_NONE, SF_STR_NONE};
    r->counts = sf_str_starts(unit, SF_STR("sample"))
                    ? SF_NONE
                    : sf_profile_build_series(r->b, set, sf_profile_build_what(r->b, &what, false));
    r->is_typed = true;
}

static void async_text_close_sample(struct reader *r)
{
    struct sf_sample s = {.series = r->values, .value = r->value};
    if (!r->is_open)
        return;
    s.count = r->count > 0 && r->count < UINT32_MAX ? (uint32_t)r->count : 1;
    s.stack = sf_profile_build_stack(r->b, r->frames.items, r->frames.n);
    sf_sample_sums_add(&r->sums, &s);
    s.series = r->counts;
    s.value = r->count;
    sf_sample_sums_add(&r->sums, &s);
    r->is_open = false;
}

/* "--- 9902352571 ns (7.48%), 9820 samples" */
static bool async_text_open_sample(struct reader *r, sf_str line)
{
    sf_str rest = sf_str_from_at(line, 3), word, unit, percent;
    int64_t value, count;
    if (!sf_text_word(&rest, &word) || !sf_str_to_i64(word, &value) || value < 0 ||
        !sf_text_word(&rest, &unit))
        return false;
    count = value;
    if (sf_text_word(&rest, &percent) && sf_text_word(&rest, &word) &&
        (!sf_str_to_i64(word, &count) || count < 0))
        return false;
    async_text_close_sample(r);
    if (!r->is_typed)
        async_text_open_types(r, sf_str_ends(unit, SF_STR(",")) ? sf_str_part(unit, 0, unit.len - 1)
                                                                : unit);
    r->value = value;
    r->count = count;
    r->frames.n = 0;
    r->is_open = r->has_traces = true;
    return true;
}

static void async_text_push(struct reader *r, sf_str name)
{
    uint32_t *to = sf_profile_list_more(r->b, &r->frames, sizeof(*to));
    if (!to)
        return;
    *to = sf_stack_text_frame(&r->text, name);
    r->frames.n += *to != SF_NONE;
}

/* "9902352571    7.48%     9820  copy_user_[k]" */
static bool take_flat(struct reader *r, sf_str line)
{
    sf_str rest = line, value, percent, count;
    if (!sf_text_word(&rest, &value) || !sf_text_word(&rest, &percent) ||
        !sf_text_word(&rest, &count) || !sf_str_ends(percent, SF_STR("%")) ||
        !sf_str_to_i64(value, &r->value) || !sf_str_to_i64(count, &r->count) || r->value < 0 ||
        r->count < 0)
        return false;
    r->frames.n = 0;
    async_text_push(r, sf_str_trim(rest));
    r->is_open = true;
    async_text_close_sample(r);
    return true;
}

static void async_text_take_line(struct reader *r, sf_str line)
{
    sf_str rest = line, word;
    size_t at;
    if (sf_str_starts(line, SF_STR("--- "))) {
        if (!async_text_open_sample(r, line) && !sf_str_find(line, SF_STR("profile ---"), &at))
            sf_profile_build_drop(r->b, &r->b->drops.n_parts,
                                  "async-profiler: line %" PRIu64 " is not a stack", r->n_line);
    } else if (line.p[0] == '[' && r->is_open) {
        if (sf_str_find_char(line, ']', &at) && r->frames.n < 4 * SF_LIMIT_FRAMES)
            async_text_push(r, sf_str_trim(sf_str_from_at(line, at + 1)));
    } else if (sf_str_ends(line, SF_STR("top")) && sf_text_word(&rest, &word) &&
               sf_str_find(line, SF_STR("percent"), &at)) {
        async_text_close_sample(r);
        r->is_flat = !r->has_traces;
        if (r->is_flat && !r->is_typed)
            async_text_open_types(r, word);
    } else if (r->is_flat && line.p[0] >= '0' && line.p[0] <= '9' && !take_flat(r, line)) {
        sf_profile_build_drop(r->b, &r->b->drops.n_parts,
                              "async-profiler: line %" PRIu64 " is not a leaf", r->n_line);
    }
}

static enum sf_err async_text_decode(struct sf_profile_build *b, sf_str bytes)
{
    struct reader r = {.b = b, .text = {.b = b}, .sums = {.b = b}};
    sf_str rest = bytes, line;
    while (sf_profile_build_ok(b) && sf_str_split_next(&rest, '\n', &line)) {
        r.n_line++;
        line = sf_str_trim(line);
        if (!line.len)
            async_text_close_sample(&r);
        else if (line.len <= SF_LIMIT_LINE_LEN)
            async_text_take_line(&r, line);
    }
    async_text_close_sample(&r);
    if (!r.is_typed && sf_profile_build_ok(b))
        return sf_fail(b->why, SF_ERR_INPUT,
                       "async-profiler: there are neither stacks nor leaves in it (a summary?)");
    return SF_OK;
}

static bool is_async(sf_str bytes)
{
    return sf_str_find(sf_str_part(bytes, 0, 4096), SF_STR("--- Execution profile ---"),
                       &(size_t){0});
}

const struct sf_profile_format sf_async_text_format = {
    .name = "async-profiler",
    .also = "async-profiler-text",
    .is = is_async,
    .decode = async_text_decode,
};

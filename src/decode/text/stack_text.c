#include "decode/text/stack_text.h"

#include "base/time_unit.h"
#include "decode/frame_kind.h"
#include "decode/profile_type.h"

enum sf_err sf_stack_text_init(struct sf_stack_text *t, struct sf_profile_build *b)
{
    const struct sf_profile_hint *hint = b->hint;
    struct sf_profile_what what = {0};
    sf_str word = hint->type_word.len ? hint->type_word : SF_STR("cpu");
    bool has_rate = hint->has_sample_rate && hint->sample_rate, is_time = false;

    *t = (struct sf_stack_text){.b = b, .factor = 1};
    if (!hint->type_word.len && hint->type.sample_type.len)
        what.type = hint->type;
    else if (!sf_profile_type_of_word(word, has_rate, &what.type, &is_time))
        return sf_fail(b->why, SF_ERR_INPUT, "profile: \"%.*s\" is not a known profile type",
                       SF_STR_ARG(word));
    if (is_time)
        t->factor = what.period = SF_NS_PER_S / (int64_t)hint->sample_rate;
    if (t->factor == 0)
        t->factor = what.period = 1;
    t->series = sf_profile_build_series(b, sf_profile_build_set(b, &b->me, NULL, 0),
                                        sf_profile_build_what(b, &what, true));
    return SF_OK;
}

/* "_[k]" at the end: the kind of code, as written by the folding scripts of perf and
 * async-profiler. */
static enum sf_frame_kind take_suffix(sf_str *name)
{
    const char *end;
    enum sf_frame_kind kind;
    if (name->len < 5)
        return SF_FRAME_UNKNOWN;
    end = name->p + name->len;
    if (end[-4] != '_' || end[-3] != '[' || end[-1] != ']')
        return SF_FRAME_UNKNOWN;
    switch (end[-2]) {
    case 'k': kind = SF_FRAME_KERNEL; break;
    case 'j':
    case 'i':
    case '0':
    case '1': kind = SF_FRAME_JVM; break;
    default: return SF_FRAME_UNKNOWN;
    }
    name->len -= 4;
    return kind;
}

uint32_t sf_stack_text_frame(struct sf_stack_text *t, sf_str name)
{
    struct sf_function f = {.name = sf_profile_clean(t->b, name)};
    enum sf_frame_kind kind = take_suffix(&f.name);
    if (kind == SF_FRAME_UNKNOWN)
        kind = sf_frame_kind_of_spy(t->b->hint->spy);
    if (!f.name.len)
        f.name = SF_STR("(unknown)");
    return sf_profile_build_frame(t->b, &f, 0, kind);
}

static void stack_text_add(struct sf_stack_text *t, const uint32_t *path, size_t n, int64_t value)
{
    struct sf_sample s = {.series = t->series, .value = value};
    s.stack = sf_profile_build_path(t->b, path, n);
    if (t->factor > 1 && value / t->factor <= UINT32_MAX)
        s.count = (uint32_t)(value / t->factor);
    sf_profile_build_sample(t->b, &t->b->me, &s);
}

void sf_stack_text_add_path(struct sf_stack_text *t, const uint32_t *path, size_t n, int64_t count)
{
    int64_t value;
    if (__builtin_mul_overflow(count, t->factor, &value))
        value = INT64_MAX;
    stack_text_add(t, path, n, value);
}

static void stack_text_push(struct sf_stack_text *t, sf_str name)
{
    uint32_t *to = sf_profile_list_more(t->b, &t->path, sizeof(*to));
    if (!to)
        return;
    *to = sf_stack_text_frame(t, name);
    t->path.n += *to != SF_NONE;
}

void sf_stack_text_add_value(struct sf_stack_text *t, sf_str stack, int64_t value)
{
    sf_str rest = stack, name;
    t->path.n = 0;
    while (sf_str_split_next(&rest, ';', &name)) {
        if (name.len)
            stack_text_push(t, name);
    }
    if (!t->path.n)
        stack_text_push(t, SF_STR("(unknown)")); /* separators only */
    stack_text_add(t, t->path.items, t->path.n, value);
}

void sf_stack_text_add(struct sf_stack_text *t, sf_str stack, int64_t count)
{
    int64_t value;
    if (__builtin_mul_overflow(count, t->factor, &value))
        value = INT64_MAX;
    sf_stack_text_add_value(t, stack, value);
}

#include "decode/python_threads.h"

#include "base/limits.h"
#include "decode/profile_type.h"

struct sf_python_threads sf_python_threads_init(struct sf_profile_build *b)
{
    const sf_str type = SF_STR("thread"), unit = SF_STR("count");
    struct sf_profile_what what = {.type = {SF_STR("threads"), type, unit, type, unit},
                                   .period = 1};
    return (struct sf_python_threads){.b = b, .what = sf_profile_build_what(b, &what, true)};
}

void sf_python_threads_open(struct sf_python_threads *t)
{
    sf_python_threads_close(t);
    t->frames.n = 0;
    t->state = t->name = SF_STR_NONE;
    t->id = 0;
    t->is_open = true;
}

void sf_python_threads_frame(struct sf_python_threads *t, sf_str function, sf_str file,
                             uint32_t line)
{
    struct sf_function f = {.name = function, .file = file};
    uint32_t *to;
    if (!t->is_open || !function.len || t->frames.n >= 4 * SF_LIMIT_FRAMES)
        return;
    to = sf_profile_list_more(t->b, &t->frames, sizeof(*to));
    if (!to)
        return;
    *to = sf_profile_build_frame(t->b, &f, line, SF_FRAME_PYTHON);
    t->frames.n += *to != SF_NONE;
}

void sf_python_threads_close(struct sf_python_threads *t)
{
    struct sf_sample s = {.count = 1, .value = 1, .thread = t->id};
    struct sf_label label = {SF_STR("state"), SF_STR_NONE};
    if (t->is_open && t->frames.n) {
        label.val = sf_profile_clean(t->b, t->state);
        s.series = sf_profile_build_series(
            t->b, sf_profile_build_set(t->b, &t->b->me, &label, t->state.len > 0), t->what);
        s.thread_name = sf_profile_clean(t->b, t->name);
        s.stack = sf_profile_build_stack(t->b, t->frames.items, t->frames.n);
        sf_profile_build_sample(t->b, &t->b->me, &s);
    }
    t->is_open = false;
}

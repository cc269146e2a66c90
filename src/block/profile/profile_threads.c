/* profile_threads.c - the threads of a service's processes: numbers and names beyond the number
 * that samples carry. */
#include <stdlib.h>

#include "base/table.h"
#include "block/profile/profile_intern.h"

static bool profile_threads_is_thread(const struct sf_profile_set *s, uint32_t place,
                                      uint32_t process, uint64_t thread)
{
    return s->threads[place].process == process && s->threads[place].thread == thread;
}

/* Finds the thread, or adds it. */
static bool profile_threads_find(struct sf_profile_set *s, uint32_t process, uint64_t thread,
                                 uint32_t *out)
{
    struct sf_table_lookup lookup;
    if (s->n_threads && profile_threads_is_thread(s, s->last_thread, process, thread)) {
        *out = s->last_thread;
        return true;
    }
    if (!sf_table_more(&s->thread_at) ||
        !sf_profile_intern_room((void **)&s->threads, s->n_threads, &s->cap_threads,
                                sizeof(*s->threads)))
        return false;
    lookup = sf_table_lookup(&s->thread_at, sf_key_mix(sf_key_u64(process), thread));
    while (sf_table_next(&lookup, out)) {
        if (profile_threads_is_thread(s, *out, process, thread)) {
            s->last_thread = *out;
            return true;
        }
    }
    *out = s->last_thread = s->n_threads;
    s->threads[s->n_threads] = (struct sf_profile_set_thread){.thread = thread, .process = process};
    sf_table_keep(&s->thread_at, &lookup, s->n_threads++);
    return true;
}

/* Later information replaces earlier: threads are renamed, and numbers reused. */
static bool profile_threads_learn(struct sf_profile_set *s, uint32_t place, bool is_kernel,
                                  uint64_t runtime_id, sf_str name)
{
    struct sf_profile_set_thread *t = &s->threads[place];
    t->is_kernel = t->is_kernel || is_kernel;
    if (runtime_id)
        t->runtime_id = runtime_id;
    return name.len == 0 || sf_dict_is(&s->strings, t->name, name) ||
           sf_dict_add(&s->strings, name, &t->name);
}

bool sf_profile_threads_add(struct sf_profile_set *s, uint32_t process, const struct sf_sample *p)
{
    uint32_t place;
    return p->thread == 0 || (profile_threads_find(s, process, p->thread, &place) &&
                              profile_threads_learn(s, place, p->is_kernel_thread,
                                                    p->runtime_thread, p->thread_name));
}

enum sf_err sf_profile_threads_join(struct sf_profile_set *s, const struct sf_profile_thread *from,
                                    uint32_t n, const uint32_t *processes, struct sf_why *why)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct sf_sampled_thread *t = &from[i].t;
        uint32_t process = from[i].process == SF_NONE ? SF_NONE : processes[from[i].process];
        uint32_t place;
        if (!profile_threads_find(s, process, t->thread, &place) ||
            !profile_threads_learn(s, place, t->kernel_id != 0, t->runtime_id, t->name))
            return sf_profile_intern_no_memory(why);
    }
    return SF_OK;
}

int sf_profile_threads_cmp(const void *a, const void *b)
{
    const struct sf_profile_thread *x = a, *y = b;
    if (x->process != y->process) /* no process (SF_NONE) comes first */
        return x->process + 1 < y->process + 1 ? -1 : 1;
    return x->t.thread < y->t.thread ? -1 : x->t.thread > y->t.thread;
}

bool sf_profile_threads_list(const struct sf_profile_set *s, struct sf_arena *req,
                             const struct sf_profile_thread **out, uint32_t *out_n)
{
    struct sf_profile_thread *list = sf_arena_new_n(req, (size_t)s->n_threads + 1, sizeof(*list));
    if (!list)
        return false;
    for (uint32_t i = 0; i < s->n_threads; i++) {
        const struct sf_profile_set_thread *t = &s->threads[i];
        list[i] = (struct sf_profile_thread){t->process,
                                             {.thread = t->thread,
                                              .kernel_id = t->is_kernel ? t->thread : 0,
                                              .runtime_id = t->runtime_id,
                                              .name = sf_dict_get(&s->strings, t->name)}};
    }
    if (s->n_threads)
        qsort(list, s->n_threads, sizeof(*list), sf_profile_threads_cmp);
    *out = list;
    *out_n = s->n_threads;
    return true;
}

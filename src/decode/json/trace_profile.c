/* V8's CPU profiles inside a Chrome trace: "Profile" starts one and names its thread,
 * "ProfileChunk" adds nodes and samples, in order of time; "CpuProfile" of older versions is a
 * complete one. */
#include <stdlib.h>

#include "decode/json/trace_event.h"
#include "decode/json/v8_cpu.h"

static int by_profile(const void *x, const void *y)
{
    const struct sf_trace_piece *a = x, *b = y;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    if (a->is_head != b->is_head)
        return a->is_head ? -1 : 1;
    if (a->ts_ns != b->ts_ns)
        return a->ts_ns < b->ts_ns ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* The keys of `data`, and of `cpuProfile` in it, belong to one profile. */
static void read_data(struct sf_v8_cpu *p, struct sf_json *j)
{
    sf_str key;
    if (sf_json_peek(j) != SF_JSON_OBJECT) {
        sf_json_skip(j);
        return;
    }
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key) && !p->b->is_full) {
        if (sf_str_eq(key, SF_STR("cpuProfile")) && sf_json_peek(j) == SF_JSON_OBJECT) {
            sf_str inner;
            if (!sf_json_object(j))
                return;
            while (sf_json_key(j, &inner) && !p->b->is_full) {
                if (!sf_v8_cpu_take(p, j, inner))
                    sf_json_skip(j);
            }
        } else if (!sf_v8_cpu_take(p, j, key)) {
            sf_json_skip(j);
        }
    }
}

static enum sf_err trace_profile_read_piece(struct sf_trace_events *t, struct sf_v8_cpu *p,
                                            sf_str args)
{
    sf_str key;
    sf_json_init(&t->j, args, t->b->a);
    if (sf_json_peek(&t->j) == SF_JSON_OBJECT && sf_json_object(&t->j)) {
        while (sf_json_key(&t->j, &key) && !t->b->is_full) {
            if (sf_str_eq(key, SF_STR("data")))
                read_data(p, &t->j);
            else
                sf_json_skip(&t->j);
        }
    }
    return t->b->is_full ? SF_OK : sf_json_why(&t->j, "a CPU profile in the trace", t->b->why);
}

static enum sf_err trace_profile_add_profile(struct sf_trace_events *t,
                                             const struct sf_trace_piece *pieces, uint32_t n)
{
    struct sf_v8_cpu *p = sf_profile_new(t->b, 1, sizeof(*p));
    const struct sf_trace_thread *thread = sf_trace_thread_at(t, pieces[0].thread);
    enum sf_err err = SF_OK;
    if (!p)
        return SF_OK;
    sf_v8_cpu_init(p, t->b);
    p->start_us = pieces[0].ts_ns / 1000;
    p->clock = t->clock;
    p->thread = thread->tid;
    p->thread_name = thread->name;
    p->n_labels = sf_trace_event_label(t, pieces[0].thread, p->labels);
    for (uint32_t i = 0; !err && i < n && !t->b->is_full; i++)
        err = trace_profile_read_piece(t, p, pieces[i].args);
    if (!err && (p->ids.n || p->nodes.list.n))
        err = sf_v8_cpu_finish(p);
    return err;
}

enum sf_err sf_trace_profiles(struct sf_trace_events *t)
{
    struct sf_trace_piece *pieces = t->pieces.items;
    uint32_t n = t->pieces.n;
    enum sf_err err = SF_OK;
    if (n)
        qsort(pieces, n, sizeof(*pieces), by_profile);
    for (uint32_t i = 0, k; !err && i < n && sf_profile_build_ok(t->b); i = k) {
        for (k = i + 1; k < n && !pieces[i].is_whole && pieces[k].pid == pieces[i].pid &&
                        pieces[k].id == pieces[i].id && !pieces[k].is_whole;
             k++)
            ;
        err = trace_profile_add_profile(t, pieces + i, k - i);
    }
    return err;
}

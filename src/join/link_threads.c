/* link_threads.c - maps the threads that spans report to the thread numbers of samples. */
#include "join/link_threads.h"
#include "base/list.h"

#include <stdlib.h>

bool sf_link_threads_add_row(struct sf_link_threads *t, uint64_t raw, uint64_t process,
                             bool is_named, uint64_t thread)
{
    const struct sf_process_pair *last = t->n_pairs > 0 ? &t->pairs[t->n_pairs - 1] : NULL;
    const struct sf_detail_thread *newest = t->n > 0 ? &t->list[t->n - 1] : NULL;
    if (!last || last->raw != raw || last->process != process || last->is_named != is_named) {
        if (!sf_list_room_in(t->req, &t->pairs, t->n_pairs, &t->cap_pairs, 64))
            return false;
        t->pairs[t->n_pairs++] = (struct sf_process_pair){raw, process, is_named};
    }
    if (thread == 0 || (newest && newest->process == raw && newest->t.thread == thread))
        return true; /* rows of a thread are adjacent */
    struct sf_detail_thread bare = {raw, {.thread = thread}};
    struct sf_detail_list one = {.threads = &bare, .n_threads = 1};
    return sf_link_threads_add_known(t, &one);
}

bool sf_link_threads_add_known(struct sf_link_threads *t, const struct sf_detail_list *list)
{
    for (uint32_t i = 0; i < list->n_threads; i++) {
        if (!sf_list_room_in(t->req, &t->list, t->n, &t->cap, 64))
            return false;
        t->list[t->n++] = list->threads[i];
    }
    return true;
}

/* ---- processes ---- */

static int order_pairs(const void *a, const void *b)
{
    const struct sf_process_pair *x = a, *y = b;
    if (x->raw != y->raw)
        return x->raw < y->raw ? -1 : 1;
    if (x->is_named != y->is_named) /* samples that name a span come first */
        return x->is_named ? -1 : 1;
    return (x->process > y->process) - (x->process < y->process);
}

/* Keeps one pair for each process of the rows; if there are several candidates, none. */
static void settle_pairs(struct sf_link_threads *t)
{
    uint32_t n = 0;
    if (t->n_pairs > 0)
        qsort(t->pairs, t->n_pairs, sizeof(*t->pairs), order_pairs);
    for (uint32_t i = 0; i < t->n_pairs; i++) {
        struct sf_process_pair *last = n > 0 ? &t->pairs[n - 1] : NULL;
        if (!last || last->raw != t->pairs[i].raw)
            t->pairs[n++] = t->pairs[i];
        else if (last->is_named == t->pairs[i].is_named && last->process != t->pairs[i].process)
            last->process = 0;
    }
    t->n_pairs = n;
}

static uint64_t link_threads_process_of(const struct sf_link_threads *t, uint64_t raw)
{
    uint32_t low = 0, high = t->n_pairs;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (t->pairs[mid].raw < raw)
            low = mid + 1;
        else
            high = mid;
    }
    return low < t->n_pairs && t->pairs[low].raw == raw ? t->pairs[low].process : 0;
}

/* ---- spans ---- */

struct tally { /* counts for a process's spans */
    uint64_t process;
    uint32_t span;
    enum sf_thread_match match;
};

static int order_tallies(const void *a, const void *b)
{
    const struct tally *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return (x->span > y->span) - (x->span < y->span);
}

/* If none of the threads of a process is found, they are numbered differently. */
static uint32_t ignore_strangers(struct sf_link_spans *spans, struct tally *tallies, uint32_t n,
                                 uint32_t n_own)
{
    uint32_t n_ignored = 0;
    if (n > 0)
        qsort(tallies, n, sizeof(*tallies), order_tallies);
    for (uint32_t i = 0, end; i < n; i = end) {
        bool has_match = false;
        for (end = i; end < n && tallies[end].process == tallies[i].process; end++)
            has_match = has_match || tallies[end].match == SF_THREAD_MATCHES ||
                        spans->threads[tallies[end].span].is_kernel;
        for (uint32_t k = i; k < end && !has_match; k++) {
            const struct sf_span_thread *says = &spans->threads[tallies[k].span];
            spans->origins[tallies[k].span].thread = 0;
            n_ignored += tallies[k].span < n_own && (says->id != 0 || says->name != 0);
        }
    }
    return n_ignored;
}

bool sf_link_threads_set(struct sf_link_threads *t, struct sf_link_spans *spans, uint32_t n_spans,
                         uint32_t n_own, uint32_t *out_n_ignored)
{
    struct sf_thread_table table;
    struct tally *tallies = sf_arena_new_n(t->req, n_spans + 1u, sizeof(*tallies));
    uint32_t n = 0;
    settle_pairs(t);
    for (uint32_t i = 0; i < t->n; i++) {
        t->list[n] = t->list[i];
        t->list[n].process = link_threads_process_of(t, t->list[i].process);
        n += t->list[n].process != 0;
    }
    if (!tallies || !sf_thread_table_make(t->list, n, t->req, &table))
        return false;
    for (uint32_t i = 0; i < n_spans; i++) {
        struct sf_span_origin *o = &spans->origins[i];
        tallies[i] = (struct tally){.process = o->process, .span = i};
        tallies[i].match = sf_thread_table_find(&table, o->process, &spans->threads[i], &o->thread);
    }
    /* Without thread numbers to compare with, nothing is ignored. */
    *out_n_ignored = table.n > 0 ? ignore_strangers(spans, tallies, n_spans, n_own) : 0;
    return true;
}

/* thread_table.c - finds the sampled thread of a process on which a span ran. */
#include "link/thread_table.h"

#include <stdlib.h>

#include "base/hash.h"

#define KERNEL_NAME_LEN 15
#define OTHER_SEED      0x74687265

static uint64_t thread_table_hash_of(sf_str name)
{
    uint64_t h = name.len > 0 ? sf_hash_str(name) : 0;
    return name.len > 0 && h == 0 ? 1 : h;
}

struct sf_span_thread sf_span_thread_of(const struct sf_span *s, const struct sf_resource *r)
{
    return sf_span_thread_from(sf_attrs_get(s->attrs, SF_STR("thread.id")),
                               sf_attrs_get(s->attrs, SF_STR("thread.name")), r);
}

struct sf_span_thread sf_span_thread_from(struct sf_value id, struct sf_value said,
                                          const struct sf_resource *r)
{
    sf_str name = said.type == SF_VALUE_STR ? said.str : SF_STR_NONE;
    sf_str language = sf_attrs_str(r->attrs, SF_STR("telemetry.sdk.language"));
    sf_str sdk = sf_attrs_str(r->attrs, SF_STR("telemetry.sdk.name"));
    return (struct sf_span_thread){
        .id = id.type == SF_VALUE_INT && id.i64 > 0 ? (uint64_t)id.i64 : 0,
        .name = thread_table_hash_of(name),
        .short_name = thread_table_hash_of(sf_str_part(name, 0, KERNEL_NAME_LEN)),
        .is_runtime = sf_str_eq(language, SF_STR("java")),
        .is_kernel = sf_str_eq(sdk, SF_STR("spanflame"))};
}

/* A name that only one side has does not contradict. */
static bool agrees(const struct sf_span_thread *says, const struct sf_sampled_thread *t)
{
    uint64_t name = thread_table_hash_of(t->name);
    if (name == 0 || says->name == 0 || name == says->name)
        return true;
    return t->name.len == KERNEL_NAME_LEN && name == says->short_name;
}

/* ---- the table ---- */

static int thread_table_order_threads(const void *a, const void *b)
{
    const struct sf_detail_thread *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return (x->t.thread > y->t.thread) - (x->t.thread < y->t.thread);
}

static int order_runtime(const void *a, const void *b, void *arg)
{
    const struct sf_detail_thread *threads = arg;
    const struct sf_detail_thread *x = &threads[*(const uint32_t *)a];
    const struct sf_detail_thread *y = &threads[*(const uint32_t *)b];
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return (x->t.runtime_id > y->t.runtime_id) - (x->t.runtime_id < y->t.runtime_id);
}

static void thread_table_join(struct sf_sampled_thread *to, const struct sf_sampled_thread *from)
{
    to->kernel_id = to->kernel_id ? to->kernel_id : from->kernel_id;
    to->runtime_id = to->runtime_id ? to->runtime_id : from->runtime_id;
    to->name = to->name.len > 0 ? to->name : from->name;
}

bool sf_thread_table_make(struct sf_detail_thread *list, uint32_t n, struct sf_arena *req,
                          struct sf_thread_table *out)
{
    uint32_t n_kept = 0;
    uint32_t *by_runtime = sf_arena_new_n(req, n + 1u, sizeof(*by_runtime));
    if (!by_runtime)
        return false;
    if (n > 0)
        qsort(list, n, sizeof(*list), thread_table_order_threads);
    for (uint32_t i = 0; i < n; i++) {
        if (n_kept > 0 && thread_table_order_threads(&list[n_kept - 1], &list[i]) == 0)
            thread_table_join(&list[n_kept - 1].t, &list[i].t);
        else
            list[n_kept++] = list[i];
    }
    for (uint32_t i = 0; i < n_kept; i++)
        by_runtime[i] = i;
    if (n_kept > 0)
        qsort_r(by_runtime, n_kept, sizeof(*by_runtime), order_runtime, list);
    *out = (struct sf_thread_table){list, by_runtime, n_kept};
    return true;
}

/* The first entry of that process with a number (thread, or runtime's) of at least `id`. */
static uint32_t thread_table_find_place(const struct sf_thread_table *t, uint64_t process,
                                        uint64_t id, bool is_runtime)
{
    uint32_t low = 0, high = t->n;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        const struct sf_detail_thread *one = &t->threads[is_runtime ? t->by_runtime[mid] : mid];
        uint64_t number = is_runtime ? one->t.runtime_id : one->t.thread;
        if (one->process < process || (one->process == process && number < id))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* ---- a span's thread ---- */

static const struct sf_sampled_thread *find_runtime(const struct sf_thread_table *t,
                                                    uint64_t process,
                                                    const struct sf_span_thread *says)
{
    for (uint32_t i = thread_table_find_place(t, process, says->id, true); i < t->n; i++) {
        const struct sf_detail_thread *one = &t->threads[t->by_runtime[i]];
        if (one->process != process || one->t.runtime_id != says->id)
            return NULL;
        /* For other languages the runtime's number counts only if there is no kernel number. */
        if (agrees(says, &one->t) && (says->is_runtime || one->t.kernel_id == 0))
            return &one->t;
    }
    return NULL;
}

static const struct sf_sampled_thread *find_number(const struct sf_thread_table *t,
                                                   uint64_t process,
                                                   const struct sf_span_thread *says)
{
    uint32_t i = thread_table_find_place(t, process, says->id, false);
    const struct sf_detail_thread *one = i < t->n ? &t->threads[i] : NULL;
    bool is_it = one && one->process == process && one->t.thread == says->id &&
                 (one->t.kernel_id != 0 || one->t.runtime_id == 0);
    return is_it && agrees(says, &one->t) ? &one->t : find_runtime(t, process, says);
}

/* If a pool gives several threads the same name, the name identifies none. */
static const struct sf_sampled_thread *thread_table_find_name(const struct sf_thread_table *t,
                                                              uint64_t process,
                                                              const struct sf_span_thread *says,
                                                              bool *is_unclear)
{
    const struct sf_sampled_thread *found = NULL;
    for (uint32_t i = thread_table_find_place(t, process, 0, false);
         i < t->n && t->threads[i].process == process; i++) {
        const struct sf_sampled_thread *one = &t->threads[i].t;
        bool is_hash = one->name.len == 0 && one->kernel_id == 0 && one->runtime_id == 0 &&
                       one->thread == says->name;
        if (!is_hash && (one->name.len == 0 || !agrees(says, one)))
            continue;
        *is_unclear = found != NULL;
        found = one;
        if (*is_unclear)
            return NULL;
    }
    return found;
}

/* Does the process have any thread number of the span's kind? */
static bool is_comparable(const struct sf_thread_table *t, uint64_t process,
                          const struct sf_span_thread *says)
{
    bool is_runtime = says->id != 0 && says->is_runtime;
    uint32_t i = thread_table_find_place(t, process, 1, is_runtime);
    return i < t->n && t->threads[is_runtime ? t->by_runtime[i] : i].process == process;
}

enum sf_thread_match sf_thread_table_find(const struct sf_thread_table *t, uint64_t process,
                                          const struct sf_span_thread *says, uint64_t *out)
{
    const struct sf_sampled_thread *found;
    bool is_unclear = false;
    *out = 0;
    if (says->id == 0 && says->name == 0)
        return SF_THREAD_UNSAID;
    if (says->id == 0)
        found = thread_table_find_name(t, process, says, &is_unclear);
    else if (says->is_runtime)
        found = find_runtime(t, process, says);
    else
        found = find_number(t, process, says);
    if (found) {
        *out = found->thread;
        return SF_THREAD_MATCHES;
    }
    if (is_unclear || !is_comparable(t, process, says))
        return SF_THREAD_UNSAID;
    *out = sf_hash_mix(OTHER_SEED, says->id != 0 ? says->id : says->name) | 1;
    return SF_THREAD_OTHER;
}

bool sf_span_thread_differs(const struct sf_span_thread *a, const struct sf_span_thread *b)
{
    if (a->id != 0 && b->id != 0)
        return a->id != b->id;
    return a->name != 0 && b->name != 0 && a->name != b->name;
}

/* profile_lend.c - gives the ids of an upload to its samples.
 *
 * A file uploaded for a request contains only samples of that request if it has one thread, or does
 * not distinguish threads. A recording of the whole process contains all its threads: there the ids
 * are certain only for threads of which a sample carries the request's id itself. Other samples get
 * the ids marked as lent, so that the file is found, and they can still be assigned by the threads
 * of the request's spans. */
#include <stdlib.h>

#include "decode/profile_build.h"

static bool is_of_upload(const struct sf_profile_ids *upload, const struct sf_sample *s)
{
    sf_span_id span = upload->span_id ? upload->span_id : upload->root_span_id;
    return (s->span_id && s->span_id == span) ||
           (!sf_trace_id_is_zero(s->trace_id) && sf_trace_id_eq(s->trace_id, upload->trace_id));
}

void sf_profile_lend_ids(struct sf_profile_build *b, const struct sf_profile_ids *upload,
                         struct sf_sample *s)
{
    bool has_trace = !sf_trace_id_is_zero(s->trace_id);
    if (!sf_profile_ids_has(upload))
        return;
    if (is_of_upload(upload, s)) {
        uint64_t *tied = sf_profile_list_more(b, &b->tied, sizeof(*tied));
        if (tied) {
            *tied = s->thread;
            b->tied.n++;
        }
    } else if (!s->span_id && !has_trace) {
        s->is_lent = b->has_lent = true;
    }
    /* A sample of another trace does not get this span's id. */
    if (!s->span_id && (!has_trace || sf_trace_id_eq(s->trace_id, upload->trace_id)))
        s->span_id = upload->span_id ? upload->span_id : upload->root_span_id;
    if (!has_trace)
        s->trace_id = upload->trace_id;
}

static int profile_lend_by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static bool is_one_thread(const struct sf_sample *samples, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++)
        if (samples[i].thread != samples[0].thread)
            return false;
    return true;
}

void sf_profile_lend_settle(struct sf_profile_build *b)
{
    struct sf_sample *samples = b->samples.items;
    bool is_one = b->has_lent && is_one_thread(samples, b->samples.n);
    if (!b->has_lent || b->is_full)
        return;
    if (b->tied.n)
        qsort(b->tied.items, b->tied.n, sizeof(uint64_t), profile_lend_by_number);
    for (uint32_t i = 0; i < b->samples.n; i++)
        if (is_one || (b->tied.n && bsearch(&samples[i].thread, b->tied.items, b->tied.n,
                                            sizeof(uint64_t), profile_lend_by_number)))
            samples[i].is_lent = false;
}

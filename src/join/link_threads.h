/* link_threads.h - maps the threads that spans report to the thread numbers of samples.
 *
 * Filled while rows are read: which process of the samples is which of the spans, and its known
 * threads. Processes are paired through samples (a sample that names a span belongs to the span's
 * process, whatever the profiler calls it); a process of the samples that belongs to two of the
 * spans is paired with neither. If threads of spans and of samples are known but none matches, they
 * are numbered differently: then threads are ignored for that process, and only time decides. */
#pragma once
#include "join/link_spans.h"
#include "link/thread_table.h"
#include "store/store.h"

struct sf_link_threads {
    struct sf_arena *req;
    struct sf_process_pair { /* of a row */
        uint64_t raw, process;
        bool is_named; /* a sample that names a span of it was seen */
    } * pairs;
    uint32_t n_pairs, cap_pairs;
    struct sf_detail_thread *list; /* sorted by the rows' processes */
    uint32_t n, cap;
};

/* Adds a row's process and thread, as stored and as used by the link. False: no memory. */
bool sf_link_threads_add_row(struct sf_link_threads *t, uint64_t raw, uint64_t process,
                             bool is_named, uint64_t thread);
/* Adds threads that the store knows besides the rows. False: no memory. */
bool sf_link_threads_add_known(struct sf_link_threads *t, const struct sf_detail_list *list);
/* Sets the threads of the spans' origins; *out_n_ignored: how many of the first n_own report a
 * thread that was ignored. False: no memory. */
bool sf_link_threads_set(struct sf_link_threads *t, struct sf_link_spans *spans, uint32_t n_spans,
                         uint32_t n_own, uint32_t *out_n_ignored);

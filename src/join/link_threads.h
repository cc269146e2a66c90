/* link_threads.h - the threads that spans say they ran on, as the numbers that samples carry.
 *
 * Filled while rows are read: which process of the samples is which of the spans, and what is known
 * of its threads. Processes are paired as samples are (a sample that names a span is of the span's
 * process, whatever the profiler calls it); one that samples of two processes point to is of
 * neither. Where threads of spans and of samples are both known and not one of them is the same,
 * they are numbered differently: threads are ignored for that process, and time alone decides. */
#pragma once
#include "join/link_spans.h"
#include "link/thread_table.h"
#include "store/store.h"

struct sf_link_threads {
    struct sf_arena *req;
    struct sf_process_pair { /* of a row */
        uint64_t raw, process;
        bool is_named; /* the sample names a span of it */
    } * pairs;
    uint32_t n_pairs, cap_pairs;
    struct sf_detail_thread *list; /* by the rows' processes */
    uint32_t n, cap;
};

/* A row's process and thread, as it has them and as the link does. False: no memory. */
bool sf_link_threads_add_row(struct sf_link_threads *t, uint64_t raw, uint64_t process,
                             bool is_named, uint64_t thread);
/* What the store knows beside the rows. False: no memory. */
bool sf_link_threads_add_known(struct sf_link_threads *t, const struct sf_detail_list *list);
/* Sets the threads of the spans' origins; *out_n_ignored: those of the first n_own whose thread was
 * stated and ignored. False: no memory. */
bool sf_link_threads_set(struct sf_link_threads *t, struct sf_link_spans *spans, uint32_t n_spans,
                         uint32_t n_own, uint32_t *out_n_ignored);

/* link_others.h - loads the other requests of a process while a span ran. */
#pragma once
#include "link/thread_table.h"
#include "store/store.h"

struct sf_other_span {
    struct sf_span span; /* ids, parent and times only */
    struct sf_span_thread thread;
    uint64_t process; /* set by the caller */
};

struct sf_link_others {
    sf_str service; /* input: of this service and, unless is_by_service, this process */
    uint64_t process;
    bool is_by_service;
    const sf_trace_id *not_traces; /* sorted: these are already loaded */
    uint32_t n_not_traces;
    int64_t from_ns, to_ns;
    const struct sf_other_span *spans; /* result */
    uint32_t n;
    bool has_processes; /* with is_by_service: they belong to another process, or to several */
    bool is_partial;    /* there were more than fit */
};

/* Lives in q->req. */
enum sf_err sf_link_others_load(struct sf_store *store, struct sf_query_ctx *q,
                                struct sf_link_others *others, struct sf_why *why);

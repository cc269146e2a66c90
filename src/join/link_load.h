/* link_load.h - private to the link set: the data that is loaded for it, and how samples are
 * added. */
#pragma once
#include "base/time_unit.h"
#include "flame/tree_builder.h"
#include "join/link_beside.h"
#include "join/link_others.h"
#include "join/link_set.h"
#include "join/link_threads.h"
#include "join/link_window.h"
#include "join/profile_names.h"

#define SF_LINK_AROUND_NS (900 * SF_NS_PER_S) /* profiles cover up to minutes, and arrive late */

enum { SF_LINK_SHARERS = 64 }; /* limit of processes in a trace that share a sample */

struct sf_link_of_trace { /* cache of one answer: the processes of a service in a trace */
    sf_trace_id trace;
    sf_str service;
    uint64_t processes[SF_LINK_SHARERS];
    uint32_t n;
};

struct sf_link_load {
    struct sf_store *store;
    struct sf_query_ctx *q;
    const struct sf_link_want *want;
    struct sf_link_set set;
    struct sf_link_spans spans;
    int64_t from_ns, to_ns; /* time range of the spans, extended on both sides */
    struct sf_tree_builder stacks;
    struct sf_link_sample *samples;
    uint32_t n_samples, cap_samples;
    sf_str type;                   /* full id of the chosen type */
    struct sf_profile_names names; /* profile ids that spans carry */
    struct sf_link_of_trace of_trace;
    struct sf_link_windows windows; /* windows of profiles without ids */
    struct sf_link_threads threads;
    struct sf_place_of_id { /* by id */
        sf_span_id id;
        uint32_t span;
    } * ids;
    struct sf_attrs resource; /* of the requested span */
    uint64_t process;         /* of that span, or of the span whose process activity is requested */
    struct sf_link_beside beside;
    int64_t after_ns;         /* of samples of the process meanwhile: only rows that start later */
    uint32_t first_by_thread; /* with several spans: samples from this index on are attributed by
                                 thread */
    uint32_t n_no_thread;     /* samples with a time, but without ids and thread */
    /* With a trace: some of them are of a process that has no sample with an id. */
    bool has_unnamed;
    struct sf_other_span *others; /* spans of other requests at the time of such samples */
    uint32_t n_others, cap_others;
    bool is_one_trace;
};

enum sf_link_rows {                     /* which rows were requested */
                    SF_LINK_OF_IDS,     /* those of the trace's ids */
                    SF_LINK_OF_PROCESS, /* all rows of the span's process at that time: no row names
                                           the span's request */
                    SF_LINK_BESIDE_NAMED /* likewise, but some rows name it: of the others, only
                                            those that a thread decides */
};

/* False: no memory. */
bool sf_link_load_sample(struct sf_link_load *l, const struct sf_link_sample *s);
/* Converts the rows to samples. LIMIT: no space. */
enum sf_err sf_link_load_rows(struct sf_link_load *l, const struct sf_detail_list *list,
                              enum sf_link_rows of, struct sf_why *why);
/* The index of a span with that id, or SF_NOBODY. */
uint32_t sf_link_load_find(const struct sf_link_load *l, sf_span_id id);

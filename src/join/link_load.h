/* link_load.h - private to the link set: what is read for it, and how samples are added. */
#pragma once
#include "base/time_unit.h"
#include "flame/tree_builder.h"
#include "join/link_beside.h"
#include "join/link_others.h"
#include "join/link_set.h"
#include "join/link_threads.h"
#include "join/link_window.h"
#include "join/profile_names.h"

#define SF_LINK_AROUND_NS \
    (900 * SF_NS_PER_S) /* profiles come in pieces of up to minutes, and late */

enum { SF_LINK_SHARERS = 64 }; /* processes of a service in one trace that share a sample */

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
    int64_t from_ns, to_ns; /* of the spans, and around them */
    struct sf_tree_builder stacks;
    struct sf_link_sample *samples;
    uint32_t n_samples, cap_samples;
    sf_str type;                   /* whole id of the one chosen */
    struct sf_profile_names names; /* ids that spans give their profiles */
    struct sf_link_of_trace of_trace;
    struct sf_link_windows windows; /* of profiles without ids */
    struct sf_link_threads threads;
    struct sf_place_of_id { /* by id */
        sf_span_id id;
        uint32_t span;
    } * ids;
    struct sf_attrs resource; /* of the span it is about */
    uint64_t process;         /* of that span, or the span whose process activity is requested */
    struct sf_link_beside beside;
    int64_t after_ns;         /* of what it did meanwhile, only rows that start later */
    uint32_t first_by_thread; /* of several spans: samples from here on are given by thread */
    uint32_t n_no_thread;     /* samples with a time that name neither ids nor a thread */
    bool has_unnamed; /* of a trace: some of them are of a process of which no sample has an id */
    struct sf_other_span *others; /* of other requests, where such samples were */
    uint32_t n_others, cap_others;
    bool is_one_trace;
};

enum sf_link_rows {                      /* what rows were requested */
                    SF_LINK_OF_IDS,      /* those of the trace's ids */
                    SF_LINK_OF_PROCESS,  /* all of the span's process then: nothing names the span's
                                            request */
                    SF_LINK_BESIDE_NAMED /* likewise, but some name it: of the others only what a
                                          * thread decides
                                          */
};

/* False: no memory. */
bool sf_link_load_sample(struct sf_link_load *l, const struct sf_link_sample *s);
/* Makes samples of the rows. LIMIT: no space. */
enum sf_err sf_link_load_rows(struct sf_link_load *l, const struct sf_detail_list *list,
                              enum sf_link_rows of, struct sf_why *why);
/* The first place of a span of that id, or SF_NOBODY. */
uint32_t sf_link_load_find(const struct sf_link_load *l, sf_span_id id);

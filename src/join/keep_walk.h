/* keep_walk.h - visits the traces of a time range with the decision of the retention rules on each:
 * used for judging an hour and for simulating rules. */
#pragma once
#include "link/keep_verdict.h"
#include "store/store.h"

struct sf_keep_seen { /* a trace; borrowed until the next one */
    const struct sf_span_tree *tree;
    unsigned reasons;
    uint32_t baseline_per_10000;
    uint64_t n_samples;
};

struct sf_keep_stray { /* a span that samples name, but that was never received */
    sf_span_id id;
    sf_trace_id trace; /* zero: samples do not carry it */
    sf_str service;
    int64_t cpu_ns;
};

struct sf_keep_walk {
    int64_t from_ns, until_ns; /* traces whose first span starts there; and, if true, */
    bool has_earlier;          /* those that started before and still run */
    int64_t usual_until_ns;    /* usual durations are taken from the day before this */
    const struct sf_keep_rules *rules;
    struct sf_arena *scratch; /* for one trace at a time; is reset */
    enum sf_err (*see)(void *arg, const struct sf_keep_seen *t, struct sf_why *why);
    /* Called for samples of [from, until) whose span was not found; may be NULL. */
    enum sf_err (*see_stray)(void *arg, const struct sf_keep_stray *s, struct sf_why *why);
    /* Called at least once for each service whose samples name spans; may be NULL. */
    enum sf_err (*see_service)(void *arg, sf_str service, struct sf_why *why);
    void *arg;
    bool is_cut;    /* set: not all spans or samples fitted */
    bool is_unread; /* set: some of them could not be read; see q->unread */
};

/* Reads every trace of the range, and sums of its samples; in q->req. */
enum sf_err sf_keep_walk_run(struct sf_keep_walk *k, struct sf_store *store, struct sf_query_ctx *q,
                             struct sf_why *why);

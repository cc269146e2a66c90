/* span_set.h - the list of spans that a TraceQL query selects. */
#pragma once
#include "exec/search.h"
#include "join/link_keep.h"

#define SF_SPAN_SET_TRACES 5000 /* at most this many traces; the answer says if there are more */

struct sf_set_span {
    sf_trace_id trace;
    sf_span_id id;
    uint64_t start_ns, duration_ns;
    uint64_t name_hash;
    double weight; /* number of spans it represents, because samples of others were deleted; 0: only
                      itself */
};

struct sf_span_set {
    struct sf_set_span *spans; /* newest traces first */
    uint32_t n;
    uint64_t n_cut; /* further matching spans of the same traces: a trace has too many */
    double one_of;  /* one trace in about this many was taken; 1: all */
    sf_str note;    /* why else the list is incomplete; empty: it is complete */
};

/* If samples carry no ids, each span is processed separately, and only for a limited time. */
#define SF_SPAN_SET_TIME_UP                                                                  \
    SF_STR("samples carry no ids, so each span is looked up separately: the time limit was " \
           "reached before all were; use a shorter time range, or a profile type with span ids")

/* Which part of the matching spans was examined. */
struct sf_set_cut {
    uint64_t n_found, n_used;
    bool is_estimate; /* n_found is an estimate: not all traces were examined */
    sf_str note;      /* what else is missing, and why */
};

struct sf_span_set_want {
    sf_str query;
    int64_t from_ns, to_ns;
    uint32_t limit_traces;
    bool is_newest;            /* the newest of them; otherwise an even sample of all that match */
    struct sf_arena *scratch;  /* for the search; is reset */
    struct sf_link_keep *keep; /* receives the traces that fit; NULL: not needed */
};

/* The result is in q->req. INPUT: a bad query, with its column. */
enum sf_err sf_span_set_find(struct sf_store *store, const struct sf_span_set_want *want,
                             struct sf_query_ctx *q, struct sf_span_set *out, struct sf_why *why);
/* The query for all spans of a service. False: no space in `req`. */
bool sf_span_set_of_service(sf_str service, struct sf_arena *req, sf_str *out_query);
/* Sorts by trace and span id, without duplicates. */
void sf_span_set_sort(struct sf_span_set *set);
/* How many spans match: counted, or estimated from the sample that was taken. */
uint64_t sf_span_set_found(const struct sf_span_set *set);
struct sf_set_cut sf_span_set_cut(const struct sf_span_set *set, uint64_t n_found, uint64_t n_used);
/* Was only a part of them examined? */
bool sf_span_set_cut_is_sample(const struct sf_set_cut *c);
/* States so in a sentence, in `req`; empty: all were examined. `of` is "left: " or empty. False: no
 * space. */
bool sf_span_set_cut_note(const struct sf_set_cut *c, sf_str of, struct sf_arena *req, sf_str *out);
/* The distinct traces of its first spans, at most `most`; returns their number. */
uint32_t sf_span_set_traces(const struct sf_span_set *set, struct sf_trace_ask *out, uint32_t most);
/* Keeps at most `most` spans, an even and deterministic selection, in order. False: no space in
 * `req`. */
bool sf_span_set_thin(struct sf_span_set *set, uint32_t most, struct sf_arena *req);

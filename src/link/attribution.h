/* attribution.h - attributes samples to spans, with a grade of certainty.
 *
 * Input: samples of the processes and times of some spans. Output: claims ("this much of that
 * sample belongs to this span"). A sample that names a span is claimed completely, by one span or
 * shared among several; nothing is lost between siblings and nothing counted twice. The rules, by
 * what a sample carries:
 *
 *   a span's id, from a process that tags every span,     that span                       exact
 *   or of a span without children in its process
 *   a local root's id and a time                          the deepest span of the tree    inherited
 *                                                         at that time, or the root
 *   a local root's id, no time                            all spans of the tree, by       shared
 *                                                         self time
 *   only a trace's id                                     the trees of that trace in inherited,
 *                                                         that process, likewise          shared
 *   only process and time                                 the deepest spans of the        window
 *                                                         process at that time, in equal
 *                                                         parts
 *   the same, from a process that loses ids while a       the deepest span on its thread  window
 *   request runs                                          if only one request had one
 *                                                         there; otherwise no span
 *   only the process: a profile from t to u               its spans, by self time in      window
 *                                                         [t, u)
 *
 * A file uploaded for a request may contain all threads of its process. Samples of a thread belong
 * to the request if a span of the request, or the file itself, ties the thread to it; the others
 * are treated as samples of the process: window.
 *
 * If the time is known only to a millisecond, a sample is divided among the spans that ran in its
 * millisecond, by how long each ran.
 *
 * A sample with a time and a span id belongs to the span only while the span ran: what a thread
 * does after the span has ended, with the id still set, belongs to no span.
 *
 * Certain claims and estimates: a claim of a single candidate is certain if an id led to it, or a
 * time at which nothing else ran. What spans of one tree share is certain for the span that has all
 * of them below it (for an SDK that tags local roots: the root), not for any of them alone. What
 * spans of several trees share, and what a profile without ids and times covers, is certain for
 * none.
 *
 * A process tags every span if one of its samples names a span below a local root, or the caller
 * says so; until then a local root's id means "this request", and such a sample is at best
 * inherited, even for the root. */
#pragma once
#include "link/local_index.h"

enum sf_grade {
    SF_GRADE_EXACT,
    SF_GRADE_INHERITED,
    SF_GRADE_SHARED,
    SF_GRADE_WINDOW,
    SF_GRADE_NONE, /* assigned to no span: see the reason */
    SF_GRADES
};

enum sf_unclaimed {                       /* why it is assigned to no span */
                    SF_UNCLAIMED_SPAN,    /* names a span that is not among these */
                    SF_UNCLAIMED_PROCESS, /* no span ran in its process */
                    SF_UNCLAIMED_TIME,    /* no span was active then */
                    SF_UNCLAIMED_OUTSIDE, /* names a span that did not run then */
                    SF_UNCLAIMED_REASONS
};

struct sf_link_sample {
    sf_trace_id trace_id; /* zero: not given */
    sf_span_id span_id;   /* 0: not given */
    uint64_t process, thread;
    int64_t start_ns, length_ns; /* without a time of its own: what its profile covers */
    uint64_t blur_ns; /* its time was truncated: it began less than this later; 0: exact */
    int64_t value;
    uint32_t node;   /* the stack, in the caller's tree */
    uint32_t series; /* number assigned by the caller */
    uint8_t state;   /* enum sf_sample_state */
    bool has_time;
    bool is_by_thread; /* has no span id, although others of its process have: only a span on its
                          thread can have it */
    bool is_lent;      /* its ids are those of an upload that covers a whole process */
    bool is_split;     /* a part of a sample that may belong to several processes */
};

struct sf_claim {
    uint32_t sample, span;
    int64_t value;
    uint32_t within; /* the span that, with its descendants, certainly has all of the sample:
                        itself, or its local root; SF_NOBODY: none, the claim is an estimate */
    uint8_t grade;
    bool is_whole; /* the span was the only candidate */
    bool is_known; /* the span itself certainly has all of it */
};

struct sf_attribution {
    const struct sf_claim *claims; /* in the order of samples */
    uint32_t n_claims;
    uint64_t n_samples[SF_GRADES]; /* of all samples, wanted or not */
    int64_t values[SF_GRADES];
    uint64_t n_unclaimed[SF_UNCLAIMED_REASONS];
};

struct sf_attribution_input {
    const struct sf_link_sample *samples;
    uint32_t n_samples;
    const bool *is_wanted;           /* per span: keep its claims; NULL: keep all */
    const uint64_t *exact_processes; /* sorted: known to tag every span */
    uint32_t n_exact;
    uint64_t slack_ns; /* largest difference between the clocks of profiler and tracer, including
                          rounding */
};

/* Does the sample certainly belong to these spans? `is_in` includes with each span all its
 * descendants in its process, unless `is_self`. */
static inline bool sf_claim_is_known_in(const struct sf_claim *c, const bool *is_in, bool is_self)
{
    return c->is_known || (!is_self && c->within != SF_NOBODY && is_in[c->within]);
}

/* LIMIT: the arena is full. */
enum sf_err sf_attribution_make(struct sf_local_index *index, const struct sf_attribution_input *in,
                                struct sf_arena *req, struct sf_attribution *out,
                                struct sf_why *why);

const char *sf_attribution_grade_name(enum sf_grade grade); /* "exact" */

/* findings.h - finds what stands out in a flame graph or a trace, and writes sentences about it.
 *
 * Each finding has a threshold, a number, the frames it is about and a suggested action. They are
 * sorted by share, largest first. Kinds of work (regex, JSON, ...) are recognised by theme.h, waits
 * and garbage collectors by leaf_state.h. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "flame/tree_diff.h"
#include "link/frame_functions.h"
#include "link/span_tree.h"

enum sf_finding_kind {
    SF_FINDING_LEAF,    /* one function has much own time: optimise it */
    SF_FINDING_DEEP,    /* very deep stacks: consider refactoring */
    SF_FINDING_REPEAT,  /* one function under many callers: cache or batch */
    SF_FINDING_SPANS,   /* many equal sibling spans: cache or batch */
    SF_FINDING_GC,      /* collector: reduce allocations */
    SF_FINDING_ALLOC,   /* allocator: reduce allocations */
    SF_FINDING_LOCK,    /* reduce lock scope */
    SF_FINDING_THEME,   /* regex, JSON, serialisation, crypto, logging: cache, or do less of it */
    SF_FINDING_AGAIN,   /* most requests parse the same: parse it once */
    SF_FINDING_LIBRARY, /* a function of the service that spends its time in a library */
    SF_FINDING_DISK,    /* requests wait for a disk */
    SF_FINDING_NETWORK, /* requests wait for something that sends no spans */
    SF_FINDING_MEMORY,  /* memory in use grows: find what retains it */
    SF_FINDING_THREADS, /* the number of threads or goroutines grows: find what they wait for */
    SF_FINDING_STUCK,   /* threads or goroutines wait for one lock: find what holds it */
    SF_FINDINGS
};

struct sf_finding_limits { /* shares of the view */
    double leaf, repeat, gc, lock, theme;
    uint32_t depth, callers, siblings;
};
#define SF_FINDING_LIMITS                       \
    ((struct sf_finding_limits){.leaf = 0.10,   \
                                .repeat = 0.10, \
                                .gc = 0.10,     \
                                .lock = 0.10,   \
                                .theme = 0.15,  \
                                .depth = 100,   \
                                .callers = 5,   \
                                .siblings = 10})

struct sf_finding {
    enum sf_finding_kind kind;
    double share;   /* of the view; of the parent's duration for spans; 0 for depth */
    int64_t value;  /* in the view's unit; ns for spans; per request for repeated work */
    uint32_t node;  /* the node with the largest value, or SF_NONE */
    uint32_t span;  /* parent of the equal spans, or SF_NOBODY */
    uint32_t count; /* number of callers, of spans, or of frames (depth) */
    sf_str subject; /* function, theme or span name */
    sf_str path;    /* "main > serve > render", the innermost frames when it is long */
    sf_str file;    /* of the line that cost most; empty: not known */
    uint32_t line;
    sf_str sentence; /* a complete sentence with number, path and action */
};

struct sf_finding_list {
    const struct sf_finding *items; /* largest share first */
    uint32_t n;
    uint32_t n_more; /* number of smaller ones that are left out */
};

/* For stacks as given; time in libraries is charged to the service's functions that called them
 * (link/hot_code.h), and one cause is reported once. `of` names the base of shares ("CPU time"). In
 * `req`; strings are borrowed from the tree. LIMIT: it is full. */
enum sf_err sf_findings_of_tree(const struct sf_tree *tree, sf_str of,
                                const struct sf_finding_limits *limits, struct sf_arena *req,
                                struct sf_finding_list *out, struct sf_why *why);
enum sf_err sf_span_findings(const struct sf_span_tree *tree,
                             const struct sf_finding_limits *limits, struct sf_arena *req,
                             struct sf_finding_list *out, struct sf_why *why);
/* What the right side has more of, node by node; shares are of the right side's total. Both sides
 * should be per request, or have equal totals. */
enum sf_err sf_findings_of_diff(const struct sf_tree_diff *diff, sf_str of,
                                const struct sf_finding_limits *limits, struct sf_arena *req,
                                struct sf_finding_list *out, struct sf_why *why);

struct sf_request_sample {
    uint32_t request; /* < n_requests */
    uint32_t node;    /* of the stacks */
    int64_t value;
    /* One sample, whatever its value; otherwise it stands for value / period samples. */
    bool is_one;
};
struct sf_request_samples {
    const struct sf_tree *stacks;
    const struct sf_frame_functions *functions; /* of the stacks' frames */
    const struct sf_request_sample *list;
    uint32_t n, n_requests;
    int64_t period; /* value of one sample; 0: the smallest value that occurs */
};
/* Work that most requests repeat: request_findings.c has the criteria. */
enum sf_err sf_request_findings(const struct sf_request_samples *in, sf_str of,
                                const struct sf_finding_limits *limits, struct sf_arena *req,
                                struct sf_finding_list *out, struct sf_why *why);
/* The share of all requests that bear the cost of a function and its callees, estimated from pairs
 * of its samples in one request; 1 unless the pairs show that only few do. False: `req` is full. */
bool sf_request_findings_share(const struct sf_request_samples *in, sf_str function,
                               struct sf_arena *req, double *out);
/* "main > serve > render": the innermost frames that fit into a line. False: `req` is full. */
bool sf_findings_path(const struct sf_tree *t, uint32_t node, struct sf_arena *req, sf_str *out);

const char *sf_findings_kind_name(enum sf_finding_kind kind); /* "hot_function" */
const char *sf_findings_action(enum sf_finding_kind kind);    /* "optimise that function" */

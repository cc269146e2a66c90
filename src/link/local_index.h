/* local_index.h - the spans of a process, grouped by request.
 *
 * A local tree is a local root with all its descendants in the same process: what one process did
 * for one request. Trees of a process are adjacent, so that a sample without an id finds the
 * requests that its process was working on. */
#pragma once
#include "link/span_tree.h"

struct sf_local_tree {
    uint32_t root; /* index of its root span */
    uint64_t process;
    sf_trace_id trace_id;
    uint64_t start_ns, end_ns; /* time range of all its spans: children may outlive the root */
    uint64_t last_end_ns;      /* largest end of this and all earlier trees of the process */
    uint32_t first, n;         /* its spans: members[first .. first + n), root first */
    uint64_t self_ns;          /* sum over its spans */
    struct sf_deepest_line *deepest; /* made when first requested, newest first */
};

struct sf_local_index {
    const struct sf_span_tree *tree;
    struct sf_local_tree *trees; /* by process, then start */
    uint32_t n_trees;
    const uint32_t *members;
    const uint32_t *tree_of; /* per span: place of its local tree */
    uint32_t *marks;         /* per span, all 0 between calls; made when first needed */
    struct sf_arena *req;
};

enum sf_err sf_local_index_build(const struct sf_span_tree *tree, struct sf_arena *req,
                                 struct sf_local_index *out, struct sf_why *why);

struct sf_local_run { /* trees [from, to) */
    uint32_t from, to;
};
/* The trees of a process; empty when it has none or `process` is 0. */
struct sf_local_run sf_local_index_process(const struct sf_local_index *x, uint64_t process);

struct sf_deepest {
    uint32_t span;     /* SF_NOBODY: none was active, or memory ran out */
    bool is_only;      /* all other active spans are its ancestors: it is certain */
    uint64_t until_ns; /* valid until then */
};
/* The deepest span of the tree at that time: what was being worked on. Spans known to run on
 * another thread than `thread` (0: unknown) do not count. Of equally deep ones, the youngest.
 * *is_full: memory ran out. */
struct sf_deepest sf_local_index_deepest(struct sf_local_index *x, uint32_t tree, uint64_t thread,
                                         uint64_t at_ns, bool *is_full);

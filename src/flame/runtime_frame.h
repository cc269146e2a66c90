/* runtime_frame.h - code of language runtimes, which is not part of the profiled application.
 *
 * A garbage collector's loop, an allocator, the preemption of a goroutine or an interpreter's loop
 * does not answer "where does my program spend its time": its time belongs to its caller or, for a
 * collector's own threads, to no frame. Conclusions from a flame graph (HOT PATH, the hottest
 * function, findings) attribute such time to the caller; drawings and lists are not changed.
 * runtime_table.c contains the names. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/tree.h"

enum sf_runtime_reach {
    SF_RUNTIME_NOT,
    SF_RUNTIME_FRAME, /* only this frame; its callees may be application code */
    SF_RUNTIME_BELOW  /* and all its callees: collectors, compilers */
};

struct sf_runtime_rule {
    uint32_t kinds; /* 1 << enum sf_frame_kind; frames of unknown kind are always compared */
    const char *text;
    bool is_whole; /* the name must be equal; else begin with the text */
    bool is_cxx;   /* a member of a C++ class: contains "::" */
    enum sf_runtime_reach reach;
    const char *example; /* a frame as profilers write it */
};

extern const struct sf_runtime_rule sf_runtime_rules[];
extern const uint32_t sf_runtime_n_rules;

enum sf_runtime_reach sf_runtime_frame_of(const struct sf_frame *frame);
/* By node: the node to which its self time is attributed: the node itself, its nearest caller
 * outside the runtime, or 0: none. NULL: no memory. */
const uint32_t *sf_runtime_frame_owners(const struct sf_tree *tree, struct sf_arena *req);
/* The tree with that time moved to its owners; time without an owner goes to the root. LIMIT. */
enum sf_err sf_runtime_frame_give(const struct sf_tree *tree, struct sf_arena *req,
                                  struct sf_tree *out, struct sf_why *why);

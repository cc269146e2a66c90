/* stack_filter.h - selects whole stacks by the names of their functions.
 *
 * There are two conditions, and a stack must meet both: it begins with certain functions (a call
 * site), and it contains, or does not contain, certain frames. A selected stack stays complete. A
 * sample without a stack is selected only if there are no conditions. Patterns match anywhere in a
 * name; the name of a frame without a function is "module!0x1f". A filter never changes: threads
 * may share it. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/tree.h"

enum { SF_STACK_TERMS = 64 };

enum sf_stack_term_kind {
    SF_STACK_HAS,           /* a frame with this name is in the stack; with several terms: each of
                             * them */
    SF_STACK_LACKS,         /* no frame with this name is */
    SF_STACK_HAS_PATTERN,   /* a frame that matches is in the stack */
    SF_STACK_LACKS_PATTERN, /* no frame that matches is */
    SF_STACK_HAS_PACKAGE,   /* a frame whose package matches is in the stack */
};

struct sf_stack_term {
    sf_str text;
    enum sf_stack_term_kind kind;
};

struct sf_stack_ask {
    const sf_str *sites; /* functions that the stack begins with, outermost first */
    size_t n_sites;
    const struct sf_stack_term *terms; /* at most SF_STACK_TERMS */
    size_t n_terms;
};

struct sf_stack_filter; /* opaque */

/* `*out` is NULL when all stacks are selected. Borrows the texts. INPUT: an invalid pattern; LIMIT:
 * too many terms; NOMEM. */
enum sf_err sf_stack_filter_new(const struct sf_stack_ask *ask, struct sf_stack_filter **out,
                                struct sf_why *why);
void sf_stack_filter_free(struct sf_stack_filter *f); /* NULL is fine */

/* One flag for each node of `t`: whether a selected stack ends there. LIMIT: a pattern takes too
 * long. */
enum sf_err sf_stack_filter_nodes(const struct sf_stack_filter *f, const struct sf_tree *t,
                                  struct sf_arena scratch, bool *out_is_kept, struct sf_why *why);
/* The tree of the selected stacks; `out` may be `t`. Its number of samples is that of `t`, because
 * a tree has no number per stack. */
enum sf_err sf_stack_filter_tree(const struct sf_stack_filter *f, const struct sf_tree *t,
                                 struct sf_arena *req, struct sf_tree *out, struct sf_why *why);

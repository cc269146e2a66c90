/* ledger_stacks.h - the code behind one part of a time breakdown.
 *
 * Sums the samples of that part by stack: a wait counts its length inside the span, a moment the
 * time it represents. The total is the figure of the breakdown. If samples sum up to more (others
 * of higher precedence overlapped them, or the span carries the figure) they are reduced in
 * proportion; if they sum up to less, the rest is one bar, "(without a stack)". Children are
 * separate bars. */
#pragma once
#include "link/ledger.h"
#include "model/tree.h"

struct sf_ledger_stacks_input {
    const struct sf_span_tree *spans;
    uint32_t span;
    const struct sf_ledger *ledger; /* computed from these samples */
    const struct sf_ledger_sample *samples;
    const uint32_t *nodes; /* of each sample: its stack */
    uint32_t n_samples;
    const struct sf_tree *stacks;
    enum sf_ledger_part part;
    bool is_scaled; /* also scale up: there are enough samples for the figure that the span carries
                     */
};

struct sf_ledger_stacks {
    struct sf_tree tree; /* in nanoseconds; its total is the figure of the part */
    uint64_t rest_ns;    /* of it without a stack */
};

/* Is sample `i` one of those from which that part was computed? */
bool sf_ledger_stacks_has(const struct sf_ledger *l, const struct sf_ledger_sample *samples,
                          uint32_t i, enum sf_ledger_part part);
/* In `req`; strings are borrowed. LIMIT: it is full. */
enum sf_err sf_ledger_stacks_make(const struct sf_ledger_stacks_input *in, struct sf_arena *req,
                                  struct sf_ledger_stacks *out, struct sf_why *why);

/* hottest.c - finds the function with the largest cost in each span. */
#include "link/hottest.h"

#include "flame/runtime_frame.h"
#include "link/claims_by_span.h"
#include "link/frame_functions.h"
#include "link/leaf_state.h"

struct work {
    const struct sf_tree *stacks;
    const struct sf_link_sample *samples;
    const struct sf_attribution *claims;
    struct sf_claims_by_span by_span;
    struct sf_frame_functions functions;
    bool *is_glue;          /* by frame: tells nothing about the code's purpose */
    const uint32_t *owners; /* by node: itself, or the caller of the runtime */
    int64_t *sums;          /* by function, for the current span */
    uint32_t *touched;      /* functions with a sum; zeroed after each span */
    int64_t *line_sums;     /* by frame of the stacks, for the current function */
};

/* The node to which a sample's time is attributed: the code that was interrupted or entered the
 * kernel, or the caller of a runtime. 0: a collector's thread. */
static uint32_t hottest_node_of(const struct work *w, uint32_t node)
{
    while (w->is_glue[w->stacks->nodes[node].frame] && w->stacks->nodes[node].parent != 0)
        node = w->stacks->nodes[node].parent;
    return w->owners[node];
}

/* Finds the line of a function with the largest cost. */
static void hottest_find_line(struct work *w, uint32_t span, uint32_t function, struct sf_hot *hot)
{
    uint32_t best = SF_NONE;
    for (int turn = 0; turn < 2; turn++) { /* first pass adds up, second pass resets to zero */
        for (uint32_t k = w->by_span.first[span]; k < w->by_span.first[span + 1]; k++) {
            const struct sf_claim *c = &w->claims->claims[w->by_span.claims[k]];
            uint32_t node = w->samples[c->sample].node;
            if (!c->is_known || node == 0 || c->value == 0 ||
                (node = hottest_node_of(w, node)) == 0)
                continue;
            uint32_t frame = w->stacks->nodes[node].frame;
            if (w->functions.of[frame] != function || w->stacks->frames[frame].file.len == 0)
                continue;
            w->line_sums[frame] = turn == 0 ? w->line_sums[frame] + c->value : 0;
            if (turn == 0 && (best == SF_NONE || w->line_sums[frame] > w->line_sums[best]))
                best = frame;
        }
    }
    if (best == SF_NONE)
        return;
    hot->file = w->stacks->frames[best].file;
    hot->line = w->stacks->frames[best].line;
}

/* Stacks that end at the root have no function. Of equal functions the first is used, so that
 * answers are reproducible. */
static struct sf_hot hottest_find(struct work *w, uint32_t span)
{
    struct sf_hot hot = {0};
    uint32_t n_touched = 0, best = SF_NONE, last = SF_NONE;
    for (uint32_t k = w->by_span.first[span]; k < w->by_span.first[span + 1]; k++) {
        const struct sf_claim *c = &w->claims->claims[w->by_span.claims[k]];
        uint32_t node = w->samples[c->sample].node;
        bool is_new = c->sample != last; /* descendants may have parts of the same sample */
        last = c->sample;
        if (!c->is_known) {
            hot.n_estimated += is_new;
            continue;
        }
        hot.all += c->value;
        hot.n_samples += is_new;
        if (w->samples[c->sample].has_time) {
            hot.timed += (double)c->value;
            hot.timed_squares += (double)c->value * (double)c->value;
        }
        if (node == 0 || c->value == 0)
            continue;
        node = hottest_node_of(w, node);
        if (node == 0)
            continue;
        uint32_t f = w->functions.of[w->stacks->nodes[node].frame];
        if (w->sums[f] == 0)
            w->touched[n_touched++] = f;
        w->sums[f] += c->value;
    }
    for (uint32_t i = 0; i < n_touched; i++)
        if (best == SF_NONE || w->sums[w->touched[i]] > w->sums[best])
            best = w->touched[i];
    if (best != SF_NONE && w->sums[best] > 0) {
        hot.function = w->functions.names[best];
        hot.value = w->sums[best];
        hottest_find_line(w, span, best, &hot);
    }
    for (uint32_t i = 0; i < n_touched; i++)
        w->sums[w->touched[i]] = 0;
    return hot;
}

enum sf_err sf_hottest(const struct sf_tree *stacks, const struct sf_link_sample *samples,
                       const struct sf_attribution *claims, uint32_t n_spans, struct sf_arena *req,
                       const struct sf_hot **out, struct sf_why *why)
{
    struct work w = {.stacks = stacks, .samples = samples, .claims = claims};
    struct sf_hot *hots = sf_arena_new_n(req, n_spans + 1u, sizeof(*hots));
    enum sf_err err = sf_frame_functions_make(stacks, req, &w.functions, why);
    if (err)
        return err;
    w.is_glue = sf_arena_new_n(req, stacks->n_frames + 1u, sizeof(*w.is_glue));
    w.sums = sf_arena_new_n(req, w.functions.n + 1u, sizeof(*w.sums));
    /* A sum may return to zero and be added to again: one entry for each claim. */
    w.touched = sf_arena_new_n(req, claims->n_claims + 1u, sizeof(*w.touched));
    w.owners = sf_runtime_frame_owners(stacks, req);
    w.line_sums = sf_arena_new_n(req, stacks->n_frames + 1u, sizeof(*w.line_sums));
    if (!hots || !w.line_sums || !w.sums || !w.is_glue || !w.touched || !w.owners ||
        !sf_claims_by_span_make(claims, n_spans, req, &w.by_span))
        return sf_fail(why, SF_ERR_LIMIT, "no memory for the hottest functions of %u spans",
                       n_spans);
    for (uint32_t i = 0; i < stacks->n_frames; i++) {
        const struct sf_leaf_rule *rule = sf_leaf_state_rule_of(&stacks->frames[i]);
        w.is_glue[i] = rule && rule->weight == SF_LEAF_GLUE;
    }
    for (uint32_t i = 0; i < n_spans; i++)
        hots[i] = hottest_find(&w, i);
    *out = hots;
    return SF_OK;
}

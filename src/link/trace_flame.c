/* trace_flame.c - one flame graph of a whole trace, over all services.
 *
 * A span's bar is below its parent's if both are in one process, otherwise below its service.
 * Stacks are added below a span's bar when a claim needs them. A map from stack node to graph node
 * for every span would need spans x nodes, so claims are processed span by span with one map, which
 * is reset after each. */
#include "link/trace_flame.h"

#include <stdlib.h>
#include <string.h>

#include "flame/tree_builder.h"
#include "link/claims_by_span.h"
#include "link/share_cut.h"

struct work {
    const struct sf_trace_flame_input *in;
    struct sf_tree_builder b;
    const uint32_t *bars; /* by span */
    struct sf_claims_by_span by_span;
    uint32_t *frames;          /* by frame of the stacks: number in the graph, or SF_NONE */
    uint32_t *nodes, *touched; /* by node of the stacks: node below the current span */
    uint32_t n_touched;
    uint32_t *path; /* scratch: nodes from the root down */
};

static bool trace_flame_prepare(struct work *w, struct sf_arena *scratch)
{
    const struct sf_trace_flame_input *in = w->in;
    uint32_t n_spans = in->spans->n_spans, n_nodes = in->stacks->n_nodes;
    w->frames = sf_arena_new_n(scratch, in->stacks->n_frames + 1u, sizeof(*w->frames));
    w->nodes = sf_arena_new_n(scratch, n_nodes + 1u, sizeof(*w->nodes));
    w->touched = sf_arena_new_n(scratch, n_nodes + 1u, sizeof(*w->touched));
    w->path = sf_arena_new_n(scratch, n_nodes + 1u, sizeof(*w->path));
    if (!w->frames || !w->nodes || !w->touched || !w->path ||
        !sf_claims_by_span_make(in->claims, n_spans, scratch, &w->by_span))
        return false;
    memset(w->frames, 0xff, (in->stacks->n_frames + 1u) * sizeof(*w->frames));
    memset(w->nodes, 0xff, (n_nodes + 1u) * sizeof(*w->nodes));
    return true;
}

static uint32_t bar_below(struct sf_tree_builder *b, uint32_t parent, sf_str name, uint8_t kind)
{
    struct sf_frame f = {.function = name, .kind = kind};
    return sf_tree_builder_child(b, parent, sf_tree_builder_frame(b, &f));
}

/* Parents first: from the roots down, since local depths do not order a whole trace. */
const uint32_t *sf_trace_flame_bars(const struct sf_span_tree *spans, const sf_str *services,
                                    struct sf_tree_builder *b, struct sf_arena *req)
{
    uint32_t n_todo = 0;
    uint32_t *bars = sf_arena_new_n(req, spans->n_spans + 1u, sizeof(*bars));
    uint32_t *todo = sf_arena_new_n(req, spans->n_spans + 1u, sizeof(*todo));
    if (!bars || !todo)
        return NULL;
    for (uint32_t k = spans->first[spans->n_spans]; k < spans->first[spans->n_spans + 1]; k++)
        todo[n_todo++] = spans->children[k];
    while (n_todo > 0) {
        uint32_t i = todo[--n_todo];
        uint32_t above = spans->places[i].local_root == i
                             ? bar_below(b, 0, services[i], SF_FRAME_SERVICE)
                             : bars[spans->places[i].parent];
        bars[i] = bar_below(b, above, spans->spans[i].name, SF_FRAME_SPAN);
        for (uint32_t k = spans->first[i]; k < spans->first[i + 1]; k++)
            todo[n_todo++] = spans->children[k];
    }
    return bars;
}

/* The graph's node for a stack below a span's bar. */
static uint32_t trace_flame_node_of(struct work *w, uint32_t bar, uint32_t stack)
{
    const struct sf_tree *s = w->in->stacks;
    uint32_t depth = 0, at = stack;
    for (; at != 0 && w->nodes[at] == SF_NONE; at = s->nodes[at].parent)
        w->path[depth++] = at;
    uint32_t node = at == 0 ? bar : w->nodes[at];
    while (depth-- > 0) {
        uint32_t frame = s->nodes[w->path[depth]].frame;
        if (w->frames[frame] == SF_NONE)
            w->frames[frame] = sf_tree_builder_frame(&w->b, &s->frames[frame]);
        node = sf_tree_builder_child(&w->b, node, w->frames[frame]);
        w->nodes[w->path[depth]] = node;
        w->touched[w->n_touched++] = w->path[depth];
    }
    return node;
}

static int64_t sum_of_claims(const struct work *w, uint32_t span)
{
    int64_t sum = 0;
    for (uint32_t k = w->by_span.first[span]; k < w->by_span.first[span + 1]; k++) {
        int64_t value = w->in->claims->claims[w->by_span.claims[k]].value;
        if (value > 0 && __builtin_add_overflow(sum, value, &sum))
            return INT64_MAX;
    }
    return sum;
}

/* The base of the claims' shares: never less than their sum. */
static double whole_of(const struct work *w, uint32_t span)
{
    double sum = (double)sum_of_claims(w, span), own = (double)w->in->spans->places[span].self_ns;
    return w->in->is_time && own > sum ? own : sum;
}

static void trace_flame_fill_bar(struct work *w, uint32_t span)
{
    const struct sf_trace_flame_input *in = w->in;
    double whole = in->weights_ns ? whole_of(w, span) : 0;
    uint64_t weight_ns = in->weights_ns ? in->weights_ns[span] : 0;
    struct sf_share_cut cut = {.value = weight_ns < INT64_MAX ? (int64_t)weight_ns : INT64_MAX};
    w->n_touched = 0;
    for (uint32_t k = w->by_span.first[span]; k < w->by_span.first[span + 1]; k++) {
        const struct sf_claim *c = &in->claims->claims[w->by_span.claims[k]];
        int64_t value = c->value;
        if (in->weights_ns) {
            if (value <= 0)
                continue;
            value = sf_share_cut_next(&cut, (double)value / whole);
        }
        sf_tree_builder_add(
            &w->b, trace_flame_node_of(w, w->bars[span], in->samples[c->sample].node), value, 1);
    }
    int64_t rest = in->weights_ns ? sf_share_cut_rest(&cut) : 0;
    if (rest != 0)
        sf_tree_builder_add(&w->b, w->bars[span], rest, 0);
    for (uint32_t i = 0; i < w->n_touched; i++)
        w->nodes[w->touched[i]] = SF_NONE;
}

enum sf_err sf_trace_flame(const struct sf_trace_flame_input *in, struct sf_arena *req,
                           struct sf_tree *out, struct sf_why *why)
{
    struct work w = {.in = in};
    uint32_t n = in->spans->n_spans;
    sf_tree_builder_init(&w.b, req, 0, SF_TREE_BORROWS);
    if (!trace_flame_prepare(&w, req) ||
        !(w.bars = sf_trace_flame_bars(in->spans, in->services, &w.b, req))) {
        sf_tree_builder_done(&w.b);
        return sf_fail(why, SF_ERR_LIMIT, "trace flame graph: no memory for %u spans", n);
    }
    for (uint32_t i = 0; i < n; i++)
        trace_flame_fill_bar(&w, i);
    enum sf_err err = sf_tree_builder_take(
        &w.b, in->weights_ns ? SF_STR("nanoseconds") : in->stacks->unit, out, why);
    sf_tree_builder_done(&w.b);
    return err;
}

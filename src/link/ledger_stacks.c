/* ledger_stacks.c - the code behind one part of a time breakdown. */
#include "link/ledger_stacks.h"

#include "flame/tree_builder.h"
#include "link/share_cut.h"

#define MAX_TREE_LEN ((size_t)64 << 20)

struct work {
    const struct sf_ledger_stacks_input *in;
    const struct sf_span_place *place;
    struct sf_tree_builder b;
    uint32_t *nodes;  /* by node of the stacks: node in the tree */
    int64_t *weights; /* by sample, then by child */
    double sum;
};

bool sf_ledger_stacks_has(const struct sf_ledger *l, const struct sf_ledger_sample *samples,
                          uint32_t i, enum sf_ledger_part part)
{
    return samples[i].part == part && samples[i].worth_ns > 0 && l->roles[i] <= SF_LEDGER_ESTIMATE;
}

static int64_t ledger_stacks_clip(const struct work *w, uint64_t start_ns, uint64_t end_ns)
{
    start_ns = start_ns > w->place->start_ns ? start_ns : w->place->start_ns;
    end_ns = end_ns < w->place->end_ns ? end_ns : w->place->end_ns;
    uint64_t ns = start_ns < end_ns ? end_ns - start_ns : 0;
    return ns < INT64_MAX ? (int64_t)ns : INT64_MAX;
}

static int64_t ledger_stacks_weigh(const struct work *w, uint32_t i)
{
    const struct sf_ledger_sample *s = &w->in->samples[i];
    if (!sf_ledger_stacks_has(w->in->ledger, w->in->samples, i, w->in->part))
        return 0;
    if (!s->is_measured || !s->has_time || s->length_ns <= 0 || s->start_ns < 0)
        return s->worth_ns;
    return ledger_stacks_clip(w, (uint64_t)s->start_ns,
                              (uint64_t)s->start_ns + (uint64_t)s->length_ns);
}

/* A child in another process belongs to the part REMOTE, one in this process to CHILD. */
static bool is_of_part(const struct work *w, uint32_t child)
{
    return w->in->part == (sf_span_tree_is_local(w->in->spans, child, w->in->span)
                               ? SF_PART_CHILD
                               : SF_PART_REMOTE);
}

static uint32_t bar(struct work *w, sf_str name, uint8_t kind)
{
    struct sf_frame f = {.function = name, .kind = kind};
    return sf_tree_builder_child(&w->b, 0, sf_tree_builder_frame(&w->b, &f));
}

/* Makes only the stacks that are needed: parents have smaller indexes, so one pass is enough. */
static void make_nodes(struct work *w, bool *is_used)
{
    const struct sf_tree *t = w->in->stacks;
    for (uint32_t i = 0; i < w->in->n_samples; i++)
        is_used[w->in->nodes[i]] = is_used[w->in->nodes[i]] || w->weights[i] > 0;
    for (uint32_t i = t->n_nodes; i-- > 1;)
        if (is_used[i])
            is_used[t->nodes[i].parent] = true;
    for (uint32_t i = 1; i < t->n_nodes; i++)
        if (is_used[i])
            w->nodes[i] = sf_tree_builder_child(
                &w->b, w->nodes[t->nodes[i].parent],
                sf_tree_builder_frame(&w->b, &t->frames[t->nodes[i].frame]));
}

static void ledger_stacks_fill(struct work *w, struct sf_ledger_stacks *out)
{
    const struct sf_span_tree *t = w->in->spans;
    uint64_t whole_ns = w->in->ledger->ns[w->in->part];
    int64_t whole = whole_ns < INT64_MAX ? (int64_t)whole_ns : INT64_MAX;
    struct sf_share_cut cut = {.value = whole};
    bool is_cut = w->sum > (double)whole || (w->in->is_scaled && w->sum > 0);
    double divide_by = is_cut ? w->sum : (double)whole;
    for (uint32_t i = 0; i < w->in->n_samples; i++) {
        if (w->weights[i] <= 0 || divide_by <= 0)
            continue;
        uint32_t node = w->nodes[w->in->nodes[i]];
        sf_tree_builder_add(
            &w->b, node != 0 ? node : bar(w, SF_STR("(without a stack)"), SF_FRAME_UNKNOWN),
            sf_share_cut_next(&cut, (double)w->weights[i] / divide_by), 1);
    }
    const int64_t *of_children = w->weights + w->in->n_samples;
    for (uint32_t k = t->first[w->in->span]; k < t->first[w->in->span + 1]; k++) {
        int64_t weight = of_children[k - t->first[w->in->span]];
        if (weight > 0 && divide_by > 0)
            sf_tree_builder_add(&w->b, bar(w, t->spans[t->children[k]].name, SF_FRAME_SPAN),
                                sf_share_cut_next(&cut, (double)weight / divide_by), 0);
    }
    int64_t rest = sf_share_cut_rest(&cut);
    if (rest > 0)
        sf_tree_builder_add(&w->b, bar(w, SF_STR("(without a stack)"), SF_FRAME_UNKNOWN), rest, 0);
    out->rest_ns = (uint64_t)rest;
}

enum sf_err sf_ledger_stacks_make(const struct sf_ledger_stacks_input *in, struct sf_arena *req,
                                  struct sf_ledger_stacks *out, struct sf_why *why)
{
    const struct sf_span_tree *t = in->spans;
    struct work w = {.in = in, .place = &t->places[in->span]};
    struct sf_ledger_stacks made = {0};
    uint32_t n_children = t->first[in->span + 1] - t->first[in->span];
    bool *is_used = sf_arena_new_n(req, in->stacks->n_nodes + 1u, sizeof(*is_used));
    w.nodes = sf_arena_new_n(req, in->stacks->n_nodes + 1u, sizeof(*w.nodes));
    w.weights = sf_arena_new_n(req, (size_t)in->n_samples + n_children + 1, sizeof(*w.weights));
    if (!is_used || !w.nodes || !w.weights)
        return sf_fail(why, SF_ERR_LIMIT, "time breakdown: no memory for %u samples",
                       in->n_samples);
    for (uint32_t i = 0; i < in->n_samples; i++)
        w.sum += (double)(w.weights[i] = ledger_stacks_weigh(&w, i));
    for (uint32_t k = 0; k < n_children; k++) {
        const uint32_t child = t->children[t->first[in->span] + k];
        const int64_t shift_ns = sf_span_tree_shift_ns(t, child, in->span);
        if (is_of_part(&w, child))
            w.weights[in->n_samples + k] = ledger_stacks_clip(
                &w, sf_shift_sat_u64(t->places[child].start_ns, shift_ns),
                sf_shift_sat_u64(t->places[child].end_ns, shift_ns));
        w.sum += (double)w.weights[in->n_samples + k];
    }
    sf_tree_builder_init(&w.b, req, MAX_TREE_LEN, SF_TREE_BORROWS);
    make_nodes(&w, is_used);
    ledger_stacks_fill(&w, &made);
    enum sf_err err = sf_tree_builder_take(&w.b, SF_STR("nanoseconds"), &made.tree, why);
    sf_tree_builder_done(&w.b);
    if (!err)
        *out = made;
    return err;
}

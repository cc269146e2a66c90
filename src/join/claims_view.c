/* claims_view.c - shows the claims of spans as a tree and by match quality. */
#include "join/claims_view.h"

#include <math.h>
#include <stdlib.h>

#include "flame/tree_builder.h"
#include "join/sample_count.h"
#include "link/trust.h"

#define MAX_TREE_LEN ((size_t)64 << 20)

enum sf_err sf_claims_view_tree(const struct sf_link_set *set, const struct sf_attribution *a,
                                struct sf_arena *req, struct sf_tree *out,
                                const uint32_t **out_nodes, struct sf_why *why)
{
    struct sf_tree_builder b;
    uint32_t *nodes = sf_arena_new_n(req, set->stacks.n_nodes + 1u, sizeof(*nodes));
    uint32_t *frames = sf_arena_new_n(req, set->stacks.n_frames + 1u, sizeof(*frames));
    int64_t *self = sf_arena_new_n(req, set->stacks.n_nodes + 1u, sizeof(*self));
    bool *is_used = sf_arena_new_n(req, set->stacks.n_nodes + 1u, sizeof(*is_used));
    if (!nodes || !frames || !self || !is_used)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < a->n_claims; i++) {
        uint32_t node = set->samples[a->claims[i].sample].node;
        self[node] += a->claims[i].value;
        is_used[node] = true;
    }
    /* The ancestors of a used node are needed, too. */
    for (uint32_t i = set->stacks.n_nodes; i-- > 1;)
        if (is_used[i])
            is_used[set->stacks.nodes[i].parent] = true;
    sf_tree_builder_init(&b, req, MAX_TREE_LEN, SF_TREE_BORROWS);
    for (uint32_t i = 1; i < set->stacks.n_nodes; i++) {
        const struct sf_tree_node *n = &set->stacks.nodes[i];
        if (!is_used[i])
            continue;
        uint32_t frame = sf_tree_builder_frame(&b, &set->stacks.frames[n->frame]);
        nodes[i] = sf_tree_builder_child(&b, nodes[n->parent], frame);
        sf_tree_builder_add(&b, nodes[i], self[i], 0);
    }
    enum sf_err err = sf_tree_builder_take(&b, set->type.sample_unit, out, why);
    sf_tree_builder_done(&b);
    if (!err && out_nodes)
        *out_nodes = nodes;
    return err;
}

enum sf_grade_row sf_claims_view_row(enum sf_grade grade)
{
    static const enum sf_grade_row rows[] = {[SF_GRADE_EXACT] = SF_GRADE_ROW_EXACT,
                                             [SF_GRADE_INHERITED] = SF_GRADE_ROW_INHERITED,
                                             [SF_GRADE_SHARED] = SF_GRADE_ROW_SHARED,
                                             [SF_GRADE_WINDOW] = SF_GRADE_ROW_WINDOW};
    return rows[grade];
}

void sf_claims_view_grades(const struct sf_attribution *a, const bool *is_asked,
                           struct sf_grades *out)
{
    uint32_t last = SF_NONE;
    *out = (struct sf_grades){0};
    for (uint32_t i = 0; i < a->n_claims; i++) {
        const struct sf_claim *c = &a->claims[i];
        enum sf_grade_row row = c->grade == SF_GRADE_EXACT && !is_asked[c->span]
                                    ? SF_GRADE_ROW_SUBTREE
                                    : sf_claims_view_row((enum sf_grade)c->grade);
        out->rows[row].value += c->value;
        /* Count a sample once even if several of its spans share it. */
        out->rows[row].n_samples += c->sample != last;
        out->n_samples += c->sample != last;
        last = c->sample;
    }
}

bool sf_claims_view_is_few(const struct sf_link_set *set, double taken)
{
    return sf_sample_count_is_few(&set->type, set->period, taken);
}

double sf_claims_view_samples(const struct sf_link_set *set, int64_t value, uint64_t n_samples)
{
    return sf_sample_count(&set->type, set->period, value, n_samples);
}

double sf_claims_view_worth(const struct sf_link_set *set, double taken, double timed,
                            double timed_squares)
{
    double period = (double)set->period;
    if (!sf_sample_count_is_known(&set->type, set->period) || timed <= 0)
        return taken;
    double untimed = fmax(0, taken - timed / period);
    double squares = untimed + timed_squares / period / period;
    return fmin(taken, sf_trust_effective(taken, squares));
}

static int claims_view_by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The smallest number of threads that can have spent `value` ns, if no sample names a thread. */
static uint32_t fewest_threads(const struct sf_link_set *set, int64_t value, double taken,
                               uint64_t duration_ns)
{
    double room = (double)duration_ns + (double)set->period;
    if (!sf_str_eq(set->type.sample_unit, SF_STR("nanoseconds")) ||
        !sf_sample_count_is_known(&set->type, set->period))
        return 1;
    if (sf_claims_view_is_few(set, taken))
        return 1;
    return (uint32_t)fmin(UINT32_MAX, fmax(1, ceil((double)value / room)));
}

uint32_t sf_claims_view_threads(const struct sf_link_set *set, const struct sf_attribution *a,
                                double taken, uint64_t duration_ns, bool *out_are_named,
                                struct sf_arena *req)
{
    uint64_t *threads = sf_arena_new_n(req, a->n_claims + 1u, sizeof(*threads));
    uint32_t n = 0, n_threads = 0;
    int64_t value = 0;
    for (uint32_t i = 0; threads && i < a->n_claims; i++) {
        uint64_t thread = set->samples[a->claims[i].sample].thread;
        value = sf_add_sat_i64(value, a->claims[i].value > 0 ? a->claims[i].value : 0);
        /* Neighbours often have the same thread. */
        if (thread != 0 && (n == 0 || threads[n - 1] != thread))
            threads[n++] = thread;
    }
    if (!threads)
        return 0;
    qsort(threads, n, sizeof(*threads), claims_view_by_size);
    for (uint32_t i = 0; i < n; i++)
        n_threads += i == 0 || threads[i] != threads[i - 1];
    *out_are_named = n_threads > 0;
    return n_threads > 0 ? n_threads : fewest_threads(set, value, taken, duration_ns);
}

/* explain_parts.c - converts a sum of time breakdowns to the parts of an answer. */
#include <math.h>
#include <stdlib.h>

#include "join/explain_times.h"
#include "link/explain_part.h"
#include "link/trust.h"

double sf_explain_parts_worth(const struct sf_part_seen *s)
{
    double squares = s->samples - s->timed + s->timed_squares;
    return s->samples > 0 ? fmin(s->samples, sf_trust_effective(s->samples, squares)) : 0;
}

static enum sf_err explain_parts_add_functions(const struct sf_times_sum *sum,
                                               const struct sf_explain_times *t, int part,
                                               uint32_t most, struct sf_explain_part *to,
                                               struct sf_why *why)
{
    struct sf_hot_pieces found = {0};
    struct sf_explain_function *list = sf_arena_new_n(t->q->req, SF_EXPLAIN_FUNCTIONS,
                                                      sizeof(*list));
    double worth = sf_explain_parts_worth(&sum->seen[part]);
    most = most < SF_EXPLAIN_FUNCTIONS ? most : SF_EXPLAIN_FUNCTIONS;
    if (part >= SF_PART_CHILD || !sum->nodes[part] || most == 0 ||
        (sum->seen[part].samples > 0 && sum->seen[part].samples < SF_TRUST_FEW))
        /* Too few samples to name functions, even if the span carries its CPU time. */
        return SF_OK;
    enum sf_err err = list ? sf_hot_code_find(&t->hot, sum->nodes[part], most, t->q->req, &found,
                                              why)
                           : sf_no_room(why, "the query");
    for (uint32_t i = 0; !err && i < found.n; i++)
        list[i] = sf_explain_part_function_of(&found.list[i], (double)to->ns, worth);
    to->functions = list;
    to->n_functions = err ? 0 : found.n;
    to->n_more_functions = err ? 0 : found.n_more;
    return err;
}

static bool explain_parts_is_few(const struct sf_times_sum *sum, int part)
{
    const struct sf_part_seen *s = &sum->seen[part];
    return s->samples > 0 && s->samples < SF_TRUST_FEW && s->sampled_ns > s->sure_ns;
}

enum sf_err sf_explain_parts_sum(const struct sf_times_sum *sum, const struct sf_explain_times *t,
                                 uint64_t whole_ns, uint32_t most, struct sf_explain_part **out,
                                 uint32_t *out_n, struct sf_why *why)
{
    struct sf_explain_part *list = sf_arena_new_n(t->q->req, SF_PARTS, sizeof(*list));
    uint32_t n = 0;
    enum sf_err err = SF_OK;
    if (!list)
        return sf_no_room(why, "the query");
    for (int part = 0; !err && part < SF_PARTS; part++) {
        const struct sf_part_seen *s = &sum->seen[part];
        if (sum->ns[part] < 0.5)
            continue;
        struct sf_explain_part *to = &list[n++];
        *to = sf_explain_part_named((enum sf_ledger_part)part);
        to->ns = llround(sum->ns[part]);
        to->source = sum->exact >> part & 1 ? "exact" : s->sampled_ns > 0 ? "samples" : to->source;
        to->is_estimate = sum->estimate >> part & 1 || s->estimated_ns > 0.05 * sum->ns[part];
        to->few = explain_parts_is_few(sum, part) ? s->samples : 0;
        if (part == SF_PART_RUN_QUEUE)
            to->runnable = sf_runnable_sum_mean(&sum->runnable, sum->ns[part]);
        sf_explain_part_bound(to, s->sure_ns, s->sampled_ns, sf_explain_parts_worth(s),
                              (double)whole_ns);
        err = explain_parts_add_functions(sum, t, part, most, to, why);
    }
    int64_t whole = (int64_t)(whole_ns < INT64_MAX ? whole_ns : INT64_MAX);
    sf_explain_parts_fit(list, n, whole);
    sf_explain_parts_bound_unknown(list, n, whole);
    *out = list;
    *out_n = n;
    return err;
}

#include "join/explain_focus.h"

#include <math.h>

#include "link/trust.h"

const bool *sf_explain_focus_nodes(const struct sf_hot_code *hot, sf_str name, struct sf_arena *req)
{
    const struct sf_tree *t = &hot->by_function;
    bool *is_through = sf_arena_new_n(req, t->n_nodes + 1u, sizeof(*is_through));
    bool *out = sf_arena_new_n(req, hot->stacks->n_nodes + 1u, sizeof(*out));
    if (!is_through || !out)
        return NULL;
    for (uint32_t i = 1; i < t->n_nodes; i++)
        is_through[i] = is_through[t->nodes[i].parent] ||
                        sf_str_eq(t->frames[t->nodes[i].frame].function, name);
    for (uint32_t i = 1; i < hot->stacks->n_nodes; i++)
        out[i] = is_through[hot->of[i]];
    return out;
}

/* Adds up the ends of the parts' intervals: at least as wide as the interval of the sum. */
static void explain_focus_add_code(const struct sf_times_sum *sum, const struct sf_explain_times *t,
                                   const bool *is_through, struct sf_explain_focus *out)
{
    for (int part = 0; part < SF_PART_CHILD; part++) {
        const struct sf_part_seen *s = &sum->seen[part];
        double ns = 0;
        if (!sum->nodes[part] || (s->samples > 0 && s->samples < SF_TRUST_FEW))
            continue;
        for (uint32_t i = 1; i < t->stacks.n_nodes; i++)
            ns += is_through[i] ? sum->nodes[part][i] : 0;
        if (ns <= 0)
            continue;
        double worth = sf_explain_parts_worth(s);
        struct sf_interval in = {1, 1};
        if (worth > 0 && sum->ns[part] > 0)
            in = sf_trust_share(fmin(1, ns / sum->ns[part]) * worth, worth);
        out->low_ns += worth > 0 ? in.low * sum->ns[part] : ns;
        out->high_ns += worth > 0 ? in.high * sum->ns[part] : ns;
        out->ns += ns;
    }
}

/* A span of that name counts with all its descendants. */
static void add_spans(const struct sf_explain_times *t, uint32_t span, const uint64_t *path_ns,
                      sf_str name, struct sf_explain_focus *out)
{
    const struct sf_link_set *set = t->set;
    for (uint32_t i = 0; i < set->n_own; i++) {
        if (!t->spans[i].is_there || i == span)
            continue;
        out->count += sf_str_eq(set->spans[i].name, name);
        for (uint32_t at = i; at != SF_NOBODY && at != span; at = set->tree.places[at].parent)
            if (at < set->n_own && sf_str_eq(set->spans[at].name, name)) {
                out->ns += (double)path_ns[i];
                break;
            }
    }
    out->low_ns = out->high_ns = out->ns;
}

enum sf_err sf_explain_focus_path(const struct sf_times_sum *sum, const struct sf_explain_times *t,
                                  uint32_t span, const uint64_t *path_ns, sf_str name,
                                  struct sf_explain_focus *out, struct sf_why *why)
{
    const bool *is_through = sf_explain_focus_nodes(&t->hot, name, t->q->req);
    *out = (struct sf_explain_focus){.name = name};
    if (!is_through)
        return sf_no_room(why, "the query");
    explain_focus_add_code(sum, t, is_through, out);
    if (out->ns <= 0)
        add_spans(t, span, path_ns, name, out);
    return SF_OK;
}

#include "link/keep_verdict.h"

#include "base/trace_share.h"

static unsigned judge_root(const struct sf_keep_facts *f, uint32_t span, int64_t cpu_ns)
{
    const struct sf_keep_rule *rule = f->rules[span];
    const struct sf_span_place *p = &f->tree->places[span];
    uint64_t ns = p->end_ns - p->start_ns;
    unsigned out = 0;
    if (rule->slow_ns > 0 && ns >= (uint64_t)rule->slow_ns)
        out |= 1u << SF_KEEP_SLOW;
    if (f->usual_ns[span] > 0 && ns > f->usual_ns[span] && ns >= (uint64_t)rule->tail_min_ns)
        out |= 1u << SF_KEEP_UNUSUAL;
    if (rule->cpu_percent > 0 && cpu_ns > 0 &&
        (double)cpu_ns * 100 > (double)ns * rule->cpu_percent)
        out |= 1u << SF_KEEP_CPU;
    return out;
}

unsigned sf_keep_verdict(const struct sf_keep_facts *f, int64_t *root_ns, uint32_t *out_baseline)
{
    const struct sf_span_tree *t = f->tree;
    uint32_t baseline = 0;
    unsigned out = 0;
    for (uint32_t i = 0; i < t->n_spans; i++)
        root_ns[i] = 0;
    for (uint32_t i = 0; i < t->n_spans; i++) {
        int64_t *sum = &root_ns[t->places[i].local_root];
        *sum = sf_add_sat_i64(*sum, f->cpu_ns[i]);
        if (f->rules[i]->has_errors && t->spans[i].status == SF_STATUS_ERROR)
            out |= 1u << SF_KEEP_ERROR;
        if (f->is_flagged[i])
            out |= 1u << SF_KEEP_FLAGGED;
        if (f->rules[i]->baseline_per_10000 > baseline)
            baseline = f->rules[i]->baseline_per_10000;
    }
    for (uint32_t i = 0; i < t->n_spans; i++)
        if (t->places[i].local_root == i)
            out |= judge_root(f, i, root_ns[i]);
    if (t->n_spans > 0 && sf_trace_share_has(t->spans[0].trace_id.b, baseline))
        out |= 1u << SF_KEEP_BASELINE;
    *out_baseline = baseline;
    return out;
}

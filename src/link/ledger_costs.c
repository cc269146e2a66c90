/* ledger_costs.c - what one span adds to the mean time breakdown of a set of spans. */
#include "link/ledger_costs.h"

#include "link/ledger_stacks.h"
#include "link/trust.h"

void sf_ledger_costs_parts(const struct sf_ledger *l, struct sf_ledger_parts *out)
{
    for (int part = 0; part < SF_PARTS; part++) {
        /* A figure that the span carries is never extended. */
        bool has_rest = part != SF_PART_UNKNOWN && l->sources[part] != SF_SOURCE_EXACT;
        out->ns[part] = (double)l->ns[part];
        out->cut[part] = has_rest ? (double)l->cut_ns[part] : 0;
    }
}

double sf_ledger_costs_room(double unknown_ns, double cut_ns)
{
    return unknown_ns <= 0 ? 0 : cut_ns > unknown_ns ? unknown_ns / cut_ns : 1;
}

void sf_ledger_costs_fit(struct sf_ledger_parts *p, double room)
{
    for (int part = 0; part < SF_PART_UNKNOWN; part++) {
        p->ns[part] += p->cut[part] * room;
        p->ns[SF_PART_UNKNOWN] -= p->cut[part] * room;
        p->cut[part] -= p->cut[part] * room;
    }
}

double sf_ledger_costs_scale(const struct sf_ledger_parts *p, uint32_t part, double room)
{
    double whole = p->ns[part] + p->cut[part];
    return whole > 0 ? (p->ns[part] + p->cut[part] * room) / whole : 1;
}

static double ledger_costs_clip(const struct sf_span_place *p, uint64_t start_ns, uint64_t end_ns)
{
    start_ns = start_ns > p->start_ns ? start_ns : p->start_ns;
    end_ns = end_ns < p->end_ns ? end_ns : p->end_ns;
    return start_ns < end_ns ? (double)(end_ns - start_ns) : 0;
}

static double ledger_costs_weigh(const struct sf_span_place *place,
                                 const struct sf_ledger_sample *s)
{
    if (!s->is_measured || !s->has_time || s->length_ns <= 0 || s->start_ns < 0)
        return (double)s->worth_ns;
    return ledger_costs_clip(place, (uint64_t)s->start_ns,
                             (uint64_t)s->start_ns + (uint64_t)s->length_ns);
}

struct sum { /* sums over samples and children of a part */
    double ns;
    uint32_t n;
};

/* If the span carries a figure, its samples are scaled to it, if there are enough of them. */
static double ledger_costs_scale_of(const struct sf_ledger *l, double part_ns, uint32_t part,
                                    const struct sum *sum)
{
    bool is_exact = l->sources[part] == SF_SOURCE_EXACT;
    bool is_full = sum->n >= SF_TRUST_FEW && part == SF_PART_CPU;
    if (sum->ns <= 0 || (is_exact && part < SF_PART_LOCK && !is_full))
        return 1;
    return (is_exact && is_full) || sum->ns > part_ns ? part_ns / sum->ns : 1;
}

static uint32_t ledger_costs_add(struct sf_ledger_cost *out, uint32_t n, uint32_t part,
                                 uint32_t item, double ns, struct sum sums[SF_PARTS])
{
    if (ns <= 0)
        return n;
    sums[part].ns += ns;
    sums[part].n++;
    out[n] = (struct sf_ledger_cost){part, item, ns};
    return n + 1;
}

uint32_t sf_ledger_costs_items(const struct sf_ledger_costs_input *in, struct sf_ledger_cost *out)
{
    const struct sf_span_tree *t = in->spans;
    const struct sf_span_place *place = &t->places[in->span];
    struct sum sums[SF_PARTS] = {{0}};
    struct sf_ledger_parts parts;
    uint32_t n = 0, n_kept = 0;
    sf_ledger_costs_parts(in->ledger, &parts);
    for (uint32_t i = 0; i < in->n_samples; i++) {
        const struct sf_ledger_sample *s = &in->samples[i];
        if (s->part < SF_PART_CHILD &&
            sf_ledger_stacks_has(in->ledger, in->samples, i, (enum sf_ledger_part)s->part))
            n = ledger_costs_add(out, n, s->part, in->items[i], ledger_costs_weigh(place, s), sums);
    }
    for (uint32_t k = t->first[in->span]; k < t->first[in->span + 1]; k++) {
        uint32_t child = t->children[k];
        int64_t shift_ns = sf_span_tree_shift_ns(t, child, in->span);
        n = ledger_costs_add(
            out, n, sf_span_tree_is_local(t, child, in->span) ? SF_PART_CHILD : SF_PART_REMOTE,
            in->child_items[child],
            ledger_costs_clip(place, sf_shift_sat_u64(t->places[child].start_ns, shift_ns),
                              sf_shift_sat_u64(t->places[child].end_ns, shift_ns)),
            sums);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct sf_ledger_cost c = out[i];
        c.ns *= ledger_costs_scale_of(in->ledger, parts.ns[c.part] + parts.cut[c.part], c.part,
                                      &sums[c.part]);
        if (c.item != SF_NOBODY && c.ns > 0)
            out[n_kept++] = c;
    }
    return n_kept;
}

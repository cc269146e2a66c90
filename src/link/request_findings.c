/* request_findings.c - finds work that most requests repeat: parsing what was parsed before.
 *
 * A function that takes a fifth of each request has a fifth of the samples. So has one that takes
 * all of every fifth request. With two samples per request most requests show neither, so counting
 * requests that have it tells nothing; but pairs of samples of one request do. If a share f of the
 * requests does it, each with s / f of its time, then two samples of one request are both in it
 * with probability f * (s / f)^2 = s^2 / f. So f is s^2 divided by the share of such pairs. Work in
 * one piece that is shorter than the time between two samples makes fewer pairs, so f may be too
 * large, never too small.
 *
 * Pairs are weighted by the values of both samples: on a busy machine one sample may represent many
 * that came too late, and must not form a pair with itself. */
#include <stdlib.h>

#include "base/num.h"
#include "link/findings.h"
#include "link/theme.h"

enum {
    MIN_REQUESTS = 8, /* at least this many requests with samples: with fewer, "most" is chance */
    MIN_PAIRS = 20,   /* at least this many pairs of samples of one request */
    MAX_AGAIN = 8,
    RARE_TIMES = 4 /* factor over the pairs expected by chance if every request has it */
};
#define MOST 0.5

struct sample_pairs {
    double n;     /* in units of one sample */
    double alone; /* sum of squares: pairs of a sample with itself */
};

struct work {
    const struct sf_request_samples *in;
    struct sf_arena *req;
    uint32_t *within;                 /* by node: the outermost function that parses, or SF_NONE */
    uint32_t *places;                 /* by node: the node of that function */
    uint8_t *themes;                  /* by function */
    int64_t *sums;                    /* by function */
    struct sample_pairs *all, *in_it; /* by request */
    double unit;
    int64_t total;
};

static bool request_findings_prepare(struct work *w)
{
    const struct sf_tree *t = w->in->stacks;
    uint32_t n_functions = w->in->functions->n;
    w->within = sf_arena_new_n(w->req, t->n_nodes + 1u, sizeof(*w->within));
    w->places = sf_arena_new_n(w->req, t->n_nodes + 1u, sizeof(*w->places));
    w->themes = sf_arena_new_n(w->req, n_functions + 1u, sizeof(*w->themes));
    w->sums = sf_arena_new_n(w->req, n_functions + 1u, sizeof(*w->sums));
    w->all = sf_arena_new_n(w->req, w->in->n_requests + 1u, sizeof(*w->all));
    w->in_it = sf_arena_new_n(w->req, w->in->n_requests + 1u, sizeof(*w->in_it));
    if (!w->within || !w->places || !w->themes || !w->sums || !w->all || !w->in_it)
        return false;
    for (uint32_t i = 0; i < t->n_frames; i++)
        w->themes[w->in->functions->of[i]] = (uint8_t)sf_theme_of_parser(&t->frames[i]);
    for (uint32_t i = 0; i < t->n_nodes; i++) {
        uint32_t parent = t->nodes[i].parent;
        uint32_t function = i > 0 ? w->in->functions->of[t->nodes[i].frame] : 0;
        bool is_inside = i > 0 && w->within[parent] != SF_NONE;
        bool is_parser = i > 0 && w->themes[function] != SF_THEME_NONE;
        w->within[i] = is_inside ? w->within[parent] : is_parser ? function : SF_NONE;
        w->places[i] = is_inside ? w->places[parent] : i;
    }
    return true;
}

static void add_request_sample(const struct work *w, const struct sf_request_sample *s,
                               struct sample_pairs *to)
{
    double n = (double)s->value / w->unit;
    to->n += n;
    to->alone += s->is_one ? n * n : n;
}

static double pairs(const struct sample_pairs *l)
{
    double twice = l->n * l->n - l->alone;
    return twice > 1e-6 ? twice / 2 : 0;
}

/* The value of one sample. */
static double request_findings_unit_of(const struct sf_request_samples *in)
{
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < in->n; i++) {
        int64_t value = in->list[i].value;
        if (value > 0 && value < least)
            least = value;
    }
    return (double)(in->period > 0 ? in->period : least);
}

static void request_findings_sum_up(struct work *w)
{
    w->unit = request_findings_unit_of(w->in);
    for (uint32_t i = 0; i < w->in->n; i++) {
        const struct sf_request_sample *s = &w->in->list[i];
        if (s->value <= 0)
            continue;
        w->total = sf_add_sat_i64(w->total, s->value);
        add_request_sample(w, s, &w->all[s->request]);
        if (w->within[s->node] != SF_NONE)
            w->sums[w->within[s->node]] = sf_add_sat_i64(w->sums[w->within[s->node]], s->value);
    }
}

/* The share of requests that do it, and their number; negative: unknown. */
static double request_findings_spread_of(struct work *w, uint32_t function, uint32_t *out_requests)
{
    double n_all = 0, n_in = 0, pairs_all = 0, pairs_in = 0;
    uint32_t n_requests = 0;
    for (uint32_t i = 0; i < w->in->n_requests; i++)
        w->in_it[i] = (struct sample_pairs){0};
    for (uint32_t i = 0; i < w->in->n; i++) {
        const struct sf_request_sample *s = &w->in->list[i];
        if (s->value > 0 && w->within[s->node] == function)
            add_request_sample(w, s, &w->in_it[s->request]);
    }
    for (uint32_t i = 0; i < w->in->n_requests; i++) {
        n_requests += w->all[i].n > 0;
        n_all += w->all[i].n;
        n_in += w->in_it[i].n;
        pairs_all += pairs(&w->all[i]);
        pairs_in += pairs(&w->in_it[i]);
    }
    *out_requests = n_requests;
    if (n_requests < MIN_REQUESTS || pairs_all < MIN_PAIRS)
        return -1;
    double share = n_in / n_all, both = pairs_in / pairs_all;
    return share * share >= both ? 1 : share * share / both;
}

/* The node where most of it happens. */
static uint32_t request_findings_heaviest(const struct work *w, uint32_t function, int64_t *sums)
{
    uint32_t best = SF_NONE;
    for (uint32_t i = 0; i < w->in->stacks->n_nodes; i++)
        sums[i] = 0;
    for (uint32_t i = 0; i < w->in->n; i++) {
        const struct sf_request_sample *s = &w->in->list[i];
        if (s->value <= 0 || w->within[s->node] != function)
            continue;
        uint32_t place = w->places[s->node];
        sums[place] = sf_add_sat_i64(sums[place], s->value);
        best = best == SF_NONE || sums[place] > sums[best] ? place : best;
    }
    return best;
}

static bool request_findings_say(struct work *w, sf_str of, uint32_t n_requests,
                                 struct sf_finding *f)
{
    enum sf_theme theme = sf_theme_of_parser(
        &w->in->stacks->frames[w->in->stacks->nodes[f->node].frame]);
    const char *what = theme == SF_THEME_JSON    ? "JSON is parsed"
                       : theme == SF_THEME_REGEX ? "patterns are compiled"
                                                 : "data is parsed";
    return sf_findings_path(w->in->stacks, f->node, w->req, &f->path) &&
           sf_arena_print(w->req, &f->sentence,
                          "%s again and again: %.*s takes %.0f %% of %.*s, in most of %u requests, "
                          "in %.*s: %s",
                          what, SF_STR_ARG(f->subject), f->share * 100, SF_STR_ARG(of), n_requests,
                          SF_STR_ARG(f->path), sf_findings_action(f->kind));
}

/* ---- how many requests bear a cost ---- */

/* If all requests have a function with the same cost, it occurs in pairs by chance: with a mean
 * of m samples per request, m * m / 2 pairs. If a share f of them has it, there are m * m / (2 *
 * f). */
bool sf_request_findings_share(const struct sf_request_samples *in, sf_str function,
                               struct sf_arena *req, double *out)
{
    struct work w = {.in = in, .req = req};
    const struct sf_tree *t = in->stacks;
    bool *is_in = sf_arena_new_n(req, t->n_nodes + 1u, sizeof(*is_in));
    double n = 0, n_pairs = 0;
    *out = 1;
    w.in_it = sf_arena_new_n(req, in->n_requests + 1u, sizeof(*w.in_it));
    if (!is_in || !w.in_it)
        return false;
    for (uint32_t i = 1; i < t->n_nodes; i++)
        is_in[i] = is_in[t->nodes[i].parent] ||
                   sf_str_eq(in->functions->names[in->functions->of[t->nodes[i].frame]], function);
    w.unit = request_findings_unit_of(in);
    for (uint32_t i = 0; i < in->n; i++)
        if (in->list[i].value > 0 && is_in[in->list[i].node])
            add_request_sample(&w, &in->list[i], &w.in_it[in->list[i].request]);
    for (uint32_t i = 0; i < in->n_requests; i++) {
        n += w.in_it[i].n;
        n_pairs += pairs(&w.in_it[i]);
    }
    double by_chance = in->n_requests > 0 ? n * n / in->n_requests / 2 : 0;
    if (n_pairs >= MIN_PAIRS && n_pairs >= RARE_TIMES * by_chance)
        *out = by_chance / n_pairs > 1.0 / in->n_requests ? by_chance / n_pairs
                                                          : 1.0 / in->n_requests;
    return true;
}

static int request_findings_order_findings(const void *a, const void *b)
{
    const struct sf_finding *x = a, *y = b;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

enum sf_err sf_request_findings(const struct sf_request_samples *in, sf_str of,
                                const struct sf_finding_limits *limits, struct sf_arena *req,
                                struct sf_finding_list *out, struct sf_why *why)
{
    struct work w = {.in = in, .req = req};
    struct sf_finding *items = sf_arena_new_n(req, in->functions->n + 1u, sizeof(*items));
    int64_t *sums = sf_arena_new_n(req, in->stacks->n_nodes + 1u, sizeof(*sums));
    uint32_t n = 0, n_requests = 0;
    if (!items || !sums || !request_findings_prepare(&w))
        return sf_fail(why, SF_ERR_LIMIT, "findings: no memory for %u samples", in->n);
    request_findings_sum_up(&w);
    for (uint32_t f = 0; f < in->functions->n; f++) {
        double share = w.total > 0 ? (double)w.sums[f] / (double)w.total : 0;
        if (w.sums[f] <= 0 || share < limits->repeat ||
            request_findings_spread_of(&w, f, &n_requests) < MOST || n_requests == 0)
            continue;
        items[n] = (struct sf_finding){.kind = SF_FINDING_AGAIN,
                                       .share = share,
                                       .value = w.sums[f] / n_requests,
                                       .node = request_findings_heaviest(&w, f, sums),
                                       .span = SF_NOBODY,
                                       .count = n_requests,
                                       .subject = in->functions->names[f]};
        n++;
    }
    qsort(items, n, sizeof(*items), request_findings_order_findings);
    uint32_t n_kept = n < MAX_AGAIN ? n : MAX_AGAIN;
    for (uint32_t i = 0; i < n_kept; i++) {
        const struct sf_frame *frame = &in->stacks->frames[in->stacks->nodes[items[i].node].frame];
        items[i].file = frame->file;
        items[i].line = frame->file.len > 0 ? frame->line : 0;
        if (!request_findings_say(&w, of, items[i].count, &items[i]))
            return sf_fail(why, SF_ERR_LIMIT, "findings: no memory for %u samples", in->n);
    }
    *out = (struct sf_finding_list){items, n_kept, n - n_kept};
    return SF_OK;
}

/* findings_growth.c - finds growing resources of a service: a line is fitted through the profiles
 * of each process. */
#include "join/findings_growth.h"

#include <math.h>

#include "base/buf.h"
#include "base/time_unit.h"
#include "flame/batch_tree.h"
#include "flame/tree_builder.h"
#include "link/hot_code.h"
#include "link/trust.h"
#include "render/units.h"

enum {
    FEWEST = 8,      /* at least this many profiles of a process for a line */
    PROCESSES = 256, /* at most this many are examined: each needs a pass over all profiles */
};
#define SMALLEST 0.2 /* smallest growth, as a share of the first value */
#define NS_PER_H (3600.0 * (double)SF_NS_PER_S)

struct line {             /* fitted through the profiles of one process */
    double per_ns, error; /* its slope, and half of its interval */
    double first, last;   /* on the line */
    int64_t from_ns, to_ns;
    uint64_t process;
};

struct work {
    struct sf_store *store;
    const struct sf_requests_want *want;
    struct sf_query_ctx *q;
    struct sf_prof_query ask;
    struct sf_growth_findings *out;
};

/* The effective number of independent points: neighbours in time are correlated. */
static double independent(const struct sf_prof_point *p, const uint32_t *of, uint32_t n, double at,
                          double mean, double slope, double spread)
{
    double squares = 0, pairs = 0, before = 0;
    for (uint32_t i = 0; i < n; i++) {
        double off = (double)p[of[i]].value - mean - slope * ((double)p[of[i]].time_ns - at);
        squares += off * off;
        pairs += i > 0 ? off * before : 0;
        before = off;
    }
    if (squares < 1e-9 * slope * slope * spread)
        return n; /* an exact line: the residuals are rounding errors */
    double alike = squares > 0 ? fmin(0.99, fmax(0, pairs / squares)) : 0;
    return n * (1 - alike) / (1 + alike);
}

/* Fits a line by least squares. False: not possible. */
static bool findings_growth_draw_line(const struct sf_prof_point *p, const uint32_t *of, uint32_t n,
                                      struct line *out)
{
    double at = 0, mean = 0, spread = 0, both = 0, squares = 0;
    for (uint32_t i = 0; i < n; i++) {
        at += (double)p[of[i]].time_ns / n;
        mean += (double)p[of[i]].value / n;
    }
    for (uint32_t i = 0; i < n; i++) {
        double t = (double)p[of[i]].time_ns - at;
        spread += t * t;
        both += t * ((double)p[of[i]].value - mean);
    }
    if (n < FEWEST || spread <= 0)
        return false;
    double slope = both / spread, worth = independent(p, of, n, at, mean, slope, spread);
    for (uint32_t i = 0; i < n; i++) {
        double off = (double)p[of[i]].value - mean - slope * ((double)p[of[i]].time_ns - at);
        squares += off * off;
    }
    if (worth < 4)
        return false;
    double t = sf_trust_t(worth - 2);
    *out = (struct line){.per_ns = slope,
                         .error = t * sqrt(squares / (worth - 2) / spread * n / worth),
                         .first = mean + slope * ((double)p[of[0]].time_ns - at),
                         .last = mean + slope * ((double)p[of[n - 1]].time_ns - at),
                         .from_ns = p[of[0]].time_ns,
                         .to_ns = p[of[n - 1]].time_ns,
                         .process = p[of[0]].process};
    return true;
}

/* Finds the process that grows most; returns the number of growing ones. */
static enum sf_err findings_growth_find_line(struct work *w, struct line *best, uint32_t *out_n,
                                             struct sf_why *why)
{
    struct sf_prof_points points;
    enum sf_err err = w->store->ops->prof_points(w->store, &w->ask, NULL, 0, 0, w->q, &points, why);
    *out_n = 0;
    if (err || points.n_points == 0)
        return err;
    uint32_t *of = sf_arena_new_n(w->q->req, points.n_points, sizeof(*of));
    bool *is_done = sf_arena_new_n(w->q->req, points.n_points, sizeof(*is_done));
    if (!of || !is_done)
        return sf_no_room(why, "the query");
    uint32_t n_processes = 0;
    for (uint32_t i = 0; i < points.n_points && n_processes < PROCESSES; i++) {
        struct line line;
        uint32_t n = 0;
        n_processes += !is_done[i];
        for (uint32_t k = i; !is_done[i] && k < points.n_points; k++) {
            if (is_done[k] || points.points[k].is_slot ||
                points.points[k].process != points.points[i].process)
                continue;
            is_done[k] = k > i;
            of[n++] = k;
        }
        is_done[i] = true;
        if (!findings_growth_draw_line(points.points, of, n, &line) || line.per_ns <= line.error ||
            line.last - line.first < SMALLEST * fmax(1, line.first))
            continue;
        if (*out_n == 0 || line.per_ns > best->per_ns)
            *best = line;
        ++*out_n;
    }
    return SF_OK;
}

/* Finds the code of the service that holds more in the last third of the time than in the first. */
static enum sf_err findings_growth_find_site(struct work *w, const struct line *line,
                                             struct sf_hot_piece *out, bool *is_found,
                                             struct sf_why *why)
{
    int64_t third = (line->to_ns - line->from_ns) / 3;
    struct sf_prof_query ask = w->ask;
    const struct sf_tree *trees[2];
    struct sf_tree both;
    struct sf_tree_builder b;
    struct sf_hot_code hot;
    struct sf_hot_pieces found;
    uint32_t *maps[2];
    enum sf_err err = SF_OK;
    *is_found = false;
    ask.process = line->process;
    sf_tree_builder_init(&b, w->q->req, 0, SF_TREE_BORROWS);
    for (int i = 0; !err && i < 2; i++) {
        ask.from_ns = i == 0 ? line->from_ns : line->to_ns - third;
        ask.to_ns = i == 0 ? line->from_ns + third : line->to_ns + 1;
        err = w->store->ops->prof_merge(w->store, &ask, w->q, &trees[i], why);
        maps[i] = err ? NULL : sf_arena_new_n(w->q->req, trees[i]->n_nodes + 1u, sizeof(*maps[i]));
        if (!err && !maps[i])
            err = sf_no_room(why, "the query");
        if (!err)
            sf_tree_builder_shape(&b, trees[i], maps[i]);
    }
    if (!err)
        err = sf_tree_builder_take(&b, SF_STR_NONE, &both, why);
    sf_tree_builder_done(&b);
    double *values = err ? NULL : sf_arena_new_n(w->q->req, both.n_nodes + 1u, sizeof(*values));
    if (!err && !values)
        err = sf_no_room(why, "the query");
    for (int i = 0; !err && i < 2; i++)
        for (uint32_t k = 0; k < trees[i]->n_nodes; k++)
            values[maps[i][k]] += (i == 0 ? -1 : 1) * (double)trees[i]->nodes[k].self;
    for (uint32_t k = 0; !err && k < both.n_nodes; k++)
        values[k] = fmax(0, values[k]);
    if (!err)
        err = sf_hot_code_init(&hot, &both, w->q->req, why);
    if (!err)
        err = sf_hot_code_find(&hot, values, 1, w->q->req, &found, why);
    if (!err && found.n > 0) {
        *out = found.list[0];
        *is_found = true;
    }
    return err;
}

static bool findings_growth_say(struct work *w, const char *what, uint32_t n,
                                const struct sf_hot_piece *site, struct sf_growth_finding *g)
{
    struct sf_buf by = {0};
    struct sf_finding *f = &g->finding;
    sf_units_amount(&by, llround(g->per_hour), g->unit);
    sf_buf_add_str(&by, SF_STR(" per hour ("));
    sf_units_amount(&by, llround(g->low), g->unit);
    sf_buf_add_str(&by, SF_STR(" to "));
    sf_units_amount(&by, llround(g->high), g->unit);
    sf_buf_add_str(&by, SF_STR(")"));
    bool is_ok = sf_buf_ok(&by) &&
                 sf_arena_print(w->q->req, &f->sentence,
                                "%s of %.*s grow by %.*s, by %.0f %% in this time%s, most of it "
                                "from %.*s: %s",
                                what, SF_STR_ARG(w->want->service), SF_STR_ARG(sf_buf_str(&by)),
                                f->share * 100, n > 1 ? ", in several processes" : "",
                                SF_STR_ARG(site ? site->path : SF_STR("code without a name")),
                                sf_findings_action(f->kind));
    sf_buf_done(&by);
    return is_ok;
}

static enum sf_err findings_growth_look_at(struct work *w, const struct sf_profile_type *type,
                                           enum sf_finding_kind kind, const char *what,
                                           struct sf_why *why)
{
    struct sf_growth_finding *g = &w->out->items[w->out->n];
    struct line line = {0};
    struct sf_hot_piece site = {0};
    bool has_site = false;
    uint32_t n;
    if (!sf_batch_tree_type_print(type, w->q->req, &w->ask.type))
        return sf_no_room(why, "the query");
    enum sf_err err = findings_growth_find_line(w, &line, &n, why);
    if (err || n == 0)
        return err;
    err = findings_growth_find_site(w, &line, &site, &has_site, why);
    if (err)
        return err;
    *g = (struct sf_growth_finding){.unit = type->sample_unit,
                                    .per_hour = line.per_ns * NS_PER_H,
                                    .low = (line.per_ns - line.error) * NS_PER_H,
                                    .high = (line.per_ns + line.error) * NS_PER_H};
    g->finding = (struct sf_finding){.kind = kind,
                                     .share = (line.last - line.first) / fmax(1, line.first),
                                     .value = llround(line.last - line.first),
                                     .node = SF_NONE,
                                     .span = SF_NOBODY,
                                     .count = n,
                                     .subject = has_site ? site.function : sf_str_from(what),
                                     .path = has_site ? site.path : SF_STR_NONE,
                                     .file = has_site ? site.file : SF_STR_NONE,
                                     .line = has_site ? site.line : 0};
    w->out->n++;
    return findings_growth_say(w, what, n, has_site ? &site : NULL, g)
               ? SF_OK
               : sf_no_room(why, "the query");
}

enum sf_err sf_findings_growth(struct sf_store *store, const struct sf_requests_want *want,
                               const struct sf_prof_list *list, struct sf_query_ctx *q,
                               struct sf_growth_findings *out, struct sf_why *why)
{
    static const struct {
        const char *types[3];
        enum sf_finding_kind kind;
        const char *what;
    } asked[SF_GROWTH_KINDS] = {
        {{"inuse_space", "live", NULL}, SF_FINDING_MEMORY, "bytes in use"},
        {{"goroutine", "goroutines", "threads"}, SF_FINDING_THREADS, "goroutines or threads"}};
    struct sf_matcher service = {SF_STR("service_name"), SF_OP_EQ, want->service};
    struct work w = {.store = store, .want = want, .q = q, .out = out};
    enum sf_err err = SF_OK;
    w.ask = (struct sf_prof_query){
        .match = &service, .n_match = 1, .from_ns = want->from_ns, .to_ns = want->to_ns};
    *out = (struct sf_growth_findings){0};
    for (int k = 0; !err && k < SF_GROWTH_KINDS; k++) {
        const struct sf_profile_type *type = NULL;
        for (uint32_t i = 0; !type && i < list->n; i++)
            for (int t = 0; t < 3 && asked[k].types[t]; t++)
                if (sf_str_eq(list->series[i].type.sample_type, sf_str_from(asked[k].types[t])))
                    type = &list->series[i].type;
        if (type)
            err = findings_growth_look_at(&w, type, asked[k].kind, asked[k].what, why);
    }
    return err == SF_ERR_LIMIT ? SF_OK : err; /* keep the other findings */
}

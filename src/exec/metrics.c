#include "exec/metrics.h"

#include <math.h>

#include "base/limits.h"
#include "exec/metrics_count.h"
#include "exec/metrics_progress.h"
#include "exec/profile_conds.h"

enum { MAX_EXEMPLARS = 100 };

struct run {
    struct sf_store *store;
    const struct sf_metrics_ask *ask;
    struct sf_query_ctx *q;
    struct sf_eval *eval;
    struct sf_arena table; /* for the current query */
    struct sf_metrics_progress progress;
    uint32_t n_exemplars;
    struct sf_metrics_result *result;
    struct sf_why *why;
};

static void metrics_note_unread(struct sf_metrics_result *r, sf_str text)
{
    if (!r->is_partial)
        r->note = text;
    r->is_partial = true;
}

static void metrics_note(struct sf_metrics_result *r, sf_str text)
{
    metrics_note_unread(r, text);
    r->is_cut = true;
}

/* Chains like a + b + c nest to the left; nesting to the right is bounded by the parser. */
static uint32_t count_queries(const struct sf_metrics *m)
{
    uint32_t n = 0;
    for (; m->kind == SF_METRICS_BINARY && n <= SF_LIMIT_METRICS_QUERIES; m = m->left)
        n += count_queries(m->right);
    return n + 1;
}

/* Only the word true counts; other values and types are ignored. */
static bool has_true_hint(const struct sf_query *q, sf_str name)
{
    for (uint32_t i = 0; i < q->n_hints; i++) {
        if (sf_str_eq(q->hints[i].name, name) && q->hints[i].val.type == SF_TYPE_BOOL)
            return q->hints[i].val.is_true;
    }
    return false;
}

static enum sf_err exec_metrics_count(struct run *r, const struct sf_metrics *m,
                                      struct sf_metrics_set *out)
{
    struct sf_metrics_count c = {
        .query = m,
        .window = &r->ask->window,
        .eval = r->eval,
        .q = r->q,
        .scratch = r->ask->scratch,
        .table = {.req = &r->table},
        .is_extrapolated = has_true_hint(r->ask->query, SF_STR("extrapolate")),
        .exemplars = {.window = &r->ask->window, .n_max = r->n_exemplars, .req = r->q->req},
        .on_trace = r->ask->wants_progress ? sf_metrics_progress_on_trace : NULL,
        .on_trace_arg = &r->progress};
    enum sf_err err;
    sf_arena_reset(&r->table);
    err = sf_metrics_count_run(&c, r->store, r->why);
    sf_buf_done(&c.key);
    if (err)
        return err;
    if (m->metric.fn == SF_FN_COMPARE)
        sf_metrics_compare_finish(&c, out);
    else
        sf_metrics_count_finish(&c, out);
    if (!r->q->is_exact)
        metrics_note_unread(r->result,
                            SF_STR("some stored data could not be read: values may be too low; "
                                   "GET /ready shows the reason"));
    r->result->n_inspected_traces += c.n_traces;
    r->result->n_inspected_spans += c.n_spans;
    if (c.is_late)
        metrics_note(r->result,
                     SF_STR("the query's time limit was reached: older spans were not counted"));
    if (c.left_out.len)
        metrics_note(r->result, c.left_out);
    if (c.is_lossy)
        metrics_note(r->result,
                     SF_STR("an attribute has too many values to count them all: some of its "
                            "values are missing"));
    if (c.table.is_full)
        metrics_note(r->result,
                     SF_STR("the query's memory is used up: series are missing and values may "
                            "be too low; narrow the filter, the time or by()"));
    return SF_OK;
}

/* An ungrouped rate or count without spans is zero as an operand, not missing: errors divided by
 * requests is 0 while nothing fails. */
static void add_zeros(const struct sf_metrics *m, struct sf_metrics_set *set)
{
    bool is_counted = m->kind == SF_METRICS_QUERY && m->metric.n_by == 0 &&
                      (m->metric.fn == SF_FN_RATE || m->metric.fn == SF_FN_COUNT);
    struct sf_attr name = {SF_STR("__name__"), {.type = SF_VALUE_STR}};
    struct sf_metric_series *s;
    if (!is_counted || set->n || set->is_cut)
        return;
    name.val.str = sf_str_from(m->metric.fn == SF_FN_RATE ? "rate" : "count_over_time");
    s = sf_metrics_set_add(set, (struct sf_attrs){0}, name);
    for (uint32_t i = 0; s && i < set->n_steps; i++)
        s->values[i] = 0;
}

static enum sf_err metrics_evaluate(struct run *r, const struct sf_metrics *m, bool is_operand,
                                    struct sf_metrics_set *out)
{
    enum sf_err err = SF_OK;
    *out = (struct sf_metrics_set){.req = r->q->req, .n_steps = r->ask->window.n_steps};
    if (m->kind == SF_METRICS_NUMBER) {
        out->is_number = true;
        out->number = m->number;
        return SF_OK;
    }
    if (m->kind == SF_METRICS_BINARY) {
        struct sf_metrics_set left, right;
        err = metrics_evaluate(r, m->left, true, &left);
        if (!err)
            err = metrics_evaluate(r, m->right, true, &right);
        if (!err)
            err = sf_metrics_set_combine(m->op, &left, &right, out, r->why);
    } else {
        err = exec_metrics_count(r, m, out);
        if (!err && is_operand)
            add_zeros(m, out);
    }
    for (uint32_t i = 0; !err && i < m->n_seconds; i++)
        err = sf_metrics_set_second(out, &m->seconds[i], r->why);
    return err;
}

/* ---- what is left to do at the end ---- */

/* Sets the values of exemplars, and drops those without a sample; of too many an even selection is
 * kept. */
static void settle_exemplars(const struct run *r, struct sf_metrics_set *set)
{
    uint64_t total = 0, at = 0, n_max = r->n_exemplars;
    for (uint32_t i = 0; i < set->n; i++) {
        struct sf_metric_series *s = &set->list[i];
        uint32_t n = 0, step;
        for (uint32_t k = 0; k < s->n_exemplars; k++) {
            struct sf_metric_exemplar e = s->exemplars[k];
            if (!sf_metrics_window_place(&r->ask->window, (uint64_t)e.time_ns, &step) ||
                isnan(s->values[step]))
                continue;
            if (isnan(e.value))
                e.value = s->values[step];
            s->exemplars[n++] = e;
        }
        s->n_exemplars = n;
        total += n;
    }
    for (uint32_t i = 0; i < set->n && total > n_max; i++) {
        struct sf_metric_series *s = &set->list[i];
        uint32_t n = 0;
        for (uint32_t k = 0; k < s->n_exemplars; k++, at++) {
            if ((at + 1) * n_max / total > at * n_max / total)
                s->exemplars[n++] = s->exemplars[k];
        }
        s->n_exemplars = n;
    }
}

/* Too many samples: drops series, so that the returned ones are complete. */
static void cut_samples(struct run *r, struct sf_metrics_set *set)
{
    uint32_t n_steps = r->ask->window.n_steps ? r->ask->window.n_steps : 1;
    uint32_t max = SF_LIMIT_METRICS_SAMPLES / n_steps;
    sf_str text;
    if (set->n <= max)
        return;
    if (!sf_arena_print(r->q->req, &text,
                        "%u series of %u steps exceed the maximum size of an answer: only %u are "
                        "returned; use larger steps or a shorter range",
                        set->n, n_steps, max))
        text = SF_STR("the answer would be too long: series are missing");
    set->n = max;
    metrics_note(r->result, text);
}

static void metrics_cut(struct run *r, struct sf_metrics_set *set)
{
    uint32_t max = r->ask->max_series && r->ask->max_series < SF_LIMIT_METRICS_SERIES
                       ? r->ask->max_series
                       : SF_LIMIT_METRICS_SERIES;
    sf_str text;
    if (set->is_cut)
        metrics_note(r->result,
                     SF_STR("the answer outgrew the query's memory: series are missing"));
    if (set->n <= max)
        return;
    set->n = max;
    if (!sf_arena_print(r->q->req, &text,
                        "Response exceeds maximum series limit of %u, a partial response is "
                        "returned. Warning: the accuracy of each individual value is not "
                        "guaranteed.",
                        max))
        text = SF_STR("Response exceeds maximum series limit, a partial response is returned.");
    metrics_note(r->result, text);
}

static uint32_t wanted_exemplars(const struct sf_metrics_ask *ask)
{
    uint32_t n = ask->n_exemplars;
    for (uint32_t i = 0; i < ask->query->n_hints; i++) {
        const struct sf_hint *h = &ask->query->hints[i];
        if (!sf_str_eq(h->name, SF_STR("exemplars")))
            continue;
        if (h->val.type == SF_TYPE_BOOL)
            n = h->val.is_true ? (n ? n : MAX_EXEMPLARS) : 0;
        else if (h->val.type == SF_TYPE_INT && h->val.i64 >= 0)
            n = h->val.i64 < MAX_EXEMPLARS ? (uint32_t)h->val.i64 : MAX_EXEMPLARS;
    }
    if (ask->window.is_instant)
        return 0;
    return n < MAX_EXEMPLARS ? n : MAX_EXEMPLARS;
}

static enum sf_err run_all(struct run *r, struct sf_metrics_set *set)
{
    const struct sf_profile_conds *profiles = NULL;
    enum sf_err err = sf_eval_new(r->ask->query, &r->eval, r->why);
    if (!err)
        sf_eval_watch(r->eval, r->q);
    if (!err && !sf_arena_init(&r->table, r->q->req->cap / 2))
        err = sf_no_memory(r->why, "the query");
    if (!err)
        err = sf_profile_conds_load(r->store, r->ask->query, r->ask->window.from_ns,
                                    r->ask->window.to_ns, r->ask->scratch, r->q, &profiles, r->why);
    if (!err) {
        sf_str text = sf_profile_conds_note(profiles);
        sf_eval_set_profiles(r->eval, profiles);
        if (sf_profile_conds_is_cut(profiles))
            metrics_note(r->result, text);
        else if (text.len)
            metrics_note_unread(r->result, text);
        err = metrics_evaluate(r, r->ask->query->metrics, false, set);
    }
    sf_eval_free(r->eval);
    sf_arena_done(&r->table);
    return err;
}

enum sf_err sf_metrics_run(struct sf_store *store, const struct sf_metrics_ask *ask,
                           struct sf_query_ctx *q, struct sf_metrics_result *out,
                           struct sf_why *why)
{
    struct sf_metrics_result result = {.n_steps = ask->window.n_steps,
                                       .from_ns = ask->window.from_ns,
                                       .step_ns = ask->window.step_ns};
    struct run r = {.store = store,
                    .ask = ask,
                    .q = q,
                    .n_exemplars = wanted_exemplars(ask),
                    .progress = {.ask = ask},
                    .result = &result,
                    .why = why};
    struct sf_metrics_set set = {0};
    enum sf_err err;
    if (!ask->query->metrics)
        return sf_fail(why, SF_ERR_INPUT,
                       "not a metrics query: end it with | rate() or another metrics function");
    if (count_queries(ask->query->metrics) > SF_LIMIT_METRICS_QUERIES)
        return sf_fail(why, SF_ERR_INPUT, "more than %d metrics queries in one expression",
                       SF_LIMIT_METRICS_QUERIES);
    err = run_all(&r, &set);
    sf_metrics_progress_done(&r.progress);
    if (err)
        return err;
    sf_metrics_set_sort(&set);
    metrics_cut(&r, &set);
    cut_samples(&r, &set);
    settle_exemplars(&r, &set);
    result.series = set.list;
    result.n_series = set.n;
    result.read_len = q->stats.read_len;
    result.n_blocks = q->stats.n_blocks;
    *out = result;
    return SF_OK;
}

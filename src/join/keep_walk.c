/* keep_walk.c - applies the keep rules to every trace of a time range. First the samples of each
 * span and the usual duration of each operation are loaded; then spans are read in trace order, and
 * each trace is judged when its last row has been read. Samples whose spans were not found are
 * reported at the end. */
#include "join/keep_walk.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/time_unit.h"
#include "exec/ran_on.h"
#include "exec/services.h"

#define BEFORE_NS SF_NS_PER_DAY       /* usual durations are taken from the day before */
#define AFTER_NS  (900 * SF_NS_PER_S) /* how much later than a request its samples may be */

enum {
    MAX_SPANS = 200000, /* at most this many spans of one trace; the others are ignored */
    FEW = 100,          /* at least this many calls of an operation for a 99th percentile */
    SAMPLED = 1,        /* the W3C flag, as a bit of OTLP's span flags */
    N_KEYS = 3,         /* the first two are boolean */
    N_SWITCHES = 2
};

struct cost { /* sums of the samples of a span */
    struct sf_keep_stray s;
    uint64_t n;
    int64_t start_ns;
    bool is_seen; /* the span itself was found */
};

struct usual {
    sf_str service, name;
    uint64_t ns;
};

struct work {
    struct sf_store *store;
    struct sf_keep_walk *k;
    struct sf_query_ctx *q;
    struct cost *costs; /* by span id */
    uint32_t n_costs;
    struct usual *usual; /* by service and name */
    uint32_t n_usual;
    /* spans of the current trace: parallel arrays in q->req */
    struct sf_span *spans;
    struct sf_span_origin *origins;
    const struct sf_keep_rule **rules;
    uint64_t *usual_ns;
    bool *is_flagged;
    uint32_t n, cap;
};

/* ---- samples ---- */

static int keep_walk_by_id(const void *a, const void *b)
{
    const struct cost *x = a, *y = b;
    return (x->s.id > y->s.id) - (x->s.id < y->s.id);
}

static struct cost *keep_walk_find_cost(const struct work *w, sf_span_id id)
{
    struct cost key = {.s = {.id = id}};
    return w->n_costs ? bsearch(&key, w->costs, w->n_costs, sizeof(key), keep_walk_by_id) : NULL;
}

static enum sf_err load_costs(struct work *w, struct sf_why *why)
{
    struct sf_detail_query ask = {.from_ns = w->k->from_ns,
                                  .to_ns = sf_add_sat_i64(w->k->until_ns, AFTER_NS)};
    struct sf_span_costs all, cpu;
    enum sf_err err = w->store->ops->detail_sums(w->store, &ask, NULL, w->q, &all, why);
    if (err)
        return err;
    ask.type = SF_STR("process_cpu:cpu:nanoseconds");
    w->costs = sf_arena_new_n(w->q->req, all.n + 1u, sizeof(*w->costs));
    if (!w->costs)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < all.n; i++)
        w->costs[i] = (struct cost){
            .s = {.id = all.list[i].id, .trace = all.list[i].trace, .service = all.list[i].service},
            .n = all.list[i].n_samples,
            .start_ns = all.list[i].start_ns};
    w->n_costs = all.n;
    if (all.n)
        qsort(w->costs, all.n, sizeof(*w->costs), keep_walk_by_id);
    err = w->store->ops->detail_sums(w->store, &ask, NULL, w->q, &cpu, why);
    for (uint32_t i = 0; !err && i < cpu.n; i++) {
        struct cost *c = keep_walk_find_cost(w, cpu.list[i].id);
        if (c)
            c->s.cpu_ns = cpu.list[i].value;
    }
    w->k->is_cut = w->k->is_cut || all.is_cut || (!err && cpu.is_cut);
    return err;
}

/* ---- what is usual ---- */

static int keep_walk_by_name(const void *a, const void *b)
{
    const struct usual *x = a, *y = b;
    int order = sf_str_cmp(x->service, y->service);
    return order ? order : sf_str_cmp(x->name, y->name);
}

static enum sf_err load_usual(struct work *w, struct sf_why *why)
{
    struct sf_operation_rows rows;
    int64_t until_ns = w->k->usual_until_ns;
    int64_t from_ns = until_ns > BEFORE_NS ? until_ns - BEFORE_NS : 1;
    enum sf_err err = w->store->ops->operations(w->store, from_ns, until_ns, w->q, &rows, why);
    if (err)
        return err;
    w->usual = sf_arena_new_n(w->q->req, rows.n + 1u, sizeof(*w->usual));
    if (!w->usual)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < rows.n; i++) {
        const struct sf_call_count *c = &rows.rows[i].all;
        uint64_t buckets[SF_SKETCH_BUCKETS];
        if (c->n_spans < FEW)
            continue;
        for (uint32_t k = 0; k < SF_SKETCH_BUCKETS; k++)
            buckets[k] = c->buckets[k];
        w->usual[w->n_usual++] = (struct usual){rows.rows[i].service, rows.rows[i].name,
                                                sf_services_sketch_quantile(buckets, 0.99)};
    }
    return SF_OK;
}

static uint64_t usual_of(const struct work *w, sf_str service, sf_str name)
{
    struct usual key = {.service = service, .name = name};
    const struct usual *found = w->n_usual ? bsearch(&key, w->usual, w->n_usual, sizeof(key),
                                                     keep_walk_by_name)
                                           : NULL;
    return found ? found->ns : 0;
}

/* ---- traces ---- */

static bool keep_walk_grow(struct work *w)
{
    uint32_t caps[4] = {w->cap, w->cap, w->cap, w->cap};
    return sf_list_room_in(w->q->req, &w->spans, w->n, &w->cap, 256) &&
           sf_list_room_in(w->q->req, &w->origins, w->n, &caps[0], 256) &&
           sf_list_room_in(w->q->req, &w->usual_ns, w->n, &caps[1], 256) &&
           sf_list_room_in(w->q->req, &w->is_flagged, w->n, &caps[2], 256) &&
           sf_list_room_in(w->q->req, &w->rules, w->n, &caps[3], 256);
}

static bool keep_walk_is_ours(const struct work *w, uint64_t first_ns)
{
    return first_ns < (uint64_t)w->k->until_ns &&
           (first_ns >= (uint64_t)w->k->from_ns || w->k->has_earlier);
}

static enum sf_err keep_walk_judge(struct work *w, struct sf_why *why)
{
    struct sf_span_tree tree;
    uint64_t first_ns = UINT64_MAX, n_samples = 0;
    sf_arena_reset(w->k->scratch);
    for (uint32_t i = 0; i < w->n; i++)
        first_ns = w->spans[i].start_ns < first_ns ? w->spans[i].start_ns : first_ns;
    int64_t *cpu_ns = sf_arena_new_n(w->k->scratch, w->n, sizeof(*cpu_ns));
    int64_t *root_ns = sf_arena_new_n(w->k->scratch, w->n, sizeof(*root_ns));
    if (!cpu_ns || !root_ns)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < w->n; i++) {
        struct cost *c = keep_walk_find_cost(w, w->spans[i].span_id);
        cpu_ns[i] = c ? c->s.cpu_ns : 0;
        n_samples += c ? c->n : 0;
        if (c)
            c->is_seen = true;
    }
    if (!keep_walk_is_ours(w, first_ns))
        return SF_OK;
    enum sf_err err = sf_span_tree_build(w->spans, w->origins, w->n, w->k->scratch, &tree, why);
    if (err)
        return err;
    struct sf_keep_facts facts = {&tree, w->rules, w->usual_ns, cpu_ns, w->is_flagged};
    struct sf_keep_seen seen = {.tree = &tree, .n_samples = n_samples};
    seen.reasons = sf_keep_verdict(&facts, root_ns, &seen.baseline_per_10000);
    return w->k->see(w->k->arg, &seen, why);
}

static bool is_true(const struct sf_value_column *c, uint32_t row)
{
    if (c->code[row] == SF_NONE)
        return false;
    const struct sf_value *v = &c->vals[c->code[row]];
    return (v->type == SF_VALUE_BOOL && v->is_true) ||
           (v->type == SF_VALUE_STR && sf_str_eq(v->str, SF_STR("true")));
}

static bool is_flagged(const struct work *w, const struct sf_span_rows *rows, uint32_t row)
{
    for (uint32_t k = 0; k < N_SWITCHES; k++) {
        if (is_true(&rows->want[k], row))
            return true;
    }
    for (uint32_t k = N_SWITCHES; k < N_KEYS; k++) {
        if (rows->want[k].code[row] != SF_NONE)
            return true;
    }
    return rows->spans && rows->spans[row].flags & SAMPLED &&
           sf_keep_rules_of(w->k->rules, rows->resources[rows->resource[row]].service)->flagged ==
               SF_KEEP_FLAG_SAMPLED;
}

/* Processes the rows of a batch; a trace that ends with a row is judged before the next begins. */
static enum sf_err keep_walk_take_rows(struct work *w, const struct sf_span_rows *rows,
                                       struct sf_why *why)
{
    bool is_guess = false;
    enum sf_err err = SF_OK;
    struct sf_arena tmp = *w->k->scratch;
    uint32_t n_resources = rows->n_resources;
    uint64_t *found = sf_ran_on_processes(rows->resources, n_resources, &tmp, &is_guess);
    uint64_t *processes = sf_arena_new_n(w->q->req, n_resources + 1u, sizeof(*processes));
    if (!found || !processes)
        return sf_no_room(why, "the query");
    /* Copied, because judging resets the scratch. */
    memcpy(processes, found, n_resources * sizeof(*processes));
    for (uint32_t i = 0; !err && i < rows->n_rows; i++) {
        const struct sf_resource *r = &rows->resources[rows->resource[i]];
        if (w->n > 0 && !sf_trace_id_eq(w->spans[0].trace_id, rows->trace_id[i])) {
            err = keep_walk_judge(w, why);
            w->n = 0;
        }
        w->k->is_cut = w->k->is_cut || w->n == MAX_SPANS;
        if (err || w->n == MAX_SPANS)
            continue;
        if (!keep_walk_grow(w))
            return sf_no_room(why, "the query");
        w->spans[w->n] = (struct sf_span){.trace_id = rows->trace_id[i],
                                          .span_id = rows->span_id[i],
                                          .parent_id = rows->parent_id[i],
                                          .start_ns = rows->start_ns[i],
                                          .end_ns = rows->end_ns[i],
                                          .status = rows->status[i]};
        w->origins[w->n] = (struct sf_span_origin){processes[rows->resource[i]], 0};
        w->rules[w->n] = sf_keep_rules_of(w->k->rules, r->service);
        w->usual_ns[w->n] = usual_of(w, r->service, rows->name.dict[rows->name.code[i]]);
        w->is_flagged[w->n++] = is_flagged(w, rows, i);
    }
    return err;
}

static bool wants_flags(const struct sf_keep_rules *r)
{
    bool is_wanted = r->all.flagged == SF_KEEP_FLAG_SAMPLED;
    for (uint32_t i = 0; i < r->n_services; i++)
        is_wanted = is_wanted || r->services[i].rule.flagged == SF_KEEP_FLAG_SAMPLED;
    return is_wanted;
}

static enum sf_err keep_walk_take_any(void *arg, struct sf_span_columns *rows, uint8_t *hits,
                                      struct sf_why *why)
{
    (void)arg;
    (void)rows;
    (void)hits;
    (void)why;
    return SF_OK;
}

/* With a judge, the store knows in which granule it found a trace, and reads only that one if the
 * trace is in one block; without it, every trace was looked up in all blocks. */
static const struct sf_span_judge any_trace = {.judge = keep_walk_take_any};

static enum sf_err keep_walk_read_traces(struct work *w, struct sf_why *why)
{
    /* Attributes that request keeping a trace: Spanflame's own, the debug flag of Zipkin, and the
     * attribute that Jaeger clients set on the root for the header jaeger-debug-id. */
    const struct sf_key keys[N_KEYS] = {{SF_SCOPE_SPAN, SF_STR("profile.keep")},
                                        {SF_SCOPE_SPAN, SF_STR("debug")},
                                        {SF_SCOPE_SPAN, SF_STR("jaeger-debug-id")}};
    struct sf_span_query ask = {.from_ns = w->k->from_ns,
                                .to_ns = w->k->until_ns,
                                .is_all = true,
                                .has_whole_traces = true,
                                .judge = &any_trace,
                                .columns = SF_COL_PARENT | SF_COL_TIMES | SF_COL_KIND |
                                           SF_COL_NAME | SF_COL_RESOURCE,
                                .want_keys = keys,
                                .n_want = N_KEYS};
    struct sf_span_cursor *cursor;
    struct sf_span_rows rows;
    if (wants_flags(w->k->rules))
        ask.columns |= SF_COL_REST;
    enum sf_err err = w->store->ops->span_scan(w->store, &ask, w->q, &cursor, why);
    if (err)
        return err;
    while (!err && cursor->next(cursor, &rows))
        err = keep_walk_take_rows(w, &rows, why);
    if (!err && cursor->err)
        err = sf_fail(why, cursor->err, "%s", cursor->why.text);
    w->k->is_cut = w->k->is_cut || cursor->n_left_out > 0;
    cursor->close(cursor);
    if (!err && w->n > 0)
        err = keep_walk_judge(w, why);
    return err;
}

static enum sf_err give_strays(struct work *w, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (uint32_t i = 0; !err && w->k->see_service && i < w->n_costs; i++) {
        if (i == 0 || !sf_str_eq(w->costs[i].s.service, w->costs[i - 1].s.service))
            err = w->k->see_service(w->k->arg, w->costs[i].s.service, why);
    }
    for (uint32_t i = 0; !err && w->k->see_stray && i < w->n_costs; i++) {
        const struct cost *c = &w->costs[i];
        if (!c->is_seen && c->start_ns >= w->k->from_ns && c->start_ns < w->k->until_ns)
            err = w->k->see_stray(w->k->arg, &c->s, why);
    }
    return err;
}

enum sf_err sf_keep_walk_run(struct sf_keep_walk *k, struct sf_store *store, struct sf_query_ctx *q,
                             struct sf_why *why)
{
    struct work w = {.store = store, .k = k, .q = q};
    struct sf_unread own = {0}, *outer = q->unread;
    enum sf_err err = load_usual(&w, why); /* from a day of data: a part of it is enough */
    q->unread = &own;
    if (!err)
        err = load_costs(&w, why);
    if (!err)
        err = keep_walk_read_traces(&w, why);
    q->unread = outer;
    sf_unread_join(outer, &own);
    k->is_unread = k->is_unread || own.n > 0;
    return err ? err : give_strays(&w, why);
}

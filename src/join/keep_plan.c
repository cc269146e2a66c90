#include "join/keep_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/time_unit.h"
#include "exec/ran_on.h"
#include "exec/services.h"
#include "link/keep_verdict.h"

#define BEFORE_NS SF_NS_PER_DAY       /* what is usual is that of the day before */
#define AFTER_NS  (900 * SF_NS_PER_S) /* a request's samples come after its start */

enum {
    MAX_SPANS = 200000, /* of one trace: more are judged by the first of them */
    FEW = 100           /* calls of an operation: fewer have no 99th percentile */
};

_Static_assert((int)SF_KEEP_REASONS == (int)SF_KEEP_ROWS, "a row for each rule");

struct cost {
    sf_span_id id;
    uint64_t n;
    int64_t cpu_ns;
};

struct usual {
    sf_str service, name;
    uint64_t ns;
};

struct work {
    struct sf_store *store;
    const struct sf_keep_plan_want *want;
    struct sf_query_ctx *q;
    struct cost *costs; /* by span id */
    uint32_t n_costs;
    struct usual *usual; /* by service and name */
    uint32_t n_usual;
    /* of the trace in hand: beside each other, in q->req */
    struct sf_span *spans;
    struct sf_span_origin *origins;
    uint64_t *usual_ns;
    bool *is_flagged;
    uint32_t n, cap;
    bool is_cut;
    struct sf_keep_plan out;
};

/* ---- samples ---- */

static int by_id(const void *a, const void *b)
{
    const struct cost *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static struct cost *find_cost(const struct work *w, sf_span_id id)
{
    struct cost key = {.id = id};
    return w->n_costs ? bsearch(&key, w->costs, w->n_costs, sizeof(key), by_id) : NULL;
}

static enum sf_err load_costs(struct work *w, struct sf_why *why)
{
    struct sf_detail_query ask = {.from_ns = w->want->from_ns,
                                  .to_ns = sf_add_sat_i64(w->want->until_ns, AFTER_NS)};
    struct sf_span_costs all, cpu;
    enum sf_err err = w->store->ops->detail_sums(w->store, &ask, NULL, w->q, &all, why);
    if (err)
        return err;
    ask.type = SF_STR("process_cpu:cpu:nanoseconds");
    w->costs = sf_arena_new_n(w->q->req, all.n + 1u, sizeof(*w->costs));
    if (!w->costs)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < all.n; i++)
        w->costs[i] = (struct cost){.id = all.list[i].id, .n = all.list[i].n_samples};
    w->n_costs = all.n;
    if (all.n)
        qsort(w->costs, all.n, sizeof(*w->costs), by_id);
    err = w->store->ops->detail_sums(w->store, &ask, NULL, w->q, &cpu, why);
    for (uint32_t i = 0; !err && i < cpu.n; i++) {
        struct cost *c = find_cost(w, cpu.list[i].id);
        if (c)
            c->cpu_ns = cpu.list[i].value;
    }
    w->is_cut = all.is_cut || (!err && cpu.is_cut);
    return err;
}

/* ---- what is usual ---- */

static int by_name(const void *a, const void *b)
{
    const struct usual *x = a, *y = b;
    int order = sf_str_cmp(x->service, y->service);
    return order ? order : sf_str_cmp(x->name, y->name);
}

static enum sf_err load_usual(struct work *w, struct sf_why *why)
{
    struct sf_operation_rows rows;
    int64_t until_ns = w->want->from_ns;
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
                                                sf_sketch_quantile(buckets, 0.99)};
    }
    return SF_OK;
}

static uint64_t usual_of(const struct work *w, sf_str service, sf_str name)
{
    struct usual key = {.service = service, .name = name};
    const struct usual *found = w->n_usual
                                    ? bsearch(&key, w->usual, w->n_usual, sizeof(key), by_name)
                                    : NULL;
    return found ? found->ns : 0;
}

/* ---- traces ---- */

static bool grow(struct work *w)
{
    uint32_t caps[3] = {w->cap, w->cap, w->cap};
    return sf_list_room_in(w->q->req, &w->spans, w->n, &w->cap, 256) &&
           sf_list_room_in(w->q->req, &w->origins, w->n, &caps[0], 256) &&
           sf_list_room_in(w->q->req, &w->usual_ns, w->n, &caps[1], 256) &&
           sf_list_room_in(w->q->req, &w->is_flagged, w->n, &caps[2], 256);
}

static enum sf_err judge(struct work *w, struct sf_why *why)
{
    struct sf_span_tree tree;
    uint64_t first_ns = UINT64_MAX, n_samples = 0;
    sf_arena_reset(w->want->scratch);
    for (uint32_t i = 0; i < w->n; i++)
        first_ns = w->spans[i].start_ns < first_ns ? w->spans[i].start_ns : first_ns;
    if (first_ns < (uint64_t)w->want->from_ns || first_ns >= (uint64_t)w->want->until_ns)
        return SF_OK;
    int64_t *cpu_ns = sf_arena_new_n(w->want->scratch, w->n, sizeof(*cpu_ns));
    int64_t *root_ns = sf_arena_new_n(w->want->scratch, w->n, sizeof(*root_ns));
    if (!cpu_ns || !root_ns)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < w->n; i++) {
        const struct cost *c = find_cost(w, w->spans[i].span_id);
        cpu_ns[i] = c ? c->cpu_ns : 0;
        n_samples += c ? c->n : 0;
    }
    enum sf_err err = sf_span_tree_build(w->spans, w->origins, w->n, w->want->scratch, &tree, why);
    if (err)
        return err;
    struct sf_keep_facts facts = {&tree, w->usual_ns, cpu_ns, w->is_flagged};
    unsigned verdict = sf_keep_verdict(&w->want->rule, &facts, root_ns);
    struct sf_keep_count one = {1, n_samples}, *to[2 + SF_KEEP_ROWS * 2] = {&w->out.all};
    uint32_t n_to = 1;
    if (verdict)
        to[n_to++] = &w->out.kept;
    for (uint32_t i = 0; i < SF_KEEP_ROWS; i++) {
        if (verdict & 1u << i)
            to[n_to++] = &w->out.by[i];
        if (verdict == 1u << i)
            to[n_to++] = &w->out.alone[i];
    }
    for (uint32_t i = 0; i < n_to; i++) {
        to[i]->n_traces += one.n_traces;
        to[i]->n_samples += one.n_samples;
    }
    w->out.n_spans += w->n;
    return SF_OK;
}

static bool is_true(const struct sf_value_column *c, uint32_t row)
{
    if (c->code[row] == SF_NONE)
        return false;
    const struct sf_value *v = &c->vals[c->code[row]];
    return (v->type == SF_VALUE_BOOL && v->is_true) ||
           (v->type == SF_VALUE_STR && sf_str_eq(v->str, SF_STR("true")));
}

/* The rows of a batch; a trace that ends with a row is judged before the next begins. */
static enum sf_err take_rows(struct work *w, const struct sf_span_rows *rows, struct sf_why *why)
{
    bool is_guess = false;
    enum sf_err err = SF_OK;
    struct sf_arena tmp = *w->want->scratch;
    uint32_t n_resources = rows->n_resources;
    uint64_t *found = sf_ran_on_processes(rows->resources, n_resources, &tmp, &is_guess);
    uint64_t *processes = sf_arena_new_n(w->q->req, n_resources + 1u, sizeof(*processes));
    if (!found || !processes)
        return sf_no_room(why, "the query");
    memcpy(processes, found, n_resources * sizeof(*processes)); /* judging resets the scratch */
    for (uint32_t i = 0; !err && i < rows->n_rows; i++) {
        const struct sf_resource *r = &rows->resources[rows->resource[i]];
        if (w->n > 0 && !sf_trace_id_eq(w->spans[0].trace_id, rows->trace_id[i])) {
            err = judge(w, why);
            w->n = 0;
        }
        w->is_cut = w->is_cut || w->n == MAX_SPANS;
        if (err || w->n == MAX_SPANS)
            continue;
        if (!grow(w))
            return sf_no_room(why, "the query");
        w->spans[w->n] = (struct sf_span){.trace_id = rows->trace_id[i],
                                          .span_id = rows->span_id[i],
                                          .parent_id = rows->parent_id[i],
                                          .start_ns = rows->start_ns[i],
                                          .end_ns = rows->end_ns[i],
                                          .status = rows->status[i]};
        w->origins[w->n] = (struct sf_span_origin){processes[rows->resource[i]], 0};
        w->usual_ns[w->n] = usual_of(w, r->service, rows->name.dict[rows->name.code[i]]);
        w->is_flagged[w->n++] = is_true(&rows->want[0], i);
    }
    return err;
}

static enum sf_err read_traces(struct work *w, struct sf_why *why)
{
    const struct sf_key key = {SF_SCOPE_SPAN, SF_STR("profile.keep")};
    struct sf_span_query ask = {.from_ns = w->want->from_ns,
                                .to_ns = w->want->until_ns,
                                .is_all = true,
                                .has_whole_traces = true,
                                .columns = SF_COL_PARENT | SF_COL_TIMES | SF_COL_KIND |
                                           SF_COL_NAME | SF_COL_RESOURCE,
                                .want_keys = &key,
                                .n_want = 1};
    struct sf_span_cursor *cursor;
    struct sf_span_rows rows;
    enum sf_err err = w->store->ops->span_scan(w->store, &ask, w->q, &cursor, why);
    if (err)
        return err;
    while (!err && cursor->next(cursor, &rows))
        err = take_rows(w, &rows, why);
    if (!err && cursor->err)
        err = sf_fail(why, cursor->err, "%s", cursor->why.text);
    w->is_cut = w->is_cut || cursor->n_left_out > 0;
    cursor->close(cursor);
    if (!err && w->n > 0)
        err = judge(w, why);
    return err;
}

enum sf_err sf_keep_plan_make(struct sf_store *store, const struct sf_keep_plan_want *want,
                              struct sf_query_ctx *q, struct sf_keep_plan *out, struct sf_why *why)
{
    struct work w = {
        .store = store,
        .want = want,
        .q = q,
        .out = {.from_ns = want->from_ns, .until_ns = want->until_ns, .rule = want->rule}};
    enum sf_err err = load_costs(&w, why);
    if (!err)
        err = load_usual(&w, why);
    if (!err)
        err = read_traces(&w, why);
    if (err)
        return err;
    if (w.is_cut)
        w.out.reason = SF_STR("not all spans and samples fit a query's memory "
                              "(limits.query_memory): ask for a shorter time");
    *out = w.out;
    return SF_OK;
}

/* profile_conds.c - evaluates a query's conditions on profiles: sums samples by span.
 *
 * For each condition a table from span id to sum is loaded from the store (sf_profile_conds_load).
 * For each trace, the sums of its spans are then looked up and added up over the descendants in the
 * same process, limited to the span's duration (sf_profile_conds_apply). */
#include "exec/profile_conds.h"

#include "base/account.h"
#include "base/list.h"
#include "base/num.h"
#include "base/table.h"
#include "base/time_unit.h"
#include "exec/profile_types.h"
#include "exec/ran_on.h"
#include "flame/batch_tree.h"
#include "link/span_tree.h"
#include "regex/regex.h"

enum { MAX_TABLES = 16 }; /* each is a pass over the samples of the requested time */

struct on { /* the threads of some samples */
    uint64_t thread;
    uint32_t n; /* upper bound of their number; if 1, `thread` is set; 0: unknown */
};

struct table {
    enum sf_intrinsic what;
    const struct sf_expr *frame; /* PROFILE_FRAME: the comparison; NULL: any frame */
    struct cost {
        sf_span_id id;
        int64_t value;
        struct on on;
    } * costs;
    uint32_t n;
    struct sf_table at;
};

struct sf_profile_conds {
    struct table tables[MAX_TABLES];
    uint32_t n;
    bool is_cut, is_damaged;
};

/* ---- what is queried for ---- */

struct load {
    struct sf_profile_conds *conds;
    struct sf_store *store;
    int64_t from_ns, to_ns;
    struct sf_arena *scratch;
    struct sf_query_ctx *q;
    struct sf_regex *regex; /* of the current frame condition; NULL: an equal name */
    struct sf_regex_scratch *matching;
    const struct sf_expr *frame;
    bool has_too_many, has_given_up;
};

static struct table *profile_conds_find_table(const struct sf_profile_conds *c,
                                              enum sf_intrinsic what, const struct sf_expr *frame)
{
    for (uint32_t i = 0; c && i < c->n; i++)
        if (c->tables[i].what == what && c->tables[i].frame == frame)
            return (struct table *)&c->tables[i];
    return NULL;
}

static void want(struct load *l, enum sf_intrinsic what, const struct sf_expr *frame)
{
    if (!sf_intrinsic_is_profile(what) || profile_conds_find_table(l->conds, what, frame))
        return;
    if (l->conds->n == MAX_TABLES)
        l->has_too_many = true;
    else
        l->conds->tables[l->conds->n++] = (struct table){.what = what, .frame = frame};
}

static bool profile_conds_is_frame(const struct sf_expr *e)
{
    return e->kind == SF_EXPR_ATTR && e->attr.intrinsic == SF_INTRINSIC_PROFILE_FRAME;
}

static bool profile_conds_is_nil(const struct sf_expr *e)
{
    return e->kind == SF_EXPR_LITERAL && e->literal.type == SF_TYPE_NIL;
}

static void want_expr(struct load *l, const struct sf_expr *e)
{
    if (!e)
        return;
    if (e->kind == SF_EXPR_ATTR)
        want(l, e->attr.intrinsic, NULL);
    if (e->kind == SF_EXPR_BINARY && profile_conds_is_frame(e->left) &&
        !profile_conds_is_nil(e->right)) {
        want(l, SF_INTRINSIC_PROFILE_FRAME, e);
        /* Only samples with frames can prove the absence of a frame. */
        if (e->op == SF_EXPR_NE || e->op == SF_EXPR_NO_MATCH)
            want(l, SF_INTRINSIC_PROFILE_FRAME, NULL);
        return;
    }
    want_expr(l, e->left);
    want_expr(l, e->right);
}

static void want_pipeline(struct load *l, const struct sf_pipeline *p);

static void want_spanset(struct load *l, const struct sf_spanset *s)
{
    if (!s)
        return;
    want_expr(l, s->filter);
    want_pipeline(l, s->pipeline);
    want_spanset(l, s->left);
    want_spanset(l, s->right);
}

static void want_pipeline(struct load *l, const struct sf_pipeline *p)
{
    for (uint32_t i = 0; p && i < p->n_stages; i++) {
        const struct sf_stage *s = &p->stages[i];
        want_spanset(l, s->spanset);
        want_expr(l, s->expr);
        for (uint32_t k = 0; k < s->n_attrs; k++)
            if (s->attrs[k].intrinsic != SF_INTRINSIC_PROFILE_FRAME)
                want(l, s->attrs[k].intrinsic, NULL);
    }
}

static void want_metrics(struct load *l, const struct sf_metrics *m)
{
    if (!m)
        return;
    want_pipeline(l, m->pipeline);
    want(l, m->metric.attr.intrinsic, NULL);
    want_expr(l, m->metric.selection);
    for (uint32_t i = 0; i < m->metric.n_by; i++)
        want(l, m->metric.by[i].intrinsic, NULL);
    want_metrics(l, m->left);
    want_metrics(l, m->right);
}

/* ---- a table ---- */

static struct cost *profile_conds_find_cost(const struct table *t, sf_span_id id,
                                            struct sf_table_lookup *lookup)
{
    uint32_t at;
    *lookup = sf_table_lookup(&t->at, sf_key_u64(id));
    while (sf_table_next(lookup, &at)) {
        if (t->costs[at].id == id)
            return &t->costs[at];
    }
    return NULL;
}

static const struct cost *profile_conds_look_up(const struct table *t, sf_span_id id)
{
    struct sf_table_lookup lookup;
    return t && t->n ? profile_conds_find_cost(t, id, &lookup) : NULL;
}

static struct on both(struct on a, struct on b)
{
    if (a.n == 0 || b.n == 0)
        return a.n ? a : b;
    if (a.n == 1 && b.n == 1 && a.thread == b.thread)
        return a;
    return (struct on){a.thread, a.n < UINT32_MAX - b.n ? a.n + b.n : UINT32_MAX};
}

static bool profile_conds_make_room(struct table *t, uint32_t n_more, struct sf_arena *req)
{
    size_t n = (size_t)t->n + n_more;
    struct cost *costs = n < SF_LIST_MAX ? sf_arena_grow(req, t->costs, t->n * sizeof(*costs),
                                                         n * sizeof(*costs))
                                         : NULL;
    if (!costs)
        return n == 0;
    t->costs = costs;
    t->at.arena = req;
    return sf_table_reserve(&t->at, n_more);
}

static void profile_conds_put(struct table *t, sf_span_id id, int64_t value, struct on on)
{
    struct sf_table_lookup lookup;
    struct cost *c = profile_conds_find_cost(t, id, &lookup);
    if (c) {
        c->value = sf_add_sat_i64(c->value, value);
        c->on = both(c->on, on);
        return;
    }
    sf_table_keep(&t->at, &lookup, t->n);
    t->costs[t->n++] = (struct cost){id, value, on};
}

/* ---- frames ---- */

static bool profile_conds_is_asked(void *arg, sf_str function)
{
    struct load *l = arg;
    if (!l->regex)
        return sf_str_eq(function, l->frame->right->literal.str);
    enum sf_regex_result r = sf_regex_match(l->regex, function, l->matching);
    l->has_given_up = l->has_given_up || r == SF_REGEX_GAVE_UP;
    return r == SF_REGEX_FOUND;
}

/* In the scratch, which is reset by the next query. */
static enum sf_err profile_conds_ask(struct load *l, sf_str type, const struct sf_frame_test *test,
                                     struct sf_span_costs *out, struct sf_why *why)
{
    struct sf_detail_query query = {
        .type = type, .from_ns = l->from_ns, .to_ns = l->to_ns, .select = SF_PROF_OVERLAP};
    struct sf_query_ctx q = *l->q;
    sf_arena_reset(l->scratch);
    q.req = l->scratch;
    q.is_exact = true;
    enum sf_err err = l->store->ops->detail_sums(l->store, &query, test, &q, out, why);
    l->q->stats = q.stats;
    l->conds->is_cut = l->conds->is_cut || (!err && out->is_cut);
    l->conds->is_damaged = l->conds->is_damaged || !q.is_exact;
    return err;
}

static enum sf_err load_frames(struct load *l, struct table *t, struct sf_why *why)
{
    struct sf_frame_test test = {profile_conds_is_asked, l};
    struct sf_span_costs costs = {0};
    enum sf_err err = SF_OK;
    l->frame = t->frame;
    if (t->frame && (t->frame->op == SF_EXPR_MATCH || t->frame->op == SF_EXPR_NO_MATCH))
        err = sf_regex_new_whole(t->frame->right->literal.str, &l->regex, why);
    if (!err)
        err = profile_conds_ask(l, SF_STR_NONE, t->frame ? &test : NULL, &costs, why);
    if (!err && l->has_given_up)
        err = sf_fail(why, SF_ERR_LIMIT,
                      "the pattern at col %u takes too long on a function's name; simplify it",
                      t->frame->right->place.column);
    if (!err && !profile_conds_make_room(t, costs.n, l->q->req))
        err = sf_no_room(why, "the query");
    for (uint32_t i = 0; !err && i < costs.n; i++)
        profile_conds_put(t, costs.list[i].id, 1, (struct on){0});
    sf_regex_free(l->regex);
    l->regex = NULL;
    return err;
}

/* ---- families ---- */

struct family {
    const char *word; /* the word by which the type is chosen */
    bool is_bytes;
};

static const struct family families[SF_INTRINSICS] = {
    [SF_INTRINSIC_PROFILE_CPU] = {"cpu", false},
    [SF_INTRINSIC_PROFILE_WALL] = {"wall", false},
    [SF_INTRINSIC_PROFILE_LOCK] = {"lock", false},
    [SF_INTRINSIC_PROFILE_BLOCK] = {"block", false},
    [SF_INTRINSIC_PROFILE_OFF_CPU] = {"offcpu", false},
    [SF_INTRINSIC_PROFILE_ALLOC] = {"alloc", true},
};

/* One unit in ns or bytes; 0: neither, and not comparable. */
static int64_t profile_conds_scale_of(sf_str unit, bool is_bytes)
{
    if (is_bytes)
        return sf_str_eq(unit, SF_STR("bytes"));
    return sf_str_eq(unit, SF_STR("nanoseconds"))    ? 1
           : sf_str_eq(unit, SF_STR("microseconds")) ? 1000
           : sf_str_eq(unit, SF_STR("milliseconds")) ? SF_NS_PER_MS
           : sf_str_eq(unit, SF_STR("seconds"))      ? SF_NS_PER_S
                                                     : 0;
}

struct choice { /* for a service: the one type that represents the family */
    sf_str service;
    struct sf_profile_type type;
    bool is_taken; /* samples of its type were already read */
};

/* Series are sorted by service. */
static enum sf_err profile_conds_choose(struct load *l, const struct family *f, struct choice **out,
                                        uint32_t *out_n, struct sf_why *why)
{
    struct sf_prof_query query = {
        .from_ns = l->from_ns, .to_ns = l->to_ns, .select = SF_PROF_OVERLAP};
    struct sf_prof_list list;
    uint32_t n = 0;
    enum sf_err err = l->store->ops->prof_list(l->store, &query, l->q, &list, why);
    struct choice *choices = err ? NULL : sf_arena_new_n(l->q->req, list.n + 1u, sizeof(*choices));
    if (!choices)
        return err ? err : sf_no_room(why, "the query");
    for (uint32_t i = 0, end; !err && i < list.n; i = end) {
        const struct sf_batch_type *types;
        uint32_t n_types, at;
        for (end = i + 1; end < list.n; end++)
            if (!sf_str_eq(list.series[end].service, list.series[i].service))
                break;
        struct sf_prof_list own = {.series = &list.series[i], .n = end - i};
        err = sf_profile_types(&own, l->q->req, &types, &n_types, why);
        if (!err && !sf_batch_tree_choose(types, n_types, sf_str_from(f->word), &at, NULL) &&
            profile_conds_scale_of(types[at].type.sample_unit, f->is_bytes) != 0)
            choices[n++] = (struct choice){list.series[i].service, types[at].type, false};
    }
    *out = choices;
    *out_n = n;
    return err;
}

static bool has_chosen(const struct choice *choices, uint32_t n, sf_str service,
                       const struct sf_profile_type *type)
{
    for (uint32_t i = 0; i < n; i++)
        if (sf_str_eq(choices[i].service, service))
            return sf_batch_tree_type_eq(&choices[i].type, type);
    return false;
}

/* If a service has two types of a family, only one of them counts. */
static enum sf_err load_family(struct load *l, struct table *t, struct sf_why *why)
{
    const struct family *f = &families[t->what];
    struct choice *choices = NULL;
    uint32_t n = 0;
    enum sf_err err = profile_conds_choose(l, f, &choices, &n, why);
    for (uint32_t i = 0; !err && i < n; i++) {
        int64_t scale = profile_conds_scale_of(choices[i].type.sample_unit, f->is_bytes);
        struct sf_span_costs costs;
        sf_str type;
        if (choices[i].is_taken)
            continue;
        for (uint32_t k = i; k < n; k++)
            choices[k].is_taken = choices[k].is_taken ||
                                  sf_batch_tree_type_eq(&choices[k].type, &choices[i].type);
        if (!sf_batch_tree_type_print(&choices[i].type, l->q->req, &type))
            return sf_no_room(why, "the query");
        err = profile_conds_ask(l, type, NULL, &costs, why);
        if (!err && !profile_conds_make_room(t, costs.n, l->q->req))
            err = sf_no_room(why, "the query");
        for (uint32_t k = 0; !err && k < costs.n; k++) {
            const struct sf_span_total *c = &costs.list[k];
            struct on on = {0};
            if (!f->is_bytes)
                on = (struct on){c->thread, c->n_threads};
            if (has_chosen(choices, n, c->service, &choices[i].type))
                profile_conds_put(t, c->id, sf_mul_sat_i64(c->value, scale), on);
        }
    }
    return err;
}

enum sf_err sf_profile_conds_load(struct sf_store *store, const struct sf_query *query,
                                  int64_t from_ns, int64_t to_ns, struct sf_arena *scratch,
                                  struct sf_query_ctx *q, const struct sf_profile_conds **out,
                                  struct sf_why *why)
{
    struct sf_profile_conds conds = {0};
    struct load l = {.conds = &conds,
                     .store = store,
                     .from_ns = from_ns,
                     .to_ns = to_ns,
                     .scratch = scratch,
                     .q = q};
    enum sf_err err = SF_OK;
    want_pipeline(&l, query->pipeline);
    want_metrics(&l, query->metrics);
    if (conds.n == 0)
        return SF_OK;
    if (l.has_too_many)
        return sf_fail(why, SF_ERR_INPUT, "more than %d conditions on profiles in one query",
                       MAX_TABLES);
    l.matching = sf_regex_scratch_new();
    if (!l.matching)
        return sf_no_memory(why, "the query");
    for (uint32_t i = 0; !err && i < conds.n; i++)
        err = conds.tables[i].what == SF_INTRINSIC_PROFILE_FRAME
                  ? load_frames(&l, &conds.tables[i], why)
                  : load_family(&l, &conds.tables[i], why);
    sf_regex_scratch_free(l.matching);
    sf_arena_reset(scratch);
    struct sf_profile_conds *kept = err ? NULL : sf_arena_new(q->req, sizeof(*kept));
    if (!kept)
        return err ? err : sf_no_room(why, "the query");
    *kept = conds;
    *out = kept;
    return SF_OK;
}

sf_str sf_profile_conds_note(const struct sf_profile_conds *c)
{
    if (c && c->is_damaged)
        return SF_STR("some stored profiles could not be read: spans may be missing; GET /ready "
                      "shows the reason");
    if (c && c->is_cut)
        return SF_STR("there are more spans with samples than a query may hold: narrow the time "
                      "range");
    return SF_STR_NONE;
}

bool sf_profile_conds_is_cut(const struct sf_profile_conds *c)
{
    return c && c->is_cut;
}

/* ---- before a trace is put together ---- */

static const struct sf_expr *profile_side(const struct sf_expr *e)
{
    const struct sf_expr *sides[] = {e->left, e->right};
    for (size_t i = 0; i < 2; i++)
        if (sides[i]->kind == SF_EXPR_ATTR && sf_intrinsic_is_profile(sides[i]->attr.intrinsic))
            return sides[i];
    return NULL;
}

bool sf_profile_conds_is_needed(const struct sf_expr *e)
{
    bool has_nil;
    if (!e || e->kind != SF_EXPR_BINARY || e->op > SF_EXPR_NO_MATCH || !profile_side(e))
        return false;
    has_nil = profile_conds_is_nil(e->left) || profile_conds_is_nil(e->right);
    return !has_nil || e->op == SF_EXPR_NE; /* a missing value is only comparable with nil */
}

bool sf_profile_conds_has(const struct sf_profile_conds *c, const struct sf_expr *e, sf_span_id id)
{
    const struct sf_expr *side = profile_side(e);
    bool is_test = profile_conds_is_frame(side) && (e->op == SF_EXPR_EQ || e->op == SF_EXPR_MATCH);
    return profile_conds_look_up(
        profile_conds_find_table(c, side->attr.intrinsic, is_test ? e : NULL), id);
}

/* ---- a trace ---- */

struct sum {
    int64_t value; /* at most the span's duration on each of its threads */
    int64_t sent;  /* as sampled, not limited */
    struct on on;
    bool has;
};

struct sf_trace_profiles {
    const struct sf_profile_conds *conds;
    const struct sum *sums; /* by table and span; NULL: no span of the trace has samples */
    uint32_t n_spans;
};

struct apply {
    const struct sf_profile_conds *conds;
    struct sf_trace_view *v;
    struct sf_arena *req;
    struct sum *sums;
};

static bool profile_conds_has_any(const struct sf_profile_conds *c, const struct sf_trace_view *v)
{
    for (uint32_t t = 0; t < c->n; t++)
        for (uint32_t i = 0; i < v->n_spans; i++)
            if (profile_conds_look_up(&c->tables[t], v->spans[i].span_id))
                return true;
    return false;
}

static enum sf_err build_tree(const struct apply *a, struct sf_span_tree *out, struct sf_why *why)
{
    const struct sf_trace_view *v = a->v;
    struct sf_span_origin *origins = sf_arena_new_n(a->req, v->n_spans + 1u, sizeof(*origins));
    uint32_t n_resources = 0;
    bool is_guess = false;
    for (uint32_t i = 0; i < v->n_spans; i++)
        n_resources = v->spans[i].resource < n_resources ? n_resources : v->spans[i].resource + 1;
    const uint64_t *processes = sf_ran_on_processes(v->resources, n_resources, a->req, &is_guess);
    if (!origins || !processes)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < v->n_spans; i++)
        origins[i].process = processes[v->spans[i].resource];
    return sf_span_tree_build(v->spans, origins, v->n_spans, a->req, out, why);
}

/* The nearest ancestor in the same process. */
static uint32_t find_above(const struct sf_span_tree *t, uint32_t span)
{
    uint32_t at = t->places[span].process == 0 ? SF_NOBODY : t->places[span].parent;
    while (at != SF_NOBODY && !sf_span_tree_is_local(t, span, at) && sf_account_goes_on(1))
        at = t->places[at].parent;
    return at;
}

static void profile_conds_cut(const struct apply *a, struct sum *sum, uint32_t span)
{
    sum->value = sf_span_cost_most(sum->value, sum->on.n, sf_span_duration_ns(&a->v->spans[span]));
}

/* From the leaves up: adds the sum of each span to that of its ancestor, once. */
static bool profile_conds_sum_up(struct apply *a, const struct sf_span_tree *t)
{
    uint32_t n = t->n_spans, n_order = 0;
    uint32_t *order = sf_arena_new_n(a->req, n + 1u, sizeof(*order));
    if (!order)
        return false;
    for (uint32_t k = t->first[n]; k < t->first[n + 1]; k++)
        order[n_order++] = t->children[k];
    for (uint32_t i = 0; i < n_order; i++)
        for (uint32_t k = t->first[order[i]]; k < t->first[order[i] + 1]; k++)
            order[n_order++] = t->children[k];
    while (n_order > 0) {
        uint32_t span = order[--n_order], above = find_above(t, span);
        for (uint32_t k = 0; k < a->conds->n; k++) {
            struct sum *from = &a->sums[(size_t)k * n + span];
            profile_conds_cut(a, from, span); /* limits the sum with all descendants */
            if (!from->has || above == SF_NOBODY)
                continue;
            struct sum *to = &a->sums[(size_t)k * n + above];
            to->value = sf_add_sat_i64(to->value, from->value);
            to->sent = sf_add_sat_i64(to->sent, from->sent);
            to->on = to->has ? both(to->on, from->on) : from->on;
            to->has = true;
        }
    }
    return true;
}

enum sf_err sf_profile_conds_apply(const struct sf_profile_conds *c, struct sf_trace_view *v,
                                   struct sf_arena *req, struct sf_why *why)
{
    struct apply a = {.conds = c, .v = v, .req = req};
    struct sf_trace_profiles *p = sf_arena_new(req, sizeof(*p));
    struct sf_span_tree tree;
    if (!p)
        return sf_no_room(why, "the query");
    *p = (struct sf_trace_profiles){.conds = c, .n_spans = v->n_spans};
    v->profiles = p;
    if (!profile_conds_has_any(c, v))
        return SF_OK;
    a.sums = sf_arena_new_n(req, (size_t)c->n * v->n_spans + 1, sizeof(*a.sums));
    if (!a.sums)
        return sf_no_room(why, "the query");
    enum sf_err err = build_tree(&a, &tree, why);
    if (err)
        return err;
    for (uint32_t k = 0; k < c->n; k++) {
        for (uint32_t i = 0; i < v->n_spans; i++) {
            const struct sf_span *s = &v->spans[i];
            struct sum *sum = &a.sums[(size_t)k * v->n_spans + i];
            /* Two spans may share an id; samples that carry it count for the first one. */
            const struct cost *cost = sf_span_tree_find(&tree, s->trace_id, s->span_id) == i
                                          ? profile_conds_look_up(&c->tables[k], s->span_id)
                                          : NULL;
            if (!cost)
                continue;
            *sum = (struct sum){cost->value, cost->value, cost->on, true};
            profile_conds_cut(&a, sum, i);
        }
    }
    if (!profile_conds_sum_up(&a, &tree))
        return sf_no_room(why, "the query");
    p->sums = a.sums;
    return SF_OK;
}

/* NULL: no samples. */
static const struct sum *profile_conds_sum_of(const struct sf_trace_profiles *p,
                                              const struct table *t, uint32_t span)
{
    if (!p || !p->sums || !t)
        return NULL;
    const struct sum *sum = &p->sums[(size_t)(t - p->conds->tables) * p->n_spans + span];
    return sum->has ? sum : NULL;
}

bool sf_profile_conds_value(const struct sf_trace_profiles *p, enum sf_intrinsic which,
                            uint32_t span, int64_t *out)
{
    const struct sum *sum = profile_conds_sum_of(
        p, p ? profile_conds_find_table(p->conds, which, NULL) : NULL, span);
    *out = sum ? sum->value : 0;
    return sum;
}

bool sf_profile_conds_sent(const struct sf_trace_profiles *p, enum sf_intrinsic which,
                           uint32_t span, int64_t *out)
{
    const struct sum *sum = profile_conds_sum_of(
        p, p ? profile_conds_find_table(p->conds, which, NULL) : NULL, span);
    *out = sum ? sum->sent : 0;
    return sum;
}

bool sf_profile_conds_frame(const struct sf_trace_profiles *p, const struct sf_expr *e,
                            uint32_t span)
{
    int64_t value;
    bool is_there = profile_conds_sum_of(
        p, p ? profile_conds_find_table(p->conds, SF_INTRINSIC_PROFILE_FRAME, e) : NULL, span);
    if (e->op == SF_EXPR_EQ || e->op == SF_EXPR_MATCH)
        return is_there;
    return !is_there && sf_profile_conds_value(p, SF_INTRINSIC_PROFILE_FRAME, span, &value);
}

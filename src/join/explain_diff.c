/* explain_diff.c - explains why the spans of one set take longer than those of another: two
 * versions of a service, or a query split in two. The two sets are compared part by part; while
 * the difference is in child spans, the children of that name are compared next, one level at a
 * time. */
#include "join/explain_diff.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "exec/traces.h"
#include "join/compare.h"
#include "join/explain.h"
#include "link/explain_part.h"
#include "query/expr_text.h"

enum { LEVELS = 4 };
#define CARRIED    0.4 /* share of the difference from which child spans are compared in turn */
#define MORE_CALLS 1.3 /* so many times as many child spans per span are the cause themselves */
#define MIXED                                                                          \
    0.2 /* share of the difference from which it is said that other spans are compared \
         */

struct work {
    struct sf_store *store;
    const struct sf_explain_diff_want *want;
    struct sf_query_ctx *q;
    sf_str left, right; /* queries of the two sides */
    struct sf_explain_view out;
};

/* ---- queries ---- */

static void explain_diff_add_text(struct sf_buf *out, sf_str value)
{
    sf_expr_text_static((struct sf_static){SF_TYPE_STRING, {.str = value}}, out);
}

static bool explain_diff_keep(struct sf_buf *text, struct sf_arena *req, sf_str *out)
{
    bool is_kept = sf_buf_ok(text) && sf_arena_copy(req, sf_buf_str(text), out);
    sf_buf_done(text);
    return is_kept;
}

/* Makes the query for requests that enter the service in this version. */
static bool make_version(struct work *w, sf_str version, sf_str *out)
{
    struct sf_buf text = {0};
    sf_buf_add_str(&text, SF_STR("{ resource.service.name = "));
    explain_diff_add_text(&text, w->want->service);
    sf_buf_add_str(&text, SF_STR(" && resource.service.version = "));
    explain_diff_add_text(&text, version);
    sf_buf_add_str(&text,
                   SF_STR(" && (kind = server || kind = consumer || nestedSetParent < 0) }"));
    return explain_diff_keep(&text, w->q->req, out);
}

/* The condition of a query that is a single filter, "{ ... }"; false: it is more than that. */
static bool find_condition(sf_str query, sf_str *out)
{
    sf_str q = sf_str_trim(query);
    char quote = 0;
    if (q.len < 2 || q.p[0] != '{' || q.p[q.len - 1] != '}')
        return false;
    for (size_t i = 1; i + 1 < q.len; i++) {
        char c = q.p[i];
        if (quote && c == '\\' && quote != '`')
            i++;
        else if (quote)
            quote = c == quote ? 0 : quote;
        else if (c == '"' || c == '`')
            quote = c;
        else if (c == '{' || c == '}')
            return false;
    }
    *out = sf_str_trim(sf_str_part(q, 1, q.len - 2));
    return !quote;
}

/* A single filter stays one, so that the child spans of either side can be asked for, too. */
static bool make_split(struct work *w, uint64_t bound_ns)
{
    sf_str condition;
    if (find_condition(w->want->query, &condition)) {
        const char *form = condition.len > 0 ? "{ (%.*s) && duration %s %lluns }"
                                             : "{ %.*sduration %s %lluns }";
        return sf_arena_print(w->q->req, &w->left, form, SF_STR_ARG(condition), "<",
                              (unsigned long long)bound_ns) &&
               sf_arena_print(w->q->req, &w->right, form, SF_STR_ARG(condition),
                              ">=", (unsigned long long)bound_ns);
    }
    return sf_arena_print(w->q->req, &w->left, "%.*s | { duration < %lluns }",
                          SF_STR_ARG(w->want->query), (unsigned long long)bound_ns) &&
           sf_arena_print(w->q->req, &w->right, "%.*s | { duration >= %lluns }",
                          SF_STR_ARG(w->want->query), (unsigned long long)bound_ns);
}

/* Makes the query for children of that name; "service: name" for children in another service. */
static bool make_child(sf_str above, sf_str name, bool is_remote, struct sf_arena *req, sf_str *out)
{
    struct sf_buf text = {0};
    size_t at;
    sf_buf_print(&text, "(%.*s) > { name = ", SF_STR_ARG(above));
    if (is_remote && sf_str_find(name, SF_STR(": "), &at)) {
        explain_diff_add_text(&text, sf_str_from_at(name, at + 2));
        sf_buf_add_str(&text, SF_STR(" && resource.service.name = "));
        explain_diff_add_text(&text, sf_str_part(name, 0, at));
    } else {
        explain_diff_add_text(&text, name);
    }
    sf_buf_add_str(&text, SF_STR(" }"));
    return explain_diff_keep(&text, req, out);
}

/* ---- a comparison as parts ---- */

static bool give_functions(const struct sf_comparison_part *from, struct sf_arena *req,
                           struct sf_explain_part *to)
{
    struct sf_explain_function *list = sf_arena_new_n(req, SF_EXPLAIN_FUNCTIONS, sizeof(*list));
    if (!list)
        return false;
    to->n_more_functions = from->n_more;
    for (uint32_t i = 0; i < from->n_items; i++) {
        const struct sf_comparison_row *r = &from->items[i];
        if (r->delta * from->row.delta <= 0)
            continue; /* it differs in the other direction */
        if (to->n_functions == SF_EXPLAIN_FUNCTIONS) {
            to->n_more_functions++;
            continue;
        }
        struct sf_explain_function *f = &list[to->n_functions++];
        *f = (struct sf_explain_function){.ns = r->delta,
                                          .low_ns = r->low,
                                          .high_ns = r->high,
                                          .is_significant = r->is_significant};
        f->line = r->line;
        if (!sf_arena_copy(req, r->function, &f->function) ||
            !sf_arena_copy(req, r->file, &f->file))
            return false;
    }
    to->functions = list;
    return true;
}

/* In a comparison, child spans are listed like functions of their part. */
static bool explain_diff_give_children(const struct sf_comparison_part *from, bool is_remote,
                                       struct sf_arena *req, struct sf_explain_part *to)
{
    struct sf_explain_span *list = sf_arena_new_n(req, SF_EXPLAIN_CHILDREN, sizeof(*list));
    if (!list)
        return false;
    to->n_more_children = from->n_more;
    for (uint32_t i = 0; i < from->n_items; i++) {
        const struct sf_comparison_row *r = &from->items[i];
        size_t at;
        if (r->delta * from->row.delta <= 0)
            continue;
        if (to->n_children == SF_EXPLAIN_CHILDREN) {
            to->n_more_children++;
            continue;
        }
        struct sf_explain_span *s = &list[to->n_children++];
        *s = (struct sf_explain_span){.ns = llround(r->delta), .count = 1};
        bool is_there = is_remote && sf_str_find(r->function, SF_STR(": "), &at);
        if (!sf_arena_copy(req, sf_str_from_at(r->function, is_there ? at + 2 : 0), &s->name) ||
            (is_there && !sf_arena_copy(req, sf_str_part(r->function, 0, at), &s->service)))
            return false;
    }
    to->children = list;
    return true;
}

static bool explain_diff_give_parts(const struct sf_comparison_time *t, struct sf_arena *req,
                                    struct sf_explain_part **out, uint32_t *out_n)
{
    struct sf_explain_part *list = sf_arena_new_n(req, SF_COMPARISON_PARTS, sizeof(*list));
    uint32_t n = 0;
    if (!list)
        return false;
    for (uint32_t i = 0; i < t->n_parts; i++) {
        const struct sf_comparison_part *from = &t->parts[i];
        int part = 0;
        while (from->name != sf_ledger_part_name((enum sf_ledger_part)part))
            part++;
        if (fabs(from->row.delta) < 0.5)
            continue;
        struct sf_explain_part *to = &list[n++];
        *to = sf_explain_part_named((enum sf_ledger_part)part);
        to->ns = llround(from->row.delta);
        to->low_ns = from->row.low;
        to->high_ns = from->row.high;
        to->is_significant = from->row.is_significant;
        to->is_estimate = from->is_estimate;
        to->before_ns = from->row.left;
        to->after_ns = from->row.right;
        bool is_child = part == SF_PART_CHILD || part == SF_PART_REMOTE;
        if (is_child ? !explain_diff_give_children(from, part == SF_PART_REMOTE, req, to)
                     : !give_functions(from, req, to))
            return false;
    }
    sf_explain_parts_fit(list, n, llround(t->duration.delta));
    *out = list;
    *out_n = n;
    return true;
}

/* ---- down to what takes longer by itself ---- */

/* Finds the child spans that carry the difference; if waits for the network are profiled, calls to
 * other services are among these. */
static bool find_child(const struct sf_comparison_time *t, sf_str left, sf_str right,
                       struct sf_arena *req, sf_str out[2])
{
    const struct sf_comparison_part *p = &t->parts[0];
    if (t->n_parts == 0 || p->row.delta * t->duration.delta <= 0)
        return false;
    bool is_remote = p->name == sf_ledger_part_name(SF_PART_REMOTE);
    if (is_remote || p->name == sf_ledger_part_name(SF_PART_CHILD))
        return p->n_items > 0 && make_child(left, p->items[0].function, is_remote, req, &out[0]) &&
               make_child(right, p->items[0].function, is_remote, req, &out[1]);
    if (p->name != sf_ledger_part_name(SF_PART_NET) && p->name != sf_ledger_part_name(SF_PART_IO))
        return false;
    return sf_arena_print(req, &out[0], "(%.*s) > { kind = server }", SF_STR_ARG(left)) &&
           sf_arena_print(req, &out[1], "(%.*s) > { kind = server }", SF_STR_ARG(right));
}

struct level { /* the last two sets that were compared */
    struct sf_comparison_time time;
    sf_str left, right;
    uint64_t n_left, n_right; /* spans found, of which a sample may have been compared */
    double share;             /* number of spans here per request of the first level */
    uint32_t depth;
    double before_per, after_per; /* child spans per span of this level, if that differs; else 0 */
};

static enum sf_err explain_diff_compare(struct work *w, struct sf_compare_want *ask,
                                        struct sf_arena *req, struct sf_comparison *out,
                                        struct sf_why *why)
{
    struct sf_query_ctx q = *w->q;
    q.req = req;
    ask->from_ns = w->want->from_ns;
    ask->to_ns = w->want->to_ns;
    ask->is_charged = true;
    ask->scratch = w->want->scratch;
    enum sf_err err = sf_compare_make(w->store, ask, &q, out, why);
    w->q->stats = q.stats;
    return err;
}

/* Compares one level further down, if the difference is there. */
static enum sf_err descend(struct work *w, struct level *at, struct sf_arena *req, bool *out_is_new,
                           struct sf_why *why)
{
    sf_str sides[2];
    struct sf_comparison c;
    *out_is_new = false;
    if (!find_child(&at->time, at->left, at->right, req, sides))
        return SF_OK;
    struct sf_compare_want ask = {.left = sides[0], .right = sides[1]};
    enum sf_err err = explain_diff_compare(w, &ask, req, &c, why);
    if (err == SF_ERR_INPUT || err == SF_ERR_LIMIT || err == SF_ERR_DEADLINE)
        return SF_OK; /* keep the result so far */
    if (err || c.right.n_found == 0)
        return err;
    double per = (double)c.right.n_found / fmax(1, (double)at->n_right);
    double before_per = (double)c.left.n_found / fmax(1, (double)at->n_left);
    bool is_slower = c.time.n_left > 0 && c.time.n_right > 0 && c.time.duration.is_significant &&
                     c.time.duration.delta * per >= CARRIED * at->time.duration.delta;
    if (!is_slower) {
        bool is_more = per >= MORE_CALLS * before_per && at->time.duration.delta > 0;
        at->before_per = is_more ? before_per : 0;
        at->after_per = is_more ? per : 0;
        return SF_OK;
    }
    *at = (struct level){.time = c.time,
                         .left = sides[0],
                         .right = sides[1],
                         .n_left = c.left.n_found,
                         .n_right = c.right.n_found,
                         .share = at->share * per,
                         .depth = at->depth + 1};
    *out_is_new = true;
    return SF_OK;
}

/* If a good part of the difference is there because other spans were compared, says so: that is no
 * span's own change. */
static bool give_mix(struct work *w, const struct sf_comparison_mix *mix)
{
    struct sf_explain_view one;
    struct sf_why why;
    struct sf_explain_trace_want ask = {.trace = mix->trace, .span = mix->span};
    if (mix->ns == 0 || mix->ns / (double)w->out.duration_ns < MIXED ||
        sf_explain_trace(w->store, &ask, w->q, &one, &why))
        return true;
    w->out.mix = (struct sf_explain_mix){
        .ns = mix->ns, .before_share = mix->left_share, .after_share = mix->right_share};
    return sf_arena_copy(w->q->req, one.name, &w->out.mix.name);
}

/* Describes the spans that were compared last by an example: its ids, duration and name. */
static bool name_level(const struct level *at, struct sf_store *store, struct sf_query_ctx *q,
                       struct sf_explain_span *out, struct sf_why *why)
{
    struct sf_explain_view one;
    if (at->time.n_examples == 0)
        return true;
    out->trace = at->time.examples[0].trace;
    out->span = at->time.examples[0].span;
    struct sf_explain_trace_want ask = {.trace = out->trace, .span = out->span};
    if (sf_explain_trace(store, &ask, q, &one, why))
        return true; /* the ids of the example are enough */
    out->duration_ns = (uint64_t)one.duration_ns;
    out->service = one.service;
    out->name = one.name;
    return true;
}

/* Tells the first child span of the first part that there are more of it, if so. */
static bool explain_diff_count_calls(const struct level *at, struct sf_explain_part *parts,
                                     uint32_t n_parts, struct sf_arena *req)
{
    if (n_parts == 0 || parts[0].n_children == 0 || at->before_per == at->after_per)
        return true;
    struct sf_explain_span *list = sf_arena_new_n(req, parts[0].n_children, sizeof(*list));
    if (!list)
        return false;
    memcpy(list, parts[0].children, parts[0].n_children * sizeof(*list));
    list[0].before_per = at->before_per;
    list[0].after_per = at->after_per;
    parts[0].children = list;
    return true;
}

static enum sf_err go_down(struct work *w, const struct sf_comparison *c, struct sf_why *why)
{
    struct level at = {.time = c->time,
                       .left = w->left,
                       .right = w->right,
                       .n_left = c->left.n_found,
                       .n_right = c->right.n_found,
                       .share = 1};
    struct sf_arena inner = {0};
    bool is_new = true;
    enum sf_err err = sf_arena_init(&inner, w->q->req->cap) ? SF_OK
                                                            : sf_no_memory(why, "the query");
    while (!err && is_new && at.depth < LEVELS)
        err = descend(w, &at, &inner, &is_new, why);
    struct sf_explain_span *list = sf_arena_new_n(w->q->req, 1, sizeof(*list));
    if (!err && !list)
        err = sf_no_room(why, "the query");
    if (!err && at.depth > 0) {
        struct sf_explain_part *parts = NULL, *top = &w->out.parts[0];
        double ns = at.time.duration.delta * at.share; /* the numbers of spans are estimates */
        ns = fabs(ns) > fabs((double)top->ns) ? (double)top->ns : ns;
        *list = (struct sf_explain_span){.ns = llround(ns),
                                         .count = (uint32_t)fmax(1, round(at.share))};
        if (!explain_diff_give_parts(&at.time, w->q->req, &parts, &list->n_parts) ||
            !explain_diff_count_calls(&at, parts, list->n_parts, w->q->req) ||
            !name_level(&at, w->store, w->q, list, why))
            err = sf_no_room(why, "the query");
        list->parts = parts;
        top->n_more_children += top->n_children > 0 ? top->n_children - 1 : 0;
        top->children = list;
        top->n_children = 1;
    }
    if (!err && at.depth == 0 &&
        !explain_diff_count_calls(&at, w->out.parts, w->out.n_parts, w->q->req))
        err = sf_no_room(why, "the query");
    sf_arena_done(&inner);
    return err;
}

/* ---- all of it ---- */

/* What notes and reasons call the two sides. */
static void name_sides(const struct work *w, sf_str out[2])
{
    bool is_deploy = w->out.after_version.len > 0;
    out[0] = is_deploy ? w->out.before_version : SF_STR("the rest");
    out[1] = is_deploy ? w->out.after_version : SF_STR("slow spans");
}

/* Why there is nothing to compare; empty: there is. */
static bool find_missing(struct work *w, const struct sf_comparison *c, sf_str *out)
{
    bool has_left = c->left.n_found > 0, has_right = c->right.n_found > 0;
    sf_str sides[2];
    name_sides(w, sides);
    *out = SF_STR_NONE;
    if (has_left == has_right) {
        *out = has_left ? SF_STR_NONE : SF_STR("no spans match in this time: nothing to compare");
        return true;
    }
    return sf_arena_print(w->q->req, out, "no spans of \"%.*s\" in this time: nothing to compare",
                          SF_STR_ARG(sf_str_part(sides[has_left], 0, 80)));
}

static enum sf_err explain_diff_give(struct work *w, const struct sf_comparison *c,
                                     struct sf_why *why)
{
    const struct sf_comparison_time *t = &c->time;
    struct sf_explain_view *v = &w->out;
    v->duration_ns = llround(t->duration.delta);
    v->low_ns = t->duration.low;
    v->high_ns = t->duration.high;
    v->is_significant = t->duration.is_significant;
    v->is_few = !isfinite(t->duration.low) || !isfinite(t->duration.high);
    v->before_ns = t->duration.left;
    v->after_ns = t->duration.right;
    v->n_left = t->n_left;
    v->n_spans = t->n_right;
    v->left = c->left.words;
    v->right = c->right.words;
    v->note = c->note;
    if (!find_missing(w, c, &v->reason))
        return sf_no_room(why, "the query");
    if (v->reason.len == 0)
        v->reason = t->n_left == 0 || t->n_right == 0 ? c->reason : t->reason;
    v->n_samples = t->n_samples;
    for (uint32_t i = 0; i < t->n_examples; i++)
        v->examples[v->n_examples++] = (struct sf_explain_example){
            .trace = t->examples[i].trace,
            .span = t->examples[i].span,
            .duration_ns = t->examples[i].duration_ns,
            .part_ns = llround(t->examples[i].part_ns)};
    if (!explain_diff_give_parts(t, w->q->req, &v->parts, &v->n_parts))
        return sf_no_room(why, "the query");
    if (v->is_significant && !give_mix(w, &c->mix))
        return sf_no_room(why, "the query");
    return v->is_significant ? go_down(w, c, why) : SF_OK;
}

static enum sf_err of_split(struct work *w, struct sf_why *why)
{
    struct sf_compare_want ask = {.query = w->want->query, .split = w->want->split};
    struct sf_comparison c;
    w->out.query = w->want->query;
    w->out.split = w->want->split_word;
    name_sides(w, ask.sides);
    enum sf_err err = explain_diff_compare(w, &ask, w->q->req, &c, why);
    if (!err && !make_split(w, c.bound_ns))
        err = sf_no_room(why, "the query");
    return err ? err : explain_diff_give(w, &c, why);
}

/* Finds the version of the service's newest request before the first one of `version`. */
static enum sf_err find_previous(struct work *w, sf_str version, sf_str *out, struct sf_why *why)
{
    struct sf_buf text = {0};
    struct sf_span_set set;
    struct sf_trace trace;
    struct sf_span_set_want ask = {.from_ns = w->want->from_ns,
                                   .to_ns = w->want->to_ns,
                                   .limit_traces = SF_SPAN_SET_TRACES,
                                   .scratch = w->want->scratch};
    uint64_t first_ns = UINT64_MAX;
    if (!make_version(w, version, &ask.query))
        return sf_no_room(why, "the query");
    enum sf_err err = sf_span_set_find(w->store, &ask, w->q, &set, why);
    for (uint32_t i = 0; !err && i < set.n; i++)
        first_ns = set.spans[i].start_ns < first_ns ? set.spans[i].start_ns : first_ns;
    if (err)
        return err;
    if (set.n == 0)
        return sf_fail(why, SF_ERR_NOT_FOUND, "%.*s has no requests of version %.*s in this time",
                       SF_STR_ARG(sf_str_part(w->want->service, 0, 80)),
                       SF_STR_ARG(sf_str_part(version, 0, 80)));
    sf_buf_add_str(&text, SF_STR("{ resource.service.name = "));
    explain_diff_add_text(&text, w->want->service);
    sf_buf_add_str(&text, SF_STR(" && resource.service.version != "));
    explain_diff_add_text(&text, version);
    sf_buf_add_str(&text, SF_STR(" }"));
    if (!explain_diff_keep(&text, w->q->req, &ask.query))
        return sf_no_room(why, "the query");
    ask.to_ns = first_ns < (uint64_t)ask.to_ns ? (int64_t)first_ns : ask.to_ns;
    ask.limit_traces = 1;
    ask.is_newest = true;
    err = sf_span_set_find(w->store, &ask, w->q, &set, why);
    if (!err && set.n > 0)
        err = sf_traces_get_one(w->store, set.spans[0].trace, 0, 0, w->q, &trace, why);
    for (uint32_t i = 0; !err && set.n > 0 && i < trace.spans.n_spans; i++)
        if (trace.spans.spans[i].span_id == set.spans[0].id) {
            *out = sf_attrs_str(trace.spans.resources[trace.spans.spans[i].resource].attrs,
                                SF_STR("service.version"));
            if (out->len > 0)
                return SF_OK;
        }
    return err ? err
               : sf_fail(why, SF_ERR_NOT_FOUND,
                         "no other version of %.*s served requests before %.*s in this time: name "
                         "one, or use a longer time range",
                         SF_STR_ARG(sf_str_part(w->want->service, 0, 80)),
                         SF_STR_ARG(sf_str_part(version, 0, 80)));
}

static enum sf_err of_versions(struct work *w, struct sf_why *why)
{
    sf_str before = w->want->version, after = w->want->other;
    struct sf_comparison c;
    if (after.len == 0) {
        after = before;
        enum sf_err err = find_previous(w, after, &before, why);
        if (err)
            return err;
    }
    for (int turn = 0; turn < 2; turn++) {
        if (!make_version(w, before, &w->left) || !make_version(w, after, &w->right))
            return sf_no_room(why, "the query");
        struct sf_compare_want ask = {.left = w->left, .right = w->right};
        w->out.before_version = before;
        w->out.after_version = after;
        name_sides(w, ask.sides);
        enum sf_err err = explain_diff_compare(w, &ask, w->q->req, &c, why);
        if (err)
            return err;
        if (turn > 0 || c.left.first_ns <= c.right.first_ns || c.right.n_found == 0)
            break;
        sf_str swap = before; /* compare in the order of time */
        before = after;
        after = swap;
    }
    w->out.service = w->want->service;
    w->out.query = w->right;
    return explain_diff_give(w, &c, why);
}

enum sf_err sf_explain_diff(struct sf_store *store, const struct sf_explain_diff_want *want,
                            struct sf_query_ctx *q, struct sf_explain_view *out, struct sf_why *why)
{
    struct work w = {.store = store, .want = want, .q = q};
    w.out = (struct sf_explain_view){.of = SF_EXPLAIN_DIFFERENCE,
                                     .from_ns = want->from_ns,
                                     .to_ns = want->to_ns,
                                     .low_ns = NAN,
                                     .high_ns = NAN};
    enum sf_err err = want->query.len > 0 ? of_split(&w, why) : of_versions(&w, why);
    if (!err)
        *out = w.out;
    return err;
}

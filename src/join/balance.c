/* balance.c - compares the samples of a service with those attributed to its spans: how much no
 * span got. */
#include "join/balance.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/num.h"
#include "base/time_unit.h"
#include "exec/profile_types.h"
#include "flame/batch_tree.h"
#include "join/span_profile.h"
#include "join/time_part.h"
#include "model/process.h"
#include "query/expr_text.h"

#define SPANS_TIME  0.8 /* share of the remaining time for processing spans one by one */
#define FILL        0.8 /* share of the limit to aim at: spans are not evenly distributed in time */
#define SHORTEST_NS SF_NS_PER_MS

enum { MAX_TRIES = 40 }; /* each try at least halves the part */

struct work {
    struct sf_store *store;
    const struct sf_balance_want *want;
    struct sf_query_ctx *q;
    struct sf_matcher match;
    uint64_t process; /* 0: of all */
    struct sf_span_set spans;
    bool is_cut;           /* the samples of a span did not fit */
    struct sf_balance out; /* out.until_ns: end of the part */
};

static enum sf_err balance_find_process(struct work *w, struct sf_why *why)
{
    struct sf_attr attr = {.key = SF_STR("service.instance.id"),
                           .val = {.type = SF_VALUE_STR, .str = w->want->instance}};
    struct sf_process_names names;
    if (w->want->instance.len == 0)
        return SF_OK;
    if (!sf_process_names_of(w->want->service, (struct sf_attrs){&attr, 1}, w->q->req, &names))
        return sf_no_room(why, "the query");
    w->process = names.hashes[SF_PROCESS_INSTANCE];
    return SF_OK;
}

/* ---- what came ---- */

static enum sf_err balance_choose_type(struct work *w, struct sf_why *why)
{
    struct sf_prof_query ask = {.match = &w->match,
                                .n_match = 1,
                                .from_ns = w->want->from_ns,
                                .to_ns = w->want->until_ns,
                                .process = w->process};
    const struct sf_batch_type *types;
    struct sf_prof_list list;
    uint32_t n = 0, chosen = 0;
    enum sf_err err = w->store->ops->prof_list(w->store, &ask, w->q, &list, why);
    if (!err)
        err = sf_profile_types(&list, w->q->req, &types, &n, why);
    if (err || n == 0)
        return err;
    err = sf_batch_tree_choose(types, n, w->want->type, &chosen, why);
    if (!err && !sf_batch_tree_type_print(&types[chosen].type, w->q->req, &w->out.type))
        err = sf_no_room(why, "the query");
    if (!err)
        w->out.unit = types[chosen].type.sample_unit;
    return err;
}

/* Adds profiles that were uploaded for one request, which are not in the aggregate. */
static enum sf_err add_lent(struct work *w, struct sf_query_ctx *q, struct sf_why *why)
{
    struct sf_detail_query ask = {.type = w->out.type,
                                  .match = &w->match,
                                  .n_match = 1,
                                  .process = w->process,
                                  .from_ns = w->out.from_ns,
                                  .to_ns = w->out.until_ns};
    struct sf_detail_list list;
    sf_arena_reset(w->want->scratch);
    enum sf_err err = w->store->ops->detail_list(w->store, &ask, q, &list, why);
    for (uint32_t i = 0; !err && i < list.rows.n_rows; i++)
        if (list.rows.is_lent[i])
            w->out.received = sf_add_sat_i64(w->out.received, list.rows.value[i]);
    return err;
}

static enum sf_err sum_received(struct work *w, struct sf_why *why)
{
    struct sf_prof_query ask = {.type = w->out.type,
                                .match = &w->match,
                                .n_match = 1,
                                .from_ns = w->out.from_ns,
                                .to_ns = w->out.until_ns,
                                .process = w->process};
    const struct sf_tree *tree;
    struct sf_query_ctx q = *w->q;
    sf_arena_reset(w->want->scratch);
    q.req = w->want->scratch;
    enum sf_err err = w->store->ops->prof_merge(w->store, &ask, &q, &tree, why);
    if (!err)
        w->out.received = tree->total;
    if (!err)
        err = add_lent(w, &q, why);
    w->q->stats = q.stats;
    return err;
}

/* ---- what spans got ---- */

static bool make_query(struct work *w, sf_str *out)
{
    struct sf_buf text = {0};
    sf_str instance = w->want->instance;
    sf_buf_add_str(&text, SF_STR("{ resource.service.name = "));
    sf_expr_text_static((struct sf_static){SF_TYPE_STRING, {.str = w->want->service}}, &text);
    if (instance.len > 0) {
        sf_buf_add_str(&text, SF_STR(" && resource.service.instance.id = "));
        sf_expr_text_static((struct sf_static){SF_TYPE_STRING, {.str = instance}}, &text);
    }
    sf_buf_add_str(&text, SF_STR(" }"));
    bool is_kept = sf_buf_ok(&text) && sf_arena_copy(w->q->req, sf_buf_str(&text), out);
    sf_buf_done(&text);
    return is_kept;
}

static uint32_t most_spans(const struct work *w)
{
    return w->out.is_part ? w->want->limit : SF_BALANCE_SPANS;
}

/* Finds the spans that start before out.until_ns; if there are too many, their estimated number. */
static enum sf_err balance_find_spans(struct work *w, uint64_t *out_n_found, struct sf_why *why)
{
    struct sf_span_set_want ask = {.from_ns = w->out.from_ns,
                                   .to_ns = w->out.until_ns,
                                   .limit_traces = SF_BALANCE_SPANS,
                                   .scratch = w->want->scratch};
    if (!make_query(w, &ask.query))
        return sf_no_room(why, "the query");
    enum sf_err err = sf_span_set_find(w->store, &ask, w->q, &w->spans, why);
    if (err)
        return err;
    *out_n_found = sf_span_set_found(&w->spans);
    sf_span_set_sort(&w->spans);
    uint32_t n = 0; /* whole traces are found: keep spans that start in the range */
    for (uint32_t i = 0; i < w->spans.n; i++) {
        const struct sf_set_span *s = &w->spans.spans[i];
        if (s->start_ns >= (uint64_t)w->out.from_ns && s->start_ns < (uint64_t)w->out.until_ns)
            w->spans.spans[n++] = *s;
    }
    w->out.has_rest = w->spans.one_of <= 1 && w->spans.n_cut == 0 && w->spans.note.len == 0 &&
                      n <= most_spans(w);
    *out_n_found = n > *out_n_found ? n : *out_n_found;
    w->spans.n = n;
    w->out.n_spans = n;
    return SF_OK;
}

static int balance_by_start(const void *a, const void *b)
{
    const struct sf_set_span *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* Finds a first part of the range with at most the requested number of spans. */
static enum sf_err balance_find_part(struct work *w, struct sf_why *why)
{
    uint64_t n_found;
    enum sf_err err = balance_find_spans(w, &n_found, why);
    for (int i = 0; i < MAX_TRIES && !err && w->out.is_part && !w->out.has_rest; i++) {
        int64_t len_ns = w->out.until_ns - w->out.from_ns;
        double part = FILL * (double)w->want->limit / (double)(n_found + 1);
        if (len_ns < 2 * SHORTEST_NS)
            break; /* too many start at the same time: the answer reports it */
        len_ns = (int64_t)((double)len_ns * (part < 0.5 ? part : 0.5));
        w->out.until_ns = w->out.from_ns + (len_ns > SHORTEST_NS ? len_ns : SHORTEST_NS);
        err = balance_find_spans(w, &n_found, why);
    }
    if (!err && w->out.is_part && w->spans.n > 0)
        qsort(w->spans.spans, w->spans.n, sizeof(*w->spans.spans), balance_by_start);
    return err;
}

static enum sf_err ask_span(struct work *w, const struct sf_set_span *s, struct sf_why *why)
{
    struct sf_query_ctx q = *w->q;
    struct sf_span_profile p;
    struct sf_span_profile_want ask = {
        .trace = s->trace, .span = s->id, .type = w->out.type, .is_self = true};
    sf_arena_reset(w->want->scratch);
    q.req = w->want->scratch;
    enum sf_err err = sf_span_profile_make(w->store, &ask, &q, &p, why);
    w->q->stats = q.stats;
    if (err == SF_ERR_NOT_FOUND)
        return SF_OK; /* no profile of the type is near it, or it was erased meanwhile */
    if (err)
        return err;
    for (int i = 0; i < SF_GRADE_ROWS; i++) {
        w->out.grades.rows[i].n_samples += p.as_sent.rows[i].n_samples;
        w->out.grades.rows[i].value = sf_add_sat_i64(w->out.grades.rows[i].value,
                                                     p.as_sent.rows[i].value);
    }
    w->out.grades.n_samples += p.as_sent.n_samples;
    w->out.has_rest = w->out.has_rest && !p.is_partial;
    w->is_cut = w->is_cut || p.is_partial;
    return SF_OK;
}

/* Time is up before span i: the part ends at the start of that span; spans with the same start are
 * left to the next part. */
static void end_before(struct work *w, uint32_t i, uint32_t first, const struct sf_grades *before)
{
    w->out.has_rest = w->out.is_part && first > 0;
    if (!w->out.has_rest)
        return;
    w->out.until_ns = (int64_t)w->spans.spans[i].start_ns;
    w->out.n_spans = first;
    w->out.grades = *before;
}

static enum sf_err ask_spans(struct work *w, struct sf_why *why)
{
    int64_t until_ns = sf_time_part(w->q, SPANS_TIME);
    struct sf_grades before = w->out.grades; /* before the first span with this start */
    uint32_t first = 0;
    enum sf_err err = SF_OK;
    for (uint32_t i = 0; !err && w->out.has_rest && i < w->spans.n; i++) {
        if (i == 0 || w->spans.spans[i].start_ns != w->spans.spans[i - 1].start_ns) {
            before = w->out.grades;
            first = i;
        }
        if (i > 0 && sf_time_part_is_over(until_ns)) {
            end_before(w, i, first, &before);
            break;
        }
        err = ask_span(w, &w->spans.spans[i], why);
    }
    return err;
}

/* Sets the reason why the rest is unknown. */
static bool say_why(struct work *w)
{
    if (w->is_cut)
        return sf_arena_print(
            w->q->req, &w->out.reason,
            "the candidate samples of a span do not fit a query's memory (limits.query_memory)");
    if (w->out.is_part)
        return sf_arena_print(
            w->q->req, &w->out.reason,
            "%" PRIu64
            " spans start in this part: too many to be checked one by one within a query's time",
            w->out.n_spans);
    return sf_arena_print(w->q->req, &w->out.reason,
                          "too many spans to be checked one by one within a query's time (at most "
                          "%d): use a shorter time range, or check in parts (limit=)",
                          SF_BALANCE_SPANS);
}

enum sf_err sf_balance_make(struct sf_store *store, const struct sf_balance_want *want,
                            struct sf_query_ctx *q, struct sf_balance *out, struct sf_why *why)
{
    struct work w = {.store = store,
                     .want = want,
                     .q = q,
                     .match = {SF_STR("service_name"), SF_OP_EQ, want->service},
                     .out = {.service = want->service,
                             .instance = want->instance,
                             .from_ns = want->from_ns,
                             .until_ns = want->until_ns,
                             .is_part = want->limit > 0}};
    enum sf_err err = balance_find_process(&w, why);
    if (!err)
        err = balance_choose_type(&w, why);
    if (!err)
        err = balance_find_part(&w, why);
    if (!err && w.out.type.len > 0)
        err = ask_spans(&w, why);
    if (!err && w.out.type.len > 0)
        err = sum_received(&w, why);
    if (err)
        return err;
    if (w.out.is_part && w.out.until_ns < want->until_ns)
        w.out.next_ns = w.out.until_ns;
    if (w.out.has_rest)
        w.out.rest = w.out.received - sf_grades_value(&w.out.grades);
    else if (!say_why(&w))
        return sf_no_room(why, "the query");
    *out = w.out;
    return SF_OK;
}

/* frame_spans.c - finds the spans that ran a function. The store sums the matching samples by span
 * and returns the largest; then names and times of these spans are read from their traces (by trace
 * id if samples have one, otherwise by one scan of the time range), and sums are limited to what
 * the span's duration allows. */
#include "join/frame_spans.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "exec/profile_types.h"
#include "exec/traces.h"
#include "flame/batch_tree.h"
#include "join/profile.h"
#include "join/sample_count.h"
#include "join/span_figures.h"
#include "join/time_samples.h"
#include "regex/regex.h"

enum { SHOWN_NAMES = 4 };

struct whole { /* all samples of a span */
    int64_t value;
    uint32_t n_threads;
    int64_t cpu_ns; /* CPU time that the span carries; SF_LEDGER_UNSAID: none */
};

struct work {
    struct sf_store *store;
    const struct sf_frame_spans_want *want;
    struct sf_query_ctx *q;
    struct sf_regex *regex;
    struct sf_regex_scratch *scratch;
    struct sf_matcher match;
    struct sf_frame_spans out;
    struct sf_profile_type type;
    int64_t period;
    struct sf_frame_span *list;
    struct whole *wholes; /* parallel to the list */
    bool is_word; /* no function has exactly this name: match names that contain it as a word */
    sf_str names[SHOWN_NAMES];
    uint32_t n_names; /* number of matching names; one more than fit: there are others */
};

static bool frame_spans_is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || (c & 0x80);
}

/* "RegexMatch" in "regexp.(*Regexp).RegexMatch", and not in "RegexMatcher". */
static bool frame_spans_has_word(sf_str name, sf_str word)
{
    size_t from = 0, at;
    while (from <= name.len && sf_str_find(sf_str_from_at(name, from), word, &at)) {
        size_t begin = from + at, end = begin + word.len;
        if ((begin == 0 || !frame_spans_is_name_char(name.p[begin - 1])) &&
            (end == name.len || !frame_spans_is_name_char(name.p[end])))
            return true;
        from = begin + 1;
    }
    return false;
}

static void frame_spans_note_name(struct work *w, sf_str name)
{
    for (uint32_t i = 0; i < w->n_names && i < SHOWN_NAMES; i++) {
        if (sf_str_eq(w->names[i], name))
            return;
    }
    if (w->n_names < SHOWN_NAMES && !sf_arena_copy(w->q->req, name, &w->names[w->n_names]))
        return;
    w->n_names += w->n_names <= SHOWN_NAMES;
}

static bool frame_spans_is_function(void *arg, sf_str name)
{
    struct work *w = arg;
    bool is_found;
    if (w->regex)
        return sf_regex_match(w->regex, name, w->scratch) == SF_REGEX_FOUND;
    if (!w->is_word)
        return sf_str_eq(name, w->want->function);
    is_found = frame_spans_has_word(name, w->want->function);
    if (is_found)
        frame_spans_note_name(w, name);
    return is_found;
}

static enum sf_err frame_spans_choose_type(struct work *w, struct sf_why *why)
{
    struct sf_prof_query ask = {.match = &w->match,
                                .n_match = w->want->service.len > 0,
                                .from_ns = w->want->from_ns,
                                .to_ns = w->want->to_ns};
    const struct sf_batch_type *types;
    struct sf_prof_list list;
    uint32_t n = 0, at = 0;
    enum sf_err err = w->store->ops->prof_list(w->store, &ask, w->q, &list, why);
    if (!err)
        err = sf_profile_types(&list, w->q->req, &types, &n, why);
    if (err || n == 0)
        return err;
    err = sf_batch_tree_choose(types, n, w->want->type, &at, why);
    if (!err && !sf_batch_tree_type_print(&types[at].type, w->q->req, &w->out.type))
        err = sf_no_room(why, "the query");
    w->out.unit = types[at].type.sample_unit;
    w->type = types[at].type;
    w->period = types[at].period;
    return err;
}

static struct sf_detail_query detail_of(const struct work *w)
{
    return (struct sf_detail_query){.type = w->out.type,
                                    .match = &w->match,
                                    .n_match = w->want->service.len > 0,
                                    .from_ns = w->want->from_ns,
                                    .to_ns = w->want->to_ns};
}

/* Finds the first `limit` by value; the others are only counted. */
static enum sf_err frame_spans_find_first(struct work *w, struct sf_why *why)
{
    struct sf_detail_query ask = detail_of(w);
    struct sf_frame_test test = {frame_spans_is_function, w};
    struct sf_span_top top;
    bool is_any = w->want->function.len == 0 && !w->regex;
    enum sf_err err = w->store->ops->detail_top(w->store, &ask, is_any ? NULL : &test,
                                                w->want->limit, w->q, &top, why);
    if (err)
        return err;
    w->list = sf_arena_new_n(w->q->req, top.n + 1u, sizeof(*w->list));
    if (!w->list)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < top.n; i++) {
        const struct sf_span_total *c = &top.list[i];
        w->list[i] = (struct sf_frame_span){.id = c->id,
                                            .trace = c->trace,
                                            .service = c->service,
                                            .value = c->value,
                                            .n_samples = c->n_samples,
                                            .start_ns = c->start_ns > 0 ? (uint64_t)c->start_ns
                                                                        : 0};
    }
    w->out.value = top.value;
    w->out.n_found = top.n_found;
    w->out.n = top.n;
    w->out.list = w->list;
    return SF_OK;
}

/* ---- what else is known of those ---- */

static int frame_spans_by_id(const void *a, const void *b)
{
    sf_span_id x = *(const sf_span_id *)a, y = *(const sf_span_id *)b;
    return (x > y) - (x < y);
}

static enum sf_err frame_spans_find_shares(struct work *w, struct sf_why *why)
{
    struct sf_detail_query ask = detail_of(w);
    sf_span_id *ids = sf_arena_new_n(w->q->req, w->out.n + 1u, sizeof(*ids));
    struct sf_span_costs costs;
    w->wholes = sf_arena_new_n(w->q->req, w->out.n + 1u, sizeof(*w->wholes));
    if (!ids || !w->wholes)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < w->out.n; i++) {
        ids[i] = w->list[i].id;
        w->wholes[i].cpu_ns = SF_LEDGER_UNSAID;
    }
    qsort(ids, w->out.n, sizeof(*ids), frame_spans_by_id);
    ask.span_ids = ids;
    ask.n_spans = w->out.n;
    enum sf_err err = w->store->ops->detail_sums(w->store, &ask, NULL, w->q, &costs, why);
    for (uint32_t i = 0; !err && i < costs.n; i++)
        for (uint32_t k = 0; k < w->out.n; k++)
            if (w->list[k].id == costs.list[i].id && costs.list[i].value > 0) {
                w->list[k].share = (double)w->list[k].value / (double)costs.list[i].value;
                w->wholes[k].value = costs.list[i].value;
                w->wholes[k].n_threads = costs.list[i].n_threads;
            }
    return err;
}

static bool frame_spans_fill_in(struct work *w, struct sf_frame_span *f, const struct sf_span *s,
                                sf_str service)
{
    f->trace = s->trace_id;
    f->start_ns = s->start_ns;
    f->duration_ns = sf_span_duration_ns(s);
    return sf_arena_copy(w->q->req, s->name, &f->name) &&
           sf_arena_copy(w->q->req, service, &f->service);
}

static enum sf_err fill_in_trace(struct work *w, sf_trace_id id, const struct sf_trace *trace,
                                 struct sf_why *why)
{
    for (uint32_t k = 0; k < w->out.n; k++) {
        struct sf_frame_span *f = &w->list[k];
        for (uint32_t i = 0; sf_trace_id_eq(f->trace, id) && i < trace->spans.n_spans; i++) {
            const struct sf_span *s = &trace->spans.spans[i];
            if (s->span_id != f->id)
                continue;
            w->wholes[k].cpu_ns = sf_span_figures_read(s).ns[SF_SPAN_FIGURE_CPU];
            if (!frame_spans_fill_in(w, f, s, trace->spans.resources[s->resource].service))
                return sf_no_room(why, "the query");
        }
    }
    return SF_OK;
}

static int frame_spans_by_trace(const void *a, const void *b)
{
    return memcmp(&((const struct sf_trace_ask *)a)->id, &((const struct sf_trace_ask *)b)->id,
                  sizeof(sf_trace_id));
}

/* Reads the traces of rows that carry a trace id. */
static enum sf_err ask_traces(struct work *w, struct sf_why *why)
{
    struct sf_trace_ask *asks = sf_arena_new_n(w->q->req, w->out.n + 1u, sizeof(*asks));
    struct sf_traces traces;
    uint32_t n_named = 0, n = 0;
    enum sf_err err = SF_OK;
    if (!asks)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < w->out.n; i++)
        if (!sf_trace_id_is_zero(w->list[i].trace))
            asks[n_named++].id = w->list[i].trace;
    if (n_named == 0)
        return SF_OK;
    qsort(asks, n_named, sizeof(*asks), frame_spans_by_trace);
    for (uint32_t i = 0; i < n_named; i++)
        if (n == 0 || frame_spans_by_trace(&asks[n - 1], &asks[i]) != 0)
            asks[n++] = asks[i];
    sf_traces_start(&traces, w->store, asks, n, true, w->q);
    for (uint32_t i = 0; !err && i < n; i++) {
        struct sf_trace trace;
        err = sf_traces_next(&traces, w->q->req, &trace, why);
        if (!err)
            err = fill_in_trace(w, asks[i].id, &trace, why);
    }
    sf_traces_done(&traces);
    return err;
}

/* Searches the other spans in one scan of the surrounding time. */
static enum sf_err frame_spans_scan(struct work *w, struct sf_why *why)
{
    struct sf_span_query ask = {.from_ns = w->want->from_ns,
                                .to_ns = w->want->to_ns,
                                .is_all = true,
                                .columns = SF_COL_TIMES | SF_COL_NAME | SF_COL_RESOURCE};
    struct sf_span_cursor *cursor;
    struct sf_span_rows rows;
    enum sf_err err = w->store->ops->span_scan(w->store, &ask, w->q, &cursor, why);
    if (err)
        return err;
    while (!err && cursor->next(cursor, &rows)) {
        for (uint32_t i = 0; !err && i < rows.n_rows; i++) {
            for (uint32_t k = 0; k < w->out.n; k++) {
                struct sf_span s;
                if (w->list[k].id != rows.span_id[i] || w->list[k].name.len > 0)
                    continue;
                s = sf_span_rows_get(&rows, i);
                if (!frame_spans_fill_in(w, &w->list[k], &s,
                                         rows.resources[rows.resource[i]].service))
                    err = sf_no_room(why, "the query");
            }
        }
    }
    if (!err && cursor->err)
        err = sf_fail(why, cursor->err, "%s", cursor->why.text);
    cursor->close(cursor);
    return err;
}

static enum sf_err frame_spans_find_traces(struct work *w, struct sf_why *why)
{
    bool needs_scan = false;
    for (uint32_t i = 0; i < w->out.n; i++)
        needs_scan |= sf_trace_id_is_zero(w->list[i].trace);
    enum sf_err err = ask_traces(w, why);
    return err || !needs_scan ? err : frame_spans_scan(w, why);
}

static int frame_spans_by_value(const void *a, const void *b)
{
    const struct sf_frame_span *x = a, *y = b;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* A sample may represent more time than the span lasted: the sum of a span is reduced in proportion
 * to the time it had, as in its flame graph. */
static void frame_spans_fit(struct work *w)
{
    if (sf_time_samples_kind_of(w->out.type) == SF_TIME_NONE ||
        !sf_str_eq(w->out.unit, SF_STR("nanoseconds")))
        return;
    for (uint32_t i = 0; i < w->out.n; i++) {
        struct sf_frame_span *s = &w->list[i];
        const struct whole *all = &w->wholes[i];
        bool is_cpu = sf_time_samples_kind_of(w->out.type) == SF_TIME_CPU;
        uint64_t most_ns = is_cpu && all->n_threads == 1 && all->cpu_ns >= 0 &&
                                   (uint64_t)all->cpu_ns < s->duration_ns
                               ? (uint64_t)all->cpu_ns
                               : s->duration_ns;
        int64_t most = sf_span_cost_most(all->value, all->n_threads, most_ns);
        if (s->name.len == 0 || most >= all->value)
            continue; /* the trace was not found, or the samples fit into the span */
        s->value = (int64_t)((double)s->value * ((double)most / (double)all->value));
        s->is_cut = true;
    }
    qsort(w->list, w->out.n, sizeof(*w->list), frame_spans_by_value);
}

/* If no function has exactly the requested name: states which functions were used. */
static void say_names(struct work *w, struct sf_why *text)
{
    struct sf_buf names = {.max = sizeof(text->text)};
    for (uint32_t i = 0; i < w->n_names && i < SHOWN_NAMES; i++)
        sf_buf_print(&names, "%s%.*s", i ? ", " : "", SF_STR_ARG(w->names[i]));
    sf_fail(text, SF_ERR_NOT_FOUND, "no function is named %.*s; these spans ran %.*s%s",
            SF_STR_ARG(w->want->function), SF_STR_ARG(sf_buf_str(&names)),
            w->n_names > SHOWN_NAMES ? " and others" : "");
    sf_buf_done(&names);
    (void)sf_arena_copy(w->q->req, sf_str_from(text->text), &w->out.note);
}

static void frame_spans_explain(struct work *w)
{
    struct sf_why text;
    if (w->is_word && w->out.n > 0)
        say_names(w, &text);
    if (w->out.type.len == 0)
        w->out.reason = SF_STR("no profiles in this time");
    else if (w->out.n == 0)
        w->out.reason = SF_STR("no sample with this function carries a span id in this time: it "
                               "did not run, or its profiler does not tag samples with span ids");
}

enum sf_err sf_frame_spans_find(struct sf_store *store, const struct sf_frame_spans_want *want,
                                struct sf_query_ctx *q, struct sf_frame_spans *out,
                                struct sf_why *why)
{
    struct work w = {.store = store, .want = want, .q = q};
    enum sf_err err = SF_OK;
    w.match = (struct sf_matcher){SF_STR("service_name"), SF_OP_EQ, want->service};
    w.out.function = want->pattern.len > 0 ? want->pattern : want->function;
    if (want->pattern.len > 0) {
        w.scratch = sf_regex_scratch_new();
        err = w.scratch ? sf_regex_new_whole(want->pattern, &w.regex, why)
                        : sf_no_room(why, "the query");
    }
    if (!err)
        err = frame_spans_choose_type(&w, why);
    if (!err && w.out.type.len > 0)
        err = frame_spans_find_first(&w, why);
    if (!err && w.out.type.len > 0 && w.out.n == 0 && want->function.len > 0) {
        w.is_word = true;
        err = frame_spans_find_first(&w, why);
    }
    sf_regex_free(w.regex);
    sf_regex_scratch_free(w.scratch);
    if (!err && w.out.n > 0)
        err = frame_spans_find_shares(&w, why);
    if (!err && w.out.n > 0)
        err = frame_spans_find_traces(&w, why);
    frame_spans_explain(&w);
    double taken_of_all = 0;
    for (uint32_t i = 0; !err && i < w.out.n; i++) {
        struct sf_frame_span *s = &w.list[i];
        double taken = sf_sample_count(&w.type, w.period, s->value, s->n_samples);
        s->few = sf_sample_count_is_few(&w.type, w.period, taken) ? taken : 0;
        taken_of_all += taken;
    }
    if (!err && w.out.n > 0) {
        bool is_whole = w.out.n == w.out.n_found;
        if (is_whole && sf_sample_count_is_few(&w.type, w.period, taken_of_all))
            w.out.few = taken_of_all;
        frame_spans_fit(&w);
    }
    if (!err)
        *out = w.out;
    return err;
}

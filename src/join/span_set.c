/* span_set.c - the list of spans that a TraceQL query selects. */
#include "join/span_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "join/time_sieve.h"
#include "link/cohort.h"
#include "query/expr_text.h"
#include "query/query_parse.h"

enum {
    SPANS_PER_TRACE = 100,
    /* At most this many spans are collected; if there are more, a sample is kept. */
    MAX_SPANS = 1 << 15,
    MIN_SLICES = 16 /* smallest number of time slices over the range of matching traces */
};

struct taken { /* a trace */
    uint64_t start_ns;
    uint32_t first, n; /* of the spans */
    uint64_t n_cut;
};

struct gather {
    const struct sf_span_set_want *want;
    struct sf_time_sieve sieve;
    struct taken *traces;
    uint32_t n_traces;
    struct sf_set_span *spans;
    uint32_t n;
    uint32_t first_kept; /* index in want->keep: earlier ones belong to another set */
    bool has_more;       /* is_newest: older traces match, too */
    bool has_sieve;
    struct sf_trace_count all; /* with the sieve: counts of what passes it */
};

static bool span_set_is_wanted(void *arg, uint64_t start_ns)
{
    const struct gather *g = arg;
    return !g->has_sieve || sf_time_sieve_takes(&g->sieve, start_ns);
}

/* Drops traces that do not pass the sieve any more. */
static void span_set_sift(struct gather *g)
{
    uint32_t n_traces = 0, n = 0;
    for (uint32_t i = 0; i < g->n_traces; i++) {
        struct taken t = g->traces[i];
        if (!span_set_is_wanted(g, t.start_ns))
            continue;
        memmove(&g->spans[n], &g->spans[t.first], t.n * sizeof(*g->spans));
        t.first = n;
        n += t.n;
        g->traces[n_traces++] = t;
    }
    g->n_traces = n_traces;
    g->n = n;
    if (g->want->keep)
        sf_link_keep_sift(g->want->keep, g->first_kept, span_set_is_wanted, g);
}

/* Of a trace with very many spans, takes some, evenly from its beginning to its end. */
static void span_set_take(struct gather *g, const struct sf_trace_view *v,
                          const struct sf_spansets *sets)
{
    struct taken t = {.start_ns = v->start_ns, .first = g->n};
    uint64_t n_all = 0, at = 0;
    for (uint32_t i = 0; i < sets->n; i++)
        n_all += sets->list[i].n_spans;
    uint64_t most = n_all < SPANS_PER_TRACE ? n_all : SPANS_PER_TRACE;
    for (uint32_t i = 0; i < sets->n; i++) {
        for (uint32_t k = 0; k < sets->list[i].n_spans; k++, at++) {
            const struct sf_span *s = &v->spans[sets->list[i].spans[k]];
            if (at == t.n * n_all / most)
                g->spans[g->n + t.n++] = (struct sf_set_span){.trace = v->id,
                                                              .id = s->span_id,
                                                              .start_ns = s->start_ns,
                                                              .duration_ns = sf_span_duration_ns(s),
                                                              .name_hash = sf_hash_str(s->name)};
        }
    }
    t.n_cut = n_all - t.n;
    g->n += t.n;
    g->traces[g->n_traces++] = t;
}

static bool span_set_is_full(const struct gather *g)
{
    return g->n_traces == g->want->limit_traces || g->n + SPANS_PER_TRACE > MAX_SPANS;
}

static enum sf_search_go on_match(void *arg, const struct sf_trace_view *v,
                                  const struct sf_spansets *sets, struct sf_arena *tmp)
{
    struct gather *g = arg;
    if (span_set_is_full(g) && !g->want->is_newest && !g->has_sieve)
        return SF_SEARCH_COUNT;
    while (span_set_is_full(g) && g->has_sieve && g->sieve.level < g->sieve.shift) {
        g->sieve.level++;
        span_set_sift(g);
    }
    g->has_more = span_set_is_full(g);
    if (g->has_more)
        return SF_SEARCH_STOP;
    if (!span_set_is_wanted(g, v->start_ns))
        return SF_SEARCH_ON;
    span_set_take(g, v, sets);
    if (g->want->keep)
        sf_link_keep_add(g->want->keep, v, tmp);
    return SF_SEARCH_ON;
}

/* There are too many traces. Chooses windows according to their number if that is close to the
 * truth; the level is raised again if there are still too many. */
static void on_count(void *arg, const struct sf_trace_count *all)
{
    struct gather *g = arg;
    g->all = *all;
    g->has_sieve = true;
    g->sieve = sf_time_sieve_make(all->n > 0 ? all->to_ns - all->from_ns : 0, MIN_SLICES);
    while (all->is_close && g->sieve.level < g->sieve.shift &&
           all->n >> g->sieve.level > g->want->limit_traces)
        g->sieve.level++;
    span_set_sift(g);
}

enum sf_err sf_span_set_find(struct sf_store *store, const struct sf_span_set_want *want,
                             struct sf_query_ctx *q, struct sf_span_set *out, struct sf_why *why)
{
    struct gather g = {.want = want, .first_kept = want->keep ? want->keep->n_traces : 0};
    struct sf_search search = {.from_ns = want->from_ns,
                               .to_ns = want->to_ns,
                               .limit = want->limit_traces,
                               .on_match = on_match,
                               .on_count = on_count,
                               .is_wanted = want->is_newest ? NULL : span_set_is_wanted,
                               .match_arg = &g,
                               .scratch = want->scratch};
    struct sf_search_result found = {0};
    struct sf_span_set set = {.one_of = 1};
    enum sf_err err = sf_query_parse(want->query, q->req, &search.query, NULL, why);
    if (err) {
        sf_why_prefix(why, "invalid TraceQL query");
        return SF_ERR_INPUT;
    }
    /* Not zeroed: only used pages of the reserved memory cost anything. */
    g.traces = sf_arena_raw(q->req, ((size_t)want->limit_traces + 1) * sizeof(*g.traces), 16);
    g.spans = sf_arena_raw(q->req, MAX_SPANS * sizeof(*g.spans), 16);
    if (!g.traces || !g.spans)
        return sf_no_room(why, "the query");
    err = sf_search_run(store, &search, q, &found, why);
    if (err)
        return err;
    for (uint32_t i = 0; i < g.n_traces; i++)
        set.n_cut += g.traces[i].n_cut;
    set.spans = g.spans;
    set.n = g.n;
    if (g.has_sieve && g.sieve.level > 0)
        set.one_of = g.all.is_close && g.n_traces > 0 ? (double)g.all.n / g.n_traces
                                                      : ldexp(1, (int)g.sieve.level);
    set.note = found.is_partial ? found.note
               : g.has_more     ? SF_STR("there are more: these are of the newest traces")
               : set.n_cut > 0  ? SF_STR("at most 100 spans of a trace are used")
                                : SF_STR_NONE;
    *out = set;
    return SF_OK;
}

uint64_t sf_span_set_found(const struct sf_span_set *set)
{
    double n = (double)(set->n + set->n_cut) * set->one_of;
    double unit = set->one_of > 1 && n >= 1000 ? pow(10, floor(log10(n)) - 2) : 1;
    return (uint64_t)(round(n / unit) * unit); /* three digits are enough for an estimate */
}

static int span_set_by_trace(const void *a, const void *b)
{
    const struct sf_set_span *x = a, *y = b;
    int order = sf_trace_id_cmp(x->trace, y->trace);
    return order ? order : (x->id > y->id) - (x->id < y->id);
}

void sf_span_set_sort(struct sf_span_set *set)
{
    uint32_t n = 0;
    if (set->n > 0)
        qsort(set->spans, set->n, sizeof(*set->spans), span_set_by_trace);
    for (uint32_t i = 0; i < set->n; i++)
        if (n == 0 || span_set_by_trace(&set->spans[n - 1], &set->spans[i]) != 0)
            set->spans[n++] = set->spans[i];
    set->n = n;
}

bool sf_span_set_thin(struct sf_span_set *set, uint32_t most, struct sf_arena *req)
{
    if (set->n <= most)
        return true;
    uint64_t *ids = sf_arena_new_n(req, set->n, sizeof(*ids));
    uint32_t *kept = sf_arena_new_n(req, set->n, sizeof(*kept));
    if (!ids || !kept)
        return false;
    for (uint32_t i = 0; i < set->n; i++)
        ids[i] = sf_trace_id_hash(set->spans[i].trace, 0) ^ set->spans[i].id;
    uint32_t n = sf_cohort_thin(ids, set->n, most, kept);
    for (uint32_t i = 0; i < n; i++)
        set->spans[i] = set->spans[kept[i]];
    set->n = n;
    return true;
}

struct sf_set_cut sf_span_set_cut(const struct sf_span_set *set, uint64_t n_found, uint64_t n_used)
{
    return (struct sf_set_cut){n_found, n_used, set->one_of > 1, set->note};
}

bool sf_span_set_cut_is_sample(const struct sf_set_cut *c)
{
    return c->n_used < c->n_found || c->note.len > 0;
}

bool sf_span_set_cut_note(const struct sf_set_cut *c, sf_str of, struct sf_arena *req, sf_str *out)
{
    struct sf_buf text = {0};
    if (c->n_used < c->n_found)
        sf_buf_print(&text,
                     "%.*sa sample: %llu of %s%llu spans, selected evenly over the time range, the "
                     "same ones for the same query",
                     SF_STR_ARG(of), (unsigned long long)c->n_used, c->is_estimate ? "~" : "",
                     (unsigned long long)c->n_found);
    if (c->note.len > 0)
        sf_buf_print(&text, "%.*s%.*s", SF_STR_ARG(text.len ? SF_STR("; ") : of),
                     SF_STR_ARG(c->note));
    bool is_kept = sf_buf_ok(&text) && sf_arena_copy(req, sf_buf_str(&text), out);
    sf_buf_done(&text);
    return is_kept;
}

bool sf_span_set_of_service(sf_str service, struct sf_arena *req, sf_str *out_query)
{
    struct sf_buf text = {0};
    sf_buf_add_str(&text, SF_STR("{ resource.service.name = "));
    sf_expr_text_static((struct sf_static){SF_TYPE_STRING, {.str = service}}, &text);
    sf_buf_add_str(&text, SF_STR(" }"));
    bool is_kept = sf_buf_ok(&text) && sf_arena_copy(req, sf_buf_str(&text), out_query);
    sf_buf_done(&text);
    return is_kept;
}

uint32_t sf_span_set_traces(const struct sf_span_set *set, struct sf_trace_ask *out, uint32_t most)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < set->n && n < most; i++)
        if (i == 0 || !sf_trace_id_eq(set->spans[i].trace, set->spans[i - 1].trace))
            out[n++] = (struct sf_trace_ask){.id = set->spans[i].trace};
    return n;
}

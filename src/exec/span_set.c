/* span_set.c - the spans a TraceQL query picks, as a plain list. */
#include "exec/span_set.h"

#include <stdlib.h>

#include "exec/no_room.h"
#include "link/cohort.h"
#include "query/attr_text.h"
#include "query/query_parse.h"

enum { SPANS_PER_SET = 100 };

static uint64_t count_spans(const struct sf_search_result *found, bool *out_is_cut)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < found->n_traces; i++) {
        for (uint32_t k = 0; k < found->traces[i].n_sets; k++) {
            const struct sf_found_set *set = &found->traces[i].sets[k];
            n += set->n_spans;
            *out_is_cut = *out_is_cut || set->n_matched > set->n_spans;
        }
    }
    return n;
}

static void keep_trace(void *arg, const struct sf_trace_view *v, struct sf_arena *tmp)
{
    sf_link_keep_add(arg, v, tmp);
}

enum sf_err sf_span_set_find(struct sf_store *store, const struct sf_span_set_want *want,
                             struct sf_query_ctx *q, struct sf_span_set *out, struct sf_why *why)
{
    struct sf_search search = {.from_ns = want->from_ns,
                               .to_ns = want->to_ns,
                               .limit = want->limit_traces,
                               .spans_per_set = SPANS_PER_SET,
                               .on_trace = want->keep ? keep_trace : NULL,
                               .trace_arg = want->keep,
                               .scratch = want->scratch};
    struct sf_search_result found = {0};
    struct sf_span_set set = {0};
    enum sf_err err = sf_query_parse(want->query, q->req, &search.query, NULL, why);
    if (err) {
        sf_why_prefix(why, "invalid TraceQL query");
        return SF_ERR_INPUT;
    }
    err = sf_search_run(store, &search, q, &found, why);
    if (err)
        return err;
    bool is_cut = false;
    uint64_t n = count_spans(&found, &is_cut);
    set.note = found.is_partial ? found.note
               : found.n_traces == want->limit_traces
                   ? SF_STR("there are more: these are of the newest traces")
               : is_cut ? SF_STR("of a trace at most 100 spans are taken")
                        : SF_STR_NONE;
    set.spans = sf_arena_new_n(q->req, n + 1, sizeof(*set.spans));
    if (!set.spans || n > UINT32_MAX)
        return sf_exec_no_room(why);
    for (uint32_t i = 0; i < found.n_traces; i++) {
        const struct sf_found_trace *t = &found.traces[i];
        for (uint32_t k = 0; k < t->n_sets; k++)
            for (uint32_t m = 0; m < t->sets[k].n_spans; m++)
                set.spans[set.n++] = (struct sf_set_span){t->id, t->sets[k].spans[m].id,
                                                          t->sets[k].spans[m].start_ns,
                                                          t->sets[k].spans[m].duration_ns};
    }
    *out = set;
    return SF_OK;
}

static int by_trace(const void *a, const void *b)
{
    const struct sf_set_span *x = a, *y = b;
    int order = sf_trace_id_cmp(x->trace, y->trace);
    return order ? order : (x->id > y->id) - (x->id < y->id);
}

void sf_span_set_sort(struct sf_span_set *set)
{
    uint32_t n = 0;
    if (set->n > 0)
        qsort(set->spans, set->n, sizeof(*set->spans), by_trace);
    for (uint32_t i = 0; i < set->n; i++)
        if (n == 0 || by_trace(&set->spans[n - 1], &set->spans[i]) != 0)
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
    return (struct sf_set_cut){n_found, n_used, set->note};
}

bool sf_set_cut_is_sample(const struct sf_set_cut *c)
{
    return c->n_used < c->n_found || c->note.len > 0;
}

bool sf_set_cut_note(const struct sf_set_cut *c, const char *of, struct sf_arena *req, sf_str *out)
{
    struct sf_buf text = {0};
    if (c->n_used < c->n_found)
        sf_buf_print(&text,
                     "%sa sample: %llu of %llu spans, drawn evenly by a hash of their ids, the "
                     "same ones whenever this is asked",
                     of, (unsigned long long)c->n_used, (unsigned long long)c->n_found);
    if (c->note.len > 0)
        sf_buf_print(&text, "%s%.*s", text.len ? "; " : of, SF_STR_ARG(c->note));
    bool is_kept = sf_buf_ok(&text) && sf_arena_copy(req, sf_buf_str(&text), out);
    sf_buf_done(&text);
    return is_kept;
}

bool sf_span_set_of_service(sf_str service, struct sf_arena *req, sf_str *out_query)
{
    struct sf_buf text = {0};
    sf_buf_add_str(&text, SF_STR("{ resource.service.name = "));
    sf_static_text((struct sf_static){SF_TYPE_STRING, {.str = service}}, &text);
    sf_buf_add_str(&text, SF_STR(" }"));
    bool is_kept = sf_buf_ok(&text) && sf_arena_copy(req, sf_buf_str(&text), out_query);
    sf_buf_done(&text);
    return is_kept;
}

#include "join/trace_profile_ids.h"

#include <stdlib.h>
#include <string.h>

#include "base/time_unit.h"

#define AROUND_NS (900 * SF_NS_PER_S) /* profiles cover minutes, and arrive late */

static int order_service(const void *service, const void *series)
{
    return sf_str_cmp(*(const sf_str *)service, ((const struct sf_series *)series)->service);
}

/* The series are sorted by service. */
static bool *find_services(const struct sf_prof_list *list, const struct sf_span_batch *b,
                           struct sf_arena *req)
{
    bool *has = sf_arena_new_n(req, b->n_resources + 1u, sizeof(*has));
    for (uint32_t i = 0; has && i < b->n_resources; i++)
        has[i] = bsearch(&b->resources[i].service, list->series, list->n, sizeof(*list->series),
                         order_service) != NULL;
    return has;
}

static bool trace_profile_ids_add(struct sf_span *s, struct sf_arena *req)
{
    const sf_str key = SF_STR("pyroscope.profile.id");
    struct sf_attr *attrs;
    char id[17];
    sf_str text;
    if (sf_attrs_get(s->attrs, key).type != SF_VALUE_NONE)
        return true;
    sf_span_id_render(s->span_id, id);
    attrs = sf_arena_new_n(req, s->attrs.n + 1u, sizeof(*attrs));
    if (!attrs || !sf_arena_copy(req, sf_str_from(id), &text))
        return false;
    if (s->attrs.n)
        memcpy(attrs, s->attrs.list, s->attrs.n * sizeof(*attrs));
    attrs[s->attrs.n] = (struct sf_attr){key, {.type = SF_VALUE_STR, .str = text}};
    s->attrs = (struct sf_attrs){attrs, s->attrs.n + 1u};
    return true;
}

static struct sf_prof_query around(const struct sf_span_batch *b)
{
    struct sf_prof_query ask = {.from_ns = INT64_MAX, .to_ns = 1, .select = SF_PROF_OVERLAP};
    for (uint32_t i = 0; i < b->n_spans; i++) {
        const struct sf_span *s = &b->spans[i];
        int64_t start_ns = s->start_ns < INT64_MAX ? (int64_t)s->start_ns : INT64_MAX;
        int64_t end_ns = s->end_ns < INT64_MAX ? (int64_t)s->end_ns : INT64_MAX;
        ask.from_ns = start_ns < ask.from_ns ? start_ns : ask.from_ns;
        ask.to_ns = end_ns > ask.to_ns ? end_ns : ask.to_ns;
    }
    ask.from_ns = ask.from_ns > AROUND_NS ? ask.from_ns - AROUND_NS : 1;
    ask.to_ns = ask.to_ns < INT64_MAX - AROUND_NS ? ask.to_ns + AROUND_NS : INT64_MAX;
    return ask;
}

enum sf_err sf_trace_profile_ids_add(struct sf_store *store, struct sf_query_ctx *q,
                                     struct sf_trace *trace, struct sf_why *why)
{
    const struct sf_span_batch *b = &trace->spans;
    struct sf_prof_query ask = around(b);
    struct sf_prof_list list;
    bool is_exact = q->is_exact;
    if (b->n_spans == 0)
        return SF_OK;
    enum sf_err err = store->ops->prof_list(store, &ask, q, &list, why);
    q->is_exact = is_exact; /* the answer's exactness is that of the spans */
    if (err || list.n == 0)
        return err == SF_ERR_LIMIT ? SF_OK : err;
    const bool *has = find_services(&list, b, q->req);
    struct sf_span *spans = sf_arena_new_n(q->req, b->n_spans + 1u, sizeof(*spans));
    if (!has || !spans)
        return SF_OK;
    memcpy(spans, b->spans, b->n_spans * sizeof(*spans));
    for (uint32_t i = 0; i < b->n_spans; i++)
        if (has[spans[i].resource] && !trace_profile_ids_add(&spans[i], q->req))
            return SF_OK;
    trace->spans.spans = spans;
    return SF_OK;
}

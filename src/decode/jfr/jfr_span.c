/* async-profiler's spans: intervals on a thread with a tag, which own the samples inside them. */
#include <stdlib.h>

#include "base/num.h"
#include "decode/jfr/jfr.h"

struct span {
    uint64_t thread;
    int64_t start_ns, end_ns;
    sf_trace_id trace_id;
    sf_span_id span_id;
};

/* A tag is any text chosen by the user; if it contains ids in the form of a traceparent
 * ("00-<32>-<16>-01", or any part of that), the samples belong to that span. */
static bool ids_of_tag(sf_str tag, struct span *out)
{
    sf_str part;
    while (sf_str_split_next(&tag, '-', &part)) {
        if (part.len == 32 && !sf_trace_id_parse(part, &out->trace_id))
            return false;
        if (part.len == 16 && !sf_span_id_parse(part, &out->span_id))
            return false;
    }
    return out->span_id != 0;
}

void sf_jfr_span_take(struct sf_jfr *r, const struct sf_jfr_values *v, const struct sf_sample *at)
{
    struct span s = {.thread = at->thread, .start_ns = at->start_ns}, *to;
    sf_str tag = sf_jfr_pool_text_of(r, &v->name, &r->scratch);
    s.end_ns = sf_add_sat_i64(s.start_ns, v->v[SF_JFR_DURATION]);
    if (!at->has_time || !s.thread || !ids_of_tag(tag, &s))
        return;
    to = sf_jfr_meta_list_more(r, &r->spans, sizeof(*to));
    if (!to)
        return;
    *to = s;
    r->spans.n++;
}

static int jfr_span_by_start(const void *x, const void *y)
{
    const struct span *a = x, *b = y;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* The innermost span around a time is the last that began before it; nesting is rarely deep. */
static const struct span *span_around(const struct span *spans, uint32_t n,
                                      const struct sf_sample *s)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        bool is_before = spans[mid].thread < s->thread ||
                         (spans[mid].thread == s->thread && spans[mid].start_ns <= s->start_ns);
        if (is_before)
            low = mid + 1;
        else
            high = mid;
    }
    for (uint32_t i = 0; i < 64 && low > 0; i++) {
        const struct span *at = &spans[--low];
        if (at->thread != s->thread)
            break;
        if (s->start_ns < at->end_ns)
            return at;
    }
    return NULL;
}

void sf_jfr_spans_join(struct sf_jfr *r, uint32_t from)
{
    struct sf_sample *samples = r->b->samples.items;
    if (!r->spans.n || r->b->is_full)
        return;
    qsort(r->spans.items, r->spans.n, sizeof(struct span), jfr_span_by_start);
    for (uint32_t i = from; i < r->b->samples.n; i++) {
        const struct span *s = samples[i].span_id || !samples[i].has_time
                                   ? NULL
                                   : span_around(r->spans.items, r->spans.n, &samples[i]);
        if (!s)
            continue;
        samples[i].span_id = s->span_id;
        samples[i].trace_id = s->trace_id;
    }
}

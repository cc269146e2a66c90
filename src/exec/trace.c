/* trace.c - assembles the spans of one trace.
 *
 * Three steps over the spans in place, each with tables in the remaining memory of the arena: one
 * copy of each (span id, kind), new ids for server spans that share their client's, and sorting by
 * resource, scope and time. */
#include "exec/trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/num.h"
#include "base/table.h"

/* ---- one copy of each span ---- */

/* Keeps the better copy of each (span id, kind); returns how many are left. */
static bool merge_duplicates(struct sf_span *spans, uint32_t *n_spans, struct sf_arena scratch)
{
    struct sf_table kept = {.arena = &scratch};
    uint32_t n_kept = 0;
    if (!sf_table_reset(&kept, *n_spans))
        return false;
    for (uint32_t i = 0; i < *n_spans; i++) {
        struct sf_table_lookup lookup = sf_table_lookup(
            &kept, sf_key_mix(sf_key_u64(spans[i].span_id), spans[i].kind));
        struct sf_span *same = NULL;
        uint32_t at;
        while (!same && sf_table_next(&lookup, &at)) {
            if (spans[at].span_id == spans[i].span_id && spans[at].kind == spans[i].kind)
                same = &spans[at];
        }
        if (!same) {
            sf_table_keep(&kept, &lookup, n_kept);
            spans[n_kept++] = spans[i];
        } else if (sf_span_is_better(same, &spans[i])) {
            *same = spans[i];
        }
    }
    *n_spans = n_kept;
    return true;
}

/* ---- Zipkin's shared ids ---- */

struct repair {
    struct sf_span *spans;
    uint32_t n_spans;
    struct sf_table at; /* by span id: at most as many of one id as there are kinds */
};

static struct sf_span *trace_find_kind(struct repair *r, sf_span_id id, uint8_t kind)
{
    struct sf_table_lookup lookup = sf_table_lookup(&r->at, sf_key_u64(id));
    uint32_t at;
    while (sf_table_next(&lookup, &at)) {
        if (r->spans[at].span_id == id && r->spans[at].kind == kind)
            return &r->spans[at];
    }
    return NULL;
}

static bool trace_is_taken(struct repair *r, sf_span_id id)
{
    struct sf_table_lookup lookup = sf_table_lookup(&r->at, sf_key_u64(id));
    uint32_t at;
    while (sf_table_next(&lookup, &at)) {
        if (r->spans[at].span_id == id)
            return true;
    }
    return false;
}

/* The new ids of a trace are the same at every read, so that links to such spans stay valid. */
static sf_span_id fresh_id(struct repair *r, sf_span_id shared)
{
    sf_span_id id = sf_hash_mix(shared, SF_KIND_SERVER);
    while (id == 0 || trace_is_taken(r, id))
        id = sf_hash_mix(id, shared);
    return id;
}

static bool repair_shared_ids(struct sf_span *spans, uint32_t n_spans, struct sf_arena scratch,
                              uint64_t *out_n_repaired)
{
    struct repair r = {.spans = spans, .n_spans = n_spans, .at = {.arena = &scratch}};
    sf_span_id *fresh = sf_arena_new_n(&scratch, n_spans, sizeof(*fresh));
    if (!fresh || !sf_table_reset(&r.at, n_spans))
        return false;
    for (uint32_t i = 0; i < n_spans; i++) {
        struct sf_table_lookup lookup = sf_table_lookup(&r.at, sf_key_u64(spans[i].span_id));
        uint32_t other;
        while (sf_table_next(&lookup, &other)) {
            /* to the end, where the span is added */
        }
        sf_table_keep(&r.at, &lookup, i);
    }
    for (uint32_t i = 0; i < n_spans; i++) {
        if (spans[i].kind == SF_KIND_SERVER &&
            trace_find_kind(&r, spans[i].span_id, SF_KIND_CLIENT)) {
            fresh[i] = fresh_id(&r, spans[i].span_id);
            ++*out_n_repaired;
        }
    }
    if (!*out_n_repaired)
        return true;
    for (uint32_t i = 0; i < n_spans; i++) { /* children first, while shared ids are unchanged */
        struct sf_span *server = trace_find_kind(&r, spans[i].parent_id, SF_KIND_SERVER);
        struct sf_span *client = trace_find_kind(&r, spans[i].parent_id, SF_KIND_CLIENT);
        if (!server || !client || server == &spans[i] || client == &spans[i])
            continue;
        bool is_of_client = spans[i].resource == client->resource &&
                            spans[i].resource != server->resource;
        if (!is_of_client)
            spans[i].parent_id = fresh[server - spans];
    }
    for (uint32_t i = 0; i < n_spans; i++) {
        if (fresh[i]) {
            spans[i].parent_id = spans[i].span_id;
            spans[i].span_id = fresh[i];
        }
    }
    return true;
}

/* ---- order ---- */

struct sort_key {
    uint64_t resource_start_ns, group_start_ns;
    const struct sf_span *span;
};

static int trace_cmp_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_group_and_start(const void *a, const void *b)
{
    const struct sf_span *x = ((const struct sort_key *)a)->span;
    const struct sf_span *y = ((const struct sort_key *)b)->span;
    int order = trace_cmp_u64(x->resource, y->resource);
    order = order ? order : trace_cmp_u64(x->scope, y->scope);
    order = order ? order : trace_cmp_u64(x->start_ns, y->start_ns);
    order = order ? order : trace_cmp_u64(x->span_id, y->span_id);
    return order ? order : trace_cmp_u64(x->kind, y->kind);
}

static int trace_by_time(const void *a, const void *b)
{
    const struct sort_key *x = a, *y = b;
    int order = trace_cmp_u64(x->resource_start_ns, y->resource_start_ns);
    order = order ? order : trace_cmp_u64(x->span->resource, y->span->resource);
    order = order ? order : trace_cmp_u64(x->group_start_ns, y->group_start_ns);
    return order ? order : by_group_and_start(a, b);
}

/* Moves every span to the position of its key, cycle by cycle of the permutation. */
static void move_to_keys(struct sf_span *spans, struct sort_key *keys, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct sf_span first = spans[i];
        uint32_t at = i;
        while (keys[at].span) {
            uint32_t from = (uint32_t)(keys[at].span - spans);
            keys[at].span = NULL;
            spans[at] = from == i ? first : spans[from];
            at = from;
        }
    }
}

static bool order_by_time(struct sf_span *spans, uint32_t n_spans, uint32_t n_resources,
                          struct sf_arena scratch)
{
    struct sort_key *keys = sf_arena_new_n(&scratch, n_spans, sizeof(*keys));
    uint64_t *resource_start_ns = sf_arena_new_n(&scratch, n_resources, sizeof(uint64_t));
    if (!keys || !resource_start_ns)
        return false;
    for (uint32_t i = 0; i < n_resources; i++)
        resource_start_ns[i] = UINT64_MAX;
    for (uint32_t i = 0; i < n_spans; i++) {
        uint64_t *at = &resource_start_ns[spans[i].resource];
        *at = spans[i].start_ns < *at ? spans[i].start_ns : *at;
        keys[i].span = &spans[i];
    }
    qsort(keys, n_spans, sizeof(*keys), by_group_and_start);
    for (uint32_t i = 0; i < n_spans; i++) {
        const struct sf_span *s = keys[i].span, *before = i ? keys[i - 1].span : NULL;
        bool is_new = !before || before->resource != s->resource || before->scope != s->scope;
        keys[i].resource_start_ns = resource_start_ns[s->resource];
        keys[i].group_start_ns = is_new ? s->start_ns : keys[i - 1].group_start_ns;
    }
    qsort(keys, n_spans, sizeof(*keys), trace_by_time);
    move_to_keys(spans, keys, n_spans);
    return true;
}

enum sf_err sf_trace_assemble(struct sf_span *spans, uint32_t n_spans,
                              const struct sf_resource *resources, uint32_t n_resources,
                              const struct sf_scope *scopes, uint32_t n_scopes,
                              struct sf_arena *req, struct sf_trace *out, struct sf_why *why)
{
    struct sf_trace t = {0};
    if (n_spans > 0 && (!merge_duplicates(spans, &n_spans, *req) ||
                        !repair_shared_ids(spans, n_spans, *req, &t.n_repaired) ||
                        !order_by_time(spans, n_spans, n_resources, *req)))
        return sf_fail(why, SF_ERR_LIMIT, "trace: %u spans do not fit a query's memory", n_spans);
    t.spans = (struct sf_span_batch){resources, scopes, spans, n_resources, n_scopes, n_spans};
    *out = t;
    return SF_OK;
}

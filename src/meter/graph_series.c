#include "meter/graph_series.h"

#include <string.h>

#include "base/heap.h"

bool sf_graph_series_init(struct sf_graph_table *t, uint32_t n_cap)
{
    *t = (struct sf_graph_table){.n_cap = n_cap};
    t->list = sf_heap_new_n(n_cap, sizeof(*t->list));
    if (!t->list || !sf_table_reset(&t->at, n_cap))
        sf_graph_series_done(t);
    return t->list != NULL;
}

void sf_graph_series_done(struct sf_graph_table *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        sf_heap_free(t->list[i].text);
    sf_heap_free(t->list);
    sf_table_done(&t->at);
    *t = (struct sf_graph_table){0};
}

static uint64_t edge_hash(const struct sf_graph_edge *e)
{
    uint64_t hash = sf_key_mix(sf_key_mix(e->client_hash, e->server_hash), e->type);
    return e->tenant.len ? sf_key_mix(hash, sf_key_str(e->tenant)) : hash;
}

static bool edge_eq(const struct sf_graph_edge *a, const struct sf_graph_edge *b)
{
    return a->type == b->type && sf_str_eq(a->client, b->client) &&
           sf_str_eq(a->server, b->server) && sf_str_eq(a->tenant, b->tenant);
}

static size_t edge_len(const struct sf_graph_edge *e)
{
    return e->tenant.len + e->client.len + e->server.len;
}

/* Copies the strings of `e` to `at` and makes it refer to the copies. */
static char *move_text(struct sf_graph_edge *e, char *at)
{
    sf_str *const parts[] = {&e->tenant, &e->client, &e->server};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (parts[i]->len)
            memcpy(at, parts[i]->p, parts[i]->len);
        parts[i]->p = at;
        at += parts[i]->len;
    }
    return at;
}

struct sf_graph_series *sf_graph_series_get(struct sf_graph_table *t,
                                            const struct sf_graph_edge *edge)
{
    uint64_t hash = edge_hash(edge);
    struct sf_table_lookup lookup = sf_table_lookup(&t->at, hash);
    uint32_t at;
    while (sf_table_next(&lookup, &at)) {
        if (t->list[at].hash == hash && edge_eq(&t->list[at].edge, edge))
            return &t->list[at];
    }
    char *text = t->n < t->n_cap ? sf_heap_new(edge_len(edge) + 1) : NULL;
    if (!text)
        return NULL;
    struct sf_graph_series *s = &t->list[t->n];
    *s = (struct sf_graph_series){.edge = *edge, .text = text, .hash = hash};
    move_text(&s->edge, text);
    for (size_t side = 0; side < SF_GRAPH_SIDES; side++) {
        for (size_t i = 0; i < SF_GRAPH_BUCKETS; i++)
            s->times[side].exemplars[i].value_s = -1;
    }
    t->text_len += edge_len(edge);
    sf_table_keep(&t->at, &lookup, t->n++);
    return s;
}

uint64_t sf_graph_series_prefetch(const struct sf_graph_table *t, const struct sf_graph_edge *edge)
{
    uint64_t hash = edge_hash(edge);
    sf_table_prefetch(&t->at, hash);
    return hash;
}

void sf_graph_series_prefetch_entry(const struct sf_graph_table *t, uint64_t hash)
{
    uint32_t at;
    if (!sf_table_peek(&t->at, hash, &at))
        return;
    __builtin_prefetch(&t->list[at], 1);
    __builtin_prefetch(&t->list[at].hash, 1);
    __builtin_prefetch(&t->list[at].times[SF_GRAPH_SERVER], 1);
    __builtin_prefetch(&t->list[at].times[SF_GRAPH_CLIENT], 1);
}

uint32_t sf_graph_series_drop_stale(struct sf_graph_table *t, int64_t before_ns)
{
    uint32_t n_kept = 0, n_before = t->n;
    for (uint32_t i = 0; i < t->n; i++) {
        if (t->list[i].seen_ns >= before_ns) {
            t->list[n_kept++] = t->list[i];
            continue;
        }
        t->text_len -= edge_len(&t->list[i].edge);
        sf_heap_free(t->list[i].text);
    }
    t->n = n_kept;
    if (n_kept == n_before)
        return 0;
    sf_table_clear(&t->at);
    for (uint32_t i = 0; i < t->n; i++)
        sf_table_put(&t->at, t->list[i].hash, i);
    return n_before - n_kept;
}

size_t sf_graph_series_copy_len(const struct sf_graph_table *t)
{
    return t->n * sizeof(*t->list) + t->text_len + 1;
}

struct sf_graph_series *sf_graph_series_copy(const struct sf_graph_table *t, void *room)
{
    struct sf_graph_series *list = room;
    char *at = (char *)room + t->n * sizeof(*list);
    for (uint32_t i = 0; i < t->n; i++) {
        list[i] = t->list[i];
        at = move_text(&list[i].edge, at);
    }
    return list;
}

void sf_graph_series_times_add(struct sf_graph_times *times, uint64_t duration_ns,
                               sf_trace_id trace_id, int64_t now_ns)
{
    size_t i = 0;
    while (i < SF_GRAPH_BUCKETS - 1 && duration_ns > (uint64_t)100000000 << i)
        i++;
    times->n++;
    times->sum_ns += duration_ns;
    times->buckets[i]++;
    times->exemplars[i] = (struct sf_exemplar){trace_id, (double)duration_ns / 1e9, now_ns};
}

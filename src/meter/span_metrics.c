/* span_metrics.c - calls, errors and durations per service and operation.
 *
 * Series are in one array of fixed-size rows with a hash table of their indexes. A scrape copies
 * all of it under the lock (at most a megabyte, well under a millisecond) and writes the text from
 * the copy, so that ingest threads never wait for formatting. */
#include "meter/span_metrics.h"

#include <string.h>

#include "base/heap.h"
#include "base/invariant.h"
#include "base/key.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/num.h"
#include "base/text.h"
#include "base/time_unit.h"
#include "meter/dimension.h"
#include "meter/slack.h"
#include "meter/target_info.h"
#include "os/thread.h"

enum {
    N_BOUNDS = SF_SPAN_METRIC_BUCKETS - 1,
    MAX_LABEL_LEN = 256, /* each series repeats its labels in 18 lines */
    STEP = 16,           /* rows of a tally that are prefetched together */
};

static const double bounds[N_BOUNDS] = {0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128,
                                        0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384};

static uint8_t span_metrics_bucket_of(uint64_t duration_ns)
{
    uint8_t i = 0;
    while (i < N_BOUNDS && duration_ns > (uint64_t)2000000 << i)
        i++;
    return i;
}

/* ---- the size a span has as protobuf ---- */

static uint64_t varint_len(uint64_t v)
{
    return v < 128 ? 1 : (uint64_t)(64 - __builtin_clzll(v) + 6) / 7;
}

/* length of a field: tag (one byte, or two from field 16 on), length, content */
static uint64_t field_len(uint64_t len)
{
    return 1 + varint_len(len) + len;
}

static uint64_t str_len(sf_str s)
{
    return s.len ? field_len(s.len) : 0;
}

static uint64_t count_len(uint32_t n)
{
    return n ? 1 + varint_len(n) : 0;
}

static uint64_t value_len(const struct sf_value *v)
{
    switch (v->type) {
    case SF_VALUE_STR:
    case SF_VALUE_BYTES:
    case SF_VALUE_ARRAY:
    case SF_VALUE_KVLIST: return field_len(v->str.len);
    case SF_VALUE_BOOL: return 2;
    case SF_VALUE_INT: return 1 + varint_len((uint64_t)v->i64);
    case SF_VALUE_DOUBLE: return 9;
    default: return 0;
    }
}

static uint64_t attrs_len(struct sf_attrs attrs)
{
    uint64_t len = 0;
    for (uint32_t i = 0; i < attrs.n; i++)
        len += field_len(str_len(attrs.list[i].key) + field_len(value_len(&attrs.list[i].val)));
    return len;
}

static uint64_t span_len(const struct sf_span *s)
{
    uint64_t len = field_len(16) + field_len(8) + (s->parent_id ? field_len(8) : 0);
    len += str_len(s->trace_state) + str_len(s->name) + (s->kind ? 2 : 0) + 9 + 9;
    len += attrs_len(s->attrs) + count_len(s->dropped_attrs) + count_len(s->dropped_events) +
           count_len(s->dropped_links);
    for (uint32_t i = 0; i < s->n_events; i++) {
        const struct sf_event *ev = &s->events[i];
        len += field_len(9 + str_len(ev->name) + attrs_len(ev->attrs) +
                         count_len(ev->dropped_attrs));
    }
    for (uint32_t i = 0; i < s->n_links; i++) {
        const struct sf_link *l = &s->links[i];
        len += field_len(field_len(16) + field_len(8) + str_len(l->trace_state) +
                         attrs_len(l->attrs) + count_len(l->dropped_attrs) + (l->flags ? 5 : 0));
    }
    uint64_t status = str_len(s->status_msg) + (s->status ? 2 : 0);
    return len + (status ? field_len(status) : 0) + (s->flags ? 6 : 0);
}

/* ---- the shared series ---- */

struct series {
    char *text; /* tenant, service, name, dimensions, concatenated; heap */
    uint32_t tenant_len, service_len, name_len, dims_len;
    uint8_t kind, status;
    uint64_t hash;
    int64_t seen_ns;
    uint64_t n_calls, size_len, duration_ns;
    uint64_t buckets[SF_SPAN_METRIC_BUCKETS];
    struct sf_exemplar exemplars[SF_SPAN_METRIC_BUCKETS];
};

struct sf_span_metrics {
    struct sf_span_metrics_config config;
    char labels[SF_DIMENSIONS][SF_DIMENSION_LABEL_LEN]; /* of the dimensions */
    struct sf_mutex mutex;                              /* guards what follows; no other lock is
                                                         * taken while it is held */
    struct series *list;
    struct sf_table at;
    uint32_t n;
    size_t text_len; /* of all series */
    uint64_t n_overflow, n_outside_slack, n_stale;
};

/* ---- a batch's tally ---- */

static sf_str span_metrics_cut(sf_str s)
{
    s.len = sf_utf8_cut(s, MAX_LABEL_LEN);
    return s;
}

static uint64_t key_hash(uint64_t service_hash, sf_str name, uint8_t kind, uint8_t status)
{
    return sf_key_mix(sf_key_mix(service_hash, sf_key_str(name)),
                      (uint64_t)kind << 8 | (uint64_t)status);
}

static bool tally_row_is(const struct sf_span_tally_row *r, uint64_t hash, sf_str service,
                         sf_str dims, const struct sf_span *s)
{
    return r->hash == hash && sf_str_eq(r->dims, dims) && r->kind == s->kind &&
           r->status == s->status && sf_str_eq(r->name, span_metrics_cut(s->name)) &&
           sf_str_eq(r->service, service);
}

static struct sf_span_tally_row *span_metrics_find_row(struct sf_span_tally *t,
                                                       struct sf_arena *req, uint64_t hash,
                                                       sf_str service, sf_str dims,
                                                       const struct sf_span *s)
{
    struct sf_table_lookup lookup;
    uint32_t at;
    t->at.arena = req;
    if (!sf_table_more(&t->at) || !sf_list_room_in(req, &t->rows, t->n_rows, &t->cap_rows, 64))
        return NULL;
    lookup = sf_table_lookup(&t->at, hash);
    while (sf_table_next(&lookup, &at)) {
        if (tally_row_is(&t->rows[at], hash, service, dims, s))
            return &t->rows[at];
    }
    struct sf_span_tally_row *row = &t->rows[t->n_rows];
    *row = (struct sf_span_tally_row){.hash = hash, .kind = s->kind, .status = s->status};
    if (!sf_arena_copy(req, service, &row->service) ||
        !sf_arena_copy(req, span_metrics_cut(s->name), &row->name) ||
        !sf_arena_copy(req, dims, &row->dims))
        return NULL;
    sf_table_keep(&t->at, &lookup, t->n_rows++);
    return row;
}

static bool add_to_bucket(struct sf_span_tally *t, struct sf_arena *req,
                          struct sf_span_tally_row *row, const struct sf_span *s, int64_t now_ns)
{
    uint64_t duration_ns = sf_span_duration_ns(s);
    uint8_t bucket = span_metrics_bucket_of(duration_ns);
    struct sf_span_tally_bucket *b = NULL;
    SF_ASSERT(!row->first_bucket || t->buckets);
    for (uint32_t at = row->first_bucket; at; at = t->buckets[at - 1].next) {
        if (t->buckets[at - 1].bucket == bucket)
            b = &t->buckets[at - 1];
    }
    if (!b) {
        if (!sf_list_room_in(req, &t->buckets, t->n_buckets, &t->cap_buckets, 128))
            return false;
        b = &t->buckets[t->n_buckets++];
        *b = (struct sf_span_tally_bucket){.bucket = bucket, .next = row->first_bucket};
        row->first_bucket = t->n_buckets;
    }
    b->n_spans++;
    b->exemplar = (struct sf_exemplar){s->trace_id, (double)duration_ns / 1e9, now_ns};
    row->n_calls++;
    row->size_len += span_len(s);
    row->duration_ns += duration_ns;
    return true;
}

static void find_dimensions(const struct sf_span_metrics *m, const struct sf_resource *r,
                            const struct sf_span *s, struct sf_buf *out)
{
    sf_buf_reset(out);
    for (size_t i = 0; i < m->config.n_dimensions; i++) {
        sf_str key = sf_str_from(m->config.dimensions[i]);
        struct sf_value v = sf_attrs_get(r->attrs, key);
        if (v.type == SF_VALUE_NONE)
            v = sf_attrs_get(s->attrs, key);
        sf_dimension_add(out, &v);
    }
    if (m->config.has_target)
        sf_target_info_add_names(out, r->attrs);
}

static bool tally_span(const struct sf_span_metrics *m, const struct sf_span_batch *batch,
                       const struct sf_span *s, sf_str service, uint64_t service_hash,
                       int64_t now_ns, struct sf_buf *dims, struct sf_arena *req,
                       struct sf_span_tally *t)
{
    uint64_t hash = key_hash(service_hash, span_metrics_cut(s->name), s->kind, s->status);
    if (m->config.n_dimensions || m->config.has_target) {
        find_dimensions(m, &batch->resources[s->resource], s, dims);
        if (!sf_buf_ok(dims))
            return false;
        hash = sf_key_mix(hash, sf_key_str(sf_buf_str(dims)));
    }
    struct sf_span_tally_row *row = span_metrics_find_row(t, req, hash, service, sf_buf_str(dims),
                                                          s);
    return row && add_to_bucket(t, req, row, s, now_ns);
}

bool sf_span_metrics_tally_add(const struct sf_span_metrics *m, const struct sf_span_batch *batch,
                               int64_t now_ns, struct sf_arena *req, struct sf_span_tally *t)
{
    struct sf_buf dims = {0};
    uint32_t resource = UINT32_MAX;
    sf_str service = SF_STR_NONE;
    uint64_t service_hash = 0;
    bool is_ok = true;
    for (uint32_t i = 0; is_ok && i < batch->n_spans; i++) {
        const struct sf_span *s = &batch->spans[i];
        t->n_spans++;
        if (sf_slack_is_outside(s->end_ns, now_ns, m->config.slack_ns)) {
            t->n_outside_slack++;
            continue;
        }
        if (s->resource != resource) { /* senders group spans by resource: usually the same one */
            resource = s->resource;
            service = span_metrics_cut(batch->resources[resource].service);
            service_hash = sf_key_str(service);
        }
        is_ok = tally_span(m, batch, s, service, service_hash, now_ns, &dims, req, t);
    }
    sf_buf_done(&dims);
    return is_ok;
}

bool sf_span_metrics_tally_make(const struct sf_span_metrics *m, const struct sf_span_batch *batch,
                                int64_t now_ns, struct sf_arena *req, struct sf_span_tally *out)
{
    struct sf_span_tally t = {0};
    bool is_ok = sf_span_metrics_tally_add(m, batch, now_ns, req, &t);
    if (is_ok)
        *out = t;
    return is_ok;
}

/* ---- adding and dropping ---- */

static void span_metrics_name_labels(struct sf_span_metrics *m)
{
    static const char *const own[] = {"service", "span_name",      "span_kind", "status_code",
                                      "tenant",  "status_message", "job",       "instance",
                                      "le",      "traceID"};
    if (m->config.n_dimensions > SF_DIMENSIONS)
        m->config.n_dimensions = SF_DIMENSIONS;
    for (size_t i = 0; i < m->config.n_dimensions; i++)
        sf_dimension_label("", sf_str_from(m->config.dimensions[i]), own,
                           sizeof(own) / sizeof(own[0]), m->labels[i]);
}

struct sf_span_metrics *sf_span_metrics_new(const struct sf_span_metrics_config *config)
{
    struct sf_span_metrics *m = sf_heap_new(sizeof(*m));
    if (!m)
        return NULL;
    if (config)
        m->config = *config;
    if (!m->config.max_series)
        m->config.max_series = SF_LIMIT_METER_SERIES;
    if (!m->config.stale_ns)
        m->config.stale_ns = (int64_t)SF_LIMIT_METER_STALE_MS * SF_NS_PER_MS;
    if (!m->config.slack_ns)
        m->config.slack_ns = (int64_t)SF_LIMIT_METER_SLACK_MS * SF_NS_PER_MS;
    span_metrics_name_labels(m);
    m->list = sf_heap_new_n(m->config.max_series, sizeof(*m->list));
    if (!m->list || !sf_table_reset(&m->at, m->config.max_series)) {
        sf_heap_free(m->list);
        sf_heap_free(m);
        return NULL;
    }
    sf_mutex_init(&m->mutex, SF_LOCK_METER_SPANS);
    return m;
}

void sf_span_metrics_free(struct sf_span_metrics *m)
{
    if (!m)
        return;
    for (uint32_t i = 0; i < m->n; i++)
        sf_heap_free(m->list[i].text);
    sf_mutex_done(&m->mutex);
    sf_table_done(&m->at);
    sf_heap_free(m->list);
    sf_heap_free(m);
}

static sf_str series_tenant(const struct series *s)
{
    return (sf_str){s->text, s->tenant_len};
}
static sf_str series_service(const struct series *s)
{
    return (sf_str){s->text + s->tenant_len, s->service_len};
}
static sf_str series_name(const struct series *s)
{
    return (sf_str){s->text + s->tenant_len + s->service_len, s->name_len};
}
static sf_str series_dims(const struct series *s)
{
    return (sf_str){s->text + s->tenant_len + s->service_len + s->name_len, s->dims_len};
}
static size_t series_text_len(const struct series *s)
{
    return (size_t)s->tenant_len + s->service_len + s->name_len + s->dims_len;
}

static struct series *span_metrics_add_series(struct sf_span_metrics *m, sf_str tenant,
                                              uint64_t hash, const struct sf_span_tally_row *row)
{
    if (m->n == m->config.max_series)
        return NULL;
    size_t len = tenant.len + row->service.len + row->name.len + row->dims.len;
    char *text = sf_heap_new(len + 1);
    if (!text)
        return NULL;
    struct series *s = &m->list[m->n];
    *s = (struct series){.text = text,
                         .tenant_len = sf_u32(tenant.len),
                         .service_len = sf_u32(row->service.len),
                         .name_len = sf_u32(row->name.len),
                         .dims_len = sf_u32(row->dims.len),
                         .kind = row->kind,
                         .status = row->status,
                         .hash = hash};
    const sf_str parts[] = {tenant, row->service, row->name, row->dims};
    for (size_t i = 0, at = 0; i < 4; at += parts[i++].len) {
        if (parts[i].len)
            memcpy(text + at, parts[i].p, parts[i].len);
    }
    for (size_t i = 0; i < SF_SPAN_METRIC_BUCKETS; i++)
        s->exemplars[i].value_s = -1;
    m->text_len += len;
    sf_table_put(&m->at, hash, m->n++);
    return s;
}

static struct series *span_metrics_find_series(struct sf_span_metrics *m, sf_str tenant,
                                               const struct sf_span_tally_row *row, uint64_t hash)
{
    struct sf_table_lookup lookup = sf_table_lookup(&m->at, hash);
    uint32_t at;
    while (sf_table_next(&lookup, &at)) {
        struct series *s = &m->list[at];
        if (s->hash == hash && s->kind == row->kind && s->status == row->status &&
            sf_str_eq(series_name(s), row->name) && sf_str_eq(series_service(s), row->service) &&
            sf_str_eq(series_tenant(s), tenant) && sf_str_eq(series_dims(s), row->dims))
            return s;
    }
    return span_metrics_add_series(m, tenant, hash, row);
}

/* The series are larger than the cache: what the next rows change is prefetched in steps, each of
 * which needs the memory that the one before prefetched. */
static void span_metrics_prefetch(const struct sf_span_metrics *m,
                                  const struct sf_span_tally *tally, uint32_t first, uint32_t n,
                                  uint64_t tenant_hash, uint64_t *out_hashes)
{
    const struct series *found[STEP];
    for (uint32_t i = 0; i < n; i++) {
        out_hashes[i] = sf_key_mix(tally->rows[first + i].hash, tenant_hash);
        sf_table_prefetch(&m->at, out_hashes[i]);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t place;
        found[i] = sf_table_peek(&m->at, out_hashes[i], &place) ? &m->list[place] : NULL;
        if (!found[i])
            continue;
        __builtin_prefetch(found[i], 1);
        __builtin_prefetch(&found[i]->n_calls, 1);
        for (uint32_t at = tally->rows[first + i].first_bucket; at;
             at = tally->buckets[at - 1].next) {
            __builtin_prefetch(&found[i]->buckets[tally->buckets[at - 1].bucket], 1);
            __builtin_prefetch(&found[i]->exemplars[tally->buckets[at - 1].bucket], 1);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (found[i])
            __builtin_prefetch(found[i]->text);
    }
}

static void span_metrics_add_row(struct sf_span_metrics *m, sf_str tenant,
                                 const struct sf_span_tally *tally,
                                 const struct sf_span_tally_row *row, uint64_t hash, int64_t now_ns)
{
    struct series *s = span_metrics_find_series(m, tenant, row, hash);
    if (!s) {
        m->n_overflow += row->n_calls;
        return;
    }
    s->seen_ns = now_ns;
    s->n_calls += row->n_calls;
    s->size_len += row->size_len;
    s->duration_ns += row->duration_ns;
    for (uint32_t at = row->first_bucket; at; at = tally->buckets[at - 1].next) {
        const struct sf_span_tally_bucket *b = &tally->buckets[at - 1];
        s->buckets[b->bucket] += b->n_spans;
        s->exemplars[b->bucket] = b->exemplar;
    }
}

void sf_span_metrics_add(struct sf_span_metrics *m, sf_str tenant,
                         const struct sf_span_tally *tally, int64_t now_ns)
{
    uint64_t hashes[STEP], tenant_hash = sf_key_str(tenant);
    sf_mutex_lock(&m->mutex);
    m->n_outside_slack += tally->n_outside_slack;
    for (uint32_t first = 0; first < tally->n_rows; first += STEP) {
        uint32_t n = tally->n_rows - first < STEP ? tally->n_rows - first : STEP;
        span_metrics_prefetch(m, tally, first, n, tenant_hash, hashes);
        for (uint32_t i = 0; i < n; i++)
            span_metrics_add_row(m, tenant, tally, &tally->rows[first + i], hashes[i], now_ns);
    }
    sf_mutex_unlock(&m->mutex);
}

static void span_metrics_drop_stale(struct sf_span_metrics *m, int64_t now_ns)
{
    uint32_t n_kept = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        struct series *s = &m->list[i];
        if (now_ns - s->seen_ns > m->config.stale_ns) {
            m->text_len -= series_text_len(s);
            m->n_stale++;
            sf_heap_free(s->text);
        } else {
            m->list[n_kept++] = *s;
        }
    }
    if (n_kept == m->n)
        return;
    m->n = n_kept;
    sf_table_clear(&m->at);
    for (uint32_t i = 0; i < m->n; i++)
        sf_table_put(&m->at, m->list[i].hash, i);
}

struct snapshot {
    struct series *list; /* heap; texts follow the rows in the same block */
    uint32_t n;
    uint64_t n_overflow, n_outside_slack, n_stale;
};

/* Copies everything. Memory is allocated outside the lock, so it may be too little when the lock is
 * taken again; then it is tried again. */
static bool span_metrics_take_snapshot(struct sf_span_metrics *m, int64_t now_ns,
                                       struct snapshot *out)
{
    size_t cap = 0;
    char *block = NULL;
    for (;;) {
        sf_mutex_lock(&m->mutex);
        span_metrics_drop_stale(m, now_ns);
        size_t need = m->n * sizeof(struct series) + m->text_len + 1;
        if (block && need <= cap)
            break;
        sf_mutex_unlock(&m->mutex);
        sf_heap_free(block);
        cap = need + need / 8;
        block = sf_heap_new(cap);
        if (!block)
            return false;
    }
    *out = (struct snapshot){(struct series *)(void *)block, m->n, m->n_overflow,
                             m->n_outside_slack, m->n_stale};
    char *text = block + m->n * sizeof(struct series);
    for (uint32_t i = 0; i < m->n; i++) {
        out->list[i] = m->list[i];
        memcpy(text, m->list[i].text, series_text_len(&m->list[i]));
        out->list[i].text = text;
        text += series_text_len(&m->list[i]);
    }
    sf_mutex_unlock(&m->mutex);
    return true;
}

enum { MAX_LABELS = 7 + SF_DIMENSIONS };

static size_t series_labels(const struct sf_span_metrics *m, const struct series *s,
                            struct sf_metric_label labels[MAX_LABELS])
{
    size_t n = 0;
    sf_str rest = series_dims(s), val;
    labels[n++] = (struct sf_metric_label){"service", series_service(s)};
    labels[n++] = (struct sf_metric_label){"span_name", series_name(s)};
    labels[n++] = (struct sf_metric_label){"span_kind", sf_str_from(sf_span_kind_name(s->kind))};
    labels[n++] = (struct sf_metric_label){"status_code",
                                           sf_str_from(sf_span_status_name(s->status))};
    for (size_t i = 0; i < m->config.n_dimensions && sf_str_split_next(&rest, '\0', &val); i++)
        labels[n++] = (struct sf_metric_label){m->labels[i], val};
    if (m->config.has_target) {
        static const char *const names[] = {"job", "instance"};
        for (size_t i = 0; i < 2 && sf_str_split_next(&rest, '\0', &val); i++)
            labels[n++] = (struct sf_metric_label){names[i], val};
    }
    if (s->tenant_len)
        labels[n++] = (struct sf_metric_label){"tenant", series_tenant(s)};
    return n;
}

static void span_metrics_render_own(const struct snapshot *snap, struct sf_exposition *e)
{
    sf_exposition_family(e, "spanflame_span_metrics_series", SF_METRIC_GAUGE,
                         "Series made from spans.");
    sf_exposition_u64(e, NULL, 0, snap->n);
    sf_exposition_family(e, "spanflame_span_metrics_stale_series", SF_METRIC_COUNTER,
                         "Series dropped because no span came for 15 minutes.");
    sf_exposition_u64(e, NULL, 0, snap->n_stale);
    sf_exposition_family(e, "spanflame_span_metrics_ignored_spans", SF_METRIC_COUNTER,
                         "Spans that made no metrics, by reason.");
    struct sf_metric_label reason = {"reason", SF_STR("outside_metrics_ingestion_slack")};
    sf_exposition_u64(e, &reason, 1, snap->n_outside_slack);
    reason.val = SF_STR("too_many_series");
    sf_exposition_u64(e, &reason, 1, snap->n_overflow);
}

void sf_span_metrics_render(struct sf_span_metrics *m, int64_t now_ns, struct sf_exposition *e)
{
    struct snapshot snap;
    struct sf_metric_label labels[MAX_LABELS];
    if (!span_metrics_take_snapshot(m, now_ns, &snap)) {
        e->out->err = e->out->err ? e->out->err : SF_ERR_NOMEM;
        return;
    }
    sf_exposition_family(e, "traces_spanmetrics_calls", SF_METRIC_COUNTER,
                         "Spans, by service, operation, kind and status.");
    for (uint32_t i = 0; i < snap.n; i++) {
        size_t n = series_labels(m, &snap.list[i], labels);
        sf_exposition_u64(e, labels, n, snap.list[i].n_calls);
    }
    sf_exposition_family(e, "traces_spanmetrics_latency", SF_METRIC_HISTOGRAM,
                         "Span durations in seconds.");
    for (uint32_t i = 0; i < snap.n; i++) {
        const struct series *s = &snap.list[i];
        size_t n = series_labels(m, s, labels);
        sf_exposition_histogram(e, labels, n, bounds, N_BOUNDS, s->buckets,
                                (double)s->duration_ns / 1e9, s->exemplars);
    }
    sf_exposition_family(e, "traces_spanmetrics_size", SF_METRIC_COUNTER,
                         "Bytes of the encoded spans.");
    for (uint32_t i = 0; i < snap.n; i++) {
        size_t n = series_labels(m, &snap.list[i], labels);
        sf_exposition_u64(e, labels, n, snap.list[i].size_len);
    }
    span_metrics_render_own(&snap, e);
    sf_heap_free(snap.list);
}

uint64_t sf_span_metrics_memory_len(struct sf_span_metrics *m)
{
    sf_mutex_lock(&m->mutex);
    uint64_t len = (uint64_t)m->n * sizeof(struct series) + m->text_len + sf_table_memory(&m->at);
    sf_mutex_unlock(&m->mutex);
    return len;
}

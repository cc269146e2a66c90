/* service_graph.c - calls between services.
 *
 * One lock guards waiting halves and series; for a request of thousands of spans it is taken for
 * one chunk at a time, and a scrape copies the series under it and writes the text from the
 * copy. */
#include "meter/service_graph.h"

#include "base/heap.h"
#include "base/limits.h"
#include "base/time_unit.h"
#include "meter/dimension.h"
#include "meter/graph_series.h"
#include "meter/graph_wait.h"
#include "os/thread.h"

enum {
    N_BOUNDS = SF_GRAPH_BUCKETS - 1,
    MAX_LABELS = 4 + 2 * SF_DIMENSIONS,
    STEP = 32, /* halves that are prefetched together */
};

static const double bounds[N_BOUNDS] = {0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8};

struct counts {
    uint64_t n_edges, n_expired, n_no_room, n_over, n_overflow, n_outside_slack, n_stale;
};

struct sf_service_graph {
    struct sf_service_graph_config config;
    char labels[SF_GRAPH_SIDES][SF_DIMENSIONS][SF_DIMENSION_LABEL_LEN];
    struct sf_mutex mutex; /* guards what follows; no other lock is taken while it is held */
    struct sf_graph_wait wait;
    struct sf_graph_table table;
    struct counts counts;
};

static void service_graph_name_labels(struct sf_service_graph *g)
{
    static const char *const prefixes[SF_GRAPH_SIDES] = {"server_", "client_"};
    if (g->config.n_dimensions > SF_DIMENSIONS)
        g->config.n_dimensions = SF_DIMENSIONS;
    for (size_t side = 0; side < SF_GRAPH_SIDES; side++) {
        for (size_t i = 0; i < g->config.n_dimensions; i++)
            sf_dimension_label(prefixes[side], sf_str_from(g->config.dimensions[i]), NULL, 0,
                               g->labels[side][i]);
    }
}

struct sf_service_graph *sf_service_graph_new(const struct sf_service_graph_config *config)
{
    struct sf_service_graph *g = sf_heap_new(sizeof(*g));
    if (!g)
        return NULL;
    if (config)
        g->config = *config;
    struct sf_service_graph_config *c = &g->config;
    c->max_series = c->max_series ? c->max_series : SF_LIMIT_METER_EDGES;
    c->max_waiting = c->max_waiting ? c->max_waiting : SF_LIMIT_METER_WAITING;
    c->wait_ns = c->wait_ns ? c->wait_ns : (int64_t)SF_LIMIT_METER_WAIT_MS * SF_NS_PER_MS;
    c->stale_ns = c->stale_ns ? c->stale_ns : (int64_t)SF_LIMIT_METER_STALE_MS * SF_NS_PER_MS;
    c->slack_ns = c->slack_ns ? c->slack_ns : (int64_t)SF_LIMIT_METER_SLACK_MS * SF_NS_PER_MS;
    service_graph_name_labels(g);
    if (!sf_graph_series_init(&g->table, c->max_series) ||
        !sf_graph_wait_init(&g->wait, c->max_waiting, SF_LIMIT_METER_WAITING_NAMES_LEN)) {
        sf_graph_series_done(&g->table);
        sf_heap_free(g);
        return NULL;
    }
    sf_mutex_init(&g->mutex, SF_LOCK_METER_GRAPH);
    return g;
}

void sf_service_graph_free(struct sf_service_graph *g)
{
    if (!g)
        return;
    sf_graph_series_done(&g->table);
    sf_graph_wait_done(&g->wait);
    sf_mutex_done(&g->mutex);
    sf_heap_free(g);
}

bool sf_service_graph_tally(const struct sf_service_graph *g, const struct sf_span_batch *batch,
                            int64_t now_ns, struct sf_arena *req, struct sf_graph_tally *tally)
{
    return sf_graph_half_tally_add(tally, batch, g->config.dimensions, g->config.n_dimensions,
                                   now_ns, g->config.slack_ns, req);
}

/* ---- requests ---- */

/* Counts one request whose sides are known, at least by name. */
static void count_request(struct sf_service_graph *g, const struct sf_graph_edge *edge,
                          const struct sf_graph_half *client, const struct sf_graph_half *server,
                          int64_t now_ns)
{
    struct sf_graph_series *s = sf_graph_series_get(&g->table, edge);
    if (!s) {
        g->counts.n_overflow++;
        return;
    }
    const struct sf_graph_half *known = server ? server : client;
    g->counts.n_edges++;
    s->seen_ns = now_ns;
    s->n_requests++;
    s->n_failed += (client && client->has_failed) || (server && server->has_failed);
    /* For a database or a service without spans, only the caller's duration is known. */
    sf_graph_series_times_add(&s->times[SF_GRAPH_SERVER], known->duration_ns, known->trace_id,
                              now_ns);
    if (client)
        sf_graph_series_times_add(&s->times[SF_GRAPH_CLIENT], client->duration_ns, client->trace_id,
                                  now_ns);
}

/* The edge of a request with one half, whose other side is only known by name. */
static struct sf_graph_edge edge_alone(sf_str tenant, const struct sf_graph_half *half,
                                       uint8_t type)
{
    struct sf_graph_edge edge = {.tenant = tenant, .type = type};
    edge.client = half->is_caller ? half->node : half->peer;
    edge.server = half->is_caller ? half->peer : half->node;
    edge.client_hash = half->is_caller ? half->node_hash : half->peer_hash;
    edge.server_hash = half->is_caller ? half->peer_hash : half->node_hash;
    return edge;
}

static void count_alone(struct sf_service_graph *g, sf_str tenant, const struct sf_graph_half *half,
                        uint8_t type, int64_t now_ns)
{
    struct sf_graph_edge edge = edge_alone(tenant, half, type);
    count_request(g, &edge, half->is_caller ? half : NULL, half->is_caller ? NULL : half, now_ns);
}

static void count_pair(struct sf_service_graph *g, sf_str tenant, const struct sf_graph_half *a,
                       const struct sf_graph_half *b, int64_t now_ns)
{
    const struct sf_graph_half *client = a->is_caller ? a : b, *server = a->is_caller ? b : a;
    bool is_messaging = a->type == SF_GRAPH_MESSAGING || b->type == SF_GRAPH_MESSAGING;
    struct sf_graph_edge edge = {.tenant = tenant,
                                 .client = client->node,
                                 .server = server->node,
                                 .client_hash = client->node_hash,
                                 .server_hash = server->node_hash,
                                 .type = is_messaging ? SF_GRAPH_MESSAGING : SF_GRAPH_DIRECT};
    count_request(g, &edge, client, server, now_ns);
}

static void count_unpaired(struct sf_service_graph *g, sf_str tenant,
                           const struct sf_graph_half *half, int64_t now_ns)
{
    struct sf_graph_edge edge = {.tenant = tenant, .type = half->type};
    *(half->is_caller ? &edge.client : &edge.server) = half->node;
    *(half->is_caller ? &edge.client_hash : &edge.server_hash) = half->node_hash;
    g->counts.n_expired++;
    struct sf_graph_series *s = sf_graph_series_get(&g->table, &edge);
    if (!s) {
        g->counts.n_overflow++;
        return;
    }
    s->seen_ns = now_ns;
    s->n_unpaired++;
}

static void give_up(struct sf_service_graph *g, int64_t now_ns)
{
    struct sf_graph_waiting *x;
    while ((x = sf_graph_wait_oldest(&g->wait)) && now_ns - x->since_ns >= g->config.wait_ns) {
        if (x->half.is_caller && x->half.peer.len)
            count_alone(g, x->tenant, &x->half, SF_GRAPH_VIRTUAL, now_ns);
        else
            count_unpaired(g, x->tenant, &x->half, now_ns);
        sf_graph_wait_drop(&g->wait, x);
    }
}

static void take_half(struct sf_service_graph *g, sf_str tenant, const struct sf_graph_half *half,
                      struct sf_graph_slots slots, int64_t now_ns)
{
    if (half->is_alone) {
        count_alone(g, tenant, half, half->type, now_ns);
        return;
    }
    struct sf_graph_waiting *other = sf_graph_wait_find(&g->wait, tenant, half, slots);
    if (other) {
        count_pair(g, tenant, half, &other->half, now_ns);
        sf_graph_wait_drop(&g->wait, other);
        return;
    }
    /* When full, the oldest is evicted: the second half of a request usually arrives soon, so those
     * that have waited longest are least likely to be matched. */
    while (!sf_graph_wait_add(&g->wait, tenant, half, slots, now_ns)) {
        struct sf_graph_waiting *oldest = sf_graph_wait_oldest(&g->wait);
        g->counts.n_no_room++;
        if (!oldest)
            return;
        sf_graph_wait_drop(&g->wait, oldest);
    }
}

/* Waiting halves and edges are scattered in memory: those of a few halves are prefetched before the
 * search. */
static void take_halves(struct sf_service_graph *g, sf_str tenant, const struct sf_graph_half *list,
                        uint32_t n, int64_t now_ns)
{
    struct sf_graph_slots slots[STEP] = {0};
    uint64_t edges[STEP] = {0};
    for (uint32_t i = 0; i < n; i++) {
        if (list[i].is_alone) {
            struct sf_graph_edge edge = edge_alone(tenant, &list[i], list[i].type);
            edges[i] = sf_graph_series_prefetch(&g->table, &edge);
        } else {
            slots[i] = sf_graph_wait_slots(&g->wait, tenant, &list[i]);
            sf_graph_wait_prefetch(&g->wait, slots[i]);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (list[i].is_alone)
            sf_graph_series_prefetch_entry(&g->table, edges[i]);
        else
            sf_graph_wait_prefetch_entries(&g->wait, slots[i]);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (g->wait.n == g->wait.n_cap)
            sf_graph_wait_prefetch_oldest(&g->wait);
        take_half(g, tenant, &list[i], slots[i], now_ns);
    }
}

static void take_chunk(struct sf_service_graph *g, sf_str tenant, const struct sf_graph_chunk *c,
                       int64_t now_ns)
{
    for (uint32_t at = 0; at < c->n; at += STEP)
        take_halves(g, tenant, c->list + at, c->n - at < STEP ? c->n - at : STEP, now_ns);
}

void sf_service_graph_add(struct sf_service_graph *g, sf_str tenant,
                          const struct sf_graph_tally *tally, int64_t now_ns)
{
    sf_mutex_lock(&g->mutex);
    g->counts.n_outside_slack += tally->n_outside_slack;
    g->counts.n_over += tally->n_over;
    give_up(g, now_ns);
    sf_mutex_unlock(&g->mutex);
    for (const struct sf_graph_chunk *c = tally->first; c; c = c->next) {
        sf_mutex_lock(&g->mutex);
        take_chunk(g, tenant, c, now_ns);
        sf_mutex_unlock(&g->mutex);
    }
}

/* ---- text ---- */

struct snapshot {
    struct sf_graph_series *list; /* heap; texts follow in the same block */
    uint32_t n, n_waiting;
    struct counts counts;
};

/* Memory is allocated outside the lock, so it may be too little when the lock is taken again; then
 * it is tried again. */
static bool service_graph_take_snapshot(struct sf_service_graph *g, int64_t now_ns,
                                        struct snapshot *out)
{
    size_t cap = 0;
    void *block = NULL;
    for (;;) {
        sf_mutex_lock(&g->mutex);
        give_up(g, now_ns);
        g->counts.n_stale += sf_graph_series_drop_stale(&g->table, now_ns - g->config.stale_ns);
        size_t need = sf_graph_series_copy_len(&g->table);
        if (block && need <= cap)
            break;
        sf_mutex_unlock(&g->mutex);
        sf_heap_free(block);
        cap = need + need / 8;
        block = sf_heap_new(cap);
        if (!block)
            return false;
    }
    *out = (struct snapshot){sf_graph_series_copy(&g->table, block), g->table.n, g->wait.n,
                             g->counts};
    sf_mutex_unlock(&g->mutex);
    return true;
}

static sf_str service_graph_next_part(sf_str *rest)
{
    sf_str part = SF_STR_NONE;
    (void)sf_str_split_next(rest, '\0', &part);
    return part;
}

static size_t edge_labels(const struct sf_service_graph *g, const struct sf_graph_edge *edge,
                          struct sf_metric_label labels[MAX_LABELS])
{
    static const char *const types[] = {"", "messaging_system", "database", "virtual_node"};
    size_t n = 0;
    sf_str client = edge->client, server = edge->server;
    labels[n++] = (struct sf_metric_label){"client", service_graph_next_part(&client)};
    labels[n++] = (struct sf_metric_label){"server", service_graph_next_part(&server)};
    labels[n++] = (struct sf_metric_label){"connection_type", sf_str_from(types[edge->type])};
    for (size_t i = 0; i < g->config.n_dimensions; i++) {
        labels[n++] = (struct sf_metric_label){g->labels[SF_GRAPH_CLIENT][i],
                                               service_graph_next_part(&client)};
        labels[n++] = (struct sf_metric_label){g->labels[SF_GRAPH_SERVER][i],
                                               service_graph_next_part(&server)};
    }
    if (edge->tenant.len)
        labels[n++] = (struct sf_metric_label){"tenant", edge->tenant};
    return n;
}

static void render_count(const struct sf_service_graph *g, const struct snapshot *snap,
                         size_t member, struct sf_exposition *e)
{
    struct sf_metric_label labels[MAX_LABELS];
    for (uint32_t i = 0; i < snap->n; i++) {
        const struct sf_graph_series *s = &snap->list[i];
        const uint64_t vals[] = {s->n_requests, s->n_failed, s->n_unpaired};
        bool is_pair = s->edge.client.len && s->edge.server.len;
        if (is_pair != (member == 2))
            sf_exposition_u64(e, labels, edge_labels(g, &s->edge, labels), vals[member]);
    }
}

static void render_times(const struct sf_service_graph *g, const struct snapshot *snap,
                         enum sf_graph_side side, struct sf_exposition *e)
{
    struct sf_metric_label labels[MAX_LABELS];
    for (uint32_t i = 0; i < snap->n; i++) {
        const struct sf_graph_series *s = &snap->list[i];
        const struct sf_graph_times *times = &s->times[side];
        if (times->n)
            sf_exposition_histogram(e, labels, edge_labels(g, &s->edge, labels), bounds, N_BOUNDS,
                                    times->buckets, (double)times->sum_ns / 1e9, times->exemplars);
    }
}

static void render_ignored(const struct counts *c, struct sf_exposition *e)
{
    const struct {
        const char *reason;
        uint64_t n;
    } rows[] = {{"outside_metrics_ingestion_slack", c->n_outside_slack},
                {"too_many_series", c->n_overflow},
                {"too_many_waiting", c->n_no_room},
                {"too_many_in_request", c->n_over}};
    sf_exposition_family(e, "spanflame_service_graph_ignored_spans", SF_METRIC_COUNTER,
                         "Spans that made no edge of the service graph, by reason.");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sf_metric_label reason = {"reason", sf_str_from(rows[i].reason)};
        sf_exposition_u64(e, &reason, 1, rows[i].n);
    }
}

static void service_graph_render_own(const struct snapshot *snap, struct sf_exposition *e)
{
    const struct {
        const char *name, *help;
        enum sf_metric_type type;
        uint64_t n;
    } rows[] = {
        {"traces_service_graph_dropped_spans",
         "Spans that had no room to wait for their other half.", SF_METRIC_COUNTER,
         snap->counts.n_no_room + snap->counts.n_over},
        {"tempo_metrics_generator_processor_service_graphs_edges",
         "Requests the service graph was made of.", SF_METRIC_COUNTER_BARE, snap->counts.n_edges},
        {"tempo_metrics_generator_processor_service_graphs_expired_edges",
         "Spans whose other half did not come in time.", SF_METRIC_COUNTER_BARE,
         snap->counts.n_expired},
        {"spanflame_service_graph_series", "Edges of the service graph.", SF_METRIC_GAUGE, snap->n},
        {"spanflame_service_graph_waiting", "Spans waiting for their other half.", SF_METRIC_GAUGE,
         snap->n_waiting},
        {"spanflame_service_graph_stale_series",
         "Edges dropped because no request came for 15 minutes.", SF_METRIC_COUNTER,
         snap->counts.n_stale}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        sf_exposition_family(e, rows[i].name, rows[i].type, rows[i].help);
        sf_exposition_u64(e, NULL, 0, rows[i].n);
    }
    render_ignored(&snap->counts, e);
}

void sf_service_graph_render(struct sf_service_graph *g, int64_t now_ns, struct sf_exposition *e)
{
    static const struct {
        const char *name, *help;
    } counts[] = {
        {"traces_service_graph_request", "Requests between two services."},
        {"traces_service_graph_request_failed", "Requests that failed, as either side says."},
        {"traces_service_graph_unpaired_spans", "Spans whose other half did not come in time."}};
    struct snapshot snap;
    if (!service_graph_take_snapshot(g, now_ns, &snap)) {
        e->out->err = e->out->err ? e->out->err : SF_ERR_NOMEM;
        return;
    }
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        sf_exposition_family(e, counts[i].name, SF_METRIC_COUNTER, counts[i].help);
        render_count(g, &snap, i, e);
    }
    sf_exposition_family(e, "traces_service_graph_request_server_seconds", SF_METRIC_HISTOGRAM,
                         "Duration of requests as the server saw it.");
    render_times(g, &snap, SF_GRAPH_SERVER, e);
    sf_exposition_family(e, "traces_service_graph_request_client_seconds", SF_METRIC_HISTOGRAM,
                         "Duration of requests as the client saw it.");
    render_times(g, &snap, SF_GRAPH_CLIENT, e);
    service_graph_render_own(&snap, e);
    sf_heap_free(snap.list);
}

uint64_t sf_service_graph_memory_len(struct sf_service_graph *g)
{
    sf_mutex_lock(&g->mutex);
    uint64_t len = (uint64_t)g->table.n * sizeof(*g->table.list) + g->table.text_len +
                   sf_table_memory(&g->table.at) + (uint64_t)g->wait.n * sizeof(*g->wait.list) +
                   g->wait.text_len + (uint64_t)g->wait.n_slots * sizeof(*g->wait.slots) +
                   (uint64_t)g->wait.n_cap * sizeof(*g->wait.unused);
    sf_mutex_unlock(&g->mutex);
    return len;
}

/* server.c - starts and stops the server: open the data directory and the services, enter the
 * sandbox, start worker threads and the listener, then open the store in a thread of its own while
 * /ready reports progress. Stopping runs in reverse order. */
#include "app/server.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "app/background.h"
#include "app/overrides.h"
#include "app/port_owner.h"
#include "app/proxy_users.h"
#include "app/scrape_yaml.h"
#include "app/server_sandbox.h"
#include "app/tokens.h"
#include "app/version.h"
#include "base/heap.h"
#include "base/limits.h"
#include "base/time_unit.h"
#include "intake/intake.h"
#include "intake/recent_traces.h"
#include "intake/redact.h"
#include "intake/series_cap.h"
#include "listen/listener.h"
#include "os/dir.h"
#include "os/memory.h"
#include "os/own_names.h"
#include "os/text_file.h"
#include "serve/alerts/alerts.h"
#include "serve/own/control.h"
#include "serve/own/deploys.h"
#include "serve/pyroscope/adhoc_files.h"
#include "serve/pyroscope/recording_rules.h"
#include "serve/pyroscope/settings.h"
#include "serve/query_turn.h"
#include "serve/router.h"
#include "serve/scrape/scraping.h"
#include "store/clickhouse/remote.h"
#include "store/local/local.h"
#include "symbol/symbolizer.h"

enum {
    MAX_WORKERS = 256,
    DRAIN_MS = 10000,
    MAX_OWNERS = 64,
    PASSWORD_LEN = 4096,
    CA_LEN = 1 << 20
};
/* With two threads, a lane has one for a second client. With three, one may read a large trace, one
 * may wait for it, and one still answers. */
enum { N_POINT = 3, MIN_QUERY = 2 };

struct worker {
    struct sf_thread thread;
    struct sf_worker work;
    struct sf_queue *queue; /* source of its calls; NULL: `lane` */
    struct sf_lane *lane;
};

struct sf_server {
    const struct sf_config *config;
    struct sf_log *log;
    struct sf_service service;
    struct sf_redactor *redactor;
    struct sf_tokens *tokens;                                 /* NULL: no tokens are required */
    struct sf_proxy_users *users;                             /* NULL: no proxy is configured */
    struct sf_overrides *overrides;                           /* NULL: no overrides file is
                                                               * configured */
    char auth_header[65], user_header[65], groups_header[65]; /* lower case */
    struct sf_dir *dir;
    struct sf_listener *listener;
    struct sf_buf addresses, spool_path; /* both terminated; the listener borrows spool_path */
    struct sf_buf config_text, defaults_text, own_names; /* borrowed by the service */
    struct worker *workers;
    size_t n_workers;
    unsigned n_ingest, n_query;
    int owners[MAX_OWNERS]; /* process that already listens on the port of an address; 0: unknown */

    struct sf_background *background;
    struct sf_remote_config remote; /* the ClickHouse server; without shards: none */
    struct sf_buf password;         /* terminated; borrowed by the store */
    struct sf_thread opener;
    struct sf_store *store; /* owned; the service's pointer is a view of it */
    struct sf_mutex mutex;  /* guards what follows; no other lock is taken while it is held */
    bool is_open;
    enum sf_err open_err;
    struct sf_why open_why;
};

/* ---- the store ---- */

static enum sf_err replay(__attribute__((unused)) void *arg, const struct sf_logged *rec,
                          struct sf_batch **out, struct sf_why *why)
{
    return sf_intake_replay(rec, out, why);
}

static void server_on_progress(void *arg, uint64_t done_len, uint64_t all_len)
{
    struct sf_server *s = arg;
    atomic_store(&s->service.replay_done_len, done_len);
    atomic_store(&s->service.replay_all_len, all_len);
}

static void on_notice(void *arg, const char *sentence)
{
    struct sf_server *s = arg;
    sf_log_say(s->log, SF_SAY_WARN, sentence);
}

/* Retention limits of a tenant where they differ from the server's. */
static void rule_of_tenant(void *arg, sf_str tenant, struct sf_tenant_rule *io)
{
    struct sf_server *s = arg;
    struct sf_quota *q = s->service.quota;
    uint64_t spans_ns = (uint64_t)io->spans_ns, profiles_ns = (uint64_t)io->profiles_ns, value;
    if (!tenant.len) {
        sf_quota_longest(q, SF_QUOTA_RETAIN_SPANS, &spans_ns);
        sf_quota_longest(q, SF_QUOTA_RETAIN_PROFILES, &profiles_ns);
    } else {
        (void)sf_quota_is_set(q, tenant, SF_STR_NONE, SF_QUOTA_RETAIN_SPANS, &spans_ns);
        (void)sf_quota_is_set(q, tenant, SF_STR_NONE, SF_QUOTA_RETAIN_PROFILES, &profiles_ns);
    }
    io->spans_ns = (int64_t)spans_ns;
    io->profiles_ns = (int64_t)profiles_ns;
    if (sf_quota_is_set(q, tenant, SF_STR_NONE, SF_QUOTA_DISK, &value))
        io->max_len = value;
}

/* The same for a service; missing values are those of its tenant. */
static bool rule_of_service(void *arg, sf_str tenant, sf_str service, struct sf_tenant_rule *out)
{
    struct sf_quota *q = ((struct sf_server *)arg)->service.quota;
    uint64_t spans_ns = 0, profiles_ns = 0, len = 0;
    bool is_set = sf_quota_is_set(q, tenant, service, SF_QUOTA_RETAIN_SPANS, &spans_ns);
    is_set |= sf_quota_is_set(q, tenant, service, SF_QUOTA_RETAIN_PROFILES, &profiles_ns);
    is_set |= sf_quota_is_set(q, tenant, service, SF_QUOTA_DISK, &len);
    *out = (struct sf_tenant_rule){(int64_t)spans_ns, (int64_t)profiles_ns, len};
    return is_set;
}

static uint64_t version_of_service_rules(void *arg)
{
    return sf_quota_stores_version(((struct sf_server *)arg)->service.quota);
}

/* Reads the first line of the file, before the sandbox is entered. */
static enum sf_err server_read_password(struct sf_server *s, const char *path, struct sf_why *why)
{
    size_t at;
    enum sf_err err = sf_text_file_read(path, PASSWORD_LEN, &s->password, why);
    if (err) {
        sf_why_prefix(why, "store.remote.password_file");
        return err;
    }
    if (sf_str_find_char(sf_buf_str(&s->password), '\n', &at))
        s->password.len = at;
    for (size_t i = 0; i < s->password.len; i++) {
        if (s->password.p[i] < ' ')
            return sf_fail(why, SF_ERR_INPUT,
                           "store.remote.password_file: a control character in the first line");
    }
    if (!s->password.len)
        return sf_fail(why, SF_ERR_INPUT, "store.remote.password_file: the first line is empty");
    sf_buf_add_u8(&s->password, 0);
    return sf_buf_ok(&s->password) ? SF_OK : sf_no_memory(why, "a password");
}

/* Without a certificate in it, every request to a shard would fail. */
static enum sf_err server_check_ca(const char *path, struct sf_why *why)
{
    struct sf_buf text = {0};
    size_t at;
    enum sf_err err = sf_text_file_read(path, CA_LEN, &text, why);
    if (err)
        sf_why_prefix(why, "store.remote.ca_file");
    else if (!sf_str_find(sf_buf_str(&text), SF_STR("CERTIFICATE-----"), &at))
        err = sf_fail(why, SF_ERR_INPUT,
                      "store.remote.ca_file: %s has no certificate in PEM format", path);
    sf_buf_done(&text);
    return err;
}

static enum sf_err read_remote(struct sf_server *s, struct sf_why *why)
{
    const struct sf_config *c = s->config;
    enum sf_err err = SF_OK;
    if (!c->store.remote.url)
        return SF_OK;
    if (c->store.remote.password_file)
        err = server_read_password(s, c->store.remote.password_file, why);
    if (!err && c->store.remote.ca_file)
        err = server_check_ca(c->store.remote.ca_file, why);
    if (!err)
        err = sf_remote_address_parse(sf_str_from(c->store.remote.url), &s->remote.address, why);
    s->remote.user = c->store.remote.user;
    s->remote.password = s->password.len ? (const char *)s->password.p : NULL;
    s->remote.ca_file = c->store.remote.ca_file;
    s->remote.is_ack_remote = c->store.remote.ack == SF_REMOTE_ACK_REMOTE;
    s->remote.interval_ns = c->store.remote.interval_ns;
    s->remote.timeout_ns = c->store.remote.timeout_ns;
    s->remote.spool_len = c->store.remote.spool_len;
    s->remote.memory_len = c->store.remote.memory_len;
    s->remote.attributes = c->store.remote.attributes.items;
    s->remote.n_attributes = (uint32_t)c->store.remote.attributes.n;
    return err;
}

static void open_store(void *arg)
{
    struct sf_server *s = arg;
    struct sf_why why = {0};
    struct sf_local_config config = {.dir = s->dir,
                                     .replay = replay,
                                     .memory_len = s->config->memory_len,
                                     .retention = s->config->retention,
                                     .n_writers = s->n_ingest,
                                     .progress = server_on_progress,
                                     .progress_arg = s,
                                     .notice = on_notice,
                                     .notice_arg = s,
                                     .namer = sf_symbolizer_namer(s->service.symbols),
                                     .beside = {sf_adhoc_files_trim, s->dir},
                                     .tenant_rule = s->overrides ? rule_of_tenant : NULL,
                                     .service_rule = s->overrides ? rule_of_service : NULL,
                                     .service_rules = s->overrides ? version_of_service_rules
                                                                   : NULL,
                                     .tenant_rule_arg = s,
                                     .tuning = {
                                         .flush_interval_ns = s->config->store.flush_interval_ns,
                                         .flush_wal_len = s->config->store.flush_log_len,
                                     }};
    enum sf_err err = s->remote.address.n_shards
                          ? sf_remote_open(&config, &s->remote, &s->store, &why)
                          : sf_local_open_store(&config, &s->store, &why);
    if (!err) {
        atomic_store(&s->service.store, s->store);
        atomic_store(&s->service.state, SF_SERVICE_READY);
    }
    sf_mutex_lock(&s->mutex);
    s->is_open = true;
    s->open_err = err;
    s->open_why = why;
    sf_mutex_unlock(&s->mutex);
}

bool sf_server_is_open(struct sf_server *s, enum sf_err *out_err, struct sf_why *why)
{
    sf_mutex_lock(&s->mutex);
    bool is_open = s->is_open;
    if (is_open) {
        *out_err = s->open_err;
        *why = s->open_why;
    }
    sf_mutex_unlock(&s->mutex);
    return is_open;
}

/* ---- threads ---- */

static void server_work(void *arg)
{
    struct worker *w = arg;
    struct sf_exchange *ex;
    if (w->lane) {
        while (sf_router_run_next(w->lane, &w->work)) {
            /* one call per iteration */
        }
        return;
    }
    while ((ex = sf_queue_take(w->queue)))
        sf_router_run(ex, &w->work);
}

struct kind { /* kind of worker threads */
    const char *name;
    int nice;
    unsigned n;
    struct sf_queue *queue;
    struct sf_lane *lane;
};

static enum sf_err start_worker(struct sf_server *s, const struct kind *kind, unsigned number,
                                struct sf_why *why)
{
    struct worker *w = &s->workers[s->n_workers];
    char name[16];
    snprintf(name, sizeof(name), "%s-%u", kind->name, number);
    w->work.number = number;
    w->queue = kind->queue;
    w->lane = kind->lane;
    w->work.turns = kind->lane ? s->service.query : NULL; /* one turn (see serve/query_turn.h) is
                                                           * shared by all lanes */
    if (!sf_arena_init(&w->work.arena, s->service.query_memory_len) ||
        !sf_arena_count(&w->work.arena))
        return sf_fail(why, SF_ERR_NOMEM, "server: no memory for thread %s", name);
    s->n_workers++;
    if (w->queue == s->service.ingest && !(w->work.tools = sf_intake_tools_new()))
        return sf_fail(why, SF_ERR_NOMEM, "server: no memory for thread %s", name);
    return sf_thread_start(&w->thread, name, kind->nice, server_work, w, why);
}

static enum sf_err start_workers(struct sf_server *s, struct sf_why *why)
{
    struct sf_service *v = &s->service;
    const struct kind kinds[] = {
        {.name = "ingest", .n = s->n_ingest, .queue = v->ingest},
        {.name = "point", .nice = SF_NICE_POINTS, .n = N_POINT, .lane = v->point},
        {.name = "query", .nice = SF_NICE_QUERIES, .n = s->n_query, .lane = v->query},
        {.name = "control", .n = 1, .queue = v->control}};
    enum sf_err err = SF_OK;
    s->workers = sf_heap_new_n(s->n_ingest + N_POINT + s->n_query + 1u, sizeof(*s->workers));
    if (!s->workers)
        return sf_fail(why, SF_ERR_NOMEM, "server: no memory for threads");
    sf_lane_serve(v->point, N_POINT, v->query_ns);
    sf_lane_serve(v->query, s->n_query, v->query_ns);
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        for (unsigned i = 0; !err && i < kinds[k].n; i++)
            err = start_worker(s, &kinds[k], i, why);
    }
    return err;
}

/* ---- rules ---- */

void sf_server_replace_alerts(struct sf_server *s, const struct sf_config *config)
{
    struct sf_scrape_jobs *jobs = config->scrape ? sf_scrape_jobs_share(config->scrape)
                                                 : sf_scrape_jobs_new();
    sf_alerts_replace(s->service.alerts, sf_alert_rules_share(config->alerts.rules));
    if (jobs)
        sf_scraping_replace(s->service.scraping, jobs);
}

static enum sf_err open_deploys(struct sf_server *s, struct sf_why *why)
{
    char notice[240];
    enum sf_err err = sf_deploys_open(s->dir, &s->service.deploys, notice, why);
    if (notice[0])
        sf_log_print(s->log, SF_SAY_WARN, "%s", notice);
    return err;
}

static enum sf_err open_control(struct sf_server *s, struct sf_why *why)
{
    char notice[240];
    enum sf_err err = sf_control_open(s->dir, &s->service, &s->service.control_docs, notice, why);
    if (notice[0])
        sf_log_print(s->log, SF_SAY_WARN, "%s", notice);
    return err;
}

static enum sf_err open_scraping(struct sf_server *s, struct sf_why *why)
{
    struct sf_scrape_jobs *jobs = s->config->scrape ? sf_scrape_jobs_share(s->config->scrape)
                                                    : sf_scrape_jobs_new();
    enum sf_err err = jobs ? sf_scraping_open(&s->service, jobs, &s->service.scraping, why)
                           : sf_no_memory(why, "scraping");
    if (!err)
        sf_scraping_read_yaml(s->service.scraping, sf_scrape_yaml_groups);
    return err;
}

static enum sf_err open_alerts(struct sf_server *s, struct sf_why *why)
{
    char notice[240];
    enum sf_err err = sf_alerts_open(s->dir, sf_alert_rules_share(s->config->alerts.rules),
                                     &s->service.alerts, notice, why);
    if (notice[0])
        sf_log_print(s->log, SF_SAY_WARN, "%s", notice);
    return err;
}

static enum sf_err open_rules(struct sf_server *s, struct sf_why *why)
{
    char notice[240];
    enum sf_err err = sf_recording_rules_open(s->dir, &s->service.rules, notice, why);
    if (notice[0])
        sf_log_print(s->log, SF_SAY_WARN, "%s", notice);
    return err;
}

/* ---- the listener ---- */

static bool server_is_ipv6(const char *host)
{
    return strchr(host, ':') != NULL;
}

static void list_addresses(struct sf_server *s)
{
    for (size_t i = 0; i < s->config->n_addresses; i++) {
        const struct sf_listen_address *a = &s->config->addresses[i];
        uint16_t port = sf_listener_port(s->listener, i);
        if (port)
            sf_buf_print(&s->addresses, server_is_ipv6(a->host) ? "%s[%s]:%u%s" : "%s%s:%u%s",
                         s->addresses.len ? " " : "", a->host, port, a->tls ? "(tls)" : "");
    }
    sf_buf_add_u8(&s->addresses, 0);
}

const char *sf_server_addresses(const struct sf_server *s)
{
    return sf_buf_ok(&s->addresses) && s->addresses.len ? (const char *)s->addresses.p : "";
}

/* The listener's message names the busy address; this adds the process that uses it and a
 * remedy. */
static void explain_busy(const struct sf_server *s, struct sf_why *why)
{
    const struct sf_config *config = s->config;
    for (size_t i = 0; i < config->n_addresses; i++) {
        const struct sf_listen_address *a = &config->addresses[i];
        char text[16], owner[40] = "";
        size_t at;
        snprintf(text, sizeof(text), ":%u", a->port);
        if (a->port == 0 || !sf_str_find(sf_str_from(why->text), sf_str_from(text), &at))
            continue;
        int pid = i < MAX_OWNERS ? s->owners[i] : 0;
        if (pid)
            snprintf(owner, sizeof(owner), " (by pid %d)", pid);
        uint16_t other = sf_port_owner_free_after(a->port);
        sf_fail(why, SF_ERR_BUSY,
                server_is_ipv6(a->host)
                    ? "port %u is in use%s; choose another with --listen [%s]:%u"
                    : "port %u is in use%s; choose another with --listen %s:%u",
                a->port, owner, a->host, other ? other : 0);
        return;
    }
}

/* Memory of idle connections is not in the budget, so with little memory fewer are allowed. */
static unsigned most_connections(const struct sf_config *c)
{
    uint64_t fitting = c->memory_len / SF_LIMIT_CONNECTION_LEN;
    return (unsigned)(fitting < c->limits.connections ? fitting : c->limits.connections);
}

static enum sf_err start_listener(struct sf_server *s, struct sf_why *why)
{
    const struct sf_config_limits *limits = &s->config->limits;
    unsigned cores = sf_thread_cores();
    sf_buf_print(&s->spool_path, "%s/spool", s->config->data_dir);
    sf_buf_add_u8(&s->spool_path, 0);
    if (!sf_buf_ok(&s->spool_path))
        return sf_fail(why, SF_ERR_NOMEM, "server: no memory");
    struct sf_listen_config config = {
        .addresses = s->config->addresses,
        .n_addresses = s->config->n_addresses,
        .n_loops = cores > 4 ? cores / 4 : 1,
        .limits = {.connections = most_connections(s->config),
                   .answers_len = s->config->memory_len / 8 < SF_LIMIT_ANSWERS_LEN
                                      ? s->config->memory_len / 8
                                      : SF_LIMIT_ANSWERS_LEN,
                   .bodies_len = s->config->memory_len / 16 < SF_LIMIT_BODIES_LEN
                                     ? s->config->memory_len / 16
                                     : SF_LIMIT_BODIES_LEN,
                   .body_len = limits->body_len,
                   .header_timeout_ms = (unsigned)(limits->header_timeout_ns / SF_NS_PER_MS),
                   .body_timeout_ms = (unsigned)(limits->body_timeout_ns / SF_NS_PER_MS),
                   .idle_timeout_ms = (unsigned)(limits->idle_timeout_ns / SF_NS_PER_MS),
                   .total_timeout_ms = (unsigned)(limits->total_timeout_ns / SF_NS_PER_MS)},
        .spool_path = (const char *)s->spool_path.p,
        .hooks = {.on_headers = sf_router_on_headers,
                  .on_request = sf_router_on_request,
                  .on_fault = sf_router_on_fault,
                  .on_refuse = sf_router_on_refuse,
                  .max_body = sf_router_max_body,
                  .arg = &s->service}};
    enum sf_err err = sf_dir_make(s->dir, "spool", why);
    if (!err)
        err = sf_listener_start(&config, &s->listener, why);
    if (err == SF_ERR_BUSY)
        explain_busy(s, why);
    if (err)
        return err;
    s->service.listener = s->listener;
    list_addresses(s);
    return SF_OK;
}

/* ---- start and end ---- */

static sf_str server_lower(const char *name, char room[65])
{
    size_t len = 0;
    for (; name && name[len] && len < 64; len++)
        room[len] = (char)tolower((unsigned char)name[len]);
    return (sf_str){room, len};
}

static enum sf_err open_tokens(struct sf_server *s, struct sf_why *why)
{
    if (!s->config->auth.token_file)
        return SF_OK;
    enum sf_err err = sf_tokens_open(s->config->auth.token_file, &s->tokens, why);
    if (err)
        return err;
    if (sf_tokens_is_shared(s->tokens))
        sf_log_print(s->log, SF_SAY_WARN,
                     "server: %s can be read by other users; run chmod 600 on it",
                     s->config->auth.token_file);
    if (sf_tokens_count(s->tokens) == 0)
        sf_log_print(s->log, SF_SAY_WARN,
                     "server: %s contains no token, so every request is refused; create one with "
                     "spanflame token new and reload the file with SIGHUP",
                     s->config->auth.token_file);
    s->service.auth.token = sf_tokens_grant;
    s->service.auth.token_arg = s->tokens;
    s->service.auth.header = server_lower(s->config->auth.header, s->auth_header);
    return SF_OK;
}

static enum sf_err open_users(struct sf_server *s, struct sf_why *why)
{
    const struct sf_config *c = s->config;
    if (!c->auth.user_header)
        return SF_OK;
    enum sf_err err = sf_proxy_users_open(c, &s->users, why);
    if (err)
        return err;
    s->service.auth.user = sf_proxy_users_grant;
    s->service.auth.is_proxy = sf_proxy_users_is_proxy;
    s->service.auth.user_arg = s->users;
    s->service.auth.user_header = server_lower(c->auth.user_header, s->user_header);
    s->service.auth.groups_header = server_lower(c->auth.groups_header, s->groups_header);
    return SF_OK;
}

enum sf_err sf_server_reload(struct sf_server *s, struct sf_why *why)
{
    enum sf_err err = s->users ? sf_proxy_users_reload(s->users, why) : SF_OK;
    return !err && s->tokens ? sf_tokens_reload(s->tokens, why) : err;
}

/* ---- limits of tenants ---- */

bool sf_server_reload_limits(struct sf_server *s, bool is_asked, enum sf_err *out_err,
                             struct sf_why *why)
{
    if (!s->overrides || !(is_asked || sf_overrides_is_changed(s->overrides)))
        return false;
    *out_err = sf_overrides_reload(s->overrides, why);
    return true;
}

static enum sf_err open_limits(struct sf_server *s, struct sf_why *why)
{
    s->service.quota = sf_quota_new();
    if (!s->service.quota)
        return sf_fail(why, SF_ERR_NOMEM, "server: no memory for limits of tenants");
    return s->config->limits.overrides_file
               ? sf_overrides_open(s->config->limits.overrides_file, s->service.quota,
                                   &s->overrides, why)
               : SF_OK;
}

static void on_fetch_notice(void *arg, const char *sentence)
{
    struct sf_server *s = arg;
    sf_log_print(s->log, SF_SAY_WARN, "symbols: %s", sentence);
}

static enum sf_err open_symbols(struct sf_server *s, struct sf_why *why)
{
    const struct sf_config *c = s->config;
    struct sf_symbolizer_config config = {.dir = s->dir,
                                          .urls = c->symbols.debuginfod.items,
                                          .n_urls = c->symbols.debuginfod.n,
                                          .max_file_len = c->symbols.file_len,
                                          .max_total_len = c->symbols.total_len,
                                          .max_cache_len = c->symbols.cache_len,
                                          .min_free_len = c->retention.min_free_len,
                                          .wait_ns = c->symbols.wait_ns,
                                          .fetch_ns = c->symbols.fetch_ns,
                                          .notice = on_fetch_notice,
                                          .notice_arg = s};
    return sf_symbolizer_open(&config, &s->service.symbols, why);
}

/* Opens the service graph and the target info metrics, where configured. */
static bool open_span_made(struct sf_server *s)
{
    const struct sf_config *c = s->config;
    struct sf_service_graph_config graph = {.max_series = (uint32_t)c->metrics.graph_max_series,
                                            .max_waiting = (uint32_t)c->metrics.graph_max_items,
                                            .wait_ns = c->metrics.graph_wait_ns,
                                            .dimensions = c->metrics.graph_dimensions.items,
                                            .n_dimensions = c->metrics.graph_dimensions.n};
    if (c->metrics.has_service_graph)
        s->service.service_graph = sf_service_graph_new(&graph);
    if (c->metrics.has_target_info)
        s->service.target_info = sf_target_info_new(0);
    return (s->service.service_graph || !c->metrics.has_service_graph) &&
           (s->service.target_info || !c->metrics.has_target_info);
}

static void render_defaults(struct sf_buf *out)
{
    struct sf_config *c = NULL;
    if (!sf_config_parse(SF_STR_NONE, "", &c, NULL))
        sf_config_render_effective(c, out);
    sf_config_free(c);
}

/* The machine's names, and the configured ones. */
static void list_own_names(struct sf_server *s)
{
    sf_own_names_add(&s->own_names);
    for (size_t i = 0; i < s->config->n_addresses; i++)
        sf_buf_print(&s->own_names, " %s", s->config->addresses[i].host);
}

static enum sf_err open_settings(struct sf_server *s, struct sf_why *why)
{
    struct sf_why said = {0};
    enum sf_err err = sf_settings_open(s->dir, &s->service.settings, &said, why);
    if (!err && said.text[0])
        sf_log_print(s->log, SF_SAY_WARN, "%s", said.text);
    return err;
}

static enum sf_err fill_service(struct sf_server *s, struct sf_why *why)
{
    const struct sf_config *c = s->config;
    struct sf_service *v = &s->service;
    struct sf_span_metrics_config metrics = {.max_series = (uint32_t)c->metrics.max_series,
                                             .dimensions = c->metrics.dimensions.items,
                                             .n_dimensions = c->metrics.dimensions.n,
                                             .has_target = c->metrics.has_target_info};
    enum sf_err err = sf_service_init(v, why);
    if (!err)
        err = sf_config_redactor(c, &s->redactor, why);
    if (!err)
        err = open_tokens(s, why);
    if (!err)
        err = open_users(s, why);
    if (!err)
        err = open_limits(s, why);
    if (!err)
        err = open_settings(s, why);
    if (!err)
        err = open_rules(s, why);
    if (!err)
        err = open_alerts(s, why);
    if (!err)
        err = open_scraping(s, why);
    if (!err)
        err = open_deploys(s, why);
    if (!err)
        err = open_control(s, why);
    if (!err)
        err = open_symbols(s, why);
    v->adhoc = s->dir;
    v->keep_rules = c->retention.keep;
    if (err)
        return err;
    v->intake = (struct sf_intake_config){
        .redactor = s->redactor,
        .limits = {.max_attrs = (uint32_t)c->limits.attrs,
                   .max_value_len = (uint32_t)c->limits.value_len},
        .max_inflated_len = c->limits.inflated_len};
    v->series_cap = sf_series_cap_new((uint32_t)c->limits.series);
    v->max_frames = (uint32_t)c->limits.stack_depth;
    v->recent = sf_recent_traces_new((struct sf_recent_rule){
        .slow_ns = c->profiling.slow_request_ns, .has_errors = c->profiling.has_errors});
    if (!v->series_cap || !v->recent)
        return sf_fail(why, SF_ERR_NOMEM, "server: no memory to count series");
    v->finding_limits = (struct sf_finding_limits){.leaf = c->findings.leaf_per_10000 / 10000.0,
                                                   .repeat = c->findings.repeat_per_10000 / 10000.0,
                                                   .gc = c->findings.gc_per_10000 / 10000.0,
                                                   .lock = c->findings.lock_per_10000 / 10000.0,
                                                   .theme = c->findings.theme_per_10000 / 10000.0,
                                                   .depth = (uint32_t)c->findings.depth,
                                                   .callers = (uint32_t)c->findings.callers,
                                                   .siblings = (uint32_t)c->findings.siblings};
    v->has_tenancy = c->has_tenancy;
    v->rejects_other_signals = c->other_signals == SF_OTHER_SIGNALS_REJECT;
    v->has_span_metrics = c->metrics.has_span_metrics;
    list_own_names(s);
    v->own_names = sf_buf_str(&s->own_names);
    v->hosts = c->hosts.items;
    v->n_hosts = c->hosts.n;
    v->cors_origins = c->cors_origins.items;
    v->n_cors_origins = c->cors_origins.n;
    v->memory_len = c->memory_len;
    v->query_memory_len = c->limits.query_memory_len;
    v->query_ns = c->limits.query_ns;
    sf_query_turn_init(v);
    sf_large_turn_init(v);
    v->version = sf_version();
    v->source_link = c->page.source_link;
    v->source_root = c->page.source_root;
    v->source_folder = c->page.source_folder;
    v->logs_link = c->page.logs_link;
    sf_config_render_effective(c, &s->config_text);
    v->config_text = sf_buf_str(&s->config_text);
    render_defaults(&s->defaults_text);
    v->defaults_text = sf_buf_str(&s->defaults_text);
    v->say = sf_log_for_service;
    v->say_arg = s->log;
    v->span_metrics = sf_span_metrics_new(&metrics);
    if (!v->span_metrics || !open_span_made(s))
        return sf_fail(why, SF_ERR_NOMEM, "server: no memory for span metrics");
    return SF_OK;
}

/* The budget covers the server's allocations; the kernel's limit also counts sockets and page
 * cache. */
enum { GROUP_SLACK_LEN = 32 << 20 };

static void check_limit(const struct sf_server *s)
{
    uint64_t limit = sf_memory_limit_len(), need = s->config->memory_len + GROUP_SLACK_LEN;
    if (limit < need)
        sf_log_print(
            s->log, SF_SAY_WARN,
            "server: memory is %llu MiB and the control group allows %llu MiB, of which "
            "%d are for the kernel: the process may be killed; set memory to %llu MiB or "
            "less, or raise the limit of the group",
            (unsigned long long)(s->config->memory_len >> 20), (unsigned long long)(limit >> 20),
            GROUP_SLACK_LEN >> 20,
            (unsigned long long)(limit > GROUP_SLACK_LEN ? (limit - GROUP_SLACK_LEN) >> 20 : 0));
}

/* Done before the sandbox is entered: afterwards other processes cannot be examined. */
static void find_owners(struct sf_server *s)
{
    for (size_t i = 0; i < s->config->n_addresses && i < MAX_OWNERS; i++)
        s->owners[i] = s->config->addresses[i].port ? sf_port_owner(s->config->addresses[i].port)
                                                    : 0;
}

/* To be called before the first thread starts: threads inherit the sandbox. */
static enum sf_err enter_sandbox(struct sf_server *s, struct sf_why *why)
{
    if (s->config->has_sandbox)
        find_owners(s);
    return sf_server_sandbox_enter(s->config, s->log, why);
}

enum sf_err sf_server_start(const struct sf_config *config, struct sf_log *log,
                            struct sf_server **out, struct sf_why *why)
{
    struct sf_server *s = sf_heap_new(sizeof(*s));
    if (!s)
        return sf_fail(why, SF_ERR_NOMEM, "server: no memory");
    s->config = config;
    s->log = log;
    sf_mutex_init(&s->mutex, SF_LOCK_APP_SERVER);
    sf_memory_tune();
    check_limit(s);
    unsigned cores = sf_thread_cores();
    s->n_ingest = cores < MAX_WORKERS ? cores : MAX_WORKERS;
    s->n_query = s->n_ingest > MIN_QUERY ? s->n_ingest - 1 : MIN_QUERY;
    enum sf_err err = read_remote(s, why);
    if (!err)
        err = sf_dir_open(config->data_dir, SF_DIR_CREATE, &s->dir, why);
    if (!err)
        err = fill_service(s, why);
    if (!err)
        err = enter_sandbox(s, why);
    if (!err)
        err = start_workers(s, why);
    if (!err)
        err = start_listener(s, why);
    if (!err)
        err = sf_background_start(&s->service, config, &s->background, why);
    if (!err)
        err = sf_thread_start(&s->opener, "open", 0, open_store, s, why);
    if (err) {
        sf_server_stop(s);
        sf_server_free(s);
        return err;
    }
    *out = s;
    return SF_OK;
}

void sf_server_stop(struct sf_server *s)
{
    atomic_store(&s->service.state, SF_SERVICE_STOPPING);
    sf_thread_join(&s->opener);
    sf_background_stop(s->background);
    s->background = NULL;
    sf_control_stop(s->service.control_docs); /* answers the waiting polls */
    if (s->listener)
        sf_listener_drain(s->listener, DRAIN_MS);
    if (s->service.ingest)
        sf_queue_close(s->service.ingest);
    if (s->service.point)
        sf_lane_close(s->service.point);
    if (s->service.query)
        sf_lane_close(s->service.query);
    if (s->service.control)
        sf_queue_close(s->service.control);
    for (size_t i = 0; i < s->n_workers; i++)
        sf_thread_join(&s->workers[i].thread);
    sf_self_profile_join(&s->service.self_profile);
    atomic_store(&s->service.store, NULL);
    if (s->store)
        s->store->ops->close(s->store);
    s->store = NULL;
}

void sf_server_free(struct sf_server *s)
{
    if (!s)
        return;
    sf_listener_free(s->listener);
    for (size_t i = 0; i < s->n_workers; i++) {
        sf_arena_done(&s->workers[i].work.arena);
        sf_intake_tools_free(s->workers[i].work.tools);
    }
    sf_heap_free(s->workers);
    sf_control_close(s->service.control_docs);
    sf_settings_close(s->service.settings);
    sf_recording_rules_close(s->service.rules);
    sf_alerts_close(s->service.alerts);
    sf_scraping_close(s->service.scraping);
    sf_deploys_close(s->service.deploys);
    sf_symbolizer_close(s->service.symbols);
    sf_service_done(&s->service);
    sf_redactor_free(s->redactor);
    sf_tokens_close(s->tokens);
    sf_proxy_users_close(s->users);
    sf_overrides_close(s->overrides);
    sf_quota_free(s->service.quota);
    sf_recent_traces_free(s->service.recent);
    sf_dir_close(s->dir);
    sf_buf_done(&s->addresses);
    sf_buf_done(&s->spool_path);
    sf_buf_done(&s->config_text);
    sf_buf_done(&s->own_names);
    sf_buf_done(&s->defaults_text);
    if (s->password.len)
        explicit_bzero(s->password.p, s->password.len);
    sf_buf_done(&s->password);
    sf_mutex_done(&s->mutex);
    sf_heap_free(s);
}

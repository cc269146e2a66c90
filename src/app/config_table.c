#include <stddef.h>

#include "app/config.h"
#include "base/time_unit.h"

#define AT(field) offsetof(struct sf_config, field)
#define KIB       1024ull
#define MIB       (1024 * KIB)
#define GIB       (1024 * MIB)
#define YEARS     (36500 * SF_NS_PER_DAY)
/* A key of base/profiling_keys.h, which collectors read too. */
#define PROFILING(path, kind, field, initial, min, max, doc) \
    {"profiling." path, SF_CONFIG_##kind, AT(profiling.field), initial, NULL, min, max, doc},

/* In the order of the example file; keys of one section are adjacent. The defaults of limits equal
 * base/limits.h, which a test compares. */
const struct sf_config_key sf_config_keys[] = {
    {"listen", SF_CONFIG_LISTEN, 0,
     "127.0.0.1:4317, 127.0.0.1:4318, 127.0.0.1:4040, 127.0.0.1:3200, [::1]:4317, [::1]:4318, "
     "[::1]:4040, [::1]:3200",
     NULL, 0, 0,
     "addresses to listen on, HOST:PORT each, or a map with the fields below; every API works on "
     "every address"},
    {"listen[].address", SF_CONFIG_PART, 0, "", NULL, 0, 0, "HOST:PORT; IPv6 in brackets"},
    {"listen[].tls.cert", SF_CONFIG_PART, 0, "", NULL, 0, 0,
     "PEM file with the server's certificate chain"},
    {"listen[].tls.key", SF_CONFIG_PART, 0, "", NULL, 0, 0,
     "PEM file with the server's private key"},
    {"listen[].tls.client_ca", SF_CONFIG_PART, 0, "", NULL, 0, 0,
     "PEM file of CA certificates; clients must present a certificate signed by one of them"},
    {"data", SF_CONFIG_STR, AT(data_dir), "spanflame-data", NULL, 0, 0,
     "data directory; created if it does not exist"},
    {"memory", SF_CONFIG_SIZE, AT(memory_len), "256MiB", NULL, 64 * MIB, 1024 * GIB,
     "memory limit of the server; above it, senders get a retryable error with a retry delay; "
     "below 256MiB it is less strict: large requests in parallel can exceed it (docs/overload.md)"},

    {"auth.token_file", SF_CONFIG_STR, AT(auth.token_file), "", NULL, 0, 0,
     "token file (create tokens with `spanflame token new`); when set, every request needs a "
     "token"},
    {"auth.header", SF_CONFIG_STR, AT(auth.header), "", NULL, 0, 0,
     "additional request header that may carry the token, such as X-Api-Key"},
    {"auth.proxy.user_header", SF_CONFIG_STR, AT(auth.user_header), "", NULL, 0, 0,
     "header in which an authenticating proxy passes the user, such as X-Auth-Request-Email; "
     "requires peers and users_file"},
    {"auth.proxy.groups_header", SF_CONFIG_STR, AT(auth.groups_header), "", NULL, 0, 0,
     "header in which the proxy passes the user's groups, separated by commas"},
    {"auth.proxy.peers", SF_CONFIG_LIST, AT(auth.proxy_peers), "", NULL, 0, 0,
     "addresses or networks of the proxy; from other peers these headers are ignored"},
    {"auth.proxy.users_file", SF_CONFIG_STR, AT(auth.users_file), "", NULL, 0, 0,
     "file with one subject:scopes or subject:scopes:tenants per line; subject is a user, @group "
     "or *"},
    {"auth.allow_public_without_auth", SF_CONFIG_BOOL, AT(auth.allow_public_without_auth), "false",
     NULL, 0, 0, "accept requests on public addresses without authentication"},
    {"server.hosts", SF_CONFIG_LIST, AT(hosts), "", NULL, 0, 0,
     "host names to accept in requests, in addition to IP addresses, localhost, names without dots "
     "and the machine's own names: spanflame.example.com, *.example.com or * for any; checked only "
     "without tokens"},
    {"server.sandbox", SF_CONFIG_BOOL, AT(has_sandbox), "true", NULL, 0, 0,
     "after start, restrict file access to the data directory and the configured files (Landlock) "
     "and block system calls a server does not need (seccomp), where the kernel supports it"},
    {"cors.origins", SF_CONFIG_LIST, AT(cors_origins), "", NULL, 0, 0,
     "origins allowed to call the server from a browser (CORS), such as https://app.example; none "
     "by default"},
    {"tenancy.enabled", SF_CONFIG_BOOL, AT(has_tenancy), "false", NULL, 0, 0,
     "X-Scope-OrgID selects the tenant; when false, all data belongs to one tenant"},
    {"other_signals", SF_CONFIG_CHOICE, AT(other_signals), "discard", "discard|reject", 0, 0,
     "OTLP metrics and logs, which are not stored: discard them and report how many, or reject the "
     "request"},

    {"limits.connections", SF_CONFIG_COUNT, AT(limits.connections), "4096", NULL, 16, 1000000,
     "maximum number of open connections, but at most one per 64 KiB of memory"},
    {"limits.body", SF_CONFIG_SIZE, AT(limits.body_len), "64MiB", NULL, 64 * KIB, GIB,
     "maximum size of a request body as received"},
    {"limits.inflated", SF_CONFIG_SIZE, AT(limits.inflated_len), "64MiB", NULL, 64 * KIB, GIB,
     "maximum size of a request body after decompression"},
    {"limits.header_timeout", SF_CONFIG_DURATION, AT(limits.header_timeout_ns), "10s", NULL,
     SF_NS_PER_S / 10, SF_NS_PER_HOUR, "time to receive a request's headers"},
    {"limits.body_timeout", SF_CONFIG_DURATION, AT(limits.body_timeout_ns), "60s", NULL,
     SF_NS_PER_S / 10, SF_NS_PER_HOUR,
     "maximum time without progress while a body is received or a response is read"},
    {"limits.idle_timeout", SF_CONFIG_DURATION, AT(limits.idle_timeout_ns), "5m", NULL,
     SF_NS_PER_S / 10, SF_NS_PER_DAY, "time after which a connection without requests is closed"},
    {"limits.total_timeout", SF_CONFIG_DURATION, AT(limits.total_timeout_ns), "5m", NULL,
     SF_NS_PER_S / 10, SF_NS_PER_DAY,
     "maximum time from the first byte of a request to its response"},
    {"limits.attributes", SF_CONFIG_COUNT, AT(limits.attrs), "1024", NULL, 1, 65536,
     "maximum number of attributes of one span, event, link or resource; further ones are dropped "
     "and counted"},
    {"limits.value", SF_CONFIG_SIZE, AT(limits.value_len), "64KiB", NULL, 16, 16 * MIB,
     "maximum size of an attribute value; longer values are truncated and counted"},
    {"limits.stack_depth", SF_CONFIG_COUNT, AT(limits.stack_depth), "1024", NULL, 1, 2048,
     "maximum number of frames stored per stack"},
    {"limits.series", SF_CONFIG_COUNT, AT(limits.series), "5000", NULL, 1, 10000000,
     "maximum number of profile series (label sets) per service"},
    {"limits.query_memory", SF_CONFIG_SIZE, AT(limits.query_memory_len), "64MiB", NULL, MIB,
     64 * GIB, "maximum memory of one query"},
    {"limits.query_time", SF_CONFIG_DURATION, AT(limits.query_ns), "30s", NULL, SF_NS_PER_S / 100,
     SF_NS_PER_DAY, "maximum time of one query"},
    {"limits.overrides_file", SF_CONFIG_STR, AT(limits.overrides_file), "", NULL, 0, 0,
     "file with limits per tenant and service (docs/limits-per-tenant.md); reloaded when it "
     "changes and on SIGHUP"},

    {"redact.enabled", SF_CONFIG_BOOL, AT(redact.is_enabled), "true", NULL, 0, 0,
     "replace secrets before data is written, including to the write-ahead log"},
    {"redact.builtin", SF_CONFIG_BOOL, AT(redact.has_builtin), "true", NULL, 0, 0,
     "search for the built-in words and patterns (listed in docs/redaction.md)"},
    {"redact.match", SF_CONFIG_CHOICE, AT(redact.match), "words", "words|substring", 0, 0,
     "words: whole words, so token matches auth_token and AuthToken but not tokenize; substring: "
     "anywhere in the text"},
    {"redact.patterns", SF_CONFIG_LIST, AT(redact.patterns), "", NULL, 0, 0,
     "additional words, or regular expressions between slashes: /acme-[0-9]+/"},
    {"redact.keys", SF_CONFIG_BOOL, AT(redact.in_keys), "true", NULL, 0, 0,
     "replace the value of an attribute whose key matches"},
    {"redact.values", SF_CONFIG_BOOL, AT(redact.in_values), "true", NULL, 0, 0,
     "search attribute values, status messages and trace states"},
    {"redact.names", SF_CONFIG_BOOL, AT(redact.in_names), "true", NULL, 0, 0,
     "search the names of spans, events and scopes"},
    {"redact.functions", SF_CONFIG_CHOICE, AT(redact.functions), "match",
     "match|words|substring|none", 0, 0,
     "how the words of redact.patterns match function names; match: as set by redact.match"},
    {"redact.files", SF_CONFIG_CHOICE, AT(redact.files), "match", "match|words|substring|none", 0,
     0,
     "how they match file names of functions and of mapped binaries; match: as set by "
     "redact.match"},
    {"redact.allow", SF_CONFIG_LIST, AT(redact.allow), "", NULL, 0, 0,
     "attribute keys that are never redacted, including their values; * is a wildcard"},
    {"redact.replace", SF_CONFIG_CHOICE, AT(redact.replace), "text", "text|hash", 0, 0,
     "text: [REDACTED]; hash: [REDACTED:...] with a keyed hash, the same for equal secrets; "
     "requires hash_key_file"},
    {"redact.hash_key_file", SF_CONFIG_STR, AT(redact.hash_key_file), "", NULL, 0, 0,
     "file with the key of the hash, at least 16 bytes"},

    {"retention.spans", SF_CONFIG_DURATION, AT(retention.spans_ns), "7d", NULL, 0, YEARS,
     "age at which spans are deleted; 0: never"},
    {"retention.profiles", SF_CONFIG_DURATION, AT(retention.profiles_ns), "30d", NULL, 0, YEARS,
     "age at which profiles are deleted; 0: never"},
    {"retention.full_resolution", SF_CONFIG_DURATION, AT(retention.full_resolution_ns), "2d", NULL,
     0, YEARS, "age at which profiles are aggregated to 10-minute sums; 0: never"},
    {"retention.detail", SF_CONFIG_DURATION, AT(retention.detail_ns), "7d", NULL, 0, YEARS,
     "age at which samples of individual spans are deleted; 0: never"},
    {"retention.detail_by_outcome", SF_CONFIG_BOOL, AT(retention.keep.is_on), "true", NULL, 0, 0,
     "after retention.tail_delay, keep samples of individual spans only for requests selected by "
     "profiling.conditional (slow, failed, CPU-heavy, flagged) and its baseline"},
    {"retention.tail_delay", SF_CONFIG_DURATION, AT(retention.tail_delay_ns), "1h", NULL, 0,
     30 * SF_NS_PER_DAY,
     "how long all samples of individual spans are kept after the end of the hour they were taken "
     "in"},
    {"retention.spans_by_outcome", SF_CONFIG_DURATION, AT(retention.spans_by_outcome_ns), "0", NULL,
     0, YEARS,
     "age at which spans of requests kept by outcome are deleted, if longer than retention.spans; "
     "0: like other spans"},
    {"retention.max_bytes", SF_CONFIG_SIZE, AT(retention.max_len), "50GB", NULL, 0, 0,
     "size of the data directory above which the oldest data is deleted; 0: no limit"},
    {"retention.min_free", SF_CONFIG_SIZE, AT(retention.min_free_len), "0", NULL, 0, 0,
     "free disk space below which writes are refused; 0: 2 GB or 5 % of the disk, whichever is "
     "more"},
    {"symbols.debuginfod", SF_CONFIG_LIST, AT(symbols.debuginfod), "", NULL, 0, 0,
     "URLs of debuginfod servers used to symbolize frames, such as https://debuginfod.example.com; "
     "empty: none"},
    {"symbols.timeout", SF_CONFIG_DURATION, AT(symbols.fetch_ns), "1m", NULL, SF_NS_PER_S / 10,
     SF_NS_PER_HOUR, "timeout of a request to a debuginfod server; queries do not wait for it"},
    {"symbols.cache", SF_CONFIG_SIZE, AT(symbols.cache_len), "2GiB", NULL, 0, 0,
     "size of the cache of files from debuginfod servers; the least recently used are evicted"},
    {"symbols.max_file", SF_CONFIG_SIZE, AT(symbols.file_len), "512MiB", NULL, 64 * KIB, GIB,
     "maximum size of an uploaded or fetched symbol file"},
    {"symbols.max_total", SF_CONFIG_SIZE, AT(symbols.total_len), "10GiB", NULL, 0, 0,
     "maximum total size of a tenant's uploaded symbol files"},
    {"symbols.wait", SF_CONFIG_DURATION, AT(symbols.wait_ns), "1s", NULL, 0, 60 * SF_NS_PER_S,
     "how long a query waits for symbolization from files already on the server; 0: it does not "
     "wait"},
    {"store.flush_interval", SF_CONFIG_DURATION, AT(store.flush_interval_ns), "60s", NULL,
     SF_NS_PER_S, 600 * SF_NS_PER_S,
     "maximum time that data stays in memory and the write-ahead log before it is written as a "
     "block"},
    {"store.flush_log", SF_CONFIG_SIZE, AT(store.flush_log_len), "256MB", NULL, 64 * MIB, 16 * GIB,
     "size of the write-ahead log at which data is written as a block earlier"},
    {"store.remote.url", SF_CONFIG_STR, AT(store.remote.url), "", NULL, 0, 0,
     "also send all data to ClickHouse: clickhouse://HOST:PORT,.../DATABASE, one HOST:PORT (HTTP "
     "interface) per shard; https:// for TLS; see docs/fleet.md"},
    {"store.remote.user", SF_CONFIG_STR, AT(store.remote.user), "", NULL, 0, 0,
     "ClickHouse user; empty: its default user"},
    {"store.remote.password_file", SF_CONFIG_STR, AT(store.remote.password_file), "", NULL, 0, 0,
     "file whose first line is the password of that user; read at start"},
    {"store.remote.ca_file", SF_CONFIG_STR, AT(store.remote.ca_file), "", NULL, 0, 0,
     "PEM file of CA certificates for https:// shards; empty: those of the system"},
    {"store.remote.ack", SF_CONFIG_CHOICE, AT(store.remote.ack), "local", "local|remote", 0, 0,
     "when a request is acknowledged; local: the data is on this server's disk; remote: every "
     "shard has it too, which takes a second or more"},
    {"store.remote.interval", SF_CONFIG_DURATION, AT(store.remote.interval_ns), "5s", NULL,
     SF_NS_PER_S / 10, 600 * SF_NS_PER_S, "how long data waits before it is sent to ClickHouse"},
    {"store.remote.timeout", SF_CONFIG_DURATION, AT(store.remote.timeout_ns), "60s", NULL,
     SF_NS_PER_S, SF_NS_PER_HOUR, "timeout of a request to ClickHouse"},
    {"store.remote.spool_max", SF_CONFIG_SIZE, AT(store.remote.spool_len), "20GB", NULL, 256 * MIB,
     256 * GIB,
     "maximum size of the log waiting for ClickHouse; from 81 % on, load is shed "
     "(docs/overload.md); when it is full, all writes are refused"},
    {"store.remote.memory", SF_CONFIG_SIZE, AT(store.remote.memory_len), "4GB", NULL, 64 * MIB,
     1024 * GIB, "memory that one statement may take on a shard (max_memory_usage)"},
    {"store.remote.attributes", SF_CONFIG_LIST, AT(store.remote.attributes), "", NULL, 0, 0,
     "span attributes with columns of their own in ClickHouse, at most 16: conditions on them read "
     "less (docs/fleet.md)"},

    {"log.level", SF_CONFIG_CHOICE, AT(log.level), "info", "error|warn|info|debug", 0, 0,
     "minimum level of log messages"},
    {"log.format", SF_CONFIG_CHOICE, AT(log.format), "auto", "auto|human|logfmt", 0, 0,
     "auto: human-readable on a terminal, key=value otherwise"},
    {"metrics.span_metrics.enabled", SF_CONFIG_BOOL, AT(metrics.has_span_metrics), "true", NULL, 0,
     0, "requests, errors and durations per service and operation on /metrics"},
    {"metrics.span_metrics.dimensions", SF_CONFIG_LIST, AT(metrics.dimensions), "", NULL, 0, 0,
     "span attributes to add as labels, such as http.route"},
    {"metrics.span_metrics.max_series", SF_CONFIG_COUNT, AT(metrics.max_series), "2000", NULL, 10,
     1000000, "maximum number of series; further ones are counted in one overflow series"},
    {"metrics.service_graph.enabled", SF_CONFIG_BOOL, AT(metrics.has_service_graph), "true", NULL,
     0, 0, "request counts, errors and durations between services on /metrics"},
    {"metrics.service_graph.dimensions", SF_CONFIG_LIST, AT(metrics.graph_dimensions), "", NULL, 0,
     0, "resource attributes to add as labels, as client_x and server_x"},
    {"metrics.service_graph.max_series", SF_CONFIG_COUNT, AT(metrics.graph_max_series), "1000",
     NULL, 10, 100000, "maximum number of edges; further ones are counted in one overflow series"},
    {"metrics.service_graph.wait", SF_CONFIG_DURATION, AT(metrics.graph_wait_ns), "10s", NULL,
     SF_NS_PER_S / 10, 600 * SF_NS_PER_S,
     "how long a client or server span is held until its counterpart arrives"},
    {"metrics.service_graph.max_items", SF_CONFIG_COUNT, AT(metrics.graph_max_items), "10000", NULL,
     10, 1000000, "maximum number of spans held at a time"},
    {"metrics.target_info.enabled", SF_CONFIG_BOOL, AT(metrics.has_target_info), "false", NULL, 0,
     0,
     "export resource attributes as traces_target_info on /metrics, and add job and instance "
     "labels to all span metrics"},
    {"metrics.recording_rules.interval", SF_CONFIG_DURATION, AT(metrics.rules_interval_ns), "15s",
     NULL, SF_NS_PER_S / 10, SF_NS_PER_HOUR, "how often recording rules are evaluated"},

    {"alerts.interval", SF_CONFIG_DURATION, AT(alerts.interval_ns), "30s", NULL, SF_NS_PER_S,
     SF_NS_PER_DAY, "how often alert rules are evaluated"},
    {"alerts.alertmanager", SF_CONFIG_LIST, AT(alerts.alertmanager), "", NULL, 0, 0,
     "URLs of Alertmanagers; alerts are sent to all of them, such as http://127.0.0.1:9093"},
    {"alerts.webhook", SF_CONFIG_LIST, AT(alerts.webhook), "", NULL, 0, 0,
     "webhook URLs; alerts are sent in the JSON of Alertmanager's webhooks, version 4"},
    {"alerts.pack", SF_CONFIG_BOOL, AT(alerts.pack), "true", NULL, 0, 0,
     "evaluate the built-in rules for all services when a receiver is configured; with "
     "tenancy.enabled, for up to 16 tenants"},
    {"alerts.url", SF_CONFIG_STR, AT(alerts.url), "", NULL, 0, 0,
     "external URL of this server, for links in alerts: https://spanflame.example.com"},
    {"alerts.rules_files", SF_CONFIG_LIST, AT(alerts.rules_files), "", NULL, 0, 0,
     "files with additional rules, such as /etc/spanflame/rules/*.yaml; reloaded on SIGHUP"},
    {"alerts.rules", SF_CONFIG_RULES, AT(alerts.rules), "", NULL, 0, 0,
     "alert rules, one map each (docs/alerts.md); an invalid rule prevents the start; on SIGHUP "
     "the previous rules stay in effect"},

    {"scrape", SF_CONFIG_SCRAPE, AT(scrape), "", NULL, 0, 0,
     "targets to scrape profiles from, one map each (docs/scrape.md): url, or targets, file_sd, "
     "http_sd; reloaded on SIGHUP"},

    {"page.source_link", SF_CONFIG_STR, AT(page.source_link), "", NULL, 0, 0,
     "URL template of a frame's source, with {file}, {line}, {function}, {service}: "
     "https://git.example.com/shop/blob/main/{file}#L{line}"},
    {"page.source_root", SF_CONFIG_STR, AT(page.source_root), "", NULL, 0, 0,
     "path prefix to strip from {file}, such as /usr/src/shop/"},
    {"page.source_folder", SF_CONFIG_STR, AT(page.source_folder), "", NULL, 0, 0,
     "directory of source code that the page shows with the cost of each line; everyone with the "
     "read scope can read the source files in it"},
    {"page.logs_link", SF_CONFIG_STR, AT(page.logs_link), "", NULL, 0, 0,
     "URL template of a span's logs, with {traceId}, {spanId}, {service}, {start}, {end} (unix "
     "ms): https://logs.example.com/search?q={traceId}"},

    {"findings.leaf", SF_CONFIG_PERCENT, AT(findings.leaf_per_10000), "10%", NULL, 0, 0,
     "report a function whose self time reaches this share"},
    {"findings.stack_depth", SF_CONFIG_COUNT, AT(findings.depth), "100", NULL, 1, 2048,
     "report stacks with more frames than this"},
    {"findings.repeated", SF_CONFIG_PERCENT, AT(findings.repeat_per_10000), "10%", NULL, 0, 0,
     "report a function that reaches this share and has many callers, and parsing that reaches it "
     "in most requests"},
    {"findings.callers", SF_CONFIG_COUNT, AT(findings.callers), "5", NULL, 1, 1000000,
     "number of callers that counts as many"},
    {"findings.equal_spans", SF_CONFIG_COUNT, AT(findings.siblings), "10", NULL, 1, 1000000,
     "report a span with at least this many identical child spans"},
    {"findings.gc", SF_CONFIG_PERCENT, AT(findings.gc_per_10000), "10%", NULL, 0, 0,
     "report garbage collection or the allocator when it reaches this share"},
    {"findings.lock", SF_CONFIG_PERCENT, AT(findings.lock_per_10000), "10%", NULL, 0, 0,
     "report waiting for locks when it reaches this share"},
    {"findings.theme", SF_CONFIG_PERCENT, AT(findings.theme_per_10000), "15%", NULL, 0, 0,
     "report pattern matching, JSON, serialisation, cryptography or logging when it reaches this "
     "share"},

    SF_PROFILING_KEYS_FIRST(PROFILING){
        "profiling.conditional.flagged", SF_CONFIG_CHOICE, AT(keep_flagged), "debug",
        "debug|sampled", 0, 0,
        "debug: keep the samples of requests with profile.keep = true or the debug flag; sampled: "
        "also of requests with the W3C sampled flag"},
    {"profiling.conditional.rules", SF_CONFIG_LIST, AT(keep_rules), "", NULL, 0, 0,
     "per-service rules on the server: service, and any of slow_request_threshold, "
     "cpu_threshold_percent, profile_errors, baseline, flagged; one map each, or text such as "
     "\"service=checkout baseline=5%\""},
    SF_PROFILING_KEYS_LAST(PROFILING)};

const size_t sf_config_n_keys = sizeof(sf_config_keys) / sizeof(sf_config_keys[0]);

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

/* In the order a reader of the example file meets them; keys of one section stand together. The
 * defaults of limits equal base/limits.h, which a test compares. */
const struct sf_config_key sf_config_keys[] = {
    {"listen", SF_CONFIG_LISTEN, 0,
     "127.0.0.1:4317, 127.0.0.1:4318, 127.0.0.1:4040, 127.0.0.1:3200, [::1]:4317, [::1]:4318, "
     "[::1]:4040, [::1]:3200",
     NULL, 0, 0,
     "addresses to listen on, HOST:PORT each, or a map with the three fields below; every call "
     "works on every one"},
    {"listen[].address", SF_CONFIG_PART, 0, "", NULL, 0, 0, "HOST:PORT; IPv6 in brackets"},
    {"listen[].tls.cert", SF_CONFIG_PART, 0, "", NULL, 0, 0, "PEM file: the server's certificates"},
    {"listen[].tls.key", SF_CONFIG_PART, 0, "", NULL, 0, 0, "PEM file: the server's private key"},
    {"listen[].tls.client_ca", SF_CONFIG_PART, 0, "", NULL, 0, 0,
     "PEM file: clients must show a certificate signed by one of these"},
    {"data", SF_CONFIG_STR, AT(data_dir), "spanflame-data", NULL, 0, 0,
     "directory for everything that is kept; made when missing"},
    {"memory", SF_CONFIG_SIZE, AT(memory_len), "256MiB", NULL, 64 * MIB, 1024 * GIB,
     "the server's memory, enforced; over it senders are told to come back later"},

    {"auth.token_file", SF_CONFIG_STR, AT(auth.token_file), "", NULL, 0, 0,
     "file of tokens (make them with `spanflame token new`); given: every request needs one"},
    {"auth.header", SF_CONFIG_STR, AT(auth.header), "", NULL, 0, 0,
     "a further header that may carry the token, such as X-Api-Key"},
    {"auth.proxy.user_header", SF_CONFIG_STR, AT(auth.user_header), "", NULL, 0, 0,
     "header in which a proxy in front names the user it has signed in, such as "
     "X-Auth-Request-Email; needs peers and users_file"},
    {"auth.proxy.groups_header", SF_CONFIG_STR, AT(auth.groups_header), "", NULL, 0, 0,
     "header in which it names the user's groups, with commas between them"},
    {"auth.proxy.peers", SF_CONFIG_LIST, AT(auth.proxy_peers), "", NULL, 0, 0,
     "addresses or networks of the proxy; from others these headers are not believed"},
    {"auth.proxy.users_file", SF_CONFIG_STR, AT(auth.users_file), "", NULL, 0, 0,
     "file of who:scopes or who:scopes:tenants lines; who is a user, @group or *"},
    {"auth.allow_public_without_auth", SF_CONFIG_BOOL, AT(auth.allow_public_without_auth), "false",
     NULL, 0, 0, "let anybody who can reach a public address read and write"},
    {"server.hosts", SF_CONFIG_LIST, AT(hosts), "", NULL, 0, 0,
     "names the server is called by, besides addresses, localhost, names without dots and the "
     "machine's own: spanflame.example.com, *.example.com or * for any; asked only without tokens"},
    {"server.sandbox", SF_CONFIG_BOOL, AT(has_sandbox), "true", NULL, 0, 0,
     "after start, keep to the data folder and the files of the configuration (Landlock) and give "
     "up calls that a server does not need (seccomp), where the kernel has them"},
    {"cors.origins", SF_CONFIG_LIST, AT(cors_origins), "", NULL, 0, 0,
     "origins whose pages may call the server, such as https://app.example; none by default"},
    {"tenancy.enabled", SF_CONFIG_BOOL, AT(has_tenancy), "false", NULL, 0, 0,
     "X-Scope-OrgID selects a tenant; off: everything belongs to one"},
    {"other_signals", SF_CONFIG_CHOICE, AT(other_signals), "discard", "discard|reject", 0, 0,
     "OTLP metrics and logs, which are not stored: discard them and say how many, or refuse them"},

    {"limits.connections", SF_CONFIG_COUNT, AT(limits.connections), "4096", NULL, 16, 1000000,
     "open connections; at most one for every 64 KiB of memory"},
    {"limits.body", SF_CONFIG_SIZE, AT(limits.body_len), "64MiB", NULL, 64 * KIB, GIB,
     "one request body on the wire"},
    {"limits.inflated", SF_CONFIG_SIZE, AT(limits.inflated_len), "64MiB", NULL, 64 * KIB, GIB,
     "one request body after decompression"},
    {"limits.header_timeout", SF_CONFIG_DURATION, AT(limits.header_timeout_ns), "10s", NULL,
     SF_NS_PER_S / 10, SF_NS_PER_HOUR, "until a request's headers are complete"},
    {"limits.body_timeout", SF_CONFIG_DURATION, AT(limits.body_timeout_ns), "60s", NULL,
     SF_NS_PER_S / 10, SF_NS_PER_HOUR, "without a byte of its body, or of its answer being read"},
    {"limits.idle_timeout", SF_CONFIG_DURATION, AT(limits.idle_timeout_ns), "5m", NULL,
     SF_NS_PER_S / 10, SF_NS_PER_DAY, "a connection without a request"},
    {"limits.total_timeout", SF_CONFIG_DURATION, AT(limits.total_timeout_ns), "5m", NULL,
     SF_NS_PER_S / 10, SF_NS_PER_DAY, "one request from first byte to answer"},
    {"limits.attributes", SF_CONFIG_COUNT, AT(limits.attrs), "1024", NULL, 1, 65536,
     "attributes of one span, event, link or resource; the rest is dropped and counted"},
    {"limits.value", SF_CONFIG_SIZE, AT(limits.value_len), "64KiB", NULL, 16, 16 * MIB,
     "one attribute value; longer ones are cut and counted"},
    {"limits.stack_depth", SF_CONFIG_COUNT, AT(limits.stack_depth), "1024", NULL, 1, 2048,
     "frames of one stack that are kept"},
    {"limits.series", SF_CONFIG_COUNT, AT(limits.series), "5000", NULL, 1, 10000000,
     "profile label sets of one service"},
    {"limits.query_memory", SF_CONFIG_SIZE, AT(limits.query_memory_len), "64MiB", NULL, MIB,
     64 * GIB, "memory of one query"},
    {"limits.query_time", SF_CONFIG_DURATION, AT(limits.query_ns), "30s", NULL, SF_NS_PER_S / 100,
     SF_NS_PER_DAY, "time of one query"},
    {"limits.overrides_file", SF_CONFIG_STR, AT(limits.overrides_file), "", NULL, 0, 0,
     "file of limits per tenant and service (docs/limits-per-tenant.md); read again when it "
     "changes, and at SIGHUP"},

    {"redact.enabled", SF_CONFIG_BOOL, AT(redact.is_enabled), "true", NULL, 0, 0,
     "replace secrets before anything is written, the log included"},
    {"redact.builtin", SF_CONFIG_BOOL, AT(redact.has_builtin), "true", NULL, 0, 0,
     "look for the built-in words and shapes (docs/redaction.md lists them)"},
    {"redact.match", SF_CONFIG_CHOICE, AT(redact.match), "words", "words|substring", 0, 0,
     "words: auth_token and AuthToken but not tokenize; substring: anywhere, the blunt form"},
    {"redact.patterns", SF_CONFIG_LIST, AT(redact.patterns), "", NULL, 0, 0,
     "further words, or regular expressions between slashes: /acme-[0-9]+/"},
    {"redact.keys", SF_CONFIG_BOOL, AT(redact.in_keys), "true", NULL, 0, 0,
     "a match in an attribute's key replaces its value"},
    {"redact.values", SF_CONFIG_BOOL, AT(redact.in_values), "true", NULL, 0, 0,
     "look into attribute values, status messages and trace states"},
    {"redact.names", SF_CONFIG_BOOL, AT(redact.in_names), "true", NULL, 0, 0,
     "look into the names of spans, events and scopes"},
    {"redact.functions", SF_CONFIG_CHOICE, AT(redact.functions), "match",
     "match|words|substring|none", 0, 0,
     "how words of redact.patterns match names of functions; match: like redact.match"},
    {"redact.files", SF_CONFIG_CHOICE, AT(redact.files), "match", "match|words|substring|none", 0,
     0, "the same in files of functions and loaded files"},
    {"redact.allow", SF_CONFIG_LIST, AT(redact.allow), "", NULL, 0, 0,
     "attribute keys that are never redacted, nor their values; * stands for anything"},
    {"redact.replace", SF_CONFIG_CHOICE, AT(redact.replace), "text", "text|hash", 0, 0,
     "text: [REDACTED]; hash: [REDACTED:...], equal for equal secrets, needs hash_key_file"},
    {"redact.hash_key_file", SF_CONFIG_STR, AT(redact.hash_key_file), "", NULL, 0, 0,
     "file with at least 16 secret bytes that key the hash"},

    {"retention.spans", SF_CONFIG_DURATION, AT(retention.spans_ns), "7d", NULL, 0, YEARS,
     "age at which spans go; 0: never"},
    {"retention.profiles", SF_CONFIG_DURATION, AT(retention.profiles_ns), "30d", NULL, 0, YEARS,
     "age at which profiles go; 0: never"},
    {"retention.full_resolution", SF_CONFIG_DURATION, AT(retention.full_resolution_ns), "2d", NULL,
     0, YEARS, "age at which profiles become 10-minute sums; 0: never"},
    {"retention.detail", SF_CONFIG_DURATION, AT(retention.detail_ns), "7d", NULL, 0, YEARS,
     "age at which samples of single spans go; 0: never"},
    {"retention.detail_by_outcome", SF_CONFIG_BOOL, AT(retention.keep.is_on), "true", NULL, 0, 0,
     "of these samples, keep only those of requests that profiling.conditional names, and of its "
     "baseline, once they are older than retention.tail_delay"},
    {"retention.tail_delay", SF_CONFIG_DURATION, AT(retention.tail_delay_ns), "1h", NULL, 0,
     30 * SF_NS_PER_DAY,
     "how long samples of single spans are whole, behind the end of their hour"},
    {"retention.spans_by_outcome", SF_CONFIG_DURATION, AT(retention.spans_by_outcome_ns), "0", NULL,
     0, YEARS,
     "age at which spans of the requests kept by outcome go, when that is more than "
     "retention.spans; 0: with the others"},
    {"retention.max_bytes", SF_CONFIG_SIZE, AT(retention.max_len), "50GB", NULL, 0, 0,
     "size at which the oldest data goes; 0: no limit"},
    {"retention.min_free", SF_CONFIG_SIZE, AT(retention.min_free_len), "0", NULL, 0, 0,
     "free disk space below which writes are refused; 0: 2 GB or 5 %, whichever is more"},
    {"symbols.debuginfod", SF_CONFIG_LIST, AT(symbols.debuginfod), "", NULL, 0, 0,
     "debuginfod servers to ask for the names of code, such as https://debuginfod.example.com; "
     "none: "
     "nobody is asked"},
    {"symbols.timeout", SF_CONFIG_DURATION, AT(symbols.fetch_ns), "1m", NULL, SF_NS_PER_S / 10,
     SF_NS_PER_HOUR, "time of one answer of a debuginfod server; queries do not wait for it"},
    {"symbols.cache", SF_CONFIG_SIZE, AT(symbols.cache_len), "2GiB", NULL, 0, 0,
     "files kept from debuginfod servers; above it the least recently used go"},
    {"symbols.max_file", SF_CONFIG_SIZE, AT(symbols.file_len), "512MiB", NULL, 64 * KIB, GIB,
     "one uploaded or fetched symbol file"},
    {"symbols.max_total", SF_CONFIG_SIZE, AT(symbols.total_len), "10GiB", NULL, 0, 0,
     "uploaded symbol files of one tenant"},
    {"symbols.wait", SF_CONFIG_DURATION, AT(symbols.wait_ns), "1s", NULL, 0, 60 * SF_NS_PER_S,
     "how long a query waits for names from files that are here; 0: not at all"},
    {"store.flush_interval", SF_CONFIG_DURATION, AT(store.flush_interval_ns), "60s", NULL,
     SF_NS_PER_S, 600 * SF_NS_PER_S,
     "how long data may wait in memory (and log) before it becomes a block"},
    {"store.flush_log", SF_CONFIG_SIZE, AT(store.flush_log_len), "256MB", NULL, 64 * MIB, 16 * GIB,
     "log size at which it becomes a block earlier"},
    {"store.remote.url", SF_CONFIG_STR, AT(store.remote.url), "", NULL, 0, 0,
     "ship all data to ClickHouse, too: clickhouse://HOST:PORT,.../DATABASE, one HOST:PORT (HTTP "
     "interface) for each shard; https:// for TLS; docs/fleet.md"},
    {"store.remote.user", SF_CONFIG_STR, AT(store.remote.user), "", NULL, 0, 0,
     "user of ClickHouse; none: its default user"},
    {"store.remote.password_file", SF_CONFIG_STR, AT(store.remote.password_file), "", NULL, 0, 0,
     "file whose first line is that user's password; read at start"},
    {"store.remote.ca_file", SF_CONFIG_STR, AT(store.remote.ca_file), "", NULL, 0, 0,
     "PEM file: certificates that sign those of https:// shards; none: the machine's"},
    {"store.remote.ack", SF_CONFIG_CHOICE, AT(store.remote.ack), "local", "local|remote", 0, 0,
     "when a sender gets its answer: local: the data is on this server's disk; remote: every shard "
     "has it, too, which takes a second or more"},
    {"store.remote.interval", SF_CONFIG_DURATION, AT(store.remote.interval_ns), "5s", NULL,
     SF_NS_PER_S / 10, 600 * SF_NS_PER_S, "how long data waits before it is shipped"},
    {"store.remote.timeout", SF_CONFIG_DURATION, AT(store.remote.timeout_ns), "60s", NULL,
     SF_NS_PER_S, SF_NS_PER_HOUR, "time of one request to ClickHouse"},
    {"store.remote.spool_max", SF_CONFIG_SIZE, AT(store.remote.spool_len), "20GB", NULL, 256 * MIB,
     256 * GIB,
     "log that may wait for ClickHouse; from 81 % on less is accepted (docs/overload.md), when it "
     "is full nothing"},

    {"log.level", SF_CONFIG_CHOICE, AT(log.level), "info", "error|warn|info|debug", 0, 0,
     "how much the server says"},
    {"log.format", SF_CONFIG_CHOICE, AT(log.format), "auto", "auto|human|logfmt", 0, 0,
     "auto: human on a terminal, key=value otherwise"},
    {"metrics.span_metrics.enabled", SF_CONFIG_BOOL, AT(metrics.has_span_metrics), "true", NULL, 0,
     0, "requests, errors and durations per service and operation on /metrics"},
    {"metrics.span_metrics.dimensions", SF_CONFIG_LIST, AT(metrics.dimensions), "", NULL, 0, 0,
     "attributes that become further labels, such as http.route"},
    {"metrics.span_metrics.max_series", SF_CONFIG_COUNT, AT(metrics.max_series), "2000", NULL, 10,
     1000000, "label sets kept; further ones are counted together"},
    {"metrics.service_graph.enabled", SF_CONFIG_BOOL, AT(metrics.has_service_graph), "true", NULL,
     0, 0, "who calls whom, how often and how long, on /metrics"},
    {"metrics.service_graph.dimensions", SF_CONFIG_LIST, AT(metrics.graph_dimensions), "", NULL, 0,
     0, "resource attributes that become further labels, client_x and server_x"},
    {"metrics.service_graph.max_series", SF_CONFIG_COUNT, AT(metrics.graph_max_series), "1000",
     NULL, 10, 100000, "edges kept; further ones are counted together"},
    {"metrics.service_graph.wait", SF_CONFIG_DURATION, AT(metrics.graph_wait_ns), "10s", NULL,
     SF_NS_PER_S / 10, 600 * SF_NS_PER_S,
     "how long a span waits for the other side of its request"},
    {"metrics.service_graph.max_items", SF_CONFIG_COUNT, AT(metrics.graph_max_items), "10000", NULL,
     10, 1000000, "spans that may wait at a time"},
    {"metrics.target_info.enabled", SF_CONFIG_BOOL, AT(metrics.has_target_info), "false", NULL, 0,
     0, "attributes of resources as traces_target_info on /metrics; job and instance everywhere"},
    {"metrics.recording_rules.interval", SF_CONFIG_DURATION, AT(metrics.rules_interval_ns), "15s",
     NULL, SF_NS_PER_S / 10, SF_NS_PER_HOUR,
     "how often recording rules are summed up from the profiles"},

    {"alerts.interval", SF_CONFIG_DURATION, AT(alerts.interval_ns), "30s", NULL, SF_NS_PER_S,
     SF_NS_PER_DAY, "how often rules of alerts are evaluated"},
    {"alerts.alertmanager", SF_CONFIG_LIST, AT(alerts.alertmanager), "", NULL, 0, 0,
     "Alertmanagers that are told, such as http://127.0.0.1:9093; all of them"},
    {"alerts.webhook", SF_CONFIG_LIST, AT(alerts.webhook), "", NULL, 0, 0,
     "addresses that are told in the JSON of Alertmanager's webhooks, version 4"},
    {"alerts.pack", SF_CONFIG_BOOL, AT(alerts.pack), "true", NULL, 0, 0,
     "built-in rules of all services, when there is a receiver; with tenancy.enabled of each of up "
     "to 16 tenants"},
    {"alerts.url", SF_CONFIG_STR, AT(alerts.url), "", NULL, 0, 0,
     "how people reach this server, for the link in an alert: https://spanflame.example.com"},
    {"alerts.rules_files", SF_CONFIG_LIST, AT(alerts.rules_files), "", NULL, 0, 0,
     "files with further rules, such as /etc/spanflame/rules/*.yaml; read again at SIGHUP"},
    {"alerts.rules", SF_CONFIG_RULES, AT(alerts.rules), "", NULL, 0, 0,
     "rules, a map each (docs/alerts.md); a mistake ends the start, at SIGHUP the old set stays"},

    {"scrape", SF_CONFIG_SCRAPE, AT(scrape), "", NULL, 0, 0,
     "addresses that are asked for profiles, a map each (docs/scrape.md): url, or targets, "
     "file_sd, "
     "http_sd; read again at SIGHUP"},

    {"page.source_link", SF_CONFIG_STR, AT(page.source_link), "", NULL, 0, 0,
     "where a frame's source is, with {file}, {line}, {function}, {service}: "
     "https://git.example.com/shop/blob/main/{file}#L{line}"},
    {"page.source_root", SF_CONFIG_STR, AT(page.source_root), "", NULL, 0, 0,
     "what {file} leaves out at its beginning, such as /usr/src/shop/"},
    {"page.source_folder", SF_CONFIG_STR, AT(page.source_folder), "", NULL, 0, 0,
     "a folder with source code that the page shows beside the cost of its lines; everyone who may "
     "read can read the source files below it"},
    {"page.logs_link", SF_CONFIG_STR, AT(page.logs_link), "", NULL, 0, 0,
     "where a span's logs are, with {traceId}, {spanId}, {service}, {start}, {end} (unix ms): "
     "https://logs.example.com/search?q={traceId}"},

    {"findings.leaf", SF_CONFIG_PERCENT, AT(findings.leaf_per_10000), "10%", NULL, 0, 0,
     "said of a function that takes this share by itself"},
    {"findings.stack_depth", SF_CONFIG_COUNT, AT(findings.depth), "100", NULL, 1, 2048,
     "said of stacks with more frames"},
    {"findings.repeated", SF_CONFIG_PERCENT, AT(findings.repeat_per_10000), "10%", NULL, 0, 0,
     "said of a function with this share under many callers, or parsing in most requests"},
    {"findings.callers", SF_CONFIG_COUNT, AT(findings.callers), "5", NULL, 1, 1000000,
     "callers that are many"},
    {"findings.equal_spans", SF_CONFIG_COUNT, AT(findings.siblings), "10", NULL, 1, 1000000,
     "said of a span with this many equal children"},
    {"findings.gc", SF_CONFIG_PERCENT, AT(findings.gc_per_10000), "10%", NULL, 0, 0,
     "said of garbage collection, and of the allocator, from this share on"},
    {"findings.lock", SF_CONFIG_PERCENT, AT(findings.lock_per_10000), "10%", NULL, 0, 0,
     "said of waiting for locks from this share on"},
    {"findings.theme", SF_CONFIG_PERCENT, AT(findings.theme_per_10000), "15%", NULL, 0, 0,
     "said of pattern matching, JSON, serialisation, cryptography or logging from this share on"},

    SF_PROFILING_KEYS_FIRST(PROFILING){
        "profiling.conditional.flagged", SF_CONFIG_CHOICE, AT(keep_flagged), "debug",
        "debug|sampled", 0, 0,
        "requests whose sender marked them keep their samples on the server: profile.keep = true "
        "or "
        "the debug flag; sampled: those with the W3C sampled flag, too"},
    {"profiling.conditional.rules", SF_CONFIG_LIST, AT(keep_rules), "", NULL, 0, 0,
     "rules of single services on the server: service, and any of slow_request_threshold, "
     "cpu_threshold_percent, profile_errors, baseline, flagged; a map each, or words as in "
     "\"service=checkout baseline=5%\""},
    SF_PROFILING_KEYS_LAST(PROFILING)};

const size_t sf_config_n_keys = sizeof(sf_config_keys) / sizeof(sf_config_keys[0]);

/* route_table.c - every HTTP and gRPC call as one row: method, path, handler, which threads run it,
 * which scope the caller's token needs, what body and which parameters it accepts. The router reads
 * nothing but this table. */
#include "serve/route_table.h"

#include "serve/alerts/alerts.h"
#include "serve/jaeger/jaeger.h"
#include "serve/mcp/mcp.h"
#include "serve/otlp/other_signals.h"
#include "serve/otlp/otlp_traces.h"
#include "serve/own/balance.h"
#include "serve/own/cohort.h"
#include "serve/own/compare.h"
#include "serve/own/control_calls.h"
#include "serve/own/coverage.h"
#include "serve/own/deploys.h"
#include "serve/own/erase.h"
#include "serve/own/explain.h"
#include "serve/own/findings.h"
#include "serve/own/frame_spans.h"
#include "serve/own/keep.h"
#include "serve/own/links.h"
#include "serve/own/page.h"
#include "serve/own/pins.h"
#include "serve/own/profile_read.h"
#include "serve/own/profile_upload.h"
#include "serve/own/remote.h"
#include "serve/own/self.h"
#include "serve/own/self_profile.h"
#include "serve/own/services.h"
#include "serve/own/source_file.h"
#include "serve/own/spans.h"
#include "serve/own/symbols.h"
#include "serve/own/trace_ledgers.h"
#include "serve/pyroscope/adhoc.h"
#include "serve/pyroscope/ingest.h"
#include "serve/pyroscope/push.h"
#include "serve/pyroscope/pyroscope_render.h"
#include "serve/pyroscope/pyroscope_self.h"
#include "serve/pyroscope/querier.h"
#include "serve/pyroscope/recording_rules.h"
#include "serve/pyroscope/settings.h"
#include "serve/scrape/scraping.h"
#include "serve/tempo/metrics_query.h"
#include "serve/tempo/search.h"
#include "serve/tempo/status_pages.h"
#include "serve/tempo/tags.h"
#include "serve/tempo/traces.h"

/* ---- POINT queries that read much data ---- */

/* Some clients send "{}" for no filter. */
static bool route_table_has_filter(const struct sf_call *call)
{
    struct sf_buf text = {.max = SF_LIMIT_PARAM_LEN};
    bool has = sf_request_param(call->request, SF_STR("q"), &text);
    sf_str rest = sf_str_trim(sf_buf_str(&text));
    if (rest.len >= 2 && rest.p[0] == '{' && rest.p[rest.len - 1] == '}')
        rest = sf_str_trim(sf_str_part(rest, 1, rest.len - 2));
    has = has && rest.len > 0;
    sf_buf_done(&text);
    return has;
}

/* A span without its trace has to be searched for. */
static bool has_no_trace(const struct sf_call *call)
{
    size_t at;
    return !sf_str_find_char(call->arg, '/', &at);
}

/* clang-format off */
/* One line each: route, required scope, threads, and handler. */

#define ROUTE(m, p, s, c, grpc, otlp, tenant, handler) \
    {.method = m, .path = p, .scope = s, .class = c, .is_grpc = grpc, .is_otlp = otlp, \
     .has_tenant = tenant, .handle = handler}
#define READ(path, handler) \
    ROUTE(SF_METHOD_GET, path, SF_MAY_READ, SF_CLASS_QUERY, false, false, true, handler)
#define POINT(path, handler) \
    ROUTE(SF_METHOD_GET, path, SF_MAY_READ, SF_CLASS_POINT, false, false, true, handler)
/* Lists of names and values; with a filter they are searches. */
#define TAGS(p, handler, names) \
    {.method = SF_METHOD_GET, .path = p, .scope = SF_MAY_READ, .class = SF_CLASS_POINT, \
     .has_tenant = true, .handle = handler, .reads = names, .is_wide = route_table_has_filter}
#define WRITE(path, handler) \
    ROUTE(SF_METHOD_POST, path, SF_MAY_WRITE, SF_CLASS_INGEST, false, false, true, handler)
#define OTLP(path, handler) \
    ROUTE(SF_METHOD_POST, path, SF_MAY_WRITE, SF_CLASS_INGEST, false, true, true, handler)
#define OTLP_GRPC(name, handler) \
    ROUTE(SF_METHOD_POST, SF_OTLP_PACKAGE name, SF_MAY_WRITE, SF_CLASS_INGEST, true, true, true, handler)
#define TEMPO(name, handler) \
    ROUTE(SF_METHOD_POST, SF_TEMPO_PACKAGE name, SF_MAY_READ, SF_CLASS_QUERY, true, false, true, handler)
/* The same for calls of compatible APIs: the parameters they read, and those they refuse. */
#define ASK(p, c, handler, names, refused) \
    {.method = SF_METHOD_GET, .path = p, .scope = SF_MAY_READ, .class = c, \
     .has_tenant = true, .handle = handler, .reads = names, .refuses = refused}
/* A call over Connect, and the same over gRPC. */
#define CONNECT(path, scope, class, handler) \
    ROUTE(SF_METHOD_POST, path, scope, class, false, false, true, handler), \
    ROUTE(SF_METHOD_POST, path, scope, class, true, false, true, handler)
#define QUERIER(name, handler) CONNECT(SF_QUERIER_PACKAGE name, SF_MAY_READ, SF_CLASS_QUERY, handler)
#define QUERIER_POINT(name, handler) \
    CONNECT(SF_QUERIER_PACKAGE name, SF_MAY_READ, SF_CLASS_POINT, handler)
/* Our own calls, with their known parameters. */
#define OWN_OF(c, p, handler, names) \
    {.method = SF_METHOD_GET, .path = p, .scope = SF_MAY_READ, .class = c, \
     .has_tenant = true, .handle = handler, .params = names}
#define OWN(p, handler, names) OWN_OF(SF_CLASS_QUERY, p, handler, names)
#define OWN_POINT(p, handler, names) OWN_OF(SF_CLASS_POINT, p, handler, names)
/* Calls about all tenants together. */
#define STORE(p, handler, names) \
    {.method = SF_METHOD_GET, .path = p, .scope = SF_MAY_ADMIN, .class = SF_CLASS_QUERY, \
     .handle = handler, .params = names}
#define OWN_SPAN(p, handler, names) \
    {.method = SF_METHOD_GET, .path = p, .scope = SF_MAY_READ, .class = SF_CLASS_POINT, \
     .has_tenant = true, .handle = handler, .params = names, .is_wide = has_no_trace}
/* The same for calls whose URLs users copy from elsewhere. */
#define LOOSE(m, p, s, c, handler, names) \
    {.method = m, .path = p, .scope = s, .class = c, .has_tenant = true, .handle = handler, \
     .params = names, .is_loose = true}
/* Calls that change data. */
#define CHANGE(m, p, tenant, json, handler, names) \
    {.method = m, .path = p, .scope = SF_MAY_ADMIN, .class = SF_CLASS_QUERY, .has_tenant = tenant, \
     .handle = handler, .params = names, .needs_json = json}
#define PIN(m, json, handler, names) \
    {.method = m, .path = "/api/v1/pins/{}", .scope = SF_MAY_CONTROL, .class = SF_CLASS_QUERY, \
     .has_tenant = true, .handle = handler, .params = names, .needs_json = json}
#define ADHOC_PACKAGE "/adhocprofiles.v1.AdHocProfileService/"
#define RULES_PACKAGE "/settings.v1.RecordingRulesService/"
/* Tempo's parameters that select its blocks and the part of a trace. `mode` selects recent or older
 * data in Tempo; this store has both and gives the same answer in every mode. */
#define BLOCK_PARAMS "blockStart blockEnd blockID"
#define PART_PARAMS \
    "q keep_hierarchy match_depth ancestor_depth span_pruning span_pruning_group_by " \
    "span_pruning_min_spans span_pruning_max_parent_depth"
#define TAGS_PARAMS "scope q start end limit maxStaleValues"
#define METRICS_PARAMS "q query start end since step exemplars maxSeries mode"
/* A debug file, by build id. */
#define SYMBOL(m, handler) \
    {.method = m, .path = SF_SYMBOLS_PATH "/{}", .scope = SF_MAY_WRITE, .class = SF_CLASS_QUERY, \
     .has_tenant = true, .handle = handler, .params = ""}
/* Collectors: their settings, the audit log, and the list of collectors. */
#define CONTROL(m, p, s, json, handler, names) \
    {.method = m, .path = p, .scope = s, .class = SF_CLASS_CONTROL, .has_tenant = true, \
     .handle = handler, .params = names, .needs_json = json}
#define ERASE_PARAMS "trace traces service from until all dry_run"
/* clang-format on */

const struct sf_route sf_routes[] = {
    /* method, path, scope, class, is_grpc, is_otlp, has_tenant, handler */
    OTLP("/v1/traces", sf_otlp_traces_export),
    OTLP_GRPC("trace.v1.TraceService/Export", sf_otlp_traces_export),
    WRITE("/api/v2/spans", sf_otlp_traces_take_zipkin),
    ROUTE(SF_METHOD_POST, "/v1/metrics", SF_MAY_WRITE, SF_CLASS_DISCARD, false, true, false,
          sf_other_signals_metrics),
    ROUTE(SF_METHOD_POST, SF_OTLP_PACKAGE "metrics.v1.MetricsService/Export", SF_MAY_WRITE,
          SF_CLASS_DISCARD, true, true, false, sf_other_signals_metrics),
    ROUTE(SF_METHOD_POST, "/v1/logs", SF_MAY_WRITE, SF_CLASS_DISCARD, false, true, false,
          sf_other_signals_logs),
    ROUTE(SF_METHOD_POST, SF_OTLP_PACKAGE "logs.v1.LogsService/Export", SF_MAY_WRITE,
          SF_CLASS_DISCARD, true, true, false, sf_other_signals_logs),
    OTLP("/v1development/profiles", sf_profile_upload_otlp),
    OTLP("/v1experimental/profiles", sf_profile_upload_otlp),
    OTLP("/v1/profiles", sf_profile_upload_otlp),
    OTLP_GRPC("profiles.v1development.ProfilesService/Export", sf_profile_upload_otlp),
    OTLP_GRPC("profiles.v1experimental.ProfilesService/Export", sf_profile_upload_otlp),
    OTLP_GRPC("profiles.v1.ProfilesService/Export", sf_profile_upload_otlp),
    LOOSE(SF_METHOD_POST, "/api/v1/profile", SF_MAY_WRITE, SF_CLASS_INGEST, sf_profile_upload_own,
          "service app type label* format trace_id span_id profile_id sample_rate from until"),
    LOOSE(SF_METHOD_GET, "/api/v1/profile", SF_MAY_READ, SF_CLASS_QUERY, sf_profile_read_handle,
          "service app selector call_site* frame* not_frame* frame_regex* not_frame_regex* type "
          "span_id trace_id format max_nodes ids from until"),
    WRITE("/ingest", sf_ingest_handle),
    WRITE("/pyroscope/ingest", sf_ingest_handle),
    WRITE("/push.v1.PusherService/Push", sf_push_handle),
    ROUTE(SF_METHOD_POST, "/push.v1.PusherService/Push", SF_MAY_WRITE, SF_CLASS_INGEST, true, false,
          true, sf_push_handle),
    QUERIER_POINT("ProfileTypes", sf_querier_types),
    QUERIER_POINT("LabelNames", sf_querier_label_names),
    QUERIER_POINT("LabelValues", sf_querier_label_values),
    QUERIER("Series", sf_querier_series),
    QUERIER("SelectMergeStacktraces", sf_querier_tree_stacktraces),
    QUERIER("SelectMergeSpanProfile", sf_querier_tree_spans),
    QUERIER("SelectMergeProfile", sf_querier_tree_profile),
    QUERIER("SelectSeries", sf_querier_points),
    QUERIER("SelectHeatmap", sf_querier_heatmap),
    QUERIER("Diff", sf_querier_tree_diff),
    QUERIER("AnalyzeQuery", sf_querier_analyze),
    QUERIER_POINT("GetProfileStats", sf_querier_stats),
    CONNECT("/settings.v1.SettingsService/Get", SF_MAY_READ, SF_CLASS_POINT, sf_settings_get),
    CONNECT("/settings.v1.SettingsService/Set", SF_MAY_WRITE, SF_CLASS_POINT, sf_settings_set),
    CONNECT("/settings.v1.SettingsService/Delete", SF_MAY_WRITE, SF_CLASS_POINT,
            sf_settings_delete),
    CONNECT(RULES_PACKAGE "GetRecordingRule", SF_MAY_READ, SF_CLASS_POINT, sf_recording_rules_get),
    CONNECT(RULES_PACKAGE "ListRecordingRules", SF_MAY_READ, SF_CLASS_POINT,
            sf_recording_rules_list),
    CONNECT(RULES_PACKAGE "UpsertRecordingRule", SF_MAY_WRITE, SF_CLASS_POINT,
            sf_recording_rules_upsert),
    CONNECT(RULES_PACKAGE "DeleteRecordingRule", SF_MAY_WRITE, SF_CLASS_POINT,
            sf_recording_rules_delete),
    CONNECT("/capabilities.v1.FeatureFlagsService/GetFeatureFlags", SF_MAY_READ, SF_CLASS_POINT,
            sf_pyroscope_self_features),
    CONNECT(ADHOC_PACKAGE "Upload", SF_MAY_WRITE, SF_CLASS_QUERY, sf_adhoc_upload),
    CONNECT(ADHOC_PACKAGE "Get", SF_MAY_READ, SF_CLASS_QUERY, sf_adhoc_get),
    CONNECT(ADHOC_PACKAGE "List", SF_MAY_READ, SF_CLASS_POINT, sf_adhoc_list),
    CONNECT(ADHOC_PACKAGE "Diff", SF_MAY_READ, SF_CLASS_QUERY, sf_adhoc_diff),
    CONNECT("/version.v1.Version/Version", SF_MAY_READ, SF_CLASS_POINT, sf_pyroscope_self_version),
    CONNECT("/grpc.health.v1.Health/Check", 0, SF_CLASS_POINT, sf_pyroscope_self_health),
    ASK("/pyroscope/render", SF_CLASS_QUERY, sf_pyroscope_render,
        "query from until max-nodes maxNodes groupBy aggregation format", NULL),
    ASK("/pyroscope/render-diff", SF_CLASS_QUERY, sf_pyroscope_render_diff,
        "leftQuery leftFrom leftUntil rightQuery rightFrom rightUntil max-nodes maxNodes", NULL),
    ASK("/pyroscope/label-values", SF_CLASS_POINT, sf_pyroscope_render_label_values,
        "label from until", NULL),
    ROUTE(SF_METHOD_GET, "/api/v1/status/buildinfo", SF_MAY_READ, SF_CLASS_INLINE, false, false,
          false, sf_pyroscope_self_buildinfo),
    ASK("/api/traces/{}", SF_CLASS_POINT, sf_traces_v1, "start end mode", BLOCK_PARAMS),
    ASK("/api/v2/traces/{}", SF_CLASS_POINT, sf_traces_v2, "start end mode",
        BLOCK_PARAMS " " PART_PARAMS),
    OWN_POINT("/api/v1/trace/{}", sf_traces_own, "type start end"),
    READ("/api/search", sf_search_handle),
    TAGS("/api/search/tags", sf_tags_handle_names_v1, TAGS_PARAMS),
    TAGS("/api/v2/search/tags", sf_tags_handle_names_v2, TAGS_PARAMS),
    TAGS("/api/search/tag/{*}/values", sf_tags_handle_values_v1, TAGS_PARAMS " tag"),
    TAGS("/api/v2/search/tag/{*}/values", sf_tags_handle_values_v2, TAGS_PARAMS " tag"),
    ASK("/api/metrics/query_range", SF_CLASS_QUERY, sf_metrics_query_range, METRICS_PARAMS,
        BLOCK_PARAMS),
    ASK("/api/metrics/query", SF_CLASS_QUERY, sf_metrics_query_instant, METRICS_PARAMS,
        BLOCK_PARAMS),
    TEMPO("Search", sf_search_stream),
    TEMPO("SearchTags", sf_tags_stream_names_v1),
    TEMPO("SearchTagsV2", sf_tags_stream_names_v2),
    TEMPO("SearchTagValues", sf_tags_stream_values_v1),
    TEMPO("SearchTagValuesV2", sf_tags_stream_values_v2),
    TEMPO("MetricsQueryRange", sf_metrics_query_stream_range),
    TEMPO("MetricsQueryInstant", sf_metrics_query_stream_instant),
    READ("/api/services", sf_jaeger_services),
    READ("/jaeger/api/services", sf_jaeger_services),
    READ("/api/services/{*}/operations", sf_jaeger_service_operations),
    READ("/jaeger/api/services/{*}/operations", sf_jaeger_service_operations),
    READ("/api/operations", sf_jaeger_operations),
    READ("/jaeger/api/operations", sf_jaeger_operations),
    READ("/api/traces", sf_jaeger_traces),
    READ("/jaeger/api/traces", sf_jaeger_traces),
    READ("/api/dependencies", sf_jaeger_dependencies),
    READ("/jaeger/api/dependencies", sf_jaeger_dependencies),
    READ("/api/v3/services", sf_jaeger_v3_services),
    READ("/jaeger/api/v3/services", sf_jaeger_v3_services),
    READ("/api/v3/operations", sf_jaeger_v3_operations),
    READ("/jaeger/api/v3/operations", sf_jaeger_v3_operations),
    READ("/api/v3/traces", sf_jaeger_v3_traces),
    READ("/jaeger/api/v3/traces", sf_jaeger_v3_traces),
    POINT("/api/v3/traces/{}", sf_jaeger_v3_trace),
    POINT("/jaeger/api/v3/traces/{}", sf_jaeger_v3_trace),
    POINT("/jaeger/api/traces/{}", sf_jaeger_trace),
    OWN("/api/v1/deploys", sf_deploys_list, "service from until format=json|text"),
    CONTROL(SF_METHOD_POST, "/api/v1/deploys", SF_MAY_WRITE, true, sf_deploys_post, ""),
    STORE("/api/v1/store", sf_remote_state_handle, "format=json|text"),
    STORE("/api/v1/store/migrate", sf_remote_move_handle, "format=json|text"),
    {.method = SF_METHOD_POST,
     .path = "/api/v1/store/migrate",
     .scope = SF_MAY_ADMIN,
     .class = SF_CLASS_QUERY,
     .handle = sf_remote_move_begin,
     .params = "to format=json|text",
     .needs_json = true},
    STORE("/api/v1/store/verify", sf_remote_check_handle, "since format=json|text"),
    OWN_OF(SF_CLASS_POINT, "/api/v1/targets", sf_scraping_targets_handle, "format=json|text"),
    OWN_OF(SF_CLASS_POINT, "/api/v1/alerts", sf_alert_calls_list, "format=json|text"),
    OWN("/api/v1/alerts/test", sf_alert_calls_test, "rule from until format=json|text"),
    OWN_OF(SF_CLASS_POINT, "/api/v1/alerts/history", sf_silence_calls_history, "rule limit"),
    CONTROL(SF_METHOD_GET, "/api/v1/silences", SF_MAY_READ, false, sf_silence_calls_list, ""),
    CONTROL(SF_METHOD_POST, "/api/v1/silences", SF_MAY_CONTROL, true, sf_silence_calls_post, ""),
    CONTROL(SF_METHOD_DELETE, "/api/v1/silences/{}", SF_MAY_CONTROL, false, sf_silence_calls_delete,
            ""),
    LOOSE(SF_METHOD_GET, "/api/v1/rules", SF_MAY_READ, SF_CLASS_POINT, sf_alert_calls_rules,
          "type"),
    OWN("/api/v1/balance", sf_balance_handle, "service instance type from until limit"),
    OWN("/api/v1/cohort", sf_cohort_handle, "q per type self time from until format"),
    OWN("/api/v1/compare", sf_compare_handle,
        "q split left right by type from until format=json|text"),
    OWN("/api/v1/coverage", sf_coverage_handle, "service type from until format=json|text"),
    OWN("/api/v1/explain", sf_explain_handle, SF_EXPLAIN_PARAMS),
    OWN("/api/v1/findings", sf_findings_handle,
        "service each trace span q left right baseline comparison type from until format=json|text "
        "leaf "
        "stack_depth repeated callers equal_spans gc lock theme"),
    OWN("/api/v1/keep", sf_keep_handle, SF_KEEP_PARAMS),
    OWN_POINT("/api/v1/keep/{}", sf_pins_trace, "format=json|text"),
    OWN_POINT("/api/v1/pins", sf_pins_list, "format=json|text"),
    PIN(SF_METHOD_POST, true, sf_pins_post, "for note"),
    PIN(SF_METHOD_DELETE, false, sf_pins_delete, ""),
    OWN("/api/v1/frames/spans", sf_frame_spans_handle,
        "function pattern service type limit from until format=json|text"),
    OWN_POINT("/api/v1/traces/{}/flame", sf_spans_trace_flame, "by type waits format"),
    OWN_POINT("/api/v1/traces/{}/ledgers", sf_trace_ledgers_handle, ""),
    OWN_SPAN("/api/v1/spans/{*}/profile", sf_spans_profile, "self timeline part type format"),
    OWN_SPAN("/api/v1/spans/{*}/coverage", sf_coverage_span, "type format=json|text"),
    OWN_SPAN("/api/v1/spans/{*}/ledger", sf_spans_ledger, "format=json|text"),
    OWN_POINT("/api/v1/links", sf_links_handle, ""),
    OWN_POINT("/api/v1/source", sf_source_file_handle, "file from until"),
    OWN("/api/v1/services", sf_services_list, "service from until"),
    OWN(SF_SYMBOLS_PATH, sf_symbols_list, ""),
    SYMBOL(SF_METHOD_PUT, sf_symbols_put),
    SYMBOL(SF_METHOD_DELETE, sf_symbols_delete),
    {.method = SF_METHOD_GET,
     .path = "/api/v1/control",
     .scope = SF_MAY_WRITE,
     .class = SF_CLASS_INLINE,
     .has_tenant = true,
     .handle = sf_control_calls_poll,
     .params = "service instance wait format=json|text rate paused cost host pid agent problem "
               "capture from "
               "until"},
    CONTROL(SF_METHOD_GET, "/api/v1/profiling", SF_MAY_READ, false, sf_control_calls_get,
            "service instance"),
    CONTROL(SF_METHOD_POST, "/api/v1/profiling", SF_MAY_CONTROL, true, sf_control_calls_post,
            "service instance"),
    CONTROL(SF_METHOD_PUT, "/api/v1/profiling", SF_MAY_CONTROL, true, sf_control_calls_put,
            "service instance"),
    CONTROL(SF_METHOD_DELETE, "/api/v1/profiling", SF_MAY_CONTROL, false, sf_control_calls_delete,
            "service instance"),
    CONTROL(SF_METHOD_GET, "/api/v1/profiling/audit", SF_MAY_CONTROL, false, sf_control_calls_audit,
            "service format=json|text"),
    CONTROL(SF_METHOD_POST, "/api/v1/profiling/capture", SF_MAY_CONTROL, true,
            sf_control_calls_capture_post, "service instance type seconds rate format wait"),
    CONTROL(SF_METHOD_GET, "/api/v1/profiling/capture/{}", SF_MAY_READ, false,
            sf_control_calls_capture_get, ""),
    CONTROL(SF_METHOD_GET, "/api/v1/collectors", SF_MAY_READ, false, sf_control_calls_collectors,
            "service format=json|text"),
    CHANGE(SF_METHOD_POST, "/api/v1/erase", true, true, sf_erase_matching, ERASE_PARAMS),
    CHANGE(SF_METHOD_DELETE, "/api/v1/erase", true, false, sf_erase_matching, ERASE_PARAMS),
    CHANGE(SF_METHOD_POST, "/api/v1/flush", false, true, sf_erase_flush, ""),
    {.method = SF_METHOD_POST,
     .path = "/mcp",
     .scope = SF_MAY_READ,
     .class = SF_CLASS_QUERY,
     .has_tenant = true,
     .handle = sf_mcp_handle,
     .params = "",
     .needs_json = true},
    ROUTE(SF_METHOD_GET, "/", 0, SF_CLASS_INLINE, false, false, false, sf_page_index),
    ROUTE(SF_METHOD_GET, "/assets/{}", 0, SF_CLASS_INLINE, false, false, false, sf_page_asset),
    ROUTE(SF_METHOD_GET, "/ready", 0, SF_CLASS_CONTROL, false, false, false, sf_self_ready),
    ROUTE(SF_METHOD_GET, "/metrics", SF_MAY_READ, SF_CLASS_CONTROL, false, false, false,
          sf_self_metrics),
    ROUTE(SF_METHOD_GET, "/api/echo", 0, SF_CLASS_INLINE, false, false, false, sf_self_echo),
    ROUTE(SF_METHOD_GET, "/api/status/buildinfo", SF_MAY_READ, SF_CLASS_INLINE, false, false, false,
          sf_self_buildinfo),
    ROUTE(SF_METHOD_GET, "/debug/pprof/profile", SF_MAY_READ, SF_CLASS_INLINE, false, false, false,
          sf_self_profile_cpu),
    ROUTE(SF_METHOD_GET, "/debug/pprof/heap", SF_MAY_READ, SF_CLASS_INLINE, false, false, false,
          sf_self_profile_heap),
    ROUTE(SF_METHOD_GET, "/status", SF_MAY_READ, SF_CLASS_CONTROL, false, false, false,
          sf_status_pages_all),
    ROUTE(SF_METHOD_GET, "/status/version", SF_MAY_READ, SF_CLASS_INLINE, false, false, false,
          sf_status_pages_version),
    ROUTE(SF_METHOD_GET, "/status/services", SF_MAY_READ, SF_CLASS_CONTROL, false, false, false,
          sf_status_pages_services),
    ROUTE(SF_METHOD_GET, "/status/endpoints", SF_MAY_READ, SF_CLASS_INLINE, false, false, false,
          sf_status_pages_endpoints),
    ROUTE(SF_METHOD_GET, "/status/config", SF_MAY_ADMIN, SF_CLASS_INLINE, false, false, false,
          sf_status_pages_config),
    ROUTE(SF_METHOD_GET, "/status/runtime_config", SF_MAY_ADMIN, SF_CLASS_INLINE, false, false,
          false, sf_status_pages_overrides),
    ROUTE(SF_METHOD_GET, "/status/overrides", SF_MAY_ADMIN, SF_CLASS_INLINE, false, false, false,
          sf_status_pages_overrides),
    ROUTE(SF_METHOD_GET, "/status/overrides/{}", SF_MAY_ADMIN, SF_CLASS_INLINE, false, false, false,
          sf_status_pages_overrides),
    ROUTE(SF_METHOD_GET, "/status/usage-stats", SF_MAY_READ, SF_CLASS_INLINE, false, false, false,
          sf_status_pages_usage),
};
const size_t sf_n_routes = sizeof(sf_routes) / sizeof(sf_routes[0]);
_Static_assert(sizeof(sf_routes) / sizeof(sf_routes[0]) < (size_t)SF_COUNTERS_ROUTES,
               "every route has its counters");

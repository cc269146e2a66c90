/* mcp_tools.c - the tools of the MCP endpoint as one table: name, description, arguments, and the
 * HTTP call that answers. tools/list prints the table as JSON Schema; tools/call turns the
 * arguments into the parameters of that call. */
#include "serve/mcp/mcp_tools.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/time_unit.h"
#include "serve/own/compare.h"
#include "serve/own/coverage.h"
#include "serve/own/deploys.h"
#include "serve/own/explain.h"
#include "serve/own/findings.h"
#include "serve/own/frame_spans.h"
#include "serve/own/profile_read.h"
#include "serve/own/services.h"
#include "serve/own/spans.h"
#include "serve/params.h"
#include "serve/tempo/search.h"
#include "wire/json.h"

enum { MAX_ARGUMENTS = 10, MAX_VIEWS = 2, DEFAULT_SINCE_S = 3600 };

enum argument_kind {
    TEXT,
    NUMBER,
    SINCE, /* length of the time range, sent as `from` */
    SINCE_IF_GIVEN,
    SINCE_SECONDS, /* the same, sent as `start` and `end` */
};

struct argument {
    const char *name;
    enum argument_kind kind;
    const char *parameter; /* parameter of the call */
    const char *shown;     /* parameter of the page's URL; NULL: not in it */
    const char *words;
    bool is_needed;
};

struct sf_mcp_tool {
    const char *name, *words;
    bool (*handle)(struct sf_call *call, struct sf_worker *worker);
    const char *path;
    const char *fixed; /* parameters with constant values */
    const char *view;  /* view of the page */
    struct {
        const char *shown, *view;
    } others[MAX_VIEWS]; /* used instead of `view` when this parameter of the page's URL is given */
    struct argument arguments[MAX_ARGUMENTS];
};

/* clang-format off */
#define SINCE_ARGUMENT {"since", SINCE, "from", NULL, "how far to look back: 15m, 1h, 7d (default 1h)", false}

static const struct sf_mcp_tool tools[] = {
    {"services", "Services with requests, rate, errors and latency percentiles. Start here.",
     sf_services_list, "/api/v1/services", "", "overview", {{"service", "service"}},
     {{"service", TEXT, "service", "service", "one service only, with its operations", false},
      SINCE_ARGUMENT}},
    {"search", "Find traces by a TraceQL query, newest first: { resource.service.name = \"shop\" && duration > 1s }.",
     sf_search_handle, "/api/search", "spss=3", "search", {{0}},
     {{"q", TEXT, "q", "q", "TraceQL: { status = error }, { name = \"GET /cart\" && duration > 500ms }", true},
      {"limit", NUMBER, "limit", NULL, "how many traces (default 20)", false},
      {"since", SINCE_SECONDS, NULL, NULL, "how far to look back: 15m, 1h, 7d (default 1h)", false}}},
    {"why", "Why was this span or trace slow? A sentence and a table of parts that add up to its duration, with the functions in them.",
     sf_explain_handle, "/api/v1/explain", "format=text", "compare", {{"id", "trace"}},
     {{"trace", TEXT, "trace", "id", "trace id, hexadecimal", false},
      {"span", TEXT, "span", "span", "span id; without it the trace's root", false},
      {"q", TEXT, "q", "q", "TraceQL query instead: its spans together", false},
      {"split", TEXT, "split", "split", "with q: p95 explains slow ones against the others", false},
      {"service", TEXT, "service", "service", "two versions of a service instead", false},
      {"version", TEXT, "version", "version", "with service: the version after", false},
      {"against", TEXT, "against", "against", "with service: the version before", false},
      {"since", SINCE_IF_GIVEN, "from", NULL, "with q or service: how far to look back (default 1h)", false}}},
    {"flame", "Flame graph as text of a span, a trace or a service: which code ran, with shares.",
     sf_profile_read_handle, "/api/v1/profile", "format=flamegraph", "profiles", {{"id", "trace"}},
     {{"service", TEXT, "service", "service", "service, when no span is given", false},
      {"trace", TEXT, "trace_id", "id", "trace id of the span", false},
      {"span", TEXT, "span_id", "span", "span id", false},
      {"type", TEXT, "type", "type", "profile type: cpu, wall, alloc_space, mutex, ...", false},
      {"frame", TEXT, "frame", NULL, "only stacks with this function; of a span or a service", false},
      {"since", SINCE_IF_GIVEN, "from", NULL, "of a service: how far to look back (default 1h)", false}}},
    {"compare", "Compare slow requests with fast ones, or one version with another: time and functions per request with confidence intervals.",
     sf_compare_handle, "/api/v1/compare", "format=text", "compare", {{0}},
     {{"q", TEXT, "q", "q", "TraceQL query whose spans are split", false},
      {"split", TEXT, "split", "split", "p95 (default), any quantile, or errors", false},
      {"by", TEXT, "by", "by", "attribute whose values are the two sides, such as resource.service.version", false},
      {"left", TEXT, "left", "left", "value of `by` or a query: the baseline", false},
      {"right", TEXT, "right", "right", "value of `by` or a query: compared with it", false},
      {"type", TEXT, "type", "type", "profile type", false},
      SINCE_ARGUMENT}},
    {"diff", "What changed between two sets of profiles of services: selectors such as shop{version=\"1.4\"}.",
     sf_findings_handle, "/api/v1/findings", "format=text", "profiles", {{0}},
     {{"baseline", TEXT, "baseline", NULL, "selector before", true},
      {"comparison", TEXT, "comparison", NULL, "selector after", true},
      SINCE_ARGUMENT}},
    {"findings", "Performance problems of a service, trace or query: hot functions, locks, repeated work, with evidence.",
     sf_findings_handle, "/api/v1/findings", "format=text", "findings", {{"id", "trace"}, {"q", "search"}},
     {{"service", TEXT, "service", "service", "one of service, trace and q", false},
      {"trace", TEXT, "trace", "id", "trace id", false},
      {"q", TEXT, "q", "q", "TraceQL query", false},
      {"since", SINCE_IF_GIVEN, "from", NULL, "with q or service: how far to look back (default 1h)", false}}},
    {"spans_with", "Which spans ran a function, most expensive first.",
     sf_frame_spans_handle, "/api/v1/frames/spans", "format=text", "spans", {{0}},
     {{"function", TEXT, "function", "function", "name of a function, or its last part", true},
      {"service", TEXT, "service", "service", "in this service only", false},
      SINCE_ARGUMENT}},
    {"deploys", "Recent deployments: versions of services that were reported, or that first appeared in spans or profiles, each with the version before it. Use why or compare with both versions next.",
     sf_deploys_list, "/api/v1/deploys", "format=text", "deploys", {{0}},
     {{"service", TEXT, "service", NULL, "of this service only", false},
      {"since", SINCE, "from", NULL, "how far to look back: 1h, 7d (default 1h)", false}}},
    {"coverage", "How well are a service's traces and profiles linked, and what is missing?",
     sf_coverage_handle, "/api/v1/coverage", "format=text", "coverage", {{0}},
     {{"service", TEXT, "service", "service", "the service", true},
      SINCE_ARGUMENT}},
};
/* clang-format on */
enum { N_TOOLS = sizeof(tools) / sizeof(tools[0]) };

const struct sf_mcp_tool *sf_mcp_tools_find(sf_str name)
{
    for (size_t i = 0; i < N_TOOLS; i++) {
        if (sf_str_eq(name, sf_str_from(tools[i].name)))
            return &tools[i];
    }
    return NULL;
}

/* ---- tools/list ---- */

static void write_schema(struct sf_json_writer *w, const struct sf_mcp_tool *tool)
{
    sf_json_write_object(w);
    sf_json_write_key_str(w, SF_STR("type"), SF_STR("object"));
    sf_json_write_key(w, SF_STR("properties"));
    sf_json_write_object(w);
    for (const struct argument *a = tool->arguments; a->name; a++) {
        sf_json_write_key(w, sf_str_from(a->name));
        sf_json_write_object(w);
        sf_json_write_key_str(w, SF_STR("type"),
                              a->kind == NUMBER ? SF_STR("integer") : SF_STR("string"));
        sf_json_write_key_str(w, SF_STR("description"), sf_str_from(a->words));
        sf_json_write_object_end(w);
    }
    sf_json_write_object_end(w);
    sf_json_write_key(w, SF_STR("required"));
    sf_json_write_array(w);
    for (const struct argument *a = tool->arguments; a->name; a++) {
        if (a->is_needed)
            sf_json_write_str(w, sf_str_from(a->name));
    }
    sf_json_write_array_end(w);
    sf_json_write_key(w, SF_STR("additionalProperties"));
    sf_json_write_bool(w, false);
    sf_json_write_object_end(w);
}

void sf_mcp_tools_list(struct sf_json_writer *w)
{
    sf_json_write_array(w);
    for (size_t i = 0; i < N_TOOLS; i++) {
        sf_json_write_object(w);
        sf_json_write_key_str(w, SF_STR("name"), sf_str_from(tools[i].name));
        sf_json_write_key_str(w, SF_STR("description"), sf_str_from(tools[i].words));
        sf_json_write_key(w, SF_STR("inputSchema"));
        write_schema(w, &tools[i]);
        sf_json_write_key(w, SF_STR("annotations"));
        sf_json_write_object(w);
        sf_json_write_key(w, SF_STR("readOnlyHint"));
        sf_json_write_bool(w, true);
        sf_json_write_object_end(w);
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
}

/* ---- tools/call ---- */

static void add_parameter(struct sf_buf *out, const char *name, sf_str value)
{
    sf_buf_print(out, "%s%s=", out->len ? "&" : "", name);
    sf_request_encode(value, out);
}

static enum sf_err add_since(const struct argument *a, sf_str value, int64_t now_s,
                             struct sf_mcp_question *out, struct sf_why *why)
{
    int64_t since_ns = DEFAULT_SINCE_S * SF_NS_PER_S, since_s;
    char text[40];
    if (value.len && !sf_params_parse_duration(value, &since_ns))
        return sf_fail(why, SF_ERR_INPUT, "since: '%.*s' is not a duration; 15m, 1h and 7d are",
                       SF_STR_ARG(sf_str_part(value, 0, 40)));
    since_s = since_ns / SF_NS_PER_S;
    if (a->kind == SINCE_SECONDS) {
        sf_buf_print(&out->query, "%sstart=%" PRId64 "&end=%" PRId64, out->query.len ? "&" : "",
                     since_s < now_s ? now_s - since_s : 1, now_s);
    } else {
        snprintf(text, sizeof(text), "now-%" PRId64 "s", since_s);
        add_parameter(&out->query, a->parameter, sf_str_from(text));
    }
    if (value.len) {
        snprintf(text, sizeof(text), "now-%" PRId64 "s", since_s);
        add_parameter(&out->link, "from", sf_str_from(text));
    }
    return SF_OK;
}

/* The value at the cursor as text. False: neither text nor a number as required. */
static bool mcp_tools_read_value(struct sf_json *j, const struct argument *a, struct sf_arena *req,
                                 sf_str *out)
{
    enum sf_json_type type = sf_json_peek(j);
    const char *from = j->at;
    *out = SF_STR_NONE;
    if (type == SF_JSON_NULL) {
        sf_json_skip(j);
        return true;
    }
    if (type == SF_JSON_NUMBER && a->kind == NUMBER) {
        sf_json_skip(j);
        return sf_arena_copy(req, (sf_str){from, (size_t)(j->at - from)}, out);
    }
    if (type != SF_JSON_STRING || a->kind == NUMBER)
        return false;
    *out = sf_json_str(j);
    return sf_json_ok(j);
}

static const struct argument *find_argument(const struct sf_mcp_tool *tool, sf_str name)
{
    for (const struct argument *a = tool->arguments; a->name; a++) {
        if (sf_str_eq(name, sf_str_from(a->name)))
            return a;
    }
    return NULL;
}

static enum sf_err fail_unknown(const struct sf_mcp_tool *tool, sf_str name, struct sf_why *why)
{
    struct sf_buf known = {0};
    enum sf_err err;
    for (const struct argument *a = tool->arguments; a->name; a++)
        sf_buf_print(&known, "%s%s", known.len ? ", " : "", a->name);
    err = sf_fail(why, SF_ERR_INPUT, "%s takes no '%.*s'; it takes %.*s", tool->name,
                  SF_STR_ARG(sf_str_part(name, 0, 40)), SF_STR_ARG(sf_buf_str(&known)));
    sf_buf_done(&known);
    return err;
}

static enum sf_err read_arguments(const struct sf_mcp_tool *tool, sf_str arguments,
                                  sf_str values[MAX_ARGUMENTS], struct sf_arena *req,
                                  struct sf_why *why)
{
    struct sf_json j;
    bool is_seen[MAX_ARGUMENTS] = {0};
    sf_str name;
    sf_json_init(&j, arguments, req);
    if (arguments.len == 0)
        return SF_OK;
    if (sf_json_peek(&j) != SF_JSON_OBJECT)
        return sf_fail(why, SF_ERR_INPUT, "arguments must be an object");
    sf_json_object(&j);
    while (sf_json_key(&j, &name)) {
        const struct argument *a = find_argument(tool, name);
        size_t at = a ? (size_t)(a - tool->arguments) : 0;
        bool is_null = sf_json_peek(&j) == SF_JSON_NULL; /* the same as left out */
        if (!a)
            return fail_unknown(tool, name, why);
        if (!mcp_tools_read_value(&j, a, req, &values[at]))
            return sf_fail(why, SF_ERR_INPUT, "%s: %s must be a %s", tool->name, a->name,
                           a->kind == NUMBER ? "number" : "string");
        if (is_seen[at])
            return sf_fail(why, SF_ERR_INPUT, "%s: %s is given more than once", tool->name,
                           a->name);
        if (!is_null && values[at].len == 0)
            return sf_fail(why, SF_ERR_INPUT, "%s: %s is empty; leave it out or set it", tool->name,
                           a->name);
        is_seen[at] = true;
    }
    return sf_json_why(&j, "arguments", why);
}

/* The view of the page that shows the same answer. */
static const char *mcp_tools_view_of(const struct sf_mcp_tool *tool,
                                     const sf_str values[MAX_ARGUMENTS])
{
    for (size_t v = 0; v < MAX_VIEWS && tool->others[v].shown; v++) {
        for (size_t i = 0; i < MAX_ARGUMENTS && tool->arguments[i].name; i++) {
            const char *shown = tool->arguments[i].shown;
            if (values[i].len && shown &&
                sf_str_eq(sf_str_from(shown), sf_str_from(tool->others[v].shown)))
                return tool->others[v].view;
        }
    }
    return tool->view;
}

static sf_str mcp_tools_value_of(const struct sf_mcp_tool *tool, const sf_str values[MAX_ARGUMENTS],
                                 const char *name)
{
    const struct argument *a = find_argument(tool, sf_str_from(name));
    return a ? values[a - tool->arguments] : SF_STR_NONE;
}

/* Splits shop{env="prod"} into shop and env="prod". */
static void split_selector(sf_str selector, sf_str *out_service, sf_str *out_labels)
{
    size_t at;
    *out_service = selector = sf_str_trim(selector);
    *out_labels = SF_STR_NONE;
    if (!sf_str_find_char(selector, '{', &at) || selector.p[selector.len - 1] != '}')
        return;
    *out_service = sf_str_trim(sf_str_part(selector, 0, at));
    *out_labels = sf_str_trim(sf_str_part(selector, at + 1, selector.len - at - 2));
}

/* Adds the parameters of the page's URL that are not arguments. */
static void add_shown(const struct sf_mcp_tool *tool, const sf_str values[MAX_ARGUMENTS],
                      struct sf_buf *link)
{
    sf_str before = mcp_tools_value_of(tool, values, "baseline"),
           after = mcp_tools_value_of(tool, values, "comparison");
    sf_str service, labels, base_service, base_labels;
    if (tool->handle == sf_explain_handle && mcp_tools_value_of(tool, values, "q").len &&
        !mcp_tools_value_of(tool, values, "split").len)
        add_parameter(link, "split", SF_STR("all"));
    if (!after.len)
        return;
    split_selector(after, &service, &labels);
    split_selector(before, &base_service, &base_labels);
    add_parameter(link, "service", service);
    if (labels.len)
        add_parameter(link, "labels", labels);
    if (base_labels.len && sf_str_eq(service, base_service))
        add_parameter(link, "baseLabels", base_labels);
}

/* A span's and a trace's flame graphs are calls of their own, which join samples with spans and
 * report the match quality. A filter of frames applies to profiles only. */
static enum sf_err choose_flame(const struct sf_mcp_tool *tool, const sf_str values[MAX_ARGUMENTS],
                                struct sf_arena *req, struct sf_mcp_question *out,
                                struct sf_why *why)
{
    sf_str trace = mcp_tools_value_of(tool, values, "trace"),
           span = mcp_tools_value_of(tool, values, "span");
    sf_str type = mcp_tools_value_of(tool, values, "type");
    bool has_frame = mcp_tools_value_of(tool, values, "frame").len > 0;
    if (has_frame && trace.len && !span.len)
        return sf_fail(why, SF_ERR_INPUT, "flame: frame goes with a span or a service");
    if (has_frame || !(trace.len || span.len))
        return SF_OK;
    out->has_counts = false;
    out->handle = span.len ? sf_spans_profile : sf_spans_trace_flame;
    out->path = span.len ? SF_STR("/api/v1/spans/{}/profile") : SF_STR("/api/v1/traces/{}/flame");
    out->arg = trace;
    if (span.len && !sf_arena_print(req, &out->arg, "%.*s/%.*s",
                                    SF_STR_ARG(trace.len ? trace : SF_STR("-")), SF_STR_ARG(span)))
        return sf_no_room(why, "the question");
    sf_buf_reset(&out->query);
    sf_buf_print(&out->query, "format=text");
    if (type.len)
        add_parameter(&out->query, "type", type);
    return SF_OK;
}

enum sf_err sf_mcp_tools_question(const struct sf_mcp_tool *tool, sf_str arguments, int64_t now_s,
                                  struct sf_arena *req, struct sf_mcp_question *out,
                                  struct sf_why *why)
{
    sf_str values[MAX_ARGUMENTS] = {{0}};
    enum sf_err err = read_arguments(tool, arguments, values, req, why);
    out->handle = tool->handle;
    out->has_counts = tool->handle == sf_profile_read_handle;
    out->path = sf_str_from(tool->path);
    sf_buf_print(&out->query, "%s", tool->fixed);
    sf_buf_print(&out->link, "view=%s", mcp_tools_view_of(tool, values));
    for (size_t i = 0; !err && i < MAX_ARGUMENTS && tool->arguments[i].name; i++) {
        const struct argument *a = &tool->arguments[i];
        if (a->kind == SINCE || a->kind == SINCE_SECONDS ||
            (a->kind == SINCE_IF_GIVEN && values[i].len)) {
            err = add_since(a, values[i], now_s, out, why);
            continue;
        }
        if (values[i].len == 0) {
            err = a->is_needed ? sf_fail(why, SF_ERR_INPUT, "%s needs %s", tool->name, a->name)
                               : SF_OK;
            continue;
        }
        add_parameter(&out->query, a->parameter, values[i]);
        if (a->shown)
            add_parameter(&out->link, a->shown, values[i]);
    }
    if (!err)
        add_shown(tool, values, &out->link);
    if (!err && tool->handle == sf_profile_read_handle)
        err = choose_flame(tool, values, req, out, why);
    if (!err && (!sf_buf_ok(&out->query) || !sf_buf_ok(&out->link)))
        err = sf_no_memory(why, "the question");
    return err;
}

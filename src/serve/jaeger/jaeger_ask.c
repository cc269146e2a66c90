#include "serve/jaeger/jaeger_ask.h"

#include "base/limits.h"
#include "base/time_unit.h"
#include "os/clock.h"
#include "serve/params.h"
#include "serve/query_text.h"
#include "wire/json.h"
#include "wire/time_text.h"

enum { DEFAULT_LIMIT = 100, MAX_LIMIT = 10000, MAX_TAGS = 100 };

static const int64_t LOOKBACK_NS = 48 * SF_NS_PER_HOUR;

void sf_jaeger_ask_done(struct sf_jaeger_ask *a)
{
    sf_buf_done(&a->query);
}

/* ---- tags ---- */

static bool add_known_tag(struct sf_buf *out, sf_str key, sf_str val)
{
    static const struct {
        sf_str key, val;
        const char *condition;
    } known[] = {
        {SF_STR("error"), SF_STR("true"), "status = error"},
        {SF_STR("error"), SF_STR("false"), "status != error"},
        {SF_STR("otel.status_code"), SF_STR("ERROR"), "status = error"},
        {SF_STR("otel.status_code"), SF_STR("OK"), "status = ok"},
        {SF_STR("span.kind"), SF_STR("server"), "kind = server"},
        {SF_STR("span.kind"), SF_STR("client"), "kind = client"},
        {SF_STR("span.kind"), SF_STR("producer"), "kind = producer"},
        {SF_STR("span.kind"), SF_STR("consumer"), "kind = consumer"},
        {SF_STR("span.kind"), SF_STR("internal"), "kind = internal"},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (sf_str_eq(key, known[i].key) && sf_str_eq(val, known[i].val)) {
            sf_buf_print(out, " && %s", known[i].condition);
            return true;
        }
    }
    return false;
}

static void add_equal(struct sf_buf *out, const char *scope, sf_str key, sf_str val)
{
    int64_t i64;
    double f64;
    sf_query_text_attr(out, scope, key);
    sf_buf_add_str(out, SF_STR(" = "));
    sf_query_text_literal(out, val);
    if (sf_str_to_i64(val, &i64) || sf_str_to_f64(val, &f64) || sf_str_eq(val, SF_STR("true")) ||
        sf_str_eq(val, SF_STR("false"))) {
        sf_buf_add_str(out, SF_STR(" || "));
        sf_query_text_attr(out, scope, key);
        sf_buf_print(out, " = %.*s", SF_STR_ARG(val));
    }
}

static void jaeger_ask_add_tag(struct sf_jaeger_ask *a, sf_str key, sf_str val)
{
    static const char *const scopes[] = {"span", "resource", "event"};
    if (add_known_tag(&a->query, key, val))
        return;
    sf_buf_add_str(&a->query, SF_STR(" && ("));
    if (sf_str_eq(key, SF_STR("otel.scope.name")) || sf_str_eq(key, SF_STR("otel.scope.version"))) {
        sf_buf_print(&a->query, "instrumentation:%s = ",
                     sf_str_ends(key, SF_STR("name")) ? "name" : "version");
        sf_query_text_literal(&a->query, val);
    } else {
        for (size_t i = 0; i < sizeof(scopes) / sizeof(scopes[0]); i++) {
            if (i)
                sf_buf_add_str(&a->query, SF_STR(" || "));
            add_equal(&a->query, scopes[i], key, val);
        }
    }
    sf_buf_add_u8(&a->query, ')');
}

/* tags={"k":"v"} */
static enum sf_err add_json_tags(struct sf_jaeger_ask *a, sf_str text, struct sf_arena *req,
                                 struct sf_why *why)
{
    struct sf_json j;
    sf_str key;
    uint32_t n = 0;
    sf_json_init(&j, text, req);
    if (!sf_json_object(&j) && sf_json_ok(&j))
        sf_json_fault(&j, "not an object");
    while (sf_json_key(&j, &key)) {
        if (sf_json_peek(&j) != SF_JSON_STRING || ++n > MAX_TAGS) {
            sf_json_fault(&j, n > MAX_TAGS ? "too many tags" : "values must be strings");
            break;
        }
        jaeger_ask_add_tag(a, key, sf_json_str(&j));
    }
    if (sf_json_ok(&j))
        (void)sf_json_end(&j);
    return sf_json_why(&j, "malformed 'tags' parameter, cannot unmarshal JSON", why);
}

/* One parameter tag=k:v; it may be repeated. */
static enum sf_err add_pair_tag(struct sf_jaeger_ask *a, sf_str pair, struct sf_why *why)
{
    size_t at;
    if (!sf_str_find_char(pair, ':', &at) || at == 0)
        return sf_fail(why, SF_ERR_INPUT,
                       "malformed 'tag' parameter, expecting key:value, received: %.*s",
                       SF_STR_ARG(sf_str_part(pair, 0, 60)));
    jaeger_ask_add_tag(a, sf_str_part(pair, 0, at), sf_str_from_at(pair, at + 1));
    return SF_OK;
}

/* ---- one parameter after another ---- */

enum meaning {
    NOTHING,
    SERVICE,
    OPERATION,
    START,
    END,
    LIMIT,
    MIN_DURATION,
    MAX_DURATION,
    TAG,
    TAGS,
    TRACE_ID
};

static enum meaning meaning_of(sf_str name, bool is_v3)
{
    static const struct {
        sf_str name;
        enum meaning meaning;
    } old[] = {{SF_STR("service"), SERVICE},
               {SF_STR("operation"), OPERATION},
               {SF_STR("start"), START},
               {SF_STR("end"), END},
               {SF_STR("limit"), LIMIT},
               {SF_STR("minDuration"), MIN_DURATION},
               {SF_STR("maxDuration"), MAX_DURATION},
               {SF_STR("tag"), TAG},
               {SF_STR("tags"), TAGS},
               {SF_STR("traceID"), TRACE_ID}},
      v3[] = {
          {SF_STR("query.serviceName"), SERVICE},       {SF_STR("query.service_name"), SERVICE},
          {SF_STR("query.operationName"), OPERATION},   {SF_STR("query.operation_name"), OPERATION},
          {SF_STR("query.startTimeMin"), START},        {SF_STR("query.start_time_min"), START},
          {SF_STR("query.startTimeMax"), END},          {SF_STR("query.start_time_max"), END},
          {SF_STR("query.searchDepth"), LIMIT},         {SF_STR("query.search_depth"), LIMIT},
          {SF_STR("query.num_traces"), LIMIT},          {SF_STR("query.durationMin"), MIN_DURATION},
          {SF_STR("query.duration_min"), MIN_DURATION}, {SF_STR("query.durationMax"), MAX_DURATION},
          {SF_STR("query.duration_max"), MAX_DURATION}, {SF_STR("query.attributes"), TAGS}};
    for (size_t i = 0; !is_v3 && i < sizeof(old) / sizeof(old[0]); i++) {
        if (sf_str_eq(name, old[i].name))
            return old[i].meaning;
    }
    for (size_t i = 0; is_v3 && i < sizeof(v3) / sizeof(v3[0]); i++) {
        if (sf_str_eq(name, v3[i].name))
            return v3[i].meaning;
    }
    return NOTHING;
}

static enum sf_err jaeger_ask_read_time(sf_str name, sf_str val, int64_t *out_ns,
                                        struct sf_why *why)
{
    if (sf_time_text_parse(val, sf_clock_wall_ns(), out_ns))
        return SF_OK;
    return sf_fail(why, SF_ERR_INPUT, "unable to parse param '%.*s': %.*s is not a time",
                   SF_STR_ARG(name), SF_STR_ARG(sf_str_part(val, 0, 60)));
}

static enum sf_err jaeger_ask_add_duration(struct sf_jaeger_ask *a, sf_str name, sf_str val,
                                           const char *op, struct sf_why *why)
{
    int64_t ns;
    if (!sf_params_parse_duration(val, &ns))
        return sf_fail(why, SF_ERR_INPUT, "unable to parse param '%.*s': %.*s is not a duration",
                       SF_STR_ARG(name), SF_STR_ARG(sf_str_part(val, 0, 60)));
    sf_buf_print(&a->query, " && duration %s %lldns", op, (long long)ns);
    return SF_OK;
}

static enum sf_err jaeger_ask_add_id(struct sf_jaeger_ask *a, sf_str val, struct sf_why *why)
{
    if (a->n_ids == SF_JAEGER_IDS_MAX)
        return sf_fail(why, SF_ERR_INPUT, "more than %d trace ids", SF_JAEGER_IDS_MAX);
    return sf_params_trace_id(val, &a->ids[a->n_ids++], why);
}

static enum sf_err jaeger_ask_read_limit(struct sf_jaeger_ask *a, sf_str name, sf_str val,
                                         struct sf_why *why)
{
    if (!sf_str_to_u64(val, &a->limit) || a->limit == 0 || a->limit > MAX_LIMIT)
        return sf_fail(why, SF_ERR_INPUT, "unable to parse param '%.*s': 1 to %d, received %.*s",
                       SF_STR_ARG(name), MAX_LIMIT, SF_STR_ARG(sf_str_part(val, 0, 40)));
    return SF_OK;
}

static enum sf_err jaeger_ask_read_one(struct sf_jaeger_ask *a, enum meaning meaning, sf_str name,
                                       sf_str val, struct sf_arena *req, struct sf_why *why)
{
    switch (meaning) {
    case SERVICE:
    case OPERATION:
        sf_buf_print(&a->query, " && %s = ", meaning == SERVICE ? "resource.service.name" : "name");
        sf_query_text_literal(&a->query, val);
        return SF_OK;
    case START: return jaeger_ask_read_time(name, val, &a->from_ns, why);
    case END: return jaeger_ask_read_time(name, val, &a->to_ns, why);
    case LIMIT: return jaeger_ask_read_limit(a, name, val, why);
    case MIN_DURATION: return jaeger_ask_add_duration(a, name, val, ">=", why);
    case MAX_DURATION: return jaeger_ask_add_duration(a, name, val, "<=", why);
    case TAG: return add_pair_tag(a, val, why);
    case TAGS: return add_json_tags(a, val, req, why);
    case TRACE_ID: return jaeger_ask_add_id(a, val, why);
    case NOTHING: break;
    }
    return SF_OK;
}

enum sf_err sf_jaeger_ask_params(const struct sf_request *r, bool is_v3, struct sf_arena *req,
                                 struct sf_jaeger_ask *out, struct sf_why *why)
{
    struct sf_buf name = {.max = SF_LIMIT_PARAM_LEN}, val = {.max = SF_LIMIT_QUERY_LEN};
    sf_str rest = r->query, kept;
    bool has_service = false;
    enum sf_err err = SF_OK;
    out->to_ns = sf_clock_wall_ns();
    out->from_ns = -1;
    out->limit = DEFAULT_LIMIT;
    out->query.max = SF_LIMIT_QUERY_LEN;
    sf_buf_add_str(&out->query, SF_STR("{ true"));
    while (!err && sf_request_param_next(&rest, &name, &val)) {
        enum meaning meaning = meaning_of(sf_buf_str(&name), is_v3);
        has_service = has_service || (meaning == SERVICE && val.len);
        if (val.len == 0 || meaning == NOTHING)
            continue;
        err = sf_arena_copy(req, sf_buf_str(&val), &kept)
                  ? jaeger_ask_read_one(out, meaning, sf_buf_str(&name), kept, req, why)
                  : sf_no_room(why, "the request");
    }
    sf_buf_done(&name);
    sf_buf_done(&val);
    sf_buf_add_str(&out->query, SF_STR(" }"));
    if (err)
        return err;
    if (!has_service && !is_v3 && out->n_ids == 0)
        return sf_fail(why, SF_ERR_INPUT, "parameter 'service' is required");
    if (!sf_buf_ok(&out->query))
        return sf_fail(why, SF_ERR_INPUT, "query is longer than %d bytes", SF_LIMIT_QUERY_LEN);
    if (out->from_ns < 0)
        out->from_ns = out->to_ns > LOOKBACK_NS ? out->to_ns - LOOKBACK_NS : 0;
    if (out->from_ns > out->to_ns)
        return sf_fail(why, SF_ERR_INPUT, "start must not be after end");
    return SF_OK;
}

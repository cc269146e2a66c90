/* settings.c - reads the settings of the library: OpenTelemetry's variables, ours, and values given
 * by sf_set(). A value that cannot be used is replaced by the default and the first such case is
 * reported; an endpoint that cannot be used is an error. */
#include "collect/lib/settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/time_unit.h"
#include "collect/lib/attr_write.h"
#include "collect/lib/redact.h"
#include "collect/lib/span_cost.h"
#include "wire/pb_write.h"

struct reader {
    struct sf_settings *s;
    sf_settings_get get;
    struct sf_why *why; /* describes the first unusable value */
    bool has_warned;
};

static sf_str settings_value(struct reader *r, const char *name)
{
    const char *text = r->get(name);
    return sf_str_trim(sf_str_from(text));
}

/* Traces and profiles may be sent to different endpoints. */
struct signal {
    const char *word; /* part of the variables' names: "TRACES_" */
    const char *path, *method;
    struct sf_exporter_settings *x;
    struct sf_buf *headers;
};

static sf_str value_named(struct reader *r, const char *signal, const char *what)
{
    char name[64];
    snprintf(name, sizeof(name), "OTEL_EXPORTER_OTLP_%s%s", signal, what);
    return settings_value(r, name);
}

/* The variable for this signal, else the one for all. */
static sf_str value_for(struct reader *r, const struct signal *g, const char *what)
{
    sf_str v = value_named(r, g->word, what);
    return v.len ? v : value_named(r, "", what);
}

static sf_str settings_value_of(struct reader *r, const char *special, const char *general)
{
    sf_str v = settings_value(r, special);
    return v.len ? v : settings_value(r, general);
}

static void settings_warn(struct reader *r, const char *name, sf_str v)
{
    if (!r->has_warned)
        sf_fail(r->why, SF_ERR_INPUT, "%s: '%.*s' is not a valid value; the default is used", name,
                SF_STR_ARG(v));
    r->has_warned = true;
}

static void warn_text(void *r, const char *name, const char *val)
{
    settings_warn(r, name, sf_str_from(val));
}

static uint64_t settings_number(struct reader *r, const char *name, sf_str v, uint64_t otherwise,
                                uint64_t most)
{
    uint64_t n;
    if (!v.len)
        return otherwise;
    if (sf_str_to_u64(v, &n))
        return n < most ? n : most;
    settings_warn(r, name, v);
    return otherwise;
}

/* Decodes "%41" to "A"; an invalid escape is left unchanged. */
static void settings_unescape(sf_str in, struct sf_buf *out)
{
    sf_buf_reset(out);
    for (size_t i = 0; i < in.len; i++) {
        uint8_t byte;
        if (in.p[i] == '%' && in.len - i > 2 &&
            sf_hex_decode(sf_str_part(in, i + 1, 2), &byte, 1)) {
            sf_buf_add_u8(out, byte);
            i += 2;
        } else {
            sf_buf_add_u8(out, (uint8_t)in.p[i]);
        }
    }
}

/* Reads the next of "key=value" pairs separated by commas, values percent-encoded. False at the
 * end. */
static bool next_pair(sf_str *rest, sf_str *key, struct sf_buf *val)
{
    sf_str pair;
    while (sf_str_split_next(rest, ',', &pair)) {
        size_t at;
        if (!sf_str_find_char(pair, '=', &at))
            continue;
        *key = sf_str_trim(sf_str_part(pair, 0, at));
        settings_unescape(sf_str_trim(sf_str_from_at(pair, at + 1)), val);
        if (key->len)
            return true;
    }
    return false;
}

/* Read first, because values read afterwards are already redacted. */
static void read_redaction(struct reader *r)
{
    sf_str v = settings_value(r, "SPANFLAME_REDACT");
    bool is_off = sf_str_ieq(v, SF_STR("off"));
    if (v.len && !is_off && !sf_str_ieq(v, SF_STR("on")))
        settings_warn(r, "SPANFLAME_REDACT", v);
    sf_redact_set(!is_off);
}

static void settings_read_resource(struct reader *r, const char *service)
{
    struct sf_settings *s = r->s;
    sf_str rest = settings_value(r, "OTEL_RESOURCE_ATTRIBUTES"), key;
    struct sf_buf val = {.max = 64 * 1024};
    sf_str name = service ? sf_str_from(service) : settings_value(r, "OTEL_SERVICE_NAME");

    while (next_pair(&rest, &key, &val)) {
        if (sf_str_eq(key, SF_STR("service.instance.id"))) {
            s->has_instance_id = true;
            if (val.len < sizeof(s->instance))
                snprintf(s->instance, sizeof(s->instance), "%.*s", SF_STR_ARG(sf_buf_str(&val)));
        }
        s->has_host_name |= sf_str_eq(key, SF_STR("host.name"));
        s->has_cpu_limit |= sf_str_eq(key, SF_STR("cpu.limit"));
        if (!sf_str_eq(key, SF_STR("service.name")))
            sf_attr_write_str(&s->resource, 1, key, sf_buf_str(&val));
        else if (!name.len)
            snprintf(s->service, sizeof(s->service), "%.*s", SF_STR_ARG(sf_buf_str(&val)));
    }
    if (!sf_buf_ok(&val)) /* do not use a truncated value */
        s->resource.err = val.err;
    sf_buf_done(&val);
    if (name.len)
        snprintf(s->service, sizeof(s->service), "%.*s", SF_STR_ARG(name));
    if (!s->service[0])
        snprintf(s->service, sizeof(s->service), "unknown_service:%s",
                 program_invocation_short_name);
    sf_attr_write_str(&s->resource, 1, SF_STR("service.name"), sf_str_from(s->service));
}

/* A header must not contain a line end, nor describe the body. */
static bool settings_is_header(sf_str name, sf_str val)
{
    static const char own[][20] = {
        "host",      "content-type", "content-length", "content-encoding", "transfer-encoding",
        "connection"};
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.p[i];
        if (c <= ' ' || c >= 0x7f || c == ':')
            return false;
    }
    for (size_t i = 0; i < val.len; i++) {
        if ((unsigned char)val.p[i] < ' ' && val.p[i] != '\t')
            return false;
    }
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (sf_str_ieq(name, sf_str_from(own[i])))
            return false;
    }
    return true;
}

static void settings_read_headers(struct reader *r, const struct signal *g)
{
    sf_str rest = value_for(r, g, "HEADERS");
    struct sf_buf val = {.max = 64 * 1024};
    sf_str key;
    while (next_pair(&rest, &key, &val)) {
        if (settings_is_header(key, sf_buf_str(&val)))
            sf_buf_print(g->headers, "%.*s: %.*s\r\n", SF_STR_ARG(key),
                         SF_STR_ARG(sf_buf_str(&val)));
        else
            settings_warn(r, "OTEL_EXPORTER_OTLP_HEADERS", key);
    }
    if (!sf_buf_ok(&val))
        g->headers->err = val.err;
    sf_buf_done(&val);
}

static bool settings_read_path(struct reader *r, const struct signal *g, const char *word,
                               char *out)
{
    sf_str path = value_for(r, g, word);
    snprintf(out, SF_TLS_PATH_CAP, "%.*s", SF_STR_ARG(path));
    return path.len < SF_TLS_PATH_CAP;
}

/* Certificate files are never guessed: an unusable path makes the endpoint unusable. */
static enum sf_err settings_read_files(struct reader *r, const struct signal *g,
                                       struct sf_tls_files *out, struct sf_why *why)
{
    if (!settings_read_path(r, g, "CERTIFICATE", out->authorities) ||
        !settings_read_path(r, g, "CLIENT_CERTIFICATE", out->certificate) ||
        !settings_read_path(r, g, "CLIENT_KEY", out->key))
        return sf_fail(why, SF_ERR_INPUT, "endpoint: the path of a certificate is too long");
    return SF_OK;
}

/* A signal's own URL is used unchanged; to the general one, and that of a Pyroscope server, the
 * signal's path is appended. */
static enum sf_err settings_read_endpoint(struct reader *r, const struct signal *g,
                                          struct sf_why *why)
{
    struct sf_exporter_settings *x = g->x;
    sf_str url = value_named(r, g->word, "ENDPOINT"), append = SF_STR_NONE;
    enum sf_err err;

    if (!url.len) {
        append = sf_str_from(g->path);
        url = settings_value(r, "OTEL_EXPORTER_OTLP_ENDPOINT");
    }
    if (!url.len)
        url = settings_value(r, "PYROSCOPE_SERVER_ADDRESS");
    if (!url.len)
        url = x->is_grpc ? SF_STR("http://localhost:4317") : SF_STR("http://localhost:4318");
    if (x->is_grpc) { /* any path in the URL is replaced: the method is the path */
        size_t scheme = 0, at;
        if (sf_str_find(url, SF_STR("://"), &scheme))
            scheme += 3;
        if (sf_str_find_char(sf_str_from_at(url, scheme), '/', &at))
            url.len = scheme + at;
        append = sf_str_from(g->method);
    }
    err = sf_endpoint_parse(url, 0, append, &x->to, why);
    if (!err && x->to.is_tls)
        err = settings_read_files(r, g, &x->to.files, why);
    return err;
}

static enum sf_err read_exporter(struct reader *r, const struct signal *g, struct sf_why *why)
{
    struct sf_exporter_settings *x = g->x;
    sf_str protocol = value_for(r, g, "PROTOCOL"), packing = value_for(r, g, "COMPRESSION");
    sf_str exporters;
    char name[64];

    snprintf(name, sizeof(name), "OTEL_%sEXPORTER", g->word);
    exporters = settings_value(r, name);
    x->is_grpc = sf_str_eq(protocol, SF_STR("grpc"));
    if (protocol.len && !x->is_grpc && !sf_str_eq(protocol, SF_STR("http/protobuf")))
        settings_warn(r, "OTEL_EXPORTER_OTLP_PROTOCOL", protocol);
    x->is_gzip = !sf_str_eq(packing, SF_STR("none"));
    if (packing.len && x->is_gzip && !sf_str_eq(packing, SF_STR("gzip")))
        settings_warn(r, "OTEL_EXPORTER_OTLP_COMPRESSION", packing);
    x->is_off = sf_str_eq(exporters, SF_STR("none"));
    if (exporters.len && !x->is_off && !sf_str_eq(exporters, SF_STR("otlp")))
        settings_warn(r, name, exporters);
    x->timeout_ns = SF_NS_PER_MS * (int64_t)settings_number(r, "OTEL_EXPORTER_OTLP_TIMEOUT",
                                                            value_for(r, g, "TIMEOUT"), 10000,
                                                            600000);
    x->delay_ns = SF_NS_PER_MS * (int64_t)settings_number(
                                     r, "OTEL_BSP_SCHEDULE_DELAY",
                                     settings_value(r, "OTEL_BSP_SCHEDULE_DELAY"), 5000, 600000);
    settings_read_headers(r, g);
    return settings_read_endpoint(r, g, why);
}

static uint32_t limit(struct reader *r, const char *special, const char *general,
                      uint32_t otherwise, uint32_t most)
{
    return (uint32_t)settings_number(r, special, settings_value_of(r, special, general), otherwise,
                                     most);
}

static void settings_read_limits(struct reader *r)
{
    struct sf_settings *s = r->s;
    s->max_attrs = limit(r, "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_ATTRIBUTE_COUNT_LIMIT", 128,
                         1024);
    s->max_events = limit(r, "OTEL_SPAN_EVENT_COUNT_LIMIT", "OTEL_SPAN_EVENT_COUNT_LIMIT", 128,
                          1024);
    s->max_links = limit(r, "OTEL_SPAN_LINK_COUNT_LIMIT", "OTEL_SPAN_LINK_COUNT_LIMIT", 128, 1024);
    s->max_value_len = limit(r, "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT",
                             "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", 16384, 16384);
}

enum sf_err sf_settings_read(struct sf_settings *s, const char *service, sf_settings_get get,
                             struct sf_why *why)
{
    struct reader r = {s, get, why, false};
    struct signal traces = {"TRACES_", "/v1/traces",
                            "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
                            &s->exporter, &s->headers};
    struct signal profiles = {
        "PROFILES_", "/v1development/profiles",
        "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
        &s->profile_exporter, &s->profile_headers};
    sf_str sampler, arg;
    enum sf_err err;

    *s = (struct sf_settings){.sampler = {.is_parent_based = true}};
    s->resource.max = s->headers.max = s->profile_headers.max = 64 * 1024;
    s->is_disabled = sf_str_ieq(settings_value(&r, "OTEL_SDK_DISABLED"), SF_STR("true"));
    read_redaction(&r);
    sampler = settings_value(&r, "OTEL_TRACES_SAMPLER");
    arg = settings_value(&r, "OTEL_TRACES_SAMPLER_ARG");
    if (sampler.len && !sf_sampler_parse(sampler, arg, &s->sampler))
        settings_warn(&r, "OTEL_TRACES_SAMPLER", sampler);
    settings_read_resource(&r, service);
    settings_read_limits(&r);
    sf_profiling_settings_read(&s->profiling, get, warn_text, &r);
    if (get("SPANFLAME_SPAN_COST") &&
        !sf_span_cost_words_parse(get("SPANFLAME_SPAN_COST"), &s->cost_items))
        warn_text(&r, "SPANFLAME_SPAN_COST", get("SPANFLAME_SPAN_COST"));
    err = read_exporter(&r, &traces, why);
    if (!err)
        err = read_exporter(&r, &profiles, why);
    if (!err &&
        (!sf_buf_ok(&s->resource) || !sf_buf_ok(&s->headers) || !sf_buf_ok(&s->profile_headers)))
        err = sf_fail(why, SF_ERR_NOMEM, "no memory for the settings");
    s->exporter.headers = sf_buf_str(&s->headers);
    s->profile_exporter.headers = sf_buf_str(&s->profile_headers);
    if (err)
        sf_settings_done(s);
    return err;
}

void sf_settings_done(struct sf_settings *s)
{
    sf_buf_done(&s->resource);
    sf_buf_done(&s->headers);
    sf_buf_done(&s->profile_headers);
}

/* An array of spans. Ids are hexadecimal text, a 64-bit trace id is padded with zeros to 128 bits;
 * times are microseconds. */
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "decode/zipkin/zipkin_span.h"
#include "wire/json.h"

/* Decodes into the last bytes of `out`. Errors name the field. */
static bool zipkin_json_read_id(struct sf_json *j, uint8_t *out, size_t len, const char *fault)
{
    sf_str text = sf_json_str(j);
    size_t n = text.len / 2;
    bool is_whole = text.len == 2 * len || (len == 16 && text.len == 16);
    if (!sf_json_ok(j) || text.len == 0)
        return false;
    memset(out, 0, len);
    if (!is_whole || !sf_hex_decode(text, out + len - n, n)) {
        sf_json_fault(j, fault);
        return false;
    }
    return true;
}

static uint8_t zipkin_json_kind_of(struct sf_json *j)
{
    /* In OTLP SERVER, CLIENT, PRODUCER, CONSUMER are 2 to 5. */
    static const char *const names[] = {"SERVER", "CLIENT", "PRODUCER", "CONSUMER"};
    sf_str text = sf_json_str(j);
    for (uint8_t i = 0; i < 4; i++) {
        if (sf_str_ieq(text, sf_str_from(names[i])))
            return (uint8_t)(i + 2);
    }
    return 0;
}

static void zipkin_json_read_endpoint(struct sf_json *j, struct sf_zipkin_endpoint *e)
{
    sf_str key;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("serviceName")))
            e->service = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("ipv4")))
            e->ipv4 = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("ipv6")))
            e->ipv6 = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("port")))
            e->port = sf_json_u32(j);
        else
            sf_json_skip(j);
    }
}

static void read_tags(struct sf_json *j, struct sf_zipkin_span *s)
{
    sf_str key;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        sf_str val = sf_json_str(j);
        if (sf_json_ok(j))
            sf_zipkin_add_tag(s, key, val);
    }
}

static void read_notes(struct sf_json *j, struct sf_zipkin_span *s)
{
    if (!sf_json_array(j))
        return;
    while (sf_json_item(j)) {
        uint64_t time_us = 0;
        sf_str key, text = SF_STR_NONE;
        if (!sf_json_object(j))
            continue;
        while (sf_json_key(j, &key)) {
            if (sf_str_eq(key, SF_STR("timestamp")))
                time_us = sf_json_u64(j);
            else if (sf_str_eq(key, SF_STR("value")))
                text = sf_json_str(j);
            else
                sf_json_skip(j);
        }
        if (sf_json_ok(j))
            sf_zipkin_add_note(s, time_us, text);
    }
}

static void zipkin_json_read_field(struct sf_json *j, sf_str key, struct sf_zipkin_span *s)
{
    if (sf_str_eq(key, SF_STR("traceId")))
        s->has_trace_id = zipkin_json_read_id(j, s->trace_id, 16,
                                              "a trace id has 16 or 32 hexadecimal digits");
    else if (sf_str_eq(key, SF_STR("id")))
        s->has_id = zipkin_json_read_id(j, s->id, 8, "a span id has 16 hexadecimal digits");
    else if (sf_str_eq(key, SF_STR("parentId")))
        s->has_parent_id = zipkin_json_read_id(j, s->parent_id, 8,
                                               "a parent id has 16 hexadecimal digits");
    else if (sf_str_eq(key, SF_STR("kind")))
        s->kind = zipkin_json_kind_of(j);
    else if (sf_str_eq(key, SF_STR("name")))
        s->name = sf_json_str(j);
    else if (sf_str_eq(key, SF_STR("timestamp")))
        s->time_us = sf_json_u64(j);
    else if (sf_str_eq(key, SF_STR("duration")))
        s->duration_us = sf_json_u64(j);
    else if (sf_str_eq(key, SF_STR("localEndpoint")))
        zipkin_json_read_endpoint(j, &s->local);
    else if (sf_str_eq(key, SF_STR("remoteEndpoint")))
        zipkin_json_read_endpoint(j, &s->remote);
    else if (sf_str_eq(key, SF_STR("annotations")))
        read_notes(j, s);
    else if (sf_str_eq(key, SF_STR("tags")))
        read_tags(j, s);
    else if (sf_str_eq(key, SF_STR("shared")))
        s->is_shared = sf_json_bool(j);
    else if (sf_str_eq(key, SF_STR("debug")))
        s->is_debug = sf_json_bool(j);
    else
        sf_json_skip(j);
}

enum sf_err sf_zipkin_json_read(sf_bytes body, struct sf_arena *req, struct sf_buf *fields,
                                sf_zipkin_see see, void *arg, struct sf_why *why)
{
    struct sf_json j;
    sf_json_init(&j, (sf_str){(const char *)body.p, body.len}, req);
    if (sf_json_peek(&j) != SF_JSON_ARRAY)
        sf_json_fault(&j, "expected a list of spans");
    if (sf_json_array(&j)) {
        while (sf_json_item(&j)) {
            struct sf_zipkin_span s = {.fields = fields};
            sf_str key;
            sf_arena_reset(req);
            sf_buf_reset(fields);
            if (sf_json_object(&j)) {
                while (sf_json_key(&j, &key))
                    zipkin_json_read_field(&j, key, &s);
            }
            if (sf_json_ok(&j) && !s.has_trace_id)
                sf_json_fault(&j, "a span without a trace id");
            if (sf_json_ok(&j) && !s.has_id)
                sf_json_fault(&j, "a span without an id");
            if (sf_json_ok(&j)) {
                enum sf_err err = see(arg, &s, why);
                if (err)
                    return err;
            }
        }
    }
    if (sf_json_ok(&j))
        sf_json_end(&j);
    return sf_json_why(&j, "Zipkin", why);
}

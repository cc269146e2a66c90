/* zipkin.proto3: ListOfSpans. Ids are bytes, addresses are bytes, times are microseconds. */
#include <arpa/inet.h>
#include <string.h>

#include "base/arena.h"
#include "decode/zipkin/zipkin_span.h"
#include "wire/pb.h"

static bool zipkin_pb_read_id(struct sf_pb *pb, uint8_t *out, size_t len, const char *fault)
{
    const uint8_t *at = pb->at;
    sf_bytes id = sf_pb_bytes(pb);
    if (!sf_pb_ok(pb) || id.len == 0)
        return false;
    if (id.len != len && !(len == 16 && id.len == 8)) {
        sf_pb_fault(pb, at, fault);
        return false;
    }
    memset(out, 0, len);
    memcpy(out + len - id.len, id.p, id.len);
    return true;
}

static uint8_t zipkin_pb_kind_of(uint64_t kind)
{
    /* CLIENT, SERVER, PRODUCER, CONSUMER are 1 to 4; OTLP has SERVER before CLIENT, from 2 on. */
    static const uint8_t kinds[] = {0, 3, 2, 4, 5};
    return kind < sizeof(kinds) ? kinds[kind] : 0;
}

/* As text in the arena; empty if the length is not that of an address. */
static sf_str address_of(sf_bytes raw, int family, size_t len, struct sf_arena *req)
{
    char *text = raw.len == len ? sf_arena_raw(req, INET6_ADDRSTRLEN, 1) : NULL;
    if (!text || !inet_ntop(family, raw.p, text, INET6_ADDRSTRLEN))
        return SF_STR_NONE;
    return sf_str_from(text);
}

static void zipkin_pb_read_endpoint(struct sf_pb *pb, struct sf_arena *req,
                                    struct sf_zipkin_endpoint *e)
{
    struct sf_pb msg = sf_pb_msg(pb);
    while (sf_pb_next(&msg)) {
        switch (msg.tag) {
        case SF_PB_TAG(1, SF_PB_LEN): e->service = sf_pb_str(&msg); break;
        case SF_PB_TAG(2, SF_PB_LEN):
            e->ipv4 = address_of(sf_pb_bytes(&msg), AF_INET, 4, req);
            break;
        case SF_PB_TAG(3, SF_PB_LEN):
            e->ipv6 = address_of(sf_pb_bytes(&msg), AF_INET6, 16, req);
            break;
        case SF_PB_TAG(4, SF_PB_VARINT): e->port = sf_pb_u32(&msg); break;
        default: sf_pb_skip(&msg); break;
        }
    }
    sf_pb_join(pb, &msg);
}

static void zipkin_pb_read_note(struct sf_pb *pb, struct sf_zipkin_span *s)
{
    struct sf_pb msg = sf_pb_msg(pb);
    uint64_t time_us = 0;
    sf_str text = SF_STR_NONE;
    while (sf_pb_next(&msg)) {
        switch (msg.tag) {
        case SF_PB_TAG(1, SF_PB_I64): time_us = sf_pb_fixed64(&msg); break;
        case SF_PB_TAG(2, SF_PB_LEN): text = sf_pb_str(&msg); break;
        default: sf_pb_skip(&msg); break;
        }
    }
    if (sf_pb_join(pb, &msg))
        sf_zipkin_add_note(s, time_us, text);
}

static void read_tag(struct sf_pb *pb, struct sf_zipkin_span *s)
{
    struct sf_pb msg = sf_pb_msg(pb);
    sf_str key = SF_STR_NONE, val = SF_STR_NONE;
    while (sf_pb_next(&msg)) {
        switch (msg.tag) {
        case SF_PB_TAG(1, SF_PB_LEN): key = sf_pb_str(&msg); break;
        case SF_PB_TAG(2, SF_PB_LEN): val = sf_pb_str(&msg); break;
        default: sf_pb_skip(&msg); break;
        }
    }
    if (sf_pb_join(pb, &msg))
        sf_zipkin_add_tag(s, key, val);
}

static void zipkin_pb_read_span(struct sf_pb *pb, struct sf_arena *req, struct sf_zipkin_span *s)
{
    struct sf_pb msg = sf_pb_msg(pb);
    const uint8_t *at = msg.at;
    while (sf_pb_next(&msg)) {
        switch (msg.tag) {
        case SF_PB_TAG(1, SF_PB_LEN):
            s->has_trace_id = zipkin_pb_read_id(&msg, s->trace_id, 16,
                                                "a trace id has 8 or 16 bytes");
            break;
        case SF_PB_TAG(2, SF_PB_LEN):
            s->has_parent_id = zipkin_pb_read_id(&msg, s->parent_id, 8, "a parent id has 8 bytes");
            break;
        case SF_PB_TAG(3, SF_PB_LEN):
            s->has_id = zipkin_pb_read_id(&msg, s->id, 8, "a span id has 8 bytes");
            break;
        case SF_PB_TAG(4, SF_PB_VARINT): s->kind = zipkin_pb_kind_of(sf_pb_u64(&msg)); break;
        case SF_PB_TAG(5, SF_PB_LEN): s->name = sf_pb_str(&msg); break;
        case SF_PB_TAG(6, SF_PB_I64): s->time_us = sf_pb_fixed64(&msg); break;
        case SF_PB_TAG(7, SF_PB_VARINT): s->duration_us = sf_pb_u64(&msg); break;
        case SF_PB_TAG(8, SF_PB_LEN): zipkin_pb_read_endpoint(&msg, req, &s->local); break;
        case SF_PB_TAG(9, SF_PB_LEN): zipkin_pb_read_endpoint(&msg, req, &s->remote); break;
        case SF_PB_TAG(10, SF_PB_LEN): zipkin_pb_read_note(&msg, s); break;
        case SF_PB_TAG(11, SF_PB_LEN): read_tag(&msg, s); break;
        case SF_PB_TAG(12, SF_PB_VARINT): s->is_debug = sf_pb_u64(&msg) != 0; break;
        case SF_PB_TAG(13, SF_PB_VARINT): s->is_shared = sf_pb_u64(&msg) != 0; break;
        default: sf_pb_skip(&msg); break;
        }
    }
    if (sf_pb_ok(&msg) && !s->has_trace_id)
        sf_pb_fault(&msg, at, "a span without a trace id");
    if (sf_pb_ok(&msg) && !s->has_id)
        sf_pb_fault(&msg, at, "a span without an id");
    sf_pb_join(pb, &msg);
}

enum sf_err sf_zipkin_pb_read(sf_bytes body, struct sf_arena *req, struct sf_buf *fields,
                              sf_zipkin_see see, void *arg, struct sf_why *why)
{
    struct sf_pb pb = sf_pb_init(body);
    while (sf_pb_next(&pb)) {
        struct sf_zipkin_span s = {.fields = fields};
        if (pb.tag != SF_PB_TAG(1, SF_PB_LEN)) {
            sf_pb_skip(&pb);
            continue;
        }
        sf_arena_reset(req);
        sf_buf_reset(fields);
        zipkin_pb_read_span(&pb, req, &s);
        if (sf_pb_ok(&pb)) {
            enum sf_err err = see(arg, &s, why);
            if (err)
                return err;
        }
    }
    return sf_pb_why(&pb, "Zipkin", why);
}

/* zipkin_span.h - one Zipkin span on its way to OTLP. Private to this folder.
 *
 * The readers put tags and annotations into `fields`, already in their OTLP form, and the rest into
 * the struct; zipkin.c writes the span when it is whole. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct sf_arena;

struct sf_zipkin_endpoint {
    sf_str service, ipv4, ipv6; /* addresses as text */
    uint64_t port;
};

struct sf_zipkin_span {
    uint8_t trace_id[16], id[8], parent_id[8];
    bool has_trace_id, has_id, has_parent_id;
    bool is_shared; /* the server's half of a span whose client has the same id */
    bool is_debug;  /* the sender asked to keep the trace, whatever sampling says */
    uint8_t kind;   /* as OTLP counts; 0: a local span */
    sf_str name;
    uint64_t time_us, duration_us, first_note_us;
    struct sf_zipkin_endpoint local, remote;
    bool has_error;
    sf_str error, status_code, status_text, scope, scope_version;
    struct sf_buf *fields; /* attributes and events */
};

/* An error ends the reading. */
typedef enum sf_err (*sf_zipkin_see)(void *arg, const struct sf_zipkin_span *s, struct sf_why *why);

/* Every span of the body in turn, strings valid until the next; `fields` is emptied before each.
 * The tags may be left out. */
enum sf_err sf_zipkin_json_read(sf_bytes body, struct sf_arena *req, struct sf_buf *fields,
                                sf_zipkin_see see, void *arg, struct sf_why *why);
enum sf_err sf_zipkin_pb_read(sf_bytes body, struct sf_arena *req, struct sf_buf *fields,
                              sf_zipkin_see see, void *arg, struct sf_why *why);

/* An attribute or an event into `fields`; tags that mean more than themselves into the span. */
void sf_zipkin_add_tag(struct sf_zipkin_span *s, sf_str key, sf_str val);
void sf_zipkin_add_note(struct sf_zipkin_span *s, uint64_t time_us, sf_str text);

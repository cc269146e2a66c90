/* zipkin_span.h - one Zipkin span being converted to OTLP. Private to this folder.
 *
 * The readers put tags and annotations into `fields`, already in their OTLP form, and the rest into
 * the struct; zipkin.c writes the span when it is complete. */
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
    bool is_shared; /* the server's part of a span whose client part has the same id */
    bool is_debug;  /* the sender asked to keep the trace, regardless of sampling */
    uint8_t kind;   /* OTLP's number; 0: a local span */
    sf_str name;
    uint64_t time_us, duration_us, first_note_us;
    struct sf_zipkin_endpoint local, remote;
    bool has_error;
    sf_str error, status_code, status_text, scope, scope_version;
    struct sf_buf *fields; /* attributes and events */
};

/* An error ends the reading. */
typedef enum sf_err (*sf_zipkin_see)(void *arg, const struct sf_zipkin_span *s, struct sf_why *why);

/* Calls `see` for every span of the body; strings are valid until the next one; `fields` is emptied
 * before each. */
enum sf_err sf_zipkin_json_read(sf_bytes body, struct sf_arena *req, struct sf_buf *fields,
                                sf_zipkin_see see, void *arg, struct sf_why *why);
enum sf_err sf_zipkin_pb_read(sf_bytes body, struct sf_arena *req, struct sf_buf *fields,
                              sf_zipkin_see see, void *arg, struct sf_why *why);

/* Adds an attribute or an event to `fields`; tags with a special meaning are stored in the span. */
void sf_zipkin_add_tag(struct sf_zipkin_span *s, sf_str key, sf_str val);
void sf_zipkin_add_note(struct sf_zipkin_span *s, uint64_t time_us, sf_str text);

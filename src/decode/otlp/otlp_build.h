/* otlp_build.h - builds a span batch, as a whole or in pieces. Shared by the protobuf and the JSON
 * decoder; private to this module.
 *
 * Whole: everything stays in the arena until finish. In pieces: when there are enough spans (or the
 * arena is half full) they are delivered and the arena is emptied. The decoder must then read the
 * current resource and scope again, because their lists were in the arena: it does so in
 * `reload`. */
#pragma once
#include "decode/otlp/otlp_attrs.h"
#include "model/span.h"

enum { SF_OTLP_NO_SLOT = UINT32_MAX };

typedef enum sf_err (*sf_otlp_take)(void *arg, const struct sf_span_batch *piece,
                                    struct sf_why *why);

struct sf_otlp_build {
    struct sf_otlp_request rq;
    struct sf_why *why;
    enum sf_err err; /* error of give or reload; ends the decoding */

    sf_otlp_take take; /* NULL: whole */
    void *take_arg;
    uint32_t max_spans;  /* maximum of one piece */
    uint32_t n_expected; /* the decoder's estimate of the number of spans; 0: unknown */
    bool (*reload)(struct sf_otlp_build *b); /* reads resource and scope again, into the emptied
                                              * arena */
    void *decoder;                           /* state for reload */

    struct sf_resource resource; /* the current one, and its index once a span needed it */
    struct sf_scope scope;
    uint32_t resource_slot, scope_slot;
    uint32_t at_resource, at_scope, at_span; /* positions in the request, for messages */

    struct sf_resource *resources;
    struct sf_scope *scopes;
    struct sf_span *spans;
    uint32_t n_resources, n_scopes, n_spans;
    uint32_t cap_resources, cap_scopes, cap_spans;
    uint64_t n_seen;               /* spans of the request so far, rejected ones too */
    struct sf_otlp_rejects before; /* counts before the current span, in case it has to be read
                                    * again */
    size_t arena_mark;
};

/* `limits` may be NULL. */
void sf_otlp_build_init(struct sf_otlp_build *b, const struct sf_otlp_limits *limits,
                        struct sf_arena *req, struct sf_otlp_rejects *rejects, struct sf_why *why);

/* Sets the decoder and how it reads again; it removes itself when done. */
static inline void sf_otlp_build_set_decoder(struct sf_otlp_build *b, void *decoder,
                                             bool (*reload)(struct sf_otlp_build *b))
{
    b->decoder = decoder;
    b->reload = reload;
}

/* A zeroed span to decode into, or NULL (then see err). */
struct sf_span *sf_otlp_build_span(struct sf_otlp_build *b);
/* To be called when the arena is full. True: a piece was delivered, there is space again, and
 * resource and scope were read again. False: see err. */
bool sf_otlp_build_give(struct sf_otlp_build *b);
/* The same while a span is being read, which must then be read again. */
bool sf_otlp_build_retry(struct sf_otlp_build *b);

/* Sets resource.service. */
void sf_otlp_build_service(struct sf_resource *r);
/* The ids of the current span as received. Checks them and keeps or rejects the span. */
struct sf_otlp_ids {
    sf_bytes trace_id, span_id, parent_id;
    const char *not_hex; /* the name of an id that was not hexadecimal, if any */
};
void sf_otlp_build_check_ids(struct sf_otlp_build *b, struct sf_span *s,
                             const struct sf_otlp_ids *ids);

/* Fails with LIMIT and a message. */
enum sf_err sf_otlp_build_full(struct sf_otlp_build *b);
/* Delivers the rest as the last piece, or the whole batch in *out. */
enum sf_err sf_otlp_build_finish(struct sf_otlp_build *b, struct sf_span_batch *out);

/* The two decoders; the caller calls finish. `why` is written on failure. */
enum sf_err sf_otlp_trace_pb_read(struct sf_otlp_build *b, sf_bytes body);
enum sf_err sf_otlp_trace_json_read(struct sf_otlp_build *b, sf_bytes body);

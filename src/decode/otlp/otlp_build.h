/* otlp_build.h - a span batch in the making, whole or in pieces. Shared by the protobuf and the
 * JSON decoder; private to this module.
 *
 * Whole: everything stays in the arena until finish. In pieces: when enough spans are together (or
 * the arena is half full) they are given away and the arena starts again. The decoder then has to
 * read the resource and scope it stands in once more, since their lists went with the arena: it
 * says how through `reload`. */
#pragma once
#include "decode/otlp/otlp_attrs.h"
#include "model/span.h"

enum { SF_OTLP_NO_SLOT = UINT32_MAX };

typedef enum sf_err (*sf_otlp_take)(void *arg, const struct sf_span_batch *piece,
                                    struct sf_why *why);

struct sf_otlp_build {
    struct sf_otlp_request rq;
    struct sf_why *why;
    enum sf_err err; /* of give or reload; ends the decoding */

    sf_otlp_take take; /* NULL: whole */
    void *take_arg;
    uint32_t max_spans;  /* of one piece */
    uint32_t n_expected; /* spans of the request, as the decoder guesses; 0: no idea */
    bool (*reload)(struct sf_otlp_build *b); /* resource and scope, into the emptied arena */
    void *decoder;                           /* whose state it is */

    struct sf_resource resource; /* the one at hand, and its place once a span needed it */
    struct sf_scope scope;
    uint32_t resource_slot, scope_slot;
    uint32_t at_resource, at_scope, at_span; /* places in the request, for sentences */

    struct sf_resource *resources;
    struct sf_scope *scopes;
    struct sf_span *spans;
    uint32_t n_resources, n_scopes, n_spans;
    uint32_t cap_resources, cap_scopes, cap_spans;
    uint64_t n_seen;               /* spans of the request so far, rejected ones too */
    struct sf_otlp_rejects before; /* the span at hand, in case it has to be read again */
    size_t arena_mark;
};

/* `limits` may be NULL. */
void sf_otlp_build_init(struct sf_otlp_build *b, const struct sf_otlp_limits *limits,
                        struct sf_arena *req, struct sf_otlp_rejects *rejects, struct sf_why *why);

/* The reader, and how it reads again; it removes itself when done. */
static inline void sf_otlp_build_set_decoder(struct sf_otlp_build *b, void *decoder,
                                             bool (*reload)(struct sf_otlp_build *b))
{
    b->decoder = decoder;
    b->reload = reload;
}

/* A zeroed span to decode into, or NULL (see err). */
struct sf_span *sf_otlp_build_span(struct sf_otlp_build *b);
/* The arena ran full. True: a piece was given away, there is space again and resource and scope
 * were read once more. False: see err. */
bool sf_otlp_build_give(struct sf_otlp_build *b);
/* The same under a span, which is then to be read again. */
bool sf_otlp_build_retry(struct sf_otlp_build *b);

/* Fills in resource.service. */
void sf_otlp_build_service(struct sf_resource *r);
/* The ids of the span at hand as they came. Checks them and keeps or rejects the span. */
struct sf_otlp_ids {
    sf_bytes trace_id, span_id, parent_id;
    const char *not_hex; /* which one was not a hexadecimal text, if any */
};
void sf_otlp_build_check_ids(struct sf_otlp_build *b, struct sf_span *s,
                             const struct sf_otlp_ids *ids);

/* LIMIT, in words. */
enum sf_err sf_otlp_build_full(struct sf_otlp_build *b);
/* The rest as the last piece, or the whole batch into *out. */
enum sf_err sf_otlp_build_finish(struct sf_otlp_build *b, struct sf_span_batch *out);

/* The two decoders; they leave finish to the caller. `why` is written on failure. */
enum sf_err sf_otlp_trace_pb_read(struct sf_otlp_build *b, sf_bytes body);
enum sf_err sf_otlp_trace_json_read(struct sf_otlp_build *b, sf_bytes body);

#include "decode/otlp/otlp_build.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/limits.h"
#include "base/num.h"

void sf_otlp_build_init(struct sf_otlp_build *b, const struct sf_otlp_limits *limits,
                        struct sf_arena *req, struct sf_otlp_rejects *rejects, struct sf_why *why)
{
    *b = (struct sf_otlp_build){
        .rq = {.req = req,
               .max_attrs = limits && limits->max_attrs ? limits->max_attrs : SF_LIMIT_ATTRS,
               .max_value_len = limits && limits->max_value_len ? limits->max_value_len
                                                                : SF_LIMIT_VALUE_LEN,
               .rejects = rejects},
        .why = why,
        .max_spans = SF_LIMIT_SPANS,
        .resource_slot = SF_OTLP_NO_SLOT,
        .scope_slot = SF_OTLP_NO_SLOT,
    };
}

enum sf_err sf_otlp_build_full(struct sf_otlp_build *b)
{
    return sf_fail(b->why, SF_ERR_LIMIT,
                   "OTLP traces: decoded, the request needs more than %zu bytes", b->rq.req->cap);
}

static struct sf_span_batch batch_of(const struct sf_otlp_build *b)
{
    return (struct sf_span_batch){b->resources,   b->scopes,   b->spans,
                                  b->n_resources, b->n_scopes, b->n_spans};
}

/* Delivers the piece and starts the next one. The current resource and scope are added to the next
 * piece when a span needs them. */
static bool give_piece(struct sf_otlp_build *b)
{
    struct sf_span_batch piece = batch_of(b);
    b->err = b->take(b->take_arg, &piece, b->why);
    if (b->err)
        return false;
    sf_arena_reset(b->rq.req);
    b->rq.is_arena_full = false;
    b->resources = NULL;
    b->scopes = NULL;
    b->spans = NULL;
    b->n_resources = b->n_scopes = b->n_spans = 0;
    b->cap_resources = b->cap_scopes = b->cap_spans = 0;
    b->resource_slot = b->scope_slot = SF_OTLP_NO_SLOT;
    if (!b->reload(b))
        return false;
    if (b->rq.is_arena_full)
        b->err = sf_otlp_build_full(b);
    return !b->err;
}

bool sf_otlp_build_give(struct sf_otlp_build *b)
{
    if (b->take && b->n_spans)
        return give_piece(b);
    b->err = sf_otlp_build_full(b);
    return false;
}

bool sf_otlp_build_retry(struct sf_otlp_build *b)
{
    if (b->take)
        *b->rq.rejects = b->before;
    b->n_seen--;
    return sf_otlp_build_give(b);
}

static bool is_piece_full(const struct sf_otlp_build *b)
{
    return b->take && b->n_spans &&
           (b->n_spans >= b->max_spans || sf_arena_used(b->rq.req) > b->rq.req->cap / 2);
}

static struct sf_span *room_for_span(struct sf_otlp_build *b)
{
    uint32_t first = b->n_expected < b->max_spans ? b->n_expected : b->max_spans;
    return sf_otlp_attrs_list_more(&b->rq, b->spans, b->n_spans, &b->cap_spans,
                                   sizeof(struct sf_span), first ? first : 64);
}

struct sf_span *sf_otlp_build_span(struct sf_otlp_build *b)
{
    struct sf_span *spans;

    if (++b->n_seen > SF_LIMIT_SPANS) {
        b->err = sf_fail(b->why, SF_ERR_LIMIT, "OTLP traces: more than %u spans in one request",
                         SF_LIMIT_SPANS);
        return NULL;
    }
    if (is_piece_full(b) && !give_piece(b))
        return NULL;
    spans = room_for_span(b);
    if (!spans && !sf_otlp_build_give(b))
        return NULL;
    if (!spans)
        spans = room_for_span(b);
    if (!spans) {
        b->err = sf_otlp_build_full(b);
        return NULL;
    }
    b->spans = spans;
    if (b->take)
        b->before = *b->rq.rejects;
    b->arena_mark = b->rq.req->at;
    spans[b->n_spans] = (struct sf_span){0};
    return &spans[b->n_spans];
}

static void otlp_build_keep(struct sf_otlp_build *b)
{
    struct sf_span *s = &b->spans[b->n_spans];
    if (b->resource_slot == SF_OTLP_NO_SLOT) {
        struct sf_resource *r = sf_otlp_attrs_list_more(&b->rq, b->resources, b->n_resources,
                                                        &b->cap_resources, sizeof(*r), 8);
        if (!r)
            return;
        b->resources = r;
        b->resource_slot = b->n_resources;
        r[b->n_resources++] = b->resource;
    }
    if (b->scope_slot == SF_OTLP_NO_SLOT) {
        struct sf_scope *sc = sf_otlp_attrs_list_more(&b->rq, b->scopes, b->n_scopes,
                                                      &b->cap_scopes, sizeof(*sc), 8);
        if (!sc)
            return;
        b->scopes = sc;
        b->scope_slot = b->n_scopes;
        sc[b->n_scopes++] = b->scope;
    }
    s->resource = b->resource_slot;
    s->scope = b->scope_slot;
    b->n_spans++;
}

/* Leaves the span out and counts it in `counter`, with its position and this message. */
__attribute__((format(printf, 3, 4))) static void otlp_build_reject(struct sf_otlp_build *b,
                                                                    uint64_t *counter,
                                                                    const char *format, ...)
{
    struct sf_otlp_rejects *rejects = b->rq.rejects;
    struct sf_why text;
    va_list args;

    if (rejects->n_rejected++ == 0) {
        va_start(args, format);
        sf_fail_va(&text, SF_ERR_INPUT, format, args);
        va_end(args);
        snprintf(rejects->first, sizeof(rejects->first),
                 "resourceSpans[%u].scopeSpans[%u].spans[%u]: %.100s", b->at_resource, b->at_scope,
                 b->at_span, text.text);
    }
    (*counter)++;
    b->rq.req->at = b->arena_mark; /* discard everything of it */
}

static bool otlp_build_is_zero(sf_bytes id)
{
    for (size_t i = 0; i < id.len; i++) {
        if (id.p[i])
            return false;
    }
    return true;
}

void sf_otlp_build_check_ids(struct sf_otlp_build *b, struct sf_span *s,
                             const struct sf_otlp_ids *ids)
{
    struct sf_otlp_rejects *rejects = b->rq.rejects;
    if (ids->not_hex) {
        otlp_build_reject(b,
                          *ids->not_hex == 't' ? &rejects->n_bad_trace_id : &rejects->n_bad_span_id,
                          "%s is not hexadecimal", ids->not_hex);
    } else if (ids->trace_id.len != sizeof(s->trace_id.b)) {
        otlp_build_reject(b, &rejects->n_bad_trace_id, "trace id of %zu bytes, 16 are needed",
                          ids->trace_id.len);
    } else if (otlp_build_is_zero(ids->trace_id)) {
        otlp_build_reject(b, &rejects->n_bad_trace_id, "trace id is all zero");
    } else if (ids->span_id.len != 8) {
        otlp_build_reject(b, &rejects->n_bad_span_id, "span id of %zu bytes, 8 are needed",
                          ids->span_id.len);
    } else if (otlp_build_is_zero(ids->span_id)) {
        otlp_build_reject(b, &rejects->n_bad_span_id, "span id is all zero");
    } else if (ids->parent_id.len && ids->parent_id.len != 8) {
        otlp_build_reject(b, &rejects->n_bad_span_id, "parent span id of %zu bytes, 8 are needed",
                          ids->parent_id.len);
    } else {
        memcpy(s->trace_id.b, ids->trace_id.p, sizeof(s->trace_id.b));
        s->span_id = sf_load_u64be(ids->span_id.p);
        s->parent_id = ids->parent_id.len ? sf_load_u64be(ids->parent_id.p) : 0;
        otlp_build_keep(b);
    }
}

void sf_otlp_build_service(struct sf_resource *r)
{
    r->service = sf_attrs_str(r->attrs, SF_STR("service.name"));
    if (r->service.len == 0)
        r->service = SF_STR("unknown_service");
}

enum sf_err sf_otlp_build_finish(struct sf_otlp_build *b, struct sf_span_batch *out)
{
    struct sf_span_batch batch = batch_of(b);
    if (!b->take)
        *out = batch;
    else if (b->n_spans)
        return b->take(b->take_arg, &batch, b->why);
    return SF_OK;
}

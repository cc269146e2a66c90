/* span_checks.h - what must hold for every body that decodes to spans. For the targets of both
 * encodings. */
#pragma once
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/limits.h"
#include "decode/otlp/otlp_trace.h"
#include "model/batch_codec.h"
#include "model/value_list.h"
#include "support/otlp_make.h"

static inline void sf_span_checks_attrs(struct sf_attrs attrs)
{
    SF_ASSERT(attrs.n <= SF_LIMIT_ATTRS);
    for (uint32_t i = 0; i < attrs.n; i++) {
        struct sf_value val = attrs.list[i].val;
        struct sf_value_list l = sf_value_list_init(val);
        struct sf_attr at;
        const char *fault;
        size_t off;
        SF_ASSERT(attrs.list[i].key.len <= SF_LIMIT_KEY_LEN);
        SF_ASSERT(val.type > SF_VALUE_NONE && val.type < SF_VALUE_TYPES);
        if (val.type == SF_VALUE_ARRAY || val.type == SF_VALUE_KVLIST)
            SF_ASSERT(sf_value_list_check(val.type, val.str, &off, &fault));
        while (sf_value_list_next(&l, &at))
            SF_ASSERT(at.val.type > SF_VALUE_NONE && at.val.type < SF_VALUE_TYPES);
    }
}

static inline void sf_span_checks_batch(const struct sf_span_batch *b)
{
    for (uint32_t i = 0; i < b->n_resources; i++) {
        SF_ASSERT(b->resources[i].service.len > 0);
        sf_span_checks_attrs(b->resources[i].attrs);
    }
    for (uint32_t i = 0; i < b->n_scopes; i++)
        sf_span_checks_attrs(b->scopes[i].attrs);
    for (uint32_t i = 0; i < b->n_spans; i++) {
        const struct sf_span *s = &b->spans[i];
        SF_ASSERT(s->resource < b->n_resources && s->scope < b->n_scopes);
        SF_ASSERT(s->span_id && !sf_trace_id_is_zero(s->trace_id));
        SF_ASSERT(s->kind < SF_KINDS && s->status < SF_STATUSES);
        SF_ASSERT(s->n_events <= SF_LIMIT_EVENTS && s->n_links <= SF_LIMIT_LINKS);
        sf_span_checks_attrs(s->attrs);
        for (uint32_t k = 0; k < s->n_events; k++)
            sf_span_checks_attrs(s->events[k].attrs);
        for (uint32_t k = 0; k < s->n_links; k++)
            sf_span_checks_attrs(s->links[k].attrs);
    }
}

static inline enum sf_err sf_span_checks_count(void *arg, const struct sf_span_batch *piece,
                                               struct sf_why *why)
{
    (void)why;
    SF_ASSERT(piece->n_spans == 1);
    sf_span_checks_batch(piece);
    *(uint32_t *)arg += piece->n_spans;
    return SF_OK;
}

static inline void sf_span_checks_round_trip(const struct sf_span_batch *b, struct sf_arena *req)
{
    struct sf_buf buf = {0};
    struct sf_span_batch again;
    struct sf_otlp_rejects rejects;
    char what[160];

    sf_otlp_make_pb(b, &buf);
    SF_ASSERT(sf_buf_ok(&buf));
    SF_ASSERT(!sf_otlp_trace_decode_pb(sf_buf_bytes(&buf), NULL, req, &again, &rejects, NULL));
    SF_ASSERT(rejects.n_rejected == 0 && sf_otlp_make_is_same(b, &again, what));
    sf_buf_reset(&buf);
    sf_batch_codec_encode(b, &buf);
    SF_ASSERT(sf_buf_ok(&buf));
    SF_ASSERT(!sf_batch_codec_decode(sf_buf_bytes(&buf), req, &again, NULL));
    SF_ASSERT(sf_otlp_make_is_same(b, &again, what));
    sf_buf_done(&buf);
}

static inline void sf_span_checks_run(sf_bytes in, bool is_json)
{
    static struct sf_arena req, more;
    struct sf_otlp_rejects rejects = {0}, in_pieces;
    struct sf_span_batch batch;
    struct sf_why why;
    uint32_t n = 0;
    enum sf_err err;
    uint8_t *copy = malloc(in.len ? in.len : 1);

    if (!req.base)
        SF_ASSERT(sf_arena_init(&req, 1u << 20) && sf_arena_init(&more, 4u << 20));
    sf_arena_reset(&req);
    sf_arena_reset(&more);
    SF_ASSERT(copy);
    if (in.len)
        memcpy(copy, in.p, in.len);
    in.p = copy;
    err = is_json ? sf_otlp_trace_decode_json(in, NULL, &req, &batch, &rejects, &why)
                  : sf_otlp_trace_decode_pb(in, NULL, &req, &batch, &rejects, &why);
    SF_ASSERT(err == SF_OK || err == SF_ERR_INPUT || err == SF_ERR_LIMIT);
    if (err) {
        SF_ASSERT(strlen(why.text) > 0);
    } else {
        SF_ASSERT(rejects.n_rejected == rejects.n_bad_trace_id + rejects.n_bad_span_id);
        SF_ASSERT(!rejects.n_rejected == !rejects.first[0]);
        sf_span_checks_batch(&batch);
        sf_span_checks_round_trip(&batch, &more);
    }
    if (err != SF_ERR_LIMIT) {
        enum sf_err piece_err = sf_otlp_trace_decode_pieces(
            in, is_json, NULL, 1, &more, sf_span_checks_count, &n, &in_pieces, &why);
        SF_ASSERT(piece_err == err && (err || n == batch.n_spans));
        SF_ASSERT(err || in_pieces.n_rejected == rejects.n_rejected);
    }
    free(copy);
}

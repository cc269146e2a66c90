#include "decode/otlp/otlp_trace.h"

#include "decode/otlp/otlp_build.h"

static enum sf_err otlp_trace_read_body(struct sf_otlp_build *b, sf_bytes body, bool is_json)
{
    return is_json ? sf_otlp_trace_json_read(b, body) : sf_otlp_trace_pb_read(b, body);
}

static enum sf_err decode_whole(sf_bytes body, bool is_json, const struct sf_otlp_limits *limits,
                                struct sf_arena *req, struct sf_span_batch *out,
                                struct sf_otlp_rejects *rejects, struct sf_why *why)
{
    struct sf_otlp_rejects counted = {0};
    struct sf_otlp_build b;
    enum sf_err err;

    sf_otlp_build_init(&b, limits, req, &counted, why);
    err = otlp_trace_read_body(&b, body, is_json);
    if (err)
        return err;
    *rejects = counted;
    return sf_otlp_build_finish(&b, out);
}

enum sf_err sf_otlp_trace_decode_pb(sf_bytes body, const struct sf_otlp_limits *limits,
                                    struct sf_arena *req, struct sf_span_batch *out,
                                    struct sf_otlp_rejects *rejects, struct sf_why *why)
{
    return decode_whole(body, false, limits, req, out, rejects, why);
}

enum sf_err sf_otlp_trace_decode_json(sf_bytes body, const struct sf_otlp_limits *limits,
                                      struct sf_arena *req, struct sf_span_batch *out,
                                      struct sf_otlp_rejects *rejects, struct sf_why *why)
{
    return decode_whole(body, true, limits, req, out, rejects, why);
}

static enum sf_err take_nothing(void *arg, const struct sf_span_batch *piece, struct sf_why *why)
{
    (void)arg;
    (void)piece;
    (void)why;
    return SF_OK;
}

static enum sf_err walk_pieces(sf_bytes body, bool is_json, const struct sf_otlp_limits *limits,
                               uint32_t max_spans, struct sf_arena *req, sf_otlp_take take,
                               void *arg, struct sf_otlp_rejects *rejects, struct sf_why *why)
{
    /* At most a quarter of the arena for the list of spans: their attributes need the rest. */
    size_t most = req->cap / 4 / sizeof(struct sf_span);
    struct sf_otlp_build b;
    enum sf_err err;

    sf_otlp_build_init(&b, limits, req, rejects, why);
    b.take = take;
    b.take_arg = arg;
    if (max_spans > most)
        max_spans = (uint32_t)most;
    if (max_spans && max_spans < b.max_spans)
        b.max_spans = max_spans;
    sf_arena_reset(req);
    err = otlp_trace_read_body(&b, body, is_json);
    return err ? err : sf_otlp_build_finish(&b, NULL);
}

enum sf_err sf_otlp_trace_decode_pieces(
    sf_bytes body, bool is_json, const struct sf_otlp_limits *limits, uint32_t max_spans,
    struct sf_arena *req,
    enum sf_err (*take)(void *arg, const struct sf_span_batch *piece, struct sf_why *why),
    void *arg, struct sf_otlp_rejects *rejects, struct sf_why *why)
{
    /* The check is the decoder itself with its output discarded: two implementations would
     * eventually disagree. */
    struct sf_otlp_rejects counted = {0}, again = {0};
    enum sf_err err = walk_pieces(body, is_json, limits, max_spans, req, take_nothing, NULL,
                                  &counted, why);
    if (err)
        return err;
    *rejects = counted;
    return walk_pieces(body, is_json, limits, max_spans, req, take, arg, &again, why);
}

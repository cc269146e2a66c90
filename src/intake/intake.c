/* A request is logged in one of three forms.
 *
 * As received: nothing was redacted, the decoder used all of it, and it is small. The log gets the
 * sender's bytes with their compression, which is cheapest; replay decodes them again by the same
 * rules and gets the same rows.
 *
 * Normalised: something was changed. The log gets the batch as encoded by model/batch_codec.h,
 * compressed; the rows still point into the body, which stays in memory with the batch.
 *
 * In pieces: too large to be decoded in memory. Each piece is normalised and compressed at once and
 * has no rows; the store reads these through replay, one piece at a time. */
#include "intake/intake.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/heap.h"
#include "base/limits.h"
#include "base/num.h"
#include "decode/profile_sent.h"
#include "intake/intake_profiles.h"
#include "intake/redact.h"
#include "model/batch_codec.h"
#include "model/profile_codec.h"
#include "wire/deflate.h"
#include "wire/inflate.h"

enum {
    PIECE_SPANS = 16384,
    PIECE_ARENA_LEN = 32 << 20,
    KEEP_SCRATCH_LEN = 1 << 20,
    UNUSED_LEN = 64 << 10,
    ZSTD_LEVEL = 1,
    /* A profile is mostly numbers, which higher levels hardly compress better: this level takes
     * half the time for a third more bytes in the log, which are kept for a minute (bench/load
     * --profiles). */
    ZSTD_PROFILE_LEVEL = -5,
};

struct sf_intake_tools {
    struct sf_inflate *inflate;
    struct sf_deflate *deflate;
    struct sf_buf scratch;
};

struct sf_intake_tools *sf_intake_tools_new(void)
{
    struct sf_intake_tools *t = sf_heap_new(sizeof(*t));
    if (!t)
        return NULL;
    t->inflate = sf_inflate_new();
    t->deflate = sf_deflate_new();
    if (!t->inflate || !t->deflate) {
        sf_intake_tools_free(t);
        return NULL;
    }
    return t;
}

void sf_intake_tools_free(struct sf_intake_tools *t)
{
    if (t) {
        sf_inflate_free(t->inflate);
        sf_deflate_free(t->deflate);
        sf_buf_done(&t->scratch);
        sf_heap_free(t);
    }
}

struct sf_buf *sf_intake_tools_scratch(struct sf_intake_tools *t)
{
    if (t->scratch.cap > KEEP_SCRATCH_LEN)
        sf_buf_done(&t->scratch);
    sf_buf_reset(&t->scratch);
    return &t->scratch;
}

struct sf_inflate *sf_intake_tools_inflate(struct sf_intake_tools *t)
{
    return t->inflate;
}

/* Whether the body contains more than the batch, so that it must not be logged as received: with
 * redaction on, text that was not scanned must not reach the disk. */
static bool intake_has_unseen(const struct sf_otlp_rejects *r)
{
    return r->n_rejected || r->n_unseen || r->n_cut_attrs || r->n_cut_values || r->n_cut_keys ||
           r->n_cut_names || r->n_cut_events || r->n_cut_links;
}

/* ---- parameters that replay needs ---- */

/* key\0value\0 pairs: the limits at the time, so that a later configuration does not change how an
 * old record is read. */
static sf_bytes write_meta(char *to, const struct sf_otlp_limits *limits, uint64_t dup_hash)
{
    int len = 0;
    if (limits)
        len = snprintf(to, SF_BATCH_META_LEN, "v%c1%cattrs%c%u%cvalue%c%u%c", 0, 0, 0,
                       limits->max_attrs ? limits->max_attrs : SF_LIMIT_ATTRS, 0, 0,
                       limits->max_value_len ? limits->max_value_len : SF_LIMIT_VALUE_LEN, 0);
    else
        len = snprintf(to, SF_BATCH_META_LEN, "v%c1%c", 0, 0);
    if (dup_hash)
        len += snprintf(to + len, SF_BATCH_META_LEN - (size_t)len, "dup%c%llu%c", 0,
                        (unsigned long long)dup_hash, 0);
    return (sf_bytes){(const uint8_t *)to, (size_t)len};
}

static bool intake_read_meta(sf_bytes meta, struct sf_otlp_limits *limits, uint64_t *dup_hash)
{
    sf_str rest = sf_bytes_str(meta), key, value;
    while (rest.len) {
        uint64_t n;
        if (!sf_str_split_next(&rest, 0, &key) || !sf_str_split_next(&rest, 0, &value) ||
            !sf_str_to_u64(value, &n))
            return false;
        if (sf_str_eq(key, SF_STR("v")) && n != 1)
            return false;
        if (sf_str_eq(key, SF_STR("attrs")))
            limits->max_attrs = (uint32_t)(n < UINT32_MAX ? n : UINT32_MAX);
        if (sf_str_eq(key, SF_STR("value")))
            limits->max_value_len = (uint32_t)(n < UINT32_MAX ? n : UINT32_MAX);
        if (sf_str_eq(key, SF_STR("dup")))
            *dup_hash = n;
    }
    return true;
}

static uint64_t hash_request(uint32_t tenant, uint8_t kind, uint8_t coding, sf_bytes body)
{
    uint64_t hash = sf_hash_mix(sf_hash(body.p, body.len), tenant);
    hash = sf_hash_mix(hash, (uint64_t)kind << 8 | coding);
    return hash ? hash : 1;
}

/* ---- steps of a request ---- */

static enum sf_err inflate_bytes(struct sf_intake_tools *tools, enum sf_log_encoding coding,
                                 bool is_zlib, sf_bytes in, size_t max_len, struct sf_buf *out,
                                 struct sf_why *why)
{
    enum sf_inflate_kind kind = is_zlib                 ? SF_INFLATE_ZLIB
                                : coding == SF_LOG_GZIP ? SF_INFLATE_GZIP
                                                        : SF_INFLATE_ZSTD;
    return sf_inflate_bytes(tools->inflate, kind, in, max_len, out, why);
}

static enum sf_err decode_body(uint8_t kind, sf_bytes body, const struct sf_otlp_limits *limits,
                               struct sf_arena *req, struct sf_span_batch *out,
                               struct sf_otlp_rejects *rejects, struct sf_why *why)
{
    return kind == SF_LOG_OTLP_TRACES_JSON
               ? sf_otlp_trace_decode_json(body, limits, req, out, rejects, why)
               : sf_otlp_trace_decode_pb(body, limits, req, out, rejects, why);
}

/* State while one request is processed. */
struct work {
    const struct sf_intake_config *config;
    const struct sf_intake_request *request;
    struct sf_intake_tools *tools; /* given by the caller, or own; NULL until they are needed */
    bool has_own_tools;
    struct sf_buf inflated; /* empty when the body was not compressed */
    sf_bytes plain;
    uint64_t dup_hash;
    /* in pieces */
    struct sf_batch *first, *last;
    struct sf_arena redacted;
    struct sf_intake_result result;
};

static size_t max_whole_len(const struct sf_intake_config *c)
{
    return c->max_whole_len && c->max_whole_len < SF_LIMIT_LOGGED_BODY_LEN
               ? c->max_whole_len
               : (size_t)SF_LIMIT_LOGGED_BODY_LEN;
}

static size_t max_arena_len(const struct sf_intake_config *c, size_t len)
{
    return c->arena_len && c->arena_len < len ? c->arena_len : len;
}

static size_t max_piece_len(const struct sf_intake_config *c)
{
    return c->max_piece_len && c->max_piece_len < SF_LIMIT_RECORD_LEN ? c->max_piece_len
                                                                      : (size_t)SF_LIMIT_RECORD_LEN;
}

static bool need_tools(struct work *w)
{
    if (!w->tools) {
        w->tools = sf_intake_tools_new();
        w->has_own_tools = w->tools != NULL;
    }
    return w->tools != NULL;
}

static void set_log(struct work *w, struct sf_batch *b, uint8_t kind, uint8_t encoding,
                    size_t decoded_len, const struct sf_otlp_limits *limits, uint64_t dup_hash)
{
    b->dup_hash = w->dup_hash;
    b->log = (struct sf_logged){.kind = kind,
                                .encoding = encoding,
                                .tenant = w->request->tenant,
                                .decoded_len = sf_u32(decoded_len),
                                .recv_ns = w->request->recv_ns,
                                .meta = write_meta(b->meta, limits, dup_hash)};
}

enum sf_err sf_intake_log(struct sf_intake_tools *tools, const struct sf_logged *log,
                          uint64_t dup_hash, sf_bytes plain, struct sf_batch *b, struct sf_why *why)
{
    struct sf_intake_request request = {.tenant = log->tenant, .recv_ns = log->recv_ns};
    struct work w = {.request = &request, .tools = tools, .dup_hash = dup_hash};
    enum sf_err err;

    if (plain.len > SF_LIMIT_LOGGED_BATCH_LEN)
        return sf_fail(why, SF_ERR_LIMIT, "intake: a batch of %zu bytes is too long", plain.len);
    if (!need_tools(&w))
        return sf_no_memory(why, "a request");
    err = sf_deflate_zstd(w.tools->deflate, ZSTD_PROFILE_LEVEL, false, plain, &b->body, why);
    if (!err && b->body.len > SF_LIMIT_RECORD_LEN - SF_BATCH_META_LEN)
        err = sf_fail(why, SF_ERR_LIMIT, "intake: a batch is longer than a log record");
    if (!err) {
        set_log(&w, b, log->kind, SF_LOG_ZSTD, plain.len, NULL, dup_hash);
        b->log.body = sf_buf_bytes(&b->body);
    }
    if (w.has_own_tools)
        sf_intake_tools_free(w.tools);
    return err;
}

void sf_intake_log_body(const struct sf_logged *log, uint64_t dup_hash, struct sf_batch *b)
{
    struct sf_intake_request request = {.tenant = log->tenant, .recv_ns = log->recv_ns};
    struct work w = {.request = &request, .dup_hash = dup_hash};
    set_log(&w, b, log->kind, SF_LOG_PLAIN, b->body.len, NULL, dup_hash);
    b->log.body = sf_buf_bytes(&b->body);
}

/* Compression reserves for the worst case. */
static void give_back_unused(struct sf_buf *b)
{
    uint8_t *p = b->cap - b->len > UNUSED_LEN ? sf_heap_grow(b->p, b->len, 1) : NULL;
    if (p) {
        b->p = p;
        b->cap = b->len;
    }
}

/* Encodes the batch in normalised form, compressed, for the log. LIMIT: several spans are longer
 * than `max_len` (0: than a record). */
static enum sf_err log_normalised(struct work *w, struct sf_batch *b,
                                  const struct sf_span_batch *spans, size_t max_len,
                                  uint64_t dup_hash, struct sf_why *why)
{
    struct sf_buf plain = {.max = spans->n_spans > 1 ? max_len : 0};
    enum sf_err err = SF_OK;

    if (!need_tools(w))
        return sf_no_memory(why, "a request");
    sf_batch_codec_encode(spans, &plain);
    if (!sf_buf_ok(&plain))
        err = sf_fail(why, plain.err, "intake: no memory to write a batch");
    else if (plain.len > SF_LIMIT_RECORD_LEN && spans->n_spans > 1)
        err = sf_fail(why, SF_ERR_LIMIT, "intake: a batch is longer than a log record");
    if (!err)
        err = sf_deflate_zstd(w->tools->deflate, ZSTD_LEVEL, false, sf_buf_bytes(&plain), &b->body,
                              why);
    if (!err && b->body.len > SF_LIMIT_RECORD_LEN - SF_BATCH_META_LEN)
        err = sf_fail(why, SF_ERR_LIMIT, "a span of %zu bytes is longer than a log record",
                      b->body.len);
    if (!err) {
        give_back_unused(&b->body);
        set_log(w, b, SF_LOG_BATCH, SF_LOG_ZSTD, plain.len, NULL, dup_hash);
        b->log.body = sf_buf_bytes(&b->body);
    }
    sf_buf_done(&plain);
    return err;
}

/* ---- requests decoded as a whole ---- */

static void move_buf(struct sf_buf *to, struct sf_buf *from)
{
    *to = *from;
    *from = (struct sf_buf){0};
}

/* Moves the request's body into the batch: as the logged form, or only because rows point into
 * it. */
static enum sf_err choose_form(struct work *w, struct sf_batch *b, struct sf_why *why)
{
    const struct sf_intake_request *rq = w->request;
    /* JSON may contain repeated and ignored members in many ways: with redaction on, it is never
     * logged as received. */
    bool must_change = w->result.n_redacted || w->result.n_sifted ||
                       rq->body->len > max_whole_len(w->config) ||
                       (w->config->redactor && (rq->kind == SF_LOG_OTLP_TRACES_JSON ||
                                                intake_has_unseen(&w->result.rejects)));
    enum sf_err err;

    if (must_change) {
        err = log_normalised(w, b, b->spans, 0, w->dup_hash, why);
        if (err)
            return err;
        if (w->inflated.p) {
            move_buf(&b->plain, &w->inflated);
            sf_buf_done(rq->body);
        } else {
            move_buf(&b->plain, rq->body);
        }
        return SF_OK;
    }
    set_log(w, b, (uint8_t)rq->kind, rq->is_zlib ? SF_LOG_PLAIN : (uint8_t)rq->coding, w->plain.len,
            &w->config->limits, rq->is_zlib ? w->dup_hash : 0);
    if (rq->is_zlib) {
        move_buf(&b->body, &w->inflated);
        sf_buf_done(rq->body);
    } else {
        move_buf(&b->body, rq->body);
        move_buf(&b->plain, &w->inflated);
    }
    b->log.body = sf_buf_bytes(&b->body);
    return SF_OK;
}

static enum sf_err intake_sift(struct work *w, struct sf_span_batch *spans, struct sf_arena *req,
                               struct sf_why *why)
{
    uint32_t n = spans->n_spans;
    if (!w->config->sift)
        return SF_OK;
    if (!w->config->sift(w->config->sift_arg, spans, req))
        return sf_fail(why, SF_ERR_LIMIT, "intake: the request does not fit its memory");
    w->result.n_sifted += n - spans->n_spans;
    return SF_OK;
}

/* LIMIT: it must be processed in pieces; nothing was changed then. */
static enum sf_err take_whole(struct work *w, struct sf_why *why)
{
    struct sf_batch *b = sf_batch_new(max_arena_len(w->config, SF_LIMIT_ARENA_LEN));
    struct sf_span_batch *spans;
    enum sf_err err;

    if (!b)
        return sf_no_memory(why, "a request");
    spans = sf_arena_new(&b->arena, sizeof(*spans));
    SF_ASSERT(spans);
    err = decode_body((uint8_t)w->request->kind, w->plain, &w->config->limits, &b->arena, spans,
                      &w->result.rejects, why);
    if (!err && w->config->redactor)
        err = sf_redact_spans(w->config->redactor, spans, &b->arena, NULL, spans,
                              &w->result.n_redacted, why);
    if (!err)
        err = intake_sift(w, spans, &b->arena, why);
    if (!err) {
        b->spans = spans;
        w->result.n_spans = spans->n_spans;
        if (spans->n_spans == 0) {
            sf_buf_done(w->request->body);
        } else {
            err = choose_form(w, b, why);
            if (!err) {
                w->result.batch = b;
                b = NULL;
            }
        }
    }
    sf_batch_free(b);
    return err;
}

/* ---- requests decoded in pieces ---- */

static enum sf_err intake_add_piece(struct work *w, const struct sf_span_batch *spans,
                                    struct sf_why *why)
{
    struct sf_batch *b = sf_batch_new(4096);
    enum sf_err err;

    if (!b)
        return sf_no_memory(why, "a request");
    err = log_normalised(w, b, spans, max_piece_len(w->config), w->first ? 0 : w->dup_hash, why);
    if (err) {
        sf_batch_free(b);
        return err;
    }
    b->is_replay_only = true;
    b->dup_hash = w->first ? 0 : w->dup_hash; /* a repeated request is recognised by its first
                                               * piece */
    if (w->last)
        w->last->next = b;
    else
        w->first = b;
    w->last = b;
    return SF_OK;
}

/* Splits what is too long for a record in halves, down to single spans. */
static enum sf_err add_pieces(struct work *w, const struct sf_span_batch *spans, struct sf_why *why)
{
    struct sf_span_batch half = *spans;
    enum sf_err err = intake_add_piece(w, spans, why);

    if (err != SF_ERR_LIMIT || spans->n_spans < 2)
        return err;
    half.n_spans = spans->n_spans / 2;
    err = add_pieces(w, &half, why);
    if (err)
        return err;
    half.spans = spans->spans + half.n_spans;
    half.n_spans = spans->n_spans - half.n_spans;
    return add_pieces(w, &half, why);
}

static enum sf_err intake_see_piece(void *arg, const struct sf_span_batch *piece,
                                    struct sf_why *why)
{
    struct work *w = arg;
    struct sf_span_batch spans = *piece;
    uint64_t n = 0;
    enum sf_err err = SF_OK;

    if (piece->n_spans == 0)
        return SF_OK;
    sf_arena_reset(&w->redacted);
    if (w->config->redactor)
        err = sf_redact_spans(w->config->redactor, piece, &w->redacted, NULL, &spans, &n, why);
    if (!err)
        err = intake_sift(w, &spans, &w->redacted, why);
    if (!err && spans.n_spans)
        err = add_pieces(w, &spans, why);
    if (!err && spans.n_spans && w->config->see)
        w->config->see(w->config->see_arg, &spans);
    w->result.n_redacted += n;
    w->result.n_spans += spans.n_spans;
    return err;
}

static enum sf_err take_pieces(struct work *w, struct sf_why *why)
{
    struct sf_arena decoded = {0};
    enum sf_err err;

    w->result = (struct sf_intake_result){0};
    if (!sf_arena_init(&decoded, max_arena_len(w->config, PIECE_ARENA_LEN)) ||
        !sf_arena_init(&w->redacted, max_arena_len(w->config, SF_LIMIT_ARENA_LEN))) {
        err = sf_no_memory(why, "a request");
    } else {
        err = sf_otlp_trace_decode_pieces(w->plain, w->request->kind == SF_LOG_OTLP_TRACES_JSON,
                                          &w->config->limits, PIECE_SPANS, &decoded,
                                          intake_see_piece, w, &w->result.rejects, why);
    }
    if (err) {
        sf_batch_free(w->first);
    } else {
        w->result.batch = w->first;
        sf_buf_done(w->request->body);
    }
    sf_arena_done(&decoded);
    sf_arena_done(&w->redacted);
    return err;
}

/* ---- public functions ---- */

enum sf_err sf_intake_traces(const struct sf_intake_config *config,
                             const struct sf_intake_request *request, struct sf_intake_result *out,
                             struct sf_why *why)
{
    size_t max_len = config->max_inflated_len ? config->max_inflated_len : SF_LIMIT_INFLATED_LEN;
    struct work w = {.config = config,
                     .request = request,
                     .tools = config->tools,
                     .plain = sf_buf_bytes(request->body)};
    size_t plain_len = 0; /* saved, because the body may be freed before it is needed */
    enum sf_err err = SF_OK;

    if (request->kind != SF_LOG_OTLP_TRACES_PB && request->kind != SF_LOG_OTLP_TRACES_JSON)
        err = sf_fail(why, SF_ERR_UNSUPPORTED, "intake: no trace request");
    w.dup_hash = hash_request(request->tenant, (uint8_t)request->kind,
                              request->is_zlib ? 15 : (uint8_t)request->coding, w.plain);
    if (!err && (request->coding != SF_LOG_PLAIN || request->is_zlib)) {
        err = need_tools(&w) ? inflate_bytes(w.tools, request->coding, request->is_zlib, w.plain,
                                             max_len, &w.inflated, why)
                             : sf_no_memory(why, "a request");
        w.plain = sf_buf_bytes(&w.inflated);
    } else if (!err && w.plain.len > max_len) {
        err = sf_fail(why, SF_ERR_LIMIT, "the body is longer than %zu bytes", max_len);
    }
    plain_len = w.plain.len;
    if (!err) {
        /* For larger bodies, rows would take too much memory. */
        err = w.plain.len <= max_whole_len(config) ? take_whole(&w, why) : SF_ERR_LIMIT;
        if (err == SF_ERR_LIMIT)
            err = take_pieces(&w, why);
    }
    if (!err) {
        *out = w.result;
        out->plain_len = plain_len;
    }
    sf_buf_done(&w.inflated);
    if (w.has_own_tools)
        sf_intake_tools_free(w.tools);
    return err;
}

static enum sf_err own_body(const struct sf_logged *rec, struct sf_batch *b, struct sf_why *why)
{
    struct sf_inflate *inflate;
    size_t max_len = rec->decoded_len ? rec->decoded_len : SF_BUF_MAX;
    enum sf_err err;

    if (rec->encoding == SF_LOG_PLAIN) {
        sf_buf_add(&b->plain, rec->body.p, rec->body.len);
        return sf_buf_ok(&b->plain) ? SF_OK : sf_no_memory(why, "a request");
    }
    if (rec->encoding != SF_LOG_GZIP && rec->encoding != SF_LOG_ZSTD)
        return sf_fail(why, SF_ERR_CORRUPT, "replay: unknown encoding %u", rec->encoding);
    inflate = sf_inflate_new();
    if (!inflate)
        return sf_no_memory(why, "a request");
    err = sf_inflate_bytes(inflate,
                           rec->encoding == SF_LOG_GZIP ? SF_INFLATE_GZIP : SF_INFLATE_ZSTD,
                           rec->body, max_len, &b->plain, why);
    sf_inflate_free(inflate);
    return err;
}

static enum sf_err intake_replay_profiles(struct sf_batch *b, struct sf_why *why)
{
    struct sf_profile_batch *profiles = sf_arena_new(&b->arena, sizeof(*profiles));
    enum sf_err err;
    SF_ASSERT(profiles);
    err = sf_profile_codec_decode(sf_buf_bytes(&b->plain), &b->arena, profiles, why);
    if (!err)
        b->profiles = profiles;
    return err;
}

/* Decodes a profile logged as received. The batch points into `body`, or into `plain` if the bytes
 * were compressed. */
static enum sf_err intake_replay_sent(const struct sf_logged *rec, struct sf_batch *b,
                                      struct sf_why *why)
{
    struct sf_profile_batch *profiles = sf_arena_new(&b->arena, sizeof(*profiles));
    struct sf_inflate *inflate = sf_inflate_new();
    struct sf_profile_hint hint;
    sf_str bytes, plain;
    enum sf_err err = SF_OK;
    SF_ASSERT(profiles);
    sf_buf_add(&b->body, rec->body.p, rec->body.len);
    if (!inflate || !sf_buf_ok(&b->body))
        err = sf_no_memory(why, "a request");
    if (!err)
        err = sf_profile_sent_decode(sf_buf_bytes(&b->body), &b->arena, &hint, &bytes, why);
    if (!err)
        err = sf_profile_format_unwrap(inflate, bytes, SF_LIMIT_INFLATED_LEN, &b->plain, &plain,
                                       why);
    if (!err)
        err = sf_profile_format_decode(plain, &hint, &b->arena, profiles, why);
    if (!err) {
        b->profiles = profiles;
        err = sf_intake_profiles_again(b, rec->recv_ns, why);
    }
    sf_inflate_free(inflate);
    return err;
}

static enum sf_err replay_rows(const struct sf_logged *rec, const struct sf_otlp_limits *limits,
                               struct sf_batch *b, struct sf_why *why)
{
    struct sf_otlp_rejects rejects = {0};
    struct sf_span_batch *spans = sf_arena_new(&b->arena, sizeof(*spans));
    enum sf_err err = SF_OK;

    SF_ASSERT(spans);
    if (rec->kind == SF_LOG_PROFILE_SENT)
        return intake_replay_sent(rec, b, why);
    err = own_body(rec, b, why);
    if (err)
        return err;
    switch (rec->kind) {
    case SF_LOG_BATCH:
        err = sf_batch_codec_decode(sf_buf_bytes(&b->plain), &b->arena, spans, why);
        break;
    case SF_LOG_OTLP_TRACES_PB:
    case SF_LOG_OTLP_TRACES_JSON:
        err = decode_body(rec->kind, sf_buf_bytes(&b->plain), limits, &b->arena, spans, &rejects,
                          why);
        break;
    case SF_LOG_PROFILES: return intake_replay_profiles(b, why);
    default: return sf_fail(why, SF_ERR_UNSUPPORTED, "replay: unknown kind %u", rec->kind);
    }
    if (!err)
        b->spans = spans;
    return err;
}

enum sf_err sf_intake_replay(const struct sf_logged *rec, struct sf_batch **out, struct sf_why *why)
{
    struct sf_otlp_limits limits = {0};
    uint64_t dup_hash = 0;
    struct sf_batch *b;
    enum sf_err err;

    if (!intake_read_meta(rec->meta, &limits, &dup_hash))
        return sf_fail(why, SF_ERR_CORRUPT, "replay: unreadable parameters");
    b = sf_batch_new(SF_LIMIT_ARENA_LEN);
    if (!b)
        return sf_no_memory(why, "a request");
    err = replay_rows(rec, &limits, b, why);
    if (err) {
        sf_batch_free(b);
        /* Only accepted requests are logged: a malformed one was damaged since. */
        return err == SF_ERR_INPUT ? SF_ERR_CORRUPT : err;
    }
    if (!dup_hash && rec->kind != SF_LOG_BATCH && rec->kind != SF_LOG_PROFILES &&
        rec->kind != SF_LOG_PROFILE_SENT)
        dup_hash = hash_request(rec->tenant, rec->kind, rec->encoding, rec->body);
    b->dup_hash = dup_hash;
    b->log = (struct sf_logged){.kind = rec->kind,
                                .encoding = rec->encoding,
                                .tenant = rec->tenant,
                                .decoded_len = rec->decoded_len,
                                .recv_ns = rec->recv_ns};
    *out = b;
    return SF_OK;
}

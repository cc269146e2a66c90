/* intake.h - the last module that refuses, truncates, labels or redacts input.
 *
 * It converts a request body to a batch for the store: decompressed, decoded, redacted, and with
 * its logged form: the body as received when nothing was changed, the normalised batch otherwise.
 * Redacted data never reaches the disk, not even the log. */
#pragma once
#include "base/err.h"
#include "decode/otlp/otlp_trace.h"
#include "model/batch.h"

struct sf_redactor; /* intake/redact.h; NULL: nothing is redacted */

/* State for decompressing and compressing. One per thread. */
struct sf_intake_tools;
struct sf_intake_tools *sf_intake_tools_new(void); /* NULL: no memory */
void sf_intake_tools_free(struct sf_intake_tools *t);
struct sf_inflate;
struct sf_inflate *sf_intake_tools_inflate(struct sf_intake_tools *t); /* borrowed */
/* An empty buffer that is valid until the next call; it keeps up to 1 MiB of memory. */
struct sf_buf *sf_intake_tools_scratch(struct sf_intake_tools *t);

struct sf_intake_config {
    const struct sf_redactor *redactor;
    struct sf_intake_tools *tools; /* of the calling thread; NULL: created for the call */
    struct sf_otlp_limits limits;
    size_t max_inflated_len; /* 0: the default */
    /* A longer body, or one whose decoded form does not fit in `arena_len`, is decoded in pieces
     * that do. 0: the default. */
    size_t max_whole_len, arena_len;
    size_t max_piece_len; /* encoded length of such a piece; 0: the default */
    /* Called with the rows of a request that is processed in pieces, as they will be stored. May be
     * NULL. */
    void (*see)(void *arg, const struct sf_span_batch *spans);
    void *see_arg;
    /* Removes spans before anything is written, for reasons outside of the spans (rate limits):
     * `spans` may get a shorter list in `req`. False: `req` is full. May be NULL; may be called
     * twice for a request. */
    bool (*sift)(void *arg, struct sf_span_batch *spans, struct sf_arena *req);
    void *sift_arg;
};

struct sf_intake_request {
    enum sf_log_kind kind;       /* OTLP_TRACES_PB or _JSON */
    enum sf_log_encoding coding; /* compression of the body */
    bool is_zlib;                /* "deflate": decompressed; logged uncompressed */
    uint32_t tenant;
    int64_t recv_ns;
    struct sf_buf *body; /* taken on success (as the logged form, or freed) */
};

struct sf_intake_result {
    struct sf_batch *batch; /* owned by the caller; NULL when no span was left */
    struct sf_otlp_rejects rejects;
    uint64_t n_spans, n_redacted;
    uint64_t n_sifted;  /* spans removed by `sift` */
    uint64_t plain_len; /* length of the decompressed body */
};

/* INPUT (malformed; `why` has the offset), LIMIT (decompressed size, memory), NOMEM,
 * UNSUPPORTED. */
enum sf_err sf_intake_traces(const struct sf_intake_config *config,
                             const struct sf_intake_request *request, struct sf_intake_result *out,
                             struct sf_why *why);

/* Compresses `plain` into the batch's body as its logged form; kind, tenant and receive time come
 * from `log`. LIMIT: longer than a record. */
enum sf_err sf_intake_log(struct sf_intake_tools *tools, const struct sf_logged *log,
                          uint64_t dup_hash, sf_bytes plain, struct sf_batch *b,
                          struct sf_why *why);

/* Uses the batch's body, unchanged, as the record that is logged. */
void sf_intake_log_body(const struct sf_logged *log, uint64_t dup_hash, struct sf_batch *b);

/* The store's replay function: decodes a logged record to a batch with rows. Deterministic: items
 * are rejected by the same rules, and limits come from the record. */
enum sf_err sf_intake_replay(const struct sf_logged *rec, struct sf_batch **out,
                             struct sf_why *why);

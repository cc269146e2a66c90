/* intake.h - the last place where input is refused, cut, labelled or redacted.
 *
 * A request body goes in, a batch ready for the store comes out: inflated, decoded, redacted, with
 * its logged form chosen: the body as received when nothing had to change, the normalised batch
 * otherwise. What must not be kept never reaches the disk, the log included. */
#pragma once
#include "base/err.h"
#include "decode/otlp/otlp_trace.h"
#include "model/batch.h"

struct sf_redactor; /* intake/redact.h; NULL: nothing is redacted */

/* What inflating and compressing needs between calls. One per thread. */
struct sf_intake_tools;
struct sf_intake_tools *sf_intake_tools_new(void); /* NULL: no memory */
void sf_intake_tools_free(struct sf_intake_tools *t);
struct sf_inflate;
struct sf_inflate *sf_intake_tools_inflate(struct sf_intake_tools *t); /* borrowed */
/* An empty buffer that is good until the next call; it keeps up to a mebibyte of memory. */
struct sf_buf *sf_intake_tools_scratch(struct sf_intake_tools *t);

struct sf_intake_config {
    const struct sf_redactor *redactor;
    struct sf_intake_tools *tools; /* of the calling thread; NULL: made for the call */
    struct sf_otlp_limits limits;
    size_t max_inflated_len; /* 0: the default */
    /* Sees the rows, as they will be kept, of a request that is given on in pieces without them.
     * May be NULL. */
    void (*see)(void *arg, const struct sf_span_batch *spans);
    void *see_arg;
    /* Leaves spans out, before anything is written, for reasons that are not in the spans
     * themselves: `spans` may get a shorter list in `req`. False: `req` is full. May be NULL, and
     * may see a request twice. */
    bool (*sift)(void *arg, struct sf_span_batch *spans, struct sf_arena *req);
    void *sift_arg;
};

struct sf_intake_request {
    enum sf_log_kind kind;       /* OTLP_TRACES_PB or _JSON */
    enum sf_log_encoding coding; /* of the body */
    bool is_zlib;                /* "deflate": inflate it; logged plain */
    uint32_t tenant;
    int64_t recv_ns;
    struct sf_buf *body; /* taken on success (as the logged form, or freed) */
};

struct sf_intake_result {
    struct sf_batch *batch; /* given to the caller; NULL when no span was left */
    struct sf_otlp_rejects rejects;
    uint64_t n_spans, n_redacted;
    uint64_t n_sifted;  /* spans that `sift` left out */
    uint64_t plain_len; /* of the body, decompressed */
};

/* INPUT (malformed; `why` has the offset), LIMIT (inflated size, memory), NOMEM, UNSUPPORTED. */
enum sf_err sf_intake_traces(const struct sf_intake_config *config,
                             const struct sf_intake_request *request, struct sf_intake_result *out,
                             struct sf_why *why);

/* Compresses `plain` into the batch's body and makes that what is logged: kind, tenant and receive
 * time from `log`. LIMIT: longer than a record. */
enum sf_err sf_intake_log(struct sf_intake_tools *tools, const struct sf_logged *log,
                          uint64_t dup_hash, sf_bytes plain, struct sf_batch *b,
                          struct sf_why *why);

/* The store's replay function: a logged record back into a batch with rows. Deterministic: rejected
 * items are found again by the same rules, limits come from the record. */
enum sf_err sf_intake_replay(const struct sf_logged *rec, struct sf_batch **out,
                             struct sf_why *why);

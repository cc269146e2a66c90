/* exchange.h - one request and its answer, as the listener and the application see it.
 *
 * Created by a loop when a request's headers are complete. The loop calls on_headers (which may
 * refuse; then no body is read), reads the body (in memory up to SF_LIMIT_BODY_MEMORY_LEN, a spool
 * file above), calls on_request, and does not use the exchange until sf_exchange_finish(), which
 * must be called exactly once, by any thread. If the client disconnects meanwhile, `is_cancelled`
 * becomes true; finish must still be called. The loop frees the exchange; request, body and user
 * part must not be used after finish. A draining listener waits for all exchanges to be
 * finished. */
#pragma once
#include <stdatomic.h>

#include "base/err.h"
#include "http/request.h"

struct sf_exchange;

struct sf_exchange_body {
    uint64_t len;    /* as sent; for gRPC the length of the message, without its 5-byte prefix */
    sf_bytes memory; /* the whole body, if it is in memory */
    bool is_spooled; /* otherwise: read it by sf_exchange_body_read() */
};

const struct sf_request *sf_exchange_request(const struct sf_exchange *ex);
struct sf_response *sf_exchange_response(struct sf_exchange *ex); /* to be filled before finish */
const struct sf_exchange_body *sf_exchange_body(const struct sf_exchange *ex);
/* Reads bytes of the body from `off`, from memory or the file. Fewer than len only at the end. */
enum sf_err sf_exchange_body_read(struct sf_exchange *ex, uint64_t off, void *p, size_t len,
                                  size_t *out_len, struct sf_why *why);
/* Takes the body's memory instead, after which the exchange has no body. False: it is in a file. */
bool sf_exchange_body_take(struct sf_exchange *ex, struct sf_buf *out);
/* Gives a body back that was taken, to be read again later. Without one it does nothing. */
void sf_exchange_body_give(struct sf_exchange *ex, struct sf_buf *body);
const atomic_bool *sf_exchange_cancel(const struct sf_exchange *ex);
/* Memory for the application's own data (route, tenant, scopes, ticket). Zeroed, lives as long as
 * the exchange, 16-aligned. */
enum { SF_EXCHANGE_USER_LEN = 896 };
void *sf_exchange_user(struct sf_exchange *ex);
/* The answer is complete: returns the exchange to its loop. */
void sf_exchange_finish(struct sf_exchange *ex);

/* For server streaming (gRPC) and long plain answers: queues one message (framed for gRPC) and
 * takes the buffer's content. Messages that the peer does not read yet wait in a file; BUSY when
 * files hold too much, and for gRPC instead of using a file (wait with sf_exchange_stream_wait);
 * CANCELLED when it disconnected. Headers are sent with the first message, so status, type and
 * headers of the response must be set before it and not changed; gRPC status and message may be set
 * until finish(), which ends the stream; a body that `is_framed` is then sent last. */
enum sf_err sf_exchange_stream(struct sf_exchange *ex, struct sf_buf *message, struct sf_why *why);
/* To be called before the first piece of a long plain answer: streamed data is compressed if the
 * client accepts that and the answer's headers allow it. */
void sf_exchange_stream_gzip(struct sf_exchange *ex);
bool sf_exchange_has_streamed(const struct sf_exchange *ex);
/* Waits until there is space again or until `deadline_ns` (monotonic). DEADLINE, CANCELLED. */
enum sf_err sf_exchange_stream_wait(struct sf_exchange *ex, int64_t deadline_ns);

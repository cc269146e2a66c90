/* exchange.h - one request and its answer, from the socket's side.
 *
 * Made by a loop when a request's headers are complete. The loop calls on_headers (refuse early:
 * no body is read then), reads the body (memory up to SF_LIMIT_BODY_MEMORY_LEN, a spool file
 * above), calls on_request, and from then on touches the exchange only after
 * sf_exchange_finish(), which any thread may call exactly once. If the client goes away meanwhile,
 * `is_cancelled` becomes true; finish must still be called. The exchange is freed by its loop;
 * request, body and user part are gone once finish was called. A listener that drains waits for
 * every exchange to come back. */
#pragma once
#include <stdatomic.h>

#include "base/err.h"
#include "http/request.h"

struct sf_exchange;

struct sf_exchange_body {
    uint64_t len;    /* on the wire; for gRPC of the one message, without its 5-byte prefix */
    sf_bytes memory; /* whole body when it is in memory */
    bool is_spooled; /* else: read it through sf_exchange_body_read() */
};

const struct sf_request *sf_exchange_request(const struct sf_exchange *ex);
struct sf_response *sf_exchange_response(struct sf_exchange *ex); /* fill before finish */
const struct sf_exchange_body *sf_exchange_body(const struct sf_exchange *ex);
/* Bytes of the body from `off`; works for both kinds. Fewer than len only at the end. */
enum sf_err sf_exchange_body_read(struct sf_exchange *ex, uint64_t off, void *p, size_t len,
                                  size_t *out_len, struct sf_why *why);
/* Takes the body's memory instead: false when it is in a file. Then it is gone from here. */
bool sf_exchange_body_take(struct sf_exchange *ex, struct sf_buf *out);
const atomic_bool *sf_exchange_cancel(const struct sf_exchange *ex);
/* A place for the application: what it knows of the caller (route, tenant, scopes, ticket). Zeroed,
 * lives as long as the exchange, 16-aligned. */
enum { SF_EXCHANGE_USER_LEN = 896 };
void *sf_exchange_user(struct sf_exchange *ex);
/* The answer is complete: hands the exchange back to its loop. */
void sf_exchange_finish(struct sf_exchange *ex);

/* Server streaming (gRPC) and long plain answers: queues one message (framed when gRPC) and takes
 * the buffer's content. What the peer makes no space for waits in a file; BUSY when files hold too
 * much already, and for gRPC at once (wait with sf_exchange_stream_wait), CANCELLED when it
 * disconnected. Headers go out with the first one, so status, type and headers of the response must
 * be set before it and stay as they are; gRPC status and message may be set until finish(), which
 * ends the stream; a body that `is_framed` then goes out as the last of it. */
enum sf_err sf_exchange_stream(struct sf_exchange *ex, struct sf_buf *message, struct sf_why *why);
/* A long plain answer, before its first piece: from now on what is streamed is compressed, when the
 * client queried for that and the answer's headers allow it. */
void sf_exchange_stream_gzip(struct sf_exchange *ex);
bool sf_exchange_has_streamed(const struct sf_exchange *ex);
/* Waits until there is space again or `deadline_ns` (monotonic): DEADLINE; CANCELLED likewise. */
enum sf_err sf_exchange_stream_wait(struct sf_exchange *ex, int64_t deadline_ns);

/* plain_body.h - the body of a request in memory, on an ingest thread. */
#pragma once
#include "serve/call.h"

/* The whole body as it was sent, from memory or the spool file. NOMEM, IO. */
enum sf_err sf_plain_body_read(struct sf_call *call, struct sf_buf *out, struct sf_why *why);
/* For a call whose parameters are all in the query: INPUT if it has a body other than {}, which
 * would be ignored. */
enum sf_err sf_plain_body_none(struct sf_call *call, struct sf_why *why);
/* Decompresses the body: *io_body becomes a view into `room`; an uncompressed body is left
 * unchanged. LIMIT: more than `max_len` bytes; INPUT, NOMEM, UNSUPPORTED (an unknown coding). */
enum sf_err sf_plain_body_inflate(struct sf_worker *worker, enum sf_coding coding, size_t max_len,
                                  struct sf_buf *room, sf_str *io_body, struct sf_why *why);

/* answer.h - parses an HTTP/1.1 answer incrementally; does not use sockets.
 *
 * Reads what an exporter needs: the status, Retry-After, whether the connection stays, and the
 * first bytes of the body (its fault message or partial success). Everything else is skipped, but
 * the framing is checked strictly, because the peer is not trusted. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum { SF_ANSWER_HEAD_MAX = 16 * 1024, SF_ANSWER_BODY_KEPT = 4096 };

struct sf_answer { /* a zeroed struct is the initial state */
    int status;
    uint32_t retry_after_s; /* 0: not given, or given as a date, which servers do not send */
    bool is_kept_alive;
    bool is_done;
    const char *fault; /* NULL, or a constant text: the answer is invalid or incomplete */
    uint32_t body_len; /* length of `body` */
    uint8_t body[SF_ANSWER_BODY_KEPT];
    /* private below */
    enum {
        SF_ANSWER_HEAD,
        SF_ANSWER_SIZED,
        SF_ANSWER_CHUNK_HEAD,
        SF_ANSWER_CHUNK,
        SF_ANSWER_CHUNK_END,
        SF_ANSWER_TRAILER,
        SF_ANSWER_TO_END
    } state;
    uint64_t left;
    bool has_length, is_chunked;
    uint32_t line_len, head_len;
    char line[1024]; /* current line of the head or chunk size; longer ones are truncated, not
                      * refused */
};

/* Parses the bytes received; false when the answer is complete or invalid. */
bool sf_answer_take(struct sf_answer *a, sf_bytes piece);
/* To be called at the end of the stream: completes an answer without a length; any other is
 * incomplete. */
void sf_answer_end_of_body(struct sf_answer *a);

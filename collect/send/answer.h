/* answer.h - an HTTP/1.1 answer, piece by piece; bytes in, meaning out, no sockets.
 *
 * Reads what an exporter needs: the status, Retry-After, whether the connection stays, and the
 * first bytes of the body (its fault message or partial success). Everything else is passed over,
 * but its framing is checked strictly: the peer is not trusted. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum { SF_ANSWER_HEAD_MAX = 16 * 1024, SF_ANSWER_BODY_KEPT = 4096 };

struct sf_answer { /* a zeroed one is ready */
    int status;
    uint32_t retry_after_s; /* 0: not given, or as a date, which servers do not send */
    bool is_kept_alive;
    bool is_done;
    const char *fault; /* NULL, or a literal: not HTTP we can follow */
    uint32_t body_len; /* kept below */
    uint8_t body[SF_ANSWER_BODY_KEPT];
    /* inside */
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
    char line[1024]; /* of the head or of a chunk's size; a longer one is cut, not refused */
};

/* Takes bytes as they come; false when it is done or wrong. */
bool sf_answer_take(struct sf_answer *a, sf_bytes piece);
/* The stream ended: an answer without a length is whole then, any other is not. */
void sf_answer_end_of_body(struct sf_answer *a);

/* h1_writer.h - writes HTTP/1.1 answers. */
#pragma once
#include "http/request.h"

enum sf_h1_body {
    SF_H1_BODY_SIZED,   /* Content-Length */
    SF_H1_BODY_CHUNKED, /* until the empty chunk */
    SF_H1_BODY_TO_END   /* until the connection closes, for HTTP/1.0 */
};

struct sf_h1_answer {
    const struct sf_response *response;
    enum sf_h1_body body;
    uint64_t body_len; /* for a sized body */
    bool keeps_alive, is_1_0, is_gzip;
    int64_t now_s; /* unix time, for Date */
};

/* Appends status line and headers. Characters in values that would end a line become '?'. */
void sf_h1_writer_head(struct sf_buf *out, const struct sf_h1_answer *a);
void sf_h1_writer_chunk(struct sf_buf *out, sf_bytes piece); /* nothing when the piece is empty */
void sf_h1_writer_last_chunk(struct sf_buf *out);
void sf_h1_writer_continue(struct sf_buf *out); /* 100 Continue */

/* Whether an answer with that status may have a body. */
bool sf_h1_writer_has_body(int status);
enum { SF_HTTP_DATE_LEN = 29 };
void sf_h1_writer_date(int64_t unix_s,
                       char out[SF_HTTP_DATE_LEN + 1]); /* "Sun, 06 Nov 1994 08:49:37 GMT" */

/* h2_session.h - the server's side of one HTTP/2 connection: nghttp2 with our rules around it.
 *
 * Bytes in, bytes out, no sockets and no clock: the caller brings both. Frames become calls of the
 * hooks; answers are queued on streams and leave through send(). Windows open only when the caller
 * consumes, so a full body budget pushes back on the peer. Frames that cost us more than they cost
 * the peer are counted per ten seconds; too many end the connection with ENHANCE_YOUR_CALM. One
 * thread. */
#pragma once
#include "http/head.h"

struct sf_h2_session;

struct sf_h2_stream { /* lives from on_begin to on_close */
    struct sf_h2_session *session;
    int32_t id;
    void *user;           /* the caller's */
    struct sf_head *head; /* given by on_begin */
    bool is_request_over; /* the peer has sent everything */
    bool is_answered;     /* headers are queued */
    bool is_answer_out;   /* all of it has left */
    /* inside */
    struct sf_h2_stream *prev, *next;
    struct sf_buf out; /* body bytes not sent yet, from out_at */
    size_t out_at;
    struct sf_buf text; /* trailers */
    bool is_out_over, is_out_waiting, is_body_ignored, is_let_go;
    size_t ignored_len;
    size_t n_trailers;
    struct sf_header trailers[3];
};

struct sf_h2_hooks {
    /* A request begins: gives the place for its head; NULL refuses the stream. */
    struct sf_head *(*on_begin)(void *arg, struct sf_h2_stream *s);
    void (*on_head)(void *arg, struct sf_h2_stream *s); /* the head is whole, or has a fault */
    /* Body bytes, to be consumed (see below) when they are dealt with. */
    void (*on_body)(void *arg, struct sf_h2_stream *s, sf_bytes piece);
    void (*on_end)(void *arg, struct sf_h2_stream *s);                   /* the request is whole */
    void (*on_sent)(void *arg, struct sf_h2_stream *s, size_t body_len); /* answer bytes left */
    /* The stream is gone; `is_clean` when both sides had finished. */
    void (*on_close)(void *arg, struct sf_h2_stream *s, bool is_clean);
    void *arg;
};

struct sf_h2_config {
    struct sf_h2_hooks hooks;
    uint32_t streams;  /* at once; 0: SF_LIMIT_STREAMS */
    size_t header_len; /* 0: SF_LIMIT_HEADER_LEN */
};

enum sf_err sf_h2_session_new(const struct sf_h2_config *config, struct sf_h2_session **out,
                              struct sf_why *why);
/* Closes every stream (on_close), then frees; NULL is fine. */
void sf_h2_session_free(struct sf_h2_session *s);

/* INPUT: the peer breaks the protocol; LIMIT: it floods us; NOMEM. Then send what send() still
 * gives (GOAWAY) and close. */
enum sf_err sf_h2_session_recv(struct sf_h2_session *s, sf_bytes in, int64_t now_ns,
                               struct sf_why *why);
/* Appends what is to be sent until `out` holds about `max` bytes. */
enum sf_err sf_h2_session_send(struct sf_h2_session *s, struct sf_buf *out, size_t max);
bool sf_h2_session_wants_send(const struct sf_h2_session *s);
bool sf_h2_session_has_begun(const struct sf_h2_session *s);  /* the peer's first frame came */
bool sf_h2_session_is_over(const struct sf_h2_session *s);    /* nothing will come or go any more */
bool sf_h2_session_is_broken(const struct sf_h2_session *s);  /* it ended for the peer's mistake */
size_t sf_h2_session_n_queued(const struct sf_h2_session *s); /* frames that wait to be sent */
size_t sf_h2_session_out_len(const struct sf_h2_session *s);  /* body bytes that wait likewise */
size_t sf_h2_session_n_streams(const struct sf_h2_session *s);
/* The first of the open streams; follow `next`. */
struct sf_h2_stream *sf_h2_session_streams(struct sf_h2_session *s);
/* Says that no new streams should come (graceful); the second call says which were the last. */
void sf_h2_session_drain(struct sf_h2_session *s, bool is_final);

/* Opens windows again: the connection's, and the stream's if `is_stream_too`. */
void sf_h2_stream_consume(struct sf_h2_stream *s, size_t len, bool is_stream_too);
void sf_h2_stream_consume_stream(struct sf_h2_stream *s, size_t len);
/* The rest of the request's body is of no interest: it is consumed unseen. If there is much of it
 * the stream is reset with NO_ERROR once the answer is out; let_go() does that at once. */
void sf_h2_stream_ignore_body(struct sf_h2_stream *s);
void sf_h2_stream_let_go(struct sf_h2_stream *s);
void sf_h2_stream_reset(struct sf_h2_stream *s, bool is_cancel); /* CANCEL or INTERNAL_ERROR */
bool sf_h2_stream_continue(struct sf_h2_stream *s);              /* 100 Continue */

struct sf_h2_answer {
    const struct sf_response *response; /* needed during the call only */
    bool is_grpc, is_gzip;
    bool has_body; /* bytes follow through sf_h2_stream_write() and _end() */
    bool has_len;  /* body_len is known */
    uint64_t body_len;
    int64_t now_s;
};
/* Queues the headers. gRPC without a body: all there is, status included ("trailers only"). */
bool sf_h2_stream_answer(struct sf_h2_stream *s, const struct sf_h2_answer *a);
/* Queues body bytes, taking the buffer's content if the queue is empty. */
bool sf_h2_stream_write(struct sf_h2_stream *s, struct sf_buf *body);
/* No more bytes. gRPC: `grpc` gives status and message for the trailers; else NULL. */
bool sf_h2_stream_end(struct sf_h2_stream *s, const struct sf_response *grpc);

/* h2_session.h - the server's side of one HTTP/2 connection: nghttp2 with our rules around it.
 *
 * It works on bytes; sockets and clock are the caller's. Frames become calls of the hooks; answers
 * are queued on streams and sent by send(). Flow-control windows are opened only when the caller
 * consumes data, so a full body budget slows the peer down. Frames that cost the server more than
 * the peer are counted per ten seconds; too many end the connection with ENHANCE_YOUR_CALM. One
 * thread at a time. */
#pragma once
#include "http/head.h"

struct sf_h2_session;

struct sf_h2_stream { /* lives from on_begin to on_close */
    struct sf_h2_session *session;
    int32_t id;
    void *user;           /* for the caller */
    struct sf_head *head; /* given by on_begin */
    bool is_request_over; /* the peer has sent everything */
    bool is_answered;     /* headers are queued */
    bool is_answer_out;   /* the whole answer was sent */
    /* private below */
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
    /* Called when a request begins: returns memory for its head; NULL refuses the stream. */
    struct sf_head *(*on_begin)(void *arg, struct sf_h2_stream *s);
    void (*on_head)(void *arg, struct sf_h2_stream *s); /* the head is complete, or has an error */
    /* Body bytes, which the caller consumes (see below) when it has processed them. */
    void (*on_body)(void *arg, struct sf_h2_stream *s, sf_bytes piece);
    void (*on_end)(void *arg, struct sf_h2_stream *s);                   /* the request is
                                                                          * complete */
    void (*on_sent)(void *arg, struct sf_h2_stream *s, size_t body_len); /* bytes of the answer were
                                                                          * sent */
    /* The stream is closed; `is_clean`: both sides had finished. */
    void (*on_close)(void *arg, struct sf_h2_stream *s, bool is_clean);
    void *arg;
};

struct sf_h2_config {
    struct sf_h2_hooks hooks;
    uint32_t streams;  /* concurrent streams; 0: SF_LIMIT_STREAMS */
    size_t header_len; /* 0: SF_LIMIT_HEADER_LEN */
};

enum sf_err sf_h2_session_new(const struct sf_h2_config *config, struct sf_h2_session **out,
                              struct sf_why *why);
/* Closes every stream (on_close), then frees; NULL is fine. */
void sf_h2_session_free(struct sf_h2_session *s);

/* INPUT: the peer violates the protocol; LIMIT: too many frames; NOMEM. Then send what send() still
 * returns (GOAWAY) and close. */
enum sf_err sf_h2_session_recv(struct sf_h2_session *s, sf_bytes in, int64_t now_ns,
                               struct sf_why *why);
/* Appends bytes to be sent until `out` has about `max` bytes. */
enum sf_err sf_h2_session_send(struct sf_h2_session *s, struct sf_buf *out, size_t max);
bool sf_h2_session_wants_send(const struct sf_h2_session *s);
bool sf_h2_session_has_begun(const struct sf_h2_session *s);  /* the peer's first frame was
                                                               * received */
bool sf_h2_session_is_over(const struct sf_h2_session *s);    /* nothing more will be received or
                                                               * sent */
bool sf_h2_session_is_broken(const struct sf_h2_session *s);  /* it ended because of an error of the
                                                               * peer */
size_t sf_h2_session_n_queued(const struct sf_h2_session *s); /* frames waiting to be sent */
size_t sf_h2_session_out_len(const struct sf_h2_session *s);  /* body bytes waiting to be sent */
size_t sf_h2_session_n_streams(const struct sf_h2_session *s);
/* The first open stream; follow `next`. */
struct sf_h2_stream *sf_h2_session_streams(struct sf_h2_session *s);
/* Announces that no new streams are accepted (graceful); the second call says which were the
 * last. */
void sf_h2_session_drain(struct sf_h2_session *s, bool is_final);

/* Opens windows again: the connection's, and the stream's if `is_stream_too`. */
void sf_h2_stream_consume(struct sf_h2_stream *s, size_t len, bool is_stream_too);
void sf_h2_stream_consume_stream(struct sf_h2_stream *s, size_t len);
/* Discards the rest of the request's body. If it is long, the stream is reset with NO_ERROR once
 * the answer was sent; let_go() does that at once. */
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
/* Queues the headers. For gRPC without a body this is the whole answer including the status
 * ("trailers only"). */
bool sf_h2_stream_answer(struct sf_h2_stream *s, const struct sf_h2_answer *a);
/* Queues body bytes; takes over the buffer if the queue is empty. */
bool sf_h2_stream_write(struct sf_h2_stream *s, struct sf_buf *body);
/* Ends the body. gRPC: `grpc` has status and message for the trailers; else NULL. */
bool sf_h2_stream_end(struct sf_h2_stream *s, const struct sf_response *grpc);

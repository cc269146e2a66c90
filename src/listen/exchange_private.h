/* exchange_private.h - what the loops know of an exchange and the application does not.
 *
 * Life: made when a request's first byte arrives; read by its loop; given to the application by
 * on_request (is_with_app); returned by finish through its loop's list; answered; freed. When the
 * peer goes away in between, the exchange is parted from its connection and only waits to come
 * back. */
#pragma once
#include "http/grpc.h"
#include "http/h2_session.h"
#include "http/head.h"
#include "listen/body.h"
#include "listen/exchange.h"
#include "listen/spool.h"
#include "os/thread.h"

struct sf_loop;
struct sf_conn;
struct sf_listen_hooks; /* listen/listener.h */

struct sf_exchange {
    _Alignas(16) uint8_t user[SF_EXCHANGE_USER_LEN];
    struct sf_request request;
    struct sf_response response;
    struct sf_exchange_body view;
    struct sf_head head;
    struct sf_body body;
    struct sf_grpc_reader grpc;
    atomic_bool is_cancelled;

    /* the loop's thread only */
    struct sf_loop *loop;
    struct sf_conn *conn;          /* NULL: parted */
    struct sf_h2_stream *stream;   /* HTTP/2 only; NULL: parted */
    bool is_with_app;              /* from on_request until it came back */
    bool is_head_over, is_whole;   /* how much of the request is there */
    bool is_refused;               /* answered before it was whole */
    bool is_answering;             /* the answer has begun */
    bool is_stream_begun;          /* its headers are out, more follows */
    bool is_gzip;                  /* response.body is compressed */
    bool is_given_up;              /* its stream is being reset */
    bool is_lost;                  /* what waited in a file could not be read */
    bool is_late;                  /* its body began while the budget was over */
    bool is_counted;               /* in n_streams */
    size_t head_charge;            /* in the body budget */
    size_t withheld_len;           /* received, but the stream's window is not opened for it yet */
    int64_t begin_ns, progress_ns; /* monotonic: first byte; last byte in or out */

    /* between the application's thread and the loop's */
    struct sf_mutex mutex; /* guards the five below; takes nothing */
    struct sf_condvar room;
    struct sf_buf queue;            /* streamed and not taken by the loop */
    size_t queued_len;              /* streamed and not sent yet, but for: */
    uint64_t late_put, late_got;    /* of the file: written by the application, taken by the loop */
    bool is_parted;                 /* the client has disconnected */
    struct sf_spool late;           /* opened before late_put is more than 0 */
    struct sf_deflate_stream *gzip; /* the application's thread only, until it is finished */
    struct sf_buf packed;           /* likewise: compressed, and not queued */
    atomic_bool is_streamed;        /* stream() was called */
    struct sf_exchange *next;       /* in the loop's lists */
    bool is_listed, is_finished;    /* guarded by the loop's mutex */
};

struct sf_exchange *sf_exchange_new(struct sf_loop *loop, struct sf_conn *conn); /* NULL: memory */
void sf_exchange_free(struct sf_exchange *ex);
/* Gives the request's memory back to the budget. Done as soon as the application is finished, and
 * not when the answer has left: that may depend on a peer from which nothing is read for lack of
 * budget.
 */
void sf_exchange_release_body(struct sf_exchange *ex);
/* The peer is gone or given up: cancels, and frees unless the application still has it. */
void sf_exchange_part(struct sf_exchange *ex);
/* Streamed bytes that left for the peer. */
void sf_exchange_sent(struct sf_exchange *ex, size_t len);
/* Moves what was streamed meanwhile into `out` (empty): from memory, then from the file as far as
 * there is space. */
void sf_exchange_take_stream(struct sf_exchange *ex, struct sf_buf *out);
bool sf_exchange_has_late(struct sf_exchange *ex); /* more is in the file */
/* Fills an answer of our own: text, or what the application makes of it once the head is known.
 * `ex` may be NULL. */
void sf_exchange_refuse(const struct sf_listen_hooks *hooks, const struct sf_exchange *ex,
                        int status, const char *reason, unsigned retry_after_s,
                        struct sf_response *out);
/* Counts the head's memory into the budget, and what its next line holds before it is whole. */
void sf_exchange_charge_head(struct sf_exchange *ex, size_t line_len);
/* Sets time, deadline and peer of a request whose head is whole. */
void sf_exchange_stamp(struct sf_exchange *ex);
/* The body is whole: makes the view of it and calls on_request. */
void sf_exchange_give_to_app(struct sf_exchange *ex);

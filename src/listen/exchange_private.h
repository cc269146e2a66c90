/* exchange_private.h - the fields of an exchange that only the listener uses.
 *
 * Life cycle: created when a request's first byte arrives; filled by its loop; given to the
 * application by on_request (is_with_app); returned by finish through its loop's list; answered;
 * freed. If the peer disconnects in between, the exchange is detached from its connection
 * ("parted") and freed when the application has finished. */
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

    /* Set by the loop's thread before on_request, then constant: any thread may read it. */
    struct sf_loop *loop;
    /* Response.body, or the stream, is compressed. Written by the application's thread before the
     * first streamed message or before finish; the loop's thread reads it afterwards, having taken
     * the exchange from its list under the loop's mutex. The listener's own refusals clear it. */
    bool is_gzip;

    /* Only the loop's thread uses the fields from here to progress_ns. */
    struct sf_conn *conn;          /* NULL: parted */
    struct sf_h2_stream *stream;   /* HTTP/2 only; NULL: detached */
    bool is_with_app;              /* from on_request until it was returned */
    bool is_head_over, is_whole;   /* the head, the whole request was received */
    bool is_refused;               /* answered before it was completely received */
    bool is_answering;             /* the answer has begun */
    bool is_stream_begun;          /* its headers were sent, more follows */
    bool is_given_up;              /* its stream is being reset */
    bool is_lost;                  /* data in the file could not be read */
    bool is_late;                  /* its body began while the budget was exceeded */
    bool is_counted;               /* in n_streams */
    size_t head_charge;            /* bytes counted in the body budget */
    size_t withheld_len;           /* bytes received for which the stream's window was not opened
                                    * yet */
    int64_t begin_ns, progress_ns; /* monotonic: first byte; last progress in either direction */

    /* Used by the application's thread and by the loop's. */
    struct sf_mutex mutex;  /* guards queue, queued_len, late_put, late_got and is_parted; no other
                             * lock is taken while it is held */
    struct sf_condvar room; /* signalled when queued_len falls or the exchange is parted */
    struct sf_buf queue;    /* streamed, and not yet taken by the loop */
    size_t queued_len;      /* streamed and not yet sent, not counting the file: */
    uint64_t late_put, late_got;    /* position in the file: written by the application, read by the
                                     * loop */
    bool is_parted;                 /* the client has disconnected */
    struct sf_spool late;           /* opened before late_put becomes greater than 0 */
    struct sf_deflate_stream *gzip; /* used by the application's thread only, until finish */
    struct sf_buf packed;           /* likewise: compressed, and not yet queued */
    atomic_bool is_streamed;        /* stream() was called */
    struct sf_exchange *next;       /* in the loop's lists */
    bool is_listed, is_finished;    /* guarded by the loop's mutex */
};

struct sf_exchange *sf_exchange_new(struct sf_loop *loop, struct sf_conn *conn); /* NULL: memory */
void sf_exchange_free(struct sf_exchange *ex);
/* Gives the request's memory back to the budget. Done as soon as the application has finished, not
 * when the answer was sent: that may depend on a peer whose connection is paused for lack of
 * budget. */
void sf_exchange_release_body(struct sf_exchange *ex);
/* The peer has disconnected or was given up: cancels the exchange, and frees it unless the
 * application still has it. */
void sf_exchange_part(struct sf_exchange *ex);
/* Streamed bytes were sent to the peer. */
void sf_exchange_sent(struct sf_exchange *ex, size_t len);
/* Moves streamed data into `out` (empty): from memory, then from the file as far as there is
 * space. */
void sf_exchange_take_stream(struct sf_exchange *ex, struct sf_buf *out);
bool sf_exchange_has_late(struct sf_exchange *ex); /* there is more in the file */
/* Fills an answer of the listener itself: a text, or formatted by the application once the head is
 * known. `ex` may be NULL. */
void sf_exchange_refuse(const struct sf_listen_hooks *hooks, const struct sf_exchange *ex,
                        int status, const char *reason, unsigned retry_after_s,
                        struct sf_response *out);
/* Counts the memory of the head, and of its incomplete next line, in the budget. */
void sf_exchange_charge_head(struct sf_exchange *ex, size_t line_len);
/* Sets time, deadline and peer of a request whose head is complete. */
void sf_exchange_stamp(struct sf_exchange *ex);
/* The body is complete: makes a view of it and calls on_request. */
void sf_exchange_give_to_app(struct sf_exchange *ex);

/* conn.h - one connection: moves bytes between a socket, TLS if used, and a protocol.
 *
 * conn.c moves bytes and decides when to read; conn_h1.c and conn_h2.c implement the protocols.
 * Protocol code never closes a connection: it sets `wants_close`, and the connection is closed at
 * the end of the callback. */
#pragma once
#include "http/h1_parser.h"
#include "http/h2_session.h"
#include "listen/loop.h"

enum sf_conn_protocol { SF_CONN_UNKNOWN, SF_CONN_H1, SF_CONN_H2 };

struct sf_conn {
    uv_tcp_t tcp;
    uv_write_t write;
    struct sf_loop *loop;
    struct sf_conn *prev, *next, *next_touched;
    struct sf_tls *tls;
    bool has_fed_tls; /* the first bytes looked like TLS */
    enum sf_conn_protocol protocol;
    uint16_t port; /* local port */
    char peer[64];

    struct sf_h1_parser h1;
    struct sf_exchange *ex; /* h1: the current request */
    struct sf_buf early;    /* bytes to be processed later: protocol detection, pipelining */
    struct sf_buf out;      /* h1: bytes to send, before `body` */
    struct sf_buf body;     /* h1: the answer's body, unsent from body_at on */
    size_t body_at;
    bool is_answer_over; /* h1: the whole answer is in out and body */
    bool is_chunking, keeps_alive;
    size_t ignored_len; /* h1: bytes dropped of a refused request's body */

    struct sf_h2_session *h2;

    struct sf_buf wire; /* being written to the socket, from wire_at on */
    size_t wire_at;
    int64_t begin_ns, read_ns, write_ns; /* monotonic: accepted, last read, last write progress */
    size_t answers_len;                  /* bytes of answers for this peer that are not sent */
    int64_t answers_ns;                  /* when that last decreased */
    unsigned n_requests;
    bool is_reading, is_writing;
    bool is_surplus;   /* over the limit of connections: only gets an error response */
    bool is_paused;    /* reading paused: the body budget is exceeded */
    bool is_full;      /* reading paused: the peer does not read our answers, or pipelines too
                        * much */
    bool is_eof;       /* the peer will send no more */
    bool wants_close;  /* at the end of the callback */
    bool closes_after; /* close when all is sent */
    bool is_lingering; /* all is sent; waits until the peer has received it */
    bool is_closing;
    bool is_touched; /* in the loop's list of connections to advance */
    bool is_active;  /* a callback of it is running */
};

/* Takes over the connection that this listening socket has accepted. */
void sf_conn_accept(struct sf_loop_acceptor *acceptor);
/* Writes, reads or stops reading, closes if necessary. Called at the end of every callback. */
void sf_conn_advance(struct sf_conn *c);
void sf_conn_close(struct sf_conn *c);
/* Whether an answer of that length may be queued. When unsent answers have reached their limit,
 * clients with unread answers get no more; at twice the limit, no client gets a long one. */
bool sf_conn_may_answer(struct sf_conn *c, size_t body_len);
void sf_conn_tick(struct sf_conn *c); /* timeouts */
void sf_conn_drain(struct sf_conn *c, bool is_final);
void sf_conn_timed_out(struct sf_conn *c, const char *what); /* counts the timeout, and closes */

/* HTTP/1.1 */
void sf_conn_h1_begin(struct sf_conn *c);
void sf_conn_h1_input(struct sf_conn *c, sf_bytes in);
/* Memory into which the next bytes can be read directly; NULL: none. */
uint8_t *sf_conn_h1_room(struct sf_conn *c, size_t *out_len);
void sf_conn_h1_eof(struct sf_conn *c);
void sf_conn_h1_fill(struct sf_conn *c, struct sf_buf *out, size_t max);
bool sf_conn_h1_has_output(const struct sf_conn *c);
void sf_conn_h1_answer(struct sf_conn *c, struct sf_exchange *ex); /* the answer is finished, or has
                                                                    * more streamed data */
void sf_conn_h1_tick(struct sf_conn *c);
/* Answers without an exchange and closes afterwards. */
void sf_conn_h1_refuse(struct sf_conn *c, int status, const char *reason, unsigned retry_after_s);
void sf_conn_h1_done(struct sf_conn *c);

/* HTTP/2 */
bool sf_conn_h2_begin(struct sf_conn *c);
void sf_conn_h2_input(struct sf_conn *c, sf_bytes in);
void sf_conn_h2_answer(struct sf_conn *c, struct sf_exchange *ex);
void sf_conn_h2_tick(struct sf_conn *c);
void sf_conn_h2_unwithhold(struct sf_conn *c);        /* the budget has space again: opens
                                                       * flow-control windows */
bool sf_conn_h2_has_partial(const struct sf_conn *c); /* a body was begun and is not complete */

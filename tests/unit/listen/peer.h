/* peer.h - both ends of a listener for its tests: a small application behind it, and clients that
 * can misbehave. Clients block, with a time limit on everything. */
#pragma once
#include <stdatomic.h>

#include "listen/listener.h"
#include "os/clock.h"
#include "os/thread.h"

/* The application: /echo answers at once; /later from another thread; /hold waits for
 * peer_release(); /refuse is refused at its headers; /big?BYTES; /stream?PIECES; /busy. */
struct peer_server {
    struct sf_listener *listener;
    uint16_t port;
    struct sf_mutex mutex; /* guards the list and counts below */
    struct sf_condvar changed;
    struct sf_exchange *held[64];
    unsigned n_held;
    unsigned n_threads;
    atomic_uint n_requests, n_faults, n_spooled, n_cancelled;
    char fault[128]; /* the last one; guarded by mutex */
};

void peer_start(struct peer_server *s, const struct sf_listen_limits *limits,
                const struct sf_listen_tls *tls);
void peer_start_with(struct peer_server *s, struct sf_listen_config *config);
void peer_stop(struct peer_server *s); /* drains at once */
void peer_wait_held(struct peer_server *s, unsigned n);
void peer_release(struct peer_server *s); /* answers all that are held with "released" */
struct sf_listen_stats peer_stats(struct peer_server *s);
/* Waits until the condition on stats holds; fails the test after five seconds. */
#define peer_wait_stats(s, st, condition)                  \
    do {                                                   \
        struct sf_listen_stats st = peer_stats(s);         \
        int peer_left = 500;                               \
        while (!(condition) && peer_left--) {              \
            sf_clock_sleep_ms(10);                         \
            st = peer_stats(s);                            \
        }                                                  \
        if (!(condition))                                  \
            fail_msg("never became true: %s", #condition); \
    } while (0)

/* --- HTTP/1.1 --- */
int peer_connect(uint16_t port);
void peer_send(int fd, sf_str bytes);
bool peer_try_send(int fd, const void *p, size_t len); /* false: the other side is gone */
struct peer_answer {
    int status; /* 0: the connection ended without one */
    struct sf_buf head, body;
    bool closes;
};
/* Reads one answer; bytes of the next stay in `left`. */
void peer_read_answer(int fd, struct sf_buf *left, struct peer_answer *out, bool is_head);
/* Reads one answer and holds it to this. `body` NULL: any. */
void peer_expect(int fd, struct sf_buf *left, int status, const char *body);
void peer_answer_done(struct peer_answer *a);
bool peer_is_closed(int fd, unsigned timeout_ms); /* waits for EOF or reset, dropping bytes */
/* One request on a connection of its own; the status. */
int peer_ask(uint16_t port, const char *method, const char *path, sf_str body);

/* --- HTTP/2, well-behaved --- */
struct peer_h2;
struct peer_h2_answer {
    int status, grpc_status; /* -1: none */
    char grpc_message[200], accept_encoding[64], retry_after[16];
    bool has_details;
    struct sf_buf body;
    bool is_over;
    uint32_t code; /* of the reset, if any */
    bool is_reset;
    unsigned n_continue;
};
struct peer_h2 *peer_h2_new(int fd);
void peer_h2_free(struct peer_h2 *h); /* closes fd */
/* Submits; `body` must live until the answer is over. Extra header may be NULL. */
int32_t peer_h2_submit(struct peer_h2 *h, const char *method, const char *path, const char *type,
                       const char *extra_name, const char *extra_val, sf_bytes body);
/* Runs until that stream is over, or two seconds; NULL: it is not. */
struct peer_h2_answer *peer_h2_wait(struct peer_h2 *h, int32_t stream);
bool peer_h2_run(struct peer_h2 *h, unsigned ms); /* false: the connection is gone */
uint32_t peer_h2_goaway(const struct peer_h2 *h); /* its code; UINT32_MAX: none came */
void peer_h2_cancel(struct peer_h2 *h, int32_t stream);
/* Messages framed for gRPC, flag byte as given. */
void peer_grpc_frame(struct sf_buf *out, uint8_t flag, sf_str message);

/* --- HTTP/2, by hand --- */
bool peer_raw_frame(int fd, uint8_t type, uint8_t flags, uint32_t stream, const void *p,
                    size_t len);
int peer_raw_h2(uint16_t port); /* connected, preface and settings sent */
/* Reads until GOAWAY (its code) or the end (UINT32_MAX). */
uint32_t peer_raw_goaway(int fd, unsigned timeout_ms);

size_t peer_rss_len(void); /* resident memory of this process */

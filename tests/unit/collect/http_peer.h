/* http_peer.h - a server that answers what the test tells it to, on a free port of loopback. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/buf.h"

enum { HTTP_PEER_ANSWERS = 64, HTTP_PEER_CONNECTIONS = 16 };

struct http_peer {
    uint16_t port;
    int listener;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t came;
    const char
        *answers[HTTP_PEER_ANSWERS]; /* the nth request gets the nth; NULL: 200; "": hang up */
    unsigned n_requests, n_connections;
    int fds[HTTP_PEER_CONNECTIONS];
    pthread_t threads[HTTP_PEER_CONNECTIONS];
    struct sf_buf head, body; /* of the newest request */
    atomic_bool is_over;
};

#define HTTP_PEER_OK "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

void http_peer_start(struct http_peer *p);
void http_peer_stop(struct http_peer *p);
/* Waits until that many requests came, at most 30 s; false: they did not. */
int http_peer_wait(struct http_peer *p, unsigned n_requests);

/* peer.h - a TCP connection whose descriptor the program may close.
 *
 * Daemons close every descriptor they do not know and open files of their own under the same
 * numbers. A peer therefore remembers which socket it opened and checks it before each use; when
 * the number now refers to another file, it is forgotten, not closed. Every call has a deadline
 * (monotonic ns); nothing blocks past it. Each is used by one thread of the library only. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"
#include "collect/sys/peer_tls.h"

struct sf_peer { /* SF_PEER_NONE is closed */
    int fd;
    dev_t dev;
    ino_t ino;
    struct sf_peer_tls *tls; /* NULL: plain */
};
#define SF_PEER_NONE ((struct sf_peer){.fd = -1})

/* Connects to host:port; host is a name or an address without brackets. IO or DEADLINE. */
enum sf_err sf_peer_open(struct sf_peer *p, const char *host, uint16_t port, int64_t deadline_ns,
                         struct sf_why *why);
/* Starts TLS; the connection is closed on failure. IO, DEADLINE, or the error of
 * sf_peer_tls_open. */
enum sf_err sf_peer_secure(struct sf_peer *p, const char *host, const char *protocol,
                           const struct sf_tls_files *files, int64_t deadline_ns,
                           struct sf_why *why);
void sf_peer_close(struct sf_peer *p); /* a closed one is fine; a reused descriptor is not
                                        * touched */
bool sf_peer_is_ours(
    const struct sf_peer *p); /* false: closed, or the descriptor is another file */
enum sf_err sf_peer_write(struct sf_peer *p, sf_bytes bytes, int64_t deadline_ns,
                          struct sf_why *why);
/* In a forked child: closes the child's copy of the parent's connection. */
void sf_peer_leave(struct sf_peer *p);
/* Reads at least one byte; *out_len 0: end of the stream. */
enum sf_err sf_peer_read(struct sf_peer *p, void *to, size_t cap, int64_t deadline_ns,
                         size_t *out_len, struct sf_why *why);
/* Data or the end of the stream can be read: an idle connection must not be reused then. */
bool sf_peer_is_stale(const struct sf_peer *p);

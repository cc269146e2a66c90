/* peer.h - a TCP connection whose number may stop being ours.
 *
 * Daemons close every descriptor they do not know and open files of their own under the same
 * numbers. A peer therefore remembers which socket it opened and looks before each use; when the
 * number now names something else it is forgotten, not closed. Every call has a deadline (monotonic
 * ns); nothing blocks past it. For the exporter thread only. */
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
/* TLS from here on; closed when it fails. IO, DEADLINE, or what sf_peer_tls_open says. */
enum sf_err sf_peer_secure(struct sf_peer *p, const char *host, const char *protocol,
                           const struct sf_tls_files *files, int64_t deadline_ns,
                           struct sf_why *why);
void sf_peer_close(struct sf_peer *p); /* closed is fine; a number taken over is left alone */
bool sf_peer_is_ours(
    const struct sf_peer *p); /* false: closed, or the number names another thing */
enum sf_err sf_peer_write(struct sf_peer *p, sf_bytes bytes, int64_t deadline_ns,
                          struct sf_why *why);
/* In a forked child: the connection is the parent's. */
void sf_peer_leave(struct sf_peer *p);
/* At least one byte, or *out_len 0 at the end of the stream. */
enum sf_err sf_peer_read(struct sf_peer *p, void *to, size_t cap, int64_t deadline_ns,
                         size_t *out_len, struct sf_why *why);
/* Something waits to be read, or the other side hung up: a kept connection is not fresh any more.
 */
bool sf_peer_is_stale(const struct sf_peer *p);

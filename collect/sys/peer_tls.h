/* peer_tls.h - TLS for the exporter's connections, through the system's OpenSSL.
 *
 * It is not linked: a program that exports over plain HTTP never loads it. For the first https
 * endpoint the exporter's thread loads libssl with local symbols, so that another version used by
 * the program does not interfere. Certificates are always checked, against the system's authorities
 * or the file the operator names. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

enum { SF_TLS_PATH_CAP = 256 };

struct sf_tls_files {
    char authorities[SF_TLS_PATH_CAP]; /* PEM file; "": the system's */
    char certificate[SF_TLS_PATH_CAP]; /* the client's certificate; "": none */
    char key[SF_TLS_PATH_CAP];
};

struct sf_peer_tls; /* opaque */

enum sf_tls_step {
    SF_TLS_DONE,
    SF_TLS_WANTS_READ,
    SF_TLS_WANTS_WRITE,
    SF_TLS_ENDED,
    SF_TLS_FAILED
};

/* Called once when the program's own use of OpenSSL ends, before its exit handlers clean it up. */
void sf_peer_tls_before_end(void (*call)(void));
void sf_peer_tls_after_fork(void); /* in the child */
/* For a connected, non-blocking socket. UNSUPPORTED: OpenSSL is not available; INPUT: a file cannot
 * be used. `protocol` is offered by ALPN: "h2", "http/1.1". */
enum sf_err sf_peer_tls_open(struct sf_peer_tls **out, int fd, const char *host,
                             const char *protocol, const struct sf_tls_files *files,
                             struct sf_why *why);
void sf_peer_tls_close(
    struct sf_peer_tls *t); /* without a TLS shutdown: the descriptor may have been reused */
/* Each tries once without waiting. DONE: *out_len bytes were sent or received, at least one.
 * FAILED: see `why`. */
enum sf_tls_step sf_peer_tls_shake_hands(struct sf_peer_tls *t, struct sf_why *why);
enum sf_tls_step sf_peer_tls_write(struct sf_peer_tls *t, sf_bytes bytes, size_t *out_len,
                                   struct sf_why *why);
enum sf_tls_step sf_peer_tls_read(struct sf_peer_tls *t, void *to, size_t cap, size_t *out_len,
                                  struct sf_why *why);

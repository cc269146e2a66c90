/* tls.h - TLS 1.2 and newer in memory: converts between ciphertext and plaintext; the caller owns
 * the sockets. Threads may share a context, but not a session. */
#pragma once
#include "base/buf.h"
#include "listen/listener.h"

struct sf_tls_context;
struct sf_tls;

/* Loads certificate, key and CA. INPUT names the file and the problem. */
enum sf_err sf_tls_context_new(const struct sf_listen_tls *files, struct sf_tls_context **out,
                               struct sf_why *why);
void sf_tls_context_free(struct sf_tls_context *c); /* NULL is fine */

struct sf_tls *sf_tls_new(struct sf_tls_context *c); /* NULL: no memory */
void sf_tls_free(struct sf_tls *t);                  /* NULL is fine */
/* Adds ciphertext from the peer. */
enum sf_err sf_tls_feed(struct sf_tls *t, sf_bytes in);
/* Returns plaintext; *out_len 0: needs more from the peer. CANCELLED: the peer closed the
 * connection. INPUT: not TLS, or refused; then send what drain() returns (the alert) and close. */
enum sf_err sf_tls_read(struct sf_tls *t, void *p, size_t len, size_t *out_len);
enum sf_err sf_tls_write(struct sf_tls *t, sf_bytes plain);
void sf_tls_goodbye(struct sf_tls *t); /* close_notify */
/* Appends ciphertext for the peer. */
void sf_tls_drain(struct sf_tls *t, struct sf_buf *out);
const char *sf_tls_reason(const struct sf_tls *t); /* why read returned INPUT */
bool sf_tls_is_ready(const struct sf_tls *t);      /* the handshake is complete */
bool sf_tls_is_h2(const struct sf_tls *t);         /* ALPN chose it */
bool sf_tls_has_client_cert(const struct sf_tls *t);

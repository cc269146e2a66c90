/* listener.h - accepts connections and reads requests: TLS, timeouts, back-pressure; uses http/.
 *
 * One listener owns `n_loops` event loops (one thread each). Every address accepts HTTP/1.1, h2c
 * with prior knowledge and gRPC, detected by the first bytes; with TLS, by ALPN. */
#pragma once
#include "listen/exchange.h"

struct sf_listener;

struct sf_listen_tls {
    const char *cert_file, *key_file; /* PEM */
    const char *client_ca_file;       /* not NULL: clients must present a certificate signed by
                                       * it */
};

struct sf_listen_address {
    const char *host;                /* "127.0.0.1", "::1", "0.0.0.0", a name; not bracketed */
    uint16_t port;                   /* 0: any free port, see sf_listener_port */
    const struct sf_listen_tls *tls; /* NULL: plain */
    bool is_optional; /* skip quietly when the address family does not exist here (::1) */
};

struct sf_listen_limits { /* 0: the default of base/limits.h */
    unsigned connections, streams;
    size_t requests; /* concurrent HTTP/2 requests of all connections; each connection may have one
                      * more */
    size_t header_len, body_len, bodies_len;
    size_t answers_len; /* of answers that are not sent yet, all connections together */
    unsigned header_timeout_ms, body_timeout_ms, idle_timeout_ms, total_timeout_ms;
};

enum sf_listen_fault {
    SF_FAULT_TIMEOUT,
    SF_FAULT_FLOOD,
    SF_FAULT_FRAMING,
    SF_FAULT_TLS,
    SF_FAULT_SURPLUS /* over the limit of connections */
};

struct sf_listen_hooks {
    /* The headers were received, the body was not. To refuse, fill the response and return false:
     * it is sent at once and the body is not read. Runs on the loop's thread: must not block. */
    bool (*on_headers)(void *arg, struct sf_exchange *ex);
    /* The request is complete. Must not block: give it to another thread or answer at once; in both
     * cases sf_exchange_finish() must be called. */
    void (*on_request)(void *arg, struct sf_exchange *ex);
    /* Errors of requests that never reached on_headers (bad framing, floods, timeouts); called on
     * any loop; may be NULL. */
    void (*on_fault)(void *arg, enum sf_listen_fault kind, const char *reason, const char *peer);
    /* Called when the listener itself refuses a request whose head was read. Status and retry-after
     * are set, the body is a line of text, which the application may format for its clients. Not
     * called for gRPC, which has trailers. Runs on the loop's thread; may be NULL. */
    void (*on_refuse)(void *arg, const struct sf_request *request, struct sf_response *response,
                      const char *reason);
    /* The maximum body length of this request; 0: limits.body_len. Runs on the loop's thread: must
     * not block. May be NULL. */
    uint64_t (*max_body)(void *arg, const struct sf_request *request);
    void *arg;
};

struct sf_listen_config {
    const struct sf_listen_address *addresses;
    size_t n_addresses;
    unsigned n_loops;
    struct sf_listen_limits limits;
    const char
        *spool_path; /* directory for bodies over SF_LIMIT_BODY_MEMORY_LEN; created by the caller */
    struct sf_listen_hooks hooks;
};

struct sf_listen_stats {
    uint64_t n_connections, n_accepted, n_refused; /* open now; since start; over the limit */
    uint64_t n_requests_h1, n_requests_h2, n_requests_grpc;
    uint64_t n_timeouts, n_floods, n_bad_framing, n_tls_failures;
    uint64_t bodies_len; /* held in memory now */
    uint64_t n_spooled;
};

/* Binds all addresses, then starts the loops. A port in use fails with BUSY and names the
 * address. */
enum sf_err sf_listener_start(const struct sf_listen_config *config, struct sf_listener **out,
                              struct sf_why *why);
uint16_t sf_listener_port(const struct sf_listener *l, size_t address); /* bound port; 0: skipped */
void sf_listener_stats(struct sf_listener *l, struct sf_listen_stats *out);
/* Graceful stop: stops accepting, informs HTTP/2 peers (GOAWAY), lets running requests finish for
 * at most `drain_ms`, then closes. Returns when all loops have ended. */
void sf_listener_drain(struct sf_listener *l, unsigned drain_ms);
void sf_listener_free(struct sf_listener *l); /* after drain; NULL is fine */

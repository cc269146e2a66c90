/* peer.h - one connection to an OTLP server, over HTTP/1.1 or gRPC, blocking: a loader has a thread
 * per connection. Sends one request at a time and checks its acknowledgement. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct peer;

struct peer_config {
    const char *host;
    uint16_t port;
    const char *path; /* HTTP: "/v1/traces"; gRPC: the method */
    bool is_grpc, is_gzip, is_zstd, is_json;
    const char *token; /* bearer; may be NULL */
};

struct peer_answer {
    int status; /* HTTP status; for gRPC 200 when grpc-status is 0, else 1000 + grpc-status */
    uint64_t n_rejected; /* of partial_success */
    char message[160];
    bool is_last; /* the server closes this connection */
};

enum sf_err peer_open(const struct peer_config *config, struct peer **out, struct sf_why *why);
void peer_close(struct peer *p); /* NULL is fine */
/* `body` is the message, already compressed when the configuration says so. */
enum sf_err peer_send(struct peer *p, sf_bytes body, struct peer_answer *out, struct sf_why *why);

/* The two protocols; peer.c chooses. */
struct peer_ops {
    enum sf_err (*begin)(struct peer *p, struct sf_why *why);
    enum sf_err (*send)(struct peer *p, sf_bytes body, struct peer_answer *out, struct sf_why *why);
    void (*end)(struct peer *p);
};
extern const struct peer_ops peer_http, peer_grpc;

struct peer {
    struct peer_config config;
    const struct peer_ops *ops;
    int fd;
    struct sf_buf in;  /* bytes received */
    struct sf_buf out; /* bytes to send */
    void *state;       /* the protocol's own */
};

enum sf_err peer_write(struct peer *p, const void *data, size_t len, struct sf_why *why);
enum sf_err peer_read(struct peer *p, struct sf_why *why); /* more bytes into `in`; IO at the end */
/* partial_success of an ExportTraceServiceResponse. */
void peer_read_partial(sf_bytes message, struct peer_answer *out);

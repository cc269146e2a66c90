/* request.h - a request and an answer, independent of the protocol.
 *
 * HTTP/1.1, HTTP/2 and gRPC all arrive as a struct sf_request and leave as a struct sf_response;
 * only the framing differs. Views borrow from the exchange that owns the request. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"

struct sf_header {
    sf_str name; /* lower case */
    sf_str val;  /* trimmed */
};

enum sf_method {
    SF_METHOD_GET,
    SF_METHOD_HEAD,
    SF_METHOD_POST,
    SF_METHOD_PUT,
    SF_METHOD_DELETE,
    SF_METHOD_OPTIONS,
    SF_METHOD_PATCH,
    SF_METHOD_OTHER
};

enum sf_coding {
    SF_CODING_NONE,
    SF_CODING_GZIP,
    SF_CODING_ZSTD,
    SF_CODING_DEFLATE,
    SF_CODING_OTHER
};

struct sf_request {
    enum sf_method method;
    sf_str method_name;
    sf_str path;  /* percent-decoded, starts with '/' */
    sf_str query; /* raw, without '?' */
    sf_str authority;
    const struct sf_header *headers;
    uint32_t n_headers;
    sf_str content_type;   /* without parameters, as sent; empty when absent */
    enum sf_coding coding; /* of the body (content-encoding; for gRPC grpc-encoding) */
    bool is_h2, is_grpc, is_tls;
    bool has_client_cert; /* TLS verified a client certificate against our CA */
    bool wants_gzip;      /* accept-encoding allows gzip answers */
    int64_t recv_ns;      /* unix time when its headers were complete */
    int64_t deadline_ns;  /* monotonic; from grpc-timeout or the total timeout */
    uint16_t port;        /* local port that the client connected to; 0: unknown */
    char peer[64];        /* "127.0.0.1:50312", for logs and process keys */
};

/* The first header of that (lower-case) name; empty when there is none. */
sf_str sf_request_header(const struct sf_request *r, sf_str name);
/* Percent- and plus-decodes and appends to `out`; false: an invalid escape, or it is full. */
bool sf_request_decode(sf_str in, struct sf_buf *out);
/* Percent-encodes a parameter: all but letters, digits and "-_.~". */
void sf_request_encode(sf_str in, struct sf_buf *out);
/* The first query parameter of that name, percent- and plus-decoded into `out` (reset first). False
 * when it is missing; invalid escapes count as missing. */
bool sf_request_param(const struct sf_request *r, sf_str name, struct sf_buf *out);
/* Returns the pairs one by one, decoded; `rest` is initially the request's query. Pairs with an
 * invalid escape are skipped. False at the end. */
bool sf_request_param_next(sf_str *rest, struct sf_buf *name, struct sf_buf *val);

enum sf_grpc_status {
    SF_GRPC_OK = 0,
    SF_GRPC_CANCELLED = 1,
    SF_GRPC_UNKNOWN = 2,
    SF_GRPC_INVALID_ARGUMENT = 3,
    SF_GRPC_DEADLINE_EXCEEDED = 4,
    SF_GRPC_NOT_FOUND = 5,
    SF_GRPC_PERMISSION_DENIED = 7,
    SF_GRPC_RESOURCE_EXHAUSTED = 8,
    SF_GRPC_UNIMPLEMENTED = 12,
    SF_GRPC_INTERNAL = 13,
    SF_GRPC_UNAVAILABLE = 14,
    SF_GRPC_UNAUTHENTICATED = 16
};

enum { SF_RESPONSE_HEADERS_MAX = 12 };

struct sf_response {
    int status;               /* HTTP status; gRPC answers have 200 and the actual status in
                               * grpc_status */
    const char *content_type; /* constant text; NULL: none */
    struct sf_header
        headers[SF_RESPONSE_HEADERS_MAX]; /* additional headers; views into `text` or constants */
    uint32_t n_headers;
    struct sf_buf body;     /* HTTP: the body; gRPC: one message, unframed. Owned. */
    struct sf_buf text;     /* memory of header values made for this answer. Owned. */
    int grpc_status;        /* enum sf_grpc_status */
    char grpc_message[240]; /* terminated; percent-encoded when sent */
    struct sf_buf
        grpc_details; /* google.rpc.Status, sent as grpc-status-details-bin; may be empty. Owned. */
    unsigned retry_after_s; /* >0: Retry-After, and RetryInfo in gRPC details */
    bool is_uncompressible; /* never gzip this body */
    bool is_broken;         /* streamed, and incomplete: the peer must not treat it as complete */
    bool is_framed;         /* gRPC: the body is any number of messages, each with its prefix */
};

void sf_response_done(struct sf_response *r); /* a zeroed one is fine */
void sf_response_reset(struct sf_response *r);
/* Adds a header; the value is copied. False: too many, or no memory; it is dropped. */
bool sf_response_header(struct sf_response *r, const char *constant_name, sf_str val);

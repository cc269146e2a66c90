/* endpoint.h - where to send: the configured URL, parsed and checked once. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "collect/sys/peer.h"

enum { SF_ENDPOINT_HOST_CAP = 256, SF_ENDPOINT_PATH_CAP = 512 };

struct sf_endpoint {
    char host[SF_ENDPOINT_HOST_CAP]; /* without brackets */
    char path[SF_ENDPOINT_PATH_CAP]; /* begins with '/' */
    uint16_t port;
    bool is_tls;
    bool is_v6; /* the host is written in brackets */
    struct sf_tls_files files;
};

/* "http://host:4318/v1/traces", "https://host", "[::1]:4317"; without a scheme it is http. `port`
 * is the default; `append` ("" or "/v1/traces") is added to the path. INPUT: not a usable URL;
 * `why` says which part. */
enum sf_err sf_endpoint_parse(sf_str url, uint16_t port, sf_str append, struct sf_endpoint *out,
                              struct sf_why *why);
/* Opens a connection to it, with TLS for https; `protocol` is offered by ALPN. */
enum sf_err sf_endpoint_connect(const struct sf_endpoint *to, const char *protocol,
                                struct sf_peer *peer, int64_t deadline_ns, struct sf_why *why);

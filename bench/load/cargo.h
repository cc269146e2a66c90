/* cargo.h - what a loader sends: traces, or profiles as pprof or OTLP. One per connection, one
 * thread. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct cargo;

struct cargo_config {
    bool is_profiles, is_pprof, is_grpc, is_gzip, is_zstd, is_json;
    uint32_t n_items;    /* spans, or samples, of a request */
    uint32_t n_types;    /* values of a pprof's sample */
    uint32_t own_frames; /* of a stack, shared with no other; 0: as many as is usual */
    uint64_t seed, number;
};

struct cargo_item {
    sf_bytes body;
    const char *path; /* HTTP: path and query; gRPC: the method. Until the next one. */
};

enum sf_err cargo_new(const struct cargo_config *config, struct cargo **out, struct sf_why *why);
void cargo_free(struct cargo *c); /* NULL is fine */
enum sf_err cargo_next(struct cargo *c, struct cargo_item *out, struct sf_why *why);

/* retry.h - retry delays: pauses that double from one second to thirty, half of each random so that
 * many programs do not retry at once, for five minutes. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct sf_retry {
    int64_t begin_ns;
    uint32_t n;
    uint32_t after_s; /* delay requested by the server; 0: none */
};

void sf_retry_begin(struct sf_retry *r, int64_t now_ns);
/* False: enough. */
bool sf_retry_next(struct sf_retry *r, int64_t now_ns, int64_t *out_pause_ns);
bool sf_retry_is_status(int status); /* those that OTLP defines as retryable */

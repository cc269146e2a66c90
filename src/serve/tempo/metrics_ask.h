/* metrics_ask.h - reads a metrics query from query parameters or a message. */
#pragma once
#include "base/buf.h"
#include "exec/metrics_window.h"
#include "http/request.h"

struct sf_metrics_params {
    struct sf_buf query; /* owned */
    struct sf_metrics_window window;
    uint64_t n_exemplars; /* 0: the default */
    uint64_t max_series;  /* 0: the server's */
    uint64_t n_unknown;   /* unknown fields of the message */
};

/* Fails with INPUT. The caller frees `out` in any case. */
enum sf_err sf_metrics_ask_params(const struct sf_request *r, bool is_instant,
                                  struct sf_metrics_params *out, struct sf_why *why);
/* Reads a QueryRangeRequest or QueryInstantRequest, whose times are nanoseconds. */
enum sf_err sf_metrics_ask_message(sf_bytes message, bool is_instant, struct sf_metrics_params *out,
                                   struct sf_why *why);
void sf_metrics_ask_done(struct sf_metrics_params *a);

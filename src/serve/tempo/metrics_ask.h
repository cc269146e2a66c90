/* metrics_ask.h - what a metrics query requests, out of query parameters or a message. */
#pragma once
#include "base/buf.h"
#include "exec/metrics_window.h"
#include "http/request.h"

struct sf_metrics_params {
    struct sf_buf query; /* owned */
    struct sf_metrics_window window;
    uint64_t n_exemplars; /* 0: the default */
    uint64_t max_series;  /* 0: the server's */
    uint64_t n_unknown;   /* fields of the message that are not known here */
};

/* INPUT with a sentence. Either way `out` has to be emptied. */
enum sf_err sf_metrics_ask_params(const struct sf_request *r, bool is_instant,
                                  struct sf_metrics_params *out, struct sf_why *why);
/* QueryRangeRequest or QueryInstantRequest: times are nanoseconds there. */
enum sf_err sf_metrics_ask_message(sf_bytes message, bool is_instant, struct sf_metrics_params *out,
                                   struct sf_why *why);
void sf_metrics_ask_done(struct sf_metrics_params *a);

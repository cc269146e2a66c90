/* search_ask.h - reads a search from query parameters or a SearchRequest. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "http/request.h"

struct sf_search_ask {
    struct sf_buf query; /* TraceQL; owned */
    uint64_t limit, spans_per_set;
    int64_t from_ns, to_ns; /* 0 and 0: all time */
    uint64_t n_unknown;     /* unknown fields of the message */
};

/* Fails with INPUT, worded as Tempo does. The caller frees `out` in any case. */
enum sf_err sf_search_ask_params(const struct sf_request *r, struct sf_search_ask *out,
                                 struct sf_why *why);
enum sf_err sf_search_ask_message(sf_bytes message, struct sf_search_ask *out, struct sf_why *why);
void sf_search_ask_done(struct sf_search_ask *a);

/* jaeger_ask.h - translates a search of Jaeger's API into TraceQL.
 *
 * In Jaeger one span must match service, operation, duration and all tags, and tags are compared as
 * text: http.status_code=200 also matches a number. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "http/request.h"
#include "model/ids.h"

enum { SF_JAEGER_IDS_MAX = 100 };

struct sf_jaeger_ask {
    struct sf_buf query; /* owned */
    int64_t from_ns, to_ns;
    uint64_t limit;
    sf_trace_id ids[SF_JAEGER_IDS_MAX]; /* ids of requested traces; if there are any, all other
                                         * conditions are ignored */
    uint32_t n_ids;
};

/* Parameters of GET /api/traces; `is_v3`: of GET /api/v3/traces. Fails with INPUT; the caller frees
 * `out` in any case. */
enum sf_err sf_jaeger_ask_params(const struct sf_request *r, bool is_v3, struct sf_arena *req,
                                 struct sf_jaeger_ask *out, struct sf_why *why);
void sf_jaeger_ask_done(struct sf_jaeger_ask *a);

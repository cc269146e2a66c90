/* jaeger_ask.h - what Jaeger's clients ask for, written as TraceQL.
 *
 * Jaeger wants one span that has service, operation, duration and all tags, and compares tags as
 * text: http.status_code=200 finds a number too. */
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
    sf_trace_id
        ids[SF_JAEGER_IDS_MAX]; /* traces requested by their ids: then nothing else counts */
    uint32_t n_ids;
};

/* Parameters of GET /api/traces; `is_v3`: of GET /api/v3/traces. INPUT. Either way `out` has to be
 * emptied. */
enum sf_err sf_jaeger_ask_params(const struct sf_request *r, bool is_v3, struct sf_arena *req,
                                 struct sf_jaeger_ask *out, struct sf_why *why);
void sf_jaeger_ask_done(struct sf_jaeger_ask *a);

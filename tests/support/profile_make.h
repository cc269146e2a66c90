/* profile_make.h - realistic profile batches for tests and benches, the same for the same seed.
 *
 * Services with a few hundred to a few thousand stacks each, depth 30 to 60, that share their upper
 * frames; CPU values in steps of 10 ms; some samples tagged with spans, threads and times. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "model/profile.h"

struct sf_profile_make {
    uint64_t rng;
    int64_t now_ns;        /* of the next profile; the test moves it */
    uint32_t n_services;   /* 0: 3 */
    uint32_t n_stacks;     /* a service's; 0: 200 */
    uint32_t span_percent; /* of samples that carry ids, a thread and a time */
    uint32_t n_spans;      /* a service's span ids come from so many; 0: 50 */
    bool has_lent;         /* some ids are lent */
    bool is_odd;           /* what sane programs do not send: empty names, wild numbers */
};

/* One profile of one service with up to `n_samples` samples, in `req`. Aborts when that is full. */
void sf_profile_make_one(struct sf_profile_make *m, uint32_t service, uint32_t n_samples,
                         struct sf_arena *req, struct sf_profile_batch *out);
/* Same content in the same order; otherwise `what` says the first difference. */
bool sf_profile_make_is_same(const struct sf_profile_batch *a, const struct sf_profile_batch *b,
                             char what[160]);
uint64_t sf_profile_make_below(struct sf_profile_make *m, uint64_t n);
/* The span id that a service's samples use as number `i`, and its trace. */
sf_span_id sf_profile_make_span(uint32_t service, uint32_t i);
sf_trace_id sf_profile_make_trace(uint32_t service, uint32_t i);

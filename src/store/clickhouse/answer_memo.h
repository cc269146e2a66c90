/* answer_memo.h - a cache of shard answers for requests in progress, so that a query that one
 * request needs twice is sent to its shard once.
 *
 * A request is identified by the nanosecond at which it began (sf_query_ctx), so requests do not
 * see each other's answers unless they began in the same nanosecond. Only complete and small
 * answers are cached, and only for a short time. Thread-safe. */
#pragma once
#include "base/buf.h"
#include "base/str.h"
#include "os/thread.h"

struct sf_answer_memo {
    struct sf_mutex lock; /* guards the list; a leaf lock */
    struct sf_memo_entry *list;
    uint32_t n, next; /* where the next entry is stored */
};

void sf_answer_memo_init(struct sf_answer_memo *m);
void sf_answer_memo_done(struct sf_answer_memo *m);

/* Adds the cached answer to `out`, which may be NULL; false: not cached. `begun_ns` 0: no request,
 * never cached. */
bool sf_answer_memo_get(struct sf_answer_memo *m, int64_t begun_ns, uint32_t shard, sf_str question,
                        struct sf_buf *out);
void sf_answer_memo_put(struct sf_answer_memo *m, int64_t begun_ns, uint32_t shard, sf_str question,
                        sf_bytes answer);

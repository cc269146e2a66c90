/* answer_memo.h - answers of shards to the request in hand, so that a query that is asked twice
 * for one request goes to its shard once.
 *
 * A request is known by the moment at which it began (sf_query_ctx), so no request sees another's
 * answers but one that began in the same nanosecond. Only whole answers are kept, none that is
 * large, and none for long. Any thread. */
#pragma once
#include "base/buf.h"
#include "base/str.h"
#include "os/thread.h"

struct sf_answer_memo {
    struct sf_mutex lock; /* guards the list; takes nothing */
    struct sf_memo_entry *list;
    uint32_t n, next; /* where the next one goes */
};

void sf_answer_memo_init(struct sf_answer_memo *m);
void sf_answer_memo_done(struct sf_answer_memo *m);

/* Adds the answer to `out`; false: it is not known. `begun_ns` 0: of no request. */
bool sf_answer_memo_get(struct sf_answer_memo *m, int64_t begun_ns, uint32_t shard, sf_str question,
                        struct sf_buf *out);
void sf_answer_memo_put(struct sf_answer_memo *m, int64_t begun_ns, uint32_t shard, sf_str question,
                        sf_bytes answer);

/* account.h - counts and limits the memory of the current query.
 *
 * A thread that answers queries opens an account. From then on, its allocations from base/heap.h
 * and the memory that its arenas touch are counted. Queries share a small pool; one at a time, the
 * one that has the turn, may hold more. When a query would exceed its limit, the allocation returns
 * NULL as if there were no memory, and `is_put_off` or `is_over` has the reason. All later
 * allocations are refused as well, so that the query ends soon. Threads without an account are not
 * counted.
 *
 * A query whose time is over is ended the same way, also between two reads of the store: loops over
 * rows report progress (`sf_account_goes_on`), which checks from time to time whether the query
 * must end. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { SF_ACCOUNT_SPARE_LEN = 4 << 20 };

struct sf_account_pool {            /* any thread */
    atomic_size_t used, large_used; /* by queries without the turn; by the query that has it */
    size_t cap;                     /* of all queries without the turn */
    size_t query_cap;               /* of one query without the turn */
    size_t sum_cap; /* including the query with the turn: while that holds much, the others may hold
                     * less */
};

struct sf_account {
    struct sf_account_pool *pool;
    size_t large_cap; /* of the query with the turn; grows when memory is unused, up to most_cap */
    size_t most_cap;
    size_t own_cap; /* of this query, with or without the turn; 0: no further limit */
    /* take_turn tries to get the turn; take_spare raises `large_cap` by `len`, a multiple of
     * SF_ACCOUNT_SPARE_LEN. Both may be NULL: not possible. They must neither wait nor allocate. */
    bool (*take_turn)(void *arg);
    bool (*take_spare)(void *arg, size_t len);
    /* Whether the time is over or the client has disconnected. NULL: never. */
    bool (*is_ended)(void *arg);
    void *arg;
    bool is_large;   /* it has the turn */
    bool is_put_off; /* refused because others hold the memory: a retry may fit */
    bool is_over;    /* refused because it would never fit */
    bool is_late;    /* ended: `is_ended` returned true */
    size_t held, most, pooled;
    size_t refused; /* what it would have held when it was refused */
    size_t n_steps; /* since the last call of `is_ended` */
};

/* Opens the account of the calling thread; what it already holds is `held`. */
void sf_account_open(struct sf_account *a);
void sf_account_close(void); /* without an open account: does nothing */
bool sf_account_is_open(void);
/* For data shared by all queries: nothing is counted until resume. */
struct sf_account *sf_account_pause(void);
void sf_account_resume(struct sf_account *paused); /* NULL: none was open */
bool sf_account_has_refused(void); /* NULL may mean a refusal rather than damaged data */
/* For loops that are long or call each other: `n_steps` more rows, nodes or pairs were examined.
 * False: the query was cancelled and its result is discarded; the caller leaves the loop. */
bool sf_account_goes_on(size_t n_steps);
/* The answer is being sent: from now on the query's time limit does not apply. */
void sf_account_stop_clock(void);

/* For base/heap.c and base/arena.c. False: the allocation is refused. */
bool sf_account_take(size_t len);
void sf_account_give(size_t len);

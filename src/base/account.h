/* account.h - what the query at hand holds in memory, and how much it may.
 *
 * A thread that answers queries opens an account. From then on it is counted what this thread takes
 * from base/heap.h and what its arenas touch. Queries share a small sum; one at a time may hold
 * more, when it gets the turn. A query that would exceed its limit gets NULL, as if there were no
 * memory: `is_put_off` or `is_over` has the reason. All later requests are refused as well, so that
 * the query ends soon. Threads without an account are not counted.
 *
 * The same ends a query whose time is up between two reads of the store: loops over rows report
 * progress (`sf_account_goes_on`), which checks from time to time whether the query must end. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { SF_ACCOUNT_SPARE_LEN = 4 << 20 };

struct sf_account_pool {            /* any thread */
    atomic_size_t used, large_used; /* by queries without the turn; by the one that has it */
    size_t cap;                     /* of all without the turn */
    size_t query_cap;               /* of one of them */
    size_t sum_cap; /* with the large one: while that holds much, others hold less */
};

struct sf_account {
    struct sf_account_pool *pool;
    size_t large_cap; /* of the query that has the turn; grows with what is spare, up to: */
    size_t most_cap;
    size_t own_cap; /* of this one, with or without the turn; 0: none beside those above */
    /* Asks for the turn; then for SF_ACCOUNT_SPARE_LEN more than `large_cap`. Both may be NULL:
     * there is none. They must neither wait nor take memory. */
    bool (*take_turn)(void *arg);
    bool (*take_spare)(void *arg);
    /* Is the time up, or did the caller go away? May be NULL: neither. */
    bool (*is_ended)(void *arg);
    void *arg;
    bool is_large;   /* it has the turn */
    bool is_put_off; /* it was refused because others hold the memory: later it may fit */
    bool is_over;    /* it was refused because it would never fit */
    bool is_late;    /* it was ended: `is_ended` returned true */
    size_t held, most, pooled;
    size_t refused; /* what it would have held when it was */
    size_t n_steps; /* since `is_ended` was asked */
};

/* Of the calling thread, until it is closed; what it holds already is `held`. */
void sf_account_open(struct sf_account *a);
void sf_account_close(void); /* none open is fine */
bool sf_account_is_open(void);
/* For data shared by all queries: nothing is counted until it is resumed. */
struct sf_account *sf_account_pause(void);
void sf_account_resume(struct sf_account *paused); /* NULL: none was open */
bool sf_account_has_refused(void); /* NULL may mean that, and not that data are wrong */
/* For loops that are long or call each other: `n_steps` more rows, nodes or pairs were examined.
 * False: the query was cancelled and its result is discarded; the caller leaves the loop. */
bool sf_account_goes_on(size_t n_steps);
/* The answer is being sent: from now on only its reader's pace counts. */
void sf_account_stop_clock(void);

/* For base/heap.c and base/arena.c. False: refused. */
bool sf_account_take(size_t len);
void sf_account_give(size_t len);

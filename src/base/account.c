#include "base/account.h"

enum {
    STEP_LEN = 256 << 10, /* amount taken from the pool at a time */
    FREE_LEN = 1 << 20,   /* for each query, not counted in the pool */
    ASK_STEPS = 1 << 16,  /* steps between two checks for cancellation, about a millisecond */
    TAKE_STEPS = 256      /* steps that one allocation counts as */
};

static _Thread_local struct sf_account *now;

void sf_account_open(struct sf_account *a)
{
    now = a;
}

static void leave_pool(struct sf_account *a)
{
    atomic_fetch_sub_explicit(a->is_large ? &a->pool->large_used : &a->pool->used, a->pooled,
                              memory_order_relaxed);
    a->pooled = 0;
}

void sf_account_close(void)
{
    if (now)
        leave_pool(now);
    now = NULL;
}

struct sf_account *sf_account_pause(void)
{
    struct sf_account *paused = now;
    now = NULL;
    return paused;
}

void sf_account_resume(struct sf_account *paused)
{
    now = paused;
}

bool sf_account_is_open(void)
{
    return now != NULL;
}

bool sf_account_has_refused(void)
{
    return now && (now->is_put_off || now->is_over || now->is_late);
}

bool sf_account_goes_on(size_t n_steps)
{
    struct sf_account *a = now;
    if (!a)
        return true;
    a->n_steps += n_steps < ASK_STEPS ? n_steps : ASK_STEPS;
    if (a->n_steps >= ASK_STEPS) {
        a->n_steps = 0;
        a->is_late = a->is_late || (a->is_ended && a->is_ended(a->arg));
    }
    return !a->is_put_off && !a->is_over && !a->is_late;
}

void sf_account_stop_clock(void)
{
    if (now)
        now->is_ended = NULL;
}

static size_t more_of(const struct sf_account *a, size_t held)
{
    size_t want = held > FREE_LEN ? (held - FREE_LEN + STEP_LEN - 1) / STEP_LEN * STEP_LEN : 0;
    return want > a->pooled ? want - a->pooled : 0;
}

static bool fits_pool(struct sf_account *a, size_t held)
{
    struct sf_account_pool *pool = a->pool;
    size_t more = more_of(a, held), used;
    if (held > pool->query_cap)
        return false;
    if (!more)
        return true;
    used = atomic_fetch_add_explicit(&pool->used, more, memory_order_relaxed) + more;
    if (used > pool->cap ||
        used + atomic_load_explicit(&pool->large_used, memory_order_relaxed) > pool->sum_cap) {
        atomic_fetch_sub_explicit(&pool->used, more, memory_order_relaxed);
        return false;
    }
    a->pooled += more;
    return true;
}

static bool account_take_turn(struct sf_account *a)
{
    if (!a->take_turn || !a->take_turn(a->arg))
        return false;
    leave_pool(a);
    a->is_large = true;
    return true;
}

static void account_take_spare(struct sf_account *a, size_t held)
{
    size_t more = held > a->large_cap ? held - a->large_cap : 0;
    a->is_over = more && held > a->most_cap;
    if (!more || a->is_over)
        return;
    /* All at once: asked piece by piece, the same unused memory would be granted for each piece of
     * a large allocation, because none is resident yet. */
    more = (more + SF_ACCOUNT_SPARE_LEN - 1) / SF_ACCOUNT_SPARE_LEN * SF_ACCOUNT_SPARE_LEN;
    a->is_put_off = !a->take_spare || !a->take_spare(a->arg, more);
    a->large_cap += a->is_put_off ? 0 : more;
}

static bool account_may_hold(struct sf_account *a, size_t held)
{
    size_t more;
    a->is_over = a->own_cap && held > a->own_cap;
    if (a->is_over)
        return false;
    a->is_put_off = !a->is_large && !fits_pool(a, held) && !account_take_turn(a);
    if (a->is_large)
        account_take_spare(a, held);
    if (a->is_put_off || a->is_over) {
        a->refused = held;
        return false;
    }
    more = a->is_large ? more_of(a, held) : 0;
    if (more)
        atomic_fetch_add_explicit(&a->pool->large_used, more, memory_order_relaxed);
    a->pooled += more;
    return true;
}

bool sf_account_take(size_t len)
{
    struct sf_account *a = now;
    if (!a)
        return true;
    if (!sf_account_goes_on(TAKE_STEPS) || !account_may_hold(a, a->held + len))
        return false;
    a->held += len;
    a->most = a->held > a->most ? a->held : a->most;
    return true;
}

void sf_account_give(size_t len)
{
    struct sf_account *a = now;
    if (a) /* may be memory that another query allocated */
        a->held -= len < a->held ? len : a->held;
}

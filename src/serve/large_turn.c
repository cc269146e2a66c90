#include "serve/large_turn.h"

#include "base/limits.h"
#include "base/time_unit.h"
#include "os/clock.h"
#include "os/memory.h"
#include "serve/call.h"
#include "serve/ingest_wait.h"

/* Memory limits in 256ths of the server's memory, the unit of the store's budget. */
enum {
    SHARES = 256,
    BODY = 8,             /* a longer body is large */
    ARENA = 24,           /* decoded form of a request, or of a piece of one */
    PIECE = 4,            /* a piece, as it is logged and stored */
    POOL = 40,            /* all requests that are decoded without the turn */
    ONE_OF_POOL = 32,     /* one of them */
    SURE = 32,            /* always for the request with the turn */
    MERGE_LEN = 12 << 20, /* for a merge that begins meanwhile */
    OTHER_LEN = 32 << 20, /* the program, its libraries and threads, and what the store keeps */
    SHORT_LEN = 4 << 20   /* above its memory the process takes less at a time: a quarter of what it
                           * may exceed it by, so that a merge or a flush that runs has room */
};
#define LOOK_NS (20 * SF_NS_PER_MS)

static size_t large_turn_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

void sf_large_turn_init(struct sf_service *s)
{
    size_t memory_len = s->memory_len ? (size_t)s->memory_len : (size_t)SF_LIMIT_MEMORY_LEN;
    size_t unit = memory_len / SHARES;
    struct sf_large_turns *t = &s->large;
    t->body_len = large_turn_least(BODY * unit, SF_LIMIT_LARGE_BODY_LEN);
    t->memory_len = memory_len;
    t->pool.cap = POOL * unit;
    t->pool.sum_cap = SIZE_MAX; /* has_spare() keeps the pool free for them */
    t->pool.query_cap = ONE_OF_POOL * unit;
    t->sure_len = SURE * unit;
    t->most_len = memory_len > OTHER_LEN ? (memory_len - OTHER_LEN) / 4 * 3 : 0;
    s->intake.max_whole_len = t->body_len;
    s->intake.max_piece_len = PIECE * unit;
    s->intake.arena_len = large_turn_least(ARENA * unit, SF_LIMIT_ARENA_LEN);
}

static void large_turn_refuse(struct sf_call *call)
{
    sf_service_count_shed(call->service, call->tenant,
                          sf_ingest_wait_is_spans(call->route) ? SF_SHED_SPANS : SF_SHED_PROFILES);
    sf_call_refuse(call, SF_COUNT_REJECT_QUEUE_FULL, sf_status_overloaded,
                   "too many large requests are waiting; retry");
}

enum sf_large_turn sf_large_turn_take(struct sf_call *call)
{
    struct sf_large_turns *t = &call->service->large;
    enum sf_large_turn turn = SF_LARGE_TURN_MINE;
    if (call->has_large_turn)
        return turn;
    sf_mutex_lock(&t->mutex);
    if (!t->is_taken) {
        t->is_taken = true;
        call->has_large_turn = true;
    } else if (t->n_parked >= SF_LIMIT_INGEST_QUEUE) {
        turn = SF_LARGE_TURN_REFUSED;
    } else {
        turn = SF_LARGE_TURN_PARKED;
        call->next_parked = NULL;
        if (t->last)
            t->last->next_parked = call;
        else
            t->first = call;
        t->last = call;
        t->n_parked++;
    }
    sf_mutex_unlock(&t->mutex);
    if (turn == SF_LARGE_TURN_REFUSED)
        large_turn_refuse(call);
    return turn;
}

/* Gives the turn to the oldest parked call and returns it; NULL: none is parked and the turn is
 * free. */
static struct sf_call *take_parked(struct sf_large_turns *t)
{
    struct sf_call *call;
    sf_mutex_lock(&t->mutex);
    call = t->first;
    if (call) {
        t->first = call->next_parked;
        if (!t->first)
            t->last = NULL;
        t->n_parked--;
    }
    t->is_taken = call != NULL;
    sf_mutex_unlock(&t->mutex);
    return call;
}

/* False: the call was answered instead; the caller gives the turn to the next one. */
static bool is_resumed(struct sf_call *call)
{
    if (atomic_load(sf_exchange_cancel(call->ex))) { /* the client has disconnected */
        sf_call_fail(call, SF_ERR_CANCELLED, NULL);
    } else {
        call->has_large_turn = true;
        if (!sf_queue_give(call->service->ingest, call->ex))
            return true;
        large_turn_refuse(call);
    }
    sf_call_finish(call);
    return false;
}

/* Passes the turn to the next call. */
static void pass_on(struct sf_service *s)
{
    struct sf_call *next;
    sf_memory_give_back(); /* before the next body takes as much again */
    do {
        next = take_parked(&s->large);
    } while (next && !is_resumed(next));
}

void sf_large_turn_pass(struct sf_call *call)
{
    if (!call->has_large_turn)
        return;
    call->has_large_turn = false;
    pass_on(call->service);
}

/* ---- memory ---- */

/* For the account: the turn, if it is free. */
static bool claim_turn(void *arg)
{
    struct sf_call *call = arg;
    struct sf_large_turns *t = &call->service->large;
    sf_mutex_lock(&t->mutex);
    if (!t->is_taken)
        t->is_taken = call->has_large_turn = true;
    sf_mutex_unlock(&t->mutex);
    return call->has_large_turn;
}

/* Whether the process has memory for more, besides half of what requests without the turn may
 * still take: they rarely take all of it at once. */
static bool has_spare(void *arg, size_t len)
{
    const struct sf_call *call = arg;
    const struct sf_large_turns *t = &call->service->large;
    size_t used = atomic_load_explicit(&t->pool.used, memory_order_relaxed);
    size_t kept = used < t->pool.cap ? (t->pool.cap - used) / 2 : 0;
    return sf_memory_resident_len() + len + kept + MERGE_LEN < t->memory_len;
}

/* The lines of the budget are limits of their own: on a small server their sum and the program may
 * exceed it when all are used at once. */
static bool is_short(struct sf_large_turns *t)
{
    int64_t now_ns = sf_clock_mono_ns();
    int_fast64_t looked_ns = atomic_load(&t->looked_ns);
    if (now_ns - looked_ns > LOOK_NS &&
        atomic_compare_exchange_strong(&t->looked_ns, &looked_ns, now_ns)) {
        bool is = sf_memory_resident_len() > t->memory_len + SHORT_LEN;
        if (is) {
            sf_memory_give_back();
            is = sf_memory_resident_len() > t->memory_len + SHORT_LEN;
        }
        atomic_store(&t->is_short, is);
    }
    return atomic_load(&t->is_short);
}

/* False: others are being decoded, and the process has no memory for one more. */
static bool may_decode(struct sf_large_turns *t)
{
    if (atomic_fetch_add(&t->n_decoding, 1) == 0 || !is_short(t))
        return true;
    atomic_fetch_sub(&t->n_decoding, 1);
    return false;
}

static void large_turn_close(struct sf_worker *worker)
{
    if (!worker->account.pool)
        return;
    sf_account_resume(&worker->account);
    sf_account_close();
    worker->account.pool = NULL;
}

static enum sf_err explain_refusal(struct sf_call *call, const struct sf_account *a,
                                   enum sf_err err, struct sf_why *why)
{
    if (a->is_over)
        return sf_fail(why, SF_ERR_LIMIT,
                       "the request needs more than %zu MiB of memory to be decoded; send less in "
                       "one request, or raise the setting \"memory\"",
                       call->service->large.most_len >> 20);
    if (a->is_put_off)
        return sf_fail(why, SF_ERR_BUSY, "the memory that this request needs is in use; retry");
    return err;
}

static enum sf_err large_turn_try(struct sf_call *call, struct sf_worker *worker,
                                  enum sf_err (*attempt)(void *arg, size_t max_len,
                                                         struct sf_why *why),
                                  void *arg, struct sf_why *why)
{
    struct sf_large_turns *t = &call->service->large;
    struct sf_account *a = &worker->account;
    size_t whole_len = call->service->intake.max_inflated_len
                           ? call->service->intake.max_inflated_len
                           : (size_t)SF_LIMIT_INFLATED_LEN;
    enum sf_err err;
    large_turn_close(worker);
    if (call->has_large_turn)
        sf_memory_give_back(); /* before this request takes much */
    *a = (struct sf_account){.pool = &t->pool,
                             .large_cap = t->sure_len,
                             .most_cap = t->most_len,
                             .take_turn = claim_turn,
                             .take_spare = has_spare,
                             .arg = call,
                             .is_large = call->has_large_turn,
                             .held = sf_arena_touched(&worker->arena)};
    sf_account_open(a);
    err = attempt(arg, call->has_large_turn ? whole_len : large_turn_least(whole_len, t->body_len),
                  why);
    (void)sf_account_pause(); /* it stays in the pool until the request is stored */
    return err ? explain_refusal(call, a, err, why) : SF_OK;
}

enum sf_large_turn sf_large_turn_run(struct sf_call *call, struct sf_worker *worker,
                                     enum sf_err (*attempt)(void *arg, size_t max_len,
                                                            struct sf_why *why),
                                     void *arg, enum sf_err *out_err, struct sf_why *why)
{
    bool is_large = call->has_large_turn ||
                    sf_exchange_body(call->ex)->len > call->service->large.body_len;
    enum sf_large_turn turn = is_large ? sf_large_turn_take(call) : SF_LARGE_TURN_MINE;
    if (turn != SF_LARGE_TURN_MINE)
        return turn;
    do {
        worker->is_decoding = may_decode(&call->service->large);
    } while (!worker->is_decoding && sf_ingest_wait_turn(call));
    *out_err = worker->is_decoding
                   ? large_turn_try(call, worker, attempt, arg, why)
                   : sf_fail(why, SF_ERR_BUSY, "all of the server's memory is in use; retry");
    if (worker->is_decoding && !is_large &&
        (*out_err == SF_ERR_LIMIT || worker->account.is_put_off)) {
        turn = sf_large_turn_take(call);
        if (turn == SF_LARGE_TURN_MINE)
            *out_err = large_turn_try(call, worker, attempt, arg, why);
    }
    if (turn == SF_LARGE_TURN_MINE) {
        worker->is_large = call->has_large_turn; /* the call may end before the worker is done */
        call->has_large_turn = false;
    }
    return turn;
}

void sf_large_turn_end(struct sf_service *s, struct sf_worker *worker)
{
    large_turn_close(worker);
    if (worker->is_decoding) {
        worker->is_decoding = false;
        atomic_fetch_sub(&s->large.n_decoding, 1);
    }
    if (worker->is_large) {
        worker->is_large = false;
        sf_arena_release(&worker->arena);
        pass_on(s);
    }
}

size_t sf_large_turn_parked(struct sf_service *s)
{
    size_t n;
    sf_mutex_lock(&s->large.mutex);
    n = s->large.n_parked;
    sf_mutex_unlock(&s->large.mutex);
    return n;
}

#include "serve/large_turn.h"

#include "base/limits.h"
#include "os/memory.h"
#include "serve/call.h"
#include "serve/ingest_wait.h"

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

void sf_large_turn_pass(struct sf_call *call)
{
    struct sf_large_turns *t = &call->service->large;
    struct sf_call *next;
    if (!call->has_large_turn)
        return;
    call->has_large_turn = false;
    sf_memory_give_back(); /* before the next body takes as much again */
    do {
        next = take_parked(t);
    } while (next && !is_resumed(next));
}

static size_t max_len_of(const struct sf_call *call)
{
    size_t whole_len = call->service->intake.max_inflated_len
                           ? call->service->intake.max_inflated_len
                           : (size_t)SF_LIMIT_INFLATED_LEN;
    bool is_small = !call->has_large_turn && whole_len > SF_LIMIT_LARGE_BODY_LEN;
    return is_small ? (size_t)SF_LIMIT_LARGE_BODY_LEN : whole_len;
}

enum sf_large_turn sf_large_turn_run(struct sf_call *call,
                                     enum sf_err (*attempt)(void *arg, size_t max_len,
                                                            struct sf_why *why),
                                     void *arg, enum sf_err *out_err, struct sf_why *why)
{
    bool is_large = call->has_large_turn ||
                    sf_exchange_body(call->ex)->len > SF_LIMIT_LARGE_BODY_LEN;
    enum sf_large_turn turn = is_large ? sf_large_turn_take(call) : SF_LARGE_TURN_MINE;
    if (turn != SF_LARGE_TURN_MINE)
        return turn;
    *out_err = attempt(arg, max_len_of(call), why);
    if (*out_err != SF_ERR_LIMIT || call->has_large_turn)
        return turn;
    turn = sf_large_turn_take(call);
    if (turn == SF_LARGE_TURN_MINE)
        *out_err = attempt(arg, max_len_of(call), why);
    return turn;
}

size_t sf_large_turn_parked(struct sf_service *s)
{
    size_t n;
    sf_mutex_lock(&s->large.mutex);
    n = s->large.n_parked;
    sf_mutex_unlock(&s->large.mutex);
    return n;
}

#include "serve/large_turn.h"

#include "base/heap.h"
#include "base/limits.h"
#include "listen/exchange_private.h"
#include "listen/loop.h"
#include "os/clock.h"
#include "serve/call.h"
#include "serve/route_table.h"
#include "test.h"

/* Exchanges that never came from a socket: enough of one for a queue. */
static struct sf_call *new_call(struct sf_service *s)
{
    struct sf_exchange *ex = sf_heap_new(sizeof(*ex));
    struct sf_call *call = sf_exchange_user(ex);
    static const struct sf_route route; /* of profiles: not of spans */
    *call = (struct sf_call){.service = s,
                             .ex = ex,
                             .route = &route,
                             .tenant = SF_STR("single-tenant"),
                             .response = sf_exchange_response(ex)};
    return call;
}

static void free_call(struct sf_call *call)
{
    sf_response_done(call->response);
    sf_heap_free(call->ex);
}

static struct sf_service *new_service(void)
{
    struct sf_service *s = sf_heap_new(sizeof(*s));
    assert_ok(sf_service_init(s, NULL));
    return s;
}

static void free_service(struct sf_service *s)
{
    sf_service_done(s);
    sf_heap_free(s);
}

static struct sf_call *resumed(struct sf_service *s)
{
    void *ex = NULL;
    return sf_queue_take_many(s->ingest, &ex, 1) ? sf_exchange_user(ex) : NULL;
}

TEST(large_turn, goes_to_one_call_while_the_others_hold_no_thread)
{
    struct sf_service *s = new_service();
    struct sf_call *a = new_call(s), *b = new_call(s), *c = new_call(s);
    assert_int_equal(sf_large_turn_take(a), SF_LARGE_TURN_MINE);
    assert_int_equal(sf_large_turn_take(a), SF_LARGE_TURN_MINE); /* it has it already */
    assert_int_equal(sf_large_turn_take(b), SF_LARGE_TURN_PARKED);
    assert_int_equal(sf_large_turn_take(c), SF_LARGE_TURN_PARKED);
    assert_int_equal(sf_large_turn_parked(s), 2);
    assert_null(resumed(s));
    sf_large_turn_pass(a);
    assert_ptr_equal(resumed(s), b);
    assert_null(resumed(s)); /* one at a time */
    assert_int_equal(sf_large_turn_take(b), SF_LARGE_TURN_MINE);
    assert_int_equal(sf_large_turn_take(a), SF_LARGE_TURN_PARKED);
    sf_large_turn_pass(b);
    assert_ptr_equal(resumed(s), c);
    sf_large_turn_pass(c);
    assert_ptr_equal(resumed(s), a);
    sf_large_turn_pass(a);
    assert_int_equal(sf_large_turn_take(b), SF_LARGE_TURN_MINE); /* free again */
    sf_large_turn_pass(b);
    sf_large_turn_pass(c); /* has none: nothing happens */
    assert_int_equal(sf_large_turn_parked(s), 0);
    free_call(a);
    free_call(b);
    free_call(c);
    free_service(s);
}

TEST(large_turn, is_refused_when_too_many_wait)
{
    struct sf_service *s = new_service();
    struct sf_call *calls[SF_LIMIT_INGEST_QUEUE + 2];
    size_t n = sizeof(calls) / sizeof(calls[0]);
    for (size_t i = 0; i < n; i++)
        calls[i] = new_call(s);
    assert_int_equal(sf_large_turn_take(calls[0]), SF_LARGE_TURN_MINE);
    for (size_t i = 1; i + 1 < n; i++)
        assert_int_equal(sf_large_turn_take(calls[i]), SF_LARGE_TURN_PARKED);
    assert_int_equal(sf_large_turn_take(calls[n - 1]), SF_LARGE_TURN_REFUSED);
    assert_int_equal(calls[n - 1]->response->status, 429);
    for (size_t i = 0; i < n; i++)
        free_call(calls[i]);
    free_service(s);
}

/* A loop without a thread: `first` waits in its list, so that giving it another exchange wakes
 * nothing. */
static struct sf_loop *new_loop(struct sf_exchange *first)
{
    struct sf_loop *loop = sf_heap_new(sizeof(*loop));
    sf_mutex_init(&loop->mutex, SF_LOCK_LISTEN_LOOP);
    first->is_listed = true;
    loop->given = first;
    loop->given_tail = &first->next;
    return loop;
}

static void free_loop(struct sf_loop *loop)
{
    sf_mutex_done(&loop->mutex);
    sf_heap_free(loop);
}

TEST(large_turn, ends_parked_calls_that_cannot_be_resumed_and_goes_to_the_next)
{
    struct sf_service *s = new_service();
    struct sf_call *a = new_call(s), *gone = new_call(s), *b = new_call(s), *refused = new_call(s),
                   *c = new_call(s);
    struct sf_exchange first = {0};
    struct sf_loop *loop = new_loop(&first);
    size_t n = 0;

    a->ex->loop = gone->ex->loop = b->ex->loop = refused->ex->loop = c->ex->loop = loop;
    gone->route = refused->route = &sf_routes[0]; /* their requests are counted */
    assert_int_equal(sf_large_turn_take(a), SF_LARGE_TURN_MINE);
    assert_int_equal(sf_large_turn_take(gone), SF_LARGE_TURN_PARKED);
    assert_int_equal(sf_large_turn_take(b), SF_LARGE_TURN_PARKED);
    atomic_store(&gone->ex->is_cancelled, true); /* its client has disconnected */
    sf_large_turn_pass(a);
    assert_ptr_equal(first.next, gone->ex); /* it goes back to the listener, which frees it, */
    assert_true(gone->ex->is_finished && !gone->has_large_turn);
    assert_int_equal(gone->response->status, 499);
    assert_ptr_equal(resumed(s), b); /* and the turn goes on */
    assert_true(b->has_large_turn);
    assert_null(gone->ex->next);

    assert_int_equal(sf_large_turn_take(refused), SF_LARGE_TURN_PARKED);
    while (!sf_queue_give(s->ingest, b->ex))
        n++;
    assert_int_equal(n, SF_LIMIT_INGEST_QUEUE); /* the queue of the threads is full */
    sf_large_turn_pass(b);
    assert_ptr_equal(gone->ex->next, refused->ex);
    assert_true(refused->ex->is_finished);
    assert_int_equal(refused->response->status, 429);
    assert_int_equal(sf_large_turn_take(c), SF_LARGE_TURN_MINE); /* nobody holds it */
    assert_int_equal(sf_large_turn_parked(s), 0);
    sf_large_turn_pass(c);
    free_call(a);
    free_call(gone);
    free_call(b);
    free_call(refused);
    free_call(c);
    free_loop(loop);
    free_service(s);
}

/* ---- memory ---- */

enum { MIB = 1 << 20 };

struct need { /* a request that needs memory */
    size_t len;
    unsigned n_runs;
    void *held; /* until the request is stored */
};

static enum sf_err take_memory(void *arg, size_t max_len, struct sf_why *why)
{
    struct need *need = arg;
    need->n_runs++;
    assert_true(max_len > 0);
    need->held = sf_heap_new(need->len);
    return need->held ? SF_OK : sf_no_memory(why, "a test");
}

static struct sf_worker *new_worker(void)
{
    struct sf_worker *w = sf_heap_new(sizeof(*w));
    assert_true(sf_arena_init(&w->arena, MIB) && sf_arena_count(&w->arena));
    return w;
}

static void free_worker(struct sf_worker *w)
{
    sf_arena_done(&w->arena);
    sf_heap_free(w);
}

static void end_need(struct sf_service *s, struct sf_worker *w, struct need *need)
{
    sf_large_turn_end(s, w);
    assert_null(w->account.pool);
    sf_heap_free(need->held);
    *need = (struct need){0};
}

/* calloc() leaves large blocks untouched: the test needs no memory itself. */
TEST(large_turn, goes_to_a_small_body_that_needs_much_memory)
{
    struct sf_service *s = new_service();
    struct sf_call *a = new_call(s), *b = new_call(s), *c = new_call(s);
    struct sf_worker *one = new_worker(), *two = new_worker(), *three = new_worker();
    struct need much = {.len = 36 * MIB}, some = {.len = 30 * MIB}, more = {.len = 30 * MIB};
    struct sf_why why;
    enum sf_err err;
    sf_large_turn_init(s); /* of 256 MiB: 32 without the turn, 40 for all of them */

    assert_non_null(sf_arena_new(&one->arena, 1000));
    assert_int_equal(sf_large_turn_run(a, one, take_memory, &much, &err, &why), SF_LARGE_TURN_MINE);
    assert_ok(err);
    assert_int_equal(much.n_runs, 1); /* the turn was free */
    assert_true(one->is_large && !a->has_large_turn);
    assert_true(atomic_load(&s->large.pool.large_used) >= 34 * MIB);
    assert_int_equal(sf_large_turn_run(b, two, take_memory, &some, &err, &why), SF_LARGE_TURN_MINE);
    assert_ok(err);
    assert_true(!two->is_large);
    /* The third fits neither beside the second nor gets the turn of the first. */
    assert_int_equal(sf_large_turn_run(c, three, take_memory, &more, &err, &why),
                     SF_LARGE_TURN_PARKED);
    sf_large_turn_end(s, three);
    assert_int_equal(sf_large_turn_parked(s), 1);

    end_need(s, one, &much);
    assert_int_equal(sf_arena_used(&one->arena), 0); /* its memory is free before the next begins */
    assert_ptr_equal(resumed(s), c);
    assert_true(c->has_large_turn);
    assert_int_equal(sf_large_turn_run(c, three, take_memory, &more, &err, &why),
                     SF_LARGE_TURN_MINE);
    assert_ok(err);
    assert_int_equal(more.n_runs, 2);
    end_need(s, three, &more);
    end_need(s, two, &some);
    assert_int_equal(atomic_load(&s->large.pool.used), 0);
    assert_int_equal(atomic_load(&s->large.pool.large_used), 0);
    assert_int_equal(sf_large_turn_take(a), SF_LARGE_TURN_MINE); /* free again */
    sf_large_turn_pass(a);
    free_worker(one);
    free_worker(two);
    free_worker(three);
    free_call(a);
    free_call(b);
    free_call(c);
    free_service(s);
}

TEST(large_turn, tells_what_never_fits_from_what_does_not_fit_now)
{
    struct sf_service *s = new_service();
    struct sf_call *a = new_call(s);
    struct sf_worker *w = new_worker();
    struct need need = {.len = 30 * MIB};
    struct sf_why why;
    enum sf_err err;
    s->memory_len = 64 * MIB;
    sf_large_turn_init(s);
    assert_int_equal(s->large.body_len, 2 * MIB);
    assert_int_equal(s->intake.max_whole_len, 2 * MIB);
    assert_int_equal(s->intake.arena_len, 6 * MIB);
    assert_int_equal(sf_large_turn_run(a, w, take_memory, &need, &err, &why), SF_LARGE_TURN_MINE);
    assert_int_equal(err, SF_ERR_LIMIT);
    assert_non_null(strstr(why.text, "24 MiB"));
    assert_non_null(strstr(why.text, "\"memory\""));
    end_need(s, w, &need);

    need.len = 20 * MIB;
    s->large.memory_len = 1; /* the process holds more than it may */
    assert_int_equal(sf_large_turn_run(a, w, take_memory, &need, &err, &why), SF_LARGE_TURN_MINE);
    assert_int_equal(err, SF_ERR_BUSY);
    end_need(s, w, &need);

    need.len = 8 * MIB - 4096; /* it has this always */
    assert_int_equal(sf_large_turn_run(a, w, take_memory, &need, &err, &why), SF_LARGE_TURN_MINE);
    assert_ok(err);
    end_need(s, w, &need);
    free_worker(w);
    free_call(a);
    free_service(s);
}

TEST(large_turn, decodes_one_request_at_a_time_while_the_process_holds_too_much)
{
    struct sf_service *s = new_service();
    struct sf_call *a = new_call(s), *b = new_call(s);
    struct sf_worker *one = new_worker(), *two = new_worker();
    struct need first = {.len = MIB}, second = {.len = MIB};
    struct sf_why why;
    enum sf_err err;
    sf_large_turn_init(s);
    s->large.memory_len = 0; /* what it holds is more, unless it holds less than 4 MiB */
    first.held = sf_heap_new(16 * MIB);
    memset(first.held, 1, 16 * MIB);
    void *held = first.held;
    assert_int_equal(sf_large_turn_run(a, one, take_memory, &first, &err, &why),
                     SF_LARGE_TURN_MINE);
    assert_ok(err);
    assert_int_equal(sf_large_turn_run(b, two, take_memory, &second, &err, &why),
                     SF_LARGE_TURN_MINE);
    assert_int_equal(err, SF_ERR_BUSY);
    assert_int_equal(second.n_runs, 0);
    assert_non_null(strstr(why.text, "retry"));
    end_need(s, two, &second);

    second.len = MIB;
    s->large.memory_len = 256 * MIB;
    b->whole_ns = sf_clock_mono_ns(); /* one that may wait does, until the process holds less */
    assert_int_equal(sf_large_turn_run(b, two, take_memory, &second, &err, &why),
                     SF_LARGE_TURN_MINE);
    assert_ok(err);
    end_need(s, two, &second);
    b->whole_ns = 0;
    s->large.memory_len = 0;
    end_need(s, one, &first);
    second.len = MIB;
    assert_int_equal(sf_large_turn_run(b, two, take_memory, &second, &err, &why),
                     SF_LARGE_TURN_MINE);
    assert_ok(err);
    end_need(s, two, &second);

    s->large.memory_len = 256 * MIB;
    s->large.looked_ns = 0; /* looks again */
    first.len = second.len = MIB;
    assert_int_equal(sf_large_turn_run(a, one, take_memory, &first, &err, &why),
                     SF_LARGE_TURN_MINE);
    assert_ok(err);
    assert_int_equal(sf_large_turn_run(b, two, take_memory, &second, &err, &why),
                     SF_LARGE_TURN_MINE);
    assert_ok(err);
    end_need(s, one, &first);
    end_need(s, two, &second);
    assert_int_equal(atomic_load(&s->large.n_decoding), 0);
    sf_heap_free(held);
    free_worker(one);
    free_worker(two);
    free_call(a);
    free_call(b);
    free_service(s);
}

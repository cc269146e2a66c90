#include "serve/large_turn.h"

#include "base/heap.h"
#include "base/limits.h"
#include "listen/exchange_private.h"
#include "serve/call.h"
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

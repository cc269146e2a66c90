#include "serve/lane.h"

#include "base/limits.h"
#include "base/time_unit.h"
#include "listen/exchange_private.h"
#include "os/clock.h"
#include "os/thread.h"
#include "serve/call.h"
#include "test.h"

static struct sf_call calls[80];
static unsigned n_calls;

static struct sf_call *call_of(uint64_t tenant, uint64_t client)
{
    struct sf_call *call = &calls[n_calls++];
    *call = (struct sf_call){.client = {tenant, client}};
    return call;
}

static struct sf_call *refused;
static unsigned after_s;
static struct sf_why why;

static enum sf_err give(struct sf_lane *l, uint64_t tenant, uint64_t client)
{
    refused = NULL;
    return sf_lane_give(l, call_of(tenant, client), &refused, &after_s, &why);
}

static struct sf_lane *new_lane(size_t cap, size_t client_cap, unsigned n_threads, int64_t wait_ns)
{
    struct sf_lane *l = sf_lane_new(cap, client_cap);
    assert_non_null(l);
    sf_lane_serve(l, n_threads, wait_ns);
    n_calls = 0;
    return l;
}

/* Runs the next call to its end; whose it was. */
static uint64_t run(struct sf_lane *l)
{
    struct sf_lane_client who;
    struct sf_call *call = sf_lane_take(l, &who);
    assert_int_equal(call->client.client, who.client);
    sf_lane_end(l, who, SF_NS_PER_S);
    return who.client;
}

TEST(lane, serves_clients_in_turn_whatever_each_sends)
{
    struct sf_lane *l = new_lane(64, 32, 1, 0);
    for (int i = 0; i < 10; i++)
        assert_ok(give(l, 1, 7));
    assert_ok(give(l, 1, 8));
    assert_ok(give(l, 1, 9));
    assert_int_equal(sf_lane_depth(l), 12);
    assert_int_equal(run(l), 7);
    assert_int_equal(run(l), 8);
    assert_int_equal(run(l), 9);
    assert_int_equal(run(l), 7);
    assert_ok(give(l, 1, 8)); /* one after the other: no more than its turn */
    assert_int_equal(run(l), 7);
    assert_int_equal(run(l), 8);
    while (sf_lane_depth(l))
        assert_int_equal(run(l), 7);
    sf_lane_free(l);
}

TEST(lane, serves_tenants_in_turn_however_many_clients_each_has)
{
    struct sf_lane *l = new_lane(64, 32, 1, 0);
    static const uint64_t want[] = {11, 20, 12, 20, 13, 20};
    for (uint64_t client = 11; client < 16; client++)
        assert_ok(give(l, 1, client));
    for (int i = 0; i < 3; i++)
        assert_ok(give(l, 2, 20));
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
        assert_int_equal(run(l), want[i]);
    while (sf_lane_depth(l))
        run(l);
    sf_lane_free(l);
}

struct taker {
    struct sf_lane *lane;
    struct sf_call *got;
    struct sf_lane_client who;
};

static void take(void *arg)
{
    struct taker *t = arg;
    t->got = sf_lane_take(t->lane, &t->who);
}

TEST(lane, keeps_a_thread_free_for_the_next_client)
{
    struct sf_lane *l = new_lane(64, 32, 2, 0);
    struct sf_lane_client first;
    struct sf_thread thread = {0};
    struct taker t = {.lane = l};
    assert_ok(give(l, 1, 7));
    assert_ok(give(l, 1, 7));
    assert_ptr_equal(sf_lane_take(l, &first), &calls[0]);
    assert_ok(sf_thread_start(&thread, "taker", 0, take, &t, &why));
    assert_ok(give(l, 1, 8)); /* comes later, and the second thread is its */
    sf_thread_join(&thread);
    assert_ptr_equal(t.got, &calls[2]);
    sf_lane_end(l, t.who, 1);
    assert_int_equal(sf_lane_depth(l), 1);
    sf_lane_end(l, first, 1);
    assert_int_equal(run(l), 7);
    sf_lane_free(l);
}

TEST(lane, refuses_what_one_client_sends_beyond_its_share)
{
    struct sf_lane *l = new_lane(64, 3, 1, 0);
    for (int i = 0; i < 3; i++)
        assert_ok(give(l, 1, 7));
    assert_int_equal(give(l, 1, 7), SF_ERR_BUSY);
    assert_ptr_equal(refused, &calls[3]);
    assert_non_null(strstr(why.text, "3 queries of this client are waiting"));
    assert_ok(give(l, 1, 8));
    while (sf_lane_depth(l))
        run(l);
    sf_lane_free(l);
}

TEST(lane, makes_room_for_a_new_client_at_the_cost_of_the_one_with_most)
{
    struct sf_lane *l = new_lane(6, 6, 1, 0);
    for (int i = 0; i < 5; i++)
        assert_ok(give(l, 1, 7));
    assert_ok(give(l, 1, 8));
    assert_int_equal(give(l, 1, 9), SF_ERR_BUSY);
    assert_ptr_equal(refused, &calls[4]); /* the newest of the five */
    assert_int_equal(sf_lane_depth(l), 6);
    assert_int_equal(give(l, 1, 7), SF_ERR_BUSY);
    assert_ptr_equal(refused, &calls[7]); /* its own */
    assert_int_equal(run(l), 7);
    assert_int_equal(run(l), 8);
    assert_int_equal(run(l), 9);
    assert_int_equal(run(l), 7);
    while (sf_lane_depth(l))
        run(l);
    sf_lane_free(l);
}

TEST(lane, says_at_once_when_a_call_could_not_begin_in_time)
{
    struct sf_lane *l = new_lane(64, 32, 1, 30 * SF_NS_PER_S);
    struct sf_lane_client who;
    for (int i = 0; i < 5; i++)
        assert_ok(give(l, 1, 7)); /* it is not known yet how long they take */
    assert_non_null(sf_lane_take(l, &who));
    sf_lane_end(l, who, 10 * SF_NS_PER_S);
    assert_int_equal(give(l, 1, 7), SF_ERR_BUSY);
    assert_int_equal(after_s, 40);
    assert_non_null(strstr(why.text, "could not begin within 30 s"));
    assert_ok(give(l, 1, 8)); /* another client waits for itself alone */
    while (sf_lane_depth(l))
        run(l);
    assert_ok(give(l, 1, 7));
    run(l);
    sf_lane_free(l);
}

TEST(lane, does_not_count_calls_whose_client_went_away)
{
    struct sf_lane *l = new_lane(64, 6, 1, 30 * SF_NS_PER_S);
    static struct sf_exchange left;
    struct sf_lane_client who;
    atomic_store(&left.is_cancelled, true);
    for (int i = 0; i < 6; i++)
        assert_ok(give(l, 1, 7));
    for (unsigned i = 1; i < 6; i++)
        calls[i].ex = &left;
    assert_non_null(sf_lane_take(l, &who));
    sf_lane_end(l, who, 20 * SF_NS_PER_S);
    assert_ok(give(l, 1, 7)); /* five wait, and no thread waits for them */
    assert_ok(give(l, 1, 7));
    assert_int_equal(give(l, 1, 7), SF_ERR_BUSY);
    assert_non_null(strstr(why.text, "2 queries of this client are waiting"));
    while (sf_lane_depth(l))
        run(l);
    sf_lane_free(l);
}

TEST(lane, makes_room_at_the_cost_of_calls_whose_client_went_away)
{
    struct sf_lane *l = new_lane(3, 3, 1, 0);
    static struct sf_exchange left;
    atomic_store(&left.is_cancelled, true);
    for (uint64_t client = 7; client < 10; client++)
        assert_ok(give(l, 1, client));
    calls[1].ex = calls[2].ex = &left;
    assert_int_equal(give(l, 1, 7), SF_ERR_BUSY);
    assert_ptr_equal(refused, &calls[1]);
    assert_int_equal(give(l, 1, 8), SF_ERR_BUSY);
    assert_ptr_equal(refused, &calls[2]);
    assert_int_equal(give(l, 1, 10), SF_ERR_BUSY);
    assert_ptr_equal(refused, &calls[3]); /* nobody has left: the newest of the one with most */
    assert_int_equal(sf_lane_depth(l), 3);
    while (sf_lane_depth(l))
        run(l);
    sf_lane_free(l);
}

TEST(lane, empties_after_it_was_closed)
{
    struct sf_lane *l = new_lane(64, 32, 2, 0);
    struct sf_lane_client who;
    assert_ok(give(l, 1, 7));
    assert_ok(give(l, 1, 7));
    sf_lane_close(l);
    assert_int_equal(give(l, 1, 7), SF_ERR_CANCELLED);
    assert_non_null(sf_lane_take(l, &who));
    assert_non_null(sf_lane_take(l, &who)); /* while the first still runs */
    assert_null(sf_lane_take(l, &who));
    sf_lane_end(l, who, 1);
    sf_lane_end(l, who, 1);
    sf_lane_free(l);
}

TEST(lane, forgets_clients_that_are_gone)
{
    struct sf_lane *l = new_lane(8, 8, 1, 0);
    for (uint64_t client = 1; client < 5000; client++) { /* more than there are places */
        n_calls = 0;
        assert_ok(give(l, client, client));
        assert_int_equal(run(l), client);
    }
    sf_lane_free(l);
}

static void take_large(void *arg)
{
    struct taker *t = arg;
    assert_ok(sf_lane_take_large(t->lane, true, 0, NULL, NULL));
    sf_lane_pass_large(t->lane);
}

TEST(lane, lets_one_call_at_a_time_hold_much_memory)
{
    struct sf_lane *l = new_lane(8, 8, 3, 0);
    struct sf_thread thread = {0};
    struct taker t = {.lane = l};
    atomic_bool is_gone = true;
    assert_ok(sf_lane_take_large(l, false, 0, NULL, &why));
    assert_int_equal(sf_lane_take_large(l, false, 0, NULL, &why), SF_ERR_BUSY);
    assert_int_equal(sf_lane_take_large(l, true, 1, NULL, &why), SF_ERR_DEADLINE);
    assert_int_equal(sf_lane_take_large(l, true, 0, &is_gone, &why), SF_ERR_CANCELLED);
    assert_ok(sf_thread_start(&thread, "taker", 0, take_large, &t, &why));
    sf_lane_pass_large(l);
    sf_thread_join(&thread);
    assert_ok(sf_lane_take_large(l, false, 0, NULL, &why)); /* free again */
    sf_lane_pass_large(l);
    sf_lane_free(l);
}

static void wait_large(void *arg)
{
    struct taker *t = arg;
    while (sf_lane_take_large(t->lane, true, 0, NULL, NULL)) /* the test may have come between */
        sf_clock_sleep_ms(1);
    sf_lane_pass_large(t->lane);
}

/* Two that wait would hold a thread each, and all threads could be gone. */
TEST(lane, lets_one_call_wait_for_much_memory)
{
    struct sf_lane *l = new_lane(8, 8, 3, 0);
    struct sf_thread thread = {0};
    struct taker t = {.lane = l};
    enum sf_err err = SF_ERR_DEADLINE;
    assert_ok(sf_lane_take_large(l, true, 0, NULL, &why)); /* nobody is before it */
    assert_ok(sf_thread_start(&thread, "taker", 0, wait_large, &t, &why));
    for (int i = 0; i < 60000 && err == SF_ERR_DEADLINE; i++) { /* until it waits */
        err = sf_lane_take_large(l, true, 1, NULL, &why);
        sf_clock_sleep_ms(1);
    }
    assert_err(err, SF_ERR_BUSY);
    sf_lane_pass_large(l);
    sf_thread_join(&thread);
    assert_ok(sf_lane_take_large(l, true, 1, NULL, &why)); /* no thread waits any longer */
    sf_lane_pass_large(l);
    sf_lane_free(l);
}

/* A client with the same number in two tenants is two clients. */
TEST(lane, tells_clients_of_two_tenants_apart)
{
    struct sf_lane *l = new_lane(64, 2, 1, 0);
    assert_ok(give(l, 1, 7));
    assert_ok(give(l, 1, 7));
    assert_int_equal(give(l, 1, 7), SF_ERR_BUSY);
    assert_ok(give(l, 2, 7));
    assert_ok(give(l, 2, 7));
    assert_ok(give(l, 0, 0)); /* zero is a number as well */
    assert_ok(give(l, 0, 0));
    assert_int_equal(give(l, 0, 0), SF_ERR_BUSY);
    assert_int_equal(sf_lane_depth(l), 6);
    while (sf_lane_depth(l))
        run(l);
    sf_lane_free(l);
}

#include "test.h"

#include <pthread.h>

#include "collect/lib/span_pool.h"

static void give(struct sf_span_slot *slot)
{
    atomic_fetch_add(&slot->gen, 1);
    sf_span_pool_give(slot);
}

TEST(span_pool, finds_the_living_and_not_the_dead)
{
    struct sf_span_slot *slot = sf_span_pool_take();
    sf_span s = sf_span_pool_name(slot);
    assert_ptr_equal(sf_span_pool_find(s), slot);
    give(slot);
    assert_null(sf_span_pool_find(s));
    assert_ptr_equal(sf_span_pool_take(), slot); /* the same memory, another span */
    assert_null(sf_span_pool_find(s));
    give(slot);
}

TEST(span_pool, answers_any_number_a_program_brings)
{
    static const uint64_t numbers[] = {0,
                                       1,
                                       UINT64_MAX,
                                       1ull << 32,
                                       1ull << 32 | 0xffffffff,
                                       3ull << 32 | 16385,
                                       5ull << 32 | 16384,
                                       2ull << 32 | 1};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        assert_null(sf_span_pool_find(numbers[i]));
        assert_null(sf_span_pool_find_under(numbers[i]));
        assert_null(sf_span_pool_lock(numbers[i]));
    }
}

TEST(span_pool, leads_from_an_ended_span_to_the_one_under_it)
{
    struct sf_span_slot *a = sf_span_pool_take(), *b = sf_span_pool_take();
    struct sf_span_slot *c = sf_span_pool_take();
    sf_span name = sf_span_pool_name(c);
    a->under = 0;
    b->under = sf_span_pool_name(a);
    c->under = sf_span_pool_name(b);
    give(c);
    assert_ptr_equal(sf_span_pool_find_under(name), b);
    give(b);
    assert_ptr_equal(sf_span_pool_find_under(name), a);
    give(a);
    assert_null(sf_span_pool_find_under(name));
}

TEST(span_pool, ends_at_its_bound_and_recovers)
{
    enum { ALL = SF_POOL_CHUNK * SF_POOL_CHUNKS };
    static struct sf_span_slot *taken[ALL];
    for (int i = 0; i < ALL; i++) {
        taken[i] = sf_span_pool_take();
        assert_non_null(taken[i]);
    }
    assert_null(sf_span_pool_take());
    for (int i = 0; i < ALL; i++)
        give(taken[i]);
    taken[0] = sf_span_pool_take();
    assert_non_null(taken[0]);
    give(taken[0]);
}

static atomic_int holders[SF_POOL_CHUNK * SF_POOL_CHUNKS];
static atomic_int clashes;

static void *churn(void *arg)
{
    (void)arg;
    for (int i = 0; i < 50000; i++) {
        struct sf_span_slot *slot = sf_span_pool_take();
        if (!slot || atomic_fetch_add(&holders[slot->index], 1) != 0)
            atomic_fetch_add(&clashes, 1);
        if (slot) {
            atomic_fetch_sub(&holders[slot->index], 1);
            give(slot);
        }
    }
    return NULL;
}

TEST(span_pool, gives_a_slot_to_one_thread_only)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, churn, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(clashes, 0);
}

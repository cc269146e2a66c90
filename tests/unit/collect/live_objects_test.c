#include "test.h"

#include <pthread.h>

#include "collect/lib/live_objects.h"

static const void *at(uintptr_t n)
{
    return (const void *)(n * 4096);
}

TEST(live_objects, gives_back_what_was_added_once)
{
    struct sf_live_objects *all = sf_live_objects_new();
    struct sf_live_object o = {.size = 100, .stack = 7, .thread = 9, .span_id = {1}}, got;
    assert_non_null(all);
    assert_true(sf_live_objects_add(all, at(1), &o));
    assert_false(sf_live_objects_take(all, at(2), &got));
    assert_true(sf_live_objects_take(all, at(1), &got));
    assert_int_equal(got.size, 100);
    assert_int_equal(got.stack, 7);
    assert_int_equal(got.span_id[0], 1);
    assert_false(sf_live_objects_take(all, at(1), &got));
    assert_int_equal(sf_live_objects_n(all), 0);
    sf_live_objects_free(all);
}

TEST(live_objects, takes_most_of_its_room_and_counts_the_rest)
{
    struct sf_live_objects *all = sf_live_objects_new();
    struct sf_live_object o = {.size = 1};
    uint64_t n = 0;
    for (uintptr_t i = 1; i <= 2 * SF_LIVE_MAX; i++)
        n += sf_live_objects_add(all, at(i), &o);
    assert_true(n > SF_LIVE_MAX * 9 / 10 && n <= SF_LIVE_MAX);
    assert_int_equal(sf_live_objects_n(all), n);
    assert_int_equal(sf_live_objects_lost(all), 2 * SF_LIVE_MAX - n);
    assert_int_equal(sf_live_objects_lost(all), 0);
    sf_live_objects_free(all);
}

static void count(const struct sf_live_object *o, void *arg)
{
    uint64_t *sums = arg;
    assert_int_equal(o->size, o->stack * 3ull); /* never half of one and half of another */
    sums[0]++;
    sums[1] += o->size;
}

static void *churn(void *arg)
{
    struct sf_live_objects *all = arg;
    uintptr_t base = (uintptr_t)&base / 4096;
    for (uint32_t round = 1; round < 300; round++) {
        for (uint32_t i = 0; i < 50; i++) {
            struct sf_live_object o = {.size = (round + i) * 3ull, .stack = round + i};
            assert_true(sf_live_objects_add(all, at(base + i), &o));
        }
        for (uint32_t i = 0; i < 50; i++) {
            struct sf_live_object o;
            assert_true(sf_live_objects_take(all, at(base + i), &o));
            assert_int_equal(o.stack, round + i);
        }
    }
    return NULL;
}

TEST(live_objects, are_seen_whole_while_others_come_and_go)
{
    struct sf_live_objects *all = sf_live_objects_new();
    struct sf_live_object stays = {.size = 30, .stack = 10};
    pthread_t threads[2];
    assert_true(sf_live_objects_add(all, at(1), &stays));
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn, all), 0);
    for (int i = 0; i < 20; i++) {
        uint64_t sums[2] = {0};
        sf_live_objects_each(all, count, sums);
        assert_true(sums[0] >= 1);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(sf_live_objects_n(all), 1);
    sf_live_objects_free(all);
}

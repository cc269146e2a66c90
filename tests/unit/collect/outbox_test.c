#include "test.h"

#include <pthread.h>

#include "base/heap.h"
#include "collect/send/outbox.h"
#include "collect/sys/heap_fork.h"

enum { RECORD = 1000 };

static uint64_t count(struct sf_outbox_piece *list)
{
    uint64_t n = 0;
    for (; list; list = list->next)
        n += list->n_records;
    return n;
}

TEST(outbox, drops_when_full_and_takes_again_when_emptied)
{
    struct sf_outbox o = {.max = 4 * 65536};
    uint8_t bytes[RECORD];
    struct sf_outbox_piece *list;
    unsigned kept = 0;

    memset(bytes, 7, sizeof(bytes));
    while (sf_outbox_add(&o, (sf_bytes){bytes, RECORD}) && kept < 100000)
        kept++;
    assert_in_range(kept, 200, 262);
    assert_true(sf_outbox_held(&o) <= o.max);
    list = sf_outbox_take(&o, 1 << 20);
    assert_int_equal(count(list), kept);
    assert_true(sf_outbox_is_empty(&o));
    assert_false(sf_outbox_add(&o, (sf_bytes){bytes, RECORD})); /* taken is not yet returned */
    sf_outbox_give_back(&o, list);
    assert_int_equal(sf_outbox_held(&o), 0);
    assert_true(sf_outbox_add(&o, (sf_bytes){bytes, RECORD}));
    sf_outbox_give_back(&o, sf_outbox_take(&o, 1));
}

TEST(outbox, takes_the_oldest_first_and_no_more_than_asked)
{
    struct sf_outbox o = {.max = SF_OUTBOX_MAX};
    uint8_t bytes[SF_OUTBOX_PIECE_CAP];
    struct sf_outbox_piece *list;
    for (int i = 0; i < 5; i++) {
        memset(bytes, i, sizeof(bytes));
        assert_true(sf_outbox_add(&o, (sf_bytes){bytes, sizeof(bytes)}));
    }
    list = sf_outbox_take(&o, 2 * sizeof(bytes));
    assert_int_equal(count(list), 2);
    assert_int_equal(list->bytes[0], 0);
    assert_int_equal(list->next->bytes[0], 1);
    sf_outbox_give_back(&o, list);
    list = sf_outbox_take(&o, 1); /* at least one */
    assert_int_equal(count(list), 1);
    assert_int_equal(list->bytes[0], 2);
    sf_outbox_give_back(&o, list);
    sf_outbox_forget(&o);
    assert_true(sf_outbox_is_empty(&o));
    assert_int_equal(sf_outbox_held(&o), 0);
}

TEST(outbox, of_a_forked_child_leaves_no_memory_behind)
{
    static uint8_t bytes[300000]; /* larger than the heap's classes: mapped and unmapped alone */
    struct sf_outbox o = {.max = SF_OUTBOX_MAX};
    uint64_t before = sf_heap_held();
    for (int i = 0; i < 4; i++)
        assert_true(sf_outbox_add_whole(&o, (sf_bytes){bytes, sizeof(bytes)}, 1));
    assert_non_null(sf_outbox_take(&o, 2 * sizeof(bytes))); /* the parent's thread is sending */
    assert_true(sf_heap_held() >= before + 4 * sizeof(bytes));
    sf_lock_take(&o.lock); /* as before a fork */
    sf_outbox_forget(&o);
    assert_int_equal(sf_heap_held(), before);
    assert_int_equal(sf_outbox_held(&o), 0);
    assert_true(sf_outbox_add(&o, sf_str_bytes(SF_STR("x")))); /* the lock is free */
    sf_outbox_give_back(&o, sf_outbox_take(&o, 1));
    sf_outbox_forget(&o); /* what was given back is not freed again */
    assert_int_equal(sf_outbox_held(&o), 0);
}

TEST(outbox, refuses_a_record_longer_than_a_piece)
{
    static uint8_t bytes[SF_OUTBOX_PIECE_CAP + 1];
    struct sf_outbox o = {.max = SF_OUTBOX_MAX};
    assert_false(sf_outbox_add(&o, (sf_bytes){bytes, sizeof(bytes)}));
    assert_true(sf_outbox_is_empty(&o));
}

TEST(outbox, keeps_whole_requests_apart)
{
    static uint8_t bytes[300000];
    struct sf_outbox o = {.max = SF_OUTBOX_MAX};
    struct sf_outbox_piece *list;
    unsigned kept = 0;
    while (kept < 100 && sf_outbox_add_whole(&o, (sf_bytes){bytes, sizeof(bytes) - kept}, 3))
        kept++;
    assert_int_equal(kept, SF_OUTBOX_MAX / sizeof(bytes));
    for (unsigned i = 0; i < kept; i++) {
        list = sf_outbox_take(&o, 1);
        assert_null(list->next);
        assert_int_equal(list->len, sizeof(bytes) - i);
        assert_int_equal(list->n_records, 3);
        sf_outbox_give_back(&o, list);
    }
    assert_int_equal(sf_outbox_held(&o), 0);
}

TEST(outbox, survives_every_allocation_that_fails)
{
    struct sf_outbox o = {.max = SF_OUTBOX_MAX};
    sf_heap_fail_after(1);
    assert_false(sf_outbox_add(&o, sf_str_bytes(SF_STR("x"))));
    sf_heap_fail_after(0);
    assert_true(sf_outbox_add(&o, sf_str_bytes(SF_STR("x"))));
    sf_outbox_forget(&o);
}

enum { THREADS = 4, EACH = 20000 };
static struct sf_outbox shared = {.max = 64 << 20};

static void *add_many(void *arg)
{
    uint8_t bytes[40];
    memset(bytes, *(int *)arg, sizeof(bytes));
    for (int i = 0; i < EACH; i++)
        sf_outbox_add(&shared, (sf_bytes){bytes, sizeof(bytes)});
    return NULL;
}

TEST(outbox, loses_nothing_between_threads)
{
    pthread_t threads[THREADS];
    int names[THREADS];
    uint64_t got = 0;
    for (int i = 0; i < THREADS; i++) {
        names[i] = i;
        pthread_create(&threads[i], NULL, add_many, &names[i]);
    }
    for (int i = 0; i < THREADS * 100; i++) {
        struct sf_outbox_piece *list = sf_outbox_take(&shared, 200000);
        got += count(list);
        sf_outbox_give_back(&shared, list);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (struct sf_outbox_piece *list; (list = sf_outbox_take(&shared, 1 << 20)) != NULL;) {
        got += count(list);
        sf_outbox_give_back(&shared, list);
    }
    assert_int_equal(got, THREADS * EACH);
    assert_int_equal(sf_outbox_held(&shared), 0);
}

#include "test.h"

#include <errno.h>
#include <pthread.h>

#include "base/heap.h"
#include "collect/sys/heap_fork.h"

TEST(collect_heap, gives_zeroed_aligned_blocks_that_do_not_overlap)
{
    enum { N = 400 };
    static uint8_t *blocks[N];
    errno = 5;
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < N; i++) {
            size_t len = 1 + i * i;
            blocks[i] = sf_heap_new(len);
            assert_non_null(blocks[i]);
            assert_int_equal((uintptr_t)blocks[i] % 16, 0);
            for (size_t k = 0; k < len; k++)
                assert_int_equal(blocks[i][k], 0);
            memset(blocks[i], (int)(i % 251) + 1, len);
        }
        for (size_t i = 0; i < N; i++) {
            assert_int_equal(blocks[i][0], i % 251 + 1);
            assert_int_equal(blocks[i][i * i], i % 251 + 1);
            sf_heap_free(blocks[i]);
        }
    }
    assert_int_equal(errno, 5);
}

TEST(collect_heap, keeps_content_while_growing)
{
    uint8_t *p = NULL;
    for (size_t len = 1; len < 300000; len = len * 3 + 1) {
        p = sf_heap_grow(p, len, 1);
        assert_non_null(p);
        if (len > 1)
            assert_int_equal(p[0], 0x5a);
        memset(p, 0x5a, len);
    }
    sf_heap_free(p);
    assert_null(sf_heap_grow(NULL, SIZE_MAX / 2, 3));
    assert_null(sf_heap_new(SIZE_MAX - 8));
}

TEST(collect_heap, reuses_what_was_freed)
{
    uint64_t held;
    sf_heap_free(sf_heap_new(1000));
    held = sf_heap_held();
    for (int i = 0; i < 100000; i++)
        sf_heap_free(sf_heap_new(1000));
    for (int i = 0; i < 100; i++)
        sf_heap_free(sf_heap_new(1 << 20)); /* a mapping of its own, returned */
    assert_int_equal(sf_heap_held(), held);
}

static void *churn(void *arg)
{
    unsigned seed = *(unsigned *)arg;
    void *kept[16] = {0};
    for (int i = 0; i < 20000; i++) {
        unsigned at = (seed = seed * 1103515245u + 12345u) >> 16 & 15;
        size_t len = 1 + (seed >> 8 & 4095);
        sf_heap_free(kept[at]);
        kept[at] = sf_heap_new(len);
        memset(kept[at], (int)at, len);
    }
    for (int i = 0; i < 16; i++)
        sf_heap_free(kept[i]);
    return NULL;
}

TEST(collect_heap, serves_threads)
{
    pthread_t threads[4];
    unsigned seeds[4] = {1, 2, 3, 4};
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, churn, &seeds[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

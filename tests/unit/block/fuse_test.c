#include "test.h"

#include "base/hash.h"
#include "base/heap.h"
#include "block/format/fuse.h"

TEST(fuse, says_yes_to_every_key_and_seldom_to_others)
{
    static const size_t SIZES[] = {0, 1, 2, 3, 10, 100, 1000, 65536};
    for (size_t s = 0; s < sizeof(SIZES) / sizeof(*SIZES); s++) {
        size_t n = SIZES[s], n_wrong = 0;
        uint64_t *keys = sf_heap_new_n(n, sizeof(*keys));
        struct sf_buf b = {0};
        for (size_t i = 0; i < n; i++)
            keys[i] = sf_hash(&i, sizeof(i));
        assert_ok(sf_fuse_build(&b, keys, n));
        for (size_t i = 0; i < n; i++)
            assert_true(sf_fuse_has(sf_buf_bytes(&b), sf_hash(&i, sizeof(i))));
        for (size_t i = n; i < n + 100000; i++)
            n_wrong += sf_fuse_has(sf_buf_bytes(&b), sf_hash(&i, sizeof(i)));
        assert_true(n_wrong < 600); /* 391 expected */
        if (n == 0)
            assert_int_equal(n_wrong, 0);
        if (n == 65536)
            assert_true(b.len * 8 < n * 10);
        sf_heap_free(keys);
        sf_buf_done(&b);
    }
}

TEST(fuse, takes_repeated_keys)
{
    uint64_t keys[300];
    struct sf_buf b = {0};
    for (uint64_t i = 0; i < 300; i++)
        keys[i] = sf_hash(&(uint64_t){i % 100}, 8);
    assert_ok(sf_fuse_build(&b, keys, 300));
    for (uint64_t i = 0; i < 100; i++)
        assert_true(sf_fuse_has(sf_buf_bytes(&b), sf_hash(&i, 8)));
    sf_buf_done(&b);
}

TEST(fuse, does_not_believe_a_wrong_head)
{
    uint64_t keys[50];
    struct sf_buf b = {0};
    struct sf_fuse f;
    for (uint64_t i = 0; i < 50; i++)
        keys[i] = sf_hash(&i, 8);
    assert_ok(sf_fuse_build(&b, keys, 50));
    assert_true(sf_fuse_parse(b.p, b.len, &f));
    assert_false(sf_fuse_parse(b.p, b.len - 1, &f));
    b.p[8] ^= 1; /* the segment's length is not a power of two any more */
    assert_false(sf_fuse_parse(b.p, b.len, &f));
    assert_true(sf_fuse_has(sf_buf_bytes(&b), 1)); /* and excludes nothing */
    sf_buf_done(&b);
}

TEST(fuse, survives_every_failed_allocation)
{
    uint64_t keys[50];
    for (uint64_t i = 0; i < 50; i++)
        keys[i] = sf_hash(&i, 8);
    for (uint64_t nth = 1; nth <= 7; nth++) {
        struct sf_buf b = {0};
        sf_heap_fail_after(nth);
        assert_err(sf_fuse_build(&b, keys, 50), SF_ERR_NOMEM);
        sf_heap_fail_after(0);
        sf_buf_done(&b);
    }
}

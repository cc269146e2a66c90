#include "test.h"

#include "base/hash.h"
#include "base/heap.h"
#include "block/format/bloom.h"

TEST(bloom, says_yes_to_every_key_and_seldom_to_others)
{
    static const size_t SIZES[] = {0, 1, 2, 3, 10, 100, 1000, 65536, 200000};
    for (size_t s = 0; s < sizeof(SIZES) / sizeof(*SIZES); s++) {
        size_t n = SIZES[s], n_wrong = 0;
        uint64_t *keys = sf_heap_new_n(n + 1, sizeof(*keys));
        struct sf_buf b = {0};
        for (size_t i = 0; i < n; i++)
            keys[i] = sf_hash(&i, sizeof(i));
        assert_ok(sf_bloom_build(&b, keys, n, n));
        for (size_t i = 0; i < n; i++)
            assert_true(sf_bloom_has(sf_buf_bytes(&b), keys[i]));
        for (size_t i = n; i < n + 100000; i++)
            n_wrong += sf_bloom_has(sf_buf_bytes(&b), sf_hash(&i, sizeof(i)));
        assert_true(n_wrong < 300); /* about 180 expected when full */
        if (n == 0)
            assert_int_equal(n_wrong, 0);
        if (n >= 65536)
            assert_true(b.len * 8 < n * 14 + 512);
        sf_heap_free(keys);
        sf_buf_done(&b);
    }
}

TEST(bloom, takes_repeated_keys_and_crafted_ones)
{
    uint64_t keys[300];
    struct sf_buf b = {0};
    for (uint64_t i = 0; i < 300; i++)
        keys[i] = i < 200 ? i % 50 : UINT64_MAX - i; /* all in the first and in the last block */
    assert_ok(sf_bloom_build(&b, keys, 300, 150));
    for (size_t i = 0; i < 300; i++)
        assert_true(sf_bloom_has(sf_buf_bytes(&b), keys[i]));
    sf_buf_done(&b);
}

TEST(bloom, stays_inside_a_filter_of_any_length)
{
    uint64_t off;
    assert_false(sf_bloom_place(0, 1, &off));
    assert_false(sf_bloom_place(63, 1, &off));
    assert_false(sf_bloom_place(100, 1, &off));
    assert_true(sf_bloom_has(SF_BYTES_NONE, 1)); /* excludes nothing */
    for (uint64_t len = 64; len <= 640; len += 64) {
        assert_true(sf_bloom_place(len, UINT64_MAX, &off));
        assert_int_equal(off, len - 64);
        assert_true(sf_bloom_place(len, 0, &off));
        assert_int_equal(off, 0);
    }
}

TEST(bloom, reports_missing_memory)
{
    uint64_t key = 1;
    struct sf_buf b = {0};
    sf_heap_fail_after(1);
    assert_err(sf_bloom_build(&b, &key, 1, 1), SF_ERR_NOMEM);
    sf_heap_fail_after(0);
    sf_buf_done(&b);
}

#include "test.h"

#include "base/hash.h"
#include "block/format/bloom.h"
#include "block/span/writer.h"

enum { N_TEXTS = 1000 };

/* One group of `n_granules` granules, each with the same texts: the filter of their values. */
static struct sf_buf make_group(uint32_t n_granules, size_t *out_cap)
{
    static char room[N_TEXTS][16];
    struct sf_span_block_writer w = {.has_filters = true};
    sf_str list[N_TEXTS];
    struct sf_text_list texts = {.list = list, .n = N_TEXTS};
    struct sf_buf filter;

    for (int i = 0; i < N_TEXTS; i++)
        list[i] = (sf_str){room[i], (size_t)snprintf(room[i], sizeof(room[i]), "value %d", i)};
    for (w.n_granules = 0; w.n_granules < n_granules; w.n_granules++)
        assert_true(sf_filter_stage_add_all(&w.attr_hashes, 77, &texts, NULL));
    *out_cap = w.attr_hashes.cap;
    assert_true(sf_filter_stage_close_group(&w));
    assert_int_equal(w.n_groups, 1);
    assert_int_equal(w.attr_hashes.len, 0);
    filter = w.attr_filters;
    for (int i = 0; i < N_TEXTS; i++)
        assert_true(sf_bloom_has(sf_buf_bytes(&filter), sf_hash_mix(77, sf_hash_str(list[i]))));
    sf_buf_done(&w.attr_hashes);
    sf_buf_done(&w.attr_groups);
    sf_buf_done(&w.span_groups);
    sf_buf_done(&w.span_filters);
    return filter;
}

TEST(filter_stage, sizes_a_filter_by_distinct_values)
{
    size_t cap;
    struct sf_buf once = make_group(1, &cap), often = make_group(64, &cap);
    assert_in_range(once.len, N_TEXTS * 12 / 8, N_TEXTS * 12 / 8 + SF_BLOOM_BLOCK_LEN);
    /* Of 64,000 hashes a sixteenth is counted: 62 of 1,000 values, give or take a quarter, and 16
     * more. */
    assert_in_range(often.len, once.len, 2 * once.len);
    sf_buf_done(&once);
    sf_buf_done(&often);
}

TEST(filter_stage, keeps_a_bounded_number_of_repeated_hashes)
{
    size_t cap;
    struct sf_buf filter = make_group(3000, &cap); /* three million hashes */
    assert_true(cap <= (size_t)16 << 20);
    assert_in_range(filter.len, N_TEXTS * 12 / 8, 2 * N_TEXTS * 12 / 8);
    sf_buf_done(&filter);
}

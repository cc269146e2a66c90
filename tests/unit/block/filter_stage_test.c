#include "test.h"

#include "base/hash.h"
#include "block/format/bloom.h"
#include "block/format/section.h"
#include "block/span/reader.h"
#include "block/span/writer.h"

enum { N_TEXTS = 1000, BITS = 14 };

static uint64_t value_of(uint32_t group, uint32_t i)
{
    return sf_hash_mix(group + 77, i + 1);
}

static void done(struct sf_span_block_writer *w)
{
    sf_buf_done(&w->attr_hashes);
    sf_buf_done(&w->attr_groups);
    sf_buf_done(&w->attr_filters);
    sf_buf_done(&w->attr_set);
}

/* One group of `n_granules` granules, each with the same texts: the filter of their values. */
static size_t len_of_group(uint32_t n_granules, size_t *out_cap)
{
    static char room[N_TEXTS][16];
    struct sf_span_block_writer w = {.has_filters = true};
    sf_str list[N_TEXTS];
    struct sf_text_list texts = {.list = list, .n = N_TEXTS};
    size_t len;

    for (int i = 0; i < N_TEXTS; i++)
        list[i] = (sf_str){room[i], (size_t)snprintf(room[i], sizeof(room[i]), "value %d", i)};
    for (w.n_granules = 0; w.n_granules < n_granules; w.n_granules++)
        assert_true(sf_filter_stage_add_all(&w.attr_hashes, 77, &texts, NULL));
    *out_cap = w.attr_hashes.cap;
    assert_true(sf_filter_stage_close_group(&w));
    assert_int_equal(w.n_groups, 1);
    assert_int_equal(w.attr_hashes.len, 0);
    for (int i = 0; i < N_TEXTS; i++)
        assert_true(sf_bloom_has(sf_buf_bytes(&w.attr_set), sf_hash_mix(77, sf_hash_str(list[i]))));
    len = w.attr_set.len;
    done(&w);
    return len;
}

TEST(filter_stage, sizes_a_filter_by_distinct_values)
{
    size_t cap, once = len_of_group(1, &cap), often = len_of_group(64, &cap);
    assert_in_range(once, N_TEXTS * BITS / 8, N_TEXTS * BITS / 8 + SF_BLOOM_BLOCK_LEN);
    /* Of 64,000 hashes a sixteenth is counted: 62 of 1,000 values, give or take a quarter, and 16
     * more. */
    assert_in_range(often, once, 2 * once);
}

TEST(filter_stage, keeps_a_bounded_number_of_repeated_hashes)
{
    size_t cap, len = len_of_group(3000, &cap); /* three million hashes */
    assert_true(cap <= (size_t)16 << 20);
    assert_in_range(len, N_TEXTS * BITS / 8, 2 * N_TEXTS * BITS / 8);
}

/* Groups of two granules with so many values each, as section AFLT; and a reader of it. */
struct section {
    struct sf_buf content, pages;
    struct sf_span_block_reader reader;
};

static void write_groups(struct section *s, const uint32_t *sizes, uint32_t n)
{
    struct sf_span_block_writer w = {.has_filters = true};
    *s = (struct section){0};
    for (uint32_t g = 0; g < n; g++) {
        for (uint32_t i = 0; i < sizes[g]; i++)
            sf_buf_add_u64le(&w.attr_hashes, value_of(g, i));
        w.n_granules += 2;
        assert_true(sf_filter_stage_close_group(&w));
    }
    assert_true(sf_filter_stage_encode_groups(&w, &s->content));
    sf_section_pages_encode(&s->pages, sf_buf_bytes(&s->content));
    s->reader.memory = s->pages;
    s->reader.len = s->reader.data_end = s->pages.len;
    s->reader.n_granules = w.n_granules;
    s->reader.sections[SF_SECTION_AFLT] = (struct sf_section){
        .id = SF_SECTION_AFLT, .stored_len = s->pages.len, .raw_len = s->content.len};
    done(&w);
}

static void section_done(struct section *s)
{
    sf_buf_done(&s->content);
    sf_buf_done(&s->pages);
}

/* All groups of a section, from the granule of the first on. */
static uint32_t all_groups(const struct section *s, struct sf_arena scratch,
                           struct sf_filter_group *out, uint32_t cap)
{
    uint32_t n = 0, n_some;
    struct sf_why why;
    for (uint32_t granule = 0; granule < s->reader.n_granules; n += n_some) {
        assert_ok(sf_filter_probe_groups(&s->reader, SF_SECTION_AFLT, granule, scratch, out + n,
                                         cap - n, &n_some, &why));
        granule = out[n + n_some - 1].first + out[n + n_some - 1].n;
    }
    return n;
}

/* Of one size, of growing sizes, small ones between, empty ones, and more than one read takes. */
static const uint32_t SIZES[][40] = {
    {5000, 5001, 4990, 5100, 5050, 4000, 2600},
    {100, 110, 130, 200, 400, 3000, 6000, 7000},
    {3000, 12, 3000, 3010, 9, 0, 0, 2990, 3000, 1},
    {0, 1},
    {900, 900, 900, 900, 900, 900, 900, 900, 900, 900, 900, 900, 900, 900, 900, 900, 900, 900, 900,
     900, 900, 900, 900, 900, 900, 900, 900, 900, 900, 900, 900, 900, 900, 900, 900, 900, 900, 900},
};
static const uint32_t N_GROUPS[] = {7, 8, 10, 2, 38};

TEST(filter_stage, stores_filters_that_have_every_value_of_their_group)
{
    struct sf_arena scratch = {0};
    assert_true(sf_arena_init(&scratch, 1 << 24));
    for (size_t k = 0; k < sizeof(N_GROUPS) / sizeof(*N_GROUPS); k++) {
        struct sf_filter_group groups[40];
        struct section s;
        struct sf_why why;
        uint64_t sum = 0;
        write_groups(&s, SIZES[k], N_GROUPS[k]);
        assert_int_equal(all_groups(&s, scratch, groups, 40), N_GROUPS[k]);
        for (uint32_t g = 0; g < N_GROUPS[k]; g++) {
            struct sf_arena tmp = scratch;
            sf_bytes filter;
            uint32_t n_wrong = 0;
            assert_int_equal(groups[g].first, 2 * g);
            assert_int_equal(groups[g].n, 2);
            assert_ok(
                sf_filter_probe_load(&s.reader, SF_SECTION_AFLT, &groups[g], &tmp, &filter, &why));
            assert_int_equal(filter.len, groups[g].len);
            for (uint32_t i = 0; i < SIZES[k][g]; i++) {
                bool is_yes, is_any;
                assert_true(sf_bloom_has(filter, value_of(g, i)));
                assert_ok(sf_filter_probe_group(&s.reader, SF_SECTION_AFLT, &groups[g],
                                                value_of(g, i), scratch, &is_yes, &why));
                assert_ok(sf_filter_probe_any(&s.reader, SF_SECTION_AFLT, groups, N_GROUPS[k],
                                              value_of(g, i), scratch, &is_any, &why));
                assert_true(is_yes && is_any);
            }
            for (uint32_t i = 0; i < 10000; i++) {
                bool is_yes;
                assert_ok(sf_filter_probe_group(&s.reader, SF_SECTION_AFLT, &groups[g],
                                                value_of(1000, i), scratch, &is_yes, &why));
                assert_int_equal(is_yes, sf_bloom_has(filter, value_of(1000, i)));
                n_wrong += is_yes;
            }
            assert_true(n_wrong < 60); /* about 18 expected, 27 with a sixteenth too few blocks */
            sum += groups[g].len;
        }
        assert_int_equal(sum + 8 + (uint64_t)N_GROUPS[k] * SF_BLOCK_GROUP_REC_LEN, s.content.len);
        section_done(&s);
    }
    sf_arena_done(&scratch);
}

TEST(filter_stage, stores_filters_of_similar_size_side_by_side)
{
    struct sf_arena scratch = {0};
    struct sf_filter_group groups[40];
    struct section s;
    assert_true(sf_arena_init(&scratch, 1 << 24));
    write_groups(&s, SIZES[0], 7);
    all_groups(&s, scratch, groups, 40);
    for (uint32_t g = 0; g < 7; g++) {
        assert_int_equal(groups[g].beside, 7);
        assert_int_equal(groups[g].len, groups[0].len);
        assert_int_equal(groups[g].off, groups[0].off + (uint64_t)g * SF_BLOOM_BLOCK_LEN);
    }
    section_done(&s);
    write_groups(&s, SIZES[2], 10); /* a small one is not given the size of a large one */
    all_groups(&s, scratch, groups, 40);
    assert_true(groups[1].len < groups[0].len / 2);
    assert_int_equal(groups[2].beside, 2);
    assert_int_equal(groups[3].beside, 2);
    section_done(&s);
    sf_arena_done(&scratch);
}

TEST(filter_stage, refuses_groups_that_lie_outside_the_section)
{
    struct sf_arena scratch = {0};
    struct sf_filter_group groups[40], wrong[4];
    struct section s;
    struct sf_why why;
    sf_bytes filter;
    bool is_yes;
    assert_true(sf_arena_init(&scratch, 1 << 24));
    write_groups(&s, SIZES[0], 7);
    all_groups(&s, scratch, groups, 40);
    for (int i = 0; i < 4; i++)
        wrong[i] = groups[6];
    wrong[0].beside = 0;
    wrong[1].beside = UINT32_MAX;
    wrong[2].off = UINT64_MAX - 3;
    wrong[3].len = (uint64_t)UINT32_MAX * SF_BLOOM_BLOCK_LEN;
    for (int i = 0; i < 4; i++) {
        struct sf_arena tmp = scratch;
        assert_err(sf_filter_probe_load(&s.reader, SF_SECTION_AFLT, &wrong[i], &tmp, &filter, &why),
                   SF_ERR_CORRUPT);
        assert_err(sf_filter_probe_group(&s.reader, SF_SECTION_AFLT, &wrong[i], UINT64_MAX / 2,
                                         scratch, &is_yes, &why),
                   SF_ERR_CORRUPT);
        assert_err(sf_filter_probe_any(&s.reader, SF_SECTION_AFLT, &wrong[i], 1, UINT64_MAX / 2,
                                       scratch, &is_yes, &why),
                   SF_ERR_CORRUPT);
    }
    section_done(&s);
    sf_arena_done(&scratch);
}

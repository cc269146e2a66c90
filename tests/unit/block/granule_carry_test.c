#include "block/span/granule_carry.h"

#include "random_block.h"

static const int64_t CREATED_NS = INT64_C(1800000000000000000);

static struct sf_span_block_writer *new_writer(bool is_compressed)
{
    struct sf_span_block_options o = {.info = {.block_id = 7, .level = 1, .created_ns = CREATED_NS},
                                      .is_compressed = is_compressed};
    struct sf_span_block_writer *w;
    struct sf_why why;
    assert_ok(sf_span_block_writer_new(&o, &w, &why));
    return w;
}

static struct sf_span_block_reader *finish(struct sf_span_block_writer *w)
{
    struct sf_span_block_reader *r;
    struct sf_buf memory = {0};
    struct sf_why why;
    uint64_t len;
    if (sf_span_block_writer_finish(w, &len, NULL, &memory, &why))
        fail_msg("%s", why.text);
    sf_span_block_writer_free(w);
    if (sf_span_block_reader_open_memory(&memory, SF_TABLES_ALL, &r, &why))
        fail_msg("%s", why.text);
    return r;
}

static struct sf_span_block_reader *write_some(uint64_t seed, bool is_compressed, uint32_t n_traces,
                                               struct sf_arena *a, struct random_block *b)
{
    struct dice d = {seed};
    struct sf_span_block_writer *w = new_writer(is_compressed);
    struct sf_why why;
    assert_ok(add_random(w, &d, a, n_traces, 9, b, &why));
    return finish(w);
}

static void *unknown(struct sf_arena *a, uint32_t n)
{
    uint32_t *codes = sf_arena_new_n(a, n + 1, sizeof(*codes));
    memset(codes, 0xff, n * sizeof(*codes));
    return codes;
}

static void carry_all(struct sf_span_block_writer *w, const struct sf_span_block_reader *r)
{
    struct sf_arena a = make_arena();
    struct sf_block_codes codes;
    uint32_t n_resources, n_scopes, n_keys;
    struct sf_why why;

    sf_granule_carry_tables(r, &n_resources, &n_scopes, &n_keys);
    codes = (struct sf_block_codes){unknown(&a, n_resources), unknown(&a, n_scopes),
                                    unknown(&a, n_keys)};
    for (uint32_t g = 0; g < sf_span_block_reader_granules(r); g++) {
        if (sf_span_block_writer_granule(w, r, g, &codes, a, &why))
            fail_msg("%s", why.text);
    }
    sf_arena_done(&a);
}

static void check(const struct sf_span_block_reader *r)
{
    struct sf_arena a = make_arena();
    struct sf_why why;
    uint64_t n_faults;
    assert_ok(sf_span_block_verify(r, a, no_finding, NULL, &n_faults, &why));
    assert_int_equal(n_faults, 0);
    sf_arena_done(&a);
}

static uint64_t count_of(const struct sf_block_key *k, const struct sf_value *v)
{
    for (uint32_t i = 0; i < k->n_top; i++) {
        if (sf_value_eq(k->top[i], *v))
            return k->top_counts[i];
    }
    return 0;
}

/* Keys in any order, and their values in any order. */
static void compare_keys(const struct sf_span_block_reader *have,
                         const struct sf_span_block_reader *want)
{
    uint32_t n_have, n_want;
    const struct sf_block_key *x = sf_span_block_reader_keys(have, &n_have),
                              *y = sf_span_block_reader_keys(want, &n_want);
    assert_int_equal(n_have, n_want);
    for (uint32_t i = 0; i < n_want; i++) {
        const struct sf_block_key *k = NULL;
        for (uint32_t j = 0; j < n_have; j++) {
            if (x[j].tenant == y[i].tenant && x[j].scope == y[i].scope &&
                sf_str_eq(x[j].name, y[i].name))
                k = &x[j];
        }
        assert_non_null(k);
        assert_int_equal(k->n_spans, y[i].n_spans);
        assert_int_equal(k->types, y[i].types);
        assert_int_equal(k->is_complete, y[i].is_complete);
        assert_int_equal(k->n_top, y[i].n_top);
        for (uint32_t v = 0; k->is_complete && v < k->n_top; v++)
            assert_int_equal(count_of(k, &y[i].top[v]), y[i].top_counts[v]);
    }
}

static void compare_operations(const struct sf_span_block_reader *have,
                               const struct sf_span_block_reader *want)
{
    uint32_t n_have, n_want;
    const struct sf_block_operation *x = sf_span_block_reader_operations(have, &n_have),
                                    *y = sf_span_block_reader_operations(want, &n_want);
    assert_int_equal(n_have, n_want);
    for (uint32_t i = 0; i < n_want; i++) {
        assert_true(sf_str_eq(x[i].service, y[i].service) && sf_str_eq(x[i].name, y[i].name));
        assert_memory_equal(&x[i].all, &y[i].all, sizeof(x[i].all));
    }
    sf_span_block_reader_entries(have, &n_have);
    sf_span_block_reader_entries(want, &n_want);
    assert_int_equal(n_have, n_want);
}

TEST(granule_carry, gives_the_block_that_its_rows_would_give)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct sf_arena a = make_arena();
        struct random_block b;
        struct sf_span_block_reader *from = write_some(seed, true, 20 + (uint32_t)seed * 40, &a,
                                                       &b),
                                    *to;
        struct sf_span_block_writer *w = new_writer(true);
        carry_all(w, from);
        to = finish(w);
        assert_int_equal(sf_span_block_reader_info(to)->n_rows, b.n);
        assert_int_equal(sf_span_block_reader_info(to)->n_traces,
                         sf_span_block_reader_info(from)->n_traces);
        compare_all(to, &b, SF_COL_ALL & ~(uint32_t)(SF_COL_RESOURCE | SF_COL_SCOPE));
        compare_keys(to, from);
        compare_operations(to, from);
        check(to);
        sf_span_block_reader_close(from);
        sf_span_block_reader_close(to);
        sf_arena_done(&a);
    }
}

/* The second granule's codes are other ones in the block that has the first. */
TEST(granule_carry, renames_what_two_blocks_number_differently)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct sf_arena a = make_arena(), req = make_arena();
        struct random_block b[3];
        struct sf_span_block_reader *one = write_some(seed, true, 90, &a, &b[0]),
                                    *two = write_some(seed + 100, true, 60, &a, &b[1]), *to;
        struct sf_span_block_writer *w = new_writer(true);
        struct dice d = {seed + 200};
        struct sf_why why;
        uint32_t at = 0, n_before = 0;
        /* Those of the second tenant stay in the open granule, and come last. */
        assert_ok(add_random(w, &d, &a, 6, 3, &b[2], &why));
        while (b[2].tenants[n_before] == 1)
            n_before++;
        carry_all(w, one);
        carry_all(w, two);
        to = finish(w);
        assert_int_equal(sf_span_block_reader_info(to)->n_rows, b[0].n + b[1].n + b[2].n);
        check(to);
        for (uint32_t g = 0; g < sf_span_block_reader_granules(to); g++) {
            struct sf_span_rows rows;
            sf_arena_reset(&req);
            assert_ok(sf_granule_view_read(to, g, SF_COL_ALL, NULL, 0, &req, &rows, &why));
            for (uint32_t i = 0; i < rows.n_rows; i++, at++) {
                struct sf_span s = sf_span_rows_get(&rows, i);
                bool is_first = at - n_before < b[0].n;
                const struct sf_span_block_reader *from = is_first ? one : two;
                const struct random_block *was = is_first ? &b[0] : &b[1];
                uint32_t n, row = at - n_before - (is_first ? 0 : b[0].n);
                if (at < n_before || at - n_before >= b[0].n + b[1].n)
                    continue;
                assert_null(
                    span_difference(&s, &was->spans[row],
                                    SF_COL_ALL & ~(uint32_t)(SF_COL_RESOURCE | SF_COL_SCOPE)));
                assert_true(sf_str_eq(
                    rows.resources[s.resource].service,
                    sf_span_block_reader_resources(from, &n)[was->spans[row].resource].service));
                assert_true(
                    attrs_eq(rows.scopes[s.scope].attrs,
                             sf_span_block_reader_scopes(from, &n)[was->spans[row].scope].attrs));
            }
        }
        sf_span_block_reader_close(one);
        sf_span_block_reader_close(two);
        sf_span_block_reader_close(to);
        sf_arena_done(&a);
        sf_arena_done(&req);
    }
}

TEST(granule_carry, leaves_parts_small_granules_and_future_ends)
{
    struct sf_arena a = make_arena();
    struct random_block b;
    struct sf_span_block_reader *part = write_some(1, false, 40, &a, &b),
                                *block = write_some(1, true, 40, &a, &b);
    uint32_t n = sf_span_block_reader_granule(block, 0)->n_rows;
    struct sf_granule_info *info = (struct sf_granule_info *)(uintptr_t)block->granules;

    assert_false(sf_granule_carry_can(part, 0, 1));
    info->ts_max_ns = CREATED_NS;
    assert_true(sf_granule_carry_can(block, 0, n));
    assert_false(sf_granule_carry_can(block, 0, n + 1));
    info->ts_max_ns = CREATED_NS + INT64_C(3600000000000);
    assert_false(sf_granule_carry_can(block, 0, 1));
    sf_span_block_reader_close(part);
    sf_span_block_reader_close(block);
    sf_arena_done(&a);
}

TEST(granule_carry, says_which_block_is_damaged)
{
    struct sf_arena a = make_arena();
    struct random_block b;
    struct sf_span_block_reader *from = write_some(2, true, 40, &a, &b);
    struct sf_span_block_writer *w;
    struct sf_block_codes codes;
    uint32_t n_resources, n_scopes, n_keys, n_chunks = from->places[0].n_chunks;
    struct sf_why why;

    sf_granule_carry_tables(from, &n_resources, &n_scopes, &n_keys);
    for (uint32_t i = 0; i < n_chunks; i++) {
        struct sf_arena tmp = a;
        struct sf_chunk_desc d = sf_span_block_reader_desc(from, from->places[0].first_chunk + i);
        if (d.stored_len == 0)
            continue;
        codes = (struct sf_block_codes){unknown(&tmp, n_resources), unknown(&tmp, n_scopes),
                                        unknown(&tmp, n_keys)};
        w = new_writer(true);
        from->memory.p[d.off] ^= 1;
        assert_int_equal(sf_span_block_writer_granule(w, from, 0, &codes, tmp, &why),
                         SF_ERR_CORRUPT);
        from->memory.p[d.off] ^= 1;
        sf_span_block_writer_free(w);
    }
    sf_span_block_reader_close(from);
    sf_arena_done(&a);
}

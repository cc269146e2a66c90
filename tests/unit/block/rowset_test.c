#include "block/rows/rowset.h"

#include <stdio.h>

#include "random_block.h"

static const int64_t NOW_NS = INT64_C(1763200000000000000);

static void add_one(struct sf_rowset *rows, uint32_t tenant, struct sf_span s)
{
    struct sf_resource res = {.service = SF_STR("shop")};
    struct sf_scope scope = {.name = SF_STR("lib")};
    struct sf_why why;
    assert_ok(sf_rowset_resource(rows, tenant, &res, &s.resource, &why));
    assert_ok(sf_rowset_scope(rows, tenant, &scope, &s.scope, &why));
    assert_ok(sf_rowset_add(rows, tenant, &s, (int64_t)s.start_ns, (int64_t)s.end_ns, &why));
}

static struct sf_buf write_bytes(const struct sf_rowset *const *sets, const uint8_t *edges,
                                 size_t n, uint64_t *out_repeats)
{
    struct sf_span_block_options o = {.info = {.block_id = 7}};
    struct sf_arena scratch = make_arena();
    struct sf_span_block_writer *w;
    struct sf_buf memory = {0};
    struct sf_why why;
    uint64_t len;

    *out_repeats = 0;
    assert_ok(sf_span_block_writer_new(&o, &w, &why));
    assert_ok(sf_rowset_write_all(sets, edges, n, w, scratch, out_repeats, &why));
    assert_ok(sf_span_block_writer_finish(w, &len, NULL, &memory, &why));
    sf_span_block_writer_free(w);
    sf_arena_done(&scratch);
    return memory;
}

static struct sf_span_block_reader *write_sets(const struct sf_rowset *const *sets, size_t n,
                                               uint64_t *out_repeats)
{
    struct sf_buf memory = write_bytes(sets, NULL, n, out_repeats);
    struct sf_span_block_reader *r;
    struct sf_why why;
    assert_ok(sf_span_block_reader_open_memory(&memory, SF_TABLES_ALL, &r, &why));
    return r;
}

static struct sf_span_block_reader *write_rows(const struct sf_rowset *rows, uint64_t *out_repeats)
{
    return write_sets(&rows, 1, out_repeats);
}

static struct sf_span span_of(unsigned trace, unsigned id, unsigned at)
{
    struct sf_span s = {.span_id = id,
                        .start_ns = (uint64_t)NOW_NS + at,
                        .end_ns = (uint64_t)NOW_NS + at + 10,
                        .name = SF_STR("op")};
    s.trace_id.b[15] = (uint8_t)trace;
    return s;
}

enum { MANY = 4000 };

/* Writes so many traces, and counts what their ids cost the tables. */
static uint64_t steps_of_traces(bool is_made_to_collide)
{
    struct sf_rowset rows;
    uint64_t n_repeats, steps;
    struct sf_span s = span_of(1, 1, 0);
    assert_true(sf_rowset_init(&rows, 10000, 8 << 20));
    for (uint32_t i = 0, n = 0; n < MANY; i++) {
        sf_store_u32le(s.trace_id.b, i);
        if (is_made_to_collide && (sf_trace_id_hash(s.trace_id, 1) >> 32 & 0x1fff) >= 32)
            continue;
        s.span_id = ++n;
        add_one(&rows, 1, s);
    }
    steps = sf_table_steps;
    sf_span_block_reader_close(write_rows(&rows, &n_repeats));
    steps = sf_table_steps - steps;
    sf_rowset_done(&rows);
    return steps;
}

TEST(rowset, is_written_as_fast_with_trace_ids_that_were_made_to_collide)
{
    uint64_t random = steps_of_traces(false);
    assert_true(steps_of_traces(true) < 2 * random);
}

/* Rows with repeats, many names and attributes, as a process with this secret writes them. */
static struct sf_buf bytes_with_seed(uint64_t seed)
{
    struct sf_rowset rows;
    const struct sf_rowset *set = &rows;
    struct sf_buf out;
    uint64_t n_repeats;
    sf_key_fix(seed);
    assert_true(sf_rowset_init(&rows, 10000, 8 << 20));
    for (unsigned i = 0; i < MANY; i++) {
        char name[16], text[16];
        struct sf_attr attrs[2] = {
            {.key = SF_STR("user"), .val = {.type = SF_VALUE_STR, .str = {text, 0}}},
            {.key = SF_STR("size"), .val = {.type = SF_VALUE_INT, .i64 = i * 7919 % 1009}}};
        struct sf_span s = span_of(i * 31 % 251, 1 + i % 3000, i);
        s.name = (sf_str){name, (size_t)snprintf(name, sizeof(name), "op-%u", i % 97)};
        attrs[0].val.str.len = (size_t)snprintf(text, sizeof(text), "u%u", i * 17 % 1999);
        s.attrs = (struct sf_attrs){attrs, 2};
        add_one(&rows, 1, s);
    }
    out = write_bytes(&set, NULL, 1, &n_repeats);
    sf_rowset_done(&rows);
    return out;
}

TEST(rowset, is_written_to_the_same_bytes_whatever_the_order_of_tables)
{
    struct sf_buf one = bytes_with_seed(1), two = bytes_with_seed(2);
    assert_true(one.len > 10000);
    assert_int_equal(one.len, two.len);
    assert_memory_equal(one.p, two.p, one.len);
    sf_buf_done(&one);
    sf_buf_done(&two);
}

/* Traces short and long: both ways of searching for repeats. */
TEST(rowset, writes_traces_in_order_and_of_repeats_the_better_copy)
{
    static const unsigned SIZES[] = {3, 200};
    for (int k = 0; k < 2; k++) {
        struct sf_arena a = make_arena();
        unsigned n = SIZES[k];
        struct sf_rowset rows;
        struct sf_span_block_reader *r;
        struct sf_span_rows got;
        struct sf_why why;
        uint64_t n_repeats;

        assert_true(sf_rowset_init(&rows, 10000, 8 << 20));
        for (unsigned i = n; i > 0; i--) { /* the later trace first, the last span first */
            struct sf_span s = span_of(2, 100 + i, 5000 + i);
            add_one(&rows, 1, s);
            s = span_of(1, 100 + i, i);
            add_one(&rows, 1, s);
            if (i % 2) { /* once more, and longer */
                s.end_ns += 7;
                add_one(&rows, 1, s);
                s.end_ns -= 3;
                add_one(&rows, 1, s);
            }
        }
        r = write_rows(&rows, &n_repeats);
        assert_int_equal(n_repeats, 2 * ((n + 1) / 2));
        assert_ok(sf_granule_view_read(r, 0, SF_COL_TIMES, NULL, 0, &a, &got, &why));
        assert_int_equal(got.n_rows, 2 * n);
        for (unsigned i = 0; i < 2 * n; i++) {
            unsigned at = i % n + 1;
            assert_int_equal(got.trace_id[i].b[15], i < n ? 1 : 2);
            assert_int_equal(got.span_id[i], 100 + at);
            assert_int_equal(got.end_ns[i] - got.start_ns[i], i < n && at % 2 ? 17 : 10);
        }
        sf_span_block_reader_close(r);
        sf_rowset_done(&rows);
        sf_arena_done(&a);
    }
}

/* The same trace id and span ids of two tenants are two traces. */
TEST(rowset, keeps_tenants_apart)
{
    struct sf_arena a = make_arena();
    struct sf_rowset rows;
    struct sf_span_block_reader *r;
    struct sf_span_rows got;
    struct sf_why why;
    uint64_t n_repeats;

    assert_true(sf_rowset_init(&rows, 100, 1 << 20));
    for (uint32_t i = 0; i < 10; i++)
        add_one(&rows, 1 + i % 2, span_of(1, 1 + i / 2, i));
    r = write_rows(&rows, &n_repeats);
    assert_int_equal(n_repeats, 0);
    assert_int_equal(sf_span_block_reader_granules(r), 2);
    for (uint32_t g = 0; g < 2; g++) {
        assert_ok(sf_granule_view_read(r, g, 0, NULL, 0, &a, &got, &why));
        assert_int_equal(got.tenant, 1 + g);
        assert_int_equal(got.n_rows, 5);
    }
    sf_span_block_reader_close(r);
    sf_rowset_done(&rows);
    sf_arena_done(&a);
}

TEST(rowset, keeps_attributes_when_keys_are_more_than_dictionaries)
{
    enum { N_ROWS = 300, PER_ROW = 40 };
    struct sf_arena a = make_arena();
    struct sf_rowset rows;
    struct sf_span_block_reader *r;
    struct sf_span_rows got;
    struct sf_why why;
    uint64_t n_repeats;
    uint32_t at = 0;

    assert_true(sf_rowset_init(&rows, N_ROWS, 64 << 20));
    for (uint32_t i = 0; i < N_ROWS; i++) {
        struct sf_span s = span_of(1, 1 + i, i);
        struct sf_attr list[PER_ROW];
        char names[PER_ROW][16];
        for (int k = 0; k < PER_ROW; k++) {
            snprintf(names[k], sizeof(names[k]), "k%u", at++);
            list[k] = (struct sf_attr){sf_str_from(names[k]),
                                       {.type = SF_VALUE_INT, .i64 = at * 3}};
            if (k % 2)
                list[k].val = (struct sf_value){.type = SF_VALUE_STR, .str = list[k].key};
        }
        s.attrs = (struct sf_attrs){list, PER_ROW};
        add_one(&rows, 1, s);
    }
    r = write_rows(&rows, &n_repeats);
    assert_ok(sf_granule_view_read(r, 0, SF_COL_ALL, NULL, 0, &a, &got, &why));
    assert_int_equal(got.n_rows, N_ROWS);
    for (uint32_t i = 0; i < N_ROWS; i++) {
        struct sf_span want, have = sf_span_rows_get(&got, i);
        assert_true(sf_rowset_get(&rows, i, &a, &want));
        assert_int_equal(want.attrs.n, PER_ROW);
        assert_null(span_difference(&have, &want, SF_COL_ATTRS));
    }
    sf_span_block_reader_close(r);
    sf_rowset_done(&rows);
    sf_arena_done(&a);
}

/* Keys, texts, resources and shapes have other codes in each set; of a trace all have some rows,
 * and of every fifth span two have a copy. */
TEST(rowset, writes_several_sets_as_if_they_were_one)
{
    enum { N_SETS = 3, N_ROWS = 300 };
    struct sf_arena a = make_arena();
    struct sf_rowset sets[N_SETS], all;
    const struct sf_rowset *list[N_SETS] = {&sets[0], &sets[1], &sets[2]};
    struct sf_span_block_reader *r;
    struct sf_span_rows got;
    struct sf_why why;
    uint64_t n_repeats;

    assert_true(sf_rowset_init(&all, N_ROWS, 8 << 20));
    for (int i = 0; i < N_SETS; i++)
        assert_true(sf_rowset_init(&sets[i], N_ROWS, 8 << 20));
    for (unsigned i = 0; i < N_ROWS; i++) {
        struct sf_span s = span_of(1 + i / 50, 1 + i, i);
        char text[32];
        struct sf_attr attrs[2] = {
            {i % 3 ? SF_STR("a") : SF_STR("b"), {.type = SF_VALUE_STR, .str = SF_STR("same")}},
            {i % 2 ? SF_STR("c") : SF_STR("a"), {.type = SF_VALUE_STR}}};
        snprintf(text, sizeof(text), "text %u", i % 17);
        attrs[1].val.str = sf_str_from(text);
        s.name = attrs[1].val.str;
        s.parent_id = i % 50 ? i : 0;
        s.attrs = (struct sf_attrs){attrs, 1 + i % 2};
        add_one(&all, 1, s);
        add_one(&sets[i % 7 % N_SETS], 1, s);
        if (i % 5 == 0)
            add_one(&sets[(i % 7 + 1) % N_SETS], 1, s);
    }
    r = write_sets(list, N_SETS, &n_repeats);
    assert_int_equal(n_repeats, N_ROWS / 5);
    assert_ok(sf_granule_view_read(r, 0, SF_COL_ALL, NULL, 0, &a, &got, &why));
    assert_int_equal(got.n_rows, N_ROWS);
    for (uint32_t i = 0; i < N_ROWS; i++) {
        struct sf_span want, have = sf_span_rows_get(&got, i);
        assert_true(sf_rowset_get(&all, i, &a, &want));
        assert_null(span_difference(&have, &want, SF_COL_ALL & ~(SF_COL_RESOURCE | SF_COL_SCOPE)));
    }
    for (int i = 0; i < N_SETS; i++)
        sf_rowset_done(&sets[i]);
    sf_rowset_done(&all);
    sf_span_block_reader_close(r);
    sf_arena_done(&a);
}

/* Texts of batches that failed must not pile up in a memtable that never gets a row. */
TEST(rowset, forgets_texts_when_nothing_is_left_of_it)
{
    struct sf_rowset rows;
    assert_true(sf_rowset_init(&rows, 10, 1 << 20));
    for (int i = 0; i < 100; i++) {
        struct sf_rowset_mark mark = sf_rowset_mark(&rows);
        struct sf_span s = span_of(1, 1, 1);
        char name[32];
        snprintf(name, sizeof(name), "operation %d", i);
        s.name = sf_str_from(name);
        add_one(&rows, 1, s);
        sf_rowset_undo(&rows, mark);
    }
    assert_int_equal(rows.n_rows, 0);
    assert_int_equal(rows.texts.n, 0);
    assert_int_equal(rows.text_len, 0);
    sf_rowset_done(&rows);
}

TEST(rowset, refuses_an_attribute_without_a_type)
{
    struct sf_rowset rows;
    struct sf_attr bad = {.key = SF_STR("k")};
    struct sf_span s = span_of(1, 1, 1);
    struct sf_why why;

    assert_true(sf_rowset_init(&rows, 10, 1 << 20));
    s.attrs = (struct sf_attrs){&bad, 1};
    assert_err(sf_rowset_add(&rows, 1, &s, NOW_NS, NOW_NS, &why), SF_ERR_INPUT);
    assert_int_equal(rows.n_rows, 0);
    assert_int_equal(rows.n_words, 0);
    sf_rowset_done(&rows);
}

/* Rows of traces of ten spans, numbered from `first_trace`. */
static void add_traces(struct sf_rowset *rows, uint32_t first_trace, uint32_t n_rows)
{
    for (uint32_t i = 0; i < n_rows; i++) {
        uint32_t trace = first_trace + i / 10;
        struct sf_span s = span_of(0, first_trace * 10 + i + 1, first_trace * 10 + i);
        sf_store_u32le(s.trace_id.b, trace);
        add_one(rows, 1, s);
    }
}

static void expect_granules(const struct sf_rowset *const *sets, const uint8_t *edges, size_t n,
                            const uint32_t *want, uint32_t n_want)
{
    uint64_t repeats;
    struct sf_buf memory = write_bytes(sets, edges, n, &repeats);
    struct sf_span_block_reader *r;
    struct sf_why why;

    assert_ok(sf_span_block_reader_open_memory(&memory, SF_TABLES_ALL, &r, &why));
    assert_int_equal(repeats, 0);
    assert_int_equal(sf_span_block_reader_granules(r), n_want);
    for (uint32_t g = 0; g < n_want; g++)
        assert_int_equal(sf_span_block_reader_granule(r, g)->n_rows, want[g]);
    sf_span_block_reader_close(r);
}

TEST(rowset, puts_traces_that_may_continue_elsewhere_into_granules_of_their_own)
{
    static const uint8_t BOTH[2] = {SF_EDGE_FIRST | SF_EDGE_LAST, SF_EDGE_FIRST | SF_EDGE_LAST};
    static const uint8_t ONE_EACH[2] = {SF_EDGE_FIRST, SF_EDGE_LAST};
    struct sf_rowset a = {0}, b = {0}, few = {0};
    const struct sf_rowset *sets[2] = {&a, &b}, *few_sets[2] = {&few, &few};

    assert_true(sf_rowset_init(&a, 50000, 1 << 26));
    assert_true(sf_rowset_init(&b, 50000, 1 << 26));
    assert_true(sf_rowset_init(&few, 50000, 1 << 26));
    add_traces(&a, 0, 40000);
    add_traces(&b, 4000, 40000);
    add_traces(&few, 0, 1000);
    /* 80,000 rows: the first and last 1/64 are 625 rows of each set, which 63 traces have. */
    expect_granules(sets, BOTH, 2, (uint32_t[]){1260, 16380, 16380, 16380, 16380, 11960, 1260}, 7);
    /* 1,250 rows of one set, which are 125 traces. */
    expect_granules(sets, ONE_EACH, 2, (uint32_t[]){1250, 16380, 16380, 16380, 16380, 11980, 1250},
                    7);
    expect_granules(sets, NULL, 2, (uint32_t[]){16380, 16380, 16380, 16380, 14480}, 5);
    expect_granules(few_sets, BOTH, 1, (uint32_t[]){1000}, 1);
    sf_rowset_done(&a);
    sf_rowset_done(&b);
    sf_rowset_done(&few);
}

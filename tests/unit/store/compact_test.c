#include "test.h"

#include "base/heap.h"
#include "block/span/span_block_reader.h"
#include "store/local/write/compact.h"
#include "store/local/write/seal.h"
#include "support/store_profile.h"
#include "support/store_rig.h"

static const uint64_t START_NS = UINT64_C(1763200800) * 1000000000; /* a full hour */

static struct sf_local_stats stats_of(struct store_rig *r)
{
    struct sf_local_stats s;
    sf_local_figures_stats(r->store, &s);
    return s;
}

static char first_block[64];

static bool pick_first(void *arg, const struct sf_block_row *row)
{
    (void)arg;
    if (!first_block[0])
        snprintf(first_block, sizeof(first_block), "%s", row->path);
    return true;
}

/* Flips a bit at `part` of 16 of the first block's data; its length is not changed. */
static void damage_first_block(struct store_rig *r, unsigned part)
{
    struct sf_file f = SF_FILE_NONE;
    uint64_t len, at;
    uint8_t byte;
    first_block[0] = 0;
    assert_ok(sf_catalogue_blocks(store_rig_local(r)->catalogue, pick_first, NULL, &r->why));
    store_rig_close(r);
    assert_ok(sf_dir_open_write(r->dir, first_block, &f, &r->why));
    assert_ok(sf_file_len(&f, &len, &r->why));
    at = 128 + (len - 128 - 64) * part / 16;
    assert_ok(sf_file_read_at(&f, at, &byte, 1, &r->why));
    byte ^= 0x10;
    assert_ok(sf_file_write_at(&f, at, &byte, 1, &r->why));
    sf_file_close(&f);
    assert_ok(store_rig_open(r));
}

static void put(struct store_rig *r, struct sf_otlp_make *m, uint32_t tenant, uint32_t n)
{
    struct sf_span_batch b;
    sf_otlp_make_batch(m, n, &r->arena, &b);
    assert_ok(store_put(r, 0, tenant, &b, 0));
}

TEST(compact, turns_level_0_into_one_block_per_tenant_and_hour)
{
    struct store_rig r;
    struct sf_otlp_make m;
    struct sf_local_stats s;
    store_rig_init(&r);
    r.config.tuning.compact_blocks = 4;
    r.config.tuning.closed_delay_ns = INT64_MAX / 4; /* no hour ever closes */
    sf_otlp_make_init(&m, 1, START_NS);
    assert_ok(store_rig_open(&r));
    for (int i = 0; i < 4; i++) {
        s = stats_of(&r);
        assert_int_equal(s.n_blocks[0], i);
        put(&r, &m, 1, 100);
        put(&r, &m, 2, 50);
        assert_ok(r.store->ops->flush(r.store, &r.why));
        if (i < 3)
            assert_ok(sf_compact_all(store_rig_local(&r), &r.why));
    }
    m.now_ns += 3600000000000;
    put(&r, &m, 1, 10);
    assert_ok(r.store->ops->flush(r.store, &r.why));
    assert_ok(sf_compact_all(store_rig_local(&r), &r.why));
    s = stats_of(&r);
    assert_int_equal(s.n_blocks[0], 1); /* the next hour has too few */
    assert_int_equal(s.n_blocks[1], 2);
    assert_int_equal(s.block_rows[1], 600);
    store_rig_done(&r);
}

TEST(compact, merges_what_is_left_of_a_closed_hour)
{
    struct store_rig r;
    struct sf_otlp_make m;
    struct sf_local_stats s;
    store_rig_init(&r);
    sf_otlp_make_init(&m, 2, START_NS);
    assert_ok(store_rig_open(&r));
    put(&r, &m, 1, 100);
    m.now_ns += 3600000000000; /* the same flush, another hour */
    put(&r, &m, 1, 100);
    assert_ok(r.store->ops->flush(r.store, &r.why));
    assert_int_equal(stats_of(&r).n_blocks[0], 1);
    assert_ok(sf_compact_all(store_rig_local(&r), &r.why));
    s = stats_of(&r);
    assert_int_equal(s.n_blocks[0], 0);
    assert_int_equal(s.n_blocks[1], 2);
    assert_int_equal(s.block_rows[1], 200);
    store_rig_done(&r);
}

TEST(compact, joins_late_spans_and_drops_repeats)
{
    struct store_rig r;
    struct sf_scope scope = {0};
    struct sf_resource res = {.service = SF_STR("a")};
    struct sf_span span = {.trace_id = {{1, 2, 3}},
                           .span_id = 7,
                           .start_ns = START_NS,
                           .end_ns = START_NS + 5,
                           .name = SF_STR("first")};
    struct sf_span_batch b = {&res, &scope, &span, 1, 1, 1};
    struct store_answer a;
    store_rig_init(&r);
    r.config.tuning.compact_blocks = 2;
    assert_ok(store_rig_open(&r));
    assert_ok(store_put(&r, 0, 1, &b, 0));
    assert_ok(r.store->ops->flush(r.store, &r.why));
    span.name = SF_STR("again, and it ended later");
    span.end_ns += 100;
    assert_ok(store_put(&r, 0, 1, &b, 0));
    span.span_id = 8;
    span.parent_id = 7;
    span.name = SF_STR("late child");
    assert_ok(store_put(&r, 1, 1, &b, 0));
    span.span_id = 7;
    span.kind = SF_KIND_CLIENT; /* shares the id, is another span */
    span.name = SF_STR("client side");
    assert_ok(store_put(&r, 1, 1, &b, 0));
    for (int round = 0; round < 3; round++) {
        a = store_trace(&r, 1, span.trace_id);
        assert_int_equal(a.n, 3);
        for (uint32_t i = 0; i < a.n; i++)
            assert_false(sf_str_eq(a.spans[i].name, SF_STR("first")));
        assert_ok(r.store->ops->flush(r.store, &r.why));
        if (round)
            assert_ok(sf_compact_all(store_rig_local(&r), &r.why));
    }
    assert_int_equal(stats_of(&r).block_rows[1], 3);
    assert_int_equal(stats_of(&r).n_blocks[0], 0);
    store_rig_done(&r);
}

TEST(compact, keeps_a_trace_of_a_hundred_thousand_spans)
{
    enum { N = 100000, PER_BATCH = 5000 };
    struct store_rig r;
    struct sf_scope scope = {0};
    struct sf_resource res = {.service = SF_STR("big")};
    struct sf_span *spans;
    struct sf_span_cursor *c;
    struct sf_span_rows rows;
    uint64_t last_ns = 0;
    uint8_t *seen;
    store_rig_init(&r);
    r.config.tuning.merge_rows = 8000;
    assert_ok(store_rig_open(&r));
    spans = calloc(PER_BATCH, sizeof(*spans));
    for (uint32_t at = 0; at < N; at += PER_BATCH) {
        struct sf_span_batch b = {&res, &scope, spans, 1, 1, PER_BATCH};
        for (uint32_t i = 0; i < PER_BATCH; i++)
            spans[i] = (struct sf_span){.trace_id = {{5}},
                                        .span_id = at + i + 1,
                                        .parent_id = (at + i) / 3,
                                        .start_ns = START_NS + (uint64_t)(N - at - i) * 1000,
                                        .end_ns = START_NS + (uint64_t)(N - at - i) * 1000 + 10,
                                        .name = SF_STR("step")};
        assert_ok(store_put(&r, 0, 1, &b, 0));
        if (at % 25000 == 0)
            assert_ok(r.store->ops->flush(r.store, &r.why));
    }
    free(spans);
    for (int round = 0; round < 2; round++) {
        uint32_t n = 0;
        seen = calloc(N + 2, 1);
        last_ns = 0;
        r.tenant = 1;
        assert_ok(sf_store_trace(r.store, (sf_trace_id){{5}}, &r.q, &c, &r.why));
        while (c->next(c, &rows)) {
            for (uint32_t i = 0; i < rows.n_rows; i++) {
                assert_true(rows.start_ns[i] >= last_ns);
                last_ns = rows.start_ns[i];
                assert_true(rows.span_id[i] <= N);
                n += !seen[rows.span_id[i]]++;
            }
        }
        assert_ok(c->err);
        c->close(c);
        assert_int_equal(n, N);
        free(seen);
        assert_ok(r.store->ops->flush(r.store, &r.why));
        assert_ok(sf_compact_all(store_rig_local(&r), &r.why));
    }
    store_rig_done(&r);
}

/* A merge of different tenants' blocks would give as many blocks again, and be due again, without
 * end. */
TEST(compact, leaves_a_block_of_each_tenant_in_a_closed_hour)
{
    struct store_rig r;
    struct sf_otlp_make m;
    struct sf_local_stats s;
    uint64_t next_block;
    store_rig_init(&r);
    sf_otlp_make_init(&m, 1, START_NS);
    assert_ok(store_rig_open(&r));
    for (int i = 0; i < 2; i++) {
        for (uint32_t tenant = 1; tenant <= 8; tenant++)
            put(&r, &m, tenant, 20);
        assert_ok(r.store->ops->flush(r.store, &r.why));
    }
    assert_ok(sf_compact_all(store_rig_local(&r), &r.why));
    s = stats_of(&r);
    assert_int_equal(s.n_blocks[0], 0);
    assert_int_equal(s.n_blocks[1], 8);
    next_block = store_rig_local(&r)->next_block;
    assert_ok(sf_compact_all(store_rig_local(&r), &r.why));
    assert_int_equal(store_rig_local(&r)->next_block, next_block); /* nothing was written */
    assert_int_equal(stats_of(&r).n_blocks[1], 8);
    store_rig_done(&r);
}

TEST(compact, leaves_readers_their_blocks)
{
    struct store_rig r;
    struct sf_otlp_make m;
    struct sf_span_query q = {.has_whole_traces = true, .columns = SF_COL_ALL};
    struct sf_span_cursor *c;
    struct store_answer a;
    store_rig_init(&r);
    r.config.tuning.compact_blocks = 2;
    sf_otlp_make_init(&m, 3, START_NS);
    assert_ok(store_rig_open(&r));
    for (int i = 0; i < 3; i++) {
        put(&r, &m, 1, 100);
        assert_ok(r.store->ops->flush(r.store, &r.why));
    }
    assert_ok(r.store->ops->span_scan(r.store, &q, &r.q, &c, &r.why));
    assert_ok(sf_compact_all(store_rig_local(&r), &r.why));
    assert_ok(sf_compact_all(store_rig_local(&r), &r.why));
    a = store_drain(&r, c); /* files that were replaced meanwhile are still there for it */
    assert_ok(a.err);
    assert_int_equal(a.n, 300);
    assert_ok(sf_compact_all(store_rig_local(&r), &r.why));
    assert_int_equal(stats_of(&r).n_blocks[0], 0);
    store_rig_done(&r);
}

static size_t most_for_merges(struct store_rig *r)
{
    return sf_budget_most(&store_rig_local(r)->budget, SF_LINE_MERGE);
}

/* Spans with texts so long that a usual number of them would be far above the line. */
static void put_wide(struct store_rig *r, struct sf_otlp_make *m, uint32_t n, uint32_t len)
{
    struct sf_span_batch b;
    struct sf_span *spans;
    sf_otlp_make_batch(m, n, &r->arena, &b);
    spans = sf_arena_new_n(&r->arena, n, sizeof(*spans));
    for (uint32_t i = 0; i < n; i++) {
        struct sf_attr *a = sf_arena_new(&r->arena, sizeof(*a));
        char *text = sf_arena_new(&r->arena, len);
        for (uint32_t k = 0; k < len; k++)
            text[k] = (char)('a' + sf_otlp_make_below(m, 26));
        *a = (struct sf_attr){SF_STR("text"), {.type = SF_VALUE_STR, .str = {text, len}}};
        spans[i] = b.spans[i];
        spans[i].attrs = (struct sf_attrs){a, 1};
    }
    b.spans = spans;
    assert_ok(store_put(r, 0, 1, &b, 0));
}

TEST(compact, holds_only_as_many_rows_as_the_line_allows)
{
    struct store_rig r;
    struct sf_otlp_make m;
    struct sf_local_stats s;
    size_t cap;
    store_rig_init(&r);
    r.config.memory_len = 64 << 20;
    r.config.tuning.memtable_len = 256 << 10; /* small granules: what is decoded fits beside */
    sf_otlp_make_init(&m, 5, START_NS);
    assert_ok(store_rig_open(&r));
    cap = store_rig_local(&r)->budget.cap[SF_LINE_MERGE];
    for (int i = 0; i < 36; i++)
        put_wide(&r, &m, 10, 20000);
    assert_true((size_t)36 * 10 * 20000 > cap);
    assert_ok(sf_seal_all(store_rig_local(&r), 0, &r.why)); /* parts have to be merged */
    assert_ok(r.store->ops->flush(r.store, &r.why));
    s = stats_of(&r);
    assert_int_equal(s.n_blocks[0], 1);
    assert_int_equal(s.block_rows[0], 360);
    assert_true(most_for_merges(&r) > cap / 4);
    assert_true(most_for_merges(&r) <= cap);
    store_rig_done(&r);
}

/* Granules of the only block of spans there is, and whether it is in order. */
static uint32_t granules_of(struct store_rig *r)
{
    struct sf_snapshot *s = sf_snapshot_take(&store_rig_local(r)->snapshots);
    const struct sf_span_block_reader *reader;
    struct sf_arena scratch;
    uint64_t n_faults = 1;
    uint32_t n;
    assert_int_equal(s->n, 1);
    assert_true(sf_arena_init(&scratch, 1 << 28));
    assert_ok(sf_run_enter(s->runs[0], SF_TABLES_ALL, &reader, NULL));
    n = sf_span_block_reader_granules(reader);
    assert_ok(sf_span_block_verify(reader, scratch, NULL, NULL, &n_faults, NULL));
    assert_int_equal(n_faults, 0);
    sf_run_leave(s->runs[0]);
    sf_snapshot_unref(s);
    sf_arena_done(&scratch);
    return n;
}

TEST(compact, carries_granules_over_whose_traces_are_whole)
{
    for (uint32_t carry_rows = 50; carry_rows <= 150; carry_rows += 100) {
        struct store_rig r;
        struct sf_otlp_make m;
        struct sf_span_batch b, late;
        struct sf_span span;
        store_rig_init(&r);
        r.config.tuning.compact_blocks = 4;
        r.config.tuning.carry_rows = carry_rows;
        sf_otlp_make_init(&m, 3, START_NS);
        assert_ok(store_rig_open(&r));
        for (int i = 0; i < 4; i++) {
            memset(m.open, 0, sizeof(m.open)); /* no trace continues in the next block, */
            sf_otlp_make_batch(&m, 100, &r.arena, &b);
            assert_ok(store_put(&r, 0, 1, &b, 0));
            if (i == 3)
                assert_ok(store_put(&r, 0, 1, &late, 0)); /* but for one */
            late = b;
            span = b.spans[50];
            span.span_id = 4711;
            late.spans = &span;
            late.n_spans = 1;
            assert_ok(r.store->ops->flush(r.store, &r.why));
        }
        assert_ok(sf_compact_all(store_rig_local(&r), &r.why));
        assert_int_equal(stats_of(&r).block_rows[1], 401);
        assert_int_equal(granules_of(&r), carry_rows == 50 ? 3 : 1);
        store_rig_done(&r);
    }
}

static void put_single(struct store_rig *r, uint32_t first, uint32_t n)
{
    struct sf_scope scope = {0};
    struct sf_resource res = {.service = SF_STR("a")};
    struct sf_span *spans = sf_arena_new_n(&r->arena, n, sizeof(*spans));
    struct sf_span_batch b = {&res, &scope, spans, 1, 1, n};
    for (uint32_t i = 0; i < n; i++) {
        spans[i] = (struct sf_span){
            .span_id = first + i + 1, .start_ns = START_NS + i, .end_ns = START_NS + i + 1};
        memcpy(spans[i].trace_id.b, &spans[i].span_id, 8);
    }
    assert_ok(store_put(r, 0, 1, &b, 0));
}

TEST(compact, takes_as_many_blocks_as_the_line_has_room_for_their_traces)
{
    enum { N_BLOCKS = 6, N_ROWS = 4000 };
    struct store_rig r;
    struct sf_local_stats s;
    store_rig_init(&r);
    r.config.memory_len = 8 << 20; /* 384 KB for the list of traces: two blocks' */
    r.config.tuning.compact_blocks = N_BLOCKS;
    assert_ok(store_rig_open(&r));
    for (uint32_t i = 0; i < N_BLOCKS; i++) {
        put_single(&r, i * N_ROWS, N_ROWS);
        assert_ok(r.store->ops->flush(r.store, &r.why));
    }
    assert_int_equal(stats_of(&r).n_blocks[0], N_BLOCKS);
    assert_ok(sf_compact_all(store_rig_local(&r), &r.why)); /* and comes to an end */
    s = stats_of(&r);
    assert_int_equal(s.n_blocks[0], 0);
    assert_int_equal(s.n_blocks[1], N_BLOCKS / 2);
    assert_int_equal(s.block_rows[1], N_BLOCKS * N_ROWS);
    store_rig_done(&r);
}

/* Spans of resources that no other span has: their texts are in the tables of each block. */
static void put_texts(struct store_rig *r, uint32_t first, uint32_t n)
{
    struct sf_scope scope = {0};
    struct sf_resource *res = sf_arena_new_n(&r->arena, n, sizeof(*res));
    struct sf_span *spans = sf_arena_new_n(&r->arena, n, sizeof(*spans));
    struct sf_span_batch b = {res, &scope, spans, n, 1, n};
    for (uint32_t i = 0; i < n; i++) {
        sf_str name;
        sf_arena_print(&r->arena, &name, "service %0500u", first + i);
        res[i] = (struct sf_resource){.service = name};
        spans[i] = (struct sf_span){.span_id = first + i + 1,
                                    .resource = i,
                                    .start_ns = START_NS + i,
                                    .end_ns = START_NS + i + 1};
        memcpy(spans[i].trace_id.b, &spans[i].span_id, 8);
    }
    assert_ok(store_put(r, 0, 1, &b, 0));
}

TEST(compact, takes_as_many_blocks_as_the_line_has_room_for_their_texts)
{
    enum { N_BLOCKS = 6, N_ROWS = 150 };
    struct store_rig r;
    struct sf_local_stats s;
    store_rig_init(&r);
    r.config.memory_len = 8 << 20; /* 192 KB for texts: two blocks' */
    r.config.tuning.compact_blocks = N_BLOCKS;
    assert_ok(store_rig_open(&r));
    for (uint32_t i = 0; i < N_BLOCKS; i++) {
        put_texts(&r, i * N_ROWS, N_ROWS);
        assert_ok(r.store->ops->flush(r.store, &r.why));
    }
    assert_int_equal(stats_of(&r).n_blocks[0], N_BLOCKS);
    assert_ok(sf_compact_all(store_rig_local(&r), &r.why)); /* and comes to an end */
    s = stats_of(&r);
    assert_int_equal(s.n_blocks[0], 0);
    assert_int_equal(s.n_blocks[1], N_BLOCKS / 2);
    assert_int_equal(s.block_rows[1], N_BLOCKS * N_ROWS);
    store_rig_done(&r);
}

/* Alone, since it cannot be merged with another; and what is erased leaves it all the same. */
TEST(compact, rewrites_a_block_that_is_larger_than_the_line)
{
    enum { N_BLOCKS = 2, N_ROWS = 4000, N_PUTS = 3, N_ALL = N_BLOCKS * N_PUTS * N_ROWS };
    struct store_rig r;
    struct sf_local_stats s;
    sf_trace_id id = {{0}};
    uint64_t number = N_ROWS + 17;
    struct sf_selector which = {.what = SF_SELECT_TRACES, .trace_ids = &id, .n_traces = 1};
    store_rig_init(&r);
    r.config.tuning.compact_blocks = 2;
    assert_ok(store_rig_open(&r));
    for (uint32_t i = 0; i < N_BLOCKS; i++) {
        for (uint32_t k = 0; k < N_PUTS; k++)
            put_single(&r, (i * N_PUTS + k) * N_ROWS, N_ROWS);
        assert_ok(r.store->ops->flush(r.store, &r.why));
    }
    store_rig_close(&r);
    r.config.memory_len = 8 << 20; /* 384 KB for the list of traces: 8,000 of them */
    assert_ok(store_rig_open(&r));
    assert_int_equal(stats_of(&r).n_blocks[0], N_BLOCKS);
    assert_ok(sf_compact_all(store_rig_local(&r), &r.why)); /* and comes to an end */
    s = stats_of(&r);
    assert_int_equal(s.block_rows[0] + s.block_rows[1], N_ALL);
    memcpy(id.b, &number, 8);
    assert_int_equal(store_trace(&r, 1, id).n, 1);
    assert_ok(r.store->ops->erase(r.store, 1, &which, &r.why));
    assert_int_equal(store_trace(&r, 1, id).n, 0);
    for (int i = 0; i < 4; i++) {
        assert_ok(r.store->ops->flush(r.store, &r.why));
        assert_ok(sf_compact_all(store_rig_local(&r), &r.why));
    }
    s = stats_of(&r);
    assert_int_equal(s.n_tombstones, 0); /* nothing of it is in a file any more */
    assert_int_equal(s.block_rows[0] + s.block_rows[1], N_ALL - 1);
    number++;
    memcpy(id.b, &number, 8);
    assert_int_equal(store_trace(&r, 1, id).n, 1);
    store_rig_done(&r);
}

/* Profiles of one service whose stacks and spans no other code has: the union is as large as the
 * sum.
 */
static void put_stacks(struct store_rig *r, uint32_t *io_n, uint32_t n)
{
    static char names[STORE_PROFILE_SAMPLES][40];
    static struct store_sample samples[STORE_PROFILE_SAMPLES];
    const struct store_profile is = {
        "a", SF_STR("pod-1"), "process_cpu", "cpu", "nanoseconds", (int64_t)START_NS, 0};
    for (uint32_t done = 0; done < n; done += STORE_PROFILE_SAMPLES) {
        for (uint32_t i = 0; i < STORE_PROFILE_SAMPLES; i++) {
            uint32_t number = ++*io_n;
            snprintf(names[i], sizeof(names[i]), "package.function_number_%08x", number);
            samples[i] = (struct store_sample){names[i], {.span_id = number, .value = 10}};
        }
        assert_ok(store_put_profile(r, &is, samples, STORE_PROFILE_SAMPLES));
    }
}

TEST(compact, takes_as_many_blocks_as_the_line_has_room_for_their_stacks)
{
    enum { N_BLOCKS = 6, N_STACKS = 6400, WRITER_LEN = 2 << 20 };
    struct store_rig r;
    struct sf_local_stats s;
    uint32_t n = 0;
    size_t cap;
    store_rig_init(&r);
    r.config.memory_len = 64 << 20;
    r.config.tuning.compact_blocks = N_BLOCKS;
    assert_ok(store_rig_open(&r));
    cap = store_rig_local(&r)->budget.cap[SF_LINE_MERGE];
    for (uint32_t i = 0; i < N_BLOCKS; i++) {
        put_stacks(&r, &n, N_STACKS);
        assert_ok(r.store->ops->flush(r.store, &r.why));
    }
    assert_int_equal(stats_of(&r).n_blocks[0], N_BLOCKS);
    assert_ok(sf_compact_all(store_rig_local(&r), &r.why)); /* and comes to an end */
    s = stats_of(&r);
    assert_int_equal(s.n_blocks[0], 0);
    assert_in_range(s.n_blocks[1], 2, N_BLOCKS / 2);
    assert_true(most_for_merges(&r) > cap / 4);
    assert_true(most_for_merges(&r) <= cap + WRITER_LEN);
    store_rig_done(&r);
}

static void no_fault(void *arg, const char *sentence)
{
    (void)arg;
    if (strncmp(sentence, "note", 4) != 0)
        fail_msg("%s", sentence);
}

/* Whichever allocation of a merge fails: old blocks go when the new one is there, and not before.
 */
TEST(compact, loses_nothing_for_want_of_memory)
{
    enum { N_ROWS = 60 };
    unsigned n_failed = 0;
    for (uint64_t n = 1; n < 4000; n += 9) {
        struct store_rig r;
        struct sf_local_stats s;
        uint64_t number = 17, n_faults = 1;
        sf_trace_id id = {{0}};
        uint32_t n_stacks = 0;
        enum sf_err err;
        store_rig_init(&r);
        r.config.tuning.compact_blocks = 2;
        assert_ok(store_rig_open(&r));
        for (uint32_t i = 0; i < 2; i++) {
            put_single(&r, i * N_ROWS, N_ROWS);
            put_stacks(&r, &n_stacks, 1);
            assert_ok(r.store->ops->flush(r.store, &r.why));
        }
        sf_heap_fail_after(n);
        err = sf_compact_all(store_rig_local(&r), &r.why);
        sf_heap_fail_after(0);
        store_rig_close(&r);
        assert_ok(sf_local_fsck(r.dir, no_fault, NULL, &n_faults, &r.why));
        assert_int_equal(n_faults, 0);
        assert_ok(store_rig_open(&r));
        s = stats_of(&r);
        assert_int_equal(s.block_rows[0] + s.block_rows[1], 2 * N_ROWS);
        memcpy(id.b, &number, 8);
        assert_int_equal(store_trace(&r, 1, id).n, 1);
        store_rig_done(&r);
        n_failed += err != SF_OK;
        if (!err)
            break;
    }
    assert_true(n_failed > 5);
}

/* Whichever of its columns it is: a merge that fails at the same block each time would never end.
 */
TEST(compact, takes_a_damaged_block_out_of_use_and_goes_on)
{
    unsigned n_quarantined = 0;
    for (unsigned part = 0; part < 16; part++) {
        struct store_rig r;
        struct sf_otlp_make m;
        struct sf_local_stats s;
        store_rig_init(&r);
        r.config.tuning.compact_blocks = 2;
        sf_otlp_make_init(&m, 1, START_NS);
        assert_ok(store_rig_open(&r));
        for (int i = 0; i < 3; i++) {
            put(&r, &m, 1, 100);
            assert_ok(r.store->ops->flush(r.store, &r.why));
        }
        damage_first_block(&r, part);
        for (int i = 0; i < 3; i++)
            (void)sf_compact_all(store_rig_local(&r), &r.why);
        assert_ok(sf_compact_all(store_rig_local(&r), &r.why));
        s = stats_of(&r);
        assert_true(s.n_quarantined <= 1);
        assert_int_equal(s.block_rows[1], s.n_quarantined ? 200 : 300);
        n_quarantined += s.n_quarantined > 0;
        store_rig_done(&r);
    }
    assert_true(n_quarantined >= 6); /* merges read all columns, but not the filters */
}

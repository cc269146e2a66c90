#include "test.h"

#include "support/store_rig.h"

static const uint64_t START_NS = UINT64_C(1763200000) * 1000000000;

static void make(struct store_rig *r, struct sf_otlp_make *m, uint32_t n, struct sf_span_batch *out)
{
    sf_otlp_make_batch(m, n, &r->arena, out);
}

/* How many spans of the batch does their trace contain? Every one, exactly once, is `n`. */
static uint32_t count_found(struct store_rig *r, uint32_t tenant, const struct sf_span_batch *b)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < b->n_spans; i++) {
        struct sf_arena before = r->arena;
        struct store_answer a = store_trace(r, tenant, b->spans[i].trace_id);
        unsigned n = 0;
        assert_ok(a.err);
        for (uint32_t k = 0; k < a.n; k++)
            n += a.spans[k].span_id == b->spans[i].span_id;
        found += n == 1;
        r->arena = before;
    }
    return found;
}

TEST(local, shows_a_trace_at_once_after_the_acknowledgement)
{
    struct store_rig r;
    struct sf_otlp_make m;
    struct sf_span_batch b;
    store_rig_init(&r);
    sf_otlp_make_init(&m, 1, START_NS);
    assert_ok(store_rig_open(&r));
    for (int i = 0; i < 5; i++) {
        make(&r, &m, 50, &b);
        assert_ok(store_put(&r, (unsigned)i % 2, 1, &b, 0));
        assert_int_equal(count_found(&r, 1, &b), 50);
    }
    store_rig_done(&r);
}

/* The log refuses what no segment of it can hold; the rows are in memory by then. */
TEST(local, takes_rows_back_that_the_log_refuses)
{
    struct store_rig r;
    struct sf_otlp_make m;
    struct sf_span_batch small, large;
    store_rig_init(&r);
    r.config.tuning.segment_len = 64 << 10;
    sf_otlp_make_init(&m, 1, START_NS);
    assert_ok(store_rig_open(&r));
    make(&r, &m, 20, &small);
    make(&r, &m, 1000, &large);
    for (int i = 0; i < 2; i++) { /* into an empty memtable, and behind rows of others */
        assert_int_equal(store_put(&r, 0, 1, &large, 0), SF_ERR_LIMIT);
        assert_int_equal(count_found(&r, 1, &large), 0);
        if (i == 0)
            assert_ok(store_put(&r, 0, 1, &small, 0));
        assert_int_equal(count_found(&r, 1, &small), 20);
    }
    assert_ok(r.store->ops->flush(r.store, &r.why));
    assert_int_equal(count_found(&r, 1, &large), 0);
    assert_int_equal(count_found(&r, 1, &small), 20);
    store_rig_done(&r);
}

/* A large request comes in pieces that are decoded from what is logged. */
TEST(local, takes_all_pieces_of_a_request_or_none)
{
    struct store_rig r;
    struct sf_otlp_make m;
    struct sf_span_batch first, second, large;
    struct sf_local_stats stats;
    struct sf_batch *b;
    store_rig_init(&r);
    r.config.tuning.segment_len = 64 << 10;
    sf_otlp_make_init(&m, 1, START_NS);
    assert_ok(store_rig_open(&r));
    make(&r, &m, 20, &first);
    make(&r, &m, 30, &second);
    make(&r, &m, 1000, &large);
    for (int i = 0; i < 3; i++) {
        b = store_batch(&r, 1, &first, 77, sf_clock_wall_ns());
        b->next = store_batch(&r, 1, i == 0 ? &large : &second, 0, b->log.recv_ns);
        b->is_replay_only = b->next->is_replay_only = true;
        if (i == 1) /* no batch that we wrote */
            b->next->log.body = (sf_bytes){(const uint8_t *)"\xff\xff", 2};
        if (i < 2)
            assert_true(store_put_batch(&r, 0, b) != SF_OK && r.why.text[0]);
        else
            assert_ok(store_put_batch(&r, 0, b)); /* what failed is not taken for done */
        assert_int_equal(count_found(&r, 1, &first), i < 2 ? 0 : 20);
        assert_int_equal(count_found(&r, 1, &second), i < 2 ? 0 : 30);
    }
    sf_local_figures_stats(r.store, &stats);
    assert_int_equal(stats.n_spans_appended, 50);
    store_rig_close(&r);
    assert_ok(store_rig_open(&r));
    assert_int_equal(count_found(&r, 1, &first) + count_found(&r, 1, &second), 50);
    assert_int_equal(count_found(&r, 1, &large), 0);
    store_rig_done(&r);
}

/* A repeat that comes while the first one waits for the disk is answered together with it. */
TEST(local, answers_a_repeat_when_the_first_request_is_durable)
{
    enum { N = 40 };
    struct store_rig r;
    struct sf_otlp_make m;
    struct sf_local_stats stats;
    store_rig_init(&r);
    sf_otlp_make_init(&m, 1, START_NS);
    assert_ok(store_rig_open(&r));
    for (unsigned i = 0; i < N; i++) {
        struct store_ticket tickets[2];
        struct sf_span_batch spans;
        make(&r, &m, 5, &spans);
        for (unsigned k = 0; k < 2; k++) {
            struct sf_batch *b = store_batch(&r, 1, &spans, 100 + i, sf_clock_wall_ns());
            tickets[k] = (struct store_ticket){.base = {.done = store_ticket_done}, .rig = &r};
            assert_ok(r.store->ops->append(r.store, k, &b, &tickets[k].base, &r.why));
        }
        for (unsigned k = 0; k < 2; k++)
            assert_ok(store_ticket_wait(&tickets[k]));
        assert_int_equal(count_found(&r, 1, &spans), 5);
    }
    sf_local_figures_stats(r.store, &stats);
    assert_int_equal(stats.n_duplicates, N);
    assert_int_equal(stats.n_spans_appended, 5 * N);
    store_rig_done(&r);
}

TEST(local, keeps_everything_over_flush_and_reopening)
{
    struct store_rig r;
    struct sf_otlp_make m;
    struct sf_span_batch b[6];
    store_rig_init(&r);
    sf_otlp_make_init(&m, 2, START_NS);
    assert_ok(store_rig_open(&r));
    for (int i = 0; i < 6; i++) {
        make(&r, &m, 200, &b[i]);
        assert_ok(store_put(&r, (unsigned)i % 2, 1, &b[i], 0));
        if (i == 2)
            assert_ok(r.store->ops->flush(r.store, &r.why));
    }
    for (int i = 0; i < 6; i++)
        assert_int_equal(count_found(&r, 1, &b[i]), 200);
    assert_ok(r.store->ops->flush(r.store, &r.why));
    for (int i = 0; i < 6; i++)
        assert_int_equal(count_found(&r, 1, &b[i]), 200);
    store_rig_close(&r);
    assert_ok(store_rig_open(&r));
    for (int i = 0; i < 6; i++)
        assert_int_equal(count_found(&r, 1, &b[i]), 200);
    store_rig_done(&r);
}

static struct sf_span_batch crash_batches[8];

static void append_and_die(struct store_rig *r)
{
    if (store_rig_open(r))
        abort();
    for (unsigned i = 0; i < 8; i++) {
        if (store_put(r, i % 2, 1, &crash_batches[i], i + 1))
            abort();
        if (i == 3 && r->store->ops->flush(r->store, &r->why))
            abort();
    }
}

TEST(local, keeps_everything_acknowledged_over_a_crash)
{
    struct store_rig r;
    struct sf_otlp_make m;
    struct sf_local_stats stats;
    store_rig_init(&r);
    sf_otlp_make_init(&m, 3, (uint64_t)sf_clock_wall_ns());
    for (int i = 0; i < 8; i++)
        make(&r, &m, 100, &crash_batches[i]);
    store_in_crashing_process(&r, append_and_die);
    assert_ok(store_rig_open(&r));
    sf_local_figures_stats(r.store, &stats);
    assert_int_equal(stats.n_replayed, 4);
    for (int i = 0; i < 8; i++)
        assert_int_equal(count_found(&r, 1, &crash_batches[i]), 100);
    /* Retries of what a block holds and of what the log held are both recognised. */
    for (unsigned i = 0; i < 8; i++)
        assert_ok(store_put(&r, i % 2, 1, &crash_batches[i], i + 1));
    sf_local_figures_stats(r.store, &stats);
    assert_int_equal(stats.n_duplicates, 8);
    assert_int_equal(stats.n_spans_appended, 0);
    store_rig_done(&r);
}

static void append_all_and_die(struct store_rig *r)
{
    if (store_rig_open(r))
        abort();
    for (unsigned i = 0; i < 8; i++) {
        if (store_put(r, 0, 1, &crash_batches[i], i + 1))
            abort();
    }
}

static void open_and_die(struct store_rig *r)
{
    if (store_rig_open(r))
        abort();
}

/* A start that flushes while it replays, and a crash right after it: the log may only be let go up
 * to what is in blocks. */
TEST(local, keeps_everything_over_a_crash_after_a_start_that_flushed)
{
    static const size_t lens[] = {40 << 10, 88 << 10, 160 << 10};
    for (size_t k = 0; k < sizeof(lens) / sizeof(lens[0]); k++) {
        struct store_rig r;
        struct sf_otlp_make m;
        store_rig_init(&r);
        r.config.tuning.has_no_threads = true;
        sf_otlp_make_init(&m, 4, (uint64_t)sf_clock_wall_ns());
        for (int i = 0; i < 8; i++)
            make(&r, &m, 60, &crash_batches[i]);
        store_in_crashing_process(&r, append_all_and_die);
        r.config.tuning.memtable_len = lens[k]; /* after some requests, not after all */
        r.config.tuning.flush_parts_len = 1;
        store_in_crashing_process(&r, open_and_die);
        assert_ok(store_rig_open(&r));
        for (int i = 0; i < 8; i++)
            assert_int_equal(count_found(&r, 1, &crash_batches[i]), 60);
        store_rig_done(&r);
    }
}

static unsigned n_to_damage; /* the record that cannot be decoded; 0: none */

static enum sf_err replay_some(void *arg, const struct sf_logged *rec, struct sf_batch **out,
                               struct sf_why *why)
{
    if (n_to_damage && --n_to_damage == 0)
        return sf_fail(why, SF_ERR_INPUT, "rig: it cannot be read");
    return store_replay(arg, rec, out, why);
}

/* It was acknowledged: what is lost is stated, and what is behind it is kept. */
TEST(local, counts_a_record_that_cannot_be_decoded_as_lost)
{
    struct store_rig r;
    struct sf_otlp_make m;
    struct sf_local_stats stats;
    store_rig_init(&r);
    r.config.tuning.has_no_threads = true;
    sf_otlp_make_init(&m, 5, (uint64_t)sf_clock_wall_ns());
    for (int i = 0; i < 8; i++)
        make(&r, &m, 10, &crash_batches[i]);
    store_in_crashing_process(&r, append_all_and_die);
    r.config.replay = replay_some;
    n_to_damage = 3;
    assert_ok(store_rig_open(&r));
    sf_local_figures_stats(r.store, &stats);
    assert_int_equal(stats.n_lost_lsn, 1);
    assert_non_null(strstr(r.last_notice, "record 3 skipped"));
    for (int i = 0; i < 8; i++)
        assert_int_equal(count_found(&r, 1, &crash_batches[i]), i == 2 ? 0 : 10);
    store_rig_done(&r);
}

TEST(local, refuses_a_directory_in_use_and_names_who_uses_it)
{
    struct store_rig r;
    struct sf_store *second;
    char pid[32];
    store_rig_init(&r);
    assert_ok(store_rig_open(&r));
    assert_err(sf_local_open_store(&r.config, &second, &r.why), SF_ERR_BUSY);
    snprintf(pid, sizeof(pid), "process %d", (int)getpid());
    assert_non_null(strstr(r.why.text, pid));
    store_rig_done(&r);
}

/* A resource of 7 KB under 12,000 spans that no flush has seen: once, and not once per span. */
TEST(local, reads_a_large_trace_from_memory_with_its_resource_once)
{
    enum { N = 12000, PIECE = 1000, N_ATTRS = 40, LEN = 100 };
    struct store_rig r;
    static struct sf_attr attrs[N_ATTRS];
    static char keys[N_ATTRS][32], text[LEN + N_ATTRS];
    static struct sf_span spans[PIECE];
    struct sf_resource res = {.attrs = {attrs, N_ATTRS}, .service = SF_STR("shop")};
    struct sf_scope scope = {.name = SF_STR("lib")};
    struct sf_span_batch b = {&res, &scope, spans, 1, 1, PIECE};
    sf_trace_id id = {{1, 2, 3}};
    struct store_answer a;

    memset(text, 'x', sizeof(text));
    for (int i = 0; i < N_ATTRS; i++) {
        snprintf(keys[i], sizeof(keys[i]), "k8s.label.%d", i);
        attrs[i] = (struct sf_attr){sf_str_from(keys[i]),
                                    {.type = SF_VALUE_STR, .str = {text + i, LEN}}};
    }
    store_rig_init(&r);
    assert_ok(store_rig_open(&r));
    for (uint32_t at = 0; at < N; at += PIECE) {
        for (uint32_t i = 0; i < PIECE; i++)
            spans[i] = (struct sf_span){.trace_id = id,
                                        .span_id = at + i + 1,
                                        .name = SF_STR("op"),
                                        .start_ns = START_NS + i,
                                        .end_ns = START_NS + i + 1};
        assert_ok(store_put(&r, at / PIECE % 2, 1, &b, 0));
    }
    a = store_trace(&r, 1, id);
    assert_ok(a.err);
    assert_int_equal(a.n, N);
    for (uint32_t i = 0; i < N; i += 97)
        assert_int_equal(a.resources[i].attrs.n, N_ATTRS);
    assert_true(sf_budget_most(&store_rig_local(&r)->budget, SF_LINE_QUERIES) < 16 << 20);
    store_rig_done(&r);
}

TEST(local, numbers_tenants_and_never_mixes_them)
{
    struct store_rig r;
    struct sf_otlp_make m;
    struct sf_span_batch b;
    uint32_t a_id, b_id, again;
    store_rig_init(&r);
    sf_otlp_make_init(&m, 4, START_NS);
    assert_ok(store_rig_open(&r));
    assert_err(r.store->ops->tenant(r.store, SF_STR("a"), false, &a_id, &r.why), SF_ERR_NOT_FOUND);
    assert_ok(r.store->ops->tenant(r.store, SF_STR("single-tenant"), false, &a_id, &r.why));
    assert_int_equal(a_id, 1);
    assert_ok(r.store->ops->tenant(r.store, SF_STR("a"), true, &a_id, &r.why));
    assert_ok(r.store->ops->tenant(r.store, SF_STR("b"), true, &b_id, &r.why));
    assert_int_not_equal(a_id, b_id);
    make(&r, &m, 100, &b);
    assert_ok(store_put(&r, 0, a_id, &b, 0));
    for (int round = 0; round < 3; round++) {
        assert_int_equal(count_found(&r, a_id, &b), 100);
        assert_int_equal(count_found(&r, b_id, &b), 0);
        if (round == 0)
            assert_ok(r.store->ops->flush(r.store, &r.why));
        else
            assert_ok(store_put(&r, 1, 1, &b, 0)); /* the same ids in a third tenant */
    }
    store_rig_close(&r);
    assert_ok(store_rig_open(&r));
    assert_ok(r.store->ops->tenant(r.store, SF_STR("b"), false, &again, &r.why));
    assert_int_equal(again, b_id);
    assert_int_equal(count_found(&r, b_id, &b), 0);
    store_rig_done(&r);
}

/* Asked of two tenants, of which one has them: a trace and one that cannot be read, and between
 * them and before some that are not there. */
static void expect_fault_of(struct store_rig *r, sf_trace_id small, sf_trace_id large)
{
    uint32_t tenants[2] = {1, 0}, n_rows = 0;
    struct sf_trace_ask asks[] = {{.id.b = {9, 1}}, {.id = small}, {.id.b = {9, 2}}, {.id = large}};
    struct sf_span_cursor *c;
    struct sf_span_rows rows;
    assert_ok(r->store->ops->tenant(r->store, SF_STR("a"), true, &tenants[1], &r->why));
    r->q.tenants = tenants;
    r->q.n_tenants = 2;
    assert_ok(r->store->ops->traces_get(r->store, asks, 4, &r->q, &c, &r->why));
    for (; c->next(c, &rows); n_rows += rows.n_rows)
        assert_true(sf_trace_id_eq(rows.trace_id[0], small));
    assert_int_not_equal(n_rows, 0);
    assert_err(c->err, SF_ERR_LIMIT);
    assert_true(sf_trace_id_eq(c->failed, large));
    c->close(c);
    r->q.tenants = &r->tenant;
    r->q.n_tenants = 1;
}

TEST(local, ends_a_query_that_outgrows_the_memory_for_queries)
{
    struct store_rig r;
    struct sf_otlp_make m;
    struct sf_span_batch small, large;
    sf_trace_id id = {.b = {1, 2, 3}};
    struct store_answer a;
    store_rig_init(&r);
    r.config.memory_len = 16 << 20;         /* of which 3 MB are for queries */
    r.config.tuning.granule_len = 16 << 20; /* as of a larger server */
    sf_otlp_make_init(&m, 12, START_NS);
    assert_ok(store_rig_open(&r));
    make(&r, &m, 50, &small);
    assert_ok(store_put(&r, 0, 1, &small, 0));
    for (int i = 0; i < 40; i++) { /* one trace of more than a granule */
        make(&r, &m, 500, &large);
        for (uint32_t k = 0; k < large.n_spans; k++)
            ((struct sf_span *)(uintptr_t)large.spans)[k].trace_id = id;
        assert_ok(store_put(&r, 0, 1, &large, 0));
        if (i % 10 == 9)
            assert_ok(r.store->ops->flush(r.store, &r.why));
    }
    a = store_trace(&r, 1, id);
    assert_err(a.err, SF_ERR_LIMIT);
    expect_fault_of(&r, small.spans[0].trace_id, id);
    assert_int_equal(count_found(&r, 1, &small), 50); /* what is small continues */
    assert_int_equal(sf_budget_used(&store_rig_local(&r)->budget, SF_LINE_QUERIES), 0);
    store_rig_close(&r);
    r.config.memory_len = 512 << 20;
    assert_ok(store_rig_open(&r));
    a = store_trace(&r, 1, id);
    assert_ok(a.err);
    assert_int_equal(a.n, 20000);
    store_rig_done(&r);
}

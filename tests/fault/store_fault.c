/* The nth allocation fails, at every n, in every step of the store's life: the step reports it,
 * nothing acknowledged is lost, and the next try works. */
#include "test.h"

#include "store/local/write/compact.h"
#include "support/store_rig.h"

static const uint64_t START_NS = UINT64_C(1763200800) * 1000000000;
enum { N_BATCHES = 6, N_SPANS = 40 };

struct life {
    struct store_rig rig;
    struct sf_otlp_make make;
    struct sf_span_batch batches[64];
    unsigned n_acknowledged, n_tries;
};

static void life_init(struct life *f)
{
    memset(f, 0, sizeof(*f));
    store_rig_init(&f->rig);
    f->rig.config.tuning.compact_blocks = 2;
    f->rig.config.tuning.memtable_len = 32 << 10;
    f->rig.config.tuning.carry_rows = 1;
    sf_otlp_make_init(&f->make, 1, START_NS);
    assert_ok(store_rig_open(&f->rig));
}

static void append_some(struct life *f, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct sf_span_batch *b = &f->batches[f->n_acknowledged];
        sf_otlp_make_batch(&f->make, N_SPANS, &f->rig.arena, b);
        assert_ok(store_put(&f->rig, i % 2, 1, b, 0));
        f->n_acknowledged++;
    }
}

static uint32_t count_all(struct life *f)
{
    struct sf_span_query q = {.has_whole_traces = true, .columns = SF_COL_TIMES};
    struct sf_arena before = f->rig.arena;
    struct sf_span_cursor *c;
    struct store_answer a;
    f->rig.tenant = 1;
    assert_ok(f->rig.store->ops->span_scan(f->rig.store, &q, &f->rig.q, &c, &f->rig.why));
    a = store_drain(&f->rig, c);
    assert_ok(a.err);
    f->rig.arena = before;
    return a.n;
}

static enum sf_err do_flush(struct life *f)
{
    return f->rig.store->ops->flush(f->rig.store, &f->rig.why);
}

static enum sf_err do_compact(struct life *f)
{
    return sf_compact_all(store_rig_local(&f->rig), &f->rig.why);
}

static enum sf_err do_scan(struct life *f)
{
    struct sf_span_query q = {.has_whole_traces = true, .columns = SF_COL_ALL};
    struct sf_span_cursor *c;
    struct sf_span_rows rows;
    uint32_t n = 0;
    enum sf_err err = f->rig.store->ops->span_scan(f->rig.store, &q, &f->rig.q, &c, &f->rig.why);
    if (err)
        return err;
    while (c->next(c, &rows))
        n += rows.n_rows;
    err = c->err;
    c->close(c);
    if (!err && sf_heap_calls() && n != f->n_acknowledged * N_SPANS)
        fail_msg("%u rows without an error", n);
    return err;
}

static enum sf_err do_columns(struct life *f)
{
    static const struct sf_key key = {SF_SCOPE_SPAN, {"http.method", 11}};
    struct sf_span_query q = {.columns = SF_COL_KIND, .want_keys = &key, .n_want = 1};
    struct sf_column_cursor *c;
    struct sf_span_columns *rows;
    uint32_t n = 0;
    enum sf_err err = f->rig.store->ops->span_columns(f->rig.store, &q, &f->rig.q, &c, &f->rig.why);
    if (err)
        return err;
    while (!err && (rows = c->next(c))) {
        struct sf_value_column values;
        err = rows->add(rows, SF_COL_KIND, &f->rig.why);
        if (!err)
            err = rows->value(rows, &key, &values, &f->rig.why);
        for (uint32_t i = 0; i < rows->rows.n_rows; i++)
            n += !rows->rows.is_in || rows->rows.is_in[i];
    }
    err = err ? err : c->err;
    c->close(c);
    if (!err && sf_heap_calls() && n != f->n_acknowledged * N_SPANS)
        fail_msg("%u rows without an error", n);
    return err;
}

/* Every trace, after examining its columns. */
static enum sf_err judge(void *arg, struct sf_span_columns *c, uint8_t *hits, struct sf_why *why)
{
    (void)arg, (void)hits;
    return c->add(c, SF_COL_NAME | SF_COL_DURATION, why);
}

static enum sf_err do_judged_scan(struct life *f)
{
    static const struct sf_span_judge with_parts = {
        .judge = judge, .wants_parts = true, .question = {(const uint8_t *)"all", 3}};
    struct sf_span_query q = {.has_whole_traces = true,
                              .is_newest_first = true,
                              .columns = SF_COL_NAME,
                              .judge = &with_parts};
    struct sf_span_cursor *c;
    struct sf_span_rows rows;
    uint32_t n = 0;
    enum sf_err err = f->rig.store->ops->span_scan(f->rig.store, &q, &f->rig.q, &c, &f->rig.why);
    if (err)
        return err;
    while (c->next(c, &rows))
        n += rows.n_rows;
    err = c->err;
    c->close(c);
    if (!err && sf_heap_calls() && n != f->n_acknowledged * N_SPANS)
        fail_msg("%u rows without an error", n);
    return err;
}

static enum sf_err do_trace(struct life *f)
{
    struct sf_span_cursor *c;
    struct sf_span_rows rows;
    enum sf_err err = sf_store_trace(f->rig.store, f->batches[0].spans[0].trace_id, &f->rig.q, &c,
                                     &f->rig.why);
    if (err)
        return err;
    while (c->next(c, &rows)) {
        /* read all of it */
    }
    err = c->err;
    c->close(c);
    return err;
}

static enum sf_err do_tags(struct life *f)
{
    struct sf_tag_query q = {.scope = SF_SCOPE_ANY};
    struct sf_str_cursor *c;
    enum sf_err err = f->rig.store->ops->span_tags(f->rig.store, &q, &f->rig.q, &c, &f->rig.why);
    if (!err)
        c->close(c);
    return err;
}

static enum sf_err do_operations(struct life *f)
{
    struct sf_operation_rows rows;
    return f->rig.store->ops->operations(f->rig.store, 0, 0, &f->rig.q, &rows, &f->rig.why);
}

static enum sf_err do_append(struct life *f)
{
    struct sf_span_batch *b = &f->batches[f->n_acknowledged];
    struct store_ticket t = {.base = {.done = store_ticket_done}, .rig = &f->rig};
    struct sf_batch *batch;
    enum sf_err err;
    sf_heap_fail_after(0); /* making it is not the store's business */
    sf_otlp_make_batch(&f->make, N_SPANS, &f->rig.arena, b);
    batch = store_batch(&f->rig, 1, b, f->n_tries + 1, sf_clock_wall_ns());
    /* The first ones are of the request itself; a fresh memtable makes hundreds. */
    sf_heap_fail_after(f->n_tries < 8 ? f->n_tries + 1 : f->n_tries * 13 % 997 + 1);
    f->n_tries++;
    err = f->rig.store->ops->append(f->rig.store, 0, &batch, &t.base, &f->rig.why);
    if (err) {
        sf_heap_fail_after(0);
        assert_non_null(batch);
        sf_batch_free(batch);
        return err;
    }
    sf_heap_fail_after(0);
    assert_ok(store_ticket_wait(&t));
    f->n_acknowledged++;
    return SF_OK;
}

static enum sf_err do_reopen(struct life *f)
{
    enum sf_err err;
    sf_heap_fail_after(0);
    store_rig_close(&f->rig);
    sf_heap_fail_after(f->n_acknowledged % 97 + 1);
    err = store_rig_open(&f->rig);
    sf_heap_fail_after(0);
    if (err)
        assert_ok(store_rig_open(&f->rig));
    return err;
}

static void fail_at_every_n(enum sf_err (*step)(struct life *f))
{
    struct life f;
    unsigned n_failed = 0;
    life_init(&f);
    append_some(&f, N_BATCHES);
    for (uint64_t n = 1; n < 3000; n += test_stride()) {
        enum sf_err err;
        sf_heap_fail_after(n);
        err = step(&f);
        sf_heap_fail_after(0);
        if (!err)
            break;
        n_failed++;
        assert_true(err == SF_ERR_NOMEM || err == SF_ERR_LIMIT || err == SF_ERR_IO ||
                    err == SF_ERR_BUSY || err == SF_ERR_FULL);
        assert_int_equal(count_all(&f), f.n_acknowledged * N_SPANS);
    }
    assert_true(n_failed > 0);
    assert_ok(step(&f));
    assert_int_equal(count_all(&f), f.n_acknowledged * N_SPANS);
    store_rig_close(&f.rig);
    assert_ok(store_rig_open(&f.rig));
    assert_int_equal(count_all(&f), f.n_acknowledged * N_SPANS);
    store_rig_done(&f.rig);
}

TEST(store, survives_a_flush_without_memory)
{
    fail_at_every_n(do_flush);
}

/* Nobody searches in between, so nothing is sealed. */
TEST(store, survives_a_flush_of_memtables_without_memory)
{
    struct life f;
    unsigned n_failed = 0;
    life_init(&f);
    append_some(&f, N_BATCHES);
    for (uint64_t n = 1; n < 3000; n += test_stride()) {
        enum sf_err err;
        sf_heap_fail_after(n);
        err = do_flush(&f);
        sf_heap_fail_after(0);
        if (!err)
            break;
        n_failed++;
        assert_ok(sf_compact_all(store_rig_local(&f.rig), &f.rig.why)); /* settles doubts */
    }
    assert_true(n_failed > 30 / test_stride());
    assert_int_equal(sf_budget_most(&store_rig_local(&f.rig)->budget, SF_LINE_PARTS), 0);
    assert_int_equal(count_all(&f), f.n_acknowledged * N_SPANS);
    store_rig_close(&f.rig);
    assert_ok(store_rig_open(&f.rig));
    assert_int_equal(count_all(&f), f.n_acknowledged * N_SPANS);
    store_rig_done(&f.rig);
}

TEST(store, survives_a_merge_without_memory)
{
    struct life f;
    unsigned n_failed = 0;
    life_init(&f);
    for (int i = 0; i < 3; i++) {
        append_some(&f, 2);
        assert_ok(do_flush(&f));
    }
    for (uint64_t n = 1; n < 3000; n += 3) {
        enum sf_err err;
        sf_heap_fail_after(n);
        err = do_compact(&f);
        sf_heap_fail_after(0);
        n_failed += err != SF_OK;
        assert_int_equal(count_all(&f), f.n_acknowledged * N_SPANS);
        if (!err)
            break;
    }
    assert_true(n_failed > 3);
    store_rig_done(&f.rig);
}

TEST(store, survives_queries_without_memory)
{
    fail_at_every_n(do_scan);
    fail_at_every_n(do_judged_scan);
    fail_at_every_n(do_columns);
    fail_at_every_n(do_trace);
    fail_at_every_n(do_tags);
    fail_at_every_n(do_operations);
}

TEST(store, survives_appends_without_memory)
{
    struct life f;
    unsigned n_failed = 0;
    life_init(&f);
    for (int i = 0; i < 60; i++)
        n_failed += do_append(&f) != SF_OK;
    assert_true(n_failed > 0 && f.n_acknowledged > 0);
    assert_int_equal(count_all(&f), f.n_acknowledged * N_SPANS);
    store_rig_done(&f.rig);
}

TEST(store, survives_opening_without_memory)
{
    struct life f;
    unsigned n_failed = 0;
    life_init(&f);
    for (int i = 0; i < 40; i++) {
        append_some(&f, 1);
        n_failed += do_reopen(&f) != SF_OK;
        assert_int_equal(count_all(&f), f.n_acknowledged * N_SPANS);
    }
    assert_true(n_failed > 0);
    store_rig_done(&f.rig);
}

#include "test.h"

#include "base/time_unit.h"
#include "support/store_rig.h"

/* Writers, readers, flush, compaction and an erasure at once. Each writer searches for what it just
 * got acknowledged; at the end everything is there once. */
enum { N_WRITERS = 2, N_READERS = 2, N_BATCHES = 60, N_SPANS = 30 };

struct worker {
    struct store_rig *rig;
    struct sf_thread thread;
    unsigned number;
    struct sf_arena arena;
    struct sf_span_batch batches[N_BATCHES];
    unsigned n_missing, n_errors;
    atomic_bool *is_over;
};

static unsigned count_trace(struct store_rig *r, sf_trace_id id, sf_span_id span, enum sf_err *err)
{
    uint32_t tenant = 1;
    struct sf_query_ctx q = {.tenants = &tenant, .n_tenants = 1};
    struct sf_span_cursor *c;
    struct sf_span_rows rows;
    unsigned n = 0;
    *err = sf_store_trace(r->store, id, &q, &c, NULL);
    if (*err)
        return 0;
    while (c->next(c, &rows)) {
        for (uint32_t i = 0; i < rows.n_rows; i++)
            n += rows.span_id[i] == span;
    }
    *err = c->err;
    c->close(c);
    return n;
}

static void write_all(void *arg)
{
    struct worker *w = arg;
    struct sf_otlp_make m;
    sf_otlp_make_init(&m, 100 + w->number, (uint64_t)sf_clock_wall_ns() - 7200000000000);
    for (unsigned i = 0; i < N_BATCHES; i++) {
        struct sf_span_batch *b = &w->batches[i];
        struct store_ticket t = {.base = {.done = store_ticket_done}, .rig = w->rig};
        struct sf_batch *batch;
        enum sf_err err;
        sf_otlp_make_batch(&m, N_SPANS, &w->arena, b);
        batch = store_batch(w->rig, 1, b, 0, sf_clock_wall_ns());
        do {
            err = w->rig->store->ops->append(w->rig->store, w->number, &batch, &t.base, NULL);
            if (err == SF_ERR_BUSY)
                sf_clock_sleep_ms(1);
        } while (err == SF_ERR_BUSY);
        if (err || store_ticket_wait(&t)) {
            w->n_errors++;
            continue;
        }
        w->n_missing += count_trace(w->rig, b->spans[i % N_SPANS].trace_id,
                                    b->spans[i % N_SPANS].span_id, &err) != 1;
        w->n_errors += err != SF_OK;
    }
}

static void read_all(void *arg)
{
    struct worker *w = arg;
    while (!atomic_load(w->is_over)) {
        uint32_t tenant = 1;
        struct sf_query_ctx q = {.tenants = &tenant, .n_tenants = 1, .req = &w->arena};
        struct sf_span_query query = {.has_whole_traces = w->number % 2,
                                      .is_newest_first = true,
                                      .columns = SF_COL_ALL,
                                      .limit_traces = 20};
        struct sf_tag_query tags = {.scope = SF_SCOPE_ANY};
        struct sf_operation_rows ops;
        struct sf_local_stats stats;
        struct sf_span_cursor *c;
        struct sf_str_cursor *names;
        struct sf_span_rows rows;
        w->arena.at = 0;
        if (w->rig->store->ops->span_scan(w->rig->store, &query, &q, &c, NULL) == SF_OK) {
            while (c->next(c, &rows)) {
                /* whatever is there */
            }
            w->n_errors += c->err != SF_OK;
            c->close(c);
        }
        if (w->rig->store->ops->span_tags(w->rig->store, &tags, &q, &names, NULL) == SF_OK)
            names->close(names);
        w->n_errors += w->rig->store->ops->operations(w->rig->store, 0, 0, &q, &ops, NULL) != SF_OK;
        sf_local_figures_stats(w->rig->store, &stats);
    }
}

TEST(threads, write_read_flush_and_compact_at_once)
{
    static struct worker workers[N_WRITERS + N_READERS];
    struct store_rig r;
    atomic_bool is_over = false;
    sf_trace_id nobody = {{1, 1, 1}};
    struct sf_selector which = {.what = SF_SELECT_TRACES, .trace_ids = &nobody, .n_traces = 1};
    store_rig_init(&r);
    r.config.tuning = (struct sf_local_tuning){.flush_interval_ns = SF_NS_PER_S / 5,
                                               .memtable_len = 64 << 10,
                                               .flush_parts_len = 256 << 10,
                                               .seal_age_ns = SF_NS_PER_S / 50,
                                               .seal_gap_ns = SF_NS_PER_S / 100,
                                               .segment_len = 1 << 20,
                                               .compact_blocks = 2};
    assert_ok(store_rig_open(&r));
    for (unsigned i = 0; i < N_WRITERS + N_READERS; i++) {
        workers[i] = (struct worker){.rig = &r, .number = i, .is_over = &is_over};
        assert_true(sf_arena_init(&workers[i].arena, (size_t)1 << 30));
        assert_ok(sf_thread_start(&workers[i].thread, "worker", 0,
                                  i < N_WRITERS ? write_all : read_all, &workers[i], &r.why));
    }
    sf_clock_sleep_ms(200);
    assert_ok(r.store->ops->erase(r.store, 1, &which, &r.why));
    for (unsigned i = 0; i < N_WRITERS; i++)
        sf_thread_join(&workers[i].thread);
    atomic_store(&is_over, true);
    for (unsigned i = N_WRITERS; i < N_WRITERS + N_READERS; i++)
        sf_thread_join(&workers[i].thread);
    for (unsigned i = 0; i < N_WRITERS + N_READERS; i++) {
        assert_int_equal(workers[i].n_missing, 0);
        assert_int_equal(workers[i].n_errors, 0);
    }
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < N_WRITERS; i++) {
            for (unsigned k = 0; k < N_BATCHES; k += 7) {
                const struct sf_span_batch *b = &workers[i].batches[k];
                enum sf_err err;
                assert_int_equal(count_trace(&r, b->spans[0].trace_id, b->spans[0].span_id, &err),
                                 1);
                assert_ok(err);
            }
        }
        store_rig_close(&r);
        assert_ok(store_rig_open(&r));
    }
    for (unsigned i = 0; i < N_WRITERS + N_READERS; i++)
        sf_arena_done(&workers[i].arena);
    store_rig_done(&r);
}

/* The seal thread waits for the gate, and the query for the seal thread. */
TEST(threads, a_query_that_waits_for_fresh_rows_ends_in_time)
{
    struct store_rig r;
    struct sf_local *l;
    struct sf_arena arena;
    struct sf_otlp_make m;
    struct sf_span_batch b;
    struct sf_column_cursor *c;
    struct sf_str_cursor *names;
    struct sf_tag_query tags = {.scope = SF_SCOPE_SPAN};
    struct sf_span_query query = {.columns = SF_COL_IDS};
    atomic_bool is_gone = true;
    store_rig_init(&r);
    r.config.tuning = (struct sf_local_tuning){.flush_interval_ns = SF_NS_PER_HOUR};
    assert_true(sf_arena_init(&arena, (size_t)1 << 24));
    assert_ok(store_rig_open(&r));
    l = store_rig_local(&r);
    sf_otlp_make_init(&m, 1, (uint64_t)sf_clock_wall_ns());
    sf_otlp_make_batch(&m, 10, &arena, &b);
    assert_ok(store_put(&r, 0, 1, &b, 0));
    sf_rwlock_exclude(&l->gate);
    r.q.deadline_ns = sf_clock_mono_ns() + SF_NS_PER_S / 50;
    assert_int_equal(r.store->ops->span_columns(r.store, &query, &r.q, &c, &r.why),
                     SF_ERR_DEADLINE);
    assert_int_equal(r.store->ops->span_tags(r.store, &tags, &r.q, &names, &r.why),
                     SF_ERR_DEADLINE);
    r.q.deadline_ns = 0;
    r.q.cancel = &is_gone;
    assert_int_equal(r.store->ops->span_columns(r.store, &query, &r.q, &c, &r.why),
                     SF_ERR_CANCELLED);
    sf_rwlock_release(&l->gate);
    r.q.cancel = NULL;
    assert_ok(r.store->ops->span_columns(r.store, &query, &r.q, &c, &r.why));
    c->close(c);
    sf_arena_done(&arena);
    store_rig_done(&r);
}

static void put_one(void *arg)
{
    struct worker *w = arg;
    w->n_errors += store_put(w->rig, 0, 1, &w->batches[0], 77) != SF_OK;
}

/* A flush whose block knew the request, and a crash before the request was logged: the client's
 * retry would be taken for a repeat, and its spans were nowhere. */
TEST(threads, a_flush_takes_a_request_with_its_rows_or_not_at_all)
{
    struct store_rig r;
    static struct worker w;
    struct sf_local *l;
    struct sf_otlp_make m;
    uint64_t *hashes;
    size_t n;
    store_rig_init(&r);
    r.config.tuning = (struct sf_local_tuning){.flush_interval_ns = SF_NS_PER_HOUR};
    assert_ok(store_rig_open(&r));
    l = store_rig_local(&r);
    w = (struct worker){.rig = &r};
    assert_true(sf_arena_init(&w.arena, (size_t)1 << 24));
    sf_otlp_make_init(&m, 1, (uint64_t)sf_clock_wall_ns());
    sf_otlp_make_batch(&m, 5, &w.arena, &w.batches[0]);
    sf_rwlock_exclude(&l->gate); /* as a flush does that takes rows */
    assert_ok(sf_thread_start(&w.thread, "writer", 0, put_one, &w, &r.why));
    for (int i = 0; i < 20; i++) { /* the writer gets as far as it can */
        sf_clock_sleep_ms(5);
        sf_duplicates_take(l->duplicates, &hashes, &n);
        sf_heap_free(hashes);
        assert_int_equal(n, 0);
    }
    sf_rwlock_release(&l->gate);
    sf_thread_join(&w.thread);
    assert_int_equal(w.n_errors, 0);
    sf_duplicates_take(l->duplicates, &hashes, &n);
    assert_int_equal(n, 1);
    assert_int_equal(hashes[0], 77);
    sf_heap_free(hashes);
    sf_arena_done(&w.arena);
    store_rig_done(&r);
}

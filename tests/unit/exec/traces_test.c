/* Several traces through one cursor: in order, absent ones empty, one that is too large in part. */
#include "exec/traces.h"

#include <string.h>

#include "test.h"

enum { MOST = 5, IN_BATCH = 4 };

/* What the store has: `n_batches` of the trace with that number; it breaks after the first of them,
 * or before. */
static struct {
    uint32_t n_batches[MOST + 1];
    uint32_t breaks_at;
    bool breaks_before;
    enum sf_err breaks_with;
    uint32_t n_opened, n_closed;
} fake;

static struct fake_cursor {
    struct sf_span_cursor base;
    sf_trace_id ids[MOST];
    uint32_t n, at, batch;
    sf_trace_id trace_ids[IN_BATCH];
    sf_span_id span_ids[IN_BATCH];
    uint32_t zero[IN_BATCH];
    struct sf_span spans[IN_BATCH];
} cursor;

static bool fake_next(struct sf_span_cursor *base, struct sf_span_rows *out)
{
    static const struct sf_resource resource = {.service = SF_STR("shop")};
    static const struct sf_scope scope = {0};
    struct fake_cursor *c = (struct fake_cursor *)base;
    while (c->at < c->n && c->batch == fake.n_batches[c->ids[c->at].b[0]]) {
        c->at++;
        c->batch = 0;
    }
    if (c->at == c->n)
        return false;
    if (c->batch == !fake.breaks_before && c->ids[c->at].b[0] == fake.breaks_at) {
        base->err = sf_fail(&base->why, fake.breaks_with, "it breaks here");
        base->failed = c->ids[c->at];
        return false;
    }
    for (uint32_t i = 0; i < IN_BATCH; i++) {
        c->trace_ids[i] = c->ids[c->at];
        c->span_ids[i] = 1 + c->batch * IN_BATCH + i;
        c->spans[i] = (struct sf_span){.trace_id = c->ids[c->at], .kind = 1};
    }
    c->batch++;
    *out = (struct sf_span_rows){.n_rows = IN_BATCH,
                                 .trace_id = c->trace_ids,
                                 .span_id = c->span_ids,
                                 .resource = c->zero,
                                 .scope = c->zero,
                                 .resources = &resource,
                                 .scopes = &scope,
                                 .n_resources = 1,
                                 .n_scopes = 1,
                                 .spans = c->spans};
    return true;
}

static void fake_close(__attribute__((unused)) struct sf_span_cursor *c)
{
    fake.n_closed++;
}

static enum sf_err fake_get(__attribute__((unused)) struct sf_store *s,
                            const struct sf_trace_ask *asks, size_t n_asks,
                            __attribute__((unused)) struct sf_query_ctx *q,
                            struct sf_span_cursor **out, __attribute__((unused)) struct sf_why *why)
{
    assert_int_equal(fake.n_opened, fake.n_closed); /* one at a time */
    assert_in_range(n_asks, 1, MOST);
    cursor = (struct fake_cursor){.base = {.next = fake_next, .close = fake_close},
                                  .n = (uint32_t)n_asks};
    for (size_t i = 0; i < n_asks; i++)
        cursor.ids[i] = asks[i].id;
    fake.n_opened++;
    *out = &cursor.base;
    return SF_OK;
}

static const struct sf_store_ops fake_ops = {.name = "fake", .traces_get = fake_get};
static struct sf_store fake_store = {&fake_ops};

/* Asks for traces 1 to MOST, each in an arena of that size, until one fails. */
static enum sf_err read_all(size_t arena_len, uint32_t n_spans[MOST], bool is_partial[MOST],
                            struct sf_why *why)
{
    struct sf_trace_ask asks[MOST] = {0};
    struct sf_query_ctx q = {0};
    struct sf_traces traces;
    struct sf_arena arena;
    enum sf_err err = SF_OK;
    for (uint32_t i = 0; i < MOST; i++)
        asks[i].id.b[0] = (uint8_t)(i + 1);
    fake.n_opened = fake.n_closed = 0;
    assert_true(sf_arena_init(&arena, arena_len));
    sf_traces_start(&traces, &fake_store, asks, MOST, false, &q);
    for (uint32_t i = 0; !err && i < MOST; i++) {
        struct sf_trace t = {0};
        sf_arena_reset(&arena);
        err = sf_traces_next(&traces, &arena, &t, why);
        n_spans[i] = t.spans.n_spans;
        is_partial[i] = t.is_partial;
        for (uint32_t k = 0; k < t.spans.n_spans; k++)
            assert_int_equal(t.spans.spans[k].trace_id.b[0], i + 1);
    }
    sf_traces_done(&traces);
    assert_int_equal(fake.n_opened, fake.n_closed);
    sf_arena_done(&arena);
    return err;
}

TEST(traces, come_in_order_through_one_cursor_and_absent_ones_are_empty)
{
    uint32_t n_spans[MOST];
    bool is_partial[MOST];
    struct sf_why why;
    memset(&fake, 0, sizeof(fake));
    fake.n_batches[2] = 1;
    fake.n_batches[4] = 3;
    assert_ok(read_all(4 << 20, n_spans, is_partial, &why));
    static const uint32_t want[MOST] = {0, 4, 0, 12, 0};
    assert_memory_equal(n_spans, want, sizeof(want));
    assert_int_equal(fake.n_opened, 1);
}

TEST(traces, after_one_that_is_too_large_the_next_is_read_whole)
{
    uint32_t n_spans[MOST];
    bool is_partial[MOST];
    struct sf_why why;
    memset(&fake, 0, sizeof(fake));
    fake.n_batches[1] = fake.n_batches[3] = 2;
    fake.n_batches[2] = 100000;
    assert_ok(read_all(256 << 10, n_spans, is_partial, &why));
    assert_true(!is_partial[0] && is_partial[1] && !is_partial[2]);
    assert_int_equal(n_spans[0], 8);
    assert_in_range(n_spans[1], 100, 100000);
    assert_int_equal(n_spans[2], 8);
    assert_int_equal(fake.n_opened, 2);
}

TEST(traces, what_the_store_cannot_put_together_is_given_in_part)
{
    uint32_t n_spans[MOST];
    bool is_partial[MOST];
    struct sf_why why;
    memset(&fake, 0, sizeof(fake));
    fake.n_batches[1] = fake.n_batches[2] = fake.n_batches[5] = 2;
    fake.breaks_at = 2;
    fake.breaks_with = SF_ERR_LIMIT;
    assert_ok(read_all(4 << 20, n_spans, is_partial, &why));
    static const uint32_t want[MOST] = {8, 4, 0, 0, 8};
    assert_memory_equal(n_spans, want, sizeof(want));
    assert_true(!is_partial[0] && is_partial[1] && !is_partial[4]);
}

TEST(traces, one_before_a_trace_that_cannot_be_read_is_whole)
{
    uint32_t n_spans[MOST];
    bool is_partial[MOST];
    struct sf_why why;
    memset(&fake, 0, sizeof(fake));
    fake.n_batches[1] = fake.n_batches[2] = 2;
    fake.breaks_at = 2;
    fake.breaks_before = true;
    fake.breaks_with = SF_ERR_LIMIT;
    assert_err(read_all(4 << 20, n_spans, is_partial, &why), SF_ERR_LIMIT);
    assert_int_equal(n_spans[0], 8);
    assert_false(is_partial[0]);
    assert_string_equal(why.text, "it breaks here");
    fake.n_batches[4] = 2; /* of five, two are not there */
    fake.n_batches[2] = 0;
    fake.breaks_at = 4;
    assert_err(read_all(4 << 20, n_spans, is_partial, &why), SF_ERR_LIMIT);
    static const uint32_t want[3] = {8, 0, 0};
    assert_memory_equal(n_spans, want, sizeof(want));
}

TEST(traces, a_fault_of_the_disk_ends_them)
{
    uint32_t n_spans[MOST];
    bool is_partial[MOST];
    struct sf_why why;
    memset(&fake, 0, sizeof(fake));
    fake.n_batches[1] = fake.n_batches[2] = fake.n_batches[3] = 2;
    fake.breaks_at = 2;
    fake.breaks_with = SF_ERR_IO;
    assert_err(read_all(4 << 20, n_spans, is_partial, &why), SF_ERR_IO);
    assert_string_equal(why.text, "it breaks here");
    assert_int_equal(n_spans[0], 8);
}

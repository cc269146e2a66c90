#include "test.h"

#include "support/store_rig.h"

static const uint64_t START_NS = UINT64_C(1763200000) * 1000000000;

/* Spans of traces with ten each; every one has a word of its own. */
static struct sf_span_batch make_spans(struct store_rig *r, uint32_t n)
{
    struct sf_span *spans = sf_arena_new_n(&r->arena, n, sizeof(*spans));
    struct sf_attr *attrs = sf_arena_new_n(&r->arena, n, sizeof(*attrs));
    static const struct sf_resource resource = {.service = SF_STR("unknown_service")};
    static const struct sf_scope scope;
    for (uint32_t i = 0; i < n; i++) {
        sf_str word;
        assert_true(sf_arena_print(&r->arena, &word, "word-%u", i));
        attrs[i] = (struct sf_attr){SF_STR("word"), {.type = SF_VALUE_STR, .str = word}};
        spans[i] = (struct sf_span){.trace_id = {{1, (uint8_t)(i / 10), (uint8_t)(i / 2560)}},
                                    .span_id = i + 1,
                                    .start_ns = START_NS + i * 1000,
                                    .end_ns = START_NS + i * 1000 + 500,
                                    .name = SF_STR("work"),
                                    .attrs = {&attrs[i], 1}};
    }
    return (struct sf_span_batch){&resource, &scope, spans, 1, 1, n};
}

struct seen {
    uint32_t n_rows, n_left_out, n_words;
    uint64_t sum; /* of span ids */
};

static struct seen look(struct store_rig *r)
{
    static const struct sf_key word = {SF_SCOPE_SPAN, {"word", 4}};
    struct sf_span_query query = {.columns = SF_COL_IDS, .want_keys = &word, .n_want = 1};
    struct sf_column_cursor *cursor;
    struct sf_span_columns *c;
    struct seen seen = {0};
    assert_ok(r->store->ops->span_columns(r->store, &query, &r->q, &cursor, &r->why));
    while ((c = cursor->next(cursor))) {
        struct sf_value_column words;
        assert_ok(c->add(c, SF_COL_IDS, &r->why));
        assert_ok(c->value(c, &word, &words, &r->why));
        for (uint32_t i = 0; i < c->rows.n_rows; i++) {
            if (c->rows.is_in && !c->rows.is_in[i]) {
                seen.n_left_out++;
                continue;
            }
            seen.n_rows++;
            seen.sum += c->rows.span_id[i];
            seen.n_words += words.code[i] != SF_NONE;
        }
    }
    assert_ok(cursor->err);
    cursor->close(cursor);
    return seen;
}

TEST(column_scan, show_every_span_once_wherever_its_copies_lie)
{
    struct store_rig r;
    struct sf_span_batch all, some;
    struct seen seen;
    store_rig_init(&r);
    assert_ok(store_rig_open(&r));
    r.tenant = 1;
    all = make_spans(&r, 100);
    some = all;
    some.n_spans = 35; /* three traces and a half */
    assert_ok(store_put(&r, 0, 1, &all, 0));
    seen = look(&r);
    assert_int_equal(seen.n_rows, 100);
    assert_int_equal(seen.n_left_out, 0);
    assert_ok(r.store->ops->flush(r.store, &r.why));
    assert_ok(store_put(&r, 1, 1, &some, 0));
    for (int is_flushed = 0; is_flushed < 2; is_flushed++) {
        seen = look(&r);
        assert_int_equal(seen.n_rows, 100);
        assert_int_equal(seen.sum, 5050);
        assert_int_equal(seen.n_words, 100);
        assert_int_equal(seen.n_left_out, 75); /* whole traces, and the copies */
        assert_ok(r.store->ops->flush(r.store, &r.why));
    }
    store_rig_done(&r);
}

/* Spans first, first + step, ... of them. */
static struct sf_span_batch every(struct store_rig *r, struct sf_span_batch all, uint32_t first,
                                  uint32_t step)
{
    struct sf_span *spans = sf_arena_new_n(&r->arena, all.n_spans, sizeof(*spans));
    struct sf_span_batch out = all;
    out.spans = spans;
    out.n_spans = 0;
    for (uint32_t i = first; i < all.n_spans; i += step)
        spans[out.n_spans++] = all.spans[i];
    return out;
}

TEST(column_scan, put_only_traces_together_that_have_a_span_twice)
{
    struct store_rig r;
    struct sf_span_batch all, even, odd, copies;
    struct seen seen;
    store_rig_init(&r);
    assert_ok(store_rig_open(&r));
    r.tenant = 1;
    all = make_spans(&r, 5000);
    even = every(&r, all, 0, 2);
    odd = every(&r, all, 1, 2);
    copies = every(&r, all, 0, 1000);
    assert_ok(store_put(&r, 0, 1, &even, 0));
    assert_ok(r.store->ops->flush(r.store, &r.why));
    assert_ok(store_put(&r, 0, 1, &odd, 0));
    seen = look(&r);
    assert_int_equal(seen.n_rows, 5000);
    assert_int_equal(seen.n_left_out, 0);
    assert_ok(r.store->ops->flush(r.store, &r.why));
    assert_ok(store_put(&r, 1, 1, &copies, 0));
    seen = look(&r);
    assert_int_equal(seen.n_rows, 5000);
    assert_int_equal(seen.sum, 12502500);
    assert_int_equal(seen.n_left_out, 5 * 10 + 5);
    store_rig_done(&r);
}

static uint64_t n_compared(struct store_rig *r)
{
    struct sf_doubles *d = &store_rig_local(r)->doubles;
    uint64_t n;
    sf_mutex_lock(&d->lock);
    n = d->n_compared;
    sf_mutex_unlock(&d->lock);
    return n;
}

TEST(column_scan, finds_the_blocks_compared_when_the_store_was_opened)
{
    struct store_rig r;
    struct sf_span_batch all, copies;
    struct seen seen;
    store_rig_init(&r);
    assert_ok(store_rig_open(&r));
    r.tenant = 1;
    all = make_spans(&r, 500);
    copies = every(&r, all, 0, 100);
    assert_ok(store_put(&r, 0, 1, &all, 0));
    assert_ok(r.store->ops->flush(r.store, &r.why));
    assert_ok(store_put(&r, 0, 1, &copies, 0));
    assert_ok(r.store->ops->flush(r.store, &r.why));
    store_rig_close(&r);
    r.config.tuning.has_no_threads = false;
    r.config.tuning.compact_blocks = 100; /* both blocks stay */
    r.config.tuning.closed_delay_ns = INT64_MAX / 4;
    assert_ok(store_rig_open(&r));
    while (n_compared(&r) == 0) /* the compact thread has not come to it yet */
        sf_clock_sleep_ms(1);
    seen = look(&r);
    assert_int_equal(seen.n_rows, 500);
    assert_int_equal(seen.sum, 125250);
    assert_int_equal(seen.n_left_out, 5 * 10 + 5);
    assert_int_equal(n_compared(&r), 1); /* not by the query */
    store_rig_done(&r);
}

static uint32_t count_values(struct store_rig *r, uint32_t enough, bool *out_has_more)
{
    struct sf_tag_query q = {.scope = SF_SCOPE_SPAN, .name = SF_STR("word"), .enough = enough};
    struct sf_str_cursor *c;
    struct sf_value v;
    uint32_t n = 0;
    assert_ok(r->store->ops->span_tags(r->store, &q, &r->q, &c, &r->why));
    while (c->next(c, &v))
        n++;
    *out_has_more = c->has_more;
    c->close(c);
    return n;
}

TEST(column_scan, list_as_many_values_as_are_enough_and_say_that_there_are_more)
{
    struct store_rig r;
    struct sf_span_batch all;
    bool has_more;
    store_rig_init(&r);
    assert_ok(store_rig_open(&r));
    r.tenant = 1;
    all = make_spans(&r, 5000); /* more than a block's table lists */
    assert_ok(store_put(&r, 0, 1, &all, 0));
    assert_ok(r.store->ops->flush(r.store, &r.why));
    assert_int_equal(count_values(&r, 20, &has_more), 20);
    assert_true(has_more);
    assert_int_equal(count_values(&r, 0, &has_more), 5000);
    assert_false(has_more);
    assert_int_equal(count_values(&r, 6000, &has_more), 5000);
    assert_false(has_more);
    store_rig_done(&r);
}

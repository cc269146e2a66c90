#include "store/local/history.h"

#include "store/local/history_profiles.h"
#include "store/local/write/compact.h"
#include "store/local/write/erase.h"
#include "support/store_profile.h"
#include "support/store_rig.h"
#include "test.h"
#include "wal/wal.h"

static const uint64_t START_NS = UINT64_C(1763200800) * 1000000000; /* a full hour */

struct sum { /* of all pieces */
    uint64_t n_spans, n_profiles, n_samples, n_details, mark;
    int64_t value, total;
};

static void history_add(struct sum *s, const struct sf_history_piece *p)
{
    for (uint32_t i = 0; p->spans && i < p->spans->n_spans; i++) {
        s->n_spans++;
        s->mark += p->spans->spans[i].span_id * 31 + p->spans->spans[i].attrs.n;
    }
    if (!p->profiles)
        return;
    s->n_profiles += p->profiles->n_profiles;
    s->n_samples += p->profiles->batch.n_samples;
    s->n_details += p->profiles->n_details;
    for (uint32_t i = 0; i < p->profiles->n_profiles; i++)
        s->total += p->profiles->totals[i].value;
    for (uint32_t i = 0; i < p->profiles->batch.n_samples; i++) {
        const struct sf_sample *x = &p->profiles->batch.samples[i];
        const struct sf_stack *stack = &p->profiles->batch.stacks[x->stack];
        s->value += x->value;
        for (uint32_t k = 0; k < stack->n; k++) {
            const struct sf_location *l = &p->profiles->batch.locations[stack->locations[k]];
            s->mark += p->profiles->batch.functions[l->lines[0].function].name.len * (k + 1);
        }
    }
}

static struct sum history_sum(struct store_rig *r)
{
    struct sf_history *h = NULL;
    struct sf_history_piece p;
    struct sum s = {0};
    assert_ok(sf_history_open(r->store, &h, &r->why));
    for (uint64_t i = 1; i <= sf_history_pieces(h); i++) {
        assert_ok(sf_history_read(h, i, &p, &r->why));
        history_add(&s, &p);
    }
    assert_err(sf_history_read(h, sf_history_pieces(h) + 1, &p, &r->why), SF_ERR_NOT_FOUND);
    sf_history_close(h);
    return s;
}

static void history_put(struct store_rig *r, struct sf_otlp_make *m, uint32_t n)
{
    struct sf_span_batch b;
    sf_otlp_make_batch(m, n, &r->arena, &b);
    assert_ok(store_put(r, 0, 1, &b, 0));
    assert_ok(r->store->ops->flush(r->store, &r->why));
}

static void history_put_profile(struct store_rig *r, int64_t at_ns, int64_t value)
{
    struct store_profile p = {.service = "shop",
                              .name = "process_cpu",
                              .type = "cpu",
                              .unit = "nanoseconds",
                              .time_ns = at_ns};
    struct store_sample put = {"work", {.value = value, .span_id = (sf_span_id)value}};
    assert_ok(store_put_profile(r, &p, &put, 1));
    assert_ok(r->store->ops->flush(r->store, &r->why));
}

TEST(history, has_each_row_once_whatever_becomes_of_the_blocks)
{
    struct store_rig r;
    struct sf_otlp_make m;
    struct sum before, after;
    uint64_t lsn;
    store_rig_init(&r);
    r.config.tuning.compact_blocks = 2;
    sf_otlp_make_init(&m, 1, START_NS);
    assert_ok(store_rig_open(&r));
    for (int i = 0; i < 3; i++) {
        history_put(&r, &m, 100);
        history_put_profile(&r, (int64_t)START_NS + i, 10 + i);
    }
    lsn = sf_wal_whole_lsn(sf_local_log(r.store));
    assert_true(sf_history_exists(r.store, lsn));
    sf_history_keep_apart(r.store, lsn);
    /* Later rows of the same hour: not merged with the earlier ones. */
    for (int i = 0; i < 3; i++) {
        history_put(&r, &m, 7);
        history_put_profile(&r, (int64_t)START_NS + i, 1000);
    }
    assert_ok(sf_compact_all(store_rig_local(&r), &r.why));
    assert_ok(sf_history_collect(r.store, lsn, &r.why));
    before = history_sum(&r);
    assert_int_equal(before.n_spans, 300);
    assert_int_equal(before.n_profiles, 3);
    assert_int_equal(before.value, 33);
    assert_int_equal(before.total, 33);
    assert_int_equal(before.n_details, 3);
    /* The blocks are merged with others, and erased; a restart finds the same rows. */
    sf_history_keep_apart(r.store, 0);
    history_put(&r, &m, 7);
    assert_ok(sf_compact_all(store_rig_local(&r), &r.why));
    assert_ok(
        r.store->ops->erase(r.store, 1, &(struct sf_selector){.what = SF_SELECT_ALL}, &r.why));
    store_rig_close(&r);
    assert_ok(store_rig_open(&r));
    after = history_sum(&r);
    assert_memory_equal(&before, &after, sizeof(before));
    assert_ok(sf_history_remove(r.store, &r.why));
    assert_ok(sf_history_remove(r.store, &r.why));
    assert_false(sf_dir_exists(r.dir, SF_HISTORY_FOLDER));
    store_rig_done(&r);
}

TEST(history, refuses_blocks_with_later_rows_and_lists_that_are_damaged)
{
    struct store_rig r;
    struct sf_otlp_make m;
    struct sf_history *h = NULL;
    uint64_t lsn;
    store_rig_init(&r);
    r.config.tuning.compact_blocks = 2;
    sf_otlp_make_init(&m, 1, START_NS);
    assert_ok(store_rig_open(&r));
    history_put(&r, &m, 10);
    lsn = sf_wal_whole_lsn(sf_local_log(r.store));
    history_put(&r, &m, 10);
    assert_ok(sf_history_collect(r.store, lsn, &r.why));
    assert_int_equal(history_sum(&r).n_spans, 10);
    assert_ok(sf_dir_replace(r.dir, SF_HISTORY_FOLDER "/list", sf_str_bytes(SF_STR("x")), &r.why));
    assert_err(sf_history_open(r.store, &h, &r.why), SF_ERR_CORRUPT);
    assert_ok(sf_compact_all(store_rig_local(&r), &r.why)); /* both in one block */
    assert_err(sf_history_collect(r.store, lsn, &r.why), SF_ERR_UNSUPPORTED);
    assert_err(sf_history_open(r.store, &h, &r.why), SF_ERR_NOT_FOUND);
    assert_false(sf_history_exists(r.store, 0));
    store_rig_done(&r);
}

#include "test.h"

#include "base/hash.h"
#include "base/num.h"
#include "base/time_unit.h"
#include "block/format/section.h"
#include "flame/batch_tree.h"
#include "store/local/files/directory.h"
#include "store/local/write/compact.h"
#include "store/local/write/retain.h"
#include "support/profile_lines.h"
#include "support/profile_make.h"
#include "support/store_rig.h"
#include <fcntl.h>

static const int64_t NOW_NS = INT64_C(1763200000) * 1000000000;
static int64_t now_ns;

static int64_t wall_ns(void)
{
    return now_ns;
}

static int64_t mono_ns(void)
{
    return now_ns - NOW_NS + SF_NS_PER_DAY;
}

struct rig {
    struct store_rig r;
    struct sf_profile_make make;
    struct sf_arena a;
    struct profile_lines cpu[3],
        spans; /* what was acknowledged: CPU of each service, of one span */
};

static void init(struct rig *r)
{
    *r = (struct rig){0};
    now_ns = NOW_NS;
    store_rig_init(&r->r);
    r->r.config.tuning.wall_ns = wall_ns;
    r->r.config.tuning.mono_ns = mono_ns;
    r->r.config.n_writers = 1;
    assert_ok(store_rig_open(&r->r));
    r->make = (struct sf_profile_make){.rng = 5, .span_percent = 30};
    if (!sf_arena_init(&r->a, (size_t)1 << 30))
        fail();
}

static void done(struct rig *r)
{
    for (int i = 0; i < 3; i++)
        profile_lines_done(&r->cpu[i]);
    profile_lines_done(&r->spans);
    sf_arena_done(&r->a);
    store_rig_done(&r->r);
}

static void lines_of_tree(struct profile_lines *l, const struct sf_tree *t)
{
    struct sf_buf text = {0};
    for (uint32_t i = 1; i < t->n_nodes; i++) {
        uint32_t path[2048], n = 0;
        if (t->nodes[i].self == 0)
            continue;
        for (uint32_t at = i; at; at = t->nodes[at].parent)
            path[n++] = at;
        sf_buf_reset(&text);
        while (n > 0) {
            const struct sf_frame *f = &t->frames[t->nodes[path[--n]].frame];
            sf_buf_print(&text, "%.*s@%.*s:%u;", SF_STR_ARG(f->function), SF_STR_ARG(f->file),
                         f->line);
        }
        profile_lines_add(l, &text, t->nodes[i].self);
    }
    sf_buf_done(&text);
    profile_lines_settle(l);
}

static struct sf_profile_type cpu_type(const struct sf_profile_batch *b)
{
    for (uint32_t i = 0; i < b->n_series; i++) {
        if (sf_str_eq(b->series[i].type.sample_type, SF_STR("cpu")))
            return b->series[i].type;
    }
    fail();
    return b->series[0].type;
}

static struct sf_batch *logged(struct rig *r, const struct sf_profile_batch *p, uint64_t dup_hash)
{
    struct sf_logged rec = {.kind = SF_LOG_PROFILES, .tenant = 1, .recv_ns = now_ns};
    struct sf_buf body = {0};
    struct sf_batch *b = NULL;
    uint8_t *meta;
    sf_profile_batch_encode(p, &body);
    rec.body = sf_buf_bytes(&body);
    if (store_replay(NULL, &rec, &b, &r->r.why))
        fail_msg("%s", r->r.why.text);
    sf_buf_done(&body);
    meta = sf_arena_raw(&b->arena, 8, 8);
    memcpy(meta, &dup_hash, 8);
    b->log.meta = (sf_bytes){meta, 8};
    b->dup_hash = dup_hash;
    return b;
}

static sf_span_id watched(void)
{
    return sf_profile_make_span(1, 3);
}

/* Sends profiles of all three services and notes what they hold. */
static void send(struct rig *r, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct sf_profile_batch p;
        struct sf_profile_type type;
        struct sf_tree tree;
        struct sf_profile_batch of_span;
        struct sf_sample *some;
        now_ns += 10 * SF_NS_PER_S;
        r->make.now_ns = now_ns - 10 * SF_NS_PER_S;
        sf_profile_make_one(&r->make, i % 3, 120, &r->a, &p);
        assert_ok(store_put_batch(&r->r, 0, logged(r, &p, 0)));
        type = cpu_type(&p);
        assert_ok(sf_batch_tree(&p, &type, &r->a, &tree, &r->r.why));
        lines_of_tree(&r->cpu[i % 3], &tree);
        if (i % 3 != 1)
            continue;
        some = sf_arena_new_n(&r->a, p.n_samples + 1, sizeof(*some));
        of_span = p;
        of_span.samples = some;
        of_span.n_samples = 0;
        for (uint32_t k = 0; k < p.n_samples; k++) {
            if (p.samples[k].span_id == watched())
                some[of_span.n_samples++] = p.samples[k];
        }
        assert_ok(sf_batch_tree(&of_span, &type, &r->a, &tree, &r->r.why));
        lines_of_tree(&r->spans, &tree);
    }
}

static void ask(struct rig *r, struct sf_prof_query *query, struct profile_lines *out)
{
    const struct sf_tree *tree;
    sf_arena_reset(&r->r.arena);
    if (r->r.store->ops->prof_merge(r->r.store, query, &r->r.q, &tree, &r->r.why))
        fail_msg("%s", r->r.why.text);
    lines_of_tree(out, tree);
}

static void check_service(struct rig *r, uint32_t service, const struct profile_lines *want)
{
    char name[32];
    struct sf_matcher match = {.key = SF_STR("service_name"), .op = SF_OP_EQ};
    struct sf_prof_query query = {
        .type = SF_STR("process_cpu:cpu:nanoseconds"), .match = &match, .n_match = 1};
    struct profile_lines got = {0};
    snprintf(name, sizeof(name), "service-%u", service);
    match.val = sf_str_from(name);
    ask(r, &query, &got);
    assert_true(profile_lines_same(want, &got));
    profile_lines_done(&got);
}

/* Everything that was acknowledged is there, once. */
static void check(struct rig *r)
{
    sf_span_id id = watched();
    struct sf_prof_query query = {
        .type = SF_STR("process_cpu:cpu:nanoseconds"), .span_ids = &id, .n_spans = 1};
    struct profile_lines got = {0};
    uint64_t n_faults = 1;
    for (uint32_t i = 0; i < 3; i++)
        check_service(r, i, &r->cpu[i]);
    ask(r, &query, &got);
    assert_true(r->spans.n > 0);
    assert_true(profile_lines_same(&r->spans, &got));
    profile_lines_done(&got);
    (void)n_faults;
}

static void reopen(struct rig *r)
{
    store_rig_close(&r->r);
    assert_ok(store_rig_open(&r->r));
}

static void no_finding(void *arg, const char *sentence)
{
    (void)arg;
    if (strncmp(sentence, "note", 4) != 0)
        fail_msg("%s", sentence);
}

static void check_disk(struct rig *r)
{
    uint64_t n_faults = 1;
    store_rig_close(&r->r);
    assert_ok(sf_store_local_fsck(r->r.dir, no_finding, NULL, &n_faults, &r->r.why));
    assert_int_equal(n_faults, 0);
    assert_ok(store_rig_open(&r->r));
}

TEST(profiles, are_found_at_once_after_a_flush_and_after_a_restart)
{
    struct rig r;
    init(&r);
    send(&r, 12);
    check(&r);
    assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    check(&r);
    send(&r, 9);
    check(&r);
    reopen(&r);
    check(&r);
    check_disk(&r);
    check(&r);
    done(&r);
}

static struct rig *crashing;

static void send_and_die(struct store_rig *store)
{
    (void)store;
    assert_ok(store_rig_open(&crashing->r));
    send(crashing, 9);
    assert_ok(crashing->r.store->ops->flush(crashing->r.store, &crashing->r.why));
    send(crashing, 6);
}

TEST(profiles, survive_a_crash_exactly_once)
{
    struct rig r, twin;
    init(&r);
    store_rig_close(&r.r); /* no thread may run while it forks */
    crashing = &r;
    store_in_crashing_process(&r.r, send_and_die);
    init(&twin); /* sends the same, so that we know what the dead one had */
    send(&twin, 9);
    send(&twin, 6);
    assert_ok(store_rig_open(&r.r));
    for (int i = 0; i < 3; i++) {
        r.cpu[i] = twin.cpu[i];
        twin.cpu[i] = (struct profile_lines){0};
    }
    r.spans = twin.spans;
    twin.spans = (struct profile_lines){0};
    check(&r);
    reopen(&r);
    check(&r);
    done(&twin);
    done(&r);
}

TEST(profiles, that_are_sent_twice_count_once)
{
    struct rig r;
    struct sf_profile_batch p;
    struct sf_profile_type type;
    struct sf_tree tree;
    init(&r);
    r.make.now_ns = now_ns - SF_NS_PER_S;
    sf_profile_make_one(&r.make, 0, 50, &r.a, &p);
    for (int i = 0; i < 3; i++) {
        assert_ok(store_put_batch(&r.r, 0, logged(&r, &p, 77)));
        if (i == 1) /* the hash is found in the block, not in memory */
            reopen(&r);
    }
    type = cpu_type(&p);
    assert_ok(sf_batch_tree(&p, &type, &r.a, &tree, &r.r.why));
    lines_of_tree(&r.cpu[0], &tree);
    check_service(&r, 0, &r.cpu[0]);
    done(&r);
}

TEST(profiles, keep_their_sums_when_blocks_are_merged)
{
    struct rig r;
    struct sf_store_stats stats;
    init(&r);
    for (int i = 0; i < 10; i++) {
        send(&r, 6);
        assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    }
    assert_ok(r.r.store->ops->stats(r.r.store, &stats, &r.r.why));
    assert_int_equal(stats.n_blocks[0], 10);
    assert_ok(sf_compact_all(store_rig_local(&r.r), &r.r.why));
    assert_ok(r.r.store->ops->stats(r.r.store, &stats, &r.r.why));
    assert_int_equal(stats.n_blocks[0], 0);
    assert_in_range(stats.n_blocks[1], 1, 2);
    check(&r);
    check_disk(&r);
    check(&r);
    done(&r);
}

/* Eight hours of a day, merged by the hour; and then the day is over. */
static void fill_day(struct rig *r)
{
    struct sf_store_stats stats;
    for (int i = 0; i < 8; i++) {
        send(r, 12);
        assert_ok(r->r.store->ops->flush(r->r.store, &r->r.why));
        now_ns += SF_NS_PER_HOUR;
        assert_ok(sf_compact_all(store_rig_local(&r->r), &r->r.why));
    }
    assert_ok(r->r.store->ops->stats(r->r.store, &stats, &r->r.why));
    assert_true(stats.n_blocks[1] >= 7);
    assert_int_equal(stats.n_blocks[2], 0);
    now_ns = (now_ns / SF_NS_PER_DAY + 1) * SF_NS_PER_DAY + 3 * SF_NS_PER_HOUR;
    assert_ok(sf_compact_all(store_rig_local(&r->r), &r->r.why));
    assert_ok(r->r.store->ops->stats(r->r.store, &stats, &r->r.why));
    assert_int_equal(stats.n_blocks[0] + stats.n_blocks[1], 0);
    assert_int_equal(stats.n_blocks[2], 1);
}

TEST(profiles, of_a_day_that_is_over_share_one_block)
{
    struct rig r;
    struct sf_store_stats stats;
    init(&r);
    now_ns = NOW_NS / SF_NS_PER_DAY * SF_NS_PER_DAY + SF_NS_PER_HOUR;
    fill_day(&r);
    check(&r);
    check_disk(&r);
    check(&r);
    send(&r, 12); /* another day's */
    assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    assert_ok(sf_compact_all(store_rig_local(&r.r), &r.r.why));
    check(&r);
    assert_ok(r.r.store->ops->stats(r.r.store, &stats, &r.r.why));
    assert_int_equal(stats.n_blocks[2], 1);
    done(&r);
}

TEST(profiles, of_an_erased_service_leave_a_day_too)
{
    struct rig r;
    struct sf_selector which = {.what = SF_SELECT_SERVICE, .service = SF_STR("service-2")};
    struct sf_store_stats stats;
    init(&r);
    r.r.config.tuning.orphan_age_ns = 1;
    now_ns = NOW_NS / SF_NS_PER_DAY * SF_NS_PER_DAY + SF_NS_PER_HOUR;
    fill_day(&r);
    assert_ok(r.r.store->ops->erase(r.r.store, 1, &which, &r.r.why));
    profile_lines_done(&r.cpu[2]);
    check(&r);
    assert_ok(sf_compact_all(store_rig_local(&r.r), &r.r.why));
    check(&r);
    assert_ok(r.r.store->ops->stats(r.r.store, &stats, &r.r.why));
    assert_int_equal(stats.n_blocks[2], 1);
    check_disk(&r);
    check(&r);
    done(&r);
}

TEST(profiles, are_all_there_when_the_catalogue_is_lost)
{
    struct rig r;
    char path[200];
    init(&r);
    for (int i = 0; i < 9; i++) {
        send(&r, 6);
        assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
        if (i == 7)
            assert_ok(sf_compact_all(store_rig_local(&r.r), &r.r.why));
    }
    store_rig_close(&r.r);
    for (int i = 0; i < 3; i++) {
        static const char *const ends[] = {"", "-wal", "-shm"};
        snprintf(path, sizeof(path), "%s/meta.db%s", r.r.path, ends[i]);
        unlink(path);
    }
    assert_ok(store_rig_open(&r.r));
    check(&r);
    done(&r);
}

TEST(profiles, of_an_erased_service_leave_no_byte)
{
    struct rig r;
    struct sf_selector which = {.what = SF_SELECT_SERVICE, .service = SF_STR("service-2")};
    init(&r);
    r.r.config.tuning.orphan_age_ns = 1;
    send(&r, 12);
    assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    send(&r, 6);
    assert_ok(r.r.store->ops->erase(r.r.store, 1, &which, &r.r.why));
    profile_lines_done(&r.cpu[2]);
    check(&r); /* hidden at once */
    assert_ok(sf_compact_all(store_rig_local(&r.r), &r.r.why));
    check(&r);
    reopen(&r);
    check(&r);
    store_rig_close(&r.r);
    assert_true(store_has_bytes(r.r.path, "service-1", 9) ||
                store_has_bytes(r.r.path, "service-0", 9));
    assert_false(store_has_bytes(r.r.path, "service-2", 9));
    assert_ok(store_rig_open(&r.r));
    done(&r);
}

TEST(profiles, of_an_erased_trace_lose_their_detail_and_no_sum)
{
    struct rig r;
    sf_trace_id trace = sf_profile_make_trace(1, 3);
    struct sf_selector which = {.what = SF_SELECT_TRACES, .trace_ids = &trace, .n_traces = 1};
    sf_span_id id = watched();
    struct sf_prof_query query = {.span_ids = &id, .n_spans = 1};
    init(&r);
    send(&r, 30);
    assert_ok(r.r.store->ops->erase(r.r.store, 1, &which, &r.r.why));
    for (int i = 0; i < 2; i++) {
        struct profile_lines got = {0};
        ask(&r, &query, &got);
        assert_int_equal(got.n, 0);
        profile_lines_done(&got);
        for (uint32_t k = 0; k < 3; k++)
            check_service(&r, k, &r.cpu[k]);
        assert_ok(sf_compact_all(store_rig_local(&r.r), &r.r.why));
    }
    done(&r);
}

TEST(profiles, expire_by_their_own_age)
{
    struct rig r;
    struct sf_store_stats stats;
    init(&r);
    r.r.config.retention.profiles_ns = 2 * SF_NS_PER_HOUR;
    r.r.config.retention.spans_ns = SF_NS_PER_HOUR / 2;
    reopen(&r);
    send(&r, 6);
    assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    now_ns += SF_NS_PER_HOUR;
    assert_ok(sf_compact_all(store_rig_local(&r.r), &r.r.why));
    check_service(&r, 0, &r.cpu[0]);
    now_ns += SF_NS_PER_HOUR;
    now_ns += SF_NS_PER_HOUR / 2;
    for (int i = 0; i < 3; i++)
        assert_ok(sf_compact_all(store_rig_local(&r.r), &r.r.why));
    for (int i = 0; i < 3; i++)
        profile_lines_done(&r.cpu[i]);
    check_service(&r, 0, &r.cpu[0]);
    assert_ok(r.r.store->ops->stats(r.r.store, &stats, &r.r.why));
    assert_int_equal(stats.block_samples, 0);
    done(&r);
}

static uint64_t count_details(struct rig *r)
{
    sf_span_id id = watched();
    struct sf_prof_query query = {.span_ids = &id, .n_spans = 1};
    struct profile_lines got = {0};
    uint64_t n;
    ask(r, &query, &got);
    n = got.n;
    profile_lines_done(&got);
    return n;
}

/* Of the first service, from the store's beginning to `to_ns`. */
static int64_t sum_until(struct rig *r, int64_t to_ns, bool *out_is_exact)
{
    struct sf_matcher service = {SF_STR("service_name"), SF_OP_EQ, SF_STR("service-0")};
    struct sf_prof_query query = {.type = SF_STR("process_cpu:cpu:nanoseconds"),
                                  .match = &service,
                                  .n_match = 1,
                                  .from_ns = 1,
                                  .to_ns = to_ns};
    uint32_t tenant = 1;
    struct sf_query_ctx q = {.tenants = &tenant, .n_tenants = 1, .req = &r->a, .is_exact = true};
    const struct sf_tree *tree;
    assert_ok(r->r.store->ops->prof_merge(r->r.store, &query, &q, &tree, &r->r.why));
    *out_is_exact = q.is_exact;
    return tree->total;
}

static void compact(struct rig *r)
{
    for (int i = 0; i < 4; i++)
        assert_ok(sf_compact_all(store_rig_local(&r->r), &r->r.why));
}

TEST(profiles, become_sums_of_ten_minutes_after_full_resolution)
{
    struct rig r;
    struct sf_store_stats before, after;
    int64_t first_ns, whole;
    bool is_exact;
    init(&r);
    r.r.config.retention.full_resolution_ns = 2 * SF_NS_PER_HOUR;
    reopen(&r);
    first_ns = now_ns;
    send(&r, 120);
    assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    compact(&r);
    assert_ok(r.r.store->ops->stats(r.r.store, &before, &r.r.why));
    whole = sum_until(&r, now_ns, &is_exact);
    assert_true(is_exact);
    assert_true(sum_until(&r, first_ns + 100 * SF_NS_PER_S, &is_exact) < whole / 2);
    assert_true(is_exact);
    now_ns += 5 * SF_NS_PER_HOUR;
    compact(&r);
    assert_ok(r.r.store->ops->stats(r.r.store, &after, &r.r.why));
    assert_true(after.block_samples < before.block_samples / 2);
    for (uint32_t i = 0; i < 3; i++)
        check_service(&r, i, &r.cpu[i]);
    assert_true(count_details(&r) > 0);
    /* What is cut is answered whole, and said. */
    assert_true(sum_until(&r, first_ns + 100 * SF_NS_PER_S, &is_exact) > 0);
    assert_false(is_exact);
    assert_int_equal(sum_until(&r, now_ns, &is_exact), whole);
    assert_true(is_exact);
    check_disk(&r);
    compact(&r);
    for (uint32_t i = 0; i < 3; i++)
        check_service(&r, i, &r.cpu[i]);
    done(&r);
}

TEST(profiles, that_are_sums_only_leave_with_an_erasure_too)
{
    struct rig r;
    struct sf_selector which = {.what = SF_SELECT_SERVICE, .service = SF_STR("service-0")};
    bool is_exact;
    init(&r);
    r.r.config.retention.full_resolution_ns = 2 * SF_NS_PER_HOUR;
    reopen(&r);
    send(&r, 30);
    assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    now_ns += 5 * SF_NS_PER_HOUR;
    compact(&r);
    check_service(&r, 0, &r.cpu[0]);
    assert_ok(r.r.store->ops->erase(r.r.store, 1, &which, &r.r.why));
    assert_int_equal(sum_until(&r, now_ns, &is_exact), 0);
    compact(&r);
    assert_int_equal(sum_until(&r, now_ns, &is_exact), 0);
    check_service(&r, 1, &r.cpu[1]);
    done(&r);
}

TEST(profiles, lose_their_single_samples_by_an_age_of_their_own)
{
    struct rig r;
    init(&r);
    r.r.config.retention.detail_ns = 3 * SF_NS_PER_HOUR;
    reopen(&r);
    send(&r, 30);
    assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    now_ns += 2 * SF_NS_PER_HOUR;
    compact(&r);
    assert_true(count_details(&r) > 0);
    now_ns += 2 * SF_NS_PER_HOUR;
    compact(&r);
    assert_int_equal(count_details(&r), 0);
    for (uint32_t i = 0; i < 3; i++)
        check_service(&r, i, &r.cpu[i]);
    done(&r);
}

TEST(profiles, are_refused_and_not_dropped_when_memory_is_full)
{
    struct rig r;
    enum sf_err err = SF_OK;
    unsigned n = 0;
    init(&r);
    r.r.config.memory_len = 16 << 20; /* the line of profiles is 2.5 MB */
    r.make.n_stacks = 3000;
    reopen(&r);
    while (n < 500) {
        struct sf_profile_batch p;
        struct sf_profile_type type;
        struct sf_tree tree;
        struct sf_batch *b;
        sf_arena_reset(&r.a);
        r.make.now_ns = now_ns;
        sf_profile_make_one(&r.make, 0, 1000, &r.a, &p);
        b = logged(&r, &p, 0);
        err = store_put_batch(&r.r, 0, b);
        if (err)
            break;
        n++;
        type = cpu_type(&p);
        assert_ok(sf_batch_tree(&p, &type, &r.a, &tree, &r.r.why));
        lines_of_tree(&r.cpu[0], &tree);
    }
    assert_int_equal(err, SF_ERR_BUSY);
    assert_true(n > 3);
    check_service(&r, 0, &r.cpu[0]);
    assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    check_service(&r, 0, &r.cpu[0]);
    sf_arena_reset(&r.a);
    profile_lines_done(&r.cpu[0]);
    done(&r);
}

TEST(profiles, give_time_series_that_add_up)
{
    struct rig r;
    struct sf_prof_query query = {.type = SF_STR("process_cpu:cpu:nanoseconds:cpu:nanoseconds"),
                                  .from_ns = NOW_NS,
                                  .to_ns = NOW_NS + SF_NS_PER_HOUR};
    sf_str key = SF_STR("service_name");
    struct sf_prof_points points;
    struct sf_prof_list list;
    int64_t sums[3] = {0};
    init(&r);
    send(&r, 15);
    assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    send(&r, 9);
    assert_ok(r.r.store->ops->prof_points(r.r.store, &query, &key, 1, 15 * SF_NS_PER_S, &r.r.q,
                                          &points, &r.r.why));
    assert_int_equal(points.groups.n_sets, 3);
    for (uint32_t i = 0; i < points.n_points; i++) {
        uint32_t group = points.points[i].group;
        const struct sf_label *l = &points.groups.labels[points.groups.ends[group] - 1];
        assert_true(l->val.len == 9);
        sums[l->val.p[8] - '0'] += points.points[i].value;
        assert_int_equal((points.points[i].time_ns - NOW_NS) % (15 * SF_NS_PER_S), 0);
    }
    for (int i = 0; i < 3; i++) {
        int64_t want = 0;
        for (size_t k = 0; k < r.cpu[i].n; k++)
            want += r.cpu[i].list[k].sum;
        assert_int_equal(sums[i], want);
    }
    query.type = SF_STR_NONE;
    assert_ok(r.r.store->ops->prof_list(r.r.store, &query, &r.r.q, &list, &r.r.why));
    assert_true(list.n >= 6);
    for (uint32_t i = 1; i < list.n; i++)
        assert_true(sf_str_cmp(list.series[i - 1].service, list.series[i].service) <= 0);
    done(&r);
}

struct redating {
    struct rig *r;
    uint16_t format;
    uint32_t n;
};

static bool redate(void *arg, const char *path, uint64_t id)
{
    struct redating *x = arg;
    char whole[300];
    uint8_t header[SF_BLOCK_HEADER_LEN];
    (void)id;
    if (strncmp(path, "prof/", 5) != 0)
        return true;
    snprintf(whole, sizeof(whole), "%s/%s", x->r->r.path, path);
    int fd = open(whole, O_RDWR | O_CLOEXEC);
    assert_int_equal(pread(fd, header, sizeof(header), 0), sizeof(header));
    sf_store_u16le(header + 4, x->format);
    sf_store_u64le(header + 120, sf_hash(header, 120));
    assert_int_equal(pwrite(fd, header, sizeof(header), 0), sizeof(header));
    close(fd);
    x->n++;
    return true;
}

TEST(profiles, of_a_later_format_are_left_alone)
{
    struct rig r;
    struct redating x = {.r = &r, .format = SF_PROFILE_BLOCK_FORMAT + 1};
    init(&r);
    send(&r, 9);
    assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    store_rig_close(&r.r);
    assert_ok(sf_directory_blocks(r.r.dir, redate, &x, &r.r.why));
    assert_true(x.n > 0);
    assert_err(store_rig_open(&r.r), SF_ERR_UNSUPPORTED);
    assert_non_null(strstr(r.r.why.text, "a later version wrote"));
    assert_err(store_rig_open(&r.r), SF_ERR_UNSUPPORTED); /* nothing was moved away */
    x.format--;
    assert_ok(sf_directory_blocks(r.r.dir, redate, &x, &r.r.why));
    assert_ok(store_rig_open(&r.r));
    for (uint32_t i = 0; i < 3; i++)
        check_service(&r, i, &r.cpu[i]);
    done(&r);
}

static int64_t sum_of(struct rig *r, int64_t from_ns, int64_t to_ns)
{
    struct sf_prof_query query = {.type = SF_STR("process_cpu:cpu:nanoseconds:cpu:nanoseconds"),
                                  .from_ns = from_ns,
                                  .to_ns = to_ns};
    struct sf_prof_points points;
    const struct sf_tree *tree;
    struct sf_arena tmp = r->a;
    uint32_t tenant = 1;
    struct sf_query_ctx q = {.tenants = &tenant, .n_tenants = 1, .req = &tmp};
    int64_t sum = 0;
    assert_ok(r->r.store->ops->prof_merge(r->r.store, &query, &q, &tree, &r->r.why));
    assert_ok(r->r.store->ops->prof_points(r->r.store, &query, NULL, 0, 7 * SF_NS_PER_S, &q,
                                           &points, &r->r.why));
    for (uint32_t i = 0; i < points.n_points; i++) {
        sum += points.points[i].value;
        assert_true(points.points[i].time_ns < to_ns);
    }
    assert_int_equal(sum, tree->total); /* a series is its range, as a flame graph is */
    return tree->total;
}

/* Ten-second profiles in windows of any length: each counts once, also as sums of ten minutes. */
TEST(profiles, add_up_over_adjacent_windows)
{
    static const int64_t seconds[] = {10, 60, 300, 13};
    struct rig r;
    int64_t from_ns, to_ns, whole;
    init(&r);
    r.r.config.retention.full_resolution_ns = 2 * SF_NS_PER_HOUR;
    reopen(&r);
    from_ns = now_ns - 3 * SF_NS_PER_S;
    send(&r, 120);
    assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    to_ns = now_ns + SF_NS_PER_S;
    for (int round = 0; round < 2; round++) {
        whole = sum_of(&r, 1, to_ns);
        assert_true(whole > 0);
        for (int k = 0; k < 4; k++) {
            int64_t step = seconds[k] * SF_NS_PER_S, sum = 0;
            for (int64_t at = from_ns - 600 * SF_NS_PER_S; at < to_ns; at += step)
                sum += sum_of(&r, at, at + step);
            assert_int_equal(sum, whole);
        }
        now_ns += 5 * SF_NS_PER_HOUR;
        compact(&r);
    }
    done(&r);
}

TEST(profiles, find_spans_by_the_beginning_of_their_ids_and_their_rows)
{
    struct rig r;
    const struct sf_prof_span *spans;
    sf_span_id id = watched();
    struct sf_detail_query query = {
        .type = SF_STR("process_cpu:cpu:nanoseconds"), .span_ids = &id, .n_spans = 1};
    struct sf_detail_list list;
    int64_t sum = 0, want = 0;
    size_t n;
    init(&r);
    send(&r, 30);
    assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    send(&r, 9);
    assert_ok(r.r.store->ops->prof_spans(r.r.store, id & ~UINT64_C(0xffff), id | 0xffff, 100,
                                         &r.r.q, &spans, &n, &r.r.why));
    assert_true(n >= 1);
    assert_ok(r.r.store->ops->prof_spans(r.r.store, id, id, 100, &r.r.q, &spans, &n, &r.r.why));
    assert_int_equal(n, 1);
    assert_str(spans[0].service, "service-1");
    assert_ok(r.r.store->ops->detail_list(r.r.store, &query, &r.r.q, &list, &r.r.why));
    for (uint32_t i = 0; i < list.rows.n_rows; i++) {
        assert_true(list.rows.span_id[i] == id);
        sum += list.rows.value[i];
    }
    for (size_t i = 0; i < r.spans.n; i++)
        want += r.spans.list[i].sum;
    assert_int_equal(sum, want);
    assert_int_equal(list.tree.total, want);
    done(&r);
}

static bool is_leafy(void *arg, sf_str function)
{
    (void)arg;
    return function.len > 0 && function.p[function.len - 1] % 2 == 0;
}

static bool has_leafy(const struct sf_tree *t, uint32_t node)
{
    for (; node != 0; node = t->nodes[node].parent)
        if (is_leafy(NULL, t->frames[t->nodes[node].frame].function))
            return true;
    return false;
}

static int by_id(const void *a, const void *b)
{
    sf_span_id x = *(const sf_span_id *)a, y = *(const sf_span_id *)b;
    return (x > y) - (x < y);
}

/* Against rows one by one: in blocks and in memory, of all spans and of many by their ids. */
TEST(profiles, sum_rows_by_span_and_find_many_spans_at_once)
{
    struct rig r;
    const struct sf_frame_test test = {is_leafy, NULL};
    struct sf_detail_query query = {.type = SF_STR("process_cpu:cpu:nanoseconds")};
    struct sf_detail_list list, found;
    struct sf_span_costs all, some;
    init(&r);
    send(&r, 30);
    assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    send(&r, 9);
    assert_ok(r.r.store->ops->detail_list(r.r.store, &query, &r.r.q, &list, &r.r.why));
    assert_ok(r.r.store->ops->detail_sums(r.r.store, &query, NULL, &r.r.q, &all, &r.r.why));
    assert_ok(r.r.store->ops->detail_sums(r.r.store, &query, &test, &r.r.q, &some, &r.r.why));
    assert_true(all.n > 20 && some.n > 0 && !all.is_cut);
    for (int pass = 0; pass < 2; pass++) {
        const struct sf_span_costs *costs = pass ? &some : &all;
        for (uint32_t i = 0; i < costs->n; i++) {
            int64_t want = 0;
            uint64_t n = 0;
            for (uint32_t k = 0; k < list.rows.n_rows; k++) {
                if (list.rows.span_id[k] != costs->list[i].id ||
                    (pass && !has_leafy(&list.tree, list.rows.node[k])))
                    continue;
                want += list.rows.value[k];
                n++;
            }
            assert_int_equal(costs->list[i].value, want);
            assert_int_equal(costs->list[i].n_samples, n);
        }
    }
    /* Every other span by its id, and some that are not there. */
    sf_span_id *ids = calloc(all.n + 2, sizeof(*ids));
    uint32_t n_ids = 0, n_want = 0;
    ids[n_ids++] = 1;
    for (uint32_t i = 0; i < all.n; i += 2)
        ids[n_ids++] = all.list[i].id;
    ids[n_ids++] = UINT64_MAX;
    qsort(ids, n_ids, sizeof(*ids), by_id);
    for (uint32_t i = 0; i < list.rows.n_rows; i++)
        n_want += bsearch(&list.rows.span_id[i], ids, n_ids, sizeof(*ids), by_id) != NULL;
    query.span_ids = ids;
    query.n_spans = n_ids;
    assert_ok(r.r.store->ops->detail_list(r.r.store, &query, &r.r.q, &found, &r.r.why));
    assert_int_equal(found.rows.n_rows, n_want);
    free(ids);
    done(&r);
}

static int by_cost(const void *a, const void *b)
{
    const struct sf_span_cost *x = a, *y = b;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* Against the sums of all spans: with and without a function, in blocks and in memory, in one walk
 * and in many that hold a few parts each. */
TEST(profiles, tell_the_dearest_spans_however_little_memory_there_is)
{
    const struct sf_frame_test test = {is_leafy, NULL};
    for (int pass = 0; pass < 6; pass++) {
        struct rig r;
        struct sf_detail_query query = {.type = SF_STR("process_cpu:cpu:nanoseconds")};
        const struct sf_frame_test *which = pass % 2 ? &test : NULL;
        struct sf_span_costs all;
        struct sf_span_top top;
        int64_t value = 0;
        init(&r);
        store_rig_local(&r.r)->tune.top_len = pass < 4 ? 1 << 20 : 10 * 4096;
        send(&r, pass / 2 == 1 ? 9 : 30);
        if (pass / 2 != 1)
            assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
        if (pass / 2 == 2)
            send(&r, 9);
        assert_ok(r.r.store->ops->detail_sums(r.r.store, &query, which, &r.r.q, &all, &r.r.why));
        assert_ok(r.r.store->ops->detail_top(r.r.store, &query, which, 7, &r.r.q, &top, &r.r.why));
        struct sf_span_cost *want = calloc(all.n + 1u, sizeof(*want));
        memcpy(want, all.list, all.n * sizeof(*want));
        qsort(want, all.n, sizeof(*want), by_cost);
        for (uint32_t i = 0; i < all.n; i++)
            value += want[i].value;
        assert_true(all.n > 20);
        assert_int_equal(top.n_found, all.n);
        assert_int_equal(top.value, value);
        assert_int_equal(top.n, 7);
        for (uint32_t i = 0; i < top.n; i++) {
            assert_true(top.list[i].id == want[i].id && top.list[i].value == want[i].value);
            assert_int_equal(top.list[i].n_samples, want[i].n_samples);
            assert_int_equal(top.list[i].start_ns, want[i].start_ns);
            assert_true(sf_trace_id_eq(top.list[i].trace, want[i].trace));
            assert_true(sf_str_eq(top.list[i].service, want[i].service));
        }
        assert_ok(r.r.store->ops->detail_top(r.r.store, &query, which, 0, &r.r.q, &top, &r.r.why));
        assert_true(top.n == 0 && top.n_found == all.n);
        free(want);
        done(&r);
    }
}

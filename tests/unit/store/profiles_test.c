#include "test.h"

#include "base/heap.h"
#include "base/time_unit.h"
#include "os/clock.h"
#include "store/local/profiles/profile_read.h"
#include "support/profile_store_rig.h"

TEST(profiles, are_found_at_once_after_a_flush_and_after_a_restart)
{
    struct profile_store r;
    profile_store_init(&r);
    profile_store_send(&r, 12);
    profile_store_check(&r);
    assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    profile_store_check(&r);
    profile_store_send(&r, 9);
    profile_store_check(&r);
    profile_store_reopen(&r);
    profile_store_check(&r);
    profile_store_check_disk(&r);
    profile_store_check(&r);
    profile_store_done(&r);
}

static struct profile_store *crashing;

static void send_and_die(struct store_rig *store)
{
    (void)store;
    assert_ok(store_rig_open(&crashing->r));
    profile_store_send(crashing, 9);
    assert_ok(crashing->r.store->ops->flush(crashing->r.store, &crashing->r.why));
    profile_store_send(crashing, 6);
}

TEST(profiles, survive_a_crash_exactly_once)
{
    struct profile_store r, twin;
    profile_store_init(&r);
    store_rig_close(&r.r); /* no thread may run while it forks */
    crashing = &r;
    store_in_crashing_process(&r.r, send_and_die);
    profile_store_init(&twin); /* sends the same, so that we know what the dead one had */
    profile_store_send(&twin, 9);
    profile_store_send(&twin, 6);
    assert_ok(store_rig_open(&r.r));
    for (int i = 0; i < 3; i++) {
        r.cpu[i] = twin.cpu[i];
        twin.cpu[i] = (struct profile_lines){0};
    }
    r.spans = twin.spans;
    twin.spans = (struct profile_lines){0};
    profile_store_check(&r);
    profile_store_reopen(&r);
    profile_store_check(&r);
    profile_store_done(&twin);
    profile_store_done(&r);
}

/* Three records of one request, as intake cuts what is too long for one, sent twice. */
static void send_in_pieces(struct profile_store *r)
{
    for (int i = 0; i < 2; i++) {
        struct sf_profile_batch p, some;
        struct sf_batch *first = NULL;
        r->make = (struct sf_profile_make){
            .rng = 9, .span_percent = 30, .now_ns = profile_store_now_ns - SF_NS_PER_S};
        sf_profile_make_one(&r->make, 1, 90, &r->a, &p);
        for (uint32_t k = 3; k-- > 0;) {
            struct sf_batch *b;
            some = p;
            some.samples += k * (p.n_samples / 3);
            some.n_samples = k == 2 ? p.n_samples - 2 * (p.n_samples / 3) : p.n_samples / 3;
            b = profile_store_logged(r, &some, k == 0 ? 55 : 0);
            b->next = first;
            first = b;
        }
        assert_ok(store_put_batch(&r->r, 0, first));
    }
}

static void send_pieces_and_die(struct store_rig *store)
{
    (void)store;
    assert_ok(store_rig_open(&crashing->r));
    send_in_pieces(crashing);
}

TEST(profiles, in_several_records_are_there_whole_and_once)
{
    struct profile_store r;
    struct sf_profile_batch p;
    struct sf_profile_type type;
    struct sf_tree tree;
    profile_store_init(&r);
    store_rig_close(&r.r);
    crashing = &r;
    store_in_crashing_process(&r.r, send_pieces_and_die);
    r.make = (struct sf_profile_make){
        .rng = 9, .span_percent = 30, .now_ns = profile_store_now_ns - SF_NS_PER_S};
    sf_profile_make_one(&r.make, 1, 90, &r.a, &p);
    type = profile_store_cpu_type(&p);
    assert_ok(store_rig_open(&r.r)); /* from the log */
    assert_ok(sf_batch_tree(&p, &type, &r.a, &tree, &r.r.why));
    profile_store_lines_of_tree(&r.cpu[1], &tree);
    profile_store_check_service(&r, 1, &r.cpu[1]);
    send_in_pieces(&r); /* a sender that never heard the answer */
    profile_store_check_service(&r, 1, &r.cpu[1]);
    assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    profile_store_check_service(&r, 1, &r.cpu[1]);
    profile_store_reopen(&r);
    profile_store_check_service(&r, 1, &r.cpu[1]);
    profile_store_done(&r);
}

TEST(profiles, that_are_sent_twice_count_once)
{
    struct profile_store r;
    struct sf_profile_batch p;
    struct sf_profile_type type;
    struct sf_tree tree;
    profile_store_init(&r);
    r.make.now_ns = profile_store_now_ns - SF_NS_PER_S;
    sf_profile_make_one(&r.make, 0, 50, &r.a, &p);
    for (int i = 0; i < 3; i++) {
        assert_ok(store_put_batch(&r.r, 0, profile_store_logged(&r, &p, 77)));
        if (i == 1) /* the hash is found in the block, not in memory */
            profile_store_reopen(&r);
    }
    type = profile_store_cpu_type(&p);
    assert_ok(sf_batch_tree(&p, &type, &r.a, &tree, &r.r.why));
    profile_store_lines_of_tree(&r.cpu[0], &tree);
    profile_store_check_service(&r, 0, &r.cpu[0]);
    profile_store_done(&r);
}

/* Which requests a block holds is written into it: also when the first try to write it failed. */
TEST(profiles, that_are_sent_again_after_a_failed_flush_count_once)
{
    for (uint64_t n = 2; n < 40; n++) {
        struct profile_store r;
        struct sf_profile_batch p;
        struct sf_profile_type type;
        struct sf_tree tree;
        profile_store_init(&r);
        r.make.now_ns = profile_store_now_ns - SF_NS_PER_S;
        sf_profile_make_one(&r.make, 0, 10, &r.a, &p);
        assert_ok(store_put_batch(&r.r, 0, profile_store_logged(&r, &p, 77)));
        sf_heap_fail_after(n);
        (void)r.r.store->ops->flush(r.r.store, &r.r.why);
        sf_heap_fail_after(0);
        assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
        profile_store_reopen(&r);
        assert_ok(store_put_batch(&r.r, 0, profile_store_logged(&r, &p, 77)));
        type = profile_store_cpu_type(&p);
        assert_ok(sf_batch_tree(&p, &type, &r.a, &tree, &r.r.why));
        profile_store_lines_of_tree(&r.cpu[0], &tree);
        profile_store_check_service(&r, 0, &r.cpu[0]);
        profile_store_done(&r);
    }
}

TEST(profiles, keep_their_sums_when_blocks_are_merged)
{
    struct profile_store r;
    struct sf_local_stats stats;
    profile_store_init(&r);
    for (int i = 0; i < 10; i++) {
        profile_store_send(&r, 6);
        assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    }
    sf_local_figures_stats(r.r.store, &stats);
    assert_int_equal(stats.n_blocks[0], 10);
    assert_ok(sf_compact_all(store_rig_local(&r.r), &r.r.why));
    sf_local_figures_stats(r.r.store, &stats);
    assert_int_equal(stats.n_blocks[0], 0);
    assert_in_range(stats.n_blocks[1], 1, 2);
    profile_store_check(&r);
    profile_store_check_disk(&r);
    profile_store_check(&r);
    profile_store_done(&r);
}

struct slow {
    int64_t until_ns;
    unsigned n;
};

static enum sf_err see_slowly(void *arg, __attribute__((unused)) struct sf_profile_walk *w,
                              __attribute__((unused)) struct sf_profile_read_source *s,
                              __attribute__((unused)) struct sf_why *why)
{
    struct slow *slow = arg;
    while (sf_clock_mono_ns() < slow->until_ns)
        sf_clock_sleep_ms(5);
    slow->n++;
    return SF_OK;
}

TEST(profiles, are_not_read_on_when_that_would_take_too_long)
{
    enum { N_BLOCKS = 20 };
    struct profile_store r;
    profile_store_init(&r);
    for (int i = 0; i < N_BLOCKS; i++) {
        profile_store_send(&r, 6);
        assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    }
    int64_t now_ns = sf_clock_mono_ns();
    struct sf_query_ctx q = {.tenants = &r.r.tenant,
                             .n_tenants = 1,
                             .req = &r.r.arena,
                             .deadline_ns = now_ns + 8 * SF_NS_PER_S};
    struct sf_profile_walk w = {.l = store_rig_local(&r.r), .q = &q};
    struct slow slow = {.until_ns = now_ns + 5 * SF_NS_PER_S / 2};
    assert_int_equal(sf_profile_read_run(&w, see_slowly, &slow, &r.r.why), SF_ERR_DEADLINE);
    assert_non_null(strstr(r.r.why.text, "would take too long"));
    assert_in_range(slow.n, 1, N_BLOCKS);
    slow.n = 0;
    w = (struct sf_profile_walk){.l = store_rig_local(&r.r), .q = &q};
    q.deadline_ns = 0; /* no hurry, no estimate */
    assert_ok(sf_profile_read_run(&w, see_slowly, &slow, &r.r.why));
    assert_true(slow.n >= N_BLOCKS);
    profile_store_done(&r);
}

TEST(profiles, are_refused_and_not_dropped_when_memory_is_full)
{
    struct profile_store r;
    enum sf_err err = SF_OK;
    unsigned n = 0;
    profile_store_init(&r);
    r.r.config.memory_len = 16 << 20; /* the line of profiles is 2.5 MB */
    r.make.n_stacks = 3000;
    profile_store_reopen(&r);
    while (n < 500) {
        struct sf_profile_batch p;
        struct sf_profile_type type;
        struct sf_tree tree;
        struct sf_batch *b;
        sf_arena_reset(&r.a);
        r.make.now_ns = profile_store_now_ns;
        sf_profile_make_one(&r.make, 0, 1000, &r.a, &p);
        b = profile_store_logged(&r, &p, 0);
        err = store_put_batch(&r.r, 0, b);
        if (err)
            break;
        n++;
        type = profile_store_cpu_type(&p);
        assert_ok(sf_batch_tree(&p, &type, &r.a, &tree, &r.r.why));
        profile_store_lines_of_tree(&r.cpu[0], &tree);
    }
    assert_int_equal(err, SF_ERR_BUSY);
    assert_true(n > 3);
    profile_store_check_service(&r, 0, &r.cpu[0]);
    assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    profile_store_check_service(&r, 0, &r.cpu[0]);
    sf_arena_reset(&r.a);
    profile_lines_done(&r.cpu[0]);
    profile_store_done(&r);
}

/* The log refuses what no segment of it can hold; the samples are in memory by then. */
TEST(profiles, are_taken_back_when_the_log_refuses_them)
{
    struct profile_store r;
    struct sf_profile_make large_make = {.rng = 6, .n_stacks = 3000};
    profile_store_init(&r);
    r.r.config.tuning.segment_len = 64 << 10;
    profile_store_reopen(&r);
    for (int i = 0; i < 2; i++) { /* into empty memory, and behind samples of others */
        struct sf_profile_batch large;
        large_make.now_ns = profile_store_now_ns;
        sf_profile_make_one(&large_make, 0, 3000, &r.a, &large);
        assert_err(store_put_batch(&r.r, 0, profile_store_logged(&r, &large, 0)), SF_ERR_LIMIT);
        profile_store_check_service(&r, 0, &r.cpu[0]);
        if (i == 0)
            profile_store_send(&r, 3);
        profile_store_check_service(&r, 0, &r.cpu[0]);
    }
    assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    profile_store_check_service(&r, 0, &r.cpu[0]);
    profile_store_reopen(&r);
    profile_store_check_service(&r, 0, &r.cpu[0]);
    profile_store_done(&r);
}

TEST(profiles, give_time_series_that_add_up)
{
    struct profile_store r;
    struct sf_prof_query query = {.type = SF_STR("process_cpu:cpu:nanoseconds:cpu:nanoseconds"),
                                  .from_ns = PROFILE_STORE_START_NS,
                                  .to_ns = PROFILE_STORE_START_NS + SF_NS_PER_HOUR};
    sf_str key = SF_STR("service_name");
    struct sf_prof_points points;
    struct sf_prof_list list;
    struct sf_local_stats stats;
    int64_t sums[3] = {0};
    profile_store_init(&r);
    profile_store_send(&r, 15);
    assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    profile_store_send(&r, 9);
    sf_local_figures_stats(r.r.store, &stats);
    assert_int_equal(stats.n_profiles_appended, 2 * 24); /* each has two types */
    assert_ok(r.r.store->ops->prof_points(r.r.store, &query, &key, 1, 15 * SF_NS_PER_S, &r.r.q,
                                          &points, &r.r.why));
    assert_int_equal(points.groups.n_sets, 3);
    for (uint32_t i = 0; i < points.n_points; i++) {
        uint32_t group = points.points[i].group;
        const struct sf_label *l = &points.groups.labels[points.groups.ends[group] - 1];
        assert_true(l->val.len == 9);
        sums[l->val.p[8] - '0'] += points.points[i].value;
        assert_int_equal((points.points[i].time_ns - PROFILE_STORE_START_NS) % (15 * SF_NS_PER_S),
                         0);
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
    profile_store_done(&r);
}

static int64_t sum_of(struct profile_store *r, int64_t from_ns, int64_t to_ns)
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
    struct profile_store r;
    int64_t from_ns, to_ns, whole;
    profile_store_init(&r);
    r.r.config.retention.full_resolution_ns = 2 * SF_NS_PER_HOUR;
    profile_store_reopen(&r);
    from_ns = profile_store_now_ns - 3 * SF_NS_PER_S;
    profile_store_send(&r, 120);
    assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    to_ns = profile_store_now_ns + SF_NS_PER_S;
    for (int round = 0; round < 2; round++) {
        whole = sum_of(&r, 1, to_ns);
        assert_true(whole > 0);
        for (int k = 0; k < 4; k++) {
            int64_t step = seconds[k] * SF_NS_PER_S, sum = 0;
            for (int64_t at = from_ns - 600 * SF_NS_PER_S; at < to_ns; at += step)
                sum += sum_of(&r, at, at + step);
            assert_int_equal(sum, whole);
        }
        profile_store_now_ns += 5 * SF_NS_PER_HOUR;
        profile_store_compact(&r);
    }
    profile_store_done(&r);
}

TEST(profiles, find_spans_by_the_beginning_of_their_ids_and_their_rows)
{
    struct profile_store r;
    const struct sf_prof_span *spans;
    sf_span_id id = profile_store_watched();
    struct sf_detail_query query = {
        .type = SF_STR("process_cpu:cpu:nanoseconds"), .span_ids = &id, .n_spans = 1};
    struct sf_detail_list list;
    int64_t sum = 0, want = 0;
    size_t n;
    profile_store_init(&r);
    profile_store_send(&r, 30);
    assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    profile_store_send(&r, 9);
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
    profile_store_done(&r);
}

/* Few: a stack that has one has no other, so that each line of a location counts. */
static bool is_leafy(void *arg, sf_str function)
{
    (void)arg;
    return function.len > 1 && function.p[function.len - 1] == '4' &&
           function.p[function.len - 2] % 2 == 0;
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
    struct profile_store r;
    const struct sf_frame_test test = {is_leafy, NULL};
    struct sf_detail_query query = {.type = SF_STR("process_cpu:cpu:nanoseconds")};
    struct sf_detail_list list, found;
    struct sf_span_costs all, some;
    profile_store_init(&r);
    profile_store_send(&r, 30);
    assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    profile_store_send(&r, 9);
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
    profile_store_done(&r);
}

static int by_cost(const void *a, const void *b)
{
    const struct sf_span_total *x = a, *y = b;
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
        struct profile_store r;
        struct sf_detail_query query = {.type = SF_STR("process_cpu:cpu:nanoseconds")};
        const struct sf_frame_test *which = pass % 2 ? &test : NULL;
        struct sf_span_costs all;
        struct sf_span_top top;
        int64_t value = 0;
        profile_store_init(&r);
        store_rig_local(&r.r)->tune.top_len = pass < 4 ? 1 << 20 : 10 * 4096;
        profile_store_send(&r, pass / 2 == 1 ? 9 : 30);
        if (pass / 2 != 1)
            assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
        if (pass / 2 == 2)
            profile_store_send(&r, 9);
        assert_ok(r.r.store->ops->detail_sums(r.r.store, &query, which, &r.r.q, &all, &r.r.why));
        assert_ok(r.r.store->ops->detail_top(r.r.store, &query, which, 7, &r.r.q, &top, &r.r.why));
        struct sf_span_total *want = calloc(all.n + 1u, sizeof(*want));
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
        profile_store_done(&r);
    }
}

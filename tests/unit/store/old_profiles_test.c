#include "test.h"

#include "base/hash.h"
#include "base/num.h"
#include "block/format/section.h"
#include "store/local/files/directory.h"
#include "store/local/write/retain.h"
#include "support/profile_store_rig.h"
#include <fcntl.h>

/* Eight hours of a day, merged by the hour; and then the day is over. */
static void fill_day(struct profile_store *r)
{
    struct sf_local_stats stats;
    for (int i = 0; i < 8; i++) {
        profile_store_send(r, 12);
        assert_ok(r->r.store->ops->flush(r->r.store, &r->r.why));
        profile_store_now_ns += SF_NS_PER_HOUR;
        assert_ok(sf_compact_all(store_rig_local(&r->r), &r->r.why));
    }
    sf_local_figures_stats(r->r.store, &stats);
    assert_true(stats.n_blocks[1] >= 7);
    assert_int_equal(stats.n_blocks[2], 0);
    profile_store_now_ns = (profile_store_now_ns / SF_NS_PER_DAY + 1) * SF_NS_PER_DAY +
                           3 * SF_NS_PER_HOUR;
    assert_ok(sf_compact_all(store_rig_local(&r->r), &r->r.why));
    sf_local_figures_stats(r->r.store, &stats);
    assert_int_equal(stats.n_blocks[0] + stats.n_blocks[1], 0);
    assert_int_equal(stats.n_blocks[2], 1);
}

TEST(old_profiles, of_a_day_that_is_over_share_one_block)
{
    struct profile_store r;
    struct sf_local_stats stats;
    profile_store_init(&r);
    profile_store_now_ns = PROFILE_STORE_START_NS / SF_NS_PER_DAY * SF_NS_PER_DAY + SF_NS_PER_HOUR;
    fill_day(&r);
    profile_store_check(&r);
    profile_store_check_disk(&r);
    profile_store_check(&r);
    profile_store_send(&r, 12); /* another day's */
    assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    assert_ok(sf_compact_all(store_rig_local(&r.r), &r.r.why));
    profile_store_check(&r);
    sf_local_figures_stats(r.r.store, &stats);
    assert_int_equal(stats.n_blocks[2], 1);
    profile_store_done(&r);
}

TEST(old_profiles, of_an_erased_service_leave_a_day_too)
{
    struct profile_store r;
    struct sf_selector which = {.what = SF_SELECT_SERVICE, .service = SF_STR("service-2")};
    struct sf_local_stats stats;
    profile_store_init(&r);
    r.r.config.tuning.orphan_age_ns = 1;
    profile_store_now_ns = PROFILE_STORE_START_NS / SF_NS_PER_DAY * SF_NS_PER_DAY + SF_NS_PER_HOUR;
    fill_day(&r);
    assert_ok(r.r.store->ops->erase(r.r.store, 1, &which, &r.r.why));
    profile_lines_done(&r.cpu[2]);
    profile_store_check(&r);
    assert_ok(sf_compact_all(store_rig_local(&r.r), &r.r.why));
    profile_store_check(&r);
    sf_local_figures_stats(r.r.store, &stats);
    assert_int_equal(stats.n_blocks[2], 1);
    profile_store_check_disk(&r);
    profile_store_check(&r);
    profile_store_done(&r);
}

TEST(old_profiles, are_all_there_when_the_catalogue_is_lost)
{
    struct profile_store r;
    char path[200];
    profile_store_init(&r);
    for (int i = 0; i < 9; i++) {
        profile_store_send(&r, 6);
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
    profile_store_check(&r);
    profile_store_done(&r);
}

TEST(old_profiles, of_an_erased_service_leave_no_byte)
{
    struct profile_store r;
    struct sf_selector which = {.what = SF_SELECT_SERVICE, .service = SF_STR("service-2")};
    profile_store_init(&r);
    r.r.config.tuning.orphan_age_ns = 1;
    profile_store_send(&r, 12);
    assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    profile_store_send(&r, 6);
    assert_ok(r.r.store->ops->erase(r.r.store, 1, &which, &r.r.why));
    profile_lines_done(&r.cpu[2]);
    profile_store_check(&r); /* hidden at once */
    assert_ok(sf_compact_all(store_rig_local(&r.r), &r.r.why));
    profile_store_check(&r);
    profile_store_reopen(&r);
    profile_store_check(&r);
    store_rig_close(&r.r);
    assert_true(store_has_bytes(r.r.path, "service-1", 9) ||
                store_has_bytes(r.r.path, "service-0", 9));
    assert_false(store_has_bytes(r.r.path, "service-2", 9));
    assert_ok(store_rig_open(&r.r));
    profile_store_done(&r);
}

TEST(old_profiles, of_an_erased_trace_lose_their_detail_and_no_sum)
{
    struct profile_store r;
    sf_trace_id trace = sf_profile_make_trace(1, 3);
    struct sf_selector which = {.what = SF_SELECT_TRACES, .trace_ids = &trace, .n_traces = 1};
    sf_span_id id = profile_store_watched();
    struct sf_prof_query query = {.span_ids = &id, .n_spans = 1};
    profile_store_init(&r);
    profile_store_send(&r, 30);
    assert_ok(r.r.store->ops->erase(r.r.store, 1, &which, &r.r.why));
    for (int i = 0; i < 2; i++) {
        struct profile_lines got = {0};
        profile_store_ask(&r, &query, &got);
        assert_int_equal(got.n, 0);
        profile_lines_done(&got);
        for (uint32_t k = 0; k < 3; k++)
            profile_store_check_service(&r, k, &r.cpu[k]);
        assert_ok(sf_compact_all(store_rig_local(&r.r), &r.r.why));
    }
    profile_store_done(&r);
}

TEST(old_profiles, expire_by_their_own_age)
{
    struct profile_store r;
    struct sf_local_stats stats;
    profile_store_init(&r);
    r.r.config.retention.profiles_ns = 2 * SF_NS_PER_HOUR;
    r.r.config.retention.spans_ns = SF_NS_PER_HOUR / 2;
    profile_store_reopen(&r);
    profile_store_send(&r, 6);
    assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    profile_store_now_ns += SF_NS_PER_HOUR;
    assert_ok(sf_compact_all(store_rig_local(&r.r), &r.r.why));
    profile_store_check_service(&r, 0, &r.cpu[0]);
    profile_store_now_ns += SF_NS_PER_HOUR;
    profile_store_now_ns += SF_NS_PER_HOUR / 2;
    for (int i = 0; i < 3; i++)
        assert_ok(sf_compact_all(store_rig_local(&r.r), &r.r.why));
    for (int i = 0; i < 3; i++)
        profile_lines_done(&r.cpu[i]);
    profile_store_check_service(&r, 0, &r.cpu[0]);
    sf_local_figures_stats(r.r.store, &stats);
    assert_int_equal(stats.block_samples, 0);
    profile_store_done(&r);
}

static uint64_t profile_store_count_details(struct profile_store *r)
{
    sf_span_id id = profile_store_watched();
    struct sf_prof_query query = {.span_ids = &id, .n_spans = 1};
    struct profile_lines got = {0};
    uint64_t n;
    profile_store_ask(r, &query, &got);
    n = got.n;
    profile_lines_done(&got);
    return n;
}

/* Of the first service, from the store's beginning to `to_ns`. */
static int64_t sum_until(struct profile_store *r, int64_t to_ns, bool *out_is_exact)
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

TEST(old_profiles, become_sums_of_ten_minutes_after_full_resolution)
{
    struct profile_store r;
    struct sf_local_stats before, after;
    int64_t first_ns, whole;
    bool is_exact;
    profile_store_init(&r);
    r.r.config.retention.full_resolution_ns = 2 * SF_NS_PER_HOUR;
    profile_store_reopen(&r);
    first_ns = profile_store_now_ns;
    profile_store_send(&r, 120);
    assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    profile_store_compact(&r);
    sf_local_figures_stats(r.r.store, &before);
    whole = sum_until(&r, profile_store_now_ns, &is_exact);
    assert_true(is_exact);
    assert_true(sum_until(&r, first_ns + 100 * SF_NS_PER_S, &is_exact) < whole / 2);
    assert_true(is_exact);
    profile_store_now_ns += 5 * SF_NS_PER_HOUR;
    profile_store_compact(&r);
    sf_local_figures_stats(r.r.store, &after);
    assert_true(after.block_samples < before.block_samples / 2);
    for (uint32_t i = 0; i < 3; i++)
        profile_store_check_service(&r, i, &r.cpu[i]);
    assert_true(profile_store_count_details(&r) > 0);
    /* What is cut is answered whole, and said. */
    assert_true(sum_until(&r, first_ns + 100 * SF_NS_PER_S, &is_exact) > 0);
    assert_false(is_exact);
    assert_int_equal(sum_until(&r, profile_store_now_ns, &is_exact), whole);
    assert_true(is_exact);
    profile_store_check_disk(&r);
    profile_store_compact(&r);
    for (uint32_t i = 0; i < 3; i++)
        profile_store_check_service(&r, i, &r.cpu[i]);
    profile_store_done(&r);
}

TEST(old_profiles, that_are_sums_only_leave_with_an_erasure_too)
{
    struct profile_store r;
    struct sf_selector which = {.what = SF_SELECT_SERVICE, .service = SF_STR("service-0")};
    bool is_exact;
    profile_store_init(&r);
    r.r.config.retention.full_resolution_ns = 2 * SF_NS_PER_HOUR;
    profile_store_reopen(&r);
    profile_store_send(&r, 30);
    assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    profile_store_now_ns += 5 * SF_NS_PER_HOUR;
    profile_store_compact(&r);
    profile_store_check_service(&r, 0, &r.cpu[0]);
    assert_ok(r.r.store->ops->erase(r.r.store, 1, &which, &r.r.why));
    assert_int_equal(sum_until(&r, profile_store_now_ns, &is_exact), 0);
    profile_store_compact(&r);
    assert_int_equal(sum_until(&r, profile_store_now_ns, &is_exact), 0);
    profile_store_check_service(&r, 1, &r.cpu[1]);
    profile_store_done(&r);
}

TEST(old_profiles, lose_their_single_samples_by_an_age_of_their_own)
{
    struct profile_store r;
    profile_store_init(&r);
    r.r.config.retention.detail_ns = 3 * SF_NS_PER_HOUR;
    profile_store_reopen(&r);
    profile_store_send(&r, 30);
    assert_ok(r.r.store->ops->flush(r.r.store, &r.r.why));
    profile_store_now_ns += 2 * SF_NS_PER_HOUR;
    profile_store_compact(&r);
    assert_true(profile_store_count_details(&r) > 0);
    profile_store_now_ns += 2 * SF_NS_PER_HOUR;
    profile_store_compact(&r);
    assert_int_equal(profile_store_count_details(&r), 0);
    for (uint32_t i = 0; i < 3; i++)
        profile_store_check_service(&r, i, &r.cpu[i]);
    profile_store_done(&r);
}

struct redating {
    struct profile_store *r;
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

TEST(old_profiles, of_a_later_format_are_left_alone)
{
    struct profile_store r;
    struct redating x = {.r = &r, .format = SF_PROFILE_BLOCK_FORMAT + 1};
    profile_store_init(&r);
    profile_store_send(&r, 9);
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
        profile_store_check_service(&r, i, &r.cpu[i]);
    profile_store_done(&r);
}

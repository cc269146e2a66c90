/* The nth file call fails, at every n, in every step of the store's life: then the process dies, or
 * tries again. Nothing acknowledged is lost, nothing is there twice, and fsck finds nothing wrong.
 */
#include "test.h"

#include <errno.h>
#include <sys/mman.h>

#include "store/local/write/compact.h"
#include "support/faultfs/faultfs.h"
#include "support/store_rig.h"

static const uint64_t START_NS = UINT64_C(1763200800) * 1000000000;
enum { N_BATCHES = 6, N_SPANS = 40 };

/* One way to fail, and what the child found; shared with it. */
static struct sweep {
    enum sf_err (*step)(struct store_rig *r);
    uint64_t nth, n_fail;
    int error;
    uint32_t calls;
    bool tries_again, is_before_open;
    bool was_hit;         /* said by the child */
    enum sf_err last_err; /* likewise: of the second try */
    char why[240];
} * sweep;

/* ---- steps ---- */

static enum sf_err do_open(struct store_rig *r)
{
    return store_rig_open(r);
}

static enum sf_err do_flush(struct store_rig *r)
{
    return r->store->ops->flush(r->store, &r->why);
}

static enum sf_err do_merge(struct store_rig *r)
{
    return sf_compact_all(store_rig_local(r), &r->why);
}

static enum sf_err do_erase(struct store_rig *r)
{
    static const sf_trace_id nobody = {{1, 2, 3}};
    struct sf_selector which = {.what = SF_SELECT_TRACES, .trace_ids = &nobody, .n_traces = 1};
    enum sf_err err = r->store->ops->erase(r->store, 1, &which, &r->why);
    return err ? err : do_merge(r);
}

static enum sf_err do_close(struct store_rig *r)
{
    store_rig_close(r);
    return SF_OK;
}

/* ---- lives ---- */

static void must(enum sf_err err, struct store_rig *r)
{
    if (err) {
        fprintf(stderr, "# %s\n", r->why.text);
        abort();
    }
}

/* Two blocks, and some spans that are in the log alone. */
static void append_all(struct store_rig *r)
{
    struct sf_otlp_make make;
    struct sf_span_batch b;
    sf_otlp_make_init(&make, 1, START_NS);
    for (unsigned i = 0; i < N_BATCHES; i++) {
        sf_otlp_make_batch(&make, N_SPANS, &r->arena, &b);
        must(store_put(r, i % 2, 1, &b, 0), r);
        if (i % 2 && i < N_BATCHES - 1)
            must(do_flush(r), r);
    }
}

static void live_before(struct store_rig *r)
{
    must(store_rig_open(r), r);
    append_all(r);
}

static void live_and_fail(struct store_rig *r)
{
    if (!sweep->is_before_open)
        live_before(r);
    faultfs_arm(sweep->calls, FAULTFS_FAIL, sweep->error, sweep->nth, sweep->n_fail, r->path);
    sweep->last_err = sweep->step(r);
    sweep->was_hit = faultfs_control()->n_failed > 0;
    faultfs_disarm();
    if (sweep->tries_again && sweep->last_err)
        sweep->last_err = sweep->step(r);
    snprintf(sweep->why, sizeof(sweep->why), "%s", r->why.text);
}

static void say_fault(void *arg, const char *sentence)
{
    (void)arg;
    if (!sf_str_starts(sf_str_from(sentence), SF_STR("note: ")))
        fprintf(stderr, "# fsck: %s\n", sentence);
}

static uint32_t count_all(struct store_rig *r)
{
    struct sf_span_query q = {.has_whole_traces = true, .columns = SF_COL_TIMES};
    struct sf_span_cursor *c;
    struct store_answer a;
    assert_ok(r->store->ops->span_scan(r->store, &q, &r->q, &c, &r->why));
    a = store_drain(r, c);
    assert_ok(a.err);
    return a.n;
}

static bool run_once(const char *when)
{
    struct store_rig r;
    struct sf_local_stats stats;
    uint64_t n_faults = 0;
    uint32_t n;
    store_rig_init_in(&r, access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    r.config.tuning.compact_blocks = 2;
    r.config.tuning.carry_rows = 1;
    if (sweep->is_before_open)
        store_in_crashing_process(&r, live_before);
    store_in_crashing_process(&r, live_and_fail);
    if (sweep->tries_again && sweep->last_err)
        fail_msg("%s, call %llu: the second try fails: %s", when, (unsigned long long)sweep->nth,
                 sweep->why);
    assert_ok(sf_local_fsck(r.dir, say_fault, NULL, &n_faults, &r.why));
    assert_ok(store_rig_open(&r));
    n = count_all(&r);
    if (n != N_BATCHES * N_SPANS || n_faults)
        fail_msg("%s, call %llu: %u of %d spans, %llu faults", when, (unsigned long long)sweep->nth,
                 n, N_BATCHES * N_SPANS, (unsigned long long)n_faults);
    sf_local_figures_stats(r.store, &stats);
    assert_int_equal(stats.n_quarantined, 0);
    assert_int_equal(stats.n_lost_lsn, 0);
    store_rig_done(&r);
    return sweep->was_hit;
}

static void run_all(const char *when, struct sweep way)
{
    sweep = mmap(NULL, sizeof(*sweep), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(sweep != MAP_FAILED);
    *sweep = way;
    for (sweep->nth = 1; sweep->nth < 1000; sweep->nth += test_stride()) {
        sweep->was_hit = false;
        if (!run_once(when))
            break;
    }
    assert_in_range(sweep->nth, 4, 999); /* else it met nothing */
    munmap(sweep, sizeof(*sweep));
}

/* One call fails, and all calls from one on, as on a disk that is full. */
static void every_way(const char *when, enum sf_err (*step)(struct store_rig *r))
{
    struct sweep way = {.step = step,
                        .n_fail = 1,
                        .error = EIO,
                        .calls = FAULTFS_ALL & ~FAULTFS_STATVFS,
                        .is_before_open = step == do_open};
    run_all(when, way);
    way.error = ENOSPC;
    way.n_fail = 0;
    way.calls = FAULTFS_CHANGES & ~FAULTFS_UNLINK;
    way.tries_again = step != do_close;
    run_all(when, way);
}

TEST(store_disk, survives_a_flush_on_a_failing_disk)
{
    every_way("flush", do_flush);
}

TEST(store_disk, survives_a_merge_on_a_failing_disk)
{
    every_way("merge", do_merge);
}

TEST(store_disk, survives_an_erasure_on_a_failing_disk)
{
    every_way("erase", do_erase);
}

TEST(store_disk, survives_opening_on_a_failing_disk)
{
    every_way("open", do_open);
}

TEST(store_disk, survives_closing_on_a_failing_disk)
{
    every_way("close", do_close);
}

/* ---- an erasure while a merge runs ---- */

static struct store_rig *erasing; /* until the erasure has come */
static unsigned n_reads_before;   /* of blocks, by the merge, before it comes */

/* While the merge reads its inputs: what it writes has numbers that the erasure does not reach. */
static void erase_tenant_2(const struct faultfs_event *e)
{
    struct sf_selector which = {.what = SF_SELECT_ALL};
    struct store_rig *r = erasing;
    if (!r || e->call != FAULTFS_READ || !strstr(e->path, "/spans/") || n_reads_before-- > 0)
        return;
    erasing = NULL; /* the erasure reads too */
    must(r->store->ops->erase(r->store, 2, &which, &r->why), r);
}

static uint32_t count_of_tenant(struct store_rig *r, uint32_t tenant)
{
    r->tenant = tenant;
    return count_all(r);
}

/* False: the merge read less than that. */
static bool erase_after_reads(unsigned n_reads)
{
    struct store_rig r;
    struct sf_otlp_make make;
    struct sf_span_batch b;
    bool came;
    store_rig_init(&r);
    r.config.tuning.compact_blocks = 4;
    r.config.tuning.carry_rows = 1;
    sf_otlp_make_init(&make, 1, START_NS);
    assert_ok(store_rig_open(&r));
    for (int i = 0; i < 4; i++) {
        for (uint32_t tenant = 1; tenant <= 2; tenant++) {
            sf_otlp_make_batch(&make, N_SPANS, &r.arena, &b);
            assert_ok(store_put(&r, 0, tenant, &b, 0));
        }
        assert_ok(do_flush(&r));
    }
    erasing = &r;
    n_reads_before = n_reads;
    faultfs_record_reads(erase_tenant_2);
    (void)do_merge(&r); /* may say that it has to be done over */
    faultfs_record(NULL);
    came = !erasing;
    erasing = NULL;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(count_of_tenant(&r, 2), came ? 0 : 4 * N_SPANS);
        assert_int_equal(count_of_tenant(&r, 1), 4 * N_SPANS);
        (void)do_merge(&r);
    }
    store_rig_done(&r);
    return came;
}

TEST(store_disk, does_a_merge_over_that_an_erasure_came_into)
{
    unsigned n = 0;
    while (n < 200 && erase_after_reads(n))
        n += n / 4 + 1;
    assert_true(n >= 4); /* it came at all */
}

/* The log under faults: whatever call fails, whenever, an acknowledged batch is replayed exactly
 * once, nothing crashes, and writing resumes by itself. */
#include "test.h"

#include <errno.h>

#include "base/heap.h"
#include "base/time_unit.h"
#include "support/faultfs/faultfs.h"
#include "support/wal_rig.h"
#include "wal/wal_follow.h"

enum { N_BATCHES = 12, BATCH_LEN = 9000, SEGMENT_LEN = 64 << 10 };

static int64_t in_ms(int64_t ms)
{
    return sf_clock_mono_ns() + ms * 1000000;
}

/* Until it is accepted; the log has to come back by itself. */
static enum sf_err put_patiently(struct rig *r, uint32_t id)
{
    int64_t until_ns = in_ms(60000);
    enum sf_err err;
    do {
        err = rig_put(r, id, 1 + id % 3, BATCH_LEN);
        if (err)
            sf_clock_sleep_ms(5);
    } while (err && sf_clock_mono_ns() < until_ns);
    return err;
}

static void check_all_seen(struct rig *r, uint32_t n, const char *when, uint64_t nth)
{
    for (uint32_t i = 0; i < n; i++) {
        if (r->seen[i] != 1)
            fail_msg("%s, call %llu: batch %u was seen %u times", when, (unsigned long long)nth, i,
                     r->seen[i]);
    }
    assert_int_equal(r->n_wrong, 0);
    assert_int_equal(r->replayed.n_lost_lsn, 0);
    assert_int_equal(r->replayed.n_bad_segments, 0);
}

/* A log with a past is opened, read and written while the nth call fails. False: there were fewer
 * than n calls. */
static bool run_with_fault(uint32_t calls, enum faultfs_mode mode, int error, uint64_t nth,
                           uint64_t n_fail, const char *when)
{
    struct rig r;
    bool was_hit;
    uint32_t id = 0;
    enum sf_err err;

    rig_init_temporary(&r);
    r.segment_len = SEGMENT_LEN;
    assert_ok(rig_open(&r));
    for (; id < N_BATCHES / 2; id++)
        assert_ok(rig_put(&r, id, 1 + id % 3, BATCH_LEN));
    rig_close(&r);

    faultfs_arm(calls, mode, error, nth, n_fail, r.path);
    err = rig_open(&r);
    for (int n_tries = 0; err && n_tries < 50; n_tries++) {
        assert_true(r.why.text[0] != 0); /* refused, and said why */
        err = rig_open(&r);
    }
    assert_ok(err);
    check_all_seen(&r, id, when, nth);
    for (; id < N_BATCHES; id++) {
        err = put_patiently(&r, id);
        if (err)
            fail_msg("%s, call %llu: batch %u: %s", when, (unsigned long long)nth, id, r.why.text);
    }
    rig_close(&r);
    was_hit = faultfs_control()->n_failed > 0;
    faultfs_disarm();

    assert_ok(rig_open(&r));
    check_all_seen(&r, N_BATCHES, when, nth);
    rig_done(&r);
    return was_hit;
}

static void sweep(uint32_t calls, enum faultfs_mode mode, int error, uint64_t n_fail,
                  const char *when)
{
    uint64_t nth = 1;
    while (run_with_fault(calls, mode, error, nth, n_fail, when))
        nth++;
    assert_true(nth > 5); /* else the sweep met nothing */
}

TEST(wal_fault, any_call_may_fail_with_eio)
{
    sweep(FAULTFS_ALL & ~FAULTFS_STATVFS, FAULTFS_FAIL, EIO, 1, "EIO");
}

TEST(wal_fault, any_change_may_find_the_disk_full)
{
    sweep(FAULTFS_CHANGES, FAULTFS_FAIL, ENOSPC, 2, "ENOSPC");
}

TEST(wal_fault, any_write_may_be_torn)
{
    sweep(FAULTFS_WRITE, FAULTFS_TORN, EIO, 1, "torn");
}

TEST(wal_fault, any_write_or_read_may_be_short)
{
    sweep(FAULTFS_WRITE | FAULTFS_READ, FAULTFS_SHORT, 0, 1, "short");
}

static void wait_failed(struct rig *r, bool is_failed, struct sf_wal_stats *stats)
{
    int64_t until_ns = in_ms(60000);
    do {
        sf_wal_stats(r->wal, stats);
        if (stats->is_failed == is_failed)
            return;
        sf_clock_sleep_ms(1);
    } while (sf_clock_mono_ns() < until_ns);
    fail_msg("the log %s", is_failed ? "never noticed" : "never came back");
}

/* All calls fail for a while; what was waiting is acknowledged when the disk is back. */
static void outage(uint32_t calls, int error, enum sf_err want)
{
    struct rig r;
    struct rig_batch *held;
    struct sf_wal_stats stats;
    rig_init_temporary(&r);
    r.segment_len = SEGMENT_LEN;
    assert_ok(rig_open(&r));
    assert_ok(rig_put(&r, 0, 2, 100));
    faultfs_arm(calls, FAULTFS_FAIL, error, 1, 0, r.path);
    held = rig_batch_new(&r, 1, 3, 5000);
    assert_ok(sf_wal_append(r.wal, &held->entry, NULL));
    wait_failed(&r, true, &stats);
    assert_true(stats.reason[0] != 0);
    assert_true(stats.n_failures > 0);
    assert_err(rig_put(&r, 2, 1, 100), want);
    assert_non_null(strstr(r.why.text, "cannot be written"));
    sf_clock_sleep_ms(200); /* several probes fail */
    assert_false(held->is_done);
    faultfs_disarm();
    assert_ok(rig_wait(held));
    rig_batch_free(held);
    wait_failed(&r, false, &stats);
    assert_ok(rig_put(&r, 2, 1, 100));
    assert_int_equal(r.n_notices, 2); /* the fault and its end, once each */
    rig_close(&r);
    assert_ok(rig_open(&r));
    check_all_seen(&r, 3, "outage", 0);
    rig_done(&r);
}

TEST(wal_fault, resumes_after_a_full_disk)
{
    outage(FAULTFS_WRITE, ENOSPC, SF_ERR_FULL);
}

TEST(wal_fault, resumes_after_failing_syncs)
{
    outage(FAULTFS_SYNC, EIO, SF_ERR_IO);
}

TEST(wal_fault, resumes_after_everything_failed)
{
    outage(FAULTFS_ALL, EIO, SF_ERR_IO);
}

TEST(wal_fault, starts_on_a_full_disk_and_waits_for_room)
{
    struct rig r;
    struct sf_wal_stats stats;
    rig_init_temporary(&r);
    faultfs_control()->free_plus_1 = 1 + 100000;
    assert_ok(rig_open(&r));
    wait_failed(&r, true, &stats);
    assert_non_null(strstr(stats.reason, "no room"));
    assert_err(rig_put(&r, 1, 1, 100), SF_ERR_FULL);
    faultfs_control()->free_plus_1 = 0;
    wait_failed(&r, false, &stats);
    assert_ok(rig_put(&r, 1, 1, 100));
    rig_done(&r);
}

static void wait_spare(struct rig *r);

TEST(wal_fault, says_when_there_is_no_room_for_the_next_slot)
{
    struct rig r;
    struct rig_batch *held;
    struct sf_wal_stats stats;
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    assert_ok(rig_put(&r, 0, 1, 200000)); /* a slot each */
    wait_spare(&r);
    faultfs_control()->free_plus_1 = 1 + 100000;
    assert_ok(rig_put(&r, 1, 1, 200000));
    held = rig_batch_new(&r, 2, 1, 200000);
    assert_ok(sf_wal_append(r.wal, &held->entry, NULL));
    wait_failed(&r, true, &stats);
    assert_non_null(strstr(stats.reason, "no room"));
    assert_err(rig_put(&r, 3, 1, 100), SF_ERR_FULL);
    faultfs_control()->free_plus_1 = 0;
    assert_ok(rig_wait(held));
    rig_batch_free(held);
    rig_close(&r);
    assert_ok(rig_open(&r));
    check_all_seen(&r, 3, "no room", 0);
    rig_done(&r);
}

/* Without the pause the thread that prepares slots would use a processor for as long as the disk is
 * full. The bound follows from the time that passed, so a slow machine does not exceed it. */
TEST(wal_fault, tries_to_prepare_a_slot_once_a_second)
{
    struct rig r;
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    assert_ok(rig_put(&r, 0, 1, 200000)); /* a slot each */
    wait_spare(&r);
    int64_t start_ns = sf_clock_mono_ns();
    faultfs_arm(FAULTFS_OPEN, FAULTFS_FAIL, ENOSPC, 1, 0, ".new");
    assert_ok(rig_put(&r, 1, 1, 200000)); /* takes the spare */
    while (faultfs_control()->n_failed == 0 && sf_clock_mono_ns() < start_ns + 60 * SF_NS_PER_S)
        sf_clock_sleep_ms(1);
    sf_clock_sleep_ms(50);
    uint64_t n_tries = faultfs_control()->n_failed;
    uint64_t n_seconds = (uint64_t)((sf_clock_mono_ns() - start_ns) / SF_NS_PER_S);
    assert_true(n_tries > 0);
    assert_true(n_tries <= 2 + n_seconds);
    faultfs_disarm();
    assert_ok(rig_put(&r, 2, 1, 200000)); /* a batch that waits for a slot has it tried at once */
    rig_close(&r);
    assert_ok(rig_open(&r));
    check_all_seen(&r, 3, "no spare", 0);
    rig_done(&r);
}

TEST(wal_fault, close_during_an_outage_fails_what_waits)
{
    struct rig r;
    struct rig_batch *held;
    struct sf_wal_stats stats;
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    assert_ok(rig_put(&r, 0, 1, 100));
    faultfs_arm(FAULTFS_SYNC, FAULTFS_FAIL, EIO, 1, 0, r.path);
    held = rig_batch_new(&r, 1, 3, 5000);
    assert_ok(sf_wal_append(r.wal, &held->entry, NULL));
    wait_failed(&r, true, &stats);
    rig_close(&r);
    assert_true(held->is_done);
    assert_err(held->entry.result, SF_ERR_IO);
    assert_true(held->entry.why.text[0] != 0);
    rig_batch_free(held);
    faultfs_disarm();
    assert_ok(rig_open(&r));
    assert_int_equal(r.seen[0], 1);
    assert_true(r.seen[1] <= 1);
    rig_done(&r);
}

TEST(wal_fault, a_checkpoint_acknowledges_what_an_outage_holds)
{
    struct rig r;
    struct rig_batch *held;
    struct sf_wal_stats stats;
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    assert_ok(rig_put(&r, 0, 1, 100));
    faultfs_arm(FAULTFS_SYNC, FAULTFS_FAIL, EIO, 1, 0, r.path);
    held = rig_batch_new(&r, 1, 3, 5000);
    assert_ok(sf_wal_append(r.wal, &held->entry, NULL));
    wait_failed(&r, true, &stats);
    r.ckpt_lsn = sf_wal_last_lsn(r.wal); /* it is in a block now */
    sf_wal_checkpoint(r.wal, r.ckpt_lsn);
    assert_ok(rig_wait(held));
    rig_batch_free(held);
    faultfs_disarm();
    assert_ok(put_patiently(&r, 2));
    rig_close(&r);
    assert_ok(rig_open(&r));
    assert_int_equal(r.n_seen, 1);
    assert_int_equal(r.seen[2], 1);
    assert_int_equal(r.replayed.n_lost_lsn, 0);
    rig_done(&r);
}

/* --- a failed file is never written again --- */

static void wait_spare(struct rig *r)
{
    int64_t until_ns = in_ms(60000);
    struct sf_wal_stats stats = {0};
    do {
        sf_wal_stats(r->wal, &stats);
        if (stats.n_free_segments)
            return;
        sf_clock_sleep_ms(1);
    } while (sf_clock_mono_ns() < until_ns);
    fail_msg("no slot was prepared");
}

static char failed_path[1024];
static unsigned n_writes_after;
static bool is_gone; /* the file was deleted; its number may come back with another */

static void watch_failed(const struct faultfs_event *e)
{
    if (failed_path[0] && strcmp(e->path, failed_path) == 0) {
        is_gone |= e->call == FAULTFS_UNLINK;
        n_writes_after += e->call == FAULTFS_WRITE && !is_gone;
    }
    /* A spare that is being prepared has another name. */
    if (e->call == FAULTFS_WRITE && e->off == 0 && !failed_path[0] && strstr(e->path, ".wal"))
        snprintf(failed_path, sizeof(failed_path), "%s", e->path); /* the next sync fails on it */
}

TEST(wal_fault, never_writes_again_where_a_sync_failed)
{
    struct rig r;
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    wait_spare(&r); /* from here on only the committer writes */
    failed_path[0] = 0;
    n_writes_after = 0;
    is_gone = false;
    faultfs_record(watch_failed);
    faultfs_arm(FAULTFS_SYNC, FAULTFS_FAIL, EIO, 1, 1, ".wal");
    for (uint32_t i = 0; i < 20; i++)
        assert_ok(put_patiently(&r, i));
    assert_int_equal(faultfs_control()->n_failed, 1);
    faultfs_record(NULL);
    faultfs_disarm();
    assert_true(failed_path[0] != 0);
    assert_int_equal(n_writes_after, 0);
    /* Nor is it kept for ever: what it held before is needed until the checkpoint has passed. */
    sf_wal_checkpoint(r.wal, sf_wal_last_lsn(r.wal));
    for (int64_t until_ns = in_ms(60000);;) {
        struct sf_wal_stats stats;
        sf_wal_stats(r.wal, &stats);
        if (stats.n_segments <= 1)
            break;
        assert_true(sf_clock_mono_ns() < until_ns);
        sf_clock_sleep_ms(1);
    }
    rig_done(&r);
}

/* What was acknowledged before the sync that failed is in that slot and nowhere else. */
TEST(wal_fault, a_second_reader_finds_what_a_failed_slot_holds)
{
    struct rig r;
    struct sf_wal_follow *f = NULL;
    struct sf_wal_followed_piece piece;
    rig_init_temporary(&r);
    r.is_followed = true;
    assert_ok(rig_open(&r));
    for (uint32_t i = 0; i < 5; i++)
        assert_ok(rig_put(&r, i, 1, 1000));
    wait_spare(&r);
    faultfs_arm(FAULTFS_SYNC, FAULTFS_FAIL, EIO, 1, 1, ".wal");
    for (uint32_t i = 5; i < 9; i++) {
        while (rig_put(&r, i, 1, 1000))
            sf_clock_sleep_ms(5);
    }
    assert_int_equal(faultfs_control()->n_failed, 1);
    faultfs_disarm();
    assert_ok(sf_wal_follow_open(r.wal, 0, &f, &r.why));
    for (uint32_t i = 0; i < 9; i++) {
        assert_ok(sf_wal_follow_next(f, &piece, &r.why));
        assert_int_equal(piece.lsn, i + 1);
        assert_int_equal(piece.n_lost, 0);
        assert_int_equal(sf_load_u32le(piece.logged.body.p), i);
    }
    assert_int_equal(sf_wal_follow_next(f, &piece, &r.why), SF_ERR_NOT_FOUND);
    sf_wal_follow_close(f);
    rig_done(&r);
}

/* --- slots that cannot be read or scrubbed --- */

/* Not for now: it may be back at the next start, so nothing else may take its place. */
TEST(wal_fault, a_slot_that_cannot_be_read_is_not_written_over)
{
    static const struct {
        uint32_t call;
        uint64_t nth;
    } faults[] = {
        {FAULTFS_READ, 1}, {FAULTFS_OPEN, 1}, {FAULTFS_OPEN, 2}}; /* 2: after its header */
    for (size_t k = 0; k < sizeof(faults) / sizeof(faults[0]); k++) {
        struct rig r;
        rig_init_temporary(&r);
        r.segment_len = SEGMENT_LEN;
        assert_ok(rig_open(&r));
        for (uint32_t i = 0; i < 3; i++)
            assert_ok(rig_put(&r, i, 1, 1000));
        rig_close(&r);
        faultfs_arm(faults[k].call, FAULTFS_FAIL, EIO, faults[k].nth, 0, "/wal/0000.wal");
        assert_ok(rig_open(&r));
        assert_int_equal(r.n_seen, 0);
        assert_true(r.n_notices > 0);
        assert_true(r.replayed.n_bad_segments > 0);
        for (uint32_t i = 10; i < 30; i++)
            assert_ok(rig_put(&r, i, 1, 30000)); /* many slots */
        rig_close(&r);
        faultfs_disarm();
        assert_ok(rig_open(&r));
        for (uint32_t i = 0; i < 30; i++)
            assert_int_equal(r.seen[i], i < 3 || i >= 10);
        rig_done(&r);
    }
}

TEST(wal_fault, pages_that_cannot_be_read_are_counted)
{
    struct rig r;
    uint64_t n_faults = 0;
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    for (uint32_t i = 0; i < 3; i++)
        assert_ok(rig_put(&r, i, 1, 1000));
    rig_close(&r);
    /* After the header: the window, then its first page, which holds the first record. */
    faultfs_arm(FAULTFS_READ, FAULTFS_FAIL, EIO, 2, 2, "/wal/0000.wal");
    assert_ok(sf_wal_verify(r.dir, &(struct sf_wal_known){0}, NULL, NULL, &n_faults, NULL));
    assert_int_equal(n_faults, 2); /* the page, and the record */
    faultfs_arm(FAULTFS_READ, FAULTFS_FAIL, EIO, 2, 2, "/wal/0000.wal");
    assert_ok(rig_open(&r));
    faultfs_disarm();
    assert_int_equal(r.replayed.n_bad_pages, 1);
    assert_int_equal(r.replayed.n_lost_lsn, 1);
    assert_int_equal(r.n_seen, 2);
    rig_done(&r);
}

TEST(wal_fault, a_scrub_that_failed_says_so)
{
    struct rig r;
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    assert_ok(rig_put(&r, 0, 1, 200000));
    assert_ok(rig_put(&r, 1, 1, 200000));
    wait_spare(&r);
    r.ckpt_lsn = sf_wal_last_lsn(r.wal);
    sf_wal_checkpoint(r.wal, r.ckpt_lsn);
    faultfs_arm(FAULTFS_WRITE, FAULTFS_FAIL, EIO, 1, 0, ".wal");
    assert_err(sf_wal_scrub(r.wal, &r.why), SF_ERR_IO);
    faultfs_disarm();
    for (int tries = 0; sf_wal_oldest_lsn(r.wal) <= r.ckpt_lsn; tries++) {
        assert_true(tries < 100);
        (void)sf_wal_scrub(r.wal, NULL);
    }
    rig_done(&r);
}

/* --- memory --- */

TEST(wal_fault, any_allocation_may_fail)
{
    struct rig r;
    rig_init_temporary(&r);
    r.segment_len = SEGMENT_LEN;
    assert_ok(rig_open(&r));
    for (uint32_t i = 0; i < 3; i++)
        assert_ok(rig_put(&r, i, 3, 30000));
    rig_close(&r);
    for (uint64_t n = 1;; n++) {
        enum sf_err err;
        uint64_t before = sf_heap_calls();
        sf_heap_fail_after(n);
        err = rig_open(&r);
        sf_heap_fail_after(0);
        rig_close(&r);
        if (!err && sf_heap_calls() - before < n)
            break;
        if (err)
            assert_err(err, SF_ERR_NOMEM);
        else /* not one batch may be missing from a start that calls itself good */
            check_all_seen(&r, 3, "no memory", n);
    }
    assert_ok(rig_open(&r));
    check_all_seen(&r, 3, "no memory", 0);
    rig_done(&r);
}

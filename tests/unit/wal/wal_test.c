#include "base/heap.h"
#include "test.h"

#include "support/wal_damage.h"
#include "wal/wal_tail.h"

TEST(wal, gives_back_what_was_acknowledged)
{
    struct rig r;
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    for (uint32_t i = 0; i < 100; i++)
        assert_ok(rig_put(&r, i, 1 + i % 5, RIG_HEAD_LEN + i * 97));
    assert_int_equal(sf_wal_last_lsn(r.wal), 300);
    rig_close(&r);
    assert_ok(rig_open(&r));
    assert_int_equal(r.n_seen, 100);
    assert_int_equal(r.n_wrong, 0);
    assert_int_equal(r.replayed.n_records, 300);
    assert_int_equal(r.replayed.n_lost_lsn, 0);
    assert_false(r.replayed.is_torn);
    assert_int_equal(sf_wal_last_lsn(r.wal), 300);
    assert_int_equal(r.n_notices, 0);
    rig_done(&r);
}

TEST(wal, many_batches_share_one_sync)
{
    struct rig r;
    struct rig_batch *b[500];
    struct sf_wal_stats stats;
    uint64_t n_counted = 0;
    rig_init_temporary(&r);
    r.segment_len = 8 << 20;
    assert_ok(rig_open(&r));
    for (uint32_t i = 0; i < 500; i++) {
        b[i] = rig_batch_new(&r, i, 1, 2000);
        assert_ok(sf_wal_append(r.wal, &b[i]->entry, NULL));
    }
    for (uint32_t i = 0; i < 500; i++) {
        assert_ok(rig_wait(b[i]));
        assert_int_equal(b[i]->entry.lsn, i + 1);
        rig_batch_free(b[i]);
    }
    sf_wal_stats(r.wal, &stats);
    assert_true(stats.n_syncs < 500);
    assert_int_equal(stats.synced_lsn, 500);
    assert_int_equal(stats.queue_depth, 0);
    assert_int_equal(stats.queue_len, 0);
    assert_true(stats.sync_ns_max > 0 && stats.sync_ns_sum >= stats.sync_ns_max);
    assert_true(stats.sync_ns_sum <= stats.sync_ns_max * stats.n_syncs);
    for (size_t i = 0; i < sizeof(stats.sync_buckets) / sizeof(stats.sync_buckets[0]); i++)
        n_counted += stats.sync_buckets[i];
    assert_int_equal(n_counted, stats.n_syncs);
    rig_done(&r);
}

TEST(wal, close_writes_what_is_queued)
{
    struct rig r;
    struct rig_batch *b[50];
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    for (uint32_t i = 0; i < 50; i++) {
        b[i] = rig_batch_new(&r, i, 2, 30000);
        assert_ok(sf_wal_append(r.wal, &b[i]->entry, NULL));
    }
    rig_close(&r);
    for (uint32_t i = 0; i < 50; i++) {
        assert_true(b[i]->is_done);
        assert_ok(b[i]->entry.result);
        rig_batch_free(b[i]);
    }
    assert_ok(rig_open(&r));
    assert_int_equal(r.n_seen, 50);
    assert_int_equal(r.n_wrong, 0);
    rig_done(&r);
}

TEST(wal, a_batch_may_span_segments)
{
    struct rig r;
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    assert_ok(rig_put(&r, 1, 30, 100000));
    assert_ok(rig_put(&r, 2, 1, 100));
    rig_close(&r);
    assert_ok(rig_open(&r));
    assert_int_equal(r.n_seen, 2);
    assert_int_equal(r.n_wrong, 0);
    assert_int_equal(r.replayed.n_records, 31);
    rig_done(&r);
}

TEST(wal, refuses_what_no_segment_can_hold)
{
    struct rig r;
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    assert_err(rig_put(&r, 1, 1, 256 << 10), SF_ERR_LIMIT);
    assert_ok(rig_put(&r, 1, 1, (256 << 10) - 4096 - 80));
    rig_done(&r);
}

TEST(wal, says_busy_when_too_much_waits)
{
    struct rig r;
    struct rig_batch *b[200];
    size_t n_busy = 0;
    rig_init_temporary(&r);
    r.queue_len = 100000;
    assert_ok(rig_open(&r));
    for (uint32_t i = 0; i < 200; i++) {
        enum sf_err err;
        b[i] = rig_batch_new(&r, i, 1, 90000);
        err = sf_wal_append(r.wal, &b[i]->entry, NULL);
        if (err) {
            assert_err(err, SF_ERR_BUSY);
            n_busy++;
            rig_batch_free(b[i]);
            b[i] = NULL;
        }
    }
    assert_true(n_busy > 0);
    rig_close(&r);
    for (uint32_t i = 0; i < 200; i++)
        rig_batch_free(b[i]);
    /* One larger than the whole queue goes through an idle log. */
    r.queue_len = 1000;
    assert_ok(rig_open(&r));
    assert_ok(rig_put(&r, 1, 1, 5000));
    rig_done(&r);
}

TEST(wal, recycles_slots_below_the_checkpoint)
{
    struct rig r;
    struct sf_wal_stats stats;
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    for (uint32_t i = 0; i < 400; i++) {
        assert_ok(rig_put(&r, i, 1, 50000)); /* 20 MB through slots of 256 KiB */
        if (i % 4 == 3) {
            r.ckpt_lsn = sf_wal_last_lsn(r.wal);
            sf_wal_checkpoint(r.wal, r.ckpt_lsn);
        }
    }
    sf_wal_stats(r.wal, &stats);
    assert_true(stats.n_segments + stats.n_free_segments < 10);
    assert_int_equal(stats.len % (256 << 10), 0);
    assert_ok(rig_put(&r, 1000, 1, 100));
    rig_close(&r);
    assert_ok(rig_open(&r));
    assert_int_equal(r.n_seen, 1);
    assert_int_equal(r.seen[1000], 1);
    assert_int_equal(r.replayed.n_lost_lsn, 0);
    assert_int_equal(sf_wal_last_lsn(r.wal), 401);
    rig_done(&r);
}

TEST(wal, lets_go_of_the_slots_of_a_burst)
{
    struct rig r;
    struct sf_wal_stats stats;
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    for (uint32_t i = 0; i < 100; i++)
        assert_ok(rig_put(&r, i, 1, 100000));
    sf_wal_stats(r.wal, &stats);
    assert_true(stats.n_segments > 40);
    sf_wal_checkpoint(r.wal, sf_wal_last_lsn(r.wal));
    for (int i = 0; i < 500; i++) {
        sf_wal_stats(r.wal, &stats);
        if (stats.len <= 8 * r.segment_len)
            break;
        sf_clock_sleep_ms(10);
    }
    assert_true(stats.len <= 8 * r.segment_len);
    rig_done(&r);
}

TEST(wal, never_gives_an_lsn_twice)
{
    struct rig r;
    rig_init_temporary(&r);
    r.ckpt_lsn = 500; /* the log itself is empty: its slots were lost or scrubbed */
    assert_ok(rig_open(&r));
    assert_ok(rig_put(&r, 1, 2, 100));
    assert_int_equal(sf_wal_last_lsn(r.wal), 502);
    rig_close(&r);
    r.ckpt_lsn = 502;
    for (int i = 0; i < 5; i++) {
        assert_ok(rig_open(&r));
        assert_int_equal(r.n_seen, 0);
        assert_int_equal(sf_wal_last_lsn(r.wal), 502);
        rig_close(&r);
    }
    rig_done(&r);
}

TEST(wal, reports_a_gap_in_the_middle_and_goes_on)
{
    struct rig r;
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    for (uint32_t i = 0; i < 10; i++)
        assert_ok(rig_put(&r, i, 1, 1000)); /* one page each */
    rig_close(&r);
    rig_flip(&r, rig_slot_of(&r, 1), 4096 * 4 + 500); /* the fourth */
    assert_ok(rig_open(&r));
    assert_int_equal(r.n_seen, 9);
    assert_int_equal(r.seen[3], 0);
    assert_int_equal(r.n_wrong, 0);
    assert_int_equal(r.replayed.n_lost_lsn, 1);
    assert_int_equal(sf_wal_last_lsn(r.wal), 10);
    assert_string_equal(r.last_notice, "wal: records 4 to 4 are damaged and lost");
    rig_done(&r);
}

TEST(wal, says_when_the_very_last_record_is_damaged)
{
    struct rig r;
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    for (uint32_t i = 0; i < 3; i++)
        assert_ok(rig_put(&r, i, 1, 1000));
    rig_close(&r);
    rig_flip(&r, rig_slot_of(&r, 1), 4096 * 3 + 500);
    assert_ok(rig_open(&r));
    assert_int_equal(r.n_seen, 2);
    assert_int_equal(r.replayed.n_lost_lsn, 1); /* it had been synced, so nothing cut it short */
    assert_false(r.replayed.is_torn);
    assert_int_equal(r.n_notices, 1);
    rig_done(&r);
}

/* ---- damage that nothing inside the log can show ---- */

/* One of its two pages is enough: the other may be half written when the machine stops. */
TEST(wal, tail_needs_one_of_its_pages)
{
    for (int page = 0; page < 2; page++) {
        static const char zeros[4096];
        char path[600];
        struct rig r;
        int fd;
        rig_write_ten(&r);
        snprintf(path, sizeof(path), "%s/wal.tail", r.path);
        fd = open(path, O_WRONLY);
        assert_true(fd >= 0);
        assert_int_equal(pwrite(fd, zeros, sizeof(zeros), page * 4096), sizeof(zeros));
        close(fd);
        assert_int_equal(rig_faults_of(&r), 0);
        assert_ok(rig_open(&r));
        assert_int_equal(r.n_seen, 10);
        assert_int_equal(r.n_notices, 0);
        rig_close(&r);
        rig_done(&r);
    }
}

/* The machine may stop right after an answer: what was acknowledged must be known by then. */
TEST(wal, tail_knows_a_record_before_it_is_acknowledged)
{
    struct sf_wal_tail tail;
    struct rig r;
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    for (uint32_t i = 0; i < 5; i++) {
        assert_ok(rig_put(&r, i, 1, 1000));
        tail = (struct sf_wal_tail){0};
        assert_ok(sf_wal_tail_read(r.dir, &tail, NULL));
        assert_int_equal(tail.synced_lsn, i + 1);
    }
    rig_close(&r);
    rig_done(&r);
}

static struct sf_wal_known begun;

static void remember_begun(void *arg, uint64_t sequence, uint64_t first_lsn)
{
    (void)arg;
    begun = (struct sf_wal_known){.sequence = sequence, .first_lsn = first_lsn};
}

static uint64_t faults_against(const struct rig *r, const struct sf_wal_known *known)
{
    uint64_t n_faults = 0;
    assert_ok(sf_wal_verify(r->dir, known, NULL, NULL, &n_faults, NULL));
    return n_faults;
}

/* Both copies of the truth gone: only what was told to the catalogue is left. */
TEST(wal, that_is_gone_with_its_tail_is_missed_by_who_knew_its_segment)
{
    struct sf_wal_known all = {0};
    struct rig r;
    char path[600];
    rig_init_temporary(&r);
    begun = all;
    r.begin = remember_begun;
    assert_ok(rig_open(&r));
    for (uint32_t i = 0; i < 10; i++)
        assert_ok(rig_put(&r, i, 1, 1000));
    rig_close(&r);
    assert_true(begun.sequence > 0 && begun.first_lsn == 1);
    assert_int_equal(faults_against(&r, &begun), 0);
    rig_remove_tail(&r);
    assert_int_equal(faults_against(&r, &begun), 1); /* whether it is whole cannot be told */
    rig_slot_path(&r, 0, path, sizeof(path));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(faults_against(&r, &all), 0); /* it is not known of it, as it was */
    assert_int_equal(faults_against(&r, &begun), 2);
    r.known = begun;
    assert_ok(rig_open(&r));
    assert_true(r.replayed.is_missing && r.replayed.is_tail_missing);
    assert_ok(rig_put(&r, 10, 1, 1000));
    rig_close(&r);
    assert_true(begun.sequence > r.known.sequence); /* never used again */
    assert_int_equal(faults_against(&r, &begun), 0);
    rig_done(&r);
}

static void copy_to(const char *from, const char *to)
{
    static char bytes[1 << 20];
    size_t n;
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    assert_true(in && out);
    while ((n = fread(bytes, 1, sizeof(bytes), in)) > 0)
        assert_int_equal(fwrite(bytes, 1, n, out), n);
    assert_int_equal(fclose(out), 0);
    (void)fclose(in);
}

/* The log and its tail are put back from a copy, and the catalogue is not: they agree with each
 * other, and lack what came after. */
TEST(wal, that_is_older_than_the_catalogue_is_missed)
{
    struct sf_wal_known later;
    struct rig r;
    char slot[600], tail[600], old_slot[640], old_tail[640];
    rig_init_temporary(&r);
    r.begin = remember_begun;
    assert_ok(rig_open(&r));
    for (uint32_t i = 0; i < 5; i++)
        assert_ok(rig_put(&r, i, 1, 1000));
    rig_close(&r);
    rig_slot_path(&r, 0, slot, sizeof(slot));
    snprintf(tail, sizeof(tail), "%s/wal.tail", r.path);
    snprintf(old_slot, sizeof(old_slot), "%s.old", slot);
    snprintf(old_tail, sizeof(old_tail), "%s.old", tail);
    copy_to(slot, old_slot);
    copy_to(tail, old_tail);
    assert_ok(rig_open(&r)); /* begins a segment */
    for (uint32_t i = 5; i < 9; i++)
        assert_ok(rig_put(&r, i, 1, 1000));
    rig_close(&r);
    later = begun;
    assert_int_equal(later.first_lsn, 6);
    for (uint32_t i = 1; i < 8; i++) {
        char other[600];
        rig_slot_path(&r, i, other, sizeof(other));
        (void)unlink(other);
    }
    copy_to(old_slot, slot);
    copy_to(old_tail, tail);
    assert_int_equal(unlink(old_slot), 0);
    assert_int_equal(unlink(old_tail), 0);

    later.ckpt_lsn = r.ckpt_lsn = 5; /* as after a stop between the catalogue and the new segment */
    r.known = later;
    assert_int_equal(faults_against(&r, &later), 0);
    later.ckpt_lsn = r.ckpt_lsn = 7; /* blocks have records of it */
    assert_int_equal(faults_against(&r, &later), 2);
    assert_ok(rig_open(&r));
    assert_true(r.replayed.is_missing && !r.replayed.is_tail_missing);
    assert_ok(rig_put(&r, 10, 1, 1000));
    assert_true(sf_wal_last_lsn(r.wal) > 7); /* no number is given again */
    rig_close(&r);
    assert_true(begun.sequence > later.sequence);
    later = begun;
    later.ckpt_lsn = 7;
    assert_int_equal(faults_against(&r, &later), 0);
    rig_done(&r);
}

/* Its only record is in blocks, as wal.tail knows that it was synced: nothing is missed. */
TEST(wal, that_is_all_in_blocks_may_be_gone)
{
    struct sf_wal_known known;
    struct rig r;
    char path[600];
    rig_init_temporary(&r);
    r.begin = remember_begun;
    assert_ok(rig_open(&r));
    assert_ok(rig_put(&r, 0, 1, 1000));
    rig_close(&r);
    known = begun;
    known.ckpt_lsn = 1;
    assert_int_equal(known.first_lsn, 1);
    rig_slot_path(&r, 0, path, sizeof(path));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(faults_against(&r, &known), 0);
    rig_done(&r);
}

TEST(wal, knows_what_a_deleted_slot_held)
{
    struct rig r;
    char path[600];
    rig_write_ten(&r);
    rig_slot_path(&r, rig_slot_of(&r, 1), path, sizeof(path));
    assert_int_equal(unlink(path), 0);
    assert_true(rig_faults_of(&r) > 0);
    assert_ok(rig_open(&r));
    assert_int_equal(r.n_seen, 0);
    assert_int_equal(r.replayed.n_lost_lsn, 10);
    assert_int_equal(r.replayed.first_lost_lsn, 1);
    assert_int_equal(r.replayed.last_lost_lsn, 10);
    assert_int_equal(r.replayed.n_bad_segments, 1);
    assert_int_equal(sf_wal_last_lsn(r.wal), 10); /* no number is given twice */
    assert_ok(rig_put(&r, 20, 1, 1000));
    rig_close(&r);
    assert_ok(rig_open(&r));
    assert_int_equal(r.seen[20], 1);
    rig_done(&r);
}

TEST(wal, reads_a_slot_whose_first_page_was_zeroed)
{
    struct rig r;
    rig_write_ten(&r);
    rig_zero(&r, rig_slot_of(&r, 1), 0, 4096);
    assert_int_equal(rig_faults_of(&r), 1);
    assert_ok(rig_open(&r));
    assert_int_equal(r.n_seen, 10);
    assert_int_equal(r.n_wrong, 0);
    assert_int_equal(r.replayed.n_lost_lsn, 0);
    assert_int_equal(r.n_notices, 1);
    assert_ok(rig_put(&r, 20, 1, 1000));
    rig_close(&r);
    assert_ok(rig_open(&r)); /* and still does */
    assert_int_equal(r.n_seen, 11);
    rig_done(&r);
}

TEST(wal, knows_where_a_slot_ended_that_was_zeroed_from_the_middle)
{
    struct rig r;
    rig_write_ten(&r);
    rig_zero(&r, rig_slot_of(&r, 1), 4096 * 4, 4096 * 20);
    assert_int_equal(rig_faults_of(&r), 1);
    assert_ok(rig_open(&r));
    assert_int_equal(r.n_seen, 3);
    assert_int_equal(r.replayed.n_lost_lsn, 7);
    assert_int_equal(r.replayed.first_lost_lsn, 4);
    assert_string_equal(r.last_notice, "wal: records 4 to 10 are damaged and lost");
    rig_done(&r);
}

TEST(wal, says_nothing_of_a_slot_that_the_checkpoint_has_passed)
{
    struct rig r;
    char path[600];
    rig_write_ten(&r);
    rig_slot_path(&r, rig_slot_of(&r, 1), path, sizeof(path));
    assert_int_equal(unlink(path), 0);
    r.ckpt_lsn = 10;
    assert_int_equal(rig_faults_of(&r), 0);
    assert_ok(rig_open(&r));
    assert_int_equal(r.n_notices, 0);
    rig_done(&r);
}

TEST(wal, without_a_tail_puts_a_zeroed_header_aside)
{
    struct rig r;
    rig_write_ten(&r);
    rig_remove_tail(&r);
    assert_int_equal(rig_faults_of(&r), 0); /* an earlier version had none */
    rig_zero(&r, rig_slot_of(&r, 1), 0, 4096);
    assert_int_equal(rig_faults_of(&r), 1);
    assert_ok(rig_open(&r));
    assert_int_equal(r.n_seen, 0);
    assert_int_equal(r.replayed.n_bad_segments, 1);
    rig_done(&r);
}

TEST(wal, reads_everything_when_only_the_tail_is_damaged)
{
    struct rig r;
    char path[600];
    uint8_t pages[8192];
    rig_write_ten(&r);
    snprintf(path, sizeof(path), "%s/wal.tail", r.path);
    memset(pages, 7, sizeof(pages));
    int fd = open(path, O_WRONLY);
    assert_int_equal(write(fd, pages, sizeof(pages)), sizeof(pages));
    close(fd);
    assert_int_equal(rig_faults_of(&r), 1);
    assert_ok(rig_open(&r));
    assert_int_equal(r.n_seen, 10);
    assert_int_equal(r.replayed.n_lost_lsn, 0);
    assert_int_equal(r.n_notices, 1);
    rig_close(&r);
    assert_ok(rig_open(&r));
    assert_int_equal(r.n_seen, 10);
    rig_done(&r);
}

TEST(wal, reports_a_lost_segment_by_its_neighbours)
{
    struct rig r;
    char path[600];
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    for (uint32_t i = 0; i < 9; i++)
        assert_ok(rig_put(&r, i, 1, 120000)); /* two fit a segment */
    rig_close(&r);
    rig_slot_path(&r, rig_slot_of(&r, 2), path, sizeof(path));
    unlink(path);
    assert_ok(rig_open(&r));
    assert_int_equal(r.replayed.n_lost_lsn, 2);
    assert_int_equal(r.n_seen, 7);
    assert_int_equal(r.n_wrong, 0);
    rig_done(&r);
}

TEST(wal, drops_a_batch_that_lost_a_piece)
{
    for (unsigned lost = 1; lost <= 3; lost++) {
        struct rig r;
        char path[600];
        rig_init_temporary(&r);
        assert_ok(rig_open(&r));
        assert_ok(rig_put(&r, 1, 1, 100));
        assert_ok(rig_put(&r, 2, 5, 200000)); /* a piece a segment */
        assert_ok(rig_put(&r, 3, 1, 100));
        rig_close(&r);
        rig_slot_path(&r, rig_slot_of(&r, 1 + lost), path, sizeof(path));
        unlink(path);
        assert_ok(rig_open(&r));
        assert_int_equal(r.seen[1], 1);
        assert_int_equal(r.seen[2], 0);
        assert_int_equal(r.seen[3], 1);
        assert_int_equal(r.n_wrong, 0);
        assert_int_equal(r.replayed.n_lost_lsn, 1);
        assert_true(r.replayed.n_dropped >= 1);
        rig_done(&r);
    }
}

TEST(wal, goes_on_after_half_a_batch_without_joining_it)
{
    struct rig r;
    char path[600];
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    assert_ok(rig_put(&r, 1, 1, 100));
    assert_ok(rig_put(&r, 2, 3, 200000));
    rig_close(&r);
    rig_slot_path(&r, rig_slot_of(&r, 3), path, sizeof(path)); /* the LAST piece */
    unlink(path);
    rig_remove_tail(&r); /* as if it had never been synced */
    assert_ok(rig_open(&r));
    assert_int_equal(r.n_seen, 1);
    assert_int_equal(r.replayed.n_dropped, 1);
    assert_int_equal(sf_wal_last_lsn(r.wal), 1);
    assert_ok(rig_put(&r, 3, 2, 100));
    rig_close(&r);
    assert_ok(rig_open(&r));
    assert_int_equal(r.n_seen, 2);
    assert_int_equal(r.seen[3], 1);
    assert_int_equal(r.n_wrong, 0);
    assert_int_equal(r.replayed.n_dropped, 0);
    assert_int_equal(r.replayed.n_lost_lsn, 0);
    rig_done(&r);
}

TEST(wal, survives_a_flipped_bit_in_a_header_page)
{
    struct rig r;
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    assert_ok(rig_put(&r, 1, 1, 100));
    rig_close(&r);
    rig_flip(&r, rig_slot_of(&r, 1), 17);
    assert_ok(rig_open(&r));
    assert_int_equal(r.n_seen, 1);
    assert_true(r.n_notices > 0);
    rig_done(&r);
}

TEST(wal, leaves_the_slots_of_another_store_alone)
{
    struct rig r;
    uint8_t uuid[16];
    char path[600];
    unsigned number;
    rig_init_temporary(&r);
    assert_false(sf_wal_verify_find_uuid(r.dir, uuid));
    assert_ok(rig_open(&r));
    assert_ok(rig_put(&r, 1, 1, 100));
    rig_close(&r);
    assert_true(sf_wal_verify_find_uuid(r.dir, uuid));
    assert_memory_equal(uuid, "rig's own uuid!", 16);
    {
        struct sf_wal_config config = {
            .dir = r.dir, .store_uuid = "another", .segment_len = r.segment_len};
        struct sf_wal *w = NULL;
        struct sf_wal_replay_stats stats;
        number = rig_slot_of(&r, 1);
        rig_slot_path(&r, number, path, sizeof(path));
        r.n_seen = 0;
        assert_ok(sf_wal_open(&config, &w, NULL));
        assert_ok(sf_wal_replay(w, rig_see, &r, &stats, NULL));
        assert_int_equal(r.n_seen, 0);
        assert_int_equal(stats.n_bad_segments, 1);
        sf_wal_close(w);
        assert_int_equal(rig_slot_of(&r, 1), number);
    }
    assert_ok(rig_open(&r));
    assert_int_equal(r.n_seen, 1);
    rig_done(&r);
}

TEST(wal, scrub_leaves_no_byte_of_what_was_logged)
{
    struct rig r;
    struct rig_batch *marked;
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    marked = rig_batch_new(&r, 77, 1, 5000);
    memcpy(marked->bytes + 1000, "planted secret", 14);
    assert_ok(sf_wal_append(r.wal, &marked->entry, NULL));
    assert_ok(rig_wait(marked));
    rig_batch_free(marked);
    for (uint32_t i = 0; i < 12; i++)
        assert_ok(rig_put(&r, i, 1, 100000));
    assert_true(rig_log_holds(&r, "planted secret", 14));
    assert_true(sf_wal_oldest_lsn(r.wal) <= 1);
    /* A slot that was taken into use again just now cannot be scrubbed under its writer: as the
     * contract says, checkpoint and scrub until the oldest record is past. */
    for (uint32_t tries = 0; tries == 0 || sf_wal_oldest_lsn(r.wal) <= 1; tries++) {
        assert_true(tries < 20);
        if (tries)
            assert_ok(rig_put(&r, 20 + tries, 1, 100000));
        r.ckpt_lsn = sf_wal_last_lsn(r.wal);
        sf_wal_checkpoint(r.wal, r.ckpt_lsn);
        assert_ok(sf_wal_scrub(r.wal, NULL));
    }
    assert_false(rig_log_holds(&r, "planted secret", 14));
    assert_ok(rig_put(&r, 90, 1, 100));
    rig_close(&r);
    assert_ok(rig_open(&r));
    assert_int_equal(r.n_seen, 1);
    assert_int_equal(r.replayed.n_lost_lsn, 0);
    rig_done(&r);
}

static void remember(void *arg, const char *sentence)
{
    snprintf(arg, 256, "%s", sentence);
}

TEST(wal, verify_says_what_is_wrong)
{
    struct rig r;
    uint64_t n_faults = 99;
    char said[256] = "";
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    for (uint32_t i = 0; i < 10; i++)
        assert_ok(rig_put(&r, i, 1, 1000));
    rig_close(&r);
    assert_ok(sf_wal_verify(r.dir, &(struct sf_wal_known){.ckpt_lsn = 0}, remember, said, &n_faults,
                            NULL));
    assert_int_equal(n_faults, 0);
    assert_string_equal(said, "");
    n_faults = 99;
    sf_heap_fail_after(1); /* what could not be examined is not whole */
    enum sf_err err = sf_wal_verify(r.dir, &(struct sf_wal_known){.ckpt_lsn = 0}, remember, said,
                                    &n_faults, NULL);
    sf_heap_fail_after(0);
    assert_int_equal(err, SF_ERR_NOMEM);
    assert_int_equal(n_faults, 99);
    rig_flip(&r, rig_slot_of(&r, 1), 4096 * 4 + 500);
    assert_ok(sf_wal_verify(r.dir, &(struct sf_wal_known){.ckpt_lsn = 0}, remember, said, &n_faults,
                            NULL));
    assert_int_equal(n_faults, 1);
    assert_non_null(strstr(said, "records 4 to 4 are missing"));
    assert_ok(sf_wal_verify(r.dir, &(struct sf_wal_known){.ckpt_lsn = 4}, remember, said, &n_faults,
                            NULL)); /* in blocks: no loss */
    assert_int_equal(n_faults, 0);
    rig_flip(&r, rig_slot_of(&r, 1), 2048 + 30);
    assert_ok(sf_wal_verify(r.dir, &(struct sf_wal_known){.ckpt_lsn = 4}, remember, said, &n_faults,
                            NULL));
    assert_int_equal(n_faults, 1);
    assert_non_null(strstr(said, "header"));
    rig_done(&r);
}

TEST(wal, starts_with_a_half_prepared_slot)
{
    struct rig r;
    char path[600];
    int fd;
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    assert_ok(rig_put(&r, 1, 1, 100));
    rig_close(&r);
    for (int number = 50; number < 52; number++) {
        snprintf(path, sizeof(path), "%s/wal/00%d.new", r.path, number);
        fd = open(path, O_RDWR | O_CREAT, 0600);
        assert_int_equal(ftruncate(fd, 10000), 0);
        close(fd);
    }
    assert_ok(rig_open(&r));
    assert_int_equal(r.n_seen, 1);
    assert_int_equal(r.n_notices, 0);
    for (int number = 50; number < 52; number++) {
        snprintf(path, sizeof(path), "%s/wal/00%d.new", r.path, number);
        assert_int_not_equal(access(path, F_OK), 0);
    }
    rig_done(&r);
}

TEST(wal, says_when_a_slot_was_cut)
{
    for (int is_emptied = 0; is_emptied < 2; is_emptied++) {
        struct rig r;
        char path[600];
        uint64_t n_faults = 0;
        rig_init_temporary(&r);
        assert_ok(rig_open(&r));
        for (uint32_t i = 0; i < 10; i++)
            assert_ok(rig_put(&r, i, 1, 1000)); /* one page each */
        rig_close(&r);
        rig_slot_path(&r, rig_slot_of(&r, 1), path, sizeof(path));
        assert_int_equal(truncate(path, is_emptied ? 0 : 4096 * 5), 0);
        assert_ok(sf_wal_verify(r.dir, &(struct sf_wal_known){.ckpt_lsn = 0}, NULL, NULL, &n_faults,
                                NULL));
        assert_true(n_faults > 0);
        if (is_emptied)
            rig_remove_tail(&r); /* which would know its header */
        assert_ok(rig_open(&r));
        assert_int_equal(r.n_seen, is_emptied ? 0 : 4);
        assert_int_equal(r.replayed.n_bad_segments, 1);
        assert_true(r.n_notices > 0);
        assert_ok(rig_put(&r, 100, 1, 1000));
        rig_close(&r);
        r.n_notices = 0;
        assert_ok(rig_open(&r));
        assert_int_equal(r.n_seen, is_emptied ? 1 : 5);
        if (is_emptied) /* put aside: said once */
            assert_int_equal(r.replayed.n_bad_segments, 0);
        rig_done(&r);
    }
}

static enum sf_err refuse(void *arg, uint64_t lsn, const struct sf_logged *pieces, size_t n_pieces,
                          struct sf_why *why)
{
    (void)arg, (void)pieces, (void)n_pieces;
    return lsn == 2 ? sf_fail(why, SF_ERR_CORRUPT, "no") : SF_OK;
}

TEST(wal, replay_ends_with_the_code_of_its_reader)
{
    struct rig r;
    struct sf_wal_config config;
    struct sf_wal *w = NULL;
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    assert_ok(rig_put(&r, 1, 1, 100));
    assert_ok(rig_put(&r, 2, 1, 100));
    rig_close(&r);
    config = (struct sf_wal_config){
        .dir = r.dir, .store_uuid = "rig's own uuid!", .segment_len = r.segment_len};
    assert_ok(sf_wal_open(&config, &w, NULL));
    assert_int_equal(sf_wal_replay_pending_len(w), r.segment_len);
    assert_err(sf_wal_replay(w, refuse, NULL, NULL, &r.why), SF_ERR_CORRUPT);
    assert_string_equal(r.why.text, "no");
    sf_wal_close(w);
    rig_done(&r);
}

#include "base/heap.h"
#include "test.h"

#include "support/wal_rig.h"
#include "wal/wal_follow.h"

/* Reads all there is; every piece must be the one after the last. Returns how many. */
static uint64_t read_all(struct rig *r, struct sf_wal_follow *f, uint64_t *io_lsn,
                         uint64_t *io_lost)
{
    struct sf_wal_followed_piece piece;
    uint64_t n = 0;
    enum sf_err err;
    while (!(err = sf_wal_follow_next(f, &piece, &r->why))) {
        assert_int_equal(piece.lsn, *io_lsn + 1 + piece.n_lost);
        assert_int_equal(piece.logged.kind, SF_LOG_BATCH);
        assert_int_equal(piece.logged.tenant, sf_load_u32le(piece.logged.body.p) + 1);
        *io_lsn = piece.lsn;
        *io_lost += piece.n_lost;
        n++;
    }
    assert_int_equal(err, SF_ERR_NOT_FOUND);
    *io_lost += piece.n_lost;
    return n;
}

static unsigned count_slots(const struct rig *r)
{
    unsigned n = 0;
    for (unsigned number = 0; number < 200; number++) {
        char path[600];
        rig_slot_path(r, number, path, sizeof(path));
        n += access(path, F_OK) == 0;
    }
    return n;
}

TEST(wal_follow, reads_each_piece_once_while_others_are_written)
{
    struct rig r;
    struct sf_wal_follow *f = NULL;
    uint64_t lsn = 0, n = 0, n_lost = 0, n_put = 0;
    rig_init_temporary(&r);
    r.is_followed = true;
    assert_ok(rig_open(&r));
    assert_ok(sf_wal_follow_open(r.wal, 0, &f, &r.why));
    assert_int_equal(read_all(&r, f, &lsn, &n_lost), 0);
    for (uint32_t i = 0; i < 300; i++) { /* several slots of 256 KiB, read at odd moments */
        size_t n_pieces = 1 + i % 3;
        assert_ok(rig_put(&r, i, n_pieces, RIG_HEAD_LEN + (i * 379) % 9000));
        n_put += n_pieces;
        if (i % 7 == 0)
            n += read_all(&r, f, &lsn, &n_lost);
    }
    n += read_all(&r, f, &lsn, &n_lost);
    assert_int_equal(n, n_put);
    assert_int_equal(n_lost, 0);
    assert_int_equal(sf_wal_whole_lsn(r.wal), n_put);
    sf_wal_follow_close(f);
    rig_done(&r);
}

/* What was read ahead is older than what came since: a page that was empty then is not now. */
TEST(wal_follow, reads_what_came_after_its_last_look)
{
    struct rig r;
    struct sf_wal_follow *f = NULL;
    rig_init_temporary(&r);
    r.is_followed = true;
    assert_ok(rig_open(&r));
    assert_ok(sf_wal_follow_open(r.wal, 0, &f, &r.why));
    for (uint32_t i = 0; i < 20; i++) {
        struct sf_wal_followed_piece piece;
        assert_ok(rig_put(&r, i, 1, 1000));
        assert_ok(sf_wal_follow_next(f, &piece, &r.why));
        assert_int_equal(piece.lsn, i + 1);
        assert_int_equal(piece.n_lost, 0);
    }
    sf_wal_follow_close(f);
    rig_done(&r);
}

TEST(wal_follow, keeps_slots_that_it_has_not_read)
{
    struct rig r;
    struct sf_wal_follow *f = NULL;
    uint64_t lsn = 0, n_lost = 0;
    rig_init_temporary(&r);
    r.is_followed = true;
    assert_ok(rig_open(&r));
    for (uint32_t i = 0; i < 200; i++)
        assert_ok(rig_put(&r, i, 1, 20000));
    assert_true(sf_wal_waiting_len(r.wal) > 3000000);
    sf_wal_checkpoint(r.wal, 200); /* all in blocks */
    assert_true(count_slots(&r) > 14);
    rig_close(&r);
    r.ckpt_lsn = 200; /* over a restart, too */
    assert_ok(rig_open(&r));
    assert_int_equal(r.n_seen, 0);
    assert_ok(sf_wal_follow_open(r.wal, 0, &f, &r.why));
    assert_int_equal(read_all(&r, f, &lsn, &n_lost), 200);
    assert_int_equal(n_lost, 0);
    sf_wal_follow_close(f);
    sf_wal_followed(r.wal, 200);
    assert_int_equal(sf_wal_waiting_len(r.wal), 0);
    assert_ok(sf_wal_scrub(r.wal, &r.why)); /* waits for those that are deleted */
    assert_true(count_slots(&r) < 10);
    rig_done(&r);
}

TEST(wal_follow, goes_on_after_a_restart_where_it_was)
{
    struct rig r;
    struct sf_wal_follow *f = NULL;
    uint64_t lsn = 77, n_lost = 0;
    rig_init_temporary(&r);
    r.is_followed = true;
    assert_ok(rig_open(&r));
    for (uint32_t i = 0; i < 100; i++)
        assert_ok(rig_put(&r, i, 1, 7000));
    sf_wal_followed(r.wal, 77);
    rig_close(&r);
    r.followed_lsn = 77;
    assert_ok(rig_open(&r));
    assert_ok(rig_put(&r, 100, 2, 7000));
    assert_ok(sf_wal_follow_open(r.wal, 77, &f, &r.why));
    assert_int_equal(read_all(&r, f, &lsn, &n_lost), 25);
    assert_int_equal(lsn, 102);
    assert_int_equal(n_lost, 0);
    sf_wal_follow_close(f);
    rig_done(&r);
}

TEST(wal_follow, counts_what_a_missing_slot_held)
{
    struct rig r;
    struct sf_wal_follow *f = NULL;
    uint64_t lsn = 0, n_lost = 0, n;
    char path[600];
    rig_init_temporary(&r);
    r.is_followed = true;
    assert_ok(rig_open(&r));
    for (uint32_t i = 0; i < 60; i++)
        assert_ok(rig_put(&r, i, 1, 20000));
    rig_close(&r);
    rig_slot_path(&r, 1, path, sizeof(path));
    if (access(path, F_OK) != 0)
        rig_slot_path(&r, 2, path, sizeof(path));
    assert_int_equal(unlink(path), 0);
    r.ckpt_lsn = 60;
    assert_ok(rig_open(&r));
    assert_ok(rig_put(&r, 60, 1, 20000));
    assert_ok(sf_wal_follow_open(r.wal, 0, &f, &r.why));
    n = read_all(&r, f, &lsn, &n_lost);
    assert_int_equal(lsn, 61);
    assert_true(n_lost > 0);
    assert_int_equal(n + n_lost, 61);
    sf_wal_follow_close(f);
    rig_done(&r);
}

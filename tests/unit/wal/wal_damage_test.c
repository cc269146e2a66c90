/* Damage to the files of the log: what replay reads, what fsck says, and what an erasure leaves. */
#include "support/wal_damage.h"

#include "base/hash.h"
#include "base/heap.h"
#include "test.h"
#include "wal/wal_slots.h"
#include "wal/wal_tail.h"

struct said {
    char text[2048];
    uint64_t n_faults;
};

static void add_line(void *arg, const char *sentence)
{
    struct said *s = arg;
    size_t len = strlen(s->text);
    snprintf(s->text + len, sizeof(s->text) - len, "%s\n", sentence);
}

static struct said verify(const struct rig *r)
{
    struct said s = {0};
    assert_ok(sf_wal_verify(r->dir, &(struct sf_wal_known){.ckpt_lsn = r->ckpt_lsn}, add_line, &s,
                            &s.n_faults, NULL));
    return s;
}

TEST(wal_damage, fsck_names_the_very_last_record_and_its_slot)
{
    struct rig r;
    struct said s;
    char line[100];
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    for (uint32_t i = 0; i < 3; i++)
        assert_ok(rig_put(&r, i, 1, 200000)); /* a segment each */
    rig_close(&r);
    rig_flip(&r, rig_slot_of(&r, 3), 4096 + 500);
    s = verify(&r);
    assert_int_equal(s.n_faults, 1);
    snprintf(line, sizeof(line), "wal/%04u.wal: records 3 to 3 are missing\n", rig_slot_of(&r, 3));
    assert_non_null(strstr(s.text, line));
    rig_done(&r);
}

/* What is gone held no records: only its length tells. */
TEST(wal_damage, fsck_tells_a_slot_that_was_cut_behind_its_last_record)
{
    struct rig r;
    struct said s;
    char path[600], line[100];
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    assert_ok(rig_put(&r, 1, 1, 100));
    rig_close(&r);
    rig_slot_path(&r, rig_slot_of(&r, 1), path, sizeof(path));
    assert_int_equal(truncate(path, 5L * 4096), 0);
    s = verify(&r);
    assert_int_equal(s.n_faults, 1);
    snprintf(line, sizeof(line), "wal/%04u.wal: was cut to 20480 bytes\n", rig_slot_of(&r, 1));
    assert_non_null(strstr(s.text, line));
    rig_done(&r);
}

TEST(wal_damage, fsck_tells_a_batch_that_was_never_finished)
{
    struct rig r;
    struct said s;
    char path[600];
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    assert_ok(rig_put(&r, 1, 3, 200000));
    rig_close(&r);
    rig_slot_path(&r, rig_slot_of(&r, 3), path, sizeof(path));
    assert_int_equal(unlink(path), 0);
    rig_remove_tail(&r); /* as if it had never been synced */
    s = verify(&r);
    assert_int_equal(s.n_faults, 0);
    assert_non_null(strstr(s.text, "ends inside a batch"));
    rig_done(&r);
}

TEST(wal_damage, fsck_finds_a_lost_segment_by_its_neighbours)
{
    struct rig r;
    struct said s;
    char path[600];
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    for (uint32_t i = 0; i < 4; i++)
        assert_ok(rig_put(&r, i, 1, 200000)); /* a segment each */
    rig_close(&r);
    rig_slot_path(&r, rig_slot_of(&r, 2), path, sizeof(path));
    assert_int_equal(unlink(path), 0);
    rig_remove_tail(&r);
    s = verify(&r);
    assert_int_equal(s.n_faults, 1);
    assert_non_null(strstr(s.text, "records 2 to 2 are missing"));
    r.ckpt_lsn = 2;
    assert_int_equal(verify(&r).n_faults, 0);
    rig_done(&r);
}

static struct sf_wal_known last_begun;

static void remember_begun(void *arg, uint64_t sequence, uint64_t first_lsn)
{
    (void)arg;
    last_begun = (struct sf_wal_known){.sequence = sequence, .first_lsn = first_lsn};
}

/* Its last two segments and the tail are gone; where the last began, the catalogue knows. */
TEST(wal_damage, what_lay_before_a_missing_segment_counts_as_lost)
{
    struct rig r;
    char path[600];
    rig_init_temporary(&r);
    r.begin = remember_begun;
    assert_ok(rig_open(&r));
    for (uint32_t i = 0; i < 3; i++)
        assert_ok(rig_put(&r, i, 1, 200000)); /* a segment each */
    rig_close(&r);
    assert_int_equal(last_begun.first_lsn, 3);
    for (uint64_t k = 2; k <= 3; k++) {
        rig_slot_path(&r, rig_slot_of(&r, k), path, sizeof(path));
        assert_int_equal(unlink(path), 0);
    }
    rig_remove_tail(&r);
    r.known = last_begun;
    assert_ok(rig_open(&r));
    assert_int_equal(r.n_seen, 1);
    assert_true(r.replayed.is_missing);
    assert_int_equal(r.replayed.n_lost_lsn, 1);
    assert_int_equal(r.replayed.first_lost_lsn, 2);
    assert_int_equal(sf_wal_last_lsn(r.wal), 2); /* no number below is given again */
    rig_done(&r);
}

TEST(wal_damage, what_is_in_blocks_is_not_lost)
{
    struct rig r;
    rig_write_ten(&r);
    rig_flip(&r, rig_slot_of(&r, 1), 4096 * 4 + 500); /* record 4 */
    for (r.ckpt_lsn = 3; r.ckpt_lsn < 6; r.ckpt_lsn++) {
        assert_int_equal(verify(&r).n_faults, r.ckpt_lsn < 4);
        assert_ok(rig_open(&r));
        assert_int_equal(r.replayed.n_lost_lsn, r.ckpt_lsn < 4);
        assert_int_equal(r.n_seen, 10 - r.ckpt_lsn - (r.ckpt_lsn < 4));
        rig_close(&r);
    }
    rig_done(&r);
}

/* What could not be examined is not called whole. */
TEST(wal_damage, fsck_without_memory_says_so)
{
    struct rig r;
    uint64_t n_failed = 0;
    enum sf_err err;
    rig_write_ten(&r);
    rig_flip(&r, rig_slot_of(&r, 1), 4096 * 4 + 500);
    for (uint64_t n = 1;; n++) {
        uint64_t n_faults = 99;
        sf_heap_fail_after(n);
        err = sf_wal_verify(r.dir, &(struct sf_wal_known){0}, NULL, NULL, &n_faults, NULL);
        sf_heap_fail_after(0);
        assert_int_equal(n_faults, err ? 99 : 1);
        if (!err)
            break;
        assert_int_equal(err, SF_ERR_NOMEM);
        n_failed++;
    }
    assert_true(n_failed > 1);
    rig_done(&r);
}

static void copy_file(const char *from, const char *to)
{
    static uint8_t bytes[1 << 20];
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ssize_t got = read(in, bytes, sizeof(bytes));
    assert_true(got > 0);
    assert_int_equal(write(out, bytes, (size_t)got), got);
    close(in);
    close(out);
}

/* Records 3 to 5 of a slot that failed were written again as others, from 3 on. */
TEST(wal_damage, what_a_failed_slot_still_holds_hides_no_loss)
{
    struct rig r;
    struct said s;
    char path[600], kept[600];
    unsigned first;
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    for (uint32_t i = 0; i < 5; i++)
        assert_ok(rig_put(&r, i, 1, 1000));
    rig_close(&r);
    first = rig_slot_of(&r, 1);
    rig_slot_path(&r, first, path, sizeof(path));
    snprintf(kept, sizeof(kept), "%s/kept", r.path);
    copy_file(path, kept);
    rig_zero(&r, first, 4096 * 3, 4096 * 6);
    rig_remove_tail(&r);
    assert_ok(rig_open(&r));
    assert_int_equal(sf_wal_last_lsn(r.wal), 2);
    assert_ok(rig_put(&r, 20, 1, 1000));
    rig_close(&r);
    copy_file(kept, path);
    assert_int_equal(unlink(kept), 0);

    assert_int_equal(verify(&r).n_faults, 0);
    assert_ok(rig_open(&r));
    assert_int_equal(r.n_seen, 3);
    assert_int_equal(r.seen[2], 0);
    assert_int_equal(r.seen[20], 1);
    rig_close(&r);
    rig_zero(&r, rig_slot_of(&r, 2), 4096, 8192);
    s = verify(&r);
    assert_int_equal(s.n_faults, 1);
    assert_non_null(strstr(s.text, "records 3 to 3 are missing"));
    assert_ok(rig_open(&r));
    assert_int_equal(r.n_seen, 2);
    assert_int_equal(r.replayed.n_lost_lsn, 1);
    rig_done(&r);
}

TEST(wal_damage, each_way_to_lose_a_slot_is_said_in_its_own_words)
{
    static const char *const words[] = {"is missing; it held records 1 to 10\n",
                                        "was emptied and its records are lost",
                                        "has a damaged header and its records are lost"};
    for (int way = 0; way < 3; way++) {
        struct rig r;
        char path[600];
        unsigned number;
        rig_write_ten(&r);
        number = rig_slot_of(&r, 1);
        rig_slot_path(&r, number, path, sizeof(path));
        if (way == 0)
            assert_int_equal(unlink(path), 0);
        else if (way == 1)
            assert_int_equal(truncate(path, 0), 0);
        else
            rig_zero(&r, number, 0, 4096);
        if (way == 0)
            assert_non_null(strstr(verify(&r).text, "is missing; it held records 1 to 10\nwal: "));
        else if (way == 2)
            assert_non_null(strstr(verify(&r).text, "its header is lost; the one in"));
        if (way)
            rig_remove_tail(&r);
        assert_ok(rig_open(&r));
        snprintf(path, sizeof(path), "slot wal/%04u.wal %s", number, words[way]);
        if (!strstr(r.notices, path))
            fail_msg("way %d: %s", way, r.notices);
        assert_null(strstr(r.notices, "another store"));
        rig_done(&r);
    }
}

TEST(wal_damage, the_slots_of_another_store_are_called_so)
{
    struct rig r;
    struct sf_wal *w = NULL;
    rig_write_ten(&r);
    struct sf_wal_config config = {.dir = r.dir,
                                   .store_uuid = "another",
                                   .segment_len = r.segment_len,
                                   .notice = rig_notice,
                                   .notice_arg = &r};
    assert_ok(sf_wal_open(&config, &w, NULL));
    assert_ok(sf_wal_replay(w, rig_see, &r, NULL, NULL));
    assert_non_null(strstr(r.notices, "belongs to another store; it is left alone"));
    sf_wal_close(w);
    rig_done(&r);
}

/* ---- the tail ---- */

/* Both pages changed, mostly with sums that fit: only what they say is wrong. */
static void write_tail(const struct rig *r, size_t at, uint32_t value, bool is_summed)
{
    uint8_t pages[2][4096];
    char path[600];
    int fd;
    snprintf(path, sizeof(path), "%s/wal.tail", r->path);
    fd = open(path, O_RDWR);
    assert_int_equal(pread(fd, pages, sizeof(pages), 0), sizeof(pages));
    for (int i = 0; i < 2; i++) {
        sf_store_u32le(pages[i] + at, value);
        if (!is_summed)
            continue;
        memset(pages[i] + 48, 0, 8);
        sf_store_u64le(pages[i] + 48, sf_hash(pages[i], sizeof(pages[i])));
    }
    assert_int_equal(pwrite(fd, pages, sizeof(pages), 0), sizeof(pages));
    close(fd);
}

TEST(wal_damage, a_tail_that_says_what_cannot_be_is_not_believed)
{
    static const struct {
        size_t at;
        uint32_t value;
        bool is_damage;
    } wrong[] = {
        {16, 99, true},                        /* more records than there are */
        {44, SF_WAL_TAIL_FORMAT + 1, false},   /* of a later version */
        {40, SF_WAL_TAIL_SEGMENTS + 1, false}, /* more segments than a page holds */
        {56 + 8 + 20, 0x55555555, false}};     /* a header of a segment that does not check out */
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct sf_wal_tail tail = {0};
        struct rig r;
        rig_write_ten(&r);
        assert_ok(sf_wal_tail_read(r.dir, &tail, NULL));
        write_tail(&r, wrong[i].at, wrong[i].value, !wrong[i].is_damage);
        assert_err(sf_wal_tail_read(r.dir, &tail, NULL), SF_ERR_CORRUPT);
        assert_int_equal(verify(&r).n_faults, 1);
        assert_ok(rig_open(&r));
        assert_int_equal(r.n_seen, 10);
        assert_int_equal(r.replayed.n_lost_lsn, 0);
        rig_done(&r);
    }
}

/* As a copied folder may have it. It knows nothing of these slots. */
TEST(wal_damage, a_tail_of_another_store_is_not_believed)
{
    struct rig r;
    struct said s;
    rig_write_ten(&r);
    write_tail(&r, 16, 99, true);
    write_tail(&r, 24, 0x55555555, true); /* in its uuid */
    s = verify(&r);
    assert_int_equal(s.n_faults, 1);
    assert_non_null(strstr(s.text, "belongs to another store"));
    assert_ok(rig_open(&r));
    assert_int_equal(r.n_seen, 10);
    assert_int_equal(r.replayed.n_lost_lsn, 0);
    rig_done(&r);
}

TEST(wal_damage, no_sequence_is_given_twice)
{
    struct rig r;
    char path[600];
    uint64_t sequence;
    rig_init_temporary(&r);
    r.begin = remember_begun;
    assert_ok(rig_open(&r));
    for (uint32_t i = 0; i < 3; i++)
        assert_ok(rig_put(&r, i, 1, 200000)); /* a segment each */
    rig_close(&r);
    sequence = last_begun.sequence;
    for (uint64_t k = sequence - 1; k <= sequence; k++) {
        rig_slot_path(&r, rig_slot_of(&r, k), path, sizeof(path));
        assert_int_equal(unlink(path), 0);
    }
    assert_ok(rig_open(&r)); /* the tail is there */
    assert_ok(rig_put(&r, 9, 1, 1000));
    rig_close(&r);
    assert_true(last_begun.sequence > sequence);
    rig_done(&r);
}

TEST(wal_damage, the_newest_segments_are_written_down_in_their_order)
{
    static const uint64_t sequences[] = {3, 1, 6, 2, 5, 4};
    struct sf_wal_slots slots;
    const struct sf_wal_slot *out[4];
    struct rig r;
    rig_init_temporary(&r);
    assert_ok(sf_wal_slots_init(&slots, r.dir, 256 << 10, 0, NULL));
    for (uint32_t i = 0; i < 6; i++) {
        struct sf_wal_found f = {
            .number = i,
            .len = 256 << 10,
            .segment = {.sequence = sequences[i], .first_lsn = sequences[i] * 10}};
        assert_non_null(sf_wal_slots_add(&slots, &f, SF_WAL_SLOT_HELD, sequences[i] * 10 + 9));
    }
    assert_int_equal(sf_wal_slots_needed(&slots, out, 4), 4);
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(out[i]->segment.sequence, 3 + i);
    /* The table is as long as there were slots at once. */
    slots.slots[3].state = SF_WAL_SLOT_GONE;
    assert_ptr_equal(sf_wal_slots_add(&slots, &(struct sf_wal_found){.number = 9, .len = 256 << 10},
                                      SF_WAL_SLOT_FREE, 0),
                     &slots.slots[3]);
    assert_int_equal(slots.n_slots, 6);
    sf_wal_slots_done(&slots);
    rig_done(&r);
}

/* ---- life ---- */

TEST(wal_damage, whose_log_it_is_cannot_be_told_without_memory)
{
    struct rig r;
    uint8_t uuid[16] = {0};
    bool is_found;
    rig_write_ten(&r);
    sf_heap_fail_after(1);
    is_found = sf_wal_verify_find_uuid(r.dir, uuid);
    sf_heap_fail_after(0);
    assert_false(is_found);
    assert_true(sf_wal_verify_find_uuid(r.dir, uuid));
    rig_done(&r);
}

TEST(wal_damage, nothing_is_appended_before_a_replay)
{
    struct rig r;
    struct rig_batch *b;
    rig_init_temporary(&r);
    struct sf_wal_config config = {
        .dir = r.dir, .store_uuid = "rig's own uuid!", .segment_len = r.segment_len};
    assert_ok(sf_wal_open(&config, &r.wal, NULL));
    b = rig_batch_new(&r, 1, 1, 100);
    assert_err(sf_wal_append(r.wal, &b->entry, &r.why), SF_ERR_CANCELLED);
    rig_batch_free(b);
    rig_done(&r);
}

static unsigned count_slots(const struct rig *r)
{
    unsigned n = 0;
    for (unsigned number = 0; number < 100; number++) {
        char path[600];
        rig_slot_path(r, number, path, sizeof(path));
        n += access(path, F_OK) == 0;
    }
    return n;
}

TEST(wal_damage, starts_take_the_spare_slots_there_are)
{
    struct rig r;
    rig_init_temporary(&r);
    for (uint32_t i = 0; i < 12; i++) {
        assert_ok(rig_open(&r));
        assert_ok(rig_put(&r, i, 1, 100));
        r.ckpt_lsn = sf_wal_last_lsn(r.wal);
        sf_wal_checkpoint(r.wal, r.ckpt_lsn);
        rig_close(&r);
        assert_true(count_slots(&r) <= 7); /* five spare ones, the active one, one on its way */
    }
    rig_done(&r);
}

/* ---- erasure ---- */

static void put_secret(struct rig *r, uint32_t id, const char *secret, size_t len)
{
    struct rig_batch *b = rig_batch_new(r, id, 1, len);
    memcpy(b->bytes + 1000, secret, strlen(secret));
    assert_ok(sf_wal_append(r->wal, &b->entry, NULL));
    assert_ok(rig_wait(b));
    rig_batch_free(b);
}

/* Slots are zeroed in pieces of a mebibyte; the last one is as clean as the first. */
TEST(wal_damage, an_erasure_reaches_the_end_of_a_slot)
{
    struct rig r;
    rig_init_temporary(&r);
    r.segment_len = 4 << 20;
    assert_ok(rig_open(&r));
    put_secret(&r, 0, "early secret", 5000);
    for (uint32_t i = 1; i < 18; i++)
        assert_ok(rig_put(&r, i, 1, 200000));
    put_secret(&r, 20, "late secret", 5000);
    assert_true(rig_log_holds(&r, "late secret", 11));
    r.ckpt_lsn = sf_wal_last_lsn(r.wal);
    sf_wal_checkpoint(r.wal, r.ckpt_lsn);
    for (int tries = 0; sf_wal_oldest_lsn(r.wal) <= r.ckpt_lsn; tries++) {
        assert_true(tries < 20);
        assert_ok(sf_wal_scrub(r.wal, NULL));
    }
    assert_false(rig_log_holds(&r, "early secret", 12));
    assert_false(rig_log_holds(&r, "late secret", 11));
    rig_done(&r);
}

/* What a slot held before the start is not known; it is not clean therefore. */
TEST(wal_damage, an_erasure_reaches_slots_of_before_the_start)
{
    struct rig r;
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    for (uint32_t i = 0; i < 3; i++)
        put_secret(&r, i, "old secret", 200000); /* a segment each */
    r.ckpt_lsn = sf_wal_last_lsn(r.wal);
    rig_close(&r);
    assert_ok(rig_open(&r));
    assert_int_equal(r.n_seen, 0);
    assert_true(rig_log_holds(&r, "old secret", 10));
    for (int tries = 0; sf_wal_oldest_lsn(r.wal) <= r.ckpt_lsn; tries++) {
        assert_true(tries < 20);
        assert_ok(sf_wal_scrub(r.wal, NULL));
    }
    assert_false(rig_log_holds(&r, "old secret", 10));
    rig_done(&r);
}

/* In every slot there is, and in the one that is being written. Nothing comes meanwhile. */
TEST(wal_damage, an_erasure_reaches_every_slot)
{
    static const char *const secrets[] = {"secret one", "secret two", "secret three",
                                          "secret four"};
    struct rig r;
    rig_init_temporary(&r);
    assert_ok(rig_open(&r));
    for (uint32_t i = 0; i < 4; i++)
        put_secret(&r, i, secrets[i], 200000); /* a segment each */
    for (uint32_t i = 0; i < 4; i++)
        assert_true(rig_log_holds(&r, secrets[i], strlen(secrets[i])));
    r.ckpt_lsn = sf_wal_last_lsn(r.wal);
    sf_wal_checkpoint(r.wal, r.ckpt_lsn);
    for (int tries = 0; sf_wal_oldest_lsn(r.wal) <= r.ckpt_lsn; tries++) {
        assert_true(tries < 20);
        assert_ok(sf_wal_scrub(r.wal, NULL));
    }
    for (uint32_t i = 0; i < 4; i++) {
        if (rig_log_holds(&r, secrets[i], strlen(secrets[i])))
            fail_msg("'%s' is still there", secrets[i]);
    }
    assert_ok(rig_put(&r, 90, 1, 100));
    rig_close(&r);
    assert_ok(rig_open(&r));
    assert_int_equal(r.n_seen, 1);
    rig_done(&r);
}

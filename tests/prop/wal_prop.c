/* Damage of any kind to a log: replay gives whole batches, each at most once, in order, and either
 * a prefix of what was written or it says what is missing. */
#include "test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "support/wal_rig.h"

enum { SLOT_LEN = 32 << 10, MAX_SLOTS = 64 };

struct image { /* the log as written */
    uint8_t *bytes[MAX_SLOTS];
    size_t len[MAX_SLOTS];
    uint32_t n_batches;
    uint64_t n_lsn;
    uint64_t last_sequence;
    unsigned last_slot; /* the one with the highest sequence */
};

static void write_log(struct image *img, uint64_t seed)
{
    struct rig r;
    uint64_t random = seed;
    memset(img, 0, sizeof(*img));
    rig_init_temporary(&r);
    r.segment_len = SLOT_LEN;
    assert_ok(rig_open(&r));
    for (uint32_t i = 0; i < 25; i++, img->n_batches++)
        assert_ok(
            rig_put(&r, i, 1 + rig_step(&random) % 5, RIG_HEAD_LEN + rig_step(&random) % 3000));
    img->n_lsn = sf_wal_last_lsn(r.wal);
    rig_close(&r);
    for (unsigned i = 0; i < MAX_SLOTS; i++) {
        char path[600];
        struct stat st;
        int fd;
        rig_slot_path(&r, i, path, sizeof(path));
        fd = open(path, O_RDONLY);
        if (fd < 0)
            continue;
        assert_int_equal(fstat(fd, &st), 0);
        img->len[i] = (size_t)st.st_size;
        img->bytes[i] = malloc(img->len[i]);
        assert_non_null(img->bytes[i]);
        assert_int_equal(pread(fd, img->bytes[i], img->len[i], 0), st.st_size);
        close(fd);
        if (sf_load_u64le(img->bytes[i] + 8) > img->last_sequence) {
            img->last_sequence = sf_load_u64le(img->bytes[i] + 8);
            img->last_slot = i;
        }
    }
    rig_done(&r);
}

static void image_free(struct image *img)
{
    for (unsigned i = 0; i < MAX_SLOTS; i++)
        free(img->bytes[i]);
}

/* Puts the image on disk, slot `cut` only up to `cut_len`. */
static void lay_out(struct rig *r, const struct image *img, unsigned cut, size_t cut_len)
{
    rig_clear(r);
    assert_ok(sf_dir_make(r->dir, "wal", NULL));
    for (unsigned i = 0; i < MAX_SLOTS; i++) {
        char path[600];
        int fd;
        size_t len = i == cut && cut_len < img->len[i] ? cut_len : img->len[i];
        if (!img->bytes[i])
            continue;
        rig_slot_path(r, i, path, sizeof(path));
        fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        assert_true(fd >= 0);
        assert_int_equal(pwrite(fd, img->bytes[i], len, 0), len);
        close(fd);
    }
}

/* `what` was done to the log. Reads it back and checks the promise. */
static void check(struct rig *r, const struct image *img, const char *what, size_t at)
{
    uint32_t n_prefix = 0, n_all = 0;
    bool is_reported;
    r->n_notices = 0;
    assert_ok(rig_open(r));
    rig_close(r);
    assert_int_equal(r->n_wrong, 0);
    for (uint32_t i = 0; i < img->n_batches; i++) {
        if (r->seen[i] > 1)
            fail_msg("%s at %zu: batch %u came %u times", what, at, i, r->seen[i]);
        n_all += r->seen[i];
        n_prefix += r->seen[i] && n_prefix == i;
    }
    is_reported = r->replayed.n_lost_lsn || r->replayed.n_bad_segments || r->replayed.n_dropped;
    if (n_all != n_prefix && !is_reported)
        fail_msg("%s at %zu: %u batches, not a prefix, and nothing was said", what, at, n_all);
    if (is_reported)
        assert_true(r->n_notices > 0 || r->replayed.n_dropped);
}

TEST(wal_prop, cut_anywhere_gives_a_prefix_or_a_report)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct image img;
        struct rig r;
        uint64_t random = seed;
        write_log(&img, seed);
        rig_init_temporary(&r);
        r.segment_len = SLOT_LEN;
        for (unsigned i = 0; i < MAX_SLOTS; i++) {
            if (!img.bytes[i])
                continue;
            for (size_t len = 0; len < img.len[i]; len += 4096) {
                lay_out(&r, &img, i, len);
                check(&r, &img, "cut", len);
                lay_out(&r, &img, i, len + rig_step(&random) % 4096);
                check(&r, &img, "cut inside a page near", len);
            }
        }
        rig_done(&r);
        image_free(&img);
    }
}

/* The last segment never written behind some point: a torn tail, so a silent prefix, never a report
 * of damage. */
TEST(wal_prop, torn_tail_is_no_damage)
{
    struct image img;
    struct rig r;
    char path[600];
    write_log(&img, 9);
    rig_init_temporary(&r);
    r.segment_len = SLOT_LEN;
    for (size_t len = 4096; len < img.len[img.last_slot]; len += 509) {
        lay_out(&r, &img, img.last_slot, len);
        rig_slot_path(&r, img.last_slot, path, sizeof(path));
        assert_int_equal(truncate(path, (off_t)img.len[img.last_slot]), 0); /* zeros again */
        check(&r, &img, "tail torn", len);
        assert_int_equal(r.replayed.n_lost_lsn, 0);
        assert_int_equal(r.replayed.n_bad_segments, 0);
    }
    rig_done(&r);
    image_free(&img);
}

TEST(wal_prop, any_flipped_bit_is_survived_and_never_silent)
{
    struct image img;
    struct rig r;
    uint64_t random = 5;
    unsigned n_missing = 0;
    write_log(&img, 4);
    rig_init_temporary(&r);
    r.segment_len = SLOT_LEN;
    for (unsigned round = 0; round < 1500; round++) {
        unsigned slot = (unsigned)(rig_step(&random) % MAX_SLOTS);
        size_t at;
        uint8_t bit = (uint8_t)(1 << rig_step(&random) % 8);
        if (!img.bytes[slot])
            continue;
        at = rig_step(&random) % img.len[slot];
        img.bytes[slot][at] ^= bit;
        lay_out(&r, &img, MAX_SLOTS, 0);
        check(&r, &img, "flipped bit", at);
        img.bytes[slot][at] ^= bit;
        if (r.n_seen == img.n_batches)
            continue; /* it hit padding, or the spare header */
        n_missing++;
        if (!r.replayed.n_lost_lsn && !r.replayed.n_bad_segments && !r.replayed.is_torn)
            fail_msg("slot %u, byte %zu: %llu of %u batches and not a word", slot, at,
                     (unsigned long long)r.n_seen, img.n_batches);
    }
    assert_true(n_missing > 20);
    rig_done(&r);
    image_free(&img);
}

/* What replay made of a damaged log is what the log is from then on. */
TEST(wal_prop, damage_is_settled_by_the_first_replay)
{
    struct image img;
    struct rig r;
    uint64_t random = 11;
    write_log(&img, 6);
    rig_init_temporary(&r);
    r.segment_len = SLOT_LEN;
    for (unsigned round = 0; round < 150; round++) {
        unsigned slot = (unsigned)(rig_step(&random) % MAX_SLOTS);
        uint64_t n_first;
        if (!img.bytes[slot])
            continue;
        lay_out(&r, &img, slot, rig_step(&random) % img.len[slot]);
        assert_ok(rig_open(&r));
        n_first = r.n_seen;
        assert_ok(rig_put(&r, 1000, 2, 3000));
        rig_close(&r);
        assert_ok(rig_open(&r));
        assert_int_equal(r.n_seen, n_first + 1);
        assert_int_equal(r.seen[1000], 1);
        assert_int_equal(r.n_wrong, 0);
        rig_close(&r);
    }
    rig_done(&r);
    image_free(&img);
}

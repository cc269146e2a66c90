/* The plug pulled: every write and sync of the log is recorded; then for cuts between them the
 * images a disk could hold are rebuilt (what was synced, and of the rest any subset of pages; names
 * that were not synced, there or not) and replayed. Every batch acknowledged before the cut must
 * come back, whole, once, and without a word of damage. */
#include "test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "support/faultfs/faultfs.h"
#include "support/wal_rig.h"

enum { PAGE = 4096, SLOT_LEN = 48 << 10, N_PAGES = SLOT_LEN / PAGE, MAX_FILES = 64 };
enum { MAX_EVENTS = 60000 };

enum kind { EV_WRITE, EV_SYNC, EV_NAME, EV_TRUNCATE, EV_UNLINK, EV_DIR_SYNC, EV_ACK, EV_CKPT };

struct event {
    enum kind kind;
    unsigned file; /* number of the slot; batch id; for CKPT nothing */
    uint64_t off;  /* CKPT: the LSN */
    uint8_t *bytes;
    size_t len;
};

static struct event events[MAX_EVENTS];
static size_t n_events;
static struct sf_mutex events_lock = SF_MUTEX_INIT;
static char root[256];

static void add_event(struct event e)
{
    sf_mutex_lock(&events_lock);
    if (n_events == MAX_EVENTS)
        abort();
    events[n_events++] = e;
    sf_mutex_unlock(&events_lock);
}

/* The number of a slot; it is written as .new and gets its name when it is complete. */
static bool is_slot(const char *path, unsigned *out_number)
{
    const char *at = strstr(path, "/wal/");
    return at && sscanf(at, "/wal/%4u.", out_number) == 1 && *out_number < MAX_FILES;
}

static void see(const struct faultfs_event *e)
{
    struct event out = {.off = e->off, .len = e->len};
    if (strncmp(e->path, root, strlen(root)) != 0)
        return;
    if (!is_slot(e->path, &out.file)) {
        if (e->call == FAULTFS_SYNC)
            add_event((struct event){.kind = EV_DIR_SYNC});
        return;
    }
    switch (e->call) {
    case FAULTFS_WRITE:
        out.kind = EV_WRITE;
        out.bytes = malloc(e->len ? e->len : 1);
        if (!out.bytes)
            abort();
        memcpy(out.bytes, e->bytes, e->len);
        break;
    case FAULTFS_SYNC: out.kind = EV_SYNC; break;
    /* cppcheck-suppress memleak ; it takes the next case for a part of this one */
    case FAULTFS_OPEN: return; /* under its name of .new, which replay deletes */
    case FAULTFS_TRUNCATE: out.kind = EV_TRUNCATE; break;
    case FAULTFS_UNLINK: out.kind = EV_UNLINK; break;
    case FAULTFS_RENAME: out.kind = EV_NAME; break;
    default: abort();
    }
    add_event(out);
}

/* --- the disk --- */

struct slot_image {
    bool has_name;     /* as the running system sees it */
    bool is_name_safe; /* that name survives the cut; otherwise it may or may not */
    bool had_name;     /* on disk */
    uint64_t len, safe_len;
    uint8_t now[SLOT_LEN], safe[SLOT_LEN];
    bool is_dirty[N_PAGES];
};

static struct slot_image disk[MAX_FILES];

static void apply(const struct event *e)
{
    struct slot_image *s = e->kind == EV_ACK ? NULL : &disk[e->file];
    switch (e->kind) {
    case EV_NAME:
        s->has_name = true;
        s->is_name_safe = false;
        break;
    case EV_TRUNCATE:
        s->len = e->off;
        memset(s->now, 0, sizeof(s->now));
        memset(s->is_dirty, 1, sizeof(s->is_dirty));
        break;
    case EV_WRITE:
        assert_true(e->off + e->len <= SLOT_LEN);
        memcpy(s->now + e->off, e->bytes, e->len);
        for (uint64_t p = e->off / PAGE; p * PAGE < e->off + e->len; p++)
            s->is_dirty[p] = true;
        if (e->off + e->len > s->len)
            s->len = e->off + e->len;
        break;
    case EV_SYNC:
        memcpy(s->safe, s->now, SLOT_LEN);
        memset(s->is_dirty, 0, sizeof(s->is_dirty));
        s->safe_len = s->len;
        break;
    case EV_UNLINK:
        s->has_name = false;
        s->is_name_safe = false;
        break;
    case EV_DIR_SYNC:
        for (size_t i = 0; i < MAX_FILES; i++) {
            disk[i].is_name_safe = true;
            disk[i].had_name = disk[i].has_name;
        }
        break;
    case EV_ACK:
    case EV_CKPT: break;
    }
}

enum how { NOTHING_MORE, EVERYTHING, ANY };

static bool toss(enum how how, uint64_t *random)
{
    return how == EVERYTHING || (how == ANY && rig_step(random) & 1);
}

static void write_image(const struct rig *r, enum how how, uint64_t *random)
{
    static uint8_t bytes[SLOT_LEN];
    for (unsigned i = 0; i < MAX_FILES; i++) {
        const struct slot_image *s = &disk[i];
        bool has_name = s->is_name_safe || toss(how, random) ? s->has_name : s->had_name;
        uint64_t len = toss(how, random) ? s->len : s->safe_len;
        char path[600];
        int fd;
        if (!has_name)
            continue;
        memcpy(bytes, s->safe, SLOT_LEN);
        for (size_t p = 0; p < N_PAGES; p++) {
            if (s->is_dirty[p] && toss(how, random))
                memcpy(bytes + p * PAGE, s->now + p * PAGE, PAGE);
        }
        rig_slot_path(r, i, path, sizeof(path));
        fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        assert_true(fd >= 0);
        assert_int_equal(pwrite(fd, bytes, len, 0), len);
        close(fd);
    }
}

/* --- the story that is recorded --- */

static void ack(struct sf_wal_entry *e)
{
    struct rig_batch *b = (struct rig_batch *)e;
    assert_ok(e->result);
    add_event((struct event){.kind = EV_ACK, .file = b->logged[0].decoded_len, .off = e->lsn});
    rig_done_entry(e);
}

static uint32_t write_some(struct rig *r, uint32_t id, uint64_t *random, unsigned n_rounds)
{
    for (unsigned round = 0; round < n_rounds; round++) {
        struct rig_batch *b[6];
        size_t n = 1 + rig_step(random) % 6;
        for (size_t i = 0; i < n; i++) {
            b[i] = rig_batch_new(r, id++, 1 + rig_step(random) % 4,
                                 RIG_HEAD_LEN + rig_step(random) % 9000);
            b[i]->entry.done = ack;
            assert_ok(sf_wal_append(r->wal, &b[i]->entry, NULL));
        }
        for (size_t i = 0; i < n; i++) {
            assert_ok(rig_wait(b[i]));
            rig_batch_free(b[i]);
        }
        if (rig_step(random) % 5 == 0) {
            r->ckpt_lsn = sf_wal_last_lsn(r->wal); /* what the catalogue would have committed */
            add_event((struct event){.kind = EV_CKPT, .off = r->ckpt_lsn});
            sf_wal_checkpoint(r->wal, r->ckpt_lsn);
        }
        if (rig_step(random) % 20 == 0)
            assert_ok(sf_wal_scrub(r->wal, NULL));
    }
    return id;
}

static void record_story(uint64_t seed, unsigned n_rounds)
{
    struct rig r;
    uint64_t random = seed;
    uint32_t id = 0;
    rig_init_temporary(&r);
    r.segment_len = SLOT_LEN;
    snprintf(root, sizeof(root), "%s", r.path);
    faultfs_record(see);
    for (int life = 0; life < 3; life++) { /* a clean stop in between */
        assert_ok(rig_open(&r));
        assert_int_equal(r.replayed.n_lost_lsn, 0);
        id = write_some(&r, id, &random, n_rounds / 3);
        rig_close(&r);
    }
    faultfs_record(NULL);
    rig_done(&r);
}

/* --- cuts --- */

struct acked {
    uint64_t lsn[RIG_MAX_BATCHES]; /* 0: not acknowledged */
    uint32_t n;
    uint64_t ckpt_lsn;
};
static struct acked acked;

static void note(const struct event *e)
{
    if (e->kind == EV_ACK) {
        acked.lsn[e->file] = e->off;
        if (e->file >= acked.n)
            acked.n = e->file + 1;
    }
    if (e->kind == EV_CKPT)
        acked.ckpt_lsn = e->off;
}

static void check_cut(struct rig *r, size_t at, enum how how, uint64_t *random)
{
    rig_clear(r);
    assert_ok(sf_dir_make(r->dir, "wal", NULL));
    write_image(r, how, random);
    r->ckpt_lsn = acked.ckpt_lsn;
    r->n_notices = 0;
    assert_ok(rig_open(r));
    rig_close(r);
    for (uint32_t i = 0; i < acked.n; i++) {
        if (acked.lsn[i] > acked.ckpt_lsn && r->seen[i] != 1)
            fail_msg("cut after event %zu (way %d): batch %u, lsn %llu, was seen %u times", at, how,
                     i, (unsigned long long)acked.lsn[i], r->seen[i]);
        if (acked.lsn[i] && acked.lsn[i] <= acked.ckpt_lsn)
            assert_int_equal(r->seen[i], 0);
    }
    assert_int_equal(r->n_wrong, 0);
    if (r->replayed.n_lost_lsn)
        fail_msg("cut after event %zu (way %d): %s", at, how, r->last_notice);
    assert_int_equal(r->replayed.n_bad_segments, 0);
}

static unsigned scale(void)
{
    const char *text = getenv("CHECK_SCALE");
    unsigned n = text ? (unsigned)strtoul(text, NULL, 10) : 1;
    return n ? n : 1;
}

TEST(wal_power, loses_nothing_that_was_acknowledged)
{
    struct rig r;
    uint64_t random = 7;
    size_t n_cuts = 0;
    record_story(1, 45 * scale());
    rig_init_temporary(&r);
    r.segment_len = SLOT_LEN;
    for (size_t i = 0; i < n_events; i++) {
        apply(&events[i]);
        note(&events[i]);
        if (events[i].kind == EV_WRITE && rig_step(&random) % 4)
            continue; /* the pieces of one write: some of the cuts between them are enough */
        check_cut(&r, i, NOTHING_MORE, &random);
        check_cut(&r, i, EVERYTHING, &random);
        check_cut(&r, i, ANY, &random);
        n_cuts += 3;
    }
    printf("# %zu events, %zu images, %u batches\n", n_events, n_cuts, acked.n);
    assert_true(n_cuts > 300);
    for (size_t i = 0; i < n_events; i++)
        free(events[i].bytes);
    rig_done(&r);
}

/* The plug pulled: every write and sync of the log is recorded; then for cuts between them the
 * images a disk could hold are rebuilt (what was synced, and of the rest any subset of pages; names
 * that were not synced, there or not) and replayed. Every batch acknowledged before the cut must
 * come back, whole, once, and without a word of damage.
 *
 * Names and files are apart, as on a disk: a slot that is deleted and one that is made again under
 * its number are two files, and until the folder is synced the name may represent either. */
#include "test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "support/faultfs/faultfs.h"
#include "support/wal_rig.h"

enum { PAGE = 4096, SLOT_LEN = 48 << 10, N_PAGES = SLOT_LEN / PAGE, MAX_NAMES = 64 };
enum { TAIL = MAX_NAMES - 1 }; /* wal.tail, as if it were a slot */
enum { MAX_EVENTS = 60000, MAX_FILES = 1024 };

enum kind {
    EV_CREATE, /* as .new, which replay deletes */
    EV_WRITE,
    EV_SYNC,
    EV_NAME, /* .new becomes .wal */
    EV_UNLINK,
    EV_DIR_SYNC,
    EV_TAIL_NAME, /* the name of wal.tail is on disk */
    EV_ACK,
    EV_CKPT,
    EV_QUIET /* the log says that no slot is being made or deleted */
};

struct event {
    enum kind kind;
    bool is_new;     /* the .new of that number */
    unsigned number; /* of the slot; ACK: batch id */
    uint64_t off;    /* CKPT: the LSN */
    uint8_t *bytes;
    size_t len;
};

static struct event events[MAX_EVENTS];
static size_t n_events;
static struct sf_mutex events_lock = {PTHREAD_MUTEX_INITIALIZER, SF_LOCK_APART};
static char root[256];

static void add_event(struct event e)
{
    sf_mutex_lock(&events_lock);
    if (n_events == MAX_EVENTS)
        abort();
    events[n_events++] = e;
    sf_mutex_unlock(&events_lock);
}

static bool is_slot(const char *path, unsigned *out_number, bool *out_is_new)
{
    const char *at = strstr(path, "/wal/");
    char ending[5] = "";
    if (strstr(path, "/wal.tail")) {
        *out_number = TAIL;
        *out_is_new = false;
        return true;
    }
    if (!at || sscanf(at, "/wal/%4u.%4s", out_number, ending) != 2 || *out_number >= TAIL)
        return false;
    *out_is_new = strcmp(ending, "new") == 0;
    return true;
}

static void see(const struct faultfs_event *e)
{
    struct event out = {.off = e->off, .len = e->len};
    size_t root_len = strlen(root);
    if (strncmp(e->path, root, root_len) != 0)
        return;
    if (!is_slot(e->path, &out.number, &out.is_new)) {
        if (e->call == FAULTFS_SYNC && strcmp(e->path + root_len, "/wal") == 0)
            add_event((struct event){.kind = EV_DIR_SYNC});
        if (e->call == FAULTFS_SYNC && e->path[root_len] == 0)
            add_event((struct event){.kind = EV_TAIL_NAME});
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
    case FAULTFS_OPEN:
        out.kind = EV_CREATE;
        if (out.number == TAIL) { /* has its name at once */
            out.is_new = true;
            add_event(out);
            out.kind = EV_NAME;
        }
        break;
    /* cppcheck-suppress memleak ; it takes the next case for a part of the first */
    case FAULTFS_TRUNCATE: return; /* of what was just created */
    case FAULTFS_UNLINK: out.kind = EV_UNLINK; break;
    case FAULTFS_RENAME: out.kind = EV_NAME; break;
    default: abort();
    }
    add_event(out);
}

/* --- the disk --- */

struct file_image {
    uint64_t len, safe_len;
    uint8_t now[SLOT_LEN], safe[SLOT_LEN];
    bool is_dirty[N_PAGES];
};

struct name_image {
    struct file_image *fresh; /* .new */
    struct file_image *now;   /* .wal, as the running system sees it; NULL: there is none */
    struct file_image *safe;  /* what stood there when the folder was last synced */
    bool was_absent;          /* for a while since then */
};

static struct name_image names[MAX_NAMES];
static struct file_image *files[MAX_FILES];
static size_t n_files;

static struct file_image *new_file(void)
{
    struct file_image *f = calloc(1, sizeof(*f));
    if (!f || n_files == MAX_FILES)
        abort();
    files[n_files++] = f;
    return f;
}

static void write_file(struct file_image *f, const struct event *e)
{
    assert_true(e->off + e->len <= SLOT_LEN);
    memcpy(f->now + e->off, e->bytes, e->len);
    for (uint64_t p = e->off / PAGE; p * PAGE < e->off + e->len; p++)
        f->is_dirty[p] = true;
    if (e->off + e->len > f->len)
        f->len = e->off + e->len;
}

static void sync_file(struct file_image *f)
{
    memcpy(f->safe, f->now, SLOT_LEN);
    memset(f->is_dirty, 0, sizeof(f->is_dirty));
    f->safe_len = f->len;
}

static void apply(const struct event *e)
{
    struct name_image *n = e->kind == EV_ACK ? NULL : &names[e->number];
    struct file_image *f = !n ? NULL : e->is_new ? n->fresh : n->now;
    switch (e->kind) {
    case EV_CREATE:
        assert_true(e->is_new);
        n->fresh = new_file();
        break;
    case EV_WRITE:
        assert_non_null(f);
        write_file(f, e);
        break;
    case EV_SYNC:
        assert_non_null(f);
        sync_file(f);
        break;
    case EV_NAME:
        n->was_absent |= !n->now;
        n->now = n->fresh;
        n->fresh = NULL;
        break;
    case EV_UNLINK:
        if (e->is_new)
            n->fresh = NULL;
        else
            n->now = NULL;
        break;
    case EV_DIR_SYNC:
        for (size_t i = 0; i < TAIL; i++) {
            names[i].safe = names[i].now;
            names[i].was_absent = false;
        }
        break;
    case EV_TAIL_NAME:
        names[TAIL].safe = names[TAIL].now;
        names[TAIL].was_absent = false;
        break;
    case EV_QUIET:
        /* It takes what they held for gone: none of it may come back. */
        for (size_t i = 0; i < TAIL; i++)
            assert_ptr_equal(names[i].safe, names[i].now);
        break;
    case EV_ACK:
    case EV_CKPT: break;
    }
}

static void forget_everything(void)
{
    for (size_t i = 0; i < n_events; i++)
        free(events[i].bytes);
    for (size_t i = 0; i < n_files; i++)
        free(files[i]);
    n_events = n_files = 0;
    memset(names, 0, sizeof(names));
}

enum how { NOTHING_MORE, EVERYTHING, ANY };

static bool toss(enum how how, uint64_t *random)
{
    return how == EVERYTHING || (how == ANY && rig_step(random) & 1);
}

/* Which file has the name after the cut. */
static const struct file_image *file_of(const struct name_image *n, enum how how, uint64_t *random)
{
    if (toss(how, random))
        return n->now;
    return n->was_absent && toss(how, random) ? NULL : n->safe;
}

static void write_image(const struct rig *r, enum how how, uint64_t *random)
{
    static uint8_t bytes[SLOT_LEN];
    for (unsigned i = 0; i < MAX_NAMES; i++) {
        const struct file_image *f = file_of(&names[i], how, random);
        uint64_t len;
        char path[600];
        int fd;
        if (!f)
            continue;
        len = toss(how, random) ? f->len : f->safe_len;
        memcpy(bytes, f->safe, SLOT_LEN);
        for (size_t p = 0; p < N_PAGES; p++) {
            if (f->is_dirty[p] && toss(how, random))
                memcpy(bytes + p * PAGE, f->now + p * PAGE, PAGE);
        }
        if (i == TAIL)
            snprintf(path, sizeof(path), "%s/wal.tail", r->path);
        else
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
    add_event((struct event){.kind = EV_ACK, .number = b->logged[0].decoded_len, .off = e->lsn});
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

static void write_segments(struct rig *r, uint32_t *id, unsigned n)
{
    for (unsigned i = 0; i < n; i++) { /* no second one fits beside it */
        struct rig_batch *b = rig_batch_new(r, (*id)++, 1, SLOT_LEN - 3 * PAGE);
        b->entry.done = ack;
        assert_ok(sf_wal_append(r->wal, &b->entry, NULL));
        assert_ok(rig_wait(b));
        rig_batch_free(b);
    }
}

/* A burst needs many slots; once all is in blocks most of them are deleted; the next burst makes
 * new files under their names. */
static void record_bursts(void)
{
    struct rig r;
    uint32_t id = 0;
    rig_init_temporary(&r);
    r.segment_len = SLOT_LEN;
    snprintf(root, sizeof(root), "%s", r.path);
    faultfs_record(see);
    assert_ok(rig_open(&r));
    for (int burst = 0; burst < 3; burst++) {
        struct sf_wal_stats stats;
        write_segments(&r, &id, 12);
        r.ckpt_lsn = sf_wal_last_lsn(r.wal);
        add_event((struct event){.kind = EV_CKPT, .off = r.ckpt_lsn});
        sf_wal_checkpoint(r.wal, r.ckpt_lsn);
        do { /* until only the active one is in use */
            sf_clock_sleep_ms(1);
            sf_wal_stats(r.wal, &stats);
        } while (stats.n_segments > 1);
        add_event((struct event){.kind = EV_QUIET});
    }
    rig_close(&r);
    faultfs_record(NULL);
    rig_done(&r);
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
        acked.lsn[e->number] = e->off;
        if (e->number >= acked.n)
            acked.n = e->number + 1;
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
    if (r->replayed.n_bad_segments)
        fail_msg("cut after event %zu (way %d): %s", at, how, r->last_notice);
}

static size_t check_cuts(struct rig *r, size_t at, unsigned n_any, uint64_t *random)
{
    check_cut(r, at, NOTHING_MORE, random);
    check_cut(r, at, EVERYTHING, random);
    for (unsigned i = 0; i < n_any; i++)
        check_cut(r, at, ANY, random);
    return n_any + 2;
}

TEST(wal_power, loses_nothing_that_was_acknowledged)
{
    struct rig r;
    uint64_t random = 7;
    size_t n_cuts = 0;
    record_story(1, 20 + test_scaled(25));
    rig_init_temporary(&r);
    r.segment_len = SLOT_LEN;
    acked = (struct acked){0};
    for (size_t i = 0; i < n_events; i++) {
        apply(&events[i]);
        note(&events[i]);
        if (events[i].kind == EV_WRITE && rig_step(&random) % 4)
            continue; /* the pieces of one write: some of the cuts between them are enough */
        n_cuts += check_cuts(&r, i, 1, &random);
    }
    printf("# %zu events, %zu images, %u batches\n", n_events, n_cuts, acked.n);
    assert_true(n_cuts > test_scaled(300));
    forget_everything();
    rig_done(&r);
}

/* Only cuts while a name that is used again is when uncertain: there are few, so each is tried
 * often. */
TEST(wal_power, takes_a_slot_that_comes_back_for_no_damage)
{
    struct rig r;
    uint64_t random = 11;
    size_t n_cuts = 0;
    record_bursts();
    rig_init_temporary(&r);
    r.segment_len = SLOT_LEN;
    acked = (struct acked){0};
    for (size_t i = 0; i < n_events; i++) {
        const struct event *e = &events[i];
        const struct name_image *n = e->kind == EV_ACK ? NULL : &names[e->number];
        apply(&events[i]);
        note(&events[i]);
        if (e->kind == EV_UNLINK || (n && n->fresh && n->safe))
            n_cuts += check_cuts(&r, i, 8, &random);
    }
    printf("# %zu events, %zu images\n", n_events, n_cuts);
    assert_true(n_cuts > 0);
    forget_everything();
    rig_done(&r);
}

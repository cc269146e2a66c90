/* wal_bench.c - what does one more batch per sync cost?
 *
 * First the bare cost on this disk in this run: gathered writes into a file written before, and a
 * sync after each. Then the log itself, with 1, 4, 16 and 64 batches waiting at a time, of 4 and
 * 100 KB. The ratio says what the log adds. Prints `name value unit` for the fastest of the runs
 * and the spread over all of them in percent. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/dir.h"
#include "os/thread.h"
#include "wal/wal.h"

enum { N_RUNS = 3, RUN_MS = 400, SLOT_LEN = 64 << 20, MAX_WAITING = 64 };

static uint8_t body[100000];

static void fill(void)
{
    uint64_t state = 42;
    for (size_t i = 0; i < sizeof(body); i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        body[i] = (uint8_t)(state >> 56);
    }
}

struct result {
    double best, worst; /* syncs per second */
};

static void note(struct result *r, double rate)
{
    if (rate > r->best)
        r->best = rate;
    if (r->worst == 0 || rate < r->worst)
        r->worst = rate;
}

static void die(const char *what)
{
    fprintf(stderr, "wal_bench: %s\n", what);
    exit(1);
}

/* --- bare --- */

static double run_bare(int fd, size_t len, size_t n_group)
{
    struct iovec v[MAX_WAITING];
    int64_t start_ns = sf_clock_mono_ns(), now_ns;
    uint64_t n_syncs = 0;
    off_t off = 0;
    size_t group_len = (len * n_group + 4095) / 4096 * 4096;
    for (size_t i = 0; i < n_group; i++)
        v[i] = (struct iovec){body, len};
    do {
        if ((uint64_t)off + group_len > SLOT_LEN)
            off = 0;
        if (pwritev(fd, v, (int)n_group, off) < 0 || fdatasync(fd) != 0)
            die("the bare write failed");
        off += (off_t)group_len;
        n_syncs++;
        now_ns = sf_clock_mono_ns();
    } while (now_ns - start_ns < (int64_t)RUN_MS * 1000000);
    return (double)n_syncs * 1e9 / (double)(now_ns - start_ns);
}

/* --- the log --- */

struct waiting {
    struct sf_wal_entry entry; /* first */
    struct sf_logged logged;
    const struct sf_logged *piece;
    struct crowd *crowd;
};

struct crowd {
    struct sf_mutex lock; /* guards all below */
    struct sf_condvar changed;
    size_t n_waiting;
    uint64_t n_done;
    struct waiting waiting[MAX_WAITING];
};

static void done(struct sf_wal_entry *e)
{
    struct crowd *c = ((struct waiting *)e)->crowd;
    if (e->result)
        die(e->why.text);
    sf_mutex_lock(&c->lock);
    c->n_waiting--;
    c->n_done++;
    if (c->n_waiting == 0)
        sf_condvar_wake_all(&c->changed);
    sf_mutex_unlock(&c->lock);
}

/* Groups of n_group appended together and waited for: syncs/s in the same units as bare. */
static double run_log(struct sf_wal *wal, struct crowd *c, size_t len, size_t n_group)
{
    int64_t start_ns = sf_clock_mono_ns(), now_ns;
    uint64_t n_groups = 0;
    do {
        c->n_waiting = n_group;
        for (size_t i = 0; i < n_group; i++) {
            struct waiting *w = &c->waiting[i];
            struct sf_why why;
            w->crowd = c;
            w->logged = (struct sf_logged){
                .kind = SF_LOG_OTLP_TRACES_PB, .tenant = 1, .recv_ns = 1, .body = {body, len}};
            w->piece = &w->logged;
            w->entry = (struct sf_wal_entry){.pieces = &w->piece, .n_pieces = 1, .done = done};
            if (sf_wal_append(wal, &w->entry, &why))
                die(why.text);
        }
        sf_mutex_lock(&c->lock);
        while (c->n_waiting)
            sf_condvar_wait(&c->changed, &c->lock);
        sf_mutex_unlock(&c->lock);
        n_groups++;
        if (n_groups % 16 == 0)
            sf_wal_checkpoint(wal, sf_wal_last_lsn(wal));
        now_ns = sf_clock_mono_ns();
    } while (now_ns - start_ns < (int64_t)RUN_MS * 1000000);
    return (double)n_groups * 1e9 / (double)(now_ns - start_ns);
}

static enum sf_err ignore(void *arg, uint64_t lsn, const struct sf_logged *pieces, size_t n_pieces,
                          struct sf_why *why)
{
    (void)arg, (void)lsn, (void)pieces, (void)n_pieces, (void)why;
    return SF_OK;
}

static void report(const char *what, size_t len, size_t n_group, const struct result *r)
{
    double spread = (r->best - r->worst) / r->best * 100;
    printf("%s_%zuKB_x%zu %.0f syncs/s\n", what, len / 1000, n_group, r->best);
    printf("%s_%zuKB_x%zu_throughput %.1f MB/s\n", what, len / 1000, n_group,
           r->best * (double)(len * n_group) / 1e6);
    printf("%s_%zuKB_x%zu_spread %.0f %%\n", what, len / 1000, n_group, spread);
}

int main(int argc, char **argv)
{
    static const size_t lens[] = {4000, 100000}, groups[] = {1, 4, 16, 64};
    const char *base = argc > 1 ? argv[1] : "/var/tmp";
    char path[400], bare_path[440], slot[480];
    static struct crowd crowd;
    struct sf_wal_config config = {.store_uuid = "bench", .queue_len = 64u << 20};
    struct sf_why why;
    struct sf_wal *wal = NULL;
    int fd;

    fill();
    snprintf(path, sizeof(path), "%s/wal_bench.XXXXXX", base);
    if (!mkdtemp(path))
        die("no directory to work in");
    snprintf(bare_path, sizeof(bare_path), "%s/bare", path);
    fd = open(bare_path, O_RDWR | O_CREAT, 0600);
    for (off_t off = 0; off < SLOT_LEN; off += (off_t)sizeof(body)) {
        if (pwrite(fd, body, sizeof(body), off) < 0)
            die("the file cannot be prepared");
    }
    if (fsync(fd) != 0 || sf_dir_open(path, SF_DIR_CREATE, &config.dir, &why) ||
        sf_wal_open(&config, &wal, &why) || sf_wal_replay(wal, ignore, NULL, NULL, &why))
        die("the log cannot be opened");
    sf_mutex_init(&crowd.lock, SF_LOCK_APART);
    sf_condvar_init(&crowd.changed);
    sf_clock_sleep_ms(500); /* its spare slots get ready */

    for (size_t l = 0; l < 2; l++) {
        double first_ns = 0;
        for (size_t g = 0; g < 4; g++) {
            struct result bare = {0}, log = {0};
            double ns;
            for (int run = 0; run < N_RUNS; run++) {
                note(&bare, run_bare(fd, lens[l], groups[g]));
                note(&log, run_log(wal, &crowd, lens[l], groups[g]));
            }
            report("bare", lens[l], groups[g], &bare);
            report("wal", lens[l], groups[g], &log);
            printf("wal_%zuKB_x%zu_over_bare %.2f x\n", lens[l] / 1000, groups[g],
                   bare.best / log.best);
            ns = 1e9 / log.best;
            if (g == 0)
                first_ns = ns;
            else
                printf("wal_%zuKB_x%zu_one_more_batch %.1f us\n", lens[l] / 1000, groups[g],
                       (ns - first_ns) / (double)(groups[g] - 1) / 1000);
        }
    }
    sf_wal_close(wal);
    sf_dir_close(config.dir);
    close(fd);
    unlink(bare_path);
    for (unsigned i = 0; i < 100; i++) {
        snprintf(slot, sizeof(slot), "%s/wal/%04u.wal", path, i);
        unlink(slot);
    }
    snprintf(slot, sizeof(slot), "%s/wal", path);
    rmdir(slot);
    rmdir(path);
    return 0;
}

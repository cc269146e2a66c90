/* wal_rig.h - a log in a temporary directory, batches of known content, and what replay gave back.
 *
 * A piece says who it is (batch, place, number of pieces) and is filled from that, so that replay
 * can be checked without keeping what was written. */
#pragma once
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/num.h"
#include "os/clock.h"
#include "os/dir.h"
#include "os/thread.h"
#include "support/temp_base.h"
#include "wal/wal.h"

enum { RIG_MAX_PIECES = 40, RIG_MAX_BATCHES = 1 << 16, RIG_HEAD_LEN = 20 };

struct rig_batch {
    struct sf_wal_entry entry; /* first: done() gets its address */
    struct sf_logged logged[RIG_MAX_PIECES];
    const struct sf_logged *pieces[RIG_MAX_PIECES];
    uint8_t *bytes;
    struct rig *rig;
    bool is_done;
};

struct rig {
    char path[256];
    struct sf_dir *dir;
    struct sf_wal *wal;
    uint64_t segment_len, ckpt_lsn;
    bool is_followed;
    uint64_t followed_lsn;
    size_t queue_len;
    struct sf_wal_known known; /* what a catalogue would know, and how it would be told */
    void (*begin)(void *arg, uint64_t sequence, uint64_t first_lsn);
    struct sf_mutex lock; /* guards is_done of all batches, notices */
    struct sf_condvar finished;
    unsigned n_notices;
    char last_notice[256];
    char notices[4096]; /* all of them, a line each, while there is space */
    /* What the last replay saw. */
    struct sf_wal_replay_stats replayed;
    uint8_t *seen; /* times batch i was seen, RIG_MAX_BATCHES of them */
    uint64_t n_seen, last_seen_lsn;
    uint64_t n_wrong; /* batches whose content is not what was written, or out of order */
    struct sf_why why;
};

static inline void rig_init(struct rig *r, const char *path)
{
    memset(r, 0, sizeof(*r));
    snprintf(r->path, sizeof(r->path), "%s", path);
    r->segment_len = 256 << 10;
    r->seen = calloc(RIG_MAX_BATCHES, 1);
    sf_mutex_init(&r->lock, SF_LOCK_APART);
    sf_condvar_init(&r->finished);
    if (!r->seen || sf_dir_open(r->path, SF_DIR_CREATE, &r->dir, &r->why))
        abort();
}

static inline void rig_init_temporary(struct rig *r)
{
    char path[64];
    snprintf(path, sizeof(path), "%s/sf_wal.XXXXXX", temp_base());
    if (!mkdtemp(path))
        abort();
    rig_init(r, path);
}

static inline void rig_notice(void *arg, const char *sentence)
{
    struct rig *r = arg;
    sf_mutex_lock(&r->lock);
    r->n_notices++;
    snprintf(r->last_notice, sizeof(r->last_notice), "%s", sentence);
    {
        size_t len = strlen(r->notices);
        snprintf(r->notices + len, sizeof(r->notices) - len, "%s\n", sentence);
    }
    sf_mutex_unlock(&r->lock);
}

static inline uint64_t rig_step(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    return sf_hash_mix(*state, *state >> 32);
}

static inline void rig_fill(uint8_t *p, size_t len, uint32_t id, uint32_t piece, uint32_t n_pieces)
{
    uint64_t state = ((uint64_t)id << 32) + piece;
    sf_store_u32le(p, id);
    sf_store_u32le(p + 4, piece);
    sf_store_u32le(p + 8, n_pieces);
    sf_store_u64le(p + 12, len);
    for (size_t i = RIG_HEAD_LEN; i < len; i++)
        p[i] = (uint8_t)((i & 7) ? state >> (i & 7) : rig_step(&state));
}

static inline bool rig_is_right(const struct sf_logged *pieces, size_t n, uint32_t *out_id)
{
    for (size_t i = 0; i < n; i++) {
        const struct sf_logged *l = &pieces[i];
        uint8_t *want;
        uint32_t id;
        bool is_same;
        if (l->body.len < RIG_HEAD_LEN)
            return false;
        id = sf_load_u32le(l->body.p);
        if (i > 0 && id != *out_id)
            return false;
        *out_id = id;
        want = malloc(l->body.len);
        if (!want)
            abort();
        rig_fill(want, l->body.len, id, (uint32_t)i, (uint32_t)n);
        is_same = memcmp(want, l->body.p, l->body.len) == 0;
        free(want);
        if (!is_same || l->tenant != id + 1 || l->recv_ns != (int64_t)id * 1000 ||
            l->kind != SF_LOG_BATCH || l->encoding != SF_LOG_ZSTD || l->decoded_len != id ||
            l->meta.len != 4 || memcmp(l->meta.p, "k\0v", 4) != 0)
            return false;
    }
    return true;
}

static inline enum sf_err rig_see(void *arg, uint64_t lsn, const struct sf_logged *pieces,
                                  size_t n_pieces, struct sf_why *why)
{
    struct rig *r = arg;
    uint32_t id = 0;
    (void)why;
    r->n_seen++;
    if (!rig_is_right(pieces, n_pieces, &id) || id >= RIG_MAX_BATCHES || lsn <= r->last_seen_lsn)
        r->n_wrong++;
    else
        r->seen[id]++;
    r->last_seen_lsn = lsn;
    return SF_OK;
}

static inline enum sf_err rig_open(struct rig *r)
{
    struct sf_wal_config config = {.dir = r->dir,
                                   .known = r->known,
                                   .begin = r->begin,
                                   .store_uuid = "rig's own uuid!",
                                   .ckpt_lsn = r->ckpt_lsn,
                                   .is_followed = r->is_followed,
                                   .followed_lsn = r->followed_lsn,
                                   .segment_len = r->segment_len,
                                   .queue_len = r->queue_len,
                                   .notice = rig_notice,
                                   .notice_arg = r};
    enum sf_err err = sf_wal_open(&config, &r->wal, &r->why);
    memset(r->seen, 0, RIG_MAX_BATCHES);
    r->n_seen = r->n_wrong = r->last_seen_lsn = 0;
    if (!err)
        err = sf_wal_replay(r->wal, rig_see, r, &r->replayed, &r->why);
    if (err) {
        sf_wal_close(r->wal);
        r->wal = NULL;
    }
    return err;
}

static inline void rig_close(struct rig *r)
{
    sf_wal_close(r->wal);
    r->wal = NULL;
}

static inline void rig_done_entry(struct sf_wal_entry *e)
{
    struct rig_batch *b = (struct rig_batch *)e;
    sf_mutex_lock(&b->rig->lock);
    b->is_done = true;
    sf_condvar_wake_all(&b->rig->finished);
    sf_mutex_unlock(&b->rig->lock);
}

static inline struct rig_batch *rig_batch_new(struct rig *r, uint32_t id, size_t n_pieces,
                                              size_t piece_len)
{
    struct rig_batch *b = calloc(1, sizeof(*b));
    if (!b || n_pieces > RIG_MAX_PIECES || piece_len < RIG_HEAD_LEN)
        abort();
    b->bytes = malloc(n_pieces * piece_len);
    if (!b->bytes)
        abort();
    for (size_t i = 0; i < n_pieces; i++) {
        uint8_t *p = b->bytes + i * piece_len;
        rig_fill(p, piece_len, id, (uint32_t)i, (uint32_t)n_pieces);
        b->logged[i] = (struct sf_logged){.kind = SF_LOG_BATCH,
                                          .encoding = SF_LOG_ZSTD,
                                          .tenant = id + 1,
                                          .decoded_len = id,
                                          .recv_ns = (int64_t)id * 1000,
                                          .meta = {(const uint8_t *)"k\0v", 4},
                                          .body = {p, piece_len}};
        b->pieces[i] = &b->logged[i];
    }
    b->rig = r;
    b->entry = (struct sf_wal_entry){
        .pieces = b->pieces, .n_pieces = n_pieces, .done = rig_done_entry};
    return b;
}

static inline void rig_batch_free(struct rig_batch *b)
{
    if (!b)
        return;
    free(b->bytes);
    free(b);
}

static inline enum sf_err rig_wait(struct rig_batch *b)
{
    sf_mutex_lock(&b->rig->lock);
    while (!b->is_done)
        sf_condvar_wait(&b->rig->finished, &b->rig->lock);
    sf_mutex_unlock(&b->rig->lock);
    return b->entry.result;
}

/* Appends and waits for the acknowledgement. */
static inline enum sf_err rig_put(struct rig *r, uint32_t id, size_t n_pieces, size_t piece_len)
{
    struct rig_batch *b = rig_batch_new(r, id, n_pieces, piece_len);
    enum sf_err err = sf_wal_append(r->wal, &b->entry, &r->why);
    if (!err)
        err = rig_wait(b);
    rig_batch_free(b);
    return err;
}

static inline void rig_slot_path(const struct rig *r, unsigned number, char *out, size_t len)
{
    snprintf(out, len, "%s/wal/%04u.wal", r->path, number);
}

static inline void rig_clear(struct rig *r) /* deletes the slots and the tail */
{
    char folder[300], path[600];
    struct dirent *e;
    DIR *list;
    snprintf(folder, sizeof(folder), "%s/wal", r->path);
    list = opendir(folder);
    while (list && (e = readdir(list))) {
        snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.')
            unlink(path);
    }
    if (list)
        closedir(list);
    rmdir(folder);
    snprintf(path, sizeof(path), "%s/wal.tail", r->path);
    unlink(path);
}

static inline void rig_done(struct rig *r)
{
    rig_close(r);
    rig_clear(r);
    rmdir(r->path);
    sf_dir_close(r->dir);
    sf_condvar_done(&r->finished);
    sf_mutex_done(&r->lock);
    free(r->seen);
}

/* wal_replay.c - reading the log back after a stop of any kind.
 *
 * The log consists of the slots with a valid header, in the order of their sequence. Two rules need
 * the neighbouring segments. Records at or above the first LSN of a later segment were left by a
 * slot whose write failed, and are ignored. A segment that starts later than its predecessor ended
 * proves a gap, which is damage and never a torn tail: a segment is begun only after the last sync
 * of its predecessor. Only the last segment may end without such a proof.
 *
 * Writing continues in a fresh segment whose first LSN follows the last record of a complete batch:
 * incomplete batches and torn records after it are ignored from then on. */
#include <string.h>

#include "base/heap.h"
#include "base/limits.h"
#include "base/list.h"
#include "os/clock.h"
#include "wal/wal_scan.h"
#include "wal/wal_state.h"

struct replay {
    struct sf_wal *w;
    enum sf_err (*see)(void *arg, uint64_t lsn, const struct sf_logged *pieces, size_t n_pieces,
                       struct sf_why *why);
    void *arg;
    struct sf_why *why;
    struct sf_wal_replay_stats stats;
    uint64_t next_lsn;

    /* A batch of several records, until its record with the flag LAST. */
    uint64_t batch_lsn; /* 0: none begun */
    struct sf_buf bytes;
    struct sf_logged *pieces; /* meta.p and body.p are set when the batch is complete */
    size_t n_pieces, cap;
};

/* --- batches --- */

static void drop_batch(struct replay *r)
{
    if (r->batch_lsn > r->w->config.ckpt_lsn)
        r->stats.n_dropped++;
    r->batch_lsn = 0;
    r->n_pieces = 0;
    sf_buf_reset(&r->bytes);
}

static enum sf_err give_batch(struct replay *r, uint64_t lsn, const struct sf_logged *pieces,
                              size_t n_pieces)
{
    if (lsn <= r->w->config.ckpt_lsn)
        return SF_OK;
    r->stats.n_batches++;
    r->stats.n_records += n_pieces;
    for (size_t i = 0; i < n_pieces; i++)
        r->stats.len += sf_wal_record_len(&pieces[i]);
    return r->see(r->arg, lsn, pieces, n_pieces, r->why);
}

static enum sf_err keep_piece(struct replay *r, const struct sf_logged *l)
{
    if (!sf_list_room(&r->pieces, r->n_pieces, &r->cap, 8))
        return SF_ERR_NOMEM;
    r->bytes.max = SF_LIMIT_LOGGED_BATCH_LEN;
    sf_buf_add(&r->bytes, l->meta.p, l->meta.len);
    sf_buf_add(&r->bytes, l->body.p, l->body.len);
    r->pieces[r->n_pieces++] = *l;
    return r->bytes.err;
}

static enum sf_err finish_batch(struct replay *r)
{
    const uint8_t *at = r->bytes.p; /* the buffer is not reallocated any more */
    enum sf_err err;
    for (size_t i = 0; i < r->n_pieces; i++) {
        r->pieces[i].meta.p = at;
        r->pieces[i].body.p = at + r->pieces[i].meta.len;
        at = r->pieces[i].body.p + r->pieces[i].body.len;
    }
    err = give_batch(r, r->batch_lsn, r->pieces, r->n_pieces);
    r->batch_lsn = 0;
    r->n_pieces = 0;
    sf_buf_reset(&r->bytes);
    return err;
}

static enum sf_err wal_replay_take_record(struct replay *r, const struct sf_wal_record *record)
{
    bool is_first = record->flags & SF_WAL_FIRST, is_last = record->flags & SF_WAL_LAST;
    enum sf_err err;

    if (is_first && r->batch_lsn)
        drop_batch(r);
    if (is_first && is_last)
        return give_batch(r, record->lsn, &record->logged, 1);
    if (!is_first && !r->batch_lsn) {
        /* The tail of a batch whose first records are lost; counted once, at its last record. */
        r->stats.n_dropped += is_last && record->lsn > r->w->config.ckpt_lsn;
        return SF_OK;
    }
    if (is_first)
        r->batch_lsn = record->lsn;
    err = keep_piece(r, &record->logged);
    if (err == SF_ERR_LIMIT) { /* sf_wal_append() never writes such a long batch */
        drop_batch(r);
        return SF_OK;
    }
    if (err)
        return sf_fail(r->why, err, "wal: no memory to replay a batch of %zu records", r->n_pieces);
    return is_last ? finish_batch(r) : SF_OK;
}

/* --- segments --- */

/* Counts records [from, to) as lost, except those up to the checkpoint, which are in blocks. */
static void note_gap(struct replay *r, uint64_t from, uint64_t to)
{
    uint64_t ckpt_lsn = r->w->config.ckpt_lsn;
    if (from <= ckpt_lsn)
        from = ckpt_lsn + 1;
    if (from < to) {
        if (!r->stats.n_lost_lsn)
            r->stats.first_lost_lsn = from;
        r->stats.last_lost_lsn = to - 1;
        r->stats.n_lost_lsn += to - from;
        sf_wal_notice(r->w, "wal: records %llu to %llu are damaged and lost",
                      (unsigned long long)from, (unsigned long long)(to - 1));
    }
    if (r->batch_lsn)
        drop_batch(r);
}

static enum sf_err scan_segment(struct replay *r, struct sf_wal_scan *scan)
{
    struct sf_wal_record record;
    uint64_t n_lost;
    if (scan->next_lsn > r->next_lsn)
        note_gap(r, r->next_lsn, scan->next_lsn);
    while (sf_wal_scan_next(scan, &record, &n_lost)) {
        enum sf_err err;
        if (n_lost)
            note_gap(r, record.lsn - n_lost, record.lsn);
        err = wal_replay_take_record(r, &record);
        if (err)
            return err;
    }
    if (scan->err)
        return sf_fail(r->why, scan->err, "wal: no memory to read a segment");
    return SF_OK;
}

/* Opens for writing if possible, because replay syncs the file. Retries errors: records of a slot
 * that cannot be opened are lost. */
static enum sf_err open_slot(struct sf_dir *dir, const char *name, struct sf_file *out,
                             struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (unsigned n_tries = 0; n_tries < 3; n_tries++) {
        err = sf_dir_open_write(dir, name, out, why);
        if (err)
            err = sf_dir_open_read(dir, name, out, why);
        if (!err || err == SF_ERR_NOT_FOUND)
            break;
        sf_clock_sleep_ms(10);
    }
    return err;
}

static enum sf_err replay_segment(struct replay *r, const struct sf_wal_found *f,
                                  uint64_t limit_lsn, bool is_last)
{
    struct sf_wal_scan scan = {0};
    struct sf_file file = SF_FILE_NONE;
    char name[SF_WAL_NAME_LEN];
    struct sf_why why;
    bool has_records;
    uint64_t held_lsn;
    enum sf_err err;

    sf_wal_slots_name(f->number, name);
    if (f->state == SF_WAL_SEGMENT_REPAIRED)
        sf_wal_notice(r->w, "wal: %s: one copy of its header is damaged; the other is used", name);
    if (open_slot(r->w->config.dir, name, &file, &why)) {
        r->stats.n_bad_segments++;
        sf_wal_notice(r->w, "wal: slot %s cannot be read: %s", name, why.text);
        sf_wal_slots_add(&r->w->slots, f, SF_WAL_SLOT_BAD, 0);
        return SF_OK;
    }
    if (f->is_cut) {
        r->stats.n_bad_segments++;
        sf_wal_notice(r->w, "wal: slot %s was cut to %llu bytes; the records after them are lost",
                      name, (unsigned long long)f->len);
    }
    sf_wal_scan_init(&scan, &file, f->len, &f->segment, limit_lsn);
    err = scan_segment(r, &scan);
    if (err)
        goto done;

    r->next_lsn = scan.next_lsn > r->next_lsn ? scan.next_lsn : r->next_lsn;
    r->stats.n_bad_pages += scan.n_bad_pages;
    if (is_last)
        r->stats.is_torn = scan.is_torn;
    if (scan.n_bad_pages)
        sf_wal_notice(r->w, "wal: %llu pages of %s cannot be read",
                      (unsigned long long)scan.n_bad_pages, name);
    /* After a kill the last group may be only in the page cache. Replay accepts it (a repeat of the
     * request is recognised as one), so it has to be synced. */
    has_records = scan.n_records > 0;
    if (has_records && sf_file_sync(&file, &why))
        sf_wal_notice(r->w, "wal: %s: %s", name, why.text);
    /* Keep a damaged segment until the checkpoint has passed all records it may have held. */
    held_lsn = is_last || !scan.n_lost ? scan.next_lsn - 1 : limit_lsn - 1;
    if (!sf_wal_slots_add(&r->w->slots, f, SF_WAL_SLOT_HELD, held_lsn))
        err = sf_fail(r->why, SF_ERR_LIMIT, "wal: more than %d slots", SF_WAL_MAX_SLOTS);
done:
    sf_wal_scan_done(&scan);
    sf_file_close(&file);
    return err;
}

static bool wal_replay_is_ours(const struct sf_wal *w, const struct sf_wal_found *f)
{
    return memcmp(f->segment.store_uuid, w->config.store_uuid, 16) == 0;
}

static bool is_segment(const struct sf_wal *w, const struct sf_wal_found *f)
{
    return sf_wal_segment_is_known(f->state) && wal_replay_is_ours(w, f);
}

/* Slots without records of this log: free for use, or damaged. */
static void wal_replay_add_other(struct replay *r, const struct sf_wal_found *f)
{
    char name[SF_WAL_NAME_LEN];
    const char *what;
    sf_wal_slots_name(f->number, name);
    if (f->state == SF_WAL_SEGMENT_EMPTY && !f->is_cut) {
        sf_wal_slots_add(&r->w->slots, f, SF_WAL_SLOT_FREE, 0);
        return;
    }
    if (f->err)
        what = "cannot be read; it is left alone";
    else if (f->is_cut && f->state == SF_WAL_SEGMENT_EMPTY)
        what = "was emptied and its records are lost; it is renamed to .bad";
    else if (f->state == SF_WAL_SEGMENT_DAMAGED)
        what = "has a damaged header and its records are lost; it is renamed to .bad";
    else
        what = "belongs to another store; it is left alone";
    r->stats.n_bad_segments++;
    sf_wal_notice(r->w, "wal: slot %s %s", name, what);
    if (f->err || sf_wal_segment_is_known(f->state) ||
        sf_wal_slots_set_aside(r->w->config.dir, f->number))
        sf_wal_slots_add(&r->w->slots, f, SF_WAL_SLOT_BAD, 0);
}

static void wal_replay_tell_tail(void *arg, enum sf_wal_tail_finding what, uint32_t slot,
                                 uint64_t from, uint64_t to)
{
    struct sf_wal *w = arg;
    char name[SF_WAL_NAME_LEN];
    sf_wal_slots_name(slot, name);
    if (what == SF_WAL_TAIL_RESTORED) {
        sf_wal_notice(
            w, "wal: slot %s has lost its header; the one in " SF_WAL_TAIL_NAME " is used", name);
        return;
    }
    w->n_missing++;
    sf_wal_notice(w, "wal: slot %s is missing; it held records %llu to %llu", name,
                  (unsigned long long)from, (unsigned long long)(to - 1));
}

/* Compares the slots that were found with wal.tail. */
static void wal_replay_read_tail(struct sf_wal *w)
{
    struct sf_why why;
    enum sf_err err = sf_wal_tail_read(w->config.dir, &w->tail, &why);
    if (err == SF_ERR_NOT_FOUND) {
        sf_wal_slots_suspect(w->config.dir, w->found, w->n_found);
        return;
    }
    if (err) {
        sf_wal_notice(w, "wal: %s: it is unknown whether the log is complete", why.text);
        w->tail = (struct sf_wal_tail){0};
        return;
    }
    w->has_tail = memcmp(w->tail.store_uuid, w->config.store_uuid, 16) == 0;
    if (!w->has_tail)
        sf_wal_notice(w, "wal: " SF_WAL_TAIL_NAME " belongs to another store; it is not used");
    else
        sf_wal_tail_compare(&w->tail, w->config.ckpt_lsn, w->found, w->n_found,
                            wal_replay_tell_tail, w);
}

/* Compares the log with the segment recorded in the catalogue. wal.tail, if present, takes
 * precedence: the catalogue may list a segment that was never begun. */
static void wal_replay_check_known(struct replay *r)
{
    struct sf_wal *w = r->w;
    const struct sf_wal_known *known = &w->config.known;
    bool is_older = w->has_tail &&
                    sf_wal_tail_is_older(&w->tail, known, w->config.ckpt_lsn, w->found, w->n_found);
    if (!known->sequence || (w->has_tail && !is_older))
        return;
    r->stats.is_tail_missing = !is_older;
    sf_wal_notice(w, is_older
                         ? "wal: the log and " SF_WAL_TAIL_NAME " are older than the catalogue"
                         : "wal: " SF_WAL_TAIL_NAME
                           " is missing or damaged: it is unknown whether the log is complete");
    if (known->sequence >= w->slots.next_sequence)
        w->slots.next_sequence = known->sequence + 1;
    if (sf_wal_tail_has(known->sequence, w->found, w->n_found))
        return;
    r->stats.is_missing = true;
    sf_wal_notice(w,
                  "wal: segment %llu, which begins with record %llu, is missing; what was "
                  "acknowledged after record %llu is lost",
                  (unsigned long long)known->sequence, (unsigned long long)known->first_lsn,
                  (unsigned long long)(r->next_lsn - 1));
    if (known->first_lsn > r->next_lsn) {
        note_gap(r, r->next_lsn, known->first_lsn);
        r->next_lsn = known->first_lsn;
    }
}

/* Records that were synced and that no segment has, at the end of the log. */
static void wal_replay_check_end(struct replay *r)
{
    const struct sf_wal_tail *t = &r->w->tail;
    r->stats.n_bad_segments += r->w->n_missing;
    wal_replay_check_known(r);
    for (uint32_t i = 0; r->w->has_tail && i < t->n_segments; i++) {
        if (t->segments[i].segment.sequence >= r->w->slots.next_sequence)
            r->w->slots.next_sequence = t->segments[i].segment.sequence + 1;
    }
    if (r->w->has_tail && t->synced_lsn >= r->next_lsn) {
        note_gap(r, r->next_lsn, t->synced_lsn + 1);
        r->next_lsn = t->synced_lsn + 1;
        r->stats.is_torn = false; /* not an interrupted write: the record had been synced */
    }
}

/* The smallest first LSN of a segment after `at`. */
static uint64_t limit_after(const struct sf_wal *w, size_t at, bool *out_is_last)
{
    uint64_t limit_lsn = UINT64_MAX;
    *out_is_last = true;
    for (size_t i = at + 1; i < w->n_found; i++) {
        if (!is_segment(w, &w->found[i]))
            continue;
        *out_is_last = false;
        if (w->found[i].segment.first_lsn < limit_lsn)
            limit_lsn = w->found[i].segment.first_lsn;
    }
    return limit_lsn;
}

static enum sf_err replay_all(struct replay *r)
{
    struct sf_wal *w = r->w;
    uint64_t ckpt_lsn = w->config.ckpt_lsn;
    enum sf_err err = SF_OK;
    for (size_t i = 0; i < w->n_found && !err; i++) {
        const struct sf_wal_found *f = &w->found[i];
        bool is_last;
        uint64_t limit_lsn;
        if (!is_segment(w, f)) {
            wal_replay_add_other(r, f);
            continue;
        }
        limit_lsn = limit_after(w, i, &is_last);
        if (f->segment.first_lsn >= limit_lsn)
            sf_wal_slots_add(&w->slots, f, SF_WAL_SLOT_HELD, 0); /* replaced by a later segment */
        else if (!is_last && limit_lsn - 1 <= ckpt_lsn)
            sf_wal_slots_add(&w->slots, f, SF_WAL_SLOT_HELD, limit_lsn - 1); /* all in blocks */
        else
            err = replay_segment(r, f, limit_lsn, is_last);
    }
    return err;
}

enum sf_err sf_wal_replay(struct sf_wal *w,
                          enum sf_err (*see)(void *arg, uint64_t lsn,
                                             const struct sf_logged *pieces, size_t n_pieces,
                                             struct sf_why *why),
                          void *arg, struct sf_wal_replay_stats *out, struct sf_why *why)
{
    struct replay r = {
        .w = w, .see = see, .arg = arg, .why = why, .next_lsn = w->config.ckpt_lsn + 1};
    uint64_t first_lsn;
    enum sf_err err;

    if (w->is_ready)
        return sf_fail(why, SF_ERR_INPUT, "wal: replayed already");
    err = replay_all(&r);
    if (err)
        goto done;
    wal_replay_check_end(&r);
    if (r.stats.is_torn)
        sf_wal_notice(w, "wal: the log ends in an unfinished record, %llu; it is dropped",
                      (unsigned long long)r.next_lsn);
    first_lsn = r.batch_lsn ? r.batch_lsn : r.next_lsn;
    if (r.batch_lsn)
        drop_batch(&r);
    sf_wal_checkpoint(w, w->config.ckpt_lsn);
    err = sf_wal_begin(w, first_lsn, why);
    if (!err && out)
        *out = r.stats;
done:
    sf_buf_done(&r.bytes);
    sf_heap_free(r.pieces);
    return err;
}

/* --- opening --- */

enum sf_err sf_wal_open(const struct sf_wal_config *config, struct sf_wal **out, struct sf_why *why)
{
    uint64_t segment_len = config->segment_len ? config->segment_len : SF_LIMIT_SEGMENT_LEN;
    struct sf_wal *w = sf_heap_new(sizeof(*w));
    enum sf_err err;

    if (!w)
        return sf_fail(why, SF_ERR_NOMEM, "wal: no memory to open the log");
    w->config = *config;
    if (!w->config.queue_len)
        w->config.queue_len = SF_LIMIT_BODIES_LEN;
    w->ckpt_lsn = config->ckpt_lsn;
    w->followed_lsn = config->is_followed ? config->followed_lsn : UINT64_MAX;
    w->next_lsn = config->ckpt_lsn + 1;
    sf_mutex_init(&w->lock, SF_LOCK_WAL);
    sf_condvar_init(&w->wake);
    sf_condvar_init(&w->rolled);
    segment_len = segment_len / SF_WAL_PAGE * SF_WAL_PAGE;
    if (segment_len < 2 * SF_WAL_PAGE) {
        err = sf_fail(why, SF_ERR_INPUT, "wal: a segment needs at least %d bytes", 2 * SF_WAL_PAGE);
        goto done;
    }
    err = sf_dir_make(config->dir, "wal", why);
    if (!err)
        err = sf_dir_sync(config->dir, ".", why);
    if (!err) {
        sf_wal_slots_tidy(config->dir);
        err = sf_wal_slots_find(config->dir, &w->found, &w->n_found, why);
    }
    if (!err)
        wal_replay_read_tail(w);
    if (!err)
        err = sf_wal_slots_init(&w->slots, config->dir, segment_len,
                                w->followed_lsn < w->ckpt_lsn ? w->followed_lsn : w->ckpt_lsn, why);
    if (err)
        goto done;
    for (size_t i = 0; i < w->n_found; i++) {
        bool is_last;
        if (is_segment(w, &w->found[i]) &&
            (limit_after(w, i, &is_last) - 1 > config->ckpt_lsn || is_last))
            w->pending_len += w->found[i].len;
    }
    *out = w;
    w = NULL;
done:
    sf_wal_close(w);
    return err;
}

uint64_t sf_wal_replay_pending_len(const struct sf_wal *w)
{
    return w->pending_len;
}

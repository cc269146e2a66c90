/* wal.c - appending to the log: many batches, one committer thread, one sync for all batches that
 * wait.
 *
 * While one sync runs, the next group collects; no timer is needed. A group is one gathered write
 * that starts on a page boundary and is padded to one, so that a page that has been synced is never
 * written again and no torn write can touch acknowledged data. The header page of a fresh segment
 * is written with its first group: both are unacknowledged until the same sync.
 *
 * After a failed write or sync the content of the file is unknown: the kernel may have dropped the
 * dirty pages and would report success next time. So the slot is never written again. The records
 * that were not acknowledged are still in memory; they are written to another slot, with growing
 * delays between attempts, until that succeeds. Meanwhile appends are refused. Records that the
 * failed slot may hold have LSNs at or above the first LSN of the new segment; therefore replay
 * ignores them. */
#include "wal/wal.h"

#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "base/invariant.h"
#include "base/limits.h"
#include "base/num.h"
#include "base/time_unit.h"
#include "os/clock.h"
#include "wal/wal_record.h"
#include "wal/wal_state.h"

enum { FIRST_DELAY_MS = 50, MAX_DELAY_MS = 2000 };

/* Largest group. A larger one would delay the acknowledgement of the oldest waiting batch. */
enum { GROUP_LEN = 8 << 20 };
/* Bodies up to SMALL_LEN are copied next to their headers; longer ones are gathered from where they
 * are. The copy costs less than one more piece for the kernel to gather. */
enum { SMALL_LEN = 16 << 10, STAGING_LEN = 1 << 20, MAX_PIECES = 1024 };

struct sf_wal_group {
    struct sf_iov pieces[MAX_PIECES];
    size_t n_pieces, used;
    uint64_t len;   /* of the whole group */
    bool can_merge; /* the last piece ends at bytes + used */
    uint8_t bytes[STAGING_LEN];
};

void sf_wal_notice(struct sf_wal *w, const char *format, ...)
{
    struct sf_why text;
    va_list args;
    if (!w->config.notice)
        return;
    va_start(args, format);
    (void)sf_fail_va(&text, SF_OK, format, args);
    va_end(args);
    w->config.notice(w->config.notice_arg, text.text);
}

static uint64_t last_lsn_of(const struct sf_wal_entry *e)
{
    return e->lsn + e->n_pieces - 1;
}

/* --- a group --- */

static uint8_t *group_take(struct sf_wal_group *group, size_t len)
{
    uint8_t *p = group->bytes + group->used;
    SF_ASSERT(len <= STAGING_LEN - group->used);
    if (group->can_merge) {
        group->pieces[group->n_pieces - 1].len += len;
    } else {
        SF_ASSERT(group->n_pieces < MAX_PIECES);
        group->pieces[group->n_pieces++] = (struct sf_iov){p, len};
    }
    group->can_merge = true;
    group->used += len;
    group->len += len;
    return p;
}

static void group_add(struct sf_wal_group *group, sf_bytes body)
{
    if (body.len <= SMALL_LEN) {
        uint8_t *p = group_take(group, body.len);
        if (body.len)
            memcpy(p, body.p, body.len);
        return;
    }
    SF_ASSERT(group->n_pieces < MAX_PIECES);
    group->pieces[group->n_pieces++] = (struct sf_iov){body.p, body.len};
    group->can_merge = false;
    group->len += body.len;
}

/* Does the group have space for one more record and the padding after it? */
static bool group_has_room(const struct sf_wal_group *group, const struct sf_logged *l)
{
    size_t need = sf_wal_record_head_len(l) + (l->body.len <= SMALL_LEN ? l->body.len : 0) + 8;
    return group->n_pieces + 4 <= MAX_PIECES && group->used + need + SF_WAL_PAGE <= STAGING_LEN &&
           group->len < GROUP_LEN;
}

static void group_pad(struct sf_wal_group *group, uint64_t to)
{
    size_t len = (size_t)(to - group->len);
    if (len)
        memset(group_take(group, len), 0, len);
}

/* Adds as many waiting records as fit. Returns their number; 0: the segment is full. */
static uint64_t build_group(struct sf_wal *w)
{
    struct sf_wal_group *group = w->group;
    const struct sf_wal_entry *e = w->work_head;
    uint64_t lsn = w->at_lsn;
    uint64_t room = w->active->len - w->active_off;

    group->n_pieces = group->used = 0;
    group->len = 0;
    group->can_merge = false;
    if (w->active_off == 0)
        sf_wal_slots_begin(&w->slots, w->active, lsn, w->config.store_uuid,
                           group_take(group, SF_WAL_PAGE));
    while (e) {
        size_t at = (size_t)(lsn - e->lsn);
        const struct sf_logged *l = e->pieces[at];
        uint8_t flags = 0;
        if (!group_has_room(group, l) || sf_wal_page_up(group->len + sf_wal_record_len(l)) > room)
            break;
        if (at == 0)
            flags |= SF_WAL_FIRST;
        if (at + 1 == e->n_pieces)
            flags |= SF_WAL_LAST;
        if (lsn == w->at_lsn)
            flags |= SF_WAL_GROUP;
        sf_wal_record_encode(l, lsn, flags, &w->active->segment,
                             group_take(group, sf_wal_record_head_len(l)));
        group_add(group, l->body);
        group_pad(group, (group->len + 7) / 8 * 8);
        lsn++;
        if (at + 1 == e->n_pieces)
            e = e->next;
    }
    group_pad(group, sf_wal_page_up(group->len));
    return lsn - w->at_lsn;
}

static void count_sync(struct sf_wal *w, int64_t took_ns)
{
    uint64_t ns = took_ns < 0 ? 0 : (uint64_t)took_ns;
    size_t bucket = 0;
    while (bucket < 15 && ns > (uint64_t)SF_WAL_SYNC_BUCKET_NS << bucket)
        bucket++;
    sf_mutex_lock(&w->lock);
    w->n_syncs++;
    w->sync_ns_sum += ns;
    if (ns > w->sync_ns_max)
        w->sync_ns_max = ns;
    w->sync_buckets[bucket]++;
    sf_mutex_unlock(&w->lock);
}

static enum sf_err wal_write_group(struct sf_wal *w, struct sf_why *why)
{
    const struct sf_wal_group *group = w->group;
    int64_t start_ns;
    enum sf_err err = sf_file_writev_at(&w->active->file, w->active_off, group->pieces,
                                        group->n_pieces, why);
    if (err)
        return err;
    start_ns = sf_clock_mono_ns();
    err = sf_file_sync(&w->active->file, why);
    if (!err)
        count_sync(w, sf_clock_mono_ns() - start_ns);
    return err;
}

/* --- completion --- */

static size_t entry_len(const struct sf_wal_entry *e)
{
    size_t len = 0;
    for (size_t i = 0; i < e->n_pieces; i++)
        len += sf_wal_record_len(e->pieces[i]);
    return len;
}

/* Calls `done` of all entries up to `lsn`, which belong to their callers again afterwards. */
static void complete(struct sf_wal *w, uint64_t lsn, enum sf_err result, const struct sf_why *why)
{
    struct sf_wal_entry *e = w->work_head;
    uint64_t n_done = 0, len = 0, whole_lsn = 0;
    while (e && last_lsn_of(e) <= lsn) {
        n_done++;
        len += entry_len(e);
        whole_lsn = last_lsn_of(e);
        e = e->next;
    }
    sf_mutex_lock(&w->lock);
    if (!result && lsn > w->synced_lsn)
        w->synced_lsn = lsn;
    if (!result && whole_lsn > w->whole_lsn)
        w->whole_lsn = whole_lsn;
    w->queue_depth -= n_done;
    w->queue_len -= len;
    sf_mutex_unlock(&w->lock);

    while (w->work_head && last_lsn_of(w->work_head) <= lsn) {
        e = w->work_head;
        w->work_head = e->next;
        e->next = NULL;
        e->result = result;
        if (result)
            e->why = *why;
        e->done(e);
    }
    if (!w->work_head)
        w->work_tail = NULL;
}

/* Records that a flush has meanwhile written to blocks are durable without the log. */
static void complete_checkpointed(struct sf_wal *w)
{
    uint64_t ckpt_lsn;
    sf_mutex_lock(&w->lock);
    ckpt_lsn = w->ckpt_lsn;
    sf_mutex_unlock(&w->lock);
    if (ckpt_lsn < w->at_lsn)
        return;
    complete(w, ckpt_lsn, SF_OK, NULL);
    w->at_lsn = ckpt_lsn + 1;
}

/* --- the committer --- */

static void leave_segment(struct sf_wal *w)
{
    if (!w->active)
        return;
    if (w->active_off)
        sf_wal_slots_seal(&w->slots, w->active, w->at_lsn - 1);
    else
        sf_wal_slots_return(&w->slots, w->active);
    w->active = NULL;
    w->active_off = 0;
}

static enum sf_err take_segment(struct sf_wal *w, struct sf_why *why)
{
    if (w->active)
        return SF_OK;
    w->active_off = 0;
    return sf_wal_slots_take(&w->slots, &w->active, why);
}

/* Writes wal.tail: which records the log holds now. */
static enum sf_err write_tail(struct sf_wal *w, bool is_synced, struct sf_why *why)
{
    if (!sf_file_is_open(&w->tail.file))
        return SF_OK;
    w->tail.synced_lsn = w->at_lsn - 1;
    return sf_wal_tail_write(&w->tail, is_synced, why);
}

/* Updates wal.tail after a group. A failure loses no record; it is reported once. */
static void note_synced(struct sf_wal *w)
{
    struct sf_why why;
    enum sf_err err = write_tail(w, false, &why);
    if (err && !w->tail.is_failed)
        sf_wal_notice(w, "wal: %s: damage to the log would not be detected", why.text);
    w->tail.is_failed = err;
}

/* Before the first group of a segment: saves its header outside the slot (wal.tail, catalogue). */
static void write_segments(struct sf_wal *w)
{
    const struct sf_wal_slot *slots[SF_WAL_TAIL_SEGMENTS];
    size_t n = sf_wal_slots_needed(&w->slots, slots, SF_WAL_TAIL_SEGMENTS);
    for (size_t i = 0; i < n; i++)
        w->tail.segments[i] = (struct sf_wal_tail_segment){slots[i]->number, slots[i]->segment};
    w->tail.n_segments = (uint32_t)n;
    (void)write_tail(w, true, NULL); /* the next group reports a failing disk */
    if (w->config.begin && sf_file_is_open(&w->tail.file))
        w->config.begin(w->config.notice_arg, w->active->segment.sequence,
                        w->active->segment.first_lsn);
}

/* Writes one group of entries. After a failure, if no entry waits, writes an empty segment to test
 * whether the disk works again. */
static enum sf_err commit_group(struct sf_wal *w, struct sf_why *why)
{
    uint64_t n_records;
    enum sf_err err = take_segment(w, why);
    if (err)
        return err;
    n_records = build_group(w);
    if (!n_records && w->work_head) { /* the next record does not fit into this segment */
        leave_segment(w);
        err = take_segment(w, why);
        if (err)
            return err;
        n_records = build_group(w);
        SF_ASSERT(n_records); /* append refused records that are longer than a segment */
    }
    if (!w->active_off)
        write_segments(w);
    err = wal_write_group(w, why);
    if (err) {
        sf_wal_slots_quarantine(&w->slots, w->active, w->at_lsn - 1);
        w->active = NULL;
        w->active_off = 0;
        return err;
    }
    w->active_off += w->group->len;
    w->at_lsn += n_records;
    note_synced(w);
    complete(w, w->at_lsn - 1, SF_OK, NULL);
    return SF_OK;
}

static void wal_note_failure(struct sf_wal *w, enum sf_err err, const struct sf_why *why)
{
    bool is_new;
    sf_mutex_lock(&w->lock);
    is_new = !w->is_failed;
    w->is_failed = true;
    w->fail_err = err == SF_ERR_FULL ? SF_ERR_FULL : SF_ERR_IO;
    w->fail_why = *why;
    w->n_failures++;
    sf_mutex_unlock(&w->lock);
    if (!is_new)
        return;
    w->failed_since_ns = sf_clock_mono_ns();
    sf_wal_notice(w, "wal: %s; nothing is accepted until the disk is back", why->text);
}

static void note_success(struct sf_wal *w)
{
    bool was_failed;
    sf_mutex_lock(&w->lock);
    was_failed = w->is_failed;
    w->is_failed = false;
    sf_mutex_unlock(&w->lock);
    if (was_failed)
        sf_wal_notice(w, "wal: writing again after %lld ms",
                      (long long)((sf_clock_mono_ns() - w->failed_since_ns) / SF_NS_PER_MS));
}

/* Moves queued entries to the work list. True while the committer has something to do. */
static bool take_work(struct sf_wal *w, bool *out_is_closing, bool *out_wants_roll)
{
    bool has_work;
    sf_mutex_lock(&w->lock);
    while (!w->in_head && !w->work_head && !w->is_closing && w->n_rolls == w->n_rolls_wanted &&
           !w->is_failed)
        sf_condvar_wait(&w->wake, &w->lock);
    if (w->in_head) {
        if (w->work_tail)
            w->work_tail->next = w->in_head;
        else
            w->work_head = w->in_head;
        w->work_tail = w->in_tail;
        w->in_head = w->in_tail = NULL;
    }
    *out_is_closing = w->is_closing;
    *out_wants_roll = w->n_rolls != w->n_rolls_wanted;
    has_work = w->work_head || w->is_failed;
    sf_mutex_unlock(&w->lock);
    return has_work;
}

static void wait_delay(struct sf_wal *w, unsigned delay_ms)
{
    int64_t until_ns = sf_clock_mono_ns() + (int64_t)delay_ms * SF_NS_PER_MS;
    sf_mutex_lock(&w->lock);
    while (!w->is_closing && sf_clock_mono_ns() < until_ns)
        sf_condvar_wait_until(&w->wake, &w->lock, until_ns);
    sf_mutex_unlock(&w->lock);
}

static void roll(struct sf_wal *w)
{
    uint64_t wanted;
    sf_mutex_lock(&w->lock);
    wanted = w->n_rolls_wanted;
    sf_mutex_unlock(&w->lock);
    leave_segment(w);
    sf_mutex_lock(&w->lock);
    w->n_rolls = wanted;
    sf_condvar_wake_all(&w->rolled);
    sf_mutex_unlock(&w->lock);
}

static void commit_loop(void *arg)
{
    struct sf_wal *w = arg;
    unsigned delay_ms = FIRST_DELAY_MS;
    struct sf_why why = {0};
    /* Before the first append, so that a full disk is detected before data depends on it. */
    enum sf_err err = take_segment(w, &why);
    if (err)
        wal_note_failure(w, err, &why);
    for (;;) {
        bool is_closing, wants_roll, has_work = take_work(w, &is_closing, &wants_roll);
        if (wants_roll)
            roll(w);
        if (is_closing && !w->work_head)
            break;
        if (!has_work)
            continue;
        if (err)
            complete_checkpointed(w);
        err = commit_group(w, &why);
        if (!err) {
            note_success(w);
            delay_ms = FIRST_DELAY_MS;
            continue;
        }
        wal_note_failure(w, err, &why);
        if (is_closing) {
            complete(w, UINT64_MAX, err, &why);
            break;
        }
        wait_delay(w, delay_ms);
        delay_ms = delay_ms * 2 < MAX_DELAY_MS ? delay_ms * 2 : MAX_DELAY_MS;
    }
    leave_segment(w);
    if (w->tail.n_segments)
        (void)write_tail(w, true, NULL);
}

/* --- for other threads --- */

enum sf_err sf_wal_begin(struct sf_wal *w, uint64_t next_lsn, struct sf_why *why)
{
    struct sf_why tail_why;
    enum sf_err err;
    w->next_lsn = next_lsn;
    w->at_lsn = next_lsn;
    w->synced_lsn = next_lsn - 1;
    w->whole_lsn = next_lsn - 1;
    w->group = sf_heap_new(sizeof(*w->group));
    if (!w->group)
        return sf_fail(why, SF_ERR_NOMEM, "wal: no memory for the writer");
    w->tail.n_segments = 0;
    memcpy(w->tail.store_uuid, w->config.store_uuid, sizeof(w->tail.store_uuid));
    if (sf_wal_tail_open(&w->tail, w->config.dir, &tail_why))
        sf_wal_notice(w, "wal: %s: damage to the log would not be detected", tail_why.text);
    err = sf_wal_slots_start(&w->slots, why);
    if (!err)
        err = sf_thread_start(&w->thread, "wal", 0, commit_loop, w, why);
    w->is_ready = !err;
    return err;
}

static enum sf_err check_entry(const struct sf_wal *w, const struct sf_wal_entry *e,
                               size_t *out_len, struct sf_why *why)
{
    size_t len = 0;
    SF_ASSERT(e->n_pieces > 0);
    for (size_t i = 0; i < e->n_pieces; i++) {
        enum sf_err err = sf_wal_record_check(e->pieces[i], w->slots.segment_len, why);
        if (err)
            return err;
        len += sf_wal_record_len(e->pieces[i]);
        if (len > SF_LIMIT_LOGGED_BATCH_LEN)
            return sf_fail(why, SF_ERR_LIMIT, "wal: a batch of more than %u bytes",
                           SF_LIMIT_LOGGED_BATCH_LEN);
    }
    *out_len = len;
    return SF_OK;
}

enum sf_err sf_wal_append(struct sf_wal *w, struct sf_wal_entry *e, struct sf_why *why)
{
    size_t len = 0;
    enum sf_err err = check_entry(w, e, &len, why);
    if (err)
        return err;
    sf_mutex_lock(&w->lock);
    if (!w->is_ready || w->is_closing) {
        err = sf_fail(why, SF_ERR_CANCELLED, "wal: the log is %s",
                      w->is_closing ? "closing" : "not replayed yet");
    } else if (w->is_failed) {
        err = sf_fail(why, w->fail_err, "the log cannot be written: %s", w->fail_why.text);
    } else if (w->queue_depth && len + w->queue_len > w->config.queue_len) {
        err = sf_fail(why, SF_ERR_BUSY, "%llu bytes are waiting for the disk",
                      (unsigned long long)w->queue_len);
    } else {
        e->lsn = w->next_lsn;
        e->next = NULL;
        e->result = SF_OK;
        w->next_lsn += e->n_pieces;
        if (w->in_tail)
            w->in_tail->next = e;
        else
            w->in_head = e;
        w->in_tail = e;
        w->queue_depth++;
        w->queue_len += len;
        sf_condvar_wake_one(&w->wake);
    }
    sf_mutex_unlock(&w->lock);
    return err;
}

uint64_t sf_wal_last_lsn(struct sf_wal *w)
{
    uint64_t lsn;
    sf_mutex_lock(&w->lock);
    lsn = w->next_lsn - 1;
    sf_mutex_unlock(&w->lock);
    return lsn;
}

/* Records up to here are needed neither by replay nor by the second reader. */
static uint64_t free_lsn(const struct sf_wal *w)
{
    return w->ckpt_lsn < w->followed_lsn ? w->ckpt_lsn : w->followed_lsn;
}

void sf_wal_checkpoint(struct sf_wal *w, uint64_t lsn)
{
    sf_mutex_lock(&w->lock);
    if (lsn > w->ckpt_lsn)
        w->ckpt_lsn = lsn;
    lsn = free_lsn(w);
    sf_mutex_unlock(&w->lock);
    sf_wal_slots_checkpoint(&w->slots, lsn);
}

void sf_wal_followed(struct sf_wal *w, uint64_t lsn)
{
    sf_mutex_lock(&w->lock);
    if (lsn > w->followed_lsn && w->config.is_followed)
        w->followed_lsn = lsn;
    lsn = free_lsn(w);
    sf_mutex_unlock(&w->lock);
    sf_wal_slots_checkpoint(&w->slots, lsn);
}

uint64_t sf_wal_whole_lsn(struct sf_wal *w)
{
    uint64_t lsn;
    sf_mutex_lock(&w->lock);
    lsn = w->whole_lsn;
    sf_mutex_unlock(&w->lock);
    return lsn;
}

uint64_t sf_wal_waiting_len(struct sf_wal *w)
{
    uint64_t lsn;
    sf_mutex_lock(&w->lock);
    lsn = w->followed_lsn;
    sf_mutex_unlock(&w->lock);
    return sf_wal_slots_len_above(&w->slots, lsn);
}

enum sf_err sf_wal_scrub(struct sf_wal *w, struct sf_why *why)
{
    uint64_t wanted;
    /* First, so that the committer finds a clean slot when it leaves the active one. */
    enum sf_err err = sf_wal_slots_scrub(&w->slots, why);
    if (err)
        return err;
    sf_mutex_lock(&w->lock);
    wanted = ++w->n_rolls_wanted;
    sf_condvar_wake_one(&w->wake);
    while (w->n_rolls < wanted && w->is_ready && !w->is_closing)
        sf_condvar_wait(&w->rolled, &w->lock);
    if (w->n_rolls < wanted)
        err = sf_fail(why, SF_ERR_BUSY, "wal: the log is not being written just now");
    sf_mutex_unlock(&w->lock);
    return err ? err : sf_wal_slots_scrub(&w->slots, why);
}

uint64_t sf_wal_oldest_lsn(struct sf_wal *w)
{
    return sf_wal_slots_oldest_lsn(&w->slots);
}

void sf_wal_stats(struct sf_wal *w, struct sf_wal_stats *out)
{
    struct sf_wal_stats stats = {0};
    sf_wal_slots_count(&w->slots, &stats.len, &stats.n_segments, &stats.n_free_segments);
    sf_mutex_lock(&w->lock);
    stats.synced_lsn = w->synced_lsn;
    stats.n_syncs = w->n_syncs;
    stats.sync_ns_sum = w->sync_ns_sum;
    stats.sync_ns_max = w->sync_ns_max;
    memcpy(stats.sync_buckets, w->sync_buckets, sizeof(stats.sync_buckets));
    stats.queue_depth = w->queue_depth;
    stats.queue_len = w->queue_len;
    stats.n_failures = w->n_failures;
    stats.is_failed = w->is_failed;
    if (w->is_failed)
        snprintf(stats.reason, sizeof(stats.reason), "%.*s", (int)sizeof(stats.reason) - 1,
                 w->fail_why.text);
    sf_mutex_unlock(&w->lock);
    *out = stats;
}

void sf_wal_close(struct sf_wal *w)
{
    if (!w)
        return;
    sf_mutex_lock(&w->lock);
    w->is_closing = true;
    sf_condvar_wake_all(&w->wake);
    sf_condvar_wake_all(&w->rolled);
    sf_mutex_unlock(&w->lock);
    sf_thread_join(&w->thread);
    sf_wal_tail_close(&w->tail);
    sf_wal_slots_done(&w->slots);
    sf_condvar_done(&w->wake);
    sf_condvar_done(&w->rolled);
    sf_mutex_done(&w->lock);
    sf_heap_free(w->found);
    sf_heap_free(w->group);
    sf_heap_free(w);
}

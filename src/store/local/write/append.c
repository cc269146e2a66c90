/* append.c - appends a batch to memory and to the log.
 *
 * Rows first, log second: rows added to the memtable can be undone when the log returns BUSY, a
 * record in the log's queue cannot. Both happen with the gate held shared, so that a flush finds
 * the rows of every assigned LSN. The memtable's lock is held during the log's append (which never
 * waits for the disk): a reader must not see rows that may be undone. */
#include "store/local/write/append.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/heap.h"
#include "base/invariant.h"
#include "base/list.h"
#include "os/clock.h"
#include "store/local/profiles/profile_mem.h"
#include "store/local/write/batch_rows.h"
#include "store/local/write/flush.h"
#include "store/local/write/pressure.h"
#include "store/local/write/retain.h"
#include "store/local/write/seal.h"
#include "wal/wal.h"

enum { MAX_PIECES = 1024 };

struct pending { /* a batch that waits for its sync, or a repeat that waits for the first request */
    struct sf_wal_entry entry;   /* first member: the log returns its address */
    struct sf_dup_waiter waiter; /* if it is a repeat */
    struct sf_local *l;
    struct sf_batch *batch; /* owned */
    struct sf_ticket *ticket;
    atomic_int
        n_holders; /* users: the log and the appending thread; the last one completes the request */
    const struct sf_logged *pieces[]; /* of the batch */
};

static struct pending *of_waiter(struct sf_dup_waiter *w)
{
    return (struct pending *)(void *)((char *)w - offsetof(struct pending, waiter));
}

static size_t count_pieces(const struct sf_batch *b)
{
    size_t n = 0;
    for (; b; b = b->next)
        n++;
    return n;
}

static struct pending *pending_new(struct sf_local *l, struct sf_batch *batch,
                                   struct sf_ticket *ticket)
{
    size_t n = count_pieces(batch);
    struct pending *p = sf_heap_new(sizeof(*p) + n * sizeof(p->pieces[0]));
    if (!p)
        return NULL;
    p->l = l;
    p->ticket = ticket;
    p->entry.pieces = p->pieces;
    atomic_init(&p->n_holders, 2);
    for (const struct sf_batch *b = batch; b; b = b->next)
        p->pieces[p->entry.n_pieces++] = &b->log;
    return p;
}

static void append_answer(struct pending *p, enum sf_err result, const struct sf_why *why)
{
    struct sf_ticket *t = p->ticket;
    t->lsn = p->entry.lsn ? p->entry.lsn + p->entry.n_pieces - 1 : 0;
    sf_batch_free(p->batch);
    sf_heap_free(p);
    t->result = result;
    if (result)
        t->why = *why;
    t->done(t);
}

/* The request is durable or has failed, and no thread uses its rows. */
static void append_finish(struct pending *p)
{
    struct sf_why why = p->entry.why;
    enum sf_err result = p->entry.result;
    struct sf_dup_waiter *w = NULL;

    if (p->batch->dup_hash)
        w = sf_duplicates_end(p->l->duplicates, p->batch->dup_hash, result == SF_OK);
    append_answer(p, result, &why);
    while (w) {
        struct sf_dup_waiter *next = w->next;
        append_answer(of_waiter(w), result, &why);
        w = next;
    }
}

static void append_let_go(struct pending *p)
{
    if (atomic_fetch_sub(&p->n_holders, 1) == 1)
        append_finish(p);
}

/* On the committer thread, after the sync or the final failure. */
static void append_logged(struct sf_wal_entry *e)
{
    append_let_go((struct pending *)e);
}

static void note_append(struct sf_local *l, uint64_t len)
{
    atomic_fetch_add_explicit(&l->n_batches, 1, memory_order_relaxed);
    if (atomic_fetch_add(&l->flush_wal_mark, len) + len >= l->tune.flush_wal_len)
        sf_local_wake_flush(l);
}

/* ---- the usual batch: rows are at hand ---- */

/* The time that a span's start is compared with. Never before retention's clock: after the wall
 * clock was set back, today's spans would otherwise look old enough to be deleted once it is right
 * again. */
static int64_t index_base_ns(struct sf_local *l, const struct sf_logged *log)
{
    int64_t now_ns = sf_retain_now(l);
    return log->recv_ns > now_ns ? log->recv_ns : now_ns;
}

static enum sf_err append_add_rows(struct sf_local *l, struct sf_memtable_body *body,
                                   const struct sf_batch *batch, uint64_t *out_n,
                                   struct sf_why *why)
{
    for (const struct sf_batch *b = batch; b; b = b->next) {
        enum sf_err err;
        if (!b->spans)
            continue;
        err = sf_batch_rows_add(&body->rows, b->log.tenant, index_base_ns(l, &b->log),
                                sf_local_span_retention(l), b->spans, why);
        if (err)
            return err;
        *out_n += b->spans->n_spans;
        if (b->spans->n_spans)
            atomic_store_explicit(&l->last_start_ns,
                                  (long long)b->spans->spans[b->spans->n_spans - 1].start_ns,
                                  memory_order_relaxed);
    }
    return SF_OK;
}

static enum sf_err append_rows(struct sf_local *l, struct sf_memtable *m, struct pending *p,
                               struct sf_batch **give, struct sf_why *why)
{
    struct sf_memtable_body *body;
    struct sf_rowset_mark before;
    uint64_t n_spans = 0;
    bool is_full;
    enum sf_err err;

    sf_mutex_lock(&m->lock);
    body = m->active;
    before = sf_rowset_mark(&body->rows);
    err = append_add_rows(l, body, *give, &n_spans, why);
    if (!err) {
        p->batch = *give; /* the log may complete it before append returns */
        err = sf_wal_append(l->wal, &p->entry, why);
    }
    if (err) {
        p->batch = NULL;
        sf_rowset_undo(&body->rows, before);
    } else {
        body->lsn = sf_wal_last_lsn(l->wal);
        if (n_spans && !body->first_mono_ns)
            body->first_mono_ns = sf_local_mono_ns(l);
    }
    sf_memtable_body_note(body, before.n_rows);
    sf_memtable_count(m, body);
    is_full = body->counted_len >= l->tune.memtable_len;
    sf_mutex_unlock(&m->lock);
    if (!err) {
        atomic_fetch_add_explicit(&l->n_spans, n_spans, memory_order_relaxed);
        *give = NULL;
    }
    if (is_full) {
        /* Sealed by the thread that filled it; if that fails, the next flush repeats it. Without
         * recent searches, it stays unsealed until the flush. */
        struct sf_memtable_body *cut = sf_memtable_cut(m);
        if (cut && sf_seal_is_wanted(l))
            sf_seal_body(l, m, cut, NULL);
        else if (cut)
            sf_memtable_not_sealed(m, cut);
        if (sf_flush_rows_are_due(l))
            sf_local_wake_flush(l);
    }
    return err;
}

/* ---- profiles: all writers share one place ---- */

static bool has_profiles(const struct sf_batch *b)
{
    for (; b; b = b->next) {
        if (b->profiles)
            return true;
    }
    return false;
}

static enum sf_err add_profiles(struct sf_local *l, struct sf_profile_mem *m,
                                const struct sf_batch *b, struct sf_why *why)
{
    struct sf_profile_index index = {.recv_ns = index_base_ns(l, &b->log),
                                     .retention_ns = sf_local_profile_retention(l)};
    return b->profiles ? sf_profile_mem_add(m, b, &index, why) : SF_OK;
}

static void append_count_profiles(struct sf_local *l, const struct sf_profile_batch *p)
{
    atomic_fetch_add_explicit(&l->n_samples, p->n_samples, memory_order_relaxed);
    atomic_fetch_add_explicit(&l->n_profiles, p->n_series, memory_order_relaxed);
}

static enum sf_err append_profiles(struct sf_local *l, struct pending *p, struct sf_batch **give,
                                   struct sf_why *why)
{
    struct sf_profile_mem *m = l->prof;
    uint64_t n_samples = 0, n_profiles = 0;
    enum sf_err err = SF_OK;

    sf_mutex_lock(&m->lock);
    for (const struct sf_batch *b = *give; !err && b; b = b->next) {
        err = add_profiles(l, m, b, why);
        n_samples += b->profiles ? b->profiles->n_samples : 0;
        n_profiles += b->profiles ? b->profiles->n_series : 0;
    }
    if (!err) {
        p->batch = *give; /* the log may complete it before append returns */
        err = sf_wal_append(l->wal, &p->entry, why);
    }
    if (err) {
        p->batch = NULL;
        sf_profile_mem_undo(m);
    } else {
        sf_profile_mem_keep(m);
        atomic_store(&l->prof_len, m->counted_len);
        *give = NULL;
    }
    sf_mutex_unlock(&m->lock);
    if (!err) {
        atomic_fetch_add_explicit(&l->n_samples, n_samples, memory_order_relaxed);
        atomic_fetch_add_explicit(&l->n_profiles, n_profiles, memory_order_relaxed);
    }
    if (sf_flush_profiles_are_due(l))
        sf_local_wake_flush(l);
    return err;
}

/* ---- large requests: pieces whose rows come from the logged form, one at a time ---- */

struct parts { /* parts made for one request, published together */
    struct sf_run **list;
    size_t n, cap;
    struct sf_memtable_body *body;
};

static enum sf_err seal_part(struct sf_local *l, struct parts *ps, struct sf_why *why)
{
    struct sf_run *part;
    enum sf_err err = sf_seal_rows(l, &ps->body->rows, l->gen, &part, why);
    if (err || !part)
        return err;
    if (!sf_list_room(&ps->list, ps->n, &ps->cap, 8)) {
        sf_run_unref(part);
        return sf_fail(why, SF_ERR_NOMEM, "store: no memory for a large request");
    }
    ps->list[ps->n++] = part;
    sf_rowset_reset(&ps->body->rows);
    return SF_OK;
}

/* At start, before any other thread runs. */
static enum sf_err append_replay_profiles(struct sf_local *l, const struct sf_batch *b,
                                          struct sf_why *why)
{
    enum sf_err err;
    sf_mutex_lock(&l->prof->lock);
    err = add_profiles(l, l->prof, b, why);
    if (err)
        sf_profile_mem_undo(l->prof);
    else
        sf_profile_mem_keep(l->prof);
    atomic_store(&l->prof_len, l->prof->counted_len);
    sf_mutex_unlock(&l->prof->lock);
    if (!err)
        append_count_profiles(l, b->profiles);
    return err;
}

static enum sf_err append_add_piece(struct sf_local *l, struct parts *ps,
                                    const struct sf_batch *batch, uint64_t *io_n,
                                    struct sf_why *why)
{
    enum sf_err err = SF_OK;
    if (batch->spans) {
        err = sf_batch_rows_add(&ps->body->rows, batch->log.tenant, index_base_ns(l, &batch->log),
                                sf_local_span_retention(l), batch->spans, why);
        if (!err)
            *io_n += batch->spans->n_spans;
    }
    if (!err && batch->profiles)
        err = append_replay_profiles(l, batch, why);
    if (!err && sf_rowset_len(&ps->body->rows) >= l->tune.memtable_len)
        err = seal_part(l, ps, why);
    return err;
}

static enum sf_err replay_piece(struct sf_local *l, struct parts *ps, const struct sf_logged *rec,
                                bool is_restart, uint64_t *io_n, struct sf_why *why)
{
    struct sf_batch *batch = NULL;
    enum sf_err err;
    if (!l->config.replay)
        return sf_fail(why, SF_ERR_UNSUPPORTED,
                       "store: no function to decode logged bodies is set");
    err = l->config.replay(l->config.replay_arg, rec, &batch, why);
    if (!err && is_restart && batch && batch->dup_hash &&
        !sf_duplicates_know(l->duplicates, batch->dup_hash, rec->recv_ns, sf_local_wall_ns(l),
                            true))
        err = sf_fail(why, SF_ERR_NOMEM, "store: no memory to remember a request");
    for (const struct sf_batch *b = batch; !err && b; b = b->next)
        err = append_add_piece(l, ps, b, io_n, why);
    sf_batch_free(batch);
    return err;
}

static void parts_done(struct parts *ps)
{
    for (size_t i = 0; i < ps->n; i++)
        sf_run_unref(ps->list[i]);
    sf_heap_free(ps->list);
    sf_memtable_body_free(ps->body);
}

static enum sf_err show_parts(struct sf_local *l, struct parts *ps, struct sf_why *why)
{
    struct sf_snapshot_change change = {.in = ps->list, .n_in = ps->n};
    enum sf_err err = SF_OK;
    if (ps->n)
        err = sf_snapshot_change(&l->snapshots, &change, why);
    if (!err)
        ps->n = 0; /* now owned by the snapshot */
    return err;
}

/* Appends to the log, then publishes the parts; the memory for that is allocated before. */
static enum sf_err log_and_show(struct sf_local *l, struct parts *ps, struct pending *p,
                                struct sf_batch *batch, struct sf_why *why)
{
    struct sf_snapshot_change change = {.in = ps->list, .n_in = ps->n};
    struct sf_snapshot *room = sf_snapshot_prepare(&l->snapshots, ps->n);
    enum sf_err err;
    if (!room)
        return sf_fail(why, SF_ERR_NOMEM, "store: no memory for a large request");
    p->batch = batch;
    err = sf_wal_append(l->wal, &p->entry, why);
    if (err) {
        p->batch = NULL;
        sf_snapshot_unref(room);
        return err;
    }
    sf_snapshot_apply(&l->snapshots, &change, room);
    ps->n = 0; /* now owned by the snapshot */
    return SF_OK;
}

static enum sf_err append_pieces(struct sf_local *l, struct pending *p, struct sf_batch **give,
                                 struct sf_why *why)
{
    struct parts ps = {.body = sf_memtable_body_new(&l->budget)};
    uint64_t n_spans = 0;
    enum sf_err err = ps.body ? SF_OK : sf_fail(why, SF_ERR_NOMEM, "store: no memory");

    for (const struct sf_batch *b = *give; !err && b; b = b->next)
        err = b->is_replay_only ? replay_piece(l, &ps, &b->log, false, &n_spans, why)
                                : append_add_piece(l, &ps, b, &n_spans, why);
    if (!err)
        err = seal_part(l, &ps, why);
    if (!err)
        err = log_and_show(l, &ps, p, *give, why);
    if (!err) {
        *give = NULL;
        atomic_fetch_add_explicit(&l->n_spans, n_spans, memory_order_relaxed);
    }
    parts_done(&ps);
    if (!err && sf_flush_rows_are_due(l))
        sf_local_wake_flush(l);
    return err;
}

/* ---- append ---- */

static enum sf_err append_check_room(struct sf_local *l, bool is_profiles, struct sf_why *why)
{
    if (atomic_load(&l->pressure) == SF_PRESSURE_REFUSE) {
        char reason[160];
        bool is_degraded;
        sf_pressure_reason(l, reason, sizeof(reason), &is_degraded);
        return sf_fail(why, atomic_load(&l->is_disk_full) ? SF_ERR_FULL : SF_ERR_BUSY, "store: %s",
                       reason);
    }
    if (is_profiles && sf_budget_is_over(&l->budget, SF_LINE_PROFILES)) {
        sf_local_wake_flush(l);
        return sf_fail(why, SF_ERR_BUSY,
                       "store: memory for profiles is full until the flush is done");
    }
    if (!is_profiles && sf_pressure_rows(l) > 8) {
        sf_local_wake_flush(l);
        return sf_fail(why, SF_ERR_BUSY, "store: memory for rows is full until the flush is done");
    }
    return SF_OK;
}

static bool needs_replay(const struct sf_batch *b)
{
    for (; b; b = b->next) {
        if (b->is_replay_only)
            return true;
    }
    return false;
}

/* A repeated request is answered at once, or when the first one is durable. */
static enum sf_err begin_once(struct sf_local *l, struct pending *p, const struct sf_batch *batch,
                              enum sf_dup_answer *out, struct sf_why *why)
{
    *out = SF_DUP_NEW;
    if (!batch->dup_hash)
        return SF_OK;
    if (sf_duplicates_begin(l->duplicates, batch->dup_hash, sf_local_wall_ns(l), &p->waiter, out))
        return sf_fail(why, SF_ERR_NOMEM, "store: no memory to remember a request");
    return SF_OK;
}

/* Adds rows and log record of a new request. */
static enum sf_err append_new(struct sf_local *l, unsigned writer, struct pending *p,
                              struct sf_batch **give, struct sf_why *why)
{
    SF_ASSERT(writer < l->n_memtables);
    p->entry.done = append_logged;
    if (has_profiles(*give))
        return append_profiles(l, p, give, why);
    return needs_replay(*give) ? append_pieces(l, p, give, why)
                               : append_rows(l, &l->memtables[writer], p, give, why);
}

/* The entry of a failed request is removed; the requests that waited for it are retried. */
static enum sf_err append_once(struct sf_local *l, unsigned writer, struct pending *p,
                               struct sf_batch **give, enum sf_dup_answer *seen,
                               struct sf_dup_waiter **waiters, struct sf_why *why)
{
    uint64_t dup_hash = (*give)->dup_hash;
    enum sf_err err = begin_once(l, p, *give, seen, why);
    if (err || *seen != SF_DUP_NEW)
        return err;
    err = append_new(l, writer, p, give, why);
    if (err && dup_hash)
        *waiters = sf_duplicates_end(l->duplicates, dup_hash, false);
    return err;
}

enum sf_err sf_append_batch(struct sf_store *s, unsigned writer, struct sf_batch **give,
                            struct sf_ticket *ticket, struct sf_why *why)
{
    struct sf_local *l = (struct sf_local *)s;
    struct sf_batch *batch = *give;
    struct sf_dup_waiter *waiters = NULL;
    uint64_t len = 0;
    struct pending *p;
    enum sf_dup_answer seen;
    enum sf_err err = append_check_room(l, has_profiles(batch), why);

    if (err)
        return err;
    if (count_pieces(batch) > MAX_PIECES)
        return sf_fail(why, SF_ERR_LIMIT, "store: a request in more than %d pieces", MAX_PIECES);
    p = pending_new(l, batch, ticket);
    if (!p)
        return sf_fail(why, SF_ERR_NOMEM, "store: no memory for a request");
    for (const struct sf_batch *b = batch; b; b = b->next)
        len += b->log.body.len + b->log.meta.len + 64;
    /* A flush takes the hashes of requests together with their rows: after a crash, a block with
     * the hash but without the rows would cause the retry to be dropped. */
    sf_rwlock_share(&l->gate);
    err = append_once(l, writer, p, give, &seen, &waiters, why);
    sf_rwlock_release(&l->gate);
    if (err) {
        struct sf_why same = why ? *why : (struct sf_why){0};
        while (waiters) { /* requests that waited for this one are retried, too */
            struct sf_dup_waiter *next = waiters->next;
            append_answer(of_waiter(waiters), err, &same);
            waiters = next;
        }
        sf_heap_free(p);
        return err;
    }
    if (seen != SF_DUP_NEW) {
        atomic_fetch_add_explicit(&l->n_duplicates, 1, memory_order_relaxed);
        *give = NULL;
        sf_batch_free(batch); /* the rows are those of the first request */
        if (seen == SF_DUP_DURABLE)
            append_answer(p, SF_OK, NULL);
        return SF_OK;
    }
    note_append(l, len);
    /* While a request waits for the disk, the log needs only its bytes: rows take many times the
     * space. */
    sf_batch_drop_rows(p->batch);
    append_let_go(p);
    return SF_OK;
}

/* ---- replay ---- */

struct replay {
    struct sf_local *l;
    struct parts parts;
    uint64_t last_lsn, done_len, all_len, n_spans, n_failed;
};

static enum sf_err flush_replayed(struct replay *r, struct sf_why *why)
{
    enum sf_err err = seal_part(r->l, &r->parts, why);
    if (!err)
        err = show_parts(r->l, &r->parts, why);
    if (!err)
        err = sf_flush_replayed(r->l, r->last_lsn, why);
    return err;
}

static enum sf_err see_batch(void *arg, uint64_t lsn, const struct sf_logged *pieces,
                             size_t n_pieces, struct sf_why *why)
{
    struct replay *r = arg;
    struct sf_local *l = r->l;
    struct sf_why own;
    enum sf_err err = SF_OK;

    for (size_t i = 0; i < n_pieces && !err; i++) {
        r->done_len += pieces[i].body.len + pieces[i].meta.len + 40;
        err = replay_piece(l, &r->parts, &pieces[i], true, &r->n_spans, &own);
        if (err == SF_ERR_INPUT || err == SF_ERR_CORRUPT) {
            /* The record was accepted before, so this is a bug or a disk error. Refusing to start
             * would lose all later records: report it and continue. */
            sf_local_notice(l, "store: replay: record %" PRIu64 " skipped: %s", lsn + i, own.text);
            atomic_fetch_add(&l->n_lost_lsn, 1);
            err = SF_OK;
        }
    }
    if (err)
        return sf_fail(why, err, "replay of record %" PRIu64 ": %s", lsn, own.text);
    r->last_lsn = lsn + n_pieces - 1;
    atomic_fetch_add(&l->n_replayed, 1);
    if (r->parts.n)
        err = show_parts(l, &r->parts, why);
    if (!err && (sf_flush_rows_are_due(l) || sf_flush_profiles_are_due(l)))
        err = flush_replayed(r, why);
    if (l->config.progress)
        l->config.progress(l->config.progress_arg, r->done_len, r->all_len);
    return err;
}

static void name_lost(struct sf_local *l, const struct sf_wal_replay_stats *stats)
{
    size_t at = strlen(l->degraded_reason);
    snprintf(l->degraded_reason + at, sizeof(l->degraded_reason) - at,
             " (between records %" PRIu64 " and %" PRIu64 ")", stats->first_lost_lsn,
             stats->last_lost_lsn);
}

/* Reports damage found by replay; it stays visible in readiness until the next start. */
static void tell_damage(struct sf_local *l, const struct sf_wal_replay_stats *stats)
{
    if (stats->is_missing || (stats->is_tail_missing && !stats->n_lost_lsn &&
                              !stats->n_bad_segments && !stats->n_bad_pages)) {
        snprintf(l->degraded_reason, sizeof(l->degraded_reason), "%s",
                 stats->is_missing
                     ? "the log was missing at start: what was acknowledged since the last flush "
                       "is lost"
                     : "wal.tail was missing at start: it is unknown whether the log was complete");
        if (stats->n_lost_lsn)
            name_lost(l, stats);
        sf_local_notice(l, "store: %s", l->degraded_reason);
        return;
    }
    if (!stats->n_lost_lsn && !stats->n_bad_segments && !stats->n_bad_pages)
        return;
    snprintf(l->degraded_reason, sizeof(l->degraded_reason),
             "the log was damaged: %" PRIu64 " records lost, %" PRIu64 " segments and %" PRIu64
             " pages unreadable when it was replayed",
             stats->n_lost_lsn, stats->n_bad_segments, stats->n_bad_pages);
    if (stats->n_lost_lsn)
        name_lost(l, stats);
    sf_local_notice(l, "store: %s", l->degraded_reason);
}

enum sf_err sf_append_replay(struct sf_local *l, struct sf_why *why)
{
    struct replay r = {.l = l, .parts = {.body = sf_memtable_body_new(&l->budget)}};
    struct sf_wal_replay_stats stats = {0};
    enum sf_err err;

    if (!r.parts.body)
        return sf_fail(why, SF_ERR_NOMEM, "store: no memory to replay the log");
    r.all_len = sf_wal_replay_pending_len(l->wal);
    err = sf_wal_replay(l->wal, see_batch, &r, &stats, why);
    if (!err)
        err = seal_part(l, &r.parts, why);
    if (!err)
        err = show_parts(l, &r.parts, why);
    if (!err) {
        atomic_fetch_add(&l->n_lost_lsn, stats.n_lost_lsn);
        atomic_fetch_add(&l->flush_wal_mark, stats.len);
        l->is_log_missing = stats.is_missing;
        tell_damage(l, &stats);
    }
    parts_done(&r.parts);
    return err;
}

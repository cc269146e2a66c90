#include "store/local/write/seal.h"

#include "base/time_unit.h"
#include "block/span/span_block_writer.h"
#include "os/clock.h"
#include "store/local/read/granules.h"

enum { SCRATCH_CAP = 1 << 30 }; /* reserved address space */
static const int64_t READERS_STAY_NS = 10 * SF_NS_PER_S;

enum sf_err sf_seal_rows(struct sf_local *l, const struct sf_rowset *rows, uint64_t gen,
                         struct sf_run **out, struct sf_why *why)
{
    struct sf_span_block_options options = {.info = {.created_ns = sf_local_wall_ns(l)},
                                            .granule_len = l->tune.granule_len,
                                            .max_ops = l->tune.max_ops};
    struct sf_span_block_writer *w = NULL;
    struct sf_buf bytes = {0};
    struct sf_arena scratch = {0};
    uint64_t len, n_repeats = 0;
    enum sf_err err;

    *out = NULL;
    if (rows->n_rows == 0)
        return SF_OK;
    options.info.tenant = sf_rowset_tenant(rows);
    memcpy(options.info.store_uuid, l->uuid, 16);
    if (!sf_arena_init(&scratch, SCRATCH_CAP))
        return sf_fail(why, SF_ERR_NOMEM, "store: no memory to seal %zu rows", rows->n_rows);
    err = sf_span_block_writer_new(&options, &w, why);
    if (!err)
        err = sf_rowset_write(rows, w, scratch, &n_repeats, why);
    if (!err)
        err = sf_span_block_writer_finish(w, &len, NULL, &bytes, why);
    if (!err)
        err = sf_run_new_part(&l->runs, &bytes, gen, rows->first_index_ns, rows->last_ns,
                              rows->text_len, out, why);
    if (!err)
        atomic_fetch_add_explicit(&l->n_repeats, n_repeats, memory_order_relaxed);
    sf_span_block_writer_free(w);
    sf_buf_done(&bytes);
    sf_arena_done(&scratch);
    return err;
}

enum sf_err sf_seal_body(struct sf_local *l, struct sf_memtable *m, struct sf_memtable_body *body,
                         struct sf_why *why)
{
    struct sf_run *part;
    enum sf_err err = sf_seal_rows(l, &body->rows, body->gen, &part, why);
    if (!err && part) {
        struct sf_snapshot_change change = {.in = &part, .n_in = 1};
        part->row.lsn_hi = body->lsn;
        err = sf_snapshot_change(&l->snapshots, &change, why);
        if (err)
            sf_run_unref(part);
    }
    if (err)
        sf_memtable_not_sealed(m, body);
    else
        sf_memtable_sealed(m, body, part); /* only now, so that readers always find the rows */
    return err;
}

static bool seal_is_due(struct sf_memtable *m, int64_t now_ns, int64_t age_ns)
{
    bool is;
    sf_mutex_lock(&m->lock);
    is = m->active->first_mono_ns && now_ns - m->active->first_mono_ns >= age_ns;
    sf_mutex_unlock(&m->lock);
    return is;
}

/* Seals bodies that were cut but not sealed: for lack of memory, or because there were no
 * searches. */
static enum sf_err seal_left(struct sf_local *l, struct sf_memtable *m, struct sf_why *why)
{
    struct sf_memtable_body *body;
    bool is_busy;
    enum sf_err err = SF_OK;
    while (!err && (body = sf_memtable_claim(m, UINT64_MAX, &is_busy)))
        err = sf_seal_body(l, m, body, why);
    return err;
}

enum sf_err sf_seal_all(struct sf_local *l, int64_t age_ns, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    int64_t now_ns = sf_local_mono_ns(l);
    for (unsigned i = 0; !err && i < l->n_memtables; i++) {
        struct sf_memtable *m = &l->memtables[i];
        struct sf_memtable_body *body;
        sf_rwlock_share(&l->gate);
        err = seal_left(l, m, why);
        body = !err && seal_is_due(m, now_ns, age_ns) ? sf_memtable_cut(m) : NULL;
        if (body)
            err = sf_seal_body(l, m, body, why);
        else if (!err && seal_is_due(m, now_ns, age_ns))
            err = sf_fail(why, SF_ERR_NOMEM, "store: no memory for a fresh memtable");
        sf_rwlock_release(&l->gate);
    }
    return err;
}

/* Some of the first `n_cuts` bodies of a memtable may be in use by a writer that filled one, or by
 * a flush: waits until these have published them or given them back. */
static enum sf_err wait_for_others(struct sf_local *l, struct sf_memtable *m, uint64_t n_cuts,
                                   struct sf_why *why)
{
    enum sf_err err = SF_OK;
    while (!err && sf_memtable_has_hidden(m, n_cuts) && !atomic_load(&l->is_stopping)) {
        sf_clock_sleep_ms(1); /* without holding the gate, which they may need */
        sf_rwlock_share(&l->gate);
        err = seal_left(l, m, why);
        sf_rwlock_release(&l->gate);
    }
    return err;
}

/* Afterwards, all current rows are in the snapshot. */
static enum sf_err show_all(struct sf_local *l, struct sf_why *why)
{
    enum sf_err err = sf_seal_all(l, 0, why);
    for (unsigned i = 0; !err && i < l->n_memtables; i++)
        err = wait_for_others(l, &l->memtables[i], sf_memtable_n_cuts(&l->memtables[i]), why);
    return err;
}

static bool any_is_hidden(struct sf_local *l)
{
    for (unsigned i = 0; i < l->n_memtables; i++) {
        if (sf_memtable_has_hidden(&l->memtables[i], UINT64_MAX))
            return true;
    }
    return false;
}

static enum sf_err ask_thread(struct sf_local *l, const struct sf_query_ctx *q, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    uint64_t mine;
    sf_mutex_lock(&l->wake_lock);
    mine = ++l->n_seals_asked;
    sf_condvar_wake_one(&l->wake_seal);
    while (!err && l->n_seals_done < mine && !atomic_load(&l->is_stopping))
        err = sf_granules_query_wait(q, &l->sealed, &l->wake_lock, why);
    if (!err && l->seal_err) {
        err = l->seal_err;
        if (why)
            *why = l->seal_why;
    }
    sf_mutex_unlock(&l->wake_lock);
    return err;
}

enum sf_err sf_seal_for_reader(struct sf_local *l, const struct sf_query_ctx *q, struct sf_why *why)
{
    atomic_store_explicit(&l->read_mono_ns, sf_local_mono_ns(l), memory_order_relaxed);
    if (q->begun_ns && q->begun_ns < atomic_load(&l->shown_mono_ns))
        return SF_OK; /* another read of the same request has done it */
    if (!any_is_hidden(l))
        return SF_OK;
    return l->seal_thread.is_running ? ask_thread(l, q, why) : show_all(l, why);
}

/* One seal serves all requests within the gap: many small parts would slow down every search. The
 * caller holds the lock. */
static bool waits_for_more(struct sf_local *l)
{
    int64_t next_ns = atomic_load(&l->shown_mono_ns) + l->tune.seal_gap_ns;
    if (!atomic_load(&l->shown_mono_ns) || sf_clock_mono_ns() >= next_ns)
        return false;
    (void)sf_condvar_wait_until(&l->wake_seal, &l->wake_lock, next_ns);
    return true;
}

void sf_seal_loop(void *local)
{
    struct sf_local *l = local;
    sf_mutex_lock(&l->wake_lock);
    while (!atomic_load(&l->is_stopping)) {
        uint64_t asked = l->n_seals_asked;
        struct sf_why why;
        int64_t begun_ns;
        enum sf_err err;
        if (asked == l->n_seals_done) {
            sf_condvar_wait(&l->wake_seal, &l->wake_lock);
            continue;
        }
        if (waits_for_more(l))
            continue;
        sf_mutex_unlock(&l->wake_lock);
        begun_ns = sf_clock_mono_ns();
        err = show_all(l, &why);
        if (!err)
            atomic_store(&l->shown_mono_ns, begun_ns);
        sf_mutex_lock(&l->wake_lock);
        l->n_seals_done = asked;
        l->seal_err = err;
        if (err)
            l->seal_why = why;
        sf_condvar_wake_all(&l->sealed);
    }
    sf_condvar_wake_all(&l->sealed);
    sf_mutex_unlock(&l->wake_lock);
}

bool sf_seal_is_wanted(struct sf_local *l)
{
    int64_t at_ns = atomic_load_explicit(&l->read_mono_ns, memory_order_relaxed);
    return at_ns && sf_local_mono_ns(l) - at_ns < READERS_STAY_NS;
}

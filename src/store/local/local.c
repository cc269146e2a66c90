/* local.c - opening and closing the embedded store.
 *
 * Start order: lock, catalogue (rebuilt when lost), folders, blocks, tombstones, request hashes,
 * log, replay, threads. Stop in reverse. docs/format-store.md describes what each step finds after
 * a crash. */
#include "store/local/local.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/heap.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/time_unit.h"
#include "block/profile/profile_block_reader.h"
#include "block/span/span_block_reader.h"
#include "block/span/span_block_writer.h"
#include "os/clock.h"
#include "os/random.h"
#include "store/local/files/directory.h"
#include "store/local/files/rebuild.h"
#include "store/local/files/tenants.h"
#include "store/local/keep/pins.h"
#include "store/local/keep/verdicts.h"
#include "store/local/local_figures.h"
#include "store/local/profiles/profile_mem.h"
#include "store/local/profiles/profile_query.h"
#include "store/local/read/column_scan.h"
#include "store/local/read/operations.h"
#include "store/local/read/span_scan.h"
#include "store/local/read/tag_scan.h"
#include "store/local/read/trace_cursor.h"
#include "store/local/write/append.h"
#include "store/local/write/compact.h"
#include "store/local/write/erase.h"
#include "store/local/write/flush.h"
#include "store/local/write/pressure.h"
#include "store/local/write/retain.h"
#include "store/local/write/seal.h"
#include "wal/wal.h"

/* ---- small things every part uses ---- */

void sf_local_notice(struct sf_local *l, const char *format, ...)
{
    char line[400];
    va_list args;
    if (!l->config.notice)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    l->config.notice(l->config.notice_arg, line);
}

void sf_local_wake_flush(struct sf_local *l)
{
    sf_mutex_lock(&l->wake_lock);
    l->must_flush = true;
    sf_condvar_wake_one(&l->wake_flush);
    sf_mutex_unlock(&l->wake_lock);
}

void sf_local_wake_compact(struct sf_local *l)
{
    sf_mutex_lock(&l->wake_lock);
    l->must_compact = true;
    sf_condvar_wake_one(&l->wake_compact);
    sf_mutex_unlock(&l->wake_lock);
}

int64_t sf_local_span_retention(struct sf_local *l)
{
    int64_t ns;
    sf_mutex_lock(&l->rule_lock);
    ns = l->retention.spans_ns;
    sf_mutex_unlock(&l->rule_lock);
    return ns;
}

int64_t sf_local_profile_retention(struct sf_local *l)
{
    int64_t ns;
    sf_mutex_lock(&l->rule_lock);
    ns = l->retention.profiles_ns;
    sf_mutex_unlock(&l->rule_lock);
    return ns;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

int64_t sf_local_day_of(int64_t ns)
{
    return floor_div(ns, SF_NS_PER_DAY);
}

int64_t sf_local_hour_of(int64_t ns)
{
    return floor_div(ns, SF_NS_PER_HOUR);
}

void sf_local_day_dir(uint8_t kind, int64_t day, char out[32])
{
    time_t at = (time_t)(day * (SF_NS_PER_DAY / SF_NS_PER_S));
    struct tm tm;
    char text[16];
    if (!gmtime_r(&at, &tm) || strftime(text, sizeof(text), "%Y-%m-%d", &tm) != 10)
        snprintf(text, sizeof(text), "1970-01-01");
    snprintf(out, 32, "%s/%s", kind == SF_BLOCK_PROFILES ? "prof" : "spans", text);
}

static const char *ending(uint8_t kind)
{
    return kind == SF_BLOCK_PROFILES ? "sfp" : "sfs";
}

void sf_local_block_path(uint8_t kind, int64_t day, uint64_t id, char out[64])
{
    char dir[32];
    sf_local_day_dir(kind, day, dir);
    snprintf(out, 64, "%.20s/%016" PRIx64 ".%s", dir, id, ending(kind));
}

void sf_local_tmp_path(uint8_t kind, uint64_t id, char out[64])
{
    snprintf(out, 64, "tmp/%016" PRIx64 ".%s", id, ending(kind));
}

/* ---- open ---- */

/* An operation takes about 1 KiB while a block is written: 4 MiB of the 24 that merges have with a
 * budget of 256 MiB, and the same share with less. */
enum { MIN_OPS = 256 };

static uint32_t most_ops(const struct sf_budget *b)
{
    size_t n = b->cap[SF_LINE_MERGE] / 6 / 1024;
    return n < MIN_OPS ? MIN_OPS : n > SF_BLOCK_MAX_OPS ? SF_BLOCK_MAX_OPS : (uint32_t)n;
}

static void fill_tuning(struct sf_local *l)
{
    struct sf_local_tuning *t = &l->tune;
    size_t per_writer = l->budget.cap[SF_LINE_MEMTABLES] / (l->n_memtables ? l->n_memtables : 1);
#define DEFAULT(field, value) t->field = t->field ? t->field : (value)
    DEFAULT(flush_interval_ns, SF_NS_PER_MIN);
    DEFAULT(flush_wal_len, UINT64_C(256) << 20);
    DEFAULT(flush_parts_len, l->budget.cap[SF_LINE_PARTS] / 8 * 5);
    DEFAULT(flush_rows_len,
            (l->budget.cap[SF_LINE_MEMTABLES] + l->budget.cap[SF_LINE_PARTS]) / 8 * 5);
    DEFAULT(flush_profiles_len, l->budget.cap[SF_LINE_PROFILES] / 8 * 5);
    DEFAULT(memtable_len, per_writer < 8u << 20 ? per_writer : 8u << 20);
    DEFAULT(seal_age_ns, SF_NS_PER_S);
    DEFAULT(seal_gap_ns, SF_NS_PER_S / 20);
    DEFAULT(compare_rows, (uint64_t)32 << 20);
    DEFAULT(top_len, l->budget.cap[SF_LINE_QUERIES] / 3 * 4);
    DEFAULT(compact_blocks, 8);
    DEFAULT(hurry_blocks, 32);
    DEFAULT(slow_blocks, 64);
    DEFAULT(refuse_blocks, 128);
    DEFAULT(closed_delay_ns, 600 * SF_NS_PER_S);
    DEFAULT(block_rows, UINT64_C(4) << 20);
    DEFAULT(carry_rows, SF_LIMIT_GRANULE_ROWS / 2);
    DEFAULT(granule_len, l->budget.cap[SF_LINE_MERGE] < 24u << 20 ? l->budget.cap[SF_LINE_MERGE] / 4
                                                                  : 16u << 20);
    DEFAULT(max_ops, most_ops(&l->budget));
    DEFAULT(orphan_age_ns, SF_NS_PER_DAY);
    DEFAULT(wall_ns, sf_clock_wall_ns);
    DEFAULT(mono_ns, sf_clock_mono_ns);
#undef DEFAULT
}

void sf_local_init_locks(struct sf_local *l)
{
    sf_rwlock_init(&l->gate, SF_LOCK_STORE_GATE);
    sf_mutex_init(&l->prof_lock, SF_LOCK_STORE_PROFILE_LIST);
    sf_mutex_init(&l->flush_lock, SF_LOCK_STORE_FLUSH);
    sf_mutex_init(&l->merge_lock, SF_LOCK_STORE_MERGE);
    sf_mutex_init(&l->erase_lock, SF_LOCK_STORE_ERASE);
    sf_mutex_init(&l->uncommitted.lock, SF_LOCK_STORE_UNCOMMITTED);
    sf_mutex_init(&l->keep.lock, SF_LOCK_STORE_KEEP);
    sf_mutex_init(&l->number_lock, SF_LOCK_STORE_NUMBER);
    sf_mutex_init(&l->rule_lock, SF_LOCK_STORE_RULE);
    sf_mutex_init(&l->state_lock, SF_LOCK_STORE_STATE);
    sf_mutex_init(&l->pool_lock, SF_LOCK_STORE_POOL);
    sf_mutex_init(&l->wake_lock, SF_LOCK_STORE_WAKE);
    sf_long_traces_init(&l->long_traces);
    sf_condvar_init(&l->wake_flush);
    sf_condvar_init(&l->wake_compact);
    sf_condvar_init(&l->wake_seal);
    sf_condvar_init(&l->sealed);
}

void sf_local_done_locks(struct sf_local *l)
{
    sf_rwlock_done(&l->gate);
    sf_mutex_done(&l->prof_lock);
    sf_mutex_done(&l->flush_lock);
    sf_mutex_done(&l->merge_lock);
    sf_mutex_done(&l->erase_lock);
    sf_mutex_done(&l->uncommitted.lock);
    sf_mutex_done(&l->keep.lock);
    sf_mutex_done(&l->number_lock);
    sf_mutex_done(&l->rule_lock);
    sf_mutex_done(&l->state_lock);
    sf_mutex_done(&l->pool_lock);
    sf_mutex_done(&l->wake_lock);
    sf_long_traces_done(&l->long_traces);
    sf_condvar_done(&l->wake_flush);
    sf_condvar_done(&l->wake_compact);
    sf_condvar_done(&l->wake_seal);
    sf_condvar_done(&l->sealed);
}

static enum sf_err init_memory(struct sf_local *l, struct sf_why *why)
{
    sf_budget_init(&l->budget, l->config.memory_len);
    l->n_memtables = l->config.n_writers ? l->config.n_writers : 1;
    fill_tuning(l);
    sf_runs_init(&l->runs, l->dir, &l->budget);
    if (!sf_partials_init(&l->partials, &l->budget))
        return sf_fail(why, SF_ERR_NOMEM, "store: no memory to open");
    l->runs.partials = &l->partials;
    sf_doubles_init(&l->doubles, &l->budget);
    l->runs.doubles = &l->doubles;
    l->runs.notice = l->config.notice;
    l->runs.notice_arg = l->config.notice_arg;
    l->duplicates = sf_duplicates_new(l->budget.cap[SF_LINE_DUPLICATES]);
    l->memtables = sf_heap_new_n(l->n_memtables, sizeof(*l->memtables));
    l->prof = sf_profile_mem_new(&l->budget);
    if (l->prof)
        l->prof->gen = l->gen;
    if (!sf_snapshots_init(&l->snapshots) || !sf_snapshots_init(&l->prof_snapshots) ||
        !l->duplicates || !l->memtables || !l->prof)
        return sf_fail(why, SF_ERR_NOMEM, "store: no memory to open");
    for (unsigned i = 0; i < l->n_memtables; i++) {
        if (!sf_memtable_init(&l->memtables[i], &l->budget))
            return sf_fail(why, SF_ERR_NOMEM, "store: no memory for %u memtables", l->n_memtables);
    }
    return SF_OK;
}

/* Rebuilds a lost catalogue. The store's uuid is taken from the lock file, the log or the blocks,
 * or is new. */
static enum sf_err rebuild(struct sf_local *l, struct sf_catalogue_meta *meta, bool *out_was_used,
                           struct sf_why *why)
{
    struct sf_block_row *rows = NULL;
    size_t n = 0;
    uint8_t none[16] = {0};
    enum sf_err err;
    bool has_uuid = sf_directory_read_uuid(&l->lock_file, meta->uuid) ||
                    sf_wal_verify_find_uuid(l->dir, meta->uuid);

    *out_was_used = has_uuid;
    *meta = (struct sf_catalogue_meta){.next_block = 1, .next_flush = 1};
    if (!sf_directory_read_uuid(&l->lock_file, meta->uuid))
        (void)sf_wal_verify_find_uuid(l->dir, meta->uuid);
    meta->retention_now_ns = l->now_ns;
    err = sf_rebuild(l, has_uuid, meta, &rows, &n, why);
    if (!err && memcmp(meta->uuid, none, 16) == 0)
        sf_random_fill(meta->uuid, 16);
    if (!err)
        err = sf_catalogue_begin(l->catalogue, meta, rows, n, why);
    sf_heap_free(rows);
    return err;
}

struct loading {
    struct sf_local *l;
    struct sf_run **runs;
    size_t n, cap;
    struct sf_block_row *dead;
    size_t n_dead, dead_cap;
    bool is_full;
};

static bool load_row(void *arg, const struct sf_block_row *row)
{
    struct loading *load = arg;
    if (row->kind != SF_BLOCK_SPANS && row->kind != SF_BLOCK_PROFILES)
        return true;
    if (row->state == SF_BLOCK_DEAD) {
        load->is_full = !sf_list_room(&load->dead, load->n_dead, &load->dead_cap, 16);
        if (load->is_full)
            return false;
        load->dead[load->n_dead++] = *row;
        return true;
    }
    load->is_full = !sf_list_room(&load->runs, load->n, &load->cap, 64);
    if (load->is_full)
        return false;
    load->runs[load->n] = sf_run_new_block(&load->l->runs, row);
    load->is_full = !load->runs[load->n];
    load->n += !load->is_full;
    return !load->is_full;
}

struct strangers {
    const struct loading *load;
    char (*paths)[64];
    size_t n, cap;
    bool is_full;
    uint64_t largest;
};

static bool local_see_file(void *arg, const char *path, uint64_t id)
{
    struct strangers *s = arg;
    if (id > s->largest)
        s->largest = id;
    for (size_t i = 0; i < s->load->n; i++) {
        if (s->load->runs[i]->row.id == id)
            return true;
    }
    s->is_full = !sf_list_room(&s->paths, s->n, &s->cap, 16);
    if (s->is_full)
        return false;
    snprintf(s->paths[s->n++], 64, "%s", path);
    return true;
}

/* Moves files without a catalogue row to orphan/: left by a crash between rename and commit, or
 * foreign. */
static enum sf_err move_strangers(struct sf_local *l, const struct loading *load,
                                  struct sf_why *why)
{
    struct strangers s = {.load = load};
    uint64_t orphan_id = sf_directory_orphan_id(l->dir);
    enum sf_err err = sf_directory_blocks(l->dir, local_see_file, &s, why);
    if (!err && s.is_full)
        err = sf_fail(why, SF_ERR_NOMEM, "store: no memory to read the blocks");
    for (size_t i = 0; !err && i < s.n; i++) {
        sf_local_notice(l, "store: %s is not in the catalogue: moved to orphan/", s.paths[i]);
        err = sf_directory_orphan(l->dir, s.paths[i], l->now_ns, why);
    }
    if (s.largest >= l->next_block)
        l->next_block = s.largest + 1;
    if (orphan_id >= l->next_block)
        l->next_block = orphan_id + 1;
    sf_heap_free(s.paths);
    return err;
}

/* Checks header and tail of every live block; loads request hashes of recent ones. */
static enum sf_err check_blocks(struct sf_local *l, const struct loading *load, struct sf_why *why)
{
    int64_t now_ns = sf_local_wall_ns(l);
    for (size_t i = 0; i < load->n; i++) {
        struct sf_run *run = load->runs[i];
        const struct sf_span_block_reader *spans;
        const struct sf_profile_block_reader *profiles;
        bool is_profiles = run->row.kind == SF_BLOCK_PROFILES;
        const uint64_t *hashes;
        size_t n;
        enum sf_err err;
        sf_tenants_skip(l->tenants, run->row.tenant);
        if (run->row.state == SF_BLOCK_BAD) {
            atomic_store(&run->is_bad, false); /* check again: the disk may work now */
        }
        err = is_profiles ? sf_run_enter_profiles(run, &profiles, why)
                          : sf_run_enter(run, SF_TABLES_ALL, &spans, why);
        if (err == SF_ERR_CORRUPT || err == SF_ERR_IO)
            continue; /* quarantined, or retried when it is read */
        if (err)
            return err;
        hashes = is_profiles ? sf_profile_block_reader_dup_hashes(profiles, &n)
                             : sf_span_block_reader_dup_hashes(spans, &n);
        for (size_t k = 0; k < n && run->row.created_ns > now_ns - 600 * SF_NS_PER_S; k++)
            (void)sf_duplicates_know(l->duplicates, hashes[k], run->row.created_ns, now_ns, false);
        sf_run_leave(run);
    }
    return SF_OK;
}

/* Adds the blocks to the snapshot of their kind; entries of the list that were added become
 * NULL. */
static enum sf_err show_blocks(struct sf_local *l, struct loading *load, struct sf_why *why)
{
    static const uint8_t kinds[] = {SF_BLOCK_SPANS, SF_BLOCK_PROFILES};
    struct sf_run **some = sf_heap_new_n(load->n + 1, sizeof(struct sf_run *));
    enum sf_err err = some ? SF_OK : sf_fail(why, SF_ERR_NOMEM, "store: no memory for blocks");
    for (size_t k = 0; !err && k < 2; k++) {
        struct sf_snapshot_change change = {.in = some};
        for (size_t i = 0; i < load->n; i++) {
            if (load->runs[i] && load->runs[i]->row.kind == kinds[k])
                some[change.n_in++] = load->runs[i];
        }
        err = sf_snapshot_change(sf_local_snapshots(l, kinds[k]), &change, why);
        for (size_t i = 0; !err && i < load->n; i++) {
            if (load->runs[i] && load->runs[i]->row.kind == kinds[k])
                load->runs[i] = NULL;
        }
    }
    sf_heap_free(some);
    return err;
}

static enum sf_err load_blocks(struct sf_local *l, struct sf_why *why)
{
    struct loading load = {.l = l};
    enum sf_err err = sf_catalogue_blocks(l->catalogue, load_row, &load, why);
    if (!err && load.is_full)
        err = sf_fail(why, SF_ERR_NOMEM, "store: no memory for the list of blocks");
    for (size_t i = 0; !err && i < load.n_dead; i++) {
        err = sf_dir_unlink(l->dir, load.dead[i].path, why);
        if (!err)
            err = sf_catalogue_forget(l->catalogue, load.dead[i].id, why);
    }
    if (!err)
        err = move_strangers(l, &load, why);
    if (!err)
        err = check_blocks(l, &load, why);
    if (!err)
        err = show_blocks(l, &load, why);
    for (size_t i = 0; i < load.n; i++)
        sf_run_unref(load.runs[i]);
    sf_heap_free(load.runs);
    sf_heap_free(load.dead);
    return err;
}

static enum sf_err open_catalogue(struct sf_local *l, bool *out_is_new, struct sf_why *why)
{
    struct sf_catalogue_meta meta = {0};
    bool was_used = false;
    enum sf_err err = sf_catalogue_open(l->dir, false, &l->catalogue, out_is_new, why);
    l->now_ns = sf_local_wall_ns(l);
    l->now_mono_ns = sf_local_mono_ns(l);
    if (!err && *out_is_new)
        err = rebuild(l, &meta, &was_used, why);
    if (!err)
        err = sf_catalogue_meta(l->catalogue, &meta, why);
    if (err)
        return err;
    memcpy(l->uuid, meta.uuid, 16);
    memcpy(l->runs.uuid, meta.uuid, 16);
    l->ckpt_lsn = meta.ckpt_lsn;
    /* A store that was in use had a segment: if there is none, the log is lost, too. */
    l->log_sequence = was_used ? 1 : meta.log_sequence;
    l->log_lsn = meta.log_lsn;
    l->next_block = meta.next_block;
    l->next_flush = meta.next_flush;
    l->next_erasure = 1;
    if (meta.retention_now_ns)
        l->now_ns = meta.retention_now_ns;
    l->saved_now_ns = meta.retention_now_ns;
    return sf_directory_write_lock(&l->lock_file, l->uuid, why);
}

static void wal_notice(void *arg, const char *sentence)
{
    sf_local_notice(arg, "%s", sentence);
}

/* A failure is harmless: the log and wal.tail have the same information. */
static void wal_begin(void *arg, uint64_t sequence, uint64_t first_lsn)
{
    struct sf_local *l = arg;
    struct sf_why why;
    if (sf_catalogue_set_log(l->catalogue, sequence, first_lsn, &why))
        sf_local_notice(l, "store: the catalogue does not know segment %" PRIu64 " of the log: %s",
                        sequence, why.text);
}

static enum sf_err open_wal(struct sf_local *l, struct sf_why *why)
{
    struct sf_wal_config config = {
        .dir = l->dir,
        .ckpt_lsn = l->ckpt_lsn,
        .known = {.sequence = l->log_sequence, .first_lsn = l->log_lsn},
        .begin = wal_begin,
        .is_followed = l->config.is_followed,
        .followed_lsn = l->config.is_follower_new ? l->ckpt_lsn : l->config.followed_lsn,
        .segment_len = l->tune.segment_len,
        .queue_len = l->budget.log_len,
        .notice = wal_notice,
        .notice_arg = l,
    };
    enum sf_err err;
    memcpy(config.store_uuid, l->uuid, 16);
    l->prof->after_lsn = l->ckpt_lsn;
    atomic_store(&l->history_lsn, l->config.is_follower_new ? l->ckpt_lsn : l->config.history_lsn);
    err = sf_wal_open(&config, &l->wal, why);
    return err ? err : sf_append_replay(l, why);
}

static enum sf_err start_threads(struct sf_local *l, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    if (l->tune.has_no_threads)
        return SF_OK;
    err = sf_thread_start(&l->flush_thread, "flush", 0, sf_flush_loop, l, why);
    if (!err)
        err = sf_thread_start(&l->compact_thread, "compact", 10, sf_compact_loop, l, why);
    if (!err)
        err = sf_thread_start(&l->seal_thread, "seal", 0, sf_seal_loop, l, why);
    return err;
}

static bool has_blocks(struct sf_local *l)
{
    struct sf_snapshot *spans = sf_snapshot_take(&l->snapshots),
                       *profiles = sf_snapshot_take(&l->prof_snapshots);
    bool has = spans->n + profiles->n > 0;
    sf_snapshot_unref(profiles);
    sf_snapshot_unref(spans);
    return has;
}

static enum sf_err open_steps(struct sf_local *l, struct sf_why *why)
{
    bool is_new = false;
    enum sf_err err = init_memory(l, why);
    if (!err)
        err = sf_directory_lock(l->dir, &l->lock_file, why);
    if (!err)
        err = sf_directory_refuse_links(l->dir, why);
    if (!err)
        err = sf_directory_refuse_newer(l->dir, why);
    if (!err)
        err = sf_keep_book_refuse_newer(l->dir, why);
    if (!err)
        err = sf_directory_prepare(l->dir, why);
    if (!err)
        err = open_catalogue(l, &is_new, why);
    if (!err)
        err = sf_directory_clear(l->dir, why);
    if (!err)
        err = sf_tenants_open(l->dir, l->catalogue, &l->tenants, why);
    if (!err)
        err = sf_erase_load(l, is_new, why);
    if (!err)
        err = load_blocks(l, why);
    if (!err)
        err = sf_keep_book_open(l, is_new && !has_blocks(l), why);
    if (!err)
        err = open_wal(l, why);
    l->flushed_mono_ns = sf_local_mono_ns(l);
    if (!err)
        sf_pressure_update(l);
    return err ? err : start_threads(l, why);
}

static void free_all(struct sf_local *l)
{
    atomic_store(&l->is_stopping, true);
    sf_local_wake_flush(l);
    sf_local_wake_compact(l);
    sf_mutex_lock(&l->wake_lock);
    sf_condvar_wake_one(&l->wake_seal);
    sf_mutex_unlock(&l->wake_lock);
    sf_thread_join(&l->seal_thread);
    sf_thread_join(&l->compact_thread);
    sf_thread_join(&l->flush_thread);
    sf_wal_close(l->wal);
    for (unsigned i = 0; l->memtables && i < l->n_memtables; i++)
        sf_memtable_done(&l->memtables[i]);
    sf_heap_free(l->memtables);
    if (l->snapshots.now)
        sf_snapshots_done(&l->snapshots);
    if (l->prof_snapshots.now)
        sf_snapshots_done(&l->prof_snapshots);
    sf_profile_mem_unref(l->prof);
    while (l->flushing) {
        struct sf_profile_mem *next = l->flushing->next;
        sf_profile_mem_unref(l->flushing);
        l->flushing = next;
    }
    if (l->catalogue)
        (void)sf_compact_delete_dead(l, NULL);
    sf_tenants_close(l->tenants);
    sf_duplicates_free(l->duplicates);
    sf_runs_done(&l->runs);
    sf_partials_done(&l->partials);
    sf_doubles_done(&l->doubles);
    sf_heap_free(l->uncommitted.paths);
    sf_keep_book_close(l);
    sf_catalogue_close(l->catalogue);
    sf_file_close(&l->lock_file);
    for (unsigned i = 0; i < l->n_pool; i++)
        sf_arena_done(&l->pool[i]);
    sf_local_done_locks(l);
    sf_heap_free(l);
}

enum sf_err sf_local_open_store(const struct sf_local_config *config, struct sf_store **out,
                                struct sf_why *why)
{
    enum sf_err err;
    struct sf_local *l = sf_heap_new(sizeof(*l));
    if (!l)
        return sf_fail(why, SF_ERR_NOMEM, "store: no memory to open");
    l->base.ops = &sf_store_local_ops;
    l->config = *config;
    l->tune = config->tuning;
    l->dir = config->dir;
    l->retention = config->retention;
    l->gen = 1;
    sf_local_init_locks(l);
    err = open_steps(l, why);
    if (err) {
        free_all(l);
        return err;
    }
    *out = &l->base;
    return SF_OK;
}

static void local_close(struct sf_store *s)
{
    struct sf_local *l = (struct sf_local *)s;
    struct sf_why why;
    int64_t now_ns;
    bool is_newer;
    if (!l)
        return;
    if (sf_flush_run(l, &why)) /* nothing is lost: the log has the rows */
        sf_local_notice(l, "store: close: %s", why.text);
    sf_mutex_lock(&l->rule_lock);
    now_ns = l->now_ns;
    is_newer = now_ns > l->saved_now_ns;
    sf_mutex_unlock(&l->rule_lock);
    if (is_newer)
        (void)sf_catalogue_set_now(l->catalogue, now_ns, NULL);
    free_all(l);
}

/* ---- a store that stands on this one ---- */

void sf_local_wrap(struct sf_store *s, const struct sf_store_ops *ops, void *wrapper)
{
    ((struct sf_local *)s)->wrapper = wrapper;
    s->ops = ops;
}

void *sf_local_wrapper(struct sf_store *s)
{
    return ((struct sf_local *)s)->wrapper;
}

struct sf_wal *sf_local_log(struct sf_store *s)
{
    return ((struct sf_local *)s)->wal;
}

bool sf_local_is_pinned(struct sf_store *s, const struct sf_pin *pin)
{
    return sf_pins_has((struct sf_local *)s, pin);
}

const uint8_t *sf_local_uuid(const struct sf_store *s)
{
    return ((const struct sf_local *)s)->uuid;
}

size_t sf_local_memory_len(const struct sf_store *s)
{
    size_t len = ((const struct sf_local *)s)->config.memory_len;
    return len ? len : SF_LIMIT_MEMORY_LEN;
}

bool sf_local_tenant_name(struct sf_store *s, uint32_t tenant, sf_str *out)
{
    return sf_tenants_name(((struct sf_local *)s)->tenants, tenant, out);
}

enum sf_err sf_local_keep_rules(struct sf_store *s, int64_t hour, struct sf_arena *req,
                                struct sf_keep_due *out, struct sf_why *why)
{
    return sf_verdicts_rules((struct sf_local *)s, hour, req, out, why);
}

bool sf_local_retention(struct sf_store *s, struct sf_retention *out, int64_t *out_now_ns)
{
    struct sf_local *l = (struct sf_local *)s;
    bool may_age;
    sf_mutex_lock(&l->rule_lock);
    *out = l->retention;
    *out_now_ns = l->now_ns;
    may_age = !l->is_clock_ahead;
    sf_mutex_unlock(&l->rule_lock);
    return may_age;
}

/* ---- the rest of the table ---- */

static enum sf_pressure local_pressure(struct sf_store *s, bool *out_is_brief)
{
    return sf_pressure_now((struct sf_local *)s, out_is_brief);
}

static enum sf_err local_flush(struct sf_store *s, struct sf_why *why)
{
    return sf_flush_run((struct sf_local *)s, why);
}

static enum sf_err local_tenant(struct sf_store *s, sf_str name, bool can_create, uint32_t *out,
                                struct sf_why *why)
{
    return sf_tenants_find(((struct sf_local *)s)->tenants, name, can_create, out, why);
}

static size_t local_tenants(struct sf_store *s, sf_str *out, size_t cap)
{
    return sf_tenants_list(((struct sf_local *)s)->tenants, out, cap);
}

const struct sf_store_ops sf_store_local_ops = {
    .name = "local",
    .close = local_close,
    .append = sf_append_batch,
    .pressure = local_pressure,
    .flush = local_flush,
    .tenant = local_tenant,
    .tenants = local_tenants,
    .traces_get = sf_trace_cursor_open,
    .span_scan = sf_span_scan,
    .span_columns = sf_column_scan,
    .span_tags = sf_tag_scan,
    .operations = sf_operations_read,
    .prof_merge = sf_profile_flame_merge,
    .prof_points = sf_profile_points_read,
    .prof_list = sf_profile_series_list,
    .prof_spans = sf_profile_spans_read,
    .detail_list = sf_profile_rows_read,
    .detail_sums = sf_profile_sums_read,
    .detail_top = sf_profile_top_read,
    .erase = sf_erase_rows,
    .keep_due = sf_verdicts_due,
    .keep_put = sf_verdicts_put,
    .keep_get = sf_verdicts_get,
    .keep_states = sf_verdicts_states,
    .pin = sf_pins_add,
    .unpin = sf_pins_remove,
    .pins = sf_pins_read,
    .retain = sf_retain_set,
    .state = sf_local_figures_state,
    .figures = sf_local_figures,
};

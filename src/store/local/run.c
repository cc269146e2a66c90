/* run.c - a run: a part in memory or a block on disk, reference-counted. Opening a block's reader
 * is lazy, and open readers share a memory budget; which reader is closed first is explained where
 * that is decided. The last reference to a replaced block puts it on a list whose files the compact
 * thread deletes. */
#include "store/local/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/account.h"
#include "base/heap.h"
#include "block/profile/profile_block_reader.h"
#include "block/span/span_block_reader.h"
#include "block/span/value_summary.h"
#include "os/dir.h"
#include "store/local/read/doubles.h"
#include "store/local/read/partials.h"

void sf_runs_init(struct sf_runs *rs, struct sf_dir *dir, struct sf_budget *budget)
{
    *rs = (struct sf_runs){.dir = dir, .budget = budget};
    sf_mutex_init(&rs->lock, SF_LOCK_STORE_RUNS);
}

void sf_runs_done(struct sf_runs *rs)
{
    if (rs->dir)
        sf_mutex_done(&rs->lock);
    *rs = (struct sf_runs){0};
}

static struct sf_run *new_run(struct sf_runs *rs)
{
    struct sf_run *r = sf_heap_new(sizeof(*r));
    if (!r)
        return NULL;
    atomic_init(&r->refs, 1);
    r->home = rs;
    sf_mutex_init(&r->lock, SF_LOCK_STORE_RUN);
    return r;
}

enum sf_err sf_run_new_part(struct sf_runs *rs, struct sf_buf *bytes, uint64_t gen,
                            int64_t ts_min_ns, int64_t ts_max_ns, size_t text_len,
                            struct sf_run **out, struct sf_why *why)
{
    const struct sf_span_block_info *info;
    enum sf_err err;
    struct sf_run *r = new_run(rs);
    if (!r)
        return sf_fail(why, SF_ERR_NOMEM, "store: no memory for a part");
    err = sf_span_block_reader_open_memory(bytes, SF_TABLES_ROWS, &r->reader, why);
    if (err) {
        sf_run_free(r);
        return err;
    }
    info = sf_span_block_reader_info(r->reader);
    r->gen = gen;
    r->row = (struct sf_block_row){
        .kind = SF_BLOCK_SPANS,
        .state = SF_BLOCK_LIVE,
        .tenant = info->tenant,
        .ts_min_ns = ts_min_ns,
        .ts_max_ns = ts_max_ns,
        .n_rows = info->n_rows,
        .len = sf_span_block_reader_len(r->reader),
    };
    r->reader_len = sf_span_block_reader_memory(r->reader);
    if (r->reader_len < r->row.len)
        r->reader_len += r->row.len; /* a part's bytes are in memory */
    /* The flush that merges the part needs memory for its traces and texts: parts with many of them
     * are flushed earlier. */
    r->reader_len += (size_t)info->n_traces * SF_RUN_TRACE_LEN + text_len;
    sf_budget_add(rs->budget, SF_LINE_PARTS, r->reader_len);
    *out = r;
    return SF_OK;
}

struct sf_run *sf_run_new_block(struct sf_runs *rs, const struct sf_block_row *row)
{
    struct sf_run *r = new_run(rs);
    if (r) {
        r->row = *row;
        atomic_init(&r->is_bad, row->state == SF_BLOCK_BAD);
    }
    return r;
}

void sf_runs_inherit(struct sf_run *const *from, size_t n_from, struct sf_run *const *to,
                     size_t n_to)
{
    for (size_t i = 0; i < n_from; i++) {
        if (!atomic_load(&from[i]->is_compared))
            return;
    }
    for (size_t i = 0; n_from && i < n_to; i++)
        atomic_store(&to[i]->is_compared, true);
}

struct sf_run *sf_run_ref(struct sf_run *r)
{
    atomic_fetch_add(&r->refs, 1);
    return r;
}

static void list_open(struct sf_runs *rs, struct sf_run *r)
{
    r->is_listed = true;
    r->is_kept = false;
    r->prev_open = NULL;
    r->next_open = rs->open;
    if (rs->open)
        rs->open->prev_open = r;
    rs->open = r;
}

static void unlist_open(struct sf_runs *rs, struct sf_run *r)
{
    if (!r->is_listed)
        return;
    if (r->prev_open)
        r->prev_open->next_open = r->next_open;
    else
        rs->open = r->next_open;
    if (r->next_open)
        r->next_open->prev_open = r->prev_open;
    rs->open_len[r->is_kept] -= r->listed_len;
    r->listed_len = 0;
    r->is_listed = false;
}

void sf_run_free(struct sf_run *r)
{
    struct sf_runs *rs = r->home;
    sf_mutex_lock(&rs->lock);
    unlist_open(rs, r);
    sf_mutex_unlock(&rs->lock);
    if (rs->partials && r->row.kind == SF_BLOCK_SPANS && !sf_run_is_part(r))
        sf_partials_drop_block(rs->partials, r->row.id);
    if (rs->doubles && r->row.kind == SF_BLOCK_SPANS && !sf_run_is_part(r))
        sf_doubles_drop_block(rs->doubles, r->row.id);
    if (r->reader_len)
        sf_budget_sub(rs->budget, sf_run_is_part(r) ? SF_LINE_PARTS : SF_LINE_READERS,
                      r->reader_len);
    if (r->summary) {
        size_t len = sf_value_summary_memory(r->summary);
        atomic_fetch_sub(&rs->summaries_len, len);
        sf_budget_sub(rs->budget, SF_LINE_READERS, len);
        sf_value_summary_free(r->summary);
    }
    sf_span_block_reader_close(r->reader);
    sf_profile_block_reader_close(r->profiles);
    sf_mutex_done(&r->lock);
    sf_heap_free(r);
}

void sf_run_unref(struct sf_run *r)
{
    if (!r || atomic_fetch_sub(&r->refs, 1) != 1)
        return;
    if (!atomic_load(&r->is_dead)) {
        sf_run_free(r);
        return;
    }
    sf_mutex_lock(&r->home->lock);
    r->next_dead = r->home->dead;
    r->home->dead = r;
    sf_mutex_unlock(&r->home->lock);
}

struct sf_run *sf_runs_take_dead(struct sf_runs *rs)
{
    struct sf_run *all;
    sf_mutex_lock(&rs->lock);
    all = rs->dead;
    rs->dead = NULL;
    sf_mutex_unlock(&rs->lock);
    return all;
}

void sf_run_quarantine(struct sf_run *r, const char *sentence)
{
    char line[400];
    if (sf_account_has_refused()) /* it could not be read because memory ran out */
        return;
    if (atomic_exchange(&r->is_bad, true))
        return;
    atomic_fetch_add(&r->home->n_bad, 1);
    snprintf(line, sizeof(line), "store: quarantined block=%s why=\"%s\"", r->row.path, sentence);
    if (r->home->notice)
        r->home->notice(r->home->notice_arg, line);
}

/* ---- which readers stay open ----
 *
 * A query that reads every block must not close those that all other queries need, and of blocks
 * that do not all fit, as many as do should stay, instead of each making space for the next (which
 * is what closing the one unused for longest does to a scan that is repeated). So readers are fresh
 * at first, and the fresh ones have a quarter of the line, in which the one unused for longest
 * goes. It is kept instead when it was used at least twice as often lately as the kept one that was
 * used least. */

enum { AGE_TICKS = 4096, FRESH_PARTS = 4 };

/* Number of uses, halved for every AGE_TICKS uses of any block since n_uses_at. */
static uint64_t uses_of(const struct sf_runs *rs, const struct sf_run *r)
{
    uint64_t age = (rs->tick - r->n_uses_at) / AGE_TICKS;
    return age < 64 ? r->n_uses >> age : 0;
}

static void count_use(struct sf_runs *rs, struct sf_run *r)
{
    r->used_at = ++rs->tick;
    if ((rs->tick - r->n_uses_at) / AGE_TICKS) {
        r->n_uses = uses_of(rs, r);
        r->n_uses_at = rs->tick;
    }
    r->n_uses++;
}

/* Should a be closed before b, which is of the same class (fresh or kept)? */
static bool goes_before(const struct sf_runs *rs, const struct sf_run *a, const struct sf_run *b)
{
    if (a->is_kept) {
        uint64_t x = uses_of(rs, a), y = uses_of(rs, b);
        if (x != y)
            return x < y;
    }
    return a->used_at < b->used_at;
}

/* The kept (or fresh) reader to close first, with its lock held. */
static struct sf_run *run_find_first(struct sf_runs *rs, bool is_kept)
{
    struct sf_run *first = NULL;
    for (struct sf_run *r = rs->open; r; r = r->next_open) {
        if (r->is_kept != is_kept || !sf_mutex_try(&r->lock))
            continue; /* in use right now */
        if (r->n_users == 0 && (r->reader || r->profiles) &&
            (!first || goes_before(rs, r, first))) {
            if (first)
                sf_mutex_unlock(&first->lock);
            first = r;
        } else {
            sf_mutex_unlock(&r->lock);
        }
    }
    return first;
}

/* What summaries leave of the line. */
static size_t run_readers_cap(const struct sf_runs *rs)
{
    size_t cap = rs->budget->cap[SF_LINE_READERS], len = atomic_load(&rs->summaries_len);
    return cap > len ? cap - len : 0;
}

/* Should the first fresh reader become a kept one? Yes if there is space, or if a kept one is used
 * at most half as often. */
static bool is_worth_keeping(struct sf_runs *rs, const struct sf_run *fresh)
{
    size_t cap = run_readers_cap(rs);
    struct sf_run *kept;
    if (rs->open_len[1] + fresh->listed_len <= cap - cap / FRESH_PARTS)
        return true;
    kept = run_find_first(rs, true);
    if (kept)
        sf_mutex_unlock(&kept->lock);
    return kept && uses_of(rs, fresh) >= 2 * uses_of(rs, kept);
}

/* The reader to close, with its lock held; NULL: all are in use. */
static struct sf_run *find_victim(struct sf_runs *rs)
{
    size_t fresh_cap = run_readers_cap(rs) / FRESH_PARTS;
    struct sf_run *kept, *fresh = run_find_first(rs, false);
    while (fresh && rs->open_len[0] > fresh_cap && is_worth_keeping(rs, fresh)) {
        rs->open_len[0] -= fresh->listed_len;
        rs->open_len[1] += fresh->listed_len;
        fresh->is_kept = true;
        sf_mutex_unlock(&fresh->lock);
        fresh = run_find_first(rs, false);
    }
    if (fresh && rs->open_len[0] > fresh_cap)
        return fresh;
    kept = run_find_first(rs, true);
    if (kept && fresh)
        sf_mutex_unlock(&fresh->lock);
    return kept ? kept : fresh;
}

/* Closes unused readers until the number of open blocks is below the limit. */
static void run_make_room(struct sf_runs *rs)
{
    while (sf_budget_is_over(rs->budget, SF_LINE_READERS)) {
        struct sf_run *victim;
        struct sf_span_block_reader *reader = NULL;
        struct sf_profile_block_reader *profiles = NULL;
        size_t len = 0;
        sf_mutex_lock(&rs->lock);
        victim = find_victim(rs);
        if (victim) {
            unlist_open(rs, victim);
            reader = victim->reader;
            profiles = victim->profiles;
            len = victim->reader_len;
            victim->reader = NULL;
            victim->profiles = NULL;
            victim->reader_len = 0;
            sf_mutex_unlock(&victim->lock);
        }
        sf_mutex_unlock(&rs->lock);
        if (!victim)
            return;
        sf_span_block_reader_close(reader);
        sf_profile_block_reader_close(profiles);
        sf_budget_sub(rs->budget, SF_LINE_READERS, len);
    }
}

static void close_readers(struct sf_run *r)
{
    sf_span_block_reader_close(r->reader);
    sf_profile_block_reader_close(r->profiles);
    r->reader = NULL;
    r->profiles = NULL;
}

static enum sf_err open_block(struct sf_run *r, struct sf_why *why)
{
    bool is_profiles = r->row.kind == SF_BLOCK_PROFILES;
    struct sf_file file = SF_FILE_NONE;
    const struct sf_span_block_info *info;
    enum sf_err err = sf_dir_open_read(r->home->dir, r->row.path, &file, why);
    if (!err)
        err = is_profiles ? sf_profile_block_reader_open(&file, &r->profiles, why)
                          : sf_span_block_reader_open(&file, SF_TABLES_NONE, &r->reader, why);
    sf_file_close(&file);
    if (err)
        return err;
    info = is_profiles ? sf_profile_block_reader_info(r->profiles)
                       : sf_span_block_reader_info(r->reader);
    if (info->block_id != r->row.id || memcmp(info->store_uuid, r->home->uuid, 16) != 0) {
        uint64_t id = info->block_id;
        close_readers(r);
        return sf_fail(why, SF_ERR_CORRUPT,
                       "%s is a block of another store or name (id %" PRIx64 ")", r->row.path, id);
    }
    return SF_OK;
}

static size_t memory_of(const struct sf_run *r)
{
    return r->profiles ? sf_profile_block_reader_memory(r->profiles)
           : r->reader ? sf_span_block_reader_memory(r->reader)
                       : 0;
}

/* ---- summaries ----
 *
 * They stay when the tables of their blocks are closed, in an eighth of the line. Searches for a
 * value that most blocks do not have then open only the others. */

enum { SUMMARY_PARTS = 8, SUMMARY_CAP = 1 << 20 };

static void run_summarize(struct sf_run *r)
{
    struct sf_runs *rs = r->home;
    struct sf_arena scratch = {0};
    struct sf_value_summary *summary = NULL;
    size_t len;
    r->has_tried_summary = true;
    if (!sf_arena_init(&scratch, SUMMARY_CAP) ||
        sf_value_summary_new(r->reader, scratch, &summary, NULL))
        summary = NULL; /* searches read the tables; damage is found there */
    sf_arena_done(&scratch);
    if (!summary)
        return;
    len = sf_value_summary_memory(summary);
    if (atomic_fetch_add(&rs->summaries_len, len) + len >
        rs->budget->cap[SF_LINE_READERS] / SUMMARY_PARTS) {
        atomic_fetch_sub(&rs->summaries_len, len);
        r->has_tried_summary = false; /* tried again when others are gone */
        sf_value_summary_free(summary);
        return;
    }
    sf_budget_add(rs->budget, SF_LINE_READERS, len);
    r->summary = summary;
}

static bool run_wants_summary(const struct sf_run *r, unsigned tables)
{
    return (tables & SF_TABLES_ROWS) && r->reader && !sf_run_is_part(r) && !r->has_tried_summary &&
           atomic_load(&r->home->summaries_len) <
               r->home->budget->cap[SF_LINE_READERS] / SUMMARY_PARTS / 8 * 7;
}

const struct sf_value_summary *sf_run_summary(struct sf_run *r)
{
    const struct sf_value_summary *summary;
    sf_mutex_lock(&r->lock);
    summary = r->summary;
    sf_mutex_unlock(&r->lock);
    return summary;
}

/* Opens a closed reader, decodes the requested tables, and counts the memory. */
static enum sf_err open_tables(struct sf_run *r, unsigned tables, struct sf_why *why)
{
    size_t before = memory_of(r), more;
    enum sf_err err = r->reader || r->profiles ? SF_OK : open_block(r, why);
    if (!err && r->reader)
        err = sf_span_block_reader_load(r->reader, tables, why);
    if (!err && run_wants_summary(r, tables))
        run_summarize(r);
    more = memory_of(r) - before;
    r->reader_len += more;
    if (more)
        sf_budget_add(r->home->budget, sf_run_is_part(r) ? SF_LINE_PARTS : SF_LINE_READERS, more);
    return err;
}

static bool is_damage(enum sf_err err)
{
    return err == SF_ERR_CORRUPT || err == SF_ERR_UNSUPPORTED || err == SF_ERR_NOT_FOUND;
}

/* Updates the list of open readers: size and number of uses. */
static void note_use(struct sf_run *r, size_t len, bool is_use, bool is_load)
{
    struct sf_runs *rs = r->home;
    sf_mutex_lock(&rs->lock);
    if (!r->is_listed)
        list_open(rs, r);
    if (len > r->listed_len) {
        rs->open_len[r->is_kept] += len - r->listed_len;
        r->listed_len = len;
    }
    if (is_use)
        count_use(rs, r);
    rs->n_loads += is_load;
    sf_mutex_unlock(&rs->lock);
}

static enum sf_err run_enter(struct sf_run *r, unsigned tables, struct sf_why *why)
{
    enum sf_err err;
    size_t len, before;
    bool is_use;
    struct sf_why own;
    struct sf_account *paused;

    if (!why)
        why = &own;
    if (atomic_load(&r->is_bad))
        return sf_fail(why, SF_ERR_CORRUPT, "block %s is quarantined", r->row.path);
    sf_mutex_lock(&r->lock);
    before = r->reader_len;
    paused = sf_account_pause(); /* shared by later queries: not charged to this one */
    err = open_tables(r, tables, why);
    sf_account_resume(paused);
    len = r->reader_len;
    if (!err)
        r->n_users++;
    sf_mutex_unlock(&r->lock);
    if (sf_run_is_part(r))
        return err;
    if (is_damage(err)) {
        sf_run_quarantine(r, why->text);
        err = SF_ERR_CORRUPT;
    }
    is_use = tables != SF_TABLES_NONE || r->row.kind == SF_BLOCK_PROFILES;
    if (len)
        note_use(r, len, is_use, is_use && len > before);
    if (len > before)
        run_make_room(r->home);
    return err;
}

enum sf_err sf_run_enter(struct sf_run *r, unsigned tables, const struct sf_span_block_reader **out,
                         struct sf_why *why)
{
    enum sf_err err = run_enter(r, tables, why);
    if (!err)
        *out = r->reader; /* valid while it is in use */
    return err;
}

enum sf_err sf_run_enter_profiles(struct sf_run *r, const struct sf_profile_block_reader **out,
                                  struct sf_why *why)
{
    enum sf_err err = run_enter(r, SF_TABLES_NONE, why);
    if (!err)
        *out = r->profiles;
    return err;
}

void sf_run_leave(struct sf_run *r)
{
    sf_mutex_lock(&r->lock);
    r->n_users--;
    sf_mutex_unlock(&r->lock);
}

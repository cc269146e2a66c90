/* erase.c - erasures. erase.log has one line per unfinished erasure: number, tenant, first block
 * number that is not affected, time, and the selector in hexadecimal. It is read only when the
 * catalogue was lost. A finished erasure is removed by rewriting the file, since the selector
 * itself may contain erased data. */
#include "store/local/write/erase.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/heap.h"
#include "base/num.h"
#include "base/text.h"
#include "base/time_unit.h"
#include "block/profile/profile_block_reader.h"
#include "block/span/span_block_reader.h"
#include "os/clock.h"
#include "store/local/files/directory.h"
#include "store/local/keep/pins.h"
#include "store/local/keep/verdicts.h"
#include "store/local/write/compact.h"
#include "store/local/write/flush.h"
#include "store/local/write/retain.h"
#include "wal/wal.h"

static const char log_name[] = "erase.log", new_log_name[] = "tmp/erase.log";
static const int64_t RETRY_NS = 10 * SF_NS_PER_S;
enum { MAX_TRACES = 100000, MAX_LOG_LEN = 256 << 20 };

/* ---- erase.log ---- */

static void erase_add_line(struct sf_buf *out, const struct sf_tombstone *t)
{
    struct sf_buf selector = {0};
    uint8_t *hex;
    sf_tombstones_selector_encode(&t->which, &selector);
    sf_buf_print(out, "%" PRIu64 " %u %" PRIu64 " %" PRIu64 " %" PRId64 " ", t->id, t->tenant,
                 t->below_block, t->lsn, t->created_ns);
    hex = sf_buf_ok(&selector) ? sf_buf_take(out, 2 * selector.len) : NULL;
    if (hex)
        sf_hex_encode(selector.p, selector.len, (char *)hex);
    else if (!out->err)
        out->err = SF_ERR_NOMEM;
    sf_buf_add_u8(out, '\n');
    sf_buf_done(&selector);
}

/* Writes the whole file and replaces the old one: it has few lines and changes rarely. */
static enum sf_err erase_write_log(struct sf_local *l, const struct sf_tombstones *list,
                                   struct sf_why *why)
{
    struct sf_file file = SF_FILE_NONE;
    struct sf_buf text = {.max = MAX_LOG_LEN};
    enum sf_err err = SF_OK;
    for (size_t i = 0; i < sf_tombstones_n(list); i++)
        erase_add_line(&text, sf_tombstones_get(list, i));
    if (!sf_buf_ok(&text))
        err = sf_fail(why, text.err, "erase: no memory for erase.log");
    if (!err)
        err = sf_dir_create(l->dir, new_log_name, &file, why);
    if (!err && text.len)
        err = sf_file_write_at(&file, 0, text.p, text.len, why);
    if (!err)
        err = sf_file_sync(&file, why);
    sf_file_close(&file);
    if (!err)
        err = sf_dir_rename(l->dir, new_log_name, log_name, why);
    if (!err)
        err = sf_dir_sync(l->dir, ".", why);
    sf_buf_done(&text);
    return err;
}

static bool next_number(sf_str *line, uint64_t *out)
{
    sf_str word;
    return sf_str_split_next(line, ' ', &word) && sf_str_to_u64(word, out);
}

/* ---- loading ---- */

struct loading {
    struct sf_local *l;
    struct sf_tombstones *list;
    enum sf_err err;
    struct sf_why *why;
};

static bool erase_load_one(void *arg, uint64_t id, uint32_t tenant, sf_bytes selector,
                           uint64_t below_block, uint64_t lsn, int64_t created_ns)
{
    struct loading *load = arg;
    struct sf_tombstone t = {.id = id,
                             .tenant = tenant,
                             .below_block = below_block,
                             .lsn = lsn,
                             .created_ns = created_ns};
    struct sf_tombstones *more = NULL;
    sf_trace_id *ids = sf_heap_new_n(selector.len / sizeof(*ids) + 1, sizeof(*ids));
    load->err = ids ? sf_tombstones_selector_decode(selector, ids, &t.which, load->why)
                    : SF_ERR_NOMEM;
    if (!load->err) {
        more = sf_tombstones_with(load->list, &t, 0);
        if (!more)
            load->err = SF_ERR_NOMEM;
    }
    sf_heap_free(ids);
    if (load->err == SF_ERR_NOMEM)
        sf_fail(load->why, SF_ERR_NOMEM, "erase: no memory for a tombstone");
    if (load->err)
        return false;
    sf_tombstones_unref(load->list);
    load->list = more;
    if (id >= load->l->next_erasure)
        load->l->next_erasure = id + 1;
    /* An erasure flushes first, so records up to its LSN are in blocks below its number. A rebuilt
     * catalogue may not know: the blocks with this information may have been merged or deleted.
     * Replaying those records would bring the erased rows back in blocks that the tombstone does
     * not cover. */
    if (lsn > load->l->ckpt_lsn)
        load->l->ckpt_lsn = lsn;
    if (below_block > load->l->next_block)
        load->l->next_block = below_block;
    return true;
}

static bool erase_is_known(const struct sf_tombstones *list, uint64_t id)
{
    for (size_t i = 0; i < sf_tombstones_n(list); i++) {
        if (sf_tombstones_get(list, i)->id == id)
            return true;
    }
    return false;
}

static enum sf_err load_line(struct loading *load, sf_str line)
{
    uint64_t id, tenant, below, lsn, created;
    uint8_t *raw;
    size_t len;
    if (!next_number(&line, &id) || !next_number(&line, &tenant) || tenant > UINT32_MAX ||
        !next_number(&line, &below) || !next_number(&line, &lsn) || !next_number(&line, &created))
        return sf_fail(load->why, SF_ERR_CORRUPT, "erase.log: a line cannot be read");
    if (erase_is_known(load->list, id))
        return SF_OK;
    len = line.len / 2;
    raw = sf_heap_new(len + 1);
    if (!raw)
        return sf_fail(load->why, SF_ERR_NOMEM, "erase: no memory for a tombstone");
    if (!sf_hex_decode(line, raw, len))
        load->err = sf_fail(load->why, SF_ERR_CORRUPT, "erase.log: a selector cannot be read");
    else if (erase_load_one(load, id, (uint32_t)tenant, (sf_bytes){raw, len}, below, lsn,
                            (int64_t)created))
        load->err = sf_catalogue_add_erasure(load->l->catalogue, id, (uint32_t)tenant,
                                             (sf_bytes){raw, len}, below, lsn, (int64_t)created,
                                             load->why);
    sf_heap_free(raw);
    return load->err;
}

static enum sf_err load_log(struct loading *load)
{
    struct sf_file file = SF_FILE_NONE;
    struct sf_buf text = {.max = MAX_LOG_LEN};
    sf_str rest, line;
    enum sf_err err = sf_dir_open_read(load->l->dir, log_name, &file, load->why);
    if (err == SF_ERR_NOT_FOUND)
        return SF_OK;
    if (!err)
        err = sf_file_read_all(&file, MAX_LOG_LEN, &text, load->why);
    sf_file_close(&file);
    rest = sf_buf_str(&text);
    while (!err && sf_str_split_next(&rest, '\n', &line)) {
        if (line.len)
            err = load_line(load, line);
    }
    sf_buf_done(&text);
    return err;
}

enum sf_err sf_erase_load(struct sf_local *l, bool is_rebuilt, struct sf_why *why)
{
    struct loading load = {.l = l, .why = why};
    struct sf_snapshot_change change = {.has_tombstones = true};
    enum sf_err err = sf_catalogue_erasures(l->catalogue, erase_load_one, &load, why);
    if (!err)
        err = load.err;
    if (!err) {
        err = load_log(&load);
        if (err == SF_ERR_CORRUPT && !is_rebuilt) {
            sf_local_notice(l, "store: %s; the catalogue's erasures count", why ? why->text : "");
            err = SF_OK;
        }
    }
    if (!err) {
        change.tombstones = load.list;
        err = sf_snapshot_change(&l->snapshots, &change, why);
    }
    if (err)
        sf_tombstones_unref(load.list);
    return err;
}

/* ---- erase ---- */

static enum sf_err check_selector(const struct sf_selector *which, struct sf_why *why)
{
    if (which->what == SF_SELECT_TRACES && (which->n_traces == 0 || which->n_traces > MAX_TRACES))
        return sf_fail(why, SF_ERR_INPUT, "erase: 1 to %d trace ids, not %u", MAX_TRACES,
                       which->n_traces);
    if (which->what == SF_SELECT_SERVICE && which->service.len == 0)
        return sf_fail(why, SF_ERR_INPUT, "erase: the service has no name");
    if (which->to_ns && which->to_ns < which->from_ns)
        return sf_fail(why, SF_ERR_INPUT, "erase: the range ends before it begins");
    return SF_OK;
}

static enum sf_err add_tombstone(struct sf_local *l, struct sf_tombstone *t, struct sf_why *why)
{
    struct sf_snapshot *now = sf_snapshot_take(&l->snapshots);
    struct sf_snapshot_change change = {.has_tombstones = true, .is_new_erasure = true};
    struct sf_buf selector = {0};
    enum sf_err err = SF_OK;

    sf_mutex_lock(&l->number_lock);
    t->id = l->next_erasure++;
    t->below_block = l->next_block;
    t->lsn = l->ckpt_lsn;
    sf_mutex_unlock(&l->number_lock);
    t->created_ns = sf_local_wall_ns(l);
    sf_tombstones_selector_encode(&t->which, &selector);
    change.tombstones = sf_tombstones_with(now->tombstones, t, 0);
    if (!change.tombstones || !sf_buf_ok(&selector))
        err = sf_fail(why, SF_ERR_NOMEM, "erase: no memory for a tombstone");
    if (!err)
        err = erase_write_log(l, change.tombstones, why);
    if (!err)
        err = sf_catalogue_add_erasure(l->catalogue, t->id, t->tenant, sf_buf_bytes(&selector),
                                       t->below_block, t->lsn, t->created_ns, why);
    if (!err)
        err = sf_snapshot_change(&l->snapshots, &change, why);
    if (err)
        sf_tombstones_unref(change.tombstones);
    sf_buf_done(&selector);
    sf_snapshot_unref(now);
    return err;
}

enum sf_err sf_erase_rows(struct sf_store *s, uint32_t tenant, const struct sf_selector *which,
                          struct sf_why *why)
{
    struct sf_local *l = (struct sf_local *)s;
    struct sf_tombstone t = {.tenant = tenant, .which = *which};
    enum sf_err err = check_selector(which, why);
    if (!err)
        err = sf_flush_run(l, why); /* earlier rows are then in numbered blocks */
    if (err)
        return err;
    sf_mutex_lock(&l->erase_lock);
    err = add_tombstone(l, &t, why);
    if (!err)
        err = sf_pins_erase(l, tenant, which, why);
    sf_mutex_unlock(&l->erase_lock);
    if (!err) {
        sf_partials_drop_tenant(&l->partials, tenant); /* they may contain erased values */
        sf_local_wake_compact(l);
    }
    return err;
}

/* ---- background ---- */

static bool holds_tenant(const struct sf_span_block_reader *reader, uint32_t tenant, sf_str service,
                         bool is_any_service)
{
    uint32_t n;
    const struct sf_resource *list = sf_span_block_reader_resources(reader, &n);
    for (uint32_t i = 0; i < n; i++) {
        if (sf_span_block_reader_resource_tenant(reader, i) == tenant &&
            (is_any_service || sf_str_eq(list[i].service, service)))
            return true;
    }
    return false;
}

/* Does any service of the tenant have the trace in its details? The aggregate has no ids. */
static enum sf_err holds_traces(const struct sf_profile_block_reader *reader,
                                const struct sf_tombstone *t, uint32_t service,
                                struct sf_arena scratch, bool *out, struct sf_why *why)
{
    struct sf_profile_places places;
    enum sf_err err = sf_profile_tables_decode_places(reader, service, &scratch, &places, why);
    for (uint32_t i = 0; !err && !*out && i < t->which.n_traces; i++) {
        struct sf_arena tmp = scratch;
        const uint32_t *list;
        uint32_t n;
        err = sf_profile_samples_find_trace(reader, &places, t->which.trace_ids[i], &tmp, &list, &n,
                                            why);
        *out = !err && n > 0;
    }
    return err;
}

static enum sf_err may_hold_profiles(struct sf_run *run, const struct sf_tombstone *t, bool *out,
                                     struct sf_why *why)
{
    const struct sf_profile_block_reader *reader;
    const struct sf_profile_service *services;
    struct sf_arena scratch = {0};
    uint32_t n;
    enum sf_err err = sf_run_enter_profiles(run, &reader, why);
    if (err)
        return err;
    *out = false;
    if (!sf_arena_init(&scratch, 256 << 20))
        err = sf_fail(why, SF_ERR_NOMEM, "erase: no memory to look for a trace");
    services = sf_profile_block_reader_services(reader, &n);
    for (uint32_t i = 0; !err && !*out && i < n; i++) {
        if (services[i].tenant != t->tenant)
            continue;
        if (t->which.what == SF_SELECT_TRACES)
            err = holds_traces(reader, t, i, scratch, out, why);
        else
            *out = t->which.what == SF_SELECT_ALL || sf_str_eq(services[i].name, t->which.service);
    }
    if (err == SF_ERR_CORRUPT)
        sf_run_quarantine(run, why ? why->text : "damaged");
    sf_arena_done(&scratch);
    sf_run_leave(run);
    return err;
}

/* May the block contain rows that the tombstone selects? */
static enum sf_err erase_may_hold(struct sf_run *run, const struct sf_tombstone *t, bool *out,
                                  struct sf_why *why)
{
    const struct sf_span_block_reader *reader;
    struct sf_arena scratch = {0};
    enum sf_err err = sf_run_enter(run, SF_TABLES_ROWS, &reader, why);
    if (err)
        return err;
    *out = false;
    if (t->which.what != SF_SELECT_TRACES) {
        *out = holds_tenant(reader, t->tenant, t->which.service, t->which.what == SF_SELECT_ALL);
    } else if (!sf_arena_init(&scratch, 64 << 20)) {
        err = sf_fail(why, SF_ERR_NOMEM, "erase: no memory to look for a trace");
    } else {
        for (uint32_t i = 0; !err && !*out && i < t->which.n_traces; i++) {
            struct sf_trace_place place;
            err = sf_filter_probe_find_trace(reader, t->tenant, t->which.trace_ids[i], scratch, out,
                                             &place, why);
        }
    }
    sf_arena_done(&scratch);
    sf_run_leave(run);
    return err;
}

static enum sf_err rewrite_blocks(struct sf_local *l, const struct sf_tombstone *t, uint8_t kind,
                                  bool *out_is_clean, struct sf_why *why)
{
    struct sf_snapshot *s = sf_snapshot_take(sf_local_snapshots(l, kind));
    enum sf_err err = SF_OK;
    for (size_t i = 0; !err && i < s->n; i++) {
        struct sf_run *run = s->runs[i];
        bool is_meant = false;
        if (!sf_tombstones_touches(t, run->row.id, run->row.tenant, run->row.ts_min_ns,
                                   run->row.ts_max_ns))
            continue;
        if (atomic_load(&run->is_bad)) {
            *out_is_clean = false; /* it may contain some; hidden until retention deletes it */
            continue;
        }
        err = kind == SF_BLOCK_PROFILES ? may_hold_profiles(run, t, &is_meant, why)
                                        : erase_may_hold(run, t, &is_meant, why);
        if (!err && is_meant)
            err = sf_compact_rewrite(l, run, why);
        if (err == SF_ERR_CORRUPT) {
            *out_is_clean = false;
            err = SF_OK;
        }
    }
    sf_snapshot_unref(s);
    return err;
}

static enum sf_err forget_tombstone(struct sf_local *l, uint64_t id, struct sf_why *why)
{
    struct sf_snapshot *now;
    struct sf_snapshot_change change = {.has_tombstones = true};
    enum sf_err err;
    sf_mutex_lock(&l->erase_lock);
    now = sf_snapshot_take(&l->snapshots);
    change.tombstones = sf_tombstones_with(now->tombstones, NULL, id);
    err = change.tombstones ? sf_catalogue_end_erasure(l->catalogue, id, why)
                            : sf_fail(why, SF_ERR_NOMEM, "erase: no memory");
    if (!err)
        err = erase_write_log(l, change.tombstones, why);
    if (!err)
        err = sf_snapshot_change(&l->snapshots, &change, why);
    if (err)
        sf_tombstones_unref(change.tombstones);
    sf_snapshot_unref(now);
    sf_mutex_unlock(&l->erase_lock);
    return err;
}

enum sf_err sf_erase_work(struct sf_local *l, uint64_t *out_n_left, struct sf_why *why)
{
    struct sf_snapshot *s = sf_snapshot_take(&l->snapshots);
    struct sf_tombstones *list = sf_tombstones_ref(s->tombstones);
    enum sf_err err = SF_OK;
    uint64_t n_orphans = 0;
    int64_t now_ns = sf_local_mono_ns(l);
    sf_snapshot_unref(s);

    /* If it could not be finished (readers remain, orphans are recent), do not retry on every
     * tick. */
    if (l->erase_retry_ns && now_ns < l->erase_retry_ns &&
        sf_tombstones_n(list) == l->n_erasures_left) {
        sf_tombstones_unref(list);
        return SF_OK;
    }

    *out_n_left = sf_tombstones_n(list);
    for (size_t i = 0; !err && i < sf_tombstones_n(list); i++) {
        const struct sf_tombstone *t = sf_tombstones_get(list, i);
        bool is_clean = true;
        err = rewrite_blocks(l, t, SF_BLOCK_SPANS, &is_clean, why);
        if (!err)
            err = rewrite_blocks(l, t, SF_BLOCK_PROFILES, &is_clean, why);
        if (!err)
            err = sf_verdicts_erase(l, t->tenant, &t->which, why);
        if (!err)
            err = sf_pins_erase(l, t->tenant, &t->which, why); /* needed after a crash in between */
        if (!err)
            err = sf_compact_delete_dead(l, why); /* delete the old files before the tombstone */
        for (int tries = 0; !err && tries < 5 && sf_wal_oldest_lsn(l->wal) <= t->lsn; tries++) {
            if (tries)
                sf_clock_sleep_ms(20);  /* a slot was being reused or deleted */
            err = sf_flush_run(l, why); /* so that the active slot is not needed */
            if (!err)
                err = sf_wal_scrub(l->wal, why);
        }
        if (!err)
            err = sf_directory_sweep(l->dir, sf_retain_now(l), l->tune.orphan_age_ns, &n_orphans,
                                     why);
        if (err || !is_clean || n_orphans || sf_wal_oldest_lsn(l->wal) <= t->lsn ||
            !sf_compact_is_deleted(l, t))
            continue;
        err = forget_tombstone(l, t->id, why);
        if (!err)
            (*out_n_left)--;
    }
    sf_tombstones_unref(list);
    l->n_erasures_left = *out_n_left;
    l->erase_retry_ns = *out_n_left ? now_ns + RETRY_NS : 0;
    if (err)
        sf_why_prefix(why, "erase");
    return err;
}

/* rebuild.c - decides which block files count:
 *
 *   a flush   counts if all its siblings exist (or were merged since: a merged block names them),
 *             or if it is not the newest one: an older flush had been committed, because the
 *             next one only starts after that, and files of an uncommitted flush are moved away
 *             at the next start. So only the newest flush can be incomplete, and then the log
 *             still has its rows.
 *   a merge   counts if all its siblings exist: then the blocks it replaces are ignored.
 *             Otherwise its outputs are ignored if every block it replaces still exists; if one
 *             is missing, the merge had been committed and all of it counts.
 *
 * In case of doubt a block counts: duplicate rows are recognised by their ids, but missing rows
 * would be lost. The checkpoint is the largest lsn_hi of the blocks that count. */
#include "store/local/files/rebuild.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/num.h"
#include "base/time_unit.h"
#include "block/profile/profile_block_reader.h"
#include "block/span/span_block_reader.h"
#include "store/local/files/directory.h"

struct found {
    struct sf_block_row row;
    uint16_t n_siblings, sibling;
    bool is_merge, is_ignored;
    uint64_t *sources;
    size_t n_sources;
};

struct search {
    struct sf_local *l;
    bool has_uuid;
    uint8_t uuid[16];
    struct found *list;
    size_t n, cap;
    enum sf_err err;
    struct sf_why *why;
};

static int64_t day_of_path(const char *path)
{
    int y = 1970, m = 1, d = 1;
    int64_t days;
    (void)sscanf(path, "%*[a-z]/%d-%d-%d/", &y, &m, &d);
    /* Days from civil, years beginning in March so that the leap day comes last. */
    y -= m <= 2;
    days = (int64_t)y * 365 + y / 4 - y / 100 + y / 400 + (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 +
           d - 1;
    return days - 719468;
}

struct opened { /* a block of either kind */
    struct sf_span_block_reader *spans;
    struct sf_profile_block_reader *profiles;
};

static const struct sf_span_block_info *info_of(const struct opened *o)
{
    return o->profiles ? sf_profile_block_reader_info(o->profiles)
                       : sf_span_block_reader_info(o->spans);
}

static void close_both(const struct opened *o)
{
    sf_span_block_reader_close(o->spans);
    sf_profile_block_reader_close(o->profiles);
}

static uint8_t kind_of_path(const char *path)
{
    return sf_str_starts(sf_str_from(path), SF_STR("prof/")) ? SF_BLOCK_PROFILES : SF_BLOCK_SPANS;
}

static bool fill_row(struct search *s, const char *path, const struct opened *o, struct found *f)
{
    const struct sf_span_block_info *info = info_of(o);
    const uint64_t *sources = o->profiles
                                  ? sf_profile_block_reader_sources(o->profiles, &f->n_sources)
                                  : sf_span_block_reader_sources(o->spans, &f->n_sources);
    int64_t latest = sf_add_sat_i64(info->created_ns, SF_NS_PER_HOUR);
    f->row = (struct sf_block_row){
        .id = info->block_id,
        .tenant = info->tenant,
        .kind = kind_of_path(path),
        .level = info->level,
        .state = SF_BLOCK_LIVE,
        .day = day_of_path(path),
        .ts_min_ns = info->ts_min_ns,
        .ts_max_ns = info->ts_max_ns < latest ? info->ts_max_ns : latest,
        .n_rows = info->n_rows,
        .len = o->profiles ? sf_profile_block_reader_len(o->profiles)
                           : sf_span_block_reader_len(o->spans),
        .lsn_lo = info->lsn_lo,
        .lsn_hi = info->lsn_hi,
        .flush_no = info->flush_no,
        .created_ns = info->created_ns,
    };
    snprintf(f->row.path, sizeof(f->row.path), "%s", path);
    f->n_siblings = info->n_siblings;
    f->sibling = info->sibling;
    f->is_merge = info->level > 0;
    if (f->n_sources) {
        f->is_merge = true;
        f->sources = sf_heap_new_n(f->n_sources, sizeof(uint64_t));
        if (!f->sources)
            return false;
        memcpy(f->sources, sources, f->n_sources * sizeof(uint64_t));
    }
    if (!s->has_uuid) {
        memcpy(s->uuid, info->store_uuid, 16);
        s->has_uuid = true;
    }
    return true;
}

static bool rebuild_add_found(struct search *s, const struct found *f)
{
    if (!sf_list_room(&s->list, s->n, &s->cap, 64))
        return false;
    s->list[s->n++] = *f;
    return true;
}

static bool rebuild_see_block(void *arg, const char *path, uint64_t id)
{
    struct search *s = arg;
    struct sf_file file = SF_FILE_NONE;
    struct opened reader = {0};
    struct found f = {0};
    struct sf_why why = {0};
    enum sf_err err = sf_dir_open_read(s->l->dir, path, &file, &why);
    if (!err)
        err = kind_of_path(path) == SF_BLOCK_PROFILES
                  ? sf_profile_block_reader_open(&file, &reader.profiles, &why)
                  : sf_span_block_reader_open(&file, SF_TABLES_ALL, &reader.spans, &why);
    sf_file_close(&file);
    if (err == SF_ERR_NOMEM) {
        s->err = sf_fail(s->why, err, "rebuild: no memory");
        return false;
    }
    if (err) {
        /* Damaged: it gets a row anyway, so that it is counted, reported and kept. */
        f.row = (struct sf_block_row){.id = id, .kind = kind_of_path(path), .state = SF_BLOCK_BAD};
        f.row.day = day_of_path(path);
        f.row.ts_min_ns = f.row.day * SF_NS_PER_DAY;
        f.row.ts_max_ns = f.row.ts_min_ns + SF_NS_PER_DAY - 1;
        snprintf(f.row.path, sizeof(f.row.path), "%s", path);
        sf_local_notice(s->l, "store: rebuild: %s is damaged: %s", path, why.text);
    } else if (!fill_row(s, path, &reader, &f)) {
        s->err = sf_fail(s->why, SF_ERR_NOMEM, "rebuild: no memory");
    }
    if (!s->err && !err &&
        (f.row.id != id || memcmp(info_of(&reader)->store_uuid, s->uuid, 16) != 0)) {
        sf_local_notice(s->l, "store: rebuild: %s belongs to another store; left alone", path);
        sf_heap_free(f.sources);
        close_both(&reader);
        return true;
    }
    close_both(&reader);
    if (!s->err && !rebuild_add_found(s, &f))
        s->err = sf_fail(s->why, SF_ERR_NOMEM, "rebuild: no memory");
    if (s->err)
        sf_heap_free(f.sources);
    return !s->err;
}

/* ---- what counts ---- */

static int rebuild_compare_ids(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    return x->row.id < y->row.id ? -1 : x->row.id > y->row.id;
}

static struct found *rebuild_find_id(const struct search *s, uint64_t id)
{
    struct found key = {.row = {.id = id}};
    return bsearch(&key, s->list, s->n, sizeof(key), rebuild_compare_ids);
}

static bool rebuild_is_replaced(const struct search *s, uint64_t id)
{
    for (size_t i = 0; i < s->n; i++) {
        for (size_t k = 0; k < s->list[i].n_sources; k++) {
            if (s->list[i].sources[k] == id)
                return true;
        }
    }
    return false;
}

static size_t count_siblings(const struct search *s, const struct found *f)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct found *other = &s->list[i];
        if (other->row.flush_no == f->row.flush_no && other->is_merge == f->is_merge &&
            other->row.state == SF_BLOCK_LIVE)
            n++;
    }
    return n;
}

static bool has_all_sources(const struct search *s, const struct found *f)
{
    for (size_t i = 0; i < f->n_sources; i++) {
        if (!rebuild_find_id(s, f->sources[i]))
            return false;
    }
    return f->n_sources > 0;
}

static void rebuild_judge(struct search *s)
{
    uint64_t newest_flush = 0;
    if (s->n)
        qsort(s->list, s->n, sizeof(*s->list), rebuild_compare_ids);
    for (size_t i = 0; i < s->n; i++) {
        if (!s->list[i].is_merge && s->list[i].row.flush_no > newest_flush)
            newest_flush = s->list[i].row.flush_no;
    }
    for (size_t i = 0; i < s->n; i++) {
        struct found *f = &s->list[i];
        size_t n = count_siblings(s, f);
        if (f->row.state != SF_BLOCK_LIVE)
            continue;
        if (f->is_merge)
            f->is_ignored = n < f->n_siblings && has_all_sources(s, f);
        else if (f->row.flush_no == newest_flush && n < f->n_siblings) {
            /* Siblings have consecutive numbers; one that was merged is not missing. */
            uint64_t first = f->row.id - f->sibling;
            bool is_missing = false;
            for (uint64_t id = first; id < first + f->n_siblings; id++)
                is_missing = is_missing || (!rebuild_find_id(s, id) && !rebuild_is_replaced(s, id));
            f->is_ignored = is_missing;
        }
    }
    for (size_t i = 0; i < s->n; i++) {
        struct found *f = &s->list[i];
        for (size_t k = 0; f->is_merge && !f->is_ignored && k < f->n_sources; k++) {
            struct found *input = rebuild_find_id(s, f->sources[k]);
            if (input && input != f)
                input->is_ignored = true;
        }
    }
}

enum sf_err sf_rebuild(struct sf_local *l, bool has_uuid, struct sf_catalogue_meta *io_meta,
                       struct sf_block_row **out_rows, size_t *out_n, struct sf_why *why)
{
    struct search s = {.l = l, .has_uuid = has_uuid, .why = why};
    struct sf_block_row *rows = NULL;
    size_t n = 0;
    int64_t now_ns = l->now_ns;
    enum sf_err err;

    memcpy(s.uuid, io_meta->uuid, 16);
    err = sf_directory_blocks(l->dir, rebuild_see_block, &s, why);
    if (!err)
        err = s.err;
    if (!err) {
        rebuild_judge(&s);
        rows = sf_heap_new_n(s.n + 1, sizeof(*rows));
        if (!rows)
            err = sf_fail(why, SF_ERR_NOMEM, "rebuild: no memory");
    }
    for (size_t i = 0; !err && i < s.n; i++) {
        const struct sf_block_row *row = &s.list[i].row;
        if (row->id >= io_meta->next_block)
            io_meta->next_block = row->id + 1;
        if (row->flush_no >= io_meta->next_flush)
            io_meta->next_flush = row->flush_no + 1;
        if (s.list[i].is_ignored) {
            err = sf_directory_orphan(l->dir, row->path, now_ns, why);
            continue;
        }
        if (row->lsn_hi > io_meta->ckpt_lsn)
            io_meta->ckpt_lsn = row->lsn_hi;
        rows[n++] = *row;
    }
    memcpy(io_meta->uuid, s.uuid, 16);
    for (size_t i = 0; i < s.n; i++)
        sf_heap_free(s.list[i].sources);
    sf_heap_free(s.list);
    if (err) {
        sf_heap_free(rows);
        return err;
    }
    if (n)
        sf_local_notice(l, "store: the catalogue was lost and has been rebuilt from %zu blocks", n);
    *out_rows = rows;
    *out_n = n;
    return SF_OK;
}

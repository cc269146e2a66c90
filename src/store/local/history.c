/* history.c - the folder "moving": second names of blocks, and their list.
 *
 *     spanflame-moving 1 0123456789abcdef    a checksum of what follows
 *     s 00000000000000a1 12 20775            spans; the block's number, its pieces, its day
 *     p 00000000000000a2 3 20775             profiles
 *
 * The list is written last: a folder without one is the rest of an interrupted attempt. One block
 * is open at a time. */
#include "store/local/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked_lines.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/text.h"
#include "base/time_unit.h"
#include "block/span/span_block_reader.h"
#include "store/local/engine.h"
#include "store/local/history_profiles.h"

enum { NAME_CAP = 300, LIST_LEN = 64 << 20 };
#define LIST      SF_HISTORY_FOLDER "/list"
#define ARENA_CAP ((size_t)2 << 30) /* reserved address space; a piece uses some megabytes */

static const char head[] = "spanflame-moving 1 ";

struct moved_block {
    uint8_t kind;
    uint64_t id;
    uint32_t n_pieces;
    int64_t day;
    uint64_t first; /* number of its first piece */
};

struct sf_history {
    struct sf_local *l;
    struct moved_block *blocks;
    uint32_t n_blocks, cap_blocks;
    uint64_t n_pieces;
    /* The block that is open: */
    uint32_t at; /* SF_NONE: none */
    struct sf_span_block_reader *spans;
    struct sf_profile_block_reader *profiles;
    struct sf_history_cut *cuts; /* of a block of profiles */
    uint32_t n_cuts, cap_cuts;
    struct sf_arena arena;
    /* The last piece: */
    struct sf_span *rows;
    uint32_t cap_rows;
    struct sf_span_batch batch;
    struct sf_history_profiles sums;
};

/* ---- which blocks ---- */

static bool history_has(struct sf_snapshots *snapshots, uint64_t lsn)
{
    struct sf_snapshot *s = sf_snapshot_take(snapshots);
    bool has = false;
    for (size_t i = 0; i < s->n && !has; i++)
        has = !sf_run_is_part(s->runs[i]) && s->runs[i]->row.lsn_lo <= lsn;
    sf_snapshot_unref(s);
    return has;
}

bool sf_history_exists(struct sf_store *s, uint64_t lsn)
{
    struct sf_local *l = (struct sf_local *)s;
    return history_has(&l->snapshots, lsn) || history_has(&l->prof_snapshots, lsn);
}

void sf_history_keep_apart(struct sf_store *s, uint64_t lsn)
{
    atomic_store(&((struct sf_local *)s)->history_lsn, lsn);
}

static void history_name(uint8_t kind, uint64_t id, char out[NAME_CAP])
{
    snprintf(out, NAME_CAP, SF_HISTORY_FOLDER "/%c%016" PRIx64,
             kind == SF_BLOCK_PROFILES ? 'p' : 's', id);
}

/* ---- blocks ---- */

static bool history_add_cut(void *arg, const struct sf_history_cut *cut)
{
    struct sf_history *h = arg;
    if (!sf_list_room(&h->cuts, h->n_cuts, &h->cap_cuts, 64))
        return false;
    h->cuts[h->n_cuts++] = *cut;
    return true;
}

static void history_leave(struct sf_history *h)
{
    sf_span_block_reader_close(h->spans);
    sf_profile_block_reader_close(h->profiles);
    h->spans = NULL;
    h->profiles = NULL;
    h->n_cuts = 0;
    h->at = SF_NONE;
}

/* Opens a block of the folder; `*out_n`: its pieces. */
static enum sf_err history_enter(struct sf_history *h, uint8_t kind, uint64_t id, uint32_t *out_n,
                                 struct sf_why *why)
{
    struct sf_file file = SF_FILE_NONE;
    char name[NAME_CAP];
    enum sf_err err;
    history_leave(h);
    history_name(kind, id, name);
    err = sf_dir_open_read(h->l->dir, name, &file, why);
    if (!err && kind == SF_BLOCK_SPANS) {
        err = sf_span_block_reader_open(&file, SF_TABLES_NAMES | SF_TABLES_ROWS, &h->spans, why);
        *out_n = err ? 0 : sf_span_block_reader_granules(h->spans);
    } else if (!err) {
        err = sf_profile_block_reader_open(&file, &h->profiles, why);
        if (!err)
            err = sf_history_profiles_cut(h->profiles, &h->arena, history_add_cut, h, why);
        *out_n = h->n_cuts;
    }
    sf_file_close(&file);
    if (err)
        history_leave(h);
    return err;
}

/* ---- collect ---- */

static int history_cmp(const void *a, const void *b)
{
    const struct moved_block *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->day != y->day)
        return x->day < y->day ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static enum sf_err history_link(struct sf_history *h, uint8_t kind, const struct sf_run *run,
                                uint64_t lsn, struct sf_why *why)
{
    struct moved_block *b;
    char name[NAME_CAP];
    enum sf_err err;
    if (sf_run_is_part(run) || atomic_load(&run->is_bad) || run->row.lsn_lo > lsn)
        return SF_OK;
    if (run->row.lsn_hi > lsn)
        return sf_fail(why, SF_ERR_UNSUPPORTED,
                       "%s has data from before and after this node began to ship: it was merged "
                       "by an earlier version of this program",
                       run->row.path);
    if (!sf_list_room(&h->blocks, h->n_blocks, &h->cap_blocks, 64))
        return sf_no_memory(why, "a list of blocks");
    history_name(kind, run->row.id, name);
    err = sf_dir_link(h->l->dir, run->row.path, name, why);
    b = &h->blocks[h->n_blocks];
    *b = (struct moved_block){.kind = kind, .id = run->row.id, .day = run->row.day};
    if (!err)
        err = history_enter(h, kind, b->id, &b->n_pieces, why);
    if (err == SF_ERR_CORRUPT) /* the store leaves it out, too */
        return SF_OK;
    h->n_blocks += !err;
    return err;
}

static enum sf_err history_link_all(struct sf_history *h, uint8_t kind, uint64_t lsn,
                                    struct sf_why *why)
{
    struct sf_snapshot *s = sf_snapshot_take(sf_local_snapshots(h->l, kind));
    enum sf_err err = SF_OK;
    for (size_t i = 0; !err && i < s->n; i++)
        err = history_link(h, kind, s->runs[i], lsn, why);
    sf_snapshot_unref(s);
    return err;
}

static enum sf_err history_write(struct sf_history *h, struct sf_why *why)
{
    struct sf_buf body = {0}, text = {0};
    enum sf_err err = sf_dir_sync(h->l->dir, SF_HISTORY_FOLDER, why);
    if (h->n_blocks)
        qsort(h->blocks, h->n_blocks, sizeof(*h->blocks), history_cmp);
    for (uint32_t i = 0; i < h->n_blocks; i++) {
        const struct moved_block *b = &h->blocks[i];
        sf_buf_print(&body, "%c %016" PRIx64 " %" PRIu32 " %" PRId64 "\n",
                     b->kind == SF_BLOCK_PROFILES ? 'p' : 's', b->id, b->n_pieces, b->day);
    }
    sf_checked_lines_write(head, &body, &text);
    if (!err)
        err = sf_buf_ok(&text) ? sf_dir_replace(h->l->dir, LIST, sf_buf_bytes(&text), why)
                               : sf_no_memory(why, "a list of blocks");
    if (!err)
        err = sf_dir_sync(h->l->dir, SF_HISTORY_FOLDER, why);
    sf_buf_done(&text);
    return err;
}

static struct sf_history *history_new(struct sf_store *s)
{
    struct sf_history *h = sf_heap_new(sizeof(*h));
    if (!h || !sf_arena_init(&h->arena, ARENA_CAP)) {
        sf_heap_free(h);
        return NULL;
    }
    h->l = (struct sf_local *)s;
    h->at = SF_NONE;
    return h;
}

enum sf_err sf_history_collect(struct sf_store *s, uint64_t lsn, struct sf_why *why)
{
    struct sf_history *h = history_new(s);
    struct sf_snapshot *now;
    size_t n_hidden;
    enum sf_err err;
    if (!h)
        return sf_no_memory(why, "a list of blocks");
    err = sf_history_remove(s, why);
    now = sf_snapshot_take(&h->l->snapshots);
    n_hidden = sf_tombstones_n(now->tombstones);
    sf_snapshot_unref(now);
    if (!err && n_hidden)
        err = sf_fail(why, SF_ERR_BUSY,
                      "%zu erasures are not finished on this node's disk: try again", n_hidden);
    if (!err)
        err = sf_dir_make(h->l->dir, SF_HISTORY_FOLDER, why);
    if (!err)
        err = history_link_all(h, SF_BLOCK_SPANS, lsn, why);
    if (!err)
        err = history_link_all(h, SF_BLOCK_PROFILES, lsn, why);
    if (!err)
        err = history_write(h, why);
    if (err)
        (void)sf_history_remove(s, NULL);
    sf_history_close(h);
    return err;
}

static bool history_unlink(void *arg, const char *entry, bool is_dir)
{
    struct sf_local *l = arg;
    char name[NAME_CAP];
    snprintf(name, sizeof(name), SF_HISTORY_FOLDER "/%.200s", entry);
    if (!is_dir)
        (void)sf_dir_unlink(l->dir, name, NULL);
    return true;
}

enum sf_err sf_history_remove(struct sf_store *s, struct sf_why *why)
{
    struct sf_local *l = (struct sf_local *)s;
    enum sf_err err = sf_dir_unlink(l->dir, LIST, why); /* first: without it the rest is nothing */
    if (!err && !sf_dir_exists(l->dir, SF_HISTORY_FOLDER))
        return SF_OK;
    if (!err)
        err = sf_dir_sync(l->dir, SF_HISTORY_FOLDER, why);
    if (!err)
        err = sf_dir_list(l->dir, SF_HISTORY_FOLDER, history_unlink, l, why);
    return err ? err : sf_dir_remove(l->dir, SF_HISTORY_FOLDER, why);
}

/* ---- open ---- */

static bool history_read_line(struct sf_history *h, sf_str line)
{
    struct moved_block *b;
    sf_str word;
    uint64_t n, day;
    uint8_t id[8];
    if (!sf_list_room(&h->blocks, h->n_blocks, &h->cap_blocks, 64))
        return false;
    b = &h->blocks[h->n_blocks];
    *b = (struct moved_block){.first = h->n_pieces + 1};
    if (!sf_str_split_next(&line, ' ', &word) || word.len != 1)
        return false;
    b->kind = word.p[0] == 'p' ? SF_BLOCK_PROFILES : SF_BLOCK_SPANS;
    if (!sf_str_split_next(&line, ' ', &word) || !sf_hex_decode(word, id, sizeof(id)))
        return false;
    for (size_t i = 0; i < sizeof(id); i++)
        b->id = b->id << 8 | id[i];
    if (!sf_str_split_next(&line, ' ', &word) || !sf_str_to_u64(word, &n) || n > UINT32_MAX ||
        !sf_str_to_u64(line, &day) || day > UINT16_MAX)
        return false;
    b->n_pieces = (uint32_t)n;
    b->day = (int64_t)day;
    h->n_pieces += n;
    h->n_blocks++;
    return true;
}

static enum sf_err history_read_list(struct sf_history *h, struct sf_buf *text, struct sf_why *why)
{
    struct sf_file file = SF_FILE_NONE;
    uint64_t len = 0;
    int64_t ns;
    size_t n = 0;
    uint8_t *to;
    enum sf_err err = sf_dir_stat(h->l->dir, LIST, &len, &ns, why);
    if (err)
        return err;
    if (len > LIST_LEN)
        return sf_fail(why, SF_ERR_CORRUPT, LIST " is too long");
    to = sf_buf_take(text, (size_t)len);
    if (!to)
        return sf_no_memory(why, "a list of blocks");
    err = sf_dir_open_read(h->l->dir, LIST, &file, why);
    if (!err)
        err = sf_file_read_some(&file, 0, to, (size_t)len, &n, why);
    sf_file_close(&file);
    text->len = n;
    return err;
}

enum sf_err sf_history_open(struct sf_store *s, struct sf_history **out, struct sf_why *why)
{
    struct sf_history *h = history_new(s);
    struct sf_buf text = {0};
    sf_str rest, line;
    enum sf_err err = h ? history_read_list(h, &text, why) : sf_no_memory(why, "a list of blocks");
    if (!err)
        err = sf_checked_lines_read(head, LIST, sf_buf_str(&text), &rest, why);
    while (!err && sf_str_split_next(&rest, '\n', &line)) {
        if (line.len && !history_read_line(h, line))
            err = sf_fail(why, SF_ERR_CORRUPT, LIST " is damaged");
    }
    sf_buf_done(&text);
    if (err) {
        sf_history_close(h);
        return err;
    }
    *out = h;
    return SF_OK;
}

void sf_history_close(struct sf_history *h)
{
    if (!h)
        return;
    history_leave(h);
    sf_arena_done(&h->arena);
    sf_heap_free(h->cuts);
    sf_heap_free(h->rows);
    sf_heap_free(h->blocks);
    sf_heap_free(h);
}

uint64_t sf_history_pieces(const struct sf_history *h)
{
    return h->n_pieces;
}

/* ---- read ---- */

static uint32_t history_find(const struct sf_history *h, uint64_t number)
{
    uint32_t from = 0, to = h->n_blocks;
    while (to - from > 1) { /* the last block whose first piece is not after it */
        uint32_t mid = from + (to - from) / 2;
        if (h->blocks[mid].first <= number)
            from = mid;
        else
            to = mid;
    }
    return from;
}

bool sf_history_is_same_day(const struct sf_history *h, uint64_t number, uint64_t other)
{
    if (!number || !other || number > h->n_pieces || other > h->n_pieces)
        return false;
    return h->blocks[history_find(h, number)].day == h->blocks[history_find(h, other)].day;
}

static enum sf_err history_read_spans(struct sf_history *h, uint32_t granule,
                                      struct sf_history_piece *out, struct sf_why *why)
{
    struct sf_span_rows rows;
    enum sf_err err = sf_granule_view_read(h->spans, granule, SF_COL_ALL, NULL, 0, &h->arena, &rows,
                                           why);
    if (err)
        return err;
    if (rows.n_rows > h->cap_rows) {
        sf_heap_free(h->rows);
        h->cap_rows = rows.n_rows;
        h->rows = sf_heap_new_n(h->cap_rows, sizeof(*h->rows));
    }
    if (!h->rows) {
        h->cap_rows = 0;
        return sf_no_memory(why, "the spans of a block");
    }
    for (uint32_t i = 0; i < rows.n_rows; i++)
        h->rows[i] = sf_span_rows_get(&rows, i);
    h->batch = (struct sf_span_batch){.resources = rows.resources,
                                      .scopes = rows.scopes,
                                      .spans = h->rows,
                                      .n_resources = rows.n_resources,
                                      .n_scopes = rows.n_scopes,
                                      .n_spans = rows.n_rows};
    out->spans = &h->batch;
    out->tenant = sf_span_block_reader_granule(h->spans, granule)->tenant;
    return SF_OK;
}

static enum sf_err history_read_profiles(struct sf_history *h, uint32_t place,
                                         struct sf_history_piece *out, struct sf_why *why)
{
    uint32_t n;
    const struct sf_profile_service *services = sf_profile_block_reader_services(h->profiles, &n);
    out->profiles = &h->sums;
    out->tenant = services[h->cuts[place].service].tenant;
    return sf_history_profiles_read(h->profiles, &h->cuts[place], &h->arena, &h->sums, why);
}

enum sf_err sf_history_read(struct sf_history *h, uint64_t number, struct sf_history_piece *out,
                            struct sf_why *why)
{
    uint32_t at, n = 0, place;
    const struct sf_span_block_info *info;
    int64_t last;
    enum sf_err err = SF_OK;
    if (number == 0 || number > h->n_pieces)
        return sf_fail(why, SF_ERR_NOT_FOUND, "there is no piece %" PRIu64, number);
    at = history_find(h, number);
    if (h->at != at) {
        err = history_enter(h, h->blocks[at].kind, h->blocks[at].id, &n, why);
        if (!err && n != h->blocks[at].n_pieces)
            err = sf_fail(why, SF_ERR_CORRUPT, LIST " does not fit its blocks");
        if (err)
            return err;
        h->at = at;
    }
    sf_arena_reset(&h->arena);
    *out = (struct sf_history_piece){0};
    info = h->spans ? sf_span_block_reader_info(h->spans)
                    : sf_profile_block_reader_info(h->profiles);
    last = (h->blocks[at].day + 1) * SF_NS_PER_DAY - 1;
    out->at_ns = info->ts_max_ns < last ? info->ts_max_ns : last;
    place = (uint32_t)(number - h->blocks[at].first);
    return h->spans ? history_read_spans(h, place, out, why)
                    : history_read_profiles(h, place, out, why);
}

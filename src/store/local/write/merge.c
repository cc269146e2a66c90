/* merge.c - merges runs of spans in two passes.
 *
 * The first pass reads only ids and times of all inputs and notes 40 bytes per piece (the rows of
 * one trace in one granule that fall into one window). Sorted by window, tenant and hash, the
 * pieces of a trace are adjacent and get its first start; sorted again by that start they are in
 * output order, and the rows of each output can be counted, which its header needs before the first
 * byte is written.
 *
 * A granule of which every trace is complete (no other input has rows of it, none is hidden, all
 * are in one window) becomes one piece: it is copied as it is stored. If traces arrive within one
 * flush, as nearly all do, that applies to nearly every granule. These granules are written between
 * the chunks of the second pass, approximately by time.
 *
 * The second pass processes the other pieces in chunks of some ten thousand rows. For each chunk
 * every granule that has a piece is decoded once, and the rows needed are copied into a rowset,
 * which is then written like a memtable. Memory is one decoded granule and one rowset, however much
 * the inputs overlap. In return, a granule is decoded once per chunk that needs it: once or twice
 * when blocks follow each other in time, more often for the parts of a flush, which overlap.
 *
 * Two traces whose 64-bit hashes collide only end up in the same chunk: the rowset compares ids. */
#include "store/local/write/merge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/num.h"
#include "base/time_unit.h"
#include "block/span/granule_carry.h"
#include "block/span/granule_copy.h"
#include "block/span/span_block_reader.h"
#include "block/span/span_block_writer.h"
#include "store/local/write/block_file.h"
#include "store/local/write/merge_plan.h"

enum {
    ARENA_CAP = 1 << 30, /* reserved address space */
    MAX_INPUTS = UINT16_MAX,
    FIRST_ROWS = 30000, /* of the first chunk: the size of rows is not known yet */
};
static const int64_t DUP_LIFE_NS = 600 * SF_NS_PER_S;
_Static_assert(sizeof(struct sf_merge_piece) <= SF_RUN_TRACE_LEN,
               "parts count less than merging them takes");

struct work {
    struct sf_local *l;
    const struct sf_merge *m;
    const struct sf_span_block_reader **readers;
    size_t n_entered;
    uint32_t **res_maps, **scope_maps; /* by input: block code to index in the rowset */
    struct sf_block_codes *codes;      /* by input: block code to code of the output */
    bool can_carry;
    struct sf_merge_plan plan;
    struct sf_arena granule, scratch;
    struct sf_rowset rows;
    uint32_t chunk_rows;
    size_t rows_max; /* limit of the rowset, in bytes */
    size_t counted_len;
    struct sf_merge_result done;
};

/* A row's end for retention; the run has the limit up to which end times are accepted. */
static int64_t index_end(const struct sf_run *r, uint64_t end_ns, int64_t index_ns)
{
    int64_t end = end_ns > (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)end_ns;
    if (end > r->row.ts_max_ns)
        end = r->row.ts_max_ns;
    return end > index_ns ? end : index_ns;
}

static int32_t window_of(const struct work *w, int64_t index_ns)
{
    int64_t n = w->m->split == SF_SPLIT_DAY ? sf_local_day_of(index_ns)
                                            : sf_local_hour_of(index_ns);
    return n > INT32_MAX ? INT32_MAX : n < INT32_MIN ? INT32_MIN : (int32_t)n;
}

static void merge_count_memory(struct work *w)
{
    size_t len = w->plan.pieces_cap * sizeof(*w->plan.pieces) + w->granule.at +
                 sf_rowset_len(&w->rows);
    if (len > w->counted_len)
        sf_budget_add(&w->l->budget, SF_LINE_MERGE, len - w->counted_len);
    else
        sf_budget_sub(&w->l->budget, SF_LINE_MERGE, w->counted_len - len);
    w->counted_len = len;
}

/* Empties the arena but keeps its memory for the next granule. */
static void rewind_arena(struct sf_arena *a)
{
    a->at = 0;
}

static enum sf_err check_stop(const struct work *w, struct sf_why *why)
{
    if (atomic_load(&w->l->is_stopping) && w->m->level > 0)
        return sf_fail(why, SF_ERR_CANCELLED, "store: stopping");
    return SF_OK;
}

/* ---- pass 1 ---- */

struct slice { /* rows [from, to) of a granule: one trace */
    const struct sf_span_rows *rows;
    const int64_t *index_ns;
    const struct sf_run *run;
    uint32_t from, to;
    bool has_tombstones;
};

static bool is_hidden(const struct work *w, const struct sf_run *run,
                      const struct sf_span_rows *rows, uint32_t i)
{
    return sf_tombstones_hide(w->m->tombstones, run->row.id, rows->tenant, rows->trace_id[i],
                              rows->resources[rows->resource[i]].service, rows->start_ns[i]);
}

/* Computes start, rows and size of the slice's rows in window `p->window`. */
static void merge_measure(struct work *w, const struct slice *s, struct sf_merge_piece *p)
{
    p->first_ns = INT64_MAX;
    p->n_visible = 0;
    for (uint32_t i = s->from; i < s->to; i++) {
        int64_t index_ns = s->index_ns[i];
        if (window_of(w, index_ns) != p->window)
            continue;
        if (s->has_tombstones && is_hidden(w, s->run, s->rows, i)) {
            w->done.n_hidden++;
            continue;
        }
        p->n_visible++;
        if (index_ns < p->first_ns)
            p->first_ns = index_ns;
    }
}

static int compare_windows(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

static enum sf_err add_slice(struct work *w, const struct slice *s, struct sf_merge_piece p,
                             struct sf_why *why)
{
    uint32_t n = s->to - s->from;
    int32_t *windows = sf_arena_raw(&w->granule, n * sizeof(*windows), 16);
    enum sf_err err = SF_OK;
    bool is_one = true;

    if (!windows)
        return sf_fail(why, SF_ERR_LIMIT, "store: no memory to merge a trace of %u rows", n);
    for (uint32_t i = 0; i < n; i++) {
        windows[i] = window_of(w, s->index_ns[s->from + i]);
        is_one = is_one && windows[i] == windows[0];
    }
    if (!is_one)
        qsort(windows, n, sizeof(*windows), compare_windows);
    for (uint32_t i = 0; !err && i < n; i++) {
        if (i && windows[i] == windows[i - 1]) {
            if (is_one)
                break;
            continue;
        }
        p.window = windows[i];
        merge_measure(w, s, &p);
        if (p.n_visible)
            err = sf_merge_plan_add(&w->plan, &p, why);
    }
    return err;
}

static enum sf_err note_granule(struct work *w, uint16_t input, uint32_t granule,
                                struct sf_why *why)
{
    const struct sf_run *run = w->m->inputs[input];
    struct slice s = {.run = run};
    struct sf_granule_view view;
    uint32_t columns = SF_COL_TRACES | SF_COL_START;
    enum sf_err err;

    s.has_tombstones = sf_tombstones_touch(w->m->tombstones, run->row.id, run->row.tenant,
                                           run->row.ts_min_ns, run->row.ts_max_ns);
    if (s.has_tombstones)
        columns |= SF_COL_IDS | SF_COL_RESOURCE;
    w->plan.granules[input][granule].can_carry = w->can_carry && !s.has_tombstones &&
                                                 !w->m->keeps &&
                                                 sf_granule_carry_can(w->readers[input], granule,
                                                                      w->l->tune.carry_rows);
    rewind_arena(&w->granule);
    view = sf_granule_view_init(w->readers[input], granule, &w->granule);
    err = sf_granule_view_add(&view, columns, why);
    if (!err)
        err = sf_granule_view_index(&view, &s.index_ns, why);
    s.rows = &view.rows;
    for (uint32_t t = 0; !err && t < view.info->n_traces; t++) {
        struct sf_merge_piece p = {.tenant = view.info->tenant, .granule = granule, .input = input};
        if (w->m->keeps && !w->m->keeps(w->m->keeps_arg, view.info->tenant, view.trace_ids[t]))
            continue;
        s.from = view.firsts[t];
        s.to = view.firsts[t + 1];
        p.hash = sf_trace_id_hash(view.trace_ids[t], view.info->tenant);
        p.row = sf_u16(s.from);
        p.n = sf_u16(s.to - s.from);
        err = add_slice(w, &s, p, why);
    }
    return err;
}

static enum sf_err note_all(struct work *w, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (size_t i = 0; !err && i < w->m->n_inputs; i++) {
        uint32_t n_granules = sf_span_block_reader_granules(w->readers[i]);
        err = sf_merge_plan_reserve(&w->plan, sf_span_block_reader_info(w->readers[i])->n_traces,
                                    why);
        for (uint32_t g = 0; !err && g < n_granules; g++) {
            err = note_granule(w, (uint16_t)i, g, why);
            if (!err)
                err = check_stop(w, why);
        }
        if (err == SF_ERR_CORRUPT)
            sf_run_quarantine(w->m->inputs[i], why ? why->text : "damaged");
        merge_count_memory(w);
    }
    return err;
}

/* ---- pass 2 ---- */

static int merge_by_source(const void *a, const void *b)
{
    const struct sf_merge_piece *x = a, *y = b;
    if (x->input != y->input)
        return x->input < y->input ? -1 : 1;
    if (x->granule != y->granule)
        return x->granule < y->granule ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static enum sf_err merge_place_of(struct work *w, uint16_t input, const struct sf_span_rows *rows,
                                  uint32_t i, struct sf_why *why)
{
    uint32_t *res = &w->res_maps[input][rows->resource[i]];
    uint32_t *scope = &w->scope_maps[input][rows->scope[i]];
    enum sf_err err = SF_OK;
    if (*res == SF_NONE)
        err = sf_rowset_resource(&w->rows, rows->tenant, &rows->resources[rows->resource[i]], res,
                                 why);
    if (!err && *scope == SF_NONE)
        err = sf_rowset_scope(&w->rows, rows->tenant, &rows->scopes[rows->scope[i]], scope, why);
    return err;
}

static enum sf_err copy_piece(struct work *w, const struct sf_merge_piece *p,
                              struct sf_granule_copy *copy, struct sf_why *why)
{
    const struct sf_run *run = w->m->inputs[p->input];
    const struct sf_span_rows *rows = sf_granule_copy_rows(copy);
    const int64_t *index_ns = sf_granule_copy_index(copy);
    const uint32_t *res_map = w->res_maps[p->input], *scope_map = w->scope_maps[p->input];
    bool has_tombstones = w->m->tombstones != NULL;
    enum sf_err err = SF_OK;

    if ((uint32_t)p->row + p->n > rows->n_rows)
        return sf_fail(why, SF_ERR_CORRUPT, "block %s changed while it was read", run->row.path);
    for (uint32_t i = p->row; !err && i < (uint32_t)p->row + p->n; i++) {
        if (window_of(w, index_ns[i]) != p->window)
            continue;
        if (has_tombstones && is_hidden(w, run, rows, i))
            continue;
        err = merge_place_of(w, p->input, rows, i, why);
        if (!err)
            err = sf_granule_copy_row(copy, i, res_map[rows->resource[i]],
                                      scope_map[rows->scope[i]],
                                      index_end(run, rows->end_ns[i], index_ns[i]), why);
    }
    return err;
}

static void forget_places(struct work *w, uint16_t input)
{
    uint32_t n;
    sf_span_block_reader_resources(w->readers[input], &n);
    memset(w->res_maps[input], 0xff, n * sizeof(uint32_t));
    sf_span_block_reader_scopes(w->readers[input], &n);
    memset(w->scope_maps[input], 0xff, n * sizeof(uint32_t));
}

/* Copies the rows of pieces [first, first + n) into the rowset, granule by granule, until it is
 * full: then not all of them are copied. Reorders the pieces: the next stage reads them
 * sequentially. */
static enum sf_err merge_gather(struct work *w, size_t first, size_t n, bool *out_fits,
                                struct sf_why *why)
{
    struct sf_merge_piece *pieces = w->plan.pieces + first;
    struct sf_granule_copy *copy = NULL;
    enum sf_err err = SF_OK;

    *out_fits = true;
    sf_rowset_reset(&w->rows);
    qsort(pieces, n, sizeof(*pieces), merge_by_source);
    for (size_t i = 0; !err && *out_fits && i < n; i++) {
        const struct sf_merge_piece *p = &pieces[i];
        bool is_new_input = i == 0 || p->input != p[-1].input;
        if (is_new_input)
            forget_places(w, p->input);
        if (is_new_input || p->granule != p[-1].granule) {
            rewind_arena(&w->granule);
            err = sf_granule_copy_open(w->readers[p->input], p->granule, &w->rows, &w->granule,
                                       &copy, why);
            merge_count_memory(w);
        }
        if (!err)
            err = copy_piece(w, p, copy, why);
        if (err == SF_ERR_CORRUPT)
            sf_run_quarantine(w->m->inputs[p->input], why ? why->text : "damaged");
        *out_fits = n == 1 || sf_rowset_len(&w->rows) <= w->rows_max;
    }
    merge_count_memory(w);
    return err;
}

/* How many pieces from `at` make the next chunk: whole traces, or a part of one that alone is too
 * large (then duplicate spans in different parts are not detected). */
static size_t merge_next_chunk(const struct work *w, size_t at, size_t end)
{
    uint64_t n_rows = 0;
    size_t to = at, last_whole = at;
    while (to < end) {
        if (to > at && !sf_merge_plan_same_trace(&w->plan.pieces[to], &w->plan.pieces[to - 1])) {
            last_whole = to;
            if (n_rows >= w->chunk_rows)
                break;
        }
        n_rows += w->plan.pieces[to].n_visible;
        to++;
        if (n_rows >= 4 * (uint64_t)w->chunk_rows)
            break;
    }
    if (to == end || last_whole == to)
        return to - at;
    return (last_whole > at ? last_whole : to) - at;
}

/* How many pieces come next. The rest of a trace that was split by the previous chunk (`rest`) is a
 * chunk of its own, so that it stays the newest one. */
static size_t choose_chunk(const struct work *w, size_t at, size_t end,
                           const struct sf_merge_piece *rest)
{
    size_t n = merge_next_chunk(w, at, end), same = 0;
    while (rest && same < n && sf_merge_plan_same_trace(rest, &w->plan.pieces[at + same]))
        same++;
    return same ? same : n;
}

/* At most `n` pieces from `at`: whole traces, unless the first one alone has more. */
static size_t shorten(const struct work *w, size_t at, size_t n)
{
    size_t whole = n;
    while (whole > 0 &&
           sf_merge_plan_same_trace(&w->plan.pieces[at + whole - 1], &w->plan.pieces[at + whole]))
        whole--;
    return whole ? whole : n;
}

/* Gathers the next chunk, or a smaller one if it exceeds the budget line; at least one piece.
 * Returns the number of pieces, and the last of them. */
static enum sf_err merge_gather_chunk(struct work *w, size_t at, size_t end,
                                      const struct sf_merge_piece *rest, size_t *out_n,
                                      struct sf_merge_piece *out_last, struct sf_why *why)
{
    size_t n = choose_chunk(w, at, end, rest);
    bool fits = false;
    for (;;) {
        enum sf_err err;
        *out_n = n;
        *out_last = w->plan.pieces[at + n - 1];
        err = merge_gather(w, at, n, &fits, why);
        if (err || fits)
            return err;
        qsort(w->plan.pieces + at, n, sizeof(*w->plan.pieces), sf_merge_plan_by_first);
        n = shorten(w, at, n / 2);
    }
}

/* Adapts the size of the next chunk to the budget line. */
static void adapt_chunk(struct work *w)
{
    size_t per_row, fits;
    if (w->rows.n_rows == 0 || w->l->tune.merge_rows)
        return;
    per_row = sf_rowset_len(&w->rows) / w->rows.n_rows + 1;
    fits = w->rows_max / per_row;
    w->chunk_rows = fits < 64 ? 64 : fits > 200000 ? 200000 : (uint32_t)fits;
}

/* Codes of this input in the current output; NULL: no memory. */
static struct sf_block_codes *codes_of(struct work *w, uint16_t input)
{
    struct sf_block_codes *c = &w->codes[input];
    uint32_t n_resources, n_scopes, n_keys;
    size_t n;
    if (c->resources)
        return c;
    sf_granule_carry_tables(w->readers[input], &n_resources, &n_scopes, &n_keys);
    n = (size_t)n_resources + n_scopes + n_keys;
    c->resources = sf_heap_new_n(n + 1, sizeof(uint32_t));
    if (!c->resources)
        return NULL;
    memset(c->resources, 0xff, n * sizeof(uint32_t));
    c->scopes = c->resources + n_resources;
    c->keys = c->scopes + n_scopes;
    return c;
}

static void forget_codes(struct work *w)
{
    for (size_t i = 0; i < w->n_entered; i++) {
        sf_heap_free(w->codes[i].resources);
        w->codes[i] = (struct sf_block_codes){0};
    }
}

static enum sf_err carry_granule(struct work *w, const struct sf_merge_piece *p,
                                 struct sf_span_block_writer *writer, struct sf_block_row *row,
                                 struct sf_why *why)
{
    const struct sf_granule_info *info = sf_span_block_reader_granule(w->readers[p->input],
                                                                      p->granule);
    struct sf_block_codes *codes = codes_of(w, p->input);
    enum sf_err err;

    if (!codes)
        return sf_fail(why, SF_ERR_NOMEM, "store: no memory to merge a granule");
    rewind_arena(&w->granule);
    err = sf_span_block_writer_granule(writer, w->readers[p->input], p->granule, codes, w->granule,
                                       why);
    if (err == SF_ERR_CORRUPT)
        sf_run_quarantine(w->m->inputs[p->input], why ? why->text : "damaged");
    row->ts_min_ns = info->ts_min_ns < row->ts_min_ns ? info->ts_min_ns : row->ts_min_ns;
    row->ts_max_ns = info->ts_max_ns > row->ts_max_ns ? info->ts_max_ns : row->ts_max_ns;
    return err;
}

static enum sf_err write_rows(struct work *w, const struct sf_merge_plan_output *o,
                              struct sf_span_block_writer *writer, struct sf_block_row *row,
                              struct sf_why *why)
{
    enum sf_err err = SF_OK;
    size_t at = o->first, end = o->first + o->n - o->n_whole;
    size_t whole = end, whole_end = o->first + o->n;
    struct sf_merge_piece rest = {0}; /* the trace that the previous chunk split */
    bool is_cut = false;

    forget_codes(w);
    while (!err && (at < end || whole < whole_end)) {
        if (!is_cut && whole < whole_end &&
            (at == end || w->plan.pieces[whole].first_ns <= w->plan.pieces[at].first_ns)) {
            err = carry_granule(w, &w->plan.pieces[whole++], writer, row, why);
            if (!err)
                err = check_stop(w, why);
            continue;
        }
        struct sf_merge_piece last;
        size_t n;
        err = merge_gather_chunk(w, at, end, is_cut ? &rest : NULL, &n, &last, why);
        if (err)
            break;
        is_cut = at + n < end && sf_merge_plan_same_trace(&last, &w->plan.pieces[at + n]);
        rest = last;
        rewind_arena(&w->scratch);
        err = sf_rowset_write(&w->rows, writer, w->scratch, &w->done.n_repeats, why);
        if (w->rows.first_index_ns < row->ts_min_ns)
            row->ts_min_ns = w->rows.first_index_ns;
        if (w->rows.last_ns > row->ts_max_ns)
            row->ts_max_ns = w->rows.last_ns;
        at += n;
        adapt_chunk(w);
        if (!err)
            err = check_stop(w, why);
    }
    return err;
}

struct filling { /* writes the rows of one output to its file */
    struct work *w;
    const struct sf_merge_plan_output *o;
};

static enum sf_err merge_fill(void *arg, struct sf_span_block_writer *writer,
                              struct sf_block_row *row, struct sf_why *why)
{
    struct filling *f = arg;
    return write_rows(f->w, f->o, writer, row, why);
}

static enum sf_err merge_write_output(struct work *w, size_t number, uint64_t first_id,
                                      uint64_t flush_no, const uint64_t *dups, size_t n_dups,
                                      const uint64_t *sources, struct sf_why *why)
{
    const struct sf_merge_plan_output *o = &w->plan.outputs[number];
    struct filling filling = {w, o};
    struct sf_block_file file = {
        .row =
            {
                .id = first_id + number,
                .tenant = o->tenant,
                .level = w->m->level,
                .day = w->m->split == SF_SPLIT_DAY ? o->window
                                                   : sf_local_day_of(o->window * SF_NS_PER_HOUR),
                .lsn_lo = w->m->lsn_lo,
                .lsn_hi = w->m->lsn_hi,
                .flush_no = flush_no,
            },
        .n_siblings = sf_u16(w->plan.n_outputs + w->m->n_more),
        .sibling = sf_u16(number),
        .dup_hashes = dups,
        .n_dup_hashes = number == 0 ? n_dups : 0,
        .source_ids = sources,
        .n_source_ids = sources ? w->m->n_inputs : 0,
        .fill = merge_fill,
        .arg = &filling,
    };
    enum sf_err err = sf_block_file_write(w->l, &file, why);
    if (!err)
        w->done.rows[w->done.n++] = file.row;
    return err;
}

/* Request hashes of recent inputs are copied to the output. */
static enum sf_err merge_collect_dups(const struct work *w, uint64_t **out, size_t *out_n,
                                      struct sf_why *why)
{
    int64_t since = sf_local_wall_ns(w->l) - DUP_LIFE_NS;
    size_t n = w->m->n_dup_hashes, at = 0;
    uint64_t *all;
    for (size_t i = 0; i < w->m->n_inputs; i++) {
        size_t more = 0;
        if (w->m->inputs[i]->row.created_ns >= since)
            sf_span_block_reader_dup_hashes(w->readers[i], &more);
        n += more;
    }
    all = sf_heap_new_n(n ? n : 1, sizeof(*all));
    if (!all)
        return sf_fail(why, SF_ERR_NOMEM, "store: no memory for %zu request hashes", n);
    if (w->m->n_dup_hashes)
        memcpy(all, w->m->dup_hashes, w->m->n_dup_hashes * sizeof(*all));
    at = w->m->n_dup_hashes;
    for (size_t i = 0; i < w->m->n_inputs; i++) {
        size_t more = 0;
        const uint64_t *hashes = NULL;
        if (w->m->inputs[i]->row.created_ns >= since)
            hashes = sf_span_block_reader_dup_hashes(w->readers[i], &more);
        if (more)
            memcpy(all + at, hashes, more * sizeof(*all));
        at += more;
    }
    *out = all;
    *out_n = n;
    return SF_OK;
}

static enum sf_err merge_write_all(struct work *w, struct sf_why *why)
{
    uint64_t first_id, flush_no, *dups = NULL, *sources = NULL;
    size_t n_dups = 0;
    enum sf_err err = merge_collect_dups(w, &dups, &n_dups, why);

    if (!err && w->m->has_sources) {
        sources = sf_heap_new_n(w->m->n_inputs, sizeof(*sources));
        if (!sources)
            err = sf_fail(why, SF_ERR_NOMEM, "store: no memory for a merge's sources");
        for (size_t i = 0; !err && i < w->m->n_inputs; i++)
            sources[i] = w->m->inputs[i]->row.id;
    }
    if (!err) {
        w->done.rows = sf_heap_new_n(w->plan.n_outputs ? w->plan.n_outputs : 1,
                                     sizeof(*w->done.rows));
        if (!w->done.rows)
            err = sf_fail(why, SF_ERR_NOMEM, "store: no memory for a merge's result");
    }
    sf_mutex_lock(&w->l->number_lock);
    first_id = w->l->next_block;
    flush_no = w->l->next_flush;
    w->l->next_block += w->plan.n_outputs + w->m->n_more;
    w->l->next_flush++;
    sf_mutex_unlock(&w->l->number_lock);
    w->done.next_id = first_id + w->plan.n_outputs;
    w->done.flush_no = flush_no;
    for (size_t i = 0; !err && i < w->plan.n_outputs; i++)
        err = merge_write_output(w, i, first_id, flush_no, dups, n_dups, sources, why);
    sf_heap_free(dups);
    sf_heap_free(sources);
    return err;
}

static enum sf_err merge_enter_all(struct work *w, struct sf_why *why)
{
    size_t n = w->m->n_inputs;
    uint64_t n_keys = 0;
    SF_ASSERT(n <= MAX_INPUTS);
    w->readers = sf_heap_new_n(n + 1, sizeof(*w->readers));
    w->plan.readers = w->readers;
    w->res_maps = sf_heap_new_n(n + 1, sizeof(*w->res_maps));
    w->scope_maps = sf_heap_new_n(n + 1, sizeof(*w->scope_maps));
    w->plan.granules = sf_heap_new_n(n + 1, sizeof(*w->plan.granules));
    w->codes = sf_heap_new_n(n + 1, sizeof(*w->codes));
    if (!w->readers || !w->res_maps || !w->scope_maps || !w->plan.granules || !w->codes)
        return sf_fail(why, SF_ERR_NOMEM, "store: no memory to merge %zu blocks", n);
    for (; w->n_entered < n; w->n_entered++) {
        size_t i = w->n_entered;
        uint32_t n_res, n_scopes, n_keys_here;
        enum sf_err err = sf_run_enter(w->m->inputs[i], SF_TABLES_ROWS | SF_TABLES_LISTS,
                                       &w->readers[i], why);
        if (err)
            return err;
        sf_granule_carry_tables(w->readers[i], &n_res, &n_scopes, &n_keys_here);
        n_keys += n_keys_here;
        w->res_maps[i] = sf_heap_new_n((size_t)n_res + 1, sizeof(uint32_t));
        w->scope_maps[i] = sf_heap_new_n((size_t)n_scopes + 1, sizeof(uint32_t));
        w->plan.granules[i] = sf_heap_new_n(
            (size_t)sf_span_block_reader_granules(w->readers[i]) + 1, sizeof(**w->plan.granules));
        if (!w->res_maps[i] || !w->scope_maps[i] || !w->plan.granules[i]) {
            w->n_entered++;
            return sf_fail(why, SF_ERR_NOMEM, "store: no memory to merge %zu blocks", n);
        }
    }
    w->can_carry = sf_granule_carry_fits(n_keys);
    return SF_OK;
}

static void work_done(struct work *w)
{
    for (size_t i = 0; i < w->n_entered; i++) {
        sf_run_leave(w->m->inputs[i]);
        sf_heap_free(w->res_maps[i]);
        sf_heap_free(w->scope_maps[i]);
        sf_heap_free(w->plan.granules[i]);
        sf_heap_free(w->codes[i].resources);
    }
    sf_budget_sub(&w->l->budget, SF_LINE_MERGE, w->counted_len);
    sf_heap_free(w->readers);
    sf_heap_free(w->res_maps);
    sf_heap_free(w->scope_maps);
    sf_heap_free(w->plan.granules);
    sf_heap_free(w->codes);
    sf_merge_plan_done(&w->plan);
    sf_rowset_done(&w->rows);
    sf_arena_done(&w->granule);
    sf_arena_done(&w->scratch);
}

enum sf_err sf_merge_run(struct sf_local *l, const struct sf_merge *merge,
                         struct sf_merge_result *out, struct sf_why *why)
{
    struct work w = {
        .l = l, .m = merge, .plan = {.split = merge->split, .block_rows = l->tune.block_rows}};
    enum sf_err err = sf_uncommitted_settle(l, why);

    if (err)
        return err;
    w.chunk_rows = l->tune.merge_rows ? l->tune.merge_rows : FIRST_ROWS;
    w.rows_max = l->budget.cap[SF_LINE_MERGE] / 2;
    if (!sf_arena_init(&w.granule, ARENA_CAP) || !sf_arena_init(&w.scratch, ARENA_CAP) ||
        !sf_rowset_init(&w.rows, 1 << 21, ARENA_CAP))
        err = sf_fail(why, SF_ERR_NOMEM, "store: no memory to merge");
    w.rows.keep_len = w.rows_max;
    if (!err)
        err = merge_enter_all(&w, why);
    if (!err)
        err = note_all(&w, why);
    if (!err)
        err = sf_merge_plan_make(&w.plan, why);
    if (!err)
        err = merge_write_all(&w, why);
    if (err)
        sf_merge_result_discard(l, &w.done);
    else
        *out = w.done;
    work_done(&w);
    return err;
}

/* Texts of the tables of all inputs are in memory twice, as read and as written, and the second
 * time in a dictionary that grows by doubling. */
enum { TEXT_COPIES = 4 };

size_t sf_merge_take(struct sf_local *l, struct sf_run *const *inputs, size_t n)
{
    size_t max = l->budget.cap[SF_LINE_MERGE] / 2 / sizeof(struct sf_merge_piece), taken = 0;
    uint64_t max_texts = l->budget.cap[SF_LINE_MERGE] / TEXT_COPIES, texts = 0, n_pieces = 0;
    while (taken < n) {
        const struct sf_span_block_reader *reader;
        if (sf_run_enter(inputs[taken], SF_TABLES_NONE, &reader, NULL))
            break; /* the merge will report the error */
        n_pieces += sf_span_block_reader_info(reader)->n_traces;
        texts += sf_span_block_reader_texts_len(reader);
        sf_run_leave(inputs[taken]);
        if (taken && (n_pieces > max || texts > max_texts))
            break;
        taken++;
    }
    return taken ? taken : 1;
}

void sf_merge_result_done(struct sf_merge_result *m)
{
    sf_heap_free(m->rows);
    *m = (struct sf_merge_result){0};
}

void sf_merge_result_discard(struct sf_local *l, struct sf_merge_result *m)
{
    for (size_t i = 0; i < m->n; i++)
        sf_dir_unlink(l->dir, m->rows[i].path, NULL);
    sf_merge_result_done(m);
}

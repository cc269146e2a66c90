#include "store/local/write/rows_flush.h"

#include "base/heap.h"
#include "base/num.h"
#include "os/clock.h"
#include "store/local/write/block_file.h"

enum {
    SCRATCH_CAP = 1 << 30, /* reserved address space */
    ORDER_LEN = 48,        /* memory per row while rows are sorted, about */
};

static enum sf_err rows_flush_add_body(struct sf_rows_flush *f, struct sf_memtable *m,
                                       struct sf_memtable_body *body, struct sf_why *why)
{
    struct sf_rows_taken *more = sf_heap_grow(f->list, f->n + 1, sizeof(*more));
    if (!more) {
        sf_memtable_not_flushed(m, body);
        return sf_fail(why, SF_ERR_NOMEM, "flush: no memory for a list of memtables");
    }
    f->list = more;
    f->list[f->n++] = (struct sf_rows_taken){m, body};
    return SF_OK;
}

enum sf_err sf_rows_flush_take(struct sf_local *l, uint64_t gen, struct sf_rows_flush *out,
                               struct sf_why *why)
{
    struct sf_rows_flush f = {0};
    for (unsigned i = 0; i < l->n_memtables; i++) {
        struct sf_memtable *m = &l->memtables[i];
        struct sf_memtable_body *body;
        bool is_busy;
        while ((body = sf_memtable_claim_flush(m, gen, &is_busy)) || is_busy) {
            enum sf_err err = SF_OK;
            if (body)
                err = rows_flush_add_body(&f, m, body, why);
            else
                sf_clock_sleep_ms(1); /* wait: it is being sealed */
            if (err) {
                sf_rows_flush_end(&f, false);
                return err;
            }
        }
    }
    *out = f;
    return SF_OK;
}

static uint64_t rows_flush_count_rows(const struct sf_rows_flush *f)
{
    uint64_t n = 0;
    for (size_t i = 0; i < f->n; i++)
        n += f->list[i].body->rows.n_rows;
    return n;
}

bool sf_rows_flush_is_one_block(const struct sf_local *l, const struct sf_rows_flush *f)
{
    int64_t day;
    if (f->n == 0 || f->n > SF_ROWSETS_MAX || rows_flush_count_rows(f) > l->tune.block_rows)
        return false;
    day = sf_local_day_of(f->list[0].body->rows.first_index_ns);
    for (size_t i = 0; i < f->n; i++) {
        const struct sf_rowset *rows = &f->list[i].body->rows;
        /* No row starts after the last end. */
        if (sf_local_day_of(rows->first_index_ns) != day || sf_local_day_of(rows->last_ns) != day)
            return false;
    }
    return true;
}

static uint32_t only_tenant(const struct sf_rowset *const *sets, size_t n)
{
    uint32_t tenant = sets[0]->rows[0].tenant;
    for (size_t i = 0; i < n; i++) {
        if (sf_rowset_tenant(sets[i]) != tenant)
            return 0;
    }
    return tenant;
}

struct filling {
    const struct sf_rowset **sets;
    uint8_t *edges; /* of each set */
    size_t n;
    struct sf_arena scratch;
    uint64_t n_repeats;
};

static enum sf_err rows_flush_fill(void *arg, struct sf_span_block_writer *w,
                                   struct sf_block_row *row, struct sf_why *why)
{
    struct filling *f = arg;
    for (size_t i = 0; i < f->n; i++) {
        if (f->sets[i]->first_index_ns < row->ts_min_ns)
            row->ts_min_ns = f->sets[i]->first_index_ns;
        if (f->sets[i]->last_ns > row->ts_max_ns)
            row->ts_max_ns = f->sets[i]->last_ns;
    }
    return sf_rowset_write_all(f->sets, f->edges, f->n, w, f->scratch, &f->n_repeats, why);
}

static enum sf_err rows_flush_write_block(struct sf_local *l, struct filling *filling,
                                          const struct sf_merge *m, struct sf_merge_result *out,
                                          struct sf_why *why)
{
    struct sf_block_file file = {
        .row = {.tenant = only_tenant(filling->sets, filling->n),
                .day = sf_local_day_of(filling->sets[0]->first_index_ns),
                .lsn_lo = m->lsn_lo,
                .lsn_hi = m->lsn_hi},
        .n_siblings = sf_u16(1u + m->n_more),
        .dup_hashes = m->dup_hashes,
        .n_dup_hashes = m->n_dup_hashes,
        .fill = rows_flush_fill,
        .arg = filling,
    };
    enum sf_err err;

    sf_mutex_lock(&l->number_lock);
    file.row.id = l->next_block;
    file.row.flush_no = l->next_flush;
    l->next_block += 1u + m->n_more;
    l->next_flush++;
    sf_mutex_unlock(&l->number_lock);
    err = sf_block_file_write(l, &file, why);
    if (err)
        return err;
    out->rows[0] = file.row;
    out->n = 1;
    out->n_repeats = filling->n_repeats;
    out->next_id = file.row.id + 1;
    out->flush_no = file.row.flush_no;
    return SF_OK;
}

/* Has the body the oldest or the newest rows of its memtable that are flushed? */
static uint8_t edges_of(const struct sf_rows_flush *f, const struct sf_rows_taken *t)
{
    unsigned edges = SF_EDGE_FIRST | SF_EDGE_LAST;
    for (size_t i = 0; i < f->n; i++) {
        if (f->list[i].m != t->m)
            continue;
        if (f->list[i].body->cut_number < t->body->cut_number)
            edges &= ~(unsigned)SF_EDGE_FIRST;
        if (f->list[i].body->cut_number > t->body->cut_number)
            edges &= ~(unsigned)SF_EDGE_LAST;
    }
    return (uint8_t)edges;
}

enum sf_err sf_rows_flush_write(struct sf_local *l, const struct sf_rows_flush *f,
                                const struct sf_merge *m, struct sf_merge_result *out,
                                struct sf_why *why)
{
    struct filling filling = {.n = f->n};
    struct sf_merge_result merged = {0};
    size_t counted_len = (size_t)rows_flush_count_rows(f) * ORDER_LEN;
    enum sf_err err = sf_uncommitted_settle(l, why);

    if (err)
        return err;
    filling.sets = sf_heap_new_n(f->n, sizeof(*filling.sets));
    merged.rows = sf_heap_new_n(1, sizeof(*merged.rows));
    filling.edges = sf_heap_new_n(f->n, sizeof(*filling.edges));
    if (!filling.sets || !filling.edges || !merged.rows ||
        !sf_arena_init(&filling.scratch, SCRATCH_CAP))
        err = sf_fail(why, SF_ERR_NOMEM, "flush: no memory to write %zu memtables", f->n);
    sf_budget_add(&l->budget, SF_LINE_MERGE, counted_len);
    if (!err) {
        for (size_t i = 0; i < f->n; i++) {
            filling.sets[i] = &f->list[i].body->rows;
            filling.edges[i] = edges_of(f, &f->list[i]);
        }
        err = rows_flush_write_block(l, &filling, m, &merged, why);
    }
    sf_budget_sub(&l->budget, SF_LINE_MERGE, counted_len);
    if (err)
        sf_merge_result_done(&merged);
    else
        *out = merged;
    sf_arena_done(&filling.scratch);
    sf_heap_free(filling.sets);
    sf_heap_free(filling.edges);
    return err;
}

size_t sf_rows_flush_hold(struct sf_rows_flush *f, struct sf_run **parts)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++) {
        while (!sf_memtable_hold(f->list[i].m, f->list[i].body))
            sf_clock_sleep_ms(1);
        if (f->list[i].body->part) /* it does not change any more */
            parts[n++] = f->list[i].body->part;
    }
    return n;
}

void sf_rows_flush_end(struct sf_rows_flush *f, bool is_shown)
{
    for (size_t i = 0; i < f->n; i++) {
        if (is_shown)
            sf_memtable_flushed(f->list[i].m, f->list[i].body);
        else
            sf_memtable_not_flushed(f->list[i].m, f->list[i].body);
    }
    sf_heap_free(f->list);
    *f = (struct sf_rows_flush){0};
}

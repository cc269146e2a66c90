#include "store/local/read/column_read.h"

#include "store/local/read/granules.h"

/* Only counts, never fails: a query that cannot hold one granule could never be answered. */
static void column_read_count_memory(struct sf_column_read *c)
{
    size_t len = sf_arena_used(&c->arena);
    (void)sf_budget_query(&c->l->budget, &c->counted_len, len, NULL);
}

/* Shows the view's rows, with the fields that only the column reader sets. */
static void column_read_show(struct sf_column_read *c)
{
    const uint8_t *is_in = c->base.rows.is_in;
    c->base.rows = c->view.rows;
    c->base.rows.is_in = is_in;
    c->base.trace_ids = c->view.trace_ids;
    c->base.firsts = c->view.firsts;
}

/* Reports CORRUPT; the block is left out from now on, and the caller continues with the next
 * granule. */
static enum sf_err column_read_fault(struct sf_column_read *c, enum sf_err err,
                                     const struct sf_why *why)
{
    (void)sf_granules_query_skips(c->q, c->run, err, why);
    return err;
}

static enum sf_err column_read_add(struct sf_span_columns *base, uint32_t columns,
                                   struct sf_why *why)
{
    struct sf_column_read *c = (struct sf_column_read *)base;
    struct sf_why own;
    enum sf_err err;
    why = why ? why : &own;
    if ((columns & ~c->view.columns) == 0)
        return SF_OK;
    err = sf_granule_view_add(&c->view, columns, why);
    if (err)
        return column_read_fault(c, err, why);
    column_read_show(c);
    column_read_count_memory(c);
    return SF_OK;
}

static enum sf_err column_read_value(struct sf_span_columns *base, const struct sf_key *key,
                                     struct sf_value_column *out, struct sf_why *why)
{
    struct sf_column_read *c = (struct sf_column_read *)base;
    struct sf_why own;
    enum sf_err err;
    why = why ? why : &own;
    err = sf_granule_view_value(&c->view, key, out, why);
    column_read_count_memory(c);
    return err ? column_read_fault(c, err, why) : SF_OK;
}

void sf_column_read_init(struct sf_column_read *c, struct sf_local *l, struct sf_query_ctx *q)
{
    *c = (struct sf_column_read){.l = l, .q = q};
}

void sf_column_read_done(struct sf_column_read *c)
{
    if (!c->l)
        return;
    sf_column_read_close(c);
    (void)sf_budget_query(&c->l->budget, &c->counted_len, 0, NULL);
    sf_granules_give_arena(c->l, &c->arena);
    *c = (struct sf_column_read){0};
}

void sf_column_read_close(struct sf_column_read *c)
{
    if (c->run)
        sf_run_leave(c->run);
    c->run = NULL;
    c->arena.at = 0; /* keep the memory for the next granule */
}

static enum sf_err column_read_hide(struct sf_column_read *c,
                                    const struct sf_tombstones *tombstones, struct sf_why *why)
{
    const struct sf_span_rows *rows = &c->base.rows;
    uint8_t *is_in;
    enum sf_err err = column_read_add(&c->base, SF_COL_IDS | SF_COL_RESOURCE | SF_COL_START, why);
    if (err)
        return err;
    is_in = sf_arena_raw(&c->arena, rows->n_rows, 1);
    if (!is_in)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < rows->n_rows; i++)
        is_in[i] = !sf_tombstones_hide(tombstones, c->run->row.id, rows->tenant, rows->trace_id[i],
                                       rows->resources[rows->resource[i]].service,
                                       rows->start_ns[i]);
    c->base.rows.is_in = is_in;
    return SF_OK;
}

/* A trace that continues in the next granule counts as split, too. */
static enum sf_err column_read_part(struct sf_column_read *c, const struct sf_parted *parted,
                                    size_t run, struct sf_why *why)
{
    const struct sf_granule_info *info = c->view.info;
    uint32_t n = info->n_traces, next = c->view.granule + 1;
    uint8_t *is_parted = sf_arena_raw(&c->arena, n, 1);
    if (!is_parted)
        return sf_no_room(why, "the query");
    for (uint32_t t = 0; t < n; t++)
        is_parted[t] = sf_parted_has(parted, run, info->first_trace + t);
    if (info->is_continuation)
        is_parted[0] = 1;
    if (next < sf_span_block_reader_granules(c->view.r) &&
        sf_span_block_reader_granule(c->view.r, next)->is_continuation)
        is_parted[n - 1] = 1;
    c->base.is_parted = is_parted;
    return SF_OK;
}

enum sf_err sf_column_read_open(struct sf_column_read *c, const struct sf_snapshot *snapshot,
                                size_t place, uint32_t granule, const struct sf_parted *parted,
                                struct sf_why *why)
{
    struct sf_run *run = snapshot->runs[place];
    const struct sf_span_block_reader *reader;
    enum sf_err err;

    sf_column_read_close(c);
    if (!c->arena.base && !sf_granules_take_arena(c->l, &c->arena))
        return sf_fail(why, SF_ERR_NOMEM, "query: no memory for a granule");
    err = sf_run_enter(run, SF_TABLES_ROWS, &reader, why);
    if (err)
        return err;
    c->run = run;
    c->view = sf_granule_view_init(reader, granule, &c->arena);
    /* The address identifies the run: it does not change while the snapshot exists. */
    c->base = (struct sf_span_columns){.tables = (uint64_t)(uintptr_t)run,
                                       .n_traces = c->view.info->n_traces,
                                       .scratch = &c->arena,
                                       .add = column_read_add,
                                       .value = column_read_value};
    column_read_show(c);
    c->q->stats.n_rows += c->base.rows.n_rows;
    if (parted)
        err = column_read_part(c, parted, place, why);
    if (!err && sf_tombstones_touch(snapshot->tombstones, run->row.id, c->base.rows.tenant,
                                    run->row.ts_min_ns, run->row.ts_max_ns))
        err = column_read_hide(c, snapshot->tombstones, why);
    return err;
}

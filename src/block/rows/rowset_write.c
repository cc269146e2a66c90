/* rowset_write.c - writes rowsets as traces of a block. */
#include "base/invariant.h"
#include "block/rows/row_maps.h"
#include "block/rows/row_order.h"
#include "block/span/writer.h"

enum { MIN_EDGED_ROWS = 4 * SF_LIMIT_GRANULE_ROWS };

/* Maps indexes of a set to the block's codes; SF_NONE until needed. */
static uint32_t *rowset_write_new_codes(struct sf_arena *scratch, uint32_t n)
{
    uint32_t *codes = sf_arena_raw(scratch, (n + (size_t)1) * sizeof(*codes), 16);
    if (codes)
        memset(codes, 0xff, n * sizeof(*codes));
    return codes;
}

static enum sf_err code_of_resource(struct sf_row_maps *m, struct sf_span_block_writer *w,
                                    const struct sf_mem_row *row, struct sf_arena scratch,
                                    struct sf_why *why)
{
    struct sf_resource res;
    if (!sf_rowset_get_resource(m->r, row->resource, &scratch, &res))
        return sf_fail(why, SF_ERR_LIMIT, "store: a resource does not fit its memory");
    return sf_span_block_writer_resource(w, row->tenant, &res, &m->resources[row->resource], why);
}

static enum sf_err code_of_scope(struct sf_row_maps *m, struct sf_span_block_writer *w,
                                 const struct sf_mem_row *row, struct sf_arena scratch,
                                 struct sf_why *why)
{
    struct sf_scope scope;
    if (!sf_rowset_get_scope(m->r, row->scope, &scratch, &scope))
        return sf_fail(why, SF_ERR_LIMIT, "store: a scope does not fit its memory");
    return sf_span_block_writer_scope(w, row->tenant, &scope, &m->scopes[row->scope], why);
}

/* Writes one trace, in slices that fit a granule. */
static enum sf_err write_trace(struct sf_span_block_writer *w, struct sf_row_maps *maps,
                               const uint32_t *rows, uint32_t n, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (uint32_t i = 0; !err && i < n; i++) {
        struct sf_row_maps *m = &maps[rows[i] >> SF_ROW_PLACE_BITS];
        const struct sf_mem_row *row = sf_row_maps_row(maps, rows[i]);
        if (m->resources[row->resource] == SF_NONE)
            err = code_of_resource(m, w, row, *m->req, why);
        if (!err && m->scopes[row->scope] == SF_NONE)
            err = code_of_scope(m, w, row, *m->req, why);
    }
    while (!err && n > 0) {
        uint32_t slice = n < SF_LIMIT_GRANULE_ROWS ? n : SF_LIMIT_GRANULE_ROWS;
        err = sf_span_block_writer_rows(w, maps, rows, slice, why);
        rows += slice;
        n -= slice;
    }
    return err;
}

/* A map for each set, in `scratch`; NULL: it is full. */
static struct sf_row_maps *new_maps(const struct sf_rowset *const *sets, size_t n_sets,
                                    struct sf_arena *scratch)
{
    struct sf_row_maps *maps = sf_arena_new_n(scratch, n_sets, sizeof(*maps));
    for (size_t i = 0; maps && i < n_sets; i++) {
        uint32_t *resources = rowset_write_new_codes(scratch, sets[i]->resources.n);
        uint32_t *scopes = rowset_write_new_codes(scratch, sets[i]->scopes.n);
        if (!resources || !scopes ||
            !sf_row_maps_init(&maps[i], sets[i], resources, scopes, scratch))
            return NULL;
    }
    return maps;
}

/* Are there enough rows that granules at the edges are few? They are of one tenant. */
static bool can_have_edges(const struct sf_rowset *const *sets, size_t n_sets)
{
    size_t n = 0;
    for (size_t i = 0; i < n_sets; i++)
        n += sets[i]->n_rows;
    if (n < MIN_EDGED_ROWS)
        return false;
    for (size_t i = 0; i < n_sets; i++) {
        uint32_t tenant = sf_rowset_tenant(sets[i]);
        if (tenant == 0 || tenant != sf_rowset_tenant(sets[0]))
            return false;
    }
    return true;
}

enum sf_err sf_rowset_write_all(const struct sf_rowset *const *sets, const uint8_t *edges,
                                size_t n_sets, struct sf_span_block_writer *w,
                                struct sf_arena scratch, uint64_t *out_n_repeats,
                                struct sf_why *why)
{
    struct sf_row_order order;
    struct sf_row_maps *maps;
    uint64_t n_repeats = 0;

    SF_ASSERT(n_sets <= SF_ROWSETS_MAX);
    if (edges && !can_have_edges(sets, n_sets))
        edges = NULL;
    if (!sf_row_order_init(&order, sets, edges, n_sets, &scratch))
        maps = NULL;
    else
        maps = new_maps(sets, n_sets, &scratch);
    if (!maps)
        return sf_fail(why, SF_ERR_LIMIT, "store: no memory to order the rows of %zu tables",
                       n_sets);
    for (uint32_t g = 0; g < order.n_groups; g++) {
        uint32_t n, *rows = sf_row_order_trace(&order, g, &n);
        bool is_cut = g > 0 && order.groups[g].edge != order.groups[g - 1].edge;
        enum sf_err err = is_cut ? sf_span_block_writer_cut(w, why) : SF_OK;
        if (!err)
            err = write_trace(w, maps, rows, n, why);
        if (err)
            return err;
        n_repeats += order.groups[g].n - n;
    }
    if (out_n_repeats)
        *out_n_repeats += n_repeats;
    return SF_OK;
}

enum sf_err sf_rowset_write(const struct sf_rowset *r, struct sf_span_block_writer *w,
                            struct sf_arena scratch, uint64_t *out_n_repeats, struct sf_why *why)
{
    return sf_rowset_write_all(&r, NULL, 1, w, scratch, out_n_repeats, why);
}

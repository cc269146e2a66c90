/* rowset_write.c - a rowset becomes traces of a block. */
#include "block/row_maps.h"
#include "block/row_order.h"
#include "block/writer.h"

struct codes { /* rowset places to the block's codes; SF_NONE until asked */
    uint32_t *resources, *scopes;
};

static uint32_t *new_codes(struct sf_arena *scratch, uint32_t n)
{
    uint32_t *codes = sf_arena_raw(scratch, (n + (size_t)1) * sizeof(*codes), 16);
    if (codes)
        memset(codes, 0xff, n * sizeof(*codes));
    return codes;
}

static enum sf_err code_of_resource(const struct sf_rowset *r, struct sf_span_block_writer *w,
                                    const struct sf_mem_row *row, struct codes *codes,
                                    struct sf_arena scratch, struct sf_why *why)
{
    struct sf_resource res;
    if (!sf_rowset_get_resource(r, row->resource, &scratch, &res))
        return sf_fail(why, SF_ERR_LIMIT, "store: a resource does not fit its memory");
    return sf_span_block_writer_resource(w, row->tenant, &res, &codes->resources[row->resource],
                                         why);
}

static enum sf_err code_of_scope(const struct sf_rowset *r, struct sf_span_block_writer *w,
                                 const struct sf_mem_row *row, struct codes *codes,
                                 struct sf_arena scratch, struct sf_why *why)
{
    struct sf_scope scope;
    if (!sf_rowset_get_scope(r, row->scope, &scratch, &scope))
        return sf_fail(why, SF_ERR_LIMIT, "store: a scope does not fit its memory");
    return sf_span_block_writer_scope(w, row->tenant, &scope, &codes->scopes[row->scope], why);
}

/* One trace, in slices that a granule can take. */
static enum sf_err write_trace(struct sf_span_block_writer *w, struct sf_row_maps *m,
                               const uint32_t *rows, uint32_t n, struct codes *codes,
                               struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (uint32_t i = 0; !err && i < n; i++) {
        const struct sf_mem_row *row = &m->r->rows[rows[i]];
        if (codes->resources[row->resource] == SF_NONE)
            err = code_of_resource(m->r, w, row, codes, *m->req, why);
        if (!err && codes->scopes[row->scope] == SF_NONE)
            err = code_of_scope(m->r, w, row, codes, *m->req, why);
    }
    while (!err && n > 0) {
        uint32_t slice = n < SF_LIMIT_GRANULE_ROWS ? n : SF_LIMIT_GRANULE_ROWS;
        err = sf_writer_rows(w, m, rows, slice, why);
        rows += slice;
        n -= slice;
    }
    return err;
}

enum sf_err sf_rowset_write(const struct sf_rowset *r, struct sf_span_block_writer *w,
                            struct sf_arena scratch, uint64_t *out_n_repeats, struct sf_why *why)
{
    struct codes codes = {new_codes(&scratch, r->resources.n), new_codes(&scratch, r->scopes.n)};
    struct sf_row_order order;
    struct sf_row_maps maps;
    uint64_t n_repeats = 0;

    if (!codes.resources || !codes.scopes || !sf_row_order_init(&order, r, &scratch) ||
        !sf_row_maps_init(&maps, r, codes.resources, codes.scopes, &scratch))
        return sf_fail(why, SF_ERR_LIMIT, "store: no memory to order %zu rows", r->n_rows);
    for (uint32_t g = 0; g < order.n_groups; g++) {
        uint32_t n, *rows = sf_row_order_trace(&order, g, &n);
        enum sf_err err = write_trace(w, &maps, rows, n, &codes, why);
        if (err)
            return err;
        n_repeats += order.groups[g].n - n;
    }
    if (out_n_repeats)
        *out_n_repeats += n_repeats;
    return SF_OK;
}

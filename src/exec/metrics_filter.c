#include "exec/metrics_filter.h"

#include <string.h>

#include "exec/filter_key.h"

static uint32_t count_filters(const struct sf_spanset *s)
{
    return s->op == SF_SPANSET_OR ? count_filters(s->left) + count_filters(s->right) : 1;
}

bool sf_metrics_filter_can(const struct sf_pipeline *p)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_stages; i++) {
        const struct sf_stage *s = &p->stages[i];
        if (s->kind == SF_STAGE_SELECT)
            continue;
        if (s->kind != SF_STAGE_SPANSET || !sf_filter_key_has(s->spanset))
            return false;
        n += count_filters(s->spanset);
    }
    return n <= SF_METRICS_FILTERS;
}

static bool metrics_filter_compile(struct sf_metrics_filter *f, struct sf_eval *eval,
                                   const struct sf_spanset *s, struct sf_arena *req)
{
    if (s->op == SF_SPANSET_OR)
        return metrics_filter_compile(f, eval, s->left, req) &&
               metrics_filter_compile(f, eval, s->right, req);
    f->filters[f->n_filters] = sf_column_filter_new(eval, s->filter, req);
    return f->filters[f->n_filters++] != NULL;
}

bool sf_metrics_filter_init(struct sf_metrics_filter *f, struct sf_eval *eval,
                            const struct sf_pipeline *p, struct sf_arena *req)
{
    *f = (struct sf_metrics_filter){0};
    for (uint32_t i = 0; i < p->n_stages; i++) {
        if (p->stages[i].kind != SF_STAGE_SPANSET)
            continue;
        if (!metrics_filter_compile(f, eval, p->stages[i].spanset, req))
            return false;
        f->ends[f->n_stages++] = f->n_filters;
    }
    return true;
}

/* Clears rows that none of the stage's filters matches. */
static enum sf_err filter_stage(struct sf_metrics_filter *f, uint32_t first, uint32_t end,
                                struct sf_column_batch *batch, uint8_t *mask, struct sf_why *why)
{
    uint32_t n = batch->cols->rows.n_rows;
    uint8_t *left, *one;
    enum sf_err err = SF_OK;
    if (end - first == 1)
        return sf_column_filter_run(f->filters[first], batch, mask, why);
    left = sf_arena_raw(batch->cols->scratch, n, 1);
    one = sf_arena_raw(batch->cols->scratch, n, 1);
    if (!left || !one)
        return sf_no_room(why, "the query");
    memcpy(left, mask, n);
    for (uint32_t i = first; !err && i < end; i++) {
        memcpy(one, left, n);
        err = sf_column_filter_run(f->filters[i], batch, one, why);
        for (uint32_t k = 0; k < n; k++)
            left[k] ^= one[k];
    }
    for (uint32_t k = 0; k < n; k++)
        mask[k] ^= left[k];
    return err;
}

enum sf_err sf_metrics_filter_rows(struct sf_metrics_filter *f, struct sf_column_batch *batch,
                                   uint8_t **out_mask, bool *out_has_any, struct sf_why *why)
{
    const struct sf_span_columns *cols = batch->cols;
    uint32_t n = cols->rows.n_rows;
    uint8_t *mask = sf_arena_raw(cols->scratch, n, 1);
    enum sf_err err = SF_OK;
    *out_mask = mask;
    if (!mask)
        return sf_no_room(why, "the query");
    if (cols->rows.is_in)
        memcpy(mask, cols->rows.is_in, n);
    else
        memset(mask, 1, n);
    *out_has_any = memchr(mask, 1, n) != NULL;
    for (uint32_t i = 0; !err && *out_has_any && i < f->n_stages; i++) {
        err = filter_stage(f, i ? f->ends[i - 1] : 0, f->ends[i], batch, mask, why);
        *out_has_any = memchr(mask, 1, n) != NULL;
    }
    return err;
}

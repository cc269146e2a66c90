#include "exec/column_batch.h"

#include "base/num.h"

/* ---- what is needed ---- */

static uint32_t column_batch_source_of(const struct sf_query_attr *a)
{
    switch (a->intrinsic) {
    case SF_INTRINSIC_NONE: break;
    case SF_INTRINSIC_NAME: return SF_FROM_NAME;
    case SF_INTRINSIC_DURATION: return SF_FROM_DURATION;
    case SF_INTRINSIC_STATUS:
    case SF_INTRINSIC_KIND: return SF_FROM_KIND;
    case SF_INTRINSIC_STATUS_MESSAGE: return SF_FROM_STATUS_MSG;
    case SF_INTRINSIC_SPAN_ID: return SF_FROM_IDS;
    case SF_INTRINSIC_TRACE_ID: return SF_FROM_TRACE;
    case SF_INTRINSIC_PARENT_ID: return SF_FROM_PARENT;
    case SF_INTRINSIC_SCOPE_NAME:
    case SF_INTRINSIC_SCOPE_VERSION: return SF_FROM_SCOPE;
    default: return SF_FROM_TREE;
    }
    switch (a->scope) {
    case SF_SCOPE_ANY: return SF_FROM_SPAN | SF_FROM_RESOURCE;
    case SF_SCOPE_SPAN: return SF_FROM_SPAN;
    case SF_SCOPE_RESOURCE: return SF_FROM_RESOURCE;
    case SF_SCOPE_INSTRUMENTATION: return SF_FROM_SCOPE;
    default: return SF_FROM_TREE;
    }
}

void sf_column_batch_needs_add(struct sf_row_needs *n, const struct sf_query_attr *a)
{
    uint32_t from = column_batch_source_of(a);
    n->sources |= from;
    n->scopes |= a->intrinsic == SF_INTRINSIC_NONE ? 1u << a->scope : 0;
    if (!(from & SF_FROM_SPAN))
        return;
    for (uint32_t i = 0; i < n->n_names; i++) {
        if (sf_str_eq(n->names[i], a->name))
            return;
    }
    if (n->n_names == SF_BATCH_KEYS)
        n->sources |= SF_FROM_TREE; /* too many keys: evaluated on whole traces instead */
    else
        n->names[n->n_names++] = a->name;
}

void sf_column_batch_needs_add_expr(struct sf_row_needs *n, const struct sf_expr *e)
{
    if (!e)
        return;
    if (e->kind == SF_EXPR_ATTR)
        sf_column_batch_needs_add(n, &e->attr);
    sf_column_batch_needs_add_expr(n, e->left);
    sf_column_batch_needs_add_expr(n, e->right);
}

/* ---- the rows ---- */

void sf_column_batch_init(struct sf_column_batch *b, struct sf_span_columns *cols)
{
    static const struct sf_scope no_scope;
    *b = (struct sf_column_batch){.cols = cols};
    b->view = (struct sf_trace_view){.spans = &b->span,
                                     .n_spans = 1,
                                     .resources = cols->rows.resources,
                                     .scopes = cols->rows.scopes ? cols->rows.scopes : &no_scope};
}

enum sf_err sf_column_batch_value(struct sf_column_batch *b, sf_str name,
                                  struct sf_value_column *out, struct sf_why *why)
{
    struct sf_key key = {SF_SCOPE_SPAN, name};
    enum sf_err err;
    for (uint32_t i = 0; i < b->n_names; i++) {
        if (sf_str_eq(b->names[i], name)) {
            *out = b->values[i];
            return SF_OK;
        }
    }
    err = b->cols->value(b->cols, &key, out, why);
    if (!err && b->n_names < SF_BATCH_KEYS) {
        b->names[b->n_names] = name;
        b->values[b->n_names++] = *out;
    }
    return err;
}

uint32_t sf_column_batch_needs_columns(const struct sf_row_needs *needs)
{
    static const struct {
        uint32_t source, columns;
    } columns[] = {{SF_FROM_KIND, SF_COL_KIND},         {SF_FROM_RESOURCE, SF_COL_RESOURCE},
                   {SF_FROM_SCOPE, SF_COL_SCOPE},       {SF_FROM_NAME, SF_COL_NAME},
                   {SF_FROM_DURATION, SF_COL_DURATION}, {SF_FROM_STATUS_MSG, SF_COL_STATUS_MSG},
                   {SF_FROM_IDS, SF_COL_IDS},           {SF_FROM_PARENT, SF_COL_PARENT},
                   {SF_FROM_START, SF_COL_START},       {SF_FROM_TRACE, SF_COL_TRACES}};
    uint32_t wanted = 0;
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        wanted |= needs->sources & columns[i].source ? columns[i].columns : 0;
    return wanted;
}

enum sf_err sf_column_batch_add(struct sf_column_batch *b, const struct sf_row_needs *needs,
                                struct sf_why *why)
{
    struct sf_value_column value;
    enum sf_err err = b->cols->add(b->cols, sf_column_batch_needs_columns(needs), why);
    for (uint32_t i = 0; !err && i < needs->n_names; i++)
        err = sf_column_batch_value(b, needs->names[i], &value, why);
    return err;
}

static uint32_t column_batch_take_attrs(struct sf_column_batch *b, const struct sf_row_needs *needs,
                                        uint32_t row)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < needs->n_names; i++) {
        struct sf_value_column column = {0};
        if (sf_column_batch_value(b, needs->names[i], &column, NULL) || !column.code)
            continue;
        if (column.code[row] != SF_NONE)
            b->attrs[n++] = (struct sf_attr){needs->names[i], column.vals[column.code[row]]};
    }
    return n;
}

/* Rows are mostly requested in order. */
static sf_trace_id trace_of(struct sf_column_batch *b, uint32_t row)
{
    const struct sf_span_columns *cols = b->cols;
    uint32_t low = b->trace, high = cols->n_traces;
    if (cols->firsts[low] > row)
        low = 0;
    else if (cols->firsts[low + 1] > row)
        high = low + 1;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (cols->firsts[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    b->trace = low;
    return cols->trace_ids[low];
}

void sf_column_batch_take(struct sf_column_batch *b, const struct sf_row_needs *needs, uint32_t row)
{
    const struct sf_span_rows *rows = &b->cols->rows;
    uint32_t from = needs->sources;
    b->span = (struct sf_span){0};
    if (from & SF_FROM_KIND) {
        b->span.kind = rows->kind[row];
        b->span.status = rows->status[row];
    }
    if (from & SF_FROM_RESOURCE)
        b->span.resource = rows->resource[row];
    if (from & SF_FROM_SCOPE)
        b->span.scope = rows->scope[row];
    if (from & SF_FROM_NAME)
        b->span.name = rows->name.dict[rows->name.code[row]];
    if (from & SF_FROM_STATUS_MSG)
        b->span.status_msg = rows->status_msg.dict[rows->status_msg.code[row]];
    if (from & SF_FROM_DURATION)
        b->span.end_ns = rows->duration_ns[row];
    if (from & SF_FROM_START) { /* `start` is inside the window, so the sum does not overflow */
        b->span.start_ns = rows->start_ns[row];
        b->span.end_ns += rows->start_ns[row];
    }
    if (from & SF_FROM_IDS) {
        b->span.span_id = rows->span_id[row];
        b->span.trace_id = b->view.id = rows->trace_id[row];
    } else if (from & SF_FROM_TRACE) {
        b->span.trace_id = b->view.id = trace_of(b, row);
    }
    if (from & SF_FROM_PARENT)
        b->span.parent_id = rows->parent_id[row];
    if (from & SF_FROM_SPAN)
        b->span.attrs = (struct sf_attrs){b->attrs, column_batch_take_attrs(b, needs, row)};
}

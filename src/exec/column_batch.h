/* column_batch.h - rows as columns; any row can be viewed as a trace of one span.
 *
 * The evaluator of whole traces can evaluate such a row, if the expression only refers to the row
 * itself. So every value is compared by the same code, whichever way it was read. */
#pragma once
#include "exec/trace_view.h"
#include "model/span_columns.h"
#include "query/ast.h"

enum { SF_BATCH_KEYS = 8 };

enum sf_row_source {                            /* where a value comes from: bits */
                     SF_FROM_KIND = 1 << 0,     /* kind and status */
                     SF_FROM_RESOURCE = 1 << 1, /* attributes of the resource */
                     SF_FROM_SCOPE = 1 << 2,
                     SF_FROM_NAME = 1 << 3,
                     SF_FROM_DURATION = 1 << 4,
                     SF_FROM_STATUS_MSG = 1 << 5,
                     SF_FROM_SPAN = 1 << 6, /* attributes of the span: `names` */
                     SF_FROM_IDS = 1 << 7,
                     SF_FROM_PARENT = 1 << 8,
                     SF_FROM_TREE = 1 << 9, /* other spans, events, links: not in the row itself */
                     SF_FROM_START = 1 << 10, /* needed internally; queries cannot refer to it */
                     SF_FROM_TRACE = 1 << 11  /* the trace's id */
};

struct sf_row_needs {
    uint32_t sources;
    uint32_t scopes;             /* bits: of the attributes */
    sf_str names[SF_BATCH_KEYS]; /* of span attributes */
    uint32_t n_names;
};

void sf_column_batch_needs_add(struct sf_row_needs *n, const struct sf_query_attr *a);
void sf_column_batch_needs_add_expr(struct sf_row_needs *n, const struct sf_expr *e);

/* The columns to request (enum sf_column), except attributes. */
uint32_t sf_column_batch_needs_columns(const struct sf_row_needs *needs);

struct sf_column_batch {
    struct sf_span_columns *cols;
    sf_str names[SF_BATCH_KEYS]; /* attributes read so far */
    struct sf_value_column values[SF_BATCH_KEYS];
    uint32_t n_names;
    uint32_t trace; /* of the last row whose trace was looked up */
    /* The current row; `view` refers to it. */
    struct sf_span span;
    struct sf_attr attrs[SF_BATCH_KEYS];
    struct sf_trace_view view;
};

/* Valid as long as `cols` shows these rows. Must not be moved afterwards. */
void sf_column_batch_init(struct sf_column_batch *b, struct sf_span_columns *cols);
enum sf_err sf_column_batch_value(struct sf_column_batch *b, sf_str name,
                                  struct sf_value_column *out, struct sf_why *why);
/* Reads everything that `needs` lists; then rows can be viewed. */
enum sf_err sf_column_batch_add(struct sf_column_batch *b, const struct sf_row_needs *needs,
                                struct sf_why *why);
/* Makes b->view show row `row`, with what sf_column_batch_add() read. */
void sf_column_batch_take(struct sf_column_batch *b, const struct sf_row_needs *needs,
                          uint32_t row);

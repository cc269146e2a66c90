#include "model/span_rows.h"

struct sf_span sf_span_rows_get(const struct sf_span_rows *rows, uint32_t i)
{
    struct sf_span s = rows->spans ? rows->spans[i] : (struct sf_span){0};

    s.trace_id = rows->trace_id[i];
    s.span_id = rows->span_id[i];
    if (rows->parent_id)
        s.parent_id = rows->parent_id[i];
    if (rows->start_ns)
        s.start_ns = rows->start_ns[i];
    if (rows->end_ns)
        s.end_ns = rows->end_ns[i];
    if (rows->kind) {
        s.kind = rows->kind[i];
        s.status = rows->status[i];
    }
    if (rows->name.code)
        s.name = rows->name.dict[rows->name.code[i]];
    if (rows->status_msg.code)
        s.status_msg = rows->status_msg.dict[rows->status_msg.code[i]];
    if (rows->resource)
        s.resource = rows->resource[i];
    if (rows->scope)
        s.scope = rows->scope[i];
    return s;
}

struct sf_span_rows sf_span_rows_slice(const struct sf_span_rows *rows, uint32_t from, uint32_t n)
{
    struct sf_span_rows s = *rows;
    s.n_rows = n;
    s.trace_id = rows->trace_id ? rows->trace_id + from : NULL;
    s.span_id = rows->span_id ? rows->span_id + from : NULL;
    s.parent_id = rows->parent_id ? rows->parent_id + from : NULL;
    s.start_ns = rows->start_ns ? rows->start_ns + from : NULL;
    s.end_ns = rows->end_ns ? rows->end_ns + from : NULL;
    s.duration_ns = rows->duration_ns ? rows->duration_ns + from : NULL;
    s.kind = rows->kind ? rows->kind + from : NULL;
    s.status = rows->status ? rows->status + from : NULL;
    s.name.code = rows->name.code ? rows->name.code + from : NULL;
    s.status_msg.code = rows->status_msg.code ? rows->status_msg.code + from : NULL;
    s.resource = rows->resource ? rows->resource + from : NULL;
    s.scope = rows->scope ? rows->scope + from : NULL;
    s.is_in = rows->is_in ? rows->is_in + from : NULL;
    s.spans = rows->spans ? rows->spans + from : NULL;
    return s;
}

#include "model/rows.h"

struct sf_span sf_span_rows_get(const struct sf_span_rows *rows, uint32_t i)
{
    struct sf_span s = rows->spans ? rows->spans[i] : (struct sf_span){0};

    s.trace_id = rows->trace_id[i];
    s.span_id = rows->span_id[i];
    if (rows->parent_id)
        s.parent_id = rows->parent_id[i];
    if (rows->start_ns) {
        s.start_ns = rows->start_ns[i];
        s.end_ns = rows->end_ns[i];
    }
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

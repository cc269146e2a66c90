#include "serve/own/span_path.h"

#include "join/span_find.h"
#include "serve/params.h"

static enum sf_err span_path_find_trace(struct sf_call *call, struct sf_query_ctx *q,
                                        sf_span_id span, sf_trace_id *out, struct sf_why *why)
{
    struct sf_arena scratch = {0};
    enum sf_err err = sf_call_check_data(q, why);
    if (err)
        return err;
    if (!sf_arena_init(&scratch, call->service->query_memory_len))
        return sf_no_memory(why, "the query");
    err = sf_span_find(atomic_load(&call->service->store), span, 0, 0, &scratch, q, out, why);
    sf_arena_done(&scratch);
    return err;
}

enum sf_err sf_span_path_read(struct sf_call *call, struct sf_query_ctx *q, sf_trace_id *out_trace,
                              sf_span_id *out_span, struct sf_why *why)
{
    sf_str span = call->arg, trace = SF_STR_NONE;
    enum sf_err err = SF_OK;
    if (!sf_str_split_next(&span, '/', &trace) || span.len == 0)
        return sf_fail(why, SF_ERR_INPUT, "the path is /api/v1/spans/TRACE/SPAN/...");
    if (!sf_span_id_parse(span, out_span) || *out_span == 0)
        return sf_fail(why, SF_ERR_INPUT, "a span id is up to 16 hex digits, not '%.*s'",
                       SF_STR_ARG(sf_str_part(span, 0, 40)));
    if (sf_str_eq(trace, SF_STR("-")))
        return span_path_find_trace(call, q, *out_span, out_trace, why);
    err = sf_params_trace_id(trace, out_trace, why);
    return err;
}

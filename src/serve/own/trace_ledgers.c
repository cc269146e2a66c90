#include "serve/own/trace_ledgers.h"

#include "exec/tenant.h"
#include "join/explain_times.h"
#include "serve/params.h"
#include "wire/json_write.h"

/* Writes the parts that are not empty, and marks estimates. */
static void trace_ledgers_write_span(const struct sf_span *span, const struct sf_span_times *t,
                                     struct sf_json_writer *w)
{
    char id[17];
    sf_span_id_render(span->span_id, id);
    sf_json_write_object(w);
    sf_json_write_key_str(w, SF_STR("spanId"), sf_str_from(id));
    sf_json_write_key(w, SF_STR("parts"));
    sf_json_write_object(w);
    for (int part = 0; part < SF_PARTS; part++)
        if (t->has_ns & 1u << part)
            sf_json_write_key_u64(w, sf_str_from(sf_ledger_part_name((enum sf_ledger_part)part)),
                                  sf_explain_times_ns(t, (enum sf_ledger_part)part));
    sf_json_write_object_end(w);
    sf_json_write_key(w, SF_STR("estimates"));
    sf_json_write_array(w);
    for (int part = 0; part < SF_PARTS; part++)
        if (t->has_ns & 1u << part && t->sources[part] == SF_SOURCE_ESTIMATE)
            sf_json_write_str(w, sf_str_from(sf_ledger_part_name((enum sf_ledger_part)part)));
    sf_json_write_array_end(w);
    sf_json_write_object_end(w);
}

static void trace_ledgers_write_all(const struct sf_explain_times *t, sf_trace_id trace,
                                    sf_str note, struct sf_buf *out)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    char id[33];
    sf_trace_id_render(trace, id);
    sf_json_write_object(&w);
    sf_json_write_key_str(&w, SF_STR("traceId"), sf_str_from(id));
    sf_json_write_key(&w, SF_STR("isPartial"));
    sf_json_write_bool(&w, t->set->is_partial);
    sf_json_write_key_str(&w, SF_STR("note"), note);
    sf_json_write_key(&w, SF_STR("spans"));
    sf_json_write_array(&w);
    for (uint32_t i = 0; i < t->set->n_own; i++)
        if (t->spans[i].is_there)
            trace_ledgers_write_span(&t->set->tree.spans[i], &t->spans[i], &w);
    sf_json_write_array_end(&w);
    sf_json_write_object_end(&w);
}

bool sf_trace_ledgers_handle(struct sf_call *call, struct sf_worker *worker)
{
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q;
    sf_trace_id trace;
    struct sf_explain_times times = {0};
    struct sf_why why = {0};
    sf_str note = SF_STR_NONE;
    enum sf_err err = sf_params_trace_id(call->arg, &trace, &why);
    if (!err)
        err = sf_call_query(call, worker, tenants, &q, &why);
    if (!err)
        err = sf_call_check_data(&q, &why);
    if (!err)
        err = sf_explain_times_load(&times, atomic_load(&call->service->store), trace, 0, &q, &why);
    if (!err && !sf_link_set_say_left_out(times.left_out, q.req, &note))
        err = sf_no_room(&why, "the query");
    if (!err) {
        sf_call_ok(call, "application/json");
        trace_ledgers_write_all(&times, trace, note, &call->response->body);
    }
    sf_explain_times_done(&times);
    return err ? sf_call_fail(call, err, &why) : true;
}

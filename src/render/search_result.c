#include "render/search_result.h"

#include "base/time_unit.h"
#include "render/inspected.h"
#include "render/otlp_value.h"
#include "wire/json_write.h"
#include "wire/pb_write.h"

static const sf_str no_root = {"<root span not yet received>", 28};

/* "4c1f09...": hexadecimal without leading zeros. */
static sf_str search_trace_id(sf_trace_id id, char text[33])
{
    size_t zeros = 0;
    sf_trace_id_render(id, text);
    while (zeros < 31 && text[zeros] == '0')
        zeros++;
    return (sf_str){text + zeros, 32 - zeros};
}

static uint32_t duration_ms(const struct sf_found_trace *t)
{
    uint64_t ms = t->duration_ns / SF_NS_PER_MS;
    return ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms;
}

/* ---- JSON ---- */

static void json_span(struct sf_json_writer *w, const struct sf_found_span *s)
{
    char id[17];
    sf_span_id_render(s->id, id);
    sf_json_write_object(w);
    sf_json_write_key_str(w, SF_STR("spanID"), (sf_str){id, 16});
    if (s->name.len)
        sf_json_write_key_str(w, SF_STR("name"), s->name);
    sf_json_write_key(w, SF_STR("startTimeUnixNano"));
    sf_json_write_u64_text(w, s->start_ns);
    sf_json_write_key(w, SF_STR("durationNanos"));
    sf_json_write_u64_text(w, s->duration_ns);
    if (s->attrs.n) {
        sf_json_write_key(w, SF_STR("attributes"));
        sf_otlp_value_attrs_json(w, s->attrs);
    }
    sf_json_write_object_end(w);
}

static void json_set(struct sf_json_writer *w, const struct sf_found_set *s)
{
    sf_json_write_object(w);
    sf_json_write_key(w, SF_STR("spans"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < s->n_spans; i++)
        json_span(w, &s->spans[i]);
    sf_json_write_array_end(w);
    sf_json_write_key_u64(w, SF_STR("matched"), s->n_matched);
    if (s->attrs.n) {
        sf_json_write_key(w, SF_STR("attributes"));
        sf_otlp_value_attrs_json(w, s->attrs);
    }
    sf_json_write_object_end(w);
}

static void json_services(struct sf_json_writer *w, const struct sf_found_trace *t)
{
    sf_json_write_key(w, SF_STR("serviceStats"));
    sf_json_write_object(w);
    for (uint32_t i = 0; i < t->n_services; i++) {
        sf_json_write_key(w, t->services[i].name);
        sf_json_write_object(w);
        sf_json_write_key_u64(w, SF_STR("spanCount"), t->services[i].n_spans);
        if (t->services[i].n_errors)
            sf_json_write_key_u64(w, SF_STR("errorCount"), t->services[i].n_errors);
        sf_json_write_object_end(w);
    }
    sf_json_write_object_end(w);
}

static void json_trace(struct sf_json_writer *w, const struct sf_found_trace *t)
{
    char id[33];
    sf_json_write_object(w);
    sf_json_write_key_str(w, SF_STR("traceID"), search_trace_id(t->id, id));
    sf_json_write_key_str(w, SF_STR("rootServiceName"), t->has_root ? t->root_service : no_root);
    if (t->has_root)
        sf_json_write_key_str(w, SF_STR("rootTraceName"), t->root_name);
    sf_json_write_key(w, SF_STR("startTimeUnixNano"));
    sf_json_write_u64_text(w, t->start_ns);
    if (duration_ms(t))
        sf_json_write_key_u64(w, SF_STR("durationMs"), duration_ms(t));
    if (t->n_sets) {
        sf_json_write_key(w, SF_STR("spanSet")); /* older clients read only this one */
        json_set(w, &t->sets[0]);
    }
    sf_json_write_key(w, SF_STR("spanSets"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < t->n_sets; i++)
        json_set(w, &t->sets[i]);
    sf_json_write_array_end(w);
    json_services(w, t);
    sf_json_write_object_end(w);
}

static struct sf_inspected search_result_inspected(const struct sf_search_result *r)
{
    return (struct sf_inspected){r->n_inspected_traces, r->n_inspected_spans, r->read_len,
                                 r->n_blocks, r->is_running || r->is_partial};
}

void sf_search_result_json(const struct sf_search_result *r, struct sf_buf *out)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    sf_json_write_object(&w);
    sf_json_write_key(&w, SF_STR("traces"));
    sf_json_write_array(&w);
    for (uint32_t i = 0; i < r->n_traces; i++)
        json_trace(&w, &r->traces[i]);
    sf_json_write_array_end(&w);
    sf_inspected_json(&w, search_result_inspected(r));
    sf_json_write_object_end(&w);
}

/* ---- protobuf ---- */

static void pb_span(struct sf_buf *out, const struct sf_found_span *s)
{
    char id[17];
    size_t mark = sf_pb_write_begin(out, 1);
    sf_span_id_render(s->id, id);
    sf_pb_write_str(out, 1, (sf_str){id, 16});
    if (s->name.len)
        sf_pb_write_str(out, 2, s->name);
    sf_pb_write_u64(out, 3, s->start_ns);
    sf_pb_write_u64(out, 4, s->duration_ns);
    sf_otlp_value_attrs_pb(out, 5, s->attrs);
    sf_pb_write_end(out, mark);
}

static void pb_set(struct sf_buf *out, uint32_t field, const struct sf_found_set *s)
{
    size_t mark = sf_pb_write_begin(out, field);
    for (uint32_t i = 0; i < s->n_spans; i++)
        pb_span(out, &s->spans[i]);
    sf_pb_write_u64(out, 2, s->n_matched);
    sf_otlp_value_attrs_pb(out, 3, s->attrs);
    sf_pb_write_end(out, mark);
}

static void pb_service(struct sf_buf *out, const struct sf_found_service *s)
{
    size_t entry = sf_pb_write_begin(out, 8), val;
    sf_pb_write_str(out, 1, s->name);
    val = sf_pb_write_begin(out, 2);
    sf_pb_write_u64(out, 1, s->n_spans);
    if (s->n_errors)
        sf_pb_write_u64(out, 2, s->n_errors);
    sf_pb_write_end(out, val);
    sf_pb_write_end(out, entry);
}

static void pb_trace(struct sf_buf *out, const struct sf_found_trace *t)
{
    char id[33];
    size_t mark = sf_pb_write_begin(out, 1);
    sf_pb_write_str(out, 1, search_trace_id(t->id, id));
    sf_pb_write_str(out, 2, t->has_root ? t->root_service : no_root);
    if (t->has_root)
        sf_pb_write_str(out, 3, t->root_name);
    sf_pb_write_u64(out, 4, t->start_ns);
    sf_pb_write_u64(out, 5, duration_ms(t));
    if (t->n_sets)
        pb_set(out, 6, &t->sets[0]);
    for (uint32_t i = 0; i < t->n_sets; i++)
        pb_set(out, 7, &t->sets[i]);
    for (uint32_t i = 0; i < t->n_services; i++)
        pb_service(out, &t->services[i]);
    sf_pb_write_end(out, mark);
}

uint32_t sf_search_result_pb_part(const struct sf_search_result *r, uint32_t from, size_t max_len,
                                  struct sf_buf *out)
{
    while (from < r->n_traces && out->len < max_len)
        pb_trace(out, &r->traces[from++]);
    sf_inspected_pb(out, search_result_inspected(r));
    return sf_buf_ok(out) ? from : r->n_traces;
}

void sf_search_result_pb(const struct sf_search_result *r, struct sf_buf *out)
{
    sf_search_result_pb_part(r, 0, SIZE_MAX, out);
}

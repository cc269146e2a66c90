#include "render/trace_json.h"

#include <math.h>

#include "base/num.h"
#include "render/clocks.h"
#include "render/otlp_value.h"
#include "wire/json_write.h"

static void u64_text(struct sf_json_writer *w, sf_str key, uint64_t v)
{
    sf_json_write_key(w, key);
    sf_json_write_u64_text(w, v);
}

static void yes_no(struct sf_json_writer *w, sf_str key, bool v)
{
    sf_json_write_key(w, key);
    sf_json_write_bool(w, v);
}

static void span_id(struct sf_json_writer *w, sf_str key, sf_span_id id)
{
    char hex[17] = "";
    if (id)
        sf_span_id_render(id, hex);
    sf_json_write_key_str(w, key, sf_str_from(hex));
}

static void trace_id(struct sf_json_writer *w, sf_trace_id id)
{
    sf_json_write_key(w, SF_STR("traceId"));
    sf_json_write_hex(w, (sf_bytes){id.b, 16});
}

static void attrs(struct sf_json_writer *w, struct sf_attrs list, uint32_t n_dropped)
{
    sf_json_write_key(w, SF_STR("attributes"));
    sf_otlp_value_attrs_json(w, list);
    if (n_dropped)
        sf_json_write_key_u64(w, SF_STR("droppedAttributes"), n_dropped);
}

static void resources(struct sf_json_writer *w, const struct sf_span_batch *b)
{
    sf_json_write_key(w, SF_STR("resources"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < b->n_resources; i++) {
        sf_json_write_object(w);
        sf_json_write_key_str(w, SF_STR("service"), b->resources[i].service);
        attrs(w, b->resources[i].attrs, b->resources[i].dropped_attrs);
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
    sf_json_write_key(w, SF_STR("scopes"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < b->n_scopes; i++) {
        sf_json_write_object(w);
        sf_json_write_key_str(w, SF_STR("name"), b->scopes[i].name);
        sf_json_write_key_str(w, SF_STR("version"), b->scopes[i].version);
        if (b->scopes[i].attrs.n)
            attrs(w, b->scopes[i].attrs, b->scopes[i].dropped_attrs);
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
}

static void events(struct sf_json_writer *w, const struct sf_span *s)
{
    sf_json_write_key(w, SF_STR("events"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < s->n_events; i++) {
        sf_json_write_object(w);
        u64_text(w, SF_STR("timeUnixNano"), s->events[i].time_ns);
        sf_json_write_key_str(w, SF_STR("name"), s->events[i].name);
        attrs(w, s->events[i].attrs, s->events[i].dropped_attrs);
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
}

static void links(struct sf_json_writer *w, const struct sf_span *s)
{
    sf_json_write_key(w, SF_STR("links"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < s->n_links; i++) {
        sf_json_write_object(w);
        trace_id(w, s->links[i].trace_id);
        span_id(w, SF_STR("spanId"), s->links[i].span_id);
        attrs(w, s->links[i].attrs, s->links[i].dropped_attrs);
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
}

static void segments(struct sf_json_writer *w, const struct sf_trace_row *row, uint64_t start_ns)
{
    sf_json_write_key(w, SF_STR("critical"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < row->n_segments; i++) {
        const struct sf_trace_segment *s = &row->segments[i];
        sf_json_write_object(w);
        sf_json_write_key_u64(w, SF_STR("startOffsetNs"), s->start_ns - start_ns);
        sf_json_write_key_u64(w, SF_STR("durationNs"), s->end_ns - s->start_ns);
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
}

static void hottest(struct sf_json_writer *w, const struct sf_trace_row *row)
{
    if (row->n_estimated > 0) {
        sf_json_write_key_u64(w, SF_STR("estimatedSamples"), row->n_estimated);
        sf_json_write_key(w, SF_STR("estimatedLooks"));
        sf_json_write_f64(w, row->estimated_taken);
        span_id(w, SF_STR("knownSpanId"), row->known_id);
    }
    if (row->hot.len == 0 && row->n_samples > 0) /* too few samples: only their number */
        sf_json_write_key_u64(w, SF_STR("fewSamples"), (uint64_t)llround(row->taken));
    if (row->hot.len == 0)
        return;
    sf_json_write_key(w, SF_STR("hot"));
    sf_json_write_object(w);
    sf_json_write_key_str(w, SF_STR("function"), row->hot);
    sf_json_write_key_str(w, SF_STR("file"), row->hot_file);
    sf_json_write_key_u64(w, SF_STR("line"), row->hot_line);
    sf_json_write_key(w, SF_STR("value"));
    sf_json_write_i64(w, row->hot_value);
    sf_json_write_key(w, SF_STR("share"));
    sf_json_write_f64(w, row->hot_share);
    sf_json_write_key(w, SF_STR("shareLow"));
    sf_json_write_f64(w, row->hot_low);
    sf_json_write_key(w, SF_STR("shareHigh"));
    sf_json_write_f64(w, row->hot_high);
    sf_json_write_key_u64(w, SF_STR("samples"), row->n_samples);
    if (row->is_hot_below)
        yes_no(w, SF_STR("isWithChildren"), true);
    sf_json_write_object_end(w);
}

static void trace_json_span(struct sf_json_writer *w, const struct sf_trace_rows *t,
                            const struct sf_trace_row *row)
{
    const struct sf_span *s = row->span;
    sf_json_write_object(w);
    span_id(w, SF_STR("spanId"), s->span_id);
    span_id(w, SF_STR("parentSpanId"), s->parent_id);
    sf_json_write_key_u64(w, SF_STR("depth"), row->depth);
    sf_json_write_key_str(w, SF_STR("service"), t->spans->resources[s->resource].service);
    sf_json_write_key_str(w, SF_STR("name"), s->name);
    sf_json_write_key_str(w, SF_STR("kind"), sf_str_from(sf_span_kind_name(s->kind)));
    sf_json_write_key_str(w, SF_STR("status"), sf_str_from(sf_span_status_name(s->status)));
    sf_json_write_key_str(w, SF_STR("statusMessage"), s->status_msg);
    u64_text(w, SF_STR("startTimeUnixNano"), s->start_ns);
    u64_text(w, SF_STR("endTimeUnixNano"), s->end_ns);
    sf_json_write_key_u64(w, SF_STR("startOffsetNs"),
                          sf_shift_sat_u64(s->start_ns, row->shift_ns) - t->start_ns);
    sf_json_write_key_u64(w, SF_STR("durationNs"), sf_span_duration_ns(s));
    if (row->shift_ns != 0) {
        sf_json_write_key(w, SF_STR("clockShiftNs"));
        sf_json_write_i64(w, row->shift_ns);
    }
    yes_no(w, SF_STR("isCritical"), row->is_critical);
    sf_json_write_key_u64(w, SF_STR("criticalNs"), row->critical_ns);
    if (row->is_unwaited)
        yes_no(w, SF_STR("isNotWaitedFor"), true);
    segments(w, row, t->start_ns);
    hottest(w, row);
    sf_json_write_key_u64(w, SF_STR("resource"), s->resource);
    sf_json_write_key_u64(w, SF_STR("scope"), s->scope);
    attrs(w, s->attrs, s->dropped_attrs);
    events(w, s);
    links(w, s);
    sf_json_write_object_end(w);
}

void sf_trace_json(const struct sf_trace_rows *t, struct sf_buf *out)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    sf_json_write_object(&w);
    trace_id(&w, t->trace_id);
    u64_text(&w, SF_STR("startTimeUnixNano"), t->start_ns);
    u64_text(&w, SF_STR("endTimeUnixNano"), t->end_ns);
    sf_json_write_key_u64(&w, SF_STR("durationNs"), t->end_ns - t->start_ns);
    sf_json_write_key_u64(&w, SF_STR("criticalNs"), t->critical_ns);
    sf_json_write_key_u64(&w, SF_STR("gapNs"), t->gap_ns);
    sf_json_write_key_u64(&w, SF_STR("outsideNs"), t->outside_ns);
    sf_json_write_key_u64(&w, SF_STR("notWaitedFor"), t->n_unwaited);
    yes_no(&w, SF_STR("isPartial"), t->is_partial);
    yes_no(&w, SF_STR("isExact"), t->is_exact);
    sf_clocks_json(&t->clocks, &w);
    if (t->hot_type.len > 0) {
        sf_json_write_key_str(&w, SF_STR("hotType"), t->hot_type);
        sf_json_write_key_str(&w, SF_STR("hotUnit"), t->hot_unit);
    }
    if (t->note.len > 0)
        sf_json_write_key_str(&w, SF_STR("note"), t->note);
    resources(&w, t->spans);
    sf_json_write_key(&w, SF_STR("spans"));
    sf_json_write_array(&w);
    for (uint32_t i = 0; i < t->n_rows; i++)
        trace_json_span(&w, t, &t->rows[i]);
    sf_json_write_array_end(&w);
    sf_json_write_object_end(&w);
}

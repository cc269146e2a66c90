/* frame_spans.c - the spans that ran a function, most expensive first. */
#include "render/frame_spans.h"

#include "base/text.h"
#include "render/units.h"
#include "wire/json_write.h"

static void frame_spans_write_span(struct sf_json_writer *w, const struct sf_frame_span *s)
{
    char trace[33] = "", id[17];
    if (!sf_trace_id_is_zero(s->trace))
        sf_trace_id_render(s->trace, trace);
    sf_span_id_render(s->id, id);
    sf_json_write_object(w);
    sf_json_write_key_str(w, SF_STR("traceId"), sf_str_from(trace));
    sf_json_write_key_str(w, SF_STR("spanId"), sf_str_from(id));
    sf_json_write_key_str(w, SF_STR("service"), s->service);
    sf_json_write_key_str(w, SF_STR("name"), s->name);
    sf_json_write_key(w, SF_STR("startTimeUnixNano"));
    sf_json_write_u64_text(w, s->start_ns);
    sf_json_write_key_u64(w, SF_STR("durationNs"), s->duration_ns);
    sf_json_write_key(w, SF_STR("value"));
    sf_json_write_i64(w, s->value);
    sf_json_write_key(w, SF_STR("share"));
    sf_json_write_f64(w, s->share);
    sf_json_write_key_u64(w, SF_STR("samples"), s->n_samples);
    if (s->is_cut) {
        sf_json_write_key(w, SF_STR("isCut"));
        sf_json_write_bool(w, true);
    }
    if (s->few > 0) {
        sf_json_write_key(w, SF_STR("fewSamples"));
        sf_json_write_f64(w, s->few);
    }
    sf_json_write_object_end(w);
}

void sf_frame_spans_json(const struct sf_frame_spans *f, struct sf_buf *out)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    sf_json_write_object(&w);
    sf_json_write_key_str(&w, SF_STR("function"), f->function);
    sf_json_write_key_str(&w, SF_STR("type"), f->type);
    sf_json_write_key_str(&w, SF_STR("unit"), f->unit);
    sf_json_write_key_u64(&w, SF_STR("found"), f->n_found);
    sf_json_write_key(&w, SF_STR("value"));
    sf_json_write_i64(&w, f->value);
    if (f->few > 0) {
        sf_json_write_key(&w, SF_STR("fewSamples"));
        sf_json_write_f64(&w, f->few);
    }
    sf_json_write_key_str(&w, SF_STR("note"), f->note);
    sf_json_write_key_str(&w, SF_STR("reason"), f->reason);
    sf_json_write_key(&w, SF_STR("spans"));
    sf_json_write_array(&w);
    for (uint32_t i = 0; i < f->n; i++)
        frame_spans_write_span(&w, &f->list[i]);
    sf_json_write_array_end(&w);
    sf_json_write_object_end(&w);
}

static void frame_spans_add_cell(struct sf_buf *out, struct sf_buf *cell, size_t columns)
{
    size_t width = sf_utf8_width(sf_buf_str(cell));
    sf_units_pad(out, width < columns ? columns - width : 1);
    sf_buf_add_str(out, sf_buf_str(cell));
    sf_buf_reset(cell);
}

static void frame_spans_add_span(struct sf_buf *out, const struct sf_frame_spans *f,
                                 const struct sf_frame_span *s)
{
    struct sf_buf cell = {.max = 256};
    char trace[33] = "(its trace is not stored)", id[17];
    if (!sf_trace_id_is_zero(s->trace))
        sf_trace_id_render(s->trace, trace);
    sf_span_id_render(s->id, id);
    if (s->few > 0)
        sf_buf_print(&cell, "%.0f sample%s", s->few, s->few < 1.5 ? "" : "s");
    else
        sf_units_amount(&cell, s->value, f->unit);
    if (s->is_cut && s->few == 0)
        sf_buf_add_u8(&cell, '*');
    frame_spans_add_cell(out, &cell, 10);
    sf_units_percent(&cell, s->share);
    frame_spans_add_cell(out, &cell, 8);
    sf_buf_add_str(out, SF_STR("  "));
    size_t width = sf_units_text(out, s->service, 18);
    sf_units_pad(out, 19 - width);
    width = sf_units_text(out, s->name, 26);
    sf_units_pad(out, 27 - width);
    sf_buf_print(out, "%s  %s\n", id, trace);
    sf_buf_done(&cell);
}

void sf_frame_spans_text(const struct sf_frame_spans *f, struct sf_buf *out)
{
    if (f->n > 0) {
        if (f->few > 0) {
            sf_buf_print(out, "%.0f sample%s", f->few, f->few < 1.5 ? "" : "s");
        } else {
            sf_units_amount(out, f->value, f->unit);
            sf_buf_add_str(out, SF_STR(" sampled"));
        }
        sf_buf_print(out, " in %llu span%s", (unsigned long long)f->n_found,
                     f->n_found == 1 ? "" : "s");
        if (f->n_found > f->n)
            sf_buf_print(out, ", the first %u", f->n);
        sf_buf_print(out, "\n\n%10s%8s  %-19s%-27s%-16s  %s\n", "in them", "of it", "service",
                     "operation", "span", "trace");
    }
    bool has_cut = false;
    for (uint32_t i = 0; i < f->n; i++) {
        frame_spans_add_span(out, f, &f->list[i]);
        has_cut = has_cut || (f->list[i].is_cut && f->list[i].few == 0);
    }
    if (has_cut)
        sf_buf_add_str(out, SF_STR("* cut to fit: the samples stand for more than the span had "
                                   "room for\n"));
    if (f->note.len)
        sf_buf_print(out, "%.*s\n", SF_STR_ARG(f->note));
    if (f->reason.len > 0) {
        sf_units_prose(out, f->reason, 0, 0);
        sf_buf_add_u8(out, '\n');
    }
}

/* findings.c - noteworthy observations, as JSON and as text. */
#include "render/findings.h"

#include <math.h>

#include "render/units.h"
#include "wire/json_write.h"

static void write_known(struct sf_json_writer *w, sf_str key, double value)
{
    sf_json_write_key(w, key);
    if (isfinite(value))
        sf_json_write_i64(w, llround(value));
    else
        sf_json_write_null(w);
}

void sf_findings_members(const struct sf_findings_view *v, struct sf_json_writer *w)
{
    sf_json_write_key_str(w, SF_STR("of"), v->of);
    sf_json_write_key_u64(w, SF_STR("samples"), v->n_samples);
    sf_json_write_key_u64(w, SF_STR("estimatedSamples"), v->n_estimated);
    sf_json_write_key_str(w, SF_STR("reason"), v->reason);
    sf_json_write_key_str(w, SF_STR("note"), v->note);
    sf_json_write_key_u64(w, SF_STR("more"), v->n_more);
    sf_json_write_key(w, SF_STR("findings"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < v->n; i++) {
        const struct sf_finding_view *f = &v->items[i];
        char trace[33], span[17];
        sf_json_write_object(w);
        sf_json_write_key_str(w, SF_STR("kind"), sf_str_from(f->kind));
        sf_json_write_key_str(w, SF_STR("sentence"), f->sentence);
        sf_json_write_key_str(w, SF_STR("subject"), f->subject);
        sf_json_write_key_str(w, SF_STR("path"), f->path);
        sf_json_write_key_str(w, SF_STR("action"), sf_str_from(f->action));
        sf_json_write_key(w, SF_STR("share"));
        sf_json_write_f64(w, f->share);
        sf_json_write_key(w, SF_STR("value"));
        sf_json_write_i64(w, f->value);
        sf_json_write_key_str(w, SF_STR("unit"), f->unit);
        write_known(w, SF_STR("perRequestNs"), f->per_request);
        write_known(w, SF_STR("rankNs"), f->rank);
        sf_json_write_key(w, SF_STR("requestShare"));
        if (isfinite(f->request_share))
            sf_json_write_f64(w, f->request_share);
        else
            sf_json_write_null(w);
        write_known(w, SF_STR("perHour"), f->per_hour);
        write_known(w, SF_STR("perHourLow"), f->low);
        write_known(w, SF_STR("perHourHigh"), f->high);
        sf_json_write_key_str(w, SF_STR("file"), f->file);
        sf_json_write_key_u64(w, SF_STR("line"), f->line);
        sf_json_write_key_str(w, SF_STR("spanName"), f->span_name);
        sf_json_write_key_u64(w, SF_STR("count"), f->count);
        sf_trace_id_render(f->trace, trace);
        sf_json_write_key_str(w, SF_STR("traceId"),
                              sf_trace_id_is_zero(f->trace) ? SF_STR_NONE : sf_str_from(trace));
        sf_span_id_render(f->span, span);
        sf_json_write_key_str(w, SF_STR("spanId"), f->span ? sf_str_from(span) : SF_STR_NONE);
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
}

void sf_findings_json(const struct sf_findings_view *v, struct sf_buf *out)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    sf_json_write_object(&w);
    sf_findings_members(v, &w);
    sf_json_write_object_end(&w);
}

/* "(4.85 ms per request, order_service.c:53)" */
static void amount_text(const struct sf_finding_view *f, struct sf_buf *out)
{
    sf_buf_add_str(out, SF_STR("("));
    if (isfinite(f->per_request) && f->per_request >= 0.5) {
        sf_units_duration(out, (uint64_t)llround(f->per_request));
        sf_buf_add_str(out, SF_STR(" per request"));
    } else {
        sf_units_amount(out, f->value, f->unit);
    }
    if (f->file.len > 0) {
        sf_buf_add_str(out, SF_STR(", "));
        sf_units_text(out, f->file, 60);
        if (f->line > 0)
            sf_buf_print(out, ":%u", f->line);
    }
    sf_buf_add_str(out, SF_STR(")\n"));
}

/* The number moves to the next line as a whole, so that it is not split. */
static void sentence_text(const struct sf_finding_view *f, struct sf_buf *out)
{
    enum { COLUMNS = 78, INDENT = 4 };
    size_t column = sf_units_prose(out, f->sentence, INDENT, INDENT);
    size_t start = out->len;
    sf_buf_add_str(out, SF_STR(" "));
    amount_text(f, out);
    if (!sf_buf_ok(out) || column + (out->len - 1 - start) <= COLUMNS)
        return;
    out->len = start;
    sf_buf_add_u8(out, '\n');
    sf_units_pad(out, INDENT);
    amount_text(f, out);
}

void sf_findings_text(const struct sf_findings_view *v, struct sf_buf *out)
{
    for (uint32_t i = 0; i < v->n; i++) {
        sf_buf_print(out, "%2u. ", i + 1);
        sentence_text(&v->items[i], out);
    }
    if (v->n_more > 0)
        sf_buf_print(out, "... and %u more, smaller ones\n", v->n_more);
    if (v->n == 0 && v->reason.len == 0) {
        sf_buf_add_str(out, SF_STR("no findings in "));
        sf_units_text(out, v->of, SIZE_MAX);
        sf_buf_print(out, " (%llu samples)\n", (unsigned long long)v->n_samples);
    }
    if (v->reason.len > 0) {
        sf_units_prose(out, v->reason, 0, 0);
        sf_buf_add_u8(out, '\n');
    }
    if (v->note.len > 0) {
        sf_units_prose(out, v->note, 0, 0);
        sf_buf_add_u8(out, '\n');
    }
}

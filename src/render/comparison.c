/* comparison.c - two sets of spans compared per request, as JSON and as text. */
#include "render/comparison.h"

#include <math.h>

#include "base/text.h"
#include "render/units.h"
#include "wire/json_writer.h"

static void write_f64(struct sf_json_writer *w, const char *key, double v)
{
    sf_json_write_key(w, sf_str_from(key));
    sf_json_write_f64(w, v);
}

static void write_side(struct sf_json_writer *w, const char *key,
                       const struct sf_comparison_side *s)
{
    sf_json_write_key(w, sf_str_from(key));
    sf_json_write_object(w);
    sf_json_write_key_str(w, SF_STR("words"), s->words);
    sf_json_write_key_u64(w, SF_STR("found"), s->n_found);
    sf_json_write_key(w, SF_STR("isFoundEstimate"));
    sf_json_write_bool(w, s->is_estimate);
    sf_json_write_key_u64(w, SF_STR("spans"), s->n_spans);
    sf_json_write_key_u64(w, SF_STR("sampledSpans"), s->n_sampled);
    write_f64(w, "meanDurationNs", s->mean_duration_ns);
    write_f64(w, "meanValue", s->mean_value);
    sf_json_write_object_end(w);
}

void sf_comparison_json(const struct sf_comparison *c, struct sf_buf *out)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    sf_json_write_object(&w);
    sf_json_write_key_str(&w, SF_STR("type"), c->type);
    sf_json_write_key_str(&w, SF_STR("unit"), c->unit);
    write_side(&w, "left", &c->left);
    write_side(&w, "right", &c->right);
    sf_json_write_key_u64(&w, SF_STR("significant"), c->n_significant);
    sf_json_write_key(&w, SF_STR("isSample"));
    sf_json_write_bool(&w, c->is_sample);
    sf_json_write_key_str(&w, SF_STR("note"), c->note);
    sf_json_write_key_str(&w, SF_STR("reason"), c->reason);
    sf_json_write_key(&w, SF_STR("functions"));
    sf_json_write_array(&w);
    for (uint32_t i = 0; i < c->n_rows; i++) {
        const struct sf_comparison_row *r = &c->rows[i];
        sf_json_write_object(&w);
        sf_json_write_key_str(&w, SF_STR("function"), r->function);
        write_f64(&w, "left", r->left);
        write_f64(&w, "right", r->right);
        write_f64(&w, "delta", r->delta);
        if (isfinite(r->low) && isfinite(r->high)) {
            write_f64(&w, "low", r->low);
            write_f64(&w, "high", r->high);
        }
        sf_json_write_key_u64(&w, SF_STR("leftSpans"), r->n_left);
        sf_json_write_key_u64(&w, SF_STR("rightSpans"), r->n_right);
        sf_json_write_key(&w, SF_STR("isSignificant"));
        sf_json_write_bool(&w, r->is_significant);
        sf_json_write_object_end(&w);
    }
    sf_json_write_array_end(&w);
    sf_json_write_object_end(&w);
}

/* ---- text ---- */

enum { NAME = 34, NUMBER = 11, MAX_ROWS = 20 };

static void add_amount(struct sf_buf *out, double value, sf_str unit, bool has_sign)
{
    struct sf_buf cell = {.max = 256};
    if (has_sign)
        sf_buf_add_u8(&cell, value < 0 ? '-' : '+');
    sf_units_amount(&cell, llround(has_sign ? fabs(value) : value), unit);
    size_t width = sf_utf8_width(sf_buf_str(&cell));
    sf_units_pad(out, width < NUMBER ? NUMBER - width : 1);
    sf_buf_add_str(out, sf_buf_str(&cell));
    sf_buf_done(&cell);
}

static void add_side(struct sf_buf *out, const char *name, const struct sf_comparison *c,
                     const struct sf_comparison_side *s)
{
    sf_buf_print(out, "%-6s %llu spans", name, (unsigned long long)s->n_spans);
    if (s->n_found > s->n_spans)
        sf_buf_print(out, " of %s%llu", s->is_estimate ? "about " : "",
                     (unsigned long long)s->n_found);
    sf_buf_print(out, " (%llu with samples), mean ", (unsigned long long)s->n_sampled);
    sf_units_duration(out, (uint64_t)llround(s->mean_duration_ns));
    sf_buf_add_str(out, SF_STR(", "));
    sf_units_amount(out, llround(s->mean_value), c->unit);
    sf_buf_add_str(out, SF_STR(" sampled: "));
    sf_units_text(out, s->words, 120);
    sf_buf_add_u8(out, '\n');
}

void sf_comparison_text(const struct sf_comparison *c, struct sf_buf *out)
{
    add_side(out, "left", c, &c->left);
    add_side(out, "right", c, &c->right);
    for (uint32_t i = 0; i < c->n_rows && i < MAX_ROWS; i++) {
        const struct sf_comparison_row *r = &c->rows[i];
        if (i == 0)
            sf_buf_print(out, "\n%-*s%*s%*s%*s%*s%*s\n", NAME, "per span", NUMBER, "left", NUMBER,
                         "right", NUMBER, "difference", NUMBER, "at least", NUMBER, "at most");
        size_t width = sf_units_text(out, r->function, NAME - 1);
        sf_units_pad(out, NAME - width);
        add_amount(out, r->left, c->unit, false);
        add_amount(out, r->right, c->unit, false);
        add_amount(out, r->delta, c->unit, true);
        bool has_bounds = isfinite(r->low) && isfinite(r->high);
        if (has_bounds) {
            add_amount(out, r->low, c->unit, true);
            add_amount(out, r->high, c->unit, true);
        }
        sf_buf_add_str(out, r->is_significant ? SF_STR("\n")
                            : has_bounds      ? SF_STR("  not significant\n")
                                              : SF_STR("  too few spans to tell\n"));
    }
    if (c->n_rows > MAX_ROWS)
        sf_buf_print(out, "... and %u more; --output json has all\n", c->n_rows - MAX_ROWS);
    if (c->note.len)
        sf_buf_print(out, "%.*s\n", SF_STR_ARG(c->note));
    if (c->reason.len > 0) {
        sf_units_prose(out, c->reason, 0, 0);
        sf_buf_add_u8(out, '\n');
    }
}

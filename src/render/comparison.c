/* comparison.c - two sets of spans compared per request, as JSON and as text. */
#include "render/comparison.h"

#include <math.h>

#include "base/text.h"
#include "render/known.h"
#include "render/units.h"
#include "wire/json_write.h"

static void comparison_write_f64(struct sf_json_writer *w, const char *key, double v)
{
    sf_json_write_key(w, sf_str_from(key));
    sf_json_write_f64(w, v);
}

static void comparison_write_side(struct sf_json_writer *w, const char *key,
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
    comparison_write_f64(w, "meanDurationNs", s->mean_duration_ns);
    comparison_write_f64(w, "meanValue", s->mean_value);
    sf_json_write_key(w, SF_STR("durationsNs"));
    sf_json_write_array(w);
    for (uint32_t i = 0; s->n_spans > 0 && i < SF_COMPARISON_QUANTILES; i++)
        sf_json_write_u64(w, s->durations_ns[i]);
    sf_json_write_array_end(w);
    sf_json_write_object_end(w);
}

static void write_bool(struct sf_json_writer *w, const char *key, bool v)
{
    sf_json_write_key(w, sf_str_from(key));
    sf_json_write_bool(w, v);
}

/* Members of an open object. Without bounds if too few spans have it. */
static void comparison_write_row(struct sf_json_writer *w, const struct sf_comparison_row *r)
{
    comparison_write_f64(w, "left", r->left);
    comparison_write_f64(w, "right", r->right);
    comparison_write_f64(w, "delta", r->delta);
    if (isfinite(r->low) && isfinite(r->high)) {
        comparison_write_f64(w, "low", r->low);
        comparison_write_f64(w, "high", r->high);
    }
    sf_json_write_key_u64(w, SF_STR("leftSpans"), r->n_left);
    sf_json_write_key_u64(w, SF_STR("rightSpans"), r->n_right);
    write_bool(w, "isSignificant", r->is_significant);
    sf_json_write_key(w, SF_STR("spansNeeded"));
    if (r->n_needed > 0 && r->n_needed < 1e15)
        sf_json_write_u64(w, (uint64_t)ceil(r->n_needed));
    else
        sf_json_write_null(w);
}

static void comparison_write_functions(struct sf_json_writer *w,
                                       const struct sf_comparison_row *rows, uint32_t n)
{
    sf_json_write_key(w, SF_STR("functions"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < n; i++) {
        sf_json_write_object(w);
        sf_json_write_key_str(w, SF_STR("function"), rows[i].function);
        if (rows[i].file.len > 0) {
            sf_json_write_key_str(w, SF_STR("file"), rows[i].file);
            sf_json_write_key_u64(w, SF_STR("line"), rows[i].line);
        }
        comparison_write_row(w, &rows[i]);
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
}

static void write_part(struct sf_json_writer *w, const struct sf_comparison_time *t,
                       const struct sf_comparison_part *p)
{
    sf_json_write_object(w);
    sf_json_write_key_str(w, SF_STR("part"), sf_str_from(p->name));
    sf_json_write_key_str(w, SF_STR("words"), sf_str_from(p->words));
    comparison_write_row(w, &p->row);
    comparison_write_f64(w, "share", t->duration.delta != 0 ? p->row.delta / t->duration.delta : 0);
    write_bool(w, "isEstimate", p->is_estimate);
    comparison_write_functions(w, p->items, p->n_items);
    sf_json_write_key_u64(w, SF_STR("moreFunctions"), p->n_more);
    comparison_write_f64(w, "restLeft", p->rest_left);
    comparison_write_f64(w, "restRight", p->rest_right);
    sf_json_write_object_end(w);
}

static void comparison_write_time(struct sf_json_writer *w, const struct sf_comparison_time *t)
{
    sf_json_write_key(w, SF_STR("time"));
    sf_json_write_object(w);
    sf_json_write_key_str(w, SF_STR("summary"), t->summary);
    sf_json_write_key_u64(w, SF_STR("leftSpans"), t->n_left);
    sf_json_write_key_u64(w, SF_STR("rightSpans"), t->n_right);
    sf_json_write_key_u64(w, SF_STR("samples"), t->n_samples);
    comparison_write_f64(w, "confidence", 0.95);
    sf_json_write_key(w, SF_STR("duration"));
    sf_json_write_object(w);
    comparison_write_row(w, &t->duration);
    sf_json_write_object_end(w);
    sf_json_write_key(w, SF_STR("parts"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < t->n_parts; i++)
        write_part(w, t, &t->parts[i]);
    sf_json_write_array_end(w);
    sf_json_write_key_str(w, SF_STR("reason"), t->reason);
    sf_json_write_object_end(w);
}

void sf_comparison_json(const struct sf_comparison *c, struct sf_buf *out)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    sf_json_write_object(&w);
    sf_json_write_key_str(&w, SF_STR("type"), c->type);
    sf_json_write_key_str(&w, SF_STR("unit"), c->unit);
    comparison_write_side(&w, "left", &c->left);
    comparison_write_side(&w, "right", &c->right);
    sf_json_write_key_u64(&w, SF_STR("significant"), c->n_significant);
    write_bool(&w, "isSample", c->is_sample);
    sf_json_write_key_str(&w, SF_STR("note"), c->note);
    if (c->n_thinned[0] + c->n_thinned[1] > 0) {
        sf_json_write_key(&w, SF_STR("thinnedSpans"));
        sf_json_write_array(&w);
        sf_json_write_u64(&w, c->n_thinned[0]);
        sf_json_write_u64(&w, c->n_thinned[1]);
        sf_json_write_array_end(&w);
        sf_json_write_key(&w, SF_STR("weightedSpans"));
        sf_json_write_array(&w);
        sf_json_write_u64(&w, c->n_weighted[0]);
        sf_json_write_u64(&w, c->n_weighted[1]);
        sf_json_write_array_end(&w);
    }
    sf_json_write_key_str(&w, SF_STR("reason"), c->reason);
    comparison_write_functions(&w, c->rows, c->n_rows);
    comparison_write_time(&w, &c->time);
    sf_json_write_object_end(&w);
}

/* ---- text ---- */

enum { NAME = 34, NUMBER = 11, MAX_ROWS = 20, PART_ROWS = 5 };

static void comparison_add_cell(struct sf_buf *out, struct sf_buf *cell)
{
    size_t width = sf_utf8_width(sf_buf_str(cell));
    sf_units_pad(out, width < NUMBER ? NUMBER - width : 1);
    sf_buf_add_str(out, sf_buf_str(cell));
    sf_buf_done(cell);
}

static void comparison_add_amount(struct sf_buf *out, double value, sf_str unit, bool is_difference,
                                  bool is_estimate)
{
    struct sf_buf cell = {.max = 256};
    sf_buf_add_str(&cell, is_estimate ? SF_STR(SF_ESTIMATE_MARK) : SF_STR_NONE);
    if (is_difference || value < 0)
        sf_buf_add_u8(&cell, value < 0 ? '-' : '+');
    sf_units_amount(&cell, llround(fabs(value)), unit);
    comparison_add_cell(out, &cell);
}

static void comparison_add_side(struct sf_buf *out, const char *name, const struct sf_comparison *c,
                                const struct sf_comparison_side *s)
{
    sf_buf_print(out, "%-6s %llu spans", name, (unsigned long long)s->n_spans);
    if (s->n_found > s->n_spans)
        sf_buf_print(out, " of %s%llu", s->is_estimate ? SF_ESTIMATE_MARK : "",
                     (unsigned long long)s->n_found);
    sf_buf_print(out, " (%llu with samples), mean ", (unsigned long long)s->n_sampled);
    sf_units_duration(out, (uint64_t)llround(s->mean_duration_ns));
    if (c->type.len > 0) {
        sf_buf_add_str(out, SF_STR(", "));
        sf_units_amount(out, llround(s->mean_value), c->unit);
        sf_buf_add_str(out, SF_STR(" sampled"));
    }
    sf_buf_add_str(out, SF_STR(": "));
    sf_units_text(out, s->words, 120);
    sf_buf_add_u8(out, '\n');
}

static void comparison_add_header(struct sf_buf *out, const char *title)
{
    sf_buf_print(out, "\n%-*s%*s%*s%*s%*s%*s\n", NAME, title, NUMBER, "left", NUMBER, "right",
                 NUMBER, "difference", NUMBER, "at least", NUMBER, "at most");
}

static void comparison_add_row(struct sf_buf *out, size_t indent, sf_str name,
                               const struct sf_comparison_row *r, sf_str unit, bool is_estimate)
{
    bool has_bounds = isfinite(r->low) && isfinite(r->high);
    sf_units_pad(out, indent);
    size_t width = sf_units_text(out, name, NAME - 1 - indent) + indent;
    sf_units_pad(out, NAME - width);
    comparison_add_amount(out, r->left, unit, false, is_estimate);
    comparison_add_amount(out, r->right, unit, false, is_estimate);
    comparison_add_amount(out, r->delta, unit, true, is_estimate);
    if (has_bounds) {
        comparison_add_amount(out, r->low, unit, true, is_estimate);
        comparison_add_amount(out, r->high, unit, true, is_estimate);
    }
    sf_buf_add_str(out, r->is_significant ? SF_STR("\n")
                        : has_bounds      ? SF_STR("  not significant\n")
                                          : SF_STR("  too few spans to tell\n"));
}

static void comparison_add_part(struct sf_buf *out, const struct sf_comparison_part *p, sf_str unit)
{
    uint32_t n = p->n_items < PART_ROWS ? p->n_items : PART_ROWS;
    uint32_t n_more = p->n_items - n + p->n_more;
    comparison_add_row(out, 2, sf_str_from(p->words), &p->row, unit, p->is_estimate);
    for (uint32_t i = 0; i < n; i++)
        comparison_add_row(out, 4, p->items[i].function, &p->items[i], unit, p->is_estimate);
    if (n_more > 0)
        sf_buf_print(out, "    ... and %u more\n", n_more);
}

static void add_prose(struct sf_buf *out, sf_str text)
{
    if (text.len == 0)
        return;
    sf_units_prose(out, text, 0, 0);
    sf_buf_add_u8(out, '\n');
}

static void comparison_add_time(struct sf_buf *out, const struct sf_comparison *c)
{
    const struct sf_comparison_time *t = &c->time;
    sf_str unit = SF_STR("nanoseconds");
    if (t->n_parts > 0) {
        comparison_add_header(out, "time per span");
        comparison_add_row(out, 0, SF_STR("duration"), &t->duration, unit, false);
        for (uint32_t i = 0; i < t->n_parts; i++)
            comparison_add_part(out, &t->parts[i], unit);
    }
    if (t->n_left < c->left.n_spans || t->n_right < c->right.n_spans)
        sf_buf_print(out, "parts of the duration: of %llu spans on the left, %llu on the right\n",
                     (unsigned long long)t->n_left, (unsigned long long)t->n_right);
    add_prose(out, t->reason);
}

static void comparison_add_functions(struct sf_buf *out, const struct sf_comparison *c)
{
    struct sf_buf title = {.max = 256};
    sf_str rest = c->type, what = c->type; /* "process_cpu:cpu:nanoseconds:cpu:nanoseconds" */
    for (int i = 0; i < 2; i++)
        (void)sf_str_split_next(&rest, ':', &what);
    sf_buf_print(&title, "%.*s per span", SF_STR_ARG(sf_str_part(what, 0, NAME - 10)));
    sf_buf_add_u8(&title, 0);
    for (uint32_t i = 0; i < c->n_rows && i < MAX_ROWS; i++) {
        if (i == 0)
            comparison_add_header(out, (const char *)title.p);
        comparison_add_row(out, 0, c->rows[i].function, &c->rows[i], c->unit, false);
    }
    sf_buf_done(&title);
    if (c->n_rows > MAX_ROWS)
        sf_buf_print(out, "... and %u more; --output json has all\n", c->n_rows - MAX_ROWS);
}

void sf_comparison_text(const struct sf_comparison *c, struct sf_buf *out)
{
    add_prose(out, c->time.summary);
    comparison_add_side(out, "left", c, &c->left);
    comparison_add_side(out, "right", c, &c->right);
    comparison_add_time(out, c);
    comparison_add_functions(out, c);
    if (c->note.len)
        sf_buf_print(out, "%.*s\n", SF_STR_ARG(c->note));
    add_prose(out, c->reason);
}

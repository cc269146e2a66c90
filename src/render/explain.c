/* explain.c - an explanation as JSON and as text. JSON carries all parts, functions, children and
 * evidence; the text shows at most a screen: parts by size, small ones together, so that the lines
 * still sum to the duration. */
#include "render/explain.h"

#include <math.h>
#include <stdio.h>

#include "model/answer/known.h"
#include "render/units.h"
#include "wire/json_write.h"

/* ---- JSON ---- */

static void add_bound(struct sf_json_writer *w, const char *key, double ns)
{
    sf_json_write_key(w, sf_str_from(key));
    if (isfinite(ns))
        sf_json_write_i64(w, llround(ns));
    else
        sf_json_write_null(w);
}

static void explain_add_ids(struct sf_json_writer *w, sf_trace_id trace, sf_span_id span)
{
    char id[33], own[17];
    sf_trace_id_render(trace, id);
    sf_span_id_render(span, own);
    sf_json_write_key_str(w, SF_STR("trace"),
                          sf_trace_id_is_zero(trace) ? SF_STR_NONE : sf_str_from(id));
    sf_json_write_key_str(w, SF_STR("span"), span ? sf_str_from(own) : SF_STR_NONE);
}

static void add_bool(struct sf_json_writer *w, const char *key, bool is)
{
    sf_json_write_key(w, sf_str_from(key));
    sf_json_write_bool(w, is);
}

static void add_i64(struct sf_json_writer *w, const char *key, double value)
{
    sf_json_write_key(w, sf_str_from(key));
    sf_json_write_i64(w, llround(value));
}

/* Not by way of a double: from 104 days on that is off by a nanosecond, and parts no longer sum to
 * the duration. */
static void add_whole(struct sf_json_writer *w, const char *key, int64_t value)
{
    sf_json_write_key(w, sf_str_from(key));
    sf_json_write_i64(w, value);
}

static bool is_difference(const struct sf_explain_view *v)
{
    return v->of == SF_EXPLAIN_DIFFERENCE;
}

static void explain_add_functions(struct sf_json_writer *w, const struct sf_explain_view *v,
                                  const struct sf_explain_part *p)
{
    sf_json_write_key(w, SF_STR("functions"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < p->n_functions; i++) {
        const struct sf_explain_function *f = &p->functions[i];
        sf_json_write_object(w);
        sf_json_write_key_str(w, SF_STR("function"), f->function);
        sf_json_write_key_str(w, SF_STR("caller"), f->caller);
        sf_json_write_key_str(w, SF_STR("library"), f->library);
        sf_json_write_key_str(w, SF_STR("path"), f->path);
        sf_json_write_key_str(w, SF_STR("file"), f->file);
        sf_json_write_key_u64(w, SF_STR("line"), f->line);
        add_i64(w, "ns", f->ns);
        add_bound(w, "low_ns", f->low_ns);
        add_bound(w, "high_ns", f->high_ns);
        if (is_difference(v))
            add_bool(w, "significant", f->is_significant);
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
}

static void explain_add_parts(struct sf_json_writer *w, const struct sf_explain_view *v,
                              sf_trace_id trace, sf_span_id span,
                              const struct sf_explain_part *parts, uint32_t n);

static void explain_add_children(struct sf_json_writer *w, const struct sf_explain_view *v,
                                 const struct sf_explain_part *p)
{
    sf_json_write_key(w, SF_STR("children"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < p->n_children; i++) {
        const struct sf_explain_span *s = &p->children[i];
        sf_json_write_object(w);
        explain_add_ids(w, s->trace, s->span);
        sf_json_write_key_str(w, SF_STR("service"), s->service);
        sf_json_write_key_str(w, SF_STR("name"), s->name);
        sf_json_write_key_u64(w, SF_STR("count"), s->count);
        add_whole(w, "ns", s->ns);
        if (s->count > 1 && s->most_ns > 0)
            add_whole(w, "most_ns", s->most_ns);
        if (s->before_per != s->after_per) {
            sf_json_write_key(w, SF_STR("before_per_request"));
            sf_json_write_f64(w, s->before_per);
            sf_json_write_key(w, SF_STR("after_per_request"));
            sf_json_write_f64(w, s->after_per);
        }
        sf_json_write_key_u64(w, SF_STR("duration_ns"), s->duration_ns);
        sf_json_write_key(w, SF_STR("parts"));
        explain_add_parts(w, v, s->trace, 0, s->parts,
                          s->n_parts); /* of all spans below: not a part of one span */
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
}

static void add_reason(struct sf_json_writer *w, const struct sf_explain_part *p)
{
    struct sf_buf words = {0};
    if (p->runnable > 0)
        sf_explain_sentence_runnable(p, &words);
    sf_json_write_key_str(w, SF_STR("reason"), p->runnable > 0 ? sf_buf_str(&words) : p->reason);
    if (p->runnable > 0) {
        sf_json_write_key(w, SF_STR("runnable_threads"));
        sf_json_write_f64(w, p->runnable);
    }
    sf_buf_done(&words);
}

static void explain_add_profile(struct sf_json_writer *w, sf_trace_id trace, sf_span_id span,
                                const struct sf_explain_part *p)
{
    char path[128], id[33], own[17];
    sf_trace_id_render(trace, id);
    sf_span_id_render(span, own);
    sf_json_write_key(w, SF_STR("profile"));
    snprintf(path, sizeof(path), "/api/v1/spans/%s/%s/profile?part=%s", id, own, p->ledger);
    if (span != 0 && (p->n_functions > 0 || p->n_children > 0))
        sf_json_write_str(w, sf_str_from(path));
    else
        sf_json_write_null(w);
}

static void explain_add_parts(struct sf_json_writer *w, const struct sf_explain_view *v,
                              sf_trace_id trace, sf_span_id span,
                              const struct sf_explain_part *parts, uint32_t n)
{
    sf_json_write_array(w);
    for (uint32_t i = 0; i < n; i++) {
        const struct sf_explain_part *p = &parts[i];
        sf_json_write_object(w);
        sf_json_write_key_str(w, SF_STR("part"), sf_str_from(p->name));
        sf_json_write_key_str(w, SF_STR("words"), sf_str_from(p->words));
        add_whole(w, "ns", p->ns);
        add_bound(w, "low_ns", p->low_ns);
        add_bound(w, "high_ns", p->high_ns);
        sf_json_write_key_str(w, SF_STR("source"), sf_str_from(p->source));
        add_bool(w, "estimate", p->is_estimate);
        if (p->few > 0) {
            sf_json_write_key(w, SF_STR("few_samples"));
            sf_json_write_f64(w, p->few);
        }
        if (is_difference(v)) {
            add_bool(w, "significant", p->is_significant);
            add_i64(w, "before_ns", p->before_ns);
            add_i64(w, "after_ns", p->after_ns);
        }
        add_reason(w, p);
        explain_add_profile(w, trace, span, p);
        explain_add_functions(w, v, p);
        sf_json_write_key_u64(w, SF_STR("more_functions"), p->n_more_functions);
        explain_add_children(w, v, p);
        sf_json_write_key_u64(w, SF_STR("more_children"), p->n_more_children);
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
}

static void add_again(struct sf_json_writer *w, const struct sf_explain_view *v)
{
    struct sf_buf text = {0};
    sf_explain_again_command(v, &text);
    sf_json_write_key_str(w, SF_STR("command"), sf_buf_str(&text));
    sf_buf_reset(&text);
    sf_explain_again_page(v, &text);
    sf_json_write_key_str(w, SF_STR("page"), sf_buf_str(&text));
    sf_buf_done(&text);
}

static void explain_add_focus(struct sf_json_writer *w, const struct sf_explain_focus *f)
{
    if (f->name.len == 0)
        return;
    sf_json_write_key(w, SF_STR("focus"));
    sf_json_write_object(w);
    sf_json_write_key_str(w, SF_STR("name"), f->name);
    add_i64(w, "ns", f->ns);
    add_bound(w, "low_ns", f->low_ns);
    add_bound(w, "high_ns", f->high_ns);
    sf_json_write_key_u64(w, SF_STR("count"), f->count);
    add_bool(w, "estimate", f->is_estimate);
    sf_json_write_object_end(w);
}

static void add_mix_of(struct sf_json_writer *w, const struct sf_explain_mix *m)
{
    sf_json_write_key(w, SF_STR("mix"));
    if (m->name.len == 0) {
        sf_json_write_null(w);
        return;
    }
    sf_json_write_object(w);
    sf_json_write_key_str(w, SF_STR("name"), m->name);
    add_i64(w, "ns", m->ns);
    sf_json_write_key(w, SF_STR("before_share"));
    sf_json_write_f64(w, m->before_share);
    sf_json_write_key(w, SF_STR("after_share"));
    sf_json_write_f64(w, m->after_share);
    sf_json_write_object_end(w);
}

static void add_evidence(struct sf_json_writer *w, const struct sf_explain_view *v)
{
    char id[33], own[17], text[160];
    sf_trace_id_render(v->trace, id);
    sf_span_id_render(v->span, own);
    sf_json_write_key(w, SF_STR("evidence"));
    sf_json_write_object(w);
    sf_json_write_key(w, SF_STR("spans"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < v->n_examples; i++) {
        const struct sf_explain_example *e = &v->examples[i];
        sf_json_write_object(w);
        explain_add_ids(w, e->trace, e->span);
        sf_json_write_key_str(w, SF_STR("service"), e->service);
        sf_json_write_key_str(w, SF_STR("name"), e->name);
        sf_json_write_key_u64(w, SF_STR("duration_ns"), e->duration_ns);
        add_whole(w, "part_ns", e->part_ns);
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
    sf_json_write_key_str(w, SF_STR("query"), v->query);
    sf_json_write_key_u64(w, SF_STR("samples"), v->n_samples);
    sf_json_write_key(w, SF_STR("flame"));
    if (v->of == SF_EXPLAIN_SPAN && v->n_parts > 0)
        snprintf(text, sizeof(text), "/api/v1/spans/%s/%s/profile?part=%s", id, own,
                 v->parts[0].ledger);
    else
        snprintf(text, sizeof(text), "/api/v1/traces/%s/flame?by=critical-path", id);
    if (v->of == SF_EXPLAIN_SPAN || v->of == SF_EXPLAIN_TRACE)
        sf_json_write_str(w, sf_str_from(text));
    else
        sf_json_write_null(w);
    add_again(w, v);
    sf_json_write_object_end(w);
}

void sf_explain_json(const struct sf_explain_view *v, struct sf_buf *out)
{
    static const char *const of[] = {"span", "trace", "set", "difference"};
    struct sf_json_writer w = sf_json_writer_init(out);
    struct sf_buf text = {0};
    sf_explain_sentence(v, &text);
    sf_json_write_object(&w);
    sf_json_write_key_str(&w, SF_STR("of"), sf_str_from(of[v->of]));
    sf_json_write_key_str(&w, SF_STR("sentence"), sf_buf_str(&text));
    explain_add_ids(&w, v->trace, v->span);
    sf_json_write_key_str(&w, SF_STR("service"), v->service);
    sf_json_write_key_str(&w, SF_STR("name"), v->name);
    add_whole(&w, "duration_ns", v->duration_ns);
    add_bound(&w, "low_ns", v->low_ns);
    add_bound(&w, "high_ns", v->high_ns);
    if (is_difference(v)) {
        add_bool(&w, "significant", v->is_significant);
        add_i64(&w, "before_ns", v->before_ns);
        add_i64(&w, "after_ns", v->after_ns);
        sf_json_write_key_str(&w, SF_STR("before"), v->left);
        sf_json_write_key_str(&w, SF_STR("after"), v->right);
        sf_json_write_key_u64(&w, SF_STR("before_spans"), v->n_left);
        add_mix_of(&w, &v->mix);
    }
    sf_json_write_key_u64(&w, SF_STR("spans"), v->n_spans);
    sf_json_write_key(&w, SF_STR("parts"));
    explain_add_parts(&w, v, v->trace, v->span, v->parts, v->n_parts);
    explain_add_focus(&w, &v->focus);
    add_evidence(&w, v);
    sf_json_write_key_str(&w, SF_STR("note"), v->note);
    sf_json_write_key_str(&w, SF_STR("reason"), v->reason);
    add_bool(&w, "partial", v->is_partial);
    sf_json_write_object_end(&w);
    sf_buf_done(&text);
}

/* ---- text ---- */

enum { WORDS = 28, AMOUNT = 11, SHARE = 8, LINES = 3, BELOW_LINES = 2 };
#define SMALLEST 0.01 /* minimum share of the duration of a part with its own line */

static void pad_to(struct sf_buf *out, size_t start, size_t columns)
{
    size_t used = out->len - start;
    sf_units_pad(out, used < columns ? columns - used : 1);
}

static void explain_add_right(struct sf_buf *out, struct sf_buf *cell, size_t columns)
{
    sf_units_pad(out, cell->len < columns ? columns - cell->len : 1);
    sf_buf_add_str(out, sf_buf_str(cell));
    sf_buf_reset(cell);
}

static void explain_add_signed(struct sf_buf *out, const struct sf_explain_view *v, double ns)
{
    if (is_difference(v))
        sf_buf_add_u8(out, ns < 0 ? '-' : '+');
    sf_units_duration(out, (uint64_t)llround(fabs(ns)));
}

static void text_function(const struct sf_explain_view *v, const struct sf_explain_function *f,
                          struct sf_buf *out)
{
    struct sf_buf cell = {.max = 256};
    sf_buf_add_str(out, SF_STR("  "));
    sf_units_pad(out, WORDS - 2);
    explain_add_signed(&cell, v, f->ns);
    explain_add_right(out, &cell, AMOUNT);
    sf_buf_add_str(out, SF_STR("  "));
    sf_units_text(out, f->function, 50);
    if (f->library.len > 0) {
        sf_buf_add_str(out, SF_STR(" (in "));
        sf_units_text(out, f->library, 30);
        sf_buf_add_str(out, SF_STR(")"));
    }
    if (f->file.len > 0) {
        sf_buf_add_str(out, SF_STR("  "));
        sf_units_text(out, f->file, 60);
        if (f->line > 0)
            sf_buf_print(out, ":%u", f->line);
    }
    sf_buf_add_str(out, SF_STR("\n"));
    sf_buf_done(&cell);
}

static void add_few(struct sf_buf *cell, const struct sf_explain_part *p)
{
    sf_buf_print(cell, "%.0f sample%s", p->few, p->few < 1.5 ? "" : "s");
}

/* A part of a child: indented, with the function that has most of it. */
static void text_below(const struct sf_explain_view *v, const struct sf_explain_part *p,
                       struct sf_buf *out)
{
    struct sf_buf cell = {.max = 256};
    sf_units_pad(out, WORDS);
    if (p->few > 0) {
        add_few(&cell, p);
    } else {
        sf_buf_add_str(&cell, p->is_estimate ? SF_STR(SF_ESTIMATE_MARK) : SF_STR_NONE);
        explain_add_signed(&cell, v, (double)p->ns);
    }
    explain_add_right(out, &cell, AMOUNT);
    sf_buf_print(out, "    %s", p->words);
    if (p->n_functions > 0 && p->few <= 0) {
        sf_buf_add_str(out, SF_STR(": "));
        sf_units_text(out, p->functions[0].function, 50);
    }
    sf_buf_add_str(out, SF_STR("\n"));
    sf_buf_done(&cell);
}

static void text_child(const struct sf_explain_view *v, const struct sf_explain_span *s,
                       struct sf_buf *out)
{
    struct sf_buf cell = {.max = 256};
    char id[17];
    sf_units_pad(out, WORDS);
    explain_add_signed(&cell, v, (double)s->ns);
    explain_add_right(out, &cell, AMOUNT);
    sf_buf_add_str(out, SF_STR("  "));
    if (s->count > 1)
        sf_buf_print(out, "%u x ", s->count);
    if (s->service.len > 0) {
        sf_units_text(out, s->service, 30);
        sf_buf_add_str(out, SF_STR(": "));
    }
    sf_units_text(out, s->name, 40);
    sf_span_id_render(s->span, id);
    if (s->span != 0)
        sf_buf_print(out, "  %s", id);
    sf_buf_add_str(out, SF_STR("\n"));
    if (s->count > 1 && s->n_parts > 0) {
        sf_units_pad(out, WORDS);
        sf_units_duration(&cell, s->duration_ns);
        explain_add_right(out, &cell, AMOUNT);
        sf_buf_add_str(out, SF_STR("    the longest of them\n"));
    }
    for (uint32_t i = 0; i < s->n_parts && i < BELOW_LINES; i++)
        text_below(v, &s->parts[i], out);
    sf_buf_done(&cell);
}

static void text_part(const struct sf_explain_view *v, const struct sf_explain_part *p,
                      struct sf_buf *out)
{
    struct sf_buf cell = {.max = 256};
    double whole = fabs((double)v->duration_ns);
    size_t start = out->len;
    sf_buf_print(out, "%s", p->words);
    pad_to(out, start, WORDS);
    if (p->few > 0) {
        add_few(&cell, p);
        explain_add_right(out, &cell, AMOUNT);
    } else {
        sf_buf_add_str(&cell, p->is_estimate ? SF_STR(SF_ESTIMATE_MARK) : SF_STR_NONE);
        explain_add_signed(&cell, v, (double)p->ns);
        explain_add_right(out, &cell, AMOUNT);
        sf_buf_add_str(&cell, p->is_estimate ? SF_STR(SF_ESTIMATE_MARK) : SF_STR_NONE);
        sf_units_percent(&cell, whole > 0 ? (double)p->ns / whole : 0);
        if (!is_difference(v) || v->is_significant)
            explain_add_right(out, &cell, SHARE);
        else
            sf_buf_reset(&cell);
        if (is_difference(v) && !p->is_significant)
            sf_buf_add_str(out, SF_STR("  not significant"));
    }
    if (p->reason.len > 0) {
        sf_buf_add_str(out, SF_STR("  "));
        sf_units_text(out, p->reason, 80);
    }
    if (p->runnable > 0) {
        sf_buf_add_str(out, SF_STR("  "));
        sf_explain_sentence_runnable(p, out);
    }
    sf_buf_add_str(out, SF_STR("\n"));
    for (uint32_t i = 0; i < p->n_functions && i < LINES; i++)
        text_function(v, &p->functions[i], out);
    for (uint32_t i = 0; i < p->n_children && i < LINES && p->few <= 0; i++)
        text_child(v, &p->children[i], out);
    sf_buf_done(&cell);
}

/* Combines small parts, so that the lines still add up to the duration. */
static void text_parts(const struct sf_explain_view *v, struct sf_buf *out)
{
    struct sf_explain_part rest = {.words = "smaller parts", .is_significant = true};
    uint32_t n_rest = 0;
    for (uint32_t i = 0; i < v->n_parts; i++) {
        if (fabs((double)v->parts[i].ns) >= fabs((double)v->duration_ns) * SMALLEST) {
            text_part(v, &v->parts[i], out);
            continue;
        }
        rest.ns += v->parts[i].ns;
        n_rest++;
    }
    if (n_rest > 0)
        text_part(v, &rest, out);
}

void sf_explain_text(const struct sf_explain_view *v, struct sf_buf *out)
{
    struct sf_buf sentence = {0};
    char id[33], own[17];
    size_t at;
    if (v->of == SF_EXPLAIN_SET && v->query.len > 0) { /* spans with any name */
        sf_units_text(out, v->query, 120);
        sf_buf_add_str(out, SF_STR("\n"));
    } else if (v->name.len > 0) {
        sf_units_text(out, v->service, 40);
        sf_buf_add_str(out, SF_STR("  "));
        sf_units_text(out, v->name, 60);
        sf_buf_add_str(out, SF_STR("\n"));
    }
    sf_explain_sentence(v, &sentence);
    sf_units_prose(out, sf_buf_str(&sentence), 0, 0);
    sf_buf_add_str(out, SF_STR("\n\n"));
    text_parts(v, out);
    for (uint32_t i = 0; i < v->n_examples; i++) {
        const struct sf_explain_example *e = &v->examples[i];
        sf_trace_id_render(e->trace, id);
        sf_span_id_render(e->span, own);
        sf_buf_print(out, "%s spanflame why %s --trace %s  (", i == 0 ? "see" : "   ", own, id);
        sf_units_duration(out, e->duration_ns);
        sf_buf_add_str(out, SF_STR(")\n"));
    }
    if (v->note.len > 0) {
        sf_units_prose(out, v->note, 0, 0);
        sf_buf_add_str(out, SF_STR("\n"));
    }
    if (v->reason.len > 0 && !sf_str_find(sf_buf_str(&sentence), v->reason, &at)) {
        sf_units_prose(out, v->reason, 0, 0);
        sf_buf_add_str(out, SF_STR("\n"));
    }
    sf_buf_done(&sentence);
}

/* ledger.c - the time breakdown of a span, as JSON and as text. */
#include "render/ledger.h"

#include <stdio.h>
#include <stdlib.h>

#include "render/clocks.h"
#include "render/keep_state.h"
#include "render/known.h"
#include "render/units.h"
#include "wire/json_write.h"

static double ledger_share_of(const struct sf_ledger_view *v, uint64_t ns)
{
    return v->duration_ns ? (double)ns / (double)v->duration_ns : 0;
}

void sf_ledger_json(const struct sf_ledger_view *v, struct sf_buf *out)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    char trace[33], span[17], path[128];
    sf_trace_id_render(v->trace, trace);
    sf_span_id_render(v->span, span);
    sf_json_write_object(&w);
    sf_json_write_key_str(&w, SF_STR("traceId"), sf_str_from(trace));
    sf_json_write_key_str(&w, SF_STR("spanId"), sf_str_from(span));
    sf_json_write_key_str(&w, SF_STR("service"), v->service);
    sf_json_write_key_str(&w, SF_STR("name"), v->name);
    sf_json_write_key_u64(&w, SF_STR("durationNs"), v->duration_ns);
    sf_json_write_key(&w, SF_STR("parts"));
    sf_json_write_array(&w);
    for (uint32_t i = 0; i < v->n_parts; i++) {
        sf_json_write_object(&w);
        sf_json_write_key_str(&w, SF_STR("part"), sf_str_from(v->parts[i].name));
        sf_json_write_key_str(&w, SF_STR("words"), sf_str_from(v->parts[i].words));
        sf_json_write_key_u64(&w, SF_STR("ns"), v->parts[i].ns);
        sf_json_write_key(&w, SF_STR("share"));
        sf_json_write_f64(&w, ledger_share_of(v, v->parts[i].ns));
        sf_json_write_key_str(&w, SF_STR("source"), sf_str_from(v->parts[i].source));
        if (v->parts[i].few > 0) {
            sf_json_write_key(&w, SF_STR("fewSamples"));
            sf_json_write_f64(&w, v->parts[i].few);
        }
        sf_json_write_key_u64(&w, SF_STR("cutNs"), v->parts[i].cut_ns);
        sf_json_write_key_u64(&w, SF_STR("apartNs"), v->parts[i].apart_ns);
        sf_json_write_key(&w, SF_STR("profile"));
        if (v->parts[i].has_stacks) {
            snprintf(path, sizeof(path), "/api/v1/spans/%s/%s/profile?part=%s", trace, span,
                     v->parts[i].name);
            sf_json_write_str(&w, sf_str_from(path));
        } else {
            sf_json_write_null(&w);
        }
        sf_json_write_object_end(&w);
    }
    sf_json_write_array_end(&w);
    sf_json_write_key_u64(&w, SF_STR("otherCpuNs"), v->other_cpu_ns);
    sf_json_write_key_u64(&w, SF_STR("samples"), v->n_samples);
    sf_json_write_key_u64(&w, SF_STR("apartSamples"), v->n_apart);
    sf_json_write_key_str(&w, SF_STR("reason"), v->reason);
    sf_keep_state_json(&v->keep, &w);
    sf_json_write_key(&w, SF_STR("isPartial"));
    sf_json_write_bool(&w, v->is_partial);
    sf_json_write_key(&w, SF_STR("clockShiftNs"));
    sf_json_write_i64(&w, v->clocks.shift_ns);
    sf_clocks_json(&v->clocks, &w);
    sf_json_write_object_end(&w);
}

/* ---- text ---- */

enum { WORDS = 26, AMOUNT = 10, SHARE = 8 }; /* columns */

static void ledger_add_padded(struct sf_buf *out, struct sf_buf *cell, size_t columns,
                              bool is_right)
{
    size_t pad = cell->len < columns ? columns - cell->len : 0;
    if (is_right)
        sf_units_pad(out, pad);
    sf_buf_add_str(out, sf_buf_str(cell));
    if (!is_right)
        sf_units_pad(out, pad);
    sf_buf_reset(cell);
}

static int order_parts(const void *a, const void *b, void *arg)
{
    const struct sf_ledger_view *v = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (v->parts[x].ns != v->parts[y].ns)
        return v->parts[x].ns > v->parts[y].ns ? -1 : 1;
    return (x > y) - (x < y);
}

static void ledger_add_line(const struct sf_ledger_view *v, uint32_t part, uint32_t bar,
                            struct sf_buf *out)
{
    struct sf_buf cell = {.max = 256};
    double share = ledger_share_of(v, v->parts[part].ns);
    bool is_estimate = sf_str_eq(sf_str_from(v->parts[part].source), SF_STR("estimate"));
    sf_buf_print(&cell, "%s", v->parts[part].words);
    ledger_add_padded(out, &cell, WORDS, false);
    sf_buf_add_str(&cell, is_estimate ? SF_STR(SF_ESTIMATE_MARK) : SF_STR_NONE);
    if (v->parts[part].few > 0) { /* too few samples for a time */
        sf_buf_print(&cell, "%.0f sample%s", v->parts[part].few,
                     v->parts[part].few < 1.5 ? "" : "s");
        ledger_add_padded(out, &cell, AMOUNT, true);
        sf_buf_add_str(out, SF_STR("\n"));
        sf_buf_done(&cell);
        return;
    }
    sf_units_duration(&cell, v->parts[part].ns);
    ledger_add_padded(out, &cell, AMOUNT, true);
    sf_buf_add_str(&cell, is_estimate ? SF_STR(SF_ESTIMATE_MARK) : SF_STR_NONE);
    sf_units_percent(&cell, share);
    ledger_add_padded(out, &cell, SHARE, true);
    sf_buf_add_str(out, SF_STR("  "));
    for (uint32_t i = 0; i < (uint32_t)(share * bar + 0.5); i++)
        sf_buf_add_str(out, SF_STR("="));
    sf_buf_add_str(out, SF_STR("\n"));
    sf_buf_done(&cell);
}

/* Differences below a millionth of the span are rounding errors. */
static bool is_cut(const struct sf_ledger_view *v, uint32_t part)
{
    return v->parts[part].cut_ns > v->duration_ns / 1000000 && v->parts[part].few == 0;
}

static void add_cuts(const struct sf_ledger_view *v, struct sf_buf *out)
{
    for (uint32_t i = 0; i < v->n_parts; i++) {
        if (!is_cut(v, i))
            continue;
        sf_buf_print(out, "cut to fit the span: %s, ", v->parts[i].words);
        sf_units_duration(out, v->parts[i].cut_ns);
        sf_buf_add_str(out, SF_STR(" more was measured\n"));
    }
}

static void add_apart(const struct sf_ledger_view *v, struct sf_buf *out)
{
    if (v->n_apart == 0)
        return;
    sf_buf_print(out, "not counted, %llu sample%s of the process not tied to this span:",
                 (unsigned long long)v->n_apart, v->n_apart == 1 ? "" : "s");
    const char *sep = " ";
    for (uint32_t i = 0; i < v->n_parts; i++) {
        if (v->parts[i].apart_ns == 0)
            continue;
        sf_buf_print(out, "%s%s ", sep, v->parts[i].words);
        if (v->parts[i].apart_ns > v->duration_ns) { /* not time of this span */
            sf_buf_add_str(out, SF_STR("for longer than it lasted"));
        } else {
            sf_buf_add_str(out, SF_STR(SF_ESTIMATE_MARK));
            sf_units_duration(out, v->parts[i].apart_ns);
        }
        sep = ", ";
    }
    sf_buf_add_str(out, SF_STR("\n"));
}

void sf_ledger_text(const struct sf_ledger_view *v, uint32_t columns, struct sf_buf *out)
{
    uint32_t order[SF_LEDGER_VIEW_PARTS];
    uint32_t used = WORDS + AMOUNT + SHARE + 2, bar = columns > used + 10 ? columns - used : 10;
    for (uint32_t i = 0; i < v->n_parts; i++)
        order[i] = i;
    qsort_r(order, v->n_parts, sizeof(*order), order_parts, (void *)(uintptr_t)v);
    sf_units_text(out, v->service, 40);
    sf_buf_add_str(out, SF_STR("  "));
    sf_units_text(out, v->name, 60);
    sf_buf_add_str(out, SF_STR("  "));
    sf_units_duration(out, v->duration_ns);
    sf_buf_add_str(out, SF_STR("\n"));
    for (uint32_t i = 0; i < v->n_parts; i++)
        if (v->parts[order[i]].ns > 0)
            ledger_add_line(v, order[i], bar, out);
    if (v->other_cpu_ns > 0) {
        sf_buf_add_str(out, SF_STR("and on the CPU of other threads "));
        sf_units_duration(out, v->other_cpu_ns);
        sf_buf_add_str(out, SF_STR("\n"));
    }
    add_cuts(v, out);
    add_apart(v, out);
    sf_clocks_words(&v->clocks, out);
    if (v->reason.len > 0) {
        sf_units_prose(out, v->reason, 0, 0);
        sf_buf_add_u8(out, '\n');
    }
}

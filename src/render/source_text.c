#include "render/source_text.h"

#include "model/answer/known.h"
#include "render/units.h"

enum { AMOUNT = 11, LINE = 6, COLUMNS = 160, MOST_LINES = 400 };

static void source_text_add_cell(struct sf_buf *out, const struct sf_source_text *t, int64_t value)
{
    struct sf_buf cell = {.max = 128};
    if (value == 0) {
        sf_buf_add_u8(&cell, '.');
    } else {
        sf_buf_add_str(&cell, t->is_estimate ? SF_STR(SF_ESTIMATE_MARK) : SF_STR_NONE);
        sf_units_amount(&cell, value, t->unit);
    }
    sf_units_pad(out, cell.len < AMOUNT ? AMOUNT - cell.len : 1);
    sf_buf_add_str(out, sf_buf_str(&cell));
    sf_buf_done(&cell);
}

static void source_text_add_head(const struct sf_source_text *t, struct sf_buf *out)
{
    int64_t self = 0;
    for (uint32_t i = 0; i < t->n; i++)
        self += t->rows[i].self;
    sf_units_text(out, t->rows[0].function, 100);
    if (t->rows[0].file.len > 0) {
        sf_buf_add_str(out, SF_STR("  "));
        sf_units_text(out, t->rows[0].file, 120);
    }
    sf_buf_add_str(out, SF_STR("\n"));
    sf_buf_add_str(out, SF_STR("by itself "));
    sf_buf_add_str(out, t->is_estimate ? SF_STR(SF_ESTIMATE_MARK) : SF_STR_NONE);
    sf_units_amount(out, self, t->unit);
    if (t->whole > 0) {
        sf_buf_add_str(out, SF_STR(", "));
        sf_units_percent(out, (double)self / (double)t->whole);
        sf_buf_add_str(out, SF_STR(" of "));
        sf_units_amount(out, t->whole, t->unit);
    }
    sf_buf_add_str(out, SF_STR("\n\n       self      total   line\n"));
}

static void source_text_add_line(const struct sf_source_text *t, uint32_t line, int64_t self,
                                 int64_t total, sf_str text, struct sf_buf *out)
{
    source_text_add_cell(out, t, self);
    source_text_add_cell(out, t, total);
    sf_buf_print(out, " %*u", LINE, line);
    if (text.len > 0) {
        sf_buf_add_str(out, SF_STR("  "));
        for (size_t i = 0; i < text.len && text.p[i] == '\t'; i++)
            sf_buf_add_str(out, SF_STR("    "));
        while (text.len > 0 && text.p[0] == '\t')
            text = sf_str_from_at(text, 1);
        sf_units_text(out, text, COLUMNS);
    }
    sf_buf_add_u8(out, '\n');
}

static void source_text_add_source(const struct sf_source_text *t, struct sf_buf *out)
{
    uint32_t first = t->rows[0].line, last = t->rows[t->n - 1].line, number = 0, at = 0, shown = 0;
    first = first > t->context ? first - t->context : 1;
    sf_str rest = t->source, line;
    while (rest.len > 0 && sf_str_split_next(&rest, '\n', &line)) {
        int64_t self = 0, total = 0;
        number++;
        if (number < first)
            continue;
        if (number > last + t->context)
            return;
        for (; at < t->n && t->rows[at].line <= number; at++) {
            self += t->rows[at].line == number ? t->rows[at].self : 0;
            total += t->rows[at].line == number ? t->rows[at].total : 0;
        }
        if (shown++ < MOST_LINES || self != 0 || total != 0)
            source_text_add_line(t, number, self, total, line, out);
    }
    for (; at < t->n; at++) /* the file is shorter than it was */
        source_text_add_line(t, t->rows[at].line, t->rows[at].self, t->rows[at].total, SF_STR_NONE,
                             out);
}

void sf_source_text(const struct sf_source_text *t, struct sf_buf *out)
{
    if (t->n == 0)
        return;
    source_text_add_head(t, out);
    if (t->source.len > 0) {
        source_text_add_source(t, out);
        return;
    }
    for (uint32_t i = 0; i < t->n; i++)
        source_text_add_line(t, t->rows[i].line, t->rows[i].self, t->rows[i].total, SF_STR_NONE,
                             out);
    sf_units_prose(out, t->why, 0, 0);
    sf_buf_add_u8(out, '\n');
}

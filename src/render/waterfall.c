#include "render/waterfall.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/num.h"
#include "base/text.h"
#include "base/time_unit.h"
#include "render/units.h"

/* Widths of the parts of a line, from left to right. */
struct layout {
    size_t number, id, service, name, bar, duration, note;
};

enum {
    ID_COLUMNS = 17,
    DURATION_COLUMNS = 9,
    MIN_COLUMNS = 40,
    MIN_BAR = 12,
    MAX_BAR = 240,
    MAX_NOTE = 60
};

static size_t widest(const struct sf_waterfall *w, bool is_service, size_t limit)
{
    size_t most = 7;
    for (uint32_t i = 0; i < w->n_rows; i++) {
        const struct sf_waterfall_row *row = &w->rows[i];
        size_t width = is_service ? sf_utf8_width(row->service)
                                  : sf_utf8_width(row->span->name) + 2 * (size_t)row->depth;
        if (width > most)
            most = width;
    }
    return most < limit ? most : limit;
}

/* Notes get the space they need, up to a third of a line; in a narrow terminal a line of their
 * own. */
static size_t widest_note(const struct sf_waterfall *w, size_t columns)
{
    size_t most = 0, limit = columns < 2 * MIN_COLUMNS ? 0 : columns / 3;
    for (uint32_t i = 0; i < w->n_rows; i++) {
        size_t width = sf_utf8_width(w->rows[i].note);
        most = width > most ? width : most;
    }
    limit = limit < MAX_NOTE ? limit : MAX_NOTE;
    return most < limit ? most : limit;
}

static struct layout waterfall_lay_out(const struct sf_waterfall *w)
{
    size_t columns = w->columns < MIN_COLUMNS ? MIN_COLUMNS : w->columns;
    struct layout l = {.duration = DURATION_COLUMNS};
    size_t rest;
    for (uint32_t n = w->has_numbers ? w->n_rows : 0; n; n /= 10)
        l.number++;
    l.number += l.number > 0; /* and a blank */
    l.id = w->has_ids && columns >= MIN_COLUMNS + ID_COLUMNS + l.number ? ID_COLUMNS : 0;
    columns -= columns >= MIN_COLUMNS + l.id + l.number ? l.id + l.number : 0;
    l.service = widest(w, true, columns / 6);
    l.name = widest(w, false, columns / 3);
    rest = columns - l.service - l.name - l.duration - 5; /* blanks in between, and the '!' */
    l.note = widest_note(w, columns);
    if (l.note + 2 + MIN_BAR <= rest)
        rest -= l.note ? l.note + 2 : 0;
    else
        l.note = 0;
    l.bar = rest < MAX_BAR ? rest : MAX_BAR;
    return l;
}

/* The column of a time; the whole trace fills the bar. */
static size_t waterfall_column_of(const struct sf_waterfall *w, size_t bar, uint64_t at_ns)
{
    double all = (double)(w->end_ns - w->start_ns), at = (double)(at_ns - w->start_ns);
    size_t column;
    if (at_ns <= w->start_ns || all <= 0)
        return 0;
    column = (size_t)(at / all * (double)bar);
    return column < bar ? column : bar;
}

static void waterfall_fill(char *bar, size_t from, size_t to, size_t len, char c)
{
    if (from >= len)
        from = len - 1;
    if (to <= from)
        to = from + 1; /* a very short span is still visible */
    memset(bar + from, c, (to < len ? to : len) - from);
}

static void draw_bar(const struct sf_waterfall *w, uint32_t row, uint32_t *mark, size_t len,
                     char *bar)
{
    const struct sf_span *s = w->rows[row].span;
    int64_t shift_ns = w->rows[row].shift_ns;
    uint64_t end_ns = s->end_ns > s->start_ns ? s->end_ns : s->start_ns;
    memset(bar, ' ', len);
    waterfall_fill(bar, waterfall_column_of(w, len, sf_shift_sat_u64(s->start_ns, shift_ns)),
                   waterfall_column_of(w, len, sf_shift_sat_u64(end_ns, shift_ns)), len, '=');
    for (; *mark < w->n_marks && w->marks[*mark].row <= row; ++*mark) {
        const struct sf_waterfall_mark *m = &w->marks[*mark];
        waterfall_fill(bar, waterfall_column_of(w, len, m->from_ns),
                       waterfall_column_of(w, len, m->to_ns), len, '#');
    }
}

static void waterfall_add_color(const struct sf_waterfall *w, struct sf_buf *out, const char *code)
{
    if (w->has_color)
        sf_buf_print(out, "\033[%sm", code);
}

static void waterfall_add_bar(const struct sf_waterfall *w, const char *bar, size_t len,
                              struct sf_buf *out)
{
    char last = 0;
    for (size_t i = 0; i < len; i++) {
        if (bar[i] != last)
            waterfall_add_color(w, out, bar[i] == '#' ? "33" : bar[i] == '=' ? "36" : "0");
        sf_buf_add_u8(out, (uint8_t)bar[i]);
        last = bar[i];
    }
    waterfall_add_color(w, out, "0");
}

static void waterfall_add_padded(struct sf_buf *out, sf_str text, size_t columns)
{
    size_t width = sf_units_text(out, text, columns);
    sf_units_pad(out, columns - width);
}

static void waterfall_add_duration(struct sf_buf *out, uint64_t ns, size_t columns)
{
    size_t from = out->len, len;
    sf_units_duration(out, ns);
    if (!sf_buf_ok(out))
        return;
    len = out->len - from;
    if (len < columns && sf_buf_take(out, columns - len)) {
        memmove(out->p + from + (columns - len), out->p + from, len);
        memset(out->p + from, ' ', columns - len);
    }
}

static void add_note_below(const struct layout *l, const struct sf_waterfall_row *row,
                           size_t indent, struct sf_buf *out)
{
    size_t columns = l->name + l->bar + l->duration; /* ends before the end of the line */
    size_t over = row->note.len + indent > columns ? row->note.len + indent - columns : 0;
    indent -= over < indent ? over : indent; /* a long note is less indented */
    sf_units_pad(out, l->number + l->id + l->service + 1 + indent);
    sf_buf_add_str(out, SF_STR("^ "));
    sf_units_text(out, row->note, columns - indent);
    sf_buf_add_u8(out, '\n');
}

static void waterfall_add_row(const struct sf_waterfall *w, const struct layout *l, uint32_t i,
                              uint32_t *mark, struct sf_buf *out)
{
    const struct sf_waterfall_row *row = &w->rows[i];
    char bar[MAX_BAR];
    size_t indent = 2 * (size_t)row->depth;
    if (indent > l->name / 2)
        indent = l->name / 2; /* in deep traces space for names is kept */
    if (l->number)
        sf_buf_print(out, "%*u ", (int)l->number - 1, i + 1);
    if (l->id) {
        char id[17];
        sf_span_id_render(row->span->span_id, id);
        sf_buf_print(out, "%s ", id);
    }
    waterfall_add_padded(out, row->service, l->service);
    sf_buf_add_u8(out, ' ');
    sf_units_pad(out, indent);
    waterfall_add_padded(out, row->span->name, l->name - indent);
    sf_buf_add_u8(out, ' ');
    draw_bar(w, i, mark, l->bar, bar);
    waterfall_add_bar(w, bar, l->bar, out);
    sf_buf_add_u8(out, ' ');
    waterfall_add_duration(out, sf_span_duration_ns(row->span), l->duration);
    if (row->span->status == SF_STATUS_ERROR) {
        waterfall_add_color(w, out, "31");
        sf_buf_add_str(out, SF_STR(" !"));
        waterfall_add_color(w, out, "0");
    }
    if (row->note.len && l->note) {
        sf_units_pad(out, row->span->status == SF_STATUS_ERROR ? 1 : 3);
        sf_units_text(out, row->note, l->note);
    }
    sf_buf_add_u8(out, '\n');
    if (row->note.len && !l->note)
        add_note_below(l, row, indent, out);
}

static void add_heading(const struct sf_waterfall *w, uint64_t n_errors, struct sf_buf *out)
{
    char id[33], when[32];
    time_t s = (time_t)(w->start_ns / SF_NS_PER_S);
    struct tm utc;
    sf_trace_id_render(w->trace_id, id);
    sf_buf_print(out, "trace %s  ", id);
    sf_units_duration(out, w->end_ns - w->start_ns);
    sf_buf_print(out, "  %u span%s", w->n_rows, w->n_rows == 1 ? "" : "s");
    if (n_errors) {
        waterfall_add_color(w, out, "31");
        sf_buf_print(out, "  %" PRIu64 " error%s", n_errors, n_errors == 1 ? "" : "s");
        waterfall_add_color(w, out, "0");
    }
    if (gmtime_r(&s, &utc) && strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &utc))
        sf_buf_print(out, "\nstarted %s.%03d UTC   # critical path   = rest of the span   ! error",
                     when, (int)(w->start_ns / SF_NS_PER_MS % 1000));
    if (w->n_unwaited)
        sf_buf_print(out, "\n%u span%s not waited for: they end after all spans above them",
                     w->n_unwaited, w->n_unwaited == 1 ? "" : "s");
    sf_buf_add_str(out, SF_STR("\n\n"));
}

/* "0", then a time at every quarter where there is space. */
static void add_scale(const struct sf_waterfall *w, const struct layout *l, struct sf_buf *out)
{
    struct sf_buf label = {0};
    size_t at = 0;
    sf_units_pad(out, l->number);
    waterfall_add_padded(out, l->id ? SF_STR("span") : SF_STR_NONE, l->id);
    waterfall_add_padded(out, SF_STR("service"), l->service);
    sf_buf_add_u8(out, ' ');
    waterfall_add_padded(out, SF_STR("operation"), l->name);
    sf_buf_add_u8(out, ' ');
    for (unsigned quarter = 0; quarter < 4; quarter++) {
        size_t column = l->bar * quarter / 4;
        sf_buf_reset(&label);
        if (quarter)
            sf_units_duration(&label, (w->end_ns - w->start_ns) / 4 * quarter);
        else
            sf_buf_add_u8(&label, '0');
        if ((quarter && column <= at) || column + label.len > l->bar)
            continue;
        sf_units_pad(out, column - at);
        sf_buf_add_str(out, sf_buf_str(&label));
        at = column + label.len;
    }
    sf_buf_done(&label);
    sf_buf_add_u8(out, '\n');
}

static sf_str exception_of(const struct sf_span *s)
{
    for (uint32_t i = 0; i < s->n_events; i++) {
        sf_str message = sf_attrs_str(s->events[i].attrs, SF_STR("exception.message"));
        if (message.len)
            return message;
    }
    return SF_STR_NONE;
}

static void add_errors(const struct sf_waterfall *w, struct sf_buf *out)
{
    size_t columns = w->columns < MIN_COLUMNS ? MIN_COLUMNS : w->columns;
    unsigned n = 0;
    for (uint32_t i = 0; i < w->n_rows && n < 20; i++) {
        const struct sf_span *s = w->rows[i].span;
        sf_str message = s->status_msg.len ? s->status_msg : exception_of(s);
        size_t width;
        if (s->status != SF_STATUS_ERROR)
            continue;
        if (n++ == 0)
            sf_buf_add_str(out, SF_STR("\nerrors\n"));
        sf_buf_add_str(out, SF_STR("  "));
        width = sf_units_text(out, w->rows[i].service, columns / 5);
        sf_buf_add_str(out, SF_STR("  "));
        width += sf_units_text(out, s->name, columns / 3);
        if (message.len) {
            sf_buf_add_str(out, SF_STR(": "));
            sf_units_text(out, message, columns > width + 6 ? columns - width - 6 : 0);
        }
        sf_buf_add_u8(out, '\n');
    }
}

void sf_waterfall_render(const struct sf_waterfall *w, struct sf_buf *out)
{
    struct layout l = waterfall_lay_out(w);
    uint64_t n_errors = 0;
    uint32_t mark = 0;
    for (uint32_t i = 0; i < w->n_rows; i++)
        n_errors += w->rows[i].span->status == SF_STATUS_ERROR;
    add_heading(w, n_errors, out);
    add_scale(w, &l, out);
    for (uint32_t i = 0; i < w->n_rows; i++)
        waterfall_add_row(w, &l, i, &mark, out);
    add_errors(w, out);
}

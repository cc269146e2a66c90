/* search_command.c - the command `search`: parses the query locally to check it and to learn the
 * columns, sends it, and prints a table that fits the terminal, CSV or JSON. The ids shown are
 * remembered, so that later commands accept row numbers. */
#include "cli/search_command.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/time_unit.h"
#include "cli/answer.h"
#include "cli/last_list.h"
#include "cli/query_text.h"
#include "cli/search_rows.h"
#include "cli/time_range.h"
#include "os/clock.h"
#include "os/terminal.h"
#include "query/expr_text.h"
#include "render/units.h"
#include "wire/time_text.h"

enum {
    ARENA_LEN = 1 << 30, /* reserved address space, not memory in use */
    TIME_COLUMNS = 23,
    DURATION_COLUMNS = 10,
    COUNT_COLUMNS = 19, /* "12 matched of 4567" */
    ID_COLUMNS = 32,
    SPAN_COLUMNS = 16,
    CELL_COLUMNS = 18,
    MAX_COLUMNS = 64, /* attributes --select may name */
    ONE_LINE = 160    /* terminals at least this wide show a trace on one line */
};

struct columns { /* the columns of --select */
    const struct sf_query_attr *attrs;
    uint32_t n;
};

/* ---- text ---- */

struct layout {
    bool is_one_line;
    size_t number, service, name; /* number: 0 when rows have no numbers */
};

static struct layout search_command_lay_out(size_t width, uint32_t n_columns, uint32_t n_numbers)
{
    size_t fixed = TIME_COLUMNS + DURATION_COLUMNS + COUNT_COLUMNS + 4, rest;
    struct layout l = {.is_one_line = width >= ONE_LINE + (size_t)n_columns * CELL_COLUMNS};
    for (uint32_t n = n_numbers; n; n /= 10)
        l.number++;
    l.number += n_numbers ? 2 : 0; /* blanks */
    fixed += l.number;
    if (l.is_one_line)
        fixed += ID_COLUMNS + SPAN_COLUMNS + 4 + (size_t)n_columns * CELL_COLUMNS;
    rest = width > fixed + 24 ? width - fixed : 24;
    rest = rest > 110 ? 110 : rest;
    l.service = rest / 3;
    l.name = rest - l.service;
    return l;
}

/* Appends text from telemetry, truncated and padded to `columns` with at least one blank at the
 * end. */
static void add_left(struct sf_buf *out, sf_str text, size_t columns)
{
    size_t width = sf_units_text(out, text, columns - 1);
    sf_units_pad(out, columns - width);
}

static void search_command_add_right(struct sf_buf *out, const struct sf_buf *cell, size_t columns)
{
    size_t width = sf_utf8_width(sf_buf_str(cell));
    sf_units_pad(out, width < columns ? columns - width : 0);
    sf_buf_add_str(out, sf_buf_str(cell));
}

static sf_str title(const struct columns *c, uint32_t i, struct sf_arena *req)
{
    return sf_expr_text_attr(&c->attrs[i], req);
}

static void search_command_end_line(struct sf_buf *out)
{
    while (out->len && out->p[out->len - 1] == ' ')
        out->len--;
    sf_buf_add_u8(out, '\n');
}

static void search_command_add_head(struct sf_buf *out, const struct layout *l,
                                    const struct columns *c, struct sf_arena *req)
{
    sf_units_pad(out, l->number);
    sf_buf_print(out, "%-*s%*s%*s  ", TIME_COLUMNS, "start (UTC)", DURATION_COLUMNS, "duration",
                 COUNT_COLUMNS, "spans");
    add_left(out, SF_STR("service"), l->service);
    add_left(out, SF_STR("name"), l->name);
    if (l->is_one_line) {
        add_left(out, SF_STR("trace"), ID_COLUMNS + 2);
        add_left(out, SF_STR("span"), SPAN_COLUMNS + 2);
        for (uint32_t i = 0; i < c->n; i++)
            add_left(out, title(c, i, req), CELL_COLUMNS);
    }
    search_command_end_line(out);
    if (l->is_one_line)
        return;
    sf_units_pad(out, l->number);
    sf_buf_add_str(out, SF_STR("  "));
    add_left(out, SF_STR("trace"), ID_COLUMNS + 2);
    sf_buf_add_str(out, SF_STR("longest span that matched"));
    search_command_end_line(out);
}

static void add_cells(struct sf_buf *out, const struct layout *l, const struct columns *c,
                      const struct sf_search_row *row, size_t width, struct sf_arena *req)
{
    size_t used = l->number + ID_COLUMNS + SPAN_COLUMNS + 4;
    for (uint32_t i = 0; i < c->n; i++) {
        sf_str name = title(c, i, req);
        size_t room;
        if (l->is_one_line) {
            add_left(out, row->cells[i], CELL_COLUMNS);
            continue;
        }
        if (row->cells[i].len == 0)
            continue;
        room = name.len + 12 < width ? name.len + 12 : width;
        if (used + room + 2 > width) { /* continue on the next line */
            sf_buf_add_u8(out, '\n');
            sf_units_pad(out, l->number + 2);
            used = l->number + 2;
        }
        sf_buf_add_str(out, SF_STR("  "));
        used += 2 + sf_units_text(out, name, width / 2);
        sf_buf_add_u8(out, '=');
        used += 1 + sf_units_text(out, row->cells[i], width - used - 1);
    }
}

static void search_command_add_id(struct sf_buf *out, sf_str id, size_t columns)
{
    size_t width = sf_units_text(out, id, columns);
    sf_units_pad(out, columns + 2 - width);
}

/* Saves the rows for later commands. */
static bool search_command_keep_rows(const struct sf_client *client,
                                     const struct sf_search_rows *rows, struct sf_arena *req)
{
    struct sf_last_row *list = sf_arena_new_n(req, rows->n, sizeof(*list));
    for (uint32_t i = 0; list && i < rows->n; i++) {
        if (!sf_trace_id_parse(rows->list[i].trace_id, &list[i].trace) ||
            (rows->list[i].span_id.len && !sf_span_id_parse(rows->list[i].span_id, &list[i].span)))
            return false;
    }
    return list && sf_last_list_keep(client, list, rows->n);
}

static void search_command_add_row(struct sf_buf *out, const struct layout *l,
                                   const struct columns *c, const struct sf_search_row *row,
                                   uint32_t number, size_t width, struct sf_arena *req)
{
    struct sf_buf cell = {0};
    if (l->number)
        sf_buf_print(out, "%*u  ", (int)l->number - 2, number);
    sf_time_text_add(out, row->start_ns);
    if (row->duration_ms)
        sf_units_duration(&cell, row->duration_ms * SF_NS_PER_MS);
    else
        sf_buf_add_str(&cell, SF_STR("< 1 ms"));
    search_command_add_right(out, &cell, DURATION_COLUMNS);
    sf_buf_reset(&cell);
    sf_units_count(&cell, row->n_matched);
    if (row->n_spans > row->n_matched) {
        sf_buf_add_str(&cell, SF_STR(" matched of "));
        sf_units_count(&cell, row->n_spans);
    }
    search_command_add_right(out, &cell, COUNT_COLUMNS);
    sf_units_pad(out, 2);
    add_left(out, row->root_service, l->service);
    add_left(out, row->root_name, l->name);
    if (!l->is_one_line) {
        search_command_end_line(out);
        sf_units_pad(out, l->number + 2);
    }
    search_command_add_id(out, row->trace_id, ID_COLUMNS);
    search_command_add_id(out, row->span_id, SPAN_COLUMNS);
    add_cells(out, l, c, row, width, req);
    search_command_end_line(out);
    sf_buf_done(&cell);
}

static void search_command_show_text(const struct sf_client *client,
                                     const struct sf_search_rows *rows, const struct columns *c,
                                     uint64_t limit, const char *note, struct sf_arena *req,
                                     struct sf_buf *out)
{
    size_t width = sf_terminal_width(STDOUT_FILENO, 80);
    bool has_numbers = rows->n && search_command_keep_rows(client, rows, req);
    struct layout l = search_command_lay_out(width, c->n, has_numbers ? rows->n : 0);
    sf_span_id span;
    if (rows->n == 0) {
        sf_buf_add_str(out, SF_STR("(no trace matches in this time; widen it with --since 24h, or "
                                   "see what there is: spanflame services)\n"));
        if (*note)
            sf_buf_print(out, "note: %s\n", note);
        return;
    }
    search_command_add_head(out, &l, c, req);
    for (uint32_t i = 0; i < rows->n; i++)
        search_command_add_row(out, &l, c, &rows->list[i], i + 1, width, req);
    sf_buf_add_u8(out, '\n');
    if (rows->n >= limit)
        sf_buf_print(out, "The newest %u; there may be more: --limit %u.\n", rows->n, rows->n * 5);
    if (*note)
        sf_buf_print(out, "note: %s\n", note);
    sf_buf_add_str(out, SF_STR("Open one: spanflame trace "));
    sf_units_text(out, rows->list[0].trace_id, ID_COLUMNS);
    if (client->server) {
        sf_buf_add_str(out, SF_STR(" --server "));
        sf_buf_add_str(out, sf_str_from(client->server));
    }
    sf_buf_add_u8(out, '\n');
    if (rows->list[0].span_id.len && sf_span_id_parse(rows->list[0].span_id, &span))
        sf_last_list_hint(client, span, has_numbers, out);
}

/* ---- csv ---- */

static void search_command_add_field(struct sf_buf *out, sf_str text)
{
    bool is_quoted = false;
    for (size_t i = 0; i < text.len && !is_quoted; i++)
        is_quoted = memchr(",\"\r\n", text.p[i], 4) != NULL;
    if (!is_quoted) {
        sf_buf_add_str(out, text);
        return;
    }
    sf_buf_add_u8(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        if (text.p[i] == '"')
            sf_buf_add_u8(out, '"');
        sf_buf_add_u8(out, (uint8_t)text.p[i]);
    }
    sf_buf_add_u8(out, '"');
}

static void show_csv(const struct sf_search_rows *rows, const struct columns *c,
                     struct sf_arena *req, struct sf_buf *out)
{
    sf_buf_add_str(out, SF_STR("start,duration_ms,spans,service,name,trace"));
    for (uint32_t i = 0; i < c->n; i++) {
        sf_buf_add_u8(out, ',');
        search_command_add_field(out, title(c, i, req));
    }
    sf_buf_add_str(out, SF_STR("\r\n"));
    for (uint32_t i = 0; i < rows->n; i++) {
        const struct sf_search_row *row = &rows->list[i];
        sf_time_text_add(out, row->start_ns);
        if (sf_buf_ok(out))
            out->p[out->len - 13] = 'T'; /* RFC 3339, which --from accepts */
        sf_buf_print(out, "Z,%" PRIu64 ",%" PRIu64 ",", row->duration_ms, row->n_matched);
        search_command_add_field(out, row->root_service);
        sf_buf_add_u8(out, ',');
        search_command_add_field(out, row->root_name);
        sf_buf_add_u8(out, ',');
        search_command_add_field(out, row->trace_id);
        for (uint32_t k = 0; k < c->n; k++) {
            sf_buf_add_u8(out, ',');
            search_command_add_field(out, row->cells[k]);
        }
        sf_buf_add_str(out, SF_STR("\r\n"));
    }
}

/* ---- the query ---- */

struct flags {
    struct sf_time_range range;
    const char *select, *output;
    uint64_t limit;
};

static const char *search_command_read_times(const struct flags *f, struct sf_search_question *ask)
{
    int64_t from_ns, until_ns;
    const char *fault = sf_time_range_read(&f->range, sf_clock_wall_ns(), &from_ns, &until_ns);
    if (fault)
        return fault;
    /* The server takes whole seconds, so the range is rounded outwards. */
    ask->from_s = from_ns / SF_NS_PER_S;
    ask->to_s = until_ns / SF_NS_PER_S + 1;
    return NULL;
}

/* Appends a select() with the attributes to show. False: an error was printed. */
static bool add_select(const struct flags *f, struct sf_buf *text, struct sf_arena *req,
                       const struct sf_query **query, struct columns *out)
{
    const struct sf_pipeline *p;
    if (!f->select)
        return true;
    if ((*query)->n_hints) {
        sf_answer_usage("search",
                        "--select cannot be combined with with(...); write | select(a, b) "
                        "before it");
        return false;
    }
    sf_buf_print(text, " | select(%s)", f->select);
    if (!sf_query_text_check("search", sf_buf_str(text), req, query))
        return false;
    p = (*query)->pipeline;
    if (!p || !p->n_stages || p->stages[p->n_stages - 1].kind != SF_STAGE_SELECT) {
        sf_answer_usage("search", "--select takes attributes: span.http.route,resource.host.name");
        return false;
    }
    out->attrs = p->stages[p->n_stages - 1].attrs;
    out->n = p->stages[p->n_stages - 1].n_attrs;
    if (out->n > MAX_COLUMNS) {
        sf_answer_usage("search", "--select takes at most 64 attributes");
        return false;
    }
    return true;
}

static int search_command_show(const struct sf_client *client, const struct sf_search_question *ask,
                               const struct columns *columns, enum sf_output form,
                               struct sf_arena *req)
{
    struct sf_client_answer answer = {0};
    struct sf_search_rows rows = {0};
    struct sf_buf out = {0};
    struct sf_why why = {0};
    enum sf_err err = sf_search_rows_fetch(client, ask, &answer, &why);
    if (!err)
        err = sf_search_rows_read(sf_buf_str(&answer.body), columns->attrs, columns->n, req, &rows,
                                  &why);
    if (!err && form == SF_OUTPUT_JSON) {
        sf_buf_add_str(&out, sf_buf_str(&answer.body));
        sf_buf_add_u8(&out, '\n');
    } else if (!err && form == SF_OUTPUT_CSV) {
        show_csv(&rows, columns, req, &out);
    } else if (!err) {
        search_command_show_text(client, &rows, columns, ask->limit, answer.note, req, &out);
    }
    sf_buf_done(&answer.body);
    if (err) {
        sf_buf_done(&out);
        return sf_answer_fault("search", &why);
    }
    if (form != SF_OUTPUT_TEXT && answer.note[0])
        sf_answer_note("search", answer.note);
    if (form != SF_OUTPUT_TEXT && rows.n >= ask->limit)
        sf_answer_note("search", "the newest are given; there may be more: --limit");
    return sf_answer_write(&out);
}

static int search_command_search(const struct sf_client *client, const char *word,
                                 const struct flags *f, enum sf_output form, struct sf_arena *req)
{
    struct sf_search_question ask = {.limit = f->limit, .spans_per_set = 10};
    struct columns columns = {0};
    const struct sf_query *query;
    struct sf_buf text = {0};
    struct sf_why why = {0};
    const char *fault = search_command_read_times(f, &ask);
    int code = 2;
    if (fault)
        return sf_answer_usage("search", fault);
    if (sf_query_text_read(word, &text, &why)) {
        sf_answer_fault("search", &why);
    } else if (sf_query_text_check("search", sf_buf_str(&text), req, &query)) {
        if (!query->pipeline)
            code = sf_answer_usage("search", "this query asks for metrics, not for traces");
        else if (add_select(f, &text, req, &query, &columns)) {
            ask.query = sf_buf_str(&text);
            code = search_command_show(client, &ask, &columns, form, req);
        }
    }
    sf_buf_done(&text);
    return code;
}

int sf_search_command_run(int argc, char **argv)
{
    struct sf_client client = {0};
    struct flags f = {.limit = 20};
    struct sf_flag flags[] = {
        SF_CLIENT_FLAGS(client),
        SF_TIME_RANGE_FLAGS(f.range, "only traces that end after this time",
                            "only traces that start before this time (default now)"),
        {"limit", SF_FLAG_U64, &f.limit, "N",
         "maximum number of traces, newest first (default 20)"},
        {"select", SF_FLAG_STR, &f.select, "A,B", "also show these attributes of the spans"},
        {"output", SF_FLAG_STR, &f.output, "FORM", "text, json or csv (default text)"},
    };
    struct sf_args args = {
        .command = "search",
        .usage = "'QUERY' [--since 1h | --from T --until T] [--limit N] [--select A,B]",
        .summary = "Find traces by a TraceQL query, newest first.",
        .details =
            "QUERY is TraceQL; - reads it from standard input. Lines that start with # are "
            "ignored. A syntax error is shown with its position, and the exit status is 2. Times "
            "are unix seconds, RFC 3339 (2026-01-02T03:04:05Z), now, or "
            "now-15m. Times are shown in UTC. Each row is a trace, with the number of matching "
            "spans and the id of the longest of them, for use with `spanflame flame --span`. On a "
            "terminal rows are numbered, and the list is remembered for this user for a day: "
            "`spanflame trace 3`, `flame 3`, `top 3` and `ledger 3` refer to the third row.",
        .examples =
            "spanflame search '{ resource.service.name = \"cart\" && duration > 500ms }'\n"
            "spanflame search '{ status = error }' --since 24h --select name,span.http.route\n"
            "spanflame search - --output csv < slow.traceql",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    struct sf_arena req = {0};
    enum sf_output form;
    int code;

    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    if (args.n_words != 1)
        return sf_answer_usage("search", "give one query, in quotes; {} matches every span");
    form = sf_answer_output("search", f.output, true);
    if (form == SF_OUTPUT_BAD)
        return 2;
    if (!sf_arena_init(&req, ARENA_LEN)) {
        struct sf_why why = {.text = "no memory"};
        return sf_answer_fault("search", &why);
    }
    code = search_command_search(&client, args.words[0], &f, form, &req);
    sf_arena_done(&req);
    return code;
}

/* trace_command.c - the command `trace`: fetches a trace (by id, or the newest that matches a
 * query), orders its spans with parents before children, marks the critical path, and draws a
 * waterfall. The ids shown are remembered for later commands. */
#include "cli/trace_command.h"

#include <stdlib.h>
#include <unistd.h>

#include "cli/answer.h"
#include "cli/client.h"
#include "cli/last_list.h"
#include "cli/query_text.h"
#include "cli/search_rows.h"
#include "cli/trace_notes.h"
#include "decode/otlp/otlp_trace.h"
#include "join/span_clocks.h"
#include "link/critical_path.h"
#include "os/terminal.h"
#include "render/clocks.h"
#include "render/units.h"
#include "render/waterfall.h"
#include "wire/pb.h"

enum { ARENA_LEN = 1 << 30 }; /* reserved address space; a trace uses only a part */

/* ---- order: parents before children, siblings by start ---- */

struct node {
    uint32_t place, parent;
    uint64_t start_ns;
    sf_span_id id;
};

static int trace_command_compare_nodes(const void *a, const void *b)
{
    const struct node *x = a, *y = b;
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

struct order {
    uint32_t *place; /* for each row: index of its span */
    uint32_t *depth; /* for each row */
    uint32_t *row;   /* for each span: its row */
};

/* Children of p are nodes[first[p]] ... nodes[first[p + 1] - 1] once sorted; roots have parent n.
 */
static bool make_order(const struct sf_span_tree *t, struct sf_arena *req, struct order *out)
{
    uint32_t n = t->n_spans, n_stack = 0, n_rows = 0, at = 0;
    struct node *nodes = sf_arena_new_n(req, n, sizeof(*nodes));
    uint32_t *first = sf_arena_new_n(req, (size_t)n + 2, sizeof(*first));
    uint32_t *stack = sf_arena_new_n(req, (size_t)n + 1, sizeof(*stack));
    uint32_t *depth_of = sf_arena_new_n(req, n, sizeof(*depth_of));

    out->place = sf_arena_new_n(req, n, sizeof(uint32_t));
    out->depth = sf_arena_new_n(req, n, sizeof(uint32_t));
    out->row = sf_arena_new_n(req, n, sizeof(uint32_t));
    if (!nodes || !first || !stack || !depth_of || !out->place || !out->depth || !out->row)
        return false;
    for (uint32_t i = 0; i < n; i++)
        nodes[i] = (struct node){i, t->places[i].parent == SF_NOBODY ? n : t->places[i].parent,
                                 sf_span_tree_start_ns(t, i), t->spans[i].span_id};
    qsort(nodes, n, sizeof(*nodes), trace_command_compare_nodes);
    for (uint32_t p = 0; p <= n + 1; p++) {
        while (at < n && nodes[at].parent < p)
            at++;
        first[p] = at;
    }
    for (uint32_t i = first[n + 1]; i > first[n]; i--)
        stack[n_stack++] = nodes[i - 1].place;
    while (n_stack) {
        uint32_t span = stack[--n_stack];
        out->row[span] = n_rows;
        out->depth[n_rows] = depth_of[span];
        out->place[n_rows++] = span;
        for (uint32_t i = first[span + 1]; i > first[span]; i--) {
            depth_of[nodes[i - 1].place] = depth_of[span] + 1;
            stack[n_stack++] = nodes[i - 1].place;
        }
    }
    return n_rows == n; /* the tree has no cycles, so every span is reached */
}

static int compare_marks(const void *a, const void *b)
{
    const struct sf_waterfall_mark *x = a, *y = b;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

/* Saves the rows for later commands. */
static bool trace_command_keep_rows(const struct sf_client *client,
                                    const struct sf_waterfall_row *rows, uint32_t n,
                                    struct sf_arena *req)
{
    struct sf_last_row *list = sf_arena_new_n(req, n, sizeof(*list));
    for (uint32_t i = 0; list && i < n; i++)
        list[i] = (struct sf_last_row){rows[i].span->trace_id, rows[i].span->span_id};
    return list && sf_last_list_keep(client, list, n);
}

static enum sf_err trace_command_draw(const struct sf_client *client, const struct sf_span_batch *b,
                                      const struct sf_trace_notes *notes, struct sf_arena *req,
                                      struct sf_buf *out, struct sf_why *why)
{
    struct sf_critical_path path = {0};
    struct sf_span_tree tree;
    struct sf_clocks_view clocks;
    struct order order;
    struct sf_waterfall w = {.trace_id = b->spans[0].trace_id,
                             .n_rows = b->n_spans,
                             .start_ns = UINT64_MAX,
                             .columns = (uint32_t)sf_terminal_width(STDOUT_FILENO, 80),
                             .has_ids = true,
                             .has_color = sf_terminal_has_color(STDOUT_FILENO)};
    struct sf_waterfall_row *rows = sf_arena_new_n(req, b->n_spans, sizeof(*rows));
    struct sf_waterfall_mark *marks;
    enum sf_err err = sf_span_clocks_make(b, req, &tree, &clocks, why);
    if (!err)
        err = sf_critical_path_find(&tree, req, &path, why);
    if (err)
        return err;
    marks = sf_arena_new_n(req, path.n_segments, sizeof(*marks));
    if (!rows || !marks || !make_order(&tree, req, &order))
        return sf_fail(why, SF_ERR_LIMIT, "trace of %u spans is too large to draw", b->n_spans);
    for (uint32_t i = 0; i < b->n_spans; i++) {
        const struct sf_span *s = &b->spans[order.place[i]];
        uint64_t start_ns = sf_span_tree_start_ns(&tree, order.place[i]);
        uint64_t end_ns = sf_span_tree_end_ns(&tree, order.place[i]);
        rows[i] = (struct sf_waterfall_row){
            .span = s,
            .service = b->resources[s->resource].service,
            .depth = order.depth[i],
            .shift_ns = tree.shifts_ns ? tree.shifts_ns[order.place[i]] : 0,
            .note = sf_trace_notes_find(notes, s->span_id)};
        w.start_ns = start_ns < w.start_ns ? start_ns : w.start_ns;
        w.end_ns = end_ns > w.end_ns ? end_ns : w.end_ns;
    }
    for (uint32_t i = 0; i < path.n_segments; i++)
        marks[i] = (struct sf_waterfall_mark){order.row[path.segments[i].span],
                                              path.segments[i].start_ns, path.segments[i].end_ns};
    qsort(marks, path.n_segments, sizeof(*marks), compare_marks);
    w.rows = rows;
    w.has_numbers = trace_command_keep_rows(client, rows, b->n_spans, req);
    w.marks = marks;
    w.n_marks = path.n_segments;
    w.n_unwaited = path.n_unwaited;
    sf_waterfall_render(&w, out);
    sf_clocks_words(&clocks, out);
    sf_buf_add_u8(out, '\n');
    sf_last_list_hint(client, rows[0].span->span_id, w.has_numbers, out);
    if (notes->has_estimates)
        sf_buf_add_str(out, SF_STR("\n~ estimate: several spans share these samples, so their "
                                   "functions are not known individually;\n  see the first span of "
                                   "the service, which includes its child spans\n"));
    if (notes->left_out.len > 0) {
        sf_buf_add_str(out, SF_STR("\nnote: "));
        sf_units_prose(out, notes->left_out, 6, 0);
        sf_buf_add_u8(out, '\n');
    }
    return SF_OK;
}

/* ---- fetching the trace ---- */

/* TraceByIDResponse: 1 trace, 3 status, 4 message. */
static enum sf_err trace_command_read_answer(sf_bytes body, struct sf_arena *req,
                                             struct sf_span_batch *out, sf_str *out_note,
                                             struct sf_why *why)
{
    struct sf_otlp_rejects rejects = {0};
    sf_bytes trace = SF_BYTES_NONE;
    struct sf_pb pb;
    pb = sf_pb_init(body);
    while (sf_pb_next(&pb)) {
        switch (pb.field) {
        case 1: trace = sf_str_bytes(sf_pb_str(&pb)); break;
        case 4: *out_note = sf_pb_str(&pb); break;
        default: sf_pb_skip(&pb); break;
        }
    }
    if (!sf_pb_ok(&pb))
        return sf_fail(why, SF_ERR_INPUT,
                       "the answer is not a trace; is this a Spanflame or Tempo server?");
    return sf_otlp_trace_decode_pb(trace, NULL, req, out, &rejects, why);
}

static enum sf_err trace_command_show_text(const struct sf_client *client, const char *id,
                                           struct sf_buf *out, struct sf_why *why)
{
    struct sf_buf path = {0}, body = {0};
    struct sf_span_batch batch = {0};
    struct sf_arena req = {0};
    struct sf_trace_notes notes = {0};
    sf_str note = SF_STR_NONE;
    enum sf_err err;

    if (!sf_arena_init(&req, ARENA_LEN))
        return sf_fail(why, SF_ERR_NOMEM, "no memory");
    sf_buf_print(&path, "/api/v2/traces/%s", id);
    sf_buf_add_u8(&path, 0);
    err = sf_client_get(client, (char *)path.p, "application/protobuf", &body, why);
    if (!err)
        err = trace_command_read_answer(sf_buf_bytes(&body), &req, &batch, &note, why);
    if (!err && batch.n_spans == 0)
        err = sf_fail(
            why, SF_ERR_NOT_FOUND,
            "trace %s not found; its spans may not have arrived yet, or retention has deleted them",
            id);
    if (!err) {
        sf_trace_notes_ask(client, id, &req, &notes);
        err = trace_command_draw(client, &batch, &notes, &req, out, why);
    }
    if (!err && note.len)
        sf_buf_print(out, "\nnote: %.*s\n", SF_STR_ARG(note));
    sf_buf_done(&path);
    sf_buf_done(&body);
    sf_arena_done(&req);
    return err;
}

static enum sf_err show_json(const struct sf_client *client, const char *id, struct sf_buf *out,
                             struct sf_why *why)
{
    struct sf_buf path = {0};
    enum sf_err err;
    sf_buf_print(&path, "/api/v1/trace/%s", id);
    sf_buf_add_u8(&path, 0);
    err = sf_client_get(client, (char *)path.p, "application/json", out, why);
    if (!err)
        sf_buf_add_u8(out, '\n');
    sf_buf_done(&path);
    return err;
}

/* ---- choosing the trace ---- */

/* The id of the newest trace that matches, terminated, in `req`. Exit code, 0 when found. */
static int find_newest(const struct sf_client *client, const char *word, struct sf_arena *req,
                       const char **out)
{
    struct sf_search_question ask = {.limit = 1, .spans_per_set = 1};
    struct sf_client_answer answer = {0};
    struct sf_search_rows rows = {0};
    const struct sf_query *query;
    struct sf_buf text = {0};
    struct sf_why why = {0};
    sf_trace_id id;
    sf_str kept;
    int code = 0;
    if (sf_query_text_read(word, &text, &why)) {
        sf_answer_fault("trace", &why);
        code = 2;
    } else if (!sf_query_text_check("trace", sf_buf_str(&text), req, &query)) {
        code = 2;
    } else {
        ask.query = sf_buf_str(&text);
        if (sf_search_rows_fetch(client, &ask, &answer, &why) ||
            sf_search_rows_read(sf_buf_str(&answer.body), NULL, 0, req, &rows, &why))
            code = sf_answer_fault("trace", &why);
        else if (answer.note[0])
            sf_answer_note_once(answer.note);
    }
    if (!code && (rows.n == 0 || !sf_trace_id_parse(rows.list[0].trace_id, &id) ||
                  !sf_arena_print(req, &kept, "%.*s", SF_STR_ARG(rows.list[0].trace_id)))) {
        sf_fail(&why, SF_ERR_NOT_FOUND, "no trace matches");
        code = sf_answer_fault("trace", &why);
    }
    if (!code)
        *out = kept.p;
    sf_buf_done(&text);
    sf_buf_done(&answer.body);
    return code;
}

static int trace_command_show(const struct sf_client *client, const char *id, enum sf_output form)
{
    struct sf_buf out = {0};
    struct sf_why why = {0};
    enum sf_err err = form == SF_OUTPUT_JSON ? show_json(client, id, &out, &why)
                                             : trace_command_show_text(client, id, &out, &why);
    if (err) {
        sf_buf_done(&out);
        return sf_answer_fault("trace", &why);
    }
    return sf_answer_write(&out);
}

int sf_trace_command_run(int argc, char **argv)
{
    struct sf_client client = {0};
    const char *output = NULL, *query = NULL, *shown, *span;
    struct sf_flag flags[] = {
        SF_CLIENT_FLAGS(client),
        {"search", SF_FLAG_STR, &query, "QUERY",
         "show the newest trace that matches this TraceQL query"},
        {"output", SF_FLAG_STR, &output, "FORM", "text or json (default text)"}};
    struct sf_args args = {
        .command = "trace",
        .usage = "ID|ROW | --search QUERY [--server URL] [--output text|json]",
        .summary = "Show one trace as a waterfall: tree, bars, durations, errors, critical path.",
        .details =
            "'#' marks time on the critical path: the time that, if removed, would have "
            "made the trace shorter. '=' is the rest of a span, '!' an error. If samples carry the "
            "span's id, the function with the most time follows the span, with that time and its "
            "share of the span's samples. If the clocks of two hosts disagree, spans are drawn "
            "with corrected times, and a note states the correction. ID is hexadecimal; leading "
            "zeros can be omitted. ROW is the number of a row in the last output of `spanflame "
            "search` on this user's terminal. Each span is shown with its id and, on a terminal, a "
            "number: `spanflame flame 3` shows the profile of span 3.",
        .examples =
            "spanflame trace 5b8efff798038103d269b633813fc60c\n"
            "spanflame trace --search '{ status = error }'\n"
            "spanflame trace 5b8efff798038103d269b633813fc60c --output json | jq .criticalNs",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    struct sf_arena req = {0};
    struct sf_why why = {.text = "no memory"};
    sf_trace_id id;
    enum sf_output form;
    int code = 0;

    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    if (args.n_words != (query ? 0 : 1))
        return sf_answer_usage("trace", "give one trace id, or --search QUERY");
    if (!query && !sf_trace_id_parse(sf_str_from(args.words[0]), &id))
        return sf_answer_usage("trace", "a trace id is 1 to 32 hexadecimal digits, a row of the "
                                        "last list 1 to 4 decimal ones");
    form = sf_answer_output("trace", output, false);
    if (form == SF_OUTPUT_BAD)
        return 2;
    if (!sf_arena_init(&req, ARENA_LEN))
        return sf_answer_fault("trace", &why);
    shown = query ? NULL : args.words[0];
    if (query)
        code = find_newest(&client, query, &req, &shown);
    else /* not a row number: an id */
        (void)sf_last_list_read(shown, &client, &req, &shown, &span, &why);
    if (!code)
        code = trace_command_show(&client, shown, form);
    sf_arena_done(&req);
    return code;
}

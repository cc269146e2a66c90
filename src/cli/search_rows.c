/* search_rows.c - sends a search to the server and reads the answer. The JSON is read with a
 * cursor; each trace becomes a row, and the values of its matching spans are joined into one cell
 * per selected attribute. */
#include "cli/search_rows.h"

#include <inttypes.h>

#include "base/list.h"
#include "base/time_unit.h"
#include "query/expr_text.h"
#include "wire/json.h"

enum { CELL_MAX = 200 }; /* bytes a cell may gather before further values are left out */

enum sf_err sf_search_rows_fetch(const struct sf_client *client,
                                 const struct sf_search_question *ask, struct sf_client_answer *out,
                                 struct sf_why *why)
{
    struct sf_buf path = {0};
    enum sf_err err;
    sf_buf_print(&path, "/api/search?limit=%" PRIu64 "&spss=%" PRIu64, ask->limit,
                 ask->spans_per_set);
    if (ask->from_s || ask->to_s)
        sf_buf_print(&path, "&start=%" PRId64 "&end=%" PRId64, ask->from_s, ask->to_s);
    sf_buf_add_str(&path, SF_STR("&q="));
    sf_client_encode(&path, ask->query);
    sf_buf_add_u8(&path, 0);
    err = sf_buf_ok(&path) ? sf_client_ask(client, (char *)path.p, "application/json", out, why)
                           : sf_no_memory(why, "the request");
    sf_buf_done(&path);
    return err;
}

/* ---- the answer ---- */

struct reader {
    struct sf_json j;
    const struct sf_query_attr *columns;
    uint32_t n_columns;
    struct sf_arena *req;
    struct sf_buf text; /* text of the current value */
    bool is_full;
};

struct span_values { /* fields of a span that are not attributes */
    sf_str name, id;
    uint64_t duration_ns;
    bool has_duration;
};

static bool search_rows_keep(struct reader *r, sf_str text, sf_str *out)
{
    if (!sf_arena_copy(r->req, text, out))
        r->is_full = true;
    return !r->is_full;
}

/* Appends different values of a trace's spans to one cell. */
static void add_to_cell(struct reader *r, sf_str *cell, sf_str val)
{
    sf_str rest = *cell, part, joined;
    if (cell->len == 0) {
        search_rows_keep(r, val, cell);
        return;
    }
    while (sf_str_split_next(&rest, ',', &part)) {
        if (sf_str_eq(sf_str_trim(part), val))
            return;
    }
    if (cell->len + val.len > CELL_MAX)
        return;
    if (sf_arena_print(r->req, &joined, "%.*s, %.*s", SF_STR_ARG(*cell), SF_STR_ARG(val)))
        *cell = joined;
    else
        r->is_full = true;
}

static void search_rows_read_value(struct reader *r, bool is_inner);

static void search_rows_read_list(struct reader *r)
{
    struct sf_json *j = &r->j;
    bool is_first = true;
    sf_str key;
    sf_buf_add_u8(&r->text, '[');
    if (sf_json_object(j)) {
        while (sf_json_key(j, &key)) {
            if (!sf_str_eq(key, SF_STR("values"))) {
                sf_json_skip(j);
            } else if (sf_json_array(j)) {
                while (sf_json_item(j)) {
                    if (!is_first)
                        sf_buf_add_u8(&r->text, ' ');
                    is_first = false;
                    search_rows_read_value(r, true);
                }
            }
        }
    }
    sf_buf_add_u8(&r->text, ']');
}

/* Appends an OTLP value as text to r->text. Nested lists are abbreviated. */
static void search_rows_read_value(struct reader *r, bool is_inner)
{
    struct sf_json *j = &r->j;
    sf_str key;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("arrayValue")) && !is_inner) {
            search_rows_read_list(r);
        } else if (sf_json_peek(j) == SF_JSON_STRING) {
            sf_buf_add_str(&r->text, sf_json_str(j));
        } else if (sf_json_peek(j) == SF_JSON_BOOL) {
            sf_buf_add_str(&r->text, sf_json_bool(j) ? SF_STR("true") : SF_STR("false"));
        } else if (sf_json_peek(j) == SF_JSON_NUMBER) {
            sf_buf_print(&r->text, "%.15g", sf_json_f64(j));
        } else {
            sf_buf_add_str(&r->text, SF_STR("..."));
            sf_json_skip(j);
        }
    }
}

static void search_rows_read_attrs(struct reader *r, struct sf_search_row *row)
{
    struct sf_json *j = &r->j;
    if (!sf_json_array(j))
        return;
    while (sf_json_item(j)) {
        sf_str name = SF_STR_NONE, key;
        if (!sf_json_object(j))
            continue;
        sf_buf_reset(&r->text);
        while (sf_json_key(j, &key)) {
            if (sf_str_eq(key, SF_STR("key")))
                name = sf_json_str(j);
            else if (sf_str_eq(key, SF_STR("value")))
                search_rows_read_value(r, false);
            else
                sf_json_skip(j);
        }
        for (uint32_t i = 0; i < r->n_columns; i++) {
            const struct sf_query_attr *a = &r->columns[i];
            sf_str want = a->intrinsic ? sf_str_from(sf_expr_text_intrinsic(a->intrinsic))
                                       : a->name;
            if (sf_str_eq(want, name))
                add_to_cell(r, &row->cells[i], sf_buf_str(&r->text));
        }
    }
}

static void add_fields(struct reader *r, const struct span_values *span, struct sf_search_row *row)
{
    for (uint32_t i = 0; i < r->n_columns; i++) {
        sf_buf_reset(&r->text);
        switch (r->columns[i].intrinsic) {
        case SF_INTRINSIC_NAME: sf_buf_add_str(&r->text, span->name); break;
        case SF_INTRINSIC_SPAN_ID: sf_buf_add_str(&r->text, span->id); break;
        case SF_INTRINSIC_DURATION:
            if (span->has_duration)
                sf_expr_text_duration((int64_t)span->duration_ns, &r->text);
            break;
        default: break;
        }
        if (r->text.len)
            add_to_cell(r, &row->cells[i], sf_buf_str(&r->text));
    }
}

static void search_rows_read_span(struct reader *r, struct sf_search_row *row)
{
    struct sf_json *j = &r->j;
    struct span_values span = {0};
    sf_str key;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("name"))) {
            span.name = sf_json_str(j);
        } else if (sf_str_eq(key, SF_STR("spanID"))) {
            span.id = sf_json_str(j);
        } else if (sf_str_eq(key, SF_STR("durationNanos"))) {
            span.duration_ns = sf_json_u64(j);
            span.has_duration = true;
        } else if (sf_str_eq(key, SF_STR("attributes"))) {
            search_rows_read_attrs(r, row);
        } else {
            sf_json_skip(j);
        }
    }
    add_fields(r, &span, row);
    if (span.id.len && (!row->span_id.len || span.duration_ns > row->span_ns)) {
        search_rows_keep(r, span.id, &row->span_id);
        row->span_ns = span.duration_ns;
    }
}

static void search_rows_read_services(struct reader *r, struct sf_search_row *row)
{
    sf_str service, key;
    if (!sf_json_object(&r->j))
        return;
    while (sf_json_key(&r->j, &service)) {
        if (!sf_json_object(&r->j))
            continue;
        while (sf_json_key(&r->j, &key)) {
            if (sf_str_eq(key, SF_STR("spanCount")))
                row->n_spans += sf_json_u64(&r->j);
            else
                sf_json_skip(&r->j);
        }
    }
}

static void search_rows_read_set(struct reader *r, struct sf_search_row *row)
{
    struct sf_json *j = &r->j;
    sf_str key;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("matched"))) {
            row->n_matched += sf_json_u64(j);
        } else if (sf_str_eq(key, SF_STR("spans"))) {
            if (sf_json_array(j)) {
                while (sf_json_item(j))
                    search_rows_read_span(r, row);
            }
        } else {
            sf_json_skip(j);
        }
    }
}

static void read_sets(struct reader *r, struct sf_search_row *row)
{
    if (!sf_json_array(&r->j))
        return;
    while (sf_json_item(&r->j))
        search_rows_read_set(r, row);
}

/* Fills columns with fields of the trace, which no span has as attributes. */
static void add_trace_fields(struct reader *r, struct sf_search_row *row)
{
    for (uint32_t i = 0; i < r->n_columns; i++) {
        sf_buf_reset(&r->text);
        switch (r->columns[i].intrinsic) {
        case SF_INTRINSIC_TRACE_ID: row->cells[i] = row->trace_id; break;
        case SF_INTRINSIC_ROOT_NAME: row->cells[i] = row->root_name; break;
        case SF_INTRINSIC_ROOT_SERVICE: row->cells[i] = row->root_service; break;
        case SF_INTRINSIC_TRACE_DURATION:
            sf_expr_text_duration((int64_t)row->duration_ms * SF_NS_PER_MS, &r->text);
            search_rows_keep(r, sf_buf_str(&r->text), &row->cells[i]);
            break;
        default: break;
        }
    }
}

static void search_rows_read_row(struct reader *r, struct sf_search_row *row)
{
    struct sf_json *j = &r->j;
    sf_str key;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("traceID")))
            row->trace_id = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("rootServiceName")))
            row->root_service = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("rootTraceName")))
            row->root_name = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("startTimeUnixNano")))
            row->start_ns = sf_json_u64(j);
        else if (sf_str_eq(key, SF_STR("durationMs")))
            row->duration_ms = sf_json_u32(j);
        else if (sf_str_eq(key, SF_STR("spanSets")))
            read_sets(r, row);
        else if (sf_str_eq(key, SF_STR("serviceStats")))
            search_rows_read_services(r, row);
        else
            sf_json_skip(j);
    }
    add_trace_fields(r, row);
}

static void search_rows_read_rows(struct reader *r, struct sf_search_rows *out)
{
    uint32_t cap = 0;
    if (!sf_json_array(&r->j))
        return;
    while (sf_json_item(&r->j) && !r->is_full) {
        struct sf_search_row row = {0};
        row.cells = sf_arena_new_n(r->req, r->n_columns + 1u, sizeof(*row.cells));
        r->is_full = !row.cells || !sf_list_room_in(r->req, &out->list, out->n, &cap, 64);
        if (r->is_full)
            return;
        search_rows_read_row(r, &row);
        out->list[out->n++] = row;
    }
}

enum sf_err sf_search_rows_read(sf_str body, const struct sf_query_attr *columns,
                                uint32_t n_columns, struct sf_arena *req,
                                struct sf_search_rows *out, struct sf_why *why)
{
    struct reader r = {.columns = columns, .n_columns = n_columns, .req = req};
    struct sf_search_rows rows = {0};
    enum sf_err err;
    sf_str key;
    sf_json_init(&r.j, body, req);
    if (sf_json_object(&r.j)) {
        while (!r.is_full && sf_json_key(&r.j, &key)) {
            if (sf_str_eq(key, SF_STR("traces")))
                search_rows_read_rows(&r, &rows);
            else
                sf_json_skip(&r.j);
        }
    }
    err = r.is_full || !sf_buf_ok(&r.text)
              ? sf_fail(why, SF_ERR_LIMIT, "the answer is too large to show; use --output json")
              : sf_json_why(&r.j, "the server's answer", why);
    sf_buf_done(&r.text);
    if (!err)
        *out = rows;
    return err;
}

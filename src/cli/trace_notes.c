/* trace_notes.c - the notes after the spans of a waterfall. */
#include "cli/trace_notes.h"

#include <math.h>
#include <stdlib.h>

#include "base/list.h"
#include "render/known.h"
#include "render/units.h"
#include "wire/json.h"

struct hot {
    sf_str function, file;
    int64_t line;
    int64_t value;
    double share;
    int64_t n_few;       /* number of samples if too few for a time and share */
    int64_t n_estimated; /* samples that may belong to the span */
    bool is_below;       /* in the span's children too */
};

static void read_hot(struct sf_json *j, struct hot *hot)
{
    sf_str key;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("function")))
            hot->function = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("file")))
            hot->file = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("line")))
            hot->line = sf_json_i64(j);
        else if (sf_str_eq(key, SF_STR("value")))
            hot->value = sf_json_i64(j);
        else if (sf_str_eq(key, SF_STR("share")))
            hot->share = sf_json_f64(j);
        else if (sf_str_eq(key, SF_STR("isWithChildren")))
            hot->is_below = sf_json_bool(j);
        else
            sf_json_skip(j);
    }
}

/* Appends "  order_service.c:160", without the folder, which would be too long. */
static void trace_notes_add_place(struct sf_buf *text, const struct hot *hot)
{
    size_t at = hot->file.len;
    while (at > 0 && hot->file.p[at - 1] != '/')
        at--;
    sf_buf_add_str(text, SF_STR("  "));
    sf_units_text(text, sf_str_from_at(hot->file, at), 40);
    if (hot->line > 0)
        sf_buf_print(text, ":%lld", (long long)hot->line);
}

static bool trace_notes_add(struct sf_trace_notes *notes, sf_span_id span, const struct hot *hot,
                            sf_str unit, struct sf_arena *req)
{
    struct sf_buf text = {.max = 4096};
    sf_str kept;
    if (!sf_list_room_in(req, &notes->list, notes->n, &notes->cap, 64))
        return false;
    if (hot->function.len > 0) {
        sf_units_text(&text, hot->function, 40);
        sf_buf_add_u8(&text, ' ');
        sf_units_amount(&text, hot->value, unit);
        sf_buf_add_str(&text, SF_STR(", "));
        sf_units_percent(&text, hot->share);
        sf_buf_add_str(&text, hot->is_below ? SF_STR(" with children") : SF_STR_NONE);
        if (hot->file.len > 0)
            trace_notes_add_place(&text, hot);
    } else if (hot->n_few == 0) {
        notes->has_estimates = true;
        sf_buf_print(&text, SF_ESTIMATE_MARK "%lld sample%s", (long long)hot->n_estimated,
                     hot->n_estimated == 1 ? "" : "s");
    } else {
        sf_buf_print(&text, "%lld sample%s", (long long)hot->n_few, hot->n_few == 1 ? "" : "s");
    }
    bool is_kept = sf_buf_ok(&text) && sf_arena_copy(req, sf_buf_str(&text), &kept);
    if (is_kept)
        notes->list[notes->n++] = (struct sf_trace_note){span, kept};
    sf_buf_done(&text);
    return is_kept;
}

static bool trace_notes_read_span(struct sf_json *j, sf_str unit, struct sf_arena *req,
                                  struct sf_trace_notes *out)
{
    struct hot hot = {0};
    sf_span_id span = 0;
    sf_str key;
    if (!sf_json_object(j))
        return true;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("spanId")))
            (void)sf_span_id_parse(sf_json_str(j), &span);
        else if (sf_str_eq(key, SF_STR("hot")))
            read_hot(j, &hot);
        else if (sf_str_eq(key, SF_STR("fewSamples")))
            hot.n_few = sf_json_i64(j);
        else if (sf_str_eq(key, SF_STR("estimatedLooks")))
            hot.n_estimated = llround(sf_json_f64(j));
        else
            sf_json_skip(j);
    }
    return span == 0 || (hot.function.len == 0 && hot.n_few <= 0 && hot.n_estimated <= 0) ||
           trace_notes_add(out, span, &hot, unit, req);
}

static bool trace_notes_read_spans(struct sf_json *j, sf_str unit, struct sf_arena *req,
                                   struct sf_trace_notes *out)
{
    if (!sf_json_array(j))
        return true;
    while (sf_json_item(j))
        if (!trace_notes_read_span(j, unit, req, out))
            return false;
    return true;
}

static int trace_notes_by_span(const void *a, const void *b)
{
    const struct sf_trace_note *x = a, *y = b;
    return (x->span > y->span) - (x->span < y->span);
}

bool sf_trace_notes_read(sf_str body, struct sf_arena *req, struct sf_trace_notes *out)
{
    struct sf_trace_notes notes = {0};
    sf_str unit = SF_STR_NONE, key;
    struct sf_json j;
    bool has_room = true;
    sf_json_init(&j, body, req);
    if (sf_json_object(&j)) {
        while (has_room && sf_json_key(&j, &key)) {
            if (sf_str_eq(key, SF_STR("hotUnit")))
                unit = sf_json_str(&j); /* comes before the spans in the answer */
            else if (sf_str_eq(key, SF_STR("note")))
                notes.left_out = sf_json_str(&j);
            else if (sf_str_eq(key, SF_STR("spans")))
                has_room = trace_notes_read_spans(&j, unit, req, &notes);
            else
                sf_json_skip(&j);
        }
    }
    if (!has_room || !sf_json_ok(&j))
        return false;
    if (notes.n > 0)
        qsort(notes.list, notes.n, sizeof(*notes.list), trace_notes_by_span);
    *out = notes;
    return true;
}

void sf_trace_notes_ask(const struct sf_client *client, const char *id, struct sf_arena *req,
                        struct sf_trace_notes *out)
{
    struct sf_buf path = {0}, body = {0};
    struct sf_why why = {.text = "no memory"};
    sf_str kept;
    sf_buf_print(&path, "/api/v1/trace/%s", id);
    sf_buf_add_u8(&path, 0);
    enum sf_err err = sf_buf_ok(&path)
                          ? sf_client_get(client, (char *)path.p, "application/json", &body, &why)
                          : SF_ERR_NOMEM;
    if (!err && !sf_arena_copy(req, sf_buf_str(&body), &kept)) /* names are views into it */
        err = sf_fail(&why, SF_ERR_NOMEM, "no memory");
    if (!err && !sf_trace_notes_read(kept, req, out))
        err = sf_fail(&why, SF_ERR_INPUT, "its answer cannot be read");
    if (err && err != SF_ERR_NOT_FOUND)
        (void)sf_arena_print(req, &out->left_out, "functions of its spans are missing: %s",
                             why.text);
    sf_buf_done(&path);
    sf_buf_done(&body);
}

sf_str sf_trace_notes_find(const struct sf_trace_notes *notes, sf_span_id span)
{
    struct sf_trace_note want = {.span = span};
    const struct sf_trace_note *found = notes->n ? bsearch(&want, notes->list, notes->n,
                                                           sizeof(want), trace_notes_by_span)
                                                 : NULL;
    return found ? found->text : SF_STR_NONE;
}

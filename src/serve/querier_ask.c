#include "serve/querier_ask.h"

#include "base/limits.h"
#include "wire/json.h"
#include "wire/pb.h"

enum slot { TYPE, SELECTOR, NAME, KEYS, SPANS, START, END, MAX_NODES, LIMIT, STEP, AVERAGE };

/* Field numbers differ from method to method, names do not. */
static const struct field {
    enum sf_querier_method method;
    uint32_t number;
    enum slot slot;
} fields[] = {
    {SF_QUERIER_TYPES, 1, START},
    {SF_QUERIER_TYPES, 2, END},
    {SF_QUERIER_LABEL_NAMES, 1, SELECTOR},
    {SF_QUERIER_LABEL_NAMES, 2, START},
    {SF_QUERIER_LABEL_NAMES, 3, END},
    {SF_QUERIER_LABEL_VALUES, 1, NAME},
    {SF_QUERIER_LABEL_VALUES, 2, SELECTOR},
    {SF_QUERIER_LABEL_VALUES, 3, START},
    {SF_QUERIER_LABEL_VALUES, 4, END},
    {SF_QUERIER_SERIES, 1, SELECTOR},
    {SF_QUERIER_SERIES, 2, KEYS},
    {SF_QUERIER_SERIES, 3, START},
    {SF_QUERIER_SERIES, 4, END},
    {SF_QUERIER_STACKTRACES, 1, TYPE},
    {SF_QUERIER_STACKTRACES, 2, SELECTOR},
    {SF_QUERIER_STACKTRACES, 3, START},
    {SF_QUERIER_STACKTRACES, 4, END},
    {SF_QUERIER_STACKTRACES, 5, MAX_NODES},
    {SF_QUERIER_STACKTRACES, 11, SPANS},
    {SF_QUERIER_SPANS, 1, TYPE},
    {SF_QUERIER_SPANS, 2, SELECTOR},
    {SF_QUERIER_SPANS, 3, SPANS},
    {SF_QUERIER_SPANS, 4, START},
    {SF_QUERIER_SPANS, 5, END},
    {SF_QUERIER_SPANS, 6, MAX_NODES},
    {SF_QUERIER_POINTS, 1, TYPE},
    {SF_QUERIER_POINTS, 2, SELECTOR},
    {SF_QUERIER_POINTS, 3, START},
    {SF_QUERIER_POINTS, 4, END},
    {SF_QUERIER_POINTS, 5, KEYS},
    {SF_QUERIER_POINTS, 6, STEP},
    {SF_QUERIER_POINTS, 7, AVERAGE},
    {SF_QUERIER_POINTS, 9, LIMIT},
};

static const struct {
    const char *key;
    enum slot slot;
} names[] = {
    {"profileTypeID", TYPE},
    {"profile_typeID", TYPE},
    {"labelSelector", SELECTOR},
    {"label_selector", SELECTOR},
    {"matchers", SELECTOR},
    {"name", NAME},
    {"labelNames", KEYS},
    {"label_names", KEYS},
    {"groupBy", KEYS},
    {"group_by", KEYS},
    {"spanSelector", SPANS},
    {"span_selector", SPANS},
    {"start", START},
    {"end", END},
    {"maxNodes", MAX_NODES},
    {"max_nodes", MAX_NODES},
    {"limit", LIMIT},
    {"step", STEP},
    {"aggregation", AVERAGE},
};

static enum sf_err put_text(struct sf_querier_ask *a, enum slot slot, sf_str text,
                            struct sf_arena *req, struct sf_why *why)
{
    switch (slot) {
    case TYPE: a->type = text; return SF_OK;
    case NAME: a->name = text; return SF_OK;
    case SELECTOR: return sf_label_selector_parse(text, req, &a->selector, why);
    case KEYS:
        if (a->n_keys == SF_QUERIER_LIST)
            return sf_fail(why, SF_ERR_LIMIT, "more than %d labels", SF_QUERIER_LIST);
        a->keys[a->n_keys++] = text;
        return SF_OK;
    case SPANS:
        if (a->n_spans == SF_QUERIER_LIST)
            return sf_fail(why, SF_ERR_LIMIT, "more than %d spans", SF_QUERIER_LIST);
        if (text.len != 16 || !sf_span_id_parse(text, &a->spans[a->n_spans++]))
            return sf_fail(why, SF_ERR_INPUT, "span_selector: 16 hexadecimal digits are expected");
        return SF_OK;
    case AVERAGE: a->is_average = sf_str_ends(text, SF_STR("AVERAGE")); return SF_OK;
    default: return SF_OK;
    }
}

static void put_number(struct sf_querier_ask *a, enum slot slot, int64_t v)
{
    switch (slot) {
    case START: a->start_ms = v; break;
    case END: a->end_ms = v; break;
    case MAX_NODES: a->max_nodes = v; break;
    case LIMIT: a->limit = v; break;
    case AVERAGE: a->is_average = v == 1; break;
    default: break;
    }
}

static bool is_text(enum slot slot)
{
    return slot <= SPANS;
}

static enum sf_err read_pb(enum sf_querier_method method, sf_str body, struct sf_arena *req,
                           struct sf_querier_ask *a, struct sf_why *why)
{
    struct sf_pb pb = sf_pb_init(sf_str_bytes(body));
    enum sf_err err = SF_OK;
    while (!err && sf_pb_next(&pb)) {
        const struct field *f = NULL;
        for (size_t i = 0; !f && i < sizeof(fields) / sizeof(fields[0]); i++) {
            if (fields[i].method == method && fields[i].number == pb.field)
                f = &fields[i];
        }
        if (!f)
            sf_pb_skip(&pb);
        else if (is_text(f->slot))
            err = put_text(a, f->slot, sf_pb_str(&pb), req, why);
        else if (f->slot == STEP)
            a->step_s = sf_pb_double(&pb);
        else
            put_number(a, f->slot, sf_pb_i64(&pb));
    }
    return err ? err : sf_pb_why(&pb, "request", why);
}

static enum sf_err read_value(struct sf_json *j, enum slot slot, struct sf_arena *req,
                              struct sf_querier_ask *a, struct sf_why *why)
{
    if (is_text(slot) || (slot == AVERAGE && sf_json_peek(j) == SF_JSON_STRING))
        return put_text(a, slot, sf_json_str(j), req, why);
    if (slot == STEP)
        a->step_s = sf_json_f64(j);
    else
        put_number(a, slot, sf_json_i64(j));
    return SF_OK;
}

static enum sf_err read_json(sf_str body, struct sf_arena *req, struct sf_querier_ask *a,
                             struct sf_why *why)
{
    struct sf_json *j = sf_arena_new(req, sizeof(*j));
    enum sf_err err = SF_OK;
    sf_str key;
    if (!j)
        return sf_fail(why, SF_ERR_LIMIT, "request: no room");
    sf_json_init(j, body, req);
    if (body.len == 0 || !sf_json_object(j))
        return body.len ? sf_fail(why, SF_ERR_INPUT, "request: no JSON object") : SF_OK;
    while (!err && sf_json_key(j, &key)) {
        size_t i = 0, n = sizeof(names) / sizeof(names[0]);
        while (i < n && !sf_str_eq(key, sf_str_from(names[i].key)))
            i++;
        if (i == n) {
            sf_json_skip(j);
        } else if (sf_json_peek(j) == SF_JSON_ARRAY) {
            sf_json_array(j);
            while (!err && sf_json_item(j))
                err = read_value(j, names[i].slot, req, a, why);
        } else {
            err = read_value(j, names[i].slot, req, a, why);
        }
    }
    return err ? err : sf_json_why(j, "request", why);
}

enum sf_err sf_querier_ask_read(enum sf_querier_method method, sf_str body, bool is_json,
                                struct sf_arena *req, struct sf_querier_ask *out,
                                struct sf_why *why)
{
    return is_json ? read_json(body, req, out, why) : read_pb(method, body, req, out, why);
}

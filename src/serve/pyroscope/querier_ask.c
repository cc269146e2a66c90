#include "serve/pyroscope/querier_ask.h"

#include "base/text.h"
#include "wire/json.h"
#include "wire/pb.h"

enum slot {
    /* text */
    TYPE,
    SELECTOR,
    NAME,
    QUERY,
    KEYS,
    SPANS,
    TRACES,
    PROFILES,
    /* messages */
    SITE,
    ASYNC,
    LEFT,
    RIGHT,
    /* words of an enumeration, or their numbers */
    FORMAT,
    EXEMPLARS,
    DOTS,
    AVERAGE,
    /* numbers */
    START,
    END,
    MAX_NODES,
    LIMIT,
    STEP
};

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
    {SF_QUERIER_STACKTRACES, 6, FORMAT},
    {SF_QUERIER_STACKTRACES, 7, SITE},
    {SF_QUERIER_STACKTRACES, 8, PROFILES},
    {SF_QUERIER_STACKTRACES, 9, ASYNC},
    {SF_QUERIER_STACKTRACES, 10, TRACES},
    {SF_QUERIER_STACKTRACES, 11, SPANS},
    {SF_QUERIER_SPANS, 1, TYPE},
    {SF_QUERIER_SPANS, 2, SELECTOR},
    {SF_QUERIER_SPANS, 3, SPANS},
    {SF_QUERIER_SPANS, 4, START},
    {SF_QUERIER_SPANS, 5, END},
    {SF_QUERIER_SPANS, 6, MAX_NODES},
    {SF_QUERIER_SPANS, 7, FORMAT},
    {SF_QUERIER_PROFILE, 1, TYPE},
    {SF_QUERIER_PROFILE, 2, SELECTOR},
    {SF_QUERIER_PROFILE, 3, START},
    {SF_QUERIER_PROFILE, 4, END},
    {SF_QUERIER_PROFILE, 5, MAX_NODES},
    {SF_QUERIER_PROFILE, 6, SITE},
    {SF_QUERIER_PROFILE, 7, PROFILES},
    {SF_QUERIER_PROFILE, 8, TRACES},
    {SF_QUERIER_POINTS, 1, TYPE},
    {SF_QUERIER_POINTS, 2, SELECTOR},
    {SF_QUERIER_POINTS, 3, START},
    {SF_QUERIER_POINTS, 4, END},
    {SF_QUERIER_POINTS, 5, KEYS},
    {SF_QUERIER_POINTS, 6, STEP},
    {SF_QUERIER_POINTS, 7, AVERAGE},
    {SF_QUERIER_POINTS, 8, SITE},
    {SF_QUERIER_POINTS, 9, LIMIT},
    {SF_QUERIER_POINTS, 10, EXEMPLARS},
    {SF_QUERIER_HEATMAP, 1, TYPE},
    {SF_QUERIER_HEATMAP, 2, SELECTOR},
    {SF_QUERIER_HEATMAP, 3, START},
    {SF_QUERIER_HEATMAP, 4, END},
    {SF_QUERIER_HEATMAP, 5, STEP},
    {SF_QUERIER_HEATMAP, 6, KEYS},
    {SF_QUERIER_HEATMAP, 7, DOTS},
    {SF_QUERIER_HEATMAP, 8, EXEMPLARS},
    {SF_QUERIER_HEATMAP, 9, LIMIT},
    {SF_QUERIER_DIFF, 1, LEFT},
    {SF_QUERIER_DIFF, 2, RIGHT},
    {SF_QUERIER_ANALYZE, 2, START},
    {SF_QUERIER_ANALYZE, 3, END},
    {SF_QUERIER_ANALYZE, 4, QUERY},
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
    {"query", QUERY},
    {"traceIdSelector", TRACES},
    {"trace_id_selector", TRACES},
    {"profileIdSelector", PROFILES},
    {"profile_id_selector", PROFILES},
    {"stackTraceSelector", SITE},
    {"stack_trace_selector", SITE},
    {"async", ASYNC},
    {"left", LEFT},
    {"right", RIGHT},
    {"format", FORMAT},
    {"exemplarType", EXEMPLARS},
    {"exemplar_type", EXEMPLARS},
    {"queryType", DOTS},
    {"query_type", DOTS},
};

static const struct {
    enum slot slot;
    const char *ending; /* of the word */
    int64_t number;
} words[] = {
    {FORMAT, "_FLAMEGRAPH", SF_QUERIER_FLAMEGRAPH},
    {FORMAT, "_TREE", SF_QUERIER_TREE},
    {FORMAT, "_DOT", SF_QUERIER_DOT},
    {FORMAT, "_PPROF", SF_QUERIER_PPROF},
    {EXEMPLARS, "_NONE", SF_QUERIER_EXEMPLARS_NONE},
    {EXEMPLARS, "_INDIVIDUAL", SF_QUERIER_EXEMPLARS_PROFILES},
    {EXEMPLARS, "_SPAN", SF_QUERIER_EXEMPLARS_SPANS},
    {DOTS, "_INDIVIDUAL", SF_QUERIER_DOTS_PROFILES},
    {DOTS, "_SPAN", SF_QUERIER_DOTS_SPANS},
    {AVERAGE, "_AVERAGE", 1},
};

/* ---- profile ids ---- */

bool sf_profile_uuid_parse(sf_str text, sf_profile_id *out)
{
    sf_profile_id id;
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        int digit = sf_hex_digit(text.p[i]);
        if (text.p[i] == '-')
            continue;
        if (digit < 0 || n == 32)
            return false;
        id.b[n / 2] = (uint8_t)(n % 2 ? id.b[n / 2] | digit : digit << 4);
        n++;
    }
    if (n != 32)
        return false;
    *out = id;
    return true;
}

void sf_profile_uuid_render(sf_profile_id id, char out[37])
{
    static const char digits[] = "0123456789abcdef";
    char *to = out;
    for (size_t i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *to++ = '-';
        *to++ = digits[id.b[i] >> 4];
        *to++ = digits[id.b[i] & 15];
    }
    *to = 0;
}

/* ---- values, however they were written ---- */

static enum sf_err too_many(const char *what, struct sf_why *why)
{
    return sf_fail(why, SF_ERR_LIMIT, "more than %d %s", SF_QUERIER_LIST, what);
}

static enum sf_err put_id(struct sf_querier_ask *a, enum slot slot, sf_str text, struct sf_why *why)
{
    size_t n = slot == SPANS ? a->n_spans : slot == TRACES ? a->n_traces : a->n_profiles;
    if (n == SF_QUERIER_LIST)
        return too_many("ids", why);
    if (slot == SPANS) {
        if (text.len != 16 || !sf_span_id_parse(text, &a->spans[a->n_spans++]))
            return sf_fail(why, SF_ERR_INPUT, "span_selector: 16 hexadecimal digits are expected");
    } else if (slot == TRACES) {
        if (text.len != 32 || !sf_trace_id_parse(text, &a->traces[a->n_traces++]))
            return sf_fail(why, SF_ERR_INPUT,
                           "trace_id_selector: 32 hexadecimal digits are expected");
    } else if (!sf_profile_uuid_parse(text, &a->profiles[a->n_profiles++])) {
        return sf_fail(why, SF_ERR_INPUT, "profile_id_selector: a UUID is expected");
    }
    return SF_OK;
}

static enum sf_err put_text(struct sf_querier_ask *a, enum slot slot, sf_str text,
                            struct sf_arena *req, struct sf_why *why)
{
    switch (slot) {
    case TYPE: a->type = text; return SF_OK;
    case NAME: a->name = text; return SF_OK;
    case QUERY: a->query = text; return SF_OK;
    case SELECTOR: return sf_label_selector_parse(text, req, &a->selector, why);
    case KEYS:
        if (a->n_keys == SF_QUERIER_LIST)
            return too_many("labels", why);
        a->keys[a->n_keys++] = text;
        return SF_OK;
    case SPANS:
    case TRACES:
    case PROFILES: return put_id(a, slot, text, why);
    default: return SF_OK;
    }
}

static enum sf_err put_site(struct sf_querier_ask *a, sf_str name, struct sf_why *why)
{
    if (a->n_sites == SF_QUERIER_LIST)
        return too_many("call sites", why);
    a->sites[a->n_sites++] = name;
    return SF_OK;
}

static void put_number(struct sf_querier_ask *a, enum slot slot, int64_t v)
{
    switch (slot) {
    case START: a->start_ms = v; break;
    case END: a->end_ms = v; break;
    case MAX_NODES: a->max_nodes = v; break;
    case LIMIT: a->limit = v; break;
    case FORMAT: a->format = v; break;
    case EXEMPLARS: a->exemplars = v; break;
    case DOTS: a->dots = v; break;
    case AVERAGE: a->aggregation = v; break;
    default: break;
    }
}

static void put_word(struct sf_querier_ask *a, enum slot slot, sf_str text)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (words[i].slot == slot && sf_str_ends(text, sf_str_from(words[i].ending)))
            put_number(a, slot, words[i].number);
    }
}

static bool is_text(enum slot slot)
{
    return slot <= PROFILES;
}

static bool is_word(enum slot slot)
{
    return slot >= FORMAT && slot <= AVERAGE;
}

static struct sf_querier_ask *side_of(struct sf_querier_ask *a, enum slot slot,
                                      struct sf_arena *req)
{
    struct sf_querier_ask **side = &a->sides[slot == RIGHT];
    if (!*side)
        *side = sf_arena_new(req, sizeof(**side));
    return *side;
}

/* ---- protobuf ---- */

static enum sf_err read_pb(enum sf_querier_method method, struct sf_pb *pb, struct sf_arena *req,
                           struct sf_querier_ask *a, struct sf_why *why);

static enum sf_err read_site_pb(struct sf_pb *site, struct sf_querier_ask *a, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    while (!err && sf_pb_next(site)) {
        struct sf_pb part;
        if (site->field != 1 && site->field != 2) {
            sf_pb_skip(site);
            continue;
        }
        bool is_pgo = site->field == 2;
        a->has_pgo |= is_pgo;
        part = sf_pb_msg(site);
        while (!err && sf_pb_next(&part)) {
            if (is_pgo && part.field == 1)
                a->keep_leaves = sf_pb_u32(&part);
            else if (is_pgo && part.field == 2)
                a->is_flat = sf_pb_bool(&part);
            else if (!is_pgo && part.field == 1)
                err = put_site(a, sf_pb_str(&part), why);
            else
                sf_pb_skip(&part);
        }
        sf_pb_join(site, &part);
    }
    return err;
}

static enum sf_err read_message_pb(struct sf_pb *pb, enum slot slot, struct sf_arena *req,
                                   struct sf_querier_ask *a, struct sf_why *why)
{
    struct sf_pb part = sf_pb_msg(pb);
    struct sf_querier_ask *side;
    enum sf_err err = SF_OK;
    if (slot == SITE) {
        err = read_site_pb(&part, a, why);
    } else if (slot == ASYNC) {
        while (sf_pb_next(&part)) {
            if (part.field == 1)
                a->request_id = sf_pb_str(&part);
            else if (part.field == 2)
                a->is_async = sf_pb_u64(&part) == 1;
            else
                sf_pb_skip(&part);
        }
    } else {
        side = side_of(a, slot, req);
        err = side ? read_pb(SF_QUERIER_STACKTRACES, &part, req, side, why)
                   : sf_no_room(why, "the request");
    }
    sf_pb_join(pb, &part);
    return err;
}

static enum sf_err read_pb(enum sf_querier_method method, struct sf_pb *pb, struct sf_arena *req,
                           struct sf_querier_ask *a, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    while (!err && sf_pb_next(pb)) {
        const struct field *f = NULL;
        for (size_t i = 0; !f && i < sizeof(fields) / sizeof(fields[0]); i++) {
            if (fields[i].method == method && fields[i].number == pb->field)
                f = &fields[i];
        }
        if (!f)
            sf_pb_skip(pb);
        else if (is_text(f->slot))
            err = put_text(a, f->slot, sf_pb_str(pb), req, why);
        else if (f->slot < FORMAT)
            err = read_message_pb(pb, f->slot, req, a, why);
        else if (f->slot == STEP)
            a->step_s = sf_pb_double(pb);
        else
            put_number(a, f->slot, sf_pb_i64(pb));
    }
    return err;
}

/* ---- JSON ---- */

static enum sf_err read_json(struct sf_json *j, struct sf_arena *req, struct sf_querier_ask *a,
                             struct sf_why *why);

static void read_pgo_json(struct sf_json *j, struct sf_querier_ask *a)
{
    sf_str key;
    if (!sf_json_object(j))
        return;
    a->has_pgo = true;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("keepLocations")) || sf_str_eq(key, SF_STR("keep_locations")))
            a->keep_leaves = sf_json_u32(j);
        else if (sf_str_eq(key, SF_STR("aggregateCallees")) ||
                 sf_str_eq(key, SF_STR("aggregate_callees")))
            a->is_flat = sf_json_bool(j);
        else
            sf_json_skip(j);
    }
}

static enum sf_err read_sites_json(struct sf_json *j, struct sf_querier_ask *a, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    sf_str key;
    if (!sf_json_array(j))
        return SF_OK;
    while (sf_json_item(j)) {
        if (!sf_json_object(j))
            continue;
        while (sf_json_key(j, &key)) {
            if (!sf_str_eq(key, SF_STR("name")))
                sf_json_skip(j);
            else if (!err)
                err = put_site(a, sf_json_str(j), why);
            else
                sf_json_skip(j);
        }
    }
    return err;
}

static enum sf_err read_message_json(struct sf_json *j, enum slot slot, struct sf_arena *req,
                                     struct sf_querier_ask *a, struct sf_why *why)
{
    struct sf_querier_ask *side;
    enum sf_err err = SF_OK;
    sf_str key;
    if (slot == LEFT || slot == RIGHT) {
        side = side_of(a, slot, req);
        return side ? read_json(j, req, side, why) : sf_no_room(why, "the request");
    }
    if (!sf_json_object(j))
        return SF_OK;
    while (!err && sf_json_key(j, &key)) {
        if (slot == ASYNC &&
            (sf_str_eq(key, SF_STR("requestId")) || sf_str_eq(key, SF_STR("request_id"))))
            a->request_id = sf_json_str(j);
        else if (slot == ASYNC && sf_str_eq(key, SF_STR("type")))
            a->is_async = sf_json_peek(j) == SF_JSON_STRING
                              ? sf_str_ends(sf_json_str(j), SF_STR("_FORCE"))
                              : sf_json_i64(j) == 1;
        else if (slot == SITE &&
                 (sf_str_eq(key, SF_STR("callSite")) || sf_str_eq(key, SF_STR("call_site"))))
            err = read_sites_json(j, a, why);
        else if (slot == SITE &&
                 (sf_str_eq(key, SF_STR("goPgo")) || sf_str_eq(key, SF_STR("go_pgo"))))
            read_pgo_json(j, a);
        else
            sf_json_skip(j);
    }
    return err;
}

static enum sf_err read_value(struct sf_json *j, enum slot slot, struct sf_arena *req,
                              struct sf_querier_ask *a, struct sf_why *why)
{
    if (sf_json_peek(j) == SF_JSON_NULL)
        sf_json_skip(j);
    else if (is_text(slot))
        return put_text(a, slot, sf_json_str(j), req, why);
    else if (slot < FORMAT)
        return read_message_json(j, slot, req, a, why);
    else if (slot == STEP)
        a->step_s = sf_json_f64(j);
    else if (is_word(slot) && sf_json_peek(j) == SF_JSON_STRING)
        put_word(a, slot, sf_json_str(j));
    else
        put_number(a, slot, sf_json_i64(j));
    return SF_OK;
}

static enum sf_err read_json(struct sf_json *j, struct sf_arena *req, struct sf_querier_ask *a,
                             struct sf_why *why)
{
    enum sf_err err = SF_OK;
    sf_str key;
    if (!sf_json_object(j))
        return sf_fail(why, SF_ERR_INPUT, "request: no JSON object");
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
    return err;
}

enum sf_err sf_querier_ask_read(enum sf_querier_method method, sf_str body, bool is_json,
                                struct sf_arena *req, struct sf_querier_ask *out,
                                struct sf_why *why)
{
    struct sf_pb pb = sf_pb_init(sf_str_bytes(body));
    struct sf_json *j;
    enum sf_err err;
    if (!is_json) {
        err = read_pb(method, &pb, req, out, why);
        return err ? err : sf_pb_why(&pb, "request", why);
    }
    if (body.len == 0)
        return SF_OK;
    j = sf_arena_new(req, sizeof(*j));
    if (!j)
        return sf_no_room(why, "the request");
    sf_json_init(j, body, req);
    err = read_json(j, req, out, why);
    return err ? err : sf_json_why(j, "request", why);
}

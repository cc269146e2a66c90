/* querier_ask.c - reads the requests of Pyroscope's querier. One table maps method and field number
 * or JSON name to a slot; protobuf and JSON readers both store through the same setters. Unknown
 * fields are counted, unknown enumeration values refused. */
#include "serve/pyroscope/querier_ask.h"

#include "base/text.h"
#include "serve/pyroscope/profile_uuid.h"
#include "wire/json.h"
#include "wire/pb.h"

enum slot {
    /* text */
    TYPE,
    SELECTOR,
    NAME,
    QUERY,
    FUNCTION,
    KEYS,
    SPANS,
    TRACES,
    PROFILES,
    /* messages */
    SITE,
    ASYNC,
    OPTIONS,
    LEFT,
    RIGHT,
    /* names of an enumeration, or their numbers */
    FORMAT,
    EXEMPLARS,
    DOTS,
    AVERAGE,
    CALLS_OF,
    CALLS_TO,
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
    {"sandwichFunction", FUNCTION},
    {"sandwich_function", FUNCTION},
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
    {"formatOptions", OPTIONS},
    {"format_options", OPTIONS},
    {"exemplarType", EXEMPLARS},
    {"exemplar_type", EXEMPLARS},
    {"queryType", DOTS},
    {"query_type", DOTS},
};

static const struct {
    enum slot slot;
    const char *name;
    int64_t number;
} words[] = {
    {FORMAT, "PROFILE_FORMAT_UNSPECIFIED", SF_QUERIER_ANY},
    {FORMAT, "PROFILE_FORMAT_FLAMEGRAPH", SF_QUERIER_FLAMEGRAPH},
    {FORMAT, "PROFILE_FORMAT_TREE", SF_QUERIER_TREE},
    {FORMAT, "PROFILE_FORMAT_DOT", SF_QUERIER_DOT},
    {FORMAT, "PROFILE_FORMAT_PPROF", SF_QUERIER_PPROF},
    {FORMAT, "PROFILE_FORMAT_FUNCTIONS", SF_QUERIER_FUNCTIONS},
    {FORMAT, "PROFILE_FORMAT_FUNCTION_TREE", SF_QUERIER_CALLS},
    {FORMAT, "PROFILE_FORMAT_SANDWICH", SF_QUERIER_SANDWICH},
    {CALLS_OF, "FUNCTION_TREE_SELECTION_UNSPECIFIED", SF_QUERIER_CALLS_UNSET},
    {CALLS_OF, "FUNCTION_TREE_SELECTION_ROOT_PATH", SF_QUERIER_CALLS_FROM_ROOT},
    {CALLS_OF, "FUNCTION_TREE_SELECTION_FUNCTION_CHAIN", SF_QUERIER_CALLS_OF_CHAIN},
    {CALLS_TO, "FUNCTION_TREE_DIRECTION_UNSPECIFIED", SF_QUERIER_CALLS_NOWHERE},
    {CALLS_TO, "FUNCTION_TREE_DIRECTION_CALLEES", SF_QUERIER_CALLS_DOWN},
    {CALLS_TO, "FUNCTION_TREE_DIRECTION_CALLERS", SF_QUERIER_CALLS_UP},
    {CALLS_TO, "FUNCTION_TREE_DIRECTION_BOTH", SF_QUERIER_CALLS_BOTH_WAYS},
    {EXEMPLARS, "EXEMPLAR_TYPE_UNSPECIFIED", SF_QUERIER_EXEMPLARS_DEFAULT},
    {EXEMPLARS, "EXEMPLAR_TYPE_NONE", SF_QUERIER_EXEMPLARS_NONE},
    {EXEMPLARS, "EXEMPLAR_TYPE_INDIVIDUAL", SF_QUERIER_EXEMPLARS_PROFILES},
    {EXEMPLARS, "EXEMPLAR_TYPE_SPAN", SF_QUERIER_EXEMPLARS_SPANS},
    {DOTS, "HEATMAP_QUERY_TYPE_UNSPECIFIED", SF_QUERIER_DOTS_DEFAULT},
    {DOTS, "HEATMAP_QUERY_TYPE_INDIVIDUAL", SF_QUERIER_DOTS_PROFILES},
    {DOTS, "HEATMAP_QUERY_TYPE_SPAN", SF_QUERIER_DOTS_SPANS},
    {AVERAGE, "TIME_SERIES_AGGREGATION_TYPE_SUM", 0},
    {AVERAGE, "TIME_SERIES_AGGREGATION_TYPE_AVERAGE", 1},
};

/* The lists of a frame filter, by field number. */
static const struct {
    const char *key, *other_key;
    enum sf_stack_term_kind kind;
} frame_lists[] = {
    {"includeFunctionNames", "include_function_names", SF_STACK_HAS},
    {"excludeFunctionNames", "exclude_function_names", SF_STACK_LACKS},
    {"includeFunctionNameRegexes", "include_function_name_regexes", SF_STACK_HAS_PATTERN},
    {"excludeFunctionNameRegexes", "exclude_function_name_regexes", SF_STACK_LACKS_PATTERN},
};
enum { FRAME_LISTS = sizeof(frame_lists) / sizeof(frame_lists[0]) };

/* ---- values, from protobuf or JSON ---- */

static enum sf_err querier_ask_too_many(const char *what, struct sf_why *why)
{
    return sf_fail(why, SF_ERR_LIMIT, "more than %d %s", SF_QUERIER_LIST, what);
}

static enum sf_err put_id(struct sf_querier_ask *a, enum slot slot, sf_str text, struct sf_why *why)
{
    size_t n = slot == SPANS ? a->n_spans : slot == TRACES ? a->n_traces : a->n_profiles;
    if (n == SF_QUERIER_LIST)
        return querier_ask_too_many("ids", why);
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

static enum sf_err querier_ask_put_text(struct sf_querier_ask *a, enum slot slot, sf_str text,
                                        struct sf_arena *req, struct sf_why *why)
{
    switch (slot) {
    case TYPE: a->type = text; return SF_OK;
    case NAME: a->name = text; return SF_OK;
    case QUERY: a->query = text; return SF_OK;
    case FUNCTION: a->function = text; return SF_OK;
    case SELECTOR: return sf_label_selector_parse(text, req, &a->selector, why);
    case KEYS:
        if (a->n_keys == SF_QUERIER_LIST)
            return querier_ask_too_many("labels", why);
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
        return querier_ask_too_many("call sites", why);
    a->sites[a->n_sites++] = name;
    return SF_OK;
}

static enum sf_err querier_ask_put_frame(struct sf_querier_ask *a, enum sf_stack_term_kind kind,
                                         sf_str text, struct sf_why *why)
{
    if (a->n_frames == SF_STACK_TERMS)
        return sf_fail(why, SF_ERR_LIMIT, "frame_filter: more than %d names and patterns",
                       SF_STACK_TERMS);
    a->frames[a->n_frames++] = (struct sf_stack_term){text, kind};
    return SF_OK;
}

static void querier_ask_put_number(struct sf_querier_ask *a, enum slot slot, int64_t v)
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
    case CALLS_OF: a->calls_of = v; break;
    case CALLS_TO: a->calls_to = v; break;
    default: break;
    }
}

static const char *querier_ask_name_of(enum slot slot)
{
    return slot == FORMAT      ? "format"
           : slot == EXEMPLARS ? "exemplar_type"
           : slot == DOTS      ? "query_type"
           : slot == CALLS_OF  ? "selection"
           : slot == CALLS_TO  ? "direction"
                               : "aggregation";
}

/* An unknown value requests something that is not supported: UNSUPPORTED, by which clients
 * recognise an older server and retry without it. */
static enum sf_err put_word(struct sf_querier_ask *a, enum slot slot, sf_str text,
                            struct sf_why *why)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (words[i].slot == slot && sf_str_eq(text, sf_str_from(words[i].name))) {
            querier_ask_put_number(a, slot, words[i].number);
            return SF_OK;
        }
    }
    return sf_fail(why, SF_ERR_UNSUPPORTED, "%s: %.*s is not supported", querier_ask_name_of(slot),
                   SF_STR_ARG(sf_str_part(text, 0, 60)));
}

static enum sf_err put_word_number(struct sf_querier_ask *a, enum slot slot, int64_t number,
                                   struct sf_why *why)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (words[i].slot == slot && words[i].number == number && number >= 0) {
            querier_ask_put_number(a, slot, number);
            return SF_OK;
        }
    }
    return sf_fail(why, SF_ERR_UNSUPPORTED, "%s: %lld is not supported", querier_ask_name_of(slot),
                   (long long)number);
}

static bool querier_ask_is_text(enum slot slot)
{
    return slot <= PROFILES;
}

static bool querier_ask_is_word(enum slot slot)
{
    return slot >= FORMAT && slot <= CALLS_TO;
}

static struct sf_querier_ask *querier_ask_side_of(struct sf_querier_ask *a, enum slot slot,
                                                  struct sf_arena *req)
{
    struct sf_querier_ask **side = &a->sides[slot == RIGHT];
    if (!*side)
        *side = sf_arena_new(req, sizeof(**side));
    return *side;
}

/* ---- protobuf ---- */

static enum sf_err querier_ask_read_pb(enum sf_querier_method method, struct sf_pb *pb,
                                       struct sf_arena *req, struct sf_querier_ask *a,
                                       struct sf_why *why);

/* Part of a stack trace selector: call_site, go_pgo or frame_filter. */
static enum sf_err read_site_part(struct sf_pb *part, uint32_t kind, struct sf_querier_ask *a,
                                  struct sf_why *why)
{
    enum sf_err err = SF_OK;
    while (!err && sf_pb_next(part)) {
        if (kind == 1 && part->field == 1) {
            err = put_site(a, sf_pb_str(part), why);
        } else if (kind == 2 && part->field == 1) {
            a->keep_leaves = sf_pb_u32(part);
        } else if (kind == 2 && part->field == 2) {
            a->is_flat = sf_pb_bool(part);
        } else if (kind == 3 && part->field >= 1 && part->field <= FRAME_LISTS) {
            err = querier_ask_put_frame(a, frame_lists[part->field - 1].kind, sf_pb_str(part), why);
        } else {
            a->n_unknown++;
            sf_pb_skip(part);
        }
    }
    return err;
}

static enum sf_err read_site_pb(struct sf_pb *site, struct sf_querier_ask *a, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    while (!err && sf_pb_next(site)) {
        uint32_t kind = site->field;
        struct sf_pb part;
        if (kind < 1 || kind > 3) {
            a->n_unknown++;
            sf_pb_skip(site);
            continue;
        }
        a->has_pgo |= kind == 2;
        part = sf_pb_msg(site);
        err = read_site_part(&part, kind, a, why);
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
            else {
                a->n_unknown++;
                sf_pb_skip(&part);
            }
        }
    } else {
        side = querier_ask_side_of(a, slot, req);
        err = side ? querier_ask_read_pb(SF_QUERIER_STACKTRACES, &part, req, side, why)
                   : sf_no_room(why, "the request");
    }
    sf_pb_join(pb, &part);
    return err;
}

static enum sf_err querier_ask_read_pb(enum sf_querier_method method, struct sf_pb *pb,
                                       struct sf_arena *req, struct sf_querier_ask *a,
                                       struct sf_why *why)
{
    enum sf_err err = SF_OK;
    while (!err && sf_pb_next(pb)) {
        const struct field *f = NULL;
        for (size_t i = 0; !f && i < sizeof(fields) / sizeof(fields[0]); i++) {
            if (fields[i].method == method && fields[i].number == pb->field)
                f = &fields[i];
        }
        if (!f) {
            a->n_unknown++;
            sf_pb_skip(pb);
        } else if (querier_ask_is_text(f->slot))
            err = querier_ask_put_text(a, f->slot, sf_pb_str(pb), req, why);
        else if (f->slot < FORMAT)
            err = read_message_pb(pb, f->slot, req, a, why);
        else if (f->slot == STEP)
            a->step_s = sf_pb_double(pb);
        else if (querier_ask_is_word(f->slot))
            err = put_word_number(a, f->slot, sf_pb_i64(pb), why);
        else
            querier_ask_put_number(a, f->slot, sf_pb_i64(pb));
    }
    return err;
}

/* ---- JSON ---- */

static enum sf_err querier_ask_read_json(enum sf_querier_method method, struct sf_json *j,
                                         struct sf_arena *req, struct sf_querier_ask *a,
                                         struct sf_why *why);

static void querier_ask_skip_unknown(struct sf_json *j, struct sf_querier_ask *a)
{
    a->n_unknown++;
    sf_json_skip(j);
}

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
            querier_ask_skip_unknown(j, a);
    }
}

static enum sf_err read_frames_json(struct sf_json *j, struct sf_querier_ask *a, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    sf_str key;
    if (!sf_json_object(j))
        return SF_OK;
    while (sf_json_key(j, &key)) {
        size_t i = 0;
        while (i < FRAME_LISTS && !sf_str_eq(key, sf_str_from(frame_lists[i].key)) &&
               !sf_str_eq(key, sf_str_from(frame_lists[i].other_key)))
            i++;
        if (i == FRAME_LISTS) {
            querier_ask_skip_unknown(j, a);
        } else if (sf_json_peek(j) == SF_JSON_NULL) {
            sf_json_skip(j);
        } else if (sf_json_array(j)) {
            while (sf_json_item(j)) {
                sf_str text = sf_json_str(j);
                if (!err)
                    err = querier_ask_put_frame(a, frame_lists[i].kind, text, why);
            }
        }
    }
    return err;
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
                querier_ask_skip_unknown(j, a);
            else if (!err)
                err = put_site(a, sf_json_str(j), why);
            else
                sf_json_skip(j);
        }
    }
    return err;
}

/* {"functions": {"limit": "100"}} */
static void read_table_options(struct sf_json *j, struct sf_querier_ask *a)
{
    sf_str key;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("limit")))
            a->max_rows = sf_json_i64(j);
        else
            querier_ask_skip_unknown(j, a);
    }
}

/* {"functionTree": {"selection": "...", "direction": "...", "maxDepth": 2}} */
static enum sf_err read_calls_options(struct sf_json *j, struct sf_querier_ask *a,
                                      struct sf_why *why)
{
    enum sf_err err = SF_OK;
    sf_str key;
    while (sf_json_key(j, &key)) {
        bool is_of = sf_str_eq(key, SF_STR("selection"));
        if (sf_json_peek(j) == SF_JSON_NULL)
            sf_json_skip(j);
        else if (!err && (is_of || sf_str_eq(key, SF_STR("direction"))))
            err = put_word(a, is_of ? CALLS_OF : CALLS_TO, sf_json_str(j), why);
        else if (sf_str_eq(key, SF_STR("maxDepth")) || sf_str_eq(key, SF_STR("max_depth")))
            a->calls_depth = sf_json_i64(j);
        else
            querier_ask_skip_unknown(j, a);
    }
    return err;
}

static enum sf_err read_options_json(struct sf_json *j, struct sf_querier_ask *a,
                                     struct sf_why *why)
{
    enum sf_err err = SF_OK;
    sf_str key;
    a->has_options = true;
    if (!sf_json_object(j))
        return SF_OK;
    while (sf_json_key(j, &key)) {
        bool is_table = sf_str_eq(key, SF_STR("functions"));
        bool is_calls = sf_str_eq(key, SF_STR("functionTree")) ||
                        sf_str_eq(key, SF_STR("function_tree"));
        if (err || (!is_table && !is_calls) || !sf_json_object(j))
            querier_ask_skip_unknown(j, a);
        else if (is_table)
            read_table_options(j, a);
        else
            err = read_calls_options(j, a, why);
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
        side = querier_ask_side_of(a, slot, req);
        return side ? querier_ask_read_json(SF_QUERIER_STACKTRACES, j, req, side, why)
                    : sf_no_room(why, "the request");
    }
    if (slot == OPTIONS)
        return read_options_json(j, a, why);
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
        else if (slot == SITE &&
                 (sf_str_eq(key, SF_STR("frameFilter")) || sf_str_eq(key, SF_STR("frame_filter"))))
            err = read_frames_json(j, a, why);
        else
            querier_ask_skip_unknown(j, a);
    }
    return err;
}

static enum sf_err querier_ask_read_value(struct sf_json *j, enum slot slot, struct sf_arena *req,
                                          struct sf_querier_ask *a, struct sf_why *why)
{
    if (sf_json_peek(j) == SF_JSON_NULL)
        sf_json_skip(j);
    else if (querier_ask_is_text(slot))
        return querier_ask_put_text(a, slot, sf_json_str(j), req, why);
    else if (slot < FORMAT)
        return read_message_json(j, slot, req, a, why);
    else if (slot == STEP)
        a->step_s = sf_json_f64(j);
    else if (querier_ask_is_word(slot) && sf_json_peek(j) == SF_JSON_STRING)
        return put_word(a, slot, sf_json_str(j), why);
    else if (querier_ask_is_word(slot))
        return put_word_number(a, slot, sf_json_i64(j), why);
    else
        querier_ask_put_number(a, slot, sf_json_i64(j));
    return SF_OK;
}

/* Names are the same in all methods; the table of fields says which of them a method has. */
static bool querier_ask_has_field(enum sf_querier_method method, enum slot slot)
{
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (fields[i].method == method && fields[i].slot == slot)
            return true;
    }
    return false;
}

static enum sf_err querier_ask_read_json(enum sf_querier_method method, struct sf_json *j,
                                         struct sf_arena *req, struct sf_querier_ask *a,
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
        /* Newer clients send the format of a comparison. Fields whose number is not yet the same in
         * all servers are accepted in JSON only. */
        bool is_known = i < n && (querier_ask_has_field(method, names[i].slot) ||
                                  (method == SF_QUERIER_DIFF &&
                                   (names[i].slot == FORMAT || names[i].slot == MAX_NODES)) ||
                                  (method == SF_QUERIER_STACKTRACES &&
                                   (names[i].slot == OPTIONS || names[i].slot == FUNCTION)));
        if (!is_known) {
            querier_ask_skip_unknown(j, a);
        } else if (sf_json_peek(j) == SF_JSON_ARRAY) {
            sf_json_array(j);
            while (!err && sf_json_item(j))
                err = querier_ask_read_value(j, names[i].slot, req, a, why);
        } else {
            err = querier_ask_read_value(j, names[i].slot, req, a, why);
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
        err = querier_ask_read_pb(method, &pb, req, out, why);
        return err ? err : sf_pb_why(&pb, "request", why);
    }
    if (body.len == 0)
        return SF_OK;
    j = sf_arena_new(req, sizeof(*j));
    if (!j)
        return sf_no_room(why, "the request");
    sf_json_init(j, body, req);
    err = querier_ask_read_json(method, j, req, out, why);
    return err ? err : sf_json_why(j, "request", why);
}

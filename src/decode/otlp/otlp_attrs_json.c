/* JSON attributes. Scalars go straight into the list; arrays and maps are encoded as protobuf,
 * because that is the form in which such values are stored. */
#include "base/limits.h"
#include "base/text.h"
#include "decode/otlp/otlp_attrs.h"
#include "wire/pb_write.h"

size_t sf_otlp_attrs_json_key_find(const struct sf_otlp_key *names, size_t n, sf_str key)
{
    for (size_t i = 0; i < n; i++) {
        if (sf_str_eq(names[i].camel, key) ||
            (names[i].snake.len && sf_str_eq(names[i].snake, key)))
            return i;
    }
    return n;
}

/* In the order of their AnyValue field numbers, less one. */
enum { ANY_STRING, ANY_BOOL, ANY_INT, ANY_DOUBLE, ANY_ARRAY, ANY_KVLIST, ANY_BYTES, ANY_KEYS };
static const struct sf_otlp_key any_keys[ANY_KEYS] = {
    {{"stringValue", 11}, {"string_value", 12}}, {{"boolValue", 9}, {"bool_value", 10}},
    {{"intValue", 8}, {"int_value", 9}},         {{"doubleValue", 11}, {"double_value", 12}},
    {{"arrayValue", 10}, {"array_value", 11}},   {{"kvlistValue", 11}, {"kvlist_value", 12}},
    {{"bytesValue", 10}, {"bytes_value", 11}},
};

/* An error of the scratch buffer becomes an error of the reader. */
static bool scratch_ok(struct sf_otlp_request *rq, struct sf_json *j)
{
    if (sf_buf_ok(&rq->scratch))
        return true;
    if (!j->fault) {
        sf_json_fault(j, rq->scratch.err == SF_ERR_NOMEM ? "no memory" : "a value is too large");
        j->err = rq->scratch.err;
    }
    return false; /* the buffer keeps its error: callers still hold offsets into it */
}

static void write_bytes(struct sf_otlp_request *rq, struct sf_json *j)
{
    sf_str text = sf_json_str(j);
    size_t before = rq->scratch.len;
    if (!sf_base64_decode(&rq->scratch, text) && scratch_ok(rq, j)) {
        rq->scratch.len = before;
        sf_json_fault(j, "not base64");
    }
}

static void otlp_attrs_json_write_any(struct sf_otlp_request *rq, struct sf_json *j,
                                      unsigned depth);

static void write_key_value(struct sf_otlp_request *rq, struct sf_json *j, unsigned depth)
{
    struct sf_buf *out = &rq->scratch;
    size_t mark;
    sf_str key;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("key"))) {
            sf_pb_write_str(out, 1, sf_json_str(j));
        } else if (sf_str_eq(key, SF_STR("value"))) {
            mark = sf_pb_write_begin(out, 2);
            otlp_attrs_json_write_any(rq, j, depth);
            sf_pb_write_end(out, mark);
        } else {
            sf_json_skip(j);
        }
    }
}

/* The content of an ArrayValue or KeyValueList. */
static void otlp_attrs_json_write_list(struct sf_otlp_request *rq, struct sf_json *j,
                                       bool is_kvlist, unsigned depth)
{
    struct sf_buf *out = &rq->scratch;
    size_t mark;
    sf_str key;

    if (depth > SF_LIMIT_NESTING) {
        rq->is_too_deep = true;
        sf_json_skip(j);
        return;
    }
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (!sf_str_eq(key, SF_STR("values"))) {
            sf_json_skip(j);
            continue;
        }
        if (!sf_json_array(j))
            continue;
        while (sf_json_item(j)) {
            mark = sf_pb_write_begin(out, 1);
            if (is_kvlist)
                write_key_value(rq, j, depth);
            else
                otlp_attrs_json_write_any(rq, j, depth);
            sf_pb_write_end(out, mark);
            if (!scratch_ok(rq, j))
                return;
        }
    }
}

/* The content of an AnyValue inside a list. */
static void otlp_attrs_json_write_any(struct sf_otlp_request *rq, struct sf_json *j, unsigned depth)
{
    struct sf_buf *out = &rq->scratch;
    size_t start = out->len, mark;
    sf_str key;

    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        size_t which = sf_otlp_attrs_json_key_find(any_keys, ANY_KEYS, key);
        if (which == ANY_KEYS || sf_json_peek(j) == SF_JSON_NULL) {
            sf_json_skip(j);
            continue;
        }
        out->len = start; /* of several members the last one counts */
        switch (which) {
        case ANY_STRING: sf_pb_write_str(out, 1, sf_json_str(j)); break;
        case ANY_BOOL: sf_pb_write_bool(out, 2, sf_json_bool(j)); break;
        case ANY_INT: sf_pb_write_i64(out, 3, sf_json_i64(j)); break;
        case ANY_DOUBLE: sf_pb_write_double(out, 4, sf_json_f64(j)); break;
        default:
            mark = sf_pb_write_begin(out, (uint32_t)which + 1);
            if (which == ANY_BYTES)
                write_bytes(rq, j);
            else
                otlp_attrs_json_write_list(rq, j, which == ANY_KVLIST, depth + 1);
            sf_pb_write_end(out, mark);
            break;
        }
        if (!scratch_ok(rq, j))
            return;
    }
}

static sf_str scratch_to_arena(struct sf_otlp_request *rq)
{
    sf_str out = SF_STR_NONE;
    if (rq->scratch.len && !sf_arena_copy(rq->req, sf_buf_str(&rq->scratch), &out))
        rq->is_arena_full = true;
    return out;
}

static struct sf_value otlp_attrs_json_read_any(struct sf_otlp_request *rq, struct sf_json *j)
{
    struct sf_value val = {.type = SF_VALUE_EMPTY};
    sf_str key;

    if (!sf_json_object(j))
        return val;
    while (sf_json_key(j, &key)) {
        size_t which = sf_otlp_attrs_json_key_find(any_keys, ANY_KEYS, key);
        if (which == ANY_KEYS || sf_json_peek(j) == SF_JSON_NULL) {
            sf_json_skip(j);
            continue;
        }
        switch (which) {
        case ANY_STRING:
            val = (struct sf_value){.type = SF_VALUE_STR, .str = sf_json_str(j)};
            break;
        case ANY_BOOL:
            val = (struct sf_value){.type = SF_VALUE_BOOL, .is_true = sf_json_bool(j)};
            break;
        case ANY_INT: val = (struct sf_value){.type = SF_VALUE_INT, .i64 = sf_json_i64(j)}; break;
        case ANY_DOUBLE:
            val = (struct sf_value){.type = SF_VALUE_DOUBLE, .f64 = sf_json_f64(j)};
            break;
        default:
            sf_buf_reset(&rq->scratch);
            if (which == ANY_BYTES)
                write_bytes(rq, j);
            else
                otlp_attrs_json_write_list(rq, j, which == ANY_KVLIST, 1);
            if (!scratch_ok(rq, j))
                return val;
            val.type = which == ANY_BYTES   ? SF_VALUE_BYTES
                       : which == ANY_ARRAY ? SF_VALUE_ARRAY
                                            : SF_VALUE_KVLIST;
            val.str = scratch_to_arena(rq);
            break;
        }
    }
    return val;
}

void sf_otlp_attrs_json_read(struct sf_otlp_request *rq, struct sf_json *j,
                             struct sf_otlp_attrs *to)
{
    to->n = 0; /* of a repeated key the last one counts */
    to->n_dropped = 0;
    if (!sf_json_array(j))
        return;
    while (sf_json_item(j)) {
        struct sf_value val = {.type = SF_VALUE_EMPTY};
        sf_str name = {0}, key;
        if (!sf_json_object(j))
            continue;
        while (sf_json_key(j, &key)) {
            if (sf_str_eq(key, SF_STR("key")))
                name = sf_json_str(j);
            else if (sf_str_eq(key, SF_STR("value")))
                val = otlp_attrs_json_read_any(rq, j);
            else
                sf_json_skip(j);
        }
        if (!sf_otlp_attrs_drop_deep(rq, to) && sf_json_ok(j))
            sf_otlp_attrs_add(rq, to, name, val);
    }
}

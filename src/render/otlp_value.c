#include "render/otlp_value.h"

#include "wire/pb_write.h"

/* ---- protobuf ---- */

static void value_pb(struct sf_buf *out, const struct sf_value *v)
{
    size_t mark = sf_pb_write_begin(out, 2);
    switch (v->type) {
    case SF_VALUE_STR: sf_pb_write_str(out, 1, v->str); break;
    case SF_VALUE_BOOL: sf_pb_write_bool(out, 2, v->is_true); break;
    case SF_VALUE_INT: sf_pb_write_i64(out, 3, v->i64); break;
    case SF_VALUE_DOUBLE: sf_pb_write_double(out, 4, v->f64); break;
    case SF_VALUE_ARRAY:
        sf_pb_write_str(out, 5, v->str);
        break; /* already encoded as the message's
                * content */
    case SF_VALUE_KVLIST: sf_pb_write_str(out, 6, v->str); break;
    case SF_VALUE_BYTES: sf_pb_write_str(out, 7, v->str); break;
    default: break;
    }
    sf_pb_write_end(out, mark);
}

void sf_otlp_value_attrs_pb(struct sf_buf *out, uint32_t field, struct sf_attrs attrs)
{
    for (uint32_t i = 0; i < attrs.n; i++) {
        size_t mark = sf_pb_write_begin(out, field);
        sf_pb_write_str(out, 1, attrs.list[i].key);
        value_pb(out, &attrs.list[i].val);
        sf_pb_write_end(out, mark);
    }
}

/* ---- JSON ---- */

static void any_value_json(struct sf_json_writer *w, struct sf_pb *pb);

/* {"values":[…]} of an ArrayValue or KeyValueList message. */
static void list_json(struct sf_json_writer *w, struct sf_pb *pb, bool is_kvlist)
{
    sf_json_write_object(w);
    sf_json_write_key(w, SF_STR("values"));
    sf_json_write_array(w);
    while (sf_pb_next(pb)) {
        if (pb->tag != SF_PB_TAG(1, SF_PB_LEN)) {
            sf_pb_skip(pb);
            continue;
        }
        struct sf_pb item = sf_pb_msg(pb);
        if (!is_kvlist) {
            any_value_json(w, &item);
            continue;
        }
        sf_str key = SF_STR_NONE;
        sf_bytes val = SF_BYTES_NONE;
        while (sf_pb_next(&item)) {
            switch (item.tag) {
            case SF_PB_TAG(1, SF_PB_LEN): key = sf_pb_str(&item); break;
            case SF_PB_TAG(2, SF_PB_LEN): val = sf_pb_bytes(&item); break;
            default: sf_pb_skip(&item); break;
            }
        }
        struct sf_pb child = sf_pb_init(val);
        sf_json_write_object(w);
        sf_json_write_key_str(w, SF_STR("key"), key);
        sf_json_write_key(w, SF_STR("value"));
        any_value_json(w, &child);
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
    sf_json_write_object_end(w);
}

static void otlp_value_json(struct sf_json_writer *w, const struct sf_value *v);

/* An AnyValue message inside a list. The decoder has limited the depth; of several set fields the
 * last is used, as protobuf specifies. */
static void any_value_json(struct sf_json_writer *w, struct sf_pb *pb)
{
    struct sf_value v = {.type = SF_VALUE_EMPTY};
    while (sf_pb_next(pb)) {
        switch (pb->tag) {
        case SF_PB_TAG(1, SF_PB_LEN):
            v = (struct sf_value){SF_VALUE_STR, {.str = sf_pb_str(pb)}};
            break;
        case SF_PB_TAG(2, SF_PB_VARINT):
            v = (struct sf_value){SF_VALUE_BOOL, {.is_true = sf_pb_bool(pb)}};
            break;
        case SF_PB_TAG(3, SF_PB_VARINT):
            v = (struct sf_value){SF_VALUE_INT, {.i64 = sf_pb_i64(pb)}};
            break;
        case SF_PB_TAG(4, SF_PB_I64):
            v = (struct sf_value){SF_VALUE_DOUBLE, {.f64 = sf_pb_double(pb)}};
            break;
        case SF_PB_TAG(5, SF_PB_LEN):
            v = (struct sf_value){SF_VALUE_ARRAY, {.str = sf_pb_str(pb)}};
            break;
        case SF_PB_TAG(6, SF_PB_LEN):
            v = (struct sf_value){SF_VALUE_KVLIST, {.str = sf_pb_str(pb)}};
            break;
        case SF_PB_TAG(7, SF_PB_LEN):
            v = (struct sf_value){SF_VALUE_BYTES, {.str = sf_pb_str(pb)}};
            break;
        default: sf_pb_skip(pb); break;
        }
    }
    otlp_value_json(w, &v);
}

/* {"stringValue":"x"}; {} for an empty value. 64-bit integers are strings, bytes base64. */
static void otlp_value_json(struct sf_json_writer *w, const struct sf_value *v)
{
    struct sf_pb pb;
    sf_json_write_object(w);
    switch (v->type) {
    case SF_VALUE_STR: sf_json_write_key_str(w, SF_STR("stringValue"), v->str); break;
    case SF_VALUE_BOOL:
        sf_json_write_key(w, SF_STR("boolValue"));
        sf_json_write_bool(w, v->is_true);
        break;
    case SF_VALUE_INT:
        sf_json_write_key(w, SF_STR("intValue"));
        sf_json_write_i64_text(w, v->i64);
        break;
    case SF_VALUE_DOUBLE:
        sf_json_write_key(w, SF_STR("doubleValue"));
        sf_json_write_f64(w, v->f64);
        break;
    case SF_VALUE_BYTES:
        sf_json_write_key(w, SF_STR("bytesValue"));
        sf_json_write_base64(w, sf_str_bytes(v->str));
        break;
    case SF_VALUE_ARRAY:
    case SF_VALUE_KVLIST:
        sf_json_write_key(w,
                          v->type == SF_VALUE_ARRAY ? SF_STR("arrayValue") : SF_STR("kvlistValue"));
        pb = sf_pb_init(sf_str_bytes(v->str));
        list_json(w, &pb, v->type == SF_VALUE_KVLIST);
        break;
    default: break;
    }
    sf_json_write_object_end(w);
}

void sf_otlp_value_attrs_json(struct sf_json_writer *w, struct sf_attrs attrs)
{
    sf_json_write_array(w);
    for (uint32_t i = 0; i < attrs.n; i++) {
        sf_json_write_object(w);
        sf_json_write_key_str(w, SF_STR("key"), attrs.list[i].key);
        sf_json_write_key(w, SF_STR("value"));
        otlp_value_json(w, &attrs.list[i].val);
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
}

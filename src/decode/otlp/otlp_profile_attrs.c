/* Attributes of OTLP profiles: inline for resources and scopes, by index for samples, locations and
 * mappings; in both, keys and texts may be indexes. */
#include <inttypes.h>

#include "decode/otlp/otlp_profile.h"

static struct sf_value otlp_profile_attrs_read_any(struct sf_otlp_reader *r, struct sf_pb *pb)
{
    struct sf_value v = {.type = SF_VALUE_EMPTY};
    struct sf_pb any = sf_pb_msg(pb);
    while (sf_pb_next(&any)) {
        switch (any.tag) {
        case SF_PB_TAG(1, SF_PB_LEN):
            v = (struct sf_value){.type = SF_VALUE_STR, .str = sf_pb_str(&any)};
            break;
        case SF_PB_TAG(2, SF_PB_VARINT):
            v = (struct sf_value){.type = SF_VALUE_BOOL, .is_true = sf_pb_bool(&any)};
            break;
        case SF_PB_TAG(3, SF_PB_VARINT):
            v = (struct sf_value){.type = SF_VALUE_INT, .i64 = sf_pb_i64(&any)};
            break;
        case SF_PB_TAG(4, SF_PB_I64):
            v = (struct sf_value){.type = SF_VALUE_DOUBLE, .f64 = sf_pb_double(&any)};
            break;
        case SF_PB_TAG(5, SF_PB_LEN):
            v = (struct sf_value){.type = SF_VALUE_ARRAY, .str = sf_pb_str(&any)};
            break;
        case SF_PB_TAG(8, SF_PB_VARINT):
            v = (struct sf_value){.type = SF_VALUE_STR,
                                  .str = sf_otlp_profile_tables_str(r, sf_pb_u64(&any))};
            break;
        default: sf_pb_skip(&any); break; /* maps and bytes cannot be labels */
        }
    }
    sf_pb_join(pb, &any);
    return v;
}

/* A list with one element is treated as that element. */
static struct sf_value only_value(struct sf_otlp_reader *r, struct sf_value v)
{
    struct sf_pb list;
    struct sf_value one = v;
    unsigned n = 0;
    if (v.type != SF_VALUE_ARRAY)
        return v;
    list = sf_pb_part(r->body, sf_str_bytes(v.str));
    while (sf_pb_next(&list)) {
        if (list.tag == SF_PB_TAG(1, SF_PB_LEN) && n++ == 0)
            one = otlp_profile_attrs_read_any(r, &list);
        else
            sf_pb_skip(&list);
    }
    return sf_pb_ok(&list) && n == 1 ? one : (struct sf_value){.type = SF_VALUE_EMPTY};
}

/* `key_field` is the field with the key as an index: 3 inline, 1 in the attribute table of 1.8 and
 * later. A key given as text takes precedence. */
static struct sf_attr read_key_value(struct sf_otlp_reader *r, struct sf_pb *kv, uint32_t key_field)
{
    struct sf_attr a = {.val = {.type = SF_VALUE_EMPTY}};
    uint64_t key = 0;
    while (sf_pb_next(kv)) {
        if (kv->tag == SF_PB_TAG(1, SF_PB_LEN))
            a.key = sf_pb_str(kv);
        else if (kv->tag == SF_PB_TAG(key_field, SF_PB_VARINT))
            key = sf_pb_u64(kv);
        else if (kv->tag == SF_PB_TAG(2, SF_PB_LEN))
            a.val = otlp_profile_attrs_read_any(r, kv);
        else
            sf_pb_skip(kv);
    }
    if (!a.key.len)
        a.key = sf_otlp_profile_tables_str(r, key);
    if (a.key.len > SF_LIMIT_KEY_LEN)
        a.key.len = SF_LIMIT_KEY_LEN;
    a.val = only_value(r, a.val);
    return a;
}

struct sf_attr sf_otlp_profile_attrs_read(struct sf_otlp_reader *r, struct sf_pb *pb)
{
    struct sf_pb kv = sf_pb_msg(pb);
    struct sf_attr a = read_key_value(r, &kv, 3);
    sf_pb_join(pb, &kv);
    return a;
}

sf_str sf_otlp_profile_attrs_label_text(struct sf_profile_build *b, struct sf_value val)
{
    sf_str out = SF_STR_NONE;
    switch (val.type) {
    case SF_VALUE_STR: return sf_profile_clean(b, val.str);
    case SF_VALUE_BOOL: return val.is_true ? SF_STR("true") : SF_STR("false");
    case SF_VALUE_INT:
        if (!sf_arena_print(b->a, &out, "%" PRId64, val.i64))
            b->is_full = true;
        return out;
    default: return out;
    }
}

const struct sf_otlp_attr *sf_otlp_profile_attrs_at(struct sf_otlp_reader *r, uint32_t at)
{
    struct sf_otlp_attr *to = &r->attrs[at];
    sf_str prefix = SF_STR("process.context.label."); /* labels set by a Go program itself */
    struct sf_pb pb;
    struct sf_attr a;
    if (to->is_read)
        return to;
    pb = sf_otlp_entry(r, SF_OTLP_ATTRS, at);
    a = read_key_value(r, &pb, 1);
    sf_otlp_note_fault(r, &pb);
    if (sf_str_starts(a.key, prefix))
        a.key = sf_str_from_at(a.key, prefix.len);
    *to = (struct sf_otlp_attr){a.key, a.val, sf_otlp_profile_attrs_label_text(r->b, a.val), true};
    return to;
}

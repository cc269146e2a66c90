#include "decode/otlp/otlp_attrs.h"

#include "base/limits.h"
#include "base/list.h"
#include "base/text.h"
#include "model/value_list.h"

void *sf_otlp_attrs_list_more(struct sf_otlp_request *rq, void *list, uint32_t n, uint32_t *cap,
                              size_t size, uint32_t first_cap)
{
    if (sf_list_room_arena(rq->req, &list, size, n, cap, sizeof(*cap), first_cap, SF_LIST_MAX))
        return list;
    rq->is_arena_full = true;
    return NULL;
}

static sf_str cut_text(sf_str s, size_t max, uint64_t *counter)
{
    (*counter)++;
    return (sf_str){s.p, sf_utf8_cut(s, max)};
}

sf_str sf_otlp_attrs_name_cut(struct sf_otlp_request *rq, sf_str name)
{
    return cut_text(name, SF_LIMIT_NAME_LEN, &rq->rejects->n_cut_names);
}

static void cut_value(struct sf_otlp_request *rq, struct sf_value *val)
{
    if (val->type == SF_VALUE_ARRAY || val->type == SF_VALUE_KVLIST) {
        val->str = sf_value_list_cut(val->str, rq->max_value_len);
        rq->rejects->n_cut_values++;
    } else if (val->type == SF_VALUE_BYTES) {
        val->str.len = rq->max_value_len;
        rq->rejects->n_cut_values++;
    } else {
        val->str = cut_text(val->str, rq->max_value_len, &rq->rejects->n_cut_values);
    }
}

static inline bool otlp_attrs_is_text(enum sf_value_type type)
{
    return type == SF_VALUE_STR || type >= SF_VALUE_BYTES;
}

static inline __attribute__((always_inline)) void otlp_attrs_add_attr(struct sf_otlp_request *rq,
                                                                      struct sf_otlp_attrs *to,
                                                                      sf_str key,
                                                                      struct sf_value val)
{
    struct sf_attr *list = to->list;
    if (__builtin_expect(to->n == rq->max_attrs, 0)) {
        to->n_dropped++;
        rq->rejects->n_cut_attrs++;
        return;
    }
    if (to->n == to->cap) {
        list = sf_otlp_attrs_list_more(rq, to->list, to->n, &to->cap, sizeof(*list), 16);
        if (!list)
            return;
        to->list = list;
    }
    if (__builtin_expect(key.len > SF_LIMIT_KEY_LEN, 0))
        key = cut_text(key, SF_LIMIT_KEY_LEN, &rq->rejects->n_cut_keys);
    if (__builtin_expect(otlp_attrs_is_text(val.type) && val.str.len > rq->max_value_len, 0))
        cut_value(rq, &val);
    list[to->n++] = (struct sf_attr){key, val};
}

void sf_otlp_attrs_add(struct sf_otlp_request *rq, struct sf_otlp_attrs *to, sf_str key,
                       struct sf_value val)
{
    otlp_attrs_add_attr(rq, to, key, val);
}

bool sf_otlp_attrs_drop_deep(struct sf_otlp_request *rq, struct sf_otlp_attrs *to)
{
    bool is_too_deep = rq->is_too_deep;
    rq->is_too_deep = false;
    if (is_too_deep) {
        to->n_dropped++;
        rq->rejects->n_cut_attrs++;
    }
    return is_too_deep;
}

uint32_t sf_otlp_attrs_add_dropped(uint32_t a, uint64_t b)
{
    return b > UINT32_MAX - a ? UINT32_MAX : a + (uint32_t)b;
}

struct sf_attrs sf_otlp_attrs_close(struct sf_otlp_request *rq, struct sf_otlp_attrs *l,
                                    uint32_t *dropped)
{
    struct sf_arena *req = rq->req;
    *dropped = sf_otlp_attrs_add_dropped(*dropped, l->n_dropped);
    if (l->n < l->cap && (uint8_t *)(l->list + l->cap) == req->base + req->at)
        sf_arena_grow(req, l->list, l->cap * sizeof(*l->list), l->n * sizeof(*l->list));
    return (struct sf_attrs){l->n ? l->list : NULL, l->n};
}

/* An AnyValue may contain its array or map in two parts; they are concatenated. */
static void otlp_attrs_set_list(struct sf_otlp_request *rq, struct sf_pb *pb, struct sf_value *val,
                                enum sf_value_type type)
{
    sf_str content = sf_pb_str(pb), old = val->str;
    const char *fault;
    size_t off;
    char *joined;

    if (!sf_value_list_check(type, content, &off, &fault)) {
        if (fault == sf_value_list_too_deep) {
            rq->is_too_deep = true;
            return;
        }
        sf_pb_fault(pb, (const uint8_t *)content.p + off, fault);
        return;
    }
    if (val->type != type || old.len == 0) {
        *val = (struct sf_value){.type = type, .str = content};
        return;
    }
    joined = sf_arena_raw(rq->req, old.len + content.len, 1);
    if (!joined) {
        rq->is_arena_full = true;
        return;
    }
    memcpy(joined, old.p, old.len);
    memcpy(joined + old.len, content.p, content.len);
    val->str = (sf_str){joined, old.len + content.len};
}

static void merge_any(struct sf_otlp_request *rq, struct sf_pb *pb, struct sf_value *val)
{
    while (sf_pb_next(pb)) {
        if (otlp_attrs_is_text(
                val->type)) /* a repeated value replaces or extends the previous one; rare */
            rq->rejects->n_unseen++;
        switch (pb->tag) {
        case SF_PB_TAG(1, SF_PB_LEN):
            *val = (struct sf_value){.type = SF_VALUE_STR, .str = sf_pb_str(pb)};
            break;
        case SF_PB_TAG(2, SF_PB_VARINT):
            *val = (struct sf_value){.type = SF_VALUE_BOOL, .is_true = sf_pb_bool(pb)};
            break;
        case SF_PB_TAG(3, SF_PB_VARINT):
            *val = (struct sf_value){.type = SF_VALUE_INT, .i64 = sf_pb_i64(pb)};
            break;
        case SF_PB_TAG(4, SF_PB_I64):
            *val = (struct sf_value){.type = SF_VALUE_DOUBLE, .f64 = sf_pb_double(pb)};
            break;
        case SF_PB_TAG(5, SF_PB_LEN): otlp_attrs_set_list(rq, pb, val, SF_VALUE_ARRAY); break;
        case SF_PB_TAG(6, SF_PB_LEN): otlp_attrs_set_list(rq, pb, val, SF_VALUE_KVLIST); break;
        case SF_PB_TAG(7, SF_PB_LEN):
            *val = (struct sf_value){.type = SF_VALUE_BYTES, .str = sf_pb_str(pb)};
            break;
        default: sf_otlp_skip(rq, pb); break; /* also 8, an index into a profile's string table */
        }
    }
}

static void add_any_shape(struct sf_otlp_request *rq, struct sf_pb *kv, struct sf_otlp_attrs *to)
{
    struct sf_value val = {.type = SF_VALUE_EMPTY};
    struct sf_pb any;
    sf_str key = {0};

    while (sf_pb_next(kv)) {
        switch (kv->tag) {
        case SF_PB_TAG(1, SF_PB_LEN):
            rq->rejects->n_unseen += key.len != 0;
            key = sf_pb_str(kv);
            break;
        case SF_PB_TAG(2, SF_PB_LEN):
            any = sf_pb_msg(kv);
            merge_any(rq, &any, &val);
            sf_pb_join(kv, &any);
            break;
        default: sf_otlp_skip(rq, kv); break;
        }
    }
    if (!sf_otlp_attrs_drop_deep(rq, to) && sf_pb_ok(kv))
        sf_otlp_attrs_add(rq, to, key, val);
}

/* Nearly every attribute is encoded as "0a klen key 12 alen AnyValue" with one-byte lengths and a
 * string, small number, bool or double in it. Checking for that form needs no loop whose end the
 * CPU must predict, and halves the cost of a span (bench/decode_bench.c). False: another form,
 * valid or not. */
static inline bool read_common_shape(const uint8_t *p, size_t len, sf_str *key,
                                     struct sf_value *val)
{
    const uint8_t *any;
    size_t key_len, any_len;

    if (len < 6 || p[0] != 0x0a)
        return false;
    key_len = p[1];
    if (key_len >= 0x80 || key_len + 6 > len || p[2 + key_len] != 0x12)
        return false;
    any_len = p[3 + key_len];
    if (any_len >= 0x80 || key_len + 4 + any_len != len)
        return false;
    any = p + 4 + key_len;
    *key = (sf_str){(const char *)p + 2, key_len};
    if (any[0] == 0x0a && (size_t)any[1] + 2 == any_len) {
        *val = (struct sf_value){.type = SF_VALUE_STR, .str = {(const char *)any + 2, any[1]}};
        return true;
    }
    if (any[0] == 0x18 && any_len <= 3 && any[any_len - 1] < 0x80 &&
        (any_len == 2 || any[1] >= 0x80)) {
        int64_t high = any_len == 3 ? any[2] : 0;
        *val = (struct sf_value){.type = SF_VALUE_INT, .i64 = high << 7 | (any[1] & 0x7f)};
        return true;
    }
    if (any[0] == 0x10 && any_len == 2 && any[1] < 0x80) {
        *val = (struct sf_value){.type = SF_VALUE_BOOL, .is_true = any[1] != 0};
        return true;
    }
    if (any[0] == 0x21 && any_len == 9) {
        *val = (struct sf_value){.type = SF_VALUE_DOUBLE};
        memcpy(&val->f64, any + 1, sizeof(val->f64));
        return true;
    }
    return false;
}

void sf_otlp_attrs_add_pb(struct sf_otlp_request *rq, struct sf_pb *pb, struct sf_otlp_attrs *to)
{
    const uint32_t tag = pb->tag;
    for (;;) { /* attributes are adjacent: the next tag is most often the same */
        struct sf_pb kv = sf_pb_msg(pb);
        struct sf_value val;
        sf_str key;
        if (__builtin_expect(read_common_shape(kv.at, (size_t)(kv.end - kv.at), &key, &val), 1)) {
            otlp_attrs_add_attr(rq, to, key, val);
        } else {
            add_any_shape(rq, &kv, to);
            if (!sf_pb_join(pb, &kv))
                return;
        }
        if (pb->at == pb->end || *pb->at != tag)
            return;
        pb->at++;
    }
}

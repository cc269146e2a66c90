#include "exec/span_copy.h"

#include "base/hash.h"

static bool span_copy_value(struct sf_arena *req, struct sf_value *v)
{
    switch (v->type) {
    case SF_VALUE_STR:
    case SF_VALUE_BYTES:
    case SF_VALUE_ARRAY:
    case SF_VALUE_KVLIST: return sf_arena_copy(req, v->str, &v->str);
    default: return true;
    }
}

static bool span_copy_attrs(struct sf_arena *req, struct sf_attrs in, struct sf_attrs *out)
{
    struct sf_attr *list = NULL;
    if (in.n > 0) {
        list = sf_arena_new_n(req, in.n, sizeof(*list));
        if (!list)
            return false;
    }
    for (uint32_t i = 0; i < in.n; i++) {
        list[i] = in.list[i];
        if (!sf_arena_copy(req, in.list[i].key, &list[i].key) ||
            !span_copy_value(req, &list[i].val))
            return false;
    }
    *out = (struct sf_attrs){list, in.n};
    return true;
}

bool sf_span_copy_resource(struct sf_arena *req, const struct sf_resource *r,
                           struct sf_resource *out)
{
    *out = *r;
    return sf_arena_copy(req, r->schema_url, &out->schema_url) &&
           sf_arena_copy(req, r->service, &out->service) &&
           span_copy_attrs(req, r->attrs, &out->attrs);
}

bool sf_span_copy_scope(struct sf_arena *req, const struct sf_scope *s, struct sf_scope *out)
{
    *out = *s;
    return sf_arena_copy(req, s->name, &out->name) &&
           sf_arena_copy(req, s->version, &out->version) &&
           sf_arena_copy(req, s->schema_url, &out->schema_url) &&
           span_copy_attrs(req, s->attrs, &out->attrs);
}

static bool is_same_attrs(struct sf_attrs a, struct sf_attrs b)
{
    if (a.n != b.n)
        return false;
    for (uint32_t i = 0; i < a.n; i++) {
        if (!sf_str_eq(a.list[i].key, b.list[i].key) || !sf_value_eq(a.list[i].val, b.list[i].val))
            return false;
    }
    return true;
}

bool sf_span_copy_resource_is_same(const struct sf_resource *a, const struct sf_resource *b)
{
    return a->dropped_attrs == b->dropped_attrs && sf_str_eq(a->schema_url, b->schema_url) &&
           is_same_attrs(a->attrs, b->attrs);
}

bool sf_span_copy_scope_is_same(const struct sf_scope *a, const struct sf_scope *b)
{
    return a->dropped_attrs == b->dropped_attrs && sf_str_eq(a->name, b->name) &&
           sf_str_eq(a->version, b->version) && sf_str_eq(a->schema_url, b->schema_url) &&
           is_same_attrs(a->attrs, b->attrs);
}

/* All that the comparison sees is in the key: what it left out, a sender could vary, and each would
 * be compared with all others. */
static uint64_t attrs_key(struct sf_attrs attrs)
{
    uint64_t hash = sf_key_u64(attrs.n);
    for (uint32_t i = 0; i < attrs.n; i++) {
        hash = sf_key_mix(hash, sf_key_str(attrs.list[i].key));
        hash = sf_key_mix(hash, sf_value_hash(attrs.list[i].val));
    }
    return hash;
}

uint64_t sf_span_copy_resource_key(const struct sf_resource *r)
{
    uint64_t hash = sf_key_mix(attrs_key(r->attrs), sf_key_str(r->schema_url));
    return sf_key_mix(hash, r->dropped_attrs);
}

uint64_t sf_span_copy_scope_key(const struct sf_scope *s)
{
    uint64_t hash = sf_key_mix(attrs_key(s->attrs), sf_key_str(s->name));
    hash = sf_key_mix(sf_key_mix(hash, sf_key_str(s->version)), sf_key_str(s->schema_url));
    return sf_key_mix(hash, s->dropped_attrs);
}

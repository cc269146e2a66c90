/* key_stage.c - attributes become shapes and columns.
 *
 * Nearly every span has the keys of one before it. So a key's string is not hashed: it is compared
 * with those that came next in the same place before, and the walk yields the shape as well. */
#include <stdlib.h>

#include "base/heap.h"
#include "block/cursor.h"
#include "block/writer.h"

enum {
    MAX_KEYS = 8192,        /* names with columns of their own; later ones share one per scope */
    MAX_KEPT_NODES = 16384, /* more shapes than this are thrown away between granules */
    MAX_SIBLINGS = 6,       /* looked at before hashing */
    MAX_TOP_LEN = 256,      /* longer values are not kept as frequent ones */
    LOOK_AHEAD = 16,        /* attributes looked up together */
    ATTR_LEN = 48,          /* what an attribute takes when decoded, besides a new text */
};

void sf_key_stage_done(struct sf_key_stage *k)
{
    sf_dict_done(&k->dict);
    sf_heap_free(k->codes);
    sf_heap_free(k->nums);
    sf_dict_done(&k->top);
    sf_heap_free(k->top_counts);
}

/* ---- keys ---- */

static bool grow_keys(struct sf_span_block_writer *w)
{
    uint32_t cap = w->key_cap ? w->key_cap * 2 : 64;
    struct sf_key_stage *keys = sf_heap_grow(w->keys, cap, sizeof(*keys));
    uint32_t *active;
    if (!keys)
        return false;
    w->keys = keys;
    active = sf_heap_grow(w->active_keys, cap, sizeof(*active));
    if (!active)
        return false;
    w->active_keys = active;
    w->key_cap = cap;
    return true;
}

enum sf_err sf_writer_key(struct sf_span_block_writer *w, uint32_t tenant, uint8_t scope,
                          uint8_t type, sf_str name, uint32_t *out_key)
{
    uint8_t head[6];
    uint32_t key, name_code;

    if (w->n_keys >= MAX_KEYS) {
        type = SF_VALUE_NONE;
        name = SF_STR_NONE;
    }
    for (;;) {
        sf_store_u32le(head, tenant);
        head[4] = scope;
        head[5] = type;
        sf_buf_reset(&w->raw);
        sf_buf_add(&w->raw, head, sizeof(head));
        sf_buf_add_str(&w->raw, name);
        if (!sf_buf_ok(&w->raw))
            return SF_ERR_NOMEM;
        if (sf_dict_find(&w->key_ids, sf_buf_str(&w->raw), out_key))
            return SF_OK;
        if (w->n_keys < MAX_KEYS || type == SF_VALUE_NONE)
            break;
        type = SF_VALUE_NONE;
        name = SF_STR_NONE;
    }
    if (w->n_keys == SF_BLOCK_MAX_KEYS)
        return SF_ERR_LIMIT;
    if (w->n_keys == w->key_cap && !grow_keys(w))
        return SF_ERR_NOMEM;
    if (!sf_dict_add(&w->strings, name, &name_code) ||
        !sf_dict_add(&w->key_ids, sf_buf_str(&w->raw), &key))
        return SF_ERR_NOMEM;
    SF_ASSERT(key == w->n_keys);
    w->keys[w->n_keys++] = (struct sf_key_stage){
        .tenant = tenant,
        .name = name_code,
        .scope = scope,
        .type = type,
        .hash = sf_block_key_hash(tenant, scope, type, name),
        .is_partial = type == SF_VALUE_NONE};
    *out_key = key;
    return SF_OK;
}

/* ---- shapes ---- */

static bool grow_nodes(struct sf_shapes *s)
{
    uint32_t cap = s->cap ? s->cap * 2 : 256;
    struct sf_shape_node *nodes = sf_heap_grow(s->nodes, cap, sizeof(*nodes));
    if (!nodes)
        return false;
    s->nodes = nodes;
    s->cap = cap;
    return true;
}

static uint32_t slot_at(const struct sf_shapes *s, uint64_t edge)
{
    uint32_t at = (uint32_t)sf_hash_mix(0, edge) & (s->n_slots - 1);
    while (s->slots[at].child && s->slots[at].edge != edge)
        at = (at + 1) & (s->n_slots - 1);
    return at;
}

static bool grow_slots(struct sf_shapes *s)
{
    struct sf_shape_slot *old = s->slots, *slots;
    uint32_t n_old = s->n_slots, n_slots = n_old ? n_old * 4 : 512;

    slots = sf_heap_new_n(n_slots, sizeof(*slots));
    if (!slots)
        return false;
    s->slots = slots;
    s->n_slots = n_slots;
    for (uint32_t i = 0; i < n_old; i++) {
        if (old[i].child)
            slots[slot_at(s, old[i].edge)] = old[i];
    }
    sf_heap_free(old);
    return true;
}

bool sf_writer_shapes_reset(struct sf_span_block_writer *w)
{
    struct sf_shapes *s = &w->shapes;

    if (s->cap < SF_ROOTS && !grow_nodes(s))
        return sf_writer_fail(w, SF_ERR_NOMEM);
    memset(s->nodes, 0, SF_ROOTS * sizeof(*s->nodes));
    s->n = SF_ROOTS;
    if (s->n_slots > 4 * MAX_KEPT_NODES) {
        sf_heap_free(s->slots);
        s->slots = NULL;
        s->n_slots = 0;
    }
    if (s->n_slots == 0 && !grow_slots(s))
        return sf_writer_fail(w, SF_ERR_NOMEM);
    memset(s->slots, 0, s->n_slots * sizeof(*s->slots));
    return true;
}

static bool node_is(const struct sf_span_block_writer *w, const struct sf_shape_node *n,
                    const struct sf_attr *a)
{
    return n->type == a->val.type && n->name_len == a->key.len &&
           sf_same_bytes(w->strings.bytes.p + n->name_off, a->key.p, n->name_len);
}

static const uint8_t ROOT_SCOPES[SF_ROOTS] = {SF_SCOPE_SPAN, SF_SCOPE_EVENT, SF_SCOPE_LINK};

static bool add_child(struct sf_span_block_writer *w, uint32_t parent, uint32_t key,
                      uint32_t *out_child)
{
    struct sf_shapes *s = &w->shapes;
    uint64_t edge = (uint64_t)parent << 32 | key;
    const struct sf_key_stage *k = &w->keys[key];
    sf_str name = sf_dict_get(&w->strings, k->name);

    if (s->n * 2 >= s->n_slots && !grow_slots(s))
        return false;
    if (s->n == s->cap && !grow_nodes(s))
        return false;
    s->slots[slot_at(s, edge)] = (struct sf_shape_slot){edge, s->n};
    s->nodes[s->n] = (struct sf_shape_node){
        .parent = parent,
        .key = key,
        .n_keys = s->nodes[parent].n_keys + 1,
        .next_sibling = s->nodes[parent].first_child,
        .name_off = (uint32_t)((const uint8_t *)name.p - w->strings.bytes.p),
        .name_len = (uint32_t)name.len,
        .type = k->type,
    };
    s->nodes[parent].first_child = s->n;
    *out_child = s->n++;
    return true;
}

/* The node below `parent` for one more attribute. */
static bool step(struct sf_span_block_writer *w, uint32_t tenant, uint32_t root, uint32_t parent,
                 const struct sf_attr *a, uint32_t *out_child)
{
    struct sf_shapes *s = &w->shapes;
    uint32_t child = s->nodes[parent].first_child, key, at;
    enum sf_err err;

    for (int i = 0; child && i < MAX_SIBLINGS; i++, child = s->nodes[child].next_sibling) {
        if (node_is(w, &s->nodes[child], a)) {
            *out_child = child;
            return true;
        }
    }
    err = sf_writer_key(w, tenant, ROOT_SCOPES[root], (uint8_t)a->val.type, a->key, &key);
    if (err)
        return sf_writer_fail(w, err);
    at = slot_at(s, (uint64_t)parent << 32 | key);
    if (s->slots[at].child) {
        *out_child = s->slots[at].child;
        return true;
    }
    return add_child(w, parent, key, out_child) || sf_writer_fail(w, SF_ERR_NOMEM);
}

/* ---- values ---- */

static bool grow_values(struct sf_key_stage *k, bool is_text)
{
    uint32_t cap = k->cap ? k->cap * 2 : 64;
    if (is_text) {
        uint32_t *codes = sf_heap_grow(k->codes, cap, sizeof(*codes));
        if (!codes)
            return false;
        k->codes = codes;
    } else {
        uint64_t *nums = sf_heap_grow(k->nums, cap, sizeof(*nums));
        if (!nums)
            return false;
        k->nums = nums;
    }
    k->cap = cap;
    return true;
}

/* An attribute of a key without a column of its own: type, name and value in one text. */
static bool pack_overflow(struct sf_span_block_writer *w, const struct sf_attr *a, sf_str *out)
{
    struct sf_buf *b = &w->raw;
    sf_buf_reset(b);
    sf_buf_add_u8(b, (uint8_t)a->val.type);
    sf_buf_add_varint(b, a->key.len);
    sf_buf_add_str(b, a->key);
    switch (a->val.type) {
    case SF_VALUE_BOOL: sf_buf_add_u8(b, a->val.is_true); break;
    case SF_VALUE_INT:
    case SF_VALUE_DOUBLE: sf_buf_add(b, &a->val.i64, 8); break;
    case SF_VALUE_EMPTY: break;
    default: sf_buf_add_str(b, a->val.str); break;
    }
    *out = sf_buf_str(b);
    return sf_buf_ok(b);
}

struct pending { /* an attribute on its way into its column */
    uint32_t key, code;
    uint64_t hash;
};

/* First half: which column, and where its text would be found. Asking for the memory of several
 * texts before looking at any of them is what makes this fast: dictionaries do not fit the cache.
 */
static void look_ahead(struct sf_span_block_writer *w, const struct sf_attr *a, struct pending *p)
{
    const struct sf_key_stage *k = &w->keys[p->key];

    p->code = UINT32_MAX;
    if (!sf_block_type_is_text(k->type) || k->type == SF_VALUE_NONE)
        return;
    if (sf_dict_is_last(&k->dict, a->val.str)) {
        p->code = k->dict.last;
        return;
    }
    p->hash = sf_hash_str(a->val.str);
    sf_dict_prefetch(&k->dict, p->hash);
}

static bool add_text(struct sf_span_block_writer *w, struct sf_key_stage *k,
                     const struct sf_attr *a, const struct pending *p)
{
    uint32_t n = k->dict.n, *code = &k->codes[k->n++];
    sf_str text = a->val.str;
    bool is_ok;

    w->g.len += ATTR_LEN;
    if (p->code != UINT32_MAX) {
        *code = p->code;
        return true;
    }
    if (k->type == SF_VALUE_NONE)
        is_ok = pack_overflow(w, a, &text) && sf_dict_add(&k->dict, text, code);
    else
        is_ok = sf_dict_add_hashed(&k->dict, text, p->hash, code);
    if (is_ok && k->dict.n != n)
        w->g.len += text.len;
    return is_ok;
}

static bool add_value(struct sf_span_block_writer *w, const struct sf_attr *a,
                      const struct pending *p)
{
    struct sf_key_stage *k = &w->keys[p->key];
    bool is_text = sf_block_type_is_text(k->type);
    uint64_t bits = 0;

    if (k->n == k->cap && !grow_values(k, is_text))
        return false;
    if (k->n == 0)
        w->active_keys[w->n_active++] = p->key;
    if (is_text)
        return add_text(w, k, a, p);
    if (k->type == SF_VALUE_BOOL)
        bits = a->val.is_true;
    else if (k->type != SF_VALUE_EMPTY)
        memcpy(&bits, &a->val.i64, sizeof(bits));
    w->g.len += ATTR_LEN;
    k->nums[k->n++] = bits;
    return true;
}

bool sf_writer_attrs(struct sf_span_block_writer *w, uint32_t tenant, uint32_t root,
                     struct sf_attrs attrs, uint32_t *out_shape)
{
    struct pending pending[LOOK_AHEAD];
    uint32_t node = root;

    for (uint32_t first = 0; first < attrs.n; first += LOOK_AHEAD) {
        const struct sf_attr *list = attrs.list + first;
        uint32_t n = attrs.n - first < LOOK_AHEAD ? attrs.n - first : LOOK_AHEAD;
        for (uint32_t i = 0; i < n; i++) {
            if (list[i].val.type <= SF_VALUE_NONE || list[i].val.type >= SF_VALUE_TYPES)
                return sf_writer_fail(w, SF_ERR_INPUT);
            if (!step(w, tenant, root, node, &list[i], &node))
                return false;
            pending[i].key = w->shapes.nodes[node].key;
            look_ahead(w, &list[i], &pending[i]);
        }
        for (uint32_t i = 0; i < n; i++) {
            if (!add_value(w, &list[i], &pending[i]))
                return sf_writer_fail(w, SF_ERR_NOMEM);
        }
    }
    *out_shape = node;
    return true;
}

/* ---- frequent values ---- */

static int cmp_count(const void *a, const void *b, void *arg)
{
    const uint32_t *counts = arg;
    uint32_t x = counts[*(const uint32_t *)a], y = counts[*(const uint32_t *)b];
    return (x < y) - (x > y);
}

/* Keeps the MAX_TOP most frequent. */
static bool prune_top(struct sf_key_stage *k)
{
    struct sf_dict kept = {0};
    uint32_t *order = sf_heap_new_n(k->top.n, sizeof(*order)), code;
    uint32_t *counts = sf_heap_new_n(k->top_cap, sizeof(*counts));
    bool is_ok = order && counts;

    for (uint32_t i = 0; is_ok && i < k->top.n; i++)
        order[i] = i;
    if (is_ok)
        qsort_r(order, k->top.n, sizeof(*order), cmp_count, k->top_counts);
    for (uint32_t i = 0; is_ok && i < SF_BLOCK_MAX_TOP; i++) {
        is_ok = sf_dict_add(&kept, sf_dict_get(&k->top, order[i]), &code);
        counts[i] = k->top_counts[order[i]];
    }
    sf_heap_free(order);
    if (!is_ok) {
        sf_heap_free(counts);
        sf_dict_done(&kept);
        return false;
    }
    sf_dict_done(&k->top);
    sf_heap_free(k->top_counts);
    k->top = kept;
    k->top_counts = counts;
    k->is_partial = true;
    return true;
}

bool sf_writer_count_value(struct sf_span_block_writer *w, struct sf_key_stage *k, sf_str bytes,
                           uint32_t count)
{
    uint32_t code, n = k->top.n;

    if (bytes.len > MAX_TOP_LEN) {
        k->is_partial = true;
        return true;
    }
    if (n == 2 * SF_BLOCK_MAX_TOP && !prune_top(k))
        return sf_writer_fail(w, SF_ERR_NOMEM);
    n = k->top.n;
    if (!sf_dict_add(&k->top, bytes, &code))
        return sf_writer_fail(w, SF_ERR_NOMEM);
    if (code == n && n == k->top_cap) {
        uint32_t cap = n ? n * 2 : 16;
        uint32_t *counts = sf_heap_grow(k->top_counts, cap, sizeof(*counts));
        if (!counts)
            return sf_writer_fail(w, SF_ERR_NOMEM);
        k->top_counts = counts;
        k->top_cap = cap;
    }
    k->top_counts[code] = code == n ? count : k->top_counts[code] + count;
    return true;
}

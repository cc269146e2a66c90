/* rowset_attrs.c - converts attributes to a shape and codes.
 *
 * Nearly every span has the same keys as an earlier one. So a key's string is usually not hashed:
 * it is compared with the keys that followed the same preceding keys before, and this walk down the
 * tree also yields the shape. */
#include "base/list.h"
#include "block/format/overflow.h"
#include "block/rows/rowset_words.h"

enum {
    MAX_KEYS = 8192,  /* names with their own dictionary; further ones share one per root */
    MAX_SIBLINGS = 6, /* siblings compared before hashing */
    LOOK_AHEAD = 16,  /* attributes looked up together */
    ENTRY_LEN = 32,   /* size of a dictionary entry besides its bytes */
};

/* ---- texts ---- */

static bool has_text_room(const struct sf_rowset *r, sf_str s)
{
    return s.len <= r->data_cap && sf_rowset_has_room(r, (s.len + ENTRY_LEN) / sizeof(*r->words));
}

/* Accounts for one more lookup in a dictionary that had `n` entries before. */
static enum sf_err count_text(struct sf_rowset *r, const struct sf_dict *d, uint32_t n, sf_str s,
                              bool is_ok)
{
    if (d->n != n)
        r->text_len += s.len + ENTRY_LEN;
    return is_ok ? SF_OK : SF_ERR_NOMEM;
}

enum sf_err sf_rowset_attrs_text_code(struct sf_rowset *r, sf_str s, uint32_t *out)
{
    uint32_t n = r->texts.n;
    enum sf_err err;

    *out = 0;
    if (s.len == 0)
        return SF_OK;
    if (!has_text_room(r, s))
        return SF_ERR_LIMIT;
    err = count_text(r, &r->texts, n, s, sf_dict_add(&r->texts, s, out));
    *out += 1;
    return err;
}

enum sf_err sf_rowset_attrs_put_text(struct sf_rowset *r, sf_str s)
{
    uint32_t code;
    enum sf_err err = sf_rowset_attrs_text_code(r, s, &code);

    if (err || !sf_rowset_has_room(r, 1))
        return err ? err : SF_ERR_LIMIT;
    sf_rowset_put(r, code);
    return SF_OK;
}

enum sf_err sf_rowset_attrs_value_code(struct sf_rowset *r, struct sf_row_key *k, sf_str s,
                                       uint64_t hash, uint32_t *out)
{
    uint32_t n = k->texts.n;

    if (!has_text_room(r, s))
        return SF_ERR_LIMIT;
    sf_dict_settle(&k->texts, k->n_values);
    return count_text(r, &k->texts, n, s, sf_dict_add_hashed(&k->texts, s, hash, out));
}

/* ---- keys ---- */

enum sf_err sf_rowset_attrs_key(struct sf_rowset *r, uint32_t root, uint8_t type, sf_str name,
                                uint32_t *out)
{
    struct sf_buf *b = &r->pack;
    uint32_t key;

    for (;;) {
        sf_buf_reset(b);
        sf_buf_add_u8(b, (uint8_t)root);
        sf_buf_add_u8(b, type);
        sf_buf_add_str(b, name);
        if (!sf_buf_ok(b))
            return SF_ERR_NOMEM;
        if (sf_dict_find(&r->key_ids, sf_buf_str(b), out))
            return SF_OK;
        if (r->n_keys < MAX_KEYS || type == SF_VALUE_NONE)
            break;
        type = SF_VALUE_NONE;
        name = SF_STR_NONE;
    }
    if (!has_text_room(r, sf_buf_str(b)))
        return SF_ERR_LIMIT;
    if (!sf_list_room(&r->keys, r->n_keys, &r->key_cap, 64))
        return SF_ERR_NOMEM;
    if (!sf_dict_add(&r->key_ids, sf_buf_str(b), &key))
        return SF_ERR_NOMEM;
    SF_ASSERT(key == r->n_keys);
    r->keys[r->n_keys++] = (struct sf_row_key){
        .name_off = sf_u32(r->key_ids.bytes.len - name.len),
        .name_len = sf_u32(name.len),
        .root = (uint8_t)root,
        .type = type,
    };
    r->text_len += b->len + ENTRY_LEN;
    *out = key;
    return SF_OK;
}

static bool key_is(const struct sf_rowset *r, const struct sf_row_key *k, const struct sf_attr *a)
{
    return k->type == a->val.type && k->name_len == a->key.len &&
           sf_same_bytes(r->key_ids.bytes.p + k->name_off, a->key.p, k->name_len);
}

/* The node below `parent` for one more attribute. */
static enum sf_err rowset_attrs_step(struct sf_rowset *r, uint32_t root, uint32_t parent,
                                     const struct sf_attr *a, uint32_t *out)
{
    const struct sf_shape_node *nodes = r->shapes.nodes;
    uint32_t child = nodes[parent].first_child, key;
    enum sf_err err;

    for (int i = 0; child && i < MAX_SIBLINGS; i++, child = nodes[child].next_sibling) {
        if (key_is(r, &r->keys[nodes[child].key], a)) {
            *out = child;
            return SF_OK;
        }
    }
    err = sf_rowset_attrs_key(r, root, (uint8_t)a->val.type, a->key, &key);
    if (err)
        return err;
    return sf_shapes_step(&r->shapes, parent, key, out) ? SF_OK : SF_ERR_NOMEM;
}

/* ---- values ---- */

struct pending { /* an attribute that is being looked up */
    uint32_t key, code;
    uint64_t hash;
};

/* First half: finds the dictionary and prefetches the slot of the text. Dictionaries do not fit the
 * cache, so prefetching for several texts before looking any of them up makes this fast. */
static void rowset_attrs_look_ahead(const struct sf_rowset *r, const struct sf_attr *a,
                                    struct pending *p)
{
    const struct sf_row_key *k = &r->keys[p->key];

    p->code = UINT32_MAX;
    if (!sf_block_type_is_text(k->type) || k->type == SF_VALUE_NONE)
        return;
    if (sf_dict_is_last(&k->texts, a->val.str)) {
        p->code = k->texts.last;
        return;
    }
    p->hash = sf_key_str(a->val.str);
    sf_dict_prefetch(&k->texts, p->hash);
}

static enum sf_err rowset_attrs_put_value(struct sf_rowset *r, const struct sf_attr *a,
                                          const struct pending *p)
{
    struct sf_row_key *k = &r->keys[p->key];
    uint32_t code = p->code;
    enum sf_err err = SF_OK;

    switch (k->type) {
    case SF_VALUE_EMPTY: return SF_OK;
    case SF_VALUE_BOOL: sf_rowset_put(r, a->val.is_true); return SF_OK;
    case SF_VALUE_INT:
    case SF_VALUE_DOUBLE: sf_rowset_put_u64(r, (uint64_t)a->val.i64); return SF_OK;
    case SF_VALUE_NONE:
        sf_overflow_pack(&r->pack, a);
        if (!sf_buf_ok(&r->pack))
            return SF_ERR_NOMEM;
        err = sf_rowset_attrs_value_code(r, k, sf_buf_str(&r->pack),
                                         sf_key_str(sf_buf_str(&r->pack)), &code);
        break;
    default:
        k->n_values++;
        if (code == UINT32_MAX)
            err = sf_rowset_attrs_value_code(r, k, a->val.str, p->hash, &code);
        break;
    }
    if (!err)
        sf_rowset_put(r, code);
    return err;
}

enum sf_err sf_rowset_attrs_put(struct sf_rowset *r, uint32_t root, struct sf_attrs attrs)
{
    struct pending pending[LOOK_AHEAD];
    uint32_t node = root;
    size_t shape_at = r->n_words;
    enum sf_err err = SF_OK;

    if (!r->shapes.n && !sf_shapes_reset(&r->shapes))
        return SF_ERR_NOMEM;
    if (!sf_rowset_has_room(r, 1))
        return SF_ERR_LIMIT;
    sf_rowset_put(r, 0);
    for (uint32_t first = 0; !err && first < attrs.n; first += LOOK_AHEAD) {
        const struct sf_attr *list = attrs.list + first;
        uint32_t n = attrs.n - first < LOOK_AHEAD ? attrs.n - first : LOOK_AHEAD;
        for (uint32_t i = 0; !err && i < n; i++) {
            if (list[i].val.type <= SF_VALUE_NONE || list[i].val.type >= SF_VALUE_TYPES)
                return SF_ERR_INPUT;
            err = rowset_attrs_step(r, root, node, &list[i], &node);
            if (err)
                return err;
            pending[i].key = r->shapes.nodes[node].key;
            rowset_attrs_look_ahead(r, &list[i], &pending[i]);
        }
        for (uint32_t i = 0; !err && i < n; i++) {
            err = sf_rowset_has_room(r, 2) ? rowset_attrs_put_value(r, &list[i], &pending[i])
                                           : SF_ERR_LIMIT;
        }
    }
    r->words[shape_at] = node;
    return err;
}

#include "block/rows/row_maps.h"

#include "block/rows/rowset_words.h"
#include "block/span/writer.h"

static const uint8_t ROOT_SCOPES[] = {SF_SCOPE_SPAN, SF_SCOPE_EVENT, SF_SCOPE_LINK};

bool sf_row_maps_init(struct sf_row_maps *m, const struct sf_rowset *r, uint32_t *resources,
                      uint32_t *scopes, struct sf_arena *req)
{
    *m = (struct sf_row_maps){.r = r, .req = req, .resources = resources, .scopes = scopes};
    m->keys = sf_arena_raw(req, r->n_keys * sizeof(*m->keys), 16);
    m->shapes = sf_arena_raw(req, r->shapes.n * sizeof(*m->shapes), 16);
    for (int i = 0; i < SF_TEXTS; i++) {
        m->texts[i] = sf_arena_new_n(req, r->texts.n + (size_t)1, sizeof(uint64_t));
        if (!m->texts[i])
            return false;
    }
    return m->keys && m->shapes;
}

void sf_row_maps_begin(struct sf_row_maps *m, const struct sf_span_block_writer *w, uint32_t tenant)
{
    if (!m->has_keys || tenant != m->tenant) {
        for (uint32_t i = 0; i < m->r->n_keys; i++)
            m->keys[i] = (struct sf_key_map){.key = SF_NONE};
        memset(m->shapes, 0, m->r->shapes.n * sizeof(*m->shapes));
    }
    if (!m->has_keys || tenant != m->tenant || m->shapes_no != w->shapes_no) {
        for (uint32_t i = 0; i < m->r->shapes.n; i++)
            m->shapes[i].node = SF_NONE;
    }
    m->has_keys = true;
    m->tenant = tenant;
    m->shapes_no = w->shapes_no;
}

static bool row_maps_find_key(struct sf_row_maps *m, struct sf_span_block_writer *w, uint32_t place)
{
    const struct sf_row_key *k = &m->r->keys[place];
    struct sf_key_map *map = &m->keys[place];
    enum sf_err err;

    if (map->key != SF_NONE)
        return true;
    err = sf_key_stage_get(w, m->tenant, ROOT_SCOPES[k->root], k->type, sf_rowset_key_name(m->r, k),
                           &map->key);
    if (err)
        return sf_span_block_writer_fail(w, err);
    map->is_packed = w->keys[map->key].type != k->type;
    if (sf_block_type_is_text(k->type)) {
        map->codes = sf_arena_new_n(m->req, k->texts.n + (size_t)1, sizeof(*map->codes));
        if (!map->codes)
            return sf_span_block_writer_fail(w, SF_ERR_LIMIT);
    }
    return true;
}

const struct sf_shape_map *sf_row_maps_shape(struct sf_row_maps *m, struct sf_span_block_writer *w,
                                             uint32_t shape)
{
    struct sf_shape_map *map = &m->shapes[shape];
    const struct sf_shape_node *node = &m->r->shapes.nodes[shape];
    uint32_t at = shape, *keys;

    if (map->node != SF_NONE)
        return map;
    if (!map->keys && node->n_keys) {
        keys = sf_arena_raw(m->req, node->n_keys * sizeof(*keys), 16);
        if (!keys) {
            sf_span_block_writer_fail(w, SF_ERR_LIMIT);
            return NULL;
        }
        sf_shapes_keys(&m->r->shapes, shape, keys);
        map->keys = keys;
        map->n = node->n_keys;
    }
    while (m->r->shapes.nodes[at].n_keys)
        at = m->r->shapes.nodes[at].parent; /* the root, which has the same number in both trees */
    for (uint32_t i = 0; i < map->n; i++) {
        if (!row_maps_find_key(m, w, map->keys[i]))
            return NULL;
        if (!sf_shapes_step(&w->shapes, at, m->keys[map->keys[i]].key, &at)) {
            sf_span_block_writer_fail(w, SF_ERR_NOMEM);
            return NULL;
        }
    }
    map->node = at;
    return map;
}

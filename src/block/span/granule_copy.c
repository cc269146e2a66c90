/* granule_copy.c - copies rows from a granule into a rowset without decoding them to spans. For
 * every dictionary a table maps the block's codes to the rowset's, filled when a code is first
 * used. Rows must be copied in order: attributes are read by cursors that only move forward. */
#include "block/span/granule_copy.h"

#include "block/format/encoding.h"
#include "block/format/overflow.h"
#include "block/rows/rowset_words.h"
#include "block/span/reader.h"

enum { LOOK_AHEAD = 16 };

struct key_source { /* the values of one key, in the order of the items that have it */
    struct sf_values vals;
    uint32_t *codes; /* texts: value to the rowset's code, or SF_NONE; NULL: each is used once */
    uint32_t key;    /* of the rowset */
    uint32_t at;     /* index of the next item's value */
    bool is_text; /* values are texts; otherwise numbers, or, if is_packed, texts with type and name
                   */
    bool is_packed;
    sf_str name;
};

struct attr_source { /* attributes of rows, events or links */
    struct sf_shape_column shapes;
    uint32_t *nodes; /* shape to the rowset's, or SF_NONE */
    uint32_t *slots; /* the block's key to its index in `keys` */
    struct key_source *keys;
    uint32_t root;
    uint32_t next; /* next item */
};

struct text_source {
    struct sf_str_column column;
    uint32_t *codes; /* by entry of the dictionary: the rowset's code, or SF_NONE */
};

struct sf_granule_copy {
    struct sf_granule_view view;
    struct sf_rowset *to;
    const int64_t *index_ns;
    struct text_source names, msgs, states, event_names, link_states;
    struct attr_source attrs, event_attrs, link_attrs;
    const uint32_t *flags, *dropped[3]; /* NULL: all zero */
    const uint32_t *n_events, *n_links;
    const uint64_t *event_times;
    const uint32_t *event_dropped, *link_dropped, *link_flags;
    const uint8_t *link_trace_ids, *link_span_ids;
    uint32_t next; /* next row */
};

/* ---- open ---- */

static uint32_t *granule_copy_new_codes(struct sf_granule_ctx *c, uint32_t n)
{
    uint32_t *codes = sf_arena_raw(c->req, (size_t)n * sizeof(*codes), 16);
    if (codes)
        memset(codes, 0xff, (size_t)n * sizeof(*codes));
    return codes;
}

static enum sf_err open_texts(struct sf_granule_ctx *c, uint32_t column, uint32_t n,
                              struct text_source *t)
{
    enum sf_err err = sf_granule_column_texts(c, column, n, &t->column);
    if (err)
        return err;
    t->codes = granule_copy_new_codes(c, t->column.n_dict);
    return t->codes ? SF_OK : sf_span_block_reader_limit(c->why);
}

static enum sf_err open_key(struct sf_granule_ctx *c, struct sf_rowset *to, uint32_t root,
                            uint32_t key, uint32_t n, struct key_source *k)
{
    const struct sf_typed_key *typed = &c->r->typed[key];
    uint8_t type;
    enum sf_err err = sf_granule_column_values(c, key, n, &k->vals);

    if (err)
        return err;
    err = sf_rowset_attrs_key(to, root, typed->type, typed->name, &k->key);
    if (err)
        return sf_fail(c->why, err, "block: no memory for more rows (%zu held)", to->n_rows);
    type = to->keys[k->key].type;
    k->name = typed->name;
    k->is_packed = type == SF_VALUE_NONE;
    k->is_text = sf_block_type_is_text(type) && !k->is_packed;
    if (k->is_text && k->vals.code) {
        k->codes = granule_copy_new_codes(c, k->vals.n_vals);
        return k->codes ? SF_OK : sf_span_block_reader_limit(c->why);
    }
    return SF_OK;
}

static enum sf_err open_attrs(struct sf_granule_ctx *c, struct sf_rowset *to, uint32_t column,
                              uint8_t scope, uint32_t root, uint32_t n_items, struct attr_source *a)
{
    uint32_t *counts, n_keys = 0;
    enum sf_err err = sf_granule_column_shapes(c, column, scope, n_items, &a->shapes);

    if (!err)
        err = sf_granule_column_count_shapes(c, &a->shapes, c->req, &counts);
    if (err)
        return err;
    for (uint32_t k = 0; k < c->r->n_typed; k++)
        n_keys += counts[k] != 0;
    a->root = root;
    a->nodes = granule_copy_new_codes(c, a->shapes.n_shapes);
    a->slots = sf_arena_raw(c->req, (size_t)c->r->n_typed * sizeof(*a->slots), 16);
    a->keys = sf_arena_new_n(c->req, n_keys, sizeof(*a->keys));
    if (!a->nodes || !a->slots || !a->keys)
        return sf_span_block_reader_limit(c->why);
    n_keys = 0;
    for (uint32_t k = 0; !err && k < c->r->n_typed; k++) {
        if (counts[k] == 0)
            continue;
        a->slots[k] = n_keys;
        err = open_key(c, to, root, k, counts[k], &a->keys[n_keys++]);
    }
    return err;
}

/* The number of events or links of each row; NULL: there are none. */
static enum sf_err open_items(struct sf_granule_ctx *c, uint32_t column, const uint32_t **out,
                              uint32_t *out_n)
{
    struct sf_chunk_desc d[2];
    uint64_t sum = 0;
    enum sf_err err;

    *out = NULL;
    *out_n = 0;
    if (sf_span_block_reader_descs(c->r, c->granule, column, d) == 0)
        return SF_OK;
    err = sf_granule_column_u32s(c, column, c->n_rows, UINT32_MAX, out);
    if (err)
        return err;
    for (uint32_t i = 0; i < c->n_rows; i++)
        sum += (*out)[i];
    if (sum > 1u << 30)
        return sf_span_block_reader_corrupt(c->r, c->granule, column, c->why);
    *out_n = (uint32_t)sum;
    return SF_OK;
}

static enum sf_err open_events(struct sf_granule_ctx *c, struct sf_granule_copy *g)
{
    uint32_t n;
    enum sf_err err = open_items(c, SF_BLOCK_EVENTS, &g->n_events, &n);

    if (err || n == 0)
        return err;
    err = sf_granule_column_numbers(c, SF_BLOCK_EVENT_TIME, n, &g->event_times);
    if (!err && !g->event_times)
        err = sf_span_block_reader_corrupt(c->r, c->granule, SF_BLOCK_EVENT_TIME, c->why);
    if (!err)
        err = open_texts(c, SF_BLOCK_EVENT_NAME, n, &g->event_names);
    if (!err)
        err = sf_granule_column_u32s(c, SF_BLOCK_EVENT_DROPPED, n, UINT32_MAX, &g->event_dropped);
    return err ? err
               : open_attrs(c, g->to, SF_BLOCK_EVENT_SHAPE, SF_SCOPE_EVENT, SF_ROOT_EVENT, n,
                            &g->event_attrs);
}

static enum sf_err open_links(struct sf_granule_ctx *c, struct sf_granule_copy *g)
{
    uint32_t n;
    enum sf_err err = open_items(c, SF_BLOCK_LINKS, &g->n_links, &n);

    if (err || n == 0)
        return err;
    err = sf_granule_column_fixed(c, SF_BLOCK_LINK_TRACE_ID, SF_ENC_FIX16, n, &g->link_trace_ids);
    if (!err)
        err = sf_granule_column_fixed(c, SF_BLOCK_LINK_SPAN_ID, SF_ENC_FIX8, n, &g->link_span_ids);
    if (!err)
        err = open_texts(c, SF_BLOCK_LINK_STATE, n, &g->link_states);
    if (!err)
        err = sf_granule_column_u32s(c, SF_BLOCK_LINK_DROPPED, n, UINT32_MAX, &g->link_dropped);
    if (!err)
        err = sf_granule_column_u32s(c, SF_BLOCK_LINK_FLAGS, n, UINT32_MAX, &g->link_flags);
    return err ? err
               : open_attrs(c, g->to, SF_BLOCK_LINK_SHAPE, SF_SCOPE_LINK, SF_ROOT_LINK, n,
                            &g->link_attrs);
}

static enum sf_err open_rest(struct sf_granule_ctx *c, struct sf_granule_copy *g)
{
    static const uint32_t COLUMNS[4] = {SF_BLOCK_FLAGS, SF_BLOCK_DROPPED_ATTRS,
                                        SF_BLOCK_DROPPED_EVENTS, SF_BLOCK_DROPPED_LINKS};
    const uint32_t **to[4] = {&g->flags, &g->dropped[0], &g->dropped[1], &g->dropped[2]};
    struct sf_chunk_desc d[2];
    enum sf_err err = SF_OK;

    for (int i = 0; !err && i < 4; i++) {
        if (sf_span_block_reader_descs(c->r, c->granule, COLUMNS[i], d))
            err = sf_granule_column_u32s(c, COLUMNS[i], c->n_rows, UINT32_MAX, to[i]);
    }
    return err;
}

enum sf_err sf_granule_copy_open(const struct sf_span_block_reader *r, uint32_t granule,
                                 struct sf_rowset *to, struct sf_arena *req,
                                 struct sf_granule_copy **out, struct sf_why *why)
{
    enum {
        COLUMNS = SF_COL_IDS | SF_COL_PARENT | SF_COL_TIMES | SF_COL_KIND | SF_COL_RESOURCE |
                  SF_COL_SCOPE
    };
    struct sf_granule_copy *g = sf_arena_new(req, sizeof(*g));
    struct sf_granule_ctx c = {.r = r, .granule = granule, .req = req, .why = why};
    enum sf_err err;

    if (!g)
        return sf_span_block_reader_limit(why);
    if (!to->shapes.n && !sf_shapes_reset(&to->shapes))
        return sf_fail(why, SF_ERR_NOMEM, "block: no memory for rows");
    g->view = sf_granule_view_init(r, granule, req);
    g->to = to;
    c.n_rows = g->view.info->n_rows;
    c.tenant = g->view.info->tenant;
    err = sf_granule_view_add(&g->view, COLUMNS, why);
    if (!err)
        err = sf_granule_view_index(&g->view, &g->index_ns, why);
    if (!err)
        err = open_texts(&c, SF_BLOCK_NAME, c.n_rows, &g->names);
    if (!err)
        err = open_texts(&c, SF_BLOCK_STATUS_MSG, c.n_rows, &g->msgs);
    if (!err)
        err = open_texts(&c, SF_BLOCK_TRACE_STATE, c.n_rows, &g->states);
    if (!err)
        err = open_rest(&c, g);
    if (!err)
        err = open_attrs(&c, to, SF_BLOCK_SHAPE, SF_SCOPE_SPAN, SF_ROOT_SPAN, c.n_rows, &g->attrs);
    if (!err)
        err = open_events(&c, g);
    if (!err)
        err = open_links(&c, g);
    *out = g;
    return err;
}

const struct sf_span_rows *sf_granule_copy_rows(const struct sf_granule_copy *g)
{
    return &g->view.rows;
}

const int64_t *sf_granule_copy_index(const struct sf_granule_copy *g)
{
    return g->index_ns;
}

/* ---- rows ---- */

static enum sf_err granule_copy_put_text(struct sf_rowset *to, struct text_source *t, uint32_t item,
                                         bool is_always, uint8_t bit, uint8_t *io_bits)
{
    uint32_t entry = t->column.code[item], *code = &t->codes[entry];
    if (*code == SF_NONE) {
        uint32_t got;
        enum sf_err err = sf_rowset_attrs_text_code(to, t->column.dict[entry], &got);
        if (err)
            return err;
        *code = got;
    }
    if (!is_always && *code == 0)
        return SF_OK;
    *io_bits |= bit;
    sf_rowset_put(to, *code);
    return SF_OK;
}

static enum sf_err find_node(struct sf_rowset *to, struct attr_source *a, uint32_t shape)
{
    uint32_t node = a->root;

    for (uint32_t k = sf_shape_start(&a->shapes, shape); k < a->shapes.ends[shape]; k++) {
        if (!sf_shapes_step(&to->shapes, node, a->keys[a->slots[a->shapes.keys[k]]].key, &node))
            return SF_ERR_NOMEM;
    }
    a->nodes[shape] = node;
    return SF_OK;
}

static enum sf_err granule_copy_put_packed(struct sf_rowset *to, struct key_source *k, uint32_t at)
{
    struct sf_attr a;
    uint32_t code;
    enum sf_err err;

    if (k->vals.packed)
        a = k->vals.packed[at];
    else
        a = (struct sf_attr){k->name, k->vals.vals[at]};
    sf_overflow_pack(&to->pack, &a);
    if (!sf_buf_ok(&to->pack))
        return SF_ERR_NOMEM;
    err = sf_rowset_attrs_value_code(to, &to->keys[k->key], sf_buf_str(&to->pack),
                                     sf_key_str(sf_buf_str(&to->pack)), &code);
    if (!err)
        sf_rowset_put(to, code);
    return err;
}

struct pending { /* a text that is being looked up, and its slot in the dictionary */
    uint32_t at;
    uint64_t hash;
};

static enum sf_err granule_copy_put_value(struct sf_rowset *to, struct key_source *k,
                                          const struct pending *p)
{
    const struct sf_value *v;
    enum sf_err err;
    uint32_t code;

    if (k->is_packed)
        return granule_copy_put_packed(to, k, p->at);
    v = &k->vals.vals[p->at];
    if (k->is_text) {
        to->keys[k->key].n_values++;
        code = k->codes ? k->codes[p->at] : SF_NONE;
        if (code == SF_NONE) {
            err = sf_rowset_attrs_value_code(to, &to->keys[k->key], v->str, p->hash, &code);
            if (err)
                return err;
            if (k->codes)
                k->codes[p->at] = code;
        }
        sf_rowset_put(to, code);
    } else if (v->type == SF_VALUE_BOOL) {
        sf_rowset_put(to, v->is_true);
    } else if (v->type != SF_VALUE_EMPTY) {
        sf_rowset_put_u64(to, (uint64_t)v->i64);
    }
    return SF_OK;
}

/* First half of a lookup: hashes the text and prefetches its slot in the dictionary. */
static inline void granule_copy_look_ahead(const struct sf_rowset *to, struct key_source *k,
                                           struct pending *p)
{
    p->at = sf_values_at(&k->vals, k->at++);
    if (!k->is_text || (k->codes && k->codes[p->at] != SF_NONE))
        return;
    p->hash = sf_key_str(k->vals.vals[p->at].str);
    sf_dict_prefetch(&to->keys[k->key].texts, p->hash);
}

/* Writes shape and values of the next item. */
static enum sf_err granule_copy_put_attrs(struct sf_rowset *to, struct attr_source *a,
                                          uint32_t *out_n)
{
    uint32_t item = a->next++, shape = a->shapes.code ? a->shapes.code[item] : 0;
    uint32_t from = sf_shape_start(&a->shapes, shape), n = a->shapes.ends[shape] - from;
    const uint32_t *keys = a->shapes.keys + from;
    struct pending pending[LOOK_AHEAD];
    enum sf_err err = a->nodes[shape] == SF_NONE ? find_node(to, a, shape) : SF_OK;

    *out_n = n;
    if (err)
        return err;
    if (!sf_rowset_has_room(to, 1 + 2 * (size_t)n))
        return SF_ERR_LIMIT;
    sf_rowset_put(to, a->nodes[shape]);
    for (uint32_t first = 0; !err && first < n; first += LOOK_AHEAD) {
        uint32_t m = n - first < LOOK_AHEAD ? n - first : LOOK_AHEAD;
        for (uint32_t i = 0; i < m; i++)
            granule_copy_look_ahead(to, &a->keys[a->slots[keys[first + i]]], &pending[i]);
        for (uint32_t i = 0; !err && i < m; i++)
            err = granule_copy_put_value(to, &a->keys[a->slots[keys[first + i]]], &pending[i]);
    }
    return err;
}

static void skip_attrs(struct attr_source *a)
{
    uint32_t item = a->next++, shape = a->shapes.code ? a->shapes.code[item] : 0;
    for (uint32_t k = sf_shape_start(&a->shapes, shape); k < a->shapes.ends[shape]; k++)
        a->keys[a->slots[a->shapes.keys[k]]].at++;
}

static void skip_row(struct sf_granule_copy *g, uint32_t row)
{
    skip_attrs(&g->attrs);
    for (uint32_t i = g->n_events ? g->n_events[row] : 0; i > 0; i--)
        skip_attrs(&g->event_attrs);
    for (uint32_t i = g->n_links ? g->n_links[row] : 0; i > 0; i--)
        skip_attrs(&g->link_attrs);
}

static enum sf_err granule_copy_put_events(struct sf_granule_copy *g, uint32_t row)
{
    struct sf_rowset *to = g->to;
    enum sf_err err = SF_OK;
    uint8_t bits = 0;
    uint32_t n;

    sf_rowset_put(to, g->n_events[row]);
    for (uint32_t i = 0; !err && i < g->n_events[row]; i++) {
        uint32_t item = g->event_attrs.next;
        if (!sf_rowset_has_room(to, SF_EVENT_WORDS))
            return SF_ERR_LIMIT;
        sf_rowset_put_u64(to, g->view.rows.start_ns[row] + g->event_times[item]);
        sf_rowset_put(to, g->event_dropped[item]);
        err = granule_copy_put_text(to, &g->event_names, item, true, 0, &bits);
        if (!err)
            err = granule_copy_put_attrs(to, &g->event_attrs, &n);
    }
    return err;
}

static enum sf_err granule_copy_put_links(struct sf_granule_copy *g, uint32_t row)
{
    struct sf_rowset *to = g->to;
    enum sf_err err = SF_OK;
    uint8_t bits = 0;
    uint32_t n;

    sf_rowset_put(to, g->n_links[row]);
    for (uint32_t i = 0; !err && i < g->n_links[row]; i++) {
        uint32_t item = g->link_attrs.next;
        if (!sf_rowset_has_room(to, SF_LINK_WORDS))
            return SF_ERR_LIMIT;
        memcpy(to->words + to->n_words, g->link_trace_ids + (size_t)item * 16, 16);
        to->n_words += 16 / sizeof(*to->words);
        sf_rowset_put_u64(to, sf_load_u64le(g->link_span_ids + (size_t)item * 8));
        sf_rowset_put(to, g->link_dropped[item]);
        sf_rowset_put(to, g->link_flags[item]);
        err = granule_copy_put_text(to, &g->link_states, item, true, 0, &bits);
        if (!err)
            err = granule_copy_put_attrs(to, &g->link_attrs, &n);
    }
    return err;
}

static void granule_copy_put_counts(struct sf_granule_copy *g, uint32_t row, uint8_t *io_bits)
{
    uint32_t flags = g->flags ? g->flags[row] : 0, dropped[3], any = 0;

    for (int i = 0; i < 3; i++)
        any |= dropped[i] = g->dropped[i] ? g->dropped[i][row] : 0;
    if (flags) {
        *io_bits |= SF_ROW_FLAGS;
        sf_rowset_put(g->to, flags);
    }
    if (any) {
        *io_bits |= SF_ROW_DROPPED;
        for (int i = 0; i < 3; i++)
            sf_rowset_put(g->to, dropped[i]);
    }
}

static enum sf_err put_row(struct sf_granule_copy *g, uint32_t row, uint8_t *out_bits,
                           uint32_t *out_n_attrs)
{
    struct sf_rowset *to = g->to;
    uint8_t bits = 0;
    enum sf_err err;

    if (to->n_rows == to->rows_cap || !sf_rowset_has_room(to, 2 * SF_ROW_WORDS))
        return SF_ERR_LIMIT;
    err = granule_copy_put_text(to, &g->names, row, true, 0, &bits);
    if (!err)
        err = granule_copy_put_attrs(to, &g->attrs, out_n_attrs);
    if (!err && !sf_rowset_has_room(to, 2 * SF_ROW_WORDS))
        err = SF_ERR_LIMIT;
    if (!err)
        err = granule_copy_put_text(to, &g->msgs, row, false, SF_ROW_STATUS_MSG, &bits);
    if (!err)
        err = granule_copy_put_text(to, &g->states, row, false, SF_ROW_TRACE_STATE, &bits);
    if (err)
        return err;
    granule_copy_put_counts(g, row, &bits);
    if (g->n_events && g->n_events[row]) {
        bits |= SF_ROW_EVENTS;
        err = granule_copy_put_events(g, row);
    }
    if (!err && g->n_links && g->n_links[row]) {
        bits |= SF_ROW_LINKS;
        err = sf_rowset_has_room(to, 1) ? granule_copy_put_links(g, row) : SF_ERR_LIMIT;
    }
    *out_bits = bits;
    return err;
}

enum sf_err sf_granule_copy_row(struct sf_granule_copy *g, uint32_t row, uint32_t resource,
                                uint32_t scope, int64_t last_ns, struct sf_why *why)
{
    const struct sf_span_rows *rows = &g->view.rows;
    struct sf_rowset *to = g->to;
    size_t off = to->n_words;
    uint8_t bits;
    uint32_t n_attrs;
    enum sf_err err;

    SF_ASSERT(row >= g->next && row < rows->n_rows);
    for (; g->next < row; g->next++)
        skip_row(g, g->next);
    g->next++;
    err = put_row(g, row, &bits, &n_attrs);
    if (err) {
        to->n_words = off;
        return sf_fail(why, err, "block: no memory for more rows (%zu held)", to->n_rows);
    }
    to->rows[to->n_rows++] = (struct sf_mem_row){
        .hash = sf_trace_id_hash(rows->trace_id[row], rows->tenant),
        .trace_id = rows->trace_id[row],
        .span_id = rows->span_id[row],
        .parent_id = rows->parent_id[row],
        .start_ns = rows->start_ns[row],
        .end_ns = rows->end_ns[row],
        .index_ns = g->index_ns[row],
        .tenant = rows->tenant,
        .resource = resource,
        .scope = scope,
        .data_off = (uint32_t)off,
        .n_attrs = n_attrs,
        .kind = rows->kind[row],
        .status = rows->status[row],
        .bits = bits,
    };
    if (g->index_ns[row] < to->first_index_ns)
        to->first_index_ns = g->index_ns[row];
    if (last_ns > to->last_ns)
        to->last_ns = last_ns;
    return SF_OK;
}

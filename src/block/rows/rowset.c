/* rowset.c - rows of spans as codes. Resources and scopes are interned as word sequences in a
 * table; a row appends its codes to columns and its variable part to a word list. A mark is the
 * length of every list, and undo truncates to it. */
#include "block/rows/rowset.h"

#include "base/heap.h"
#include "block/rows/rowset_words.h"

enum {
    KEEP_LEN =
        16 << 20,     /* bytes of memory that a reset rowset keeps, unless it is told otherwise */
    KEEP_KEYS = 1024, /* with more keys, */
    KEEP_SHAPES = 16384, /* or more shapes, a reset drops all of them */
    KEEP_SLOTS = 4096,
};

bool sf_rowset_init(struct sf_rowset *r, size_t rows_cap, size_t data_cap)
{
    SF_ASSERT(rows_cap <= (size_t)1 << SF_ROW_PLACE_BITS);
    *r = (struct sf_rowset){.rows_cap = rows_cap, .data_cap = data_cap, .keep_len = KEEP_LEN};
    r->rows = sf_heap_pages(rows_cap * sizeof(*r->rows));
    r->words = sf_heap_pages(data_cap);
    r->first_index_ns = INT64_MAX;
    r->last_ns = INT64_MIN;
    if (r->rows && r->words)
        return true;
    sf_rowset_done(r);
    return false;
}

static void rowset_table_done(struct sf_mem_table *t)
{
    sf_heap_free(t->refs);
    sf_table_done(&t->at);
    *t = (struct sf_mem_table){0};
}

static void keys_done(struct sf_rowset *r)
{
    for (uint32_t i = 0; i < r->n_keys; i++)
        sf_dict_done(&r->keys[i].texts);
    sf_heap_free(r->keys);
    r->keys = NULL;
    r->n_keys = r->key_cap = 0;
    sf_dict_done(&r->key_ids);
    sf_shapes_done(&r->shapes);
}

void sf_rowset_done(struct sf_rowset *r)
{
    sf_heap_pages_free(r->rows, r->rows_cap * sizeof(*r->rows));
    sf_heap_pages_free(r->words, r->data_cap);
    rowset_table_done(&r->resources);
    rowset_table_done(&r->scopes);
    keys_done(r);
    sf_dict_done(&r->texts);
    sf_buf_done(&r->pack);
    *r = (struct sf_rowset){0};
}

static void table_reset(struct sf_mem_table *t)
{
    if (t->at.n_slots > KEEP_SLOTS) {
        rowset_table_done(t);
        return;
    }
    sf_table_clear(&t->at);
    t->n = 0;
}

void sf_rowset_reset(struct sf_rowset *r)
{
    if (r->n_rows * sizeof(*r->rows) > r->keep_len)
        sf_heap_pages_drop(r->rows, r->rows_cap * sizeof(*r->rows));
    if (r->n_words * sizeof(*r->words) > r->keep_len)
        sf_heap_pages_drop(r->words, r->data_cap);
    r->n_rows = r->n_words = 0;
    r->first_index_ns = INT64_MAX;
    r->last_ns = INT64_MIN;
    table_reset(&r->resources);
    table_reset(&r->scopes);
    if (r->n_keys > KEEP_KEYS || r->shapes.n > KEEP_SHAPES || r->text_len > r->keep_len) {
        keys_done(r);
        sf_dict_done(&r->texts);
    }
    for (uint32_t i = 0; i < r->n_keys; i++) { /* keep names and shapes: they will be used again */
        sf_dict_reset(&r->keys[i].texts);
        r->keys[i].n_values = 0;
    }
    sf_dict_reset(&r->texts);
    r->text_len = 0;
}

static size_t table_len(const struct sf_mem_table *t)
{
    return t->n * sizeof(*t->refs) + sf_table_memory(&t->at);
}

size_t sf_rowset_len(const struct sf_rowset *r)
{
    return r->n_rows * sizeof(*r->rows) + r->n_words * sizeof(*r->words) + r->text_len +
           r->key_cap * sizeof(*r->keys) + sf_shapes_memory(&r->shapes) + table_len(&r->resources) +
           table_len(&r->scopes);
}

uint32_t sf_rowset_tenant(const struct sf_rowset *r)
{
    for (size_t i = 1; i < r->n_rows; i++) {
        if (r->rows[i].tenant != r->rows[0].tenant)
            return 0;
    }
    return r->n_rows ? r->rows[0].tenant : 0;
}

struct sf_rowset_mark sf_rowset_mark(const struct sf_rowset *r)
{
    return (struct sf_rowset_mark){r->n_rows,   r->n_words,        r->resources.n,
                                   r->scopes.n, r->first_index_ns, r->last_ns};
}

/* ---- tables: resources, scopes ---- */

static void table_undo(struct sf_mem_table *t, uint32_t n)
{
    if (n == t->n)
        return;
    t->n = n;
    sf_table_cut(&t->at, n);
}

void sf_rowset_undo(struct sf_rowset *r, struct sf_rowset_mark to)
{
    if (to.n_rows ==
        0) { /* it would never be sealed, and texts of failed batches would accumulate */
        sf_rowset_reset(r);
        return;
    }
    r->n_rows = to.n_rows;
    r->n_words = to.n_words;
    r->first_index_ns = to.first_index_ns;
    r->last_ns = to.last_ns;
    table_undo(&r->resources, to.n_resources);
    table_undo(&r->scopes, to.n_scopes);
}

static bool table_grow(struct sf_mem_table *t)
{
    uint32_t cap = t->cap ? t->cap * 2 : 64;
    struct sf_mem_ref *refs = sf_heap_grow(t->refs, cap, sizeof(*refs));
    if (!refs)
        return false;
    t->refs = refs;
    t->cap = cap;
    return true;
}

/* The index of an equal entry; otherwise `lookup` is the slot for a new one. */
static bool rowset_table_find(const struct sf_rowset *r, const struct sf_mem_table *t,
                              const struct sf_mem_ref *like, struct sf_table_lookup *lookup,
                              uint32_t *out)
{
    const uint32_t *words = r->words + like->off;
    size_t len = like->len * sizeof(*words);
    *lookup = sf_table_lookup(&t->at, sf_key_mix(sf_key(words, len), like->tenant));
    while (sf_table_next(lookup, out)) {
        const struct sf_mem_ref *ref = &t->refs[*out];
        if (ref->tenant == like->tenant && ref->len == like->len &&
            memcmp(r->words + ref->off, words, len) == 0)
            return true;
    }
    return false;
}

static enum sf_err rowset_say(const struct sf_rowset *r, enum sf_err err, struct sf_why *why)
{
    switch (err) {
    case SF_OK: return SF_OK;
    case SF_ERR_INPUT: return sf_fail(why, err, "store: an attribute has no type");
    case SF_ERR_NOMEM: return sf_fail(why, err, "store: no memory for more rows");
    default:
        return sf_fail(why, SF_ERR_LIMIT,
                       "store: no memory for more rows (%zu rows, %zu bytes held)", r->n_rows,
                       sf_rowset_len(r));
    }
}

/* Makes the words [off, n_words) an entry of the table, or returns the equal one that exists. */
static enum sf_err rowset_settle(struct sf_rowset *r, struct sf_mem_table *t, uint32_t tenant,
                                 size_t off, uint32_t *out)
{
    struct sf_mem_ref ref = {.tenant = tenant, .off = sf_u32(off), .len = sf_u32(r->n_words - off)};
    struct sf_table_lookup lookup;

    if (!sf_table_more(&t->at))
        return SF_ERR_NOMEM;
    if (rowset_table_find(r, t, &ref, &lookup, out)) {
        r->n_words = off;
        return SF_OK;
    }
    if (t->n == t->cap && !table_grow(t))
        return SF_ERR_NOMEM;
    t->refs[t->n] = ref;
    sf_table_keep(&t->at, &lookup, t->n);
    *out = t->n++;
    return SF_OK;
}

enum sf_err sf_rowset_resource(struct sf_rowset *r, uint32_t tenant, const struct sf_resource *res,
                               uint32_t *out, struct sf_why *why)
{
    size_t off = r->n_words;
    enum sf_err err = sf_rowset_attrs_put(r, SF_ROOT_RESOURCE, res->attrs);

    if (!err)
        err = sf_rowset_attrs_put_text(r, res->schema_url);
    if (!err)
        err = sf_rowset_attrs_put_text(r, res->service);
    if (!err && !sf_rowset_has_room(r, 1))
        err = SF_ERR_LIMIT;
    if (!err) {
        sf_rowset_put(r, res->dropped_attrs);
        err = rowset_settle(r, &r->resources, tenant, off, out);
    }
    if (err)
        r->n_words = off;
    return rowset_say(r, err, why);
}

enum sf_err sf_rowset_scope(struct sf_rowset *r, uint32_t tenant, const struct sf_scope *scope,
                            uint32_t *out, struct sf_why *why)
{
    size_t off = r->n_words;
    enum sf_err err = sf_rowset_attrs_put(r, SF_ROOT_SCOPE, scope->attrs);

    if (!err)
        err = sf_rowset_attrs_put_text(r, scope->name);
    if (!err)
        err = sf_rowset_attrs_put_text(r, scope->version);
    if (!err)
        err = sf_rowset_attrs_put_text(r, scope->schema_url);
    if (!err && !sf_rowset_has_room(r, 1))
        err = SF_ERR_LIMIT;
    if (!err) {
        sf_rowset_put(r, scope->dropped_attrs);
        err = rowset_settle(r, &r->scopes, tenant, off, out);
    }
    if (err)
        r->n_words = off;
    return rowset_say(r, err, why);
}

/* ---- rows ---- */

static enum sf_err rowset_put_events(struct sf_rowset *r, const struct sf_span *s)
{
    enum sf_err err = SF_OK;
    if (!sf_rowset_has_room(r, 1))
        return SF_ERR_LIMIT;
    sf_rowset_put(r, s->n_events);
    for (uint32_t i = 0; !err && i < s->n_events; i++) {
        const struct sf_event *e = &s->events[i];
        if (!sf_rowset_has_room(r, SF_EVENT_WORDS))
            return SF_ERR_LIMIT;
        sf_rowset_put_u64(r, e->time_ns);
        sf_rowset_put(r, e->dropped_attrs);
        err = sf_rowset_attrs_put_text(r, e->name);
        if (!err)
            err = sf_rowset_attrs_put(r, SF_ROOT_EVENT, e->attrs);
    }
    return err;
}

static enum sf_err rowset_put_links(struct sf_rowset *r, const struct sf_span *s)
{
    enum sf_err err = SF_OK;
    if (!sf_rowset_has_room(r, 1))
        return SF_ERR_LIMIT;
    sf_rowset_put(r, s->n_links);
    for (uint32_t i = 0; !err && i < s->n_links; i++) {
        const struct sf_link *l = &s->links[i];
        if (!sf_rowset_has_room(r, SF_LINK_WORDS))
            return SF_ERR_LIMIT;
        memcpy(r->words + r->n_words, l->trace_id.b, sizeof(l->trace_id.b));
        r->n_words += sizeof(l->trace_id.b) / sizeof(*r->words);
        sf_rowset_put_u64(r, l->span_id);
        sf_rowset_put(r, l->dropped_attrs);
        sf_rowset_put(r, l->flags);
        err = sf_rowset_attrs_put_text(r, l->trace_state);
        if (!err)
            err = sf_rowset_attrs_put(r, SF_ROOT_LINK, l->attrs);
    }
    return err;
}

static uint8_t rowset_bits_of(const struct sf_span *s)
{
    return (
        uint8_t)((s->status_msg.len ? SF_ROW_STATUS_MSG : 0) |
                 (s->trace_state.len ? SF_ROW_TRACE_STATE : 0) | (s->flags ? SF_ROW_FLAGS : 0) |
                 (s->dropped_attrs | s->dropped_events | s->dropped_links ? SF_ROW_DROPPED : 0) |
                 (s->n_events ? SF_ROW_EVENTS : 0) | (s->n_links ? SF_ROW_LINKS : 0));
}

static enum sf_err put_rest(struct sf_rowset *r, const struct sf_span *s, uint8_t bits)
{
    enum sf_err err = sf_rowset_attrs_put_text(r, s->name);

    if (!err)
        err = sf_rowset_attrs_put(r, SF_ROOT_SPAN, s->attrs);
    if (!err && bits & SF_ROW_STATUS_MSG)
        err = sf_rowset_attrs_put_text(r, s->status_msg);
    if (!err && bits & SF_ROW_TRACE_STATE)
        err = sf_rowset_attrs_put_text(r, s->trace_state);
    if (err)
        return err;
    if (!sf_rowset_has_room(r, SF_ROW_WORDS))
        return SF_ERR_LIMIT;
    if (bits & SF_ROW_FLAGS)
        sf_rowset_put(r, s->flags);
    if (bits & SF_ROW_DROPPED) {
        sf_rowset_put(r, s->dropped_attrs);
        sf_rowset_put(r, s->dropped_events);
        sf_rowset_put(r, s->dropped_links);
    }
    if (bits & SF_ROW_EVENTS)
        err = rowset_put_events(r, s);
    return !err && bits & SF_ROW_LINKS ? rowset_put_links(r, s) : err;
}

enum sf_err sf_rowset_add(struct sf_rowset *r, uint32_t tenant, const struct sf_span *span,
                          int64_t index_ns, int64_t last_ns, struct sf_why *why)
{
    size_t off = r->n_words;
    uint8_t bits = rowset_bits_of(span);
    enum sf_err err = r->n_rows == r->rows_cap ? SF_ERR_LIMIT : put_rest(r, span, bits);

    if (err) {
        r->n_words = off;
        return rowset_say(r, err, why);
    }
    r->rows[r->n_rows++] = (struct sf_mem_row){
        .hash = sf_trace_id_hash(span->trace_id, tenant),
        .trace_id = span->trace_id,
        .span_id = span->span_id,
        .parent_id = span->parent_id,
        .start_ns = span->start_ns,
        .end_ns = span->end_ns,
        .index_ns = index_ns,
        .tenant = tenant,
        .resource = span->resource,
        .scope = span->scope,
        .data_off = (uint32_t)off,
        .n_attrs = span->attrs.n,
        .kind = span->kind,
        .status = span->status,
        .bits = bits,
    };
    if (index_ns < r->first_index_ns)
        r->first_index_ns = index_ns;
    if (last_ns > r->last_ns)
        r->last_ns = last_ns;
    return SF_OK;
}

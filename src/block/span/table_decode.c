/* table_decode.c - parses and checks the tables of a block when they are first needed: strings,
 * resources, scopes, keys with their frequent values, operations; granules are in granule_table.c.
 * Every index is checked against its table here, so that later code need not. Raw sections are
 * temporary; the results are in an arena of the reader. */
#include <stdlib.h>

#include "base/heap.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/table.h"
#include "block/format/cursor.h"
#include "block/format/encoding.h"
#include "block/span/reader.h"

static enum sf_err damaged(uint16_t section, const char *what, struct sf_why *why)
{
    return sf_fail(why, SF_ERR_CORRUPT, "section %s: %s", sf_section_name(section), what);
}

static enum sf_err table_decode_no_room(struct sf_why *why)
{
    return sf_fail(why, SF_ERR_LIMIT, "tables are larger than a block's can be");
}

static struct sf_arena *arena_of(struct sf_span_block_reader *r, enum sf_block_tables set)
{
    return &r->tables[__builtin_ctz(set)];
}

/* Temporary: freed after parsing. Tables that results borrow from are in an arena of the reader. */
struct raw_table {
    struct sf_arena memory;
    sf_bytes bytes;
};

static enum sf_err table_decode_load(struct sf_span_block_reader *r, uint16_t id,
                                     struct raw_table *out, struct sf_why *why)
{
    const struct sf_section *s = &r->sections[id];
    *out = (struct raw_table){0};
    if (!sf_arena_init(&out->memory, (size_t)(s->raw_len + s->stored_len) + (1 << 20)))
        return sf_fail(why, SF_ERR_NOMEM, "no memory for section %s", sf_section_name(id));
    return sf_span_block_reader_section(r, id, &out->memory, &out->bytes, why);
}

/* ---- strings ---- */

static enum sf_err table_decode_read_strings(struct sf_span_block_reader *r, struct sf_why *why)
{
    sf_bytes raw;
    struct sf_cursor c;
    sf_str *strings;
    const uint8_t *text;
    struct sf_arena *names = arena_of(r, SF_TABLES_NAMES);
    enum sf_err err = sf_span_block_reader_section(r, SF_SECTION_STR, names, &raw, why);

    if (err)
        return err;
    c = sf_cursor_of(raw);
    r->n_strings = sf_cursor_u32(&c);
    if (c.is_bad || r->n_strings > sf_cursor_left(&c))
        return damaged(SF_SECTION_STR, "more strings than bytes", why);
    strings = sf_arena_new_n(names, r->n_strings, sizeof(*strings));
    if (!strings)
        return table_decode_no_room(why);
    for (uint32_t i = 0; i < r->n_strings; i++)
        strings[i].len = sf_cursor_varint32(&c);
    for (uint32_t i = 0; i < r->n_strings; i++) {
        text = sf_cursor_take(&c, strings[i].len);
        strings[i].p = (const char *)text;
    }
    if (c.is_bad || sf_cursor_left(&c))
        return damaged(SF_SECTION_STR, "lengths do not fit", why);
    r->strings = strings;
    return SF_OK;
}

static sf_str get_string(const struct sf_span_block_reader *r, struct sf_cursor *c)
{
    uint32_t code = sf_cursor_varint32(c);
    if (c->is_bad || code >= r->n_strings) {
        c->is_bad = true;
        return SF_STR_NONE;
    }
    return r->strings[code];
}

/* ---- resources and scopes ---- */

static struct sf_value table_decode_get_value(const struct sf_span_block_reader *r,
                                              struct sf_cursor *c)
{
    struct sf_value v = {0};
    uint8_t type = sf_cursor_u8(c), bit;
    uint64_t bits;

    if (type == SF_VALUE_NONE || type >= SF_VALUE_TYPES) {
        c->is_bad = true;
        return v;
    }
    v.type = type;
    switch (v.type) {
    case SF_VALUE_EMPTY: break;
    case SF_VALUE_BOOL:
        bit = sf_cursor_u8(c);
        c->is_bad |= bit > 1;
        v.is_true = bit == 1;
        break;
    case SF_VALUE_INT:
    case SF_VALUE_DOUBLE:
        bits = sf_cursor_u64(c);
        memcpy(&v.i64, &bits, sizeof(bits));
        break;
    default: v.str = get_string(r, c); break;
    }
    return v;
}

static bool table_decode_get_attrs(struct sf_span_block_reader *r, struct sf_cursor *c,
                                   struct sf_attrs *out)
{
    uint32_t n = sf_cursor_varint32(c);
    struct sf_attr *list;

    if (c->is_bad || n > sf_cursor_left(c) / 2) {
        c->is_bad = true;
        return true;
    }
    list = sf_arena_new_n(arena_of(r, SF_TABLES_ROWS), n, sizeof(*list));
    if (!list)
        return false;
    for (uint32_t i = 0; i < n && !c->is_bad; i++) {
        list[i].key = get_string(r, c);
        list[i].val = table_decode_get_value(r, c);
    }
    *out = (struct sf_attrs){list, n};
    return true;
}

static enum sf_err read_resources(struct sf_span_block_reader *r, sf_bytes raw, struct sf_why *why)
{
    struct sf_cursor c = sf_cursor_of(raw);
    uint32_t n = sf_cursor_u32(&c), *tenants;
    struct sf_resource *list;

    if (c.is_bad || n > sf_cursor_left(&c) / 5)
        return damaged(SF_SECTION_RES, "more resources than bytes", why);
    list = sf_arena_new_n(arena_of(r, SF_TABLES_ROWS), n, sizeof(*list));
    tenants = sf_arena_new_n(arena_of(r, SF_TABLES_ROWS), n, sizeof(*tenants));
    if (!list || !tenants)
        return table_decode_no_room(why);
    for (uint32_t i = 0; i < n && !c.is_bad; i++) {
        tenants[i] = sf_cursor_varint32(&c);
        list[i].service = get_string(r, &c);
        list[i].schema_url = get_string(r, &c);
        list[i].dropped_attrs = sf_cursor_varint32(&c);
        if (!table_decode_get_attrs(r, &c, &list[i].attrs))
            return table_decode_no_room(why);
    }
    if (c.is_bad || sf_cursor_left(&c))
        return damaged(SF_SECTION_RES, "records do not fit", why);
    r->resources = list;
    r->resource_tenants = tenants;
    r->n_resources = n;
    return SF_OK;
}

static enum sf_err table_decode_read_scopes(struct sf_span_block_reader *r, sf_bytes raw,
                                            struct sf_why *why)
{
    struct sf_cursor c = sf_cursor_of(raw);
    uint32_t n = sf_cursor_u32(&c);
    struct sf_scope *list;

    if (c.is_bad || n > sf_cursor_left(&c) / 6)
        return damaged(SF_SECTION_SCOPE, "more scopes than bytes", why);
    list = sf_arena_new_n(arena_of(r, SF_TABLES_ROWS), n, sizeof(*list));
    if (!list)
        return table_decode_no_room(why);
    for (uint32_t i = 0; i < n && !c.is_bad; i++) {
        sf_cursor_varint32(&c); /* tenant */
        list[i].name = get_string(r, &c);
        list[i].version = get_string(r, &c);
        list[i].schema_url = get_string(r, &c);
        list[i].dropped_attrs = sf_cursor_varint32(&c);
        if (!table_decode_get_attrs(r, &c, &list[i].attrs))
            return table_decode_no_room(why);
    }
    if (c.is_bad || sf_cursor_left(&c))
        return damaged(SF_SECTION_SCOPE, "records do not fit", why);
    r->scopes = list;
    r->n_scopes = n;
    return SF_OK;
}

/* ---- keys ---- */

struct key_values { /* the frequent values of a typed key, beside it in SF_TABLES_VALUES */
    const struct sf_value *top;
    const uint32_t *counts;
    uint32_t n;
    bool is_complete;
};

static bool get_top(struct sf_cursor *c, uint8_t type, struct sf_arena *values,
                    struct key_values *out)
{
    struct sf_value *top;
    uint32_t *counts;
    bool is_text = sf_block_type_is_text(type);

    top = sf_arena_new_n(values, out->n, sizeof(*top));
    counts = sf_arena_new_n(values, out->n, sizeof(*counts));
    if (!top || !counts)
        return false;
    for (uint32_t i = 0; i < out->n && !c->is_bad; i++) {
        counts[i] = sf_cursor_varint32(c);
        top[i].type = type;
        if (is_text) {
            top[i].str = sf_cursor_str(c);
        } else {
            uint64_t bits = sf_cursor_u64(c);
            if (type == SF_VALUE_BOOL)
                top[i].is_true = bits != 0;
            else
                memcpy(&top[i].i64, &bits, sizeof(bits));
        }
    }
    out->top = top;
    out->counts = counts;
    return true;
}

static void skip_top(struct sf_cursor *c, uint8_t type, uint32_t n)
{
    bool is_text = sf_block_type_is_text(type);
    for (uint32_t i = 0; i < n && !c->is_bad; i++) {
        (void)sf_cursor_varint32(c);
        if (is_text)
            (void)sf_cursor_str(c);
        else
            (void)sf_cursor_u64(c);
    }
}

/* Reads one key, and its values if `values` is set. False: no memory. */
static bool get_key(const struct sf_span_block_reader *r, struct sf_cursor *c,
                    struct sf_typed_key *k, struct sf_arena *values, struct key_values *out)
{
    k->tenant = sf_cursor_varint32(c);
    k->scope = sf_cursor_u8(c);
    k->type = sf_cursor_u8(c);
    k->name = get_string(r, c);
    k->n_spans = sf_cursor_varint(c);
    out->is_complete = sf_cursor_u8(c) != 0;
    out->n = sf_cursor_varint32(c);
    if (k->scope >= SF_SCOPES || k->type >= SF_VALUE_TYPES || out->n > SF_BLOCK_MAX_TOP ||
        out->n > sf_cursor_left(c) || (k->type == SF_VALUE_NONE && out->n))
        c->is_bad = true;
    if (c->is_bad)
        return true;
    if (values)
        return get_top(c, k->type, values, out);
    skip_top(c, k->type, out->n);
    return true;
}

/* Reads the typed keys into `to`, and the values of each if `out_values` is set. */
static enum sf_err get_keys(const struct sf_span_block_reader *r, sf_bytes raw, struct sf_arena *to,
                            struct sf_typed_key **out, uint32_t *out_n,
                            struct key_values **out_values, struct sf_why *why)
{
    struct sf_cursor c = sf_cursor_of(raw);
    uint32_t n = sf_cursor_u32(&c);
    struct sf_typed_key *list;
    struct key_values *values = NULL, none;

    if (c.is_bad || n > sf_cursor_left(&c) / 7 || n > SF_BLOCK_MAX_KEYS)
        return damaged(SF_SECTION_KEY, "more keys than bytes", why);
    list = sf_arena_new_n(to, n, sizeof(*list));
    if (out_values)
        values = sf_arena_new_n(to, n, sizeof(*values));
    if (!list || (out_values && !values))
        return table_decode_no_room(why);
    for (uint32_t i = 0; i < n && !c.is_bad; i++) {
        if (!get_key(r, &c, &list[i], values ? to : NULL, values ? &values[i] : &none))
            return table_decode_no_room(why);
    }
    if (c.is_bad || sf_cursor_left(&c))
        return damaged(SF_SECTION_KEY, "records do not fit", why);
    *out = list;
    *out_n = n;
    if (out_values)
        *out_values = values;
    return SF_OK;
}

static int cmp_typed(const struct sf_typed_key *a, uint32_t tenant, uint8_t scope, sf_str name)
{
    if (a->tenant != tenant)
        return a->tenant < tenant ? -1 : 1;
    if (a->scope != scope)
        return a->scope < scope ? -1 : 1;
    return sf_str_cmp(a->name, name);
}

static int cmp_place(const void *a, const void *b, void *arg)
{
    const struct sf_typed_key *keys = arg, *x = &keys[*(const uint32_t *)a],
                              *y = &keys[*(const uint32_t *)b];
    int cmp = cmp_typed(x, y->tenant, y->scope, y->name);
    return cmp ? cmp : x->type - y->type;
}

void sf_table_decode_find_keys(const struct sf_span_block_reader *r, uint32_t tenant, uint8_t scope,
                               sf_str name, uint32_t *out_first, uint32_t *out_n)
{
    uint32_t low = 0, high = r->n_typed, n = 0;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (cmp_typed(&r->typed[r->by_name[mid]], tenant, scope, name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    while (low + n < r->n_typed &&
           cmp_typed(&r->typed[r->by_name[low + n]], tenant, scope, name) == 0)
        n++;
    *out_first = low;
    *out_n = n;
}

/* Sorts the indexes of the keys by tenant, scope, name and type, which are unique. */
static enum sf_err order_keys(struct sf_typed_key *keys, uint32_t n, struct sf_arena *to,
                              uint32_t **out, struct sf_why *why)
{
    uint32_t *order = sf_arena_new_n(to, n, sizeof(*order));

    if (!order)
        return table_decode_no_room(why);
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    if (n)
        qsort_r(order, n, sizeof(*order), cmp_place, keys);
    for (uint32_t i = 1; i < n; i++) {
        if (cmp_place(&order[i - 1], &order[i], keys) == 0)
            return damaged(SF_SECTION_KEY, "a key is there twice", why);
    }
    *out = order;
    return SF_OK;
}

static enum sf_err read_keys(struct sf_span_block_reader *r, sf_bytes raw, struct sf_why *why)
{
    struct sf_arena *rows = arena_of(r, SF_TABLES_ROWS);
    struct sf_typed_key *list = NULL;
    uint32_t *order = NULL;
    enum sf_err err = get_keys(r, raw, rows, &list, &r->n_typed, NULL, why);

    if (!err)
        err = order_keys(list, r->n_typed, rows, &order, why);
    r->typed = list;
    r->by_name = order;
    return err;
}

/* ---- keys with their values ---- */

/* Makes one sf_block_key from the n typed keys of a name. */
static bool join_types(const struct sf_typed_key *typed, const struct key_values *values,
                       const uint32_t *places, uint32_t n, struct sf_arena *to,
                       struct sf_block_key *out)
{
    const struct sf_typed_key *first = &typed[places[0]];
    struct sf_value *top;
    uint32_t *counts;

    *out = (struct sf_block_key){
        .tenant = first->tenant, .scope = first->scope, .name = first->name, .is_complete = true};
    for (uint32_t i = 0; i < n; i++) {
        const struct sf_typed_key *k = &typed[places[i]];
        out->types |= 1u << k->type;
        out->n_spans += k->n_spans;
        out->n_top += values[places[i]].n;
        out->is_complete &= values[places[i]].is_complete;
    }
    out->top = values[places[0]].top;
    out->top_counts = values[places[0]].counts;
    if (n == 1)
        return true;
    top = sf_arena_new_n(to, out->n_top, sizeof(*top));
    counts = sf_arena_new_n(to, out->n_top, sizeof(*counts));
    if (!top || !counts)
        return false;
    out->n_top = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct key_values *v = &values[places[i]];
        for (uint32_t t = 0; t < v->n; t++) {
            top[out->n_top] = v->top[t];
            counts[out->n_top++] = v->counts[t];
        }
    }
    out->top = top;
    out->top_counts = counts;
    return true;
}

static enum sf_err read_values(struct sf_span_block_reader *r, struct sf_why *why)
{
    struct sf_arena *to = arena_of(r, SF_TABLES_VALUES);
    struct sf_typed_key *typed = NULL;
    struct key_values *values = NULL;
    struct sf_block_key *keys;
    uint32_t *order = NULL, n_typed = 0, n = 0;
    sf_bytes raw;
    enum sf_err err = sf_span_block_reader_section(r, SF_SECTION_KEY, to, &raw, why);

    if (!err)
        err = get_keys(r, raw, to, &typed, &n_typed, &values, why);
    if (!err)
        err = order_keys(typed, n_typed, to, &order, why);
    if (err)
        return err;
    keys = sf_arena_new_n(to, n_typed, sizeof(*keys));
    if (!keys)
        return table_decode_no_room(why);
    for (uint32_t i = 0, len; i < n_typed; i += len) {
        const struct sf_typed_key *k = &typed[order[i]];
        for (len = 1; i + len < n_typed; len++) {
            if (cmp_typed(&typed[order[i + len]], k->tenant, k->scope, k->name) != 0)
                break;
        }
        /* Attributes without their own column are found only by reading rows. */
        if (k->type == SF_VALUE_NONE && k->name.len == 0 && len == 1)
            continue;
        if (!join_types(typed, values, order + i, len, to, &keys[n++]))
            return table_decode_no_room(why);
    }
    r->keys = keys;
    r->n_keys = n;
    return SF_OK;
}

/* ---- operations ---- */

static bool table_decode_read_count(struct sf_cursor *c, struct sf_call_count *out)
{
    uint8_t n_buckets;
    out->n_spans = sf_cursor_varint(c);
    out->n_errors = sf_cursor_varint(c);
    out->sum_ns = sf_cursor_varint(c);
    n_buckets = sf_cursor_u8(c);
    for (uint8_t b = 0; b < n_buckets && !c->is_bad; b++) {
        uint8_t at = sf_cursor_u8(c);
        if (at >= SF_SKETCH_BUCKETS)
            return false;
        out->buckets[at] = sf_cursor_varint32(c);
    }
    return true;
}

static enum sf_err table_decode_read_entries(struct sf_span_block_reader *r, sf_bytes raw,
                                             struct sf_why *why)
{
    struct sf_cursor c = sf_cursor_of(raw);
    uint32_t n = sf_cursor_u32(&c);
    struct sf_block_entry *list;

    if (c.is_bad || n > r->n_ops || n > sf_cursor_left(&c) / 5)
        return damaged(SF_SECTION_ENTRY, "more records than operations", why);
    list = sf_arena_new_n(arena_of(r, SF_TABLES_OPERATIONS), n, sizeof(*list));
    if (!list)
        return table_decode_no_room(why);
    for (uint32_t i = 0; i < n && !c.is_bad; i++) {
        list[i].op = sf_cursor_varint32(&c);
        if (list[i].op >= r->n_ops || (i && list[i].op <= list[i - 1].op))
            return damaged(SF_SECTION_ENTRY, "operations out of order", why);
        if (!table_decode_read_count(&c, &list[i].count))
            return damaged(SF_SECTION_ENTRY, "a bucket that does not exist", why);
        if (list[i].count.n_spans > r->ops[list[i].op].all.n_spans)
            return damaged(SF_SECTION_ENTRY, "more entries than spans", why);
    }
    if (c.is_bad || sf_cursor_left(&c))
        return damaged(SF_SECTION_ENTRY, "records do not fit", why);
    r->entries = list;
    r->n_entries = n;
    return SF_OK;
}

static enum sf_err read_operations(struct sf_span_block_reader *r, sf_bytes raw, struct sf_why *why)
{
    struct sf_cursor c = sf_cursor_of(raw);
    uint32_t n = sf_cursor_u32(&c);
    struct sf_block_operation *list;

    if (c.is_bad || n > sf_cursor_left(&c) / 7)
        return damaged(SF_SECTION_SVC, "more operations than bytes", why);
    list = sf_arena_new_n(arena_of(r, SF_TABLES_OPERATIONS), n, sizeof(*list));
    if (!list)
        return table_decode_no_room(why);
    for (uint32_t i = 0; i < n && !c.is_bad; i++) {
        struct sf_block_operation *op = &list[i];
        op->tenant = sf_cursor_varint32(&c);
        op->service = get_string(r, &c);
        op->name = get_string(r, &c);
        if (!table_decode_read_count(&c, &op->all))
            return damaged(SF_SECTION_SVC, "a bucket that does not exist", why);
    }
    if (c.is_bad || sf_cursor_left(&c))
        return damaged(SF_SECTION_SVC, "records do not fit", why);
    r->ops = list;
    r->n_ops = n;
    return SF_OK;
}

/* ---- lists, and all of it ---- */

static enum sf_err table_decode_read_list(struct sf_span_block_reader *r, uint16_t id,
                                          const uint64_t **out, size_t *out_n, struct sf_why *why)
{
    struct raw_table raw;
    uint64_t *list;
    enum sf_err err;

    if (!r->sections[id].id)
        return SF_OK;
    err = table_decode_load(r, id, &raw, why);
    if (!err && raw.bytes.len % 8)
        err = damaged(id, "not a list of numbers", why);
    if (!err) {
        list = sf_arena_new(arena_of(r, SF_TABLES_LISTS), raw.bytes.len);
        if (list) {
            memcpy(list, raw.bytes.p, raw.bytes.len);
            *out = list;
            *out_n = raw.bytes.len / 8;
        } else {
            err = table_decode_no_room(why);
        }
    }
    sf_arena_done(&raw.memory);
    return err;
}

static enum sf_err table_decode_read_table(struct sf_span_block_reader *r, uint16_t id,
                                           enum sf_err (*read)(struct sf_span_block_reader *r,
                                                               sf_bytes raw, struct sf_why *why),
                                           struct sf_why *why)
{
    struct raw_table raw;
    enum sf_err err = table_decode_load(r, id, &raw, why);
    if (!err)
        err = read(r, raw.bytes, why);
    sf_arena_done(&raw.memory);
    return err;
}

static enum sf_err table_decode_read_rows(struct sf_span_block_reader *r, struct sf_why *why)
{
    enum sf_err err = table_decode_read_table(r, SF_SECTION_RES, read_resources, why);
    if (!err)
        err = table_decode_read_table(r, SF_SECTION_SCOPE, table_decode_read_scopes, why);
    if (!err)
        err = table_decode_read_table(r, SF_SECTION_KEY, read_keys, why);
    if (err)
        return err;
    if (sf_granule_table_is_part(r)) {
        sf_bytes raw;
        err = sf_span_block_reader_section(r, SF_SECTION_GRAN, arena_of(r, SF_TABLES_ROWS), &raw,
                                           why);
        return err ? err : sf_granule_table_read(r, raw, why);
    }
    return table_decode_read_table(r, SF_SECTION_GRAN, sf_granule_table_read, why);
}

enum sf_err sf_table_decode_set(struct sf_span_block_reader *r, enum sf_block_tables set,
                                struct sf_why *why)
{
    enum sf_err err;
    switch (set) {
    case SF_TABLES_NAMES: return table_decode_read_strings(r, why);
    case SF_TABLES_ROWS: return table_decode_read_rows(r, why);
    case SF_TABLES_VALUES: return read_values(r, why);
    case SF_TABLES_OPERATIONS:
        err = table_decode_read_table(r, SF_SECTION_SVC, read_operations, why);
        return err || !r->sections[SF_SECTION_ENTRY].id
                   ? err
                   : table_decode_read_table(r, SF_SECTION_ENTRY, table_decode_read_entries, why);
    case SF_TABLES_LISTS:
        err = table_decode_read_list(r, SF_SECTION_DUP, &r->dups, &r->n_dups, why);
        return err ? err
                   : table_decode_read_list(r, SF_SECTION_SRC, &r->sources, &r->n_sources, why);
    case SF_TABLES_NONE:
    case SF_TABLES_ALL: break;
    }
    SF_ASSERT(!"one set of tables");
    return SF_OK;
}

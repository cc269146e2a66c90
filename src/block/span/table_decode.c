/* table_decode.c - the tables of a block, parsed and checked once when it is opened. */
#include <stdlib.h>

#include "base/heap.h"
#include "base/limits.h"
#include "block/format/cursor.h"
#include "block/format/encoding.h"
#include "block/span/reader.h"

static enum sf_err damaged(uint16_t section, const char *what, struct sf_why *why)
{
    return sf_fail(why, SF_ERR_CORRUPT, "section %s: %s", sf_section_name(section), what);
}

static enum sf_err no_room(struct sf_why *why)
{
    return sf_fail(why, SF_ERR_LIMIT, "tables are larger than a block's can be");
}

/* Temporary: parsed, then given back. Tables that are borrowed from stay in r->tables. */
struct raw_table {
    struct sf_arena memory;
    sf_bytes bytes;
};

static enum sf_err load(struct sf_span_block_reader *r, uint16_t id, struct raw_table *out,
                        struct sf_why *why)
{
    const struct sf_section *s = &r->sections[id];
    *out = (struct raw_table){0};
    if (!sf_arena_init(&out->memory, (size_t)(s->raw_len + s->stored_len) + (1 << 20)))
        return sf_fail(why, SF_ERR_NOMEM, "no memory for section %s", sf_section_name(id));
    return sf_reader_section(r, id, &out->memory, &out->bytes, why);
}

/* ---- strings ---- */

static enum sf_err read_strings(struct sf_span_block_reader *r, struct sf_why *why)
{
    sf_bytes raw;
    struct sf_cursor c;
    sf_str *strings;
    const uint8_t *text;
    enum sf_err err = sf_reader_section(r, SF_SECTION_STR, &r->tables, &raw, why);

    if (err)
        return err;
    c = sf_cursor_of(raw);
    r->n_strings = sf_cursor_u32(&c);
    if (c.is_bad || r->n_strings > sf_cursor_left(&c))
        return damaged(SF_SECTION_STR, "more strings than bytes", why);
    strings = sf_arena_new_n(&r->tables, r->n_strings, sizeof(*strings));
    if (!strings)
        return no_room(why);
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

static struct sf_value get_value(const struct sf_span_block_reader *r, struct sf_cursor *c)
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

static bool get_attrs(struct sf_span_block_reader *r, struct sf_cursor *c, struct sf_attrs *out)
{
    uint32_t n = sf_cursor_varint32(c);
    struct sf_attr *list;

    if (c->is_bad || n > sf_cursor_left(c) / 2) {
        c->is_bad = true;
        return true;
    }
    list = sf_arena_new_n(&r->tables, n, sizeof(*list));
    if (!list)
        return false;
    for (uint32_t i = 0; i < n && !c->is_bad; i++) {
        list[i].key = get_string(r, c);
        list[i].val = get_value(r, c);
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
    list = sf_arena_new_n(&r->tables, n, sizeof(*list));
    tenants = sf_arena_new_n(&r->tables, n, sizeof(*tenants));
    if (!list || !tenants)
        return no_room(why);
    for (uint32_t i = 0; i < n && !c.is_bad; i++) {
        tenants[i] = sf_cursor_varint32(&c);
        list[i].service = get_string(r, &c);
        list[i].schema_url = get_string(r, &c);
        list[i].dropped_attrs = sf_cursor_varint32(&c);
        if (!get_attrs(r, &c, &list[i].attrs))
            return no_room(why);
    }
    if (c.is_bad || sf_cursor_left(&c))
        return damaged(SF_SECTION_RES, "records do not fit", why);
    r->resources = list;
    r->resource_tenants = tenants;
    r->n_resources = n;
    return SF_OK;
}

static enum sf_err read_scopes(struct sf_span_block_reader *r, sf_bytes raw, struct sf_why *why)
{
    struct sf_cursor c = sf_cursor_of(raw);
    uint32_t n = sf_cursor_u32(&c);
    struct sf_scope *list;

    if (c.is_bad || n > sf_cursor_left(&c) / 6)
        return damaged(SF_SECTION_SCOPE, "more scopes than bytes", why);
    list = sf_arena_new_n(&r->tables, n, sizeof(*list));
    if (!list)
        return no_room(why);
    for (uint32_t i = 0; i < n && !c.is_bad; i++) {
        sf_cursor_varint32(&c); /* tenant */
        list[i].name = get_string(r, &c);
        list[i].version = get_string(r, &c);
        list[i].schema_url = get_string(r, &c);
        list[i].dropped_attrs = sf_cursor_varint32(&c);
        if (!get_attrs(r, &c, &list[i].attrs))
            return no_room(why);
    }
    if (c.is_bad || sf_cursor_left(&c))
        return damaged(SF_SECTION_SCOPE, "records do not fit", why);
    r->scopes = list;
    r->n_scopes = n;
    return SF_OK;
}

/* ---- keys ---- */

static bool get_top(struct sf_span_block_reader *r, struct sf_cursor *c, struct sf_typed_key *k)
{
    struct sf_value *top;
    uint32_t *counts;
    bool is_text = sf_block_type_is_text(k->type);

    k->is_complete = sf_cursor_u8(c) != 0;
    k->n_top = sf_cursor_varint32(c);
    if (c->is_bad || k->n_top > SF_BLOCK_MAX_TOP || k->n_top > sf_cursor_left(c) ||
        (k->type == SF_VALUE_NONE && k->n_top)) {
        c->is_bad = true;
        return true;
    }
    top = sf_arena_new_n(&r->tables, k->n_top, sizeof(*top));
    counts = sf_arena_new_n(&r->tables, k->n_top, sizeof(*counts));
    if (!top || !counts)
        return false;
    for (uint32_t i = 0; i < k->n_top && !c->is_bad; i++) {
        counts[i] = sf_cursor_varint32(c);
        top[i].type = k->type;
        if (is_text) {
            top[i].str = sf_cursor_str(c);
        } else {
            uint64_t bits = sf_cursor_u64(c);
            if (k->type == SF_VALUE_BOOL)
                top[i].is_true = bits != 0;
            else
                memcpy(&top[i].i64, &bits, sizeof(bits));
        }
    }
    k->top = top;
    k->top_counts = counts;
    return true;
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

void sf_reader_find_keys(const struct sf_span_block_reader *r, uint32_t tenant, uint8_t scope,
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

/* One sf_block_key from the n typed ones of a name. */
static bool join_types(struct sf_span_block_reader *r, const uint32_t *places, uint32_t n,
                       struct sf_block_key *out)
{
    const struct sf_typed_key *first = &r->typed[places[0]];
    struct sf_value *top;
    uint32_t *counts;

    *out = (struct sf_block_key){
        .tenant = first->tenant, .scope = first->scope, .name = first->name, .is_complete = true};
    for (uint32_t i = 0; i < n; i++) {
        const struct sf_typed_key *k = &r->typed[places[i]];
        out->types |= 1u << k->type;
        out->n_spans += k->n_spans;
        out->n_top += k->n_top;
        out->is_complete &= k->is_complete;
    }
    out->top = first->top;
    out->top_counts = first->top_counts;
    if (n == 1)
        return true;
    top = sf_arena_new_n(&r->tables, out->n_top, sizeof(*top));
    counts = sf_arena_new_n(&r->tables, out->n_top, sizeof(*counts));
    if (!top || !counts)
        return false;
    out->n_top = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct sf_typed_key *k = &r->typed[places[i]];
        for (uint32_t t = 0; t < k->n_top; t++) {
            top[out->n_top] = k->top[t];
            counts[out->n_top++] = k->top_counts[t];
        }
    }
    out->top = top;
    out->top_counts = counts;
    return true;
}

static enum sf_err index_keys(struct sf_span_block_reader *r, struct sf_why *why)
{
    uint32_t *order = sf_arena_new_n(&r->tables, r->n_typed, sizeof(*order));
    struct sf_block_key *keys = sf_arena_new_n(&r->tables, r->n_typed, sizeof(*keys));
    uint32_t n = 0;

    if (!order || !keys)
        return no_room(why);
    for (uint32_t i = 0; i < r->n_typed; i++)
        order[i] = i;
    if (r->n_typed)
        qsort_r(order, r->n_typed, sizeof(*order), cmp_place, (void *)(uintptr_t)r->typed);
    for (uint32_t i = 0, len; i < r->n_typed; i += len) {
        const struct sf_typed_key *k = &r->typed[order[i]];
        for (len = 1; i + len < r->n_typed; len++) {
            if (cmp_typed(&r->typed[order[i + len]], k->tenant, k->scope, k->name) != 0)
                break;
            if (r->typed[order[i + len]].type == r->typed[order[i + len - 1]].type)
                return damaged(SF_SECTION_KEY, "a key is there twice", why);
        }
        /* What has no column of its own is nobody's key: it is found by reading. */
        if (k->type == SF_VALUE_NONE && k->name.len == 0 && len == 1)
            continue;
        if (!join_types(r, order + i, len, &keys[n++]))
            return no_room(why);
    }
    r->by_name = order;
    r->keys = keys;
    r->n_keys = n;
    return SF_OK;
}

static enum sf_err read_keys(struct sf_span_block_reader *r, struct sf_why *why)
{
    sf_bytes raw;
    struct sf_cursor c;
    struct sf_typed_key *list;
    uint32_t n;
    enum sf_err err = sf_reader_section(r, SF_SECTION_KEY, &r->tables, &raw, why);

    if (err)
        return err;
    c = sf_cursor_of(raw);
    n = sf_cursor_u32(&c);
    if (c.is_bad || n > sf_cursor_left(&c) / 7 || n > SF_BLOCK_MAX_KEYS)
        return damaged(SF_SECTION_KEY, "more keys than bytes", why);
    list = sf_arena_new_n(&r->tables, n, sizeof(*list));
    if (!list)
        return no_room(why);
    for (uint32_t i = 0; i < n && !c.is_bad; i++) {
        struct sf_typed_key *k = &list[i];
        k->tenant = sf_cursor_varint32(&c);
        k->scope = sf_cursor_u8(&c);
        k->type = sf_cursor_u8(&c);
        k->name = get_string(r, &c);
        k->n_spans = sf_cursor_varint(&c);
        if (k->scope >= SF_SCOPES || k->type >= SF_VALUE_TYPES)
            return damaged(SF_SECTION_KEY, "a key has no scope or type", why);
        if (!get_top(r, &c, k))
            return no_room(why);
    }
    if (c.is_bad || sf_cursor_left(&c))
        return damaged(SF_SECTION_KEY, "records do not fit", why);
    r->typed = list;
    r->n_typed = n;
    return index_keys(r, why);
}

/* ---- operations ---- */

static bool read_count(struct sf_cursor *c, struct sf_call_count *out)
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

static enum sf_err read_entries(struct sf_span_block_reader *r, sf_bytes raw, struct sf_why *why)
{
    struct sf_cursor c = sf_cursor_of(raw);
    uint32_t n = sf_cursor_u32(&c);
    struct sf_block_entry *list;

    if (c.is_bad || n > r->n_ops || n > sf_cursor_left(&c) / 5)
        return damaged(SF_SECTION_ENTRY, "more records than operations", why);
    list = sf_arena_new_n(&r->tables, n, sizeof(*list));
    if (!list)
        return no_room(why);
    for (uint32_t i = 0; i < n && !c.is_bad; i++) {
        list[i].op = sf_cursor_varint32(&c);
        if (list[i].op >= r->n_ops || (i && list[i].op <= list[i - 1].op))
            return damaged(SF_SECTION_ENTRY, "operations out of order", why);
        if (!read_count(&c, &list[i].count))
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
    list = sf_arena_new_n(&r->tables, n, sizeof(*list));
    if (!list)
        return no_room(why);
    for (uint32_t i = 0; i < n && !c.is_bad; i++) {
        struct sf_block_operation *op = &list[i];
        op->tenant = sf_cursor_varint32(&c);
        op->service = get_string(r, &c);
        op->name = get_string(r, &c);
        if (!read_count(&c, &op->all))
            return damaged(SF_SECTION_SVC, "a bucket that does not exist", why);
    }
    if (c.is_bad || sf_cursor_left(&c))
        return damaged(SF_SECTION_SVC, "records do not fit", why);
    r->ops = list;
    r->n_ops = n;
    return SF_OK;
}

/* ---- granules ---- */

static enum sf_err check_chunks(const struct sf_span_block_reader *r, uint32_t granule,
                                struct sf_why *why)
{
    const struct sf_granule_place *p = &r->places[granule];
    uint64_t n_hashes = 0;
    uint32_t before = 0;
    bool was_codes = false;

    for (uint32_t i = 0; i < p->n_chunks; i++) {
        struct sf_chunk_desc d = sf_reader_desc(r, p->first_chunk + i);
        bool is_codes = d.encoding >= SF_ENC_CODE8 && d.encoding <= SF_ENC_CODE32;
        bool is_pair = d.column == before && was_codes && !is_codes;
        if (d.column < before || (d.column == before && !is_pair) || d.encoding >= SF_ENCODINGS ||
            d.off < SF_BLOCK_HEADER_LEN || d.off > r->data_end ||
            d.stored_len > r->data_end - d.off ||
            !sf_unpack_is_plausible(d.codec, d.stored_len, d.raw_len))
            return sf_fail(why, SF_ERR_CORRUPT, "section GRAN: granule %u, column %u: %s", granule,
                           d.column, "the descriptor cannot be right");
        if (d.column >= SF_BLOCK_FIRST_KEY && d.column - SF_BLOCK_FIRST_KEY >= (int)r->n_typed)
            return sf_fail(why, SF_ERR_CORRUPT, "section GRAN: granule %u, column %u: no such key",
                           granule, d.column);
        n_hashes += sf_chunk_n_hashes(&d);
        before = d.column;
        was_codes = is_codes;
    }
    if (n_hashes != p->n_hashes)
        return sf_fail(why, SF_ERR_CORRUPT, "section GRAN: granule %u: %s", granule,
                       "value hashes do not add up");
    for (uint32_t i = 0; i < p->n_runs; i++) {
        const uint8_t *run = r->runs + (size_t)(p->first_run + i) * 8;
        uint32_t first = sf_load_u32le(run), n = sf_load_u32le(run + 4);
        if (first > r->n_resources || n > r->n_resources - first)
            return sf_fail(why, SF_ERR_CORRUPT, "section GRAN: granule %u: %s", granule,
                           "a resource that does not exist");
    }
    return SF_OK;
}

static bool get_granule(struct sf_cursor *c, struct sf_granule_info *g, struct sf_granule_place *p)
{
    uint32_t flags;
    const uint8_t *sets;

    g->tenant = sf_cursor_u32(c);
    g->n_rows = sf_cursor_u32(c);
    g->n_traces = sf_cursor_u32(c);
    flags = sf_cursor_u32(c);
    g->ts_min_ns = (int64_t)sf_cursor_u64(c);
    g->ts_max_ns = (int64_t)sf_cursor_u64(c);
    g->dur_min_ns = sf_cursor_u64(c);
    g->dur_max_ns = sf_cursor_u64(c);
    sets = sf_cursor_take(c, 4);
    g->statuses = sets ? sets[0] : 0;
    g->kinds = sets ? sets[1] : 0;
    p->n_chunks = sf_cursor_u32(c);
    p->n_hashes = sf_cursor_u32(c);
    p->n_runs = sf_cursor_u32(c);
    g->is_continuation = flags & 1;
    return !c->is_bad && g->n_rows > 0 && g->n_rows <= SF_LIMIT_GRANULE_ROWS && g->n_traces > 0 &&
           g->n_traces <= g->n_rows && flags <= 1;
}

/* Sums of what the granules say so far. */
struct granule_sums {
    uint64_t chunks, hashes, runs, rows, traces;
};

static bool add_up(struct granule_sums *s, struct sf_granule_info *g, struct sf_granule_place *p,
                   const uint32_t limits[3])
{
    if (p->n_chunks > limits[0] - s->chunks || p->n_hashes > limits[1] - s->hashes ||
        p->n_runs > limits[2] - s->runs)
        return false;
    if (g->is_continuation && s->traces == 0)
        return false;
    p->first_chunk = (uint32_t)s->chunks;
    p->first_hash = (uint32_t)s->hashes;
    p->first_run = (uint32_t)s->runs;
    g->first_row = s->rows;
    g->first_trace = s->traces - g->is_continuation;
    s->chunks += p->n_chunks;
    s->hashes += p->n_hashes;
    s->runs += p->n_runs;
    s->rows += g->n_rows;
    s->traces += g->n_traces - g->is_continuation;
    return true;
}

static enum sf_err read_granules(struct sf_span_block_reader *r, struct sf_why *why)
{
    sf_bytes raw;
    struct sf_cursor c;
    struct sf_granule_info *list;
    struct sf_granule_place *places;
    struct granule_sums sums = {0};
    uint32_t n, limits[3];
    enum sf_err err = sf_reader_section(r, SF_SECTION_GRAN, &r->tables, &raw, why);

    if (err)
        return err;
    c = sf_cursor_of(raw);
    n = sf_cursor_u32(&c);
    for (int i = 0; i < 3; i++)
        limits[i] = sf_cursor_u32(&c);
    if (c.is_bad || sf_cursor_left(&c) != (uint64_t)n * SF_BLOCK_GRANULE_REC_LEN +
                                              (uint64_t)limits[0] * SF_CHUNK_DESC_LEN +
                                              (uint64_t)limits[1] * 4 + (uint64_t)limits[2] * 8)
        return damaged(SF_SECTION_GRAN, "lengths do not fit", why);
    list = sf_arena_new_n(&r->tables, n, sizeof(*list));
    places = sf_arena_new_n(&r->tables, n, sizeof(*places));
    if (!list || !places)
        return no_room(why);
    for (uint32_t i = 0; i < n; i++) {
        if (!get_granule(&c, &list[i], &places[i]) || !add_up(&sums, &list[i], &places[i], limits))
            return sf_fail(why, SF_ERR_CORRUPT, "section GRAN: granule %u cannot be right", i);
        if (list[i].is_continuation && list[i].tenant != list[i - 1].tenant)
            return sf_fail(why, SF_ERR_CORRUPT, "section GRAN: granule %u cannot go on", i);
    }
    if (sums.chunks != limits[0] || sums.hashes != limits[1] || sums.runs != limits[2] ||
        sums.rows != r->info.n_rows || sums.traces != r->info.n_traces)
        return damaged(SF_SECTION_GRAN, "granules do not add up", why);
    r->granules = list;
    r->places = places;
    r->n_granules = n;
    r->descs = c.at;
    r->hashes = r->descs + (size_t)limits[0] * SF_CHUNK_DESC_LEN;
    r->runs = r->hashes + (size_t)limits[1] * 4;
    for (uint32_t i = 0; i < n && !err; i++)
        err = check_chunks(r, i, why);
    return err;
}

/* ---- lists, and all of it ---- */

static enum sf_err read_list(struct sf_span_block_reader *r, uint16_t id, const uint64_t **out,
                             size_t *out_n, struct sf_why *why)
{
    struct raw_table raw;
    uint64_t *list;
    enum sf_err err;

    if (!r->sections[id].id)
        return SF_OK;
    err = load(r, id, &raw, why);
    if (!err && raw.bytes.len % 8)
        err = damaged(id, "not a list of numbers", why);
    if (!err) {
        list = sf_arena_new(&r->tables, raw.bytes.len);
        if (list) {
            memcpy(list, raw.bytes.p, raw.bytes.len);
            *out = list;
            *out_n = raw.bytes.len / 8;
        } else {
            err = no_room(why);
        }
    }
    sf_arena_done(&raw.memory);
    return err;
}

static enum sf_err read_table(struct sf_span_block_reader *r, uint16_t id,
                              enum sf_err (*read)(struct sf_span_block_reader *r, sf_bytes raw,
                                                  struct sf_why *why),
                              struct sf_why *why)
{
    struct raw_table raw;
    enum sf_err err = load(r, id, &raw, why);
    if (!err)
        err = read(r, raw.bytes, why);
    sf_arena_done(&raw.memory);
    return err;
}

enum sf_err sf_reader_tables(struct sf_span_block_reader *r, struct sf_why *why)
{
    enum sf_err err = read_strings(r, why);
    if (!err)
        err = read_table(r, SF_SECTION_RES, read_resources, why);
    if (!err)
        err = read_table(r, SF_SECTION_SCOPE, read_scopes, why);
    if (!err)
        err = read_keys(r, why);
    if (!err)
        err = read_table(r, SF_SECTION_SVC, read_operations, why);
    if (!err && r->sections[SF_SECTION_ENTRY].id)
        err = read_table(r, SF_SECTION_ENTRY, read_entries, why);
    if (!err)
        err = read_granules(r, why);
    if (!err)
        err = read_list(r, SF_SECTION_DUP, &r->dups, &r->n_dups, why);
    if (!err)
        err = read_list(r, SF_SECTION_SRC, &r->sources, &r->n_sources, why);
    return err;
}

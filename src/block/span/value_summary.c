/* value_summary.c - made in one pass over the chunk descriptors: of every string attribute of spans
 * either its lists of value hashes, each once, or the note that a granule has none. Conditions are
 * then decided by the Bloom filter of these values, and by the filters of AFLT for noted keys. What
 * cannot be decided is true, as in granule_match.c. */
#include "block/span/value_summary.h"

#include <stdlib.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/table.h"
#include "block/format/bloom.h"
#include "block/span/reader.h"

enum {
    MAX_LISTED = 1 << 16, /* values in the lists of a block, with repeats */
    MAX_GROUPS = 1 << 12,
    MAX_KEYS = 64, /* with many values, and of other types: lists that are searched in order */
    MAX_ASKED = 8  /* texts of one condition for which filters are read */
};

struct sf_value_summary {
    uint32_t n_granules;
    struct sf_buf listed; /* a Bloom filter */
    uint64_t *many;       /* keys of texts that a granule has without a list of values */
    uint64_t *unsure;     /* keys with values that are neither texts, numbers nor booleans */
    uint32_t n_many, many_cap, n_unsure, unsure_cap;
    struct sf_filter_group *groups; /* of AFLT, all of them */
    uint32_t n_groups;
};

/* ---- making ---- */

struct list_place { /* a list of value hashes of a key */
    uint32_t key, place;
};

struct summing {
    struct sf_value_summary *s;
    const struct sf_span_block_reader *r;
    struct list_place *lists; /* those that were added */
    uint32_t n_lists, lists_cap;
    struct sf_table list_at;
    uint64_t *values;
    size_t n_values, values_cap;
    bool is_too_many, is_out; /* of something; memory ran out */
};

static uint64_t unsure_key(uint32_t tenant, uint8_t scope, sf_str name)
{
    return sf_block_key_hash(tenant, scope, SF_VALUE_NONE, name);
}

static bool value_summary_has(const uint64_t *list, uint32_t n, uint64_t key)
{
    for (uint32_t i = 0; i < n; i++) {
        if (list[i] == key)
            return true;
    }
    return false;
}

static void add_key(struct summing *m, uint64_t **list, uint32_t *n, uint32_t *cap, uint64_t key)
{
    if (value_summary_has(*list, *n, key))
        return;
    m->is_too_many = *n == MAX_KEYS;
    if (sf_list_room(list, *n, cap, 8))
        (*list)[(*n)++] = key;
    else
        m->is_out = true;
}

static uint64_t listed_value(uint64_t key_hash, uint64_t value_hash)
{
    return sf_hash_mix(key_hash, (uint32_t)value_hash);
}

/* Most granules share their lists: each is added once. */
static bool is_added(struct summing *m, struct list_place l)
{
    struct sf_table_lookup lookup;
    uint32_t at;
    if (!sf_list_room(&m->lists, m->n_lists, &m->lists_cap, 64) || !sf_table_more(&m->list_at)) {
        m->is_out = true;
        return true;
    }
    lookup = sf_table_lookup(&m->list_at, sf_key_u64((uint64_t)l.key << 32 | l.place));
    while (sf_table_next(&lookup, &at)) {
        if (m->lists[at].key == l.key && m->lists[at].place == l.place)
            return true;
    }
    sf_table_keep(&m->list_at, &lookup, m->n_lists);
    m->lists[m->n_lists++] = l;
    return false;
}

static void add_list(struct summing *m, uint32_t key, uint32_t chunk, uint32_t n, uint64_t key_hash)
{
    struct list_place l = {key, m->r->hash_places[chunk]};
    const uint8_t *hashes = m->r->hashes + (size_t)l.place * 4;
    if (is_added(m, l))
        return;
    m->is_too_many = m->n_values + n > MAX_LISTED;
    for (uint32_t i = 0; !m->is_too_many && i < n; i++) {
        if (!sf_list_room(&m->values, m->n_values, &m->values_cap, 1024)) {
            m->is_out = true;
            return;
        }
        m->values[m->n_values++] = listed_value(key_hash, sf_load_u32le(hashes + (size_t)i * 4));
    }
}

/* The chunk that has the values of the column: not its codes. */
static void add_chunk(struct summing *m, uint32_t chunk, const struct sf_chunk_desc *d)
{
    struct sf_value_summary *s = m->s;
    uint32_t key = (uint32_t)d->column - SF_BLOCK_FIRST_KEY, n = sf_span_block_reader_n_hashes(d);
    const struct sf_typed_key *k = &m->r->typed[key];
    uint64_t key_hash;
    switch (k->type) {
    case SF_VALUE_INT:
    case SF_VALUE_DOUBLE:
    case SF_VALUE_BOOL: return; /* never equal to a text */
    case SF_VALUE_STR: break;
    default:
        add_key(m, &s->unsure, &s->n_unsure, &s->unsure_cap,
                unsure_key(k->tenant, k->scope, k->name));
        return;
    }
    key_hash = sf_block_key_hash(k->tenant, k->scope, k->type, k->name);
    if (n)
        add_list(m, key, chunk, n, key_hash);
    else
        add_key(m, &s->many, &s->n_many, &s->many_cap, key_hash);
}

static void add_granule(struct summing *m, uint32_t granule)
{
    const struct sf_granule_place *p = &m->r->places[granule];
    for (uint32_t i = 0; i < p->n_chunks && !m->is_too_many && !m->is_out; i++) {
        struct sf_chunk_desc d = sf_span_block_reader_desc(m->r, p->first_chunk + i), next;
        if (d.column < SF_BLOCK_FIRST_KEY ||
            m->r->typed[d.column - SF_BLOCK_FIRST_KEY].scope != SF_SCOPE_SPAN)
            continue;
        if (i + 1 < p->n_chunks) {
            next = sf_span_block_reader_desc(m->r, p->first_chunk + i + 1);
            if (next.column == d.column)
                continue; /* codes: their dictionary follows */
        }
        add_chunk(m, p->first_chunk + i, &d);
    }
}

static int value_summary_by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static enum sf_err build_filter(struct summing *m, struct sf_why *why)
{
    size_t n = m->n_values ? 1 : 0;
    if (m->n_values)
        qsort(m->values, m->n_values, sizeof(*m->values), value_summary_by_value);
    for (size_t i = 1; i < m->n_values; i++) {
        if (m->values[i] != m->values[n - 1])
            m->values[n++] = m->values[i];
    }
    if (sf_bloom_build(&m->s->listed, m->values, n, n))
        return sf_no_memory(why, "a summary of values");
    return SF_OK;
}

/* Reads where all filters of AFLT are. A granule without one makes a summary useless for keys with
 * many values: it stays without groups, and these keys may have any value. */
static enum sf_err add_groups(struct summing *m, struct sf_arena scratch, struct sf_why *why)
{
    struct sf_filter_group some[SF_MATCH_GROUPS];
    struct sf_value_summary *s = m->s;
    uint32_t cap = 0, granule = 0, n;
    while (granule < m->r->n_granules) {
        enum sf_err err = sf_filter_probe_groups(m->r, SF_SECTION_AFLT, granule, scratch, some,
                                                 SF_MATCH_GROUPS, &n, why);
        if (err)
            return err;
        for (uint32_t i = 0; i < n; i++) {
            if (!some[i].len || some[i].first > granule || s->n_groups == MAX_GROUPS ||
                some[i].first + some[i].n <= granule) {
                s->n_groups = 0;
                return SF_OK;
            }
            if (!sf_list_room(&s->groups, s->n_groups, &cap, 16))
                return sf_no_memory(why, "a summary of values");
            granule = some[i].first + some[i].n;
            s->groups[s->n_groups++] = some[i];
        }
    }
    return SF_OK;
}

static enum sf_err value_summary_fill(struct summing *m, struct sf_arena scratch,
                                      struct sf_why *why)
{
    enum sf_err err;
    for (uint32_t g = 0; g < m->r->n_granules && !m->is_too_many && !m->is_out; g++)
        add_granule(m, g);
    if (m->is_out)
        return sf_no_memory(why, "a summary of values");
    err = m->is_too_many ? SF_OK : build_filter(m, why);
    return err || m->is_too_many || !m->s->n_many ? err : add_groups(m, scratch, why);
}

enum sf_err sf_value_summary_new(const struct sf_span_block_reader *r, struct sf_arena scratch,
                                 struct sf_value_summary **out, struct sf_why *why)
{
    struct summing m = {.r = r, .s = sf_heap_new(sizeof(*m.s))};
    enum sf_err err = m.s ? SF_OK : sf_no_memory(why, "a summary of values");
    if (!err) {
        m.s->n_granules = r->n_granules;
        err = value_summary_fill(&m, scratch, why);
    }
    sf_heap_free(m.lists);
    sf_heap_free(m.values);
    sf_table_done(&m.list_at);
    *out = err || m.is_too_many ? NULL : m.s;
    if (!*out)
        sf_value_summary_free(m.s);
    return err;
}

void sf_value_summary_free(struct sf_value_summary *s)
{
    if (!s)
        return;
    sf_buf_done(&s->listed);
    sf_heap_free(s->many);
    sf_heap_free(s->unsure);
    sf_heap_free(s->groups);
    sf_heap_free(s);
}

size_t sf_value_summary_memory(const struct sf_value_summary *s)
{
    return sizeof(*s) + s->listed.cap + ((size_t)s->many_cap + s->unsure_cap) * sizeof(uint64_t) +
           s->n_groups * sizeof(*s->groups);
}

uint32_t sf_value_summary_granules(const struct sf_value_summary *s)
{
    return s->n_granules;
}

/* ---- asking ---- */

static bool is_decided(const struct sf_cond *c)
{
    if (c->scope != SF_SCOPE_SPAN || c->op != SF_OP_EQ || c->n_vals == 0 || c->n_vals > MAX_ASKED)
        return false;
    for (uint32_t i = 0; i < c->n_vals; i++) {
        if (c->vals[i].type != SF_VALUE_STR)
            return false;
    }
    return true;
}

/* The filters of a key with many values. */
static enum sf_err ask_groups(const struct sf_value_summary *s,
                              const struct sf_span_block_reader *r, uint64_t probe,
                              struct sf_arena scratch, bool *out, struct sf_why *why)
{
    if (s->n_groups)
        return sf_filter_probe_any(r, SF_SECTION_AFLT, s->groups, s->n_groups, probe, scratch, out,
                                   why);
    *out = true;
    return SF_OK;
}

static enum sf_err may_be(const struct sf_value_summary *s, const struct sf_span_block_reader *r,
                          uint64_t key_hash, sf_str text, struct sf_arena scratch, bool *out,
                          struct sf_why *why)
{
    uint64_t hash = sf_hash_str(text), probe = sf_hash_mix(key_hash, hash);
    *out = sf_bloom_has(sf_buf_bytes(&s->listed), listed_value(key_hash, hash));
    if (*out || !value_summary_has(s->many, s->n_many, key_hash))
        return SF_OK;
    return ask_groups(s, r, probe ? probe : 1, scratch, out, why);
}

enum sf_err sf_value_summary_may_hold(const struct sf_value_summary *s,
                                      const struct sf_span_block_reader *r, uint32_t tenant,
                                      const struct sf_cond *conds, size_t n_conds,
                                      struct sf_arena scratch, bool *out, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    *out = !value_summary_has(s->unsure, s->n_unsure,
                              unsure_key(tenant, SF_SCOPE_SPAN, SF_STR_NONE));
    if (!*out) { /* attributes without a column of their own */
        *out = true;
        return SF_OK;
    }
    for (size_t i = 0; !err && *out && i < n_conds; i++) {
        const struct sf_cond *c = &conds[i];
        uint64_t key_hash = sf_block_key_hash(tenant, SF_SCOPE_SPAN, SF_VALUE_STR, c->key);
        if (!is_decided(c) ||
            value_summary_has(s->unsure, s->n_unsure, unsure_key(tenant, SF_SCOPE_SPAN, c->key)))
            continue;
        *out = false;
        for (uint32_t v = 0; !err && !*out && v < c->n_vals; v++)
            err = may_be(s, r, key_hash, c->vals[v].str, scratch, out, why);
    }
    return err;
}

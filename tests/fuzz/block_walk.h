/* block_walk.h - reads, searches and verifies everything in a block whose checksums are not
 * examined. What decodes must be in range. */
#pragma once
#include <stdlib.h>

#include "base/invariant.h"
#include "block/span/granule_view.h"
#include "block/span/reader.h"

static inline void walk_hear(void *arg, const char *sentence)
{
    (void)arg;
    SF_ASSERT(sentence[0] != 0);
}

static inline uint64_t walk_text(sf_str s)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < s.len; i++)
        sum += (uint8_t)s.p[i];
    return sum;
}

static inline uint64_t walk_attrs(struct sf_attrs attrs)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < attrs.n; k++) {
        const struct sf_attr *a = &attrs.list[k];
        SF_ASSERT(a->val.type > SF_VALUE_NONE && a->val.type < SF_VALUE_TYPES);
        sum += walk_text(a->key);
        if (a->val.type == SF_VALUE_STR)
            sum += walk_text(a->val.str);
    }
    return sum;
}

static inline uint64_t walk_rows(const struct sf_span_rows *rows)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < rows->n_rows; i++) {
        struct sf_span s = sf_span_rows_get(rows, i);
        SF_ASSERT(s.resource < rows->n_resources && s.scope < rows->n_scopes);
        sum += walk_text(s.name) + walk_attrs(s.attrs);
        sum += walk_attrs(rows->resources[s.resource].attrs);
        sum += walk_text(rows->resources[s.resource].service);
        sum += walk_text(rows->scopes[s.scope].name) + walk_attrs(rows->scopes[s.scope].attrs);
        for (uint32_t e = 0; e < s.n_events; e++)
            sum += walk_text(s.events[e].name) + walk_attrs(s.events[e].attrs);
        for (uint32_t l = 0; l < s.n_links; l++)
            sum += s.links[l].trace_id.b[0] + walk_attrs(s.links[l].attrs);
    }
    return sum;
}

/* What an open reader knows without touching a column. */
static inline uint64_t walk_tables(const struct sf_span_block_reader *r)
{
    uint32_t n_keys, n_ops;
    size_t n_dups, n_sources;
    const struct sf_block_key *keys = sf_span_block_reader_keys(r, &n_keys);
    const struct sf_block_operation *ops = sf_span_block_reader_operations(r, &n_ops);
    const uint64_t *dups = sf_span_block_reader_dup_hashes(r, &n_dups);
    const uint64_t *sources = sf_span_block_reader_sources(r, &n_sources);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n_keys; i++) {
        SF_ASSERT(keys[i].types < 1u << SF_VALUE_TYPES);
        sum += walk_text(keys[i].name);
        for (uint32_t k = 0; k < keys[i].n_top; k++)
            sum += keys[i].top_counts[k] +
                   (keys[i].top[k].type == SF_VALUE_STR ? walk_text(keys[i].top[k].str) : 0);
    }
    for (uint32_t i = 0; i < n_ops; i++)
        sum += walk_text(ops[i].service) + walk_text(ops[i].name) + ops[i].all.buckets[0];
    for (size_t i = 0; i < n_dups; i++)
        sum += dups[i];
    for (size_t i = 0; i < n_sources; i++)
        sum += sources[i];
    return sum;
}

/* Filters of values, whatever the columns need them for. */
static inline void walk_filters(const struct sf_span_block_reader *r, uint32_t granule,
                                struct sf_arena scratch)
{
    struct sf_filter_group groups[4];
    uint32_t n;
    if (!r->sections[SF_SECTION_AFLT].id ||
        sf_filter_probe_groups(r, SF_SECTION_AFLT, granule, scratch, groups, 4, &n, NULL))
        return;
    SF_ASSERT(n >= 1 && n <= 4);
    for (uint64_t hash = 1; hash; hash <<= 9) {
        struct sf_arena tmp = scratch;
        sf_bytes filter;
        bool is_any, is_yes = false;
        if (groups[0].len == 0 ||
            sf_filter_probe_any(r, SF_SECTION_AFLT, groups, n, hash, scratch, &is_any, NULL))
            continue;
        for (uint32_t i = 0; i < n && !is_yes; i++) {
            if (sf_filter_probe_group(r, SF_SECTION_AFLT, &groups[i], hash, scratch, &is_yes, NULL))
                return;
        }
        SF_ASSERT(is_any == is_yes);
        if (!sf_filter_probe_load(r, SF_SECTION_AFLT, &groups[0], &tmp, &filter, NULL))
            SF_ASSERT(!sf_filter_probe_group_has(&groups[0], filter, hash) || is_any);
    }
}

static inline void walk_searches(const struct sf_span_block_reader *r, uint32_t granule,
                                 const struct sf_span_rows *rows, struct sf_arena scratch)
{
    struct sf_value text = {.type = SF_VALUE_STR, .str = SF_STR("GET")};
    struct sf_value number = {.type = SF_VALUE_INT, .i64 = 200};
    struct sf_cond conds[] = {
        {SF_SCOPE_ANY, SF_OP_EQ, SF_STR("http.method"), &text, 1, {0}},
        {SF_SCOPE_ANY, SF_OP_GT, SF_STR("http.status_code"), &number, 1, {0}}};
    uint32_t tenant = sf_span_block_reader_granule(r, granule)->tenant;
    struct sf_trace_place at;
    sf_trace_id trace = {{1, 2, 3}};
    bool is_yes;
    for (size_t i = 0; i < 2; i++)
        sf_granule_match_may_hold(r, granule, tenant, &conds[i], 1, NULL, scratch, &is_yes, NULL);
    sf_filter_probe_find_trace(r, tenant, trace, scratch, &is_yes, &at, NULL);
    walk_filters(r, granule, scratch);
    for (uint32_t i = 0; rows && i < rows->n_rows; i += 1 + rows->n_rows / 8) {
        if (!sf_filter_probe_find_trace(r, tenant, rows->trace_id[i], scratch, &is_yes, &at,
                                        NULL) &&
            is_yes)
            SF_ASSERT(at.granule < sf_span_block_reader_granules(r));
    }
}

/* Takes the bytes. False: it did not open. */
static inline bool walk_block(struct sf_buf *bytes)
{
    static const struct sf_key WANT[] = {
        {SF_SCOPE_ANY, {"http.method", 11}}, {SF_SCOPE_EVENT, {"x", 1}}, {SF_SCOPE_LINK, {"x", 1}}};
    struct sf_span_block_reader *r;
    struct sf_arena a;
    struct sf_why why;
    uint64_t n_faults, sum;

    if (sf_span_block_reader_open_trusted(bytes, &r, &why)) {
        sf_buf_done(bytes);
        return false;
    }
    if (!sf_arena_init(&a, 32 << 20))
        abort();
    sum = walk_tables(r);
    for (uint32_t g = 0; g < sf_span_block_reader_granules(r) && g < 8; g++) {
        struct sf_span_rows rows;
        struct sf_arena req = a;
        const int64_t *index;
        bool is_read = !sf_granule_view_read(r, g, SF_COL_ALL, WANT, 3, &req, &rows, &why);
        if (is_read) {
            struct sf_granule_view v = sf_granule_view_init(r, g, &req);
            struct sf_span_rows part;
            sum += walk_rows(&rows);
            if (!sf_granule_view_part(&v, SF_COL_ALL | SF_COL_IDS, WANT, 3, rows.n_rows / 2,
                                      rows.n_rows, &part, &why))
                sum += walk_rows(&part);
            for (int w = 0; w < 3; w++) {
                for (uint32_t i = 0; i < rows.n_rows; i++)
                    SF_ASSERT(rows.want[w].code[i] == SF_NONE ||
                              rows.want[w].code[i] < rows.want[w].n_vals);
            }
        }
        walk_searches(r, g, is_read ? &rows : NULL, req);
        if (!sf_granule_view_index_times(r, g, &req, &index, &why) && is_read && rows.n_rows)
            sum += (uint64_t)index[rows.n_rows - 1];
    }
    SF_ASSERT(sum != 1); /* so that all of it is examined */
    sf_span_block_verify(r, a, walk_hear, NULL, &n_faults, &why);
    sf_span_block_reader_close(r);
    sf_arena_done(&a);
    return true;
}

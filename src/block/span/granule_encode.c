/* granule_encode.c - encodes the open granule as chunks: one per column, described in GRAN. Each
 * column is written in the most compact encoding that can represent it (constant, codes with a
 * dictionary, planes, bits), compressed if that is shorter. Meanwhile value hashes, filters and the
 * counts per operation are collected. */
#include <stdlib.h>

#include "base/list.h"
#include "block/format/encoding.h"
#include "block/format/planes.h"
#include "block/span/writer.h"

static const uint32_t *u32s(const struct sf_buf *b)
{
    return (const uint32_t *)(const void *)b->p;
}

/* ---- chunks ---- */

/* The buffer for the next chunk's raw bytes. Without compression it is the block itself. */
static struct sf_buf *granule_encode_begin(struct sf_span_block_writer *w, size_t *out_start)
{
    if (w->packer) {
        sf_buf_reset(&w->raw);
        *out_start = 0;
        return &w->raw;
    }
    *out_start = w->out.len;
    return &w->out;
}

static bool granule_encode_end(struct sf_span_block_writer *w, size_t start, uint16_t column,
                               uint8_t encoding, uint32_t n_values, uint32_t cardinality,
                               bool can_pack)
{
    struct sf_chunk_desc d = {
        .column = column, .encoding = encoding, .n_values = n_values, .cardinality = cardinality};
    size_t raw_len;

    if (w->packer) {
        raw_len = w->raw.len;
        start = w->out.len;
        if (!sf_buf_ok(&w->raw))
            return sf_span_block_writer_fail(w, w->raw.err);
        d.codec = sf_chunk_pack(can_pack ? w->packer : NULL, &w->out, sf_buf_bytes(&w->raw));
    } else {
        raw_len = w->out.len - start;
    }
    if (!sf_buf_ok(&w->out) || !sf_buf_ok(&w->nums))
        return sf_span_block_writer_fail(w, w->out.err ? w->out.err : w->nums.err);
    d.raw_len = sf_u32(raw_len);
    d.stored_len = sf_u32(w->out.len - start);
    d.off = w->out_off + start;
    d.checksum = (uint32_t)sf_hash(w->out.p + start, d.stored_len);
    sf_chunk_desc_encode(&w->descs, &d);
    w->n_chunks_here++;
    return sf_buf_ok(&w->descs) || sf_span_block_writer_fail(w, w->descs.err);
}

static bool emit_bytes(struct sf_span_block_writer *w, uint16_t column, uint8_t encoding,
                       uint32_t n_values, uint32_t cardinality, const void *p, size_t len,
                       bool can_pack)
{
    size_t start;
    struct sf_buf *b = granule_encode_begin(w, &start);
    sf_buf_add(b, p, len);
    return granule_encode_end(w, start, column, encoding, n_values, cardinality, can_pack);
}

static bool emit_numbers(struct sf_span_block_writer *w, uint16_t column, const uint64_t *vals,
                         uint32_t n)
{
    size_t start;
    struct sf_buf *b;
    bool is_const = true;

    for (uint32_t i = 1; i < n && is_const; i++)
        is_const = vals[i] == vals[0];
    if (n == 0)
        return true;
    if (is_const)
        return emit_bytes(w, column, SF_ENC_CONST, n, 0, vals, 8, false);
    b = granule_encode_begin(w, &start);
    sf_planes_encode(b, vals, n);
    return granule_encode_end(w, start, column, SF_ENC_PLANES, n, 0, true);
}

bool sf_granule_encode_u32s(struct sf_span_block_writer *w, uint16_t column, const uint32_t *vals,
                            uint32_t n)
{
    uint64_t *wide;
    sf_buf_reset(&w->nums);
    wide = (uint64_t *)(void *)sf_buf_take(&w->nums, (size_t)n * 8);
    if (!wide)
        return n == 0 || sf_span_block_writer_fail(w, w->nums.err);
    for (uint32_t i = 0; i < n; i++)
        wide[i] = vals[i];
    return emit_numbers(w, column, wide, n);
}

static bool emit_codes(struct sf_span_block_writer *w, uint16_t column, const uint32_t *codes,
                       uint32_t n, uint32_t cardinality)
{
    size_t start;
    struct sf_buf *b = granule_encode_begin(w, &start);
    unsigned width = cardinality <= 256 ? 1 : cardinality <= 65536 ? 2 : 4;
    uint8_t enc = width == 1 ? SF_ENC_CODE8 : width == 2 ? SF_ENC_CODE16 : SF_ENC_CODE32;
    sf_planes_encode_codes(b, codes, n, width);
    return granule_encode_end(w, start, column, enc, n, cardinality, true);
}

static int granule_encode_cmp_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Sorts the last `n` hashes: then equal dictionaries have equal lists, which readers store once. */
static void granule_encode_sort_hashes(struct sf_span_block_writer *w, uint32_t n)
{
    if (n > 1 && sf_buf_ok(&w->hashes))
        qsort(w->hashes.p + w->hashes.len - (size_t)n * 4, n, 4, granule_encode_cmp_u32);
    w->n_hashes_here += n;
}

static void keep_hashes(struct sf_span_block_writer *w, const struct sf_dict *d)
{
    for (uint32_t i = 0; i < d->n; i++)
        sf_buf_add_u32le(&w->hashes, (uint32_t)sf_hash_str(sf_dict_get(d, i)));
    granule_encode_sort_hashes(w, d->n);
}

/* Writes texts: as one value, with a dictionary, or one by one. `key_hash` identifies the column in
 * the attribute filter; 0: not in the filter. */
static bool emit_texts(struct sf_span_block_writer *w, uint16_t column, const struct sf_dict *d,
                       const uint32_t *codes, uint32_t n, uint64_t key_hash)
{
    bool is_small = key_hash && d->n <= SF_BLOCK_MAX_HASHES;
    struct sf_str_list list = {.bytes = d->bytes.p, .ends = d->ends, .n = d->n};
    struct sf_text_list texts = {.dict = d, .n = d->n};
    size_t start;
    struct sf_buf *b;
    uint8_t enc;

    if (n == 0)
        return true;
    if (d->n == 1) {
        if (is_small)
            keep_hashes(w, d);
        return emit_bytes(w, column, SF_ENC_CONST, n, is_small, d->bytes.p, d->bytes.len, true);
    }
    if (key_hash && !is_small && w->has_filters &&
        !sf_filter_stage_add_all(&w->attr_hashes, key_hash, &texts, NULL))
        return sf_span_block_writer_fail(w, SF_ERR_NOMEM);
    if (d->n > n - n / 4 && !is_small) {
        list.order = d->n == n ? NULL : codes;
        list.n = n;
    } else if (!emit_codes(w, column, codes, n, d->n)) {
        return false;
    }
    if (is_small)
        keep_hashes(w, d);
    b = granule_encode_begin(w, &start);
    enc = sf_encoding_strings_encode(b, &list, &w->nums);
    return granule_encode_end(w, start, column, enc, list.n, is_small ? d->n : 0,
                              enc != SF_ENC_UUID);
}

/* ---- numbers of attributes ---- */

static bool emit_raw_numbers(struct sf_span_block_writer *w, uint16_t column, uint8_t type,
                             const uint64_t *vals, uint32_t n, uint32_t n_hashes)
{
    size_t start;
    struct sf_buf *b = granule_encode_begin(w, &start);
    uint8_t enc = type == SF_VALUE_BOOL     ? SF_ENC_BITS
                  : type == SF_VALUE_DOUBLE ? SF_ENC_F64
                                            : SF_ENC_PLANES;
    if (enc == SF_ENC_BITS)
        sf_encoding_bits_encode(b, vals, n);
    else if (enc == SF_ENC_F64)
        sf_encoding_f64_encode(b, vals, n);
    else
        sf_planes_encode(b, vals, n);
    return granule_encode_end(w, start, column, enc, n, n_hashes, true);
}

static bool emit_key_numbers(struct sf_span_block_writer *w, uint16_t column,
                             struct sf_key_stage *k)
{
    struct sf_few s;
    uint32_t *codes;

    sf_buf_reset(&w->codes);
    codes = (uint32_t *)(void *)sf_buf_take(&w->codes, (size_t)k->n * 4);
    if (!codes)
        return sf_span_block_writer_fail(w, w->codes.err);
    if (!sf_granule_count_find_few(&s, k->nums, k->n, codes)) {
        k->is_partial = true;
        return emit_raw_numbers(w, column, k->type, k->nums, k->n, 0);
    }
    for (uint32_t i = 0; i < s.n; i++) {
        if (!sf_key_stage_count_value(w, k, (sf_str){(const char *)&s.vals[i], 8}, s.counts[i]))
            return false;
        sf_buf_add_u32le(&w->hashes, (uint32_t)sf_block_number_hash(s.vals[i]));
    }
    granule_encode_sort_hashes(w, s.n);
    if (s.n == 1)
        return emit_bytes(w, column, SF_ENC_CONST, k->n, 1, s.vals, 8, false);
    if (k->type == SF_VALUE_BOOL || sf_planes_plan(k->nums, k->n).width <= 1)
        return emit_raw_numbers(w, column, k->type == SF_VALUE_BOOL ? SF_VALUE_BOOL : SF_VALUE_INT,
                                k->nums, k->n, s.n);
    return emit_codes(w, column, codes, k->n, s.n) &&
           emit_raw_numbers(w, column, k->type, s.vals, s.n, s.n);
}

/* ---- attributes ---- */

static bool emit_keys(struct sf_span_block_writer *w)
{
    if (w->n_active)
        qsort(w->active_keys, w->n_active, sizeof(*w->active_keys), granule_encode_cmp_u32);
    for (uint32_t i = 0; i < w->n_active; i++) {
        struct sf_key_stage *k = &w->keys[w->active_keys[i]];
        uint16_t column = sf_u16(SF_BLOCK_FIRST_KEY + w->active_keys[i]);
        if (!sf_block_type_is_text(k->type)) {
            if (!emit_key_numbers(w, column, k))
                return false;
        } else {
            struct sf_text_list texts = {.dict = &k->dict, .n = k->dict.n};
            if (k->type != SF_VALUE_NONE && !sf_granule_count_texts(w, k, &texts, k->codes, k->n))
                return false;
            if (!emit_texts(w, column, &k->dict, k->codes, k->n,
                            k->type == SF_VALUE_STR ? k->hash : 0))
                return false;
        }
        sf_dict_reset(&k->dict);
        k->n = 0;
    }
    w->n_active = 0;
    return true;
}

bool sf_granule_encode_shapes(struct sf_span_block_writer *w, uint16_t column, const uint64_t *lens,
                              uint32_t n, const uint64_t *keys, size_t n_keys)
{
    size_t start;
    struct sf_buf *b = granule_encode_begin(w, &start);
    sf_planes_encode(b, lens, n);
    sf_planes_encode(b, keys, n_keys);
    return granule_encode_end(w, start, column, SF_ENC_SHAPE, n, sf_u32(n_keys), true);
}

/* Writes shape codes of rows, events or links, and the keys of each shape. */
static bool emit_shapes(struct sf_span_block_writer *w, uint16_t column, uint32_t *shapes,
                        uint32_t n)
{
    struct sf_shape_node *nodes = w->shapes.nodes;
    uint32_t n_local = 0, stamp = w->n_granules + 1;
    struct sf_buf lens = {0}, keys = {0}, counts = {0};
    bool is_ok = true;

    if (n == 0)
        return true;
    for (uint32_t i = 0; i < n; i++) {
        struct sf_shape_node *node = &nodes[shapes[i]];
        if (node->granule != stamp) {
            uint64_t *to;
            node->granule = stamp;
            node->local = n_local++;
            sf_buf_add_u64le(&lens, node->n_keys);
            sf_buf_add_u32le(&counts, 0);
            to = node->n_keys ? (uint64_t *)(void *)sf_buf_take(&keys, (size_t)node->n_keys * 8)
                              : NULL;
            if (!to && node->n_keys)
                break;
            for (const struct sf_shape_node *up = node; up->n_keys; up = &nodes[up->parent])
                to[up->n_keys - 1] = up->key;
        }
        shapes[i] = node->local;
        if (sf_buf_ok(&counts))
            ((uint32_t *)(void *)counts.p)[node->local]++;
    }
    if (!sf_buf_ok(&lens) || !sf_buf_ok(&keys) || !sf_buf_ok(&counts))
        is_ok = sf_span_block_writer_fail(w, SF_ERR_NOMEM);
    if (is_ok)
        sf_granule_count_shapes(w, (const uint64_t *)(const void *)lens.p,
                                (const uint64_t *)(const void *)keys.p, u32s(&counts), n_local);
    if (is_ok && n_local > 1)
        is_ok = emit_codes(w, column, shapes, n, n_local);
    if (is_ok)
        is_ok = sf_granule_encode_shapes(w, column, (const uint64_t *)(const void *)lens.p, n_local,
                                         (const uint64_t *)(const void *)keys.p, keys.len / 8);
    sf_buf_done(&lens);
    sf_buf_done(&keys);
    sf_buf_done(&counts);
    return is_ok;
}

/* ---- columns of the span itself ---- */

static bool emit_times(struct sf_span_block_writer *w)
{
    struct sf_granule_stage *g = &w->g;
    uint64_t before = 0;
    uint32_t row = 0;

    for (uint32_t t = 0; t < g->n_traces; t++) {
        uint64_t first = g->starts[row];
        for (uint32_t i = 0; i < g->trace_rows[t]; i++)
            first = g->starts[row + i] < first ? g->starts[row + i] : first;
        for (uint32_t i = 0; i < g->trace_rows[t]; i++)
            g->starts[row + i] -= first;
        row += g->trace_rows[t];
        g->trace_starts[t] = first - before;
        before = first;
    }
    return emit_numbers(w, SF_BLOCK_TRACE_START, g->trace_starts, g->n_traces);
}

static bool emit_kinds(struct sf_span_block_writer *w)
{
    struct sf_granule_stage *g = &w->g;
    uint32_t *codes, n = g->n_rows;

    sf_buf_reset(&w->codes);
    codes = (uint32_t *)(void *)sf_buf_take(&w->codes, (size_t)n * 4);
    if (!codes)
        return sf_span_block_writer_fail(w, w->codes.err);
    for (uint32_t i = 0; i < n; i++)
        codes[i] = g->any_high_kind ? g->kinds_col[i]
                                    : (uint32_t)(g->kinds_col[i] | g->status_col[i] << 4);
    return sf_granule_encode_u32s(w, SF_BLOCK_KIND, codes, n);
}

static bool emit_status(struct sf_span_block_writer *w)
{
    struct sf_granule_stage *g = &w->g;
    uint32_t *codes;

    if (!g->any_high_kind)
        return true;
    codes = (uint32_t *)(void *)w->codes.p; /* emit_kinds has allocated n_rows entries */
    for (uint32_t i = 0; i < g->n_rows; i++)
        codes[i] = g->status_col[i];
    return sf_granule_encode_u32s(w, SF_BLOCK_STATUS, codes, g->n_rows);
}

static bool emit_rows(struct sf_span_block_writer *w)
{
    struct sf_granule_stage *g = &w->g;
    uint32_t n = g->n_rows;
    uint64_t name_hash = sf_block_key_hash(g->tenant, SF_SCOPE_INTRINSIC, SF_VALUE_STR,
                                           SF_STR("name"));
    uint64_t msg_hash = sf_block_key_hash(g->tenant, SF_SCOPE_INTRINSIC, SF_VALUE_STR,
                                          SF_STR("statusMessage"));

    return emit_bytes(w, SF_BLOCK_TRACE_ID, SF_ENC_FIX16, g->n_traces, 0, g->trace_ids,
                      (size_t)g->n_traces * 16, false) &&
           sf_granule_encode_u32s(w, SF_BLOCK_TRACE_ROWS, g->trace_rows, g->n_traces) &&
           emit_times(w) &&
           emit_bytes(w, SF_BLOCK_SPAN_ID, SF_ENC_FIX8, n, 0, g->span_ids, (size_t)n * 8, false) &&
           emit_bytes(w, SF_BLOCK_PARENT, SF_ENC_CODE8, n, 256, g->parents, n, true) &&
           sf_granule_encode_u32s(w, SF_BLOCK_PARENT_ROW,
                                  (const uint32_t *)(const void *)g->parent_rows.p,
                                  (uint32_t)(g->parent_rows.len / 4)) &&
           (g->parent_ids.len == 0 ||
            emit_bytes(w, SF_BLOCK_PARENT_ID, SF_ENC_FIX8, (uint32_t)(g->parent_ids.len / 8), 0,
                       g->parent_ids.p, g->parent_ids.len, true)) &&
           emit_numbers(w, SF_BLOCK_START, g->starts, n) &&
           emit_numbers(w, SF_BLOCK_DURATION, g->durations, n) &&
           sf_granule_encode_u32s(w, SF_BLOCK_RESOURCE, g->resources, n) &&
           sf_granule_encode_u32s(w, SF_BLOCK_SCOPE, g->scopes, n) &&
           emit_texts(w, SF_BLOCK_NAME, &g->name_dict, g->names, n, name_hash) && emit_kinds(w) &&
           (!g->has_status_msg ||
            emit_texts(w, SF_BLOCK_STATUS_MSG, &g->msg_dict, g->status_msgs, n, msg_hash)) &&
           (!g->has_trace_state ||
            emit_texts(w, SF_BLOCK_TRACE_STATE, &g->state_dict, g->trace_states, n, 0)) &&
           (!g->any_flags || sf_granule_encode_u32s(w, SF_BLOCK_FLAGS, g->flags, n)) &&
           (!g->any_dropped_attrs ||
            sf_granule_encode_u32s(w, SF_BLOCK_DROPPED_ATTRS, g->dropped_attrs, n)) &&
           (!g->any_dropped_events ||
            sf_granule_encode_u32s(w, SF_BLOCK_DROPPED_EVENTS, g->dropped_events, n)) &&
           (!g->any_dropped_links ||
            sf_granule_encode_u32s(w, SF_BLOCK_DROPPED_LINKS, g->dropped_links, n)) &&
           emit_shapes(w, SF_BLOCK_SHAPE, g->shapes, n) && emit_status(w) &&
           (!g->has_index || emit_numbers(w, SF_BLOCK_INDEX, g->index, n));
}

static bool emit_events(struct sf_span_block_writer *w)
{
    struct sf_granule_stage *g = &w->g;
    uint32_t n = g->n_events_all;

    if (n == 0)
        return true;
    return sf_granule_encode_u32s(w, SF_BLOCK_EVENTS, g->n_events, g->n_rows) &&
           emit_numbers(w, SF_BLOCK_EVENT_TIME, (const uint64_t *)(const void *)g->event_times.p,
                        n) &&
           emit_texts(w, SF_BLOCK_EVENT_NAME, &g->event_name_dict, u32s(&g->event_names), n, 0) &&
           emit_shapes(w, SF_BLOCK_EVENT_SHAPE, (uint32_t *)(void *)g->event_shapes.p, n) &&
           (!g->any_event_dropped ||
            sf_granule_encode_u32s(w, SF_BLOCK_EVENT_DROPPED, u32s(&g->event_dropped), n));
}

static bool emit_links(struct sf_span_block_writer *w)
{
    struct sf_granule_stage *g = &w->g;
    uint32_t n = g->n_links_all;

    if (n == 0)
        return true;
    return sf_granule_encode_u32s(w, SF_BLOCK_LINKS, g->n_links, g->n_rows) &&
           emit_bytes(w, SF_BLOCK_LINK_TRACE_ID, SF_ENC_FIX16, n, 0, g->link_trace_ids.p,
                      (size_t)n * 16, true) &&
           emit_bytes(w, SF_BLOCK_LINK_SPAN_ID, SF_ENC_FIX8, n, 0, g->link_span_ids.p,
                      (size_t)n * 8, true) &&
           emit_texts(w, SF_BLOCK_LINK_STATE, &g->link_state_dict, u32s(&g->link_states), n, 0) &&
           emit_shapes(w, SF_BLOCK_LINK_SHAPE, (uint32_t *)(void *)g->link_shapes.p, n) &&
           (!g->any_link_dropped ||
            sf_granule_encode_u32s(w, SF_BLOCK_LINK_DROPPED, u32s(&g->link_dropped), n)) &&
           (!g->any_link_flags ||
            sf_granule_encode_u32s(w, SF_BLOCK_LINK_FLAGS, u32s(&g->link_flags), n));
}

/* ---- the granule ---- */

static bool granule_encode_hash_ids(struct sf_span_block_writer *w)
{
    struct sf_granule_stage *g = &w->g;

    return sf_granule_count_hash_traces(w, g->tenant, g->trace_ids + g->is_continuation,
                                        g->n_traces - g->is_continuation);
}

static bool granule_encode_add_record(struct sf_span_block_writer *w,
                                      const struct sf_granule_info *g)
{
    struct sf_buf *b = &w->granules;

    sf_buf_add_u32le(b, g->tenant);
    sf_buf_add_u32le(b, g->n_rows);
    sf_buf_add_u32le(b, g->n_traces);
    sf_buf_add_u32le(b, g->is_continuation);
    sf_buf_add_u64le(b, (uint64_t)g->ts_min_ns);
    sf_buf_add_u64le(b, (uint64_t)g->ts_max_ns);
    sf_buf_add_u64le(b, g->dur_min_ns);
    sf_buf_add_u64le(b, g->dur_max_ns);
    sf_buf_add_u8(b, g->statuses);
    sf_buf_add_u8(b, g->kinds);
    sf_buf_add_u16le(b, 0);
    sf_buf_add_u32le(b, w->n_chunks_here);
    sf_buf_add_u32le(b, w->n_hashes_here);
    sf_buf_add_u32le(b, w->n_runs_here);
    return (sf_buf_ok(b) && sf_buf_ok(&w->hashes)) || sf_span_block_writer_fail(w, SF_ERR_NOMEM);
}

bool sf_granule_encode_begin(struct sf_span_block_writer *w, uint32_t n_rows)
{
    w->n_chunks_here = w->n_hashes_here = w->n_runs_here = 0;
    return w->group_rows + n_rows <= SF_BLOCK_GROUP_ROWS || sf_filter_stage_close_group(w);
}

bool sf_granule_encode_end(struct sf_span_block_writer *w, const struct sf_granule_info *g)
{
    if (!granule_encode_add_record(w, g))
        return false;
    w->group_rows += g->n_rows;
    w->n_granules++;
    w->info.n_rows += g->n_rows;
    w->info.n_traces += g->n_traces - g->is_continuation;
    w->info.ts_min_ns = g->ts_min_ns < w->info.ts_min_ns ? g->ts_min_ns : w->info.ts_min_ns;
    w->info.ts_max_ns = g->ts_max_ns > w->info.ts_max_ns ? g->ts_max_ns : w->info.ts_max_ns;
    return true;
}

bool sf_granule_encode(struct sf_span_block_writer *w)
{
    struct sf_granule_stage *g = &w->g;
    struct sf_granule_info info = {.tenant = g->tenant,
                                   .n_rows = g->n_rows,
                                   .n_traces = g->n_traces,
                                   .ts_min_ns = g->ts_min_ns,
                                   .ts_max_ns = g->ts_max_ns,
                                   .dur_min_ns = g->dur_min_ns,
                                   .dur_max_ns = g->dur_max_ns,
                                   .statuses = g->statuses,
                                   .kinds = g->kinds,
                                   .is_continuation = g->is_continuation};
    struct sf_call_columns calls = {.tenant = g->tenant,
                                    .n_rows = g->n_rows,
                                    .names = {.dict = &g->name_dict, .n = g->name_dict.n},
                                    .name = g->names,
                                    .resource = g->resources,
                                    .flags = g->flags,
                                    .start_ns = g->starts,
                                    .duration_ns = g->durations,
                                    .kind = g->kinds_col,
                                    .status = g->status_col,
                                    .parent = g->parents};

    if (g->n_rows == 0)
        return true;
    if (!sf_granule_encode_begin(w, g->n_rows) || !granule_encode_hash_ids(w) ||
        !sf_granule_count_add_runs(w, g->resources, g->n_rows) ||
        !sf_granule_count_calls(w, &calls) || !emit_rows(w) || !emit_events(w) || !emit_links(w) ||
        !emit_keys(w) || !sf_granule_encode_end(w, &info))
        return false;
    w->stage_no++;
    sf_granule_stage_reset(g);
    return true;
}

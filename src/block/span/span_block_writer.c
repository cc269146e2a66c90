/* span_block_writer.c - writes spans into one immutable block.
 *
 * The format (docs/format-span-block.md describes every field):
 *
 *   header 128 B | column chunks, granule by granule | sections | section table | tail 64 B
 *
 * A granule has up to 16,384 rows of one tenant, and ends between traces. Each of its columns is
 * one chunk; chunks have no header, their descriptors are together in section GRAN, so that a query
 * decides after one read which bytes of the file it needs. Tables that all granules share (strings,
 * resources, scopes, keys) and data for finding things without reading columns (trace index,
 * filters, operation sketches, frequent values) are sections.
 *
 * Why rows of a trace are stored together: the trace id is stored once, a parent is a row number of
 * one byte, starts are small numbers, and a query about whole traces reads one granule. Sorting by
 * service and name instead needs half as many bytes again.
 *
 * Why numbers are split into byte planes after subtracting the minimum and dividing by the common
 * divisor, and why texts that are UUIDs, addresses or numbers are stored as such: the remaining
 * bytes are either random or very regular, and a fast compressor (zstd 1) then achieves as much as
 * a slow one.
 *
 * Why shapes: spans of one operation have the same keys in the same order. The list of keys is
 * stored once per granule and a row refers to its list, so order and repetitions are preserved for
 * a quarter byte per row. A column has the values of one key, scope and type, in row order, for the
 * rows that have it.
 *
 * A block is valid if the following are: the tail's magic, format, checksum and file length; the
 * table's checksum; each section's and chunk's. A crash leaves a file without a tail, which is not
 * a block.
 *
 * A trace may be larger than a granule. Then the granules after the first are continuations: they
 * contain only rows of this trace. Parents outside the granule are stored by id, so each granule
 * can be decoded alone. A granule also ends when decoding it would take 16 MB: it has to fit into
 * the memory of one query.
 *
 * Granules are approximately in the order of time: a merge copies a granule as it is stored when
 * all its traces are complete, and encodes the others again. Readers rely only on a continuation
 * directly following the granule that it continues.
 *
 * A part in memory has the same bytes without compression, and without the filters that only save
 * reads (AFLT): examining the columns is as cheap. */
#include "block/span/span_block_writer.h"

#include "base/heap.h"
#include "base/list.h"
#include "block/format/fuse.h"
#include "block/format/section.h"
#include "block/rows/row_maps.h"
#include "block/span/writer.h"
#include "os/file.h"

enum {
    MAX_KEPT_SHAPES = 16384,          /* more are dropped between granules */
    OWN_ROWS = SF_LIMIT_GRANULE_ROWS, /* rows of spans that are not given as a rowset, */
    OWN_LEN = 1 << 30,                /* and reserved address space for them */
};

bool sf_span_block_writer_fail(struct sf_span_block_writer *w, enum sf_err err)
{
    if (!w->err)
        w->err = err;
    return false;
}

static bool reset_shapes(struct sf_span_block_writer *w)
{
    w->shapes_no++;
    return sf_shapes_reset(&w->shapes) || sf_span_block_writer_fail(w, SF_ERR_NOMEM);
}

static enum sf_err span_block_writer_say(const struct sf_span_block_writer *w, struct sf_why *why)
{
    switch (w->err) {
    case SF_OK: return SF_OK;
    case SF_ERR_NOMEM: return sf_fail(why, w->err, "block: no memory for the writer");
    case SF_ERR_LIMIT: return sf_fail(why, w->err, "block: too large, or too many tenants in it");
    case SF_ERR_INPUT: return sf_fail(why, w->err, "block: an attribute has no type");
    default: return w->err; /* a file error has its own message */
    }
}

enum sf_err sf_span_block_writer_new(const struct sf_span_block_options *options,
                                     struct sf_span_block_writer **out, struct sf_why *why)
{
    struct sf_span_block_writer *w = sf_heap_new(sizeof(*w));
    static const uint8_t NO_HEADER[SF_BLOCK_HEADER_LEN] = {0};
    bool is_ok;

    if (!w)
        return sf_fail(why, SF_ERR_NOMEM, "block: no memory for the writer");
    w->options = *options;
    if (!options->granule_len || options->granule_len > SF_GRANULE_MAX_LEN)
        w->options.granule_len = SF_GRANULE_MAX_LEN;
    if (!options->max_ops || options->max_ops > SF_BLOCK_MAX_OPS)
        w->options.max_ops = SF_BLOCK_MAX_OPS;
    w->info = options->info;
    w->info.n_rows = w->info.n_traces = 0;
    w->info.ts_min_ns = INT64_MAX;
    w->info.ts_max_ns = INT64_MIN;
    w->has_filters = options->is_compressed;
    is_ok = sf_granule_stage_init(&w->g) && reset_shapes(w);
    if (is_ok && options->is_compressed) {
        w->packer = sf_chunk_packer_new();
        is_ok = w->packer != NULL;
    }
    sf_granule_stage_reset(&w->g);
    sf_buf_add(&w->out, NO_HEADER, sizeof(NO_HEADER)); /* placeholder; written at the end */
    if (!is_ok || !sf_buf_ok(&w->out)) {
        sf_span_block_writer_free(w);
        return sf_fail(why, SF_ERR_NOMEM, "block: no memory for the writer");
    }
    *out = w;
    return SF_OK;
}

void sf_span_block_writer_free(struct sf_span_block_writer *w)
{
    if (!w)
        return;
    struct sf_buf *bufs[] = {&w->out,          &w->raw,         &w->nums,        &w->codes,
                             &w->granules,     &w->descs,       &w->hashes,      &w->runs,
                             &w->trace_hashes, &w->attr_hashes, &w->attr_groups, &w->attr_filters,
                             &w->attr_set};
    sf_chunk_packer_free(w->packer);
    sf_granule_stage_done(&w->g);
    for (uint32_t i = 0; i < w->n_keys; i++)
        sf_key_stage_done(&w->keys[i]);
    sf_heap_free(w->keys);
    sf_heap_free(w->active_keys);
    sf_heap_free(w->resource_stages);
    sf_heap_free(w->scope_stages);
    sf_shapes_done(&w->shapes);
    if (w->own)
        sf_rowset_done(w->own);
    sf_heap_free(w->own);
    sf_arena_done(&w->own_maps);
    sf_heap_free(w->ops);
    sf_heap_free(w->entries);
    sf_dict_done(&w->strings);
    sf_dict_done(&w->resources);
    sf_dict_done(&w->scopes);
    sf_dict_done(&w->key_ids);
    sf_dict_done(&w->op_ids);
    sf_dict_done(&w->spare);
    for (size_t i = 0; i < sizeof(bufs) / sizeof(*bufs); i++)
        sf_buf_done(bufs[i]);
    sf_heap_free(w);
}

size_t sf_span_block_writer_memory(const struct sf_span_block_writer *w)
{
    size_t sum = sizeof(*w) + sf_granule_stage_memory(&w->g) + sf_chunk_packer_memory(w->packer);

    for (uint32_t i = 0; i < w->n_keys; i++) {
        const struct sf_key_stage *k = &w->keys[i];
        sum += sf_dict_memory(&k->dict) + sf_dict_memory(&k->top) + k->top_cap * (size_t)4 +
               k->cap * (size_t)(k->nums ? 8 : 4);
    }
    sum += w->key_cap * (sizeof(*w->keys) + sizeof(*w->active_keys));
    sum += (w->resource_cap + w->scope_cap) * sizeof(*w->resource_stages);
    sum += sf_shapes_memory(&w->shapes);
    sum += w->entry_cap * sizeof(*w->entries);
    sum += w->op_cap * sizeof(*w->ops);
    sum += sf_dict_memory(&w->strings) + sf_dict_memory(&w->resources) +
           sf_dict_memory(&w->scopes) + sf_dict_memory(&w->key_ids) + sf_dict_memory(&w->op_ids) +
           sf_dict_memory(&w->spare);
    return sum + w->out.cap + w->raw.cap + w->nums.cap + w->codes.cap + w->granules.cap +
           w->descs.cap + w->hashes.cap + w->runs.cap + w->trace_hashes.cap + w->attr_hashes.cap +
           w->attr_groups.cap + w->attr_filters.cap + w->attr_set.cap;
}

/* ---- tables ---- */

static bool keep_record(struct sf_span_block_writer *w, struct sf_dict *records,
                        struct sf_resource_stage **stages, uint32_t *cap, uint32_t tenant,
                        uint32_t service, uint32_t *out_code)
{
    uint32_t n = records->n;

    if (!sf_list_room(stages, n, cap, 16) || !sf_dict_add(records, sf_buf_str(&w->raw), out_code))
        return false;
    if (*out_code == n)
        (*stages)[n] = (struct sf_resource_stage){.tenant = tenant, .service = service};
    return true;
}

enum sf_err sf_span_block_writer_resource(struct sf_span_block_writer *w, uint32_t tenant,
                                          const struct sf_resource *r, uint32_t *out_code,
                                          struct sf_why *why)
{
    uint32_t service;

    if (w->err)
        return span_block_writer_say(w, why);
    sf_buf_reset(&w->raw);
    if (!sf_table_encode_resource(w, tenant, r, &w->raw, &service) ||
        !keep_record(w, &w->resources, &w->resource_stages, &w->resource_cap, tenant, service,
                     out_code))
        sf_span_block_writer_fail(w, SF_ERR_NOMEM);
    return span_block_writer_say(w, why);
}

enum sf_err sf_span_block_writer_scope(struct sf_span_block_writer *w, uint32_t tenant,
                                       const struct sf_scope *s, uint32_t *out_code,
                                       struct sf_why *why)
{
    if (w->err)
        return span_block_writer_say(w, why);
    sf_buf_reset(&w->raw);
    if (!sf_table_encode_scope(w, tenant, s, &w->raw) ||
        !keep_record(w, &w->scopes, &w->scope_stages, &w->scope_cap, tenant, 0, out_code))
        sf_span_block_writer_fail(w, SF_ERR_NOMEM);
    return span_block_writer_say(w, why);
}

/* ---- rows ---- */

/* Writes encoded bytes to the file; a block in memory keeps them. */
static enum sf_err span_block_writer_drain(struct sf_span_block_writer *w, struct sf_why *why)
{
    enum sf_err err;

    if (!w->options.file || w->out.len == 0)
        return SF_OK;
    err = sf_file_write_at(w->options.file, w->out_off, w->out.p, w->out.len, why);
    if (err) {
        sf_span_block_writer_fail(w, err);
        return err;
    }
    w->out_off += w->out.len;
    sf_buf_reset(&w->out);
    return SF_OK;
}

static enum sf_err close_granule(struct sf_span_block_writer *w, struct sf_why *why)
{
    if (!sf_granule_encode(w))
        return span_block_writer_say(w, why);
    if (w->shapes.n > MAX_KEPT_SHAPES && !reset_shapes(w))
        return span_block_writer_say(w, why);
    return span_block_writer_drain(w, why);
}

enum sf_err sf_span_block_writer_cut(struct sf_span_block_writer *w, struct sf_why *why)
{
    enum sf_err err = w->err ? span_block_writer_say(w, why) : close_granule(w, why);
    if (!err && !sf_filter_stage_close_group(w))
        err = span_block_writer_say(w, why);
    w->has_newest = false;
    return err;
}

static enum sf_err check_rows(const struct sf_span_block_writer *w, uint32_t tenant,
                              const struct sf_span *spans, uint32_t n_spans, struct sf_why *why)
{
    if (n_spans == 0 || n_spans > SF_LIMIT_GRANULE_ROWS)
        return sf_fail(why, SF_ERR_INPUT, "block: a slice of %u rows", n_spans);
    for (uint32_t i = 0; i < n_spans; i++) {
        const struct sf_span *s = &spans[i];
        if (s->resource >= w->resources.n || w->resource_stages[s->resource].tenant != tenant)
            return sf_fail(why, SF_ERR_INPUT, "block: row %u has no resource of its tenant", i);
        if (s->scope >= w->scopes.n || w->scope_stages[s->scope].tenant != tenant)
            return sf_fail(why, SF_ERR_INPUT, "block: row %u has no scope of its tenant", i);
        if (!sf_trace_id_eq(s->trace_id, spans[0].trace_id))
            return sf_fail(why, SF_ERR_INPUT, "block: row %u is of another trace", i);
    }
    return SF_OK;
}

enum sf_err sf_span_block_writer_rows(struct sf_span_block_writer *w, struct sf_row_maps *maps,
                                      const uint32_t *rows, uint32_t n, struct sf_why *why)
{
    struct sf_granule_stage *g = &w->g;
    const struct sf_mem_row *head = sf_row_maps_row(maps, rows[0]);
    bool is_new = !w->has_newest || head->tenant != w->newest_tenant ||
                  !sf_trace_id_eq(head->trace_id, w->newest_trace);
    enum sf_err err = SF_OK;

    if (w->err)
        return span_block_writer_say(w, why);
    if (g->n_rows && is_new) {
        bool must_cut = g->is_continuation || head->tenant != g->tenant ||
                        g->len > w->options.granule_len / 8 * 7 ||
                        n > SF_LIMIT_GRANULE_ROWS - g->n_rows;
        err = must_cut ? close_granule(w, why) : SF_OK;
        if (err)
            return err;
    }
    if (w->has_newest && head->tenant != w->newest_tenant && !reset_shapes(w))
        return span_block_writer_say(w, why);
    w->newest_trace = head->trace_id;
    w->newest_tenant = head->tenant;
    w->has_newest = true;
    while (n > 0) {
        uint32_t taken;
        if (!sf_row_stage_rows(w, maps, is_new, rows, n, &taken))
            return span_block_writer_say(w, why);
        is_new = false;
        rows += taken;
        n -= taken;
        if (n > 0 || g->n_rows == SF_LIMIT_GRANULE_ROWS) {
            err = close_granule(w, why);
            if (err)
                return err;
        }
    }
    return SF_OK;
}

static bool has_own(struct sf_span_block_writer *w)
{
    if (w->own)
        return true;
    w->own = sf_heap_new(sizeof(*w->own));
    return w->own && sf_rowset_init(w->own, OWN_ROWS, OWN_LEN) &&
           sf_arena_init(&w->own_maps, OWN_LEN);
}

/* Numbers 0 to n - 1: rows in order, or codes that are already the block's. */
static uint32_t *counting(struct sf_arena *a, uint32_t n)
{
    uint32_t *list = sf_arena_raw(a, (size_t)n * sizeof(*list), 16);
    for (uint32_t i = 0; list && i < n; i++)
        list[i] = i;
    return list;
}

static enum sf_err write_own(struct sf_span_block_writer *w, struct sf_why *why)
{
    struct sf_arena *a = &w->own_maps;
    uint32_t n = (uint32_t)w->own->n_rows, *rows, *resources, *scopes;
    struct sf_row_maps m;

    a->at = 0;
    rows = counting(a, n);
    resources = counting(a, w->resources.n);
    scopes = counting(a, w->scopes.n);
    if (!rows || !resources || !scopes || !sf_row_maps_init(&m, w->own, resources, scopes, a)) {
        sf_span_block_writer_fail(w, SF_ERR_LIMIT);
        return span_block_writer_say(w, why);
    }
    return sf_span_block_writer_rows(w, &m, rows, n, why);
}

enum sf_err sf_span_block_writer_trace(struct sf_span_block_writer *w, uint32_t tenant,
                                       const struct sf_span *spans, const int64_t *index_ns,
                                       uint32_t n_spans, struct sf_why *why)
{
    enum sf_err err;

    if (w->err)
        return span_block_writer_say(w, why);
    err = check_rows(w, tenant, spans, n_spans, why);
    if (err)
        return err;
    if (!has_own(w)) {
        sf_span_block_writer_fail(w, SF_ERR_NOMEM);
        return span_block_writer_say(w, why);
    }
    sf_rowset_reset(w->own);
    for (uint32_t i = 0; !err && i < n_spans; i++)
        err = sf_rowset_add(w->own, tenant, &spans[i], index_ns[i], 0, NULL);
    if (!err)
        return write_own(w, why);
    sf_span_block_writer_fail(w, err);
    return span_block_writer_say(w, why);
}

enum sf_err sf_span_block_writer_granule(struct sf_span_block_writer *w,
                                         const struct sf_span_block_reader *r, uint32_t granule,
                                         const struct sf_block_codes *codes,
                                         struct sf_arena scratch, struct sf_why *why)
{
    enum sf_err err = SF_OK;

    if (w->err)
        return span_block_writer_say(w, why);
    if (w->g.is_continuation) /* it must directly follow the granule it continues */
        err = close_granule(w, why);
    if (w->g.n_rows == 0)
        w->has_newest = false;
    if (!err)
        err = sf_granule_carry(w, r, granule, codes, scratch, why);
    if (w->err)
        return span_block_writer_say(w, why);
    if (!err)
        return span_block_writer_drain(w, why);
    sf_span_block_writer_fail(w, err);
    return err;
}

/* ---- the end ---- */

static bool span_block_writer_add_section(struct sf_span_block_writer *w, struct sf_buf *table,
                                          uint16_t id, const struct sf_buf *content, bool is_paged)
{
    struct sf_section s = {.id = id, .off = w->out_off + w->out.len, .raw_len = content->len};
    size_t start = w->out.len;

    if (!sf_buf_ok(content))
        return sf_span_block_writer_fail(w, content->err);
    if (is_paged)
        sf_section_pages_encode(&w->out, sf_buf_bytes(content));
    else
        s.codec = sf_chunk_pack(w->packer, &w->out, sf_buf_bytes(content));
    if (!sf_buf_ok(&w->out))
        return sf_span_block_writer_fail(w, w->out.err);
    s.stored_len = w->out.len - start;
    s.checksum = sf_hash(w->out.p + start, s.stored_len);
    sf_section_encode(table, &s);
    return sf_buf_ok(table) || sf_span_block_writer_fail(w, table->err);
}

static bool add_tables(struct sf_span_block_writer *w, struct sf_buf *table, struct sf_buf *tmp)
{
    /* Keys first: counting them may add strings. */
    sf_buf_reset(tmp);
    if (!sf_table_encode_keys(w, tmp) ||
        !span_block_writer_add_section(w, table, SF_SECTION_KEY, tmp, false))
        return false;
    sf_buf_reset(tmp);
    sf_table_encode_strings(w, tmp);
    if (!span_block_writer_add_section(w, table, SF_SECTION_STR, tmp, false))
        return false;
    sf_buf_reset(tmp);
    sf_table_encode_records(&w->resources, tmp);
    if (!span_block_writer_add_section(w, table, SF_SECTION_RES, tmp, false))
        return false;
    sf_buf_reset(tmp);
    sf_table_encode_records(&w->scopes, tmp);
    if (!span_block_writer_add_section(w, table, SF_SECTION_SCOPE, tmp, false))
        return false;
    sf_buf_reset(tmp);
    sf_table_encode_operations(w, tmp);
    if (!span_block_writer_add_section(w, table, SF_SECTION_SVC, tmp, false))
        return false;
    sf_buf_reset(tmp);
    sf_table_encode_entries(w, tmp);
    if (!span_block_writer_add_section(w, table, SF_SECTION_ENTRY, tmp, false))
        return false;
    sf_buf_reset(tmp);
    sf_table_encode_granules(w, tmp);
    return span_block_writer_add_section(w, table, SF_SECTION_GRAN, tmp, false);
}

static bool add_indexes(struct sf_span_block_writer *w, struct sf_buf *table, struct sf_buf *tmp)
{
    uint64_t *hashes = (uint64_t *)(void *)w->trace_hashes.p;
    size_t n = w->trace_hashes.len / 8;
    enum sf_err err;

    sf_buf_reset(tmp);
    if (!sf_filter_stage_encode_trace_index(hashes, n, tmp))
        return sf_span_block_writer_fail(w, SF_ERR_NOMEM);
    if (!span_block_writer_add_section(w, table, SF_SECTION_TIDX, tmp, true))
        return false;
    sf_buf_reset(tmp);
    err = sf_fuse_build(tmp, hashes, n);
    if (err)
        return sf_span_block_writer_fail(w, err);
    if (!span_block_writer_add_section(w, table, SF_SECTION_TFLT, tmp, true))
        return false;
    if (!w->has_filters)
        return true;
    sf_buf_reset(tmp);
    return sf_filter_stage_encode_groups(w, tmp) &&
           span_block_writer_add_section(w, table, SF_SECTION_AFLT, tmp, true);
}

static bool span_block_writer_add_lists(struct sf_span_block_writer *w, struct sf_buf *table,
                                        struct sf_buf *tmp)
{
    const struct sf_span_block_options *o = &w->options;

    for (int i = 0; i < 2; i++) {
        const uint64_t *list = i ? o->source_ids : o->dup_hashes;
        size_t n = i ? o->n_source_ids : o->n_dup_hashes;
        if (n == 0)
            continue;
        sf_buf_reset(tmp);
        sf_buf_add(tmp, list, n * sizeof(*list));
        if (!span_block_writer_add_section(w, table, i ? SF_SECTION_SRC : SF_SECTION_DUP, tmp,
                                           false))
            return false;
    }
    return true;
}

static bool add_tail(struct sf_span_block_writer *w, const struct sf_buf *table)
{
    struct sf_block_tail tail = {.table_off = w->out_off + w->out.len,
                                 .table_len = table->len,
                                 .table_checksum = sf_hash(table->p, table->len),
                                 .block_id = w->info.block_id};
    uint8_t raw[SF_BLOCK_TAIL_LEN];

    tail.file_len = tail.table_off + tail.table_len + SF_BLOCK_TAIL_LEN;
    sf_section_block_tail_encode(SF_BLOCK_OF_SPANS, &tail, raw);
    sf_buf_add(&w->out, table->p, table->len);
    sf_buf_add(&w->out, raw, sizeof(raw));
    return sf_buf_ok(&w->out) || sf_span_block_writer_fail(w, w->out.err);
}

/* Writes the header last: it has the counts. */
static enum sf_err put_header(struct sf_span_block_writer *w, struct sf_why *why)
{
    uint8_t header[SF_BLOCK_HEADER_LEN];

    sf_section_block_header_encode(SF_BLOCK_OF_SPANS, &w->info, header);
    if (!w->options.file) {
        memcpy(w->out.p, header, sizeof(header));
        return SF_OK;
    }
    return sf_file_write_at(w->options.file, 0, header, sizeof(header), why);
}

enum sf_err sf_span_block_writer_finish(struct sf_span_block_writer *w, uint64_t *out_len,
                                        struct sf_span_block_info *out_info,
                                        struct sf_buf *out_memory, struct sf_why *why)
{
    struct sf_buf table = {0}, tmp = {0};
    enum sf_err err;

    if (w->err)
        return span_block_writer_say(w, why);
    err = close_granule(w, why);
    if (err)
        return err;
    if (w->info.n_rows == 0)
        w->info.ts_min_ns = w->info.ts_max_ns = 0;
    /* Free the columns first: building the filters of a large block takes as much memory. */
    sf_granule_stage_done(&w->g);
    if (!sf_filter_stage_close_group(w) || !add_tables(w, &table, &tmp) ||
        !add_indexes(w, &table, &tmp) || !span_block_writer_add_lists(w, &table, &tmp) ||
        !add_tail(w, &table))
        err = span_block_writer_say(w, why);
    sf_buf_done(&table);
    sf_buf_done(&tmp);
    if (!err)
        err = span_block_writer_drain(w, why);
    if (!err)
        err = put_header(w, why);
    if (err)
        return err;
    *out_len = w->out_off + w->out.len;
    if (out_info)
        *out_info = w->info;
    if (out_memory) {
        *out_memory = w->out;
        w->out = (struct sf_buf){0};
    }
    w->err = SF_ERR_INPUT; /* finished: nothing can be added any more */
    return SF_OK;
}

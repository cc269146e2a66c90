/* profile_block_writer.c - writes profiles into one immutable block.
 *
 *   header 128 B | sections | section table | tail 64 B
 *
 * The container is that of a span block with another letter in its magic numbers; everything is a
 * section. For each service of a tenant, in this order (docs/format-profile-block.md has the
 * fields):
 *
 *   CHK   samples of a series and ten-minute slot, stack by stack: node, then the profiles that
 *         have it and their values. Several such chunks share a section of about 256 KB.
 *   STX   detail rows, 4,096 to a granule: stacks, values, spans and traces
 *   DET   the same rows: threads, times, states
 *   SPX   span ids, sorted, each with the granules it is in; TRX the same of traces
 *   SYM   strings, functions, modules, locations and the stack tree
 *   SER   series and processes
 *   THR   threads of the detail rows: their numbers and names
 *   PTS   profiles: time, length, total, process. Time series read only this.
 *   IDX   where the chunks, granules and index pieces of the service are
 *
 * and for the whole block DIR (services), DUP and SRC.
 *
 * Why symbols belong to the service and not to the block: a query reads one service, and a merge
 * then needs memory for one service's tables only. In return, symbols that two services share (the
 * functions of a runtime) are stored twice.
 *
 * Why chunks are stored stack by stack: the value of a stack is similar in every profile of a
 * series, so values repeat, node numbers become steps of one byte, and merging a slot adds up
 * adjacent values. Values are divided by their common divisor first (10 ms in nanoseconds is 1).
 *
 * Why each granule of details has its own list of ids: rows of one thread are stored by time, so
 * the rows of a span are neighbours; a list of the granule's ids costs less than indexes into a
 * table of the whole block, and a granule can be read alone.
 *
 * Why stacks are stored apart from times: a query for the spans that ran a function reads the list
 * of a granule's stacks, and only if one of them contains the function, which rows and spans those
 * are.
 *
 * Why times and values are bins (block/format/bins.h): how long a wait took and when the next began
 * is noise with a certain distribution, and only the distribution can be compressed. Rows of one
 * series share a distribution, so each series of a granule has its own bins. What follows from
 * another column is not stored again: a wait is as long as its value, begins where its thread
 * stopped running, and has the state that its stack had before.
 *
 * A slot with several profiles also has a rollup: one value per node, which is what a query that
 * covers the slot reads. Rollups contain only information that follows from the chunk. */
#include "block/profile/profile_block_writer.h"

#include "base/hash.h"
#include "base/heap.h"
#include "base/invariant.h"
#include "base/num.h"
#include "base/time_unit.h"
#include "block/format/section.h"
#include "block/profile/profile_writer.h"
#include "os/file.h"

enum { DRAIN_LEN = 1 << 20, CHUNKS_LEN = 256 << 10 };

enum sf_err sf_profile_block_writer_no_memory(struct sf_profile_block_writer *w, struct sf_why *why)
{
    w->err = SF_ERR_NOMEM;
    return sf_fail(why, SF_ERR_NOMEM, "block: no memory for the writer");
}

const char *sf_profile_block_writer_section_name(uint16_t id)
{
    static const char *const NAMES[SF_PROFILE_SECTIONS] = {"?",   "DIR", "SYM", "SER", "PTS",
                                                           "IDX", "CHK", "DET", "SPX", "TRX",
                                                           "DUP", "SRC", "STX", "THR"};
    return id < SF_PROFILE_SECTIONS ? NAMES[id] : "?";
}

enum sf_err sf_profile_block_writer_new(const struct sf_profile_block_options *options,
                                        struct sf_profile_block_writer **out, struct sf_why *why)
{
    static const uint8_t NO_HEADER[SF_BLOCK_HEADER_LEN] = {0};
    struct sf_profile_block_writer *w = sf_heap_new(sizeof(*w));
    if (!w)
        return sf_fail(why, SF_ERR_NOMEM, "block: no memory for the writer");
    w->options = *options;
    w->info = options->info;
    w->info.n_rows = w->info.n_traces = 0;
    w->info.ts_min_ns = INT64_MAX;
    w->info.ts_max_ns = INT64_MIN;
    w->pending = sf_heap_new_n(SF_PROFILE_GRANULE_ROWS, sizeof(*w->pending));
    if (options->is_compressed)
        w->packer = sf_chunk_packer_new();
    sf_buf_add(&w->out, NO_HEADER, sizeof(NO_HEADER)); /* placeholder; written at the end */
    if (!w->pending || (options->is_compressed && !w->packer) || !sf_buf_ok(&w->out)) {
        sf_profile_block_writer_free(w);
        return sf_fail(why, SF_ERR_NOMEM, "block: no memory for the writer");
    }
    *out = w;
    return SF_OK;
}

void sf_profile_block_writer_free(struct sf_profile_block_writer *w)
{
    if (!w)
        return;
    sf_chunk_packer_free(w->packer);
    sf_buf_done(&w->out);
    sf_buf_done(&w->table);
    sf_buf_done(&w->dir);
    sf_buf_done(&w->raw);
    sf_buf_done(&w->chunks);
    sf_buf_done(&w->steps);
    sf_buf_done(&w->runs);
    sf_buf_done(&w->index_chunks);
    sf_buf_done(&w->index_granules);
    sf_heap_free(w->spans.list);
    sf_heap_free(w->traces.list);
    sf_heap_free(w->pending);
    sf_heap_free(w->is_thread);
    sf_heap_free(w);
}

size_t sf_profile_block_writer_memory(const struct sf_profile_block_writer *w)
{
    return sizeof(*w) + SF_PROFILE_GRANULE_ROWS * sizeof(*w->pending) + w->out.cap + w->table.cap +
           w->dir.cap + w->raw.cap + w->chunks.cap + w->steps.cap + w->runs.cap +
           w->index_chunks.cap + w->index_granules.cap + w->spans.cap * sizeof(*w->spans.list) +
           w->traces.cap * sizeof(*w->traces.list);
}

/* ---- sections ---- */

static enum sf_err profile_block_writer_drain(struct sf_profile_block_writer *w, struct sf_why *why)
{
    enum sf_err err;
    if (!w->options.file || w->out.len == 0)
        return SF_OK;
    err = sf_file_write_at(w->options.file, w->out_off, w->out.p, w->out.len, why);
    if (err) {
        w->err = err;
        return err;
    }
    w->out_off += w->out.len;
    sf_buf_reset(&w->out);
    return SF_OK;
}

static enum sf_err profile_block_writer_add_section(struct sf_profile_block_writer *w, uint16_t id,
                                                    uint32_t owner, size_t min_gain,
                                                    const struct sf_buf *content,
                                                    struct sf_why *why)
{
    struct sf_section s = {.id = id, .owner = owner, .raw_len = content->len};
    size_t start = w->out.len;
    if (!sf_buf_ok(content))
        return sf_profile_block_writer_no_memory(w, why);
    s.off = w->out_off + start;
    s.codec = sf_chunk_pack(w->packer, &w->out, sf_buf_bytes(content));
    if (s.codec != SF_CODEC_NONE && w->out.len - start > content->len - min_gain) {
        w->out.len = start;
        s.codec = sf_chunk_pack(NULL, &w->out, sf_buf_bytes(content));
    }
    if (!sf_buf_ok(&w->out))
        return sf_profile_block_writer_no_memory(w, why);
    s.stored_len = w->out.len - start;
    s.checksum = sf_hash(w->out.p + start, s.stored_len);
    sf_section_encode(&w->table, &s);
    if (!sf_buf_ok(&w->table))
        return sf_profile_block_writer_no_memory(w, why);
    return w->out.len >= DRAIN_LEN ? profile_block_writer_drain(w, why) : SF_OK;
}

enum sf_err sf_profile_block_writer_section(struct sf_profile_block_writer *w, uint16_t id,
                                            uint32_t owner, const struct sf_buf *content,
                                            struct sf_why *why)
{
    return profile_block_writer_add_section(w, id, owner, 0, content, why);
}

enum sf_err sf_profile_block_writer_quick_section(struct sf_profile_block_writer *w, uint16_t id,
                                                  uint32_t owner, const struct sf_buf *content,
                                                  struct sf_why *why)
{
    return profile_block_writer_add_section(w, id, owner, content->len / 4, content, why);
}

/* ---- a service ---- */

enum sf_err sf_profile_block_writer_begin(struct sf_profile_block_writer *w,
                                          const struct sf_profile_tables *tables,
                                          struct sf_why *why)
{
    SF_ASSERT(!w->t && !w->err);
    sf_heap_free(w->is_thread);
    w->is_thread = sf_heap_new_n((size_t)tables->n_threads + 1, sizeof(*w->is_thread));
    if (!w->is_thread)
        return sf_profile_block_writer_no_memory(w, why);
    w->t = tables;
    w->n_chunks = w->n_own_granules = w->n_alone = 0;
    w->fine_row = SF_NONE;
    w->first_granule = w->n_granules;
    w->n_entries = w->n_details = 0;
    w->ts_min_ns = INT64_MAX;
    w->ts_max_ns = INT64_MIN;
    w->spans.n = w->traces.n = 0;
    sf_buf_reset(&w->index_chunks);
    sf_buf_reset(&w->index_granules);
    sf_buf_reset(&w->chunks);
    return SF_OK;
}

static uint64_t common_divisor(const struct sf_profile_entry *entries, size_t n)
{
    uint64_t d = 0;
    for (size_t i = 0; i < n && d != 1; i++)
        d = sf_profile_gcd(d, sf_profile_size_of(entries[i].value));
    /* -2^63 is the only value whose magnitude does not fit a signed number. */
    return d == 0 || d > INT64_MAX ? 1 : d;
}

/* Writes nodes as steps, the number of entries of each, the rows of all entries, and their
 * values. */
static void encode_chunk(struct sf_buf *out, uint32_t first_row, bool is_rollup,
                         const struct sf_profile_entry *e, size_t n)
{
    uint64_t divisor = common_divisor(e, n);
    uint32_t node = 0, row = 0;
    sf_buf_add_varint(out, n);
    sf_buf_add_varint(out, divisor);
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && e[k].node == e[i].node; k++) {
            /* entries of one node */
        }
        sf_buf_add_varint(out, e[i].node - node);
        if (!is_rollup)
            sf_buf_add_varint(out, k - i);
        node = e[i].node;
    }
    for (size_t i = 0; !is_rollup && i < n; i++) {
        bool is_first = i == 0 || e[i].node != e[i - 1].node;
        sf_buf_add_varint(out, e[i].row - (is_first ? first_row : row));
        row = e[i].row;
    }
    for (size_t i = 0; i < n; i++)
        sf_profile_put_signed(out, e[i].value / (int64_t)divisor);
}

static enum sf_err close_chunks(struct sf_profile_block_writer *w, struct sf_why *why)
{
    enum sf_err err;
    if (w->chunks.len == 0)
        return SF_OK;
    err = sf_profile_block_writer_section(w, SF_PROFILE_CHK, w->n_chunk_sections, &w->chunks, why);
    w->n_chunk_sections++;
    sf_buf_reset(&w->chunks);
    return err;
}

enum sf_err sf_profile_block_writer_chunk(struct sf_profile_block_writer *w, uint32_t series,
                                          uint32_t first_row, uint32_t n_rows, bool is_rollup,
                                          const struct sf_profile_entry *entries, size_t n,
                                          struct sf_why *why)
{
    size_t start = w->chunks.len;
    struct sf_buf *x = &w->index_chunks;
    encode_chunk(&w->chunks, first_row, is_rollup, entries, n);
    sf_buf_add_varint(x, series);
    sf_buf_add_u8(x, is_rollup);
    sf_buf_add_varint(x, first_row);
    sf_buf_add_varint(x, n_rows);
    sf_buf_add_varint(x, n);
    sf_buf_add_varint(x, w->n_chunk_sections);
    sf_buf_add_varint(x, start);
    sf_buf_add_varint(x, w->chunks.len - start);
    if (!sf_buf_ok(&w->chunks) || !sf_buf_ok(x))
        return sf_profile_block_writer_no_memory(w, why);
    w->n_chunks++;
    if (!is_rollup || w->fine_row != first_row)
        w->n_entries += n;
    w->n_alone += is_rollup && w->fine_row != first_row;
    w->fine_row = is_rollup ? SF_NONE : first_row;
    return w->chunks.len >= CHUNKS_LEN ? close_chunks(w, why) : SF_OK;
}

/* ---- the end of a service ---- */

static void profile_block_writer_measure(struct sf_profile_block_writer *w)
{
    int64_t latest = sf_add_sat_i64(w->options.info.created_ns, SF_NS_PER_HOUR);
    for (uint32_t i = 0; i < w->t->n_rows; i++) {
        const struct sf_profile_row *r = &w->t->rows[i];
        int64_t end = sf_add_sat_i64(r->index_ns, r->duration_ns);
        if (w->options.info.created_ns && end > latest)
            end = latest > r->index_ns ? latest : r->index_ns;
        w->ts_min_ns = r->index_ns < w->ts_min_ns ? r->index_ns : w->ts_min_ns;
        w->ts_max_ns = end > w->ts_max_ns ? end : w->ts_max_ns;
    }
    if (w->t->n_rows == 0)
        w->ts_min_ns = w->ts_max_ns = 0;
    if (w->ts_min_ns < w->info.ts_min_ns)
        w->info.ts_min_ns = w->ts_min_ns;
    if (w->ts_max_ns > w->info.ts_max_ns)
        w->info.ts_max_ns = w->ts_max_ns;
    w->info.n_rows += w->n_entries;
    w->info.n_traces += w->t->n_rows;
}

static void add_to_directory(struct sf_profile_block_writer *w)
{
    const struct sf_profile_tables *t = w->t;
    struct sf_buf *out = &w->dir;
    sf_buf_add_u32le(out, t->tenant);
    sf_profile_put_text(out, t->service);
    sf_buf_add_u64le(out, (uint64_t)w->ts_min_ns);
    sf_buf_add_u64le(out, (uint64_t)w->ts_max_ns);
    sf_buf_add_varint(out, t->n_series);
    sf_buf_add_varint(out, t->n_processes);
    sf_buf_add_varint(out, t->n_rows);
    sf_buf_add_varint(out, t->symbols.n_nodes);
    sf_buf_add_varint(out, w->n_entries);
    sf_buf_add_varint(out, w->n_details);
    sf_buf_add_varint(out, w->n_alone);
}

static enum sf_err profile_block_writer_add_places(struct sf_profile_block_writer *w,
                                                   const struct sf_buf *spans, uint32_t n_spans,
                                                   const struct sf_buf *traces, uint32_t n_traces,
                                                   struct sf_why *why)
{
    sf_buf_reset(&w->raw);
    sf_buf_add_varint(&w->raw, w->n_chunks);
    sf_buf_add(&w->raw, w->index_chunks.p, w->index_chunks.len);
    sf_buf_add_varint(&w->raw, w->n_own_granules);
    sf_buf_add_varint(&w->raw, w->first_granule);
    sf_buf_add(&w->raw, w->index_granules.p, w->index_granules.len);
    sf_buf_add_varint(&w->raw, n_spans);
    sf_buf_add_varint(&w->raw, w->n_span_pieces - n_spans);
    sf_buf_add(&w->raw, spans->p, spans->len);
    sf_buf_add_varint(&w->raw, n_traces);
    sf_buf_add_varint(&w->raw, w->n_trace_pieces - n_traces);
    sf_buf_add(&w->raw, traces->p, traces->len);
    return sf_profile_block_writer_section(w, SF_PROFILE_IDX, w->n_services, &w->raw, why);
}

enum sf_err sf_profile_block_writer_end(struct sf_profile_block_writer *w, struct sf_why *why)
{
    struct sf_buf spans = {0}, traces = {0};
    uint32_t n_spans = 0, n_traces = 0;
    enum sf_err err = close_chunks(w, why);
    if (!err)
        err = sf_profile_details_encode_granule(w, why);
    if (!err)
        err = sf_profile_details_encode_index(w, SF_PROFILE_SPX, &w->spans, 8, &w->n_span_pieces,
                                              &spans, &n_spans, why);
    if (!err)
        err = sf_profile_details_encode_index(w, SF_PROFILE_TRX, &w->traces, 16, &w->n_trace_pieces,
                                              &traces, &n_traces, why);
    if (!err)
        err = sf_profile_tables_encode(w, why);
    if (!err)
        err = profile_block_writer_add_places(w, &spans, n_spans, &traces, n_traces, why);
    sf_buf_done(&spans);
    sf_buf_done(&traces);
    if (err)
        return err;
    profile_block_writer_measure(w);
    add_to_directory(w);
    w->n_services++;
    w->t = NULL;
    return sf_buf_ok(&w->dir) ? SF_OK : sf_profile_block_writer_no_memory(w, why);
}

/* ---- the end ---- */

static enum sf_err profile_block_writer_add_lists(struct sf_profile_block_writer *w,
                                                  struct sf_why *why)
{
    const struct sf_profile_block_options *o = &w->options;
    enum sf_err err;
    sf_buf_reset(&w->raw);
    sf_buf_add_varint(&w->raw, w->n_services);
    sf_buf_add(&w->raw, w->dir.p, w->dir.len);
    err = sf_profile_block_writer_section(w, SF_PROFILE_DIR, 0, &w->raw, why);
    for (int i = 0; !err && i < 2; i++) {
        const uint64_t *list = i ? o->source_ids : o->dup_hashes;
        size_t n = i ? o->n_source_ids : o->n_dup_hashes;
        if (n == 0)
            continue;
        sf_buf_reset(&w->raw);
        sf_buf_add(&w->raw, list, n * sizeof(*list));
        err = sf_profile_block_writer_section(w, i ? SF_PROFILE_SRC : SF_PROFILE_DUP, 0, &w->raw,
                                              why);
    }
    return err;
}

enum sf_err sf_profile_block_writer_finish(struct sf_profile_block_writer *w, uint64_t *out_len,
                                           struct sf_span_block_info *out_info,
                                           struct sf_buf *out_memory, struct sf_why *why)
{
    struct sf_block_tail tail = {.block_id = w->info.block_id};
    uint8_t raw[SF_BLOCK_TAIL_LEN], header[SF_BLOCK_HEADER_LEN];
    enum sf_err err;

    SF_ASSERT(!w->t && !w->err);
    if (w->n_services == 0)
        w->info.ts_min_ns = w->info.ts_max_ns = 0;
    err = profile_block_writer_add_lists(w, why);
    if (err)
        return err;
    tail.table_off = w->out_off + w->out.len;
    tail.table_len = w->table.len;
    tail.table_checksum = sf_hash(w->table.p, w->table.len);
    tail.file_len = tail.table_off + tail.table_len + SF_BLOCK_TAIL_LEN;
    sf_section_block_tail_encode(SF_BLOCK_OF_PROFILES, &tail, raw);
    sf_buf_add(&w->out, w->table.p, w->table.len);
    sf_buf_add(&w->out, raw, sizeof(raw));
    if (!sf_buf_ok(&w->out))
        return sf_profile_block_writer_no_memory(w, why);
    err = profile_block_writer_drain(w, why);
    if (err)
        return err;
    sf_section_block_header_encode(SF_BLOCK_OF_PROFILES, &w->info, header);
    if (w->options.file)
        err = sf_file_write_at(w->options.file, 0, header, sizeof(header), why);
    else
        memcpy(w->out.p, header, sizeof(header));
    if (err)
        return err;
    *out_len = tail.file_len;
    if (out_info)
        *out_info = w->info;
    if (out_memory) {
        *out_memory = w->out;
        w->out = (struct sf_buf){0};
    }
    w->err = SF_ERR_INPUT; /* finished: nothing can be added any more */
    return SF_OK;
}

/* span_block_reader.c - opens a block, checks header, tail and section table, and reads its bytes.
 * Sections, pages and chunks are then read with pread, checked against their checksums and
 * decompressed into the caller's arena. Tables are loaded in sets on request. */
#include "block/span/span_block_reader.h"

#include "base/hash.h"
#include "base/heap.h"
#include "base/num.h"
#include "block/format/encoding.h"
#include "block/span/reader.h"

enum {
    MAX_SECTIONS = 256,
    MAX_TABLE_LEN = 1 << 28, /* largest section that is read at once */
};
#define MAX_TABLES_LEN ((uint64_t)4 << 30) /* reserved address space for tables */

/* ---- bytes ---- */

enum sf_err sf_span_block_reader_bytes(const struct sf_span_block_reader *r, uint64_t off,
                                       size_t len, struct sf_arena *req, const uint8_t **out,
                                       struct sf_why *why)
{
    uint8_t *p;

    if (off > r->len || len > r->len - off)
        return sf_fail(why, SF_ERR_CORRUPT, "bytes %llu+%zu are beyond the end",
                       (unsigned long long)off, len);
    if (r->memory.p) {
        *out = r->memory.p + off;
        return SF_OK;
    }
    p = sf_arena_raw(req, len, 16);
    if (!p)
        return sf_span_block_reader_limit(why);
    *out = p;
    return sf_file_read_at(&r->file, off, p, len, why);
}

enum sf_err sf_span_block_reader_limit(struct sf_why *why)
{
    return sf_fail(why, SF_ERR_LIMIT, "block: a granule does not fit the memory given to read it");
}

enum sf_err sf_span_block_reader_corrupt(const struct sf_span_block_reader *r, uint32_t granule,
                                         uint32_t column, struct sf_why *why)
{
    return sf_fail(why, SF_ERR_CORRUPT, "block %016llx: granule %u, column %u: damaged",
                   (unsigned long long)r->info.block_id, granule, column);
}

/* Decompresses stored bytes; an uncompressed block in memory is read in place. */
static enum sf_err span_block_reader_inflate(const struct sf_span_block_reader *r, uint8_t codec,
                                             uint64_t off, size_t stored_len, size_t raw_len,
                                             uint64_t checksum, uint64_t mask, struct sf_arena *req,
                                             sf_bytes *out, struct sf_why *why)
{
    uint8_t *raw = NULL;
    const uint8_t *stored;
    struct sf_arena tmp, *stored_in = req;
    enum sf_err err;

    if (codec != SF_CODEC_NONE) {
        raw = sf_arena_raw(req, raw_len, 16);
        if (!raw)
            return sf_span_block_reader_limit(why);
        tmp = *req;
        stored_in = &tmp; /* freed after decompression */
    }
    err = sf_span_block_reader_bytes(r, off, stored_len, stored_in, &stored, why);
    if (err)
        return err;
    if (!r->is_trusted && (sf_hash(stored, stored_len) & mask) != checksum)
        return sf_fail(why, SF_ERR_CORRUPT, "checksum differs");
    if (codec == SF_CODEC_NONE) {
        *out = (sf_bytes){stored, stored_len};
        return SF_OK;
    }
    err = sf_chunk_unpack(codec, (sf_bytes){stored, stored_len}, raw, raw_len, tmp);
    if (err == SF_ERR_LIMIT)
        return sf_span_block_reader_limit(why);
    if (err)
        return sf_fail(why, err, "does not decompress");
    *out = (sf_bytes){raw, raw_len};
    return SF_OK;
}

enum sf_err sf_span_block_reader_section(const struct sf_span_block_reader *r, uint16_t id,
                                         struct sf_arena *req, sf_bytes *out, struct sf_why *why)
{
    const struct sf_section *s = &r->sections[id];
    enum sf_err err;

    if (!s->id) {
        *out = SF_BYTES_NONE;
        return SF_OK;
    }
    if (s->raw_len > MAX_TABLE_LEN || s->stored_len > MAX_TABLE_LEN || s->codec > UINT8_MAX ||
        !sf_chunk_is_plausible((uint8_t)s->codec, s->stored_len, s->raw_len))
        err = sf_fail(why, SF_ERR_CORRUPT, "impossible length");
    else
        err = span_block_reader_inflate(r, (uint8_t)s->codec, s->off, (size_t)s->stored_len,
                                        (size_t)s->raw_len, s->checksum, UINT64_MAX, req, out, why);
    if (err)
        sf_why_prefix(why, "block %016llx: section %s", (unsigned long long)r->info.block_id,
                      sf_section_name(id));
    return err;
}

enum sf_err sf_span_block_reader_paged(const struct sf_span_block_reader *r, uint16_t id,
                                       uint64_t off, void *to, size_t len, struct sf_arena scratch,
                                       struct sf_why *why)
{
    const struct sf_section *s = &r->sections[id];

    if (off > s->raw_len || len > s->raw_len - off)
        return sf_fail(why, SF_ERR_CORRUPT, "block: section %s: shorter than it says",
                       sf_section_name(id));
    while (len > 0) {
        struct sf_arena tmp = scratch;
        uint64_t page = off / SF_PAGE_DATA_LEN, page_off = page * SF_PAGE_LEN;
        size_t at = (size_t)(off % SF_PAGE_DATA_LEN), page_len, take;
        const uint8_t *p;
        enum sf_err err;

        page_len = s->stored_len - page_off < SF_PAGE_LEN ? (size_t)(s->stored_len - page_off)
                                                          : SF_PAGE_LEN;
        take = page_len - 8 - at < len ? page_len - 8 - at : len;
        err = sf_span_block_reader_bytes(r, s->off + page_off, page_len, &tmp, &p, why);
        if (err)
            return err;
        if (!r->is_trusted && !sf_section_page_is_intact(p, page_len, page))
            return sf_fail(why, SF_ERR_CORRUPT, "block %016llx: section %s: page %llu is damaged",
                           (unsigned long long)r->info.block_id, sf_section_name(id),
                           (unsigned long long)page);
        memcpy(to, p + at, take);
        to = (uint8_t *)to + take;
        off += take;
        len -= take;
    }
    return SF_OK;
}

enum { THREE_PAGES = 8 };

/* The three bytes are mostly in neighbouring pages: these are read at once, and only the used ones
 * are checked. */
enum sf_err sf_span_block_reader_three(const struct sf_span_block_reader *r, uint16_t id,
                                       const uint64_t off[3], uint8_t out[3],
                                       struct sf_arena scratch, struct sf_why *why)
{
    const struct sf_section *s = &r->sections[id];
    uint64_t first = UINT64_MAX, last = 0, len;
    const uint8_t *p;
    enum sf_err err = SF_OK;

    for (int i = 0; i < 3; i++) {
        uint64_t page = off[i] / SF_PAGE_DATA_LEN;
        first = page < first ? page : first;
        last = page > last ? page : last;
        if (off[i] >= s->raw_len)
            return sf_fail(why, SF_ERR_CORRUPT, "block: section %s: shorter than it says",
                           sf_section_name(id));
    }
    if (last - first >= THREE_PAGES) {
        for (int i = 0; !err && i < 3; i++)
            err = sf_span_block_reader_paged(r, id, off[i], &out[i], 1, scratch, why);
        return err;
    }
    len = (last - first + 1) * SF_PAGE_LEN;
    len = s->stored_len - first * SF_PAGE_LEN < len ? s->stored_len - first * SF_PAGE_LEN : len;
    err = sf_span_block_reader_bytes(r, s->off + first * SF_PAGE_LEN, (size_t)len, &scratch, &p,
                                     why);
    for (int i = 0; !err && i < 3; i++) {
        uint64_t page = off[i] / SF_PAGE_DATA_LEN, at = (page - first) * SF_PAGE_LEN;
        size_t page_len = len - at < SF_PAGE_LEN ? (size_t)(len - at) : SF_PAGE_LEN;
        if (!r->is_trusted && !sf_section_page_is_intact(p + at, page_len, page))
            err = sf_fail(why, SF_ERR_CORRUPT, "block %016llx: section %s: page %llu is damaged",
                          (unsigned long long)r->info.block_id, sf_section_name(id),
                          (unsigned long long)page);
        else
            out[i] = p[at + off[i] % SF_PAGE_DATA_LEN];
    }
    return err;
}

/* ---- chunks ---- */

struct sf_chunk_desc sf_span_block_reader_desc(const struct sf_span_block_reader *r, uint32_t place)
{
    return sf_chunk_desc_decode(r->descs + (size_t)place * SF_CHUNK_DESC_LEN);
}

uint32_t sf_span_block_reader_n_hashes(const struct sf_chunk_desc *d)
{
    switch (d->encoding) {
    case SF_ENC_FIX8:
    case SF_ENC_FIX16:
    case SF_ENC_CODE8:
    case SF_ENC_CODE16:
    case SF_ENC_CODE32:
    case SF_ENC_SHAPE: return 0;
    default: return d->cardinality;
    }
}

unsigned sf_span_block_reader_find_chunk(const struct sf_span_block_reader *r, uint32_t granule,
                                         uint32_t column, uint32_t *out_first,
                                         struct sf_chunk_desc out[2])
{
    const struct sf_granule_place *p = &r->places[granule];
    uint32_t low = p->first_chunk, high = p->first_chunk + p->n_chunks, last = high;
    unsigned n = 0;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (sf_load_u16le(r->descs + (size_t)mid * SF_CHUNK_DESC_LEN) < column)
            low = mid + 1;
        else
            high = mid;
    }
    *out_first = low;
    while (low < last && n < 2) {
        out[n] = sf_span_block_reader_desc(r, low++);
        if (out[n].column != column)
            break;
        n++;
    }
    return n;
}

unsigned sf_span_block_reader_descs(const struct sf_span_block_reader *r, uint32_t granule,
                                    uint32_t column, struct sf_chunk_desc out[2])
{
    uint32_t first;
    return sf_span_block_reader_find_chunk(r, granule, column, &first, out);
}

enum sf_err sf_span_block_reader_chunk(const struct sf_span_block_reader *r, uint32_t granule,
                                       const struct sf_chunk_desc *d, struct sf_arena *req,
                                       sf_bytes *out, struct sf_why *why)
{
    enum sf_err err = span_block_reader_inflate(r, d->codec, d->off, d->stored_len, d->raw_len,
                                                d->checksum, UINT32_MAX, req, out, why);
    if (err == SF_ERR_CORRUPT || err == SF_ERR_IO)
        sf_why_prefix(why, "block %016llx: granule %u, column %u",
                      (unsigned long long)r->info.block_id, granule, d->column);
    return err;
}

/* ---- open ---- */

static enum sf_err span_block_reader_check_section(const struct sf_span_block_reader *r,
                                                   const struct sf_section *s, struct sf_why *why)
{
    uint64_t data_len;
    bool is_paged = s->id >= SF_SECTION_TIDX && s->id <= SF_SECTION_AFLT;

    if (s->off < SF_BLOCK_HEADER_LEN || s->off > r->data_end ||
        s->stored_len > r->data_end - s->off)
        return sf_fail(why, SF_ERR_CORRUPT, "section %s lies outside the file",
                       sf_section_name(s->id));
    if (is_paged && (!sf_section_pages_data_len(s->stored_len, &data_len) ||
                     data_len != s->raw_len || s->codec != SF_CODEC_NONE))
        return sf_fail(why, SF_ERR_CORRUPT, "section %s has an impossible length",
                       sf_section_name(s->id));
    return SF_OK;
}

static enum sf_err read_section_table(struct sf_span_block_reader *r, const struct sf_block_tail *t,
                                      struct sf_why *why)
{
    uint8_t raw[MAX_SECTIONS * SF_SECTION_LEN];
    struct sf_arena none = {0};
    const uint8_t *p;
    enum sf_err err;

    if (t->table_len > sizeof(raw) || t->table_len % SF_SECTION_LEN ||
        t->table_off < SF_BLOCK_HEADER_LEN || t->table_off > r->len ||
        t->table_len + SF_BLOCK_TAIL_LEN != r->len - t->table_off)
        return sf_fail(why, SF_ERR_CORRUPT, "tail: the section table is not where it says");
    if (r->memory.p)
        err = sf_span_block_reader_bytes(r, t->table_off, (size_t)t->table_len, &none, &p, why);
    else
        err = sf_file_read_at(&r->file, t->table_off, raw, (size_t)t->table_len, why);
    if (err)
        return err;
    if (!r->memory.p)
        p = raw;
    if (!r->is_trusted && sf_hash(p, (size_t)t->table_len) != t->table_checksum)
        return sf_fail(why, SF_ERR_CORRUPT, "section table: checksum differs");
    r->data_end = t->table_off;
    for (size_t i = 0; i < t->table_len / SF_SECTION_LEN; i++) {
        struct sf_section s = sf_section_decode(p + i * SF_SECTION_LEN);
        if (s.id == 0 || s.id >= SF_SECTIONS)
            return sf_fail(why, SF_ERR_UNSUPPORTED, "section table: unknown section %u", s.id);
        if (r->sections[s.id].id)
            return sf_fail(why, SF_ERR_CORRUPT, "section %s is there twice", sf_section_name(s.id));
        err = span_block_reader_check_section(r, &s, why);
        if (err)
            return err;
        r->sections[s.id] = s;
    }
    for (uint16_t id = SF_SECTION_STR; id <= (uint16_t)SF_SECTION_TFLT; id++) {
        if (!r->sections[id].id)
            return sf_fail(why, SF_ERR_CORRUPT, "section %s is missing", sf_section_name(id));
    }
    return SF_OK;
}

static enum sf_err span_block_reader_read_frame(struct sf_span_block_reader *r, struct sf_why *why)
{
    uint8_t header[SF_BLOCK_HEADER_LEN], raw_tail[SF_BLOCK_TAIL_LEN];
    struct sf_block_tail tail;
    enum sf_err err;

    if (r->len < SF_BLOCK_HEADER_LEN + SF_BLOCK_TAIL_LEN)
        return sf_fail(why, SF_ERR_CORRUPT, "%llu bytes are not a block",
                       (unsigned long long)r->len);
    if (r->memory.p) {
        memcpy(header, r->memory.p, sizeof(header));
        memcpy(raw_tail, r->memory.p + r->len - sizeof(raw_tail), sizeof(raw_tail));
        err = SF_OK;
    } else {
        err = sf_file_read_at(&r->file, 0, header, sizeof(header), why);
        if (!err)
            err = sf_file_read_at(&r->file, r->len - sizeof(raw_tail), raw_tail, sizeof(raw_tail),
                                  why);
    }
    if (!err)
        err = sf_section_block_header_decode(SF_BLOCK_OF_SPANS, header, r->is_trusted, &r->info,
                                             why);
    if (!err)
        err = sf_section_block_tail_decode(SF_BLOCK_OF_SPANS, raw_tail, r->is_trusted, &tail, why);
    if (err)
        return err;
    if (tail.file_len != r->len || tail.block_id != r->info.block_id)
        return sf_fail(why, SF_ERR_CORRUPT,
                       "tail: it belongs to another block, or the file is truncated");
    return read_section_table(r, &tail, why);
}

/* ---- tables ---- */

static const struct table_set {
    unsigned needs; /* sets that must be loaded before */
    uint16_t sections[5];
} TABLE_SETS[SF_BLOCK_TABLE_SETS] = {
    {SF_TABLES_NONE, {SF_SECTION_STR}},
    {SF_TABLES_NAMES, {SF_SECTION_RES, SF_SECTION_SCOPE, SF_SECTION_KEY, SF_SECTION_GRAN}},
    {SF_TABLES_NAMES, {SF_SECTION_KEY}},
    {SF_TABLES_NAMES, {SF_SECTION_SVC, SF_SECTION_ENTRY}},
    {SF_TABLES_NONE, {SF_SECTION_DUP, SF_SECTION_SRC}},
};

/* Tables are parsed into structs that are larger than their bytes, by a bounded factor. */
static enum sf_err reserve_tables(struct sf_span_block_reader *r, unsigned set, struct sf_why *why)
{
    uint64_t sum = 1 << 20;

    for (size_t i = 0; i < 5 && TABLE_SETS[set].sections[i]; i++) {
        const struct sf_section *s = &r->sections[TABLE_SETS[set].sections[i]];
        if (s->raw_len > MAX_TABLE_LEN)
            return sf_fail(why, SF_ERR_CORRUPT, "section %s has an impossible length",
                           sf_section_name(s->id));
        sum += 64 * s->raw_len + s->stored_len;
    }
    if (sum > MAX_TABLES_LEN)
        sum = MAX_TABLES_LEN;
    if (!sf_arena_init(&r->tables[set], (size_t)sum))
        return sf_no_memory(why, "tables");
    return SF_OK;
}

static bool has_tables(const struct sf_span_block_reader *r, unsigned set)
{
    return atomic_load_explicit(&r->loaded, memory_order_relaxed) & set;
}

enum sf_err sf_span_block_reader_load(struct sf_span_block_reader *r, unsigned tables,
                                      struct sf_why *why)
{
    for (unsigned set = 0; set < SF_BLOCK_TABLE_SETS; set++) {
        if (tables & 1u << set)
            tables |= TABLE_SETS[set].needs;
    }
    for (unsigned set = 0; set < SF_BLOCK_TABLE_SETS; set++) {
        enum sf_err err;
        if (!(tables & 1u << set) || has_tables(r, 1u << set))
            continue;
        err = reserve_tables(r, set, why);
        if (!err)
            err = sf_table_decode_set(r, (enum sf_block_tables)(1u << set), why);
        if (err) {
            sf_arena_done(&r->tables[set]);
            sf_why_prefix(why, "block");
            return err;
        }
        atomic_fetch_or_explicit(&r->loaded, 1u << set, memory_order_relaxed);
    }
    return SF_OK;
}

static enum sf_err open_reader(struct sf_file *file, struct sf_buf *bytes, bool is_trusted,
                               unsigned tables, struct sf_span_block_reader **out,
                               struct sf_why *why)
{
    struct sf_span_block_reader *r = sf_heap_new(sizeof(*r));
    enum sf_err err = SF_OK;

    if (!r)
        return sf_fail(why, SF_ERR_NOMEM, "block: no memory for the reader");
    r->is_trusted = is_trusted;
    if (file) {
        r->file = *file; /* borrowed until open has succeeded */
        err = sf_file_len(file, &r->len, why);
    } else {
        r->memory = *bytes;
        r->len = bytes->len;
    }
    if (!err)
        err = span_block_reader_read_frame(r, why);
    if (err)
        sf_why_prefix(why, "block");
    else
        err = sf_span_block_reader_load(r, tables, why);
    if (err) {
        r->file = SF_FILE_NONE;
        r->memory = (struct sf_buf){0};
        sf_span_block_reader_close(r);
        return err;
    }
    if (file)
        *file = SF_FILE_NONE;
    else
        *bytes = (struct sf_buf){0};
    *out = r;
    return SF_OK;
}

enum sf_err sf_span_block_reader_open(struct sf_file *file, unsigned tables,
                                      struct sf_span_block_reader **out, struct sf_why *why)
{
    return open_reader(file, NULL, false, tables, out, why);
}

enum sf_err sf_span_block_reader_open_memory(struct sf_buf *bytes, unsigned tables,
                                             struct sf_span_block_reader **out, struct sf_why *why)
{
    return open_reader(NULL, bytes, false, tables, out, why);
}

enum sf_err sf_span_block_reader_open_trusted(struct sf_buf *bytes,
                                              struct sf_span_block_reader **out, struct sf_why *why)
{
    return open_reader(NULL, bytes, true, SF_TABLES_ALL, out, why);
}

void sf_span_block_reader_close(struct sf_span_block_reader *r)
{
    if (!r)
        return;
    sf_file_close(&r->file);
    sf_buf_done(&r->memory);
    for (unsigned set = 0; set < SF_BLOCK_TABLE_SETS; set++)
        sf_arena_done(&r->tables[set]);
    sf_heap_free(r);
}

/* ---- what is known once open ---- */

const struct sf_span_block_info *sf_span_block_reader_info(const struct sf_span_block_reader *r)
{
    return &r->info;
}

uint64_t sf_span_block_reader_len(const struct sf_span_block_reader *r)
{
    return r->len;
}

size_t sf_span_block_reader_memory(const struct sf_span_block_reader *r)
{
    size_t sum = sizeof(*r) + r->memory.cap;
    for (unsigned set = 0; set < SF_BLOCK_TABLE_SETS; set++)
        sum += sf_arena_used(&r->tables[set]);
    return sum;
}

uint64_t sf_span_block_reader_texts_len(const struct sf_span_block_reader *r)
{
    return sf_add_sat_u64(
        r->sections[SF_SECTION_STR].raw_len,
        sf_add_sat_u64(r->sections[SF_SECTION_RES].raw_len, r->sections[SF_SECTION_SCOPE].raw_len));
}

uint32_t sf_span_block_reader_granules(const struct sf_span_block_reader *r)
{
    SF_ASSERT(has_tables(r, SF_TABLES_ROWS));
    return r->n_granules;
}

const struct sf_granule_info *sf_span_block_reader_granule(const struct sf_span_block_reader *r,
                                                           uint32_t granule)
{
    SF_ASSERT(granule < r->n_granules);
    return &r->granules[granule];
}

const struct sf_resource *sf_span_block_reader_resources(const struct sf_span_block_reader *r,
                                                         uint32_t *out_n)
{
    SF_ASSERT(has_tables(r, SF_TABLES_ROWS));
    *out_n = r->n_resources;
    return r->resources;
}

uint32_t sf_span_block_reader_resource_tenant(const struct sf_span_block_reader *r,
                                              uint32_t resource)
{
    SF_ASSERT(resource < r->n_resources);
    return r->resource_tenants[resource];
}

const struct sf_scope *sf_span_block_reader_scopes(const struct sf_span_block_reader *r,
                                                   uint32_t *out_n)
{
    SF_ASSERT(has_tables(r, SF_TABLES_ROWS));
    *out_n = r->n_scopes;
    return r->scopes;
}

const struct sf_block_key *sf_span_block_reader_keys(const struct sf_span_block_reader *r,
                                                     uint32_t *out_n)
{
    SF_ASSERT(has_tables(r, SF_TABLES_VALUES));
    *out_n = r->n_keys;
    return r->keys;
}

const struct sf_block_operation *sf_span_block_reader_operations(
    const struct sf_span_block_reader *r, uint32_t *out_n)
{
    SF_ASSERT(has_tables(r, SF_TABLES_OPERATIONS));
    *out_n = r->n_ops;
    return r->ops;
}

const struct sf_block_entry *sf_span_block_reader_entries(const struct sf_span_block_reader *r,
                                                          uint32_t *out_n)
{
    SF_ASSERT(has_tables(r, SF_TABLES_OPERATIONS));
    *out_n = r->n_entries;
    return r->entries;
}

bool sf_span_block_reader_has_entries(const struct sf_span_block_reader *r)
{
    return r->sections[SF_SECTION_ENTRY].id != 0;
}

const uint64_t *sf_span_block_reader_dup_hashes(const struct sf_span_block_reader *r, size_t *out_n)
{
    SF_ASSERT(has_tables(r, SF_TABLES_LISTS));
    *out_n = r->n_dups;
    return r->dups;
}

const uint64_t *sf_span_block_reader_sources(const struct sf_span_block_reader *r, size_t *out_n)
{
    SF_ASSERT(has_tables(r, SF_TABLES_LISTS));
    *out_n = r->n_sources;
    return r->sources;
}

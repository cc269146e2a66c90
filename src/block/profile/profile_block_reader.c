/* profile_block_reader.c - opens a block of profiles and reads its sections.
 *
 * Opening checks header, tail, the checksum of the section table, and that sections are within the
 * file; then it reads the directory of services and the two lists DUP and SRC. Sections are found
 * by (id, owner) with a binary search, read, checked against their checksum and decompressed into
 * the caller's arena. profile_tables_decode.c and profile_samples.c decode their content. */
#include "block/profile/profile_block_reader.h"

#include "base/hash.h"
#include "base/heap.h"
#include "block/format/chunk.h"
#include "block/format/cursor.h"
#include "block/format/section.h"
#include "block/profile/profile_reader.h"

enum { MAX_SECTION_LEN = 1 << 28, MAX_TABLE_LEN = 1 << 28 };
#define TABLES_CAP ((size_t)1 << 30) /* reserved; only used pages count */

enum sf_err sf_profile_block_reader_damaged(const struct sf_profile_block_reader *r, uint16_t id,
                                            struct sf_why *why)
{
    return sf_fail(why, SF_ERR_CORRUPT, "block %016llx: section %s: damaged",
                   (unsigned long long)r->info.block_id, sf_profile_block_writer_section_name(id));
}

enum sf_err sf_profile_block_reader_no_room(struct sf_why *why)
{
    return sf_fail(why, SF_ERR_LIMIT, "block: profiles do not fit the memory given to read them");
}

/* ---- bytes ---- */

static enum sf_err profile_block_reader_read_bytes(const struct sf_profile_block_reader *r,
                                                   uint64_t off, size_t len, struct sf_arena *req,
                                                   const uint8_t **out, struct sf_why *why)
{
    uint8_t *p;
    if (off > r->len || len > r->len - off)
        return sf_fail(why, SF_ERR_CORRUPT, "bytes %llu+%zu are beyond the end",
                       (unsigned long long)off, len);
    if (r->memory.p) {
        *out = r->memory.p + off;
        return SF_OK;
    }
    p = sf_arena_raw(req, len ? len : 1, 16);
    if (!p)
        return sf_profile_block_reader_no_room(why);
    *out = p;
    return sf_file_read_at(&r->file, off, p, len, why);
}

static const struct sf_section *find_section(const struct sf_profile_block_reader *r, uint16_t id,
                                             uint32_t owner)
{
    uint32_t low = 0, high = r->n_sections;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        const struct sf_section *s = &r->sections[mid];
        if (s->id < id || (s->id == id && s->owner < owner))
            low = mid + 1;
        else
            high = mid;
    }
    return low < r->n_sections && r->sections[low].id == id && r->sections[low].owner == owner
               ? &r->sections[low]
               : NULL;
}

bool sf_profile_block_reader_has_section(const struct sf_profile_block_reader *r, uint16_t id,
                                         uint32_t owner)
{
    return find_section(r, id, owner) != NULL;
}

static enum sf_err profile_block_reader_inflate(const struct sf_profile_block_reader *r,
                                                const struct sf_section *s, struct sf_arena *req,
                                                sf_bytes *out, struct sf_why *why)
{
    size_t stored_len = (size_t)s->stored_len, raw_len = (size_t)s->raw_len;
    struct sf_arena tmp, *stored_in = req;
    const uint8_t *stored;
    uint8_t *raw = NULL;
    enum sf_err err;
    if (s->codec != SF_CODEC_NONE) {
        raw = sf_arena_raw(req, raw_len ? raw_len : 1, 16);
        if (!raw)
            return sf_profile_block_reader_no_room(why);
        tmp = *req;
        stored_in = &tmp; /* freed after decompression */
    }
    err = profile_block_reader_read_bytes(r, s->off, stored_len, stored_in, &stored, why);
    if (err)
        return err;
    if (!r->is_trusted && sf_hash(stored, stored_len) != s->checksum)
        return sf_fail(why, SF_ERR_CORRUPT, "checksum differs");
    if (s->codec == SF_CODEC_NONE) {
        *out = (sf_bytes){stored, stored_len};
        return SF_OK;
    }
    err = sf_chunk_unpack((uint8_t)s->codec, (sf_bytes){stored, stored_len}, raw, raw_len, tmp);
    if (err == SF_ERR_LIMIT)
        return sf_profile_block_reader_no_room(why);
    if (err)
        return sf_fail(why, err, "does not decompress");
    *out = (sf_bytes){raw, raw_len};
    return SF_OK;
}

enum sf_err sf_profile_block_reader_section(const struct sf_profile_block_reader *r, uint16_t id,
                                            uint32_t owner, struct sf_arena *req, sf_bytes *out,
                                            struct sf_why *why)
{
    const struct sf_section *s = find_section(r, id, owner);
    enum sf_err err;
    if (!s)
        err = sf_fail(why, SF_ERR_CORRUPT, "missing");
    else
        err = profile_block_reader_inflate(r, s, req, out, why);
    if (err == SF_ERR_CORRUPT || err == SF_ERR_IO)
        sf_why_prefix(why, "block %016llx: section %s %u", (unsigned long long)r->info.block_id,
                      sf_profile_block_writer_section_name(id), owner);
    return err;
}

uint64_t sf_profile_block_reader_symbols_len(const struct sf_profile_block_reader *r,
                                             uint32_t service)
{
    const struct sf_section *s = find_section(r, SF_PROFILE_SYM, service);
    return s ? s->raw_len : 0;
}

/* ---- open ---- */

static enum sf_err profile_block_reader_check_section(const struct sf_profile_block_reader *r,
                                                      const struct sf_section *s,
                                                      uint64_t table_off, struct sf_why *why)
{
    if (s->id == 0 || s->id >= SF_PROFILE_SECTIONS)
        return sf_fail(why, SF_ERR_UNSUPPORTED, "section table: section %u is not known", s->id);
    if (s->off < SF_BLOCK_HEADER_LEN || s->off > table_off || s->stored_len > table_off - s->off)
        return sf_fail(why, SF_ERR_CORRUPT, "section %s lies outside the file",
                       sf_profile_block_writer_section_name(s->id));
    if (s->stored_len > MAX_SECTION_LEN || s->raw_len > MAX_SECTION_LEN || s->codec > UINT8_MAX ||
        !sf_chunk_is_plausible((uint8_t)s->codec, s->stored_len, s->raw_len))
        return sf_fail(why, SF_ERR_CORRUPT, "section %s has an impossible length",
                       sf_profile_block_writer_section_name(s->id));
    (void)r;
    return SF_OK;
}

static int compare_sections(const struct sf_section *x, const struct sf_section *y)
{
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return x->owner < y->owner ? -1 : x->owner > y->owner;
}

/* The table is in writing order; lookups need the order of (id, owner). Owners increase within each
 * id, so a counting sort by id is enough. */
static bool sort_sections(struct sf_profile_block_reader *r, const struct sf_section *from)
{
    uint32_t at[SF_PROFILE_SECTIONS + 1] = {0};
    for (uint32_t i = 0; i < r->n_sections; i++)
        at[from[i].id + 1]++;
    for (unsigned id = 1; id <= SF_PROFILE_SECTIONS; id++)
        at[id] += at[id - 1];
    for (uint32_t i = 0; i < r->n_sections; i++)
        r->sections[at[from[i].id]++] = from[i];
    for (uint32_t i = 1; i < r->n_sections; i++) {
        if (compare_sections(&r->sections[i - 1], &r->sections[i]) >= 0)
            return false;
    }
    return true;
}

static enum sf_err profile_block_reader_read_table(struct sf_profile_block_reader *r,
                                                   const struct sf_block_tail *tail,
                                                   struct sf_why *why)
{
    struct sf_section *list;
    struct sf_arena scratch = {0};
    const uint8_t *raw;
    enum sf_err err = SF_OK;
    if (tail->table_len % SF_SECTION_LEN || tail->table_len > MAX_TABLE_LEN ||
        tail->table_off > r->len || tail->table_len > r->len - tail->table_off)
        return sf_fail(why, SF_ERR_CORRUPT, "section table: impossible length");
    r->n_sections = (uint32_t)(tail->table_len / SF_SECTION_LEN);
    r->sections = sf_arena_new_n(&r->tables, (size_t)r->n_sections + 1, sizeof(*r->sections));
    if (!r->sections || !sf_arena_init(&scratch, TABLES_CAP))
        return sf_fail(why, SF_ERR_NOMEM, "block: no memory for the section table");
    list = sf_arena_new_n(&scratch, (size_t)r->n_sections + 1, sizeof(*list));
    if (!list)
        err = sf_profile_block_reader_no_room(why);
    if (!err)
        err = profile_block_reader_read_bytes(r, tail->table_off, (size_t)tail->table_len, &scratch,
                                              &raw, why);
    if (!err && !r->is_trusted && sf_hash(raw, (size_t)tail->table_len) != tail->table_checksum)
        err = sf_fail(why, SF_ERR_CORRUPT, "section table: checksum differs");
    for (uint32_t i = 0; !err && i < r->n_sections; i++) {
        list[i] = sf_section_decode(raw + (size_t)i * SF_SECTION_LEN);
        err = profile_block_reader_check_section(r, &list[i], tail->table_off, why);
    }
    if (!err && !sort_sections(r, list))
        err = sf_fail(why, SF_ERR_CORRUPT, "section table: sections repeat or are out of order");
    sf_arena_done(&scratch);
    return err;
}

static enum sf_err read_directory(struct sf_profile_block_reader *r, struct sf_why *why)
{
    sf_bytes raw;
    struct sf_cursor c;
    uint64_t n;
    enum sf_err err = sf_profile_block_reader_section(r, SF_PROFILE_DIR, 0, &r->tables, &raw, why);
    if (err)
        return err;
    c = sf_cursor_of(raw);
    n = sf_cursor_varint(&c);
    if (n > sf_cursor_left(&c) / 27)
        return sf_profile_block_reader_damaged(r, SF_PROFILE_DIR, why);
    r->n_services = (uint32_t)n;
    r->services = sf_arena_new_n(&r->tables, (size_t)n + 1, sizeof(*r->services));
    if (!r->services)
        return sf_profile_block_reader_no_room(why);
    for (uint32_t i = 0; i < r->n_services; i++) {
        struct sf_profile_service *s = &r->services[i];
        s->tenant = sf_cursor_u32(&c);
        s->name = sf_cursor_str(&c);
        s->ts_min_ns = (int64_t)sf_cursor_u64(&c);
        s->ts_max_ns = (int64_t)sf_cursor_u64(&c);
        s->n_series = sf_cursor_varint32(&c);
        s->n_processes = sf_cursor_varint32(&c);
        s->n_rows = sf_cursor_varint32(&c);
        s->n_nodes = sf_cursor_varint32(&c);
        s->n_entries = sf_cursor_varint(&c);
        s->n_details = sf_cursor_varint(&c);
        s->n_alone = r->info.format > 1 ? sf_cursor_varint32(&c) : SF_NONE;
    }
    if (c.is_bad || sf_cursor_left(&c))
        return sf_profile_block_reader_damaged(r, SF_PROFILE_DIR, why);
    return SF_OK;
}

static enum sf_err profile_block_reader_read_list(struct sf_profile_block_reader *r, uint16_t id,
                                                  const uint64_t **out, size_t *out_n,
                                                  struct sf_why *why)
{
    sf_bytes raw;
    uint64_t *list;
    enum sf_err err;
    if (!find_section(r, id, 0))
        return SF_OK;
    err = sf_profile_block_reader_section(r, id, 0, &r->tables, &raw, why);
    if (err)
        return err;
    if (raw.len % 8)
        return sf_profile_block_reader_damaged(r, id, why);
    list = sf_arena_new_n(&r->tables, raw.len / 8 + 1, 8);
    if (!list)
        return sf_profile_block_reader_no_room(why);
    if (raw.len)
        memcpy(list, raw.p, raw.len);
    *out = list;
    *out_n = raw.len / 8;
    return SF_OK;
}

static enum sf_err profile_block_reader_read_frame(struct sf_profile_block_reader *r,
                                                   struct sf_why *why)
{
    struct sf_arena scratch = {0};
    struct sf_block_tail tail = {0};
    const uint8_t *header = NULL, *raw_tail = NULL;
    enum sf_err err;
    if (r->len < SF_BLOCK_HEADER_LEN + SF_BLOCK_TAIL_LEN)
        return sf_fail(why, SF_ERR_CORRUPT, "too short for a block");
    if (!sf_arena_init(&scratch, 4096))
        return sf_fail(why, SF_ERR_NOMEM, "block: no memory to open");
    err = profile_block_reader_read_bytes(r, 0, SF_BLOCK_HEADER_LEN, &scratch, &header, why);
    if (!err)
        err = profile_block_reader_read_bytes(r, r->len - SF_BLOCK_TAIL_LEN, SF_BLOCK_TAIL_LEN,
                                              &scratch, &raw_tail, why);
    if (!err)
        err = sf_section_block_header_decode(SF_BLOCK_OF_PROFILES, header, r->is_trusted, &r->info,
                                             why);
    if (!err)
        err = sf_section_block_tail_decode(SF_BLOCK_OF_PROFILES, raw_tail, r->is_trusted, &tail,
                                           why);
    if (!err && (tail.file_len != r->len || tail.block_id != r->info.block_id ||
                 tail.format != r->info.format))
        err = sf_fail(why, SF_ERR_CORRUPT, "tail: belongs to another file");
    if (!err)
        err = profile_block_reader_read_table(r, &tail, why);
    if (!err)
        err = read_directory(r, why);
    if (!err)
        err = profile_block_reader_read_list(r, SF_PROFILE_DUP, &r->dups, &r->n_dups, why);
    if (!err)
        err = profile_block_reader_read_list(r, SF_PROFILE_SRC, &r->sources, &r->n_sources, why);
    sf_arena_done(&scratch);
    return err;
}

static enum sf_err open_any(struct sf_file *file, struct sf_buf *bytes, bool is_trusted,
                            struct sf_profile_block_reader **out, struct sf_why *why)
{
    struct sf_profile_block_reader *r = sf_heap_new(sizeof(*r));
    enum sf_err err = SF_OK;
    if (!r || !sf_arena_init(&r->tables, TABLES_CAP)) {
        sf_heap_free(r);
        return sf_fail(why, SF_ERR_NOMEM, "block: no memory to open");
    }
    r->is_trusted = is_trusted;
    if (bytes) {
        r->memory = *bytes;
        r->len = bytes->len;
    } else {
        r->file = *file;
        err = sf_file_len(file, &r->len, why);
    }
    if (!err)
        err = profile_block_reader_read_frame(r, why);
    if (err) { /* on failure the caller keeps the bytes and the file */
        sf_arena_done(&r->tables);
        sf_heap_free(r);
        return err;
    }
    if (bytes)
        *bytes = (struct sf_buf){0};
    else
        *file = SF_FILE_NONE;
    *out = r;
    return SF_OK;
}

enum sf_err sf_profile_block_reader_open(struct sf_file *file, struct sf_profile_block_reader **out,
                                         struct sf_why *why)
{
    return open_any(file, NULL, false, out, why);
}

enum sf_err sf_profile_block_reader_open_memory(struct sf_buf *bytes,
                                                struct sf_profile_block_reader **out,
                                                struct sf_why *why)
{
    return open_any(NULL, bytes, false, out, why);
}

enum sf_err sf_profile_block_reader_open_trusted(struct sf_buf *bytes,
                                                 struct sf_profile_block_reader **out,
                                                 struct sf_why *why)
{
    return open_any(NULL, bytes, true, out, why);
}

void sf_profile_block_reader_close(struct sf_profile_block_reader *r)
{
    if (!r)
        return;
    sf_file_close(&r->file);
    sf_buf_done(&r->memory);
    sf_arena_done(&r->tables);
    sf_heap_free(r);
}

const struct sf_span_block_info *sf_profile_block_reader_info(
    const struct sf_profile_block_reader *r)
{
    return &r->info;
}

uint64_t sf_profile_block_reader_len(const struct sf_profile_block_reader *r)
{
    return r->len;
}

size_t sf_profile_block_reader_memory(const struct sf_profile_block_reader *r)
{
    return sizeof(*r) + sf_arena_used(&r->tables) + r->memory.cap;
}

const uint64_t *sf_profile_block_reader_dup_hashes(const struct sf_profile_block_reader *r,
                                                   size_t *out_n)
{
    *out_n = r->n_dups;
    return r->dups;
}

const uint64_t *sf_profile_block_reader_sources(const struct sf_profile_block_reader *r,
                                                size_t *out_n)
{
    *out_n = r->n_sources;
    return r->sources;
}

const struct sf_profile_service *sf_profile_block_reader_services(
    const struct sf_profile_block_reader *r, uint32_t *out_n)
{
    *out_n = r->n_services;
    return r->services;
}

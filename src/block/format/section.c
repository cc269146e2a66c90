#include "block/format/section.h"

#include "base/hash.h"
#include "base/num.h"

static void put_magic(char kind, char out[8])
{
    memcpy(out, (char[8]){'S', 'F', kind, '1', 'E', 'N', 'D', 0}, 8);
}

static const char *section_kind_name(char kind)
{
    return kind == SF_BLOCK_OF_SPANS ? "span" : "profile";
}

const char *sf_section_name(uint16_t id)
{
    static const char *const NAMES[SF_SECTIONS] = {"?",    "STR",  "RES",  "SCOPE", "KEY",
                                                   "SVC",  "GRAN", "TIDX", "TFLT",  "SFLT",
                                                   "AFLT", "DUP",  "SRC",  "ENTRY"};
    return id < SF_SECTIONS ? NAMES[id] : "?";
}

static uint16_t block_format(char kind)
{
    return kind == SF_BLOCK_OF_SPANS ? SF_SPAN_BLOCK_FORMAT : SF_PROFILE_BLOCK_FORMAT;
}

static bool section_is_known(char kind, uint16_t format)
{
    return format > 0 && format <= block_format(kind);
}

static enum sf_err section_refuse(const char *where, char kind, uint16_t format, struct sf_why *why)
{
    return sf_fail(why, SF_ERR_UNSUPPORTED,
                   "%s: format %u of a %s block, this version reads up to %u", where, format,
                   section_kind_name(kind), block_format(kind));
}

bool sf_section_block_header_is_newer(const uint8_t p[SF_BLOCK_HEADER_LEN], uint16_t *out_format)
{
    char kind = (char)p[2], magic[8];
    put_magic(kind, magic);
    *out_format = sf_load_u16le(p + 4);
    return (kind == SF_BLOCK_OF_SPANS || kind == SF_BLOCK_OF_PROFILES) &&
           memcmp(p, magic, 4) == 0 && sf_load_u64le(p + 120) == sf_hash(p, 120) &&
           *out_format > block_format(kind);
}

void sf_section_block_header_encode(char kind, const struct sf_span_block_info *info,
                                    uint8_t out[SF_BLOCK_HEADER_LEN])
{
    char magic[8];
    put_magic(kind, magic);
    memset(out, 0, SF_BLOCK_HEADER_LEN);
    memcpy(out, magic, 4);
    sf_store_u16le(out + 4, block_format(kind));
    out[6] = info->level;
    sf_store_u64le(out + 8, info->block_id);
    memcpy(out + 16, info->store_uuid, 16);
    sf_store_u64le(out + 32, (uint64_t)info->ts_min_ns);
    sf_store_u64le(out + 40, (uint64_t)info->ts_max_ns);
    sf_store_u64le(out + 48, info->n_rows);
    sf_store_u64le(out + 56, info->n_traces);
    sf_store_u64le(out + 64, info->lsn_lo);
    sf_store_u64le(out + 72, info->lsn_hi);
    sf_store_u64le(out + 80, (uint64_t)info->created_ns);
    sf_store_u64le(out + 88, info->flush_no);
    sf_store_u16le(out + 96, info->n_siblings);
    sf_store_u16le(out + 98, info->sibling);
    sf_store_u32le(out + 100, info->tenant);
    sf_store_u64le(out + 120, sf_hash(out, 120));
}

enum sf_err sf_section_block_header_decode(char kind, const uint8_t p[SF_BLOCK_HEADER_LEN],
                                           bool is_trusted, struct sf_span_block_info *out,
                                           struct sf_why *why)
{
    struct sf_span_block_info info = {
        .format = sf_load_u16le(p + 4),
        .level = p[6],
        .block_id = sf_load_u64le(p + 8),
        .ts_min_ns = (int64_t)sf_load_u64le(p + 32),
        .ts_max_ns = (int64_t)sf_load_u64le(p + 40),
        .n_rows = sf_load_u64le(p + 48),
        .n_traces = sf_load_u64le(p + 56),
        .lsn_lo = sf_load_u64le(p + 64),
        .lsn_hi = sf_load_u64le(p + 72),
        .created_ns = (int64_t)sf_load_u64le(p + 80),
        .flush_no = sf_load_u64le(p + 88),
        .n_siblings = sf_load_u16le(p + 96),
        .sibling = sf_load_u16le(p + 98),
        .tenant = sf_load_u32le(p + 100),
    };
    char magic[8];

    put_magic(kind, magic);
    if (memcmp(p, magic, 4) != 0)
        return sf_fail(why, SF_ERR_CORRUPT, "header: not a %s block", section_kind_name(kind));
    /* Check the checksum first: a flipped bit in the format number is damage, not a new format. */
    if (!is_trusted && sf_load_u64le(p + 120) != sf_hash(p, 120))
        return sf_fail(why, SF_ERR_CORRUPT, "header: checksum differs");
    if (!section_is_known(kind, info.format))
        return section_refuse("header", kind, info.format, why);
    if (p[7])
        return sf_fail(why, SF_ERR_UNSUPPORTED, "header: flags %u, this version knows none", p[7]);
    for (int i = 104; i < 120; i++) {
        if (p[i])
            return sf_fail(why, SF_ERR_CORRUPT, "header: byte %d is not zero", i);
    }
    memcpy(info.store_uuid, p + 16, 16);
    *out = info;
    return SF_OK;
}

void sf_section_block_tail_encode(char kind, const struct sf_block_tail *t,
                                  uint8_t out[SF_BLOCK_TAIL_LEN])
{
    char magic[8];
    put_magic(kind, magic);
    memset(out, 0, SF_BLOCK_TAIL_LEN);
    sf_store_u64le(out, t->table_off);
    sf_store_u64le(out + 8, t->table_len);
    sf_store_u64le(out + 16, t->table_checksum);
    sf_store_u64le(out + 24, t->file_len);
    sf_store_u64le(out + 32, t->block_id);
    sf_store_u16le(out + 40, block_format(kind));
    sf_store_u64le(out + 48, sf_hash(out, 48));
    memcpy(out + 56, magic, sizeof(magic));
}

enum sf_err sf_section_block_tail_decode(char kind, const uint8_t p[SF_BLOCK_TAIL_LEN],
                                         bool is_trusted, struct sf_block_tail *out,
                                         struct sf_why *why)
{
    char magic[8];
    put_magic(kind, magic);
    if (memcmp(p + 56, magic, sizeof(magic)) != 0)
        return sf_fail(why, SF_ERR_CORRUPT, "tail: missing, the file was cut or never finished");
    if (!is_trusted && sf_load_u64le(p + 48) != sf_hash(p, 48))
        return sf_fail(why, SF_ERR_CORRUPT, "tail: checksum differs");
    if (!section_is_known(kind, sf_load_u16le(p + 40)))
        return section_refuse("tail", kind, sf_load_u16le(p + 40), why);
    *out = (struct sf_block_tail){
        .format = sf_load_u16le(p + 40),
        .table_off = sf_load_u64le(p),
        .table_len = sf_load_u64le(p + 8),
        .table_checksum = sf_load_u64le(p + 16),
        .file_len = sf_load_u64le(p + 24),
        .block_id = sf_load_u64le(p + 32),
    };
    return SF_OK;
}

void sf_section_encode(struct sf_buf *out, const struct sf_section *s)
{
    sf_buf_add_u16le(out, s->id);
    sf_buf_add_u16le(out, s->codec);
    sf_buf_add_u32le(out, s->owner);
    sf_buf_add_u64le(out, s->off);
    sf_buf_add_u64le(out, s->stored_len);
    sf_buf_add_u64le(out, s->raw_len);
    sf_buf_add_u64le(out, s->checksum);
}

struct sf_section sf_section_decode(const uint8_t p[SF_SECTION_LEN])
{
    return (struct sf_section){
        .id = sf_load_u16le(p),
        .codec = sf_load_u16le(p + 2),
        .owner = sf_load_u32le(p + 4),
        .off = sf_load_u64le(p + 8),
        .stored_len = sf_load_u64le(p + 16),
        .raw_len = sf_load_u64le(p + 24),
        .checksum = sf_load_u64le(p + 32),
    };
}

void sf_section_pages_encode(struct sf_buf *out, sf_bytes data)
{
    for (uint64_t page = 0; data.len; page++) {
        size_t len = data.len < SF_PAGE_DATA_LEN ? data.len : SF_PAGE_DATA_LEN;
        sf_buf_add(out, data.p, len);
        sf_buf_add_u64le(out, sf_hash_seeded(data.p, len, page));
        data.p += len;
        data.len -= len;
    }
}

bool sf_section_pages_data_len(uint64_t stored_len, uint64_t *out)
{
    uint64_t whole = stored_len / SF_PAGE_LEN, rest = stored_len % SF_PAGE_LEN;
    if (rest > 0 && rest <= 8)
        return false;
    *out = whole * SF_PAGE_DATA_LEN + (rest ? rest - 8 : 0);
    return true;
}

bool sf_section_page_is_intact(const uint8_t *page, size_t len, uint64_t page_no)
{
    return len > 8 && sf_load_u64le(page + len - 8) == sf_hash_seeded(page, len - 8, page_no);
}

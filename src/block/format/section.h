/* section.h - the container format: header, section table, tail, and sections that are read by
 * pages.
 *
 *   header 128 B | column chunks | sections | section table | tail 64 B
 *
 * A file without a valid tail is not a block. */
#pragma once
#include "base/buf.h"
#include "block/span/span_block.h"

#define SF_BLOCK_OF_SPANS    'S' /* the letter in the magic numbers */
#define SF_BLOCK_OF_PROFILES 'P'
#define SF_BLOCK_HEADER_LEN  128
#define SF_BLOCK_TAIL_LEN    64
#define SF_SECTION_LEN       40 /* one entry of the section table */

enum sf_section_id { /* numbers are part of the format */
                     SF_SECTION_STR = 1,
                     SF_SECTION_RES,
                     SF_SECTION_SCOPE,
                     SF_SECTION_KEY,
                     SF_SECTION_SVC,
                     SF_SECTION_GRAN,
                     SF_SECTION_TIDX,
                     SF_SECTION_TFLT,
                     SF_SECTION_SFLT, /* up to format 3; nothing reads it */
                     SF_SECTION_AFLT,
                     SF_SECTION_DUP,
                     SF_SECTION_SRC,
                     SF_SECTION_ENTRY,
                     SF_SECTIONS
};

struct sf_section {
    uint16_t id, codec;
    uint32_t owner;
    uint64_t off, stored_len, raw_len, checksum;
};

struct sf_block_tail {
    uint16_t format; /* decoded */
    uint64_t table_off, table_len, table_checksum, file_len, block_id;
};

const char *sf_section_name(uint16_t id);

/* The formats in which blocks are written; these and earlier ones are read. */
enum { SF_SPAN_BLOCK_FORMAT = 4, SF_PROFILE_BLOCK_FORMAT = 3 };
/* The first format whose granules a merge copies into a block of the current one. */
enum { SF_SPAN_BLOCK_CARRIED = 2 };

void sf_section_block_header_encode(char kind, const struct sf_span_block_info *info,
                                    uint8_t out[SF_BLOCK_HEADER_LEN]);
/* CORRUPT, or UNSUPPORTED for a later format. `is_trusted` skips checksums, for fuzzing. */
enum sf_err sf_section_block_header_decode(char kind, const uint8_t p[SF_BLOCK_HEADER_LEN],
                                           bool is_trusted, struct sf_span_block_info *out,
                                           struct sf_why *why);
void sf_section_block_tail_encode(char kind, const struct sf_block_tail *t,
                                  uint8_t out[SF_BLOCK_TAIL_LEN]);
enum sf_err sf_section_block_tail_decode(char kind, const uint8_t p[SF_BLOCK_TAIL_LEN],
                                         bool is_trusted, struct sf_block_tail *out,
                                         struct sf_why *why);
/* Is it a valid header of a block (of either kind) with a format of a later version? For callers
 * that must not change such files. */
bool sf_section_block_header_is_newer(const uint8_t p[SF_BLOCK_HEADER_LEN], uint16_t *out_format);
void sf_section_encode(struct sf_buf *out, const struct sf_section *s);
struct sf_section sf_section_decode(const uint8_t p[SF_SECTION_LEN]);

/* Sections that are searched in place are stored in pages with a checksum each, so that a search
 * reads and checks only a few of them: 4,088 bytes, then XXH3 seeded with the page's number. The
 * last page may be shorter. */
#define SF_PAGE_LEN      4096
#define SF_PAGE_DATA_LEN 4088

void sf_section_pages_encode(struct sf_buf *out, sf_bytes data);
/* Bytes of content in `stored_len` bytes of pages; false: invalid length. */
bool sf_section_pages_data_len(uint64_t stored_len, uint64_t *out);
bool sf_section_page_is_intact(const uint8_t *page, size_t len, uint64_t page_no);

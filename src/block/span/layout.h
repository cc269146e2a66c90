/* layout.h - column numbers and hashes of the span block format, for writer and reader. */
#pragma once
#include "base/hash.h"
#include "block/span/span_block.h"
#include "model/select.h"

enum sf_block_column { /* part of the format; a missing column means all values are zero */
                       SF_BLOCK_TRACE_ID = 1, /* per trace */
                       SF_BLOCK_TRACE_ROWS = 2,
                       SF_BLOCK_TRACE_START =
                           3,                /* earliest start, minus that of the trace before */
                       SF_BLOCK_SPAN_ID = 4, /* one entry per row from here on */
                       SF_BLOCK_PARENT = 5,
                       SF_BLOCK_PARENT_ROW = 6, /* for rows with PARENT 254 */
                       SF_BLOCK_PARENT_ID = 7,  /* for rows with PARENT 255 */
                       SF_BLOCK_START = 8,      /* minus TRACE_START */
                       SF_BLOCK_DURATION = 9,   /* end minus start */
                       SF_BLOCK_RESOURCE = 10,
                       SF_BLOCK_SCOPE = 11,
                       SF_BLOCK_NAME = 12,
                       SF_BLOCK_KIND =
                           13, /* 4 bits each of kind and status; only the kind if STATUS exists */
                       SF_BLOCK_STATUS_MSG = 14,
                       SF_BLOCK_TRACE_STATE = 15,
                       SF_BLOCK_FLAGS = 16,
                       SF_BLOCK_DROPPED_ATTRS = 17,
                       SF_BLOCK_DROPPED_EVENTS = 18,
                       SF_BLOCK_DROPPED_LINKS = 19,
                       SF_BLOCK_SHAPE = 20,
                       SF_BLOCK_STATUS = 21,
                       SF_BLOCK_INDEX = 22,      /* index time minus start */
                       SF_BLOCK_EVENTS = 30,     /* events of each row */
                       SF_BLOCK_EVENT_TIME = 31, /* per event: minus the row's start */
                       SF_BLOCK_EVENT_NAME = 32,
                       SF_BLOCK_EVENT_SHAPE = 33,
                       SF_BLOCK_EVENT_DROPPED = 34,
                       SF_BLOCK_LINKS = 36,
                       SF_BLOCK_LINK_TRACE_ID = 37,
                       SF_BLOCK_LINK_SPAN_ID = 38,
                       SF_BLOCK_LINK_STATE = 39,
                       SF_BLOCK_LINK_SHAPE = 40,
                       SF_BLOCK_LINK_DROPPED = 41,
                       SF_BLOCK_LINK_FLAGS = 42,
                       SF_BLOCK_FIRST_KEY = 64 /* values of key k are column 64 + k */
};

enum {
    SF_BLOCK_MAX_KEYS = UINT16_MAX + 1 - SF_BLOCK_FIRST_KEY,
    SF_BLOCK_PARENT_MAX = 253, /* parents in rows up to here fit the byte */
    SF_BLOCK_PARENT_WIDE = 254,
    SF_BLOCK_PARENT_FOREIGN = 255,
    SF_BLOCK_MAX_HASHES = 256,   /* dictionaries up to this size keep a hash per value */
    SF_BLOCK_GROUP_ROWS = 65536, /* rows that share one attribute filter */
    SF_BLOCK_MAX_TOP = 1000,     /* frequent values kept per key */
    SF_BLOCK_GRANULE_REC_LEN = 64,
    SF_BLOCK_GRAN_HEAD_LEN = 16,
    SF_BLOCK_GROUP_REC_LEN = 24,
};

/* The filters of section AFLT; those of TFLT are always fuse filters. BESIDE: Bloom filters whose
 * blocks of the same number are stored next to each other. */
enum sf_filter_kind { SF_FILTER_FUSE = 0, SF_FILTER_BLOOM = 1, SF_FILTER_BESIDE = 2 };

static inline bool sf_block_type_is_text(uint8_t type)
{
    enum { /* NONE: attributes without their own column, see KEY */
           TEXTS = 1 << SF_VALUE_STR | 1 << SF_VALUE_BYTES | 1 << SF_VALUE_ARRAY |
                   1 << SF_VALUE_KVLIST | 1 << SF_VALUE_NONE
    };
    return TEXTS >> type & 1;
}

static inline uint64_t sf_block_key_hash(uint32_t tenant, uint8_t scope, uint8_t type, sf_str name)
{
    return sf_hash_mix(sf_hash_mix(sf_hash_str(name), tenant), (uint64_t)scope << 8 | type);
}
static inline uint64_t sf_block_number_hash(uint64_t bits)
{
    return sf_hash_mix(0x5350414e, bits);
}

struct sf_granule_rec { /* of section GRAN */
    struct sf_granule_info info;
    uint32_t n_chunks, n_hashes, n_runs;
};

#include "wal/wal_segment.h"

#include <string.h>

#include "base/hash.h"
#include "base/num.h"

enum { HEADER_LEN = 64, COPY_OFF = SF_WAL_PAGE / 2 };
static const uint8_t magic[8] = "SFWAL\0\0";

void sf_wal_segment_encode_header(const struct sf_wal_segment *s, uint8_t out[HEADER_LEN])
{
    memset(out, 0, HEADER_LEN);
    memcpy(out, magic, sizeof(magic));
    sf_store_u64le(out + 8, s->sequence);
    sf_store_u64le(out + 16, s->first_lsn);
    sf_store_u64le(out + 24, (uint64_t)s->created_ns);
    memcpy(out + 32, s->store_uuid, sizeof(s->store_uuid));
    sf_store_u16le(out + 48, SF_WAL_FORMAT);
    sf_store_u32le(out + 52, s->n_pages);
    sf_store_u64le(out + 56, sf_hash(out, 56));
}

void sf_wal_segment_encode(struct sf_wal_segment *s, uint8_t page[SF_WAL_PAGE])
{
    memset(page, 0, SF_WAL_PAGE);
    sf_wal_segment_encode_header(s, page);
    s->seed = sf_load_u64le(page + 56);
    memcpy(page + COPY_OFF, page, HEADER_LEN);
}

bool sf_wal_segment_decode_header(const uint8_t at[HEADER_LEN], struct sf_wal_segment *out)
{
    uint64_t seed = sf_load_u64le(at + 56);
    if (memcmp(at, magic, sizeof(magic)) != 0 || seed != sf_hash(at, 56))
        return false;
    if (sf_load_u16le(at + 48) != SF_WAL_FORMAT)
        return false;
    out->sequence = sf_load_u64le(at + 8);
    out->first_lsn = sf_load_u64le(at + 16);
    out->created_ns = (int64_t)sf_load_u64le(at + 24);
    memcpy(out->store_uuid, at + 32, sizeof(out->store_uuid));
    out->n_pages = sf_load_u32le(at + 52);
    out->seed = seed;
    return true;
}

static bool wal_segment_is_zero(const uint8_t *p, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (p[i])
            return false;
    }
    return true;
}

enum sf_wal_segment_state sf_wal_segment_decode(const uint8_t page[SF_WAL_PAGE],
                                                struct sf_wal_segment *out)
{
    struct sf_wal_segment copy = {0};
    bool has_first = sf_wal_segment_decode_header(page, out);
    bool has_copy = sf_wal_segment_decode_header(page + COPY_OFF, has_first ? &copy : out);

    if (has_first && has_copy) {
        /* Different sequences: power failed between writing the two sectors when the slot was
         * reused. No record of the new segment is acknowledged, and the old segment is not needed
         * any more. */
        if (copy.sequence > out->sequence)
            *out = copy;
        return SF_WAL_SEGMENT_OK;
    }
    if (has_first || has_copy)
        return SF_WAL_SEGMENT_REPAIRED;
    return wal_segment_is_zero(page, SF_WAL_PAGE) ? SF_WAL_SEGMENT_EMPTY : SF_WAL_SEGMENT_DAMAGED;
}

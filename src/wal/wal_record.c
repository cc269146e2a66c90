#include "wal/wal_record.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/num.h"

enum { ENCODING_MASK = 0x0f, FLAGS_MASK = SF_WAL_FIRST | SF_WAL_GROUP | SF_WAL_LAST };
static const char tenant_key[] = "tenant"; /* stored with its terminator */

static size_t tenant_len(uint32_t tenant)
{
    size_t n_digits = 1;
    while (tenant >= 10) {
        tenant /= 10;
        n_digits++;
    }
    return sizeof(tenant_key) + n_digits + 1;
}

size_t sf_wal_record_head_len(const struct sf_logged *l)
{
    return SF_WAL_RECORD_HEADER_LEN + tenant_len(l->tenant) + l->meta.len;
}

size_t sf_wal_record_len(const struct sf_logged *l)
{
    return (sf_wal_record_head_len(l) + l->body.len + 7) / 8 * 8;
}

enum sf_err sf_wal_record_check(const struct sf_logged *l, uint64_t segment_len, struct sf_why *why)
{
    size_t meta_len = l->meta.len;
    if (meta_len > UINT16_MAX - 32)
        return sf_fail(why, SF_ERR_LIMIT, "wal: %zu bytes of parameters do not fit a record",
                       meta_len);
    if (l->body.len > SF_LIMIT_RECORD_LEN - tenant_len(l->tenant) - meta_len)
        return sf_fail(why, SF_ERR_LIMIT,
                       "wal: a record of %zu bytes is longer than the limit of %u", l->body.len,
                       SF_LIMIT_RECORD_LEN);
    if (sf_wal_record_len(l) > segment_len - SF_WAL_PAGE)
        return sf_fail(why, SF_ERR_LIMIT,
                       "wal: a record of %zu bytes does not fit a segment of %llu", l->body.len,
                       (unsigned long long)segment_len);
    if (l->encoding > ENCODING_MASK || l->kind == 0)
        return sf_fail(why, SF_ERR_INPUT, "wal: record of kind %u, encoding %u", l->kind,
                       l->encoding);
    return SF_OK;
}

static uint64_t checksum(const uint8_t *header, const uint8_t *meta, size_t meta_len,
                         const uint8_t *body, size_t body_len, uint64_t seed)
{
    uint64_t sum = sf_hash_seeded(header, 32, seed);
    sum = sf_hash_seeded(meta, meta_len, sum);
    return sf_hash_seeded(body, body_len, sum);
}

void sf_wal_record_encode(const struct sf_logged *l, uint64_t lsn, uint8_t flags,
                          const struct sf_wal_segment *segment, uint8_t *out)
{
    uint8_t *meta = out + SF_WAL_RECORD_HEADER_LEN;
    size_t own_len = tenant_len(l->tenant), meta_len = own_len + l->meta.len;

    memcpy(meta, tenant_key, sizeof(tenant_key));
    snprintf((char *)meta + sizeof(tenant_key), own_len - sizeof(tenant_key), "%u", l->tenant);
    if (l->meta.len)
        memcpy(meta + own_len, l->meta.p, l->meta.len);

    sf_store_u32le(out, (uint32_t)segment->sequence);
    sf_store_u32le(out + 4, sf_u32(meta_len + l->body.len));
    sf_store_u64le(out + 8, lsn);
    out[16] = l->kind;
    out[17] = (uint8_t)(l->encoding | flags);
    sf_store_u16le(out + 18, sf_u16(meta_len));
    sf_store_u32le(out + 20, l->decoded_len);
    sf_store_u64le(out + 24, (uint64_t)l->recv_ns);
    sf_store_u64le(out + 32, checksum(out, meta, meta_len, l->body.p, l->body.len, segment->seed));
}

bool sf_wal_record_peek(const uint8_t *header, struct sf_wal_record *out)
{
    uint32_t content_len = sf_load_u32le(header + 4);
    uint16_t meta_len = sf_load_u16le(header + 18);
    if (content_len > SF_LIMIT_RECORD_LEN || meta_len > content_len || header[16] == 0)
        return false;
    *out = (struct sf_wal_record){
        .lsn = sf_load_u64le(header + 8),
        .flags = header[17] & FLAGS_MASK,
        .tag = sf_load_u32le(header),
        .content_len = content_len,
        .meta_len = meta_len,
        .logged = {.kind = header[16],
                   .encoding = header[17] & ENCODING_MASK,
                   .decoded_len = sf_load_u32le(header + 20),
                   .recv_ns = (int64_t)sf_load_u64le(header + 24)},
    };
    return true;
}

/* The first pair is the tenant; the following ones are the decoder's. */
static bool split_meta(sf_bytes meta, struct sf_logged *out)
{
    sf_str rest = sf_bytes_str(meta), value;
    uint64_t tenant;
    size_t at;
    if (meta.len <= sizeof(tenant_key) || memcmp(meta.p, tenant_key, sizeof(tenant_key)) != 0)
        return false;
    rest = sf_str_from_at(rest, sizeof(tenant_key));
    if (!sf_str_find_char(rest, 0, &at))
        return false;
    value = sf_str_part(rest, 0, at);
    if (!sf_str_to_u64(value, &tenant) || tenant > UINT32_MAX)
        return false;
    out->tenant = (uint32_t)tenant;
    out->meta = sf_str_bytes(sf_str_from_at(rest, at + 1));
    return true;
}

bool sf_wal_record_decode(const uint8_t *header, const uint8_t *content,
                          const struct sf_wal_segment *segment, bool is_trusting,
                          struct sf_wal_record *r)
{
    size_t body_len = r->content_len - r->meta_len;
    uint64_t want = sf_load_u64le(header + 32);
    if (!is_trusting && want != checksum(header, content, r->meta_len, content + r->meta_len,
                                         body_len, segment->seed))
        return false;
    r->logged.body = (sf_bytes){content + r->meta_len, body_len};
    return split_meta((sf_bytes){content, r->meta_len}, &r->logged);
}

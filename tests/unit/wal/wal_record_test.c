#include "test.h"

#include "base/limits.h"
#include "wal/wal_record.h"

static const struct sf_wal_segment segment = {.sequence = 0x100000005, .seed = 99};

static size_t encode_example(uint8_t *out, uint32_t tenant)
{
    struct sf_logged l = {.kind = SF_LOG_OTLP_TRACES_PB,
                          .encoding = SF_LOG_GZIP,
                          .tenant = tenant,
                          .decoded_len = 77,
                          .recv_ns = -5,
                          .meta = {(const uint8_t *)"a\0b", 4},
                          .body = {(const uint8_t *)"the body", 8}};
    size_t head_len = sf_wal_record_head_len(&l);
    sf_wal_record_encode(&l, 42, SF_WAL_FIRST | SF_WAL_LAST, &segment, out);
    memcpy(out + head_len, "the body", 8);
    assert_int_equal(sf_wal_record_len(&l), (head_len + 8 + 7) / 8 * 8);
    return head_len + 8;
}

TEST(wal_record, comes_back_as_it_was)
{
    uint32_t tenants[] = {0, 1, 9, 10, 4294967295u};
    for (size_t i = 0; i < 5; i++) {
        uint8_t bytes[128] = {0};
        struct sf_wal_record r;
        size_t len = encode_example(bytes, tenants[i]);
        assert_true(sf_wal_record_peek(bytes, &r));
        assert_int_equal(r.lsn, 42);
        assert_int_equal(r.tag, 5);
        assert_int_equal(r.flags, SF_WAL_FIRST | SF_WAL_LAST);
        assert_int_equal(r.content_len, len - 40);
        assert_true(sf_wal_record_decode(bytes, bytes + 40, &segment, false, &r));
        assert_int_equal(r.logged.tenant, tenants[i]);
        assert_int_equal(r.logged.kind, SF_LOG_OTLP_TRACES_PB);
        assert_int_equal(r.logged.encoding, SF_LOG_GZIP);
        assert_int_equal(r.logged.decoded_len, 77);
        assert_int_equal(r.logged.recv_ns, -5);
        assert_memory_equal(r.logged.meta.p, "a\0b", 4);
        assert_int_equal(r.logged.meta.len, 4);
        assert_memory_equal(r.logged.body.p, "the body", 8);
        assert_int_equal(r.logged.body.len, 8);
    }
}

TEST(wal_record, is_refused_with_any_flipped_bit)
{
    uint8_t bytes[128] = {0};
    size_t len = encode_example(bytes, 1);
    for (size_t bit = 32 * 0; bit < len * 8; bit++) {
        struct sf_wal_record r;
        bytes[bit / 8] ^= (uint8_t)(1 << (bit % 8));
        assert_false(sf_wal_record_peek(bytes, &r) && r.content_len <= sizeof(bytes) - 40 &&
                     sf_wal_record_decode(bytes, bytes + 40, &segment, false, &r));
        bytes[bit / 8] ^= (uint8_t)(1 << (bit % 8));
    }
}

TEST(wal_record, of_another_segment_is_refused)
{
    uint8_t bytes[128] = {0};
    struct sf_wal_segment other = {.sequence = segment.sequence, .seed = 98};
    struct sf_wal_record r;
    encode_example(bytes, 1);
    assert_true(sf_wal_record_peek(bytes, &r));
    assert_false(sf_wal_record_decode(bytes, bytes + 40, &other, false, &r));
}

TEST(wal_record, too_long_is_refused)
{
    struct sf_logged l = {.kind = 1, .tenant = 1};
    static uint8_t one[1];
    l.body = (sf_bytes){one, SF_LIMIT_RECORD_LEN};
    assert_err(sf_wal_record_check(&l, SF_LIMIT_SEGMENT_LEN, NULL), SF_ERR_LIMIT);
    l.body.len = SF_LIMIT_RECORD_LEN - 16;
    assert_ok(sf_wal_record_check(&l, SF_LIMIT_SEGMENT_LEN, NULL));
    assert_err(sf_wal_record_check(&l, 1 << 20, NULL), SF_ERR_LIMIT);
    l.body.len = 1;
    l.meta = (sf_bytes){one, 65536};
    assert_err(sf_wal_record_check(&l, SF_LIMIT_SEGMENT_LEN, NULL), SF_ERR_LIMIT);
    l.meta.len = 0;
    l.kind = 0;
    assert_err(sf_wal_record_check(&l, SF_LIMIT_SEGMENT_LEN, NULL), SF_ERR_INPUT);
}

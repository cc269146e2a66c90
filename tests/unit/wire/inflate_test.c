#include "test.h"

#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "base/heap.h"
#include "wire/deflate.h"
#include "wire/inflate.h"

static const enum sf_inflate_kind kinds[] = {SF_INFLATE_GZIP, SF_INFLATE_ZLIB, SF_INFLATE_ZSTD};

static void pack_zlib(sf_bytes in, int window_bits, struct sf_buf *out)
{
    z_stream s = {0};
    uint8_t *to;
    size_t bound;
    assert_int_equal(deflateInit2(&s, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
    bound = deflateBound(&s, in.len) + 64;
    to = sf_buf_take(out, bound);
    s.next_in = (Bytef *)(uintptr_t)in.p;
    s.avail_in = (uInt)in.len;
    s.next_out = to;
    s.avail_out = (uInt)bound;
    assert_int_equal(deflate(&s, Z_FINISH), Z_STREAM_END);
    out->len -= s.avail_out;
    deflateEnd(&s);
}

static void pack(enum sf_inflate_kind kind, sf_bytes in, struct sf_buf *out)
{
    struct sf_deflate *z = sf_deflate_new();
    if (kind == SF_INFLATE_GZIP)
        assert_ok(sf_deflate_gzip(z, 6, in, out, NULL));
    else if (kind == SF_INFLATE_ZSTD)
        assert_ok(sf_deflate_zstd(z, 3, true, in, out, NULL));
    else
        pack_zlib(in, 15, out);
    sf_deflate_free(z);
}

static void fill_text(struct sf_buf *b, size_t len)
{
    uint32_t x = 1;
    while (b->len < len) {
        x = x * 1664525u + 1013904223u;
        sf_buf_print(b, "service-%u ", x >> 24);
    }
    b->len = len;
}

/* What a writer flushed and did not end; frames of old versions are not taken for that. */
TEST(inflate, an_open_frame_is_what_was_flushed)
{
    struct sf_inflate *z = sf_inflate_new();
    struct sf_buf packed = {0}, out = {0};
    static const char text[] = "some bytes, some bytes, some bytes";
    pack(SF_INFLATE_ZSTD, (sf_bytes){(const uint8_t *)text, sizeof(text)}, &packed);
    assert_err(sf_inflate_bytes(z, SF_INFLATE_ZSTD, (sf_bytes){packed.p, 6}, 1000, &out, NULL),
               SF_ERR_INPUT);
    assert_ok(sf_inflate_bytes(z, SF_INFLATE_ZSTD_OPEN, (sf_bytes){packed.p, 6}, 1000, &out, NULL));
    assert_int_equal(out.len, 0); /* its header alone */
    assert_ok(sf_inflate_bytes(z, SF_INFLATE_ZSTD_OPEN, sf_buf_bytes(&packed), 1000, &out, NULL));
    assert_int_equal(out.len, sizeof(text));
    static const uint8_t old[] = {0x25, 0xb5, 0x2f, 0xfd, 0, 0x60, 0, 0x28, 0, 0};
    assert_err(
        sf_inflate_bytes(z, SF_INFLATE_ZSTD_OPEN, (sf_bytes){old, sizeof(old)}, 1000, &out, NULL),
        SF_ERR_INPUT);
    assert_err(sf_inflate_bytes(z, SF_INFLATE_ZSTD_OPEN, (sf_bytes){packed.p, 0}, 1000, &out, NULL),
               SF_ERR_INPUT);
    sf_buf_done(&packed);
    sf_buf_done(&out);
    sf_inflate_free(z);
}

TEST(inflate, gives_back_what_was_packed)
{
    struct sf_inflate *z = sf_inflate_new();
    static const size_t lens[] = {0, 1, 100, 70000, 1000000};
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
            struct sf_buf plain = {0}, packed = {0}, out = {0};
            struct sf_why why;
            fill_text(&plain, lens[i]);
            pack(kinds[k], sf_buf_bytes(&plain), &packed);
            sf_buf_add_u8(&out, 'x'); /* what is there stays */
            assert_ok(sf_inflate_bytes(z, kinds[k], sf_buf_bytes(&packed), lens[i], &out, &why));
            assert_int_equal(out.len, lens[i] + 1);
            if (lens[i])
                assert_memory_equal(out.p + 1, plain.p, lens[i]);
            sf_buf_done(&plain);
            sf_buf_done(&packed);
            sf_buf_done(&out);
        }
    }
    sf_inflate_free(z);
}

TEST(inflate, takes_members_and_frames_one_after_another)
{
    struct sf_inflate *z = sf_inflate_new();
    for (size_t k = 0; k < 3; k += 2) {
        struct sf_buf packed = {0}, out = {0};
        pack(kinds[k], sf_str_bytes(SF_STR("hello ")), &packed);
        pack(kinds[k], SF_BYTES_NONE, &packed);
        pack(kinds[k], sf_str_bytes(SF_STR("world")), &packed);
        assert_ok(sf_inflate_bytes(z, kinds[k], sf_buf_bytes(&packed), 11, &out, NULL));
        assert_str(sf_buf_str(&out), "hello world");
        sf_buf_done(&packed);
        sf_buf_done(&out);
    }
    sf_inflate_free(z);
}

TEST(inflate, takes_deflate_without_its_wrapper)
{
    struct sf_inflate *z = sf_inflate_new();
    struct sf_buf packed = {0}, out = {0};
    pack_zlib(sf_str_bytes(SF_STR("raw and bare")), -15, &packed);
    assert_ok(sf_inflate_bytes(z, SF_INFLATE_ZLIB, sf_buf_bytes(&packed), 100, &out, NULL));
    assert_str(sf_buf_str(&out), "raw and bare");
    sf_buf_reset(&out);
    /* the shortest stream there is: two bytes, nothing inside */
    assert_ok(
        sf_inflate_bytes(z, SF_INFLATE_ZLIB, sf_str_bytes(SF_STR("\x03\x00")), 0, &out, NULL));
    assert_int_equal(out.len, 0);
    sf_buf_done(&packed);
    sf_buf_done(&out);
    sf_inflate_free(z);
}

TEST(inflate, refuses_one_byte_more_than_allowed)
{
    struct sf_inflate *z = sf_inflate_new();
    struct sf_buf plain = {0};
    fill_text(&plain, 70000);
    for (size_t k = 0; k < 3; k++) {
        struct sf_buf packed = {0}, out = {0};
        struct sf_why why;
        pack(kinds[k], sf_buf_bytes(&plain), &packed);
        assert_err(sf_inflate_bytes(z, kinds[k], sf_buf_bytes(&packed), 69999, &out, &why),
                   SF_ERR_LIMIT);
        assert_non_null(strstr(why.text, "69999"));
        assert_int_equal(out.len, 0);
        assert_err(sf_inflate_bytes(z, kinds[k], sf_buf_bytes(&packed), 0, &out, &why),
                   SF_ERR_LIMIT);
        sf_buf_done(&packed);
        sf_buf_done(&out);
    }
    sf_buf_done(&plain);
    sf_inflate_free(z);
}

TEST(inflate, holds_a_bomb_to_the_limit)
{
    struct sf_inflate *z = sf_inflate_new();
    size_t len = 64u << 20;
    uint8_t *zeros = calloc(1, len);
    for (size_t k = 0; k < 3; k++) {
        struct sf_buf packed = {0}, out = {0};
        pack(kinds[k], (sf_bytes){zeros, len}, &packed);
        assert_true(packed.len < 100000);
        assert_err(sf_inflate_bytes(z, kinds[k], sf_buf_bytes(&packed), 1u << 20, &out, NULL),
                   SF_ERR_LIMIT);
        assert_true(out.cap <= 2u << 20);
        sf_buf_done(&packed);
        sf_buf_done(&out);
    }
    free(zeros);
    sf_inflate_free(z);
}

TEST(inflate, says_where_input_is_cut_off)
{
    struct sf_inflate *z = sf_inflate_new();
    struct sf_buf plain = {0};
    fill_text(&plain, 3000);
    for (size_t k = 0; k < 3; k++) {
        struct sf_buf packed = {0}, out = {0};
        struct sf_why why;
        pack(kinds[k], sf_buf_bytes(&plain), &packed);
        for (size_t len = 0; len < packed.len; len++) {
            char at[40];
            assert_err(sf_inflate_bytes(z, kinds[k], (sf_bytes){packed.p, len}, 5000, &out, &why),
                       SF_ERR_INPUT);
            snprintf(at, sizeof(at), "truncated at byte %zu", len);
            assert_non_null(strstr(why.text, at));
            assert_int_equal(out.len, 0);
        }
        sf_buf_done(&packed);
        sf_buf_done(&out);
    }
    sf_buf_done(&plain);
    sf_inflate_free(z);
}

TEST(inflate, refuses_garbage_behind_and_instead)
{
    struct sf_inflate *z = sf_inflate_new();
    for (size_t k = 0; k < 3; k++) {
        struct sf_buf packed = {0}, out = {0};
        struct sf_why why;
        char at[40];
        pack(kinds[k], sf_str_bytes(SF_STR("fine")), &packed);
        snprintf(at, sizeof(at), "at byte %zu", packed.len);
        sf_buf_add_str(&packed, SF_STR("garbage behind"));
        assert_err(sf_inflate_bytes(z, kinds[k], sf_buf_bytes(&packed), 5000, &out, &why),
                   SF_ERR_INPUT);
        assert_non_null(strstr(why.text, at));
        assert_err(sf_inflate_bytes(z, kinds[k], sf_str_bytes(SF_STR("not compressed at all")),
                                    5000, &out, &why),
                   SF_ERR_INPUT);
        sf_buf_done(&packed);
        sf_buf_done(&out);
    }
    sf_inflate_free(z);
}

TEST(inflate, finds_every_flipped_checksum)
{
    struct sf_inflate *z = sf_inflate_new();
    for (size_t k = 0; k < 3; k++) {
        struct sf_buf packed = {0}, out = {0};
        pack(kinds[k], sf_str_bytes(SF_STR("a few words that are checked")), &packed);
        packed.p[packed.len - (k == 0 ? 5 : 1)] ^= 0x40;
        assert_err(sf_inflate_bytes(z, kinds[k], sf_buf_bytes(&packed), 5000, &out, NULL),
                   SF_ERR_INPUT);
        sf_buf_done(&packed);
        sf_buf_done(&out);
    }
    sf_inflate_free(z);
}

TEST(inflate, refuses_a_wide_zstd_window)
{
    struct sf_inflate *z = sf_inflate_new();
    /* magic, no content size, window descriptor 2^27, one empty raw block */
    sf_str wide = SF_STR("\x28\xb5\x2f\xfd\x00\x88\x01\x00\x00");
    struct sf_buf out = {0};
    struct sf_why why;
    assert_err(sf_inflate_bytes(z, SF_INFLATE_ZSTD, sf_str_bytes(wide), 5000, &out, &why),
               SF_ERR_LIMIT);
    assert_non_null(strstr(why.text, "window"));
    sf_buf_done(&out);
    sf_inflate_free(z);
}

/* Bodies that libdeflate takes and zlib refuses: whose they are decides, and not what is around
 * them or what size they claim. */
TEST(inflate, judges_a_member_alone_and_in_company_alike)
{
    static const struct {
        sf_str body;
        size_t plain_len;
    } odd[] = {
        /* a checksum of the header, and a wrong one */
        {SF_STR("\x1f\x8b\x08\x02\x00\x00\x00\x00\x00\x03\x12\x34\x4b\x04\x00\x43\xbe\xb7\xe8\x01"
                "\x00\x00\x00"),
         1},
        /* "a", then length code 286 of the fixed code, distance 1: 258 times "a" */
        {SF_STR("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\x1c\x03\x00\x56\xfa\xc2\x34\x03\x01"
                "\x00\x00"),
         259},
    };
    struct sf_inflate *z = sf_inflate_new();
    struct sf_buf empty = {0};
    pack(SF_INFLATE_GZIP, SF_BYTES_NONE, &empty);
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        sf_str s = odd[i].body;
        struct sf_buf alone = {0}, company = {0}, out = {0};
        assert_ok(sf_inflate_bytes(z, SF_INFLATE_GZIP, sf_str_bytes(s), 1000, &alone, NULL));
        assert_int_equal(alone.len, odd[i].plain_len);
        sf_buf_add(&company, empty.p, empty.len);
        sf_buf_add_str(&company, s);
        sf_buf_add(&company, empty.p, empty.len);
        assert_ok(sf_inflate_bytes(z, SF_INFLATE_GZIP, sf_buf_bytes(&company), 1000, &out, NULL));
        assert_int_equal(out.len, odd[i].plain_len);
        assert_memory_equal(out.p, alone.p, out.len);
        /* just as long as allowed, and one byte longer */
        sf_buf_reset(&out);
        assert_ok(sf_inflate_bytes(z, SF_INFLATE_GZIP, sf_buf_bytes(&company), odd[i].plain_len,
                                   &out, NULL));
        sf_buf_reset(&out);
        assert_err(sf_inflate_bytes(z, SF_INFLATE_GZIP, sf_buf_bytes(&company),
                                    odd[i].plain_len - 1, &out, NULL),
                   SF_ERR_LIMIT);
        sf_buf_done(&alone);
        sf_buf_done(&company);
        sf_buf_done(&out);
    }
    sf_buf_done(&empty);
    sf_inflate_free(z);
}

/* A size at the end that is far too small or too large is a wrong one, not another body. */
TEST(inflate, a_wrong_size_at_the_end_is_damage)
{
    static const uint32_t claims[] = {0, 1, 69999, 70001, 1u << 20, UINT32_MAX};
    struct sf_inflate *z = sf_inflate_new();
    struct sf_buf plain = {0}, packed = {0}, out = {0};
    fill_text(&plain, 70000);
    pack(SF_INFLATE_GZIP, sf_buf_bytes(&plain), &packed);
    for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
        struct sf_why why;
        for (size_t byte = 0; byte < 4; byte++)
            packed.p[packed.len - 4 + byte] = (uint8_t)(claims[i] >> 8 * byte);
        assert_err(
            sf_inflate_bytes(z, SF_INFLATE_GZIP, sf_buf_bytes(&packed), 2u << 20, &out, &why),
            SF_ERR_INPUT);
        assert_non_null(strstr(why.text, "damaged at byte"));
        assert_int_equal(out.len, 0);
    }
    sf_buf_done(&plain);
    sf_buf_done(&packed);
    sf_buf_done(&out);
    sf_inflate_free(z);
}

/* The buffer's own cap counts like the caller's. */
TEST(inflate, a_buffer_that_may_not_grow_is_a_limit)
{
    struct sf_inflate *z = sf_inflate_new();
    struct sf_buf plain = {0};
    fill_text(&plain, 70000);
    for (size_t k = 0; k < 3; k++) {
        struct sf_buf packed = {0}, fits = {.max = 70000}, small = {.max = 69999};
        pack(kinds[k], sf_buf_bytes(&plain), &packed);
        assert_ok(sf_inflate_bytes(z, kinds[k], sf_buf_bytes(&packed), 1u << 20, &fits, NULL));
        assert_int_equal(fits.len, 70000);
        assert_err(sf_inflate_bytes(z, kinds[k], sf_buf_bytes(&packed), 1u << 20, &small, NULL),
                   SF_ERR_LIMIT);
        assert_int_equal(small.len, 0);
        sf_buf_done(&packed);
        sf_buf_done(&fits);
        sf_buf_done(&small);
    }
    sf_buf_done(&plain);
    sf_inflate_free(z);
}

TEST(inflate, survives_each_allocation_that_fails)
{
    struct sf_buf plain = {0}, packed[3] = {0};
    fill_text(&plain, 50000);
    for (size_t k = 0; k < 3; k++)
        pack(kinds[k], sf_buf_bytes(&plain), &packed[k]);
    for (int way = 0; way < 3; way++) {
        bool passed = false;
        for (uint64_t n = 1; !passed && n < 100; n++) {
            struct sf_buf out = {0};
            struct sf_inflate *z;
            enum sf_err err = SF_ERR_NOMEM;
            sf_heap_fail_after(n);
            z = sf_inflate_new();
            if (z)
                err = sf_inflate_bytes(z, kinds[way], sf_buf_bytes(&packed[way]), 60000, &out,
                                       NULL);
            sf_heap_fail_after(0);
            assert_true(err == SF_OK || err == SF_ERR_NOMEM);
            passed = err == SF_OK;
            assert_int_equal(out.len, passed ? 50000 : 0);
            sf_inflate_free(z);
            sf_buf_done(&out);
        }
        assert_true(passed);
    }
    for (size_t k = 0; k < 3; k++)
        sf_buf_done(&packed[k]);
    sf_buf_done(&plain);
}

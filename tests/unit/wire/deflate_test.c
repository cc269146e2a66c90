#include "test.h"

#include "base/heap.h"
#include "wire/deflate.h"
#include "wire/inflate.h"

TEST(deflate, appends_and_keeps_what_is_there)
{
    struct sf_deflate *z = sf_deflate_new();
    struct sf_inflate *back = sf_inflate_new();
    for (int level = 1; level <= 9; level += 4) {
        struct sf_buf b = {0}, out = {0};
        sf_buf_add_u8(&b, 'x');
        assert_ok(sf_deflate_gzip(z, level, sf_str_bytes(SF_STR("gzip it")), &b, NULL));
        assert_int_equal(b.p[0], 'x');
        assert_ok(sf_inflate_bytes(back, SF_INFLATE_GZIP, (sf_bytes){b.p + 1, b.len - 1}, 100, &out,
                                   NULL));
        assert_str(sf_buf_str(&out), "gzip it");
        sf_buf_done(&b);
        sf_buf_done(&out);
    }
    sf_inflate_free(back);
    sf_deflate_free(z);
}

TEST(deflate, makes_one_member_of_many_pieces)
{
    struct sf_deflate_stream *z = sf_deflate_stream_new(1);
    struct sf_inflate *back = sf_inflate_new();
    struct sf_buf packed = {0}, plain = {0}, all = {0};
    for (int i = 0; i < 5000; i++) {
        size_t at = all.len;
        sf_buf_print(&all, "{\"n\":%d,\"text\":\"a line like many others\"}", i);
        assert_ok(sf_deflate_stream_add(z, (sf_bytes){all.p + at, all.len - at}, i == 4999, &packed,
                                        NULL));
    }
    assert_true(packed.len < all.len / 5);
    assert_ok(
        sf_inflate_bytes(back, SF_INFLATE_GZIP, sf_buf_bytes(&packed), 1 << 20, &plain, NULL));
    assert_int_equal(plain.len, all.len);
    assert_memory_equal(plain.p, all.p, all.len);
    sf_deflate_stream_free(z);
    sf_inflate_free(back);
    sf_buf_done(&packed);
    sf_buf_done(&plain);
    sf_buf_done(&all);
}

TEST(deflate, reports_memory_and_room)
{
    for (int way = 0; way < 2; way++) {
        bool passed = false;
        for (uint64_t n = 1; !passed && n < 100; n++) {
            struct sf_deflate *z;
            struct sf_buf b = {0};
            enum sf_err err = SF_ERR_NOMEM;
            sf_heap_fail_after(n);
            z = sf_deflate_new();
            if (z)
                err = way ? sf_deflate_zstd(z, 1, false, sf_str_bytes(SF_STR("abc")), &b, NULL)
                          : sf_deflate_gzip(z, 6, sf_str_bytes(SF_STR("abc")), &b, NULL);
            sf_heap_fail_after(0);
            assert_true(err == SF_OK || (err == SF_ERR_NOMEM && b.len == 0 && sf_buf_ok(&b)));
            passed = err == SF_OK;
            sf_deflate_free(z);
            sf_buf_done(&b);
        }
        assert_true(passed);
    }
    struct sf_deflate *z = sf_deflate_new();
    struct sf_buf small = {.max = 4};
    assert_err(sf_deflate_zstd(z, 1, false, sf_str_bytes(SF_STR("abc")), &small, NULL),
               SF_ERR_LIMIT);
    assert_true(sf_buf_ok(&small));
    sf_buf_done(&small);
    sf_deflate_free(z);
}

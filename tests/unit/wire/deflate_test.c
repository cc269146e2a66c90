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

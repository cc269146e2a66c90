#include "wire/native_block.h"

#include <stdlib.h>

#include "test.h"
#include "wire/row_binary.h"

#define BYTES(text) ((sf_bytes){(const uint8_t *)(text), sizeof(text) - 1})

static void add_row(struct sf_buf *rows, const char *service, uint16_t day, uint32_t n,
                    const char *const *keys)
{
    sf_row_add_str(rows, sf_str_from(service));
    sf_buf_add_u16le(rows, day);
    sf_buf_add_varint(rows, n);
    for (uint32_t i = 0; i < n; i++)
        sf_row_add_str(rows, sf_str_from(keys[i]));
    sf_row_add_str(rows, SF_STR("v"));
}

TEST(native_block, has_columns_as_clickhouse_documents_them)
{
    static const char *const keys[] = {"k", "m"};
    struct sf_native_block *b = sf_native_block_new("service, day, keys, val", "sD*sS");
    struct sf_buf rows = {0}, out = {0};
    struct sf_why why;
    sf_bytes wanted = BYTES(
        "\4\3" /* four columns, three rows */
        "\7service\26LowCardinality(String)"
        "\1\0\0\0\0\0\0\0" /* version */
        "\0\6\0\0\0\0\0\0" /* numbers of one byte, with their texts */
        "\2\0\0\0\0\0\0\0\1a\1b"
        "\3\0\0\0\0\0\0\0\0\1\0"
        "\3day\4Date\1\0\2\0\3\0"
        "\4keys\35Array(LowCardinality(String))"
        "\1\0\0\0\0\0\0\0"
        "\2\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0" /* where each array ends */
        "\0\6\0\0\0\0\0\0"
        "\2\0\0\0\0\0\0\0\1k\1m"
        "\3\0\0\0\0\0\0\0\0\1\1"
        "\3val\6String\1v\1v\1v");
    assert_non_null(b);
    add_row(&rows, "a", 1, 2, keys);
    add_row(&rows, "b", 2, 0, keys);
    add_row(&rows, "a", 3, 1, keys + 1);
    assert_ok(sf_native_block_write(b, sf_buf_bytes(&rows), &out, &why));
    assert_int_equal(out.len, wanted.len);
    assert_memory_equal(out.p, wanted.p, wanted.len);
    /* the next block has nothing of this one, and arrays without a value have no texts */
    sf_buf_reset(&rows);
    sf_buf_reset(&out);
    add_row(&rows, "c", 9, 0, keys);
    wanted = BYTES("\4\1\7service\26LowCardinality(String)"
                   "\1\0\0\0\0\0\0\0\0\6\0\0\0\0\0\0"
                   "\1\0\0\0\0\0\0\0\1c\1\0\0\0\0\0\0\0\0"
                   "\3day\4Date\11\0"
                   "\4keys\35Array(LowCardinality(String))"
                   "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                   "\3val\6String\1v");
    assert_ok(sf_native_block_write(b, sf_buf_bytes(&rows), &out, &why));
    assert_int_equal(out.len, wanted.len);
    assert_memory_equal(out.p, wanted.p, wanted.len);
    sf_native_block_free(b);
    sf_buf_done(&rows);
    sf_buf_done(&out);
}

/* The numbers of a column with many texts, read back. */
TEST(native_block, numbers_of_many_texts_are_longer)
{
    enum { N = 70000, HEAD = sizeof("\1\3\1t\26LowCardinality(String)") - 1 + 2 };
    static const uint32_t counts[] = {256, 257, 65536, 65537};
    struct sf_native_block *b = sf_native_block_new("t", "s");
    struct sf_buf rows = {0}, out = {0};
    struct sf_why why;
    assert_non_null(b);
    for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
        size_t width = k == 0 ? 1 : k < 3 ? 2 : 4;
        sf_buf_reset(&rows);
        sf_buf_reset(&out);
        for (uint32_t i = 0; i < N; i++) {
            char text[16];
            snprintf(text, sizeof(text), "%u", i * 7919 % counts[k]);
            sf_row_add_str(&rows, sf_str_from(text));
        }
        assert_ok(sf_native_block_write(b, sf_buf_bytes(&rows), &out, &why));
        struct sf_row_reader r = sf_row_reader_init(
            (sf_bytes){out.p + HEAD + sizeof(uint64_t), out.len - HEAD - sizeof(uint64_t)});
        uint64_t flags = sf_row_binary_u64(&r), n = sf_row_binary_u64(&r);
        sf_str *texts = calloc(n, sizeof(*texts));
        assert_int_equal(flags & 255, k == 0 ? 0 : k < 3 ? 1 : 2);
        assert_int_equal(n, counts[k]);
        for (uint64_t i = 0; i < n; i++)
            texts[i] = sf_row_binary_str(&r);
        assert_int_equal(sf_row_binary_u64(&r), N);
        for (uint32_t i = 0; i < N; i++) {
            char text[16];
            uint32_t at = 0;
            memcpy(&at, sf_row_binary_fixed(&r, width).p, width);
            snprintf(text, sizeof(text), "%u", i * 7919 % counts[k]);
            assert_true(at < n && sf_str_eq(texts[at], sf_str_from(text)));
        }
        assert_false(sf_row_more(&r));
        free(texts);
    }
    sf_native_block_free(b);
    sf_buf_done(&rows);
    sf_buf_done(&out);
}

TEST(native_block, refuses_rows_that_are_cut_off)
{
    static const char *const keys[] = {"k", "m"};
    struct sf_native_block *b = sf_native_block_new("service, day, keys, val", "sD*sS");
    struct sf_buf rows = {0}, out = {0};
    struct sf_why why;
    assert_non_null(b);
    add_row(&rows, "a", 1, 2, keys);
    for (size_t len = 1; len < rows.len; len++)
        assert_int_equal(sf_native_block_write(b, (sf_bytes){rows.p, len}, &out, &why),
                         SF_ERR_CORRUPT);
    assert_int_equal(out.len, 0);
    assert_ok(sf_native_block_write(b, (sf_bytes){0}, &out, &why)); /* no rows, no block */
    assert_int_equal(out.len, 0);
    out.max = 20;
    assert_int_equal(sf_native_block_write(b, sf_buf_bytes(&rows), &out, &why), SF_ERR_LIMIT);
    assert_int_equal(out.len, 0);
    sf_native_block_free(b);
    assert_null(sf_native_block_new("a, b", "s"));
    assert_null(sf_native_block_new("a", "sS"));
    assert_null(sf_native_block_new("a", "*"));
    assert_null(sf_native_block_new("a", "q"));
    sf_buf_done(&rows);
    sf_buf_done(&out);
}

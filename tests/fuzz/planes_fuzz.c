/* planes_fuzz.c - any bytes as lists of numbers or strings in every encoding; numbers that decode
 * encode to something that decodes to the same. */
#include <stdlib.h>

#include "base/invariant.h"
#include "base/num.h"
#include "block/format/encoding.h"
#include "block/format/planes.h"

static void check_numbers(uint8_t enc, sf_bytes raw, uint32_t n)
{
    uint64_t vals[512], again[512];
    struct sf_buf b = {0};
    struct sf_planes p;
    sf_bytes in;

    if (!sf_encoding_numbers_decode(enc, raw, n, vals))
        return;
    sf_planes_encode(&b, vals, n);
    in = sf_buf_bytes(&b);
    SF_ASSERT(sf_planes_parse(&in, n, &p) && in.len == 0);
    sf_planes_decode(&p, n, again);
    SF_ASSERT(memcmp(vals, again, n * sizeof(*vals)) == 0);
    sf_buf_done(&b);
}

static void check_strings(uint8_t enc, sf_bytes raw, uint32_t n, struct sf_arena *a)
{
    sf_str list[512], again[512];
    uint32_t ends[512];
    struct sf_buf text = {0}, b = {0}, scratch = {0};
    struct sf_str_list strings;

    if (sf_encoding_strings_decode(enc, raw, n, a, list) != SF_OK)
        return;
    sf_buf_reserve(&text, 1);
    for (uint32_t i = 0; i < n; i++) {
        sf_buf_add_str(&text, list[i]);
        ends[i] = (uint32_t)text.len;
    }
    strings = (struct sf_str_list){text.p, ends, NULL, n};
    if (n) {
        enc = sf_encoding_strings_encode(&b, &strings, &scratch);
        SF_ASSERT(sf_encoding_strings_decode(enc, sf_buf_bytes(&b), n, a, again) == SF_OK);
        for (uint32_t i = 0; i < n; i++)
            SF_ASSERT(sf_str_eq(list[i], again[i]));
    }
    sf_buf_done(&text);
    sf_buf_done(&b);
    sf_buf_done(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sf_buf copy = {0};
    struct sf_arena a;
    uint32_t n;
    uint8_t enc;

    if (size < 3)
        return 0;
    enc = data[0];
    n = sf_load_u16le(data + 1) % 512;
    sf_buf_reserve(&copy, 1);
    sf_buf_add(&copy, data + 3, size - 3);
    if (!sf_arena_init(&a, 8 << 20))
        abort();
    check_numbers(enc, sf_buf_bytes(&copy), n);
    check_strings(enc, sf_buf_bytes(&copy), n, &a);
    sf_arena_done(&a);
    sf_buf_done(&copy);
    return 0;
}

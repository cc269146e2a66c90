#include "test.h"

#include <stdlib.h>

#include "base/radix.h"

enum { N = 5000 };

static uint64_t next(uint64_t *rng)
{
    *rng = *rng * 6364136223846793005u + 1442695040888963407u;
    return *rng ^ *rng >> 29;
}

/* Lists of all lengths and of numbers that use one to four bytes, against the order that comparing
 * gives: by the high half, then as it was, which is the low half. */
static void check(size_t n, uint32_t mask, uint64_t *rng)
{
    static uint64_t list[N], space[N], seen[N];
    for (size_t i = 0; i < n; i++)
        list[i] = (next(rng) & mask) << 32 | i;
    sf_radix_sort(list, space, n);
    memset(seen, 0, sizeof(seen));
    for (size_t i = 0; i < n; i++) {
        seen[(uint32_t)list[i]]++;
        if (i)
            assert_true(list[i - 1] < list[i]);
    }
    for (size_t i = 0; i < n; i++)
        assert_int_equal(seen[i], 1);
}

TEST(radix, sorts_as_comparing_does_and_keeps_the_order_of_equals)
{
    static const uint32_t masks[] = {0,        1,          0xff,       0x100,
                                     0xff00ff, 0xf0000000, UINT32_MAX, 0x00ffff00};
    uint64_t rng = 7;
    for (size_t m = 0; m < sizeof(masks) / sizeof(*masks); m++) {
        for (size_t n = 0; n < 40; n++)
            check(n, masks[m], &rng);
        check(N, masks[m], &rng);
    }
}

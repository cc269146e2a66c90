#include "base/radix.h"

#include <string.h>

enum { BYTES = 4, VALUES = 256 };

static unsigned radix_byte(uint64_t entry, unsigned byte)
{
    return (unsigned)(entry >> (32 + 8 * byte)) & (VALUES - 1);
}

static void radix_pass(const uint64_t *from, uint64_t *to, size_t n, unsigned byte,
                       const size_t counts[VALUES])
{
    size_t starts[VALUES], sum = 0;
    for (unsigned v = 0; v < VALUES; v++) {
        starts[v] = sum;
        sum += counts[v];
    }
    for (size_t i = 0; i < n; i++)
        to[starts[radix_byte(from[i], byte)]++] = from[i];
}

void sf_radix_sort(uint64_t *list, uint64_t *space, size_t n)
{
    size_t counts[BYTES][VALUES] = {0};
    uint64_t *from = list, *to = space;
    if (n < 2)
        return;
    for (size_t i = 0; i < n; i++) {
        for (unsigned byte = 0; byte < BYTES; byte++)
            counts[byte][radix_byte(list[i], byte)]++;
    }
    for (unsigned byte = 0; byte < BYTES; byte++) {
        uint64_t *swap = from;
        if (counts[byte][radix_byte(list[0], byte)] == n)
            continue; /* equal in all entries */
        radix_pass(from, to, n, byte, counts[byte]);
        from = to;
        to = swap;
    }
    if (from != list)
        memcpy(list, from, n * sizeof(*list));
}

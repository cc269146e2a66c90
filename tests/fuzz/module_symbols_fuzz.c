/* A file of any bytes: each address is answered once, within the bounds, with texts that can be
 * read. The addresses lie all over where the seeds have their code. */
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "symbol/module_symbols.h"

enum { N = 256 };

struct seen {
    unsigned times[N];
    uint64_t sum;
};

static void read_all(struct seen *seen, sf_str s)
{
    for (size_t i = 0; i < s.len; i++)
        seen->sum += (uint8_t)s.p[i];
}

static void take(void *arg, uint32_t query, const struct sf_symbol_line *lines, unsigned n)
{
    struct seen *seen = arg;
    SF_ASSERT(query < N && n <= SF_SYMBOL_LINES_MAX);
    seen->times[query]++;
    for (unsigned i = 0; i < n; i++) {
        read_all(seen, lines[i].name);
        read_all(seen, lines[i].file);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    uint8_t *copy = malloc(len ? len : 1);
    struct seen seen = {0};
    uint64_t at[N];
    bool ok;
    if (!copy)
        return 0;
    memcpy(copy, data, len);
    for (unsigned i = 0; i < N; i++)
        at[i] = i < N - 2 ? 0x401000 + i * 4 : UINT64_MAX - (N - 1 - i);
    ok = sf_module_symbols_find_in((sf_bytes){copy, len}, at, N, take, &seen);
    for (unsigned i = 0; i < N; i++)
        SF_ASSERT(seen.times[i] == (ok ? 1u : 0u));
    free(copy);
    return 0;
}

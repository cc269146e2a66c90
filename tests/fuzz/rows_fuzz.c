/* Any bytes as a module's unwind tables: reads stay inside, rows come out sorted, every row is
 * found by its own address, and nothing runs for ever. */
#include <stdlib.h>
#include <string.h>

#include "collect/unwind/rows.h"

static void must(bool what)
{
    if (!what)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sf_rows r;
    uint8_t *copy;
    size_t hdr_len;
    uintptr_t base;

    if (size < 2)
        return 0;
    size -= 2;
    hdr_len = (data[0] | (size_t)data[1] << 8) % (size + 1);
    copy = malloc(size ? size : 1);
    memcpy(copy, data + 2, size);
    base = (uintptr_t)copy & ~(uintptr_t)0xfff;
    if (sf_rows_build(&r, base, (uintptr_t)copy + (1 << 20), copy, hdr_len, copy, copy + size)) {
        for (uint32_t i = 0; i < r.n; i++) {
            must(!i || r.rows[i - 1].pc < r.rows[i].pc);
            must(r.rows[i].kind <= SF_ROW_BAD);
            if (r.rows[i].pc / SF_ROWS_PAGE < r.n_pages)
                must(sf_rows_find(&r, r.rows[i].pc) == &r.rows[i]);
        }
        must(sf_rows_find(&r, UINT32_MAX) == NULL);
        sf_rows_done(&r);
    }
    free(copy);
    return 0;
}

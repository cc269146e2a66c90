/* Any bytes as a document for collectors: what is understood is within its bounds, and raised rates
 * end. */
#include <stdlib.h>
#include <string.h>

#include "serve/own/control_doc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sf_control_doc d;
    struct sf_why why = {0};
    struct sf_arena req = {0};
    struct sf_buf out = {0};
    char *copy = calloc(1, size + !size);
    if (size)
        memcpy(copy, data, size);
    if (!sf_arena_init(&req, 1 << 20))
        abort();
    if (sf_control_doc_parse((sf_str){copy, size}, 1000, &req, &d, &why)) {
        if (!why.text[0])
            abort();
    } else {
        if (!d.has || d.cpu_hz > 1000 || d.wall_hz > 1000 || d.budget_per_10000 > 10000 ||
            (d.cpu_hz > 100 && !d.cpu_until_ms) || (d.wall_hz > 20 && !d.wall_until_ms) ||
            d.cpu_until_ms > 1000 + 3600000 || d.wall_until_ms > 1000 + 3600000)
            abort();
        sf_control_doc_print(&d, &out);
        if (!out.len)
            abort();
    }
    sf_buf_done(&out);
    sf_arena_done(&req);
    free(copy);
    return 0;
}

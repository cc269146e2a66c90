/* Any bytes as a mangled name: an answer or none, within its bounds, the same every time, and
 * nothing of a refused name is left behind. */
#include <stdlib.h>
#include <string.h>

#include "symbol/demangler.h"

static void must(bool what)
{
    if (!what)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sf_demangler *d; /* its workspace is used again, like in a profile */
    struct sf_buf first = {0}, again = {0};
    char *copy = malloc(size ? size : 1);
    bool is_name;
    if (!d)
        d = sf_demangler_new();
    if (size) /* memcpy from nowhere is undefined, even of nothing */
        memcpy(copy, data, size);
    sf_buf_add_str(&first, SF_STR("x"));
    is_name = sf_demangler_run(d, (sf_str){copy, size}, &first);
    must(first.len >= 1 && first.p[0] == 'x' && first.len <= 1 + SF_DEMANGLE_MAX_LEN + 16);
    must(is_name || first.len == 1);
    must(sf_demangler_run(d, (sf_str){copy, size}, &again) == is_name);
    must(again.len == first.len - 1 && (!again.len || !memcmp(again.p, first.p + 1, again.len)));
    sf_buf_done(&first);
    sf_buf_done(&again);
    free(copy);
    return 0;
}

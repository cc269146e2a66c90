/* multipart_fuzz.c - a body from nowhere: its first line is the content type. Parts lie inside the
 * body, in order, and do not overlap. */
#include <stdlib.h>

#include "base/invariant.h"
#include "http/multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size ? size : 1);
    sf_str rest, type = SF_STR_NONE;
    struct sf_multipart m;
    struct sf_multipart_part part;
    const char *before;
    if (!copy)
        abort();
    for (size_t i = 0; i < size; i++)
        copy[i] = (char)data[i];
    rest = (sf_str){copy, size};
    (void)sf_str_split_next(&rest, '\n', &type);
    before = rest.p;
    if (!sf_multipart_init(&m, type, rest, NULL)) {
        while (sf_multipart_next(&m, &part)) {
            SF_ASSERT(part.content.len == 0 || (part.content.p >= before &&
                                                part.content.p + part.content.len <= copy + size));
            before = part.content.p + part.content.len;
        }
    }
    free(copy);
    return 0;
}

/* Any bytes as a configuration file for the library: what it keeps are names of variables of ours,
 * values and numbers of lines, each ended, and the one said last is the one that is found. */
#include <stdlib.h>
#include <string.h>

#include "collect/lib/config_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sf_config_file f = {0};
    struct sf_why why = {0};
    char *copy = calloc(1, size + !size);
    const char *p, *end;
    if (size)
        memcpy(copy, data, size);
    if (sf_config_file_parse(&f, (sf_str){copy, size}, &why) && !why.text[0])
        abort();
    free(copy);
    p = (const char *)f.vars.p;
    end = p ? p + f.vars.len : NULL;
    while (p && p < end) {
        const char *val = p + strlen(p) + 1, *line = val + strlen(val) + 1;
        if (line >= end || strncmp(p, "SPANFLAME_PROFILING", 19) != 0 ||
            !sf_config_file_get(&f, p) || atol(line) <= 0)
            abort();
        p = line + strlen(line) + 1;
    }
    sf_config_file_done(&f);
    return 0;
}

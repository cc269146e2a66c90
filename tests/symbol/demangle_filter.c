/* Reads names, one a line; writes what sf_demangler_run makes of each, or the name itself. */
#include <stdio.h>
#include <string.h>

#include "symbol/demangler.h"

int main(void)
{
    static char line[1 << 16];
    struct sf_demangler *d = sf_demangler_new();
    struct sf_buf text = {0};
    while (d && fgets(line, sizeof(line), stdin)) {
        sf_str name = {line, strcspn(line, "\n")};
        sf_buf_reset(&text);
        if (sf_demangler_run(d, name, &text))
            name = sf_buf_str(&text);
        printf("%.*s\n", SF_STR_ARG(name));
    }
    sf_buf_done(&text);
    sf_demangler_free(d);
    return d ? 0 : 1;
}

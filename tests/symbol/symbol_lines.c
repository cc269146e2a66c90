/* symbol_lines FILE [PACKAGE] < ADDRESSES - what our reader of symbols and debug information says
 * of them, as `llvm-symbolizer --inlines` prints it: function, file:line, the innermost first, and
 * an empty line after each address. Names are as the linker knows them. PACKAGE is the .dwp file of
 * a program of -gsplit-dwarf. */
#include <stdio.h>
#include <stdlib.h>

#include "symbol/module_symbols.h"

enum { MAX = 1 << 16 };

static uint64_t at[MAX];
static uint32_t n;
static char *said[MAX]; /* answers come unit by unit */

static void take(void *arg, uint32_t query, const struct sf_symbol_line *lines, unsigned n_lines)
{
    size_t len;
    FILE *to = open_memstream(&said[query], &len);
    (void)arg;
    for (unsigned i = 0; i < n_lines; i++)
        fprintf(to, "%.*s\n%.*s:%u\n", SF_STR_ARG(lines[i].name), SF_STR_ARG(lines[i].file),
                lines[i].line);
    fclose(to);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static bool find_split(const char *path, const char *package_path)
{
    struct sf_elf_file f, package, apart = {0};
    struct sf_debug_more more = {.max_inflated = SF_DEBUG_INFLATED_MAX, .package = &package};
    bool ok = sf_elf_file_open(&f, path);
    if (ok && !sf_elf_file_open(&package, package_path)) {
        sf_elf_file_close(&f);
        return false;
    }
    ok = ok && sf_module_symbols_find_open(&f, &apart, &more, at, n, take, NULL);
    if (ok) {
        sf_elf_file_close(&package);
        sf_elf_file_close(&f);
    }
    return ok;
}

int main(int argc, char **argv)
{
    unsigned long long one;
    while (n < MAX && scanf("%llx", &one) == 1)
        at[n++] = one;
    qsort(at, n, sizeof(at[0]), by_value);
    if (argc < 2 ||
        !(argc > 2 ? find_split(argv[1], argv[2])
                   : sf_module_symbols_find(argv[1], SF_BYTES_NONE, &sf_module_symbols_inside, at,
                                            n, take, NULL, NULL))) {
        fprintf(stderr, "symbol_lines: cannot read it\n");
        return 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        printf("0x%llx\n%s\n", (unsigned long long)at[i], said[i]);
        free(said[i]);
    }
    return 0;
}

/* replay_main.c - runs a fuzz target over every file of its corpus and prints TAP.
 *
 * The corpus is what past runs taught: a target that lost its corpus proves nothing, so a missing
 * or empty folder is a failure and not a pass. The name is printed before the run: when a
 * sanitizer ends the process, the last line says which input it was. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Returns false when the file cannot be read. */
static int run_file(const char *dir, const char *name)
{
    char path[4096];
    uint8_t *data = NULL;
    long size = -1;
    int ok = 0;
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    file = fopen(path, "rb");
    if (!file)
        return 0;
    if (!fseek(file, 0, SEEK_END))
        size = ftell(file);
    if (size < 0 || fseek(file, 0, SEEK_SET))
        goto done;
    data = malloc(size ? (size_t)size : 1);
    if (!data || fread(data, 1, (size_t)size, file) != (size_t)size)
        goto done;
    LLVMFuzzerTestOneInput(data, (size_t)size);
    ok = 1;
done:
    free(data);
    fclose(file);
    return ok;
}

int main(int argc, char **argv)
{
    struct dirent **entries = NULL;
    int failed = 0;
    int n = argc == 2 ? scandir(argv[1], &entries, is_input, alphasort) : -1;

    if (n <= 0) {
        printf("1..1\nnot ok 1 - corpus %s is missing or empty\n", argc == 2 ? argv[1] : "(none)");
        free(entries);
        return 1;
    }
    printf("1..%d\n", n);
    for (int i = 0; i < n; i++) {
        printf("# %s\n", entries[i]->d_name);
        fflush(stdout);
        if (run_file(argv[1], entries[i]->d_name)) {
            printf("ok %d - %s\n", i + 1, entries[i]->d_name);
        } else {
            printf("not ok %d - %s cannot be read\n", i + 1, entries[i]->d_name);
            failed = 1;
        }
        free(entries[i]);
    }
    free(entries);
    return failed;
}

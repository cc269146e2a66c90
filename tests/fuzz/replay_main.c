/* replay_main.c NOUN CORPUS - runs one of the program's fuzz targets over every file of its corpus
 * and prints TAP.
 *
 * The corpus is what past runs taught: a target that lost its corpus proves nothing, so a missing
 * or empty folder is a failure and not a pass. The name is printed before the run: when a
 * sanitizer ends the process, the last line says which input it was. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"

uint16_t replay_section, replay_without;

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Returns false when the file cannot be read. */
static int run_file(const struct replay_target *target, const char *dir, const char *name)
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
    target->run(data, (size_t)size);
    ok = 1;
done:
    free(data);
    fclose(file);
    return ok;
}

static const struct replay_target *find_target(const char *noun)
{
    const struct replay_target *target = replay_targets;
    while (target->noun && strcmp(target->noun, noun) != 0)
        target++;
    return target->noun ? target : NULL;
}

static int run_corpus(const struct replay_target *target, const char *dir)
{
    struct dirent **entries = NULL;
    int failed = 0;
    int n = scandir(dir, &entries, is_input, alphasort);

    if (n <= 0) {
        printf("1..1\nnot ok 1 - corpus %s is missing or empty\n", dir);
        free(entries);
        return 1;
    }
    printf("1..%d\n", n);
    for (int i = 0; i < n; i++) {
        printf("# %s\n", entries[i]->d_name);
        fflush(stdout);
        if (run_file(target, dir, entries[i]->d_name)) {
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

int main(int argc, char **argv)
{
    const struct replay_target *target = argc == 3 ? find_target(argv[1]) : NULL;

    if (!target) {
        printf("1..1\nnot ok 1 - replay NOUN CORPUS: there is no such noun\n");
        return 1;
    }
    replay_section = target->section;
    replay_without = target->without;
    return run_corpus(target, argv[2]);
}

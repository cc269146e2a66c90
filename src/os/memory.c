#include "os/memory.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint64_t sf_memory_resident_len(void)
{
    unsigned long long all, resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f)
        return 0;
    if (fscanf(f, "%llu %llu", &all, &resident) != 2)
        resident = 0;
    fclose(f);
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* ---- control groups ---- */

static uint64_t memory_read_limit(const char *root, const char *group, const char *name)
{
    char path[1024], text[32] = "";
    unsigned long long limit;
    FILE *f;
    if ((size_t)snprintf(path, sizeof(path), "%s%s/%s", root, group, name) >= sizeof(path))
        return UINT64_MAX;
    f = fopen(path, "re");
    if (!f)
        return UINT64_MAX;
    if (!fgets(text, sizeof(text), f))
        text[0] = 0;
    fclose(f);
    limit = strtoull(text, NULL, 10); /* "max" gives 0 */
    /* cgroup v1 uses a very large number for "no limit". */
    return limit == 0 || limit >= UINT64_C(1) << 60 ? UINT64_MAX : limit;
}

static uint64_t memory_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The smallest limit of a group and all its parents. */
static uint64_t limit_of(const char *root, char *group, const char *name)
{
    uint64_t limit = UINT64_MAX;
    for (;;) {
        char *slash;
        limit = memory_least(limit, memory_read_limit(root, group, name));
        slash = strrchr(group, '/');
        if (!slash)
            return limit;
        *slash = 0;
    }
}

uint64_t sf_memory_limit_in(const char *groups, const char *root)
{
    char line[1024], memory_root[512];
    uint64_t limit = UINT64_MAX;
    FILE *f = fopen(groups, "re");
    snprintf(memory_root, sizeof(memory_root), "%s/memory", root);
    while (f && fgets(line, sizeof(line), f)) { /* "0::/a/b" or "5:cpu,memory:/a/b" */
        char *kinds = strchr(line, ':'), *group = kinds ? strchr(kinds + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = 0;
        group[strcspn(group, "\n")] = 0;
        if (kinds[1] == 0)
            limit = memory_least(limit, limit_of(root, group, "memory.max"));
        else if (strstr(kinds, "memory"))
            limit = memory_least(limit, limit_of(memory_root, group, "memory.limit_in_bytes"));
    }
    if (f)
        fclose(f);
    return limit;
}

uint64_t sf_memory_limit_len(void)
{
    return sf_memory_limit_in("/proc/self/cgroup", "/sys/fs/cgroup");
}

/* ---- the allocator ---- */

enum { MMAP_LEN = 256 << 10, TRIM_LEN = 1 << 20, ARENAS = 4 };

void sf_memory_tune(void)
{
    /* When set, glibc no longer raises them with the largest freed block. */
    (void)mallopt(M_MMAP_THRESHOLD, MMAP_LEN);
    (void)mallopt(M_TRIM_THRESHOLD, TRIM_LEN);
    (void)mallopt(M_ARENA_MAX, ARENAS);
}

void sf_memory_give_back(void)
{
    (void)malloc_trim(0);
}

#include "process.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* "pid (name) state ...": the name may hold anything, so the numbers are counted from its end. */
static bool read_stat(const char *path, char name[64], uint64_t *out_ns)
{
    char line[1024];
    unsigned long long user = 0, system = 0;
    const char *begin, *end;
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    end = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
    fclose(f);
    begin = end ? strchr(line, '(') : NULL;
    if (!begin ||
        sscanf(end, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system) != 2)
        return false;
    snprintf(name, 64, "%.*s", (int)(end - begin - 1), begin + 1);
    *out_ns = (user + system) * 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
    return true;
}

bool process_cpu_ns(uint64_t pid, uint64_t *out)
{
    char path[64], name[64];
    snprintf(path, sizeof(path), "/proc/%llu/stat", (unsigned long long)pid);
    return read_stat(path, name, out);
}

uint64_t process_threads_cpu_ns(uint64_t pid, const char *const *prefixes)
{
    char path[320], name[64];
    struct dirent *entry;
    uint64_t sum = 0;
    DIR *tasks;
    snprintf(path, sizeof(path), "/proc/%llu/task", (unsigned long long)pid);
    tasks = opendir(path);
    while (tasks && (entry = readdir(tasks))) {
        uint64_t ns;
        snprintf(path, sizeof(path), "/proc/%llu/task/%s/stat", (unsigned long long)pid,
                 entry->d_name);
        if (entry->d_name[0] == '.' || !read_stat(path, name, &ns))
            continue;
        for (const char *const *p = prefixes; *p; p++)
            sum += strncmp(name, *p, strlen(*p)) == 0 ? ns : 0;
    }
    if (tasks)
        closedir(tasks);
    return sum;
}

bool process_peak_memory(uint64_t pid, uint64_t *out)
{
    char path[64], line[256];
    unsigned long long kib = 0;
    bool is_found = false;
    FILE *f;
    snprintf(path, sizeof(path), "/proc/%llu/status", (unsigned long long)pid);
    f = fopen(path, "r");
    if (!f)
        return false;
    while (!is_found && fgets(line, sizeof(line), f))
        is_found = sscanf(line, "VmHWM: %llu kB", &kib) == 1;
    fclose(f);
    *out = kib * 1024;
    return is_found;
}

/* nftw has no space for an argument. */
static uint64_t total_len;
static bool counts_log;

static int add_len(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)at;
    if (kind == FTW_F && (counts_log || !strstr(path, "/wal/")))
        total_len += (uint64_t)st->st_size;
    return 0;
}

uint64_t process_disk_len(const char *folder, bool has_log)
{
    total_len = 0;
    counts_log = has_log;
    nftw(folder, add_len, 16, FTW_PHYS);
    return total_len;
}

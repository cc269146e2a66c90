#include "collect/sys/load.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "base/time_unit.h"
#include "collect/sys/clock.h"
#include "collect/sys/tasks.h"

enum { TEXT_CAP = 4096, PATH_CAP = 512 };
#define ROOT "/sys/fs/cgroup"

static sf_str load_read_file(const char *path, char text[TEXT_CAP])
{
    size_t len = 0;
    ssize_t n = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && len < TEXT_CAP && (n = read(fd, text + len, TEXT_CAP - len)) > 0)
        len += (size_t)n;
    if (fd >= 0)
        close(fd);
    return (sf_str){text, len};
}

/* The number after `name` and blanks at the beginning of a line. */
static bool load_number_of(sf_str text, sf_str name, uint64_t *out)
{
    sf_str line, word;
    while (sf_str_split_next(&text, '\n', &line)) {
        if (!sf_str_starts(line, name))
            continue;
        line = sf_str_trim(sf_str_from_at(line, name.len));
        return sf_str_split_next(&line, ' ', &word) && sf_str_to_u64(word, out);
    }
    return false;
}

/* "cpu  user nice system idle iowait irq softirq steal ...": idle and iowait are not in use. */
static bool read_host(struct sf_load_reading *out, char *text)
{
    sf_str all = load_read_file("/proc/stat", text), line, word;
    uint64_t v;
    int n = 0;
    if (!sf_str_split_next(&all, '\n', &line) || !sf_str_starts(line, SF_STR("cpu ")))
        return false;
    line = sf_str_from_at(line, 4);
    while (n < 8 && sf_str_split_next(&line, ' ', &word)) {
        if (!word.len)
            continue;
        if (!sf_str_to_u64(word, &v))
            return false;
        out->host_all += v;
        out->host_busy += n == 3 || n == 4 ? 0 : v;
        n++;
    }
    return n >= 4;
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=123" */
static bool read_pressure(struct sf_load_reading *out, char *text)
{
    sf_str all = load_read_file("/proc/pressure/cpu", text), line;
    size_t at;
    return sf_str_split_next(&all, '\n', &line) && sf_str_find(line, SF_STR("total="), &at) &&
           sf_str_to_u64(sf_str_from_at(line, at + 6), &out->stalled_us);
}

/* The path of the process's control group; false: not version 2, or the path is too long. */
static bool load_find_group(char path[PATH_CAP], char *text)
{
    sf_str all = load_read_file("/proc/self/cgroup", text), line;
    while (sf_str_split_next(&all, '\n', &line)) {
        if (sf_str_starts(line, SF_STR("0::"))) {
            line = sf_str_from_at(line, 3);
            return snprintf(path, PATH_CAP, ROOT "%.*s", SF_STR_ARG(line)) < PATH_CAP - 32;
        }
    }
    return false;
}

/* "max 100000" or "50000 100000"; the smallest quota of the group and all its parents applies. */
static double read_quota(const char *group, double most, char *text)
{
    char path[PATH_CAP];
    size_t at = strlen(group), top = strlen(ROOT);
    while (at >= top) {
        uint64_t quota, period;
        sf_str all, word;
        snprintf(path, sizeof(path), "%.*s/cpu.max", (int)at, group);
        all = sf_str_trim(load_read_file(path, text));
        if (sf_str_split_next(&all, ' ', &word) && sf_str_to_u64(word, &quota) &&
            sf_str_to_u64(all, &period) && period && (double)quota / (double)period < most)
            most = (double)quota / (double)period;
        while (at > top && group[at - 1] != '/')
            at--;
        if (at == top)
            break;
        at--;
    }
    return most;
}

static void load_read_group(struct sf_load_reading *out, char *text)
{
    char path[PATH_CAP];
    uint64_t len;
    size_t at;
    if (!load_find_group(path, text))
        return;
    at = strlen(path);
    out->n_cpus = read_quota(path, out->n_cpus, text);
    snprintf(path + at, PATH_CAP - at, "/memory.max");
    if (!sf_str_to_u64(sf_str_trim(load_read_file(path, text)), &len))
        return; /* "max": no limit, so only this process's memory counts */
    /* Only anonymous memory: the kernel can reclaim pages of files. */
    snprintf(path + at, PATH_CAP - at, "/memory.stat");
    if (load_number_of(load_read_file(path, text), SF_STR("anon "), &len) && len > out->memory_len)
        out->memory_len = len;
}

static double processors(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof(set), &set) ? 0 : CPU_COUNT(&set);
    return n > 0 ? n : 1;
}

void sf_load_read(struct sf_load_reading *out)
{
    char text[TEXT_CAP];
    int saved = errno;
    *out = (struct sf_load_reading){.time_ns = sf_clock_mono_ns()};
    out->process_ns = sf_clock_process_cpu_ns();
    out->has_host = read_host(out, text);
    out->has_stalled = read_pressure(out, text);
    out->n_cpus = processors();
    out->memory_len = sf_tasks_memory();
    load_read_group(out, text);
    errno = saved;
}

/* The number of CPUs in "0-3,8"; 0: cannot be read. */
static unsigned count_online(char *text)
{
    sf_str all = sf_str_trim(load_read_file("/sys/devices/system/cpu/online", text)), one, first;
    unsigned n = 0;
    while (sf_str_split_next(&all, ',', &one)) {
        uint64_t low, high;
        if (!sf_str_split_next(&one, '-', &first) || !sf_str_to_u64(first, &low))
            return 0;
        high = low;
        if ((one.len && !sf_str_to_u64(one, &high)) || high < low || high > 1 << 20)
            return 0;
        n += (unsigned)(high - low) + 1;
    }
    return n;
}

double sf_load_cpu_limit(void)
{
    char text[TEXT_CAP], path[PATH_CAP];
    int saved = errno;
    unsigned online = count_online(text);
    double most = processors();
    if (load_find_group(path, text))
        most = read_quota(path, most, text);
    errno = saved;
    return online && most < online ? most : 0;
}

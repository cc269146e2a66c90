#include "collect/sys/tasks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"
#include "base/text.h"

bool sf_tasks_each(void (*one)(uint32_t tid, void *arg), void *arg)
{
    _Alignas(8) char entries[4096];
    int saved = errno, fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long n = -1;

    while (fd >= 0 && (n = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0) {
        for (long at = 0; at < n;) {
            const struct dirent64 *d = (const struct dirent64 *)(const void *)(entries + at);
            uint64_t tid;
            if (sf_str_to_u64(sf_str_from(d->d_name), &tid))
                one((uint32_t)tid, arg);
            at += d->d_reclen;
        }
    }
    if (fd >= 0)
        close(fd);
    errno = saved;
    return n == 0;
}

static bool hex(const char **p, uintptr_t *out)
{
    uintptr_t v = 0;
    const char *from = *p;
    for (; sf_hex_digit(**p) >= 0; (*p)++)
        v = v << 4 | (uintptr_t)sf_hex_digit(**p);
    *out = v;
    return *p > from;
}

/* "7ffc...-7ffd... rw-p ... [stack]" */
static bool tasks_is_it(const char *line, uintptr_t at, uintptr_t *lo, uintptr_t *hi, bool *is_main)
{
    const char *p = line;
    if (!hex(&p, lo) || *p++ != '-' || !hex(&p, hi) || at < *lo || at >= *hi)
        return false;
    *is_main = strstr(p, "[stack]") != NULL;
    return strncmp(p, " rw", 3) == 0;
}

bool sf_tasks_mapping(uintptr_t at, uintptr_t *lo, uintptr_t *hi, bool *is_main_stack)
{
    enum { MOST = 8 << 20 };
    char text[4097];
    size_t len = 0, all = 0;
    int saved = errno, fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    bool found = false;

    while (fd >= 0 && !found && all < MOST) {
        ssize_t n = read(fd, text + len, sizeof(text) - 1 - len);
        char *line = text, *end;
        if (n <= 0)
            break;
        all += (size_t)n;
        len += (size_t)n;
        text[len] = 0;
        while (!found && (end = strchr(line, '\n')) != NULL) {
            *end = 0;
            found = tasks_is_it(line, at, lo, hi, is_main_stack);
            line = end + 1;
        }
        len = (size_t)(text + len - line);
        if (len == sizeof(text) - 1)
            len = 0; /* the line is too long to be one of these */
        memmove(text, line, len);
    }
    if (fd >= 0)
        close(fd);
    errno = saved;
    return found;
}

/* "202 0x7f.. 0x80 0x2 0x0 0x0 0x0 0x7f..(sp) 0x7f..(pc)", "running", or "-1 sp pc" outside any
 * call. */
static bool parse_wait(sf_str text, struct sf_task_wait *out)
{
    uint64_t words[9] = {0};
    sf_str word;
    int n = 0;
    int64_t call;
    if (!sf_str_split_next(&text, ' ', &word) || !sf_str_to_i64(word, &call) || call < 0)
        return false;
    while (n < 9 && sf_str_split_next(&text, ' ', &word)) {
        const char *p = word.p + 2;
        uintptr_t v = 0;
        if (word.len < 3 || !hex(&p, &v))
            return false;
        words[n++] = v;
    }
    *out = (struct sf_task_wait){(long)call, words[0], words[6], words[7]};
    return n == 8;
}

/* Reads a small file and terminates it; returns the length, 0: failed. */
static size_t tasks_read_path(const char *path, char *out, size_t cap)
{
    int saved = errno, fd;
    ssize_t n = -1;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        n = read(fd, out, cap - 1);
        close(fd);
    }
    errno = saved;
    out[n > 0 ? n : 0] = 0;
    return n > 0 ? (size_t)n : 0;
}

static size_t read_small(uint32_t tid, const char *name, char *out, size_t cap)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%u/%s", tid, name);
    return tasks_read_path(path, out, cap);
}

enum sf_task_state sf_tasks_wait(uint32_t tid, struct sf_task_wait *out)
{
    char text[256];
    size_t n = read_small(tid, "syscall", text, sizeof(text));
    if (!n)
        return SF_TASK_GONE;
    return parse_wait((sf_str){text, n - (text[n - 1] == '\n')}, out) ? SF_TASK_WAITS
                                                                      : SF_TASK_RUNS;
}

/* The nth of numbers separated by blanks, from 0; 0: there is none. */
static uint64_t nth_number(sf_str text, int n)
{
    sf_str word = {0};
    uint64_t v;
    for (text = sf_str_trim(text); n >= 0; n--) {
        if (!sf_str_split_next(&text, ' ', &word))
            return 0;
    }
    return sf_str_to_u64(word, &v) ? v : 0;
}

/* "time run, time in the run queue, times it ran" */
static uint64_t schedule_of(uint32_t tid, int n)
{
    char text[96];
    return nth_number((sf_str){text, read_small(tid, "schedstat", text, sizeof(text))}, n);
}

uint64_t sf_tasks_run_delay(uint32_t tid)
{
    return schedule_of(tid, 1);
}

uint64_t sf_tasks_slices(uint32_t tid)
{
    return schedule_of(tid, 2);
}

/* "SigBlk:\t0000000000004000", signal n as bit n - 1 */
bool sf_tasks_takes_signal(uint32_t tid, int sig)
{
    char text[2048];
    const char *at;
    uintptr_t blocked;
    if (!read_small(tid, "status", text, sizeof(text)) || !(at = strstr(text, "\nSigBlk:\t")))
        return true;
    at += strlen("\nSigBlk:\t");
    return !hex(&at, &blocked) || !(blocked >> (sig - 1) & 1);
}

int64_t sf_tasks_n(void)
{
    struct stat st;
    int saved = errno;
    int64_t n = !stat("/proc/self/task", &st) && st.st_nlink > 2 ? (int64_t)st.st_nlink - 2 : 0;
    errno = saved;
    return n;
}

/* "0.20 0.18 0.12 3/512 11206": three load averages, runnable threads of all threads, last id */
uint64_t sf_tasks_host_runnable(void)
{
    char text[96];
    sf_str all = {text, tasks_read_path("/proc/loadavg", text, sizeof(text))}, word = {0};
    uint64_t n;
    for (int i = 0; i < 3; i++)
        if (!sf_str_split_next(&all, ' ', &word))
            return 0;
    return sf_str_split_next(&all, '/', &word) && sf_str_to_u64(word, &n) ? n : 0;
}

/* "pages, pages resident, ..." */
uint64_t sf_tasks_memory(void)
{
    char text[96];
    return nth_number((sf_str){text, tasks_read_path("/proc/self/statm", text, sizeof(text))}, 1) *
           (uint64_t)sysconf(_SC_PAGESIZE);
}

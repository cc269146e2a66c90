#include "symbol/file_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/heap.h"

enum { PAGE = 4096, AHEAD = 16 };

__thread struct sf_file_pages *sf_file_pages_open_ones;
static __thread size_t n_read; /* number of their bytes in memory */

static size_t n_pages(const struct sf_file_pages *f)
{
    return (f->len + PAGE - 1) / PAGE;
}

static bool file_pages_has(const struct sf_file_pages *f, size_t page)
{
    return f->have[page / 8] >> page % 8 & 1;
}

static bool is_still_it(const struct sf_file_pages *f)
{
    struct stat st;
    return !fstat(f->fd, &st) && st.st_dev == f->device && st.st_ino == f->inode;
}

/* Uses a high descriptor number if possible, so that the program's own numbers do not change. */
static int open_high(const char *path)
{
    enum { HIGH = 512 };
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* opening a fifo must not block */
    int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, HIGH);
    if (high >= 0)
        close(fd);
    return high < 0 ? fd : high;
}

bool sf_file_pages_open(struct sf_file_pages *f, const char *path)
{
    struct stat st;
    void *p = MAP_FAILED;
    *f = (struct sf_file_pages){.fd = open_high(path)};
    if (f->fd < 0)
        return false;
    if (!fstat(f->fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0) {
        f->len = (size_t)st.st_size;
        f->device = st.st_dev;
        f->inode = st.st_ino;
        f->have = sf_heap_new(n_pages(f) / 8 + 1);
        if (f->have)
            p = mmap(NULL, f->len, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    if (p == MAP_FAILED) {
        close(f->fd);
        sf_heap_free(f->have);
        *f = (struct sf_file_pages){0};
        return false;
    }
    f->base = p;
    f->next = sf_file_pages_open_ones;
    sf_file_pages_open_ones = f;
    return true;
}

static void file_pages_forget(struct sf_file_pages *f)
{
    size_t len = n_pages(f) / 8 + 1;
    for (size_t i = 0; i < len; i++)
        n_read -= (size_t)__builtin_popcount(f->have[i]) * PAGE;
    memset(f->have, 0, len);
}

void sf_file_pages_close(struct sf_file_pages *f)
{
    struct sf_file_pages **at = &sf_file_pages_open_ones;
    if (!f->base)
        return;
    while (*at && *at != f)
        at = &(*at)->next;
    if (*at)
        *at = f->next;
    file_pages_forget(f);
    munmap(f->base, f->len);
    if (is_still_it(f))
        close(f->fd);
    sf_heap_free(f->have);
    *f = (struct sf_file_pages){0};
}

void sf_file_pages_trim(void)
{
    if (n_read < SF_FILE_PAGES_TRIM)
        return;
    for (struct sf_file_pages *f = sf_file_pages_open_ones; f; f = f->next) {
        madvise(f->base, f->len, MADV_DONTNEED);
        file_pages_forget(f);
    }
}

static struct sf_file_pages *file_of(const uint8_t *at)
{
    struct sf_file_pages *f = sf_file_pages_open_ones;
    while (f && (uintptr_t)at - (uintptr_t)f->base >= f->len)
        f = f->next;
    return f;
}

const uint8_t *sf_file_pages_check(const uint8_t *at, const uint8_t *end)
{
    const struct sf_file_pages *f = file_of(at);
    size_t page, n;
    if (!f)
        return end;
    n = n_pages(f);
    for (page = (size_t)(at - f->base) / PAGE; page < n && file_pages_has(f, page); page++) {
        if (f->base + (page + 1) * PAGE >= end)
            return end;
    }
    return f->base + page * PAGE > at ? f->base + page * PAGE : at;
}

/* Reads pages [from, to), or as many as exist: the file may have become shorter. */
static void read_pages(struct sf_file_pages *f, size_t from, size_t to)
{
    size_t at = from * PAGE, end = to * PAGE < f->len ? to * PAGE : f->len;
    ssize_t n = 1;
    if (n_read + (to - from) * PAGE > SF_FILE_PAGES_MAX || !is_still_it(f))
        return;
    while (at < end && n > 0) {
        do
            n = pread(f->fd, f->base + at, end - at, (off_t)at);
        while (n < 0 && errno == EINTR);
        at += n > 0 ? (size_t)n : 0;
    }
    for (size_t page = from; page < to && (at == end || (page + 1) * PAGE <= at); page++) {
        f->have[page / 8] |= (uint8_t)(1u << page % 8);
        n_read += PAGE;
    }
}

/* Sequential reads fetch more at a time. */
static size_t read_until(const struct sf_file_pages *f, size_t from, size_t to)
{
    size_t n = n_pages(f), until = from + 1;
    if (from && file_pages_has(f, from - 1))
        to = from + AHEAD > to ? from + AHEAD : to;
    while (until < to && until < n && !file_pages_has(f, until))
        until++;
    return until;
}

const uint8_t *sf_file_pages_need(const uint8_t *at, size_t n, const uint8_t *end)
{
    struct sf_file_pages *f = file_of(at);
    size_t page, last;
    int saved = errno;
    bool ok = true;
    if (!f)
        return end;
    if (!n || n > (size_t)(end - at) || n > f->len - (size_t)(at - f->base))
        return NULL;
    last = ((size_t)(at - f->base) + n - 1) / PAGE;
    for (page = (size_t)(at - f->base) / PAGE; page <= last && ok;) {
        if (!file_pages_has(f, page))
            read_pages(f, page, read_until(f, page, last + 1));
        ok = file_pages_has(f, page++);
    }
    errno = saved;
    return ok ? sf_file_pages_check(at, end) : NULL;
}

sf_str sf_file_pages_text(const char *p, size_t max_len)
{
    const uint8_t *at = (const uint8_t *)p, *end, *zero, *have;
    if (max_len == 0)
        return (sf_str){p, 0};
    end = at + max_len;
    have = sf_file_pages_end(at, end);
    for (;;) {
        zero = have > at ? memchr(at, 0, (size_t)(have - at)) : NULL;
        if (zero || have == end)
            return (sf_str){p, (size_t)((zero ? zero : end) - at)};
        have = sf_file_pages_need(at, (size_t)(have - at) + 1, end);
        if (!have)
            return SF_STR_NONE;
    }
}

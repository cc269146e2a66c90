/* file_pages.h - reads the pages of a file on request into an address range as long as the file.
 *
 * The file is not mapped: if a mapped file is truncated (a program being replaced, a debug package
 * being upgraded), accessing it kills the process. Here such pages are only unavailable. Pages read
 * count against a limit and are dropped between two units, so that a file of any size costs some
 * megabytes. The program may close the descriptor and reuse its number: so it is checked before
 * each read.
 *
 * Call `need` before reading from an address; addresses outside of all open files are ordinary
 * memory. Files belong to the thread that opened them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum {
    SF_FILE_PAGES_MAX = 8 << 20,  /* for all files of a thread together */
    SF_FILE_PAGES_TRIM = 4 << 20, /* trim drops all pages if there are more */
};

struct sf_file_pages { /* a zeroed struct is closed */
    uint8_t *base;
    size_t len;
    uint8_t *have; /* heap: a bit for each page that was read */
    uint64_t device, inode;
    int fd;
    struct sf_file_pages *next;
};

extern __thread struct sf_file_pages *sf_file_pages_open_ones;

/* False: no such file, an empty one, or no memory. Must not be moved until close. */
bool sf_file_pages_open(struct sf_file_pages *f, const char *path);
void sf_file_pages_close(struct sf_file_pages *f);
/* Drops the pages of all files if there are many. No pointer into them may be in use. */
void sf_file_pages_trim(void);

/* End of the bytes from `at` on that can be read now, at most `end`. */
const uint8_t *sf_file_pages_check(const uint8_t *at, const uint8_t *end);
/* The same for at least `n` bytes before `end`, which are read if necessary. NULL: not
 * available. */
const uint8_t *sf_file_pages_need(const uint8_t *at, size_t n, const uint8_t *end);
static inline const uint8_t *sf_file_pages_end(const uint8_t *at, const uint8_t *end)
{
    return sf_file_pages_open_ones ? sf_file_pages_check(at, end) : end;
}
static inline bool sf_file_pages_has(sf_bytes b)
{
    return !b.len || sf_file_pages_need(b.p, b.len, b.p + b.len) != NULL;
}
/* The text at `p`, of at most `max_len` bytes; empty when not available. */
sf_str sf_file_pages_text(const char *p, size_t max_len);

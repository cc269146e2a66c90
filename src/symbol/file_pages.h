/* file_pages.h - the bytes of a file, read as they are queried for into a range of memory that is
 * as long as the file.
 *
 * Not a mapping of the file: one that is cut while it is mapped (a program being replaced, a debug
 * package being upgraded) ends the process that examines it. Here that is bytes that cannot be
 * obtained. What was read counts against a limit, and is forgotten between one unit and the next,
 * so that a file of any size costs some megabytes. The descriptor may be closed by the program and
 * mean another file later: it is examined before each read.
 *
 * Call `need` before reading from an address; addresses outside of all open files are plain
 * memory. One thread's files are its own. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum {
    SF_FILE_PAGES_MAX = 8 << 20,  /* of all files of a thread at a time */
    SF_FILE_PAGES_TRIM = 4 << 20, /* more than that is forgotten where it can be */
};

struct sf_file_pages { /* a zeroed one is closed */
    uint8_t *base;
    size_t len;
    uint8_t *have; /* heap: a bit for each page that was read */
    uint64_t device, inode;
    int fd;
    struct sf_file_pages *next;
};

extern __thread struct sf_file_pages *sf_file_pages_open_ones;

/* False: no such file, nothing in it, or no memory. Stays where it is until close. */
bool sf_file_pages_open(struct sf_file_pages *f, const char *path);
void sf_file_pages_close(struct sf_file_pages *f);
/* Drops what was read, of all files, if that is much. Nothing borrowed from them may be in use.
 */
void sf_file_pages_trim(void);

/* Up to where from `at` on bytes can be read now, at most `end`. */
const uint8_t *sf_file_pages_check(const uint8_t *at, const uint8_t *end);
/* The same, with at least `n` bytes of which `end` is not before. NULL: they cannot be obtained. */
const uint8_t *sf_file_pages_need(const uint8_t *at, size_t n, const uint8_t *end);
static inline const uint8_t *sf_file_pages_end(const uint8_t *at, const uint8_t *end)
{
    return sf_file_pages_open_ones ? sf_file_pages_check(at, end) : end;
}
static inline bool sf_file_pages_has(sf_bytes b)
{
    return !b.len || sf_file_pages_need(b.p, b.len, b.p + b.len) != NULL;
}
/* The text at `p`, of at most `max_len` bytes; empty when it cannot be obtained. */
sf_str sf_file_pages_text(const char *p, size_t max_len);

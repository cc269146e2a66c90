/* file.h - one open file. Short reads and writes are continued; every failure has a message.
 *
 * ENOSPC and EDQUOT are FULL, all other errors are IO. A descriptor has one owner. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct sf_file {
    int fd_plus_1; /* descriptor + 1, so that a zeroed struct is no file */
};
#define SF_FILE_NONE ((struct sf_file){0})

struct sf_iov { /* a piece of a gathered write */
    const void *p;
    size_t len;
};

bool sf_file_is_open(const struct sf_file *f);
void sf_file_close(struct sf_file *f);          /* without a file: does nothing */
struct sf_file sf_file_take(struct sf_file *f); /* moves ownership; *f has no file then */
enum sf_err sf_file_read_at(const struct sf_file *f, uint64_t off, void *p, size_t len,
                            struct sf_why *why); /* reads all, or CORRUPT (too short) or IO */
/* Reads as many bytes as there are, up to len. */
enum sf_err sf_file_read_some(const struct sf_file *f, uint64_t off, void *p, size_t len,
                              size_t *out_len, struct sf_why *why);
enum sf_err sf_file_write_at(const struct sf_file *f, uint64_t off, const void *p, size_t len,
                             struct sf_why *why);
enum sf_err sf_file_writev_at(const struct sf_file *f, uint64_t off, const struct sf_iov *v,
                              size_t n, struct sf_why *why);
/* Switches direct I/O, which bypasses the page cache, on or off: for data that is not read again
 * soon. Offset, length and memory must then be multiples of 4,096. False: not supported by the file
 * system. */
bool sf_file_set_direct(const struct sf_file *f, bool is_direct);
enum sf_err sf_file_sync(
    const struct sf_file *f,
    struct sf_why *why); /* fdatasync; after a failure the content is unknown */
enum sf_err sf_file_len(const struct sf_file *f, uint64_t *out, struct sf_why *why);
enum sf_err sf_file_truncate(const struct sf_file *f, uint64_t len, struct sf_why *why);
/* An unnamed file in folder `dir_path`, for reading and writing; deleted when closed. */
enum sf_err sf_file_temp(const char *dir_path, struct sf_file *out, struct sf_why *why);
/* BUSY: another process holds it. Released by close and when the process ends. */
enum sf_err sf_file_lock(const struct sf_file *f, struct sf_why *why);

/* Opens a file by a path given by the operator. NOT_FOUND, DENIED, IO. */
enum sf_err sf_file_open_path(const char *path, struct sf_file *out, struct sf_why *why);
/* The same for an untrusted path: only a regular file, and without blocking. */
enum sf_err sf_file_open_regular(const char *path, struct sf_file *out, struct sf_why *why);
/* The same below a folder: names may not begin with a dot, and links are not followed. */
enum sf_err sf_file_open_beneath(const char *folder, const char *path, struct sf_file *out,
                                 struct sf_why *why);
/* Creates the file if it is missing, and sets its mode to 0600, for libraries that open files
 * themselves. IO. */
enum sf_err sf_file_make_private(const char *path, struct sf_why *why);
/* Appends all of it (a pipe or /dev/stdin too) to `out`. LIMIT: longer than max_len. */
/* A file in memory, and a path by which this process can open it as long as it is open. */
enum sf_err sf_file_memory(const char *name, struct sf_file *out, char *path, size_t path_len,
                           struct sf_why *why);
enum sf_err sf_file_read_all(const struct sf_file *f, size_t max_len, struct sf_buf *out,
                             struct sf_why *why);
/* Whether users other than the owner can read it. */
bool sf_file_is_shared(const struct sf_file *f);

/* file.h - one open file. Short reads and writes are finished here; every failure is a sentence.
 *
 * ENOSPC and EDQUOT are FULL, everything else the device says is IO. A descriptor has one owner. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct sf_file {
    int fd_plus_1; /* so that a zeroed file is not a file */
};
#define SF_FILE_NONE ((struct sf_file){0})

struct sf_iov { /* a piece of a gathered write */
    const void *p;
    size_t len;
};

bool sf_file_is_open(const struct sf_file *f);
void sf_file_close(struct sf_file *f);          /* closing nothing is fine */
struct sf_file sf_file_take(struct sf_file *f); /* ownership out; *f becomes none */
enum sf_err sf_file_read_at(const struct sf_file *f, uint64_t off, void *p, size_t len,
                            struct sf_why *why); /* all or CORRUPT (too short) or IO */
/* As many bytes as there are, up to len. */
enum sf_err sf_file_read_some(const struct sf_file *f, uint64_t off, void *p, size_t len,
                              size_t *out_len, struct sf_why *why);
enum sf_err sf_file_write_at(const struct sf_file *f, uint64_t off, const void *p, size_t len,
                             struct sf_why *why);
enum sf_err sf_file_writev_at(const struct sf_file *f, uint64_t off, const struct sf_iov *v,
                              size_t n, struct sf_why *why);
/* Lets writes pass by the page cache, or not any more: for data that is not read again soon.
 * Offset, length and memory must then be multiples of 4,096. False: the file system cannot. */
bool sf_file_set_direct(const struct sf_file *f, bool is_direct);
enum sf_err sf_file_sync(
    const struct sf_file *f,
    struct sf_why *why); /* fdatasync; after a failure the content is unknown */
enum sf_err sf_file_len(const struct sf_file *f, uint64_t *out, struct sf_why *why);
enum sf_err sf_file_truncate(const struct sf_file *f, uint64_t len, struct sf_why *why);
/* A file without a name in folder `dir_path`, for reading and writing; gone when closed. */
enum sf_err sf_file_temp(const char *dir_path, struct sf_file *out, struct sf_why *why);
/* BUSY: another process holds it. Released by close and when the process ends. */
enum sf_err sf_file_lock(const struct sf_file *f, struct sf_why *why);

/* Opens a file by its path, as an operator names it. NOT_FOUND, DENIED, IO. */
enum sf_err sf_file_open_path(const char *path, struct sf_file *out, struct sf_why *why);
/* The same for an untrusted name: only a regular file, and without blocking. */
enum sf_err sf_file_open_regular(const char *path, struct sf_file *out, struct sf_why *why);
/* The same below a folder: names may not begin with a dot, and links are not followed. */
enum sf_err sf_file_open_beneath(const char *folder, const char *path, struct sf_file *out,
                                 struct sf_why *why);
/* Makes the file when it is missing, and keeps others out of it (mode 0600): for libraries that
 * open files by themselves. IO. */
enum sf_err sf_file_make_private(const char *path, struct sf_why *why);
/* Appends all of it (a pipe or /dev/stdin too) to `out`. LIMIT: longer than max_len. */
/* A file that is memory, and a path by which this process may open it while it is open. */
enum sf_err sf_file_memory(const char *name, struct sf_file *out, char *path, size_t path_len,
                           struct sf_why *why);
enum sf_err sf_file_read_all(const struct sf_file *f, size_t max_len, struct sf_buf *out,
                             struct sf_why *why);
/* Can users other than the owner read it? */
bool sf_file_is_shared(const struct sf_file *f);

/* dir.h - a directory and its entries. Names are relative paths below it ("wal/0001.wal"); none may
 * be absolute or contain "..". Only regular files and real directories are used; a symbolic link
 * gives IO. Everything is created with mode 0700 / 0600, because telemetry is
 * private. */
#pragma once
#include "os/file.h"

struct sf_dir;

enum { SF_DIR_PATH_MAX = 4096 }; /* the kernel's PATH_MAX */

enum sf_dir_mode { SF_DIR_READ, SF_DIR_CREATE };

enum sf_err sf_dir_open(const char *path, enum sf_dir_mode mode, struct sf_dir **out,
                        struct sf_why *why); /* CREATE makes missing parents too */
void sf_dir_close(struct sf_dir *d);         /* NULL is fine */
const char *sf_dir_path(
    const struct sf_dir *d); /* as opened, for messages and SQLite; borrowed until close */

enum sf_err sf_dir_open_read(struct sf_dir *d, const char *name, struct sf_file *out,
                             struct sf_why *why); /* NOT_FOUND */
enum sf_err sf_dir_open_write(struct sf_dir *d, const char *name, struct sf_file *out,
                              struct sf_why *why); /* read and write; must exist */
enum sf_err sf_dir_create(struct sf_dir *d, const char *name, struct sf_file *out,
                          struct sf_why *why); /* truncates an existing file */
enum sf_err sf_dir_open_append(struct sf_dir *d, const char *name, struct sf_file *out,
                               struct sf_why *why); /* made if missing */
enum sf_err sf_dir_make(struct sf_dir *d, const char *name,
                        struct sf_why *why); /* one level; an existing one is fine */
enum sf_err sf_dir_sync(struct sf_dir *d, const char *name,
                        struct sf_why *why); /* makes its names durable; "." is the directory
                                              * itself */
enum sf_err sf_dir_rename(struct sf_dir *d, const char *from, const char *to, struct sf_why *why);
/* A second name of a file; an existing one is fine. UNSUPPORTED: the file system has no links. */
enum sf_err sf_dir_link(struct sf_dir *d, const char *from, const char *to, struct sf_why *why);
/* Atomically replaces file `name` by these bytes; on failure it is unchanged; durable when it
 * returns. Uses the temporary name NAME.new. */
enum sf_err sf_dir_replace(struct sf_dir *d, const char *name, sf_bytes bytes, struct sf_why *why);
enum sf_err sf_dir_unlink(struct sf_dir *d, const char *name,
                          struct sf_why *why); /* a missing file is fine */
enum sf_err sf_dir_remove(struct sf_dir *d, const char *name,
                          struct sf_why *why); /* an empty folder */
/* Whether `name` is a directory or a regular file itself, not a link to one. NOT_FOUND, IO */
enum sf_err sf_dir_check(struct sf_dir *d, const char *name, bool is_dir, struct sf_why *why);
bool sf_dir_exists(struct sf_dir *d, const char *name);
/* Length of a file and the time of its last change (wall clock). */
enum sf_err sf_dir_stat(struct sf_dir *d, const char *name, uint64_t *out_len, int64_t *out_ns,
                        struct sf_why *why);           /* NOT_FOUND */
void sf_dir_touch(struct sf_dir *d, const char *name); /* sets the modification time to now; failure
                                                        * is ignored */
/* Calls `see` for each entry of folder `name` ("." is the directory itself), without "." and "..",
 * in no order, until it returns false. NOT_FOUND: no such folder. */
enum sf_err sf_dir_list(struct sf_dir *d, const char *name,
                        bool (*see)(void *arg, const char *entry, bool is_dir), void *arg,
                        struct sf_why *why);
enum sf_err sf_dir_free_len(struct sf_dir *d, uint64_t *out_free, uint64_t *out_all,
                            struct sf_why *why);
/* Creates a new directory below TMPDIR (else /tmp); `path` gets its name, terminated. */
enum sf_err sf_dir_make_temporary(const char *prefix, char *path, size_t path_len,
                                  struct sf_why *why);
/* The absolute path with links resolved, for messages; `path` itself if that fails. */
const char *sf_dir_full_path(const char *path, char full[SF_DIR_PATH_MAX]);
/* Deletes a directory with its content; links are not followed. A missing one is fine. */
enum sf_err sf_dir_delete_tree(const char *path, struct sf_why *why);

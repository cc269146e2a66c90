/* dir.h - a directory and what is in it. Names are relative paths below it ("wal/0001.wal"); none
 * may be absolute or contain "..". All made with mode 0700 / 0600: telemetry is private. */
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
                          struct sf_why *why); /* empties what is there */
enum sf_err sf_dir_open_append(struct sf_dir *d, const char *name, struct sf_file *out,
                               struct sf_why *why); /* made if missing */
enum sf_err sf_dir_make(struct sf_dir *d, const char *name,
                        struct sf_why *why); /* one level; there already is fine */
enum sf_err sf_dir_sync(struct sf_dir *d, const char *name,
                        struct sf_why *why); /* names in it reach the disk; "." is itself */
enum sf_err sf_dir_rename(struct sf_dir *d, const char *from, const char *to, struct sf_why *why);
/* Puts a file of these bytes in the place of `name`, or leaves that as it was; durable when it
 * returns. NAME.new is used on the way. */
enum sf_err sf_dir_replace(struct sf_dir *d, const char *name, sf_bytes bytes, struct sf_why *why);
enum sf_err sf_dir_unlink(struct sf_dir *d, const char *name,
                          struct sf_why *why); /* gone already is fine */
enum sf_err sf_dir_remove(struct sf_dir *d, const char *name,
                          struct sf_why *why); /* an empty folder */
bool sf_dir_exists(struct sf_dir *d, const char *name);
/* Length of a file and the time of its last change (wall clock). */
enum sf_err sf_dir_stat(struct sf_dir *d, const char *name, uint64_t *out_len, int64_t *out_ns,
                        struct sf_why *why);           /* NOT_FOUND */
void sf_dir_touch(struct sf_dir *d, const char *name); /* changed now; failure is ignored */
/* Calls `see` for each entry of folder `name` ("." is itself), without "." and "..", in no order.
 * `see` returning false ends it. NOT_FOUND when there is no such folder. */
enum sf_err sf_dir_list(struct sf_dir *d, const char *name,
                        bool (*see)(void *arg, const char *entry, bool is_dir), void *arg,
                        struct sf_why *why);
enum sf_err sf_dir_free_len(struct sf_dir *d, uint64_t *out_free, uint64_t *out_all,
                            struct sf_why *why);
/* Makes an own new directory below TMPDIR (else /tmp); `path` gets its name, terminated. */
enum sf_err sf_dir_make_temporary(const char *prefix, char *path, size_t path_len,
                                  struct sf_why *why);
/* The path from the root, links resolved, for people; `path` itself if that is unknown. */
const char *sf_dir_full_path(const char *path, char full[SF_DIR_PATH_MAX]);
/* Deletes a directory with all that is in it, links not followed. Gone already is fine. */
enum sf_err sf_dir_delete_tree(const char *path, struct sf_why *why);

/* adhoc_files.h - profiles uploaded for viewing: files in a folder of the data directory, not part
 * of the store. The caller chooses their contents.
 *
 * A file is called TENANT@ID, and an id holds the time of the upload and the profile's name: a
 * ULID, a dash, the name. So the directory is the only index. Each tenant keeps the newest
 * SF_LIMIT_ADHOC_FILES of its profiles; older ones are deleted. Erasing and retention use the time
 * of the upload. */
#pragma once
#include "base/arena.h"
#include "base/limits.h"
#include "model/beside_files.h"
#include "os/dir.h"
#include "store/store.h"

enum { SF_ADHOC_NAME_LEN = 60, SF_ADHOC_ID_LEN = 26 + 1 + SF_ADHOC_NAME_LEN };

struct sf_adhoc_file {
    sf_str id, name; /* in the arena of the list */
    int64_t uploaded_ms;
};

/* Characters outside A-Z a-z 0-9 . - _ become _; cut to SF_ADHOC_NAME_LEN, never empty. */
void sf_adhoc_files_name(sf_str given, char out[SF_ADHOC_NAME_LEN + 1]);
/* Splits an id. INPUT: it is not an id. */
enum sf_err sf_adhoc_files_id_parse(sf_str id, struct sf_adhoc_file *out, struct sf_why *why);

/* Writes the file and deletes the tenant's oldest ones above the limit. `name` is clean. FULL,
 * IO. */
enum sf_err sf_adhoc_files_add(struct sf_dir *dir, sf_str tenant, const char *name, int64_t now_ms,
                               sf_bytes bytes, struct sf_arena *req, sf_str *out_id,
                               struct sf_why *why);
/* Appends its bytes to `out`. INPUT, NOT_FOUND, IO. */
enum sf_err sf_adhoc_files_read(struct sf_dir *dir, sf_str tenant, sf_str id, struct sf_buf *out,
                                struct sf_why *why);
/* Lists the files of one tenant, newest first, in `req`. */
enum sf_err sf_adhoc_files_list(struct sf_dir *dir, sf_str tenant, struct sf_arena *req,
                                const struct sf_adhoc_file **out, size_t *out_n,
                                struct sf_why *why);
/* Deletes the files of one tenant that were uploaded in [from, to); with `is_dry_run` only counts
 * them. 0 and 0: all files. */
enum sf_err sf_adhoc_files_erase(struct sf_dir *dir, sf_str tenant, int64_t from_ns, int64_t to_ns,
                                 bool is_dry_run, uint64_t *out_n, struct sf_why *why);
/* Retention for all tenants; the `trim` of struct sf_beside. `arg` is the data directory. */
enum sf_err sf_adhoc_files_trim(void *arg, int64_t before_ns, uint64_t need_len,
                                struct sf_beside_state *out, struct sf_why *why);

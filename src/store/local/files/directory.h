/* directory.h - the data directory: its lock, its folders, and unknown files.
 *
 *   LOCK            flock()ed; holds pid and store uuid
 *   meta.db         catalogue
 *   tenants.log     a copy of the tenants, and erase.log of the tombstones, for a rebuild
 *   wal/            the log
 *   spans/DAY/      blocks of spans; prof/DAY/ blocks of profiles
 *   verdict/        what closed hours keep; symbols/ uploaded debug files
 *   spool/, tmp/    unfinished input and output; emptied at start
 *   orphan/         files without a catalogue row, kept a day */
#pragma once
#include "store/local/engine.h"

/* Takes the lock. BUSY names the process that holds it. */
enum sf_err sf_directory_lock(struct sf_dir *dir, struct sf_file *out, struct sf_why *why);
/* The uuid that the last holder wrote; false: none. */
bool sf_directory_read_uuid(const struct sf_file *lock, uint8_t out[16]);
enum sf_err sf_directory_write_lock(const struct sf_file *lock, const uint8_t uuid[16],
                                    struct sf_why *why);
/* UNSUPPORTED when a block has a format of a later version: then the directory must not be changed.
 * Reads the header of every block. */
enum sf_err sf_directory_refuse_newer(struct sf_dir *dir, struct sf_why *why);
/* Calls `see` with a sentence for each folder and file of the catalogue that is something else,
 * such as a symbolic link, until it returns false. Missing ones are fine. */
void sf_directory_check(struct sf_dir *dir, bool (*see)(void *arg, const char *sentence),
                        void *arg);
/* IO with the first of these sentences. */
enum sf_err sf_directory_refuse_links(struct sf_dir *dir, struct sf_why *why);
/* Makes the folders. */
enum sf_err sf_directory_prepare(struct sf_dir *dir, struct sf_why *why);
/* Empties tmp/ and spool/. */
enum sf_err sf_directory_clear(struct sf_dir *dir, struct sf_why *why);

/* Calls `see` with the path of every block file: spans/DAY/ID.sfs. */
enum sf_err sf_directory_blocks(struct sf_dir *dir,
                                bool (*see)(void *arg, const char *path, uint64_t id), void *arg,
                                struct sf_why *why);
/* Moves a file to orphan/; its new name includes the current time in seconds. */
enum sf_err sf_directory_orphan(struct sf_dir *dir, const char *path, int64_t now_ns,
                                struct sf_why *why);
/* Deletes orphans older than `age_ns`; `out_n`: how many are left. */
enum sf_err sf_directory_sweep(struct sf_dir *dir, int64_t now_ns, int64_t age_ns, uint64_t *out_n,
                               struct sf_why *why);
/* Largest block number among the orphans, so that it is not used again. */
uint64_t sf_directory_orphan_id(struct sf_dir *dir);

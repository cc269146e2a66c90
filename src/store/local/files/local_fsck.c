/* local_fsck.c - examines everything in a data directory and changes nothing. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "base/list.h"
#include "block/profile/profile_block_reader.h"
#include "block/span/span_block_reader.h"
#include "store/local/files/directory.h"
#include "store/local/files/fsck_copies.h"
#include "store/local/keep/keep_verify.h"
#include "store/local/local.h"
#include "symbol/symbol_files.h"
#include "wal/wal.h"

enum { SCRATCH_CAP = 1 << 30 };

struct check {
    struct sf_dir *dir;
    void (*say)(void *arg, const char *sentence);
    void *arg;
    uint64_t n_faults;
    struct sf_catalogue_meta meta;
    bool has_uuid; /* the catalogue could be read */
    struct sf_block_row *rows;
    size_t n, cap;
    struct sf_arena scratch;
    const struct sf_file *lock; /* NULL: there is none */
    const char *path;           /* of the block being examined */
    enum sf_err err;
};

static void local_fsck_fault(struct check *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void local_fsck_fault(struct check *c, const char *format, ...)
{
    char line[400];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    c->n_faults++;
    c->say(c->arg, line);
}

static bool local_fsck_see_row(void *arg, const struct sf_block_row *row)
{
    struct check *c = arg;
    if (!sf_list_room(&c->rows, c->n, &c->cap, 64)) {
        c->err = SF_ERR_NOMEM;
        return false;
    }
    c->rows[c->n++] = *row;
    return true;
}

/* Puts the name of the block before its messages. */
static void say_of_block(void *arg, const char *sentence)
{
    struct check *c = arg;
    char line[400];
    snprintf(line, sizeof(line), "%s: %s", c->path, sentence);
    c->say(c->arg, line);
}

static void compare_header(struct check *c, const struct sf_block_row *row,
                           const struct sf_span_block_info *info, uint64_t len)
{
    if (memcmp(info->store_uuid, c->meta.uuid, 16) != 0)
        local_fsck_fault(c, "%s belongs to another store", row->path);
    if (info->block_id != row->id)
        local_fsck_fault(c, "%s says it is block %" PRIx64, row->path, info->block_id);
    if (info->n_rows != row->n_rows)
        local_fsck_fault(c, "%s has %" PRIu64 " rows, the catalogue says %" PRIu64, row->path,
                         info->n_rows, row->n_rows);
    if (info->level != row->level || info->tenant != row->tenant)
        local_fsck_fault(c, "%s and the catalogue disagree about its level or tenant", row->path);
    if (len != row->len)
        local_fsck_fault(c, "%s is %" PRIu64 " bytes long, the catalogue says %" PRIu64, row->path,
                         len, row->len);
}

static enum sf_err check_block(struct check *c, const struct sf_block_row *row, struct sf_why *why)
{
    struct sf_file file = SF_FILE_NONE;
    struct sf_span_block_reader *reader = NULL;
    struct sf_profile_block_reader *profiles = NULL;
    uint64_t n_faults = 0;
    enum sf_err err = sf_dir_open_read(c->dir, row->path, &file, why);
    if (err == SF_ERR_NOT_FOUND) {
        local_fsck_fault(c, "%s is in the catalogue but not on the disk", row->path);
        return SF_OK;
    }
    if (!err)
        err = row->kind == SF_BLOCK_PROFILES
                  ? sf_profile_block_reader_open(&file, &profiles, why)
                  : sf_span_block_reader_open(&file, SF_TABLES_ALL, &reader, why);
    sf_file_close(&file);
    c->path = row->path;
    if (!err && profiles) {
        compare_header(c, row, sf_profile_block_reader_info(profiles),
                       sf_profile_block_reader_len(profiles));
        err = sf_profile_block_verify(profiles, c->scratch, say_of_block, c, &n_faults, why);
    } else if (!err) {
        compare_header(c, row, sf_span_block_reader_info(reader), sf_span_block_reader_len(reader));
        err = sf_span_block_verify(reader, c->scratch, say_of_block, c, &n_faults, why);
    }
    c->n_faults += n_faults;
    sf_span_block_reader_close(reader);
    sf_profile_block_reader_close(profiles);
    if (err == SF_ERR_CORRUPT || err == SF_ERR_UNSUPPORTED || err == SF_ERR_IO) {
        local_fsck_fault(c, "%s: %s", row->path, why->text);
        err = SF_OK;
    }
    return err;
}

static bool local_fsck_see_file(void *arg, const char *path, uint64_t id)
{
    struct check *c = arg;
    char line[200];
    for (size_t i = 0; i < c->n; i++) {
        if (c->rows[i].id == id)
            return true;
    }
    /* Not a fault: a server that was killed between rename and commit leaves one. */
    snprintf(line, sizeof(line),
             "note: %s is not in the catalogue; the next start moves it to orphan/", path);
    c->say(c->arg, line);
    return true;
}

static enum sf_err check_copies(struct check *c, struct sf_catalogue *catalogue, struct sf_why *why)
{
    struct sf_fsck_copies copies = {.dir = c->dir,
                                    .catalogue = catalogue,
                                    .lock = c->lock,
                                    .uuid = c->meta.uuid,
                                    .say = c->say,
                                    .arg = c->arg};
    enum sf_err err = sf_fsck_copies(&copies, why);
    c->n_faults += copies.n_faults;
    return err;
}

static enum sf_err check_catalogue(struct check *c, struct sf_why *why)
{
    struct sf_catalogue *catalogue = NULL;
    bool is_new = false;
    enum sf_err err;
    if (!sf_dir_exists(c->dir, "meta.db")) {
        local_fsck_fault(c, "meta.db is missing; the next start rebuilds it from the blocks");
        return SF_OK;
    }
    err = sf_catalogue_open(c->dir, true, &catalogue, &is_new, why);
    if (err == SF_ERR_CORRUPT || err == SF_ERR_IO || is_new) {
        local_fsck_fault(c,
                         "meta.db cannot be read (%s); the next start rebuilds it from the blocks",
                         err ? why->text : "it has no store uuid");
        sf_catalogue_close(catalogue);
        return SF_OK;
    }
    if (!err)
        err = sf_catalogue_verify(catalogue, c->say, c->arg, &c->n_faults, why);
    if (!err)
        err = sf_catalogue_meta(catalogue, &c->meta, why);
    c->has_uuid = !err;
    if (!err)
        err = sf_catalogue_blocks(catalogue, local_fsck_see_row, c, why);
    if (!err && c->err)
        err = sf_fail(why, c->err, "fsck: no memory for the list of blocks");
    if (!err)
        err = check_copies(c, catalogue, why);
    sf_catalogue_close(catalogue);
    if (err == SF_ERR_CORRUPT || err == SF_ERR_IO) {
        local_fsck_fault(c, "meta.db: %s; the next start rebuilds it from the blocks", why->text);
        err = SF_OK;
    }
    return err;
}

static bool local_fsck_see_link(void *arg, const char *sentence)
{
    local_fsck_fault(arg, "%s; the server does not start with it", sentence);
    return true;
}

static enum sf_err local_fsck_check_all(struct check *c, struct sf_why *why)
{
    enum sf_err err = check_catalogue(c, why);
    struct sf_wal_known known = {c->meta.ckpt_lsn, c->meta.log_sequence, c->meta.log_lsn};
    uint64_t n_log_faults = 0;
    for (size_t i = 0; !err && i < c->n; i++) {
        if (c->rows[i].state == SF_BLOCK_BAD)
            local_fsck_fault(c, "%s is quarantined", c->rows[i].path);
        if (c->rows[i].state != SF_BLOCK_DEAD)
            err = check_block(c, &c->rows[i], why);
    }
    if (!err)
        err = sf_directory_blocks(c->dir, local_fsck_see_file, c, why);
    if (!err && (sf_dir_exists(c->dir, "wal") || known.sequence)) {
        err = sf_wal_verify(c->dir, &known, c->say, c->arg, &n_log_faults, why);
        c->n_faults += n_log_faults;
    }
    if (!err)
        err = sf_keep_verify(c->dir, c->has_uuid ? c->meta.uuid : NULL, c->scratch, c->say, c->arg,
                             &c->n_faults, why);
    if (!err)
        err = sf_symbol_files_verify(c->dir, c->scratch, c->say, c->arg, &c->n_faults, why);
    return err;
}

/* What is behind a link would be reported as missing. */
static enum sf_err check_unless_links(struct check *c, struct sf_why *why)
{
    sf_directory_check(c->dir, local_fsck_see_link, c);
    if (c->n_faults == 0)
        return local_fsck_check_all(c, why);
    c->say(c->arg, "note: nothing else was examined");
    return SF_OK;
}

enum sf_err sf_local_fsck(struct sf_dir *dir, void (*say)(void *arg, const char *sentence),
                          void *arg, uint64_t *out_n_faults, struct sf_why *why)
{
    struct check c = {.dir = dir, .say = say, .arg = arg};
    struct sf_file lock = SF_FILE_NONE;
    struct sf_why own;
    enum sf_err err;

    if (!why)
        why = &own;
    if (!sf_dir_exists(dir, "LOCK") && !sf_dir_exists(dir, "meta.db"))
        return sf_fail(why, SF_ERR_NOT_FOUND, "%s is not a data directory", sf_dir_path(dir));
    if (sf_dir_exists(dir, "LOCK")) {
        err = sf_directory_lock(dir, &lock, why);
        if (err)
            return err;
        c.lock = &lock;
    }
    if (!sf_arena_init(&c.scratch, SCRATCH_CAP))
        err = sf_fail(why, SF_ERR_NOMEM, "fsck: no memory");
    else
        err = check_unless_links(&c, why);
    sf_arena_done(&c.scratch);
    sf_heap_free(c.rows);
    sf_file_close(&lock);
    if (!err)
        *out_n_faults = c.n_faults;
    return err;
}

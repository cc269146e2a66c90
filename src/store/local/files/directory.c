/* directory.c - at start, in this order: the lock is taken, links and blocks of a later version are
 * refused, both before anything is changed; then missing folders are created and leftovers deleted.
 * fsck makes the same checks without the changes. */
#include "store/local/files/directory.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/heap.h"
#include "base/text.h"
#include "base/time_unit.h"
#include "block/format/section.h"

static const char *const folders[] = {"wal",     "spans", "prof", "verdict",
                                      "symbols", "spool", "tmp",  "orphan"};
/* Created when they are needed first. */
static const char *const later_folders[] = {"symbols/fetched", "moving", "ship.refused", "adhoc"};
/* SQLite opens them by path and follows links. */
static const char *const catalogue_files[] = {"meta.db", "meta.db-wal", "meta.db-shm"};
enum {
    N_FOLDERS = sizeof(folders) / sizeof(folders[0]),
    N_LATER = sizeof(later_folders) / sizeof(later_folders[0]),
    N_CATALOGUE = sizeof(catalogue_files) / sizeof(catalogue_files[0]),
    LOCK_LEN = 128,
    DAY_LEN = 10 /* "2026-11-19" */
};
static const char *const block_folders[] = {"spans", "prof"};
enum { N_KINDS = sizeof(block_folders) / sizeof(block_folders[0]) };

/* LOCK is two lines: "pid 1234", "store 0123...". */
static size_t read_lock_text(const struct sf_file *lock, char out[LOCK_LEN])
{
    size_t len = 0;
    if (sf_file_read_some(lock, 0, out, LOCK_LEN - 1, &len, NULL))
        len = 0;
    out[len] = 0;
    return len;
}

enum sf_err sf_directory_lock(struct sf_dir *dir, struct sf_file *out, struct sf_why *why)
{
    struct sf_file lock = SF_FILE_NONE;
    char text[LOCK_LEN];
    unsigned pid = 0;
    enum sf_err err = sf_dir_open_append(dir, "LOCK", &lock, why);
    if (err)
        return err;
    err = sf_file_lock(&lock, why);
    if (err == SF_ERR_BUSY) {
        read_lock_text(&lock, text);
        (void)sscanf(text, "pid %u", &pid);
        sf_fail(why, err,
                "%s is in use by another server (process %u): stop that one or choose another "
                "directory",
                sf_dir_path(dir), pid);
    }
    if (err)
        sf_file_close(&lock);
    else
        *out = sf_file_take(&lock);
    return err;
}

bool sf_directory_read_uuid(const struct sf_file *lock, uint8_t out[16])
{
    char text[LOCK_LEN];
    size_t at;
    sf_str all = {text, read_lock_text(lock, text)};
    if (!sf_str_find(all, SF_STR("store "), &at))
        return false;
    return sf_hex_decode(sf_str_part(all, at + 6, 32), out, 16);
}

enum sf_err sf_directory_write_lock(const struct sf_file *lock, const uint8_t uuid[16],
                                    struct sf_why *why)
{
    char text[LOCK_LEN], hex[33];
    int len;
    enum sf_err err;
    sf_hex_encode(uuid, 16, hex);
    hex[32] = 0;
    len = snprintf(text, sizeof(text), "pid %u\nstore %s\n", sf_thread_pid(), hex);
    err = sf_file_write_at(lock, 0, text, (size_t)len, why);
    if (!err)
        err = sf_file_truncate(lock, (uint64_t)len, why);
    return err ? err : sf_file_sync(lock, why);
}

struct emptying {
    struct sf_dir *dir;
    const char *folder;
};

static bool delete_entry(void *arg, const char *entry, bool is_dir)
{
    const struct emptying *e = arg;
    char path[400];
    if (!is_dir && snprintf(path, sizeof(path), "%s/%s", e->folder, entry) < (int)sizeof(path))
        sf_dir_unlink(e->dir, path, NULL);
    return true;
}

struct day_check {
    struct sf_dir *dir;
    const char *folder;
    bool (*see)(void *arg, const char *sentence);
    void *arg;
    bool is_stopped;
};

static bool directory_check_one(struct day_check *c, const char *name, bool is_dir)
{
    struct sf_why why;
    if (sf_dir_check(c->dir, name, is_dir, &why) == SF_ERR_IO)
        c->is_stopped = !c->see(c->arg, why.text);
    return !c->is_stopped;
}

static bool check_day(void *arg, const char *entry, bool is_dir)
{
    struct day_check *c = arg;
    char path[64];
    if (is_dir || sf_str_from(entry).len != DAY_LEN)
        return true;
    snprintf(path, sizeof(path), "%.8s/%.10s", c->folder, entry);
    return directory_check_one(c, path, true);
}

void sf_directory_check(struct sf_dir *dir, bool (*see)(void *arg, const char *sentence), void *arg)
{
    struct day_check c = {.dir = dir, .see = see, .arg = arg};
    for (unsigned i = 0; !c.is_stopped && i < N_FOLDERS; i++)
        directory_check_one(&c, folders[i], true);
    for (unsigned i = 0; !c.is_stopped && i < N_LATER; i++)
        directory_check_one(&c, later_folders[i], true);
    for (unsigned i = 0; !c.is_stopped && i < N_CATALOGUE; i++)
        directory_check_one(&c, catalogue_files[i], false);
    for (unsigned i = 0; !c.is_stopped && i < N_KINDS; i++) {
        c.folder = block_folders[i];
        (void)sf_dir_list(dir, c.folder, check_day, &c, NULL); /* a link was reported above */
    }
}

static bool keep_sentence(void *arg, const char *sentence)
{
    sf_fail(arg, SF_ERR_IO, "store: %s", sentence);
    return false;
}

enum sf_err sf_directory_refuse_links(struct sf_dir *dir, struct sf_why *why)
{
    struct sf_why found = {0};
    sf_directory_check(dir, keep_sentence, &found);
    return found.text[0] ? sf_fail(why, SF_ERR_IO, "%s", found.text) : SF_OK;
}

enum sf_err sf_directory_prepare(struct sf_dir *dir, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (unsigned i = 0; !err && i < N_FOLDERS; i++)
        err = sf_dir_make(dir, folders[i], why);
    return err ? err : sf_dir_sync(dir, ".", why);
}

enum sf_err sf_directory_clear(struct sf_dir *dir, struct sf_why *why)
{
    struct emptying tmp = {dir, "tmp"}, spool = {dir, "spool"};
    enum sf_err err = sf_dir_list(dir, "tmp", delete_entry, &tmp, why);
    if (!err)
        err = sf_dir_list(dir, "spool", delete_entry, &spool, why);
    return err ? err : sf_dir_sync(dir, ".", why);
}

/* ---- block files ---- */

struct walk {
    struct sf_dir *dir;
    bool (*see)(void *arg, const char *path, uint64_t id);
    void *arg;
    const char *folder;
    char day[32];
    enum sf_err err;
    struct sf_why *why;
};

static bool directory_id_of(const char *entry, uint64_t *out)
{
    uint64_t id = 0;
    size_t i;
    for (i = 0; i < 16; i++) {
        int digit = sf_hex_digit(entry[i]);
        if (digit < 0)
            return false;
        id = id << 4 | (uint64_t)digit;
    }
    *out = id;
    return sf_str_eq(sf_str_from(entry + 16), SF_STR(".sfs")) ||
           sf_str_eq(sf_str_from(entry + 16), SF_STR(".sfp"));
}

static bool directory_see_file(void *arg, const char *entry, bool is_dir)
{
    struct walk *w = arg;
    char path[64];
    uint64_t id;
    if (is_dir || !directory_id_of(entry, &id))
        return true;
    snprintf(path, sizeof(path), "%.8s/%.10s/%.20s", w->folder, w->day, entry);
    return w->see(w->arg, path, id);
}

static bool see_day(void *arg, const char *entry, bool is_dir)
{
    struct walk *w = arg;
    char path[64];
    if (!is_dir || sf_str_from(entry).len != DAY_LEN)
        return true;
    snprintf(w->day, sizeof(w->day), "%.10s", entry);
    snprintf(path, sizeof(path), "%.8s/%.10s", w->folder, entry);
    w->err = sf_dir_list(w->dir, path, directory_see_file, w, w->why);
    return !w->err;
}

enum sf_err sf_directory_blocks(struct sf_dir *dir,
                                bool (*see)(void *arg, const char *path, uint64_t id), void *arg,
                                struct sf_why *why)
{
    struct walk w = {.dir = dir, .see = see, .arg = arg, .why = why};
    enum sf_err err = SF_OK;
    for (size_t i = 0; !err && !w.err && i < N_KINDS; i++) {
        w.folder = block_folders[i];
        if (sf_dir_exists(dir, w.folder))
            err = sf_dir_list(dir, w.folder, see_day, &w, why);
    }
    return err ? err : w.err;
}

/* ---- of a later version ---- */

struct headers {
    struct sf_dir *dir;
    uint16_t format; /* of the block found; 0: none */
    char path[64];
};

/* A block that cannot be read now is not judged here: it is checked again when it is opened. */
static bool see_header(void *arg, const char *path, uint64_t id)
{
    struct headers *h = arg;
    struct sf_file file = SF_FILE_NONE;
    uint8_t header[SF_BLOCK_HEADER_LEN];
    size_t len = 0;
    uint16_t format;
    (void)id;
    if (sf_dir_open_read(h->dir, path, &file, NULL))
        return true;
    if (!sf_file_read_some(&file, 0, header, sizeof(header), &len, NULL) && len == sizeof(header) &&
        sf_section_block_header_is_newer(header, &format)) {
        h->format = format;
        snprintf(h->path, sizeof(h->path), "%s", path);
    }
    sf_file_close(&file);
    return h->format == 0;
}

enum sf_err sf_directory_refuse_newer(struct sf_dir *dir, struct sf_why *why)
{
    struct headers h = {.dir = dir};
    enum sf_err err = sf_directory_blocks(dir, see_header, &h, why);
    if (!err && h.format)
        err = sf_fail(why, SF_ERR_UNSUPPORTED,
                      "store: %s is of format %u, which a later version wrote; this one does not "
                      "touch the directory",
                      h.path, h.format);
    return err;
}

/* ---- orphans ---- */

enum sf_err sf_directory_orphan(struct sf_dir *dir, const char *path, int64_t now_ns,
                                struct sf_why *why)
{
    char to[128];
    sf_str rest = sf_str_from(path), name = rest;
    while (sf_str_split_next(&rest, '/', &name)) {
        /* until `name` is the last part */
    }
    snprintf(to, sizeof(to), "orphan/%lld-%.*s", (long long)(now_ns / SF_NS_PER_S),
             SF_STR_ARG(name));
    return sf_dir_rename(dir, path, to, why);
}

struct sweep {
    struct sf_dir *dir;
    int64_t before_s;
    uint64_t n_left;
};

static bool directory_sweep_entry(void *arg, const char *entry, bool is_dir)
{
    struct sweep *s = arg;
    sf_str rest = sf_str_from(entry), head;
    int64_t since_s;
    char path[400];
    if (is_dir || !sf_str_split_next(&rest, '-', &head) || !sf_str_to_i64(head, &since_s))
        return true; /* not the name of an orphan */
    if (since_s >= s->before_s ||
        snprintf(path, sizeof(path), "orphan/%s", entry) >= (int)sizeof(path)) {
        s->n_left++;
        return true;
    }
    sf_dir_unlink(s->dir, path, NULL);
    return true;
}

enum sf_err sf_directory_sweep(struct sf_dir *dir, int64_t now_ns, int64_t age_ns, uint64_t *out_n,
                               struct sf_why *why)
{
    struct sweep s = {.dir = dir, .before_s = (now_ns - age_ns) / SF_NS_PER_S};
    enum sf_err err = sf_dir_list(dir, "orphan", directory_sweep_entry, &s, why);
    if (!err && out_n)
        *out_n = s.n_left;
    return err;
}

static bool see_orphan(void *arg, const char *entry, bool is_dir)
{
    uint64_t *largest = arg, id;
    sf_str rest = sf_str_from(entry), head;
    if (!is_dir && sf_str_split_next(&rest, '-', &head) && rest.len == 20 &&
        directory_id_of(rest.p, &id) && id > *largest)
        *largest = id;
    return true;
}

uint64_t sf_directory_orphan_id(struct sf_dir *dir)
{
    uint64_t largest = 0;
    (void)sf_dir_list(dir, "orphan", see_orphan, &largest, NULL);
    return largest;
}

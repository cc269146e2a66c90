/* catalogue.c - the catalogue in SQLite. Every change is a function run inside one transaction by
 * transact(), which checkpoints SQLite's journal afterwards. Rows carry checksums that are verified
 * when the file is opened, and by fsck. A file that cannot be read is set aside for a rebuild. */
#include "store/local/files/catalogue.h"

#include <sqlite3.h>
#include <stdio.h>

#include "base/heap.h"
#include "base/num.h"
#include "base/time_unit.h"
#include "os/clock.h"
#include "os/dir.h"
#include "os/file.h"
#include "os/thread.h"
#include "store/local/files/row_sum.h"

enum { FORMAT = 3, BUSY_MS = 5000 };

struct sf_catalogue {
    /* Guards the one connection. Deliberately held during SQLite's system calls: there is one
     * writer, and readers must wait for it. A leaf lock; callbacks of the list functions take no
     * lock either. */
    struct sf_mutex lock;
    sqlite3 *db;
};

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS meta(k TEXT PRIMARY KEY, v, sum INTEGER);"
    "CREATE TABLE IF NOT EXISTS tenant(id INTEGER PRIMARY KEY, name TEXT UNIQUE,"
    " sum INTEGER);"
    "CREATE TABLE IF NOT EXISTS block(tenant INTEGER, kind INTEGER, day INTEGER,"
    " id INTEGER PRIMARY KEY, level INTEGER, ts_min INTEGER, ts_max INTEGER, rows INTEGER,"
    " bytes INTEGER, lsn_lo INTEGER, lsn_hi INTEGER, flush INTEGER, state INTEGER, tier INTEGER,"
    " path TEXT, created INTEGER, sum INTEGER);"
    "CREATE TABLE IF NOT EXISTS verdict(tenant INTEGER, hour INTEGER, state INTEGER, path TEXT,"
    " PRIMARY KEY(tenant, hour));"
    "CREATE TABLE IF NOT EXISTS erase(id INTEGER PRIMARY KEY, tenant INTEGER, selector BLOB,"
    " below_block INTEGER, lsn INTEGER, created INTEGER, state INTEGER, sum INTEGER);";

/* Format 1 had no checksums. */
static const char upgrade[] =
    "BEGIN IMMEDIATE;"
    "ALTER TABLE meta ADD COLUMN sum INTEGER; ALTER TABLE tenant ADD COLUMN sum INTEGER;"
    "ALTER TABLE block ADD COLUMN sum INTEGER; ALTER TABLE erase ADD COLUMN sum INTEGER;"
    "UPDATE meta SET v = 2 WHERE k = 'format';"
    "UPDATE meta SET sum = row_sum(" SF_SUM_META ");"
    "UPDATE tenant SET sum = row_sum(" SF_SUM_TENANT ");"
    "UPDATE block SET sum = row_sum(" SF_SUM_BLOCK ");"
    "UPDATE erase SET sum = row_sum(" SF_SUM_ERASE "); COMMIT;";

/* Format 2 allowed only the first formats of profile blocks and logged profiles: an earlier server
 * would consider later ones damaged. */
static const char mark_as_3[] =
    "UPDATE meta SET v = 3, sum = row_sum('format', 3) WHERE k = 'format' AND v = 2;";

static enum sf_err err_of(int code)
{
    switch (code) {
    case SQLITE_FULL: return SF_ERR_FULL;
    case SQLITE_NOMEM: return SF_ERR_NOMEM;
    case SQLITE_BUSY: return SF_ERR_BUSY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR: /* the statements are valid, so the tables must be damaged */
        return SF_ERR_CORRUPT;
    default: return SF_ERR_IO;
    }
}

static enum sf_err fail_db(struct sf_catalogue *c, int code, const char *doing, struct sf_why *why)
{
    return sf_fail(why, err_of(code), "catalogue: %s: %s", doing,
                   c->db ? sqlite3_errmsg(c->db) : sqlite3_errstr(code));
}

static enum sf_err catalogue_run(struct sf_catalogue *c, const char *sql, struct sf_why *why)
{
    int code = sqlite3_exec(c->db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? SF_OK : fail_db(c, code, "change", why);
}

/* ---- one statement at a time: prepare, bind, step ---- */

static enum sf_err catalogue_prepare(struct sf_catalogue *c, const char *sql, sqlite3_stmt **out,
                                     struct sf_why *why)
{
    int code = sqlite3_prepare_v2(c->db, sql, -1, out, NULL);
    return code == SQLITE_OK ? SF_OK : fail_db(c, code, "prepare", why);
}

static void bind_u64(sqlite3_stmt *s, int at, uint64_t v)
{
    sqlite3_bind_int64(s, at, (sqlite3_int64)v);
}

static enum sf_err catalogue_finish(struct sf_catalogue *c, sqlite3_stmt *s, const char *doing,
                                    struct sf_why *why)
{
    int code = sqlite3_step(s);
    sqlite3_finalize(s);
    return code == SQLITE_DONE || code == SQLITE_ROW ? SF_OK : fail_db(c, code, doing, why);
}

/* Runs `change` in a transaction, which is rolled back on failure. The journal is checkpointed into
 * the file at once: SQLite treats a damaged journal as a shorter one, and would silently lose
 * everything committed since the last checkpoint. */
static enum sf_err transact(struct sf_catalogue *c,
                            enum sf_err (*change)(struct sf_catalogue *c, const void *arg,
                                                  struct sf_why *why),
                            const void *arg, struct sf_why *why)
{
    enum sf_err err;
    sf_mutex_lock(&c->lock);
    err = catalogue_run(c, "BEGIN IMMEDIATE", why);
    if (!err) {
        err = change(c, arg, why);
        if (!err)
            err = catalogue_run(c, "COMMIT", why);
        if (err)
            sqlite3_exec(c->db, "ROLLBACK", NULL, NULL, NULL);
        else /* if the checkpoint fails, the next transaction repeats it */
            sqlite3_wal_checkpoint_v2(c->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    }
    sf_mutex_unlock(&c->lock);
    return err;
}

/* ---- open ---- */

/* Writes the path as the URI that SQLite expects. */
static void make_uri(const char *path, const char *options, char *out, size_t cap)
{
    size_t at = (size_t)snprintf(out, cap, "file:");
    for (; *path && at + 4 < cap; path++) {
        if (*path == '%' || *path == '?' || *path == '#')
            at += (size_t)snprintf(out + at, cap - at, "%%%02x", (unsigned)(unsigned char)*path);
        else
            out[at++] = *path;
    }
    snprintf(out + at, cap - at, "%s", options);
}

static enum sf_err open_writable(struct sf_catalogue *c, const char *path, struct sf_why *why)
{
    /* SQLite would create it readable for everyone; its other files get the same mode. */
    enum sf_err err = sf_file_make_private(path, why);
    if (err)
        return err;
    int code = sqlite3_open_v2(
        path, &c->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK)
        return fail_db(c, code, "open", why);
    sqlite3_busy_timeout(c->db, BUSY_MS);
    err = catalogue_run(c,
                        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA secure_delete=ON;"
                        "PRAGMA cache_size=-256; PRAGMA temp_store=MEMORY;",
                        why);
    if (!err)
        err = catalogue_run(c, schema, why);
    if (!err && sf_row_sum_register(c->db) != SQLITE_OK)
        err = sf_fail(why, SF_ERR_NOMEM, "catalogue: no memory");
    return err;
}

static bool has_sums(struct sf_catalogue *c)
{
    sqlite3_stmt *s = NULL;
    int code = sqlite3_prepare_v2(c->db, "SELECT sum FROM meta", -1, &s, NULL);
    sqlite3_finalize(s);
    return code == SQLITE_OK;
}

/* Without a journal the file is opened as immutable, so that SQLite creates no other files. A
 * journal has to be read, for which SQLite creates its index file. */
static enum sf_err open_readable(struct sf_catalogue *c, struct sf_dir *dir, const char *path,
                                 struct sf_why *why)
{
    char uri[3 * 4200];
    int code;
    make_uri(path, sf_dir_exists(dir, "meta.db-wal") ? "" : "?immutable=1", uri, sizeof(uri));
    code = sqlite3_open_v2(uri, &c->db,
                           SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK)
        code = sf_row_sum_register(c->db);
    return code == SQLITE_OK ? SF_OK : fail_db(c, code, "open", why);
}

static bool has_uuid(struct sf_catalogue *c, struct sf_why *why, enum sf_err *out_err)
{
    sqlite3_stmt *s = NULL;
    bool found = false;
    int code;
    *out_err = catalogue_prepare(c, "SELECT v FROM meta WHERE k = 'uuid'", &s, why);
    if (*out_err)
        return false;
    code = sqlite3_step(s);
    if (code == SQLITE_ROW)
        found = sqlite3_column_bytes(s, 0) == 16;
    else if (code != SQLITE_DONE)
        *out_err = fail_db(c, code, "read", why);
    sqlite3_finalize(s);
    return found;
}

static enum sf_err catalogue_check(struct sf_catalogue *c, struct sf_why *why);

/* A catalogue that SQLite cannot read is kept under orphan/ for examination. */
static enum sf_err catalogue_set_aside(struct sf_dir *dir, struct sf_why *why)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    enum sf_err err = sf_dir_make(dir, "orphan", why);
    for (unsigned i = 0; !err && i < 3; i++) {
        char from[32], to[64];
        snprintf(from, sizeof(from), "meta.db%s", ends[i]);
        snprintf(to, sizeof(to), "orphan/%lld-meta.db%s",
                 (long long)(sf_clock_wall_ns() / SF_NS_PER_S), ends[i]);
        if (sf_dir_exists(dir, from))
            err = sf_dir_rename(dir, from, to, why);
    }
    return err;
}

enum sf_err sf_catalogue_open(struct sf_dir *dir, bool is_read_only, struct sf_catalogue **out,
                              bool *out_is_new, struct sf_why *why)
{
    char path[4200];
    enum sf_err err;
    struct sf_catalogue *c = sf_heap_new(sizeof(*c));
    if (!c)
        return sf_fail(why, SF_ERR_NOMEM, "catalogue: no memory");
    sf_mutex_init(&c->lock, SF_LOCK_STORE_CATALOGUE);
    snprintf(path, sizeof(path), "%s/meta.db", sf_dir_path(dir));

    err = is_read_only ? open_readable(c, dir, path, why) : open_writable(c, path, why);
    if (!err && !is_read_only && !has_sums(c))
        err = catalogue_run(c, upgrade, why);
    if (!err && !is_read_only)
        err = catalogue_check(c, why);
    if (!err && !is_read_only)
        err = catalogue_run(c, mark_as_3, why);
    if (!err)
        *out_is_new = !has_uuid(c, why, &err);
    if (err == SF_ERR_CORRUPT && !is_read_only) {
        sqlite3_close(c->db);
        c->db = NULL;
        err = catalogue_set_aside(dir, why);
        if (!err)
            err = open_writable(c, path, why);
        if (!err)
            *out_is_new = !has_uuid(c, why, &err);
    }
    if (err) {
        sf_catalogue_close(c);
        return err;
    }
    *out = c;
    return SF_OK;
}

void sf_catalogue_close(struct sf_catalogue *c)
{
    if (!c)
        return;
    sqlite3_close(c->db);
    sf_mutex_done(&c->lock);
    sf_heap_free(c);
}

/* ---- meta ---- */

static enum sf_err catalogue_set_number(struct sf_catalogue *c, const char *key, uint64_t v,
                                        struct sf_why *why)
{
    sqlite3_stmt *s;
    enum sf_err err = catalogue_prepare(
        c, "INSERT OR REPLACE INTO meta(k, v, sum) VALUES (?1, ?2, row_sum(?1, ?2))", &s, why);
    if (err)
        return err;
    sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
    bind_u64(s, 2, v);
    return catalogue_finish(c, s, "write meta", why);
}

static enum sf_err get_number(struct sf_catalogue *c, const char *key, uint64_t *out,
                              struct sf_why *why)
{
    sqlite3_stmt *s;
    int code;
    enum sf_err err = catalogue_prepare(c, "SELECT v FROM meta WHERE k = ?", &s, why);
    if (err)
        return err;
    sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
    code = sqlite3_step(s);
    *out = code == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(s, 0) : 0;
    sqlite3_finalize(s);
    return code == SQLITE_ROW || code == SQLITE_DONE ? SF_OK : fail_db(c, code, "read meta", why);
}

enum sf_err sf_catalogue_meta(struct sf_catalogue *c, struct sf_catalogue_meta *out,
                              struct sf_why *why)
{
    struct sf_catalogue_meta m = {0};
    uint64_t format = 0, now = 0;
    sqlite3_stmt *s = NULL;
    enum sf_err err;

    sf_mutex_lock(&c->lock);
    err = catalogue_prepare(c, "SELECT v FROM meta WHERE k = 'uuid'", &s, why);
    if (!err) {
        if (sqlite3_step(s) == SQLITE_ROW && sqlite3_column_bytes(s, 0) == 16)
            memcpy(m.uuid, sqlite3_column_blob(s, 0), 16);
        else
            err = sf_fail(why, SF_ERR_CORRUPT, "catalogue: it has no store uuid");
        sqlite3_finalize(s);
    }
    if (!err)
        err = get_number(c, "format", &format, why);
    if (!err && format > FORMAT)
        err = sf_fail(why, SF_ERR_UNSUPPORTED,
                      "catalogue: format %llu is newer than this server (%d)",
                      (unsigned long long)format, FORMAT);
    if (!err)
        err = get_number(c, "ckpt_lsn", &m.ckpt_lsn, why);
    if (!err)
        err = get_number(c, "next_block", &m.next_block, why);
    if (!err)
        err = get_number(c, "next_flush", &m.next_flush, why);
    if (!err)
        err = get_number(c, "log_sequence", &m.log_sequence, why);
    if (!err)
        err = get_number(c, "log_lsn", &m.log_lsn, why);
    if (!err)
        err = get_number(c, "retention_now", &now, why);
    sf_mutex_unlock(&c->lock);
    m.retention_now_ns = (int64_t)now;
    if (!err)
        *out = m;
    return err;
}

/* ---- blocks ---- */

#define SIXTEEN "?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16"

static enum sf_err insert_block(struct sf_catalogue *c, const struct sf_block_row *b,
                                struct sf_why *why)
{
    sqlite3_stmt *s;
    enum sf_err err = catalogue_prepare(c,
                                        "INSERT OR REPLACE INTO block(" SF_SUM_BLOCK
                                        ", sum) VALUES (" SIXTEEN ", row_sum(" SIXTEEN "))",
                                        &s, why);
    if (err)
        return err;
    bind_u64(s, 1, b->tenant);
    bind_u64(s, 2, b->kind);
    sqlite3_bind_int64(s, 3, b->day);
    bind_u64(s, 4, b->id);
    bind_u64(s, 5, b->level);
    sqlite3_bind_int64(s, 6, b->ts_min_ns);
    sqlite3_bind_int64(s, 7, b->ts_max_ns);
    bind_u64(s, 8, b->n_rows);
    bind_u64(s, 9, b->len);
    bind_u64(s, 10, b->lsn_lo);
    bind_u64(s, 11, b->lsn_hi);
    bind_u64(s, 12, b->flush_no);
    bind_u64(s, 13, b->state);
    bind_u64(s, 14, b->tier);
    sqlite3_bind_text(s, 15, b->path, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 16, b->created_ns);
    return catalogue_finish(c, s, "add a block", why);
}

static enum sf_err change_state(struct sf_catalogue *c, uint64_t id, enum sf_block_state state,
                                struct sf_why *why)
{
    sqlite3_stmt *s;
    enum sf_err err = catalogue_prepare(
        c,
        "UPDATE block SET state = ?1, sum = row_sum(tenant, kind, day, id,"
        " level, ts_min, ts_max, rows, bytes, lsn_lo, lsn_hi, flush, ?1,"
        " tier, path, created) WHERE id = ?2",
        &s, why);
    if (err)
        return err;
    bind_u64(s, 1, (uint64_t)state);
    bind_u64(s, 2, id);
    return catalogue_finish(c, s, "mark a block", why);
}

static enum sf_err set_counters(struct sf_catalogue *c, uint64_t ckpt_lsn, uint64_t next_block,
                                uint64_t next_flush, struct sf_why *why)
{
    enum sf_err err = catalogue_set_number(c, "next_block", next_block, why);
    if (!err)
        err = catalogue_set_number(c, "next_flush", next_flush, why);
    if (!err && ckpt_lsn)
        err = catalogue_set_number(c, "ckpt_lsn", ckpt_lsn, why);
    return err;
}

static enum sf_err apply_change(struct sf_catalogue *c, const void *arg, struct sf_why *why)
{
    const struct sf_catalogue_change *change = arg;
    enum sf_err err = set_counters(c, change->ckpt_lsn, change->next_block, change->next_flush,
                                   why);
    for (size_t i = 0; !err && i < change->n_add; i++)
        err = insert_block(c, &change->add[i], why);
    for (size_t i = 0; !err && i < change->n_dead; i++)
        err = change_state(c, change->dead_ids[i], SF_BLOCK_DEAD, why);
    return err;
}

enum sf_err sf_catalogue_commit(struct sf_catalogue *c, const struct sf_catalogue_change *change,
                                struct sf_why *why)
{
    return transact(c, apply_change, change, why);
}

struct beginning {
    const struct sf_catalogue_meta *meta;
    const struct sf_block_row *blocks;
    size_t n;
};

static enum sf_err catalogue_write_beginning(struct sf_catalogue *c, const void *arg,
                                             struct sf_why *why)
{
    const struct beginning *b = arg;
    sqlite3_stmt *s;
    enum sf_err err = catalogue_prepare(c,
                                        "INSERT OR REPLACE INTO meta(k, v, sum)"
                                        " VALUES ('uuid', ?1, row_sum('uuid', ?1))",
                                        &s, why);
    if (err)
        return err;
    sqlite3_bind_blob(s, 1, b->meta->uuid, 16, SQLITE_STATIC);
    err = catalogue_finish(c, s, "write the uuid", why);
    if (!err)
        err = catalogue_set_number(c, "format", FORMAT, why);
    if (!err)
        err = catalogue_set_number(c, "ckpt_lsn", b->meta->ckpt_lsn, why);
    if (!err)
        err = catalogue_set_number(c, "retention_now", (uint64_t)b->meta->retention_now_ns, why);
    if (!err)
        err = set_counters(c, 0, b->meta->next_block, b->meta->next_flush, why);
    for (size_t i = 0; !err && i < b->n; i++)
        err = insert_block(c, &b->blocks[i], why);
    return err;
}

enum sf_err sf_catalogue_begin(struct sf_catalogue *c, const struct sf_catalogue_meta *meta,
                               const struct sf_block_row *blocks, size_t n, struct sf_why *why)
{
    struct beginning b = {meta, blocks, n};
    return transact(c, catalogue_write_beginning, &b, why);
}

static enum sf_err apply_forget(struct sf_catalogue *c, const void *arg, struct sf_why *why)
{
    sqlite3_stmt *s;
    enum sf_err err = catalogue_prepare(c, "DELETE FROM block WHERE id = ?", &s, why);
    if (err)
        return err;
    bind_u64(s, 1, *(const uint64_t *)arg);
    return catalogue_finish(c, s, "forget a block", why);
}

enum sf_err sf_catalogue_forget(struct sf_catalogue *c, uint64_t id, struct sf_why *why)
{
    return transact(c, apply_forget, &id, why);
}

static enum sf_err apply_now(struct sf_catalogue *c, const void *arg, struct sf_why *why)
{
    return catalogue_set_number(c, "retention_now", (uint64_t) * (const int64_t *)arg, why);
}

struct log_place {
    uint64_t sequence, first_lsn;
};

static enum sf_err catalogue_write_log(struct sf_catalogue *c, const void *arg, struct sf_why *why)
{
    const struct log_place *at = arg;
    enum sf_err err = catalogue_set_number(c, "log_sequence", at->sequence, why);
    return err ? err : catalogue_set_number(c, "log_lsn", at->first_lsn, why);
}

enum sf_err sf_catalogue_set_log(struct sf_catalogue *c, uint64_t sequence, uint64_t first_lsn,
                                 struct sf_why *why)
{
    struct log_place at = {sequence, first_lsn};
    return transact(c, catalogue_write_log, &at, why);
}

enum sf_err sf_catalogue_set_now(struct sf_catalogue *c, int64_t retention_now_ns,
                                 struct sf_why *why)
{
    return transact(c, apply_now, &retention_now_ns, why);
}

static void catalogue_read_block(sqlite3_stmt *s, struct sf_block_row *b)
{
    const char *path = (const char *)sqlite3_column_text(s, 14);
    *b = (struct sf_block_row){
        .tenant = (uint32_t)sqlite3_column_int64(s, 0),
        .kind = (uint8_t)sqlite3_column_int(s, 1),
        .day = sqlite3_column_int64(s, 2),
        .id = (uint64_t)sqlite3_column_int64(s, 3),
        .level = (uint8_t)sqlite3_column_int(s, 4),
        .ts_min_ns = sqlite3_column_int64(s, 5),
        .ts_max_ns = sqlite3_column_int64(s, 6),
        .n_rows = (uint64_t)sqlite3_column_int64(s, 7),
        .len = (uint64_t)sqlite3_column_int64(s, 8),
        .lsn_lo = (uint64_t)sqlite3_column_int64(s, 9),
        .lsn_hi = (uint64_t)sqlite3_column_int64(s, 10),
        .flush_no = (uint64_t)sqlite3_column_int64(s, 11),
        .state = (uint8_t)sqlite3_column_int(s, 12),
        .tier = (uint8_t)sqlite3_column_int(s, 13),
        .created_ns = sqlite3_column_int64(s, 15),
    };
    snprintf(b->path, sizeof(b->path), "%s", path ? path : "");
}

enum sf_err sf_catalogue_blocks(struct sf_catalogue *c,
                                bool (*see)(void *arg, const struct sf_block_row *row), void *arg,
                                struct sf_why *why)
{
    sqlite3_stmt *s;
    enum sf_err err;
    sf_mutex_lock(&c->lock);
    err = catalogue_prepare(c, "SELECT " SF_SUM_BLOCK " FROM block ORDER BY id", &s, why);
    if (!err) {
        int code;
        while ((code = sqlite3_step(s)) == SQLITE_ROW) {
            struct sf_block_row row;
            catalogue_read_block(s, &row);
            if (!see(arg, &row))
                break;
        }
        sqlite3_finalize(s);
        if (code != SQLITE_DONE && code != SQLITE_ROW)
            err = fail_db(c, code, "list blocks", why);
    }
    sf_mutex_unlock(&c->lock);
    return err;
}

/* ---- tenants ---- */

enum sf_err sf_catalogue_tenants(struct sf_catalogue *c,
                                 bool (*see)(void *arg, uint32_t id, sf_str name), void *arg,
                                 struct sf_why *why)
{
    sqlite3_stmt *s;
    enum sf_err err;
    sf_mutex_lock(&c->lock);
    err = catalogue_prepare(c, "SELECT id, name FROM tenant ORDER BY id", &s, why);
    if (!err) {
        int code;
        while ((code = sqlite3_step(s)) == SQLITE_ROW) {
            sf_str name = {(const char *)sqlite3_column_text(s, 1),
                           (size_t)sqlite3_column_bytes(s, 1)};
            if (!see(arg, (uint32_t)sqlite3_column_int64(s, 0), name))
                break;
        }
        sqlite3_finalize(s);
        if (code != SQLITE_DONE && code != SQLITE_ROW)
            err = fail_db(c, code, "list tenants", why);
    }
    sf_mutex_unlock(&c->lock);
    return err;
}

struct new_tenant {
    uint32_t id;
    sf_str name;
};

static enum sf_err insert_tenant(struct sf_catalogue *c, const void *arg, struct sf_why *why)
{
    const struct new_tenant *t = arg;
    sqlite3_stmt *s;
    enum sf_err err = catalogue_prepare(
        c, "INSERT INTO tenant(id, name, sum) VALUES (?1, ?2, row_sum(?1, ?2))", &s, why);
    if (err)
        return err;
    bind_u64(s, 1, t->id);
    sqlite3_bind_text(s, 2, t->name.p, sf_int(t->name.len), SQLITE_STATIC);
    return catalogue_finish(c, s, "add a tenant", why);
}

enum sf_err sf_catalogue_add_tenant(struct sf_catalogue *c, uint32_t id, sf_str name,
                                    struct sf_why *why)
{
    struct new_tenant t = {id, name};
    return transact(c, insert_tenant, &t, why);
}

/* ---- erasures ---- */

enum sf_err sf_catalogue_erasures(struct sf_catalogue *c,
                                  bool (*see)(void *arg, uint64_t id, uint32_t tenant,
                                              sf_bytes selector, uint64_t below_block, uint64_t lsn,
                                              int64_t created_ns),
                                  void *arg, struct sf_why *why)
{
    sqlite3_stmt *s;
    enum sf_err err;
    sf_mutex_lock(&c->lock);
    err = catalogue_prepare(
        c, "SELECT id, tenant, selector, below_block, lsn, created FROM erase ORDER BY id", &s,
        why);
    if (!err) {
        int code;
        while ((code = sqlite3_step(s)) == SQLITE_ROW) {
            sf_bytes selector = {sqlite3_column_blob(s, 2), (size_t)sqlite3_column_bytes(s, 2)};
            if (!see(arg, (uint64_t)sqlite3_column_int64(s, 0),
                     (uint32_t)sqlite3_column_int64(s, 1), selector,
                     (uint64_t)sqlite3_column_int64(s, 3), (uint64_t)sqlite3_column_int64(s, 4),
                     sqlite3_column_int64(s, 5)))
                break;
        }
        sqlite3_finalize(s);
        if (code != SQLITE_DONE && code != SQLITE_ROW)
            err = fail_db(c, code, "list erasures", why);
    }
    sf_mutex_unlock(&c->lock);
    return err;
}

struct new_erasure {
    uint64_t id, below_block, lsn;
    uint32_t tenant;
    sf_bytes selector;
    int64_t created_ns;
};

static enum sf_err insert_erasure(struct sf_catalogue *c, const void *arg, struct sf_why *why)
{
    const struct new_erasure *e = arg;
    sqlite3_stmt *s;
    enum sf_err err = catalogue_prepare(
        c,
        "INSERT OR REPLACE INTO erase(" SF_SUM_ERASE ", sum) VALUES"
        " (?1, ?2, ?3, ?4, ?5, ?6, 1, row_sum(?1, ?2, ?3, ?4, ?5, ?6, 1))",
        &s, why);
    if (err)
        return err;
    bind_u64(s, 1, e->id);
    bind_u64(s, 2, e->tenant);
    sqlite3_bind_blob(s, 3, e->selector.p, sf_int(e->selector.len), SQLITE_STATIC);
    bind_u64(s, 4, e->below_block);
    bind_u64(s, 5, e->lsn);
    sqlite3_bind_int64(s, 6, e->created_ns);
    return catalogue_finish(c, s, "add an erasure", why);
}

enum sf_err sf_catalogue_add_erasure(struct sf_catalogue *c, uint64_t id, uint32_t tenant,
                                     sf_bytes selector, uint64_t below_block, uint64_t lsn,
                                     int64_t created_ns, struct sf_why *why)
{
    struct new_erasure e = {id, below_block, lsn, tenant, selector, created_ns};
    return transact(c, insert_erasure, &e, why);
}

static enum sf_err delete_erasure(struct sf_catalogue *c, const void *arg, struct sf_why *why)
{
    sqlite3_stmt *s;
    enum sf_err err = catalogue_prepare(c, "DELETE FROM erase WHERE id = ?", &s, why);
    if (err)
        return err;
    bind_u64(s, 1, *(const uint64_t *)arg);
    return catalogue_finish(c, s, "end an erasure", why);
}

enum sf_err sf_catalogue_end_erasure(struct sf_catalogue *c, uint64_t id, struct sf_why *why)
{
    enum sf_err err = transact(c, delete_erasure, &id, why);
    if (err)
        return err;
    /* Usually done by the transaction; if that failed, the error matters here. */
    sf_mutex_lock(&c->lock);
    err = catalogue_run(c, "PRAGMA wal_checkpoint(TRUNCATE)", why);
    sf_mutex_unlock(&c->lock);
    return err;
}

/* ---- is it as it was written ---- */

struct finding {
    void (*say)(void *arg, const char *sentence);
    void *arg;
    uint64_t n;
};

static void say_sum(void *arg, const char *table, int64_t n_bad)
{
    struct finding *f = arg;
    char line[200];
    snprintf(line, sizeof(line), "meta.db: %lld rows of table %s do not match their checksum",
             (long long)n_bad, table);
    f->n++;
    if (f->say)
        f->say(f->arg, line);
}

/* Call with the lock held, or before other threads can use the catalogue. */
static enum sf_err look_over(struct sf_catalogue *c, struct finding *f, struct sf_why *why)
{
    sqlite3_stmt *s;
    int code;
    enum sf_err err = catalogue_prepare(c, "PRAGMA integrity_check(20)", &s, why);
    if (err)
        return err;
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(s, 0);
        char line[300];
        if (text && sf_str_eq(sf_str_from(text), SF_STR("ok")))
            continue;
        snprintf(line, sizeof(line), "meta.db: %s", text ? text : "unreadable");
        f->n++;
        if (f->say)
            f->say(f->arg, line);
    }
    sqlite3_finalize(s);
    if (code == SQLITE_DONE && has_sums(c))
        code = sf_row_sum_check(c->db, say_sum, f);
    return code == SQLITE_DONE || code == SQLITE_OK ? SF_OK : fail_db(c, code, "check", why);
}

/* Refuses a catalogue written by a later version before its tables are checked for damage. */
static enum sf_err catalogue_refuse_newer(struct sf_catalogue *c, struct sf_why *why)
{
    sqlite3_stmt *s = NULL;
    int64_t format = 0;
    enum sf_err err = catalogue_prepare(
        c, "SELECT v FROM meta WHERE k = 'format' AND sum IS row_sum(" SF_SUM_META ")", &s, why);
    if (err)
        return err;
    if (sqlite3_step(s) == SQLITE_ROW)
        format = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    if (format > FORMAT)
        return sf_fail(why, SF_ERR_UNSUPPORTED,
                       "catalogue: format %lld is newer than this server (%d)", (long long)format,
                       FORMAT);
    return SF_OK;
}

static enum sf_err catalogue_check(struct sf_catalogue *c, struct sf_why *why)
{
    struct finding f = {0};
    enum sf_err err = catalogue_refuse_newer(c, why);
    if (!err)
        err = look_over(c, &f, why);
    return !err && f.n ? sf_fail(why, SF_ERR_CORRUPT, "catalogue: it is damaged") : err;
}

enum sf_err sf_catalogue_verify(struct sf_catalogue *c,
                                void (*say)(void *arg, const char *sentence), void *arg,
                                uint64_t *io_n_faults, struct sf_why *why)
{
    struct finding f = {.say = say, .arg = arg};
    enum sf_err err;
    sf_mutex_lock(&c->lock);
    err = look_over(c, &f, why);
    sf_mutex_unlock(&c->lock);
    *io_n_faults += f.n;
    return err;
}

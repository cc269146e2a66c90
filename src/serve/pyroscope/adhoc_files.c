/* adhoc_files.c - the folder of uploaded profiles. A file's name holds tenant, time and title, so
 * listing, erasing and trimming only read the directory. A file is written under a temporary name,
 * synced and renamed; unfinished uploads of earlier runs are deleted. */
#include "serve/pyroscope/adhoc_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time_unit.h"
#include "os/clock.h"
#include "os/random.h"

static const char folder[] = "adhoc";
static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"; /* digits of a ULID */
enum { TIME_LEN = 10, ULID_LEN = 26, PATH_LEN = 16 + SF_LIMIT_TENANT_LEN + SF_ADHOC_ID_LEN };

/* ---- names and ids ---- */

static bool adhoc_files_is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
}

void sf_adhoc_files_name(sf_str given, char out[SF_ADHOC_NAME_LEN + 1])
{
    size_t n = given.len < SF_ADHOC_NAME_LEN ? given.len : SF_ADHOC_NAME_LEN;
    for (size_t i = 0; i < n; i++)
        out[i] = given.p[i];
    if (n == 0)
        out[n++] = '_';
    for (size_t i = 0; i < n; i++) {
        if (!adhoc_files_is_plain(out[i]))
            out[i] = '_';
    }
    out[n] = 0;
}

static int digit_of(char c)
{
    for (int i = 0; i < 32; i++) {
        if (digits[i] == c)
            return i;
    }
    return -1;
}

enum sf_err sf_adhoc_files_id_parse(sf_str id, struct sf_adhoc_file *out, struct sf_why *why)
{
    struct sf_adhoc_file f = {.id = id, .name = sf_str_from_at(id, ULID_LEN + 1)};
    bool is_id = id.len > ULID_LEN + 1 && id.len <= SF_ADHOC_ID_LEN && id.p[ULID_LEN] == '-';
    for (size_t i = 0; i < id.len; i++) {
        if (!adhoc_files_is_plain(id.p[i])) /* error message as in Pyroscope */
            return sf_fail(why, SF_ERR_INPUT,
                           "id '%.*s' is invalid: can only contain [a-zA-Z0-9_-.]",
                           SF_STR_ARG(sf_str_part(id, 0, 80)));
    }
    for (size_t i = 0; is_id && i < TIME_LEN; i++) {
        is_id = digit_of(id.p[i]) >= 0 && (i > 0 || digit_of(id.p[i]) < 8); /* 48 bits */
        f.uploaded_ms = is_id ? f.uploaded_ms << 5 | digit_of(id.p[i]) : 0;
    }
    if (!is_id)
        return sf_fail(why, SF_ERR_NOT_FOUND, "profile %.*s not found",
                       SF_STR_ARG(sf_str_part(id, 0, 80)));
    *out = f;
    return SF_OK;
}

static void adhoc_files_make_id(const char *name, int64_t now_ms, char out[SF_ADHOC_ID_LEN + 1])
{
    uint8_t noise[ULID_LEN - TIME_LEN];
    sf_random_fill(noise, sizeof(noise));
    for (size_t i = 0; i < TIME_LEN; i++)
        out[i] = digits[(uint64_t)now_ms >> 5 * (TIME_LEN - 1 - i) & 31];
    for (size_t i = TIME_LEN; i < ULID_LEN; i++)
        out[i] = digits[noise[i - TIME_LEN] & 31];
    snprintf(out + ULID_LEN, SF_ADHOC_ID_LEN + 1 - ULID_LEN, "-%s", name);
}

static void adhoc_files_path_of(sf_str tenant, sf_str id, char out[PATH_LEN])
{
    snprintf(out, PATH_LEN, "%s/%.*s@%.*s", folder, SF_STR_ARG(tenant), SF_STR_ARG(id));
}

/* ---- the folder ---- */

struct listing {
    sf_str tenant;
    struct sf_arena *req;
    struct sf_adhoc_file *files;
    size_t n, cap;
    bool is_full;
};

static bool adhoc_files_see_entry(void *arg, const char *entry, bool is_dir)
{
    struct listing *l = arg;
    sf_str all = sf_str_from(entry), id;
    struct sf_adhoc_file f;
    if (is_dir || !sf_str_starts(all, l->tenant) || all.len <= l->tenant.len ||
        all.p[l->tenant.len] != '@' ||
        sf_adhoc_files_id_parse(sf_str_from_at(all, l->tenant.len + 1), &f, NULL))
        return true;
    if (l->n == l->cap || !sf_arena_copy(l->req, f.id, &id)) {
        l->is_full = true;
        return false;
    }
    (void)sf_adhoc_files_id_parse(id, &l->files[l->n++], NULL);
    return true;
}

static int adhoc_files_newest_first(const void *a, const void *b)
{
    return -sf_str_cmp(((const struct sf_adhoc_file *)a)->id,
                       ((const struct sf_adhoc_file *)b)->id);
}

enum sf_err sf_adhoc_files_list(struct sf_dir *dir, sf_str tenant, struct sf_arena *req,
                                const struct sf_adhoc_file **out, size_t *out_n, struct sf_why *why)
{
    /* Concurrent uploads may exceed the limit by a few files. */
    struct listing l = {.tenant = tenant, .req = req, .cap = 2 * (size_t)SF_LIMIT_ADHOC_FILES};
    enum sf_err err;
    l.files = sf_arena_new_n(req, l.cap, sizeof(*l.files));
    if (!l.files)
        return sf_no_room(why, "the list");
    err = sf_dir_list(dir, folder, adhoc_files_see_entry, &l, why);
    if (err == SF_ERR_NOT_FOUND) /* nothing was uploaded yet */
        err = SF_OK;
    if (!err && l.is_full)
        err = sf_no_room(why, "the list");
    if (err)
        return err;
    if (l.n)
        qsort(l.files, l.n, sizeof(*l.files), adhoc_files_newest_first);
    *out = l.files;
    *out_n = l.n;
    return SF_OK;
}

static enum sf_err adhoc_files_make_room(struct sf_dir *dir, sf_str tenant, struct sf_arena scratch,
                                         struct sf_why *why)
{
    const struct sf_adhoc_file *files;
    char path[PATH_LEN];
    size_t n;
    enum sf_err err = sf_adhoc_files_list(dir, tenant, &scratch, &files, &n, why);
    for (size_t i = SF_LIMIT_ADHOC_FILES; !err && i < n; i++) {
        adhoc_files_path_of(tenant, files[i].id, path);
        err = sf_dir_unlink(dir, path, why);
    }
    return err;
}

enum sf_err sf_adhoc_files_add(struct sf_dir *dir, sf_str tenant, const char *name, int64_t now_ms,
                               sf_bytes bytes, struct sf_arena *req, sf_str *out_id,
                               struct sf_why *why)
{
    struct sf_file file = SF_FILE_NONE;
    char id[SF_ADHOC_ID_LEN + 1], path[PATH_LEN], temporary[PATH_LEN];
    enum sf_err err = sf_dir_make(dir, folder, why);
    adhoc_files_make_id(name, now_ms, id);
    adhoc_files_path_of(tenant, sf_str_from(id), path);
    snprintf(temporary, sizeof(temporary), "%s/%.26s.new", folder, id); /* without "@": the file
                                                                         * belongs to no tenant */
    if (!err)
        err = sf_dir_create(dir, temporary, &file, why);
    if (!err)
        err = sf_file_write_at(&file, 0, bytes.p, bytes.len, why);
    if (!err)
        err = sf_file_sync(&file, why);
    sf_file_close(&file);
    if (!err)
        err = sf_dir_rename(dir, temporary, path, why);
    else
        (void)sf_dir_unlink(dir, temporary, NULL);
    if (!err)
        err = sf_dir_sync(dir, folder, why);
    if (!err)
        err = adhoc_files_make_room(dir, tenant, *req, why);
    if (!err && !sf_arena_copy(req, sf_str_from(id), out_id))
        err = sf_no_room(why, "the answer");
    return err;
}

enum sf_err sf_adhoc_files_read(struct sf_dir *dir, sf_str tenant, sf_str id, struct sf_buf *out,
                                struct sf_why *why)
{
    struct sf_file file = SF_FILE_NONE;
    struct sf_adhoc_file f;
    char path[PATH_LEN];
    enum sf_err err = sf_adhoc_files_id_parse(id, &f, why);
    if (err)
        return err;
    adhoc_files_path_of(tenant, id, path);
    err = sf_dir_open_read(dir, path, &file, why);
    if (err == SF_ERR_NOT_FOUND)
        return sf_fail(why, err, "profile %.*s not found", SF_STR_ARG(id));
    if (!err)
        err = sf_file_read_all(&file, SF_LIMIT_ADHOC_LEN, out, why);
    sf_file_close(&file);
    return err;
}

/* ---- erasing and retention ---- */

struct sweep { /* a pass over the whole folder */
    struct sf_dir *dir;
    sf_str tenant;   /* empty: of all */
    int64_t from_ms; /* uploaded in [from, to) */
    int64_t to_ms;
    int64_t stale_ms; /* also deletes unfinished uploads begun before this time; 0: none */
    bool is_dry_run;
    uint64_t n_gone;
    enum sf_err err;
    struct sf_why *why;
};

/* The upload time in an entry's name; false: another tenant's, or not a profile. */
static bool entry_time(const char *entry, sf_str tenant, int64_t *out_ms)
{
    sf_str all = sf_str_from(entry);
    struct sf_adhoc_file f;
    size_t at;
    if (!sf_str_find(all, SF_STR("@"), &at) ||
        (tenant.len && !sf_str_eq(sf_str_part(all, 0, at), tenant)) ||
        sf_adhoc_files_id_parse(sf_str_from_at(all, at + 1), &f, NULL))
        return false;
    *out_ms = f.uploaded_ms;
    return true;
}

/* Whether the entry is an unfinished upload, left by a crash; its name is a ULID. */
static bool is_stale(const char *entry, int64_t before_ms)
{
    sf_str name = sf_str_from(entry), end = SF_STR(".new");
    char id[ULID_LEN + 3];
    struct sf_adhoc_file f;
    if (name.len != ULID_LEN + end.len || !sf_str_eq(sf_str_from_at(name, ULID_LEN), end))
        return false;
    snprintf(id, sizeof(id), "%.26s-x", entry);
    return !sf_adhoc_files_id_parse(sf_str_from(id), &f, NULL) && f.uploaded_ms < before_ms;
}

static bool adhoc_files_sweep_entry(void *arg, const char *entry, bool is_dir)
{
    struct sweep *s = arg;
    char path[PATH_LEN];
    int64_t ms;
    bool is_file = !is_dir && entry_time(entry, s->tenant, &ms);
    if (!(is_file && ms >= s->from_ms && ms < s->to_ms) &&
        !(!is_dir && !is_file && s->stale_ms && is_stale(entry, s->stale_ms)))
        return true;
    s->n_gone += is_file;
    if (s->is_dry_run || (size_t)snprintf(path, sizeof(path), "%s/%s", folder, entry) >= PATH_LEN)
        return true;
    s->err = sf_dir_unlink(s->dir, path, s->why);
    if (s->err == SF_ERR_NOT_FOUND) /* a newer upload has deleted it already */
        s->err = SF_OK;
    return !s->err;
}

static enum sf_err run_sweep(struct sweep *s)
{
    enum sf_err err = sf_dir_list(s->dir, folder, adhoc_files_sweep_entry, s, s->why);
    if (err == SF_ERR_NOT_FOUND)
        return SF_OK;
    err = err ? err : s->err;
    return err || s->is_dry_run || !s->n_gone ? err : sf_dir_sync(s->dir, folder, s->why);
}

/* The first millisecond that is not before `ns`. */
static int64_t ms_from(int64_t ns)
{
    return ns / SF_NS_PER_MS + (ns > 0 && ns % SF_NS_PER_MS > 0);
}

enum sf_err sf_adhoc_files_erase(struct sf_dir *dir, sf_str tenant, int64_t from_ns, int64_t to_ns,
                                 bool is_dry_run, uint64_t *out_n, struct sf_why *why)
{
    struct sweep s = {.dir = dir,
                      .tenant = tenant,
                      .from_ms = ms_from(from_ns),
                      .to_ms = to_ns ? ms_from(to_ns) : INT64_MAX,
                      .is_dry_run = is_dry_run,
                      .why = why};
    enum sf_err err = run_sweep(&s);
    *out_n = s.n_gone;
    return err;
}

struct age { /* one file */
    int64_t ms;
    uint64_t len;
};

struct ages {
    struct sf_dir *dir;
    struct sf_buf list; /* of struct age */
};

static bool note_age(void *arg, const char *entry, bool is_dir)
{
    struct ages *a = arg;
    struct age one = {0};
    char path[PATH_LEN];
    int64_t changed_ns;
    if (is_dir || !entry_time(entry, SF_STR_NONE, &one.ms) ||
        (size_t)snprintf(path, sizeof(path), "%s/%s", folder, entry) >= PATH_LEN ||
        sf_dir_stat(a->dir, path, &one.len, &changed_ns, NULL))
        return true;
    sf_buf_add(&a->list, &one, sizeof(one));
    return sf_buf_ok(&a->list);
}

static int oldest_first(const void *a, const void *b)
{
    const struct age *x = a, *y = b;
    return x->ms < y->ms ? -1 : x->ms > y->ms;
}

enum sf_err sf_adhoc_files_trim(void *arg, int64_t before_ns, uint64_t need_len,
                                struct sf_beside_state *out, struct sf_why *why)
{
    struct ages a = {.dir = arg};
    struct sweep s = {
        .dir = arg, .stale_ms = (sf_clock_wall_ns() - SF_NS_PER_HOUR) / SF_NS_PER_MS, .why = why};
    struct sf_beside_state left = {.oldest_ns = INT64_MAX};
    struct age *list;
    size_t n, n_gone = 0;
    uint64_t freed = 0;
    enum sf_err err = sf_dir_list(arg, folder, note_age, &a, why);
    if (err == SF_ERR_NOT_FOUND)
        err = SF_OK;
    if (!err && !sf_buf_ok(&a.list))
        err = sf_no_memory(why, "a list of ad hoc profiles");
    list = (struct age *)(void *)a.list.p;
    n = a.list.len / sizeof(*list);
    if (!err && n)
        qsort(list, n, sizeof(*list), oldest_first);
    while (!err && n_gone < n && freed < need_len && list[n_gone].ms < ms_from(before_ns))
        freed += list[n_gone++].len;
    while (n_gone > 0 && n_gone < n && list[n_gone].ms == list[n_gone - 1].ms)
        n_gone++; /* uploaded in the same millisecond: deleted together */
    s.to_ms = n_gone ? list[n_gone - 1].ms + 1 : 0;
    for (size_t i = n_gone; i < n; i++)
        left.len += list[i].len;
    if (n_gone < n)
        left.oldest_ns = list[n_gone].ms * SF_NS_PER_MS;
    sf_buf_done(&a.list);
    if (!err && n)
        err = run_sweep(&s);
    if (!err)
        *out = left;
    return err;
}

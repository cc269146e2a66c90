/* The file: one JSON object per line. {"tenant", "service", "instance", "has", "enabled", "cpu",
 * "wall", "budget", "untilMs", "wallUntilMs", "conditions"} is a document, one with "who" a change.
 * "untilMs" is the end of the CPU rate, and of both rates where "wallUntilMs" is missing: earlier
 * versions had one end for both. Written beside itself, synced and renamed: a crash leaves the old
 * file or the new one. */
#include "serve/own/control_set.h"

#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "base/limits.h"
#include "os/file.h"
#include "wire/json.h"

enum { FILE_MAX = 16 << 20 };
static const char file_name[] = "control", new_name[] = "control.new",
                  damaged_name[] = "control.damaged";

struct sf_control_set {
    struct sf_control_entry docs[SF_LIMIT_CONTROL_DOCS];
    size_t n;
    struct sf_control_change changes[SF_LIMIT_CONTROL_CHANGES];
    size_t n_changes;
};

/* ---- targets ---- */

static enum sf_err copy_name(char *to, size_t cap, sf_str from, const char *what,
                             struct sf_why *why)
{
    if (from.len == 0 || from.len >= cap)
        return sf_fail(why, SF_ERR_INPUT, "%s: a name of 1 to %zu bytes, or *", what, cap - 1);
    for (size_t i = 0; i < from.len; i++) {
        if ((unsigned char)from.p[i] < 0x20 || from.p[i] == 0x7f)
            return sf_fail(why, SF_ERR_INPUT, "%s: it holds a control character", what);
    }
    memset(to, 0, cap);
    memcpy(to, from.p, from.len);
    return SF_OK;
}

enum sf_err sf_control_set_target_make(sf_str tenant, sf_str service, sf_str instance,
                                       struct sf_control_target *out, struct sf_why *why)
{
    enum sf_err err = copy_name(out->tenant, sizeof(out->tenant), tenant, "tenant", why);
    if (!err)
        err = copy_name(out->service, sizeof(out->service), service, "service", why);
    if (!err)
        err = copy_name(out->instance, sizeof(out->instance), instance, "instance", why);
    return err;
}

bool sf_control_set_target_eq(const struct sf_control_target *a, const struct sf_control_target *b)
{
    return !strcmp(a->tenant, b->tenant) && !strcmp(a->service, b->service) &&
           !strcmp(a->instance, b->instance);
}

static bool control_set_holds(const char *rule, const char *one)
{
    return !strcmp(rule, "*") || !strcmp(rule, one);
}

bool sf_control_set_target_holds(const struct sf_control_target *rule,
                                 const struct sf_control_target *one)
{
    return !strcmp(rule->tenant, one->tenant) && control_set_holds(rule->service, one->service) &&
           control_set_holds(rule->instance, one->instance);
}

/* Sort order: instances before services before "*". */
static int control_set_weight(const struct sf_control_target *t)
{
    return 2 * !!strcmp(t->instance, "*") + !!strcmp(t->service, "*");
}

/* ---- the set ---- */

static size_t control_set_find(const struct sf_control_set *s,
                               const struct sf_control_target *target)
{
    size_t i = 0;
    while (i < s->n && !sf_control_set_target_eq(&s->docs[i].target, target))
        i++;
    return i;
}

const struct sf_control_doc *sf_control_set_get(const struct sf_control_set *s,
                                                const struct sf_control_target *target)
{
    size_t i = control_set_find(s, target);
    return i < s->n ? &s->docs[i].doc : NULL;
}

struct sf_control_doc sf_control_set_effective(const struct sf_control_set *s,
                                               const struct sf_control_target *one, int64_t now_ms,
                                               int64_t *next_ms)
{
    struct sf_control_doc out = {0};
    int64_t end_ms;
    for (int w = 0; w <= 3; w++) {
        for (size_t i = 0; i < s->n; i++) {
            struct sf_control_doc d = s->docs[i].doc;
            if (control_set_weight(&s->docs[i].target) != w ||
                !sf_control_set_target_holds(&s->docs[i].target, one))
                continue;
            sf_control_doc_end_rates(&d, now_ms);
            end_ms = sf_control_doc_next_end(&d);
            if (end_ms && end_ms < *next_ms)
                *next_ms = end_ms;
            sf_control_doc_put_over(&out, &d);
        }
    }
    return out;
}

static size_t count_of_tenant(const struct sf_control_set *s, const char *tenant)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        n += !strcmp(s->docs[i].target.tenant, tenant);
    return n;
}

enum sf_err sf_control_set_put(struct sf_control_set *s, const struct sf_control_target *target,
                               const struct sf_control_doc *doc, struct sf_why *why)
{
    size_t i = control_set_find(s, target);
    if (!doc && i == s->n)
        return sf_fail(why, SF_ERR_NOT_FOUND, "there is no document for this target");
    if (!doc) {
        s->docs[i] = s->docs[--s->n];
        return SF_OK;
    }
    if (i == s->n && (s->n == SF_LIMIT_CONTROL_DOCS ||
                      count_of_tenant(s, target->tenant) >= SF_LIMIT_CONTROL_DOCS / 2))
        return sf_fail(why, SF_ERR_LIMIT, "too many documents; delete some first");
    s->docs[i] = (struct sf_control_entry){*target, *doc};
    s->n += i == s->n;
    return SF_OK;
}

/* Makes room in the log: a tenant that has a quarter of it evicts its own oldest change; when the
 * log is full, any other evicts the oldest of all. */
static void control_set_make_room(struct sf_control_set *s, const char *tenant)
{
    size_t own = 0, at = 0;
    for (size_t i = 0; i < s->n_changes; i++)
        own += !strcmp(s->changes[i].target.tenant, tenant);
    if (own < SF_LIMIT_CONTROL_CHANGES / 4 && s->n_changes < SF_LIMIT_CONTROL_CHANGES)
        return;
    if (own >= SF_LIMIT_CONTROL_CHANGES / 4)
        while (strcmp(s->changes[at].target.tenant, tenant) != 0)
            at++;
    s->n_changes--;
    memmove(&s->changes[at], &s->changes[at + 1], (s->n_changes - at) * sizeof(s->changes[0]));
}

void sf_control_set_note(struct sf_control_set *s, const struct sf_control_change *change)
{
    control_set_make_room(s, change->target.tenant);
    s->changes[s->n_changes++] = *change;
}

size_t sf_control_set_n(const struct sf_control_set *s)
{
    return s->n;
}

const struct sf_control_entry *sf_control_set_at(const struct sf_control_set *s, size_t i)
{
    return &s->docs[i];
}

size_t sf_control_set_n_changes(const struct sf_control_set *s)
{
    return s->n_changes;
}

const struct sf_control_change *sf_control_set_change(const struct sf_control_set *s, size_t i)
{
    return &s->changes[i];
}

/* ---- the file ---- */

static void control_set_write_target(struct sf_json_writer *j, const struct sf_control_target *t)
{
    sf_json_write_key_str(j, SF_STR("tenant"), sf_str_from(t->tenant));
    sf_json_write_key_str(j, SF_STR("service"), sf_str_from(t->service));
    sf_json_write_key_str(j, SF_STR("instance"), sf_str_from(t->instance));
}

static void write_change(struct sf_json_writer *j, const struct sf_control_change *c)
{
    sf_json_write_key_str(j, SF_STR("who"), sf_str_from(c->who));
    sf_json_write_key_str(j, SF_STR("from"), sf_str_from(c->from));
    sf_json_write_key_str(j, SF_STR("what"), sf_str_from(c->what));
    sf_json_write_key(j, SF_STR("timeMs"));
    sf_json_write_i64(j, c->time_ms);
}

static void write_doc(struct sf_json_writer *j, const struct sf_control_doc *d)
{
    sf_json_write_key_u64(j, SF_STR("has"), d->has);
    sf_json_write_key_u64(j, SF_STR("enabled"), d->is_enabled);
    sf_json_write_key_u64(j, SF_STR("cpu"), d->cpu_hz);
    sf_json_write_key_u64(j, SF_STR("wall"), d->wall_hz);
    sf_json_write_key_u64(j, SF_STR("budget"), d->budget_per_10000);
    sf_json_write_key(j, SF_STR("untilMs"));
    sf_json_write_i64(j, d->cpu_until_ms);
    sf_json_write_key(j, SF_STR("wallUntilMs"));
    sf_json_write_i64(j, d->wall_until_ms);
    sf_control_doc_write_conditions(d, j);
}

void sf_control_set_print(const struct sf_control_set *s, struct sf_buf *out)
{
    for (size_t i = 0; i < s->n + s->n_changes; i++) {
        struct sf_json_writer j = sf_json_writer_init(out);
        sf_json_write_object(&j);
        if (i < s->n) {
            control_set_write_target(&j, &s->docs[i].target);
            write_doc(&j, &s->docs[i].doc);
        } else {
            control_set_write_target(&j, &s->changes[i - s->n].target);
            write_change(&j, &s->changes[i - s->n]);
        }
        sf_json_write_object_end(&j);
        sf_buf_add_u8(out, '\n');
    }
}

enum sf_err sf_control_set_save(struct sf_dir *dir, const struct sf_buf *text, struct sf_why *why)
{
    struct sf_file file = SF_FILE_NONE;
    enum sf_err err = sf_buf_ok(text) ? sf_dir_create(dir, new_name, &file, why)
                                      : sf_no_memory(why, "the control file");
    if (!err && text->len)
        err = sf_file_write_at(&file, 0, text->p, text->len, why);
    if (!err)
        err = sf_file_sync(&file, why);
    sf_file_close(&file);
    if (!err)
        err = sf_dir_rename(dir, new_name, file_name, why);
    if (!err)
        err = sf_dir_sync(dir, ".", why);
    return err;
}

struct line {
    sf_str tenant, service, instance, who, from, what;
    struct sf_control_doc doc;
    int64_t time_ms;
    bool has_wall_until;
};

static void control_set_read_line(struct sf_json *j, struct line *out)
{
    sf_str key;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("tenant")))
            out->tenant = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("service")))
            out->service = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("instance")))
            out->instance = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("who")))
            out->who = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("from")))
            out->from = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("what")))
            out->what = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("timeMs")))
            out->time_ms = sf_json_i64(j);
        else if (sf_str_eq(key, SF_STR("has")))
            out->doc.has = sf_json_u32(j);
        else if (sf_str_eq(key, SF_STR("enabled")))
            out->doc.is_enabled = sf_json_u32(j);
        else if (sf_str_eq(key, SF_STR("cpu")))
            out->doc.cpu_hz = sf_json_u32(j);
        else if (sf_str_eq(key, SF_STR("wall")))
            out->doc.wall_hz = sf_json_u32(j);
        else if (sf_str_eq(key, SF_STR("budget")))
            out->doc.budget_per_10000 = sf_json_u32(j);
        else if (sf_str_eq(key, SF_STR("conditions")))
            sf_control_doc_read_conditions(j, &out->doc);
        else if (sf_str_eq(key, SF_STR("untilMs")))
            out->doc.cpu_until_ms = sf_json_i64(j);
        else if (sf_str_eq(key, SF_STR("wallUntilMs")))
            out->has_wall_until = (out->doc.wall_until_ms = sf_json_i64(j), true);
        else
            sf_json_skip(j);
    }
    if (!out->has_wall_until)
        out->doc.wall_until_ms = out->doc.cpu_until_ms;
}

static enum sf_err control_set_take_line(struct sf_control_set *s, const struct line *l,
                                         struct sf_why *why)
{
    struct sf_control_target target;
    struct sf_control_change c = {.time_ms = l->time_ms};
    enum sf_err err = sf_control_set_target_make(l->tenant, l->service, l->instance, &target, why);
    if (err || l->doc.has)
        return err ? err : sf_control_set_put(s, &target, &l->doc, why);
    c.target = target;
    snprintf(c.who, sizeof(c.who), "%.*s", SF_STR_ARG(l->who));
    snprintf(c.from, sizeof(c.from), "%.*s", SF_STR_ARG(l->from));
    snprintf(c.what, sizeof(c.what), "%.*s", SF_STR_ARG(l->what));
    sf_control_set_note(s, &c);
    return SF_OK;
}

/* Lines that cannot be read are left out and counted. */
static size_t control_set_load(struct sf_control_set *s, sf_str text, struct sf_arena *req)
{
    sf_str one;
    size_t n_bad = 0;
    while (sf_str_split_next(&text, '\n', &one)) {
        struct sf_arena scratch = *req;
        struct line l = {0};
        struct sf_json j;
        if (!one.len)
            continue;
        sf_json_init(&j, one, &scratch);
        control_set_read_line(&j, &l);
        n_bad += !sf_json_ok(&j) || control_set_take_line(s, &l, NULL);
    }
    return n_bad;
}

/* Renames the damaged file for inspection and writes the readable lines in its place, so that the
 * server can start. */
static enum sf_err control_set_aside(const struct sf_control_set *s, struct sf_dir *dir,
                                     size_t n_bad, char notice[240], struct sf_why *why)
{
    struct sf_buf text = {0};
    enum sf_err err = sf_dir_rename(dir, file_name, damaged_name, why);
    sf_control_set_print(s, &text);
    if (!err)
        err = sf_control_set_save(dir, &text, why);
    sf_buf_done(&text);
    snprintf(notice, 240,
             "control: %zu lines of the file cannot be read and are left out: collectors may run "
             "with settings that those lines changed; the file is kept as %s",
             n_bad, damaged_name);
    return err;
}

enum sf_err sf_control_set_open(struct sf_dir *dir, struct sf_control_set **out, char notice[240],
                                struct sf_why *why)
{
    struct sf_control_set *s = sf_heap_new(sizeof(*s));
    struct sf_file file = SF_FILE_NONE;
    struct sf_buf text = {.max = FILE_MAX};
    struct sf_arena req = {0};
    size_t n_bad = 0;
    enum sf_err err = s ? sf_dir_open_read(dir, file_name, &file, why)
                        : sf_no_memory(why, "the control documents");
    notice[0] = 0;
    if (!err)
        err = sf_file_read_all(&file, FILE_MAX, &text, why);
    else if (err == SF_ERR_NOT_FOUND)
        err = SF_OK;
    sf_file_close(&file);
    if (!err && text.len && !sf_arena_init(&req, (size_t)FILE_MAX))
        err = sf_no_memory(why, "the control documents");
    if (!err && text.len)
        n_bad = control_set_load(s, sf_buf_str(&text), &req);
    if (!err && n_bad)
        err = control_set_aside(s, dir, n_bad, notice, why);
    sf_arena_done(&req);
    sf_buf_done(&text);
    if (err)
        sf_heap_free(s);
    else
        *out = s;
    return err;
}

enum sf_err sf_control_set_read(sf_str text, struct sf_control_set **out, struct sf_why *why)
{
    struct sf_control_set *s = sf_heap_new(sizeof(*s));
    struct sf_arena req = {0};
    enum sf_err err = s && sf_arena_init(&req, (size_t)FILE_MAX)
                          ? SF_OK
                          : sf_no_memory(why, "the control documents");
    if (!err && control_set_load(s, text, &req))
        err = sf_fail(why, SF_ERR_CORRUPT, "control: a line of the documents cannot be parsed");
    sf_arena_done(&req);
    if (err)
        sf_heap_free(s);
    else
        *out = s;
    return err;
}

void sf_control_set_close(struct sf_control_set *s)
{
    sf_heap_free(s);
}

/* settings.c - per-tenant settings of Profiles Drilldown: get, set and delete, in protobuf or JSON.
 * The list lives in memory; every change rewrites the file as JSON lines and is undone if that
 * fails. */
#include "serve/pyroscope/settings.h"

#include <string.h>

#include "base/heap.h"
#include "base/limits.h"
#include "base/time_unit.h"
#include "intake/redact.h"
#include "os/clock.h"
#include "os/dir.h"
#include "os/thread.h"
#include "serve/connect.h"
#include "wire/json.h"
#include "wire/message.h"

enum { BODY_MAX = 2 * SF_LIMIT_SETTING_LEN, MAX_NAME = 256 };
enum { FILE_MAX = 256 << 20 };
static const char file_name[] = "settings", damaged_name[] = "settings.damaged";

struct setting {
    sf_str tenant, name, value; /* in one allocation, which begins at `tenant` */
    int64_t modified_ms;
    uint64_t n_unknown; /* of a request: number of unknown fields */
};

struct sf_pyroscope_settings {
    struct sf_dir *dir;
    struct sf_mutex lock; /* guards the list; held while the file is replaced, so that the file
                           * always matches the list */
    struct setting list[SF_LIMIT_SETTINGS];
    size_t n;
};

/* ---- the list ---- */

static sf_str copy_to(char **at, sf_str text)
{
    sf_str out = {*at, text.len};
    if (text.len)
        memcpy(*at, text.p, text.len);
    *at += text.len;
    return out;
}

static bool settings_make(const struct setting *from, struct setting *out)
{
    char *p = sf_heap_new(from->tenant.len + from->name.len + from->value.len + 1);
    if (!p)
        return false;
    out->tenant = copy_to(&p, from->tenant);
    out->name = copy_to(&p, from->name);
    out->value = copy_to(&p, from->value);
    out->modified_ms = from->modified_ms;
    return true;
}

static void settings_drop(struct setting *s)
{
    sf_heap_free((char *)s->tenant.p);
    *s = (struct setting){0};
}

static size_t settings_find(const struct sf_pyroscope_settings *s, sf_str tenant, sf_str name)
{
    size_t i = 0;
    while (i < s->n && !(sf_str_eq(s->list[i].tenant, tenant) && sf_str_eq(s->list[i].name, name)))
        i++;
    return i;
}

/* ---- the file ---- */

static void settings_write_line(struct sf_buf *out, const struct setting *s)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    sf_json_write_object(&w);
    sf_json_write_key_str(&w, SF_STR("tenant"), s->tenant);
    sf_json_write_key_str(&w, SF_STR("name"), s->name);
    sf_json_write_key_str(&w, SF_STR("value"), s->value);
    sf_json_write_key(&w, SF_STR("modifiedAt"));
    sf_json_write_i64(&w, s->modified_ms);
    sf_json_write_object_end(&w);
    sf_buf_add_u8(out, '\n');
}

static enum sf_err settings_save(struct sf_pyroscope_settings *s, struct sf_why *why)
{
    struct sf_buf text = {0};
    enum sf_err err;
    for (size_t i = 0; i < s->n; i++)
        settings_write_line(&text, &s->list[i]);
    err = sf_buf_ok(&text) ? sf_dir_replace(s->dir, file_name, sf_buf_bytes(&text), why)
                           : sf_fail(why, SF_ERR_NOMEM, "settings: no memory");
    sf_buf_done(&text);
    return err;
}

static bool settings_read_line(struct sf_json *j, struct setting *out)
{
    sf_str key;
    if (!sf_json_object(j))
        return false;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("tenant")))
            out->tenant = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("name")))
            out->name = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("value")))
            out->value = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("modifiedAt")))
            out->modified_ms = sf_json_i64(j);
        else
            sf_json_skip(j);
    }
    return sf_json_ok(j) && out->tenant.len && out->name.len;
}

/* Lines that cannot be read are left out and counted. */
static enum sf_err settings_load(struct sf_pyroscope_settings *s, sf_str text, struct sf_arena *req,
                                 size_t *n_bad, struct sf_why *why)
{
    sf_str line;
    while (sf_str_split_next(&text, '\n', &line)) {
        struct setting one = {0};
        struct sf_arena scratch = *req;
        struct sf_json j;
        if (line.len == 0)
            continue;
        sf_json_init(&j, line, &scratch);
        if (!settings_read_line(&j, &one) || s->n == SF_LIMIT_SETTINGS) {
            ++*n_bad;
            continue;
        }
        if (!settings_make(&one, &s->list[s->n]))
            return sf_fail(why, SF_ERR_NOMEM, "settings: no memory");
        s->n++;
    }
    return SF_OK;
}

/* Renames the damaged file for inspection and writes the readable settings in its place, so that
 * the server can start. */
static enum sf_err settings_set_aside(struct sf_pyroscope_settings *s, size_t n_bad,
                                      struct sf_why *said, struct sf_why *why)
{
    enum sf_err err = sf_dir_rename(s->dir, file_name, damaged_name, why);
    if (!err)
        err = settings_save(s, why);
    if (!err)
        sf_fail(said, SF_ERR_CORRUPT,
                "settings: %zu of %zu lines of the file cannot be read and are left out; the file "
                "is kept as %s",
                n_bad, n_bad + s->n, damaged_name);
    return err;
}

enum sf_err sf_settings_open(struct sf_dir *dir, struct sf_pyroscope_settings **out,
                             struct sf_why *said, struct sf_why *why)
{
    size_t n_bad = 0;
    struct sf_pyroscope_settings *s = sf_heap_new(sizeof(*s));
    struct sf_file file = SF_FILE_NONE;
    struct sf_buf text = {.max = FILE_MAX};
    struct sf_arena req = {0};
    enum sf_err err;
    if (!s)
        return sf_fail(why, SF_ERR_NOMEM, "settings: no memory");
    sf_mutex_init(&s->lock, SF_LOCK_SERVE_SETTINGS);
    s->dir = dir;
    err = sf_dir_open_read(dir, file_name, &file, why);
    if (!err)
        err = sf_file_read_all(&file, FILE_MAX, &text, why);
    else if (err == SF_ERR_NOT_FOUND)
        err = SF_OK;
    sf_file_close(&file);
    if (!err && text.len)
        err = sf_arena_init(&req, (size_t)FILE_MAX)
                  ? settings_load(s, sf_buf_str(&text), &req, &n_bad, why)
                  : sf_fail(why, SF_ERR_NOMEM, "no memory");
    sf_arena_done(&req);
    sf_buf_done(&text);
    if (!err && n_bad)
        err = settings_set_aside(s, n_bad, said, why);
    if (err)
        sf_settings_close(s);
    else
        *out = s;
    return err;
}

void sf_settings_close(struct sf_pyroscope_settings *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n; i++)
        settings_drop(&s->list[i]);
    sf_mutex_done(&s->lock);
    sf_heap_free(s);
}

/* ---- the calls ---- */

static void read_setting_json(struct sf_json *j, struct setting *out)
{
    sf_str key;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("name")))
            out->name = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("value")))
            out->value = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("modifiedAt")))
            out->modified_ms = sf_json_i64(j);
        else if (sf_str_eq(key, SF_STR("setting")))
            read_setting_json(j, out);
        else {
            out->n_unknown++;
            sf_json_skip(j);
        }
    }
}

/* In Set, field 1 is the setting; in Delete it is only the name. */
static void read_setting_pb(struct sf_pb *pb, bool is_inside, struct setting *out)
{
    while (sf_pb_next(pb)) {
        if (pb->field == 1 && !is_inside) {
            struct sf_pb part = sf_pb_msg(pb);
            read_setting_pb(&part, true, out);
            sf_pb_join(pb, &part);
        } else if (pb->field == 1) {
            out->name = sf_pb_str(pb);
        } else if (pb->field == 2) {
            out->value = sf_pb_str(pb);
        } else if (pb->field == 3 && is_inside) {
            out->modified_ms = sf_pb_i64(pb);
        } else {
            out->n_unknown++;
            sf_pb_skip(pb);
        }
    }
}

/* Removes secrets, because settings are written to disk. Requested names are changed the same way,
 * so that they are found. */
static enum sf_err settings_redact(struct sf_call *call, struct sf_arena *req, struct setting *one,
                                   struct sf_why *why)
{
    const struct sf_redactor *redactor = call->service->intake.redactor;
    struct sf_attr attr = {one->name, {.type = SF_VALUE_STR, .str = one->value}};
    uint64_t n = 0;
    enum sf_err err = redactor ? sf_redact_attr(redactor, req, &attr, &n, why) : SF_OK;
    if (err)
        return err;
    one->name = attr.key;
    one->value = attr.val.str;
    sf_counters_add(call->service->counters, SF_COUNT_REDACTIONS, n);
    return SF_OK;
}

static enum sf_err read_setting(struct sf_call *call, struct sf_arena *req, bool is_delete,
                                struct setting *out, struct sf_why *why)
{
    struct sf_json *j = sf_arena_new(req, sizeof(*j));
    struct sf_pb pb;
    sf_str body;
    enum sf_err err = j ? sf_connect_body(call, BODY_MAX, req, &body, why)
                        : sf_fail(why, SF_ERR_LIMIT, "settings: no room");
    if (err)
        return err;
    if (sf_connect_is_json(call)) {
        sf_json_init(j, body, req);
        read_setting_json(j, out);
        err = sf_json_why(j, "request", why);
    } else {
        pb = sf_pb_init(sf_str_bytes(body));
        read_setting_pb(&pb, is_delete, out);
        err = sf_pb_why(&pb, "request", why);
    }
    sf_counters_add(call->service->counters, SF_COUNT_UNKNOWN_PYROSCOPE, out->n_unknown);
    if (!err &&
        (out->name.len == 0 || out->name.len > MAX_NAME || out->value.len > SF_LIMIT_SETTING_LEN))
        err = sf_fail(why, SF_ERR_INPUT,
                      "a setting has a name of 1 to %d bytes and a value of at "
                      "most %d",
                      MAX_NAME, SF_LIMIT_SETTING_LEN);
    if (!err)
        err = settings_redact(call, req, out, why);
    out->tenant = call->tenant;
    return err;
}

static void write_setting(struct sf_message *m, const struct setting *s)
{
    sf_message_str(m, 1, "name", s->name);
    sf_message_str(m, 2, "value", s->value);
    sf_message_i64(m, 3, "modifiedAt", s->modified_ms);
}

static bool settings_finish(struct sf_call *call, struct sf_message *m, enum sf_err err,
                            const struct sf_why *why)
{
    sf_message_close(m);
    if (!err && !sf_buf_ok(m->out))
        err = SF_ERR_NOMEM;
    if (err)
        return sf_call_fail(call, err, why);
    sf_connect_ok(call);
    return true;
}

bool sf_settings_get(struct sf_call *call, __attribute__((unused)) struct sf_worker *worker)
{
    struct sf_pyroscope_settings *s = call->service->settings;
    struct sf_message m = sf_message_init(&call->response->body, sf_connect_is_json(call));
    bool has_any = false;
    if (!sf_connect_admit(call))
        return true;
    sf_message_open(&m);
    sf_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->n; i++) {
        size_t mark;
        if (!sf_str_eq(s->list[i].tenant, call->tenant))
            continue;
        if (!has_any)
            sf_message_list(&m, "settings");
        has_any = true;
        mark = sf_message_item(&m, 1);
        write_setting(&m, &s->list[i]);
        sf_message_end(&m, mark);
    }
    sf_mutex_unlock(&s->lock);
    if (has_any)
        sf_message_list_end(&m);
    return settings_finish(call, &m, SF_OK, NULL);
}

/* A page that was opened earlier must not overwrite a newer setting. */
static bool is_newer(const struct sf_pyroscope_settings *s, const struct setting *one)
{
    size_t at = settings_find(s, one->tenant, one->name);
    return at == s->n || one->modified_ms >= s->list[at].modified_ms;
}

static size_t settings_len_of(const struct setting *one)
{
    return one->tenant.len + one->name.len + one->value.len;
}

/* Whether the setting fits the limits of its tenant and of all tenants; one that does not get
 * longer always does. */
static bool settings_fits(const struct sf_pyroscope_settings *s, const struct setting *one,
                          size_t at, struct sf_why *why)
{
    size_t n_own = 0, own_len = settings_len_of(one), all_len = own_len;
    if (at < s->n && settings_len_of(one) <= settings_len_of(&s->list[at]))
        return true;
    for (size_t i = 0; i < s->n; i++) {
        bool is_own = sf_str_eq(s->list[i].tenant, one->tenant);
        size_t len = i == at ? 0 : settings_len_of(&s->list[i]);
        n_own += is_own && i != at;
        own_len += is_own ? len : 0;
        all_len += len;
    }
    if (s->n - (at < s->n) >= SF_LIMIT_SETTINGS || n_own >= SF_LIMIT_SETTINGS / 2)
        sf_fail(why, SF_ERR_LIMIT, "settings: there are %zu already",
                s->n < SF_LIMIT_SETTINGS ? n_own : s->n);
    else if (all_len > SF_LIMIT_SETTINGS_TEXT_LEN || own_len > SF_LIMIT_SETTINGS_TEXT_LEN / 2)
        sf_fail(why, SF_ERR_LIMIT, "settings: they have at most %u bytes together",
                all_len > SF_LIMIT_SETTINGS_TEXT_LEN ? SF_LIMIT_SETTINGS_TEXT_LEN
                                                     : SF_LIMIT_SETTINGS_TEXT_LEN / 2);
    else
        return true;
    return false;
}

/* Undoes the change in memory when the file cannot be written. */
static enum sf_err settings_put(struct sf_pyroscope_settings *s, const struct setting *one,
                                struct sf_why *why)
{
    struct setting fresh, before = {0};
    size_t at = settings_find(s, one->tenant, one->name);
    enum sf_err err;
    if (!settings_fits(s, one, at, why))
        return SF_ERR_LIMIT;
    if (!settings_make(one, &fresh))
        return sf_fail(why, SF_ERR_NOMEM, "settings: no memory");
    if (at < s->n)
        before = s->list[at];
    else
        s->n++;
    s->list[at] = fresh;
    err = settings_save(s, why);
    if (!err) {
        settings_drop(&before);
        return SF_OK;
    }
    settings_drop(&s->list[at]);
    if (before.tenant.p)
        s->list[at] = before;
    else
        s->n--;
    return err;
}

bool sf_settings_set(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_message m = sf_message_init(&call->response->body, sf_connect_is_json(call));
    static const struct sf_outcome exists = {409, 6, 0}; /* already_exists */
    struct setting one = {0};
    struct sf_why why = {0};
    bool is_late = false, is_full = false;
    size_t mark;
    enum sf_err err;
    if (!sf_connect_admit(call))
        return true;
    err = read_setting(call, &worker->arena, false, &one, &why);
    if (one.modified_ms <= 0)
        one.modified_ms = sf_clock_wall_ns() / SF_NS_PER_MS;
    if (!err) {
        sf_mutex_lock(&call->service->settings->lock);
        is_late = !is_newer(call->service->settings, &one);
        if (!is_late)
            err = settings_put(call->service->settings, &one, &why);
        is_full = err == SF_ERR_LIMIT;
        sf_mutex_unlock(&call->service->settings->lock);
    }
    if (is_late) {
        sf_fail(&why, SF_ERR_INPUT, "failed to update %.*s: newer update already written",
                SF_STR_ARG(sf_str_part(one.name, 0, 80)));
        return sf_call_refuse(call, SF_COUNT_REJECT_MALFORMED, exists, why.text);
    }
    if (is_full)
        return sf_call_refuse(call, SF_COUNT_REJECT_TOO_LARGE, sf_status_quota, why.text);
    sf_message_open(&m);
    mark = sf_message_begin(&m, 1, "setting");
    write_setting(&m, &one);
    sf_message_end(&m, mark);
    return settings_finish(call, &m, err, &why);
}

static enum sf_err settings_take_out(struct sf_pyroscope_settings *s, sf_str tenant, sf_str name,
                                     struct sf_why *why)
{
    size_t at = settings_find(s, tenant, name);
    struct setting before;
    enum sf_err err;
    if (at == s->n)
        return SF_OK; /* deleting a missing setting succeeds */
    before = s->list[at];
    s->list[at] = s->list[--s->n];
    err = settings_save(s, why);
    if (!err) {
        settings_drop(&before);
        return SF_OK;
    }
    s->list[s->n++] = s->list[at];
    s->list[at] = before;
    return err;
}

bool sf_settings_delete(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_message m = sf_message_init(&call->response->body, sf_connect_is_json(call));
    struct setting one = {0};
    struct sf_why why = {0};
    enum sf_err err;
    if (!sf_connect_admit(call))
        return true;
    err = read_setting(call, &worker->arena, true, &one, &why);
    if (!err) {
        sf_mutex_lock(&call->service->settings->lock);
        err = settings_take_out(call->service->settings, one.tenant, one.name, &why);
        sf_mutex_unlock(&call->service->settings->lock);
    }
    sf_message_open(&m);
    return settings_finish(call, &m, err, &why);
}

#include "store/local/files/tenants.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/heap.h"
#include "base/limits.h"
#include "base/list.h"
#include "os/dir.h"
#include "os/thread.h"
#include "store/local/files/catalogue.h"

static const char log_name[] = "tenants.log";
enum { MAX_TENANTS = 100000, MAX_LOG_LEN = 64 << 20 };

struct tenant {
    uint32_t id;
    uint32_t name_len;
    char *name;
};

struct sf_tenants {
    struct sf_dir *dir;
    struct sf_catalogue *catalogue;
    /* Guards all below. Held while a new tenant is made durable, because a second request for it
     * must not be acknowledged before it is on disk; so it is taken before the catalogue's lock. */
    struct sf_mutex lock;
    struct tenant *list;
    size_t n, cap;
    uint32_t next;
    enum sf_err err; /* of loading */
};

static bool tenants_remember(struct sf_tenants *t, uint32_t id, sf_str name)
{
    char *copy;
    if (!sf_list_room(&t->list, t->n, &t->cap, 16))
        return false;
    copy = sf_heap_new(name.len + 1);
    if (!copy)
        return false;
    if (name.len)
        memcpy(copy, name.p, name.len);
    t->list[t->n++] = (struct tenant){id, (uint32_t)name.len, copy};
    if (id >= t->next)
        t->next = id + 1;
    return true;
}

static const struct tenant *tenants_find_name(const struct sf_tenants *t, sf_str name)
{
    for (size_t i = 0; i < t->n; i++) {
        if (sf_str_eq((sf_str){t->list[i].name, t->list[i].name_len}, name))
            return &t->list[i];
    }
    return NULL;
}

static bool tenants_has_id(const struct sf_tenants *t, uint64_t id)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->list[i].id == id)
            return true;
    }
    return false;
}

static bool tenant_see(void *arg, uint32_t id, sf_str name)
{
    struct sf_tenants *t = arg;
    if (!tenants_remember(t, id, name))
        t->err = SF_ERR_NOMEM;
    return !t->err;
}

/* Reads lines "number name". Ignores a torn last line, and lines that contradict the catalogue,
 * which has checksums while this file has none. */
static enum sf_err read_log(struct sf_tenants *t, struct sf_why *why)
{
    struct sf_file file = SF_FILE_NONE;
    struct sf_buf bytes = {.max = MAX_LOG_LEN};
    sf_str rest, line;
    enum sf_err err = sf_dir_open_read(t->dir, log_name, &file, why);
    if (err == SF_ERR_NOT_FOUND)
        return SF_OK;
    if (!err)
        err = sf_file_read_all(&file, MAX_LOG_LEN, &bytes, why);
    sf_file_close(&file);
    rest = sf_buf_str(&bytes);
    while (!err && rest.len && rest.p[rest.len - 1] != '\n')
        rest.len--;
    while (!err && sf_str_split_next(&rest, '\n', &line)) {
        sf_str number;
        uint64_t id;
        if (!sf_str_split_next(&line, ' ', &number) || !sf_str_to_u64(number, &id) || id == 0 ||
            id > UINT32_MAX || tenants_find_name(t, line) || tenants_has_id(t, id))
            continue;
        err = sf_catalogue_add_tenant(t->catalogue, (uint32_t)id, line, why);
        if (!err && !tenants_remember(t, (uint32_t)id, line))
            err = sf_fail(why, SF_ERR_NOMEM, "tenants: no memory");
    }
    sf_buf_done(&bytes);
    return err;
}

static enum sf_err append_log(struct sf_tenants *t, uint32_t id, sf_str name, struct sf_why *why)
{
    struct sf_file file = SF_FILE_NONE;
    struct sf_buf line = {0};
    uint64_t len = 0;
    enum sf_err err = sf_dir_open_append(t->dir, log_name, &file, why);
    if (err)
        return err;
    sf_buf_print(&line, "%u %.*s\n", id, SF_STR_ARG(name));
    if (!sf_buf_ok(&line))
        err = sf_fail(why, SF_ERR_NOMEM, "tenants: no memory");
    if (!err)
        err = sf_file_len(&file, &len, why);
    if (!err)
        err = sf_file_write_at(&file, len, line.p, line.len, why);
    if (!err)
        err = sf_file_sync(&file, why);
    if (!err)
        err = sf_dir_sync(t->dir, ".", why);
    sf_buf_done(&line);
    sf_file_close(&file);
    return err;
}

static enum sf_err create(struct sf_tenants *t, sf_str name, uint32_t *out, struct sf_why *why)
{
    uint32_t id = t->next;
    enum sf_err err;
    bool is_bad = name.len == 0 || name.len > SF_LIMIT_TENANT_LEN;
    for (size_t i = 0; i < name.len && !is_bad; i++)
        is_bad = name.p[i] == '\n' || name.p[i] == 0;
    if (is_bad)
        return sf_fail(why, SF_ERR_INPUT, "a tenant's name has 1 to %d bytes and no line break",
                       SF_LIMIT_TENANT_LEN);
    if (t->n >= MAX_TENANTS)
        return sf_fail(why, SF_ERR_LIMIT, "there are %d tenants already", MAX_TENANTS);
    err = append_log(t, id, name, why);
    if (!err)
        err = sf_catalogue_add_tenant(t->catalogue, id, name, why);
    if (!err && !tenants_remember(t, id, name))
        err = sf_fail(why, SF_ERR_NOMEM, "tenants: no memory");
    if (!err)
        *out = id;
    return err;
}

enum sf_err sf_tenants_open(struct sf_dir *dir, struct sf_catalogue *catalogue,
                            struct sf_tenants **out, struct sf_why *why)
{
    uint32_t first;
    enum sf_err err;
    struct sf_tenants *t = sf_heap_new(sizeof(*t));
    if (!t)
        return sf_fail(why, SF_ERR_NOMEM, "tenants: no memory");
    t->dir = dir;
    t->catalogue = catalogue;
    t->next = 1;
    sf_mutex_init(&t->lock, SF_LOCK_STORE_TENANTS);
    err = sf_catalogue_tenants(catalogue, tenant_see, t, why);
    if (!err && t->err)
        err = sf_fail(why, t->err, "tenants: no memory");
    if (!err)
        err = read_log(t, why);
    if (!err && t->next == 1)
        err = create(t, SF_STR("single-tenant"), &first, why);
    if (err) {
        sf_tenants_close(t);
        return err;
    }
    *out = t;
    return SF_OK;
}

void sf_tenants_close(struct sf_tenants *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n; i++)
        sf_heap_free(t->list[i].name);
    sf_heap_free(t->list);
    sf_mutex_done(&t->lock);
    sf_heap_free(t);
}

enum sf_err sf_tenants_find(struct sf_tenants *t, sf_str name, bool can_create, uint32_t *out,
                            struct sf_why *why)
{
    const struct tenant *found;
    enum sf_err err = SF_OK;
    sf_mutex_lock(&t->lock);
    found = tenants_find_name(t, name);
    if (found)
        *out = found->id;
    else if (can_create)
        err = create(t, name, out, why);
    else
        err = sf_fail(why, SF_ERR_NOT_FOUND, "there is no tenant \"%.*s\"", SF_STR_ARG(name));
    sf_mutex_unlock(&t->lock);
    return err;
}

bool sf_tenants_name(struct sf_tenants *t, uint32_t id, sf_str *out)
{
    bool is_found = false;
    sf_mutex_lock(&t->lock);
    for (size_t i = 0; !is_found && i < t->n; i++) {
        is_found = t->list[i].id == id;
        if (is_found)
            *out = (sf_str){t->list[i].name, t->list[i].name_len};
    }
    sf_mutex_unlock(&t->lock);
    return is_found;
}

size_t sf_tenants_list(struct sf_tenants *t, sf_str *out, size_t cap)
{
    size_t n;
    sf_mutex_lock(&t->lock);
    n = t->n;
    for (size_t i = 0; i < n && i < cap; i++)
        out[i] = (sf_str){t->list[i].name, t->list[i].name_len};
    sf_mutex_unlock(&t->lock);
    return n;
}

void sf_tenants_skip(struct sf_tenants *t, uint32_t id)
{
    sf_mutex_lock(&t->lock);
    if (id >= t->next && id < UINT32_MAX)
        t->next = id + 1;
    sf_mutex_unlock(&t->lock);
}

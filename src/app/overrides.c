#include "app/overrides.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "app/yaml.h"
#include "base/heap.h"
#include "base/limits.h"
#include "base/text.h"
#include "exec/tenant.h"
#include "os/text_file.h"

enum { NAME_LEN = 256 };

struct walk {
    struct sf_yaml_reader yaml;
    struct sf_quota_rules *rules;
    char tenant[SF_LIMIT_TENANT_LEN + 1], service[NAME_LEN];
};

static bool overrides_unknown_key(struct walk *w, size_t n_keys)
{
    const char *known[SF_QUOTA_KEYS + 1], *near;
    sf_str key = sf_str_part(sf_yaml_scalar(&w->yaml), 0, 60);
    size_t n = 0;
    for (; n < n_keys; n++)
        known[n] = sf_quota_key_infos[n].name;
    if (n_keys == SF_QUOTA_KEYS)
        known[n++] = "services";
    near = sf_text_nearest(key, known, n);
    for (size_t i = n_keys; i < SF_QUOTA_KEYS; i++) {
        if (sf_str_eq(key, sf_str_from(sf_quota_key_infos[i].name)))
            return sf_yaml_refuse(&w->yaml, "%.*s is a limit of a tenant, not of a service",
                                  SF_STR_ARG(key));
    }
    return sf_yaml_refuse(&w->yaml, "there is no limit %.*s%s%s%s", SF_STR_ARG(key),
                          near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static bool set_value(struct walk *w, size_t key)
{
    const struct sf_quota_key_info *info = &sf_quota_key_infos[key];
    struct sf_why reason = {""};
    uint64_t value = 0;
    if (!sf_yaml_next(&w->yaml))
        return false;
    if (w->yaml.event.type != YAML_SCALAR_EVENT)
        return sf_yaml_refuse(&w->yaml, "%s expects one value", info->name);
    if (sf_setting_parse(info->kind, sf_yaml_scalar(&w->yaml), &value, &reason))
        return sf_yaml_refuse(&w->yaml, "%s expects %s, not \"%.*s\"%s%s", info->name,
                              info->kind == SF_SETTING_SIZE       ? "a size such as 512KB or 50GB"
                              : info->kind == SF_SETTING_DURATION ? "a duration such as 12h or 7d"
                                                                  : "a whole number",
                              SF_STR_ARG(sf_str_part(sf_yaml_scalar(&w->yaml), 0, 40)),
                              reason.text[0] ? ": " : "", reason.text);
    if (value && (value < info->min || value > info->max))
        return sf_yaml_refuse(&w->yaml, "%s: %.*s is too %s; 0 means no limit", info->name,
                              SF_STR_ARG(sf_str_part(sf_yaml_scalar(&w->yaml), 0, 40)),
                              value < info->min ? "little" : "much");
    if (sf_quota_rules_set(w->rules, sf_str_from(w->tenant), sf_str_from(w->service),
                           (enum sf_quota_key)key, value, &reason))
        return sf_yaml_refuse(&w->yaml, "%s", reason.text);
    return true;
}

static bool overrides_find_key(const struct walk *w, size_t n_keys, size_t *out)
{
    for (size_t i = 0; i < n_keys; i++) {
        if (sf_str_eq(sf_yaml_scalar(&w->yaml), sf_str_from(sf_quota_key_infos[i].name))) {
            *out = i;
            return true;
        }
    }
    return false;
}

static bool parse_service(struct walk *w)
{
    size_t key;
    while (sf_yaml_next_key(&w->yaml)) {
        if (!overrides_find_key(w, SF_QUOTA_SERVICE_KEYS, &key))
            return overrides_unknown_key(w, SF_QUOTA_SERVICE_KEYS);
        if (!set_value(w, key))
            return false;
    }
    return !w->yaml.err;
}

static bool parse_services(struct walk *w)
{
    while (sf_yaml_next_key(&w->yaml)) {
        sf_str name = sf_yaml_scalar(&w->yaml);
        if (name.len == 0 || name.len >= sizeof(w->service) || memchr(name.p, 0, name.len))
            return sf_yaml_refuse(&w->yaml, "a service has a name of 1 to %zu bytes",
                                  sizeof(w->service) - 1);
        memcpy(w->service, name.p, name.len);
        w->service[name.len] = 0;
        if (sf_yaml_enter_map(&w->yaml, "a service") && !parse_service(w))
            return false;
        if (w->yaml.err)
            return false;
        w->service[0] = 0;
    }
    return !w->yaml.err;
}

static bool parse_tenant(struct walk *w)
{
    size_t key;
    while (sf_yaml_next_key(&w->yaml)) {
        if (sf_str_eq(sf_yaml_scalar(&w->yaml), SF_STR("services"))) {
            if (sf_yaml_enter_map(&w->yaml, "services") && !parse_services(w))
                return false;
            if (w->yaml.err)
                return false;
        } else if (!overrides_find_key(w, SF_QUOTA_KEYS, &key)) {
            return overrides_unknown_key(w, SF_QUOTA_KEYS);
        } else if (!set_value(w, key)) {
            return false;
        }
    }
    return !w->yaml.err;
}

static bool parse_tenants(struct walk *w)
{
    while (sf_yaml_next_key(&w->yaml)) {
        struct sf_why why;
        sf_str name = sf_yaml_scalar(&w->yaml);
        if (sf_tenant_check_name(name, &why))
            return sf_yaml_refuse(&w->yaml, "%s", why.text);
        memcpy(w->tenant, name.p, name.len);
        w->tenant[name.len] = 0;
        if (sf_yaml_enter_map(&w->yaml, "a tenant") && !parse_tenant(w))
            return false;
        if (w->yaml.err)
            return false;
    }
    return !w->yaml.err;
}

static void overrides_parse_file(struct walk *w)
{
    if (!sf_yaml_begin(&w->yaml))
        return;
    if (w->yaml.event.type == YAML_MAPPING_START_EVENT) {
        while (sf_yaml_next_key(&w->yaml)) {
            if (!sf_str_eq(sf_yaml_scalar(&w->yaml), SF_STR("overrides")))
                sf_yaml_refuse(&w->yaml, "the file has one key, overrides");
            else if (sf_yaml_enter_map(&w->yaml, "overrides"))
                parse_tenants(w);
        }
    } else if (!sf_yaml_is_null(&w->yaml)) {
        sf_yaml_refuse(&w->yaml, "the file has one key, overrides, and tenants below it");
    }
    if (!w->yaml.err)
        sf_yaml_end(&w->yaml);
}

enum sf_err sf_overrides_parse(sf_str yaml, const char *file, struct sf_quota_rules **out,
                               struct sf_why *why)
{
    struct walk w = {.rules = sf_quota_rules_new()};
    enum sf_err err = w.rules ? sf_yaml_open(&w.yaml, file, yaml, why)
                              : sf_no_memory(why, "limits");
    if (!err) {
        overrides_parse_file(&w);
        err = sf_yaml_close(&w.yaml);
    }
    if (err)
        sf_quota_rules_free(w.rules);
    else
        *out = w.rules;
    return err;
}

/* ---- the file ---- */

struct sf_overrides {
    const char *path;
    struct sf_quota *quota;
    struct sf_text_stamp stamp; /* of the version of the file that was last read */
};

static bool overrides_is_same(struct sf_text_stamp a, struct sf_text_stamp b)
{
    return a.mtime_ns == b.mtime_ns && a.inode == b.inode && a.len == b.len;
}

enum sf_err sf_overrides_reload(struct sf_overrides *o, struct sf_why *why)
{
    struct sf_quota_rules *rules = NULL;
    struct sf_buf text = {0};
    enum sf_err err;
    /* Taken before reading: a write in between is then noticed at the next check. */
    o->stamp = sf_text_file_stamp(o->path);
    err = sf_text_file_read(o->path, SF_LIMIT_OVERRIDES_LEN, &text, why);
    if (!err)
        err = sf_overrides_parse(sf_buf_str(&text), o->path, &rules, why);
    sf_buf_done(&text);
    if (!err)
        sf_quota_replace(o->quota, rules);
    return err;
}

enum sf_err sf_overrides_open(const char *path, struct sf_quota *quota, struct sf_overrides **out,
                              struct sf_why *why)
{
    struct sf_overrides *o = sf_heap_new(sizeof(*o));
    enum sf_err err;
    if (!o)
        return sf_fail(why, SF_ERR_NOMEM, "no memory for limits");
    o->path = path;
    o->quota = quota;
    err = sf_overrides_reload(o, why);
    if (err)
        sf_heap_free(o);
    else
        *out = o;
    return err;
}

void sf_overrides_close(struct sf_overrides *o)
{
    sf_heap_free(o);
}

bool sf_overrides_is_changed(const struct sf_overrides *o)
{
    return !overrides_is_same(o->stamp, sf_text_file_stamp(o->path));
}

/* Events of libyaml, straight into rules: no tree is built, nesting is as deep as the grammar, and
 * anchors and aliases are refused, as in the configuration. */
#include "app/overrides.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/heap.h"
#include "base/limits.h"
#include "base/text.h"
#include "os/text_file.h"
#include "serve/tenant.h"

enum { NAME_LEN = 256 };

struct walk {
    const char *file;
    yaml_parser_t parser;
    yaml_event_t event; /* the newest; cleared before the next */
    bool has_event;
    struct sf_quota_rules *rules;
    char tenant[SF_LIMIT_TENANT_LEN + 1], service[NAME_LEN];
    struct sf_why *why;
    enum sf_err err;
};

static bool refuse(struct walk *w, size_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool refuse(struct walk *w, size_t line, const char *format, ...)
{
    struct sf_why sentence;
    va_list args;
    va_start(args, format);
    sf_fail_va(&sentence, SF_ERR_INPUT, format, args);
    va_end(args);
    w->err = sf_fail(w->why, SF_ERR_INPUT, "%s:%zu: %s", w->file, line + 1, sentence.text);
    return false;
}

static size_t line_of(const struct walk *w)
{
    return w->event.start_mark.line;
}

static bool next_event(struct walk *w)
{
    if (w->has_event)
        yaml_event_delete(&w->event);
    w->has_event = yaml_parser_parse(&w->parser, &w->event) != 0;
    if (!w->has_event)
        return refuse(w, w->parser.problem_mark.line, "not YAML: %s",
                      w->parser.problem ? w->parser.problem : "malformed");
    if (w->event.type == YAML_ALIAS_EVENT ||
        (w->event.type == YAML_SCALAR_EVENT && w->event.data.scalar.anchor) ||
        (w->event.type == YAML_MAPPING_START_EVENT && w->event.data.mapping_start.anchor))
        return refuse(w, line_of(w), "anchors and aliases are not allowed here");
    return true;
}

static sf_str scalar(const struct walk *w)
{
    return (sf_str){(const char *)w->event.data.scalar.value, w->event.data.scalar.length};
}

/* The next key of the map at hand; false at its end and at a fault. */
static bool next_key(struct walk *w)
{
    if (!next_event(w) || w->event.type == YAML_MAPPING_END_EVENT)
        return false;
    return w->event.type == YAML_SCALAR_EVENT || refuse(w, line_of(w), "a key is a word");
}

/* The map behind a key. False: there is none, which may be fine (`tenant:` without anything). */
static bool enter_map(struct walk *w, const char *what)
{
    if (!next_event(w))
        return false;
    if (w->event.type == YAML_MAPPING_START_EVENT)
        return true;
    if (w->event.type == YAML_SCALAR_EVENT && scalar(w).len == 0)
        return false;
    return refuse(w, line_of(w), "%s wants keys below it", what);
}

static bool unknown_key(struct walk *w, size_t n_keys)
{
    const char *known[SF_QUOTA_KEYS + 1], *near;
    sf_str key = sf_str_part(scalar(w), 0, 60);
    size_t n = 0;
    for (; n < n_keys; n++)
        known[n] = sf_quota_key_infos[n].name;
    if (n_keys == SF_QUOTA_KEYS)
        known[n++] = "services";
    near = sf_text_nearest(key, known, n);
    for (size_t i = n_keys; i < SF_QUOTA_KEYS; i++) {
        if (sf_str_eq(key, sf_str_from(sf_quota_key_infos[i].name)))
            return refuse(w, line_of(w), "%.*s is a limit of a tenant, not of a service",
                          SF_STR_ARG(key));
    }
    return refuse(w, line_of(w), "there is no limit %.*s%s%s%s", SF_STR_ARG(key),
                  near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static bool set_value(struct walk *w, size_t key)
{
    const struct sf_quota_key_info *info = &sf_quota_key_infos[key];
    struct sf_why reason = {""};
    uint64_t value = 0;
    size_t line;
    if (!next_event(w))
        return false;
    line = line_of(w);
    if (w->event.type != YAML_SCALAR_EVENT)
        return refuse(w, line, "%s wants one value", info->name);
    if (sf_setting_parse(info->kind, scalar(w), &value, &reason))
        return refuse(w, line, "%s wants %s, not \"%.*s\"%s%s", info->name,
                      info->kind == SF_SETTING_SIZE       ? "a size such as 512KB or 50GB"
                      : info->kind == SF_SETTING_DURATION ? "a duration such as 12h or 7d"
                                                          : "a whole number",
                      SF_STR_ARG(sf_str_part(scalar(w), 0, 40)), reason.text[0] ? ": " : "",
                      reason.text);
    if (value && (value < info->min || value > info->max))
        return refuse(w, line, "%s: %.*s is too %s; 0 is no limit", info->name,
                      SF_STR_ARG(sf_str_part(scalar(w), 0, 40)),
                      value < info->min ? "little" : "much");
    if (sf_quota_rules_set(w->rules, sf_str_from(w->tenant), sf_str_from(w->service),
                           (enum sf_quota_key)key, value, &reason))
        return refuse(w, line, "%s", reason.text);
    return true;
}

static bool find_key(const struct walk *w, size_t n_keys, size_t *out)
{
    for (size_t i = 0; i < n_keys; i++) {
        if (sf_str_eq(scalar(w), sf_str_from(sf_quota_key_infos[i].name))) {
            *out = i;
            return true;
        }
    }
    return false;
}

static bool parse_service(struct walk *w)
{
    size_t key;
    while (next_key(w)) {
        if (!find_key(w, SF_QUOTA_SERVICE_KEYS, &key))
            return unknown_key(w, SF_QUOTA_SERVICE_KEYS);
        if (!set_value(w, key))
            return false;
    }
    return !w->err;
}

static bool parse_services(struct walk *w)
{
    while (next_key(w)) {
        sf_str name = scalar(w);
        if (name.len == 0 || name.len >= sizeof(w->service) || memchr(name.p, 0, name.len))
            return refuse(w, line_of(w), "a service has a name of 1 to %zu bytes",
                          sizeof(w->service) - 1);
        memcpy(w->service, name.p, name.len);
        w->service[name.len] = 0;
        if (enter_map(w, "a service") && !parse_service(w))
            return false;
        if (w->err)
            return false;
        w->service[0] = 0;
    }
    return !w->err;
}

static bool parse_tenant(struct walk *w)
{
    size_t key;
    while (next_key(w)) {
        if (sf_str_eq(scalar(w), SF_STR("services"))) {
            if (enter_map(w, "services") && !parse_services(w))
                return false;
            if (w->err)
                return false;
        } else if (!find_key(w, SF_QUOTA_KEYS, &key)) {
            return unknown_key(w, SF_QUOTA_KEYS);
        } else if (!set_value(w, key)) {
            return false;
        }
    }
    return !w->err;
}

static bool parse_tenants(struct walk *w)
{
    while (next_key(w)) {
        struct sf_why why;
        sf_str name = scalar(w);
        if (sf_tenant_check_name(name, &why))
            return refuse(w, line_of(w), "%s", why.text);
        memcpy(w->tenant, name.p, name.len);
        w->tenant[name.len] = 0;
        if (enter_map(w, "a tenant") && !parse_tenant(w))
            return false;
        if (w->err)
            return false;
    }
    return !w->err;
}

static bool parse_stream(struct walk *w)
{
    if (!next_event(w)) /* stream start */
        return false;
    if (!next_event(w)) /* document start or stream end */
        return false;
    if (w->event.type == YAML_STREAM_END_EVENT)
        return true;
    if (!next_event(w))
        return false;
    if (w->event.type == YAML_MAPPING_START_EVENT) {
        while (next_key(w)) {
            if (!sf_str_eq(scalar(w), SF_STR("overrides")))
                return refuse(w, line_of(w), "the file has one key, overrides");
            if (enter_map(w, "overrides") && !parse_tenants(w))
                return false;
            if (w->err)
                return false;
        }
    } else if (w->event.type != YAML_SCALAR_EVENT || scalar(w).len) {
        return refuse(w, line_of(w), "the file has one key, overrides, and tenants below it");
    }
    if (w->err || !next_event(w)) /* document end */
        return false;
    if (!next_event(w)) /* stream end, or one more document */
        return false;
    return w->event.type == YAML_STREAM_END_EVENT ||
           refuse(w, line_of(w), "only one document is read");
}

enum sf_err sf_overrides_parse(sf_str yaml, const char *file, struct sf_quota_rules **out,
                               struct sf_why *why)
{
    struct walk w = {.file = file, .why = why};
    w.rules = sf_quota_rules_new();
    if (!w.rules || !yaml_parser_initialize(&w.parser)) {
        sf_quota_rules_free(w.rules);
        return sf_fail(why, SF_ERR_NOMEM, "%s: no memory for limits", file);
    }
    yaml_parser_set_input_string(&w.parser, (const unsigned char *)yaml.p, yaml.len);
    (void)parse_stream(&w);
    if (w.has_event)
        yaml_event_delete(&w.event);
    yaml_parser_delete(&w.parser);
    if (w.err) {
        sf_quota_rules_free(w.rules);
        return w.err;
    }
    *out = w.rules;
    return SF_OK;
}

/* ---- the file ---- */

struct sf_overrides {
    const char *path;
    struct sf_quota *quota;
    struct sf_text_stamp stamp; /* of what was last read */
};

static bool is_same(struct sf_text_stamp a, struct sf_text_stamp b)
{
    return a.mtime_ns == b.mtime_ns && a.inode == b.inode && a.len == b.len;
}

enum sf_err sf_overrides_reload(struct sf_overrides *o, struct sf_why *why)
{
    struct sf_quota_rules *rules = NULL;
    struct sf_buf text = {0};
    enum sf_err err;
    /* Before it is read: a write in between is found at the next look. */
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
    return !is_same(o->stamp, sf_text_file_stamp(o->path));
}

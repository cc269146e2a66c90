/* Reads the configuration's YAML directly into the table's types. An unknown key ends the reading,
 * so nesting is limited by the table. */
#include <stdio.h>
#include <string.h>

#include "app/alert_yaml.h"
#include "app/config_value.h"
#include "app/scrape_yaml.h"
#include "app/yaml.h"
#include "base/text.h"

enum { MAX_PATH = 128 };

struct walk {
    struct sf_config *c;
    struct sf_yaml_reader yaml;
    char path[MAX_PATH];
    size_t path_len;
};

static struct sf_config_origin origin_of(const struct walk *w)
{
    return (struct sf_config_origin){.from = SF_FROM_FILE, .line = sf_yaml_line(&w->yaml)};
}

/* ---- listen ---- */

static bool take_file_name(struct walk *w, const char *what, const char **out)
{
    if (!sf_yaml_next(&w->yaml))
        return false;
    if (w->yaml.event.type != YAML_SCALAR_EVENT || sf_yaml_scalar(&w->yaml).len == 0)
        return sf_yaml_refuse(&w->yaml, "listen: %s expects the name of a file", what);
    w->yaml.err = sf_config_value_copy(w->c, sf_yaml_scalar(&w->yaml), origin_of(w), out,
                                       w->yaml.why);
    return !w->yaml.err;
}

static bool parse_tls(struct walk *w, struct sf_listen_address *address)
{
    static const char *const known[] = {"cert", "key", "client_ca"};
    struct sf_listen_tls *tls = sf_arena_new(&w->c->arena, sizeof(*tls));

    if (!tls)
        return sf_yaml_refuse(&w->yaml, "too large");
    if (!sf_yaml_next(&w->yaml))
        return false;
    if (w->yaml.event.type != YAML_MAPPING_START_EVENT)
        return sf_yaml_refuse(&w->yaml, "listen: tls needs a map: {cert: FILE, key: FILE}");
    for (;;) {
        const char **to;
        if (!sf_yaml_next(&w->yaml))
            return false;
        if (w->yaml.event.type == YAML_MAPPING_END_EVENT)
            break;
        if (w->yaml.event.type != YAML_SCALAR_EVENT)
            return sf_yaml_refuse(&w->yaml, "listen: tls needs words as keys");
        to = sf_str_eq(sf_yaml_scalar(&w->yaml), SF_STR("cert"))        ? &tls->cert_file
             : sf_str_eq(sf_yaml_scalar(&w->yaml), SF_STR("key"))       ? &tls->key_file
             : sf_str_eq(sf_yaml_scalar(&w->yaml), SF_STR("client_ca")) ? &tls->client_ca_file
                                                                        : NULL;
        if (!to) {
            const char *near = sf_text_nearest(sf_yaml_scalar(&w->yaml), known, 3);
            return sf_yaml_refuse(&w->yaml, "listen: tls has no key \"%.*s\"%s%s%s",
                                  SF_STR_ARG(sf_yaml_scalar(&w->yaml)),
                                  near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
        }
        if (!take_file_name(w, "tls", to))
            return false;
    }
    if (!tls->cert_file || !tls->key_file)
        return sf_yaml_refuse(&w->yaml, "listen: tls needs both cert and key");
    address->tls = tls;
    return true;
}

static bool parse_listen_map(struct walk *w, struct sf_listen_address *out)
{
    static const char *const known[] = {"address", "tls"};
    struct sf_listen_address address = {0};

    for (;;) {
        if (!sf_yaml_next(&w->yaml))
            return false;
        if (w->yaml.event.type == YAML_MAPPING_END_EVENT)
            break;
        if (w->yaml.event.type != YAML_SCALAR_EVENT)
            return sf_yaml_refuse(&w->yaml, "listen: keys are words");
        if (sf_str_eq(sf_yaml_scalar(&w->yaml), SF_STR("address"))) {
            const struct sf_listen_tls *tls = address.tls;
            if (!sf_yaml_next(&w->yaml))
                return false;
            if (w->yaml.event.type != YAML_SCALAR_EVENT)
                return sf_yaml_refuse(&w->yaml, "listen: address expects HOST:PORT, not %s",
                                      sf_yaml_kind(&w->yaml));
            w->yaml.err = sf_config_address_parse(w->c, sf_yaml_scalar(&w->yaml), origin_of(w),
                                                  &address, w->yaml.why);
            if (w->yaml.err)
                return false;
            address.tls = tls;
        } else if (sf_str_eq(sf_yaml_scalar(&w->yaml), SF_STR("tls"))) {
            if (!parse_tls(w, &address))
                return false;
        } else {
            const char *near = sf_text_nearest(sf_yaml_scalar(&w->yaml), known, 2);
            return sf_yaml_refuse(&w->yaml, "listen: no key \"%.*s\"%s%s%s",
                                  SF_STR_ARG(sf_yaml_scalar(&w->yaml)),
                                  near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
        }
    }
    if (!address.host)
        return sf_yaml_refuse(&w->yaml, "listen: a map needs an address: HOST:PORT");
    *out = address;
    return true;
}

static bool parse_listen(struct walk *w, size_t key, struct sf_config_origin at)
{
    struct sf_listen_address *list;
    size_t n = 0;

    if (w->yaml.event.type != YAML_SEQUENCE_START_EVENT)
        return sf_yaml_refuse(&w->yaml, "listen expects a list of addresses, not %s",
                              sf_yaml_kind(&w->yaml));
    list = sf_arena_new_n(&w->c->arena, SF_CONFIG_MAX_ITEMS, sizeof(*list));
    if (!list)
        return sf_yaml_refuse(&w->yaml, "too large");
    for (;;) {
        if (!sf_yaml_next(&w->yaml))
            return false;
        if (w->yaml.event.type == YAML_SEQUENCE_END_EVENT)
            break;
        if (n == SF_CONFIG_MAX_ITEMS)
            return sf_yaml_refuse(&w->yaml, "listen may have at most %d items",
                                  SF_CONFIG_MAX_ITEMS);
        if (w->yaml.event.type == YAML_SCALAR_EVENT) {
            w->yaml.err = sf_config_address_parse(w->c, sf_yaml_scalar(&w->yaml), origin_of(w),
                                                  &list[n], w->yaml.why);
            if (w->yaml.err)
                return false;
        } else if (w->yaml.event.type == YAML_MAPPING_START_EVENT) {
            if (!parse_listen_map(w, &list[n]))
                return false;
        } else {
            return sf_yaml_refuse(&w->yaml, "listen expects addresses in its list, not %s",
                                  sf_yaml_kind(&w->yaml));
        }
        n++;
    }
    if (n == 0)
        return sf_yaml_refuse(&w->yaml, "listen is empty: a server needs at least one address");
    sf_config_value_set_addresses(w->c, key, list, n, at);
    return true;
}

/* ---- keys ---- */

static bool has_maps(size_t key)
{
    return strcmp(sf_config_keys[key].path, "profiling.conditional.rules") == 0;
}

/* Reads a map of words as one item, "key=value key=value", the form used in flags and the
 * environment. */
static bool parse_item_map(struct walk *w, sf_str *out)
{
    struct sf_buf text = {.max = 4096};
    bool is_key = true, is_ok = false;
    for (;; is_key = !is_key) {
        if (!sf_yaml_next(&w->yaml) || w->yaml.event.type == YAML_MAPPING_END_EVENT)
            break;
        if (w->yaml.event.type != YAML_SCALAR_EVENT || sf_yaml_scalar(&w->yaml).len == 0 ||
            memchr(sf_yaml_scalar(&w->yaml).p, ' ', sf_yaml_scalar(&w->yaml).len) ||
            memchr(sf_yaml_scalar(&w->yaml).p, '=', sf_yaml_scalar(&w->yaml).len)) {
            sf_yaml_refuse(&w->yaml, "%s expects maps of single words in its list", w->path);
            break;
        }
        sf_buf_print(&text, is_key && text.len ? " " : "%s", is_key ? "" : "=");
        sf_buf_add_str(&text, sf_yaml_scalar(&w->yaml));
    }
    if (!w->yaml.err)
        is_ok = (sf_buf_ok(&text) && sf_arena_copy(&w->c->arena, sf_buf_str(&text), out)) ||
                sf_yaml_refuse(&w->yaml, "too large");
    sf_buf_done(&text);
    return is_ok;
}

static bool parse_list(struct walk *w, size_t key, struct sf_config_origin at)
{
    sf_str *items;
    size_t n = 0;

    if (w->yaml.event.type != YAML_SEQUENCE_START_EVENT)
        return sf_yaml_refuse(&w->yaml, "%s expects a list, not %s", w->path,
                              sf_yaml_kind(&w->yaml));
    items = sf_arena_new_n(&w->c->arena, SF_CONFIG_MAX_ITEMS, sizeof(*items));
    if (!items)
        return sf_yaml_refuse(&w->yaml, "too large");
    for (;;) {
        if (!sf_yaml_next(&w->yaml))
            return false;
        if (w->yaml.event.type == YAML_SEQUENCE_END_EVENT)
            break;
        if (n == SF_CONFIG_MAX_ITEMS)
            return sf_yaml_refuse(&w->yaml, "%s may have at most %d items", w->path,
                                  SF_CONFIG_MAX_ITEMS);
        if (w->yaml.event.type == YAML_MAPPING_START_EVENT && has_maps(key)) {
            if (!parse_item_map(w, &items[n++]))
                return false;
            continue;
        }
        if (w->yaml.event.type != YAML_SCALAR_EVENT)
            return sf_yaml_refuse(&w->yaml, "%s expects words in its list, not %s", w->path,
                                  sf_yaml_kind(&w->yaml));
        if (!sf_arena_copy(&w->c->arena, sf_yaml_scalar(&w->yaml), &items[n++]))
            return sf_yaml_refuse(&w->yaml, "too large");
    }
    w->yaml.err = sf_config_value_set_list(w->c, key, items, n, at, w->yaml.why);
    return !w->yaml.err;
}

static bool parse_rules(struct walk *w, size_t key, struct sf_config_origin at)
{
    if (w->yaml.event.type != YAML_SEQUENCE_START_EVENT)
        return sf_yaml_refuse(&w->yaml, "%s expects a list of maps, not %s", w->path,
                              sf_yaml_kind(&w->yaml));
    w->c->alerts.rules = sf_alert_rules_new();
    if (!w->c->alerts.rules)
        return sf_yaml_refuse(&w->yaml, "no memory for rules");
    w->c->origins[key] = at;
    return sf_alert_yaml_list(&w->yaml, w->c->alerts.rules);
}

static bool parse_scrape(struct walk *w, size_t key, struct sf_config_origin at)
{
    if (w->yaml.event.type != YAML_SEQUENCE_START_EVENT)
        return sf_yaml_refuse(&w->yaml, "%s expects a list of maps, not %s", w->path,
                              sf_yaml_kind(&w->yaml));
    w->c->scrape = sf_scrape_jobs_new();
    if (!w->c->scrape)
        return sf_yaml_refuse(&w->yaml, "no memory for scrape targets");
    w->c->origins[key] = at;
    return sf_scrape_yaml_list(&w->yaml, w->c->scrape);
}

static bool config_yaml_parse_value(struct walk *w, size_t key)
{
    enum sf_config_type type = sf_config_keys[key].type;
    struct sf_config_origin at;

    if (w->c->origins[key].from == SF_FROM_FILE)
        return sf_yaml_refuse(&w->yaml, "%s is given twice; first on line %u", w->path,
                              w->c->origins[key].line);
    at = origin_of(w);
    if (!sf_yaml_next(&w->yaml))
        return false;
    if (sf_yaml_is_null(&w->yaml))
        return true;
    if (w->yaml.event.type == YAML_SCALAR_EVENT &&
        (type == SF_CONFIG_LIST || type == SF_CONFIG_LISTEN)) {
        sf_str one = sf_yaml_scalar(&w->yaml);
        w->yaml.err = sf_config_value_set_list(w->c, key, &one, 1, at, w->yaml.why);
        return !w->yaml.err;
    }
    if (type == SF_CONFIG_RULES)
        return parse_rules(w, key, at);
    if (type == SF_CONFIG_SCRAPE)
        return parse_scrape(w, key, at);
    if (type == SF_CONFIG_LISTEN)
        return parse_listen(w, key, at);
    if (type == SF_CONFIG_LIST)
        return parse_list(w, key, at);
    if (w->yaml.event.type != YAML_SCALAR_EVENT)
        return sf_yaml_refuse(&w->yaml, "%s expects one value, not %s", w->path,
                              sf_yaml_kind(&w->yaml));
    w->yaml.err = sf_config_value_set_text(w->c, key, sf_yaml_scalar(&w->yaml), at, w->yaml.why);
    return !w->yaml.err;
}

static bool is_section(const char *path)
{
    size_t len = strlen(path);
    for (size_t i = 0; i < sf_config_n_keys; i++) {
        if (sf_config_keys[i].type != SF_CONFIG_PART &&
            strncmp(sf_config_keys[i].path, path, len) == 0 && sf_config_keys[i].path[len] == '.')
            return true;
    }
    return false;
}

static bool config_yaml_unknown_key(struct walk *w)
{
    char near[MAX_PATH + 32];
    sf_config_value_suggest(sf_str_from(w->path), near, sizeof(near));
    return sf_yaml_refuse(&w->yaml, "there is no key %s%s", w->path, near);
}

/* Recursion goes as deep as the table's longest path: an unknown key ends it. */
static bool config_yaml_parse_map(struct walk *w)
{
    for (;;) {
        size_t old_len = w->path_len;
        int key, len;
        if (!sf_yaml_next_key(&w->yaml))
            return !w->yaml.err;
        len = snprintf(w->path + old_len, MAX_PATH - old_len, "%s%.*s", old_len ? "." : "",
                       SF_STR_ARG(sf_yaml_scalar(&w->yaml)));
        if (len < 0 || (size_t)len >= MAX_PATH - old_len)
            return config_yaml_unknown_key(w);
        w->path_len = old_len + (size_t)len;
        key = sf_config_value_find_key((sf_str){w->path, w->path_len});
        if (key != SF_CONFIG_NO_KEY) {
            if (!config_yaml_parse_value(w, (size_t)key))
                return false;
        } else if (is_section(w->path)) {
            if (!sf_yaml_next(&w->yaml))
                return false;
            if (w->yaml.event.type == YAML_MAPPING_START_EVENT) {
                if (!config_yaml_parse_map(w))
                    return false;
            } else if (!sf_yaml_is_null(&w->yaml)) {
                return sf_yaml_refuse(
                    &w->yaml, "%s is a section: it expects keys below it, not %s", w->path,
                    w->yaml.event.type == YAML_SCALAR_EVENT ? "one value" : "a list");
            }
        } else {
            return config_yaml_unknown_key(w);
        }
        w->path_len = old_len;
        w->path[old_len] = 0;
    }
}

enum sf_err sf_config_yaml_read(struct sf_config *c, sf_str yaml, struct sf_why *why)
{
    struct walk w = {.c = c};
    enum sf_err err = sf_yaml_open(&w.yaml, c->file ? c->file : "configuration", yaml, why);
    if (err)
        return err;
    if (sf_yaml_begin(&w.yaml)) {
        if (w.yaml.event.type == YAML_MAPPING_START_EVENT)
            config_yaml_parse_map(&w);
        else if (!sf_yaml_is_null(&w.yaml))
            sf_yaml_refuse(&w.yaml, "a configuration is a map: lines of the form  key: value");
        if (!w.yaml.err)
            sf_yaml_end(&w.yaml);
    }
    return sf_yaml_close(&w.yaml);
}

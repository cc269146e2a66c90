/* The YAML of a configuration is read as events, straight into the table's types: no tree is built
 * and a node nobody asked for ends the reading, so nesting is as deep as the table and no deeper.
 * Anchors and aliases are refused: nothing in a configuration is worth a file that grows when
 * read. */
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "app/alert_yaml.h"
#include "app/config_value.h"
#include "base/text.h"

enum { MAX_PATH = 128 };

struct walk {
    struct sf_config *c;
    yaml_parser_t parser;
    yaml_event_t event; /* the newest; cleared before the next */
    bool has_event;
    char path[MAX_PATH];
    size_t path_len;
    struct sf_why *why;
    enum sf_err err;
};

static struct sf_config_origin origin_of(const struct walk *w)
{
    return (struct sf_config_origin){.from = SF_FROM_FILE,
                                     .line = (uint32_t)w->event.start_mark.line + 1};
}

static bool refuse(struct walk *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool refuse(struct walk *w, const char *format, ...)
{
    struct sf_why sentence;
    va_list args;
    va_start(args, format);
    sf_fail_va(&sentence, SF_ERR_INPUT, format, args);
    va_end(args);
    w->err = sf_config_fail(w->c, origin_of(w), w->why, "%s", sentence.text);
    return false;
}

static bool next_event(struct walk *w)
{
    if (w->has_event)
        yaml_event_delete(&w->event);
    w->has_event = yaml_parser_parse(&w->parser, &w->event) != 0;
    if (!w->has_event) {
        struct sf_config_origin at = {.from = SF_FROM_FILE,
                                      .line = (uint32_t)w->parser.problem_mark.line + 1};
        if (w->parser.error == YAML_MEMORY_ERROR)
            w->err = sf_fail(w->why, SF_ERR_NOMEM, "configuration: no memory");
        else
            w->err = sf_config_fail(w->c, at, w->why, "not YAML: %s%s%s",
                                    w->parser.problem ? w->parser.problem : "malformed",
                                    w->parser.context ? " " : "",
                                    w->parser.context ? w->parser.context : "");
        return false;
    }
    if (w->event.type == YAML_ALIAS_EVENT)
        return refuse(w, "aliases (*name) are not allowed in a configuration");
    if ((w->event.type == YAML_SCALAR_EVENT && w->event.data.scalar.anchor) ||
        (w->event.type == YAML_MAPPING_START_EVENT && w->event.data.mapping_start.anchor) ||
        (w->event.type == YAML_SEQUENCE_START_EVENT && w->event.data.sequence_start.anchor))
        return refuse(w, "anchors (&name) are not allowed in a configuration");
    return true;
}

static sf_str scalar(const struct walk *w)
{
    return (sf_str){(const char *)w->event.data.scalar.value, w->event.data.scalar.length};
}

/* Nothing was written behind the colon, or null: the key is not given. */
static bool is_null(const struct walk *w)
{
    sf_str text;
    if (w->event.type != YAML_SCALAR_EVENT || w->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return false;
    text = scalar(w);
    return text.len == 0 || sf_str_eq(text, SF_STR("~")) || sf_str_eq(text, SF_STR("null"));
}

static const char *kind_of_event(const struct walk *w)
{
    return w->event.type == YAML_MAPPING_START_EVENT    ? "a map"
           : w->event.type == YAML_SEQUENCE_START_EVENT ? "a list"
                                                        : "nothing";
}

/* ---- listen ---- */

static bool take_file_name(struct walk *w, const char *what, const char **out)
{
    if (!next_event(w))
        return false;
    if (w->event.type != YAML_SCALAR_EVENT || scalar(w).len == 0)
        return refuse(w, "listen: %s wants the name of a file", what);
    w->err = sf_config_copy(w->c, scalar(w), origin_of(w), out, w->why);
    return !w->err;
}

static bool parse_tls(struct walk *w, struct sf_listen_address *address)
{
    static const char *const known[] = {"cert", "key", "client_ca"};
    struct sf_listen_tls *tls = sf_arena_new(&w->c->arena, sizeof(*tls));

    if (!tls)
        return refuse(w, "too large");
    if (!next_event(w))
        return false;
    if (w->event.type != YAML_MAPPING_START_EVENT)
        return refuse(w, "listen: tls wants a map: {cert: FILE, key: FILE}");
    for (;;) {
        const char **to;
        if (!next_event(w))
            return false;
        if (w->event.type == YAML_MAPPING_END_EVENT)
            break;
        if (w->event.type != YAML_SCALAR_EVENT)
            return refuse(w, "listen: tls wants words as keys");
        to = sf_str_eq(scalar(w), SF_STR("cert"))        ? &tls->cert_file
             : sf_str_eq(scalar(w), SF_STR("key"))       ? &tls->key_file
             : sf_str_eq(scalar(w), SF_STR("client_ca")) ? &tls->client_ca_file
                                                         : NULL;
        if (!to) {
            const char *near = sf_text_nearest(scalar(w), known, 3);
            return refuse(w, "listen: tls has no key \"%.*s\"%s%s%s", SF_STR_ARG(scalar(w)),
                          near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
        }
        if (!take_file_name(w, "tls", to))
            return false;
    }
    if (!tls->cert_file || !tls->key_file)
        return refuse(w, "listen: tls needs both cert and key");
    address->tls = tls;
    return true;
}

static bool parse_listen_map(struct walk *w, struct sf_listen_address *out)
{
    static const char *const known[] = {"address", "tls"};
    struct sf_listen_address address = {0};

    for (;;) {
        if (!next_event(w))
            return false;
        if (w->event.type == YAML_MAPPING_END_EVENT)
            break;
        if (w->event.type != YAML_SCALAR_EVENT)
            return refuse(w, "listen: keys are words");
        if (sf_str_eq(scalar(w), SF_STR("address"))) {
            const struct sf_listen_tls *tls = address.tls;
            if (!next_event(w))
                return false;
            if (w->event.type != YAML_SCALAR_EVENT)
                return refuse(w, "listen: address wants HOST:PORT, not %s", kind_of_event(w));
            w->err = sf_config_parse_address(w->c, scalar(w), origin_of(w), &address, w->why);
            if (w->err)
                return false;
            address.tls = tls;
        } else if (sf_str_eq(scalar(w), SF_STR("tls"))) {
            if (!parse_tls(w, &address))
                return false;
        } else {
            const char *near = sf_text_nearest(scalar(w), known, 2);
            return refuse(w, "listen: no key \"%.*s\"%s%s%s", SF_STR_ARG(scalar(w)),
                          near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
        }
    }
    if (!address.host)
        return refuse(w, "listen: a map needs an address: HOST:PORT");
    *out = address;
    return true;
}

static bool parse_listen(struct walk *w, size_t key, struct sf_config_origin at)
{
    struct sf_listen_address *list;
    size_t n = 0;

    if (w->event.type != YAML_SEQUENCE_START_EVENT)
        return refuse(w, "listen wants a list of addresses, not %s", kind_of_event(w));
    list = sf_arena_new_n(&w->c->arena, SF_CONFIG_MAX_ITEMS, sizeof(*list));
    if (!list)
        return refuse(w, "too large");
    for (;;) {
        if (!next_event(w))
            return false;
        if (w->event.type == YAML_SEQUENCE_END_EVENT)
            break;
        if (n == SF_CONFIG_MAX_ITEMS)
            return refuse(w, "listen may have at most %d items", SF_CONFIG_MAX_ITEMS);
        if (w->event.type == YAML_SCALAR_EVENT) {
            w->err = sf_config_parse_address(w->c, scalar(w), origin_of(w), &list[n], w->why);
            if (w->err)
                return false;
        } else if (w->event.type == YAML_MAPPING_START_EVENT) {
            if (!parse_listen_map(w, &list[n]))
                return false;
        } else {
            return refuse(w, "listen wants addresses in its list, not %s", kind_of_event(w));
        }
        n++;
    }
    if (n == 0)
        return refuse(w, "listen is empty: a server needs at least one address");
    sf_config_set_addresses(w->c, key, list, n, at);
    return true;
}

/* ---- keys ---- */

static bool has_maps(size_t key)
{
    return strcmp(sf_config_keys[key].path, "profiling.conditional.rules") == 0;
}

/* A map of words as one item, "key=value key=value": as flags and the environment give it. */
static bool parse_item_map(struct walk *w, sf_str *out)
{
    struct sf_buf text = {.max = 4096};
    bool is_key = true, is_ok = false;
    for (;; is_key = !is_key) {
        if (!next_event(w) || w->event.type == YAML_MAPPING_END_EVENT)
            break;
        if (w->event.type != YAML_SCALAR_EVENT || scalar(w).len == 0 ||
            memchr(scalar(w).p, ' ', scalar(w).len) || memchr(scalar(w).p, '=', scalar(w).len)) {
            refuse(w, "%s wants maps of single words in its list", w->path);
            break;
        }
        sf_buf_print(&text, is_key && text.len ? " " : "%s", is_key ? "" : "=");
        sf_buf_add_str(&text, scalar(w));
    }
    if (!w->err)
        is_ok = (sf_buf_ok(&text) && sf_arena_copy(&w->c->arena, sf_buf_str(&text), out)) ||
                refuse(w, "too large");
    sf_buf_done(&text);
    return is_ok;
}

static bool parse_list(struct walk *w, size_t key, struct sf_config_origin at)
{
    sf_str *items;
    size_t n = 0;

    if (w->event.type != YAML_SEQUENCE_START_EVENT)
        return refuse(w, "%s wants a list, not %s", w->path, kind_of_event(w));
    items = sf_arena_new_n(&w->c->arena, SF_CONFIG_MAX_ITEMS, sizeof(*items));
    if (!items)
        return refuse(w, "too large");
    for (;;) {
        if (!next_event(w))
            return false;
        if (w->event.type == YAML_SEQUENCE_END_EVENT)
            break;
        if (n == SF_CONFIG_MAX_ITEMS)
            return refuse(w, "%s may have at most %d items", w->path, SF_CONFIG_MAX_ITEMS);
        if (w->event.type == YAML_MAPPING_START_EVENT && has_maps(key)) {
            if (!parse_item_map(w, &items[n++]))
                return false;
            continue;
        }
        if (w->event.type != YAML_SCALAR_EVENT)
            return refuse(w, "%s wants words in its list, not %s", w->path, kind_of_event(w));
        if (!sf_arena_copy(&w->c->arena, scalar(w), &items[n++]))
            return refuse(w, "too large");
    }
    w->err = sf_config_set_list(w->c, key, items, n, at, w->why);
    return !w->err;
}

static bool parse_rules(struct walk *w, size_t key, struct sf_config_origin at)
{
    if (w->event.type != YAML_SEQUENCE_START_EVENT)
        return refuse(w, "%s wants a list of maps, not %s", w->path,
                      w->event.type == YAML_SCALAR_EVENT ? "one value" : kind_of_event(w));
    w->c->alerts.rules = sf_alert_rules_new();
    if (!w->c->alerts.rules)
        return refuse(w, "no memory for rules");
    w->c->origins[key] = at;
    w->err = sf_alert_yaml_list(&w->parser, w->c->file ? w->c->file : "configuration",
                                w->c->alerts.rules, w->why);
    return !w->err;
}

static bool parse_value(struct walk *w, size_t key)
{
    enum sf_config_type type = sf_config_keys[key].type;
    struct sf_config_origin at;

    if (w->c->origins[key].from == SF_FROM_FILE)
        return refuse(w, "%s is given twice; first on line %u", w->path, w->c->origins[key].line);
    at = origin_of(w);
    if (!next_event(w))
        return false;
    if (is_null(w))
        return true;
    if (w->event.type == YAML_SCALAR_EVENT &&
        (type == SF_CONFIG_LIST || type == SF_CONFIG_LISTEN)) {
        sf_str one = scalar(w);
        w->err = sf_config_set_list(w->c, key, &one, 1, at, w->why);
        return !w->err;
    }
    if (type == SF_CONFIG_RULES)
        return parse_rules(w, key, at);
    if (type == SF_CONFIG_LISTEN)
        return parse_listen(w, key, at);
    if (type == SF_CONFIG_LIST)
        return parse_list(w, key, at);
    if (w->event.type != YAML_SCALAR_EVENT)
        return refuse(w, "%s wants one value, not %s", w->path, kind_of_event(w));
    w->err = sf_config_set_text(w->c, key, scalar(w), at, w->why);
    return !w->err;
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

static bool unknown_key(struct walk *w)
{
    char near[MAX_PATH + 32];
    sf_config_suggest(sf_str_from(w->path), near, sizeof(near));
    return refuse(w, "there is no key %s%s", w->path, near);
}

/* Recursion goes as deep as the table's longest path: an unknown key ends it. */
static bool parse_map(struct walk *w)
{
    for (;;) {
        size_t old_len = w->path_len;
        int key, len;
        if (!next_event(w))
            return false;
        if (w->event.type == YAML_MAPPING_END_EVENT)
            return true;
        if (w->event.type != YAML_SCALAR_EVENT)
            return refuse(w, "a key is a word, not %s", kind_of_event(w));
        len = snprintf(w->path + old_len, MAX_PATH - old_len, "%s%.*s", old_len ? "." : "",
                       SF_STR_ARG(scalar(w)));
        if (len < 0 || (size_t)len >= MAX_PATH - old_len)
            return unknown_key(w);
        w->path_len = old_len + (size_t)len;
        key = sf_config_find_key((sf_str){w->path, w->path_len});
        if (key != SF_CONFIG_NO_KEY) {
            if (!parse_value(w, (size_t)key))
                return false;
        } else if (is_section(w->path)) {
            if (!next_event(w))
                return false;
            if (w->event.type == YAML_MAPPING_START_EVENT) {
                if (!parse_map(w))
                    return false;
            } else if (!is_null(w)) {
                return refuse(w, "%s is a section: it wants keys below it, not %s", w->path,
                              w->event.type == YAML_SCALAR_EVENT ? "one value" : "a list");
            }
        } else {
            return unknown_key(w);
        }
        w->path_len = old_len;
        w->path[old_len] = 0;
    }
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
        if (!parse_map(w))
            return false;
    } else if (!is_null(w)) {
        return refuse(w, "a configuration is a map: lines of the form  key: value");
    }
    if (!next_event(w)) /* document end */
        return false;
    if (!next_event(w)) /* stream end */
        return false;
    if (w->event.type != YAML_STREAM_END_EVENT)
        return refuse(w, "a configuration is one YAML document; here a second begins");
    return true;
}

enum sf_err sf_config_read_yaml(struct sf_config *c, sf_str yaml, struct sf_why *why)
{
    struct walk w = {.c = c, .why = why};

    if (!yaml_parser_initialize(&w.parser))
        return sf_fail(why, SF_ERR_NOMEM, "configuration: no memory");
    yaml_parser_set_encoding(&w.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&w.parser, (const unsigned char *)(yaml.p ? yaml.p : ""),
                                 yaml.len);
    parse_stream(&w);
    if (w.has_event)
        yaml_event_delete(&w.event);
    yaml_parser_delete(&w.parser);
    return w.err;
}

#include "serve/tempo/legacy_tags.h"

#include <string.h>

#include "base/limits.h"
#include "serve/query_text.h"

enum { MAX_PAIRS = 100 };

void sf_legacy_tags_done(struct sf_legacy_tags *t)
{
    sf_buf_done(&t->query);
    sf_buf_done(&t->keys);
}

/* ---- one pair as a spanset ---- */

/* Appends a regular expression that matches a value containing the text; special characters are
 * escaped. */
static void legacy_tags_add_part(struct sf_buf *out, sf_str val)
{
    struct sf_buf pattern = {0};
    sf_buf_add_str(&pattern, SF_STR(".*"));
    for (size_t i = 0; i < val.len; i++) {
        if (strchr("\\.+*?()|[]{}^$", val.p[i]) && val.p[i])
            sf_buf_add_u8(&pattern, '\\');
        sf_buf_add_u8(&pattern, (uint8_t)val.p[i]);
    }
    sf_buf_add_str(&pattern, SF_STR(".*"));
    sf_query_text_literal(out, sf_buf_str(&pattern));
    if (pattern.err)
        out->err = pattern.err;
    sf_buf_done(&pattern);
}

/* The TraceQL name of a key that has a column of its own in Tempo; else NULL. */
static const char *legacy_tags_column_of(sf_str key)
{
    static const struct {
        const char *key, *column;
    } columns[] = {
        {"service.name", "resource.service.name"},
        {"cluster", "resource.cluster"},
        {"namespace", "resource.namespace"},
        {"pod", "resource.pod"},
        {"container", "resource.container"},
        {"k8s.cluster.name", "resource.k8s.cluster.name"},
        {"k8s.namespace.name", "resource.k8s.namespace.name"},
        {"k8s.pod.name", "resource.k8s.pod.name"},
        {"k8s.container.name", "resource.k8s.container.name"},
        {"http.method", "span.http.method"},
        {"http.url", "span.http.url"},
        {"name", "name"},
        {"root.name", "rootName"},
        {"root.service.name", "rootServiceName"},
    };
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
        if (sf_str_eq(key, sf_str_from(columns[i].key)))
            return columns[i].column;
    }
    return NULL;
}

static enum sf_err add_condition(struct sf_buf *out, sf_str key, sf_str val, struct sf_why *why)
{
    const char *column = legacy_tags_column_of(key);
    int64_t code;
    if (column) {
        sf_buf_print(out, "%s =~ ", column);
        legacy_tags_add_part(out, val);
    } else if (sf_str_eq(key, SF_STR("http.status_code"))) {
        if (!sf_str_to_i64(val, &code))
            return sf_fail(why, SF_ERR_INPUT, "invalid tags: http.status_code=%.*s is not a number",
                           SF_STR_ARG(sf_str_part(val, 0, 40)));
        sf_buf_print(out, "span.http.status_code = %lld", (long long)code);
    } else if (sf_str_eq(key, SF_STR("status.code"))) {
        if (!sf_str_eq(val, SF_STR("unset")) && !sf_str_eq(val, SF_STR("ok")) &&
            !sf_str_eq(val, SF_STR("error")))
            return sf_fail(why, SF_ERR_INPUT,
                           "invalid tags: status.code is unset, ok or error. received %.*s",
                           SF_STR_ARG(sf_str_part(val, 0, 40)));
        sf_buf_print(out, "status = %.*s", SF_STR_ARG(val));
    } else {
        sf_query_text_attr(out, "span", key);
        sf_buf_add_str(out, SF_STR(" = "));
        sf_query_text_literal(out, val);
        sf_buf_add_str(out, SF_STR(" || "));
        sf_query_text_attr(out, "resource", key);
        sf_buf_add_str(out, SF_STR(" = "));
        sf_query_text_literal(out, val);
    }
    return SF_OK;
}

static bool legacy_tags_has_key(const struct sf_legacy_tags *t, sf_str key)
{
    sf_str rest = sf_buf_str(&t->keys), seen;
    while (sf_str_split_next(&rest, '\0', &seen)) {
        if (sf_str_eq(seen, key))
            return true;
    }
    return false;
}

enum sf_err sf_legacy_tags_add(struct sf_legacy_tags *t, sf_str key, sf_str val, struct sf_why *why)
{
    enum sf_err err;
    size_t at;
    if (key.len == 0 || sf_str_find_char(key, '\0', &at))
        return sf_fail(why, SF_ERR_INPUT, "invalid tags: a pair has no name");
    if (t->n_pairs && legacy_tags_has_key(t, key))
        return sf_fail(why, SF_ERR_INPUT, "invalid tags: tag %.*s has been set twice",
                       SF_STR_ARG(sf_str_part(key, 0, 60)));
    if (t->n_pairs == MAX_PAIRS)
        return sf_fail(why, SF_ERR_INPUT, "invalid tags: more than %d of them", MAX_PAIRS);
    t->query.max = SF_LIMIT_QUERY_LEN;
    t->keys.max = SF_LIMIT_QUERY_LEN;
    sf_buf_add_str(&t->query, t->n_pairs ? SF_STR(" && { ") : SF_STR("{ "));
    err = add_condition(&t->query, key, val, why);
    if (err)
        return err;
    sf_buf_add_str(&t->query, SF_STR(" }"));
    sf_buf_add_str(&t->keys, key);
    sf_buf_add_u8(&t->keys, 0);
    t->n_pairs++;
    if (!sf_buf_ok(&t->query) || !sf_buf_ok(&t->keys))
        return sf_fail(why, SF_ERR_INPUT, "query is longer than %d bytes", SF_LIMIT_QUERY_LEN);
    return SF_OK;
}

void sf_legacy_tags_query(const struct sf_legacy_tags *t, struct sf_buf *out)
{
    size_t begin = out->len;
    sf_buf_add_str(out, sf_buf_str(&t->query));
    if (t->min_ns)
        sf_buf_print(out, "%s{ traceDuration >= %lldns }", out->len > begin ? " && " : "",
                     (long long)t->min_ns);
    if (t->max_ns)
        sf_buf_print(out, "%s{ traceDuration <= %lldns }", out->len > begin ? " && " : "",
                     (long long)t->max_ns);
    if (out->len == begin)
        sf_buf_add_str(out, SF_STR("{}"));
}

/* ---- logfmt ---- */

static bool legacy_tags_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Reads a value in quotes: \" and \\ stand for the characters themselves, \n and \t for newline and
 * tab. */
static bool legacy_tags_take_quoted(sf_str text, size_t *at, struct sf_buf *out)
{
    for (++*at; *at < text.len; ++*at) {
        char c = text.p[*at];
        if (c == '"') {
            ++*at;
            return *at == text.len || legacy_tags_is_blank(text.p[*at]);
        }
        if (c == '\\' && *at + 1 < text.len) {
            c = text.p[++*at];
            c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
        }
        sf_buf_add_u8(out, (uint8_t)c);
    }
    return false;
}

static bool legacy_tags_take_word(sf_str text, size_t *at, bool is_key, struct sf_buf *out)
{
    while (*at < text.len && !legacy_tags_is_blank(text.p[*at]) &&
           !(is_key && text.p[*at] == '=')) {
        if (text.p[*at] == '"' || (!is_key && text.p[*at] == '='))
            return false;
        sf_buf_add_u8(out, (uint8_t)text.p[(*at)++]);
    }
    return true;
}

static enum sf_err take_pair(struct sf_legacy_tags *t, sf_str text, size_t *at, struct sf_buf *key,
                             struct sf_buf *val, struct sf_why *why)
{
    size_t begin = *at;
    bool is_good;
    sf_buf_reset(key);
    sf_buf_reset(val);
    is_good = legacy_tags_take_word(text, at, true, key) && key->len && *at < text.len &&
              text.p[*at] == '=';
    if (is_good) {
        ++*at;
        is_good = *at < text.len && text.p[*at] == '"'
                      ? legacy_tags_take_quoted(text, at, val)
                      : legacy_tags_take_word(text, at, false, val);
    }
    if (!is_good || !sf_buf_ok(key) || !sf_buf_ok(val))
        return sf_fail(why, SF_ERR_INPUT,
                       "invalid tags: no pair such as name=value or name=\"a value\" at byte %zu",
                       begin + 1);
    return sf_legacy_tags_add(t, sf_buf_str(key), sf_buf_str(val), why);
}

enum sf_err sf_legacy_tags_parse(struct sf_legacy_tags *t, sf_str text, struct sf_why *why)
{
    struct sf_buf key = {0}, val = {0};
    enum sf_err err = SF_OK;
    size_t at = 0;
    while (!err) {
        while (at < text.len && legacy_tags_is_blank(text.p[at]))
            at++;
        if (at == text.len)
            break;
        err = take_pair(t, text, &at, &key, &val, why);
    }
    sf_buf_done(&key);
    sf_buf_done(&val);
    return err;
}

/* ---- the oldest form ---- */

static bool is_known_param(sf_str name)
{
    static const char *const known[] = {"q",    "tags",  "minDuration", "maxDuration", "limit",
                                        "spss", "start", "end",         "since"};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (sf_str_eq(name, sf_str_from(known[i])))
            return true;
    }
    return false;
}

enum sf_err sf_legacy_tags_params(struct sf_legacy_tags *t, const struct sf_request *r,
                                  struct sf_why *why)
{
    struct sf_buf name = {.max = SF_LIMIT_QUERY_LEN}, val = {.max = SF_LIMIT_QUERY_LEN};
    sf_str rest = r->query;
    enum sf_err err = SF_OK;
    while (!err && sf_request_param_next(&rest, &name, &val)) {
        if (name.len && val.len && !is_known_param(sf_buf_str(&name)))
            err = sf_legacy_tags_add(t, sf_buf_str(&name), sf_buf_str(&val), why);
    }
    sf_buf_done(&name);
    sf_buf_done(&val);
    return err;
}

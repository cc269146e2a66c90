#include "app/config_value.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/setting.h"
#include "base/text.h"

enum { PATH_LEN = 96, MAX_KNOWN = 128 };

enum sf_err sf_config_value_fail(const struct sf_config *c, struct sf_config_origin at,
                                 struct sf_why *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    sf_fail_va(why, SF_ERR_INPUT, format, args);
    va_end(args);
    if (why && at.from == SF_FROM_FILE)
        sf_why_prefix(why, "%s:%u", c->file ? c->file : "configuration", at.line);
    else if (why && at.name)
        sf_why_prefix(why, "%s", at.name);
    return SF_ERR_INPUT;
}

/* ---- keys ---- */

int sf_config_value_find_key(sf_str path)
{
    for (size_t i = 0; i < sf_config_n_keys; i++) {
        if (sf_config_keys[i].type != SF_CONFIG_PART &&
            sf_str_eq(path, sf_str_from(sf_config_keys[i].path)))
            return (int)i;
    }
    return SF_CONFIG_NO_KEY;
}

static sf_str config_value_last_word(sf_str path)
{
    for (size_t i = path.len; i > 0; i--) {
        if (path.p[i - 1] == '.')
            return sf_str_from_at(path, i);
    }
    return path;
}

/* The distinct words that may follow `section` ("retention."), as terminated copies in `mem`. */
static size_t list_children(sf_str section, const char **known, char (*mem)[PATH_LEN])
{
    size_t n = 0;
    for (size_t i = 0; i < sf_config_n_keys && n < MAX_KNOWN; i++) {
        sf_str rest = sf_str_from(sf_config_keys[i].path), child;
        if (sf_config_keys[i].type == SF_CONFIG_PART || !sf_str_starts(rest, section))
            continue;
        rest = sf_str_from_at(rest, section.len);
        sf_str_split_next(&rest, '.', &child);
        if (n && sf_str_eq(child, sf_str_from(known[n - 1])))
            continue;
        snprintf(mem[n], PATH_LEN, "%.*s", SF_STR_ARG(child));
        known[n] = mem[n];
        n++;
    }
    return n;
}

void sf_config_value_suggest(sf_str path, char *to, size_t cap)
{
    const char *known[MAX_KNOWN];
    char mem[MAX_KNOWN][PATH_LEN];
    sf_str word = config_value_last_word(path);
    sf_str section = sf_str_part(path, 0, path.len - word.len);
    size_t n = list_children(section, known, mem);
    const char *near = sf_text_nearest(word, known, n);

    if (near) {
        snprintf(to, cap, "; did you mean %.*s%s?", SF_STR_ARG(section), near);
        return;
    }
    /* A known last word in the wrong section, or a misspelt section before it. */
    for (size_t i = n = 0; i < sf_config_n_keys && n < MAX_KNOWN; i++) {
        sf_str other = sf_str_from(sf_config_keys[i].path);
        if (sf_config_keys[i].type == SF_CONFIG_PART)
            continue;
        if (sf_str_ieq(config_value_last_word(other), word)) {
            snprintf(to, cap, "; did you mean %s?", sf_config_keys[i].path);
            return;
        }
        known[n++] = sf_config_keys[i].path;
    }
    near = sf_text_nearest(path, known, n);
    snprintf(to, cap, near ? "; did you mean %s?" : "%s", near ? near : "");
}

/* ---- scalars ---- */

static void *field_of(struct sf_config *c, const struct sf_config_key *key)
{
    return (uint8_t *)c + key->offset;
}

enum sf_err sf_config_value_copy(struct sf_config *c, sf_str text, struct sf_config_origin at,
                                 const char **out, struct sf_why *why)
{
    sf_str copy;
    if (text.len && memchr(text.p, 0, text.len))
        return sf_config_value_fail(c, at, why, "a setting must not contain a zero byte");
    if (!sf_arena_copy(&c->arena, text, &copy))
        return sf_fail(why, SF_ERR_LIMIT, "configuration: larger than its memory of %zu bytes",
                       c->arena.cap);
    *out = copy.p;
    return SF_OK;
}

static enum sf_err set_choice(struct sf_config *c, const struct sf_config_key *key, sf_str text,
                              struct sf_config_origin at, struct sf_why *why)
{
    sf_str rest = sf_str_from(key->choices), word;
    const char *known[8], *near;
    char mem[8][16];
    size_t n = 0;

    for (uint32_t i = 0; sf_str_split_next(&rest, '|', &word); i++) {
        if (sf_str_ieq(word, text)) {
            *(uint32_t *)field_of(c, key) = i;
            return SF_OK;
        }
        SF_ASSERT(n < 8);
        snprintf(mem[n], sizeof(mem[n]), "%.*s", SF_STR_ARG(word));
        known[n] = mem[n];
        n++;
    }
    near = sf_text_nearest(text, known, n);
    return sf_config_value_fail(c, at, why, "%s is one of %s, not \"%.*s\"%s%s%s", key->path,
                                key->choices, SF_STR_ARG(text), near ? "; did you mean " : "",
                                near ? near : "", near ? "?" : "");
}

static enum sf_err check_bounds(const struct sf_config *c, const struct sf_config_key *key,
                                uint64_t value, sf_str text, struct sf_config_origin at,
                                struct sf_why *why)
{
    struct sf_buf bound = {0};
    bool is_little = value < key->min;
    enum sf_err err;

    if (!is_little && (!key->max || value <= key->max))
        return SF_OK;
    sf_config_render_bound(&bound, key, is_little ? key->min : key->max);
    err = sf_config_value_fail(c, at, why, "%s: %.*s is %s %.*s", key->path, SF_STR_ARG(text),
                               is_little ? "below the minimum of" : "above the maximum of",
                               SF_STR_ARG(sf_buf_str(&bound)));
    sf_buf_done(&bound);
    return err;
}

static enum sf_err config_value_set_number(struct sf_config *c, const struct sf_config_key *key,
                                           sf_str text, struct sf_config_origin at,
                                           struct sf_why *why)
{
    static const struct {
        enum sf_config_type type;
        enum sf_setting_kind kind;
        const char *is; /* what the value must be, for messages */
    } kinds[] = {
        {SF_CONFIG_BOOL, SF_SETTING_BOOL, "is true or false"},
        {SF_CONFIG_COUNT, SF_SETTING_COUNT, "expects a whole number"},
        {SF_CONFIG_RATE, SF_SETTING_RATE, "expects a whole number"},
        {SF_CONFIG_SIZE, SF_SETTING_SIZE, "expects a size such as 512KB, 64MiB or 50GB"},
        {SF_CONFIG_DURATION, SF_SETTING_DURATION, "expects a duration such as 500ms, 1h30m or 7d"},
        {SF_CONFIG_PERCENT, SF_SETTING_PERCENT, "expects a percentage such as 80%"},
    };
    struct sf_why reason = {""};
    uint64_t value = 0;
    size_t i = 0;
    enum sf_err err;

    while (kinds[i].type != key->type)
        i++;
    if (sf_setting_parse(kinds[i].kind, text, &value, &reason))
        return sf_config_value_fail(c, at, why, "%s %s, not \"%.*s\"%s%s", key->path, kinds[i].is,
                                    SF_STR_ARG(text), reason.text[0] ? ": " : "", reason.text);
    err = check_bounds(c, key, value, text, at, why);
    if (!err)
        sf_setting_put(kinds[i].kind, field_of(c, key), value);
    return err;
}

enum sf_err sf_config_value_set_text(struct sf_config *c, size_t index, sf_str text,
                                     struct sf_config_origin at, struct sf_why *why)
{
    const struct sf_config_key *key = &sf_config_keys[index];
    enum sf_err err = SF_OK;

    switch (key->type) {
    case SF_CONFIG_BOOL:
    case SF_CONFIG_COUNT:
    case SF_CONFIG_RATE:
    case SF_CONFIG_SIZE:
    case SF_CONFIG_DURATION:
    case SF_CONFIG_PERCENT: err = config_value_set_number(c, key, text, at, why); break;
    case SF_CONFIG_STR:
        if (text.len)
            err = sf_config_value_copy(c, text, at, field_of(c, key), why);
        else
            *(const char **)field_of(c, key) = NULL;
        break;
    case SF_CONFIG_CHOICE: err = set_choice(c, key, text, at, why); break;
    case SF_CONFIG_RULES:
    case SF_CONFIG_SCRAPE:
        if (text.len)
            err = sf_config_value_fail(
                c, at, why, "%s is a list of maps and can only be set in the file", key->path);
        break;
    case SF_CONFIG_LIST:
    case SF_CONFIG_LISTEN:
    case SF_CONFIG_PART: SF_ASSERT(false && "lists have their own function"); break;
    }
    if (!err)
        c->origins[index] = at;
    return err;
}

/* ---- lists ---- */

void sf_config_value_set_addresses(struct sf_config *c, size_t key,
                                   const struct sf_listen_address *addresses, size_t n,
                                   struct sf_config_origin at)
{
    c->addresses = addresses;
    c->n_addresses = n;
    c->origins[key] = at;
}

static enum sf_err config_value_no_room(struct sf_config *c, struct sf_why *why)
{
    return sf_fail(why, SF_ERR_LIMIT, "configuration: larger than its memory of %zu bytes",
                   c->arena.cap);
}

enum sf_err sf_config_value_set_list(struct sf_config *c, size_t index, const sf_str *items,
                                     size_t n, struct sf_config_origin at, struct sf_why *why)
{
    const struct sf_config_key *key = &sf_config_keys[index];
    enum sf_err err = SF_OK;

    if (key->type == SF_CONFIG_LISTEN) {
        struct sf_listen_address *list = sf_arena_new_n(&c->arena, n, sizeof(*list));
        if (!list)
            return config_value_no_room(c, why);
        for (size_t i = 0; !err && i < n; i++)
            err = sf_config_address_parse(c, items[i], at, &list[i], why);
        if (!err)
            sf_config_value_set_addresses(c, index, list, n, at);
        return err;
    } else {
        const char **list = sf_arena_new_n(&c->arena, n, sizeof(*list));
        if (!list)
            return config_value_no_room(c, why);
        for (size_t i = 0; !err && i < n; i++) {
            if (items[i].len == 0)
                return sf_config_value_fail(c, at, why, "%s has an empty item", key->path);
            err = sf_config_value_copy(c, items[i], at, &list[i], why);
        }
        if (err)
            return err;
        *(struct sf_config_list *)field_of(c, key) = (struct sf_config_list){list, n};
        c->origins[index] = at;
        return SF_OK;
    }
}

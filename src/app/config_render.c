/* config_render.c - configuration as text: single values, the annotated example file, the table of
 * docs/configuration.md, the effective configuration with the origin of each value, and JSON. All
 * of it comes from the table of keys in config_table.c. */
#include <stdio.h>
#include <string.h>

#include "alert/alert_rule.h"
#include "app/config.h"
#include "base/time_unit.h"
#include "scrape/scrape_job.h"

static void config_render_add_duration(struct sf_buf *out, uint64_t ns)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"d", SF_NS_PER_DAY},
                 {"h", SF_NS_PER_HOUR},
                 {"m", SF_NS_PER_MIN},
                 {"s", SF_NS_PER_S},
                 {"ms", SF_NS_PER_MS},
                 {"us", SF_NS_PER_US},
                 {"ns", 1}};
    if (ns == 0)
        sf_buf_add_u8(out, '0');
    for (size_t i = 0; ns && i < sizeof(units) / sizeof(units[0]); i++) {
        if (ns >= units[i].ns)
            sf_buf_print(out, "%llu%s", (unsigned long long)(ns / units[i].ns), units[i].name);
        ns %= units[i].ns;
    }
}

/* The shortest text that parses to the same number. */
static void add_size(struct sf_buf *out, uint64_t len)
{
    static const struct {
        const char *name;
        uint64_t len;
    } units[] = {{"KB", 1000},          {"MB", 1000000},     {"GB", 1000000000},
                 {"TB", 1000000000000}, {"KiB", 1ull << 10}, {"MiB", 1ull << 20},
                 {"GiB", 1ull << 30},   {"TiB", 1ull << 40}};
    char best[32], text[32];
    snprintf(best, sizeof(best), "%llu", (unsigned long long)len);
    for (size_t i = 0; len && i < sizeof(units) / sizeof(units[0]); i++) {
        if (len % units[i].len)
            continue;
        snprintf(text, sizeof(text), "%llu%s", (unsigned long long)(len / units[i].len),
                 units[i].name);
        if (strlen(text) <= strlen(best))
            memcpy(best, text, sizeof(best));
    }
    sf_buf_add_str(out, sf_str_from(best));
}

void sf_config_render_bound(struct sf_buf *out, const struct sf_config_key *key, uint64_t value)
{
    if (key->type == SF_CONFIG_DURATION)
        config_render_add_duration(out, value);
    else if (key->type == SF_CONFIG_SIZE)
        add_size(out, value);
    else
        sf_buf_print(out, "%llu", (unsigned long long)value);
}

static void config_render_add_percent(struct sf_buf *out, uint32_t hundredths)
{
    sf_buf_print(out, "%u", hundredths / 100);
    if (hundredths % 100)
        sf_buf_print(out, hundredths % 10 ? ".%02u" : ".%u",
                     hundredths % 10 ? hundredths % 100 : hundredths % 100 / 10);
    sf_buf_add_u8(out, '%');
}

static void add_addresses(struct sf_buf *out, const struct sf_config *c)
{
    for (size_t i = 0; i < c->n_addresses; i++) {
        const struct sf_listen_address *a = &c->addresses[i];
        bool is_six = strchr(a->host, ':') != NULL;
        sf_buf_print(out, "%s%s%s%s:%u%s", i ? ", " : "", is_six ? "[" : "", a->host,
                     is_six ? "]" : "", a->port,
                     !a->tls                   ? ""
                     : !a->tls->client_ca_file ? " (TLS)"
                                               : " (TLS, client certificates)");
    }
}

static void add_choice(struct sf_buf *out, const char *choices, uint32_t at)
{
    sf_str rest = sf_str_from(choices), word = SF_STR_NONE;
    for (uint32_t i = 0; i <= at; i++)
        sf_str_split_next(&rest, '|', &word);
    sf_buf_add_str(out, word);
}

void sf_config_render_value(const struct sf_config *c, size_t index, struct sf_buf *out)
{
    const struct sf_config_key *key = &sf_config_keys[index];
    const void *field = (const uint8_t *)c + key->offset;
    const struct sf_config_list *list = field;
    uint64_t number = 0;

    switch (key->type) {
    case SF_CONFIG_BOOL: sf_buf_print(out, *(const bool *)field ? "true" : "false"); break;
    case SF_CONFIG_COUNT:
    case SF_CONFIG_RATE:
        sf_buf_print(out, "%llu", (unsigned long long)*(const uint64_t *)field);
        break;
    case SF_CONFIG_SIZE: add_size(out, *(const uint64_t *)field); break;
    case SF_CONFIG_DURATION:
        memcpy(&number, field, sizeof(number));
        config_render_add_duration(out, number);
        break;
    case SF_CONFIG_PERCENT: config_render_add_percent(out, *(const uint32_t *)field); break;
    case SF_CONFIG_STR:
        if (*(const char *const *)field)
            sf_buf_add_str(out, sf_str_from(*(const char *const *)field));
        break;
    case SF_CONFIG_LIST:
        for (size_t i = 0; i < list->n; i++)
            sf_buf_print(out, "%s%s", i ? ", " : "", list->items[i]);
        break;
    case SF_CONFIG_CHOICE: add_choice(out, key->choices, *(const uint32_t *)field); break;
    case SF_CONFIG_LISTEN: add_addresses(out, c); break;
    case SF_CONFIG_RULES:
        for (size_t i = 0; c->alerts.rules && i < c->alerts.rules->n; i++)
            sf_buf_print(out, "%s%.*s", i ? ", " : "", SF_STR_ARG(c->alerts.rules->list[i].name));
        break;
    case SF_CONFIG_SCRAPE:
        for (size_t i = 0; c->scrape && i < c->scrape->n; i++)
            sf_buf_print(out, "%s%.*s", i ? ", " : "", SF_STR_ARG(c->scrape->list[i].name));
        break;
    case SF_CONFIG_PART: break;
    }
}

void sf_config_render_origin(const struct sf_config *c, size_t index, struct sf_buf *out)
{
    struct sf_config_origin at = c->origins[index];
    switch (at.from) {
    case SF_FROM_DEFAULT: sf_buf_print(out, "default"); break;
    case SF_FROM_FILE: sf_buf_print(out, "%s:%u", c->file, at.line); break;
    case SF_FROM_ENVIRONMENT:
    case SF_FROM_FLAG: sf_buf_print(out, "%s", at.name); break;
    }
}

/* ---- the example file ---- */

/* Opens the sections of `path` that are not yet open; returns the nesting depth of its last
 * word. */
static unsigned open_sections(struct sf_buf *out, const char *open, const char *path,
                              const char **last)
{
    unsigned depth = 0;
    const char *dot;
    bool is_same = true;
    size_t at = 0;

    while ((dot = strchr(path + at, '.')) != NULL) {
        size_t end = (size_t)(dot - path);
        is_same = is_same && strncmp(open, path, end + 1) == 0;
        if (!is_same)
            sf_buf_print(out, "%s#%*s%.*s:\n", depth ? "" : "\n", (int)(2 * depth), "",
                         (int)(end - at), path + at);
        depth++;
        at = end + 1;
    }
    *last = path + at;
    return depth;
}

void sf_config_render_example(struct sf_buf *out)
{
    const char *open = "";
    sf_buf_print(
        out,
        "# The configuration of Spanflame. Every key is optional and shown with its default.\n# To "
        "change a key, remove the # in front of it and of its section.\n# `spanflame check-config "
        "--config FILE` prints the values in effect and where each was set.\n");
    for (size_t i = 0; i < sf_config_n_keys; i++) {
        const struct sf_config_key *key = &sf_config_keys[i];
        const char *word;
        unsigned depth;
        if (key->type == SF_CONFIG_PART)
            continue;
        depth = open_sections(out, open, key->path, &word);
        open = key->path;
        if (depth)
            sf_buf_print(out, "#%*s# %s", (int)(2 * depth), "", key->doc);
        else
            sf_buf_print(out, "\n# %s", key->doc);
        if (key->choices)
            sf_buf_print(out, " (%s)", key->choices);
        if (key->type == SF_CONFIG_LISTEN || key->type == SF_CONFIG_LIST ||
            key->type == SF_CONFIG_RULES || key->type == SF_CONFIG_SCRAPE) {
            sf_buf_print(out, "\n#%*s%s: [", (int)(2 * depth), "", word);
            if (key->type == SF_CONFIG_LISTEN) { /* IPv6 addresses in brackets need quotes */
                sf_str rest = sf_str_from(key->initial), item;
                for (size_t n = 0; sf_str_split_next(&rest, ',', &item); n++)
                    sf_buf_print(out, "%s\"%.*s\"", n ? ", " : "", SF_STR_ARG(sf_str_trim(item)));
            } else {
                sf_buf_print(out, "%s", key->initial);
            }
            sf_buf_print(out, "]\n");
        } else {
            sf_buf_print(out, "\n#%*s%s: %s\n", (int)(2 * depth), "", word,
                         key->initial[0] ? key->initial : "\"\"");
        }
        if (key->type == SF_CONFIG_LISTEN)
            sf_buf_print(out,
                         "# or, with TLS:\n"
                         "#  - {address: \"0.0.0.0:4318\", tls: {cert: /etc/spanflame/tls.crt, "
                         "key: /etc/spanflame/tls.key, client_ca: /etc/spanflame/ca.crt}}\n");
    }
}

/* ---- the table of the documentation ---- */

static const char *config_render_type_name(enum sf_config_type type)
{
    switch (type) {
    case SF_CONFIG_BOOL: return "true, false";
    case SF_CONFIG_COUNT:
    case SF_CONFIG_RATE: return "number";
    case SF_CONFIG_SIZE: return "size";
    case SF_CONFIG_DURATION: return "duration";
    case SF_CONFIG_PERCENT: return "percentage";
    case SF_CONFIG_LIST: return "list";
    case SF_CONFIG_LISTEN: return "list of addresses";
    case SF_CONFIG_RULES: return "list of rules";
    case SF_CONFIG_SCRAPE: return "list of scrapes";
    case SF_CONFIG_STR:
    case SF_CONFIG_CHOICE:
    case SF_CONFIG_PART: break;
    }
    return "text";
}

static void config_render_add_type(struct sf_buf *out, const struct sf_config_key *key)
{
    sf_str rest = sf_str_from(key->choices), word;
    if (!key->choices) {
        sf_buf_print(out, "%s", config_render_type_name(key->type));
        return;
    }
    for (size_t i = 0; sf_str_split_next(&rest, '|', &word); i++)
        sf_buf_print(out, "%s%.*s", i ? ", " : "", SF_STR_ARG(word));
}

static void config_render_add_bounds(struct sf_buf *out, const struct sf_config_key *key)
{
    if (key->max == 0)
        return;
    sf_buf_print(out, " (");
    sf_config_render_bound(out, key, key->min);
    sf_buf_print(out, " to ");
    sf_config_render_bound(out, key, key->max);
    sf_buf_add_u8(out, ')');
}

void sf_config_render_table(struct sf_buf *out)
{
    sf_buf_print(out, "| key | type | default | what it does |\n|---|---|---|---|\n");
    for (size_t i = 0; i < sf_config_n_keys; i++) {
        const struct sf_config_key *key = &sf_config_keys[i];
        sf_buf_print(out, "| `%s` | ", key->path);
        config_render_add_type(out, key);
        config_render_add_bounds(out, key);
        if (key->initial[0])
            sf_buf_print(out, " | `%s` | ", key->initial);
        else
            sf_buf_print(out, " | | ");
        sf_buf_print(out, "%s |\n", key->doc);
    }
}

/* The value column is as wide as most values are; long ones push their origin to the right. */
void sf_config_render_effective(const struct sf_config *c, struct sf_buf *out)
{
    struct sf_buf value = {0};
    for (size_t i = 0; i < sf_config_n_keys; i++) {
        if (sf_config_keys[i].type == SF_CONFIG_PART)
            continue;
        sf_buf_reset(&value);
        sf_config_render_value(c, i, &value);
        sf_buf_print(out, "%-45s %-16.*s  # ", sf_config_keys[i].path,
                     SF_STR_ARG(value.len ? sf_buf_str(&value) : SF_STR("-")));
        sf_config_render_origin(c, i, out);
        sf_buf_add_u8(out, '\n');
    }
    sf_buf_done(&value);
}

void sf_config_render_json(const struct sf_config *c, struct sf_json_writer *j)
{
    struct sf_buf text = {0};
    sf_json_write_array(j);
    for (size_t i = 0; i < sf_config_n_keys; i++) {
        if (sf_config_keys[i].type == SF_CONFIG_PART)
            continue;
        sf_json_write_object(j);
        sf_json_write_key_str(j, SF_STR("key"), sf_str_from(sf_config_keys[i].path));
        sf_buf_reset(&text);
        sf_config_render_value(c, i, &text);
        sf_json_write_key_str(j, SF_STR("value"), sf_buf_str(&text));
        sf_buf_reset(&text);
        sf_config_render_origin(c, i, &text);
        sf_json_write_key_str(j, SF_STR("origin"), sf_buf_str(&text));
        sf_json_write_object_end(j);
    }
    sf_json_write_array_end(j);
    sf_buf_done(&text);
}

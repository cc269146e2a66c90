#include "app/alert_yaml.h"

#include <stdio.h>
#include <string.h>

#include "alert/alert_watch.h"
#include "os/text_file.h"

enum { MAX_PATH = 160, FILE_MAX_LEN = 1 << 20, MAX_FILES = 256 };

struct walk {
    struct sf_yaml_reader *yaml;
    struct sf_alert_rules *rules;
    struct sf_alert_rule *rule;
};

static bool alert_yaml_set(struct walk *w, const char *path, uint32_t line)
{
    struct sf_why said = {0};
    sf_str text = sf_yaml_scalar(w->yaml);
    if (memchr(text.p, 0, text.len))
        return sf_yaml_refuse_at(w->yaml, line, "a value contains a zero byte");
    return !sf_alert_rule_set(w->rules, w->rule, sf_str_from(path), text, &said) ||
           sf_yaml_refuse_at(w->yaml, line, "%s", said.text);
}

/* Reads the keys of a rule; keys of a nested map are prefixed with its name. */
static bool alert_yaml_parse_map(struct walk *w, const char *before)
{
    while (sf_yaml_next_key(w->yaml)) {
        char path[MAX_PATH];
        uint32_t line = sf_yaml_line(w->yaml);
        int len = snprintf(path, sizeof(path), "%s%s%.*s", before ? before : "", before ? "." : "",
                           SF_STR_ARG(sf_str_part(sf_yaml_scalar(w->yaml), 0, MAX_PATH)));
        if (len < 0 || (size_t)len >= sizeof(path))
            return sf_yaml_refuse(w->yaml, "a key of a rule is too long");
        if (!sf_yaml_next(w->yaml))
            return false;
        if (w->yaml->event.type == YAML_MAPPING_START_EVENT && !before) {
            if (!alert_yaml_parse_map(w, path))
                return false;
        } else if (w->yaml->event.type != YAML_SCALAR_EVENT) {
            return sf_yaml_refuse_at(w->yaml, line,
                                     "the values of a rule are strings or maps of strings");
        } else if (!alert_yaml_set(w, path, line)) {
            return false;
        }
    }
    return !w->yaml->err;
}

static bool parse_rule(struct walk *w)
{
    struct sf_why said = {0};
    uint32_t line = sf_yaml_line(w->yaml);
    if (w->yaml->event.type != YAML_MAPPING_START_EVENT)
        return sf_yaml_refuse(w->yaml, "a rule is a map: {name: ..., traceql: ..., above: ...}");
    if (sf_alert_rules_add(w->rules, &w->rule, &said))
        return sf_yaml_refuse(w->yaml, "%s", said.text);
    if (!sf_arena_print(&w->rules->arena, &w->rule->where, "%.200s:%u", w->yaml->file, line))
        return sf_yaml_refuse(w->yaml, "too large");
    if (!alert_yaml_parse_map(w, NULL))
        return false;
    return !sf_alert_rule_check(w->rules, w->rule, &said) ||
           sf_yaml_refuse_at(w->yaml, line, "%s", said.text);
}

bool sf_alert_yaml_list(struct sf_yaml_reader *yaml, struct sf_alert_rules *rules)
{
    struct walk w = {.yaml = yaml, .rules = rules};
    while (sf_yaml_next(yaml)) {
        if (yaml->event.type == YAML_SEQUENCE_END_EVENT)
            return true;
        if (!parse_rule(&w))
            return false;
    }
    return false;
}

/* ---- files ---- */

static void alert_yaml_parse_file(struct sf_yaml_reader *yaml, struct sf_alert_rules *rules)
{
    if (!sf_yaml_begin(yaml))
        return;
    if (yaml->event.type == YAML_MAPPING_START_EVENT) {
        while (sf_yaml_next_key(yaml)) {
            if (!sf_str_eq(sf_yaml_scalar(yaml), SF_STR("rules"))) {
                sf_yaml_refuse(yaml, "the file must have a single key, rules, with a list");
            } else if (sf_yaml_next(yaml)) {
                if (yaml->event.type == YAML_SEQUENCE_START_EVENT)
                    sf_alert_yaml_list(yaml, rules);
                else if (!sf_yaml_is_null(yaml))
                    sf_yaml_refuse(yaml, "rules is a list");
            }
        }
    } else if (!sf_yaml_is_null(yaml)) {
        sf_yaml_refuse(yaml, "the file must have a single key, rules, with a list");
    }
    if (!yaml->err)
        sf_yaml_end(yaml);
}

static enum sf_err alert_yaml_read_file(void *arg, const char *path, struct sf_why *why)
{
    struct sf_yaml_reader yaml;
    struct sf_buf text = {0};
    enum sf_err err = sf_text_file_read(path, FILE_MAX_LEN, &text, why);
    if (!err)
        err = sf_yaml_open(&yaml, path, sf_buf_str(&text), why);
    if (!err) {
        alert_yaml_parse_file(&yaml, arg);
        err = sf_yaml_close(&yaml);
    }
    sf_buf_done(&text);
    return err;
}

static enum sf_err read_pattern(struct sf_alert_rules *rules, const char *pattern,
                                struct sf_why *why)
{
    if (strcmp(pattern, "-") == 0)
        return sf_fail(why, SF_ERR_INPUT,
                       "alerts.rules_files: expects the name of a file, not \"-\"");
    return sf_text_file_match(pattern, MAX_FILES, alert_yaml_read_file, rules, why);
}

enum sf_err sf_alert_yaml_finish(struct sf_config *c, bool reads_files, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    if (!c->alerts.rules)
        c->alerts.rules = sf_alert_rules_new();
    if (!c->alerts.rules)
        return sf_no_memory(why, "rules of alerts");
    for (size_t i = 0; !err && reads_files && i < c->alerts.rules_files.n; i++)
        err = read_pattern(c->alerts.rules, c->alerts.rules_files.items[i], why);
    for (size_t i = 0; !err && !c->has_tenancy && i < c->alerts.rules->n; i++) {
        if (!sf_str_eq(c->alerts.rules->list[i].tenant, SF_STR("single-tenant")))
            err = sf_fail(why, SF_ERR_INPUT,
                          "%.*s: rule \"%.*s\" names a tenant and tenancy.enabled is false",
                          SF_STR_ARG(c->alerts.rules->list[i].where),
                          SF_STR_ARG(sf_str_part(c->alerts.rules->list[i].name, 0, 60)));
    }
    if (!err && c->alerts.pack && c->alerts.alertmanager.n + c->alerts.webhook.n > 0)
        err = sf_alert_watch_add_pack(c->alerts.rules, c->has_tenancy, why);
    if (err)
        return err;
    c->alerts.rules->interval_ns = c->alerts.interval_ns;
    return sf_alert_rules_receivers(c->alerts.rules, c->alerts.alertmanager.items,
                                    c->alerts.alertmanager.n, c->alerts.webhook.items,
                                    c->alerts.webhook.n, c->alerts.url, why);
}

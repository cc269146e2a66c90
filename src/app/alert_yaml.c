#include "app/alert_yaml.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "os/text_file.h"

enum { MAX_PATH = 160, FILE_MAX_LEN = 1 << 20, MAX_FILES = 256 };

struct walk {
    yaml_parser_t *parser;
    yaml_event_t event; /* the newest; cleared before the next */
    bool has_event;
    const char *file;
    struct sf_alert_rules *rules;
    struct sf_alert_rule *rule;
    struct sf_why *why;
    enum sf_err err;
};

static bool refuse(struct walk *w, size_t line, const char *sentence)
{
    struct sf_why said = {0};
    sf_fail(&said, SF_ERR_INPUT, "%s", sentence);
    w->err = sf_fail(w->why, SF_ERR_INPUT, "%s:%zu: %s", w->file, line + 1, said.text);
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
    w->has_event = yaml_parser_parse(w->parser, &w->event) != 0;
    if (!w->has_event)
        return refuse(w, w->parser->problem_mark.line,
                      w->parser->problem ? w->parser->problem : "not YAML");
    if (w->event.type == YAML_ALIAS_EVENT ||
        (w->event.type == YAML_SCALAR_EVENT && w->event.data.scalar.anchor) ||
        (w->event.type == YAML_SEQUENCE_START_EVENT && w->event.data.sequence_start.anchor) ||
        (w->event.type == YAML_MAPPING_START_EVENT && w->event.data.mapping_start.anchor))
        return refuse(w, line_of(w), "anchors and aliases are not allowed here");
    return true;
}

static sf_str scalar(const struct walk *w)
{
    return (sf_str){(const char *)w->event.data.scalar.value, w->event.data.scalar.length};
}

static bool set(struct walk *w, const char *path, size_t line)
{
    struct sf_why said = {0};
    if (memchr(scalar(w).p, 0, scalar(w).len))
        return refuse(w, line, "a text with a zero byte");
    return !sf_alert_rule_set(w->rules, w->rule, sf_str_from(path), scalar(w), &said) ||
           refuse(w, line, said.text);
}

/* The keys of a rule; those of a map in it with its name before them. */
static bool parse_map(struct walk *w, const char *before)
{
    for (;;) {
        char path[MAX_PATH];
        size_t line;
        int len;
        if (!next_event(w))
            return false;
        if (w->event.type == YAML_MAPPING_END_EVENT)
            return true;
        line = line_of(w);
        if (w->event.type != YAML_SCALAR_EVENT)
            return refuse(w, line, "a key is a word");
        len = snprintf(path, sizeof(path), "%s%s%.*s", before ? before : "", before ? "." : "",
                       SF_STR_ARG(sf_str_part(scalar(w), 0, MAX_PATH)));
        if (len < 0 || (size_t)len >= sizeof(path))
            return refuse(w, line, "a key of a rule is shorter");
        if (!next_event(w))
            return false;
        if (w->event.type == YAML_MAPPING_START_EVENT && !before) {
            if (!parse_map(w, path))
                return false;
        } else if (w->event.type != YAML_SCALAR_EVENT) {
            return refuse(w, line, "a rule has texts, and maps of texts, behind its keys");
        } else if (!set(w, path, line)) {
            return false;
        }
    }
}

static bool parse_rule(struct walk *w)
{
    struct sf_why said = {0};
    size_t line = line_of(w);
    if (w->event.type != YAML_MAPPING_START_EVENT)
        return refuse(w, line, "a rule is a map: {name: ..., traceql: ..., above: ...}");
    if (sf_alert_rules_add(w->rules, &w->rule, &said))
        return refuse(w, line, said.text);
    if (!parse_map(w, NULL))
        return false;
    return !sf_alert_rule_check(w->rules, w->rule, &said) || refuse(w, line, said.text);
}

static bool parse_list(struct walk *w)
{
    while (next_event(w)) {
        if (w->event.type == YAML_SEQUENCE_END_EVENT)
            return true;
        if (!parse_rule(w))
            return false;
    }
    return false;
}

enum sf_err sf_alert_yaml_list(yaml_parser_t *parser, const char *file,
                               struct sf_alert_rules *rules, struct sf_why *why)
{
    struct walk w = {.parser = parser, .file = file, .rules = rules, .why = why};
    (void)parse_list(&w);
    if (w.has_event)
        yaml_event_delete(&w.event);
    return w.err;
}

/* ---- files ---- */

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
    if (w->event.type != YAML_MAPPING_START_EVENT)
        return refuse(w, line_of(w), "the file has one key, rules, and a list behind it");
    if (!next_event(w))
        return false;
    if (w->event.type != YAML_SCALAR_EVENT || !sf_str_eq(scalar(w), SF_STR("rules")))
        return refuse(w, line_of(w), "the file has one key, rules, and a list behind it");
    if (!next_event(w))
        return false;
    if (w->event.type != YAML_SEQUENCE_START_EVENT)
        return refuse(w, line_of(w), "rules is a list");
    if (!parse_list(w) || !next_event(w))
        return false;
    if (w->event.type != YAML_MAPPING_END_EVENT)
        return refuse(w, line_of(w), "the file has one key, rules");
    if (!next_event(w)) /* document end */
        return false;
    if (!next_event(w)) /* stream end */
        return false;
    return w->event.type == YAML_STREAM_END_EVENT ||
           refuse(w, line_of(w), "only one document is read");
}

static enum sf_err read_file(struct sf_alert_rules *rules, const char *path, struct sf_why *why)
{
    yaml_parser_t parser;
    struct walk w = {.parser = &parser, .file = path, .rules = rules, .why = why};
    struct sf_buf text = {0};
    enum sf_err err = sf_text_file_read(path, FILE_MAX_LEN, &text, why);
    if (!err && !yaml_parser_initialize(&parser))
        err = sf_no_memory(why, "rules of alerts");
    if (!err) {
        yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&parser, text.p ? text.p : (const unsigned char *)"",
                                     text.len);
        (void)parse_stream(&w);
        if (w.has_event)
            yaml_event_delete(&w.event);
        yaml_parser_delete(&parser);
        err = w.err;
    }
    sf_buf_done(&text);
    return err;
}

/* A pattern that matches nothing is fine; a name without * must be there. */
static enum sf_err read_pattern(struct sf_alert_rules *rules, const char *pattern,
                                struct sf_why *why)
{
    glob_t found = {0};
    enum sf_err err = SF_OK;
    int code;
    if (strcmp(pattern, "-") == 0)
        return sf_fail(why, SF_ERR_INPUT, "alerts.rules_files: rules are in files, not in \"-\"");
    code = glob(pattern, GLOB_NOMAGIC, NULL, &found);
    if (code == GLOB_NOMATCH)
        return SF_OK;
    if (code)
        return sf_fail(why, SF_ERR_IO, "alerts.rules_files: %.100s cannot be listed", pattern);
    if (found.gl_pathc > MAX_FILES)
        err = sf_fail(why, SF_ERR_LIMIT, "alerts.rules_files: %.100s: more than %d files", pattern,
                      MAX_FILES);
    for (size_t i = 0; !err && i < found.gl_pathc; i++)
        err = read_file(rules, found.gl_pathv[i], why);
    globfree(&found);
    return err;
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
                          "alerts: rule \"%.*s\" names a tenant and tenancy.enabled is false",
                          SF_STR_ARG(sf_str_part(c->alerts.rules->list[i].name, 0, 60)));
    }
    if (err)
        return err;
    c->alerts.rules->interval_ns = c->alerts.interval_ns;
    return sf_alert_rules_receivers(c->alerts.rules, c->alerts.alertmanager.items,
                                    c->alerts.alertmanager.n, c->alerts.webhook.items,
                                    c->alerts.webhook.n, c->alerts.url, why);
}

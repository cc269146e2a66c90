#include "app/scrape_yaml.h"

#include <stdio.h>
#include <string.h>

#include "exec/tenant.h"

enum { MAX_PATH = 200, MAX_DEPTH = 4 };

struct walk {
    struct sf_yaml_reader *yaml;
    struct sf_scrape_jobs *jobs;
    struct sf_scrape_job *job;
};

static bool has_zero(sf_str text)
{
    return text.len && memchr(text.p, 0, text.len);
}

static bool scrape_yaml_set(struct walk *w, const char *path, uint32_t line)
{
    struct sf_why said = {0};
    if (has_zero(sf_yaml_scalar(w->yaml)))
        return sf_yaml_refuse_at(w->yaml, line, "a value contains a zero byte");
    return !sf_scrape_job_set(w->jobs, w->job, sf_str_from(path), sf_yaml_scalar(w->yaml), &said) ||
           sf_yaml_refuse_at(w->yaml, line, "%s", said.text);
}

static bool scrape_yaml_join(struct walk *w, const char *before, sf_str key, char path[MAX_PATH])
{
    int len = snprintf(path, MAX_PATH, "%s%s%.*s", before, before[0] ? "." : "",
                       SF_STR_ARG(sf_str_part(key, 0, MAX_PATH)));
    return (len >= 0 && len < MAX_PATH) || sf_yaml_refuse(w->yaml, "a key of a scrape is too long");
}

/* Reads the value at the cursor: a text, or a list or map whose parts are set by their paths. */
static bool scrape_yaml_parse_value(struct walk *w, const char *path,
                                    int depth) // NOLINT(misc-no-recursion)
{
    char below[MAX_PATH], index[16];
    uint32_t line = sf_yaml_line(w->yaml);
    if (w->yaml->event.type == YAML_SCALAR_EVENT)
        return sf_yaml_is_null(w->yaml) || scrape_yaml_set(w, path, line);
    if (depth == MAX_DEPTH)
        return sf_yaml_refuse(w->yaml, "a scrape has too many nested levels");
    if (w->yaml->event.type == YAML_MAPPING_START_EVENT) {
        while (sf_yaml_next_key(w->yaml)) {
            if (!scrape_yaml_join(w, path, sf_yaml_scalar(w->yaml), below) ||
                !sf_yaml_next(w->yaml) || !scrape_yaml_parse_value(w, below, depth + 1))
                return false;
        }
        return !w->yaml->err;
    }
    if (w->yaml->event.type != YAML_SEQUENCE_START_EVENT)
        return sf_yaml_refuse(w->yaml, "%s expects a value", path);
    for (unsigned i = 0; sf_yaml_next(w->yaml); i++) {
        if (w->yaml->event.type == YAML_SEQUENCE_END_EVENT)
            return true;
        snprintf(index, sizeof(index), "%u", i);
        if (!scrape_yaml_join(w, path, sf_str_from(index), below) ||
            !scrape_yaml_parse_value(w, below, depth + 1))
            return false;
    }
    return false;
}

bool sf_scrape_yaml_list(struct sf_yaml_reader *yaml, struct sf_scrape_jobs *jobs)
{
    struct walk w = {.yaml = yaml, .jobs = jobs};
    while (sf_yaml_next(yaml)) {
        struct sf_why said = {0};
        uint32_t line = sf_yaml_line(yaml);
        if (yaml->event.type == YAML_SEQUENCE_END_EVENT)
            return true;
        if (yaml->event.type != YAML_MAPPING_START_EVENT)
            return sf_yaml_refuse(yaml, "a scrape is a map: {url: ..., service: ...}");
        if (sf_scrape_jobs_add(jobs, &w.job, &said))
            return sf_yaml_refuse(yaml, "%s", said.text);
        if (!sf_arena_print(&jobs->arena, &w.job->where, "%.200s:%u", yaml->file, line))
            return sf_yaml_refuse(yaml, "too large");
        if (!scrape_yaml_parse_value(&w, "", 0))
            return false;
        if (sf_scrape_job_check(jobs, w.job, &said))
            return sf_yaml_refuse_at(yaml, line, "%s", said.text);
    }
    return false;
}

enum sf_err sf_scrape_yaml_finish(const struct sf_scrape_jobs *jobs, bool has_tenancy,
                                  struct sf_why *why)
{
    for (size_t i = 0; jobs && i < jobs->n; i++) {
        const struct sf_scrape_job *job = &jobs->list[i];
        enum sf_err err = sf_tenant_check_name(job->tenant, why);
        /* Without tenancy no query could read the profiles of such a tenant. */
        if (!err && !has_tenancy && !sf_str_eq(job->tenant, SF_STR("single-tenant")))
            err = sf_fail(why, SF_ERR_INPUT,
                          "scrape \"%.*s\" names a tenant and tenancy.enabled is false",
                          SF_STR_ARG(sf_str_part(job->name, 0, 60)));
        if (err) {
            sf_why_prefix(why, "%.*s", SF_STR_ARG(job->where));
            return SF_ERR_INPUT;
        }
    }
    return SF_OK;
}

/* ---- files of targets ---- */

struct groups {
    struct sf_yaml_reader *yaml;
    struct sf_sd_groups *out;
    struct sf_sd_group *group;
    struct sf_arena *req;
};

static bool parse_targets(struct groups *g)
{
    struct sf_why said = {0};
    if (!sf_yaml_next(g->yaml))
        return false;
    if (g->yaml->event.type != YAML_SEQUENCE_START_EVENT)
        return sf_yaml_refuse(g->yaml, "targets is a list");
    while (sf_yaml_next(g->yaml) && g->yaml->event.type != YAML_SEQUENCE_END_EVENT) {
        if (g->yaml->event.type != YAML_SCALAR_EVENT)
            return sf_yaml_refuse(g->yaml, "a target is HOST:PORT");
        if (sf_sd_groups_target(g->out, g->group, sf_yaml_scalar(g->yaml), g->req, &said))
            return sf_yaml_refuse(g->yaml, "%s", said.text);
    }
    return !g->yaml->err;
}

static bool parse_labels(struct groups *g)
{
    if (!sf_yaml_enter_map(g->yaml, "labels"))
        return !g->yaml->err;
    while (sf_yaml_next_key(g->yaml)) {
        struct sf_why said = {0};
        sf_str key;
        if (!sf_arena_copy(g->req, sf_yaml_scalar(g->yaml), &key))
            return sf_yaml_refuse(g->yaml, "too large");
        if (!sf_yaml_next(g->yaml))
            return false;
        if (g->yaml->event.type != YAML_SCALAR_EVENT)
            return sf_yaml_refuse(g->yaml, "a label has one value");
        if (sf_sd_groups_label(g->group, key, sf_yaml_scalar(g->yaml), g->req, &said))
            return sf_yaml_refuse(g->yaml, "%s", said.text);
    }
    return !g->yaml->err;
}

static bool scrape_yaml_parse_group(struct groups *g)
{
    if (g->yaml->event.type != YAML_MAPPING_START_EVENT)
        return sf_yaml_refuse(g->yaml, "a group is a map: {targets: [...], labels: {...}}");
    g->group = sf_sd_groups_add(g->out, g->req);
    if (!g->group)
        return sf_yaml_refuse(g->yaml, "too large");
    while (sf_yaml_next_key(g->yaml)) {
        bool is_targets = sf_str_eq(sf_yaml_scalar(g->yaml), SF_STR("targets"));
        if (!is_targets && !sf_str_eq(sf_yaml_scalar(g->yaml), SF_STR("labels")))
            return sf_yaml_refuse(g->yaml, "a group has targets and labels");
        if (!(is_targets ? parse_targets(g) : parse_labels(g)))
            return false;
    }
    return !g->yaml->err;
}

enum sf_err sf_scrape_yaml_groups(const char *file, sf_str text, struct sf_arena *req,
                                  struct sf_sd_groups *out, struct sf_why *why)
{
    struct sf_yaml_reader yaml;
    struct groups g = {.yaml = &yaml, .out = out, .req = req};
    enum sf_err err = sf_yaml_open(&yaml, file, text, why);
    if (err)
        return err;
    if (sf_yaml_begin(&yaml)) {
        if (yaml.event.type == YAML_SEQUENCE_START_EVENT) {
            while (sf_yaml_next(&yaml) && yaml.event.type != YAML_SEQUENCE_END_EVENT) {
                if (!scrape_yaml_parse_group(&g))
                    break;
            }
        } else if (!sf_yaml_is_null(&yaml)) {
            sf_yaml_refuse(&yaml, "a file of targets is a list of groups");
        }
        if (!yaml.err)
            sf_yaml_end(&yaml);
    }
    return sf_yaml_close(&yaml);
}

/* config_keep.c - converts profiling.conditional to the rules by which the store keeps samples. */
#include <string.h>

#include "app/config_value.h"
#include "base/limits.h"

static struct sf_keep_rule config_keep_rule_of(const struct sf_profiling *p, uint32_t flagged)
{
    /* Rounded up to whole percent: a small share is not 0, which would switch the rule off. */
    return (struct sf_keep_rule){.slow_ns = p->slow_request_ns,
                                 .cpu_percent = (p->cpu_threshold_per_10000 + 99) / 100,
                                 .has_errors = p->has_errors,
                                 .baseline_per_10000 = p->baseline_per_10000,
                                 .tail_min_ns = SF_KEEP_TAIL_MIN_NS,
                                 .flagged = (uint8_t)flagged};
}

/* Finds a key of the section by its last word, such as "baseline"; NULL: unknown. */
static const struct sf_profiling_key *config_keep_find_key(sf_str name)
{
    static const char *const known[] = {"slow_request_threshold", "cpu_threshold_percent",
                                        "profile_errors", "baseline"};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (!sf_str_eq(name, sf_str_from(known[i])))
            continue;
        for (size_t k = 0; k < sf_profiling_n_keys; k++) {
            sf_str path = sf_str_from(sf_profiling_keys[k].path);
            size_t head = strlen("profiling.conditional.");
            if (path.len > head && sf_str_eq(sf_str_part(path, head, path.len - head), name))
                return &sf_profiling_keys[k];
        }
    }
    return NULL;
}

static enum sf_err set_word(struct sf_profiling *p, uint32_t *flagged, sf_str *service, sf_str word,
                            struct sf_why *why)
{
    sf_str value = word, name;
    const struct sf_profiling_key *key;
    if (!sf_str_split_next(&value, '=', &name) || name.len == word.len || value.len == 0)
        return sf_fail(why, SF_ERR_INPUT, "expects items of the form name=value, not \"%.*s\"",
                       SF_STR_ARG(word));
    if (sf_str_eq(name, SF_STR("service"))) {
        *service = value;
        return SF_OK;
    }
    if (sf_str_eq(name, SF_STR("flagged"))) {
        *flagged = sf_str_eq(value, SF_STR("sampled")) ? SF_KEEP_FLAG_SAMPLED : SF_KEEP_FLAG_DEBUG;
        return *flagged || sf_str_eq(value, SF_STR("debug"))
                   ? SF_OK
                   : sf_fail(why, SF_ERR_INPUT, "flagged expects debug or sampled");
    }
    key = config_keep_find_key(name);
    if (!key)
        return sf_fail(why, SF_ERR_INPUT,
                       "has no \"%.*s\": service, slow_request_threshold, "
                       "cpu_threshold_percent, profile_errors, baseline, flagged",
                       SF_STR_ARG(name));
    return sf_profiling_keys_set(p, key, value, why);
}

static enum sf_err read_item(struct sf_config *c, const char *item, struct sf_keep_service *out,
                             struct sf_why *why)
{
    struct sf_profiling p = c->profiling;
    uint32_t flagged = c->keep_flagged;
    sf_str rest = sf_str_from(item), word, service = SF_STR_NONE;
    enum sf_err err = SF_OK;
    while (!err && sf_str_split_next(&rest, ' ', &word)) {
        if (word.len)
            err = set_word(&p, &flagged, &service, word, why);
    }
    if (!err && service.len == 0)
        err = sf_fail(why, SF_ERR_INPUT, "expects the name of a service: service=checkout");
    out->service = service;
    out->rule = config_keep_rule_of(&p, flagged);
    return err;
}

enum sf_err sf_config_keep_rules(struct sf_config *c, struct sf_config_origin at,
                                 struct sf_why *why)
{
    struct sf_keep_rules *r = &c->retention.keep;
    size_t n = c->keep_rules.n;
    struct sf_keep_service *list = sf_arena_new_n(&c->arena, n + 1, sizeof(*list));
    struct sf_why fault = {0};
    if (!list)
        return sf_fail(why, SF_ERR_NOMEM, "configuration: no memory");
    r->all = config_keep_rule_of(&c->profiling, c->keep_flagged);
    _Static_assert((int)SF_CONFIG_MAX_ITEMS <= SF_LIMIT_KEEP_SERVICES,
                   "what the configuration takes can be read back");
    for (size_t i = 0; i < n; i++) {
        if (read_item(c, c->keep_rules.items[i], &list[i], &fault))
            return sf_config_value_fail(c, at, why, "profiling.conditional.rules: item %zu %s",
                                        i + 1, fault.text);
        for (size_t k = 0; k < i; k++) {
            if (sf_str_eq(list[k].service, list[i].service))
                return sf_config_value_fail(c, at, why,
                                            "profiling.conditional.rules: %.*s has two rules",
                                            SF_STR_ARG(list[i].service));
        }
    }
    r->services = list;
    r->n_services = (uint32_t)n;
    return SF_OK;
}

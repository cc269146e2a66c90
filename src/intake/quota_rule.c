#include "intake/quota_rule.h"

#include "base/arena.h"
#include "base/heap.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/table.h"
#include "base/time_unit.h"
#include "base/token_bucket.h"

#define KIB   UINT64_C(1024)
#define YEARS ((uint64_t)(36500 * SF_NS_PER_DAY))

const struct sf_quota_key_info sf_quota_key_infos[SF_QUOTA_KEYS] = {
    [SF_QUOTA_SPANS_RATE] = {"spans_per_second", SF_SETTING_COUNT, 1, SF_TOKEN_MAX,
                             "average spans per second"},
    [SF_QUOTA_SPANS_BURST] = {"spans_burst", SF_SETTING_COUNT, 1, SF_TOKEN_MAX,
                              "burst size in spans; default: the spans of one second"},
    [SF_QUOTA_BYTES_RATE] = {"bytes_per_second", SF_SETTING_SIZE, 1, SF_TOKEN_MAX,
                             "average bytes of decompressed request bodies per second"},
    [SF_QUOTA_BYTES_BURST] = {"bytes_burst", SF_SETTING_SIZE, 1, SF_TOKEN_MAX,
                              "burst size in bytes; default: the bytes of one second"},
    [SF_QUOTA_SERIES] = {"series", SF_SETTING_COUNT, 1, 10000000,
                         "profile label sets within an hour; further ones get the value \"other\", "
                         "and further new services are refused"},
    [SF_QUOTA_QUERIES] = {"queries", SF_SETTING_COUNT, 1, 1000000,
                          "queries running or waiting at the same time"},
    [SF_QUOTA_QUERY_MEMORY] = {"query_memory", SF_SETTING_SIZE, 1024 * KIB, 64 * KIB *KIB *KIB,
                               "total memory of one query"},
    [SF_QUOTA_RETAIN_SPANS] = {"retention_spans", SF_SETTING_DURATION, SF_NS_PER_S, YEARS,
                               "age at which its spans are deleted, instead of retention.spans; "
                               "for a service: only sooner than its tenant's"},
    [SF_QUOTA_RETAIN_PROFILES] =
        {"retention_profiles", SF_SETTING_DURATION, SF_NS_PER_S, YEARS,
         "age at which its profiles are deleted, instead of retention.profiles; for a service: "
         "only sooner than its tenant's"},
    [SF_QUOTA_DISK] = {"disk", SF_SETTING_SIZE, 1, UINT64_MAX,
                       "bytes of its blocks; above it the oldest blocks are deleted. For a "
                       "service: its share of their rows"},
};

struct rule {
    sf_str tenant, service; /* in the arena */
    uint32_t given;         /* bits by key */
    uint64_t values[SF_QUOTA_KEYS];
};

struct sf_quota_rules {
    struct sf_arena names;
    struct rule *list;
    size_t n, cap;
    struct sf_table at;            /* by tenant and service */
    struct sf_table with_services; /* the first rule of a service of each tenant, by tenant */
};

struct sf_quota_rules *sf_quota_rules_new(void)
{
    struct sf_quota_rules *r = sf_heap_new(sizeof(*r));
    if (r && (!sf_arena_init(&r->names, SF_LIMIT_OVERRIDES_LEN * 2) ||
              !sf_table_reset(&r->at, 16) || !sf_table_reset(&r->with_services, 16))) {
        sf_quota_rules_free(r);
        return NULL;
    }
    return r;
}

void sf_quota_rules_free(struct sf_quota_rules *r)
{
    if (!r)
        return;
    sf_table_done(&r->at);
    sf_table_done(&r->with_services);
    sf_heap_free(r->list);
    sf_arena_done(&r->names);
    sf_heap_free(r);
}

static uint64_t quota_rule_hash_of(sf_str tenant, sf_str service)
{
    return sf_key_mix(sf_key_str(tenant), service.len ? sf_key_str(service) : 0);
}

static struct rule *quota_rule_find(const struct sf_quota_rules *r, sf_str tenant, sf_str service)
{
    struct sf_table_lookup lookup = sf_table_lookup(&r->at, quota_rule_hash_of(tenant, service));
    uint32_t at;
    while (sf_table_next(&lookup, &at)) {
        if (sf_str_eq(r->list[at].tenant, tenant) && sf_str_eq(r->list[at].service, service))
            return &r->list[at];
    }
    return NULL;
}

static bool has_services(const struct sf_quota_rules *r, sf_str tenant)
{
    struct sf_table_lookup lookup = sf_table_lookup(&r->with_services, sf_key_str(tenant));
    uint32_t at;
    while (sf_table_next(&lookup, &at)) {
        if (sf_str_eq(r->list[at].tenant, tenant))
            return true;
    }
    return false;
}

static struct rule *quota_rule_add(struct sf_quota_rules *r, sf_str tenant, sf_str service)
{
    struct rule rule = {0};
    uint32_t place = (uint32_t)r->n;
    if (!sf_list_room(&r->list, r->n, &r->cap, 16) || !sf_table_more(&r->at) ||
        !sf_table_more(&r->with_services) || !sf_arena_copy(&r->names, tenant, &rule.tenant) ||
        !sf_arena_copy(&r->names, service, &rule.service))
        return NULL;
    r->list[r->n++] = rule;
    sf_table_put(&r->at, quota_rule_hash_of(tenant, service), place);
    if (service.len && !has_services(r, tenant))
        sf_table_put(&r->with_services, sf_key_str(tenant), place);
    return &r->list[place];
}

enum sf_err sf_quota_rules_set(struct sf_quota_rules *r, sf_str tenant, sf_str service,
                               enum sf_quota_key key, uint64_t value, struct sf_why *why)
{
    struct rule *rule = quota_rule_find(r, tenant, service);
    if (!rule && r->n == SF_LIMIT_OVERRIDE_NAMES)
        return sf_fail(why, SF_ERR_LIMIT, "more than %d tenants and services",
                       SF_LIMIT_OVERRIDE_NAMES);
    if (!rule && !(rule = quota_rule_add(r, tenant, service)))
        return sf_fail(why, SF_ERR_NOMEM, "no memory for the limits of tenants");
    if (rule->given & 1u << key)
        return sf_fail(why, SF_ERR_INPUT, "%s is given twice", sf_quota_key_infos[key].name);
    rule->given |= 1u << key;
    rule->values[key] = value;
    return SF_OK;
}

static bool look_in(const struct sf_quota_rules *r, sf_str tenant, sf_str service,
                    enum sf_quota_key key, uint64_t *out)
{
    const struct rule *rule = quota_rule_find(r, tenant, service);
    if (!rule || !(rule->given & 1u << key))
        return false;
    *out = rule->values[key];
    return true;
}

bool sf_quota_rules_get(const struct sf_quota_rules *r, sf_str tenant, sf_str service,
                        enum sf_quota_key key, uint64_t *out)
{
    const sf_str all = SF_STR("*");
    return look_in(r, tenant, service, key, out) ||
           (service.len && look_in(r, tenant, all, key, out)) ||
           look_in(r, all, service, key, out) || (service.len && look_in(r, all, all, key, out));
}

void sf_quota_rules_longest(const struct sf_quota_rules *r, enum sf_quota_key key, uint64_t *io)
{
    for (size_t i = 0; i < r->n && *io; i++) {
        const struct rule *rule = &r->list[i];
        if (!rule->service.len && rule->given & 1u << key &&
            (rule->values[key] == 0 || rule->values[key] > *io))
            *io = rule->values[key];
    }
}

bool sf_quota_rules_has_services(const struct sf_quota_rules *r, sf_str tenant)
{
    return has_services(r, tenant) || has_services(r, SF_STR("*"));
}

bool sf_quota_rules_has_stores(const struct sf_quota_rules *r)
{
    const uint32_t keys = 1u << SF_QUOTA_RETAIN_SPANS | 1u << SF_QUOTA_RETAIN_PROFILES |
                          1u << SF_QUOTA_DISK;
    for (size_t i = 0; i < r->n; i++) {
        if (r->list[i].service.len && r->list[i].given & keys)
            return true;
    }
    return false;
}

bool sf_quota_rules_is_empty(const struct sf_quota_rules *r)
{
    return r->n == 0;
}

bool sf_quota_rules_names(const struct sf_quota_rules *r, sf_str tenant)
{
    return quota_rule_find(r, tenant, SF_STR_NONE) || has_services(r, tenant);
}

bool sf_quota_rules_tenant(const struct sf_quota_rules *r, size_t at, sf_str *out)
{
    if (at >= r->n)
        return false;
    *out = r->list[at].tenant;
    return true;
}

bool sf_quota_rules_service(const struct sf_quota_rules *r, sf_str tenant, size_t at, sf_str *out)
{
    for (size_t i = 0; i < r->n; i++) {
        if (!r->list[i].service.len || !sf_str_eq(r->list[i].tenant, tenant))
            continue;
        if (at-- == 0) {
            *out = r->list[i].service;
            return true;
        }
    }
    return false;
}

/* quota_rule.h - the configured limits of tenants and their services.
 *
 * A rule set maps a tenant, or a service of a tenant, to values; "*" is every tenant or service
 * that has no value of its own for that key. The order of precedence is: the tenant's service, the
 * tenant's "*", the service of tenant "*", "*" of "*"; without a service: the tenant, "*". A set
 * does not change once it is in use. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/setting.h"
#include "base/str.h"

enum sf_quota_key {
    SF_QUOTA_SPANS_RATE,
    SF_QUOTA_SPANS_BURST,
    SF_QUOTA_BYTES_RATE,
    SF_QUOTA_BYTES_BURST,
    SF_QUOTA_SERIES,
    SF_QUOTA_RETAIN_SPANS,
    SF_QUOTA_RETAIN_PROFILES,
    SF_QUOTA_DISK,
    SF_QUOTA_QUERIES, /* from here on for tenants only: a query does not belong to a service */
    SF_QUOTA_QUERY_MEMORY,
    SF_QUOTA_KEYS,
    SF_QUOTA_SERVICE_KEYS = SF_QUOTA_QUERIES
};

struct sf_quota_key_info {
    const char *name;
    enum sf_setting_kind kind;
    uint64_t min, max; /* 0 is always allowed: no limit */
    const char *doc;
};
extern const struct sf_quota_key_info sf_quota_key_infos[SF_QUOTA_KEYS];

struct sf_quota_rules;

struct sf_quota_rules *sf_quota_rules_new(void);    /* empty; NULL: no memory */
void sf_quota_rules_free(struct sf_quota_rules *r); /* NULL is fine */
/* `service` empty: for the tenant itself. INPUT (given twice), LIMIT (too many names), NOMEM. */
enum sf_err sf_quota_rules_set(struct sf_quota_rules *r, sf_str tenant, sf_str service,
                               enum sf_quota_key key, uint64_t value, struct sf_why *why);
/* Whether there is a value. If not, `*out` is unchanged. */
bool sf_quota_rules_get(const struct sf_quota_rules *r, sf_str tenant, sf_str service,
                        enum sf_quota_key key, uint64_t *out);
/* Raises `*io` to the largest value of a key over all tenants; 0 means no limit and is largest. */
void sf_quota_rules_longest(const struct sf_quota_rules *r, enum sf_quota_key key, uint64_t *io);
/* Whether there is any rule for services of this tenant. */
bool sf_quota_rules_has_services(const struct sf_quota_rules *r, sf_str tenant);
/* Whether any service has a retention limit by age or size. */
bool sf_quota_rules_has_stores(const struct sf_quota_rules *r);
bool sf_quota_rules_is_empty(const struct sf_quota_rules *r);
/* Whether the rules name the tenant itself, not only "*". */
bool sf_quota_rules_names(const struct sf_quota_rules *r, sf_str tenant);
/* The tenant of rule number `at`; false: no more rules. */
bool sf_quota_rules_tenant(const struct sf_quota_rules *r, size_t at, sf_str *out);
/* The service number `at` that has rules under exactly this tenant name ("*" included), in the
 * order they were set; false: no more. Borrowed until free. */
bool sf_quota_rules_service(const struct sf_quota_rules *r, sf_str tenant, size_t at, sf_str *out);

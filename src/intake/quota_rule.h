/* quota_rule.h - limits of tenants and of their services, as an operator wrote them.
 *
 * A rule set maps a tenant, or a service of a tenant, to values; "*" is every tenant or service
 * that has no value of its own for that key. A value is searched for in this order: the tenant's
 * service, the tenant's "*", the service of tenant "*", "*" of "*"; without a service: the tenant,
 * "*". A set does not change once it is in use. */
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
    SF_QUOTA_QUERIES, /* from here on of tenants only: a query is of no service */
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
/* `service` empty: of the tenant itself. INPUT (given twice), LIMIT (too many names), NOMEM. */
enum sf_err sf_quota_rules_set(struct sf_quota_rules *r, sf_str tenant, sf_str service,
                               enum sf_quota_key key, uint64_t value, struct sf_why *why);
/* Is there a value for it? `*out` is untouched when not. */
bool sf_quota_rules_get(const struct sf_quota_rules *r, sf_str tenant, sf_str service,
                        enum sf_quota_key key, uint64_t *out);
/* The largest of all values of a key of tenants, and of `*io`; 0 is larger than any. */
void sf_quota_rules_longest(const struct sf_quota_rules *r, enum sf_quota_key key, uint64_t *io);
/* Is there a rule for services of this tenant at all? */
bool sf_quota_rules_has_services(const struct sf_quota_rules *r, sf_str tenant);
/* Has any service a value for an age or for space? */
bool sf_quota_rules_has_stores(const struct sf_quota_rules *r);
bool sf_quota_rules_is_empty(const struct sf_quota_rules *r);
/* Names the tenant, not as one of "*"? */
bool sf_quota_rules_names(const struct sf_quota_rules *r, sf_str tenant);
/* The tenants of all rules, one for each rule; false: there is no `at`th. */
bool sf_quota_rules_tenant(const struct sf_quota_rules *r, size_t at, sf_str *out);
/* The services that have rules under this very name of a tenant ("*" included), in the order they
 * were set; false: there is no `at`th. Borrowed until free. */
bool sf_quota_rules_service(const struct sf_quota_rules *r, sf_str tenant, size_t at, sf_str *out);

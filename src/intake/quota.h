/* quota.h - how much of their rates tenants and services have used, and whether more may come.
 *
 * Rates are token buckets (base/token_bucket.h). A tenant has one for spans and one for bytes, and
 * so has each of its services that has a limit. Buckets that are full again carry no information
 * and are removed when space is needed. There is an end to their number: of a tenant's services
 * SF_LIMIT_QUOTA_SERVICES, and of tenants that the rules do not name SF_LIMIT_QUOTA_TENANTS. When
 * all of those are in use, further services of that tenant share one, and further tenants share
 * one: invented names do not affect other tenants. For a name without a limit, a check costs one
 * lookup. Any thread. */
#pragma once
#include "intake/quota_rule.h"

struct sf_quota;

struct sf_quota *sf_quota_new(void); /* without rules; NULL: no memory */
void sf_quota_free(struct sf_quota *q);
/* From now on these rules; levels of buckets stay. Takes them. */
void sf_quota_replace(struct sf_quota *q, struct sf_quota_rules *rules);

/* Why something is refused. */
struct sf_quota_refusal {
    enum sf_quota_key key;
    uint64_t limit;
    unsigned wait_s; /* come back after this */
};
/* "tenant red is over its spans_per_second of 100" */
void sf_quota_explain(const struct sf_quota_refusal *r, sf_str tenant, sf_str service,
                      struct sf_why *out);

/* The value in effect; 0: no limit. */
uint64_t sf_quota_value(struct sf_quota *q, sf_str tenant, sf_str service, enum sf_quota_key key);
/* The same, and whether a rule reports it. */
bool sf_quota_is_set(struct sf_quota *q, sf_str tenant, sf_str service, enum sf_quota_key key,
                     uint64_t *out);
/* A number that changes with the rules, while services have ages or space of their own; else 0. */
uint64_t sf_quota_stores_version(struct sf_quota *q);
/* The largest that holds for any tenant, and `*io`; 0 is larger than any. */
void sf_quota_longest(struct sf_quota *q, enum sf_quota_key key, uint64_t *io);
/* Is there a rate, of the tenant (`service` empty) or of the service, that is used up? With
 * `has_spans` rates of spans count, too. */
bool sf_quota_is_over(struct sf_quota *q, sf_str tenant, sf_str service, bool has_spans,
                      int64_t now_ns, struct sf_quota_refusal *out);
bool sf_quota_has_services(struct sf_quota *q, sf_str tenant);
/* What was taken in. */
void sf_quota_charge(struct sf_quota *q, sf_str tenant, sf_str service, uint64_t n_spans,
                     uint64_t len, int64_t now_ns);
/* It was not kept after all. */
void sf_quota_refund(struct sf_quota *q, sf_str tenant, sf_str service, uint64_t n_spans,
                     uint64_t len);
/* A query of these tenants ("a|b") begins: false: one of them has too many. */
bool sf_quota_query_begin(struct sf_quota *q, sf_str tenants, int64_t now_ns,
                          struct sf_quota_refusal *out);
void sf_quota_query_end(struct sf_quota *q, sf_str tenants);

/* The rules, for a page that shows them; `see` runs under the lock. */
void sf_quota_visit(struct sf_quota *q, void (*see)(void *arg, const struct sf_quota_rules *rules),
                    void *arg);
/* Of the buckets there are: tenants, and services of all of them. */
void sf_quota_count(struct sf_quota *q, size_t *out_tenants, size_t *out_services);

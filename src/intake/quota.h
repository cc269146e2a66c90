/* quota.h - rate limits of tenants and services: usage and checks.
 *
 * Rates are token buckets (base/token_bucket.h). A tenant has one for spans and one for bytes, and
 * so has each of its services that has a limit. Buckets that are full again carry no information
 * and are removed when space is needed. Their number is limited: SF_LIMIT_QUOTA_SERVICES services
 * of a tenant, and SF_LIMIT_QUOTA_TENANTS tenants that the rules do not name. Further services of
 * that tenant share one bucket, and so do further tenants, so that invented names do not affect
 * other tenants. For a name without a limit, a check costs one lookup. Any thread. */
#pragma once
#include "intake/quota_rule.h"

struct sf_quota;

struct sf_quota *sf_quota_new(void); /* without rules; NULL: no memory */
void sf_quota_free(struct sf_quota *q);
/* Uses these rules from now on, and takes them; levels of buckets are kept. */
void sf_quota_replace(struct sf_quota *q, struct sf_quota_rules *rules);

/* Why a request is refused. */
struct sf_quota_refusal {
    enum sf_quota_key key;
    uint64_t limit;
    unsigned wait_s; /* retry after this time */
};
/* "tenant red is over its spans_per_second of 100" */
void sf_quota_explain(const struct sf_quota_refusal *r, sf_str tenant, sf_str service,
                      struct sf_why *out);

/* The value in effect; 0: no limit. */
uint64_t sf_quota_value(struct sf_quota *q, sf_str tenant, sf_str service, enum sf_quota_key key);
/* The same, and whether a rule sets it. */
bool sf_quota_is_set(struct sf_quota *q, sf_str tenant, sf_str service, enum sf_quota_key key,
                     uint64_t *out);
/* A number that changes with the rules if services have retention limits of their own; else 0. */
uint64_t sf_quota_stores_version(struct sf_quota *q);
/* Raises `*io` to the largest value of any tenant; 0 means no limit and is largest. */
void sf_quota_longest(struct sf_quota *q, enum sf_quota_key key, uint64_t *io);
/* Whether a rate of the tenant (`service` empty) or of the service is used up. With `has_spans`,
 * rates of spans count too. */
bool sf_quota_is_over(struct sf_quota *q, sf_str tenant, sf_str service, bool has_spans,
                      int64_t now_ns, struct sf_quota_refusal *out);
bool sf_quota_has_services(struct sf_quota *q, sf_str tenant);
/* Charges accepted data. */
void sf_quota_charge(struct sf_quota *q, sf_str tenant, sf_str service, uint64_t n_spans,
                     uint64_t len, int64_t now_ns);
/* Refunds data that was not stored after all. */
void sf_quota_refund(struct sf_quota *q, sf_str tenant, sf_str service, uint64_t n_spans,
                     uint64_t len);
/* To be called when a query of these tenants ("a|b") begins; false: one of them has too many. */
bool sf_quota_query_begin(struct sf_quota *q, sf_str tenants, int64_t now_ns,
                          struct sf_quota_refusal *out);
void sf_quota_query_end(struct sf_quota *q, sf_str tenants);

/* Calls `see` with the rules, under the lock. */
void sf_quota_visit(struct sf_quota *q, void (*see)(void *arg, const struct sf_quota_rules *rules),
                    void *arg);
/* The number of buckets: tenants, and services of all tenants. */
void sf_quota_count(struct sf_quota *q, size_t *out_tenants, size_t *out_services);

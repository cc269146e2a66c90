/* quota.c - rate limits. Tenants and services are found by hash in tables of token buckets; full
 * buckets carry no information and are dropped when a table needs room. When a table is full,
 * further names share one bucket. All under one mutex. */
#include "intake/quota.h"

#include <inttypes.h>
#include <string.h>

#include "base/heap.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/table.h"
#include "base/time_unit.h"
#include "base/token_bucket.h"
#include "os/thread.h"

struct meter { /* usage of a tenant or a service, identified by the hash of its name */
    uint64_t hash;
    struct sf_token_bucket spans, bytes;
    int64_t full_ns; /* when both buckets are full again: then it may be dropped */
};

struct tenant {
    struct meter own, others; /* `others` is shared by services for which there was no space */
    uint32_t n_queries;
    bool is_named; /* named by the rules: never dropped while they are in effect */
    struct meter *services;
    uint32_t n, cap;
    struct sf_table at;
};

struct sf_quota {
    struct sf_mutex lock; /* guards all below; no other lock is taken while it is held */
    struct sf_quota_rules *rules;
    uint64_t version; /* incremented with each set of rules */
    struct tenant *list;
    uint32_t n, cap, n_named;
    uint32_t n_services; /* services of all tenants */
    struct sf_table at;
    struct tenant others; /* shared by tenants for which there was no space */
    int64_t swept_ns;     /* last search for idle ones, which is not done for every new name */
};

struct rates {
    struct sf_token_rate spans, bytes;
};

static struct tenant *quota_find_tenant(struct sf_quota *q, uint64_t hash);

/* ---- new and free ---- */

static void tenant_done(struct tenant *t)
{
    sf_table_done(&t->at);
    sf_heap_free(t->services);
    *t = (struct tenant){0};
}

struct sf_quota *sf_quota_new(void)
{
    struct sf_quota *q = sf_heap_new(sizeof(*q));
    if (!q)
        return NULL;
    sf_mutex_init(&q->lock, SF_LOCK_INTAKE_QUOTA);
    q->rules = sf_quota_rules_new();
    if (!q->rules || !sf_table_reset(&q->at, 16)) {
        sf_quota_free(q);
        return NULL;
    }
    return q;
}

void sf_quota_free(struct sf_quota *q)
{
    if (!q)
        return;
    for (uint32_t i = 0; i < q->n; i++)
        tenant_done(&q->list[i]);
    tenant_done(&q->others);
    sf_heap_free(q->list);
    sf_table_done(&q->at);
    sf_quota_rules_free(q->rules);
    sf_mutex_done(&q->lock);
    sf_heap_free(q);
}

void sf_quota_replace(struct sf_quota *q, struct sf_quota_rules *rules)
{
    struct sf_quota_rules *old;
    sf_str name;
    sf_mutex_lock(&q->lock);
    old = q->rules;
    q->rules = rules;
    q->version++;
    q->n_named = 0;
    for (uint32_t i = 0; i < q->n; i++)
        q->list[i].is_named = false;
    for (size_t i = 0; sf_quota_rules_tenant(rules, i, &name); i++) {
        struct tenant *t = quota_find_tenant(q, sf_key_str(name));
        q->n_named += t && !t->is_named;
        if (t)
            t->is_named = true;
    }
    sf_mutex_unlock(&q->lock);
    sf_quota_rules_free(old);
}

uint64_t sf_quota_stores_version(struct sf_quota *q)
{
    uint64_t version;
    sf_mutex_lock(&q->lock);
    version = sf_quota_rules_has_stores(q->rules) ? q->version : 0;
    sf_mutex_unlock(&q->lock);
    return version;
}

/* ---- values of limits; called under the lock ---- */

static uint64_t quota_value_of(const struct sf_quota *q, sf_str tenant, sf_str service,
                               enum sf_quota_key key)
{
    uint64_t value = 0;
    (void)sf_quota_rules_get(q->rules, tenant, service, key, &value);
    return value;
}

static struct sf_token_rate quota_rate_of(const struct sf_quota *q, sf_str tenant, sf_str service,
                                          enum sf_quota_key rate, enum sf_quota_key burst)
{
    struct sf_token_rate r = {.rate = quota_value_of(q, tenant, service, rate)};
    r.burst = r.rate ? quota_value_of(q, tenant, service, burst) : 0;
    if (!r.burst)
        r.burst = r.rate;
    return r;
}

static struct rates rates_of(const struct sf_quota *q, sf_str tenant, sf_str service)
{
    return (struct rates){
        quota_rate_of(q, tenant, service, SF_QUOTA_SPANS_RATE, SF_QUOTA_SPANS_BURST),
        quota_rate_of(q, tenant, service, SF_QUOTA_BYTES_RATE, SF_QUOTA_BYTES_BURST)};
}

/* ---- meters, under the lock ---- */

static void quota_fill(struct meter *m, const struct rates *r, int64_t now_ns)
{
    sf_token_bucket_fill(&m->spans, r->spans, now_ns);
    sf_token_bucket_fill(&m->bytes, r->bytes, now_ns);
}

static int64_t full_at(const struct sf_token_bucket *b, struct sf_token_rate r, int64_t now_ns)
{
    __int128 lack = (__int128)r.burst * SF_NS_PER_S - b->level, at;
    if (r.rate == 0 || lack <= 0)
        return now_ns;
    at = now_ns + lack / (__int128)r.rate + 1;
    return at > INT64_MAX ? INT64_MAX : (int64_t)at;
}

static void quota_charge(struct meter *m, const struct rates *r, uint64_t n_spans, uint64_t len,
                         int64_t now_ns)
{
    int64_t spans_ns, bytes_ns;
    quota_fill(m, r, now_ns);
    if (r->spans.rate)
        sf_token_bucket_take(&m->spans, n_spans);
    if (r->bytes.rate)
        sf_token_bucket_take(&m->bytes, len);
    spans_ns = full_at(&m->spans, r->spans, now_ns);
    bytes_ns = full_at(&m->bytes, r->bytes, now_ns);
    m->full_ns = spans_ns > bytes_ns ? spans_ns : bytes_ns;
}

static bool quota_is_over(struct meter *m, const struct rates *r, bool has_spans, int64_t now_ns,
                          struct sf_quota_refusal *out)
{
    quota_fill(m, r, now_ns);
    if (has_spans && !sf_token_bucket_is_open(&m->spans, r->spans)) {
        *out = (struct sf_quota_refusal){SF_QUOTA_SPANS_RATE, r->spans.rate,
                                         sf_token_bucket_wait_s(&m->spans, r->spans)};
        return true;
    }
    if (!sf_token_bucket_is_open(&m->bytes, r->bytes)) {
        *out = (struct sf_quota_refusal){SF_QUOTA_BYTES_RATE, r->bytes.rate,
                                         sf_token_bucket_wait_s(&m->bytes, r->bytes)};
        return true;
    }
    return false;
}

/* ---- known tenants and services, under the lock ---- */

static struct meter *find_service(struct tenant *t, uint64_t hash)
{
    struct sf_table_lookup lookup;
    uint32_t at;
    if (!t->n)
        return NULL;
    lookup = sf_table_lookup(&t->at, hash);
    while (sf_table_next(&lookup, &at)) {
        if (t->services[at].hash == hash)
            return &t->services[at];
    }
    return NULL;
}

/* Full buckets are removed: a new one behaves the same. */
static void sweep_services(struct sf_quota *q, struct tenant *t, int64_t now_ns)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        if (t->services[i].full_ns > now_ns)
            t->services[n++] = t->services[i];
    }
    q->n_services -= t->n - n;
    t->n = n;
    sf_table_clear(&t->at);
    for (uint32_t i = 0; i < n; i++)
        sf_table_put(&t->at, t->services[i].hash, i);
}

/* Limits per tenant and for all tenants: the rules may name very many tenants. */
static bool quota_has_room(const struct sf_quota *q, const struct tenant *t)
{
    return t->n < SF_LIMIT_QUOTA_SERVICES &&
           q->n_services < SF_LIMIT_QUOTA_SERVICES * SF_LIMIT_QUOTA_TENANTS;
}

static struct meter *need_service(struct sf_quota *q, struct tenant *t, uint64_t hash,
                                  int64_t now_ns)
{
    struct meter *m = find_service(t, hash);
    if (m)
        return m;
    if (!quota_has_room(q, t))
        sweep_services(q, t, now_ns);
    if (!quota_has_room(q, t) || !sf_list_room(&t->services, t->n, &t->cap, 4) ||
        !sf_table_more(&t->at))
        return &t->others;
    sf_table_put(&t->at, hash, t->n);
    t->services[t->n] = (struct meter){.hash = hash};
    q->n_services++;
    return &t->services[t->n++];
}

static struct tenant *quota_find_tenant(struct sf_quota *q, uint64_t hash)
{
    struct sf_table_lookup lookup = sf_table_lookup(&q->at, hash);
    uint32_t at;
    while (sf_table_next(&lookup, &at)) {
        if (q->list[at].own.hash == hash)
            return &q->list[at];
    }
    return NULL;
}

static bool is_idle(struct sf_quota *q, struct tenant *t, int64_t now_ns)
{
    if (t->is_named || t->n_queries || t->own.full_ns > now_ns || t->others.full_ns > now_ns)
        return false;
    sweep_services(q, t, now_ns);
    return t->n == 0;
}

static void sweep_tenants(struct sf_quota *q, int64_t now_ns)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < q->n; i++) {
        if (is_idle(q, &q->list[i], now_ns))
            tenant_done(&q->list[i]);
        else
            q->list[n++] = q->list[i];
    }
    q->n = n;
    sf_table_clear(&q->at);
    for (uint32_t i = 0; i < n; i++)
        sf_table_put(&q->at, q->list[i].own.hash, i);
}

static struct tenant *add_tenant(struct sf_quota *q, uint64_t hash, bool is_named, int64_t now_ns)
{
    struct tenant t = {.own = {.hash = hash}, .is_named = is_named};
    if (!is_named && q->n - q->n_named >= SF_LIMIT_QUOTA_TENANTS &&
        now_ns - q->swept_ns >= SF_NS_PER_S) {
        sweep_tenants(q, now_ns);
        q->swept_ns = now_ns;
    }
    if ((!is_named && q->n - q->n_named >= SF_LIMIT_QUOTA_TENANTS) ||
        !sf_list_room(&q->list, q->n, &q->cap, 4) || !sf_table_more(&q->at) ||
        !sf_table_reset(&t.at, 4))
        return &q->others;
    sf_table_put(&q->at, hash, q->n);
    q->list[q->n] = t;
    q->n_named += is_named;
    return &q->list[q->n++];
}

static struct tenant *need_tenant(struct sf_quota *q, sf_str tenant, int64_t now_ns)
{
    uint64_t hash = sf_key_str(tenant);
    struct tenant *t = quota_find_tenant(q, hash);
    bool is_named = sf_quota_rules_names(q->rules, tenant);
    if (!t)
        return add_tenant(q, hash, is_named, now_ns);
    q->n_named += is_named && !t->is_named;
    t->is_named = t->is_named || is_named;
    return t;
}

/* NULL: nothing was charged to it yet. A lookup does not add a name. */
static struct meter *find_meter(struct sf_quota *q, sf_str tenant, sf_str service)
{
    struct tenant *t = quota_find_tenant(q, sf_key_str(tenant));
    struct meter *m;
    if (!t && q->n - q->n_named < SF_LIMIT_QUOTA_TENANTS)
        return NULL;
    t = t ? t : &q->others;
    if (!service.len)
        return &t->own;
    m = find_service(t, sf_key_str(service));
    return m ? m : !quota_has_room(q, t) || t == &q->others ? &t->others : NULL;
}

/* ---- calls ---- */

void sf_quota_explain(const struct sf_quota_refusal *r, sf_str tenant, sf_str service,
                      struct sf_why *out)
{
    const char *name = sf_quota_key_infos[r->key].name;
    if (service.len)
        sf_fail(out, SF_ERR_BUSY,
                "service %.*s of tenant %.*s is over its limit %s: %" PRIu64 "; retry in %u s",
                SF_STR_ARG(sf_str_part(service, 0, 60)), SF_STR_ARG(sf_str_part(tenant, 0, 60)),
                name, r->limit, r->wait_s);
    else
        sf_fail(out, SF_ERR_BUSY, "tenant %.*s is over its limit %s: %" PRIu64 "; retry in %u s",
                SF_STR_ARG(sf_str_part(tenant, 0, 60)), name, r->limit, r->wait_s);
}

uint64_t sf_quota_value(struct sf_quota *q, sf_str tenant, sf_str service, enum sf_quota_key key)
{
    uint64_t value = 0;
    (void)sf_quota_is_set(q, tenant, service, key, &value);
    return value;
}

bool sf_quota_is_set(struct sf_quota *q, sf_str tenant, sf_str service, enum sf_quota_key key,
                     uint64_t *out)
{
    bool is_set;
    sf_mutex_lock(&q->lock);
    is_set = sf_quota_rules_get(q->rules, tenant, service, key, out);
    sf_mutex_unlock(&q->lock);
    return is_set;
}

void sf_quota_longest(struct sf_quota *q, enum sf_quota_key key, uint64_t *io)
{
    sf_mutex_lock(&q->lock);
    sf_quota_rules_longest(q->rules, key, io);
    sf_mutex_unlock(&q->lock);
}

bool sf_quota_has_services(struct sf_quota *q, sf_str tenant)
{
    bool has;
    sf_mutex_lock(&q->lock);
    has = sf_quota_rules_has_services(q->rules, tenant);
    sf_mutex_unlock(&q->lock);
    return has;
}

bool sf_quota_is_over(struct sf_quota *q, sf_str tenant, sf_str service, bool has_spans,
                      int64_t now_ns, struct sf_quota_refusal *out)
{
    struct rates r;
    struct meter *m;
    bool is = false;
    sf_mutex_lock(&q->lock);
    r = rates_of(q, tenant, service);
    m = r.spans.rate || r.bytes.rate ? find_meter(q, tenant, service) : NULL;
    if (m)
        is = quota_is_over(m, &r, has_spans, now_ns, out);
    sf_mutex_unlock(&q->lock);
    return is;
}

void sf_quota_charge(struct sf_quota *q, sf_str tenant, sf_str service, uint64_t n_spans,
                     uint64_t len, int64_t now_ns)
{
    struct rates r;
    sf_mutex_lock(&q->lock);
    r = rates_of(q, tenant, service);
    if (r.spans.rate || r.bytes.rate) {
        struct tenant *t = need_tenant(q, tenant, now_ns);
        struct meter *m = service.len ? need_service(q, t, sf_key_str(service), now_ns) : &t->own;
        quota_charge(m, &r, n_spans, len, now_ns);
    }
    sf_mutex_unlock(&q->lock);
}

void sf_quota_refund(struct sf_quota *q, sf_str tenant, sf_str service, uint64_t n_spans,
                     uint64_t len)
{
    struct rates r;
    struct meter *m;
    sf_mutex_lock(&q->lock);
    r = rates_of(q, tenant, service);
    m = r.spans.rate || r.bytes.rate ? find_meter(q, tenant, service) : NULL;
    if (m) {
        sf_token_bucket_give(&m->spans, r.spans, n_spans);
        sf_token_bucket_give(&m->bytes, r.bytes, len);
    }
    sf_mutex_unlock(&q->lock);
}

/* Under the lock. */
static void end_queries(struct sf_quota *q, sf_str tenants, size_t n_of_them)
{
    sf_str name;
    while (n_of_them-- && sf_str_split_next(&tenants, '|', &name)) {
        struct tenant *t = quota_find_tenant(q, sf_key_str(name));
        t = t ? t : &q->others;
        if (quota_value_of(q, name, SF_STR_NONE, SF_QUOTA_QUERIES) && t->n_queries)
            t->n_queries--;
    }
}

bool sf_quota_query_begin(struct sf_quota *q, sf_str tenants, int64_t now_ns,
                          struct sf_quota_refusal *out)
{
    sf_str rest = tenants, name;
    size_t n = 0;
    bool is_in = true;
    sf_mutex_lock(&q->lock);
    while (is_in && sf_str_split_next(&rest, '|', &name)) {
        uint64_t limit = quota_value_of(q, name, SF_STR_NONE, SF_QUOTA_QUERIES);
        struct tenant *t = limit ? need_tenant(q, name, now_ns) : NULL;
        if (t && t->n_queries >= limit) {
            *out = (struct sf_quota_refusal){SF_QUOTA_QUERIES, limit, 1};
            end_queries(q, tenants, n);
            is_in = false;
        } else if (t) {
            t->n_queries++;
        }
        n++;
    }
    sf_mutex_unlock(&q->lock);
    return is_in;
}

void sf_quota_query_end(struct sf_quota *q, sf_str tenants)
{
    sf_mutex_lock(&q->lock);
    end_queries(q, tenants, SIZE_MAX);
    sf_mutex_unlock(&q->lock);
}

void sf_quota_visit(struct sf_quota *q, void (*see)(void *arg, const struct sf_quota_rules *rules),
                    void *arg)
{
    sf_mutex_lock(&q->lock);
    see(arg, q->rules);
    sf_mutex_unlock(&q->lock);
}

void sf_quota_count(struct sf_quota *q, size_t *out_tenants, size_t *out_services)
{
    size_t n_services = 0;
    sf_mutex_lock(&q->lock);
    for (uint32_t i = 0; i < q->n; i++)
        n_services += q->list[i].n;
    *out_tenants = q->n;
    *out_services = n_services + q->others.n;
    sf_mutex_unlock(&q->lock);
}

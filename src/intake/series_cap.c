/* Label sets, single labels and, with a count, services and tenants are remembered as hashes in one
 * table. The table is emptied every hour, so that the limit applies to active series, and when it
 * is full: then sets are counted again, which briefly admits too many but never blocks a sender. */
#include "intake/series_cap.h"

#include <string.h>

#include "base/heap.h"
#include "base/limits.h"
#include "base/table.h"
#include "base/time_unit.h"
#include "os/thread.h"

enum { MAX_SEEN = 3 << 16 };

struct seen {
    uint64_t hash;
    uint32_t n; /* of a service or a tenant: number of its sets */
};

struct sf_series_cap {
    uint32_t max;
    struct sf_mutex lock; /* guards all below; no other lock is taken while it is held */
    struct seen *list;    /* space for MAX_SEEN */
    uint32_t n;
    struct sf_table at;
    int64_t since_ns;
};

struct sf_series_cap *sf_series_cap_new(uint32_t max)
{
    struct sf_series_cap *c = sf_heap_new(sizeof(*c));
    if (!c)
        return NULL;
    c->max = max ? max : SF_LIMIT_SERIES;
    sf_mutex_init(&c->lock, SF_LOCK_INTAKE_SERIES);
    c->list = sf_heap_new_n(MAX_SEEN, sizeof(*c->list));
    if (!c->list || !sf_table_reset(&c->at, MAX_SEEN)) {
        sf_series_cap_free(c);
        return NULL;
    }
    return c;
}

void sf_series_cap_free(struct sf_series_cap *c)
{
    if (!c)
        return;
    sf_mutex_done(&c->lock);
    sf_heap_free(c->list);
    sf_table_done(&c->at);
    sf_heap_free(c);
}

static struct seen *series_cap_find(const struct sf_series_cap *c, uint64_t hash)
{
    struct sf_table_lookup lookup = sf_table_lookup(&c->at, hash);
    uint32_t at;
    while (sf_table_next(&lookup, &at)) {
        if (c->list[at].hash == hash)
            return &c->list[at];
    }
    return NULL;
}

/* Space was reserved: see admit. */
static struct seen *series_cap_remember(struct sf_series_cap *c, uint64_t hash)
{
    struct seen *s = series_cap_find(c, hash);
    if (s)
        return s;
    sf_table_put(&c->at, hash, c->n);
    c->list[c->n] = (struct seen){.hash = hash};
    return &c->list[c->n++];
}

static uint64_t hash_service(uint32_t tenant, sf_str service)
{
    return sf_key_mix(sf_key_str(service), tenant);
}

static uint64_t hash_tenant(uint32_t tenant)
{
    return sf_key_mix(sf_key_u64(tenant), 3);
}

static uint64_t hash_label(uint64_t service, const struct sf_label *l)
{
    return sf_key_mix(sf_key_mix(service + 1, sf_key_str(l->key)), sf_key_str(l->val));
}

static uint64_t hash_set(uint64_t service, const struct sf_label *labels, uint32_t n)
{
    uint64_t hash = sf_key_mix(service, 2);
    for (uint32_t i = 0; i < n; i++)
        hash = sf_key_mix(hash, hash_label(service, &labels[i]));
    return hash;
}

static bool is_foldable(const struct sf_label *l)
{
    return !sf_str_eq(l->key, SF_STR("service_name")) && !sf_str_starts(l->key, SF_STR("__"));
}

/* Replaces new values, or all of them, by "other". */
static void series_cap_fold(struct sf_series_cap *c, uint64_t service, struct sf_label *labels,
                            uint32_t n, bool is_all)
{
    for (uint32_t i = 0; i < n; i++) {
        if (is_foldable(&labels[i]) &&
            (is_all || !series_cap_find(c, hash_label(service, &labels[i]))))
            labels[i].val = SF_STR("other");
    }
}

static void admit(struct sf_series_cap *c, uint32_t tenant, uint64_t service,
                  const struct sf_series *s)
{
    series_cap_remember(c, hash_set(service, s->labels, s->n_labels));
    for (uint32_t i = 0; i < s->n_labels; i++)
        series_cap_remember(c, hash_label(service, &s->labels[i]));
    series_cap_remember(c, service)->n++;
    series_cap_remember(c, hash_tenant(tenant))->n++;
}

/* Under the lock. */
static bool series_cap_has_enough(const struct sf_series_cap *c, uint64_t hash, uint32_t max)
{
    const struct seen *of = max ? series_cap_find(c, hash) : NULL;
    return of && of->n >= max;
}

enum sf_series_verdict sf_series_cap_admit(struct sf_series_cap *c, uint32_t tenant,
                                           struct sf_series *s, struct sf_series_limits limits,
                                           int64_t now_ns, struct sf_arena *req)
{
    uint64_t service = hash_service(tenant, s->service);
    struct sf_label *own = NULL;
    bool is_known, is_over, is_refused;

    sf_mutex_lock(&c->lock);
    if (c->n + SF_LIMIT_LABELS + 3 > MAX_SEEN || now_ns - c->since_ns >= SF_NS_PER_HOUR) {
        sf_table_clear(&c->at);
        c->n = 0;
        c->since_ns = now_ns;
    }
    is_known = series_cap_find(c, hash_set(service, s->labels, s->n_labels));
    is_over = !is_known &&
              (series_cap_has_enough(c, service, limits.of_service ? limits.of_service : c->max) ||
               series_cap_has_enough(c, hash_tenant(tenant), limits.of_tenant));
    is_refused = is_over && !series_cap_find(c, service);
    if (!is_known && !is_over)
        admit(c, tenant, service, s);
    if (is_over && !is_refused) {
        own = sf_arena_new_n(req, s->n_labels, sizeof(*own));
        if (own) {
            memcpy(own, s->labels, s->n_labels * sizeof(*own));
            series_cap_fold(c, service, own, s->n_labels, false);
            if (!series_cap_find(c, hash_set(service, own, s->n_labels)))
                series_cap_fold(c, service, own, s->n_labels, true);
        }
    }
    sf_mutex_unlock(&c->lock);
    if (is_refused)
        return SF_SERIES_REFUSED;
    if (!is_over || s->n_labels == 0)
        return SF_SERIES_TAKEN;
    if (!own)
        return SF_SERIES_NO_ROOM;
    s->labels = own;
    return SF_SERIES_FOLDED;
}

unsigned sf_series_cap_wait_s(struct sf_series_cap *c, int64_t now_ns)
{
    int64_t left_ns;
    sf_mutex_lock(&c->lock);
    left_ns = c->since_ns + SF_NS_PER_HOUR - now_ns;
    sf_mutex_unlock(&c->lock);
    return left_ns > 0 ? (unsigned)(left_ns / SF_NS_PER_S) + 1 : 1;
}

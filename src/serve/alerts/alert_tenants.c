#include "serve/alerts/alert_tenants.h"

static const sf_str NOBODY = {"single-tenant", 13};

static size_t alert_tenants_find(const struct sf_alerts *a, sf_str tenant)
{
    size_t i = 0;
    while (i < a->n_watches && !sf_str_eq(tenant, sf_str_from(a->watches[i]->tenant)))
        i++;
    return i;
}

struct sf_watch *sf_alert_tenants_watch(struct sf_alerts *a, sf_str tenant)
{
    size_t at = alert_tenants_find(a, tenant);
    struct sf_watch *made;
    if (at < a->n_watches)
        return a->watches[at];
    if (a->n_watches == SF_LIMIT_WATCH_TENANTS)
        return NULL;
    made = sf_watch_feed_new(tenant);
    if (made) {
        sf_mutex_lock(&a->lock);
        a->watches[a->n_watches++] = made;
        sf_mutex_unlock(&a->lock);
    }
    return made;
}

void sf_alert_tenants_see(struct sf_alerts *a, struct sf_store *store)
{
    sf_str names[SF_LIMIT_WATCH_TENANTS + 1];
    size_t n = store->ops->tenants(store, names, SF_LIMIT_WATCH_TENANTS + 1);
    size_t n_left = n > SF_LIMIT_WATCH_TENANTS + 1 ? n - SF_LIMIT_WATCH_TENANTS - 1 : 0;
    bool has_nobody = false;
    n -= n_left;
    for (size_t i = 0; i < n; i++) {
        if (sf_str_eq(names[i], NOBODY))
            has_nobody = true;
        else
            n_left += !sf_alert_tenants_watch(a, names[i]);
    }
    if (has_nobody)
        (void)sf_alert_tenants_watch(a, NOBODY);
    sf_mutex_lock(&a->lock);
    a->n_unwatched_tenants = n_left;
    sf_mutex_unlock(&a->lock);
}

struct sf_alert_health *sf_alert_tenants_health(struct sf_alerts *a, size_t index, sf_str tenant)
{
    size_t at, first = index;
    if (!a->rules->list[index].is_each)
        return &a->health[index];
    while (first > 0 && a->rules->list[first - 1].is_each)
        first--;
    at = alert_tenants_find(a, tenant);
    return at < a->n_watches ? &a->each_health[at][index - first] : NULL;
}

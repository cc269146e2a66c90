/* What was seen is remembered as hashes in one table: of label sets, of single labels, and, with a
 * count, of services. The table is emptied every hour, so that a cap is about series that are
 * alive, and when it is full: the sets then count anew, which admits too much for a moment and
 * never stops a sender. */
#include "intake/series_cap.h"

#include <string.h>

#include "base/heap.h"
#include "base/key.h"
#include "base/limits.h"
#include "base/time_unit.h"
#include "os/thread.h"

enum { SLOTS = 1 << 18, MAX_USED = SLOTS / 4 * 3 };

struct slot {
    uint64_t hash; /* 0: free */
    uint32_t n;    /* of a service: its sets */
};

struct sf_series_cap {
    uint32_t max;
    struct sf_mutex lock; /* guards all below; takes nothing */
    struct slot *slots;
    uint32_t n_used;
    int64_t since_ns;
};

struct sf_series_cap *sf_series_cap_new(uint32_t max)
{
    struct sf_series_cap *c = sf_heap_new(sizeof(*c));
    if (!c)
        return NULL;
    c->max = max ? max : SF_LIMIT_SERIES;
    sf_mutex_init(&c->lock, SF_LOCK_INTAKE_SERIES);
    c->slots = sf_heap_new_n(SLOTS, sizeof(*c->slots));
    if (!c->slots) {
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
    sf_heap_free(c->slots);
    sf_heap_free(c);
}

static struct slot *find(struct sf_series_cap *c, uint64_t hash)
{
    uint32_t at = (uint32_t)hash & (SLOTS - 1);
    while (c->slots[at].hash && c->slots[at].hash != hash)
        at = (at + 1) & (SLOTS - 1);
    return &c->slots[at];
}

static void remember(struct sf_series_cap *c, uint64_t hash)
{
    struct slot *s = find(c, hash);
    if (!s->hash) {
        s->hash = hash;
        c->n_used++;
    }
}

static uint64_t not_zero(uint64_t hash)
{
    return hash ? hash : 1;
}

static uint64_t hash_service(uint32_t tenant, sf_str service)
{
    return not_zero(sf_key_mix(sf_key_str(service), tenant));
}

static uint64_t hash_label(uint64_t service, const struct sf_label *l)
{
    return not_zero(sf_key_mix(sf_key_mix(service + 1, sf_key_str(l->key)), sf_key_str(l->val)));
}

static uint64_t hash_set(uint64_t service, const struct sf_label *labels, uint32_t n)
{
    uint64_t hash = service + 2;
    for (uint32_t i = 0; i < n; i++)
        hash = sf_key_mix(hash, hash_label(service, &labels[i]));
    return not_zero(hash);
}

static bool is_foldable(const struct sf_label *l)
{
    return !sf_str_eq(l->key, SF_STR("service_name")) && !sf_str_starts(l->key, SF_STR("__"));
}

/* Values nobody brought before, or all of them, become "other". */
static void fold(struct sf_series_cap *c, uint64_t service, struct sf_label *labels, uint32_t n,
                 bool is_all)
{
    for (uint32_t i = 0; i < n; i++) {
        if (is_foldable(&labels[i]) && (is_all || !find(c, hash_label(service, &labels[i]))->hash))
            labels[i].val = SF_STR("other");
    }
}

static void admit(struct sf_series_cap *c, uint64_t service, const struct sf_series *s)
{
    struct slot *of;
    remember(c, hash_set(service, s->labels, s->n_labels));
    for (uint32_t i = 0; i < s->n_labels; i++)
        remember(c, hash_label(service, &s->labels[i]));
    remember(c, service);
    of = find(c, service);
    of->n++;
}

bool sf_series_cap_admit(struct sf_series_cap *c, uint32_t tenant, struct sf_series *s,
                         int64_t now_ns, struct sf_arena *req, bool *out_is_folded)
{
    uint64_t service = hash_service(tenant, s->service);
    struct sf_label *own = NULL;
    bool is_known, is_over;

    *out_is_folded = false;
    sf_mutex_lock(&c->lock);
    if (c->n_used + SF_LIMIT_LABELS + 2 > MAX_USED || now_ns - c->since_ns >= SF_NS_PER_HOUR) {
        memset(c->slots, 0, SLOTS * sizeof(*c->slots));
        c->n_used = 0;
        c->since_ns = now_ns;
    }
    is_known = find(c, hash_set(service, s->labels, s->n_labels))->hash;
    is_over = !is_known && find(c, service)->n >= c->max;
    if (!is_known && !is_over)
        admit(c, service, s);
    if (is_over) {
        own = sf_arena_new_n(req, s->n_labels, sizeof(*own));
        if (own) {
            memcpy(own, s->labels, s->n_labels * sizeof(*own));
            fold(c, service, own, s->n_labels, false);
            if (!find(c, hash_set(service, own, s->n_labels))->hash)
                fold(c, service, own, s->n_labels, true);
        }
    }
    sf_mutex_unlock(&c->lock);
    if (own)
        s->labels = own;
    *out_is_folded = own != NULL;
    return !is_over || own || s->n_labels == 0;
}

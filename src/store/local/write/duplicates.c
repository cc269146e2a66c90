/* duplicates.c - two tables of (hash, second): new entries go to the newer one, lookups check both.
 * When the newer one is ten minutes old, or full, it becomes the older one, and the older one is
 * emptied. So an entry is kept for ten to twenty minutes (its own time decides), and expiry costs
 * nothing per entry. */
#include "store/local/write/duplicates.h"

#include "base/heap.h"
#include "base/list.h"
#include "base/table.h"
#include "base/time_unit.h"
#include "os/thread.h"

enum { LIFE_S = 600, FIRST_CAP = 512 };

/* Bytes per entry, including 4/3 to 8/3 slots of the hash table. */
enum { ENTRY_LEN = 16 + 20 };

enum state { PENDING, DURABLE, GONE };

struct entry {
    uint64_t hash;
    uint32_t seen_s;
    uint32_t state;
};

struct table {
    struct entry *entries;
    uint32_t n, cap;
    struct sf_table at;
    uint32_t since_s;
};

struct waiting { /* repeats of a request whose sync is not done */
    uint64_t hash;
    struct sf_dup_waiter *waiter;
};

struct sf_duplicates {
    struct sf_mutex lock; /* guards all below; taken under the gate, a leaf lock */
    struct table young, old;
    size_t max_entries; /* of one table */
    struct waiting *waits;
    size_t n_waits, waits_cap;
    uint64_t *fresh; /* since the last flush */
    size_t n_fresh, fresh_cap;
    uint64_t n_dropped;
};

static void duplicates_table_done(struct table *t)
{
    sf_heap_free(t->entries);
    sf_table_done(&t->at);
}

struct sf_duplicates *sf_duplicates_new(size_t cap_len)
{
    struct sf_duplicates *d = sf_heap_new(sizeof(*d));
    if (!d)
        return NULL;
    sf_mutex_init(&d->lock, SF_LOCK_STORE_DUPLICATES);
    d->max_entries = FIRST_CAP;
    /* Two tables and, while one grows, its copy. */
    while (d->max_entries * 2 * ENTRY_LEN * 3 <= cap_len)
        d->max_entries *= 2;
    return d;
}

void sf_duplicates_free(struct sf_duplicates *d)
{
    if (!d)
        return;
    duplicates_table_done(&d->young);
    duplicates_table_done(&d->old);
    sf_heap_free(d->waits);
    sf_heap_free(d->fresh);
    sf_mutex_done(&d->lock);
    sf_heap_free(d);
}

static struct entry *duplicates_table_find(const struct table *t, uint64_t hash)
{
    struct sf_table_lookup lookup;
    uint32_t at;
    if (!t->n)
        return NULL;
    lookup = sf_table_lookup(&t->at, sf_key_u64(hash));
    while (sf_table_next(&lookup, &at)) {
        if (t->entries[at].hash == hash)
            return &t->entries[at];
    }
    return NULL;
}

/* An entry of the same hash (failed or expired) is reused: a request that fails a thousand times
 * has one entry. */
static bool table_put(struct table *t, struct entry e)
{
    struct entry *same = duplicates_table_find(t, e.hash);
    if (same) {
        *same = e;
        return true;
    }
    if (!sf_list_room(&t->entries, t->n, &t->cap, FIRST_CAP) || !sf_table_more(&t->at))
        return false;
    sf_table_put(&t->at, sf_key_u64(e.hash), t->n);
    t->entries[t->n++] = e;
    return true;
}

static void duplicates_turn(struct sf_duplicates *d, uint32_t now_s)
{
    duplicates_table_done(&d->old);
    d->old = d->young;
    d->young = (struct table){.since_s = now_s};
}

static uint32_t second(int64_t ns)
{
    return ns > 0 ? (uint32_t)(ns / SF_NS_PER_S) : 0;
}

static bool duplicates_add(struct sf_duplicates *d, uint64_t hash, int64_t seen_ns, int64_t now_ns,
                           enum state state)
{
    uint32_t now_s = second(now_ns);
    if (d->young.n == 0)
        d->young.since_s = now_s;
    if (now_s > d->young.since_s && now_s - d->young.since_s > LIFE_S)
        duplicates_turn(d, now_s);
    if (d->young.n >= d->max_entries) {
        d->n_dropped += d->old.n;
        duplicates_turn(d, now_s);
    }
    return table_put(&d->young, (struct entry){hash, second(seen_ns), state});
}

static struct entry *duplicates_find(struct sf_duplicates *d, uint64_t hash)
{
    struct entry *e = duplicates_table_find(&d->young, hash);
    if (!e || e->state == GONE)
        e = duplicates_table_find(&d->old, hash);
    return e && e->state != GONE ? e : NULL;
}

static bool keep_fresh(struct sf_duplicates *d, uint64_t hash)
{
    if (!sf_list_room(&d->fresh, d->n_fresh, &d->fresh_cap, 256))
        return false;
    d->fresh[d->n_fresh++] = hash;
    return true;
}

/* A block must not list a request that failed: the retry would be dropped. */
static void forget_fresh(struct sf_duplicates *d, uint64_t hash)
{
    for (size_t i = d->n_fresh; i > 0; i--) {
        if (d->fresh[i - 1] == hash) {
            d->fresh[i - 1] = d->fresh[--d->n_fresh];
            return;
        }
    }
}

static bool keep_waiter(struct sf_duplicates *d, uint64_t hash, struct sf_dup_waiter *waiter)
{
    if (!sf_list_room(&d->waits, d->n_waits, &d->waits_cap, 16))
        return false;
    d->waits[d->n_waits++] = (struct waiting){hash, waiter};
    return true;
}

enum sf_err sf_duplicates_begin(struct sf_duplicates *d, uint64_t hash, int64_t now_ns,
                                struct sf_dup_waiter *waiter, enum sf_dup_answer *out)
{
    enum sf_err err = SF_OK;
    uint32_t now_s = second(now_ns);
    struct entry *e;

    sf_mutex_lock(&d->lock);
    e = duplicates_find(d, hash);
    if (e && e->state == PENDING) {
        if (keep_waiter(d, hash, waiter))
            *out = SF_DUP_WAITS;
        else
            err = SF_ERR_NOMEM;
    } else if (e && (now_s < e->seen_s || now_s - e->seen_s <= LIFE_S)) {
        *out = SF_DUP_DURABLE;
    } else {
        if (e)
            e->state = GONE; /* repeated after the time limit: treated as new */
        if (!keep_fresh(d, hash)) {
            err = SF_ERR_NOMEM;
        } else if (!duplicates_add(d, hash, now_ns, now_ns, PENDING)) {
            d->n_fresh--;
            err = SF_ERR_NOMEM;
        } else {
            *out = SF_DUP_NEW;
        }
    }
    sf_mutex_unlock(&d->lock);
    return err;
}

struct sf_dup_waiter *sf_duplicates_end(struct sf_duplicates *d, uint64_t hash, bool is_durable)
{
    struct sf_dup_waiter *all = NULL;
    struct entry *e;
    sf_mutex_lock(&d->lock);
    e = duplicates_find(d, hash);
    if (e && e->state == PENDING)
        e->state = is_durable ? DURABLE : GONE;
    if (!is_durable)
        forget_fresh(d, hash);
    for (size_t i = 0; i < d->n_waits;) {
        if (d->waits[i].hash != hash) {
            i++;
            continue;
        }
        d->waits[i].waiter->next = all;
        all = d->waits[i].waiter;
        d->waits[i] = d->waits[--d->n_waits];
    }
    sf_mutex_unlock(&d->lock);
    return all;
}

bool sf_duplicates_know(struct sf_duplicates *d, uint64_t hash, int64_t seen_ns, int64_t now_ns,
                        bool is_for_flush)
{
    bool ok = true;
    sf_mutex_lock(&d->lock);
    if (is_for_flush)
        ok = keep_fresh(d, hash);
    if (ok && !duplicates_find(d, hash) && second(now_ns) <= second(seen_ns) + (uint32_t)LIFE_S)
        ok = duplicates_add(d, hash, seen_ns, now_ns, DURABLE);
    sf_mutex_unlock(&d->lock);
    return ok;
}

void sf_duplicates_take(struct sf_duplicates *d, uint64_t **out, size_t *out_n)
{
    sf_mutex_lock(&d->lock);
    *out = d->fresh;
    *out_n = d->n_fresh;
    d->fresh = NULL;
    d->n_fresh = d->fresh_cap = 0;
    sf_mutex_unlock(&d->lock);
}

void sf_duplicates_give_back(struct sf_duplicates *d, uint64_t *hashes, size_t n)
{
    sf_mutex_lock(&d->lock);
    /* Even a flush that fails without memory must be able to do this: allocate nothing. */
    if (!d->fresh) {
        d->fresh = hashes;
        d->n_fresh = d->fresh_cap = n;
        hashes = NULL;
        n = 0;
    }
    for (size_t i = 0; i < n; i++) {
        if (!keep_fresh(d, hashes[i]))
            d->n_dropped++;
    }
    sf_mutex_unlock(&d->lock);
    sf_heap_free(hashes);
}

size_t sf_duplicates_len(struct sf_duplicates *d)
{
    size_t len;
    sf_mutex_lock(&d->lock);
    len = ((size_t)d->young.cap + d->old.cap) * sizeof(struct entry) +
          sf_table_memory(&d->young.at) + sf_table_memory(&d->old.at) +
          d->fresh_cap * sizeof(uint64_t) + d->waits_cap * sizeof(struct waiting);
    sf_mutex_unlock(&d->lock);
    return len;
}

uint64_t sf_duplicates_n_dropped(struct sf_duplicates *d)
{
    uint64_t n;
    sf_mutex_lock(&d->lock);
    n = d->n_dropped;
    sf_mutex_unlock(&d->lock);
    return n;
}

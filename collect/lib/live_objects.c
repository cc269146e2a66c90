#include "collect/lib/live_objects.h"

#include <string.h>

#include "base/heap.h"

/* The first thousand entries are adjacent and stay in the CPU's caches; only further objects are
 * spread over megabytes, where every access costs a cache miss or two. */
enum { SET = 8, NEAR = 1024, N_NEAR = NEAR / SET, N_FAR = (SF_LIVE_MAX - NEAR) / SET };

struct set {
    _Alignas(64) atomic_uintptr_t at[SET]; /* 0: free; CLAIMED: being written */
};
#define CLAIMED ((uintptr_t)1)

enum { WORDS = sizeof(struct sf_live_object) / 8 };
_Static_assert(sizeof(struct sf_live_object) % 8 == 0, "an object is whole words");

struct body {
    atomic_uint_fast64_t words[WORDS]; /* the object's words; may be read while they are written */
    atomic_uint_fast64_t serial;       /* 0 while they are written; readers check it before and
                                        * after */
};

struct sf_live_objects {
    struct set sets[N_NEAR + N_FAR]; /* the near sets first */
    struct body bodies[N_NEAR + N_FAR][SET];
    atomic_uint n, n_far;
    atomic_uint_fast64_t lost, next_serial;
};

struct sf_live_objects *sf_live_objects_new(void)
{
    return sf_heap_pages(sizeof(struct sf_live_objects)); /* zeroed; only pages that are used take
                                                           * memory */
}

void sf_live_objects_free(struct sf_live_objects *all)
{
    sf_heap_pages_free(all, sizeof(*all));
}

static void live_objects_write_body(struct body *b, const struct sf_live_object *o)
{
    uint64_t words[WORDS];
    memcpy(words, o, sizeof(words));
    for (int i = 0; i < WORDS; i++)
        atomic_store_explicit(&b->words[i], words[i], memory_order_relaxed);
}

static void live_objects_read_body(struct body *b, struct sf_live_object *out)
{
    uint64_t words[WORDS];
    for (int i = 0; i < WORDS; i++)
        words[i] = atomic_load_explicit(&b->words[i], memory_order_relaxed);
    memcpy(out, words, sizeof(words));
}

/* An address may be in two near sets or two far ones. */
enum { CHOICES = 4, FAR = 2 };

static uint32_t live_objects_set_of(const void *p, int which)
{
    uint64_t h = ((uintptr_t)p >> 4) * 0x9e3779b97f4a7c15u;
    uint32_t part = (uint32_t)(which % 2 ? h >> 20 : h >> 40);
    return which < FAR ? part % N_NEAR : N_NEAR + part % N_FAR;
}

static bool live_objects_put(struct set *s, struct body *bodies, uintptr_t p,
                             const struct sf_live_object *o, uint64_t serial)
{
    for (int i = 0; i < SET; i++) {
        uintptr_t none = 0;
        if (atomic_load_explicit(&s->at[i], memory_order_relaxed) ||
            !atomic_compare_exchange_strong_explicit(&s->at[i], &none, CLAIMED,
                                                     memory_order_acquire, memory_order_relaxed))
            continue;
        atomic_store_explicit(&bodies[i].serial, 0, memory_order_release);
        atomic_thread_fence(memory_order_release);
        live_objects_write_body(&bodies[i], o);
        atomic_store_explicit(&bodies[i].serial, serial, memory_order_release);
        atomic_store_explicit(&s->at[i], p, memory_order_release);
        return true;
    }
    return false;
}

bool sf_live_objects_add(struct sf_live_objects *all, const void *p, const struct sf_live_object *o)
{
    uint64_t serial = atomic_fetch_add_explicit(&all->next_serial, 1, memory_order_relaxed) + 1;
    for (int which = 0; which < CHOICES; which++) {
        uint32_t set = live_objects_set_of(p, which);
        if (live_objects_put(&all->sets[set], all->bodies[set], (uintptr_t)p, o, serial)) {
            atomic_fetch_add_explicit(&all->n, 1, memory_order_relaxed);
            if (which >= FAR)
                atomic_fetch_add_explicit(&all->n_far, 1, memory_order_relaxed);
            return true;
        }
    }
    atomic_fetch_add_explicit(&all->lost, 1, memory_order_relaxed);
    return false;
}

bool sf_live_objects_take(struct sf_live_objects *all, const void *p, struct sf_live_object *out)
{
    /* The thread that stored `p` has since passed it to this one, so the count includes it. */
    bool has_far = atomic_load_explicit(&all->n_far, memory_order_relaxed);
    for (int which = 0; which < (has_far ? CHOICES : FAR); which++) {
        uint32_t set = live_objects_set_of(p, which);
        struct set *s = &all->sets[set];
        for (int i = 0; i < SET; i++) {
            if (atomic_load_explicit(&s->at[i], memory_order_acquire) != (uintptr_t)p)
                continue;
            live_objects_read_body(&all->bodies[set][i], out);
            atomic_store_explicit(&s->at[i], 0, memory_order_release);
            atomic_fetch_sub_explicit(&all->n, 1, memory_order_relaxed);
            if (which >= FAR)
                atomic_fetch_sub_explicit(&all->n_far, 1, memory_order_relaxed);
            return true;
        }
    }
    return false;
}

void sf_live_objects_each(struct sf_live_objects *all,
                          void (*one)(const struct sf_live_object *o, void *arg), void *arg)
{
    for (uint32_t set = 0; set < N_NEAR + N_FAR && sf_live_objects_n(all); set++) {
        for (int i = 0; i < SET; i++) {
            struct body *b = &all->bodies[set][i];
            struct sf_live_object o;
            uint64_t serial;
            if (atomic_load_explicit(&all->sets[set].at[i], memory_order_acquire) <= CLAIMED)
                continue;
            serial = atomic_load_explicit(&b->serial, memory_order_acquire);
            live_objects_read_body(b, &o);
            atomic_thread_fence(memory_order_acquire);
            if (serial && serial == atomic_load_explicit(&b->serial, memory_order_relaxed))
                one(&o, arg);
        }
    }
}

uint32_t sf_live_objects_n(const struct sf_live_objects *all)
{
    return atomic_load_explicit(&all->n, memory_order_relaxed);
}

uint64_t sf_live_objects_lost(struct sf_live_objects *all)
{
    return atomic_exchange_explicit(&all->lost, 0, memory_order_relaxed);
}

#include "store/local/snapshot.h"

#include "base/heap.h"
#include "os/clock.h"

enum { SLACK = 256 };

static struct sf_snapshot *new_snapshot(size_t cap)
{
    struct sf_snapshot *s = sf_heap_new(sizeof(*s) + cap * sizeof(s->runs[0]));
    if (s) {
        atomic_init(&s->refs, 1);
        s->cap = cap;
    }
    return s;
}

bool sf_snapshots_init(struct sf_snapshots *ss)
{
    *ss = (struct sf_snapshots){.now = new_snapshot(0)};
    sf_mutex_init(&ss->lock, SF_LOCK_STORE_SNAPSHOT);
    return ss->now;
}

void sf_snapshots_done(struct sf_snapshots *ss)
{
    sf_snapshot_unref(ss->now);
    ss->now = NULL;
    sf_mutex_done(&ss->lock);
}

struct sf_snapshot *sf_snapshot_take(struct sf_snapshots *ss)
{
    struct sf_snapshot *s;
    sf_mutex_lock(&ss->lock);
    s = ss->now;
    atomic_fetch_add(&s->refs, 1);
    sf_mutex_unlock(&ss->lock);
    return s;
}

void sf_snapshot_unref(struct sf_snapshot *s)
{
    if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
        return;
    for (size_t i = 0; i < s->n; i++)
        sf_run_unref(s->runs[i]);
    sf_tombstones_unref(s->tombstones);
    sf_heap_free(s);
}

static bool snapshot_is_among(const struct sf_run *r, struct sf_run *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i] == r)
            return true;
    }
    return false;
}

/* False: `s` has too little space for the current number of runs. */
static bool snapshot_apply(struct sf_snapshots *ss, const struct sf_snapshot_change *change,
                           struct sf_snapshot *s)
{
    struct sf_snapshot *old;
    sf_mutex_lock(&ss->lock);
    old = ss->now;
    if (s->cap < old->n + change->n_in) {
        sf_mutex_unlock(&ss->lock);
        return false;
    }
    for (size_t i = 0; i < old->n; i++) {
        if (!snapshot_is_among(old->runs[i], change->out, change->n_out))
            s->runs[s->n++] = sf_run_ref(old->runs[i]);
    }
    for (size_t i = 0; i < change->n_in; i++)
        s->runs[s->n++] = change->in[i];
    s->tombstones = change->has_tombstones ? change->tombstones
                                           : sf_tombstones_ref(old->tombstones);
    s->version = old->version + 1;
    s->erase_version = old->erase_version + (change->is_new_erasure ? 1 : 0);
    ss->now = s;
    sf_mutex_unlock(&ss->lock);
    /* Readers may still use the old one: their reference keeps its files. */
    sf_snapshot_unref(old);
    return true;
}

struct sf_snapshot *sf_snapshot_prepare(struct sf_snapshots *ss, size_t n_in)
{
    struct sf_snapshot *now = sf_snapshot_take(ss);
    struct sf_snapshot *room = new_snapshot(now->n + n_in + SLACK);
    sf_snapshot_unref(now);
    return room;
}

void sf_snapshot_apply(struct sf_snapshots *ss, const struct sf_snapshot_change *change,
                       struct sf_snapshot *room)
{
    while (!snapshot_apply(ss, change, room)) {
        /* More runs were added meanwhile than `room` has space for: allocate again, and wait for
         * memory if necessary. */
        struct sf_snapshot *more = sf_snapshot_prepare(ss, change->n_in);
        if (more) {
            sf_snapshot_unref(room);
            room = more;
        } else {
            sf_clock_sleep_ms(10);
        }
    }
}

enum sf_err sf_snapshot_change(struct sf_snapshots *ss, const struct sf_snapshot_change *change,
                               struct sf_why *why)
{
    struct sf_snapshot *room = sf_snapshot_prepare(ss, change->n_in);
    if (!room)
        return sf_fail(why, SF_ERR_NOMEM, "store: no memory for a snapshot");
    sf_snapshot_apply(ss, change, room);
    return SF_OK;
}

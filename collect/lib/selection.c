#include "collect/lib/selection.h"

#include <string.h>
#include <time.h>

#include "base/time_unit.h"
#include "base/trace_share.h"
#include "collect/lib/span_pool.h"
#include "collect/sys/clock.h"
#include "spanflame.h"

enum { SLOTS = 8192, MOST = SLOTS * 3 / 4, PLACES = 32768 };

/* Trace ids of one window whose samples keep their ids because of the request's outcome. */
struct kept {
    uint8_t ids[SLOTS][16]; /* zero: free */
    unsigned n;
};

struct rules {
    bool is_on;
    uint32_t share_per_10000;
    struct sf_profiling block;
};

/* One in use, one for the next change; changes are seconds apart. */
static struct rules both[2];
static _Atomic(const struct rules *) in_use = &both[0];

static const struct rules *rules(void)
{
    return atomic_load_explicit(&in_use, memory_order_acquire);
}

static struct {
    struct sf_lock lock;  /* guards the two below */
    struct kept *windows; /* the current window and the previous one */
    unsigned now;
    atomic_uint_fast64_t n_lost;
    /* The fields below are used by the collecting thread only. */
    uint8_t (*live)[16];
    int64_t turned_ns;
} s;

void sf_selection_init(const struct sf_profiling *block)
{
    static struct kept windows[2]; /* static pages, touched only when selection is on */
    static uint8_t live[PLACES][16];
    struct rules *next = rules() == &both[0] ? &both[1] : &both[0];
    s.windows = windows;
    s.live = live;
    next->block = *block;
    next->share_per_10000 = block->share_per_10000 > block->baseline_per_10000
                                ? block->share_per_10000
                                : block->baseline_per_10000;
    next->is_on = next->share_per_10000 < 10000;
    atomic_store_explicit(&in_use, next, memory_order_release);
}

/* CPU time of the calling thread; 0: unknown. */
static uint64_t cpu_ns(void)
{
    struct timespec t;
    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t)
               ? 0
               : (uint64_t)t.tv_sec * SF_NS_PER_S + (uint64_t)t.tv_nsec;
}

void sf_selection_begin(struct sf_span_slot *root)
{
    root->begin_cpu_ns = rules()->is_on ? cpu_ns() : 0;
}

static unsigned selection_place_of(const uint8_t id[16])
{
    uint64_t half;
    memcpy(&half, id + 8, 8);
    return (unsigned)(sf_trace_share_mix(half) >> 32);
}

static bool is_none(const uint8_t id[16])
{
    static const uint8_t none[16];
    return memcmp(id, none, 16) == 0;
}

static bool selection_has(const uint8_t (*ids)[16], unsigned n_slots, const uint8_t id[16])
{
    unsigned at = selection_place_of(id) % n_slots;
    while (!is_none(ids[at])) {
        if (memcmp(ids[at], id, 16) == 0)
            return true;
        at = (at + 1) % n_slots;
    }
    return false;
}

static void selection_put(uint8_t (*ids)[16], unsigned n_slots, const uint8_t id[16])
{
    unsigned at = selection_place_of(id) % n_slots;
    while (!is_none(ids[at]) && memcmp(ids[at], id, 16) != 0)
        at = (at + 1) % n_slots;
    memcpy(ids[at], id, 16);
}

static void selection_keep(const uint8_t id[16])
{
    struct kept *k;
    sf_lock_take(&s.lock);
    k = &s.windows[s.now];
    if (k->n < MOST && !selection_has((const uint8_t(*)[16])k->ids, SLOTS, id)) {
        selection_put(k->ids, SLOTS, id);
        k->n++;
    } else if (k->n >= MOST) {
        atomic_fetch_add_explicit(&s.n_lost, 1, memory_order_relaxed);
    }
    sf_lock_give(&s.lock);
}

/* Called on the thread that ends it; for a request that ends on another thread the CPU time is
 * unknown. */
static bool is_heavy(const struct sf_span_slot *root, int64_t length_ns)
{
    uint64_t used_ns;
    if (!root->begin_cpu_ns || root->tid != sf_thread_self.tid || length_ns <= 0 ||
        !rules()->block.cpu_threshold_per_10000)
        return false;
    used_ns = cpu_ns() - root->begin_cpu_ns;
    return (double)used_ns * 10000 > (double)length_ns * rules()->block.cpu_threshold_per_10000;
}

static bool is_slow(int64_t length_ns)
{
    int64_t slow_ns = rules()->block.slow_request_ns;
    return slow_ns > 0 && length_ns >= slow_ns;
}

void sf_selection_end(const struct sf_span_slot *root, int64_t length_ns)
{
    if (!rules()->is_on || root->profile == SF_SPAN_PROFILE_NEVER ||
        sf_trace_share_has(root->record, rules()->share_per_10000))
        return;
    if (root->profile == SF_SPAN_PROFILE_ALWAYS || is_slow(length_ns) ||
        (rules()->block.has_errors && root->status == SF_STATUS_ERROR) || is_heavy(root, length_ns))
        selection_keep(root->record);
}

/* ---- in the collecting thread ---- */

/* Lists running requests. An id that changes while it is copied matches no sample. */
static void list_live(void)
{
    unsigned n = atomic_load(&sf_span_pool_n_chunks) * SF_POOL_CHUNK;
    memset(s.live, 0, PLACES * sizeof(s.live[0]));
    for (uint32_t i = 0; i < n; i++) {
        const struct sf_span_slot *slot = sf_span_pool_at(i);
        uint8_t id[16];
        if (!(atomic_load_explicit(&slot->gen, memory_order_acquire) & 1))
            continue;
        memcpy(id, slot->record, sizeof(id));
        if (!is_none(id))
            selection_put(s.live, PLACES, id);
    }
}

static bool selection_is_kept(const uint8_t id[16])
{
    if (sf_trace_share_has(id, rules()->share_per_10000) ||
        selection_has((const uint8_t(*)[16])s.live, PLACES, id))
        return true;
    for (int i = 0; i < 2; i++) {
        if (selection_has((const uint8_t(*)[16])s.windows[i].ids, SLOTS, id))
            return true;
    }
    return false;
}

void sf_selection_apply(struct sf_profile_table *t)
{
    struct sf_profile_stack_row *rows = (struct sf_profile_stack_row *)(void *)t->rows.p;
    uint32_t n = sf_profile_table_n(t);
    if (!rules()->is_on || !n)
        return;
    list_live();
    sf_lock_take(&s.lock);
    for (uint32_t i = 0; i < n; i++) {
        if (is_none(rows[i].trace_id) || selection_is_kept(rows[i].trace_id))
            continue;
        memset(rows[i].trace_id, 0, sizeof(rows[i].trace_id));
        memset(rows[i].span_id, 0, sizeof(rows[i].span_id));
    }
    sf_lock_give(&s.lock);
}

void sf_selection_next_window(void)
{
    int64_t now_ns = sf_clock_mono_ns();
    if (!rules()->is_on ||
        now_ns - s.turned_ns < SF_NS_PER_S) /* windows may end in quick succession */
        return;
    s.turned_ns = now_ns;
    sf_lock_take(&s.lock);
    s.now ^= 1;
    if (s.windows[s.now].n)
        memset(&s.windows[s.now], 0, sizeof(s.windows[s.now]));
    sf_lock_give(&s.lock);
}

bool sf_selection_escalates(void)
{
    return rules()->block.has_escalation;
}

uint32_t sf_selection_slow(uint32_t *tids, uint32_t max)
{
    unsigned n_slots = atomic_load(&sf_span_pool_n_chunks) * SF_POOL_CHUNK;
    int64_t now_ns = sf_clock_mono_ns();
    uint32_t n = 0;
    for (uint32_t i = 0; rules()->block.has_escalation && i < n_slots && n < max; i++) {
        const struct sf_span_slot *slot = sf_span_pool_at(i);
        int64_t start_ns = __atomic_load_n(&slot->start_mono_ns, __ATOMIC_RELAXED);
        if (atomic_load_explicit(&slot->gen, memory_order_acquire) & 1 && slot->is_local_root &&
            start_ns && is_slow(now_ns - start_ns))
            tids[n++] = slot->tid;
    }
    return n;
}

void sf_selection_after_fork(void)
{
    sf_lock_reset(&s.lock);
}

#include "collect/lib/waits.h"

#include <errno.h>

#include "collect/lib/hook_thread.h"
#include "collect/lib/sample.h"

enum { UNIT_NS = 1000 };

static struct sf_hook_waits *waits_of(struct sf_hook_thread *t, enum sf_sample_kind kind)
{
    return kind == SF_SAMPLES_MUTEX ? &t->mutex : &t->block;
}

/* The rest beyond whole microseconds is added to the thread's next sample. */
static bool waits_take(struct sf_hook_thread *t, enum sf_sample_kind kind, enum sf_wait wait,
                       uint64_t n, uint64_t ns, const void *caller)
{
    struct sf_hook_waits *w = waits_of(t, kind);
    uint64_t all_ns = ns + w->rest_ns, values[2] = {n, all_ns - all_ns % UNIT_NS};
    if (!sf_sample_take(kind, wait, values, caller, true))
        return false;
    w->rest_ns = all_ns % UNIT_NS;
    return true;
}

static void add_short(struct sf_hook_thread *t, enum sf_sample_kind kind, enum sf_wait wait,
                      uint64_t ns, const void *caller)
{
    struct sf_hook_waits *w = waits_of(t, kind);
    w->n++;
    w->ns += ns;
    if (!w->left_ns)
        w->left_ns = sf_gap_draw(&t->chance, SF_WAIT_LONG_NS);
    if (ns < w->left_ns) {
        w->left_ns -= ns;
        return;
    }
    w->left_ns = sf_gap_draw(&t->chance, SF_WAIT_LONG_NS);
    if (waits_take(t, kind, wait, w->n, w->ns, caller)) /* if dropped, the next sample carries it */
        w->n = w->ns = 0;
}

void sf_waits_add(enum sf_sample_kind kind, enum sf_wait wait, uint64_t ns, const void *caller)
{
    struct sf_hook_thread *t = &sf_hook_self;
    int saved = errno;
    if (!sf_hook_enter())
        return;
    t->waited_ns[wait] += ns;
    if (ns < SF_WAIT_LONG_NS || !waits_take(t, kind, wait, 1, ns, caller))
        add_short(t, kind, wait, ns, caller);
    sf_hook_leave();
    errno = saved;
}

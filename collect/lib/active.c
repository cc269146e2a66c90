#include "collect/lib/active.h"

#include "collect/lib/library.h"

static void show_foreign(struct sf_thread_state *t)
{
    sf_thread_hide(t);
    t->current = t->under = 0;
    memcpy(t->record, t->foreign, sizeof(t->foreign));
    t->record[SF_RECORD_FLAGS] = 1;
    t->record[SF_RECORD_ATTRS_LEN] = t->record[SF_RECORD_ATTRS_LEN + 1] = 0;
    t->is_foreign = true;
    atomic_signal_fence(memory_order_seq_cst);
    *(volatile uint8_t *)&t->record[SF_RECORD_VALID] = 1;
}

void sf_active_set(struct sf_thread_state *t, const struct sf_span_slot *slot)
{
    if (!slot && t->has_foreign) { /* our last span has ended; the other tracer's is still active */
        show_foreign(t);
        return;
    }
    t->is_foreign = false;
    if (!slot) {
        sf_thread_hide(t);
        t->current = t->under = 0;
        return;
    }
    t->under = __atomic_load_n(&slot->under, __ATOMIC_RELAXED);
    t->current = sf_span_pool_name(slot);
    sf_thread_show(t, slot->record);
    if (__builtin_expect(sf_span_pool_name(slot) != t->current, 0)) {
        sf_thread_hide(t); /* the span ended while it was copied: the record may contain parts of
                            * another */
        t->current = t->under = 0;
    }
}

struct sf_span_slot *sf_active_slot(struct sf_thread_state *t)
{
    struct sf_span_slot *slot = sf_span_pool_find(t->current);
    if (slot || !t->current)
        return slot;
    slot = sf_span_pool_find_under(t->current);
    if (!slot)
        slot = sf_span_pool_find_under(t->under);
    sf_active_set(t, slot);
    return slot;
}

sf_span sf_current(void)
{
    struct sf_thread_state *t = &sf_thread_self;
    const struct sf_span_slot *slot;
    if (!sf_library_enter(t))
        return 0;
    slot = sf_active_slot(t);
    sf_library_leave(t);
    return slot ? sf_span_pool_name(slot) : 0;
}

sf_span sf_activate(sf_span s)
{
    struct sf_thread_state *t = &sf_thread_self;
    const struct sf_span_slot *slot;
    sf_span before;
    if (!sf_library_enter(t))
        return 0;
    before = t->current;
    slot = sf_span_pool_find(s);
    sf_active_set(t, slot ? slot : sf_span_pool_find_under(s));
    sf_library_leave(t);
    return before;
}

void sf_context_set(const uint8_t trace_id[16], const uint8_t span_id[8])
{
    struct sf_thread_state *t = &sf_thread_self;
    if (!trace_id || !span_id || !sf_library_enter(t))
        return;
    memcpy(t->foreign, trace_id, 16);
    memcpy(t->foreign + 16, span_id, 8);
    t->has_foreign = true;
    show_foreign(t);
    sf_library_leave(t);
}

void sf_context_clear(void)
{
    struct sf_thread_state *t = &sf_thread_self;
    if (!sf_library_enter(t))
        return;
    t->has_foreign = false;
    sf_active_set(t, NULL);
    sf_library_leave(t);
}

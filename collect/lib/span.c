/* Starts and ends spans.
 *
 * A recorded span is written as the protobuf message it will be sent as, field by field, while it
 * lives: fields may be in any order, so ending it means adding a few fields and one copy into the
 * outbox. Span{1 trace_id, 2 span_id, 3 trace_state, 4 parent, 5 name, 6 kind, 7 start, 8 end, 9
 * attributes, 10 dropped, 11 events, 12 dropped, 13 links, 14 dropped, 15 status, 16 flags}. */
#include <errno.h>

#include "base/heap.h"
#include "base/text.h"
#include "collect/lib/active.h"
#include "collect/lib/attr_write.h"
#include "collect/lib/library.h"
#include "collect/lib/selection.h"
#include "collect/lib/span_write.h"
#include "collect/sys/clock.h"
#include "wire/pb_write.h"

struct parent {
    const uint8_t *trace_id, *span_id; /* NULL: a root */
    const uint8_t *local_root;         /* 18 bytes of the record's attributes; NULL: this span is
                                        * the local root */
    const char *tracestate;
    bool is_sampled, is_remote;
    uint8_t profile;
    sf_span under;
};

static bool span_is_zero(const uint8_t *p, size_t len)
{
    uint8_t any = 0;
    for (size_t i = 0; i < len; i++)
        any |= p[i];
    return !any;
}

static void parent_from_slot(const struct sf_span_slot *slot, struct parent *p)
{
    p->trace_id = slot->record;
    p->span_id = slot->record + 16;
    p->local_root = slot->record + SF_RECORD_ATTRS;
    p->tracestate = slot->tracestate;
    p->is_sampled = slot->record[SF_RECORD_FLAGS] & 1;
    p->profile = slot->profile;
}

static void span_find_parent(struct sf_thread_state *t, const sf_span_options *o, struct parent *p)
{
    const struct sf_span_slot *active = sf_active_slot(t), *slot;
    p->under = active ? sf_span_pool_name(active) : 0;
    if (o && o->flags & SF_SPAN_ROOT)
        return;
    if (o && o->remote && !span_is_zero(o->remote->trace_id, 16) &&
        !span_is_zero(o->remote->span_id, 8)) {
        p->trace_id = o->remote->trace_id;
        p->span_id = o->remote->span_id;
        p->tracestate = o->remote->tracestate[0] ? o->remote->tracestate : NULL;
        p->is_sampled = o->remote->flags & 1;
        p->is_remote = o->remote->is_remote;
        return;
    }
    slot = o && o->parent ? sf_span_pool_find(o->parent) : active;
    if (slot) {
        parent_from_slot(slot, p);
    } else if (t->is_foreign && !(o && o->parent)) {
        p->trace_id = t->record;
        p->span_id = t->record + 16;
        p->is_sampled = t->record[SF_RECORD_FLAGS] & 1;
    }
}

static void set_record(struct sf_thread_state *t, struct sf_span_slot *slot, const struct parent *p)
{
    uint8_t *r = slot->record;
    uint64_t id = sf_thread_chance(t);
    if (p->trace_id) {
        memcpy(r, p->trace_id, 16);
    } else {
        uint64_t high = sf_thread_chance(t), low = sf_thread_chance(t);
        memcpy(r, &high, 8);
        memcpy(r + 8, &low, 8);
    }
    memcpy(r + 16, &id, 8);
    r[SF_RECORD_VALID] = 1;
    sf_store_u16le(r + SF_RECORD_ATTRS_LEN, SF_RECORD_ROOT_LEN);
    if (p->local_root) {
        memcpy(r + SF_RECORD_ATTRS, p->local_root, SF_RECORD_ROOT_LEN);
    } else {
        r[SF_RECORD_ATTRS] = 0;
        r[SF_RECORD_ATTRS + 1] = 16;
        sf_hex_encode(r + 16, 8, (char *)r + SF_RECORD_ATTRS + 2);
    }
}

static void span_write_beginning(struct sf_span_slot *slot, const struct parent *p, sf_str name,
                                 const sf_span_options *o)
{
    struct sf_buf *b = &slot->body;
    uint32_t flags = 1u | (p->span_id ? 0x100u | (p->is_remote ? 0x200u : 0) : 0);
    sf_buf_reset(b);
    b->max = SF_SPAN_BODY_MAX;
    sf_pb_write_bytes(b, 1, (sf_bytes){slot->record, 16});
    sf_pb_write_bytes(b, 2, (sf_bytes){slot->record + 16, 8});
    if (slot->tracestate)
        sf_attr_write_text(b, 3, sf_str_from(slot->tracestate), SF_TRACESTATE_CAP);
    if (p->span_id)
        sf_pb_write_bytes(b, 4, (sf_bytes){p->span_id, 8});
    sf_attr_write_text(b, 5, name, SF_SPAN_NAME_MAX);
    sf_pb_write_u64(b, 6, o && o->kind > 0 && o->kind <= SF_KIND_CONSUMER ? o->kind : 1);
    sf_pb_write_fixed64(b, 7, (uint64_t)slot->start_unix_ns);
    sf_pb_write_fixed32(b, 16, flags);
}

static char *span_copy_text(const char *text)
{
    size_t len = strnlen(text, SF_TRACESTATE_CAP - 1);
    char *p = sf_heap_new(len + 1);
    if (p)
        memcpy(p, text, len);
    return p;
}

/* Programs built with an older header do not have this member. */
static uint8_t span_profile_of(const sf_span_options *o)
{
    bool is_said = o && o->size >= sizeof(sf_span_options) && o->profile >= SF_SPAN_PROFILE_AUTO &&
                   o->profile <= SF_SPAN_PROFILE_NEVER;
    return is_said ? (uint8_t)o->profile : SF_SPAN_PROFILE_AUTO;
}

static void span_begin(struct sf_thread_state *t, struct sf_span_slot *slot, sf_str name,
                       const sf_span_options *o)
{
    struct parent p = {0};
    span_find_parent(t, o, &p);
    slot->epoch = t->epoch;
    slot->status = SF_STATUS_UNSET;
    slot->n_attrs = slot->n_events = slot->n_links = 0;
    slot->dropped_attrs = slot->dropped_events = slot->dropped_links = 0;
    slot->key_mask = 0;
    slot->under = p.under;
    slot->tid = t->tid;
    slot->tracestate = p.tracestate ? span_copy_text(p.tracestate) : NULL;
    slot->is_local_root = !p.local_root;
    slot->profile = p.local_root ? p.profile : span_profile_of(o);
    set_record(t, slot, &p);
    if (slot->is_local_root)
        sf_selection_begin(slot);
    slot->is_recording = sf_sampler_keeps(&sf_library.settings.sampler, slot->record,
                                          p.trace_id != NULL, p.is_sampled);
    slot->record[SF_RECORD_FLAGS] = slot->is_recording;
    if (slot->is_recording) {
        slot->start_mono_ns = o && o->start_unix_ns ? 0 : sf_clock_mono_ns();
        slot->start_unix_ns = o && o->start_unix_ns ? (int64_t)o->start_unix_ns
                                                    : sf_clock_unix_ns();
        span_write_beginning(slot, &p, name, o);
        if (sf_library.settings.cost_items)
            sf_span_cost_begin(&slot->cost, sf_library.settings.cost_items, t->tid,
                               !p.span_id || p.is_remote);
    } else {
        slot->n_unsampled++;
    }
}

sf_span sf_span_start_with(const char *name, const sf_span_options *options)
{
    struct sf_thread_state *t = &sf_thread_self;
    struct sf_span_slot *slot;
    sf_span s = 0;

    if (!atomic_load_explicit(&sf_library.is_on, memory_order_acquire) || !sf_library_enter(t))
        return 0;
    if (__builtin_expect(atomic_load_explicit(&sf_library.is_new_child, memory_order_relaxed), 0))
        sf_library_begin_child();
    slot = sf_span_pool_take();
    if (slot) {
        span_begin(t, slot, sf_str_from(name), options);
        s = sf_span_pool_name(slot);
        if (!options || !(options->flags & SF_SPAN_DETACHED))
            sf_active_set(t, slot);
    } else {
        atomic_fetch_add_explicit(&sf_library.dropped, 1, memory_order_relaxed);
        sf_library_say("16384 spans are open; further ones are dropped");
    }
    sf_library_leave(t);
    return s;
}

sf_span sf_span_start(const char *name)
{
    return sf_span_start_with(name, NULL);
}

static void write_dropped(struct sf_buf *b, uint32_t field, uint32_t n)
{
    if (!n)
        return;
    sf_pb_write_u64(b, field, n);
    atomic_fetch_add_explicit(&sf_library.attrs_dropped, n, memory_order_relaxed);
}

/* The wall clock may jump while a span runs; its length must not. */
static int64_t end_time(const struct sf_span_slot *slot, uint64_t end_unix_ns)
{
    if (end_unix_ns)
        return (int64_t)end_unix_ns;
    if (slot->start_mono_ns)
        return slot->start_unix_ns + (sf_clock_mono_ns() - slot->start_mono_ns);
    return sf_clock_unix_ns();
}

/* Queues the span as field 2 of ScopeSpans, with its tag and length. */
static bool queue(struct sf_span_slot *slot)
{
    uint8_t head[8];
    struct sf_buf *b = &slot->body;
    size_t len = b->len, n = 0;
    if (!sf_buf_ok(b))
        return false;
    head[n++] = 2 << 3 | SF_PB_LEN;
    for (uint64_t v = len;; v >>= 7) {
        head[n++] = (uint8_t)(v & 0x7f) | (v >= 0x80 ? 0x80 : 0);
        if (v < 0x80)
            break;
    }
    if (!sf_buf_take(b, n))
        return false;
    memmove(b->p + n, b->p, len);
    memcpy(b->p, head, n);
    return sf_exporter_add(&sf_library.exporter, sf_buf_bytes(b));
}

static void span_finish(struct sf_span_slot *slot, uint64_t end_unix_ns)
{
    struct sf_buf *b = &slot->body;
    b->max = SF_SPAN_BODY_MAX + 1024;                 /* reserve: the fields of the end always
                                                       * fit */
    if (!sf_span_attr_has(slot, SF_STR("thread.id"))) /* not if the program has set it */
        sf_attr_write_int(b, 9, SF_STR("thread.id"), slot->tid);
    if (sf_library.settings.cost_items)
        sf_span_cost_write(&slot->cost, sf_library.settings.cost_items, sf_thread_self.tid,
                           slot->record + 16, b);
    sf_pb_write_fixed64(b, 8, (uint64_t)end_time(slot, end_unix_ns));
    write_dropped(b, 10, slot->dropped_attrs);
    write_dropped(b, 12, slot->dropped_events);
    write_dropped(b, 14, slot->dropped_links);
    if (atomic_load_explicit(&sf_library.is_on, memory_order_relaxed) && queue(slot))
        slot->n_queued++;
    else
        atomic_fetch_add_explicit(&sf_library.dropped, 1, memory_order_relaxed);
}

void sf_span_end_at(sf_span s, uint64_t end_unix_ns)
{
    enum {
        KEPT_CAP = 4096
    }; /* a longer buffer is freed with the span instead of staying with its
        * slot */
    struct sf_thread_state *t = &sf_thread_self;
    struct sf_span_slot *slot;

    if (!s || !sf_library_enter(t))
        return;
    slot = sf_span_pool_lock(s);
    if (slot) {
        if (t->current == s)
            sf_active_set(t, sf_span_pool_find_under(slot->under));
        atomic_fetch_add_explicit(&slot->gen, 1, memory_order_release); /* from here on the span has
                                                                         * ended */
        if (slot->is_local_root && slot->is_recording)
            sf_selection_end(slot, end_time(slot, end_unix_ns) - slot->start_unix_ns);
        if (slot->is_recording && slot->epoch == t->epoch)
            span_finish(slot, end_unix_ns);
        sf_heap_free(slot->tracestate);
        slot->tracestate = NULL;
        if (slot->body.cap > KEPT_CAP)
            sf_buf_done(&slot->body);
        sf_lock_give(&slot->lock);
        sf_span_pool_give(slot);
    }
    sf_library_leave(t);
}

void sf_span_end(sf_span s)
{
    sf_span_end_at(s, 0);
}

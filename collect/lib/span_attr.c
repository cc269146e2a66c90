/* The contents of a span: attributes, events, links, status, a new name. */
#include "base/text.h"
#include "collect/lib/attr_write.h"
#include "collect/lib/library.h"
#include "collect/lib/span_pool.h"
#include "collect/lib/span_write.h"
#include "collect/sys/clock.h"
#include "wire/pb_write.h"

/* The locked slot of a span that is recorded in this process, else NULL. span_attr_leave() releases
 * it. */
static struct sf_span_slot *span_attr_enter(struct sf_thread_state *t, sf_span s)
{
    struct sf_span_slot *slot = sf_span_pool_find(s);
    /* Spans that are not sampled return without taking the lock. */
    if (!slot || !slot->is_recording || !sf_library_enter(t))
        return NULL;
    slot = sf_span_pool_lock(s);
    if (slot && slot->is_recording && slot->epoch == t->epoch && sf_buf_ok(&slot->body))
        return slot;
    if (slot)
        sf_lock_give(&slot->lock);
    sf_library_leave(t);
    return NULL;
}

static void span_attr_leave(struct sf_thread_state *t, struct sf_span_slot *slot)
{
    sf_lock_give(&slot->lock);
    sf_library_leave(t);
}

/* A field that did not fit is removed completely, so that the message stays valid. */
static bool keep_or_undo(struct sf_buf *b, size_t len_before)
{
    if (sf_buf_ok(b))
        return true;
    b->len = len_before;
    b->err = SF_OK;
    return false;
}

static uint64_t key_bit(sf_str key)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < key.len; i++)
        h = (h ^ (uint8_t)key.p[i]) * 16777619u;
    return (uint64_t)1 << (h >> 26);
}

static sf_str span_attr_key_of(sf_bytes key_value)
{
    struct sf_pb kv = sf_pb_init(key_value);
    while (sf_pb_next(&kv)) {
        if (kv.tag == SF_PB_TAG(1, SF_PB_LEN))
            return sf_pb_str(&kv);
        sf_pb_skip(&kv);
    }
    return SF_STR_NONE;
}

/* A key set again replaces its older value: servers differ in which of two values they use. */
static void remove_key(struct sf_span_slot *slot, sf_str key)
{
    struct sf_buf *b = &slot->body;
    struct sf_pb pb = sf_pb_init(sf_buf_bytes(b));
    for (const uint8_t *from = pb.at; sf_pb_next(&pb); from = pb.at) {
        if (pb.tag != SF_PB_TAG(9, SF_PB_LEN)) {
            sf_pb_skip(&pb);
            continue;
        }
        if (!sf_str_eq(span_attr_key_of(sf_pb_bytes(&pb)), key))
            continue;
        memmove(b->p + (from - b->p), pb.at, (size_t)(b->p + b->len - pb.at));
        b->len -= (size_t)(pb.at - from);
        slot->n_attrs--;
        return;
    }
}

bool sf_span_attr_has(const struct sf_span_slot *slot, sf_str key)
{
    struct sf_pb pb = sf_pb_init(sf_buf_bytes(&slot->body));
    if (!(slot->key_mask & key_bit(key)))
        return false;
    while (sf_pb_next(&pb)) {
        if (pb.tag != SF_PB_TAG(9, SF_PB_LEN))
            sf_pb_skip(&pb);
        else if (sf_str_eq(span_attr_key_of(sf_pb_bytes(&pb)), key))
            return true;
    }
    return false;
}

static void span_attr_set(sf_span s, const sf_attr *attr, sf_str text)
{
    struct sf_thread_state *t = &sf_thread_self;
    struct sf_span_slot *slot = span_attr_enter(t, s);
    sf_str key = sf_str_from(attr->key);
    size_t before;

    if (!slot)
        return;
    if (key.len && slot->key_mask & key_bit(key))
        remove_key(slot, key);
    before = slot->body.len;
    if (slot->n_attrs >= sf_library.settings.max_attrs) {
        slot->dropped_attrs++;
    } else if (key.len) {
        if (attr->type == SF_ATTR_STR)
            sf_attr_write_str(&slot->body, 9, key, text);
        else
            sf_attr_write(&slot->body, 9, attr, 0);
        if (keep_or_undo(&slot->body, before)) {
            slot->n_attrs++;
            slot->key_mask |= key_bit(key);
        } else {
            slot->dropped_attrs++;
        }
    }
    span_attr_leave(t, slot);
}

static size_t span_attr_cut(const char *text, size_t len)
{
    sf_str s = {text, len};
    size_t max = sf_library.settings.max_value_len;
    return s.len > max ? sf_utf8_cut(s, max) : s.len;
}

void sf_span_set_strn(sf_span s, const char *key, const char *val, size_t len)
{
    if (key && val)
        span_attr_set(s, &(sf_attr){.key = key, .type = SF_ATTR_STR},
                      (sf_str){val, span_attr_cut(val, len)});
}

void sf_span_set_str(sf_span s, const char *key, const char *val)
{
    if (val)
        sf_span_set_strn(s, key, val, strlen(val));
}

void sf_span_set_int(sf_span s, const char *key, int64_t val)
{
    span_attr_set(s, &(sf_attr){.key = key, .type = SF_ATTR_INT, .val.i = val}, SF_STR_NONE);
}

void sf_span_set_double(sf_span s, const char *key, double val)
{
    span_attr_set(s, &(sf_attr){.key = key, .type = SF_ATTR_DOUBLE, .val.d = val}, SF_STR_NONE);
}

void sf_span_set_bool(sf_span s, const char *key, int val)
{
    span_attr_set(s, &(sf_attr){.key = key, .type = SF_ATTR_BOOL, .val.b = val != 0}, SF_STR_NONE);
}

void sf_span_set_name(sf_span s, const char *name)
{
    struct sf_thread_state *t = &sf_thread_self;
    struct sf_span_slot *slot = name ? span_attr_enter(t, s) : NULL;
    size_t before;
    if (!slot)
        return;
    before = slot->body.len;
    sf_attr_write_text(&slot->body, 5, sf_str_from(name), SF_SPAN_NAME_MAX); /* the last one wins */
    keep_or_undo(&slot->body, before);
    span_attr_leave(t, slot);
}

void sf_span_set_status(sf_span s, sf_status status, const char *message)
{
    struct sf_thread_state *t = &sf_thread_self;
    struct sf_span_slot *slot = span_attr_enter(t, s);
    size_t before, mark;
    if (!slot)
        return;
    before = slot->body.len;
    if (slot->status != SF_STATUS_OK && (status == SF_STATUS_OK || status == SF_STATUS_ERROR)) {
        /* Status{2: message, 3: code}. Messages merge when a field comes twice, so the message is
         * written even when it is empty: it replaces an older one. */
        mark = sf_pb_write_begin(&slot->body, 15);
        sf_attr_write_text(&slot->body, 2, sf_str_from(status == SF_STATUS_ERROR ? message : NULL),
                           SF_SPAN_NAME_MAX);
        sf_pb_write_u64(&slot->body, 3, status);
        sf_pb_write_end(&slot->body, mark);
        if (keep_or_undo(&slot->body, before))
            slot->status = (uint8_t)status;
    }
    span_attr_leave(t, slot);
}

static uint32_t write_attrs(struct sf_buf *b, uint32_t field, const sf_attr *attrs, size_t n)
{
    uint32_t dropped = 0;
    for (size_t i = 0; attrs && i < n; i++) {
        if (i >= sf_library.settings.max_attrs ||
            !sf_attr_write(b, field, &attrs[i], sf_library.settings.max_value_len))
            dropped++;
    }
    return dropped;
}

void sf_span_event_with(sf_span s, const char *name, const sf_attr *attrs, size_t n_attrs)
{
    struct sf_thread_state *t = &sf_thread_self;
    struct sf_span_slot *slot = name ? span_attr_enter(t, s) : NULL;
    size_t before, mark;
    uint32_t dropped;
    if (!slot)
        return;
    before = slot->body.len;
    if (slot->n_events < sf_library.settings.max_events) {
        mark = sf_pb_write_begin(&slot->body, 11); /* {1 time, 2 name, 3 attributes, 4 dropped} */
        sf_pb_write_fixed64(&slot->body, 1, (uint64_t)sf_clock_unix_ns());
        sf_attr_write_text(&slot->body, 2, sf_str_from(name), SF_SPAN_NAME_MAX);
        dropped = write_attrs(&slot->body, 3, attrs, n_attrs);
        if (dropped)
            sf_pb_write_u64(&slot->body, 4, dropped);
        sf_pb_write_end(&slot->body, mark);
    }
    if (slot->n_events < sf_library.settings.max_events && keep_or_undo(&slot->body, before))
        slot->n_events++;
    else
        slot->dropped_events++;
    span_attr_leave(t, slot);
}

void sf_span_event(sf_span s, const char *name)
{
    sf_span_event_with(s, name, NULL, 0);
}

void sf_span_link(sf_span s, const sf_context *to, const sf_attr *attrs, size_t n_attrs)
{
    struct sf_thread_state *t = &sf_thread_self;
    struct sf_span_slot *slot = to ? span_attr_enter(t, s) : NULL;
    size_t before, mark;
    uint32_t dropped;
    if (!slot)
        return;
    before = slot->body.len;
    if (slot->n_links < sf_library.settings.max_links) {
        mark = sf_pb_write_begin(&slot->body,
                                 13); /* {1 trace, 2 span, 3 state, 4 attrs, 6 flags} */
        sf_pb_write_bytes(&slot->body, 1, (sf_bytes){to->trace_id, 16});
        sf_pb_write_bytes(&slot->body, 2, (sf_bytes){to->span_id, 8});
        if (to->tracestate[0])
            sf_pb_write_str(&slot->body, 3,
                            (sf_str){to->tracestate, strnlen(to->tracestate, SF_TRACESTATE_CAP)});
        dropped = write_attrs(&slot->body, 4, attrs, n_attrs);
        if (dropped)
            sf_pb_write_u64(&slot->body, 5, dropped);
        sf_pb_write_fixed32(&slot->body, 6, to->flags | 0x100u | (to->is_remote ? 0x200u : 0));
        sf_pb_write_end(&slot->body, mark);
    }
    if (slot->n_links < sf_library.settings.max_links && keep_or_undo(&slot->body, before))
        slot->n_links++;
    else
        slot->dropped_links++;
    span_attr_leave(t, slot);
}

int sf_span_is_recording(sf_span s)
{
    const struct sf_span_slot *slot = sf_span_pool_find(s);
    return slot && slot->is_recording;
}

/* pins.c - the list of pinned traces. It is kept in memory under the keep book's lock and rewritten
 * as one file for each change; if the file cannot be written, the list is restored. Ended pins are
 * removed by the compact thread. */
#include "store/local/keep/pins.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/limits.h"
#include "base/list.h"
#include "store/local/engine.h"

enum { ENTRY_LEN = 4 + 16 + 3 * 8 + 2 };

/* ---- the file: n u32, then each: tenant u32, trace[16], until, created, start i64, note u16 ----
 */

static bool pins_remember(struct sf_keep_book *b, const struct sf_pin *pin)
{
    char *note = sf_heap_new(pin->note.len + 1);
    if (!note || !sf_list_room(&b->pins, b->n_pins, &b->cap_pins, 16)) {
        sf_heap_free(note);
        return false;
    }
    if (pin->note.len)
        memcpy(note, pin->note.p, pin->note.len);
    b->pins[b->n_pins] = *pin;
    b->pins[b->n_pins++].note = (sf_str){note, pin->note.len};
    return true;
}

enum sf_err sf_pins_decode(sf_bytes in,
                           enum sf_err (*see)(void *arg, const struct sf_pin *pin,
                                              struct sf_why *why),
                           void *arg, struct sf_why *why)
{
    size_t at = 4, n = in.len >= 4 ? sf_load_u32le(in.p) : 0;
    enum sf_err err = SF_OK;
    if (in.len < 4)
        return sf_fail(why, SF_ERR_CORRUPT, "store: " SF_PINS_FILE " is cut off");
    for (size_t i = 0; !err && i < n; i++) {
        const uint8_t *p = in.p + at;
        size_t len = in.len - at >= ENTRY_LEN ? sf_load_u16le(p + 44) : SIZE_MAX;
        struct sf_pin pin;
        if (len > in.len - at || in.len - at - len < ENTRY_LEN)
            return sf_fail(why, SF_ERR_CORRUPT, "store: " SF_PINS_FILE " is cut off");
        pin = (struct sf_pin){.tenant = sf_load_u32le(p),
                              .until_ns = (int64_t)sf_load_u64le(p + 20),
                              .created_ns = (int64_t)sf_load_u64le(p + 28),
                              .start_ns = (int64_t)sf_load_u64le(p + 36),
                              .note = {(const char *)p + ENTRY_LEN, len}};
        memcpy(pin.trace.b, p + 4, 16);
        err = see(arg, &pin, why);
        at += ENTRY_LEN + len;
    }
    if (!err && at != in.len)
        err = sf_fail(why, SF_ERR_CORRUPT, "store: " SF_PINS_FILE " has bytes behind its end");
    return err;
}

static enum sf_err pins_load_one(void *arg, const struct sf_pin *pin, struct sf_why *why)
{
    return pins_remember(arg, pin) ? SF_OK : sf_no_memory(why, "pins");
}

enum sf_err sf_pins_load(struct sf_local *l, struct sf_why *why)
{
    struct sf_buf whole = {0};
    sf_bytes in;
    enum sf_err err = sf_keep_book_file_read(l->dir, SF_PINS_FILE, SF_PINS_MAGIC, l->uuid, &whole,
                                             &in, why);
    if (!err)
        err = sf_pins_decode(in, pins_load_one, &l->keep, why);
    sf_buf_done(&whole);
    return err == SF_ERR_NOT_FOUND ? SF_OK : err;
}

/* Called with the lock held, like all functions below that change the list. */
static enum sf_err pins_save(struct sf_local *l, struct sf_why *why)
{
    const struct sf_keep_book *b = &l->keep;
    struct sf_buf out = {0};
    enum sf_err err;
    sf_keep_book_file_begin(&out, SF_PINS_MAGIC, l->uuid);
    sf_buf_add_u32le(&out, (uint32_t)b->n_pins);
    for (size_t i = 0; i < b->n_pins; i++) {
        const struct sf_pin *p = &b->pins[i];
        sf_buf_add_u32le(&out, p->tenant);
        sf_buf_add(&out, p->trace.b, 16);
        sf_buf_add_u64le(&out, (uint64_t)p->until_ns);
        sf_buf_add_u64le(&out, (uint64_t)p->created_ns);
        sf_buf_add_u64le(&out, (uint64_t)p->start_ns);
        sf_buf_add_u16le(&out, (uint16_t)p->note.len);
        sf_buf_add_str(&out, p->note);
    }
    err = sf_keep_book_file_write(l->dir, SF_PINS_FILE, &out, why);
    sf_buf_done(&out);
    return err;
}

/* A change that cannot be written is undone: `old` is the list as it was before. */
struct change {
    struct sf_pin *old;
    size_t n_old;
};

static bool pins_begin(struct sf_keep_book *b, struct change *c)
{
    c->old = sf_heap_new_n(b->n_pins + 1, sizeof(*c->old));
    c->n_old = b->n_pins;
    if (c->old && b->n_pins)
        memcpy(c->old, b->pins, b->n_pins * sizeof(*c->old));
    return c->old != NULL;
}

static bool has_note(const struct sf_pin *list, size_t n, const char *note)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i].note.p == note)
            return true;
    }
    return false;
}

/* Frees the notes of the list that is discarded. */
static enum sf_err pins_end(struct sf_local *l, struct change *c, struct sf_why *why)
{
    struct sf_keep_book *b = &l->keep;
    enum sf_err err = pins_save(l, why);
    for (size_t i = 0; err && i < b->n_pins; i++) {
        if (!has_note(c->old, c->n_old, b->pins[i].note.p))
            sf_heap_free((void *)b->pins[i].note.p);
    }
    for (size_t i = 0; !err && i < c->n_old; i++) {
        if (!has_note(b->pins, b->n_pins, c->old[i].note.p))
            sf_heap_free((void *)c->old[i].note.p);
    }
    if (err) { /* its capacity never shrinks, so the old list fits */
        b->n_pins = c->n_old;
        if (c->n_old)
            memcpy(b->pins, c->old, c->n_old * sizeof(*c->old));
    } else {
        b->pins_version++;
    }
    sf_heap_free(c->old);
    return err;
}

static bool pins_drop(struct sf_keep_book *b, uint32_t tenant, sf_trace_id id)
{
    for (size_t i = 0; i < b->n_pins; i++) {
        if (b->pins[i].tenant == tenant && sf_trace_id_eq(b->pins[i].trace, id)) {
            b->pins[i] = b->pins[--b->n_pins];
            return true;
        }
    }
    return false;
}

static size_t pins_count(const struct sf_keep_book *b, uint32_t tenant)
{
    size_t n = 0;
    for (size_t i = 0; i < b->n_pins; i++)
        n += b->pins[i].tenant == tenant;
    return n;
}

/* ---- for all ---- */

enum sf_err sf_pins_add(struct sf_store *s, const struct sf_pin *pin, struct sf_why *why)
{
    struct sf_local *l = (struct sf_local *)s;
    struct sf_keep_book *b = &l->keep;
    struct change c;
    enum sf_err err = SF_OK;
    if (pin->note.len > SF_LIMIT_PIN_NOTE_LEN)
        return sf_fail(why, SF_ERR_INPUT, "pin: the note has more than %d bytes",
                       SF_LIMIT_PIN_NOTE_LEN);
    sf_mutex_lock(&b->lock);
    if (!pins_begin(b, &c)) {
        sf_mutex_unlock(&b->lock);
        return sf_no_memory(why, "pins");
    }
    pins_drop(b, pin->tenant, pin->trace);
    if (pins_count(b, pin->tenant) >= SF_LIMIT_PINS)
        err = sf_fail(why, SF_ERR_LIMIT, "pin: %d traces are pinned already; unpin some first",
                      SF_LIMIT_PINS);
    else if (!pins_remember(b, pin))
        err = sf_no_memory(why, "pins");
    if (err) {
        b->n_pins = c.n_old;
        if (c.n_old)
            memcpy(b->pins, c.old, c.n_old * sizeof(*c.old));
        sf_heap_free(c.old);
    } else {
        err = pins_end(l, &c, why);
    }
    sf_mutex_unlock(&b->lock);
    return err;
}

enum sf_err sf_pins_remove(struct sf_store *s, uint32_t tenant, sf_trace_id id, struct sf_why *why)
{
    struct sf_local *l = (struct sf_local *)s;
    struct change c;
    enum sf_err err;
    sf_mutex_lock(&l->keep.lock);
    if (!pins_begin(&l->keep, &c)) {
        err = sf_no_memory(why, "pins");
    } else if (!pins_drop(&l->keep, tenant, id)) {
        sf_heap_free(c.old);
        err = sf_fail(why, SF_ERR_NOT_FOUND, "this trace is not pinned");
    } else {
        err = pins_end(l, &c, why);
    }
    sf_mutex_unlock(&l->keep.lock);
    return err;
}

static int pins_by_end(const void *a, const void *b)
{
    const struct sf_pin *x = a, *y = b;
    if (x->until_ns != y->until_ns)
        return x->until_ns < y->until_ns ? -1 : 1;
    return sf_trace_id_cmp(x->trace, y->trace);
}

static bool pins_is_asked(const struct sf_query_ctx *q, uint32_t tenant)
{
    for (size_t i = 0; i < q->n_tenants; i++) {
        if (q->tenants[i] == tenant)
            return true;
    }
    return false;
}

enum sf_err sf_pins_read(struct sf_store *s, struct sf_query_ctx *q, const struct sf_pin **out,
                         uint32_t *out_n, struct sf_why *why)
{
    struct sf_local *l = (struct sf_local *)s;
    struct sf_keep_book *b = &l->keep;
    int64_t now_ns = sf_local_wall_ns(l);
    uint32_t n = 0;
    bool is_full = false;
    sf_mutex_lock(&b->lock);
    struct sf_pin *list = sf_arena_new_n(q->req, b->n_pins + 1, sizeof(*list));
    for (size_t i = 0; list && !is_full && i < b->n_pins; i++) {
        if (!pins_is_asked(q, b->pins[i].tenant) || b->pins[i].until_ns <= now_ns)
            continue;
        list[n] = b->pins[i];
        is_full = !sf_arena_copy(q->req, b->pins[i].note, &list[n++].note);
    }
    sf_mutex_unlock(&b->lock);
    if (!list || is_full)
        return sf_no_room(why, "the list of pins");
    if (n)
        qsort(list, n, sizeof(*list), pins_by_end);
    *out = list;
    *out_n = n;
    return SF_OK;
}

bool sf_pins_has(struct sf_local *l, const struct sf_pin *pin)
{
    struct sf_keep_book *b = &l->keep;
    bool has = false;
    sf_mutex_lock(&b->lock);
    for (size_t i = 0; !has && i < b->n_pins; i++) {
        const struct sf_pin *p = &b->pins[i];
        has = p->tenant == pin->tenant && sf_trace_id_eq(p->trace, pin->trace) &&
              p->until_ns == pin->until_ns && p->created_ns == pin->created_ns &&
              sf_str_eq(p->note, pin->note);
    }
    sf_mutex_unlock(&b->lock);
    return has;
}

/* ---- for the store ---- */

bool sf_pins_is_named(const struct sf_pin *p, const struct sf_selector *which)
{
    if (which->what == SF_SELECT_ALL)
        return (which->from_ns == 0 && which->to_ns == 0) ||
               (p->start_ns >= which->from_ns &&
                (which->to_ns == 0 || p->start_ns <= which->to_ns));
    for (uint32_t i = 0; which->what == SF_SELECT_TRACES && i < which->n_traces; i++) {
        if (sf_trace_id_eq(which->trace_ids[i], p->trace))
            return true;
    }
    return false;
}

enum sf_err sf_pins_erase(struct sf_local *l, uint32_t tenant, const struct sf_selector *which,
                          struct sf_why *why)
{
    struct sf_keep_book *b = &l->keep;
    struct change c;
    enum sf_err err = SF_OK;
    sf_mutex_lock(&b->lock);
    if (!pins_begin(b, &c)) {
        sf_mutex_unlock(&b->lock);
        return sf_no_memory(why, "pins");
    }
    for (size_t i = 0; i < b->n_pins;) {
        if (b->pins[i].tenant == tenant && sf_pins_is_named(&b->pins[i], which))
            b->pins[i] = b->pins[--b->n_pins];
        else
            i++;
    }
    if (b->n_pins < c.n_old)
        err = pins_end(l, &c, why);
    else
        sf_heap_free(c.old);
    sf_mutex_unlock(&b->lock);
    return err;
}

enum sf_err sf_pins_work(struct sf_local *l, struct sf_why *why)
{
    struct sf_keep_book *b = &l->keep;
    int64_t now_ns = sf_local_wall_ns(l);
    struct change c;
    enum sf_err err = SF_OK;
    bool has_ended = false;
    sf_mutex_lock(&b->lock);
    for (size_t i = 0; i < b->n_pins; i++)
        has_ended = has_ended || b->pins[i].until_ns <= now_ns;
    if (has_ended && pins_begin(b, &c)) {
        for (size_t i = 0; i < b->n_pins;) {
            if (b->pins[i].until_ns <= now_ns)
                b->pins[i] = b->pins[--b->n_pins];
            else
                i++;
        }
        err = pins_end(l, &c, why);
    }
    sf_mutex_unlock(&b->lock);
    return err;
}

static int pins_by_trace(const void *a, const void *b)
{
    return sf_trace_id_cmp(((const struct sf_pin *)a)->trace, ((const struct sf_pin *)b)->trace);
}

enum sf_err sf_pins_now(struct sf_local *l, uint32_t tenant, int64_t since_ns, struct sf_pin **out,
                        size_t *out_n, struct sf_why *why)
{
    struct sf_keep_book *b = &l->keep;
    int64_t now_ns = sf_local_wall_ns(l);
    struct sf_pin *list;
    size_t n = 0;
    sf_mutex_lock(&b->lock);
    list = sf_heap_new_n(b->n_pins + 1, sizeof(*list));
    for (size_t i = 0; list && i < b->n_pins; i++) {
        const struct sf_pin *p = &b->pins[i];
        if ((tenant == 0 || p->tenant == tenant) && p->until_ns > now_ns &&
            p->created_ns >= since_ns) {
            list[n] = *p;
            list[n++].note = SF_STR_NONE;
        }
    }
    sf_mutex_unlock(&b->lock);
    if (!list)
        return sf_no_memory(why, "pins");
    if (n)
        qsort(list, n, sizeof(*list), pins_by_trace);
    *out = list;
    *out_n = n;
    return SF_OK;
}

bool sf_pins_any(struct sf_local *l, uint32_t tenant, uint64_t *out_version)
{
    bool is_any;
    sf_mutex_lock(&l->keep.lock);
    is_any = tenant ? pins_count(&l->keep, tenant) > 0 : l->keep.n_pins > 0;
    *out_version = l->keep.pins_version;
    sf_mutex_unlock(&l->keep.lock);
    return is_any;
}

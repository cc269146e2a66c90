#include "store/clickhouse/pin_book.h"

#include <string.h>

#include "base/heap.h"
#include "base/num.h"
#include "base/text.h"
#include "os/clock.h"
#include "store/clickhouse/pin_names.h"
#include "store/clickhouse/shared_text.h"
#include "store/local/keep/pins.h"
#include "store/local/local.h"

enum {
    TRIES = 5,
    MAX_TENANTS = 4096,
    BODY_LEN = 16,     /* of the fixed part: created_ns and start_ns as i64; the note follows. The
                        * end of the pin is the column ends_ns */
    OVERLAP_MS = 60000 /* read this much before the newest known row: a row's time is the start of
                        * its insert, and the row becomes visible at the end of it */
};
#define ARENA_CAP ((size_t)64 << 20)

bool sf_pin_book_trace(const struct sf_shared_text *t, sf_trace_id *out)
{
    return t->name.len == 32 && sf_hex_decode(t->name, out->b, 16);
}

/* ---- encoding of a pin as a shared text ---- */

struct pin_text {
    struct sf_shared_text text;
    char name[33];
    struct sf_buf body;
};

static enum sf_err pin_book_name(struct pin_text *p, struct sf_store *store, uint32_t tenant,
                                 sf_trace_id id, struct sf_why *why)
{
    *p = (struct pin_text){.text = {.kind = SF_STR(SF_PIN_BOOK_KIND)}};
    if (!sf_local_tenant_name(store, tenant, &p->text.tenant))
        return sf_fail(why, SF_ERR_NOT_FOUND, "this tenant has no name");
    sf_trace_id_render(id, p->name);
    p->text.name = sf_str_from(p->name);
    return SF_OK;
}

static enum sf_err pin_book_fill(struct pin_text *p, const struct sf_pin *pin, struct sf_why *why)
{
    sf_buf_add_u64le(&p->body, (uint64_t)pin->created_ns);
    sf_buf_add_u64le(&p->body, (uint64_t)pin->start_ns);
    sf_buf_add_str(&p->body, pin->note);
    p->text.ends_ns = pin->until_ns;
    p->text.body = sf_buf_str(&p->body);
    return sf_buf_ok(&p->body) ? SF_OK : sf_no_memory(why, "a pin");
}

static bool read_pin(const struct sf_shared_text *t, struct sf_pin *out)
{
    if (!sf_pin_book_trace(t, &out->trace) || t->body.len < BODY_LEN)
        return false;
    out->until_ns = t->ends_ns;
    out->created_ns = (int64_t)sf_load_u64le(t->body.p);
    out->start_ns = (int64_t)sf_load_u64le(t->body.p + 8);
    out->note = sf_str_from_at(t->body, BODY_LEN);
    return true;
}

/* Writes `t` as the next version, whatever the newest one is. If another node writes that version
 * first, reads the newest version again and retries, at most TRIES times. */
static enum sf_err pin_book_put(struct sf_shard *first, const char *database,
                                struct sf_shared_text *t, struct sf_why *why)
{
    enum sf_err err = SF_ERR_BUSY;
    for (unsigned i = 0; err == SF_ERR_BUSY && i < TRIES; i++) {
        struct sf_shared_text now = {.kind = t->kind, .tenant = t->tenant, .name = t->name};
        struct sf_buf answer = {0};
        err = sf_shared_text_get(first, database, &now, &answer, why);
        t->version = now.version;
        sf_buf_done(&answer);
        if (!err)
            err = sf_shared_text_put(first, database, t, why);
    }
    return err;
}

/* ---- reading pins of other nodes ---- */

struct learning {
    struct sf_store *store;
    struct sf_pin_names seen; /* all pins in `shared`; filled by the first read only */
    bool has_begun;
};

static enum sf_err pin_book_see(void *arg, const struct sf_shared_text *t, struct sf_why *why)
{
    struct learning *l = arg;
    struct sf_pin pin = {0};
    enum sf_err err;
    if (!l->has_begun && !sf_pin_names_add(&l->seen, t->tenant, t->name))
        return sf_no_memory(why, "pins");
    if (!sf_pin_book_trace(t, &pin.trace))
        return SF_OK;
    if (t->is_gone || t->ends_ns <= sf_clock_wall_ns()) {
        if (sf_store_local_ops.tenant(l->store, t->tenant, false, &pin.tenant, NULL))
            return SF_OK;
        err = sf_store_local_ops.unpin(l->store, pin.tenant, pin.trace, why);
        return err == SF_ERR_NOT_FOUND ? SF_OK : err;
    }
    if (!read_pin(t, &pin))
        return SF_OK; /* written by a newer version of the program in a format unknown here */
    err = sf_store_local_ops.tenant(l->store, t->tenant, true, &pin.tenant, why);
    if (err || sf_local_is_pinned(l->store, &pin))
        return err;
    err = sf_store_local_ops.pin(l->store, &pin, why);
    return err == SF_ERR_LIMIT || err == SF_ERR_INPUT ? SF_OK : err; /* other nodes hold it */
}

/* Writes the pins of one tenant that are in the local store only to `shared`: they were made while
 * this server had no fleet. */
static enum sf_err share_own(const struct learning *l, struct sf_shard *first, const char *database,
                             uint32_t tenant, struct sf_arena *req, struct sf_why *why)
{
    struct sf_query_ctx q = {.tenants = &tenant, .n_tenants = 1, .req = req};
    const struct sf_pin *pins = NULL;
    uint32_t n = 0;
    enum sf_err err = sf_store_local_ops.pins(l->store, &q, &pins, &n, why);
    for (uint32_t i = 0; !err && i < n; i++) {
        struct pin_text p;
        err = pin_book_name(&p, l->store, tenant, pins[i].trace, why);
        if (err || sf_pin_names_has(&l->seen, p.text.tenant, p.text.name))
            continue;
        err = pin_book_fill(&p, &pins[i], why);
        if (!err)
            err = pin_book_put(first, database, &p.text, why);
        sf_buf_done(&p.body);
    }
    return err;
}

static enum sf_err share_all(const struct learning *l, struct sf_shard *first, const char *database,
                             struct sf_why *why)
{
    sf_str *names = sf_heap_new_n(MAX_TENANTS, sizeof(*names));
    struct sf_arena req = {0};
    size_t n = names ? l->store->ops->tenants(l->store, names, MAX_TENANTS) : 0;
    enum sf_err err = names && sf_arena_init(&req, ARENA_CAP) ? SF_OK : sf_no_memory(why, "pins");
    for (size_t i = 0; !err && i < n && i < MAX_TENANTS; i++) {
        uint32_t tenant;
        sf_arena_reset(&req);
        err = sf_store_local_ops.tenant(l->store, names[i], false, &tenant, why);
        if (!err)
            err = share_own(l, first, database, tenant, &req, why);
    }
    sf_arena_done(&req);
    sf_heap_free(names);
    return err;
}

enum sf_err sf_pin_book_learn(struct sf_pin_book *b, struct sf_shard *first, const char *database,
                              struct sf_store *store, struct sf_why *why)
{
    struct learning l = {.store = store, .has_begun = b->has_begun};
    int64_t newest_ms = b->newest_ms;
    enum sf_err err = sf_shared_text_list(
        first, database, SF_STR(SF_PIN_BOOK_KIND),
        b->has_begun && newest_ms > OVERLAP_MS ? newest_ms - OVERLAP_MS : 0, pin_book_see, &l,
        &newest_ms, why);
    if (!err && !b->has_begun)
        err = share_all(&l, first, database, why);
    if (!err) {
        b->has_begun = true;
        b->newest_ms = newest_ms;
    }
    sf_pin_names_done(&l.seen);
    return err;
}

/* ---- changes ---- */

/* Finds the pin of a trace in the local store. */
static bool pin_book_find(struct sf_store *store, uint32_t tenant, sf_trace_id id,
                          struct sf_arena *req, struct sf_pin *out)
{
    struct sf_query_ctx q = {.tenants = &tenant, .n_tenants = 1, .req = req};
    const struct sf_pin *pins = NULL;
    uint32_t n = 0;
    if (sf_store_local_ops.pins(store, &q, &pins, &n, NULL))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (sf_trace_id_eq(pins[i].trace, id)) {
            *out = pins[i];
            return true;
        }
    }
    return false;
}

enum sf_err sf_pin_book_pin(struct sf_shard *first, const char *database, struct sf_store *store,
                            const struct sf_pin *pin, struct sf_why *why)
{
    struct pin_text p;
    struct sf_pin old;
    struct sf_arena req = {0};
    bool had = false;
    enum sf_err err = pin_book_name(&p, store, pin->tenant, pin->trace, why);
    if (!err && !sf_arena_init(&req, ARENA_CAP))
        err = sf_no_memory(why, "a pin");
    if (!err) {
        had = pin_book_find(store, pin->tenant, pin->trace, &req, &old);
        err = sf_store_local_ops.pin(store, pin, why);
    }
    if (!err) {
        err = pin_book_fill(&p, pin, why);
        if (!err)
            err = pin_book_put(first, database, &p.text, why);
        if (err && had)
            (void)sf_store_local_ops.pin(store, &old, NULL);
        else if (err)
            (void)sf_store_local_ops.unpin(store, pin->tenant, pin->trace, NULL);
        sf_buf_done(&p.body);
    }
    sf_arena_done(&req);
    return err;
}

static enum sf_err pin_book_take_away(struct sf_shard *first, const char *database,
                                      struct sf_shared_text *t, bool *out, struct sf_why *why)
{
    enum sf_err err = SF_ERR_BUSY;
    *out = false;
    for (unsigned i = 0; err == SF_ERR_BUSY && i < TRIES; i++) {
        struct sf_buf answer = {0};
        err = sf_shared_text_get(first, database, t, &answer, why);
        t->body = SF_STR_NONE;
        sf_buf_done(&answer);
        if (err || t->version == 0 || t->is_gone)
            return err;
        t->is_gone = true;
        err = sf_shared_text_put(first, database, t, why);
        *out = !err;
    }
    return err;
}

enum sf_err sf_pin_book_unpin(struct sf_shard *first, const char *database, struct sf_store *store,
                              uint32_t tenant, sf_trace_id id, struct sf_why *why)
{
    struct pin_text p;
    bool was_shared = false;
    enum sf_err err = pin_book_name(&p, store, tenant, id, why);
    if (!err)
        err = pin_book_take_away(first, database, &p.text, &was_shared, why);
    if (err)
        return err;
    err = sf_store_local_ops.unpin(store, tenant, id, why);
    return err == SF_ERR_NOT_FOUND && was_shared ? SF_OK : err;
}

enum sf_err sf_pin_book_erase(struct sf_shard *first, const char *database, struct sf_store *store,
                              uint32_t tenant, const struct sf_selector *which, struct sf_why *why)
{
    struct sf_arena req = {0};
    struct sf_query_ctx q = {.tenants = &tenant, .n_tenants = 1, .req = &req};
    const struct sf_pin *pins = NULL;
    uint32_t n = 0;
    enum sf_err err = sf_arena_init(&req, ARENA_CAP)
                          ? sf_store_local_ops.pins(store, &q, &pins, &n, why)
                          : sf_no_memory(why, "pins");
    for (uint32_t i = 0; !err && i < n; i++) {
        struct pin_text p;
        bool was_shared;
        if (!sf_pins_is_named(&pins[i], which))
            continue;
        err = pin_book_name(&p, store, tenant, pins[i].trace, why);
        if (!err)
            err = pin_book_take_away(first, database, &p.text, &was_shared, why);
    }
    sf_arena_done(&req);
    return err;
}

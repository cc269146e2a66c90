/* Constants of a chunk. Checkpoints are among the events, each pointing back to the previous one.
 * They are read from the newest backwards, so of two definitions of a key the first one read is
 * used. Only the offset of a constant is recorded: most of them are never used. */
#include "base/key.h"
#include "decode/jfr/jfr.h"

enum { MAX_CONSTANTS = 1 << 20, MAX_HOPS = 100000, MAX_TEXT_HOPS = 4 };

struct sf_jfr_cursor sf_jfr_pool_cursor_at(const struct sf_jfr *r, uint64_t off)
{
    return (struct sf_jfr_cursor){
        .at = r->chunk + off, .end = r->chunk + r->h.size, .is_plain = !(r->h.flags & 1)};
}

/* The index of a constant, or SF_NONE; then `lookup` is where a new one is added. */
static uint32_t jfr_pool_find(const struct sf_jfr *r, uint8_t pool, int64_t key,
                              struct sf_table_lookup *lookup)
{
    uint32_t at;
    *lookup = sf_table_lookup(&r->constant_at, sf_key_mix(r->pool_keys[pool], (uint64_t)key));
    while (sf_table_next(lookup, &at)) {
        if (r->constants[at].key == key && r->constants[at].pool == pool)
            return at;
    }
    return SF_NONE;
}

struct sf_jfr_constant *sf_jfr_pool_constant_find(const struct sf_jfr *r,
                                                  enum sf_jfr_pool_kind pool, int64_t key)
{
    struct sf_table_lookup lookup;
    uint32_t at = r->n_constants ? jfr_pool_find(r, (uint8_t)pool, key, &lookup) : SF_NONE;
    return at == SF_NONE ? NULL : &r->constants[at];
}

static void jfr_pool_add(struct sf_jfr *r, struct sf_jfr_cursor *c, uint8_t pool, int64_t key)
{
    struct sf_table_lookup lookup;
    if (r->n_constants == MAX_CONSTANTS) {
        sf_jfr_cursor_fault(c, c->at, "more constants than a chunk may have");
        return;
    }
    if (!sf_table_more(&r->constant_at) ||
        !sf_list_room_in(&r->scratch, &r->constants, r->n_constants, &r->cap_constants, 2048)) {
        r->b->is_full = true;
        return;
    }
    if (jfr_pool_find(r, pool, key, &lookup) != SF_NONE)
        return; /* a newer definition exists */
    sf_table_keep(&r->constant_at, &lookup, r->n_constants);
    r->constants[r->n_constants++] = (struct sf_jfr_constant){
        .key = key, .off = (uint32_t)(c->at - r->chunk), .pool = pool};
}

static void read_pool(struct sf_jfr *r, struct sf_jfr_cursor *c)
{
    const uint8_t *from = c->at;
    const struct sf_jfr_class *k = sf_jfr_meta_class_at(r, (uint64_t)sf_jfr_long(c));
    uint32_t n = sf_jfr_cursor_count(c, 1);
    if (!k) {
        sf_jfr_cursor_fault(c, from, "constants of a class that is not there");
        return;
    }
    while (n-- > 0 && !c->fault && !r->b->is_full) {
        int64_t key = sf_jfr_long(c);
        if (k->pool && !c->fault)
            jfr_pool_add(r, c, k->pool, key);
        sf_jfr_value_skip(r, c, k);
    }
}

/* Returns the offset of the previous one, or 0. */
static uint64_t read_checkpoint(struct sf_jfr *r, struct sf_jfr_cursor *c, uint64_t off)
{
    const uint8_t *from = c->at;
    int32_t size = sf_jfr_int(c);
    int64_t ticks, delta;
    uint32_t n;
    if (size <= 0 || (size_t)size > (size_t)(c->end - from)) {
        sf_jfr_cursor_fault(c, from, "a checkpoint is larger than the room for it");
        return 0;
    }
    c->end = from + size;
    if (sf_jfr_long(c) != 1)
        sf_jfr_cursor_fault(c, from, "no checkpoint where one should be");
    ticks = sf_jfr_long(c);
    sf_jfr_long(c); /* duration */
    delta = sf_jfr_long(c);
    sf_jfr_byte(c); /* type of the checkpoint, not used */
    n = sf_jfr_cursor_count(c, 2);
    while (n-- > 0 && !c->fault && !r->b->is_full)
        read_pool(r, c);
    if (off == r->h.pool_off)
        r->last_ticks = ticks;
    if (c->fault || delta == 0)
        return 0;
    /* Only backwards, so that a cycle is impossible. */
    if (delta > 0 || (uint64_t) - (delta + 1) + 1 > off - SF_JFR_HEADER_LEN) {
        sf_jfr_cursor_fault(c, from, "a checkpoint points to none before it");
        return 0;
    }
    return off - (uint64_t)-delta;
}

bool sf_jfr_pools_read(struct sf_jfr *r, struct sf_jfr_cursor *c)
{
    uint64_t off = r->h.pool_off, end = r->h.size;
    for (unsigned hops = 0; off && !c->fault && !r->b->is_full; hops++) {
        *c = sf_jfr_pool_cursor_at(r, off);
        c->end = r->chunk + end; /* a checkpoint must not reach into the next: every byte is read
                                  * once */
        end = off;
        if (hops == MAX_HOPS)
            sf_jfr_cursor_fault(c, c->at, "more checkpoints than a chunk may have");
        else
            off = read_checkpoint(r, c, off);
    }
    return !c->fault && !r->b->is_full;
}

/* --- texts --- */

sf_str sf_jfr_pool_text_of(struct sf_jfr *r, const struct sf_jfr_text *first, struct sf_arena *a)
{
    struct sf_jfr_text t = *first;
    sf_str out = SF_STR_NONE;
    for (int hops = 0; t.encoding == SF_JFR_POOL && hops < MAX_TEXT_HOPS; hops++) {
        const struct sf_jfr_constant *k = sf_jfr_pool_constant_find(r, SF_JFR_P_STRING, t.key);
        struct sf_jfr_cursor c;
        if (!k)
            return out;
        c = sf_jfr_pool_cursor_at(r, k->off);
        sf_jfr_cursor_text_read(&c, &t);
    }
    if (!sf_jfr_cursor_text_str(&t, a, &out))
        r->b->is_full = true;
    return out;
}

sf_str sf_jfr_pool_text(struct sf_jfr *r, enum sf_jfr_pool_kind pool, int64_t key)
{
    const struct sf_jfr_constant *k = sf_jfr_pool_constant_find(r, pool, key);
    const struct sf_jfr_class *cls = k ? r->pool_class[pool] : NULL;
    struct sf_jfr_values v;
    struct sf_jfr_cursor c;
    if (!cls)
        return SF_STR_NONE;
    c = sf_jfr_pool_cursor_at(r, k->off);
    sf_jfr_values_read(r, &c, cls, &v, NULL);
    return sf_jfr_pool_text_of(r, &v.name, &r->scratch);
}

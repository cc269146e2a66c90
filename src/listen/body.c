#include "listen/body.h"

#include <string.h>

#include "base/invariant.h"
#include "base/limits.h"

enum { ROOM_MIN = 4096 }; /* smaller parts are not read separately */

bool sf_body_budget_is_over(const struct sf_body_budget *b)
{
    return atomic_load_explicit(&b->held, memory_order_relaxed) >= b->max;
}

void sf_body_budget_take(struct sf_body_budget *b, size_t len)
{
    atomic_fetch_add_explicit(&b->held, len, memory_order_relaxed);
}

void sf_body_budget_give(struct sf_body_budget *b, size_t len)
{
    atomic_fetch_sub_explicit(&b->held, len, memory_order_relaxed);
}

bool sf_body_is_spooled(const struct sf_body *b)
{
    return sf_spool_is_open(&b->spool);
}

/* The budget counts allocated memory, not only the used part. */
static void charge_memory(struct sf_body *b)
{
    if (b->memory.cap > b->charged)
        sf_body_budget_take(b->budget, b->memory.cap - b->charged);
    else
        sf_body_budget_give(b->budget, b->charged - b->memory.cap);
    b->charged = b->memory.cap;
}

static enum sf_err spool(struct sf_body *b, sf_bytes piece, struct sf_why *why)
{
    size_t spooled = atomic_fetch_add_explicit(&b->budget->spooled, piece.len,
                                               memory_order_relaxed);
    enum sf_err err;

    if (spooled >= SF_LIMIT_SPOOL_LEN)
        err = sf_fail(why, SF_ERR_BUSY, "too many large requests at once");
    else
        err = sf_spool_write(&b->spool, b->len, piece.p, piece.len, why);
    if (err) {
        atomic_fetch_sub_explicit(&b->budget->spooled, piece.len, memory_order_relaxed);
        return err;
    }
    b->len += piece.len;
    return SF_OK;
}

static enum sf_err move_to_spool(struct sf_body *b, struct sf_why *why)
{
    sf_bytes memory = sf_buf_bytes(&b->memory);
    enum sf_err err;

    if (!b->budget->spool_path)
        return sf_fail(why, SF_ERR_IO, "there is no folder for large requests");
    err = sf_spool_open(b->budget->spool_path, &b->spool, why);
    if (err)
        return err;
    atomic_fetch_add_explicit(&b->budget->n_spooled, 1, memory_order_relaxed);
    b->len = 0;
    if (memory.len)
        err = spool(b, memory, why);
    sf_buf_done(&b->memory);
    charge_memory(b);
    return err;
}

enum sf_err sf_body_check_len(uint64_t len, uint64_t len_max, struct sf_why *why)
{
    if (len <= len_max)
        return SF_OK;
    return sf_fail(why, SF_ERR_LIMIT,
                   "the request's body is longer than %llu bytes; send less at a time, or raise "
                   "limits.body",
                   (unsigned long long)len_max);
}

/* An announced body may never arrive. So at most half of the budget is reserved in advance; other
 * bodies get memory as they are received. */
void sf_body_expect(struct sf_body *b, uint64_t len)
{
    size_t held = atomic_load_explicit(&b->budget->held, memory_order_relaxed);

    if (len > SF_LIMIT_BODY_MEMORY_LEN || held > b->budget->max / 2 ||
        len > b->budget->max / 2 - held)
        return;
    if (!sf_buf_reserve(&b->memory, (size_t)len))
        sf_buf_reset(&b->memory); /* no memory now; later parts may still get some */
    charge_memory(b);
}

uint8_t *sf_body_room(struct sf_body *b, uint64_t left, size_t *out_len)
{
    size_t room = b->memory.cap - b->memory.len;

    if (sf_body_is_spooled(b) || room == 0 || (room < ROOM_MIN && room < left))
        return NULL;
    *out_len = room < left ? room : (size_t)left;
    return b->memory.p + b->memory.len;
}

static bool is_in_place(const struct sf_body *b, sf_bytes piece)
{
    return b->memory.p && piece.p == b->memory.p + b->memory.len &&
           piece.len <= b->memory.cap - b->memory.len;
}

enum sf_err sf_body_add(struct sf_body *b, sf_bytes piece, struct sf_why *why)
{
    enum sf_err err;

    err = sf_body_check_len(b->len + piece.len, b->len_max, why);
    if (err)
        return err;
    if (is_in_place(b, piece)) {
        b->memory.len += piece.len;
        b->len += piece.len;
        return SF_OK;
    }
    if (sf_body_is_spooled(b))
        return spool(b, piece, why);
    if (b->len + piece.len > SF_LIMIT_BODY_MEMORY_LEN ||
        (piece.len > b->memory.cap - b->memory.len && sf_body_budget_is_over(b->budget))) {
        err = move_to_spool(b, why);
        return err ? err : spool(b, piece, why);
    }
    sf_buf_add(&b->memory, piece.p, piece.len);
    charge_memory(b);
    if (!sf_buf_ok(&b->memory))
        return sf_no_memory(why, "the request's body");
    b->len += piece.len;
    return SF_OK;
}

enum sf_err sf_body_read(const struct sf_body *b, uint64_t off, void *p, size_t len,
                         size_t *out_len, struct sf_why *why)
{
    size_t n = off >= b->len ? 0 : b->len - off < len ? (size_t)(b->len - off) : len;

    if (sf_body_is_spooled(b))
        return sf_spool_read(&b->spool, off, p, n, out_len, why);
    if (n)
        memcpy(p, b->memory.p + off, n);
    *out_len = n;
    return SF_OK;
}

bool sf_body_take(struct sf_body *b, struct sf_buf *out)
{
    if (sf_body_is_spooled(b))
        return false;
    *out = b->memory;
    b->memory = (struct sf_buf){0};
    return true;
}

bool sf_body_give(struct sf_body *b, struct sf_buf *memory)
{
    if (sf_body_is_spooled(b))
        return false;
    SF_ASSERT(!b->memory.p);
    b->memory = *memory;
    *memory = (struct sf_buf){0};
    return true;
}

void sf_body_done(struct sf_body *b)
{
    struct sf_body empty = {.budget = b->budget, .len_max = b->len_max};

    if (sf_body_is_spooled(b))
        atomic_fetch_sub_explicit(&b->budget->spooled, (size_t)b->len, memory_order_relaxed);
    sf_spool_close(&b->spool);
    sf_buf_done(&b->memory);
    if (b->charged)
        sf_body_budget_give(b->budget, b->charged);
    *b = empty;
}

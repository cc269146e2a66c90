#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/account.h"
#include "base/asan.h"
#include "base/heap.h"
#include "base/num.h"

#ifdef HAS_ASAN
#include <sanitizer/asan_interface.h>
#endif

enum { ALIGN = 16, KEEP_LEN = 1 << 20, KEEP_TAIL = 256 << 10, COUNT_LEN = 64 << 10 };

/* ---- touched memory ---- */

struct sf_arena_touched {
    size_t front, tail;
};

bool sf_arena_count(struct sf_arena *a)
{
    if (!a->touched)
        a->touched = sf_heap_new(sizeof(*a->touched));
    return a->touched != NULL;
}

size_t sf_arena_touched(const struct sf_arena *a)
{
    return a->touched ? a->touched->front + a->touched->tail : 0;
}

static bool count_to(size_t len, size_t cap, size_t *touched, size_t *out_counted)
{
    size_t want = cap - len > COUNT_LEN ? len + COUNT_LEN : cap;
    if (len > *touched) {
        if (!sf_account_take(want - *touched))
            return false;
        *touched = want;
    }
    *out_counted = *touched;
    return true;
}

static bool may_touch(struct sf_arena *a, size_t front, size_t tail)
{
    return !a->touched ||
           ((front <= a->counted || count_to(front, a->cap, &a->touched->front, &a->counted)) &&
            (tail <= a->counted_tail ||
             count_to(tail, a->cap, &a->touched->tail, &a->counted_tail)));
}

/* Gives everything between the first `keep_len` and the last `keep_tail` bytes back to the kernel.
 */
static void arena_drop(struct sf_arena *a, size_t keep_len, size_t keep_tail)
{
    struct sf_arena_touched *t = a->touched;
    sf_heap_pages_drop(a->base + keep_len, a->cap - keep_len - keep_tail);
    if (!t)
        return;
    sf_account_give((t->tail > keep_tail ? t->tail - keep_tail : 0) +
                    (t->front > keep_len ? t->front - keep_len : 0));
    t->front = t->front < keep_len ? t->front : keep_len;
    t->tail = t->tail < keep_tail ? t->tail : keep_tail;
    a->counted = t->front;
    a->counted_tail = t->tail;
}

void sf_arena_lend(struct sf_arena *a, size_t keep_len)
{
    if (a->cap > keep_len && (!a->touched || sf_arena_touched(a) > keep_len))
        arena_drop(a, keep_len, 0);
    sf_account_give(sf_arena_touched(a));
    a->at = a->tail = 0;
}

bool sf_arena_borrow(struct sf_arena *a)
{
    return sf_arena_count(a) && sf_account_take(sf_arena_touched(a));
}

/* ---- init, reset, done ---- */

bool sf_arena_init(struct sf_arena *a, size_t cap)
{
    void *base = sf_heap_pages(cap);
    if (!base)
        return false;
    *a = (struct sf_arena){.base = base, .cap = cap};
    if (!sf_account_is_open() || sf_arena_count(a))
        return true;
    sf_arena_done(a);
    return false;
}

void sf_arena_done(struct sf_arena *a)
{
#ifdef HAS_ASAN
    if (a->base)
        ASAN_UNPOISON_MEMORY_REGION(a->base, a->poisoned);
#endif
    sf_heap_pages_free(a->base, a->cap);
    sf_account_give(sf_arena_touched(a));
    sf_heap_free(a->touched);
    *a = (struct sf_arena){0};
}

void sf_arena_reset(struct sf_arena *a)
{
    if (a->cap > KEEP_LEN + KEEP_TAIL && (a->at > KEEP_LEN || a->tail > KEEP_TAIL))
        arena_drop(a, KEEP_LEN, KEEP_TAIL);
#ifdef HAS_ASAN
    if (a->base && a->at) { /* unpoison what was used, not the whole reserved range, which may be a
                             * gigabyte */
        ASAN_UNPOISON_MEMORY_REGION(a->base, a->at); /* including gaps between allocations */
        memset(a->base, 0xA5, a->at < KEEP_LEN ? a->at : KEEP_LEN);
        ASAN_POISON_MEMORY_REGION(a->base, a->at);
        a->poisoned = a->at > a->poisoned ? a->at : a->poisoned;
    }
    if (a->tail) {
        ASAN_POISON_MEMORY_REGION(a->base + a->cap - a->tail, a->tail);
        a->poisoned = a->cap;
    }
#endif
    a->at = a->tail = 0;
}

void sf_arena_release(struct sf_arena *a)
{
    sf_arena_reset(a);
    if (a->cap > KEEP_LEN)
        arena_drop(a, KEEP_LEN, 0);
}

size_t sf_arena_used(const struct sf_arena *a)
{
    return a->at + a->tail;
}

void *sf_arena_raw(struct sf_arena *a, size_t size, size_t align)
{
    size_t start = (a->at + (align - 1)) & ~(align - 1);
    if (start > a->cap - a->tail || size > a->cap - a->tail - start ||
        !may_touch(a, start + size, 0))
        return NULL;
    a->at = start + size;
#ifdef HAS_ASAN
    ASAN_UNPOISON_MEMORY_REGION(a->base + start, size);
#endif
    return a->base + start;
}

void *sf_arena_new(struct sf_arena *a, size_t size)
{
    void *p = sf_arena_raw(a, size, ALIGN);
    if (p)
        memset(p, 0, size); /* a scratch copy may have written here before */
    return p;
}

void *sf_arena_new_n(struct sf_arena *a, size_t n, size_t size)
{
    size_t len;
    return sf_mul_size(n, size, &len) ? sf_arena_new(a, len) : NULL;
}

void *sf_arena_grow(struct sf_arena *a, void *old, size_t old_size, size_t new_size)
{
    void *p;
    if (old && (uint8_t *)old + old_size == a->base + a->at) {
        size_t start = (size_t)((uint8_t *)old - a->base);
        if (new_size > a->cap - a->tail - start || !may_touch(a, start + new_size, 0))
            return NULL;
        a->at = start + new_size;
#ifdef HAS_ASAN
        ASAN_UNPOISON_MEMORY_REGION(old, new_size);
#endif
        return old;
    }
    p = sf_arena_raw(a, new_size, ALIGN);
    if (p && old)
        memcpy(p, old, old_size < new_size ? old_size : new_size);
    return p;
}

void *sf_arena_tail(struct sf_arena *a, size_t item_size)
{
    size_t tail = a->tail ? a->tail : a->cap % ALIGN; /* the reserved range may end unaligned */
    uint8_t *p;
    if (tail > a->cap - a->at || item_size > a->cap - a->at - tail ||
        !may_touch(a, 0, tail + item_size))
        return NULL;
    a->tail = tail + item_size;
    p = a->base + a->cap - a->tail;
#ifdef HAS_ASAN
    ASAN_UNPOISON_MEMORY_REGION(p, item_size);
#endif
    return p;
}

bool sf_arena_copy(struct sf_arena *a, sf_str s, sf_str *out)
{
    char *p = sf_arena_raw(a, s.len + 1, 1);
    if (!p)
        return false;
    if (s.len)
        memcpy(p, s.p, s.len);
    p[s.len] = 0;
    *out = (sf_str){p, s.len};
    return true;
}

bool sf_arena_print(struct sf_arena *a, sf_str *out, const char *format, ...)
{
    va_list args;
    char *p;
    int len;

    va_start(args, format);
    len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len < 0)
        return false;
    p = sf_arena_raw(a, (size_t)len + 1, 1);
    if (!p)
        return false;
    va_start(args, format);
    vsnprintf(p, (size_t)len + 1, format, args);
    va_end(args);
    *out = (sf_str){p, (size_t)len};
    return true;
}

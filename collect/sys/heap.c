/* The library's heap: implements base/heap.h with pages of its own.
 *
 * Modules shared with the server allocate through base/heap.h. In a profiled program that must not
 * be its malloc: the library may have been called from malloc, and the program's profile must not
 * contain the library. Blocks of 32 bytes to 64 KiB come in powers of two, cut from 256 KiB pieces
 * and kept in one list per size; larger ones are mappings of their own. Pieces are never returned
 * to the system: the library's memory is bounded by its outbox and its live spans. Each block
 * starts with its size:
 *
 *     | size u64 | class u32 | mark u32 | the caller's bytes ...
 *
 * One lock, held for a few instructions. errno is kept. */
#include "base/heap.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/invariant.h"
#include "base/num.h"
#include "collect/sys/heap_fork.h"
#include "collect/sys/lock.h"

enum {
    HEAD_LEN = 16,
    MIN_BITS = 5,
    MAX_BITS = 16,
    N_CLASSES = MAX_BITS - MIN_BITS + 1,
    OWN_MAPPING = 255,
    PIECE_LEN = 256 * 1024,
    PAGE_LEN = 4096
};
#define MARK 0x5f1a3e00u

struct head {
    uint64_t size; /* size of the whole block */
    uint32_t class;
    uint32_t mark;
};
_Static_assert(sizeof(struct head) == HEAD_LEN, "the caller's bytes are 16-aligned");

/* Guards the lists and the piece; held while memory is mapped; the last in the lock order. */
static struct sf_lock lock;
static struct head *lists[N_CLASSES];
static uint8_t *piece;
static size_t piece_left;
static atomic_uint_fast64_t held_len;
static atomic_uint_fast64_t calls;
static atomic_uint_fast64_t fail_from; /* 0: never */

static bool sys_heap_must_fail(void)
{
    uint64_t n = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) + 1;
    uint64_t from = atomic_load_explicit(&fail_from, memory_order_relaxed);
    return from && n >= from;
}

void sf_heap_fail_after(uint64_t n)
{
    atomic_store(&fail_from, n ? atomic_load(&calls) + n : 0);
}

uint64_t sf_heap_calls(void)
{
    return atomic_load_explicit(&calls, memory_order_relaxed);
}

uint64_t sf_heap_held(void)
{
    return atomic_load_explicit(&held_len, memory_order_relaxed);
}

static void *heap_map(size_t len)
{
    int saved = errno;
    void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    errno = saved;
    if (p == MAP_FAILED)
        return NULL;
    atomic_fetch_add_explicit(&held_len, len, memory_order_relaxed);
    return p;
}

static void unmap(void *p, size_t len)
{
    int saved = errno;
    munmap(p, len);
    errno = saved;
    atomic_fetch_sub_explicit(&held_len, len, memory_order_relaxed);
}

static struct head **next_of(struct head *h)
{
    return (struct head **)(void *)(h + 1); /* a free block stores the link of its list here */
}

static struct head *heap_cut(size_t size)
{
    struct head *h;
    if (piece_left < size) { /* the rest of the old piece is wasted: at most one block in four */
        piece = heap_map(PIECE_LEN);
        piece_left = piece ? PIECE_LEN : 0;
        if (!piece)
            return NULL;
    }
    h = (struct head *)(void *)piece;
    piece += size;
    piece_left -= size;
    return h;
}

static struct head *take_small(uint32_t class)
{
    struct head *h;
    sf_lock_take(&lock);
    h = lists[class];
    if (h)
        lists[class] = *next_of(h);
    else
        h = heap_cut((size_t)1 << (class + MIN_BITS));
    sf_lock_give(&lock);
    if (h)
        *h = (struct head){(uint64_t)1 << (class + MIN_BITS), class, MARK};
    return h;
}

static void *heap_take(size_t len)
{
    size_t whole;
    struct head *h;
    uint32_t bits = MIN_BITS;

    if (!sf_add_size(len, HEAD_LEN + PAGE_LEN, &whole))
        return NULL;
    whole = len + HEAD_LEN;
    while (bits <= MAX_BITS && (size_t)1 << bits < whole)
        bits++;
    if (bits <= MAX_BITS) {
        h = take_small(bits - MIN_BITS);
        return h ? h + 1 : NULL;
    }
    whole = (whole + PAGE_LEN - 1) & ~(size_t)(PAGE_LEN - 1);
    h = heap_map(whole);
    if (!h)
        return NULL;
    *h = (struct head){whole, OWN_MAPPING, MARK};
    return h + 1;
}

void *sf_heap_new(size_t size)
{
    void *p = sys_heap_must_fail() ? NULL : heap_take(size);
    return p ? memset(p, 0, size) : NULL;
}

void *sf_heap_new_n(size_t n, size_t size)
{
    size_t len;
    return sf_mul_size(n, size, &len) ? sf_heap_new(len) : NULL;
}

void *sf_heap_grow(void *old, size_t n, size_t size)
{
    size_t len, room = 0;
    void *p;
    if (!sf_mul_size(n, size, &len) || sys_heap_must_fail())
        return NULL;
    if (old) {
        SF_ASSERT(((struct head *)old - 1)->mark == MARK);
        room = ((struct head *)old - 1)->size - HEAD_LEN;
        if (len <= room)
            return old;
    }
    p = heap_take(len);
    if (p && old) {
        memcpy(p, old, room);
        sf_heap_free(old);
    }
    return p;
}

void sf_heap_free(void *p)
{
    struct head *h;
    if (!p)
        return;
    h = (struct head *)p - 1;
    SF_ASSERT(h->mark == MARK); /* freed twice, or not ours */
    h->mark = 0;
    if (h->class == OWN_MAPPING) {
        unmap(h, h->size);
        return;
    }
    sf_lock_take(&lock);
    *next_of(h) = lists[h->class];
    lists[h->class] = h;
    sf_lock_give(&lock);
}

void *sf_heap_pages(size_t len)
{
    int saved = errno;
    void *p;
    if (sys_heap_must_fail())
        return NULL;
    p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    errno = saved;
    return p == MAP_FAILED ? NULL : p;
}

void sf_heap_pages_free(void *p, size_t len)
{
    int saved = errno;
    if (p)
        munmap(p, len);
    errno = saved;
}

void sf_heap_pages_drop(void *p, size_t len)
{
    int saved = errno;
    madvise(p, len, MADV_DONTNEED);
    errno = saved;
}

void sf_heap_before_fork(void)
{
    sf_lock_take(&lock);
}

void sf_heap_after_fork(bool is_child)
{
    if (is_child)
        sf_lock_reset(&lock);
    else
        sf_lock_give(&lock);
}

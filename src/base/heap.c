#include "base/heap.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h> /* the one system call of this module: memory is below even `os` */

#include "base/account.h"
#include "base/num.h"

static atomic_uint_fast64_t calls;
static atomic_uint_fast64_t fail_from; /* 0: never */

static bool base_heap_must_fail(void)
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

/* Counts a block with its usable size, which freeing will subtract. */
static void heap_settle(void *p, size_t taken)
{
    if (!sf_account_is_open())
        return;
    if (p)
        (void)sf_account_take(malloc_usable_size(p) - taken);
    else
        sf_account_give(taken);
}

void *sf_heap_new(size_t size)
{
    void *p;
    if (base_heap_must_fail() || !sf_account_take(size))
        return NULL;
    p = calloc(1, size ? size : 1);
    heap_settle(p, size);
    return p;
}

void *sf_heap_new_n(size_t n, size_t size)
{
    size_t len;
    return sf_mul_size(n, size, &len) ? sf_heap_new(len) : NULL;
}

void *sf_heap_grow(void *old, size_t n, size_t size)
{
    size_t len, old_len = old && sf_account_is_open() ? malloc_usable_size(old) : 0;
    void *p;
    if (!sf_mul_size(n, size, &len) || base_heap_must_fail() || !sf_account_take(len))
        return NULL;
    p = realloc(old, len ? len : 1);
    heap_settle(p, len);
    if (p)
        sf_account_give(old_len);
    return p;
}

void sf_heap_free(void *p)
{
    if (p && sf_account_is_open())
        sf_account_give(malloc_usable_size(p));
    free(p);
}

void *sf_heap_pages(size_t len)
{
    void *p;
    if (base_heap_must_fail())
        return NULL;
    p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void sf_heap_pages_free(void *p, size_t len)
{
    if (p)
        munmap(p, len);
}

void sf_heap_pages_drop(void *p, size_t len)
{
    madvise(p, len, MADV_DONTNEED);
}

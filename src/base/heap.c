#include "base/heap.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h> /* the one system call of this room: memory is below even `os` */

#include "base/num.h"

static atomic_uint_fast64_t calls;
static atomic_uint_fast64_t fail_from; /* 0: never */

static bool must_fail(void)
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

void *sf_heap_new(size_t size)
{
    return must_fail() ? NULL : calloc(1, size ? size : 1);
}

void *sf_heap_new_n(size_t n, size_t size)
{
    size_t len;
    return sf_mul_size(n, size, &len) ? sf_heap_new(len) : NULL;
}

void *sf_heap_grow(void *old, size_t n, size_t size)
{
    size_t len;
    if (!sf_mul_size(n, size, &len) || must_fail())
        return NULL;
    return realloc(old, len ? len : 1);
}

void sf_heap_free(void *p)
{
    free(p);
}

void *sf_heap_pages(size_t len)
{
    void *p;
    if (must_fail())
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

#include "wire/zmem.h"

#include <libdeflate.h>
#include <pthread.h>

#include "base/heap.h"

static void *zmem_new(size_t size)
{
    return sf_heap_grow(NULL, size, 1); /* not zeroed: contexts are tens of kilobytes */
}

static void install(void)
{
    libdeflate_set_memory_allocator(zmem_new, sf_heap_free);
}

void sf_zmem_libdeflate(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install);
}

void *sf_zmem_zlib_new(void *opaque, unsigned n, unsigned size)
{
    (void)opaque;
    return sf_heap_grow(NULL, n, size);
}

void sf_zmem_any_free(void *opaque, void *p)
{
    (void)opaque;
    sf_heap_free(p);
}

void *sf_zmem_zstd_new(void *opaque, size_t size)
{
    (void)opaque;
    return zmem_new(size);
}

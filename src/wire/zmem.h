/* zmem.h - makes the compression libraries allocate from base/heap.h. Private to inflate.c and
 * deflate.c. */
#pragma once
#include <stddef.h>

void sf_zmem_libdeflate(void); /* to be called before the first libdeflate context; any thread, any
                                * number of times */
/* The signatures that zlib and zstd require. */
void *sf_zmem_zlib_new(void *opaque, unsigned n, unsigned size);
void sf_zmem_any_free(void *opaque, void *p);
void *sf_zmem_zstd_new(void *opaque, size_t size);

/* zmem.h - the compression libraries' memory comes from base/heap.h like all other. Private to
 * inflate.c and deflate.c. */
#pragma once
#include <stddef.h>

void sf_zmem_libdeflate(void); /* before the first libdeflate context; any thread, any number */
/* The signatures that zlib and zstd require. */
void *sf_zmem_zlib_new(void *opaque, unsigned n, unsigned size);
void sf_zmem_any_free(void *opaque, void *p);
void *sf_zmem_zstd_new(void *opaque, size_t size);

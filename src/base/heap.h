/* heap.h - memory allocation. All allocations of the project go through it, so that tests can make
 * the nth call fail and metrics can report the memory in use. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *sf_heap_new(size_t size);             /* zeroed; NULL when memory ran out */
void *sf_heap_new_n(size_t n, size_t size); /* zeroed array; NULL also when n * size wraps */
/* Like realloc, for arrays: when NULL is returned, the old block stays valid. The new part is not
 * zeroed. */
void *sf_heap_grow(void *old, size_t n, size_t size);
void sf_heap_free(void *p); /* NULL is fine */

/* Zeroed pages, outside malloc: touched pages are counted, reserved ones are not. */
void *sf_heap_pages(size_t len);
void sf_heap_pages_free(void *p, size_t len);
void sf_heap_pages_drop(void *p, size_t len); /* gives the memory back to the kernel; it then reads
                                               * as zero */

/* Tests: the nth call from now (1 = the next) and all later ones fail; 0 = never. */
void sf_heap_fail_after(uint64_t n);
uint64_t sf_heap_calls(void); /* allocations tried since start */

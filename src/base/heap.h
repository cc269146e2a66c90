/* heap.h - where memory comes from. Everything the project allocates passes here, so that tests
 * can fail the nth call and metrics can say how much is held. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *sf_heap_new(size_t size);             /* zeroed; NULL when memory ran out */
void *sf_heap_new_n(size_t n, size_t size); /* zeroed array; NULL also when n * size wraps */
/* Like realloc, for arrays: the old block stays valid when NULL comes back. New part not zeroed. */
void *sf_heap_grow(void *old, size_t n, size_t size);
void sf_heap_free(void *p); /* NULL is fine */

/* Whole zeroed pages, outside malloc: touched pages count, reserved ones do not. */
void *sf_heap_pages(size_t len);
void sf_heap_pages_free(void *p, size_t len);
void sf_heap_pages_drop(void *p, size_t len); /* gives content back to the kernel; reads as zero */

/* Tests: the nth call from now (1 = the next) and all later ones fail; 0 = never. */
void sf_heap_fail_after(uint64_t n);
uint64_t sf_heap_calls(void); /* allocations tried since start */

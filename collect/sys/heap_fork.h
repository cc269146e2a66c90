/* heap_fork.h - what only the library's own heap has, beside base/heap.h. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

uint64_t sf_heap_held(void); /* bytes mapped for it now */
/* Around fork, so that the child finds whole lists and a free lock. */
void sf_heap_before_fork(void);
void sf_heap_after_fork(bool is_child);

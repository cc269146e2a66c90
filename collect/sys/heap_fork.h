/* heap_fork.h - functions of the library's heap that base/heap.h does not have. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

uint64_t sf_heap_held(void); /* bytes mapped for it now */
/* To be called around fork, so that the child finds consistent lists and a free lock. */
void sf_heap_before_fork(void);
void sf_heap_after_fork(bool is_child);

/* stack_table.h - stacks that must be remembered, each once.
 *
 * A live object says where it was allocated for as long as it lives, so stacks are kept
 * permanently: a program has thousands of them, not millions. What does not fit is number 0, which
 * has no frames, and is counted. */
#pragma once
#include <stdint.h>

#include "collect/sys/lock.h"

enum { SF_STACK_TABLE_WORDS = 1 << 19, SF_STACK_TABLE_STACKS = 1 << 15 };

struct sf_stack_table; /* opaque; pages of its own */

struct sf_stack_table *sf_stack_table_new(void); /* NULL: no memory */
void sf_stack_table_free(struct sf_stack_table *t);
/* Its number, 1 and up; 0: no space. Any thread; a short lock of ours. */
uint32_t sf_stack_table_add(struct sf_stack_table *t, const uintptr_t *frames, uint16_t n,
                            uint8_t end);
/* Copies at most `cap` frames; the number of them. `id` came from add. */
uint16_t sf_stack_table_get(struct sf_stack_table *t, uint32_t id, uintptr_t *frames, uint16_t cap,
                            uint8_t *end);
uint64_t sf_stack_table_lost(struct sf_stack_table *t);
/* Around fork, so that the child finds it whole. */
void sf_stack_table_before_fork(struct sf_stack_table *t);
void sf_stack_table_after_fork(struct sf_stack_table *t, bool is_child);

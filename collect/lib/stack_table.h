/* stack_table.h - stores each distinct stack once.
 *
 * A live object refers to its allocating stack as long as it lives, so stacks are kept permanently:
 * a program has thousands of them, not millions. A stack that does not fit gets id 0, which has no
 * frames, and is counted. */
#pragma once
#include <stdint.h>

#include "collect/sys/lock.h"

enum { SF_STACK_TABLE_WORDS = 1 << 19, SF_STACK_TABLE_STACKS = 1 << 15 };

struct sf_stack_table; /* opaque; in pages of its own */

struct sf_stack_table *sf_stack_table_new(void); /* NULL: no memory */
void sf_stack_table_free(struct sf_stack_table *t);
/* Returns its id, from 1; 0: no space. Any thread; takes a short lock. */
uint32_t sf_stack_table_add(struct sf_stack_table *t, const uintptr_t *frames, uint16_t n,
                            uint8_t end);
/* Copies at most `cap` frames; returns their number. `id` came from add. */
uint16_t sf_stack_table_get(struct sf_stack_table *t, uint32_t id, uintptr_t *frames, uint16_t cap,
                            uint8_t *end);
uint64_t sf_stack_table_lost(struct sf_stack_table *t);
/* To be called around fork, so that the child finds it consistent. */
void sf_stack_table_before_fork(struct sf_stack_table *t);
void sf_stack_table_after_fork(struct sf_stack_table *t, bool is_child);

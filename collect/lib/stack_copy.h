/* stack_copy.h - copies a stack that cannot safely be read in place. The process has a few buffers;
 * if none is free, the sample has only one frame. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>

#include "collect/unwind/walk.h"

enum { SF_STACK_COPY_LEN = 32 * 1024 };

struct sf_stack_copy {
    atomic_bool is_taken;
    uint8_t bytes[SF_STACK_COPY_LEN];
};

/* A copy of the memory above `sp`, at most SF_STACK_COPY_LEN bytes, as far as it is mapped; *copy
 * must be given back. Safe in handlers; one system call. */
struct sf_walk_stack sf_stack_copy_take(uintptr_t sp, struct sf_stack_copy **copy);
void sf_stack_copy_give(struct sf_stack_copy *copy); /* NULL is fine */
void sf_stack_copy_after_fork(void);
/* The bounds of the stack that contains `sp`, if it certainly belongs to the thread whose control
 * block is at `tcb`: then it may be read in place. False: not certain; both are unchanged. Reads a
 * file, so not for handlers. */
bool sf_stack_copy_find(uintptr_t sp, uintptr_t tcb, uintptr_t *lo, uintptr_t *hi);

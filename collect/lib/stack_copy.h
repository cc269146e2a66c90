/* stack_copy.h - a stack that may not be read in place, copied. The process has a few buffers: if
 * none is free, the stack has one frame. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>

#include "collect/unwind/walk.h"

enum { SF_STACK_COPY_LEN = 32 * 1024 };

struct sf_stack_copy {
    atomic_bool is_taken;
    uint8_t bytes[SF_STACK_COPY_LEN];
};

/* What lies above `sp`, as far as memory goes; *copy must be returned. Safe in handlers; one
 * system call. */
struct sf_walk_stack sf_stack_copy_take(uintptr_t sp, struct sf_stack_copy **copy);
void sf_stack_copy_give(struct sf_stack_copy *copy); /* NULL is fine */
void sf_stack_copy_after_fork(void);
/* The bounds of the stack that `sp` lies in, if it surely is that of the thread whose control block
 * is at `tcb`: then it may be read in place. False: not, and both are left alone. Reads a file: not
 * in handlers. */
bool sf_stack_copy_find(uintptr_t sp, uintptr_t tcb, uintptr_t *lo, uintptr_t *hi);

/* walk.h - walks a stack: finds its return addresses from registers and memory that are not
 * trusted.
 *
 * Made for signal handlers: no locks, no allocation, no system calls; reads only the given part of
 * the stack. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "collect/unwind/modules.h"

struct sf_walk_regs {
    uintptr_t pc, sp, fp;
    bool is_fp_unknown; /* of a thread examined from another thread; guessed from the stack if
                         * needed */
};

/* The stack from address lo to hi, readable at `bytes`: in place, or a copy. */
struct sf_walk_stack {
    const uint8_t *bytes;
    uintptr_t lo, hi;
};

enum sf_walk_end {
    SF_WALK_COMPLETE, /* reached the outermost function */
    SF_WALK_FULL,     /* more frames than requested */
    SF_WALK_UNKNOWN,  /* code without tables or frame pointers */
    SF_WALK_OUTSIDE   /* the frame is outside of the given stack */
};

/* Finds at most `max` addresses, the innermost first; returns their number. Callers' addresses are
 * return addresses. */
size_t sf_walk(const struct sf_modules *m, struct sf_walk_regs regs, struct sf_walk_stack stack,
               uintptr_t *out, size_t max, enum sf_walk_end *end);
/* The registers of the interrupted code; `ucontext` is a handler's third argument. */
struct sf_walk_regs sf_walk_regs_of(const void *ucontext);

/* The registers of the calling function at this point. */
static inline __attribute__((always_inline)) struct sf_walk_regs sf_walk_regs_here(void)
{
    struct sf_walk_regs r = {0};
#if defined(__x86_64__)
    __asm__ volatile("mov %%rbp, %2\n\tmov %%rsp, %1\n\tlea 0(%%rip), %0"
                     : "=r"(r.pc), "=r"(r.sp), "=r"(r.fp));
#endif
    return r;
}

#include "collect/unwind/walk.h"

#include <stdbool.h>
#include <string.h>
#include <ucontext.h>

struct walk {
    const struct sf_modules *m;
    struct sf_walk_stack stack;
    struct sf_walk_regs r;
    bool is_exact; /* pc is the current instruction, not a return address */
};

/* Frames are read including the red zones that a sanitizer has placed between variables. */
__attribute__((no_sanitize_address)) static bool walk_load(const struct walk *w, uintptr_t at,
                                                           uintptr_t *out)
{
    if (at < w->stack.lo || at > w->stack.hi || w->stack.hi - at < sizeof(*out) || at & 7)
        return false;
    memcpy(out, w->stack.bytes + (at - w->stack.lo), sizeof(*out));
    return true;
}

struct sf_walk_regs sf_walk_regs_of(const void *ucontext)
{
    const ucontext_t *u = ucontext;
#if defined(__x86_64__)
    return (struct sf_walk_regs){(uintptr_t)u->uc_mcontext.gregs[REG_RIP],
                                 (uintptr_t)u->uc_mcontext.gregs[REG_RSP],
                                 (uintptr_t)u->uc_mcontext.gregs[REG_RBP], false};
#else
    return (struct sf_walk_regs){(uintptr_t)u->uc_mcontext.pc, (uintptr_t)u->uc_mcontext.sp,
                                 (uintptr_t)u->uc_mcontext.regs[29], false};
#endif
}

/* Guesses the frame pointer of a thread whose registers are unknown: the first address at or above
 * its stack pointer where a chain of frames begins, that is, a saved frame pointer (a higher
 * address in the stack) with a return address above it and above the place it points to. Other
 * values that a frame has pushed lie below its saved frame pointer, so the first match is the right
 * one, unless an old frame's values were left there. */
static void guess_fp(struct walk *w)
{
    enum { FAR = 4096 };
    if (!w->r.is_fp_unknown)
        return;
    w->r.is_fp_unknown = false;
    for (uintptr_t at = (w->r.sp + 7) & ~(uintptr_t)7; at - w->r.sp < FAR; at += 8) {
        uintptr_t next, ra, after;
        if (!walk_load(w, at, &next) || !walk_load(w, at + 8, &ra))
            return;
        if (next <= at || !sf_modules_find(w->m, ra - 1) || !walk_load(w, next + 8, &after) ||
            !sf_modules_find(w->m, after - 1))
            continue;
        w->r.fp = at;
        return;
    }
}

/* One step by frame pointer, for code without tables, such as that of JIT compilers. In code that
 * uses the register otherwise it could find a wrong frame, so the addresses are checked. */
static enum sf_walk_end step_by_pointer(struct walk *w)
{
    enum { FAR = 1 << 20 };
    uintptr_t fp, next_fp, pc;
    guess_fp(w);
    fp = w->r.fp;
    if (fp < w->r.sp || fp - w->r.sp > FAR || !walk_load(w, fp, &next_fp) ||
        !walk_load(w, fp + 8, &pc) || !pc || !sf_modules_find(w->m, pc - 1))
        return SF_WALK_UNKNOWN;
    w->r = (struct sf_walk_regs){pc, fp + 16, next_fp, false};
    return SF_WALK_COMPLETE;
}

#if defined(__x86_64__)
/* The kernel's signal frame: rsp points to the saved context, as in the stub that returns from the
 * handler. */
static enum sf_walk_end step_over_signal(struct walk *w)
{
    struct sf_walk_regs r = {0};
    uintptr_t at = w->r.sp + offsetof(ucontext_t, uc_mcontext.gregs);
    if (!walk_load(w, at + REG_RIP * 8, &r.pc) || !walk_load(w, at + REG_RSP * 8, &r.sp) ||
        !walk_load(w, at + REG_RBP * 8, &r.fp))
        return SF_WALK_OUTSIDE;
    w->r = r;
    w->is_exact = true;
    return SF_WALK_COMPLETE;
}
#endif

/* COMPLETE: moved to the caller's frame. */
static enum sf_walk_end step_by_row(struct walk *w, const struct sf_row *row, uintptr_t pc)
{
    uintptr_t cfa, ra, fp;
    bool has_saved_fp = row->rbp != SF_ROW_NO_RBP;
    if (row->kind == SF_ROW_RBP || row->kind == SF_ROW_DEREF)
        guess_fp(w);
    fp = w->r.fp;
    switch (row->kind) {
    case SF_ROW_RSP: cfa = w->r.sp + (uintptr_t)((intptr_t)row->cfa * 8); break;
    case SF_ROW_RBP: cfa = w->r.fp + (uintptr_t)((intptr_t)row->cfa * 8); break;
    case SF_ROW_PLT: cfa = w->r.sp + 8 + ((pc & 15) >= (uintptr_t)row->cfa ? 8 : 0); break;
    case SF_ROW_DEREF:
        if (!walk_load(w, w->r.fp + (uintptr_t)((intptr_t)row->cfa * 8), &cfa))
            return SF_WALK_OUTSIDE;
        break;
#if defined(__x86_64__)
    case SF_ROW_SIGNAL: return step_over_signal(w);
#endif
    default: return SF_WALK_UNKNOWN;
    }
    if (cfa <= w->r.sp || !walk_load(w, cfa - 8, &ra)) /* a caller's frame must be higher */
        return SF_WALK_OUTSIDE;
    if (has_saved_fp && !walk_load(w, cfa + (uintptr_t)((intptr_t)row->rbp * 8), &fp))
        return SF_WALK_OUTSIDE;
    w->r = (struct sf_walk_regs){ra, cfa, fp, w->r.is_fp_unknown && !has_saved_fp};
    w->is_exact = false;
    return SF_WALK_COMPLETE;
}

size_t sf_walk(const struct sf_modules *m, struct sf_walk_regs regs, struct sf_walk_stack stack,
               uintptr_t *out, size_t max, enum sf_walk_end *end)
{
    struct walk w = {m, stack, regs, true};
    size_t n = 0;
    *end = SF_WALK_FULL;
    while (n < max) {
        uintptr_t pc = w.is_exact ? w.r.pc : w.r.pc - 1; /* the address of the call instead of the
                                                          * return address */
        const struct sf_module *module = sf_modules_find(m, pc);
        const struct sf_row *row = module && module->rows.n
                                       ? sf_rows_find(&module->rows, (uint32_t)(pc - module->base))
                                       : NULL;
        out[n++] = w.r.pc;
        if (row && row->kind == SF_ROW_END) {
            *end = SF_WALK_COMPLETE;
            return n;
        }
        *end = row && row->kind != SF_ROW_NONE ? step_by_row(&w, row, pc) : step_by_pointer(&w);
        if (*end != SF_WALK_COMPLETE)
            return n;
        if (!w.r.pc) /* some libraries set 0 as the return address of a thread's first function */
            return n;
        *end = SF_WALK_FULL;
    }
    return n;
}

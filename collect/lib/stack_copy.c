#include "collect/lib/stack_copy.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collect/sys/tasks.h"

enum { COPIES = 6 };
static struct sf_stack_copy copies[COPIES];

static struct sf_stack_copy *stack_copy_take(void)
{
    for (int i = 0; i < COPIES; i++) {
        if (!atomic_exchange_explicit(&copies[i].is_taken, true, memory_order_acquire))
            return &copies[i];
    }
    return NULL;
}

struct sf_walk_stack sf_stack_copy_take(uintptr_t sp, struct sf_stack_copy **copy)
{
    int saved = errno;
    struct iovec to, from;
    ssize_t n;
    *copy = stack_copy_take();
    if (!*copy)
        return (struct sf_walk_stack){(const uint8_t *)sp, sp, sp};
    to = (struct iovec){(*copy)->bytes, SF_STACK_COPY_LEN};
    from = (struct iovec){(void *)sp, SF_STACK_COPY_LEN};
    /* Copies as far as memory is mapped. Not through libc's function: a sanitizer's version would
     * check the ranges. The kernel reads counts and flags as long, so they must not be int. */
    n = syscall(SYS_process_vm_readv, (long)getpid(), &to, 1UL, &from, 1UL, 0UL);
    errno = saved;
    return (struct sf_walk_stack){(*copy)->bytes, sp, sp + (n > 0 ? (uintptr_t)n : 0)};
}

void sf_stack_copy_give(struct sf_stack_copy *copy)
{
    if (copy)
        atomic_store_explicit(&copy->is_taken, false, memory_order_release);
}

void sf_stack_copy_after_fork(void)
{
    for (int i = 0; i < COPIES; i++)
        atomic_store(&copies[i].is_taken, false);
}

/* The mapping is accepted if it contains the thread's control block or is the main stack. Memory
 * above the control block does not belong to the thread's stack. */
bool sf_stack_copy_find(uintptr_t sp, uintptr_t tcb, uintptr_t *lo, uintptr_t *hi)
{
    enum { MAIN_MOST = 8 << 20 };
    uintptr_t from, to;
    bool is_main;
    if (!sf_tasks_mapping(sp, &from, &to, &is_main))
        return false;
    if (tcb > sp && tcb < to)
        to = tcb;
    else if (!is_main)
        return false;
    *lo = is_main ? sp - MAIN_MOST : from;
    *hi = to;
    return true;
}

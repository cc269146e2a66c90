#include "collect/hook/block_hook.h"

#include <errno.h>
#include <sys/stat.h>

#include "collect/lib/waits.h"

uint64_t sf_block_least = SF_BLOCK_LEAST_NS;

/* The symbol by which a linker pulls in the hooks from the archive. */
__attribute__((visibility("hidden"), used)) const char sf_hooks = 1;

static enum sf_wait block_hook_wait_of(int fd)
{
    struct stat st;
    if (fstat(fd, &st))
        return SF_WAIT_IO;
    return S_ISSOCK(st.st_mode)                         ? SF_WAIT_NETWORK
           : S_ISREG(st.st_mode) || S_ISBLK(st.st_mode) ? SF_WAIT_DISK
                                                        : SF_WAIT_IO;
}

/* Not inline: it keeps the hooks small, and their frames remain on the stack. */
__attribute__((noinline)) void sf_blocked(uint64_t begin, enum sf_wait wait, int fd,
                                          const void *caller)
{
    int saved = errno;
    uint64_t ns = sf_ticks_to_ns(sf_ticks() - begin);
    if (wait == SF_WAIT_IO && fd >= 0)
        wait = block_hook_wait_of(fd);
    sf_waits_add(SF_SAMPLES_BLOCK, wait, ns, caller);
    errno = saved;
}

static enum sf_err block_hook_begin(uint64_t period, struct sf_why *why)
{
    (void)period;
    (void)why;
    sf_ticks_measure();
    sf_block_least = (uint64_t)(SF_BLOCK_LEAST_NS / sf_tick_rate.ns);
    sf_waits_begin(SF_SAMPLES_BLOCK);
    return SF_OK; /* the hooks check whether the kind is on */
}

static void block_hook_end(void)
{
}

void sf_block_hook_offer(void)
{
    static const struct sf_profiler_source source = {.begin = block_hook_begin,
                                                     .end = block_hook_end};
    sf_profiler_set_source(SF_SAMPLES_BLOCK, &source);
}

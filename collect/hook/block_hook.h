/* block_hook.h - wrappers of calls that may block: each reads a cheap clock before and after the
 * call.
 *
 * A call that returns within ten microseconds did not wait. A longer one counts as time off the CPU
 * (a large read from the page cache, which copies, is an exception). Return values, errno,
 * interruptions and cancellation are those of the call itself: the wrapper holds no resources
 * across it. */
#pragma once
#include "collect/hook/again.h"
#include "collect/hook/next.h"
#include "collect/lib/profiler.h"
#include "collect/sys/ticks.h"

enum { SF_BLOCK_LEAST_NS = 10000 };

extern uint64_t sf_block_least; /* SF_BLOCK_LEAST_NS in ticks */

/* Registers that blocking calls are intercepted. */
void sf_block_hook_offer(void);

/* Records that a call which began at `begin` has waited. With SF_WAIT_IO, `fd` says for what. Keeps
 * errno. */
void sf_blocked(uint64_t begin, enum sf_wait wait, int fd, const void *caller);

#define SF_BLOCKING(type, name, version, wait, fd, parameters, arguments) \
    SF_BLOCKING_BY(next_##name, type, name, version, wait, fd, parameters, arguments)

/* The same, through a function `again_NAME` that the user defines: it restarts the call when the
 * sampler has interrupted it. */
#define SF_BLOCKING_AGAIN(type, name, version, wait, fd, parameters, arguments) \
    static type again_##name parameters;                                        \
    SF_BLOCKING_BY(again_##name, type, name, version, wait, fd, parameters, arguments)

/* The same, for calls that are restarted with the same arguments. */
#define SF_BLOCKING_REPEATED(type, name, version, wait, fd, parameters, arguments)   \
    SF_BLOCKING_AGAIN(type, name, version, wait, fd, parameters, arguments)          \
    static type again_##name parameters                                              \
    {                                                                                \
        struct sf_again again = sf_again_begin(0);                                   \
        type result;                                                                 \
        do                                                                           \
            result = next_##name arguments;                                          \
        while (SF_RARELY(result == -1) && errno == EINTR && sf_again_wants(&again)); \
        return result;                                                               \
    }

/* The next function is looked up when the library is loaded; earlier calls look it up
 * themselves. */
#define SF_BLOCKING_BY(by, type, name, version, wait, fd, parameters, arguments) \
    static type first_##name parameters;                                         \
    static type(*next_##name) parameters = first_##name;                         \
    __attribute__((constructor(101))) static void look_up_##name(void)           \
    {                                                                            \
        void *found = sf_next_version(#name, version);                           \
        if (found)                                                               \
            memcpy(&next_##name, &found, sizeof(found));                         \
    }                                                                            \
    static type first_##name parameters                                          \
    {                                                                            \
        look_up_##name();                                                        \
        if (next_##name == first_##name)                                         \
            sf_next_is_missing(#name);                                           \
        return next_##name arguments;                                            \
    }                                                                            \
    SF_HOOK type name parameters;                                                \
    SF_HOOK type name parameters                                                 \
    {                                                                            \
        uint64_t begin;                                                          \
        type result;                                                             \
        if (!sf_profiler_is_on(SF_SAMPLES_BLOCK))                                \
            return by arguments;                                                 \
        begin = sf_ticks();                                                      \
        result = by arguments;                                                   \
        if (SF_RARELY(sf_ticks() - begin >= sf_block_least))                     \
            sf_blocked(begin, wait, fd, __builtin_return_address(0));            \
        return result;                                                           \
    }

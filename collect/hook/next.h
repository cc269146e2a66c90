/* next.h - the functions ours stand before: those the program would have called without us. */
#pragma once
#include <stdbool.h>
#include <string.h>

#include "spanflame.h"

/* What other names than the library's own are exported for: to be found first. */
#define SF_HOOK SF_API __attribute__((used))

/* The result of a call after which the hook still stands: its name shows in the stack. A call in
 * its last place would take its frame over. */
#define SF_STAY(call)                         \
    __extension__({                           \
        __typeof__(call) result_ = (call);    \
        __asm__ volatile("" : "+r"(result_)); \
        result_;                              \
    })

#define SF_RARELY(what) __builtin_expect(!!(what), 0)

#define SF_NEXT(pointer, name)                           \
    do {                                                 \
        void *found_ = sf_next(name);                    \
        if (found_)                                      \
            memcpy(&(pointer), &found_, sizeof(found_)); \
    } while (0)

/* Whether calls of `name` come to ours. The shared library cannot know: a sanitizer's function may
 * stand before ours and call it. In an archive the linker chose one for the whole program: ours are
 * weak there, so a program's own goes before, and in a program that libc itself is linked into, its
 * (nothing comes next then, and nothing could be passed on). SF_OWN comes after the function. */
#ifdef SF_IN_ARCHIVE
#if defined(__has_attribute) && __has_attribute(copy)
#define SF_OWN(name) \
    static __typeof__(name) own_##name __attribute__((alias(#name), copy(name), used))
#else
#define SF_OWN(name) static __typeof__(name) own_##name __attribute__((alias(#name), used))
#endif
#define SF_IS_CALLED(name)                              \
    __extension__({                                     \
        __typeof__(&(name)) called_ = (name);           \
        __asm__ volatile("" : "+r"(called_)); /* ask */ \
        called_ == own_##name;                          \
    })
#else
#define SF_OWN(name)       extern int sf_no_own_##name
#define SF_IS_CALLED(name) true
#endif

/* A call came to ours and there is nothing to pass it on to: archives of a static program in an
 * order that no program can work with. Says so and ends it. */
_Noreturn void sf_next_is_missing(const char *name);
/* False: libc is linked into the program itself. */
bool sf_next_is_there(void);
/* The next `name` after ours; NULL: there is none. Keeps errno. */
void *sf_next(const char *name);
/* The one of that symbol version where libc has several; else as above. */
void *sf_next_version(const char *name, const char *version);

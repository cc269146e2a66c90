/* next.h - finds the function that a wrapper calls: the one the program would have called without
 * the library. */
#pragma once
#include <stdbool.h>
#include <string.h>

#include "spanflame.h"

/* Exported although the name is not the library's own, so that the loader finds it before the
 * original. */
#define SF_HOOK SF_API __attribute__((used))

/* Calls a function without a tail call, so that the hook's frame remains on the stack and its name
 * appears there. */
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

/* Whether calls of `name` reach the wrapper. The shared library assumes so: a sanitizer's function
 * may come first and call it. In an archive the linker chose one function for the whole program:
 * the wrappers are weak there, so a function of the program takes precedence, and in a static
 * program that of libc (then there is no next function to call). SF_OWN comes after the
 * function. */
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

/* Ends the program with a message: the wrapper was called and there is no next function, because a
 * static program was linked with its archives in the wrong order. */
_Noreturn void sf_next_is_missing(const char *name);
/* False: libc is linked statically into the program. */
bool sf_next_is_there(void);
/* The next definition of `name` after the wrapper; NULL: none. Keeps errno. */
void *sf_next(const char *name);
/* The definition with that symbol version, where libc has several; else as above. */
void *sf_next_version(const char *name, const char *version);

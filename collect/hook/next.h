/* next.h - the functions ours stand before: those the program would have called without us. */
#pragma once
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

/* The next `name` after ours; NULL: nobody has one. Keeps errno. */
void *sf_next(const char *name);
/* The one of that symbol version where libc has several; else as above. */
void *sf_next_version(const char *name, const char *version);

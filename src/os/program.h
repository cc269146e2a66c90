/* program.h - what a program on the disk is, as far as it matters before a library is preloaded
 * into it. */
#pragma once
#include <stdbool.h>

enum { SF_PROGRAM_NAME_CAP = 64 };

enum sf_program_kind {
    SF_PROGRAM_UNKNOWN, /* not found, or nothing that is known; starting it will tell */
    SF_PROGRAM_DYNAMIC, /* this machine's loader takes it */
    SF_PROGRAM_MUSL,    /* another C library: what is linked with glibc cannot be loaded into it */
    SF_PROGRAM_FOREIGN, /* for another processor, or 32 bits */
    SF_PROGRAM_STATIC   /* no loader at all */
};

struct sf_program {
    enum sf_program_kind kind;
    /* The library of a sanitizer that must come before all others: "libasan.so.8"; "": none. */
    char first[SF_PROGRAM_NAME_CAP];
};

/* Looks at `name` as a shell finds it; a script is what its interpreter is. */
void sf_program_inspect(const char *name, struct sf_program *out);

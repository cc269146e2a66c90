/* program.h - examines a program file before a library is preloaded into it. */
#pragma once
#include <stdbool.h>

enum { SF_PROGRAM_NAME_CAP = 64, SF_PROGRAM_PATH_CAP = 4096 };

enum sf_program_kind {
    SF_PROGRAM_UNKNOWN, /* not found, or unknown; starting it will show */
    SF_PROGRAM_DYNAMIC, /* uses this machine's loader */
    SF_PROGRAM_MUSL,    /* another C library: a library linked with glibc cannot be loaded into
                         * it */
    SF_PROGRAM_FOREIGN, /* for another CPU, or 32 bits */
    SF_PROGRAM_STATIC   /* statically linked: no loader */
};

struct sf_program {
    enum sf_program_kind kind;
    /* A sanitizer's library that must be loaded first: "libasan.so.8"; "": none. */
    char first[SF_PROGRAM_NAME_CAP];
};

/* The file that a shell would run for `name`; false: there is none that may be run. */
bool sf_program_find(const char *name, char out[SF_PROGRAM_PATH_CAP]);
/* Whether a file that the kernel cannot execute is no script of a shell either. */
bool sf_program_is_binary(const char *path);

/* Examines `name`, searched like in a shell; for a script, its interpreter. */
void sf_program_inspect(const char *name, struct sf_program *out);

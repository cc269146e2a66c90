/* python_threads.h - the stacks of a Python process at one time: shared by both forms of `py-spy
 * dump`. Private to this module.
 *
 * Each thread counts one of threads:thread:count, with the label `state` (active, active+gil,
 * idle). Values of arguments and local variables, which the dump may contain, are never read. */
#pragma once
#include "decode/profile_build.h"

struct sf_python_threads {
    struct sf_profile_build *b;
    uint32_t what;
    struct sf_profile_list frames; /* of the open thread, leaf first */
    sf_str state, name;
    uint64_t id;
    bool is_open;
};

struct sf_python_threads sf_python_threads_init(struct sf_profile_build *b);
/* Starts a thread; closes the previous one. */
void sf_python_threads_open(struct sf_python_threads *t);
void sf_python_threads_frame(struct sf_python_threads *t, sf_str function, sf_str file,
                             uint32_t line);
/* A thread without frames is not a sample. */
void sf_python_threads_close(struct sf_python_threads *t);

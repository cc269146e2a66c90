/* tasks.h - what /proc/self says about threads and memory, read without the program's malloc. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Calls `one` for every thread of the process. False: could not look at all of them. */
bool sf_tasks_each(void (*one)(uint32_t tid, void *arg), void *arg);
/* The readable and writable mapping that holds `at`; false: none. */
bool sf_tasks_mapping(uintptr_t at, uintptr_t *lo, uintptr_t *hi, bool *is_main_stack);

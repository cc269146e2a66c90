/* tasks.h - reads /proc about threads and memory of the process, without the program's malloc. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Calls `one` for every thread of the process. False: could not examine all of them. */
bool sf_tasks_each(void (*one)(uint32_t tid, void *arg), void *arg);
/* The readable and writable mapping that contains `at`; false: none. */
bool sf_tasks_mapping(uintptr_t at, uintptr_t *lo, uintptr_t *hi, bool *is_main_stack);

/* Where a thread waits in the kernel: number and first argument of the system call, stack pointer
 * and instruction pointer. Not available for a running or runnable thread. */
struct sf_task_wait {
    long call;
    uint64_t arg;
    uintptr_t sp, pc;
};
enum sf_task_state { SF_TASK_GONE, SF_TASK_RUNS, SF_TASK_WAITS };
enum sf_task_state sf_tasks_wait(uint32_t tid, struct sf_task_wait *out);
/* How long a thread was runnable but waiting for a CPU since it started, in ns; 0: unknown. */
uint64_t sf_tasks_run_delay(uint32_t tid);
/* How often a thread got a CPU; 0: unknown. */
uint64_t sf_tasks_slices(uint32_t tid);
/* Whether the thread does not block this signal. True if its state cannot be read. */
bool sf_tasks_takes_signal(uint32_t tid, int sig);
/* Runnable threads of the whole host, running or waiting for a CPU; 0: not known. */
uint64_t sf_tasks_host_runnable(void);
int64_t sf_tasks_n(void);       /* threads of the process; 0: not known */
uint64_t sf_tasks_memory(void); /* resident, in bytes; 0: not known */

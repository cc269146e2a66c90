/* sample_kind.h - what the profilers measure: one kind per profiler, two values per sample.
 *
 * A sample has a count and an amount: samples and CPU time, objects and bytes, waits and time
 * waited. Only the table here knows the names and units of both; all code between a hook and the
 * server passes them on as two numbers. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum sf_sample_kind {
    SF_SAMPLES_CPU,
    SF_SAMPLES_WALL,
    SF_SAMPLES_ALLOC, /* allocated since the profile started */
    SF_SAMPLES_INUSE, /* allocated and not freed when it ends */
    SF_SAMPLES_MUTEX,
    SF_SAMPLES_BLOCK,   /* off the CPU: sleeps, I/O, conditions; the wait says which */
    SF_SAMPLES_THREADS, /* every thread, by state */
    SF_SAMPLES_PAUSED,  /* time in which sampling was paused; reported by the collecting thread, not
                         * by a profiler */
    SF_SAMPLES_KINDS
};

/* What a thread was doing or waiting for; a label of the sample. */
enum sf_wait {
    SF_WAIT_NONE, /* not given */
    SF_WAIT_RUNNING,
    SF_WAIT_RUN_QUEUE,
    SF_WAIT_LOCK,
    SF_WAIT_CONDITION,
    SF_WAIT_DISK,
    SF_WAIT_NETWORK,
    SF_WAIT_IO, /* a pipe, a terminal, or one of the two */
    SF_WAIT_POLL,
    SF_WAIT_SLEEP,
    SF_WAIT_CHILD, /* for the end of a process or thread */
    SF_WAITS
};

struct sf_value_name {
    const char *type, *unit;
};

struct sf_kind_info {
    const char *word;               /* "cpu" */
    struct sf_value_name values[2]; /* names of a sample's two numbers */
    struct sf_value_name period;    /* type NULL: none */
    bool is_sent[2];                /* sent; false if the server can compute it from the other */
    bool is_snapshot;               /* the state at the end of the profile, not events during it */
};

/* Values of a sample's `end` beyond enum sf_walk_end: there is no stack, for the reason enum
 * sf_pause, which is added. */
enum { SF_END_PAUSED = 64 };

const struct sf_kind_info *sf_sample_kind_info(enum sf_sample_kind kind);
const char *sf_sample_kind_wait_name(enum sf_wait wait); /* "lock"; "" for none */

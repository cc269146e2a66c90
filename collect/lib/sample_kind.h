/* sample_kind.h - what the profilers measure: one kind per profiler, two values per sample.
 *
 * A kind's sample says how many and how much: samples and CPU time, objects and bytes, waits and
 * time waited. The table here is the one place that knows the names and units of both; everything
 * between a hook and the server passes them along as two numbers. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum sf_sample_kind {
    SF_SAMPLES_CPU,
    SF_SAMPLES_WALL,
    SF_SAMPLES_ALLOC, /* allocated since the profile began */
    SF_SAMPLES_INUSE, /* allocated and not freed at its end */
    SF_SAMPLES_MUTEX,
    SF_SAMPLES_BLOCK,   /* off the CPU: sleeps, I/O, conditions; the wait says which */
    SF_SAMPLES_THREADS, /* every thread, by state */
    SF_SAMPLES_PAUSED,  /* time in which nothing was sampled; no profiler, the collecting thread */
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
    SF_WAIT_CHILD, /* for a process or thread to end */
    SF_WAITS
};

struct sf_value_name {
    const char *type, *unit;
};

struct sf_kind_info {
    const char *word;               /* "cpu" */
    struct sf_value_name values[2]; /* of a sample's two numbers */
    struct sf_value_name period;    /* type NULL: none */
    bool is_sent[2];                /* what the server cannot work out from the other */
    bool is_snapshot; /* how things stand at the end of the profile, not what happened in it */
};

/* Beyond enum sf_walk_end, in a sample's `end`: no stack, but why there is none; the number of an
 * enum sf_pause is added. */
enum { SF_END_PAUSED = 64 };

const struct sf_kind_info *sf_sample_kind_info(enum sf_sample_kind kind);
const char *sf_sample_kind_wait_name(enum sf_wait wait); /* "lock"; "" for none */

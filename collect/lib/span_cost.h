/* span_cost.h - the resources that a span used on its thread, read from the kernel when it starts
 * and ends.
 *
 * Sampling cannot measure a span of a millisecond; these figures are exact for any length. They are
 * those of the thread that started it, including children on that thread; a span that ends on
 * another thread has none. Off unless SPANFLAME_SPAN_COST names items: each costs system calls at
 * both ends (docs/c-library.md has the price). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "collect/lib/runnable.h"
#include "collect/lib/sample_kind.h"

enum sf_cost_item {
    SF_COST_CPU = 1,       /* thread.cpu_time_ns */
    SF_COST_RUN_QUEUE = 2, /* thread.run_queue_ns: runnable but waiting for a CPU; after a wait of a
                              millisecond also host.runnable_threads */
    SF_COST_SWITCHES = 4,  /* thread.switches.voluntary, .involuntary */
    SF_COST_FAULTS = 8,    /* thread.page_faults.minor, .major */
    SF_COST_PROCESS = 16,  /* on root spans: process.cpu_time_ns, process.memory_bytes,
                              runtime.threads */
    SF_COST_ALLOC = 32,    /* thread.allocated_bytes, thread.allocated_objects */
    SF_COST_HEAP = 64,     /* on root spans: runtime.heap_alloc, runtime.heap_objects */
    SF_COST_PROFILE = 128, /* profile.type, profile.sample_count, profile.duration_us,
                              pyroscope.profile.id */
    SF_COST_WAITS = 256    /* thread.wait_ns, and its parts such as thread.wait.disk_ns */
};

struct sf_span_cost {        /* at the start */
    uint32_t tid;            /* 0: nothing was read */
    bool is_root, has_waits; /* has_waits: both profilers of waits were on */
    uint64_t cpu_ns, run_queue_ns, process_cpu_ns;
    uint64_t switches[2], faults[2];
    uint64_t alloc_bytes, alloc_objects;
    uint64_t n_samples, sampled_ns;
    uint64_t waited_ns[SF_WAITS];
    struct sf_runnable runnable; /* readings of the host so far */
};

/* Parses "cpu,run_queue" into bits; false: an unknown word. */
bool sf_span_cost_words_parse(const char *words, unsigned *items);
void sf_span_cost_begin(struct sf_span_cost *c, unsigned items, uint32_t tid, bool is_root);
/* Writes the attributes into the Span message; none when another thread ends it. */
void sf_span_cost_write(const struct sf_span_cost *c, unsigned items, uint32_t tid,
                        const uint8_t span_id[8], struct sf_buf *span);

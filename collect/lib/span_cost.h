/* span_cost.h - what a span cost its thread, read from the kernel when it starts and when it ends.
 *
 * Sampling says nothing about a span of a millisecond; these figures are exact however short it
 * is. They are of the thread that started it, children on that thread included; a span that ends
 * on another thread carries none. Off unless SPANFLAME_SPAN_COST names items: each costs system
 * calls at both ends (docs/c-library.md has the price). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "collect/lib/sample_kind.h"

enum sf_cost_item {
    SF_COST_CPU = 1,       /* thread.cpu_time_ns */
    SF_COST_RUN_QUEUE = 2, /* thread.run_queue_ns: could have run and was not let */
    SF_COST_SWITCHES = 4,  /* thread.switches.voluntary, .involuntary */
    SF_COST_FAULTS = 8,    /* thread.page_faults.minor, .major */
    SF_COST_PROCESS = 16,  /* on root spans: process.cpu_time_ns, process.memory_bytes,
                              runtime.threads */
    SF_COST_ALLOC = 32,    /* thread.allocated_bytes, thread.allocated_objects */
    SF_COST_HEAP = 64,     /* on root spans: runtime.heap_alloc, runtime.heap_objects */
    SF_COST_PROFILE = 128, /* profile.type, profile.sample_count, profile.duration_us,
                              pyroscope.profile.id */
    SF_COST_WAITS = 256    /* thread.wait_ns, and thread.wait.disk_ns and the like of it */
};

struct sf_span_cost {        /* at the start */
    uint32_t tid;            /* 0: nothing was read */
    bool is_root, has_waits; /* both profilers of waits were on */
    uint64_t cpu_ns, run_queue_ns, process_cpu_ns;
    uint64_t switches[2], faults[2];
    uint64_t alloc_bytes, alloc_objects;
    uint64_t n_samples, sampled_ns;
    uint64_t waited_ns[SF_WAITS];
};

/* "cpu,run_queue": bits; false: an unknown word. */
bool sf_span_cost_words_parse(const char *words, unsigned *items);
void sf_span_cost_begin(struct sf_span_cost *c, unsigned items, uint32_t tid, bool is_root);
/* The attributes of the Span message; none when another thread ends it. */
void sf_span_cost_write(const struct sf_span_cost *c, unsigned items, uint32_t tid,
                        const uint8_t span_id[8], struct sf_buf *span);

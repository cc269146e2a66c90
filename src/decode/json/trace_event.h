/* trace_event.h - the parts of the Trace Event Format reader: events and threads read from the
 * JSON, slices as stacks, and V8's CPU profiles among Chrome's events. Private to this module. */
#pragma once
#include "decode/profile_build.h"
#include "decode/sample_clock.h"
#include "decode/sample_sums.h"
#include "wire/json.h"

struct sf_trace_thread {
    uint64_t pid, tid;
    sf_str name, process; /* from metadata events; empty: not given */
};

struct sf_trace_event {
    int64_t ts_ns, dur_ns; /* dur_ns: of a complete event; INT64_MAX of one that only begins */
    uint64_t args_hash;    /* 0: none */
    uint32_t thread, order;
    uint32_t location;
    uint32_t name; /* index of a function with this name only, because end events may omit the rest;
                    * or SF_NONE */
    char ph;       /* 'B', 'E' or 'X' */
};

struct sf_trace_piece { /* of a CPU profile: "Profile", "ProfileChunk", "CpuProfile" */
    int64_t ts_ns;
    uint64_t pid, id; /* id: hash of the profile's id */
    uint32_t thread, order;
    sf_str args; /* JSON text */
    bool is_head, is_whole;
};

struct sf_trace_events {
    struct sf_profile_build *b;
    struct sf_json j; /* too large for the stack */
    struct sf_profile_list threads, events, pieces;
    struct sf_table thread_at;
    struct sf_sample_sums sums;
    struct sf_sample_clock clock;
    int64_t first_ns;
    bool has_first, has_processes; /* has_processes: there are samples of more than one process */
};

static inline struct sf_trace_thread *sf_trace_thread_at(const struct sf_trace_events *t,
                                                         uint32_t place)
{
    return (struct sf_trace_thread *)t->threads.items + place;
}
/* The label of samples when the file has several processes; returns the number of labels (0 or
 * 1). */
uint32_t sf_trace_event_label(struct sf_trace_events *t, uint32_t thread, struct sf_label *out);
/* Converts slices to samples of wall time. */
void sf_trace_slices(struct sf_trace_events *t);
/* Converts CPU profiles to samples. Fails with INPUT or LIMIT. */
enum sf_err sf_trace_profiles(struct sf_trace_events *t);

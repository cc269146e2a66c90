/* v8_cpu.h - V8's CPU profile: a call tree, the node that ran at each sample, and the time between
 * samples. A .cpuprofile is one; a Chrome trace contains several, each in many pieces. Private to
 * this module. */
#pragma once
#include "decode/json/v8_node.h"
#include "decode/sample_clock.h"

struct sf_v8_cpu {
    struct sf_profile_build *b;
    struct sf_v8_nodes nodes;
    struct sf_profile_list ids, deltas, stamps; /* of int64_t */
    int64_t start_us, end_us;
    uint32_t cpu, wall; /* series */
    int64_t anchor_ns;  /* Unix time of start_us; 0: unknown */
    /* Set by the caller if the file has them. */
    struct sf_sample_clock clock; /* common clock of all profiles of a trace; none: the upload began
                                   * with this profile */
    uint64_t thread;
    sf_str thread_name;
    struct sf_label labels[1];
    uint32_t n_labels;
};

void sf_v8_cpu_init(struct sf_v8_cpu *p, struct sf_profile_build *b);
/* Reads the value of `key` and appends it to the profile; false: not a key of a profile; the value
 * is not read. Errors are kept in `j`. */
bool sf_v8_cpu_take(struct sf_v8_cpu *p, struct sf_json *j, sf_str key);
/* Adds the samples to the batch. INPUT: a cycle of links, or different numbers of times and
 * samples. */
enum sf_err sf_v8_cpu_finish(struct sf_v8_cpu *p);

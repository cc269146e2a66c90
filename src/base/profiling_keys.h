/* profiling_keys.h - the `profiling:` block of the configuration: every key with its kind, bounds
 * and default, shared by the server, which checks and shows it, and the collectors, which apply
 * it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/setting.h"

/* Percentages are kept in hundredths of a percent: 1 % is 100. Times are ns, sizes bytes. */
struct sf_profiling {
    bool has_cpu, has_memory, has_wall, has_mutex, has_block, has_threads;
    uint64_t cpu_rate, wall_rate; /* Hz */
    uint64_t memory_rate;         /* bytes between two samples */
    int64_t slow_request_ns;      /* conditional */
    uint32_t cpu_threshold_per_10000, baseline_per_10000, share_per_10000;
    bool has_errors, has_escalation;
    uint64_t max_stack_depth, max_profile_len;
    int64_t upload_interval_ns;
    bool is_adaptive;
    uint64_t adaptive_base_rate, adaptive_max_rate, adaptive_memory_len;
    uint32_t adaptive_cpu_per_10000, adaptive_budget_per_10000;
    int64_t adaptive_interval_ns;
    bool has_shedding;
    uint32_t shedding_cpu_per_10000;
    bool has_control;
};

enum { SF_PROFILING_DEPTH_MAX = 128 }; /* frames for which a collector has space */

/* KEY(path after "profiling.", kind, field, default, minimum, maximum, description); 0, 0: no
 * bounds. In the order of the example file. */
#define SF_PROFILING_KEYS(KEY) SF_PROFILING_KEYS_FIRST(KEY) SF_PROFILING_KEYS_LAST(KEY)
/* Keys up to `conditional`, where the server has further keys of its own. */
#define SF_PROFILING_KEYS_FIRST(KEY)                                                               \
    KEY("cpu.enabled", BOOL, has_cpu, "true", 0, 0, "collectors take CPU samples")                 \
    KEY("cpu.sample_rate", RATE, cpu_rate, "100", 1, 1000, "samples per second and CPU")           \
    KEY("memory.enabled", BOOL, has_memory, "true", 0, 0, "collectors take heap samples")          \
    KEY("memory.sample_rate", SIZE, memory_rate, "512KB", 1, 1ull << 30,                           \
        "bytes allocated between two samples")                                                     \
    KEY("wall.enabled", BOOL, has_wall, "false", 0, 0,                                             \
        "collectors sample all threads, running or waiting")                                       \
    KEY("wall.sample_rate", RATE, wall_rate, "20", 1, 1000,                                        \
        "samples per second for each waiting thread")                                              \
    KEY("mutex.enabled", BOOL, has_mutex, "false", 0, 0, "collectors record waits for locks")      \
    KEY("block.enabled", BOOL, has_block, "false", 0, 0,                                           \
        "collectors record waits in blocking calls")                                               \
    KEY("threads.enabled", BOOL, has_threads, "false", 0, 0,                                       \
        "collectors count threads by stack and state")                                             \
    KEY("conditional.slow_request_threshold", DURATION, slow_request_ns, "1s", 0,                  \
        86400000000000ull,                                                                         \
        "a request at least this slow is selected (0: none): the server keeps its samples after "  \
        "retention.tail_delay, and collectors keep its span ids when share is below 100 %")        \
    KEY("conditional.cpu_threshold_percent", PERCENT, cpu_threshold_per_10000, "80%", 0, 0,        \
        "a request that uses more than this share of a CPU is selected (0: none)")                 \
    KEY("conditional.profile_errors", BOOL, has_errors, "true", 0, 0,                              \
        "a request that fails is selected")                                                        \
    KEY("conditional.baseline", PERCENT, baseline_per_10000, "1%", 0, 0,                           \
        "share of all requests, selected by trace id, whose samples the server keeps; "            \
        "conditional.share is never below it")                                                     \
    KEY("conditional.share", PERCENT, share_per_10000, "100%", 0, 0,                               \
        "share of requests, selected by trace id, whose samples carry span ids; all samples "      \
        "count in totals")                                                                         \
    KEY("conditional.escalate", BOOL, has_escalation, "false", 0, 0,                               \
        "sample a request at adaptive.max_rate from the moment it exceeds slow_request_threshold " \
        "until it ends")
#define SF_PROFILING_KEYS_LAST(KEY)                                                              \
    KEY("max_stack_depth", COUNT, max_stack_depth, "64", 1, SF_PROFILING_DEPTH_MAX,              \
        "maximum number of frames a collector unwinds")                                          \
    KEY("max_profile_size", SIZE, max_profile_len, "10MB", 1ull << 16, 1ull << 26,               \
        "maximum size of one profile that a collector sends")                                    \
    KEY("upload_interval", DURATION, upload_interval_ns, "10s", 100000000ull, 3600000000000ull,  \
        "how often a collector sends profiles")                                                  \
    KEY("adaptive.enabled", BOOL, is_adaptive, "false", 0, 0,                                    \
        "lower the sampling rate above the thresholds below")                                    \
    KEY("adaptive.base_rate", RATE, adaptive_base_rate, "0", 0, 1000,                            \
        "samples per second below the thresholds; 0: as profiling.cpu.sample_rate")              \
    KEY("adaptive.max_rate", RATE, adaptive_max_rate, "1000", 1, 1000,                           \
        "maximum samples per second")                                                            \
    KEY("adaptive.cpu_threshold", PERCENT, adaptive_cpu_per_10000, "80%", 0, 0,                  \
        "lower the rate when one of these reaches the share: host CPU use, the process's CPU "   \
        "use, time in which a task waited for a CPU")                                            \
    KEY("adaptive.memory_threshold", SIZE, adaptive_memory_len, "512MB", 0, 0,                   \
        "lower the rate when the process or its control group uses this much memory; 0: never")  \
    KEY("adaptive.budget", PERCENT, adaptive_budget_per_10000, "1%", 0, 0,                       \
        "maximum CPU time of profiling itself, as a share of the process's, and 50 ms once: "    \
        "rates are lowered, symbolization is delayed and profiling pauses to keep it, even if "  \
        "enabled is false")                                                                      \
    KEY("adaptive.interval", DURATION, adaptive_interval_ns, "10s", 100000000ull,                \
        3600000000000ull, "time between two decisions of adaptive and load_shedding")            \
    KEY("load_shedding.enabled", BOOL, has_shedding, "true", 0, 0,                               \
        "pause profiling while the host is overloaded")                                          \
    KEY("load_shedding.cpu_threshold", PERCENT, shedding_cpu_per_10000, "90%", 0, 0,             \
        "pause when host CPU use reaches this share for two intervals; resume ten points below " \
        "it")                                                                                    \
    KEY("control.enabled", BOOL, has_control, "true", 0, 0,                                      \
        "collectors poll the server for profiling settings (/api/v1/control) and apply them")

struct sf_profiling_key {
    const char *path; /* including "profiling." */
    enum sf_setting_kind kind;
    size_t offset; /* in struct sf_profiling */
    const char *initial;
    uint64_t min, max; /* 0, 0: any */
};
extern const struct sf_profiling_key sf_profiling_keys[];
extern const size_t sf_profiling_n_keys;

/* Sets a key from its text, checked by its kind and bounds. INPUT: the field is unchanged. */
enum sf_err sf_profiling_keys_set(struct sf_profiling *to, const struct sf_profiling_key *key,
                                  sf_str text, struct sf_why *why);
void sf_profiling_keys_init(struct sf_profiling *to); /* all defaults */

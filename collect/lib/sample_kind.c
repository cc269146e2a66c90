#include "collect/lib/sample_kind.h"

const struct sf_kind_info *sf_sample_kind_info(enum sf_sample_kind kind)
{
    static const struct sf_kind_info infos[SF_SAMPLES_KINDS] = {
        [SF_SAMPLES_CPU] = {"cpu",
                            {{"samples", "count"}, {"cpu", "nanoseconds"}},
                            {"cpu", "nanoseconds"},
                            {false, true},
                            false},
        [SF_SAMPLES_WALL] = {"wall",
                             {{"samples", "count"}, {"wall", "nanoseconds"}},
                             {"wall", "nanoseconds"},
                             {false, true},
                             false},
        [SF_SAMPLES_ALLOC] = {"alloc",
                              {{"alloc_objects", "count"}, {"alloc_space", "bytes"}},
                              {"space", "bytes"},
                              {true, true},
                              false},
        [SF_SAMPLES_INUSE] = {"inuse",
                              {{"inuse_objects", "count"}, {"inuse_space", "bytes"}},
                              {"space", "bytes"},
                              {true, true},
                              true},
        [SF_SAMPLES_MUTEX] = {"mutex",
                              {{"contentions", "count"}, {"delay", "nanoseconds"}},
                              {"contentions", "count"},
                              {true, true},
                              false},
        [SF_SAMPLES_BLOCK] = {"block",
                              {{"samples", "count"}, {"off_cpu", "nanoseconds"}},
                              {0},
                              {false, true},
                              false},
        [SF_SAMPLES_THREADS] =
            {"threads", {{"threads", "count"}, {"age", "nanoseconds"}}, {0}, {true, false}, true},
        [SF_SAMPLES_PAUSED] = {"paused",
                               {{"samples", "count"}, {"profiling_paused", "nanoseconds"}},
                               {0},
                               {false, true},
                               false},
    };
    return &infos[kind];
}

const char *sf_sample_kind_wait_name(enum sf_wait wait)
{
    static const char *const names[SF_WAITS] = {"",          "running", "run_queue", "lock",
                                                "condition", "disk",    "network",   "io",
                                                "poll",      "sleep",   "child"};
    return names[wait];
}

/* profiling_spellings.h - texts of settings and what they mean. The tests of the server's
 * configuration and of the library's settings both hold against this table: a text that means one
 * thing here and another there fails one of them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

static const struct spelling {
    const char *path, *text;
    bool is_refused;
    uint64_t value; /* as stored: bytes, ns, hundredths of a percent */
} spellings[] = {
    {"profiling.memory.sample_rate", "512KB", false, 512000},
    {"profiling.memory.sample_rate", "512KiB", false, 524288},
    {"profiling.memory.sample_rate", "512 KB", false, 512000},
    {"profiling.memory.sample_rate", "512kb", false, 512000},
    {"profiling.memory.sample_rate", "512K", false, 512000},
    {"profiling.memory.sample_rate", "0.5MB", false, 500000},
    {"profiling.memory.sample_rate", "4096", false, 4096},
    {"profiling.memory.sample_rate", "1GiB", false, 1ull << 30},
    {"profiling.memory.sample_rate", "2GiB", true, 0},
    {"profiling.memory.sample_rate", "0", true, 0},
    {"profiling.memory.sample_rate", "512Hz", true, 0},
    {"profiling.memory.sample_rate", "many", true, 0},
    {"profiling.max_profile_size", "10MB", false, 10000000},
    {"profiling.max_profile_size", "10MiB", false, 10 << 20},
    {"profiling.max_profile_size", "1KB", true, 0},
    {"profiling.max_stack_depth", "64", false, 64},
    {"profiling.max_stack_depth", "128", false, 128},
    {"profiling.max_stack_depth", "129", true, 0},
    {"profiling.max_stack_depth", "64Hz", true, 0},
    {"profiling.upload_interval", "10s", false, 10000000000},
    {"profiling.upload_interval", "1m30s", false, 90000000000},
    {"profiling.upload_interval", "1.5s", false, 1500000000},
    {"profiling.upload_interval", "500 ms", false, 500000000},
    {"profiling.upload_interval", "100ms", false, 100000000},
    {"profiling.upload_interval", "99ms", true, 0},
    {"profiling.upload_interval", "10", true, 0},
    {"profiling.upload_interval", "2h", true, 0},
    {"profiling.upload_interval", "-1s", true, 0},
    {"profiling.cpu.sample_rate", "99", false, 99},
    {"profiling.cpu.sample_rate", "99Hz", false, 99},
    {"profiling.cpu.sample_rate", "99 hz", false, 99},
    {"profiling.cpu.sample_rate", "1000", false, 1000},
    {"profiling.cpu.sample_rate", "1001", true, 0},
    {"profiling.cpu.sample_rate", "1K", true, 0},
    {"profiling.cpu.sample_rate", "Hz", true, 0},
    {"profiling.cpu.enabled", "true", false, 1},
    {"profiling.cpu.enabled", "No", false, 0},
    {"profiling.cpu.enabled", "on", false, 1},
    {"profiling.cpu.enabled", "0", false, 0},
    {"profiling.cpu.enabled", "2", true, 0},
    {"profiling.conditional.cpu_threshold_percent", "80", false, 8000},
    {"profiling.conditional.cpu_threshold_percent", "80%", false, 8000},
    {"profiling.conditional.cpu_threshold_percent", "0.25 %", false, 25},
    {"profiling.conditional.cpu_threshold_percent", "100%", false, 10000},
    {"profiling.conditional.cpu_threshold_percent", "101%", true, 0},
    {"profiling.conditional.cpu_threshold_percent", "%", true, 0},
    {"profiling.conditional.slow_request_threshold", "250ms", false, 250000000},
    {"profiling.conditional.slow_request_threshold", "0", false, 0},
};
enum { N_SPELLINGS = sizeof(spellings) / sizeof(spellings[0]) };

/* A field as its kind stores it. */
static inline uint64_t spelling_value(enum sf_setting_kind kind, const void *field)
{
    if (kind == SF_SETTING_BOOL)
        return *(const bool *)field;
    return kind == SF_SETTING_PERCENT ? *(const uint32_t *)field : *(const uint64_t *)field;
}

/* profiling_settings.h - the profilers that run from the start and their rates, as in the
 * `profiling:` block of the configuration. Each key has a variable: profiling.cpu.sample_rate is
 * SPANFLAME_PROFILING_CPU_SAMPLE_RATE. SPANFLAME_PROFILES, a list of names, selects them all at
 * once. */
#pragma once
#include "base/profiling_keys.h"
#include "collect/lib/sample_kind.h"

struct sf_profiling_settings {
    unsigned kinds;  /* bits of enum sf_sample_kind */
    bool is_default; /* defaults are used: a profiler that cannot run is not an error */
    uint64_t periods[SF_SAMPLES_KINDS];
    struct sf_profiling block; /* every key of it */
};

/* A variable's value, or NULL; empty counts as unset. */
typedef const char *(*sf_settings_get)(const char *name);
typedef void (*sf_settings_warn)(void *arg, const char *name, const char *val);

/* An invalid value is reported to the callback and replaced by the default. */
void sf_profiling_settings_read(struct sf_profiling_settings *s, sf_settings_get get,
                                sf_settings_warn warn, void *arg);
/* Parses "cpu", "heap" and so on, separated by commas; "all", "none". False: an unknown word. */
bool sf_profiling_settings_words_parse(const char *words, unsigned *kinds);

/* "profiling.adaptive.interval" to "SPANFLAME_PROFILING_ADAPTIVE_INTERVAL". */
enum { SF_PROFILING_VARIABLE_CAP = 96 };
void sf_profiling_settings_variable(const char *key, char out[SF_PROFILING_VARIABLE_CAP]);

/* profile_type.h - names and units of profile types, as Pyroscope's clients use them. */
#pragma once
#include "base/arena.h"
#include "model/profile.h"

/* Normalises units ("ns" to "nanoseconds") and types ("CPU" to "cpu", '-' to '_'); others are
 * unchanged. A changed one is in `a`; false: full. */
sf_str sf_profile_type_unit_of(sf_str unit);
bool sf_profile_type_of_sample(sf_str type, struct sf_arena *a, sf_str *out);
/* Nanoseconds per unit; 0: not a unit of time. */
int64_t sf_profile_type_unit_ns(sf_str unit);

/* The series name of a pprof with these sample types (process_cpu, memory, mutex, ...), according
 * to the client's sample_type_config (JSON, sample type to {"display-name"}), which may be
 * empty. */
sf_str sf_profile_type_name_of(const sf_str *types, uint32_t n, sf_str config);
/* Whether Go's endpoints serve it as a total since the process started. */
bool sf_profile_type_is_total(sf_str sample_type);

/* The type for the last part of an application's name: "cpu", "alloc_space", ... With `is_time` the
 * value is a count of samples to be multiplied by the period. False: no such word. */
bool sf_profile_type_of_word(sf_str word, bool has_rate, struct sf_profile_type *out,
                             bool *out_is_time);

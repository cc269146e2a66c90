/* austin.h - what Austin measures, common to its text and to its binary form (MOJO). Private to
 * this module. */
#pragma once
#include "decode/profile_build.h"
#include "decode/sample_sums.h"

enum sf_austin_mode { SF_AUSTIN_WALL, SF_AUSTIN_CPU, SF_AUSTIN_MEMORY, SF_AUSTIN_FULL };

struct sf_austin {
    struct sf_profile_build *b;
    struct sf_sample_sums sums;
    enum sf_austin_mode mode;
    uint32_t wall, cpu, alloc, freed; /* series */
    bool is_open;
    struct sf_profile_list path; /* locations, root first */
    uint64_t thread;
};

struct sf_austin_value {
    int64_t time_us, bytes;
    bool is_idle;
};

void sf_austin_init(struct sf_austin *a, struct sf_profile_build *b);
/* A line of its header; "mode" decides what the numbers are. */
void sf_austin_metadata(struct sf_austin *a, sf_str key, sf_str val);
void sf_austin_frame(struct sf_austin *a, sf_str file, sf_str function, uint32_t line);
/* Adds the path with its values, and empties it. */
void sf_austin_add(struct sf_austin *a, const struct sf_austin_value *v);

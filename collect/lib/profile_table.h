/* profile_table.h - sums of the samples of one kind: samples with equal stack, span, thread and
 * kind of wait are one row. With moments, the time and values of every sample that has a time are
 * kept too; samples without a time have rows of their own. One thread at a time. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "collect/lib/sample_ring.h"

enum {
    SF_PROFILE_MEMORY = 8 << 20
}; /* rows and frames of one profile; further new ones are dropped */

struct sf_profile_stack_row {
    uint32_t frames_at, n_frames; /* index and number in `frames` */
    uint32_t thread;              /* thread id of the kernel */
    uint32_t next;                /* row + 1 with the same hash */
    uint32_t moments;             /* newest moment + 1; 0: none */
    uint64_t values[2];
    uint8_t trace_id[16], span_id[8];
    uint8_t end, wait;
    bool is_timed; /* with moments */
};

struct sf_moment {
    uint32_t row;
    uint32_t next; /* next older moment of the same row + 1 */
    uint64_t time_ns, values[2];
};

struct sf_profile_table {
    bool has_moments;      /* set before the first sample */
    size_t max;            /* bytes, set likewise; 0: SF_PROFILE_MEMORY */
    struct sf_buf rows;    /* struct sf_profile_stack_row */
    struct sf_buf frames;  /* uint64_t; a caller's address is that of its call */
    struct sf_buf moments; /* struct sf_moment */
    uint32_t *slots;       /* heap; row + 1 */
    uint32_t n_slots;
    uint64_t values[2], lost; /* sums of all samples; number of those dropped */
};

void sf_profile_table_done(struct sf_profile_table *t);
void sf_profile_table_add(struct sf_profile_table *t, const struct sf_raw_sample *s);
uint32_t sf_profile_table_n(const struct sf_profile_table *t);
uint32_t sf_profile_table_n_moments(const struct sf_profile_table *t);
bool sf_profile_table_is_filling(const struct sf_profile_table *t); /* more than half full */
const struct sf_profile_stack_row *sf_profile_table_row(const struct sf_profile_table *t,
                                                        uint32_t i);
const struct sf_moment *sf_profile_table_moment(const struct sf_profile_table *t, uint32_t i);
const uint64_t *sf_profile_table_frames(const struct sf_profile_table *t,
                                        const struct sf_profile_stack_row *row);

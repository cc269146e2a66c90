/* profile_table.h - samples summed up: equal stacks of equal spans and threads are one row. One
 * thread at a time. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "collect/lib/sample_ring.h"

enum {
    SF_PROFILE_MEMORY = 8 << 20
}; /* rows and frames of one profile; further new ones are lost */

struct sf_profile_row {
    uint32_t frames_at, n_frames; /* in words of `frames` */
    uint32_t thread;              /* its id in the system */
    uint32_t next;                /* row + 1 with the same hash */
    uint64_t weight;
    uint8_t trace_id[16], span_id[8];
    uint8_t end;
};

struct sf_profile_table {
    struct sf_buf rows;   /* struct sf_profile_row */
    struct sf_buf frames; /* uint64_t; a caller's address is that of its call */
    uint32_t *slots;      /* heap; row + 1 */
    uint32_t n_slots;
    uint64_t weight, lost; /* all that was added; what found no room */
};

void sf_profile_table_done(struct sf_profile_table *t);
void sf_profile_table_add(struct sf_profile_table *t, const struct sf_sample *s, uint32_t thread);
uint32_t sf_profile_table_n(const struct sf_profile_table *t);
const struct sf_profile_row *sf_profile_table_row(const struct sf_profile_table *t, uint32_t i);
const uint64_t *sf_profile_table_frames(const struct sf_profile_table *t,
                                        const struct sf_profile_row *row);

/* pprof_delta.h - computes the differences between two dumps of one process.
 *
 * Sums since process start are added up per (labels, stack, sample type, numeric labels), first the
 * earlier dump's, then the later one's; the difference is what is kept. A sum that decreased
 * belongs to a process that was restarted: then the later value is used. In a scrape, where a dump
 * is of one process, then the later values of all sums are used. Private to this module. */
#pragma once
#include "decode/profile_build.h"

struct sf_pprof_delta_key {
    uint32_t set, stack, type;
    uint64_t nums;
};

struct sf_pprof_delta {
    struct sf_profile_build *b;
    struct sf_profile_list sums;
    struct sf_table at;
};

void sf_pprof_delta_init(struct sf_pprof_delta *d, struct sf_profile_build *b);
/* Adds the sample's value; of the later dump its ids are kept too. */
void sf_pprof_delta_add(struct sf_pprof_delta *d, const struct sf_pprof_delta_key *key,
                        bool is_before, const struct sf_sample *sample);
/* Adds the differences as samples; `whats` by sample type. */
void sf_pprof_delta_finish(struct sf_pprof_delta *d, const uint32_t *whats);

/* profile_merging.h - state of a merge of profiles, shared by the files that implement it.
 *
 * Windows are hours or days of the profiles' index times. A detail row is written to the window
 * that its profile most likely belongs to: the last window of its service and block that does not
 * begin after the row, or else the first one. So each row is written exactly once, whatever time
 * the sender gave it. */
#pragma once
#include "block/profile/profile_block_reader.h"
#include "block/profile/profile_block_writer.h"
#include "block/profile/profile_set.h"
#include "store/local/keep/thinning.h"
#include "store/local/profiles/profile_merge.h"

struct sf_merge_output {
    uint32_t tenant; /* 0: several */
    int64_t window;
};

struct sf_merge_input {
    struct sf_run *run;
    const struct sf_profile_block_reader *reader;
    const struct sf_profile_service *services;
    uint32_t n_services, at;
    bool *is_wanted; /* by service: is it merged? NULL: all are */
};

struct sf_profile_merging {
    struct sf_local *l;
    const struct sf_merge *m;
    struct sf_merge_input *inputs;
    size_t n_entered;
    struct sf_merge_output *outputs;
    size_t n_outputs, cap_outputs;
    struct sf_arena arena;
    struct sf_thinning thinning; /* of the current output; by pins: of all outputs */
    /* Memory of the current service: detail rows; samples of a slot. */
    size_t streams_len, gathered_len;
    size_t counted_len;
    struct sf_merge_result done;
};

struct sf_merge_part { /* the part of one input that belongs to the current service */
    const struct sf_merge_input *in;
    uint32_t service;
    const struct sf_profile_series *series;
    const struct sf_process *processes;
    const struct sf_profile_row *rows;
    struct sf_profile_places places;
    uint32_t *node_map, *series_map, *process_map;
    uint32_t *row_map; /* new number by row; SF_NONE: not in this output */
    int64_t *windows;  /* of its rows, increasing, without duplicates */
    uint32_t n_windows;
};

struct sf_merge_ref; /* a chunk of an input: profile_merge_service.c */

struct sf_service_merge {
    struct sf_profile_merging *w;
    const struct sf_merge_output *o;
    struct sf_merge_part *parts;
    uint32_t n_parts;
    struct sf_profile_set *set;
    struct sf_profile_tables t;
    struct sf_profile_row *rows;
    struct sf_merge_ref *refs;
    uint32_t n_refs;
};

enum sf_err sf_profile_merge_no_memory(struct sf_why *why);
enum sf_err sf_profile_merge_no_room(struct sf_why *why);
int64_t sf_profile_merge_window(const struct sf_profile_merging *w, int64_t index_ns);
/* Does an erasure hide it? */
bool sf_profile_merge_hides(const struct sf_profile_merging *w, const struct sf_merge_input *in,
                            uint32_t tenant, sf_str service, sf_trace_id trace, int64_t at_ns);
/* Quarantines a damaged input, so that the next merge leaves it out. */
enum sf_err sf_profile_merge_blame(const struct sf_merge_input *in, enum sf_err err,
                                   const struct sf_why *why);

/* Writes one service to the output, unless it has no profile there. */
enum sf_err sf_profile_merge_service_write(struct sf_service_merge *s,
                                           struct sf_profile_block_writer *to, struct sf_why *why);
/* Does the service of an input have samples of pinned traces? */
enum sf_err sf_profile_merge_details_has_pinned(struct sf_profile_merging *w,
                                                const struct sf_merge_input *in, uint32_t service,
                                                bool *out, struct sf_why *why);
enum sf_err sf_profile_merge_details(struct sf_service_merge *s, struct sf_profile_block_writer *to,
                                     struct sf_why *why);

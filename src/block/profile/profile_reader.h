/* profile_reader.h - definitions shared by the files that read blocks of profiles. Private to this
 * module. */
#pragma once
#include "block/format/cursor.h"
#include "block/format/planes.h"
#include "block/format/section.h"
#include "block/profile/profile_block_reader.h"
#include "block/profile/profile_groups.h"
#include "os/file.h"

struct sf_profile_block_reader {
    struct sf_file file;
    struct sf_buf memory;
    uint64_t len;
    bool is_trusted;
    struct sf_span_block_info info;
    struct sf_arena tables;
    struct sf_section *sections; /* sorted by id and owner */
    uint32_t n_sections;
    struct sf_profile_service *services;
    uint32_t n_services;
    const uint64_t *dups, *sources;
    size_t n_dups, n_sources;
};

enum sf_err sf_profile_block_reader_section(const struct sf_profile_block_reader *r, uint16_t id,
                                            uint32_t owner, struct sf_arena *req, sf_bytes *out,
                                            struct sf_why *why);
enum sf_err sf_profile_block_reader_damaged(const struct sf_profile_block_reader *r, uint16_t id,
                                            struct sf_why *why);
enum sf_err sf_profile_block_reader_no_room(struct sf_why *why);
bool sf_profile_block_reader_has_section(const struct sf_profile_block_reader *r, uint16_t id,
                                         uint32_t owner);

static inline int64_t sf_profile_next_signed(struct sf_cursor *c)
{
    uint64_t v = sf_cursor_varint(c);
    return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}
/* A stored value times the divisor; a product that overflows is damage. */
int64_t sf_profile_samples_next_value(struct sf_cursor *c, uint64_t divisor);
uint64_t sf_profile_samples_next_divisor(struct sf_cursor *c);
/* The decoded DET of a granule since format 2, for the largest granule. */
struct sf_profile_times {
    struct sf_cursor runs; /* at the first run */
    uint32_t n_rows;
    int64_t start_ns[SF_PROFILE_GRANULE_ROWS], length_ns[SF_PROFILE_GRANULE_ROWS];
    uint8_t flags[SF_PROFILE_GRANULE_ROWS]; /* states are checked */
};
/* For rows with these values, in these groups. False: damaged. */
bool sf_profile_times_decode(uint16_t format, sf_bytes raw, uint32_t n_processes,
                             const struct sf_profile_groups *g, const int64_t *values,
                             struct sf_profile_times *out);
/* The thread of each row. False: damaged. */
bool sf_profile_times_decode_threads(const struct sf_profile_times *t, uint64_t *out);
/* Sets threads, times and states of `d`. False: damaged. */
bool sf_profile_times_decode_rows(const struct sf_profile_times *t, struct sf_profile_detail *d);
/* The decoded STX of a granule; the cursors are at their parts. */
struct sf_profile_stacks {
    struct sf_cursor rest;   /* after the codes */
    struct sf_cursor listed; /* series of the granule as steps, since format 3 */
    uint32_t n_listed;
    uint16_t format;
    const uint8_t *low, *high; /* bytes of the codes; NULL if they are stored as bins */
    uint16_t codes[SF_PROFILE_GRANULE_ROWS];
    uint32_t n_rows, n_nodes;
    uint32_t series, n_series; /* the common series of all rows; number of series of the service */
    int64_t value;             /* of all rows */
    uint64_t divisor;
    unsigned n_bits; /* bits per code in `high` */
    uint8_t flags;
};
/* Writes the list of nodes to `nodes`; marks and counts in `is_code` those that `is_node` selects.
 * Either may be NULL; both are as long as a granule. False: damaged. */
bool sf_profile_stacks_decode_open(const struct sf_profile_block_reader *r, uint32_t service,
                                   sf_bytes raw, uint32_t n_rows, const bool *is_node,
                                   uint32_t *nodes, bool *is_code, uint32_t *out_n_marked,
                                   struct sf_profile_stacks *out);
/* Decodes the columns of all rows, in order: `nodes` is the list. Moves s->rest to the ids. False:
 * damaged. */
bool sf_profile_stacks_decode_columns(struct sf_profile_stacks *s, const uint32_t *nodes,
                                      uint32_t *node, uint32_t *series, int64_t *value,
                                      struct sf_profile_groups *groups);
/* Decodes the ids of the rows as runs; `runs` has space for one per row. False: damaged. */
bool sf_profile_stacks_decode_runs(const struct sf_profile_stacks *s, struct sf_profile_run *runs,
                                   uint32_t *out_n);

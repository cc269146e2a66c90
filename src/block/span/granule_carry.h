/* granule_carry.h - which granules of a block can be copied into another block as they are
 * stored. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct sf_span_block_reader;

/* Maps indexes of one block's tables to codes of the block being written; SF_NONE: not looked up
 * yet. Sizes are given by sf_granule_carry_tables(); valid for one writer. */
struct sf_block_codes {
    uint32_t *resources, *scopes, *keys;
};

/* Needs ROWS, like all of these functions. */
void sf_granule_carry_tables(const struct sf_span_block_reader *r, uint32_t *out_n_resources,
                             uint32_t *out_n_scopes, uint32_t *out_n_keys);
/* Has the new block a column for each of this many keys, the sum of all its sources? */
bool sf_granule_carry_fits(uint64_t n_keys);
/* Is it large enough (`min_rows`, or many bytes), and stored as the current version stores it? */
bool sf_granule_carry_can(const struct sf_span_block_reader *r, uint32_t granule,
                          uint32_t min_rows);

/* granule_carry.h - which granules of a block another block can have as they are stored. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct sf_span_block_reader;

/* What the places of one block's tables are in the block that is written; SF_NONE: not looked up
 * yet. As many as sf_granule_carry_tables() says; good for one writer. */
struct sf_block_codes {
    uint32_t *resources, *scopes, *keys;
};

/* Needs ROWS, as all of these. */
void sf_granule_carry_tables(const struct sf_span_block_reader *r, uint32_t *out_n_resources,
                             uint32_t *out_n_scopes, uint32_t *out_n_keys);
/* The block that is written has a column for each of so many keys, of all its sources together. */
bool sf_granule_carry_fits(uint64_t n_keys);
/* Is it large enough (`min_rows`, or many bytes), and stored as a writer of today would store it?
 */
bool sf_granule_carry_can(const struct sf_span_block_reader *r, uint32_t granule,
                          uint32_t min_rows);

/* profile_groups.h - groups the rows of a granule by series, for columns that differ between
 * series: samples of CPU time all have one value and one state, waits vary in both. Each group gets
 * its own bins (format/bins.h). Private to this module. */
#pragma once
#include "block/format/bins.h"
#include "block/profile/profile_block.h"

enum { SF_PROFILE_GROUPS = 8 }; /* with more series, all rows are one group */

struct sf_profile_groups {
    uint32_t n, n_rows;
    uint32_t sizes[SF_PROFILE_GROUPS];       /* each at least 1 */
    uint8_t of_row[SF_PROFILE_GRANULE_ROWS]; /* not set if there is only one group */
    uint16_t codes[SF_PROFILE_GRANULE_ROWS]; /* of each row's node; since format 3 */
};

static inline bool sf_profile_groups_has(const struct sf_profile_groups *g, uint32_t group,
                                         uint32_t row)
{
    return g->n == 1 || g->of_row[row] == group;
}

void sf_profile_groups_one(struct sf_profile_groups *g, uint32_t n_rows);
/* Makes the groups from the index of each row's series among the granule's `n_series`. False: a
 * series has no rows. */
bool sf_profile_groups_make(struct sf_profile_groups *g, const int64_t *places, uint32_t n_rows,
                            uint32_t n_series);
/* Copies the column of one group to `out`; returns the number of values. */
uint32_t sf_profile_groups_pick(const struct sf_profile_groups *g, uint32_t group,
                                const int64_t *column, int64_t *out);
/* Decodes the next bins into the rows of one group. False: damaged. */
bool sf_profile_groups_read(const struct sf_profile_groups *g, uint32_t group, struct sf_cursor *c,
                            int64_t *column);

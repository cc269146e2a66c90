/* profile_groups.h - the rows of a granule by their series, for columns that differ between them:
 * samples of CPU time all have one value and one state, waits beside them have neither. Each group
 * gets bins of its own (format/bins.h). Private to this module. */
#pragma once
#include "block/format/bins.h"
#include "block/profile/profile_block.h"

enum { SF_PROFILE_GROUPS = 8 }; /* of more series than that all rows are one group */

struct sf_profile_groups {
    uint32_t n, n_rows;
    uint32_t sizes[SF_PROFILE_GROUPS];       /* each at least 1 */
    uint8_t of_row[SF_PROFILE_GRANULE_ROWS]; /* not set when there is one */
    uint16_t codes[SF_PROFILE_GRANULE_ROWS]; /* of each row's node; since format 3 */
};

static inline bool sf_profile_groups_has(const struct sf_profile_groups *g, uint32_t group,
                                         uint32_t row)
{
    return g->n == 1 || g->of_row[row] == group;
}

void sf_profile_groups_one(struct sf_profile_groups *g, uint32_t n_rows);
/* From the place of each row's series among the granule's `n_series`. False: one has no rows. */
bool sf_profile_groups_make(struct sf_profile_groups *g, const int64_t *places, uint32_t n_rows,
                            uint32_t n_series);
/* The column of one group, into `out`; how many. */
uint32_t sf_profile_groups_pick(const struct sf_profile_groups *g, uint32_t group,
                                const int64_t *column, int64_t *out);
/* The next bins into the rows of one group. False: damaged. */
bool sf_profile_groups_read(const struct sf_profile_groups *g, uint32_t group, struct sf_cursor *c,
                            int64_t *column);

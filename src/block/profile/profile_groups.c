#include "block/profile/profile_groups.h"

#include "base/invariant.h"

_Static_assert((int)SF_PROFILE_GRANULE_ROWS <= (int)SF_BINS_VALUES_MAX, "a column fits its bins");

void sf_profile_groups_one(struct sf_profile_groups *g, uint32_t n_rows)
{
    g->n = 1;
    g->n_rows = g->sizes[0] = n_rows;
}

bool sf_profile_groups_make(struct sf_profile_groups *g, const int64_t *places, uint32_t n_rows,
                            uint32_t n_series)
{
    sf_profile_groups_one(g, n_rows);
    if (n_series < 2 || n_series > SF_PROFILE_GROUPS)
        return true;
    g->n = n_series;
    memset(g->sizes, 0, sizeof(g->sizes));
    for (uint32_t i = 0; i < n_rows; i++) {
        g->of_row[i] = (uint8_t)places[i];
        g->sizes[g->of_row[i]]++;
    }
    for (uint32_t i = 0; i < g->n; i++)
        if (g->sizes[i] == 0)
            return false;
    return true;
}

uint32_t sf_profile_groups_pick(const struct sf_profile_groups *g, uint32_t group,
                                const int64_t *column, int64_t *out)
{
    uint32_t n = 0;
    if (g->n == 1) {
        memcpy(out, column, g->n_rows * sizeof(*out));
        return g->n_rows;
    }
    for (uint32_t i = 0; i < g->n_rows; i++)
        if (g->of_row[i] == group)
            out[n++] = column[i];
    return n;
}

bool sf_profile_groups_read(const struct sf_profile_groups *g, uint32_t group, struct sf_cursor *c,
                            int64_t *column)
{
    int64_t own[SF_PROFILE_GRANULE_ROWS];
    uint32_t n = 0;
    if (g->n == 1)
        return sf_bins_decode(c, column, g->n_rows);
    if (!sf_bins_decode(c, own, g->sizes[group]))
        return false;
    for (uint32_t i = 0; i < g->n_rows; i++)
        if (g->of_row[i] == group)
            column[i] = own[n++];
    return true;
}

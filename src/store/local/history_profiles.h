/* history_profiles.h - cuts the profiles of a block into pieces. Private to store/local. */
#pragma once
#include "block/profile/profile_block_reader.h"
#include "store/local/history.h"

/* Rows of a piece are from one service; `from` and `to` are indexes of chunks or of granules. */
struct sf_history_cut {
    uint32_t service;
    bool is_detail;
    uint32_t from, to;
};

/* Calls `see` for each piece of the block, in order, until it returns false. Uses `scratch`. */
enum sf_err sf_history_profiles_cut(const struct sf_profile_block_reader *r,
                                    struct sf_arena *scratch,
                                    bool (*see)(void *arg, const struct sf_history_cut *cut),
                                    void *arg, struct sf_why *why);
/* The rows of a piece; everything is in `arena`. */
enum sf_err sf_history_profiles_read(const struct sf_profile_block_reader *r,
                                     const struct sf_history_cut *cut, struct sf_arena *arena,
                                     struct sf_history_profiles *out, struct sf_why *why);

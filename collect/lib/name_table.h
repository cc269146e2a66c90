/* name_table.h - assigns small consecutive ids to numbers and texts, in the order of first use: for
 * the tables of a profile. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct sf_name_table { /* a zeroed struct is empty */
    struct sf_buf entries;
    bool has_failed; /* no memory, or more names than a profile can have */
    uint32_t slots[1024];
};

void sf_name_table_done(struct sf_name_table *t);
/* The id of a key; *is_new if it was added. Ids count from `first`. */
uint32_t sf_name_table_id(struct sf_name_table *t, uint64_t key, uint32_t first, bool *is_new);
/* A 64-bit hash stands for a text or a list: collisions among a profile's few thousand are not
 * expected. */
uint64_t sf_name_table_hash(const void *bytes, size_t len);

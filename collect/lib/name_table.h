/* name_table.h - numbers and texts to small ids, counted from where the caller likes, in the order
 * they were first met: the tables a profile is written with. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct sf_name_table { /* a zeroed one is empty */
    struct sf_buf entries;
    bool has_failed; /* memory, or more names than a profile can have */
    uint32_t slots[1024];
};

void sf_name_table_done(struct sf_name_table *t);
/* The id of a key; *is_new when it was not there. Ids count from `first`. */
uint32_t sf_name_table_id(struct sf_name_table *t, uint64_t key, uint32_t first, bool *is_new);
/* 64 bits represent a text or a list: two of a profile's few thousand never meet. */
uint64_t sf_name_table_hash(const void *bytes, size_t len);

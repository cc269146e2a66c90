/* row_ids.h - the ids of dictionary entries that rows of a shard's answer refer to: series,
 * processes and stacks, each once. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "base/table.h"

enum sf_row_ids_kind { SF_ROWS_PROFILES, SF_ROWS_STACKS, SF_ROWS_DETAILS };

struct sf_id_set {
    uint64_t *list;
    uint32_t n, cap;
    struct sf_table at;
};

struct sf_row_ids {
    struct sf_id_set series, processes, stacks;
};

/* Reads rows of that kind: sf_profile_answer_profiles and so on. CORRUPT, NOMEM. The caller calls
 * _done() in any case. */
enum sf_err sf_row_ids_read(enum sf_row_ids_kind kind, sf_bytes in, struct sf_row_ids *out);
void sf_row_ids_done(struct sf_row_ids *ids); /* a zeroed object is allowed */

/* conds.h - evaluates pushed-down conditions on decoded rows.
 *
 * False is certain, true may be wrong: regular expressions, negations, events and links are left to
 * the layer above, which evaluates everything again exactly. */
#pragma once
#include "base/arena.h"
#include "model/select.h"
#include "model/span_rows.h"

struct sf_conds {
    const struct sf_cond *list;
    size_t n;
    bool is_all;            /* AND; otherwise OR */
    int64_t from_ns, to_ns; /* only spans that overlap; 0 and 0: all */
    uint64_t process;       /* sf_process_hash; 0: any */
    uint32_t columns;       /* columns that are needed for the evaluation: sf_conds_prepare() */
    uint32_t *want;         /* by condition: index of its key in the requested keys, or SF_NONE */
};

/* Determines columns and keys: appends the keys of the conditions to `keys` (n_keys exist; space
 * for n_keys + n) and returns their new number. `want` has space for n. */
size_t sf_conds_prepare(struct sf_conds *c, struct sf_key *keys, size_t n_keys, uint32_t *want);
/* Sets out[i]: may row i match? Scratch holds one result per dictionary entry. False: arena
 * full. */
bool sf_conds_judge(const struct sf_conds *c, const struct sf_span_rows *rows, uint32_t from,
                    uint32_t to, struct sf_arena scratch, uint8_t *out);

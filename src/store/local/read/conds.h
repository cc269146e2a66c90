/* conds.h - pushed-down conditions against decoded rows.
 *
 * False is certain, true may be a guess: regular expressions, negations, events and links are left
 * to the layer above, which checks again exactly. */
#pragma once
#include "base/arena.h"
#include "model/select.h"
#include "model/span_rows.h"

struct sf_conds {
    const struct sf_cond *list;
    size_t n;
    bool is_all;            /* and; otherwise or */
    int64_t from_ns, to_ns; /* spans that overlap; 0 and 0: all */
    uint64_t process;       /* sf_process_hash; 0: any */
    uint32_t columns;       /* what rows must have to be judged: sf_conds_prepare() */
    uint32_t *want;         /* per condition: place among the wanted keys, or SF_NONE */
};

/* Works out columns and wanted keys: `keys` (space for n_keys + n) gets the keys of the conditions
 * behind the n_keys that are there; returns how many there are then. `want` has space for n. */
size_t sf_conds_prepare(struct sf_conds *c, struct sf_key *keys, size_t n_keys, uint32_t *want);
/* out[i]: may row i match? Scratch for one verdict per dictionary entry. False: arena full. */
bool sf_conds_judge(const struct sf_conds *c, const struct sf_span_rows *rows, uint32_t from,
                    uint32_t to, struct sf_arena scratch, uint8_t *out);

/* dwarf_calls.h - finds the function and the inlined calls at addresses: one walk over a unit's
 * entries for many addresses. */
#pragma once
#include "base/buf.h"
#include "symbol/dwarf_units.h"

struct sf_dwarf_call {
    uint64_t entry_off; /* entry of the function, or of the inlined call */
    uint64_t file;      /* call site of an inlined call */
    uint32_t line;
    uint32_t outer; /* index + 1 of the enclosing call; 0: none, this is a function */
    uint32_t depth; /* in the tree of entries */
};

struct sf_dwarf_calls { /* a zeroed one is empty */
    struct sf_buf list; /* struct sf_dwarf_call; `outer` points to earlier ones only */
};

/* `innermost[i]` becomes the index + 1 of the innermost call that contains the i-th of `n` sorted
 * addresses; 0: unknown. Discards earlier results. */
void sf_dwarf_calls_find(struct sf_dwarf_calls *c, struct sf_dwarf *d,
                         const struct sf_dwarf_loaded *unit, const uint64_t *at, uint32_t n,
                         uint32_t *innermost);
void sf_dwarf_calls_done(struct sf_dwarf_calls *c);
const struct sf_dwarf_call *sf_dwarf_calls_get(const struct sf_dwarf_calls *c, uint32_t place);

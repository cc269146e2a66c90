/* dwarf_calls.h - which function an address is in, and which calls the compiler inlined there: one
 * walk over a unit's entries for many addresses. */
#pragma once
#include "base/buf.h"
#include "symbol/dwarf_units.h"

struct sf_dwarf_call {
    uint64_t entry_off; /* of the function, or of the inlined call */
    uint64_t file;      /* where an inlined one was called */
    uint32_t line;
    uint32_t outer; /* the call around it, its place + 1; 0: none, this is a function */
    uint32_t depth; /* in the tree of entries */
};

struct sf_dwarf_calls { /* a zeroed one is empty */
    struct sf_buf list; /* struct sf_dwarf_call; `outer` points to earlier ones only */
};

/* `innermost[i]` becomes the place + 1 of what the i-th of `n` sorted addresses is in; 0: unknown.
 * What was found before is forgotten. */
void sf_dwarf_calls_find(struct sf_dwarf_calls *c, struct sf_dwarf *d,
                         const struct sf_dwarf_loaded *unit, const uint64_t *at, uint32_t n,
                         uint32_t *innermost);
void sf_dwarf_calls_done(struct sf_dwarf_calls *c);
const struct sf_dwarf_call *sf_dwarf_calls_get(const struct sf_dwarf_calls *c, uint32_t place);

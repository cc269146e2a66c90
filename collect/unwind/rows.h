/* rows.h - .eh_frame turned into a sorted table that a signal handler can search.
 *
 * The call frame information is a program per function: "from this byte on, the caller's frame is
 * at rsp + 24". Running it needs loops and state; looking up its result does not. So each module's
 * tables are run once, outside of signal handlers, and kept as rows of eight bytes:
 *
 *     | pc u32, from the module's base | cfa s16, in 8 bytes | rbp s8, in 8 bytes from the cfa |
 * kind u8 |
 *
 * A row applies until the next one begins. The return address is always just below the frame. Only
 * rsp, rbp and the return address are tracked; the few rows that need other registers (functions
 * that realign their stack, some hand-written code) are marked, and the walk ends there. For
 * x86-64; on other architectures there are no rows, and only frame pointers are used. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sf_row_kind {
    SF_ROW_NONE = 0, /* no information: a gap */
    SF_ROW_RSP,      /* frame = rsp + cfa */
    SF_ROW_RBP,      /* frame = rbp + cfa */
    SF_ROW_PLT,      /* a PLT stub: rsp + 8, and + 8 more from its byte 11 of 16 on */
    SF_ROW_SIGNAL,   /* the return from a signal: registers are in the saved context */
    SF_ROW_END,      /* no caller: the end of the stack */
    SF_ROW_DEREF,    /* frame = *(rbp + cfa) */
    SF_ROW_BAD       /* needs registers that are not tracked */
};

enum { SF_ROW_NO_RBP = 127 }; /* rbp is unchanged */

struct sf_row {
    uint32_t pc;
    int16_t cfa;
    int8_t rbp;
    uint8_t kind;
};
_Static_assert(sizeof(struct sf_row) == 8, "a million of them is 8 MB");

enum { SF_ROWS_PAGE = 4096, SF_ROWS_MAX = 4 << 20 };

struct sf_rows {
    struct sf_row *rows; /* heap */
    uint32_t n, cap;
    uint32_t
        *pages; /* heap; the first row at or after each page's beginning; one more at the end */
    uint32_t n_pages;
};

/* Builds the rows of a module loaded at `base` whose text ends before `text_end`; `hdr` is its
 * .eh_frame_hdr in memory and [readable, readable_end) what may be read around it. The tables are
 * not trusted: entries that point outside are left out. False: no memory, or nothing usable. */
bool sf_rows_build(struct sf_rows *r, uintptr_t base, uintptr_t text_end, const uint8_t *hdr,
                   size_t hdr_len, const uint8_t *readable, const uint8_t *readable_end);
void sf_rows_done(struct sf_rows *r);
/* The row that applies at `pc` (relative to the base); NULL: none. Safe in signal handlers. */
const struct sf_row *sf_rows_find(const struct sf_rows *r, uint32_t pc);

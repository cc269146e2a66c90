/* frame_program.h - interprets the call frame instructions of a CIE or FDE for the few registers
 * that are needed. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/unwind/rows.h"

/* A bounded reader; after the first error it stops and returns zeros. */
struct sf_frame_bytes {
    const uint8_t *at, *end;
    bool is_bad;
};
uint64_t sf_frame_program_uleb(struct sf_frame_bytes *b);
int64_t sf_frame_program_sleb(struct sf_frame_bytes *b);
uint64_t sf_frame_program_fixed(struct sf_frame_bytes *b, size_t len);
/* An encoded pointer (DW_EH_PE_*); relative ones are relative to their own address, or to
 * `data`. */
uint64_t sf_frame_program_pointer(struct sf_frame_bytes *b, uint8_t encoding, uintptr_t data);

struct sf_frame_cie {
    uint64_t code_align;
    int64_t data_align;
    uint8_t pointer_encoding;
    bool has_augmentation, is_signal;
    struct sf_frame_bytes program; /* the instructions common to all its functions */
};

struct sf_frame_state {
    uint8_t kind; /* enum sf_row_kind */
    int64_t cfa;
    int64_t rbp; /* offset from the frame; SF_FRAME_SAME: not saved */
    uint8_t cfa_reg;
    bool is_ra_lost, is_ra_undefined, is_rbp_lost;
};
#define SF_FRAME_SAME INT64_MAX

/* Called for each address at which the state changes; false stops. */
typedef bool (*sf_frame_emit)(void *to, uint64_t pc, const struct sf_frame_state *s);

/* Runs the CIE's instructions and then `program` from `pc` on. False: it cannot be interpreted, or
 * `emit` has stopped it. */
bool sf_frame_program_run(const struct sf_frame_cie *cie, struct sf_frame_bytes program,
                          uint64_t pc, sf_frame_emit emit, void *to);

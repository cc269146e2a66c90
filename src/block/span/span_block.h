/* span_block.h - definitions shared by the writer and the reader of span blocks.
 * span_block_writer.c and docs/format-span-block.md describe the format. */
#pragma once
#include "model/span_rows.h"

struct sf_span_block_info { /* fields of the header, which are also in the catalogue */
    uint64_t block_id;
    uint16_t format; /* as read; a writer sets its own */
    uint8_t level;
    uint32_t tenant; /* 0: several (level 0 only) */
    uint8_t store_uuid[16];
    int64_t ts_min_ns, ts_max_ns; /* index time; largest end */
    uint64_t n_rows, n_traces;
    uint64_t lsn_lo, lsn_hi;
    int64_t created_ns;
    uint64_t flush_no; /* siblings of one flush or merge share it */
    uint16_t n_siblings, sibling;
};

struct sf_granule_info { /* range of values (zone map) of one granule */
    uint32_t tenant, n_rows, n_traces;
    uint64_t first_row, first_trace; /* of the granule, in the block */
    int64_t ts_min_ns, ts_max_ns;    /* index time of the earliest span, latest end */
    uint64_t dur_min_ns, dur_max_ns;
    uint8_t statuses, kinds; /* bit sets of values that occur */
    bool is_continuation;    /* continues the last trace of the previous granule */
};

struct sf_call_count; /* model/span_rows.h */
/* Adds a span to the counts of its operation. */
void sf_granule_count_call(struct sf_call_count *c, bool is_error, uint64_t duration_ns);

/* doubles.h - finds traces that are in two runs, and those with the same span in both; results for
 * pairs of blocks are cached.
 *
 * A query that evaluates traces granule by granule must know which traces have rows in another run;
 * one that counts spans must know which have the same span in two runs. Blocks never change, so
 * each block is compared once with the blocks around it (up to the maximum length of a trace): for
 * spans by the compact thread after the store was opened, otherwise by the first query that needs
 * it; from then on only the parts in memory are compared, by their traces. A cached list may name a
 * trace whose other block was deleted; that trace is then assembled needlessly. Thread-safe. */
#pragma once
#include "os/thread.h"
#include "store/local/budget.h"
#include "store/store.h"

struct sf_local;
struct sf_parted; /* parted.h */
struct sf_snapshot;

enum sf_doubles_kind {
    SF_DOUBLES_TRACES, /* rows of the trace are in two runs */
    SF_DOUBLES_SPANS,  /* and one of its spans is in both */
    SF_DOUBLES_KINDS
};

struct sf_doubled_list {
    bool is_compared; /* was compared with all blocks around it; otherwise the list is incomplete */
    uint32_t *traces; /* numbers in the block, in no order */
    uint32_t n, cap;
};

struct sf_doubled { /* of one block */
    uint64_t block;
    struct sf_doubled_list lists[SF_DOUBLES_KINDS];
};

struct sf_doubles {
    struct sf_budget *budget;
    struct sf_mutex lock; /* guards all below; a leaf lock */
    struct sf_doubled *list;
    uint32_t n, cap;
    size_t n_traces[SF_DOUBLES_KINDS], counted_len;
    bool is_over[SF_DOUBLES_KINDS]; /* too many to cache, until a block is deleted */
    uint64_t n_compared;            /* how often blocks were compared */
};

void sf_doubles_init(struct sf_doubles *d, struct sf_budget *budget);
void sf_doubles_done(struct sf_doubles *d); /* a zeroed one is fine */
void sf_doubles_drop_block(struct sf_doubles *d, uint64_t block);

/* Compares all blocks for SPANS, so that the first query does not have to. */
enum sf_err sf_doubles_prepare(struct sf_local *l, struct sf_why *why);
/* Fills `p` with the traces of that kind in runs in [from, to] (0 and 0: all), and possibly some
 * others. */
enum sf_err sf_doubles_find(struct sf_parted *p, const struct sf_snapshot *s, struct sf_local *l,
                            enum sf_doubles_kind kind, int64_t from_ns, int64_t to_ns,
                            struct sf_query_ctx *q, struct sf_arena scratch, struct sf_why *why);

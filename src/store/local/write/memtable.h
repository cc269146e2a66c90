/* memtable.h - the newest rows of one writer, before they are a part or a block.
 *
 * One writer appends; readers search for a trace; a cut takes the rows out, to be sealed into a
 * part or written into a block. They stay findable until that is in the snapshot. A body that was
 * cut does not change any more: while a flush writes its rows, a search may seal it.
 * All under the memtable's mutex. */
#pragma once
#include "block/rows/rowset.h"
#include "os/thread.h"
#include "store/local/budget.h"

struct sf_run;

enum { SF_BODY_TRACE_BITS = 1 << 18 };

struct sf_memtable_body { /* rows on their way to a part or a block */
    struct sf_rowset rows;
    uint64_t gen;
    int64_t first_mono_ns; /* when the first row came; 0: empty */
    size_t counted_len;    /* what the budget knows of */
    uint64_t cut_number;   /* the first one cut from its memtable has 1 */
    bool is_busy;          /* in the list of cut bodies: it is being sealed */
    bool is_flushing;      /* and a flush is writing it */
    struct sf_run *part;   /* sealed while it was; the snapshot's */
    struct sf_memtable_body *next;
    uint64_t traces[SF_BODY_TRACE_BITS / 64]; /* a bit per hash of a trace that is or was here */
};

struct sf_memtable {
    /* Guards all below. Taken under the gate by appends and seals, alone by queries; before
     * rule_lock and the log's lock. */
    struct sf_mutex lock;
    struct sf_memtable_body *active; /* never NULL after init */
    struct sf_memtable_body *cut;    /* no part or block of them published yet */
    struct sf_memtable_body *spare;  /* empty ones with their memory */
    unsigned n_spare;
    struct sf_budget *budget;
    uint64_t n_cuts; /* bodies cut so far */
};

bool sf_memtable_init(struct sf_memtable *m, struct sf_budget *budget); /* false: no memory */
void sf_memtable_done(struct sf_memtable *m); /* one that was never made is fine */

struct sf_memtable_body *sf_memtable_body_new(void); /* NULL: no memory */
void sf_memtable_body_free(struct sf_memtable_body *b);
/* Rows from `first` on are new. */
void sf_memtable_body_note(struct sf_memtable_body *b, size_t first);
/* False: no row of a trace with this hash (sf_trace_id_hash) is here. Rows lie as they came, so
 * finding a trace means examining all of them: this is rarely needed. */
bool sf_memtable_body_may_have(const struct sf_memtable_body *b, uint64_t hash);

/* Moves the active rows to the list of those cut and gives them; the caller seals them and then
 * calls sf_memtable_sealed(). NULL: nothing there, or no memory for the next body (then BUSY).
 */
struct sf_memtable_body *sf_memtable_cut(struct sf_memtable *m);
/* How many were cut so far. Has any of the first `n_cuts`, the active one being the next, rows that
 * are neither in a part nor in a block yet? */
uint64_t sf_memtable_n_cuts(struct sf_memtable *m);
bool sf_memtable_has_hidden(struct sf_memtable *m, uint64_t n_cuts);
/* `part` is in the snapshot. */
void sf_memtable_sealed(struct sf_memtable *m, struct sf_memtable_body *body, struct sf_run *part);
/* Not sealed, or not yet: the rows stay findable, and another thread may seal it. */
void sf_memtable_not_sealed(struct sf_memtable *m, struct sf_memtable_body *body);
/* A body of generation `max_gen` or before that is neither sealed nor being sealed, for the caller
 * to seal; NULL: none, and `*out_is_busy` is set if another thread is sealing one. */
struct sf_memtable_body *sf_memtable_claim(struct sf_memtable *m, uint64_t max_gen,
                                           bool *out_is_busy);

/* The same for a flush: bodies that are neither being sealed nor flushed. */
struct sf_memtable_body *sf_memtable_claim_flush(struct sf_memtable *m, uint64_t max_gen,
                                                 bool *out_is_busy);
/* Their block is committed: from here on this one is no longer sealed. False: it is being sealed,
 * try again. */
bool sf_memtable_hold(struct sf_memtable *m, struct sf_memtable_body *body);
void sf_memtable_flushed(struct sf_memtable *m, struct sf_memtable_body *body);
/* No block was made: as if it had never been claimed. */
void sf_memtable_not_flushed(struct sf_memtable *m, struct sf_memtable_body *body);
/* Tells the budget what the active body holds now. The caller holds the lock. */
void sf_memtable_count(struct sf_memtable *m, struct sf_memtable_body *b);

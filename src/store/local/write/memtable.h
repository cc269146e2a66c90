/* memtable.h - the newest rows of one writer, before they are in a part or a block.
 *
 * One writer appends; readers search for a trace; a cut takes the rows out, to be sealed into a
 * part or written to a block. They can be found until that is in the snapshot. A body that was cut
 * does not change any more: while a flush writes its rows, a search may seal it. Everything is
 * guarded by the memtable's mutex. */
#pragma once
#include "block/rows/rowset.h"
#include "os/thread.h"
#include "store/local/budget.h"

struct sf_run;

enum { SF_BODY_TRACE_BITS = 1 << 18 };

struct sf_memtable_body { /* rows that will become a part or a block */
    struct sf_rowset rows;
    uint64_t gen;
    uint64_t lsn;          /* no row is of a later record of the log; 0: unknown */
    int64_t first_mono_ns; /* when the first row came; 0: empty */
    size_t counted_len;    /* as counted in the budget */
    uint64_t cut_number;   /* the first one cut from its memtable has number 1 */
    bool is_busy;          /* in the list of cut bodies: is being sealed */
    bool is_flushing;      /* and a flush is writing it */
    struct sf_run *part;   /* sealed during the flush; owned by the snapshot */
    struct sf_memtable_body *next;
    uint64_t traces[SF_BODY_TRACE_BITS / 64]; /* a bit per hash of a trace that is or was here */
};

struct sf_memtable {
    /* Guards all below. Taken under the gate by appends and seals, alone by queries; before
     * rule_lock and the log's lock. */
    struct sf_mutex lock;
    struct sf_memtable_body *active; /* never NULL after init */
    struct sf_memtable_body *cut;    /* cut, and not yet published in a part or block */
    struct sf_memtable_body *spare;  /* empty bodies whose memory is reused */
    unsigned n_spare;
    struct sf_budget *budget;
    uint64_t n_cuts; /* bodies cut so far */
};

bool sf_memtable_init(struct sf_memtable *m, struct sf_budget *budget); /* false: no memory */
void sf_memtable_done(struct sf_memtable *m); /* also if init was not called */

struct sf_memtable_body *sf_memtable_body_new(const struct sf_budget *budget); /* NULL: no memory
                                                                                */
void sf_memtable_body_free(struct sf_memtable_body *b);
/* Adds the rows from `first` on to the bitmap. */
void sf_memtable_body_note(struct sf_memtable_body *b, size_t first);
/* False: no row of a trace with this hash (sf_trace_id_hash) is here. Rows are unsorted, so finding
 * a trace means reading all of them; this check usually avoids it. */
bool sf_memtable_body_may_have(const struct sf_memtable_body *b, uint64_t hash);

/* Moves the active rows to the list of cut bodies and returns them; the caller seals them and then
 * calls sf_memtable_sealed(). NULL: no rows, or no memory for the next body (then BUSY). */
struct sf_memtable_body *sf_memtable_cut(struct sf_memtable *m);
/* The number of bodies cut so far. The second function: does any of the first `n_cuts` bodies (the
 * active one being the next) have rows that are neither in a part nor in a block? */
uint64_t sf_memtable_n_cuts(struct sf_memtable *m);
bool sf_memtable_has_hidden(struct sf_memtable *m, uint64_t n_cuts);
/* `part`, made of the body (NULL: it was empty), is in the snapshot. */
void sf_memtable_sealed(struct sf_memtable *m, struct sf_memtable_body *body, struct sf_run *part);
/* The body was not sealed: its rows can still be found, and another thread may seal it. */
void sf_memtable_not_sealed(struct sf_memtable *m, struct sf_memtable_body *body);
/* Returns a body of generation `max_gen` or earlier that is neither sealed nor being sealed, for
 * the caller to seal; NULL: none. `*out_is_busy`: another thread is sealing one. */
struct sf_memtable_body *sf_memtable_claim(struct sf_memtable *m, uint64_t max_gen,
                                           bool *out_is_busy);

/* The same for a flush: a body that is neither being sealed nor flushed. */
struct sf_memtable_body *sf_memtable_claim_flush(struct sf_memtable *m, uint64_t max_gen,
                                                 bool *out_is_busy);
/* The block with the body's rows is committed: it must not be sealed any more. False: it is being
 * sealed, try again. */
bool sf_memtable_hold(struct sf_memtable *m, struct sf_memtable_body *body);
void sf_memtable_flushed(struct sf_memtable *m, struct sf_memtable_body *body);
/* No block was made: undoes the claim. */
void sf_memtable_not_flushed(struct sf_memtable *m, struct sf_memtable_body *body);
/* Updates the budget with the current size of the body. The caller holds the lock. */
void sf_memtable_count(struct sf_memtable *m, struct sf_memtable_body *b);

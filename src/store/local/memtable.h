/* memtable.h - the newest rows of one writer, before they are a part.
 *
 * One writer appends; readers look for a trace; a cut takes the rows out for sealing, where they
 * stay findable until their part is in the snapshot. All under the memtable's mutex. */
#pragma once
#include "block/rowset.h"
#include "os/thread.h"
#include "store/local/budget.h"

struct sf_body { /* rows on their way to a part */
    struct sf_rowset rows;
    uint64_t gen;
    int64_t first_mono_ns; /* when the first row came; 0: empty */
    size_t counted_len;    /* what the budget knows of */
    bool is_busy;          /* in the sealing list: somebody is at it */
    struct sf_body *next;
};

struct sf_memtable {
    struct sf_mutex lock;    /* guards all below */
    struct sf_body *active;  /* never NULL after init */
    struct sf_body *sealing; /* cut, part not yet published */
    struct sf_body *spare;
    struct sf_budget *budget;
    int64_t cut_mono_ns; /* of the last cut */
};

bool sf_memtable_init(struct sf_memtable *m, struct sf_budget *budget); /* false: no memory */
void sf_memtable_done(struct sf_memtable *m); /* one that was never made is fine */

struct sf_body *sf_body_new(void); /* NULL: no memory */
void sf_body_free(struct sf_body *b);

/* Moves the active rows to the sealing list and gives them; they are sealed by the caller, who then
 * calls sf_memtable_sealed(). NULL: nothing there, or no memory for the next body (then BUSY). */
struct sf_body *sf_memtable_cut(struct sf_memtable *m, int64_t now_mono_ns);
void sf_memtable_sealed(struct sf_memtable *m, struct sf_body *body);
/* Sealing failed: the rows stay findable, and somebody else may try. */
void sf_memtable_not_sealed(struct sf_memtable *m, struct sf_body *body);
/* A body of generation `max_gen` or before that nobody is sealing, for the caller to seal; NULL:
 * none, and `*out_is_busy` says whether somebody else is at one. */
struct sf_body *sf_memtable_claim(struct sf_memtable *m, uint64_t max_gen, bool *out_is_busy);
size_t sf_memtable_len(struct sf_memtable *m);
/* Tells the budget what the active body holds now. The caller holds the lock. */
void sf_memtable_count(struct sf_memtable *m, struct sf_body *b);

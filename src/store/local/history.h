/* history.h - the blocks that a data directory had before a second reader began to follow its log,
 * so that they can be copied elsewhere, piece by piece, while the store is in use.
 *
 * collect() gives each block a second name in the folder "moving" and lists them there: merges,
 * retention and erasures replace the blocks of the store, but not these. A piece is a granule of
 * spans, or a part of one service's profiles. Pieces have numbers from 1 on that never change: the
 * same number returns the same rows after a restart. For use by one thread. */
#pragma once
#include "model/profile.h"
#include "model/span.h"
#include "store/store.h"

#define SF_HISTORY_FOLDER "moving"

struct sf_history;

/* Has the store blocks with records up to `lsn`? */
bool sf_history_exists(struct sf_store *s, uint64_t lsn);
/* Blocks with records up to `lsn` are not merged with later ones from now on; 0: any are. */
void sf_history_keep_apart(struct sf_store *s, uint64_t lsn);

/* Makes the list of all blocks with records up to `lsn`. BUSY: an erasure is not finished, whose
 * rows they may have; UNSUPPORTED: a block also has later records, or there are no hard links. */
enum sf_err sf_history_collect(struct sf_store *s, uint64_t lsn, struct sf_why *why);
/* NOT_FOUND: there is no list. */
enum sf_err sf_history_open(struct sf_store *s, struct sf_history **out, struct sf_why *why);
void sf_history_close(struct sf_history *h); /* NULL is fine */
uint64_t sf_history_pieces(const struct sf_history *h);
/* Are the rows of both pieces in blocks of the same day? False if one does not exist. */
bool sf_history_is_same_day(const struct sf_history *h, uint64_t number, uint64_t other);
/* Deletes the list and all names in the folder; a missing one is fine. */
enum sf_err sf_history_remove(struct sf_store *s, struct sf_why *why);

/* A profile of a block, in addition to its series. */
struct sf_history_total {
    int64_t index_ns; /* the time by which it is retained */
    int64_t value;
    uint64_t n_samples;
};

/* Part of a service's profiles. Samples are sums over one stack of a profile. */
struct sf_history_profiles {
    struct sf_profile_batch batch;         /* its samples refer to the first n_profiles series */
    const struct sf_history_total *totals; /* of the first n_profiles series */
    uint32_t n_profiles;
    /* Samples with an id or a time of their own, which the sums include. Start and length are
     * always set. Their series have no times. */
    const struct sf_sample *details;
    uint32_t n_details;
};

struct sf_history_piece {
    uint32_t tenant;
    int64_t at_ns; /* about when the newest of these rows was received */
    /* One of them; borrowed until the next read. */
    const struct sf_span_batch *spans;
    const struct sf_history_profiles *profiles;
};

/* NOT_FOUND: there is no such piece. CORRUPT: the block is damaged; other pieces can be read. */
enum sf_err sf_history_read(struct sf_history *h, uint64_t number, struct sf_history_piece *out,
                            struct sf_why *why);

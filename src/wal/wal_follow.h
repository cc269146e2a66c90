/* wal_follow.h - a second reader of the log, behind the committer.
 *
 * It returns every piece of every acknowledged batch once, in log order. A piece is returned only
 * after the last piece of its batch was synced, so that no crash can undo it. Slots are kept until
 * sf_wal_followed() reports that their records are processed. Records that are missing from the log
 * (damage, or a log that could not be written while blocks could) are counted as lost. For use by
 * one thread. */
#pragma once
#include "wal/wal.h"

struct sf_wal_follow;

/* Call after replay. Starts with the record after `after_lsn`. NOMEM. */
enum sf_err sf_wal_follow_open(struct sf_wal *w, uint64_t after_lsn, struct sf_wal_follow **out,
                               struct sf_why *why);
void sf_wal_follow_close(struct sf_wal_follow *f); /* before the log is closed; NULL is allowed */

struct sf_wal_followed_piece {
    uint64_t lsn;
    struct sf_logged logged; /* borrowed until the next call */
    uint64_t n_lost;         /* missing records before this one; also set with NOT_FOUND */
};
/* NOT_FOUND: no more records for now. IO, NOMEM: call again later. */
enum sf_err sf_wal_follow_next(struct sf_wal_follow *f, struct sf_wal_followed_piece *out,
                               struct sf_why *why);

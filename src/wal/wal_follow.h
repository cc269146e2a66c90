/* wal_follow.h - a second reader of the log, behind the committer.
 *
 * It gets every piece of every acknowledged batch once, in the order of the log, and never one that
 * a crash could take back: a piece counts when the last piece of its batch is synced. Slots stay
 * until sf_wal_followed() says that their records are done with. Records that are not in the log,
 * which takes damage or a log that could not be written while blocks could, are counted as lost.
 * One thread. */
#pragma once
#include "wal/wal.h"

struct sf_wal_follow;

/* After replay. Begins with the record after `after_lsn`. NOMEM. */
enum sf_err sf_wal_follow_open(struct sf_wal *w, uint64_t after_lsn, struct sf_wal_follow **out,
                               struct sf_why *why);
void sf_wal_follow_close(struct sf_wal_follow *f); /* before the log; NULL is fine */

struct sf_wal_followed_piece {
    uint64_t lsn;
    struct sf_logged logged; /* borrowed until the next call */
    uint64_t n_lost;         /* records before it that are gone; with NOT_FOUND, too */
};
/* NOT_FOUND: nothing more for now. IO, NOMEM: call again later. */
enum sf_err sf_wal_follow_next(struct sf_wal_follow *f, struct sf_wal_followed_piece *out,
                               struct sf_why *why);

/* uncommitted.h - blocks whose commit failed, and which the catalogue may name all the same.
 *
 * A commit that ends with an error may have reached the file before the error came: a server killed
 * then finds the blocks in the catalogue and the log already released. So their files stay until a
 * later commit has gone well, which leaves nothing of the failed one; until then no further block
 * is written. */
#pragma once
#include "base/err.h"
#include "os/thread.h"

struct sf_local;        /* store/local/engine.h */
struct sf_merge_result; /* store/local/write/merge.h */

struct sf_uncommitted {
    /* Guards the list. Held while it is settled, across a commit and the deletions, which is rare.
     * Taken after merge_lock or flush_lock; before rule_lock and the catalogue's. */
    struct sf_mutex lock;
    char (*paths)[64];
    size_t n, cap;
};

/* Takes the files of outputs that were not committed. Without memory to remember them they stay:
 * the next start finds them. */
void sf_uncommitted_keep(struct sf_local *l, struct sf_merge_result *m);
/* Deletes what is kept once the catalogue can be written. Fails when it cannot. */
enum sf_err sf_uncommitted_settle(struct sf_local *l, struct sf_why *why);

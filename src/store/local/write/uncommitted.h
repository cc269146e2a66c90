/* uncommitted.h - blocks whose commit failed, but which may be in the catalogue all the same.
 *
 * A commit that returns an error may have reached the file before the error: if the server is then
 * killed, it finds the blocks in the catalogue and the log already freed. So their files are kept
 * until a later commit succeeds, which makes sure that the failed one had no effect; until then no
 * further block is written. */
#pragma once
#include "base/err.h"
#include "os/thread.h"

struct sf_local;        /* store/local/engine.h */
struct sf_merge_result; /* store/local/write/merge.h */

struct sf_uncommitted {
    /* Guards the list. Held while it is settled, during a commit and the deletions, which is rare.
     * Taken after merge_lock or flush_lock; before rule_lock and the catalogue's lock. */
    struct sf_mutex lock;
    char (*paths)[64];
    size_t n, cap;
};

/* Keeps the files of outputs that were not committed. If there is no memory to remember them, the
 * next start finds them. */
void sf_uncommitted_keep(struct sf_local *l, struct sf_merge_result *m);
/* Deletes the kept files once the catalogue can be written. Fails if it cannot. */
enum sf_err sf_uncommitted_settle(struct sf_local *l, struct sf_why *why);

#include "store/local/write/uncommitted.h"

#include <stdio.h>

#include "base/heap.h"
#include "store/local/write/merge.h"

/* Call with the lock held. */
static bool uncommitted_make_room(struct sf_uncommitted *d, size_t n)
{
    char(*more)[64];
    if (d->n + n <= d->cap)
        return true;
    more = sf_heap_grow(d->paths, d->n + n, sizeof(*more));
    if (!more)
        return false;
    d->paths = more;
    d->cap = d->n + n;
    return true;
}

void sf_uncommitted_keep(struct sf_local *l, struct sf_merge_result *m)
{
    struct sf_uncommitted *d = &l->uncommitted;
    sf_mutex_lock(&d->lock);
    if (m->n && uncommitted_make_room(d, m->n)) {
        for (size_t i = 0; i < m->n; i++)
            snprintf(d->paths[d->n++], sizeof(d->paths[0]), "%s", m->rows[i].path);
    }
    sf_mutex_unlock(&d->lock);
    sf_merge_result_done(m);
}

/* Any commit will do; retention's clock may be written at any time. */
static enum sf_err commit_something(struct sf_local *l, struct sf_why *why)
{
    int64_t now_ns;
    sf_mutex_lock(&l->rule_lock);
    now_ns = l->now_ns;
    sf_mutex_unlock(&l->rule_lock);
    return sf_catalogue_set_now(l->catalogue, now_ns, why);
}

enum sf_err sf_uncommitted_settle(struct sf_local *l, struct sf_why *why)
{
    struct sf_uncommitted *d = &l->uncommitted;
    enum sf_err err = SF_OK;
    sf_mutex_lock(&d->lock);
    if (d->n)
        err = commit_something(l, why);
    for (; !err && d->n; d->n--)
        /* If it fails, the next start moves the file away. */
        (void)sf_dir_unlink(l->dir, d->paths[d->n - 1], NULL);
    sf_mutex_unlock(&d->lock);
    return err;
}

#include "store/local/profiles/profile_flush.h"

#include <stdlib.h>

#include "base/heap.h"
#include "base/num.h"
#include "base/time_unit.h"
#include "block/profile/profile_block_writer.h"
#include "store/local/profiles/profile_mem.h"
#include "store/local/write/block_file.h"

bool sf_profile_flush_switch(struct sf_local *l, uint64_t next_gen, uint64_t lsn)
{
    struct sf_profile_mem *fresh;
    if (l->prof->n_sets == 0) {
        l->prof->gen = next_gen;
        sf_mutex_lock(&l->prof_lock);
        l->prof->after_lsn = lsn;
        sf_mutex_unlock(&l->prof_lock);
        return true;
    }
    fresh = sf_profile_mem_new(&l->budget);
    if (!fresh)
        return false;
    sf_profile_mem_learn(fresh, l->prof);
    fresh->gen = next_gen;
    fresh->after_lsn = lsn;
    sf_mutex_lock(&l->prof_lock);
    l->prof->next = l->flushing;
    l->flushing = l->prof;
    l->prof = fresh;
    sf_mutex_unlock(&l->prof_lock);
    atomic_store(&l->prof_len, 0);
    return true;
}

static bool is_planned(const struct sf_profile_flush *f, const struct sf_profile_mem *m,
                       int64_t day)
{
    for (size_t i = f->n; i-- > 0;) {
        if (f->list[i].mem == m && f->list[i].day == day)
            return true;
    }
    return false;
}

static bool plan_set(struct sf_profile_flush *f, const struct sf_profile_mem *m,
                     const struct sf_profile_set *s)
{
    for (uint32_t i = 0; s && i < s->n_rows; i++) {
        int64_t day = sf_local_day_of(s->rows[i].index_ns);
        struct sf_profile_plan *more;
        if (is_planned(f, m, day))
            continue;
        more = sf_heap_grow(f->list, f->n + 1, sizeof(*more));
        if (!more)
            return false;
        f->list = more;
        f->list[f->n++] = (struct sf_profile_plan){m, day};
    }
    return true;
}

/* Memories in the list do not change any more, and only a flush removes one: reading needs no
 * lock. */
enum sf_err sf_profile_flush_plan(struct sf_local *l, uint64_t gen, struct sf_profile_flush *out,
                                  struct sf_why *why)
{
    struct sf_profile_flush f = {.gen = gen};
    bool is_ok = true;
    for (const struct sf_profile_mem *m = l->flushing; is_ok && m; m = m->next) {
        for (uint32_t i = 0; is_ok && m->gen <= gen && i < m->n_sets; i++)
            is_ok = plan_set(&f, m, m->sets[i]);
    }
    if (!is_ok || f.n > UINT16_MAX / 2) {
        sf_profile_flush_done(&f);
        return sf_fail(why, SF_ERR_NOMEM, "flush: no memory for a list of blocks");
    }
    *out = f;
    return SF_OK;
}

void sf_profile_flush_done(struct sf_profile_flush *f)
{
    sf_heap_free(f->list);
    *f = (struct sf_profile_flush){0};
}

static int by_service(const void *a, const void *b)
{
    const struct sf_profile_set *x = *(struct sf_profile_set *const *)a,
                                *y = *(struct sf_profile_set *const *)b;
    if (x->tenant != y->tenant)
        return x->tenant < y->tenant ? -1 : 1;
    return sf_str_cmp(x->service, y->service);
}

static bool has_day(const struct sf_profile_set *s, int64_t day)
{
    for (uint32_t i = 0; i < s->n_rows; i++) {
        if (sf_local_day_of(s->rows[i].index_ns) == day)
            return true;
    }
    return false;
}

/* The sets of a day, sorted as in a block; the caller frees the list. */
static struct sf_profile_set **sort_sets(const struct sf_profile_plan *p, size_t *out_n,
                                         uint32_t *out_tenant)
{
    struct sf_profile_set **sets = sf_heap_new_n((size_t)p->mem->n_sets + 1,
                                                 sizeof(struct sf_profile_set *));
    size_t n = 0;
    if (!sets)
        return NULL;
    for (uint32_t i = 0; i < p->mem->n_sets; i++) {
        if (p->mem->sets[i] && has_day(p->mem->sets[i], p->day))
            sets[n++] = p->mem->sets[i];
    }
    if (n)
        qsort(sets, n, sizeof(*sets), by_service);
    *out_tenant = n && sets[0]->tenant == sets[n - 1]->tenant ? sets[0]->tenant : 0;
    *out_n = n;
    return sets;
}

static enum sf_err write_sets(struct sf_profile_block_writer *w, struct sf_profile_set *const *sets,
                              size_t n, int64_t day, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (size_t i = 0; !err && i < n; i++)
        err = sf_profile_set_write(w, sets[i], day * SF_NS_PER_DAY, (day + 1) * SF_NS_PER_DAY, why);
    return err;
}

static enum sf_err profile_flush_write_block(struct sf_local *l, const struct sf_profile_plan *p,
                                             struct sf_profile_block_options *o,
                                             struct sf_block_row *row, struct sf_why *why)
{
    struct sf_file file = SF_FILE_NONE;
    struct sf_profile_block_writer *w = NULL;
    struct sf_span_block_info info;
    char tmp[64];
    size_t n = 0;
    struct sf_profile_set **sets = sort_sets(p, &n, &row->tenant);
    enum sf_err err = sets ? SF_OK : sf_fail(why, SF_ERR_NOMEM, "flush: no memory for services");

    o->info.tenant = row->tenant;
    o->file = &file;
    sf_local_tmp_path(row->kind, row->id, tmp);
    sf_local_block_path(row->kind, row->day, row->id, row->path);
    if (!err)
        err = sf_dir_create(l->dir, tmp, &file, why);
    if (!err)
        err = sf_profile_block_writer_new(o, &w, why);
    if (!err)
        err = write_sets(w, sets, n, p->day, why);
    if (!err)
        err = sf_profile_block_writer_finish(w, &row->len, &info, NULL, why);
    if (!err)
        err = sf_file_sync(&file, why);
    sf_profile_block_writer_free(w);
    sf_file_close(&file);
    o->file = NULL;
    sf_heap_free(sets);
    if (!err) {
        row->ts_min_ns = info.ts_min_ns;
        row->ts_max_ns = info.ts_max_ns;
        row->n_rows = info.n_rows;
        err = sf_block_file_publish(l, row, tmp, why);
    }
    if (err) {
        sf_dir_unlink(l->dir, tmp, NULL);
        sf_dir_unlink(l->dir, row->path, NULL);
    }
    return err;
}

enum sf_err sf_profile_flush_write(struct sf_local *l, const struct sf_profile_flush *plan,
                                   const struct sf_merge *numbers, const uint64_t *dups,
                                   size_t n_dups, struct sf_merge_result *io, struct sf_why *why)
{
    size_t first = io->n, n_siblings = first + plan->n;
    enum sf_err err = SF_OK;
    for (size_t i = 0; !err && i < plan->n; i++) {
        struct sf_block_row row = {
            .id = io->next_id + i,
            .kind = SF_BLOCK_PROFILES,
            .state = SF_BLOCK_LIVE,
            .day = plan->list[i].day,
            .lsn_lo = numbers->lsn_lo,
            .lsn_hi = numbers->lsn_hi,
            .flush_no = io->flush_no,
            .created_ns = sf_local_wall_ns(l),
        };
        struct sf_profile_block_options o = {
            .info = {.block_id = row.id,
                     .lsn_lo = row.lsn_lo,
                     .lsn_hi = row.lsn_hi,
                     .created_ns = row.created_ns,
                     .flush_no = row.flush_no,
                     .n_siblings = sf_u16(n_siblings),
                     .sibling = sf_u16(first + i)},
            .is_compressed = true,
            .dup_hashes = dups,
            .n_dup_hashes = first + i == 0 ? n_dups : 0, /* only in the first block of a flush */
        };
        memcpy(o.info.store_uuid, l->uuid, 16);
        err = profile_flush_write_block(l, &plan->list[i], &o, &row, why);
        if (!err)
            io->rows[io->n++] = row;
    }
    while (err && io->n > first)
        sf_dir_unlink(l->dir, io->rows[--io->n].path, NULL);
    return err;
}

void sf_profile_flush_forget(struct sf_local *l, uint64_t gen)
{
    struct sf_profile_mem **at = &l->flushing;
    while (*at) {
        struct sf_profile_mem *m = *at;
        if (m->gen > gen) {
            at = &m->next;
            continue;
        }
        *at = m->next;
        sf_profile_mem_unref(m); /* queries may still use it */
    }
}

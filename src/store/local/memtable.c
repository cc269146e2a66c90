#include "store/local/memtable.h"

#include "base/heap.h"
#include "base/limits.h"

/* Reserved, not touched: a batch always fits whole behind what is there, so that a memtable is cut
 * only between batches. */
enum { ROWS_CAP = (1 << 20) + (1 << 16), DATA_CAP = 256 << 20 };

struct sf_body *sf_body_new(void)
{
    struct sf_body *b = sf_heap_new(sizeof(*b));
    if (b && !sf_rowset_init(&b->rows, ROWS_CAP, DATA_CAP)) {
        sf_heap_free(b);
        return NULL;
    }
    return b;
}

void sf_body_free(struct sf_body *b)
{
    if (!b)
        return;
    sf_rowset_done(&b->rows);
    sf_heap_free(b);
}

bool sf_memtable_init(struct sf_memtable *m, struct sf_budget *budget)
{
    *m = (struct sf_memtable){.active = sf_body_new(), .budget = budget};
    if (!m->active)
        return false;
    sf_mutex_init(&m->lock);
    return true;
}

void sf_memtable_done(struct sf_memtable *m)
{
    if (!m->active)
        return;
    while (m->sealing) {
        struct sf_body *next = m->sealing->next;
        sf_body_free(m->sealing);
        m->sealing = next;
    }
    sf_body_free(m->active);
    sf_body_free(m->spare);
    sf_mutex_done(&m->lock);
    *m = (struct sf_memtable){0};
}

void sf_memtable_count(struct sf_memtable *m, struct sf_body *b)
{
    size_t len = b->rows.n_rows ? sf_rowset_len(&b->rows) : 0;
    if (len > b->counted_len)
        sf_budget_add(m->budget, SF_LINE_MEMTABLES, len - b->counted_len);
    else
        sf_budget_sub(m->budget, SF_LINE_MEMTABLES, b->counted_len - len);
    b->counted_len = len;
}

struct sf_body *sf_memtable_cut(struct sf_memtable *m, int64_t now_mono_ns)
{
    struct sf_body *cut = NULL, *fresh = NULL;
    sf_mutex_lock(&m->lock);
    if (m->active->rows.n_rows) {
        fresh = m->spare ? m->spare : sf_body_new();
        if (fresh) {
            m->spare = NULL;
            cut = m->active;
            fresh->gen = cut->gen;
            cut->is_busy = true;
            cut->next = m->sealing;
            m->sealing = cut;
            m->active = fresh;
            m->cut_mono_ns = now_mono_ns;
        }
    }
    sf_mutex_unlock(&m->lock);
    return cut;
}

void sf_memtable_sealed(struct sf_memtable *m, struct sf_body *body)
{
    struct sf_body **at;
    sf_mutex_lock(&m->lock);
    for (at = &m->sealing; *at && *at != body; at = &(*at)->next) {
        /* find it */
    }
    if (*at)
        *at = body->next;
    sf_rowset_reset(&body->rows);
    body->next = NULL;
    body->is_busy = false;
    body->first_mono_ns = 0;
    sf_memtable_count(m, body);
    if (!m->spare) {
        m->spare = body;
        body = NULL;
    }
    sf_mutex_unlock(&m->lock);
    sf_body_free(body);
}

void sf_memtable_not_sealed(struct sf_memtable *m, struct sf_body *body)
{
    sf_mutex_lock(&m->lock);
    body->is_busy = false;
    sf_mutex_unlock(&m->lock);
}

struct sf_body *sf_memtable_claim(struct sf_memtable *m, uint64_t max_gen, bool *out_is_busy)
{
    struct sf_body *b;
    *out_is_busy = false;
    sf_mutex_lock(&m->lock);
    for (b = m->sealing; b; b = b->next) {
        if (b->gen > max_gen)
            continue;
        if (!b->is_busy)
            break;
        *out_is_busy = true;
    }
    if (b)
        b->is_busy = true;
    sf_mutex_unlock(&m->lock);
    return b;
}

size_t sf_memtable_len(struct sf_memtable *m)
{
    size_t len;
    sf_mutex_lock(&m->lock);
    len = m->active->counted_len;
    sf_mutex_unlock(&m->lock);
    return len;
}

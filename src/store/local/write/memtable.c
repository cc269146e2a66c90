#include "store/local/write/memtable.h"

#include <string.h>

#include "base/heap.h"
#include "base/limits.h"

/* Reserved address space: one more batch always fits, so that a memtable is cut only between
 * batches. */
enum { ROWS_CAP = (1 << 20) + (1 << 16), DATA_CAP = 256 << 20, MAX_SPARE = 2 };

struct sf_memtable_body *sf_memtable_body_new(const struct sf_budget *budget)
{
    struct sf_memtable_body *b = sf_heap_new(sizeof(*b));
    if (b && !sf_rowset_init(&b->rows, ROWS_CAP, DATA_CAP)) {
        sf_heap_free(b);
        return NULL;
    }
    /* An empty body is not counted in the budget. Page faults cost more than the memory does,
     * unless the budget is small. */
    if (b && budget->cap[SF_LINE_MEMTABLES] < b->rows.keep_len)
        b->rows.keep_len = budget->cap[SF_LINE_MEMTABLES] / 8;
    return b;
}

void sf_memtable_body_free(struct sf_memtable_body *b)
{
    if (!b)
        return;
    sf_rowset_done(&b->rows);
    sf_heap_free(b);
}

static uint64_t trace_bit(uint64_t hash, size_t *out_word)
{
    size_t at = (size_t)(hash >> 20) % SF_BODY_TRACE_BITS;
    *out_word = at / 64;
    return UINT64_C(1) << (at % 64);
}

void sf_memtable_body_note(struct sf_memtable_body *b, size_t first)
{
    for (size_t i = first; i < b->rows.n_rows; i++) {
        size_t word;
        uint64_t bit = trace_bit(b->rows.rows[i].hash, &word);
        b->traces[word] |= bit;
    }
}

bool sf_memtable_body_may_have(const struct sf_memtable_body *b, uint64_t hash)
{
    size_t word;
    uint64_t bit = trace_bit(hash, &word);
    return (b->traces[word] & bit) != 0;
}

bool sf_memtable_init(struct sf_memtable *m, struct sf_budget *budget)
{
    *m = (struct sf_memtable){.active = sf_memtable_body_new(budget), .budget = budget};
    if (!m->active)
        return false;
    sf_mutex_init(&m->lock, SF_LOCK_STORE_MEMTABLE);
    return true;
}

static void memtable_free_list(struct sf_memtable_body *b)
{
    while (b) {
        struct sf_memtable_body *next = b->next;
        sf_memtable_body_free(b);
        b = next;
    }
}

void sf_memtable_done(struct sf_memtable *m)
{
    if (!m->active)
        return;
    memtable_free_list(m->cut);
    memtable_free_list(m->spare);
    sf_memtable_body_free(m->active);
    sf_mutex_done(&m->lock);
    *m = (struct sf_memtable){0};
}

void sf_memtable_count(struct sf_memtable *m, struct sf_memtable_body *b)
{
    size_t len = b->rows.n_rows ? sf_rowset_len(&b->rows) : 0;
    if (len > b->counted_len)
        sf_budget_add(m->budget, SF_LINE_MEMTABLES, len - b->counted_len);
    else
        sf_budget_sub(m->budget, SF_LINE_MEMTABLES, b->counted_len - len);
    b->counted_len = len;
}

/* An empty body; NULL: no memory. The caller holds the lock. */
static struct sf_memtable_body *take_fresh(struct sf_memtable *m)
{
    struct sf_memtable_body *b = m->spare;
    if (!b)
        return sf_memtable_body_new(m->budget);
    m->spare = b->next;
    m->n_spare--;
    b->next = NULL;
    return b;
}

struct sf_memtable_body *sf_memtable_cut(struct sf_memtable *m)
{
    struct sf_memtable_body *cut = NULL, *fresh = NULL;
    sf_mutex_lock(&m->lock);
    if (m->active->rows.n_rows) {
        fresh = take_fresh(m);
        if (fresh) {
            cut = m->active;
            fresh->gen = cut->gen;
            cut->is_busy = true;
            cut->next = m->cut;
            m->cut = cut;
            m->active = fresh;
            cut->cut_number = ++m->n_cuts;
        }
    }
    sf_mutex_unlock(&m->lock);
    return cut;
}

uint64_t sf_memtable_n_cuts(struct sf_memtable *m)
{
    uint64_t n;
    sf_mutex_lock(&m->lock);
    n = m->n_cuts;
    sf_mutex_unlock(&m->lock);
    return n;
}

bool sf_memtable_has_hidden(struct sf_memtable *m, uint64_t n_cuts)
{
    bool has;
    sf_mutex_lock(&m->lock);
    has = m->n_cuts < n_cuts && m->active->rows.n_rows > 0; /* the active body is the next */
    for (const struct sf_memtable_body *b = m->cut; b && !has; b = b->next)
        has = b->cut_number <= n_cuts && !b->part;
    sf_mutex_unlock(&m->lock);
    return has;
}

/* Removes the body from the list and empties it. Returns it if its memory should be freed. The
 * caller holds the lock. */
static struct sf_memtable_body *retire(struct sf_memtable *m, struct sf_memtable_body *body)
{
    struct sf_memtable_body **at;
    for (at = &m->cut; *at && *at != body; at = &(*at)->next) {
        /* find it */
    }
    if (*at)
        *at = body->next;
    sf_rowset_reset(&body->rows);
    body->next = NULL;
    body->is_busy = body->is_flushing = false;
    body->part = NULL;
    body->first_mono_ns = 0;
    body->lsn = 0;
    memset(body->traces, 0, sizeof(body->traces));
    sf_memtable_count(m, body);
    if (m->n_spare == MAX_SPARE)
        return body;
    body->next = m->spare;
    m->spare = body;
    m->n_spare++;
    return NULL;
}

void sf_memtable_sealed(struct sf_memtable *m, struct sf_memtable_body *body, struct sf_run *part)
{
    sf_mutex_lock(&m->lock);
    if (body->is_flushing) { /* the flush will release both */
        body->part = part;
        body->is_busy = false;
        body = NULL;
    } else {
        body = retire(m, body);
    }
    sf_mutex_unlock(&m->lock);
    sf_memtable_body_free(body);
}

void sf_memtable_not_sealed(struct sf_memtable *m, struct sf_memtable_body *body)
{
    sf_mutex_lock(&m->lock);
    body->is_busy = false;
    sf_mutex_unlock(&m->lock);
}

struct sf_memtable_body *sf_memtable_claim(struct sf_memtable *m, uint64_t max_gen,
                                           bool *out_is_busy)
{
    struct sf_memtable_body *b;
    *out_is_busy = false;
    sf_mutex_lock(&m->lock);
    for (b = m->cut; b; b = b->next) {
        if (b->gen > max_gen || b->part)
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

struct sf_memtable_body *sf_memtable_claim_flush(struct sf_memtable *m, uint64_t max_gen,
                                                 bool *out_is_busy)
{
    struct sf_memtable_body *b;
    *out_is_busy = false;
    sf_mutex_lock(&m->lock);
    for (b = m->cut; b; b = b->next) {
        if (b->gen > max_gen || b->is_flushing)
            continue;
        if (!b->is_busy)
            break;
        *out_is_busy = true;
    }
    if (b)
        b->is_flushing = true;
    sf_mutex_unlock(&m->lock);
    return b;
}

bool sf_memtable_hold(struct sf_memtable *m, struct sf_memtable_body *body)
{
    bool is_free;
    sf_mutex_lock(&m->lock);
    is_free = !body->is_busy;
    body->is_busy = true;
    sf_mutex_unlock(&m->lock);
    return is_free;
}

void sf_memtable_flushed(struct sf_memtable *m, struct sf_memtable_body *body)
{
    sf_mutex_lock(&m->lock);
    body = retire(m, body);
    sf_mutex_unlock(&m->lock);
    sf_memtable_body_free(body);
}

void sf_memtable_not_flushed(struct sf_memtable *m, struct sf_memtable_body *body)
{
    sf_mutex_lock(&m->lock);
    body->is_flushing = false;
    body = body->part ? retire(m, body) : NULL; /* its part remains */
    sf_mutex_unlock(&m->lock);
    sf_memtable_body_free(body);
}

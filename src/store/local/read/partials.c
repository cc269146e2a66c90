#include "store/local/read/partials.h"

#include <string.h>

#include "base/account.h"
#include "base/heap.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/table.h"

struct piece { /* the result of one granule */
    uint64_t block, variant;
    uint32_t granule, len;
    uint8_t *bytes; /* owned */
};

struct sf_question {
    uint32_t tenant, text_len;
    uint8_t *text; /* owned */
    uint64_t hash; /* of the text and the tenant */
    uint64_t used_at;
    size_t len; /* as counted in the budget */
    struct piece *pieces;
    uint32_t n, cap;
    size_t bytes_len; /* of all pieces */
    struct sf_table at;
};

bool sf_partials_init(struct sf_partials *p, struct sf_budget *budget)
{
    *p = (struct sf_partials){.budget = budget};
    p->list = sf_heap_new_n(SF_LIMIT_PARTIAL_QUESTIONS, sizeof(*p->list));
    sf_mutex_init(&p->lock, SF_LOCK_STORE_PARTIALS);
    return p->list != NULL;
}

/* ---- memory ---- */

static size_t partials_len_of(const struct sf_question *q)
{
    return sizeof(*q) + q->text_len + q->cap * sizeof(*q->pieces) + sf_table_memory(&q->at) +
           q->bytes_len + q->n * sizeof(size_t);
}

static void partials_count(struct sf_partials *p, struct sf_question *q, size_t len)
{
    if (len > q->len)
        sf_budget_add(p->budget, SF_LINE_PARTIALS, len - q->len);
    else
        sf_budget_sub(p->budget, SF_LINE_PARTIALS, q->len - len);
    q->len = len;
}

/* Removes a query; the last one takes its index. */
static void partials_drop(struct sf_partials *p, uint32_t at)
{
    struct sf_question *q = &p->list[at];
    partials_count(p, q, 0);
    for (uint32_t i = 0; i < q->n; i++)
        sf_heap_free(q->pieces[i].bytes);
    sf_heap_free(q->pieces);
    sf_table_done(&q->at);
    sf_heap_free(q->text);
    p->n--;
    if (at < p->n)
        p->list[at] = p->list[p->n];
    p->list[p->n] = (struct sf_question){0};
}

void sf_partials_done(struct sf_partials *p)
{
    while (p->n)
        partials_drop(p, p->n - 1);
    sf_heap_free(p->list);
    if (p->budget)
        sf_mutex_done(&p->lock);
    *p = (struct sf_partials){0};
}

/* ---- finding ---- */

static uint64_t partials_hash_of(const struct sf_partial_key *key)
{
    return sf_key_mix(sf_key(key->question.p, key->question.len), key->tenant);
}

static struct sf_question *partials_find(struct sf_partials *p, const struct sf_partial_key *key)
{
    uint64_t hash = partials_hash_of(key);
    for (uint32_t i = 0; i < p->n; i++) {
        struct sf_question *q = &p->list[i];
        if (q->hash == hash && q->tenant == key->tenant && q->text_len == key->question.len &&
            memcmp(q->text, key->question.p, q->text_len) == 0)
            return q;
    }
    return NULL;
}

static uint64_t partials_place_of(uint64_t block, uint32_t granule)
{
    return sf_key_mix(sf_key_u64(block), granule);
}

static struct piece *partials_find_piece(const struct sf_question *q,
                                         const struct sf_partial_key *key)
{
    struct sf_table_lookup lookup;
    uint32_t at;
    if (!q->n)
        return NULL;
    lookup = sf_table_lookup(&q->at, partials_place_of(key->block, key->granule));
    while (sf_table_next(&lookup, &at)) {
        if (q->pieces[at].block == key->block && q->pieces[at].granule == key->granule)
            return &q->pieces[at];
    }
    return NULL;
}

bool sf_partials_get(struct sf_partials *p, const struct sf_partial_key *key, struct sf_arena *to,
                     sf_bytes *out)
{
    const struct piece *piece;
    struct sf_question *q;
    uint8_t *copy = NULL;
    sf_mutex_lock(&p->lock);
    q = partials_find(p, key);
    piece = q ? partials_find_piece(q, key) : NULL;
    if (piece && piece->variant != key->variant)
        piece = NULL;
    if (q)
        q->used_at = ++p->tick;
    copy = piece ? sf_arena_raw(to, piece->len + 1, 1) : NULL;
    if (copy) {
        memcpy(copy, piece->bytes, piece->len);
        *out = (sf_bytes){copy, piece->len};
    }
    p->n_hits += copy != NULL;
    p->n_misses += copy == NULL;
    sf_mutex_unlock(&p->lock);
    return copy != NULL;
}

/* ---- keeping ---- */

/* The least recently used query except `but`; p->n: there is no other. */
static uint32_t oldest(const struct sf_partials *p, const struct sf_question *but)
{
    uint32_t best = p->n;
    for (uint32_t i = 0; i < p->n; i++) {
        if (&p->list[i] != but && (best == p->n || p->list[i].used_at < p->list[best].used_at))
            best = i;
    }
    return best;
}

static struct sf_question *add_question(struct sf_partials *p, const struct sf_partial_key *key)
{
    struct sf_question *q;
    if (p->n == SF_LIMIT_PARTIAL_QUESTIONS)
        partials_drop(p, oldest(p, NULL));
    q = &p->list[p->n];
    *q = (struct sf_question){.tenant = key->tenant, .text_len = (uint32_t)key->question.len};
    q->text = sf_heap_new(key->question.len + 1);
    if (!q->text)
        return NULL;
    memcpy(q->text, key->question.p, key->question.len);
    q->hash = partials_hash_of(key);
    p->n++;
    return q;
}

/* Keeps one result per granule: a result with other rows left out will not be needed again. */
static void partials_add_piece(struct sf_question *q, const struct sf_partial_key *key,
                               sf_bytes result)
{
    struct piece piece = {.block = key->block,
                          .variant = key->variant,
                          .granule = key->granule,
                          .len = (uint32_t)result.len,
                          .bytes = sf_heap_new(result.len + 1)};
    struct piece *old = partials_find_piece(q, key);
    if (!piece.bytes ||
        (!old && (!sf_table_more(&q->at) || !sf_list_room(&q->pieces, q->n, &q->cap, 16)))) {
        sf_heap_free(piece.bytes);
        return;
    }
    memcpy(piece.bytes, result.p, result.len);
    q->bytes_len += result.len;
    if (old) {
        q->bytes_len -= old->len;
        sf_heap_free(old->bytes);
        *old = piece;
        return;
    }
    sf_table_put(&q->at, partials_place_of(key->block, key->granule), q->n);
    q->pieces[q->n++] = piece;
}

/* Is there space for this many bytes, possibly after dropping the oldest queries? */
static bool partials_make_room(struct sf_partials *p, const struct sf_partial_key *key, size_t more)
{
    size_t cap = p->budget->cap[SF_LINE_PARTIALS];
    while (sf_budget_used(p->budget, SF_LINE_PARTIALS) + more > cap) {
        uint32_t at = oldest(p, partials_find(p, key));
        if (at == p->n)
            return false;
        partials_drop(p, at);
    }
    return true;
}

void sf_partials_put(struct sf_partials *p, const struct sf_partial_key *key, sf_bytes result)
{
    struct sf_account *paused;
    struct sf_question *q;
    if (result.len > SF_LIMIT_PARTIAL_LEN || key->question.len > SF_LIMIT_PARTIAL_LEN)
        return;
    paused = sf_account_pause(); /* the cached result is not charged to this request */
    sf_mutex_lock(&p->lock);
    if (partials_make_room(p, key, result.len + key->question.len + 4 * sizeof(struct piece))) {
        q = partials_find(p, key);
        if (!q)
            q = add_question(p, key);
        if (q) {
            q->used_at = ++p->tick;
            partials_add_piece(q, key, result);
            partials_count(p, q, partials_len_of(q));
        }
    }
    sf_mutex_unlock(&p->lock);
    sf_account_resume(paused);
}

/* ---- dropping ---- */

static void drop_pieces(struct sf_partials *p, struct sf_question *q, uint64_t block)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < q->n; i++) {
        if (q->pieces[i].block != block) {
            q->pieces[kept++] = q->pieces[i];
            continue;
        }
        q->bytes_len -= q->pieces[i].len;
        sf_heap_free(q->pieces[i].bytes);
    }
    if (kept == q->n)
        return;
    q->n = kept;
    sf_table_clear(&q->at);
    for (uint32_t i = 0; i < q->n; i++)
        sf_table_put(&q->at, partials_place_of(q->pieces[i].block, q->pieces[i].granule), i);
    partials_count(p, q, partials_len_of(q));
}

void sf_partials_drop_block(struct sf_partials *p, uint64_t block)
{
    struct sf_account *paused = sf_account_pause();
    sf_mutex_lock(&p->lock);
    for (uint32_t i = p->n; i > 0; i--) {
        drop_pieces(p, &p->list[i - 1], block);
        if (!p->list[i - 1].n)
            partials_drop(p, i - 1);
    }
    sf_mutex_unlock(&p->lock);
    sf_account_resume(paused);
}

void sf_partials_drop_tenant(struct sf_partials *p, uint32_t tenant)
{
    struct sf_account *paused = sf_account_pause();
    sf_mutex_lock(&p->lock);
    for (uint32_t i = p->n; i > 0; i--) {
        if (p->list[i - 1].tenant == tenant)
            partials_drop(p, i - 1);
    }
    sf_mutex_unlock(&p->lock);
    sf_account_resume(paused);
}

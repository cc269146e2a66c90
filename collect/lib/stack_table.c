#include "collect/lib/stack_table.h"

#include <string.h>

#include "base/heap.h"

enum { SLOTS = 8192 };

struct entry {
    uint32_t at, hash, next; /* index of its first word; hash; id of the next entry with the same
                              * slot */
    uint16_t n;
    uint8_t end;
};

struct sf_stack_table {
    struct sf_lock lock; /* guards everything; no other lock is taken while it is held */
    uint32_t n, n_words;
    uint64_t lost;
    uint32_t slots[SLOTS];
    struct entry entries[SF_STACK_TABLE_STACKS]; /* number 0 is unused */
    uintptr_t words[SF_STACK_TABLE_WORDS];
};

struct sf_stack_table *sf_stack_table_new(void)
{
    struct sf_stack_table *t = sf_heap_pages(sizeof(*t));
    if (t)
        t->n = 1;
    return t;
}

void sf_stack_table_free(struct sf_stack_table *t)
{
    sf_heap_pages_free(t, sizeof(*t));
}

/* Keys are code addresses of this program, not input from outside. */
static uint32_t stack_table_hash_of(const uintptr_t *frames, uint16_t n)
{
    uint64_t h = n;
    for (uint16_t i = 0; i < n; i++) {
        h = (h ^ frames[i]) * 0xd6e8feb86659fd93u;
        h ^= h >> 32;
    }
    return (uint32_t)h;
}

static uint32_t stack_table_find(const struct sf_stack_table *t, const uintptr_t *frames,
                                 uint16_t n, uint8_t end, uint32_t hash)
{
    for (uint32_t id = t->slots[hash % SLOTS]; id; id = t->entries[id].next) {
        const struct entry *e = &t->entries[id];
        if (e->hash == hash && e->n == n && e->end == end &&
            !memcmp(t->words + e->at, frames, n * sizeof(*frames)))
            return id;
    }
    return 0;
}

static uint32_t stack_table_append(struct sf_stack_table *t, const uintptr_t *frames, uint16_t n,
                                   uint8_t end, uint32_t hash)
{
    uint32_t id = t->n;
    if (id == SF_STACK_TABLE_STACKS || n > SF_STACK_TABLE_WORDS - t->n_words) {
        t->lost++;
        return 0;
    }
    memcpy(t->words + t->n_words, frames, n * sizeof(*frames));
    t->entries[id] = (struct entry){t->n_words, hash, t->slots[hash % SLOTS], n, end};
    t->slots[hash % SLOTS] = id;
    t->n_words += n;
    t->n++;
    return id;
}

uint32_t sf_stack_table_add(struct sf_stack_table *t, const uintptr_t *frames, uint16_t n,
                            uint8_t end)
{
    uint32_t hash = stack_table_hash_of(frames, n), id;
    sf_lock_take(&t->lock);
    id = stack_table_find(t, frames, n, end, hash);
    if (!id)
        id = stack_table_append(t, frames, n, end, hash);
    sf_lock_give(&t->lock);
    return id;
}

uint16_t sf_stack_table_get(struct sf_stack_table *t, uint32_t id, uintptr_t *frames, uint16_t cap,
                            uint8_t *end)
{
    uint16_t n = 0;
    *end = 0;
    sf_lock_take(&t->lock);
    if (id && id < t->n) {
        const struct entry *e = &t->entries[id];
        n = e->n < cap ? e->n : cap;
        *end = e->end;
        memcpy(frames, t->words + e->at, n * sizeof(*frames));
    }
    sf_lock_give(&t->lock);
    return n;
}

uint64_t sf_stack_table_lost(struct sf_stack_table *t)
{
    uint64_t lost;
    sf_lock_take(&t->lock);
    lost = t->lost;
    sf_lock_give(&t->lock);
    return lost;
}

void sf_stack_table_before_fork(struct sf_stack_table *t)
{
    if (t)
        sf_lock_take(&t->lock);
}

void sf_stack_table_after_fork(struct sf_stack_table *t, bool is_child)
{
    if (t && is_child)
        sf_lock_reset(&t->lock);
    else if (t)
        sf_lock_give(&t->lock);
}

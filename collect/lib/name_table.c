#include "collect/lib/name_table.h"

#include "collect/lib/secret.h"

enum { MAX_NAMES = 1 << 18, SLOTS = 1024 };

struct entry {
    uint64_t key;
    uint32_t id, next;
};

void sf_name_table_done(struct sf_name_table *t)
{
    sf_buf_done(&t->entries);
}

uint64_t sf_name_table_hash(const void *bytes, size_t len)
{
    const uint8_t *p = bytes;
    uint64_t h = sf_secret_mix(sf_secret(), len), last = 0;
    size_t at = 0;
    for (; len - at >= 8; at += 8) {
        uint64_t v;
        memcpy(&v, p + at, 8);
        h = sf_secret_mix(h, v);
    }
    if (at < len)
        memcpy(&last, p + at, len - at);
    return sf_secret_mix(h, last);
}

uint32_t sf_name_table_id(struct sf_name_table *t, uint64_t key, uint32_t first, bool *is_new)
{
    uint64_t hash = sf_secret_mix(sf_secret(), key);
    uint32_t *slot = &t->slots[hash % SLOTS];
    uint32_t n = (uint32_t)(t->entries.len / sizeof(struct entry));
    struct entry fresh = {key, n + first, *slot};
    *is_new = false;
    for (uint32_t at = *slot; at;) {
        const struct entry *e = (const struct entry *)(void *)t->entries.p + (at - 1);
        if (e->key == key)
            return e->id;
        at = e->next;
    }
    sf_buf_add(&t->entries, &fresh, sizeof(fresh));
    if (!sf_buf_ok(&t->entries) || n > MAX_NAMES) {
        t->has_failed = true;
        return first;
    }
    *slot = n + 1;
    *is_new = true;
    return fresh.id;
}

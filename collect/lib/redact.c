#include "collect/lib/redact.h"

#include <stdatomic.h>
#include <string.h>

#include "base/num.h"
#include "base/secret_names.h"
#include "base/secret_shape.h"
#include "collect/lib/secret.h"

enum { HITS = 32, KNOWN_KEYS = 512, VERDICT_BITS = 2 };

static atomic_bool is_redacting;
static struct sf_secret_name_list names; /* compiled once, before is_redacting is set */
static atomic_bool has_names;
/* Cache of results per key: the upper bits of a hash and, in the lowest two, the result + 1. */
static atomic_uint_fast64_t known[KNOWN_KEYS];

void sf_redact_set(bool is_on)
{
    if (!atomic_exchange(&has_names, true))
        sf_secret_names_init(&names);
    atomic_store(&is_redacting, is_on);
}

/* Hashes eight bytes at a time. The hash stands for the key, so it is seeded with the secret: an
 * attacker cannot construct a key with the hash of another. */
static uint64_t redact_hash_of(sf_str key)
{
    uint64_t h = sf_secret_mix(sf_secret(), key.len), last = 0;
    size_t at = 0;
    for (; key.len - at >= 8; at += 8)
        h = sf_secret_mix(h, sf_load_u64le(key.p + at));
    if (at < key.len)
        memcpy(&last, key.p + at, key.len - at);
    return sf_secret_mix(h, last);
}

static enum sf_word_found redact_find_words(sf_str key)
{
    const uint64_t verdict = (1u << VERDICT_BITS) - 1;
    uint64_t hash = redact_hash_of(key), seen;
    atomic_uint_fast64_t *slot = &known[hash % KNOWN_KEYS];
    enum sf_word_found found;

    seen = atomic_load_explicit(slot, memory_order_relaxed);
    if ((seen & ~verdict) == (hash & ~verdict) && (seen & verdict))
        return (enum sf_word_found)((seen & verdict) - 1);
    found = sf_secret_names_find(&names, key);
    atomic_store_explicit(slot, (hash & ~verdict) | ((uint64_t)found + 1), memory_order_relaxed);
    return found;
}

bool sf_redact_key(sf_str key, bool is_number)
{
    enum sf_word_found found;
    if (!atomic_load_explicit(&is_redacting, memory_order_acquire) || key.len == 0)
        return false;
    found = redact_find_words(key);
    return found == SF_WORD_ONE || (found == SF_WORD_PLURAL && !is_number);
}

static bool is_secret_name(const void *arg, sf_str name, bool is_number)
{
    enum sf_word_found found = redact_find_words(name);
    (void)arg;
    return found == SF_WORD_ONE || (found == SF_WORD_PLURAL && !is_number);
}

static void sort_hits(struct sf_shape_hit *hits, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct sf_shape_hit hit = hits[i];
        size_t at = i;
        for (; at > 0 && hits[at - 1].at > hit.at; at--)
            hits[at] = hits[at - 1];
        hits[at] = hit;
    }
}

static sf_str cut_out(sf_str text, unsigned look, struct sf_buf *room)
{
    static const struct sf_shape_names all = {is_secret_name, NULL, true};
    struct sf_shape_hit hits[HITS];
    size_t n = sf_secret_shape_find(text, look, &all, hits, HITS), from = 0;
    if (n == 0)
        return text;
    if (n > HITS)
        return SF_REDACTED;
    sort_hits(hits, n);
    for (size_t i = 0; i < n;) {
        size_t at = hits[i].at, end = hits[i].end;
        for (i++; i < n && hits[i].at <= end; i++)
            end = hits[i].end > end ? hits[i].end : end;
        sf_buf_add(room, text.p + from, at - from);
        sf_buf_add_str(room, SF_REDACTED);
        from = end;
    }
    sf_buf_add(room, text.p + from, text.len - from);
    return sf_buf_ok(room) ? sf_buf_str(room) : SF_REDACTED;
}

sf_str sf_redact_text(sf_str text, struct sf_buf *room)
{
    unsigned look;
    if (!atomic_load_explicit(&is_redacting, memory_order_acquire))
        return text;
    look = sf_secret_shape_scan(text);
    return __builtin_expect(look == 0, 1) ? text : cut_out(text, look, room);
}

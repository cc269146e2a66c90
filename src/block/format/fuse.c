#include "block/format/fuse.h"

#include <math.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/num.h"

enum { MAX_TRIES = 100, MAX_SEGMENT_LEN = 1 << 18, MAX_BITS = 16, MAX_BUCKETS = 1 << MAX_BITS };
static const size_t MAX_KEYS = (size_t)1 << 27;

static uint64_t fuse_mix(uint64_t hash, uint64_t seed)
{
    uint64_t h = hash + seed;
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdu;
    h ^= h >> 33;
    h *= 0xc4ceb9fe1a85ec53u;
    h ^= h >> 33;
    return h;
}

static uint8_t fingerprint(uint64_t h)
{
    return (uint8_t)(h ^ (h >> 32));
}

static void fuse_places(const struct sf_fuse *f, uint64_t h, uint32_t at[3])
{
    uint64_t span = (uint64_t)f->n_segments * f->segment_len;
    uint32_t mask = f->segment_len - 1;
    uint32_t first = (uint32_t)(((unsigned __int128)h * span) >> 64);
    at[0] = first;
    at[1] = (first + f->segment_len) ^ ((uint32_t)(h >> 18) & mask);
    at[2] = (first + 2 * f->segment_len) ^ ((uint32_t)h & mask);
}

/* Segment length and count for n keys: the paper's fitted formulas for three positions per key. */
static struct sf_fuse fuse_plan(size_t n)
{
    struct sf_fuse f = {0};
    double factor;
    uint64_t places_n;

    if (n == 0)
        return f;
    f.segment_len = 4;
    if (n > 1)
        f.segment_len = 1u << (int)floor(log((double)n) / log(3.33) + 2.25);
    if (f.segment_len > MAX_SEGMENT_LEN)
        f.segment_len = MAX_SEGMENT_LEN;
    factor = n > 1 ? 0.875 + 0.25 * log(1000000.0) / log((double)n) : 2.0;
    if (factor < 1.125)
        factor = 1.125;
    places_n = (uint64_t)round((double)n * factor);
    f.n_segments = (uint32_t)((places_n + f.segment_len - 1) / f.segment_len);
    f.n_segments = f.n_segments > 2 ? f.n_segments - 2 : 1;
    return f;
}

static int fuse_cmp_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static size_t fuse_drop_repeats(uint64_t *hashes, size_t n)
{
    size_t kept = 0;
    qsort(hashes, n, sizeof(*hashes), fuse_cmp_u64);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || hashes[i] != hashes[i - 1])
            hashes[kept++] = hashes[i];
    }
    return kept;
}

struct build {       /* arrays of positions, then of keys */
    uint64_t *keys;  /* xor of the keys that map to a position */
    uint8_t *counts; /* their number; saturates at 255, and then cannot be peeled */
    uint32_t *queue; /* positions with one key; before that, bucket starts */
    uint64_t *sorted, *order;
    uint8_t *which; /* which of the three positions of order[i] belongs to it alone */
};

static bool fuse_put_keys(const struct sf_fuse *f, struct build *b, size_t n_keys)
{
    for (size_t i = 0; i < n_keys; i++) {
        uint32_t at[3];
        fuse_places(f, b->sorted[i], at);
        for (int k = 0; k < 3; k++) {
            b->keys[at[k]] ^= b->sorted[i];
            if (++b->counts[at[k]] == UINT8_MAX)
                return false;
        }
    }
    return true;
}

/* Peels keys off positions that have only one key; true when all keys were peeled. */
static bool peel(const struct sf_fuse *f, struct build *b, uint32_t n_places, size_t n_keys)
{
    size_t n_queue = 0, done = 0;

    for (uint32_t i = 0; i < n_places; i++) {
        if (b->counts[i] == 1)
            b->queue[n_queue++] = i;
    }
    while (n_queue > 0) {
        uint32_t from = b->queue[--n_queue], at[3];
        uint64_t h = b->keys[from];
        if (b->counts[from] != 1)
            continue;
        fuse_places(f, h, at);
        b->order[done] = h;
        for (uint8_t i = 0; i < 3; i++) {
            if (at[i] == from)
                b->which[done] = i;
            b->keys[at[i]] ^= h;
            if (--b->counts[at[i]] == 1)
                b->queue[n_queue++] = at[i];
        }
        done++;
    }
    return done == n_keys;
}

/* Keys are sorted by their first position, so that the table is filled sequentially. */
static void sort_by_place(const uint64_t *hashes, size_t n, uint64_t seed, uint64_t *sorted,
                          uint32_t *starts, unsigned bits)
{
    size_t n_buckets = (size_t)1 << bits;
    uint32_t sum = 0;

    memset(starts, 0, n_buckets * sizeof(*starts));
    for (size_t i = 0; i < n; i++)
        starts[fuse_mix(hashes[i], seed) >> (64 - bits)]++;
    for (size_t i = 0; i < n_buckets; i++) {
        uint32_t here = starts[i];
        starts[i] = sum;
        sum += here;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t h = fuse_mix(hashes[i], seed);
        sorted[starts[h >> (64 - bits)]++] = h;
    }
}

static bool build_init(struct build *b, size_t n_places, size_t n_keys)
{
    b->keys = sf_heap_new_n(n_places, sizeof(*b->keys));
    b->counts = sf_heap_new_n(n_places, sizeof(*b->counts));
    b->queue = sf_heap_new_n(n_places > MAX_BUCKETS ? n_places : MAX_BUCKETS, sizeof(*b->queue));
    b->sorted = sf_heap_new_n(n_keys, sizeof(*b->sorted));
    b->order = sf_heap_new_n(n_keys, sizeof(*b->order));
    b->which = sf_heap_new_n(n_keys, sizeof(*b->which));
    return b->keys && b->counts && b->queue && b->sorted && b->order && b->which;
}

static void build_done(struct build *b)
{
    sf_heap_free(b->keys);
    sf_heap_free(b->counts);
    sf_heap_free(b->queue);
    sf_heap_free(b->sorted);
    sf_heap_free(b->order);
    sf_heap_free(b->which);
}

static void assign(const struct sf_fuse *f, const struct build *b, size_t n_keys, uint8_t *to)
{
    for (size_t i = n_keys; i > 0; i--) {
        uint32_t at[3];
        uint64_t h = b->order[i - 1];
        fuse_places(f, h, at);
        /* Its own position is still 0, so the xor of all three is the xor of the other two. */
        to[at[b->which[i - 1]]] = (uint8_t)(fingerprint(h) ^ to[at[0]] ^ to[at[1]] ^ to[at[2]]);
    }
}

enum sf_err sf_fuse_build(struct sf_buf *out, uint64_t *hashes, size_t n)
{
    struct build b = {0};
    struct sf_fuse f;
    uint32_t n_places;
    uint8_t *to;
    bool is_done = n == 0;
    unsigned bits = 8;
    enum sf_err err = SF_ERR_NOMEM;

    if (n > MAX_KEYS)
        return SF_ERR_LIMIT;
    f = fuse_plan(n);
    n_places = n ? (f.n_segments + 2) * f.segment_len : 0;
    while (bits < MAX_BITS && ((size_t)1 << (bits + 4)) < n)
        bits++;
    if (!build_init(&b, n_places, n))
        goto done;
    for (unsigned try = 0; try < MAX_TRIES && !is_done; try++) {
        /* Duplicate keys can never be peeled; they are rare, so keys are sorted only after a
         * failure. */
        if (try == 2)
            n = fuse_drop_repeats(hashes, n);
        f.seed = 0x9e3779b97f4a7c15u * (try + 1);
        memset(b.keys, 0, n_places * sizeof(*b.keys));
        memset(b.counts, 0, n_places);
        sort_by_place(hashes, n, f.seed, b.sorted, b.queue, bits);
        is_done = fuse_put_keys(&f, &b, n) && peel(&f, &b, n_places, n);
    }
    if (!is_done) { /* ids crafted to defeat every seed: use a filter that always says yes */
        f = (struct sf_fuse){.n_segments = 1};
        n_places = 0;
        n = 0;
    }
    to = sf_buf_take(out, SF_FUSE_HEAD_LEN + (size_t)n_places);
    err = to ? SF_OK : out->err;
    if (!to)
        goto done;
    sf_store_u64le(to, f.seed);
    sf_store_u32le(to + 8, f.segment_len);
    sf_store_u32le(to + 12, f.n_segments);
    memset(to + SF_FUSE_HEAD_LEN, 0, n_places);
    assign(&f, &b, n, to + SF_FUSE_HEAD_LEN);
done:
    build_done(&b);
    return err;
}

bool sf_fuse_parse(const uint8_t head[SF_FUSE_HEAD_LEN], uint64_t len, struct sf_fuse *out)
{
    struct sf_fuse f = {sf_load_u64le(head), sf_load_u32le(head + 8), sf_load_u32le(head + 12)};
    uint64_t n_places = f.n_segments ? ((uint64_t)f.n_segments + 2) * f.segment_len : 0;
    bool is_power = (f.segment_len & (f.segment_len - 1)) == 0;

    if (!is_power || f.segment_len > MAX_SEGMENT_LEN || n_places > UINT32_MAX)
        return false;
    if (f.segment_len == 0 && f.n_segments > 1)
        return false;
    if (len < SF_FUSE_HEAD_LEN || len - SF_FUSE_HEAD_LEN != n_places)
        return false;
    *out = f;
    return true;
}

enum sf_fuse_answer sf_fuse_places(const struct sf_fuse *f, uint64_t hash, uint64_t out_off[3],
                                   uint8_t *out_fingerprint)
{
    uint64_t h = fuse_mix(hash, f->seed);
    uint32_t at[3];

    if (f->n_segments == 0)
        return SF_FUSE_NO;
    if (f->segment_len == 0)
        return SF_FUSE_YES;
    fuse_places(f, h, at);
    for (int i = 0; i < 3; i++)
        out_off[i] = SF_FUSE_HEAD_LEN + (uint64_t)at[i];
    *out_fingerprint = fingerprint(h);
    return SF_FUSE_LOOK;
}

bool sf_fuse_has(sf_bytes filter, uint64_t hash)
{
    struct sf_fuse f;
    uint64_t off[3];
    uint8_t want;

    if (filter.len < SF_FUSE_HEAD_LEN || !sf_fuse_parse(filter.p, filter.len, &f))
        return true; /* an unreadable filter excludes nothing */
    switch (sf_fuse_places(&f, hash, off, &want)) {
    case SF_FUSE_NO: return false;
    case SF_FUSE_YES: return true;
    default: return (filter.p[off[0]] ^ filter.p[off[1]] ^ filter.p[off[2]]) == want;
    }
}

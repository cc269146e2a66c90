/* bins.c - encodes numbers as bins. Encoding: sort a copy, find candidate cuts, choose bins by
 * dynamic programming on their estimated size, then code the sequence of bins with a tabled
 * asymmetric numeral system (tANS) and write offsets as plain bits. Decoding validates the table
 * first, so every state leads to a valid one. */
#include "block/format/bins.h"

#include <math.h>

#include "base/invariant.h"
#include "block/format/planes.h"

enum {
    CHUNKS = 64,           /* approximate number of cuts: more would gain nothing */
    CUTS_MAX = 3 * CHUNKS, /* cuts of chunks, and around frequent numbers */
    HEAD_BITS = 36,        /* size of a bin in the head, about */
    STATES = 1 << SF_BINS_LOG_MAX,
};

struct bin {
    uint64_t low;
    uint32_t n;
    uint16_t weight; /* states */
    uint8_t bits;    /* of offsets */
};

static unsigned bins_bits_of(uint64_t v)
{
    return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

/* ---- where to cut ---- */

/* Radix sort, with as many digits as the largest number has; few numbers use small digits. */
static const uint64_t *bins_sort(struct sf_bins_work *w, uint32_t n)
{
    uint64_t *from = w->sorted[0], *to = w->sorted[1], largest = 0;
    for (uint32_t i = 0; i < n; i++) {
        from[i] = w->q[i];
        largest |= from[i];
    }
    unsigned n_bits = n < 1024 ? 6 : 11, n_digits = 1u << n_bits;
    for (unsigned shift = 0; shift < bins_bits_of(largest); shift += n_bits) {
        uint32_t at[2049];
        uint64_t *other = from;
        memset(at, 0, (n_digits + 1) * sizeof(*at));
        for (uint32_t i = 0; i < n; i++)
            at[(from[i] >> shift & (n_digits - 1)) + 1]++;
        for (unsigned i = 1; i < n_digits; i++)
            at[i] += at[i - 1];
        for (uint32_t i = 0; i < n; i++)
            to[at[from[i] >> shift & (n_digits - 1)]++] = from[i];
        from = to;
        to = other;
    }
    return from;
}

/* Outliers are among the smallest and the largest numbers: there, cuts are closer, at 1, 2, 4 and
 * so on. */
static bool is_near_an_end(uint32_t n, uint32_t i, uint32_t k, uint32_t step)
{
    return (i < step && bins_bits_of(k) > bins_bits_of(i)) ||
           (n - k < step && bins_bits_of(n - k) < bins_bits_of(n - i));
}

/* Finds positions where a bin may begin, from 0 to n: never between equal numbers; on both sides of
 * a frequent number, which is then a bin without offsets. */
static uint32_t find_cuts(const uint64_t *sorted, uint32_t n, uint32_t cuts[CUTS_MAX + 1])
{
    uint32_t step = (n + CHUNKS - 1) / CHUNKS, n_cuts = 1;
    cuts[0] = 0;
    for (uint32_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && sorted[k] == sorted[i]; k++) {
            /* equal numbers */
        }
        if (k - i >= step && i > cuts[n_cuts - 1])
            cuts[n_cuts++] = i;
        if (k - cuts[n_cuts - 1] >= step || k == n || is_near_an_end(n, i, k, step))
            cuts[n_cuts++] = k;
    }
    SF_ASSERT(n_cuts <= CUTS_MAX + 1);
    return n_cuts;
}

/* Finds the cheapest path to the end over some of the cuts: the best predecessor of each. Returns
 * the number of bins. */
static uint32_t find_way(const uint64_t *sorted, const uint32_t *cuts, uint32_t n_cuts, float head,
                         const float *logs, uint8_t before[CUTS_MAX + 1])
{
    float best[CUTS_MAX + 1] = {0}, log_n = log2f((float)cuts[n_cuts - 1]);
    uint32_t n_bins = 0;
    for (uint32_t to = 1; to < n_cuts; to++) {
        uint64_t highest = sorted[cuts[to] - 1];
        best[to] = INFINITY;
        for (uint32_t from = 0; from < to; from++) {
            uint32_t n = cuts[to] - cuts[from];
            float bits = (float)bins_bits_of(highest - sorted[cuts[from]]);
            float cost = best[from] + head + (float)n * (bits + log_n) - logs[n];
            if (cost < best[to]) {
                best[to] = cost;
                before[to] = (uint8_t)from;
            }
        }
    }
    for (uint32_t at = n_cuts - 1; at; at = before[at])
        n_bins++;
    return n_bins;
}

static uint32_t choose_bins(const uint64_t *sorted, uint32_t n, struct sf_bins_work *w,
                            struct bin bins[SF_BINS_MAX])
{
    for (uint32_t i = 1; w->logs[SF_BINS_VALUES_MAX] == 0 && i <= SF_BINS_VALUES_MAX; i++)
        w->logs[i] = (float)i * log2f((float)i);
    uint32_t cuts[CUTS_MAX + 1], n_cuts = find_cuts(sorted, n, cuts), n_bins;
    uint8_t before[CUTS_MAX + 1];
    float head = HEAD_BITS;
    while ((n_bins = find_way(sorted, cuts, n_cuts, head, w->logs, before)) > SF_BINS_MAX)
        head *= 4; /* choose fewer bins; ends after a few rounds */
    for (uint32_t to = n_cuts - 1, i = n_bins; to; to = before[to]) {
        uint32_t from = cuts[before[to]];
        bins[--i] = (struct bin){
            .low = sorted[from],
            .n = cuts[to] - from,
            .bits = (uint8_t)bins_bits_of(sorted[cuts[to] - 1] - sorted[from])};
    }
    return n_bins;
}

/* ---- the code of the bins ---- */

/* A tabled asymmetric numeral system: the bins share 2^log states by their weights, and the state
 * determines the next bin. A bin with nearly all numbers costs nearly 0 bits, which a code of whole
 * bits cannot achieve. */

static unsigned log_of(uint32_t n, uint32_t n_bins)
{
    unsigned least = bins_bits_of(n_bins) + 2, log = bins_bits_of(n);
    log = log < least ? least : log;
    log = log < SF_BINS_LOG_MIN ? SF_BINS_LOG_MIN : log;
    return n_bins == 1 ? 0 : log > SF_BINS_LOG_MAX ? SF_BINS_LOG_MAX : log;
}

static struct bin *largest_of(struct bin *bins, uint32_t n)
{
    struct bin *out = bins;
    for (uint32_t i = 1; i < n; i++)
        out = bins[i].weight > out->weight ? &bins[i] : out;
    return out;
}

/* Distributes 2^log states by the number of values, at least 1 for each bin. */
static void share_states(struct bin *bins, uint32_t n_bins, uint32_t n, unsigned log)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < n_bins; i++) {
        uint32_t weight = (uint32_t)((((uint64_t)bins[i].n << log) + n / 2) / n);
        bins[i].weight = (uint16_t)(weight ? weight : 1);
        sum += bins[i].weight;
    }
    for (; sum < 1u << log; sum++)
        largest_of(bins, n_bins)->weight++;
    for (; sum > 1u << log; sum--)
        largest_of(bins, n_bins)->weight--;
}

/* Spreads the states of each bin over the table: which bin has each state. */
static void spread_states(const struct bin *bins, uint32_t n_bins, unsigned log, uint8_t *of_state)
{
    uint32_t n = 1u << log, step = (n >> 1) + (n >> 3) + 3, at = 0;
    for (uint32_t i = 0; i < n_bins; i++)
        for (uint32_t k = 0; k < bins[i].weight; k++) {
            of_state[at] = (uint8_t)i;
            at = (at + step) & (n - 1);
        }
}

/* ---- encode ---- */

struct bit_writer {
    uint8_t *to;
    uint64_t held;
    unsigned n_held;
};

/* Writes at most 56 bits. Stores eight bytes and advances by the full ones. */
static inline void put_bits(struct bit_writer *b, uint64_t v, unsigned n)
{
    b->held |= v << b->n_held;
    b->n_held += n;
    sf_store_u64le(b->to, b->held);
    b->to += b->n_held / 8;
    b->held >>= b->n_held & ~7u;
    b->n_held &= 7;
}

static inline uint8_t bin_of(const struct bin *bins, uint32_t n, uint64_t q)
{
    const struct bin *at = bins;
    for (; n > 1; n -= n / 2)
        at += at[n / 2].low <= q ? n / 2 : 0;
    return (uint8_t)(at - bins);
}

/* From the last number to the first: stores the bits that lead from the state before each number to
 * the one after it in w->moves, and their count in w->n_moves. Returns the first state. */
static uint32_t find_moves(const struct bin *bins, uint32_t n_bins, uint32_t n, unsigned log,
                           struct sf_bins_work *w)
{
    uint16_t states[STATES], first[SF_BINS_MAX], next[SF_BINS_MAX];
    uint8_t of_state[STATES];
    uint32_t sum = 0, size = 1u << log, state = size;
    spread_states(bins, n_bins, log, of_state);
    for (uint32_t i = 0; i < n_bins; i++) {
        first[i] = next[i] = (uint16_t)sum;
        sum += bins[i].weight;
    }
    for (uint32_t i = 0; i < size; i++)
        states[next[of_state[i]]++] = (uint16_t)i;
    for (uint32_t i = n; i-- > 0;) {
        uint32_t weight = bins[w->of[i]].weight;
        unsigned n_bits = bins_bits_of(state) - bins_bits_of(weight);
        n_bits -= state >> n_bits < weight;
        w->moves[i] = (uint16_t)(state & ((1u << n_bits) - 1));
        w->n_moves[i] = (uint8_t)n_bits;
        state = size + states[first[w->of[i]] + (state >> n_bits) - weight];
    }
    return state - size;
}

static void bins_put_numbers(struct sf_buf *out, const struct bin *bins, uint32_t n, bool has_moves,
                             const struct sf_bins_work *w)
{
    uint64_t n_bits = 0;
    for (uint32_t i = 0; i < n; i++)
        n_bits += bins[w->of[i]].bits + (has_moves ? w->n_moves[i] : 0u);
    size_t len = (size_t)(n_bits + 7) / 8;
    struct bit_writer b = {.to = sf_buf_take(out, len + 8)};
    if (!b.to)
        return;
    for (uint32_t i = 0; n_bits && i < n; i++) {
        const struct bin *mine = &bins[w->of[i]];
        uint64_t offset = w->q[i] - mine->low;
        unsigned low_bits = mine->bits < 32 ? mine->bits : 32;
        if (has_moves)
            put_bits(&b, w->moves[i], w->n_moves[i]);
        put_bits(&b, offset & UINT32_MAX, low_bits);
        if (mine->bits > 32)
            put_bits(&b, offset >> 32, mine->bits - 32u);
    }
    out->len -= 8;
}

void sf_bins_encode(struct sf_buf *out, const int64_t *vals, uint32_t n, struct sf_bins_work *w)
{
    struct sf_planes plan = sf_planes_plan((const uint64_t *)vals, n);
    struct bin bins[SF_BINS_MAX];
    uint64_t before = 0;
    SF_ASSERT(n > 0 && n <= SF_BINS_VALUES_MAX);
    for (uint32_t i = 0; i < n; i++)
        w->q[i] = (uint64_t)vals[i] - plan.min;
    for (uint32_t i = 0; plan.divisor > 1 && i < n; i++)
        w->q[i] /= plan.divisor;
    uint32_t n_bins = 1;
    if (plan.width)
        n_bins = choose_bins(bins_sort(w, n), n, w, bins);
    else
        bins[0] = (struct bin){.n = n};
    unsigned log = log_of(n, n_bins);
    share_states(bins, n_bins, n, log);
    for (uint32_t i = 0; i < n; i++)
        w->of[i] = bin_of(bins, n_bins, w->q[i]);
    sf_buf_add_varint(out, n_bins);
    sf_buf_add_varint(out, plan.min << 1 ^ (uint64_t)((int64_t)plan.min >> 63));
    sf_buf_add_varint(out, plan.divisor);
    for (uint32_t i = 0; i < n_bins; i++) {
        sf_buf_add_varint(out, bins[i].low - before);
        sf_buf_add_u8(out, bins[i].bits);
        if (n_bins > 1)
            sf_buf_add_varint(out, bins[i].weight);
        before = bins[i].low;
    }
    if (n_bins > 1)
        sf_buf_add_varint(out, find_moves(bins, n_bins, n, log, w));
    bins_put_numbers(out, bins, n, n_bins > 1, w);
}

/* ---- decode ---- */

static uint64_t next_bits(const struct sf_cursor *c,
                          uint64_t at) /* reads at least 57 bits; zeros beyond the end */
{
    size_t byte = (size_t)(at / 8), left = sf_cursor_left(c);
    uint8_t last[8] = {0};
    if (byte + 8 <= left)
        return sf_load_u64le(c->at + byte) >> at % 8;
    if (byte < left)
        memcpy(last, c->at + byte, left - byte);
    return sf_load_u64le(last) >> at % 8;
}

static uint64_t ones(unsigned n)
{
    return n ? UINT64_MAX >> (64 - n) : 0;
}

/* Reads the bins; `low` becomes the number itself. The sum of the weights must be a power of
 * two. */
static bool read_bins(struct sf_cursor *c, struct bin *bins, uint32_t *out_n, uint64_t *out_divisor,
                      unsigned *out_log)
{
    uint64_t n = sf_cursor_varint(c), min = sf_cursor_varint(c), low = 0, sum = 0;
    *out_divisor = sf_cursor_varint(c);
    min = min >> 1 ^ (0 - (min & 1));
    if (c->is_bad || n == 0 || n > SF_BINS_MAX || *out_divisor == 0)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        low += sf_cursor_varint(c);
        bins[i] = (struct bin){.low = min + low * *out_divisor, .bits = sf_cursor_u8(c)};
        uint64_t weight = n > 1 ? sf_cursor_varint(c) : 1;
        if (bins[i].bits > 64 || weight == 0 || weight > STATES)
            return false;
        bins[i].weight = (uint16_t)weight;
        sum += weight;
    }
    *out_n = (uint32_t)n;
    *out_log = bins_bits_of(sum) - 1;
    return !c->is_bad && sum == UINT64_C(1) << *out_log &&
           (n == 1 || (*out_log >= SF_BINS_LOG_MIN && *out_log <= SF_BINS_LOG_MAX));
}

struct move { /* for each state: its bin, and the base of the next states */
    uint8_t bin, n_bits;
    uint16_t to;
};

static void fill_moves(const struct bin *bins, uint32_t n_bins, unsigned log, struct move *moves)
{
    uint16_t next[SF_BINS_MAX];
    uint8_t of_state[STATES];
    spread_states(bins, n_bins, log, of_state);
    for (uint32_t i = 0; i < n_bins; i++)
        next[i] = bins[i].weight;
    for (uint32_t i = 0; i < 1u << log; i++) {
        uint32_t x = next[of_state[i]]++;
        unsigned n_bits = log + 1 - bins_bits_of(x);
        moves[i] = (struct move){of_state[i], (uint8_t)n_bits,
                                 (uint16_t)((x << n_bits) - (1u << log))};
    }
}

bool sf_bins_decode(struct sf_cursor *c, int64_t *vals, uint32_t n)
{
    struct bin bins[SF_BINS_MAX];
    struct move moves[STATES] = {{0}};
    uint64_t at = 0, divisor, state = 0;
    uint32_t n_bins;
    unsigned log;
    if (n > SF_BINS_VALUES_MAX || !read_bins(c, bins, &n_bins, &divisor, &log))
        return false;
    if (n_bins > 1) {
        state = sf_cursor_varint(c);
        if (c->is_bad || state >> log)
            return false;
        fill_moves(bins, n_bins, log, moves);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint64_t word = next_bits(c, at), offset;
        const struct move *m = &moves[state];
        const struct bin *b = &bins[m->bin];
        unsigned low_bits = b->bits < 32 ? b->bits : 32;
        state = m->to + (word & ones(m->n_bits));
        offset = word >> m->n_bits & ones(low_bits);
        at += m->n_bits;
        if (b->bits > 32)
            offset |= (next_bits(c, at + 32) & ones(b->bits - 32u)) << 32;
        at += b->bits;
        vals[i] = (int64_t)(b->low + offset * divisor);
    }
    const uint8_t *taken = sf_cursor_take(c, (size_t)((at + 7) / 8));
    return taken && state == 0 && (at % 8 == 0 || taken[at / 8] >> at % 8 == 0);
}

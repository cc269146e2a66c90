/* profile_stacks_encode.c - encodes the stacks of a granule's rows and their ids: exactly what a
 * search for a function reads (docs/format-profile-block.md).
 *
 * The granule's list of nodes comes first, so that most searches end there. Rows refer to it by
 * index, in whole bytes and a few separate bits, which can be searched without decoding; or in bins
 * if there are few nodes or some are much more frequent than others, which saves a quarter. Threads
 * that serve requests in turns have short runs of rows of few spans: a span id is written once, and
 * then referred to by distance. */
#include <math.h>

#include "base/invariant.h"
#include "base/num.h"
#include "block/profile/profile_writer.h"

/* Indexes of the pending rows sorted by node, stable: radix sort with as many bytes as the largest
 * node has. */
static const uint16_t *sort_rows(struct sf_profile_block_writer *w)
{
    const struct sf_profile_detail *d = w->pending;
    uint16_t *from = w->by_stack[0], *to = w->by_stack[1];
    uint32_t largest = 0;
    for (uint32_t i = 0; i < w->n_pending; i++) {
        from[i] = (uint16_t)i;
        largest = d[i].node > largest ? d[i].node : largest;
    }
    for (unsigned shift = 0; shift < 32 && largest >> shift; shift += 8) {
        uint32_t at[257] = {0};
        uint16_t *other = from;
        for (uint32_t i = 0; i < w->n_pending; i++)
            at[(d[i].node >> shift & 255) + 1]++;
        for (unsigned i = 1; i < 257; i++)
            at[i] += at[i - 1];
        for (uint32_t i = 0; i < w->n_pending; i++)
            to[at[d[from[i]].node >> shift & 255]++] = from[i];
        from = to;
        to = other;
    }
    return from;
}

static uint8_t profile_stacks_encode_flags_of(const struct sf_profile_detail *d, uint32_t n)
{
    bool is_one_series = true, is_one_value = true, has_lent = false;
    for (uint32_t i = 0; i < n; i++) {
        is_one_series = is_one_series && d[i].series == d[0].series;
        is_one_value = is_one_value && d[i].value == d[0].value;
        has_lent = has_lent || d[i].is_lent;
    }
    return (uint8_t)((is_one_series ? SF_PROFILE_ONE_SERIES : 0) |
                     (is_one_value ? SF_PROFILE_ONE_VALUE : 0) |
                     (has_lent ? SF_PROFILE_ANY_LENT : 0));
}

/* Writes nodes as steps; `codes` gets the index of each row's node in the list. */
static uint32_t encode_nodes(struct sf_profile_block_writer *w, uint16_t *codes, struct sf_buf *out)
{
    const struct sf_profile_detail *d = w->pending;
    const uint16_t *order = sort_rows(w);
    struct sf_buf *steps = &w->steps;
    uint32_t n_nodes = 0, node = 0;
    sf_buf_reset(steps);
    for (uint32_t i = 0; i < w->n_pending; i++) {
        if (i == 0 || d[order[i]].node != node) {
            sf_buf_add_varint(steps, d[order[i]].node - node);
            node = d[order[i]].node;
            n_nodes++;
        }
        codes[order[i]] = (uint16_t)(n_nodes - 1);
    }
    sf_buf_add_varint(out, n_nodes);
    sf_buf_add(out, steps->p, steps->len);
    if (!sf_buf_ok(steps))
        out->err = SF_ERR_NOMEM;
    return n_nodes;
}

static void encode_codes(const uint16_t *codes, uint32_t n, uint32_t n_nodes, struct sf_buf *out)
{
    unsigned n_bits = sf_profile_high_bits(n_nodes), shift = 0;
    uint32_t byte = 0;
    for (uint32_t i = 0; i < n; i++)
        sf_buf_add_u8(out, (uint8_t)codes[i]);
    for (uint32_t i = 0; n_bits && i < n; i++) {
        byte |= (uint32_t)(codes[i] >> 8) << shift;
        shift += n_bits;
        if (shift == 8 || i + 1 == n) {
            sf_buf_add_u8(out, (uint8_t)byte);
            byte = shift = 0;
        }
    }
}

/* The first of the granule's series that is not below `series`. */
static uint32_t series_place(const struct sf_profile_block_writer *w, uint32_t n, uint32_t series)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (w->series[mid] < series)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Writes series as steps; w->column gets the index of each row's series, and w->groups its
 * group. */
static void profile_stacks_encode_series(struct sf_profile_block_writer *w, struct sf_buf *out)
{
    const struct sf_profile_detail *d = w->pending;
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->n_pending; i++) {
        uint32_t at = series_place(w, n, d[i].series);
        if (at < n && w->series[at] == d[i].series)
            continue;
        memmove(&w->series[at + 1], &w->series[at], (n - at) * sizeof(*w->series));
        w->series[at] = d[i].series;
        n++;
    }
    sf_buf_add_varint(out, n);
    for (uint32_t i = 0; i < n; i++)
        sf_buf_add_varint(out, w->series[i] - (i ? w->series[i - 1] : 0));
    for (uint32_t i = 0; i < w->n_pending; i++)
        w->column[i] = series_place(w, n, d[i].series);
    bool is_whole = sf_profile_groups_make(&w->groups, w->column, w->n_pending, n);
    SF_ASSERT(is_whole);
}

/* Can bins save a quarter of this many bytes? Estimated by the entropy of the codes. */
static bool is_worth_bins(const uint16_t *codes, uint32_t n, uint32_t n_nodes, size_t plain)
{
    uint16_t counts[SF_PROFILE_GRANULE_ROWS] = {0};
    float bits = (float)n * log2f((float)n);
    for (uint32_t i = 0; i < n; i++)
        counts[codes[i]]++;
    for (uint32_t i = 0; i < n_nodes; i++)
        bits -= (float)counts[i] * log2f((float)counts[i]);
    return bits / 8 < (float)(plain - plain / 4);
}

/* Uses bins if that saves a quarter: waits have few distinct stacks, samples have many. */
static bool encode_binned(struct sf_profile_block_writer *w, const uint16_t *codes,
                          uint32_t n_nodes)
{
    size_t plain = w->n_pending + (w->n_pending * sf_profile_high_bits(n_nodes) + 7u) / 8u;
    if (!is_worth_bins(codes, w->n_pending, n_nodes, plain))
        return false;
    for (uint32_t i = 0; i < w->n_pending; i++)
        w->picked[i] = codes[i];
    sf_buf_reset(&w->steps);
    sf_bins_encode(&w->steps, w->picked, w->n_pending, &w->bins);
    return w->steps.len < plain - plain / 4;
}

void sf_profile_stacks_encode(struct sf_profile_block_writer *w, struct sf_buf *out)
{
    const struct sf_profile_detail *d = w->pending;
    uint16_t *codes = w->groups.codes;
    uint32_t n = w->n_pending;
    uint8_t flags = profile_stacks_encode_flags_of(d, n);
    size_t at = out->len;
    sf_buf_add_u8(out, flags);
    sf_profile_groups_one(&w->groups, n);
    if (flags & SF_PROFILE_ONE_SERIES)
        sf_buf_add_varint(out, d[0].series);
    else
        profile_stacks_encode_series(w, out);
    if (flags & SF_PROFILE_ONE_VALUE)
        sf_profile_put_signed(out, d[0].value);
    uint32_t n_nodes = encode_nodes(w, codes, out);
    if (encode_binned(w, codes, n_nodes)) {
        if (sf_buf_ok(out))
            out->p[at] |= SF_PROFILE_BINNED_CODES;
        sf_buf_add(out, w->steps.p, w->steps.len);
    } else
        encode_codes(codes, n, n_nodes, out);
    if (!sf_buf_ok(&w->steps))
        out->err = SF_ERR_NOMEM;
    if (!(flags & SF_PROFILE_ONE_SERIES))
        sf_bins_encode(out, w->column, n, &w->bins);
    if (flags & SF_PROFILE_ONE_VALUE)
        return;
    for (uint32_t i = 0; i < n; i++)
        w->column[i] = d[i].value;
    for (uint32_t group = 0; group < w->groups.n; group++)
        sf_profile_writer_bins(w, group, out);
}

/* ---- ids ---- */

static uint64_t profile_stacks_encode_hash_ids(const struct sf_profile_detail *d)
{
    return sf_key_mix(sf_key_u64(d->span_id), sf_trace_id_key(d->trace_id, 0));
}

/* The index of the row's ids in the granule's list; new ones are added. Not an sf_table: 16 KiB of
 * two-byte slots, at most half full, are cleared for each granule. */
static uint32_t profile_stacks_encode_place_of(struct sf_profile_block_writer *w, uint32_t row,
                                               uint32_t *io_n)
{
    enum { MASK = 2 * SF_PROFILE_GRANULE_ROWS - 1 };
    const struct sf_profile_detail *d = w->pending;
    uint32_t at = (uint32_t)(profile_stacks_encode_hash_ids(&d[row]) & MASK);
    for (; w->id_slots[at]; at = (at + 1) & MASK) {
        uint32_t place = w->id_slots[at] - 1u;
        const struct sf_profile_detail *first = &d[w->id_rows[place]];
        if (first->span_id == d[row].span_id && sf_trace_id_eq(first->trace_id, d[row].trace_id))
            return place;
    }
    w->id_rows[*io_n] = row;
    w->id_slots[at] = (uint16_t)(*io_n + 1);
    return (*io_n)++;
}

/* Writes a run: the number of rows, and their ids: 0 the next of the list, k the k-th before that.
 * In one byte (three and five bits) if both fit; otherwise with varints. */
static void put_run(struct sf_buf *out, uint32_t n, uint32_t back)
{
    bool is_long = n > SF_PROFILE_RUN_ROWS, is_far = back >= SF_PROFILE_RUN_BACK;
    sf_buf_add_u8(out, (uint8_t)((is_long ? 0 : n) << 5 | (is_far ? SF_PROFILE_RUN_BACK : back)));
    if (is_long)
        sf_buf_add_varint(out, n);
    if (is_far)
        sf_buf_add_varint(out, back);
}

static uint32_t encode_runs(struct sf_profile_block_writer *w, struct sf_buf *out)
{
    const struct sf_profile_detail *d = w->pending;
    uint32_t n_ids = 0;
    memset(w->id_slots, 0, sizeof(w->id_slots));
    for (uint32_t i = 0, k; i < w->n_pending; i = k) {
        uint32_t n_before = n_ids, place = profile_stacks_encode_place_of(w, i, &n_ids);
        for (k = i + 1; k < w->n_pending && d[k].span_id == d[i].span_id &&
                        sf_trace_id_eq(d[k].trace_id, d[i].trace_id);
             k++) {
            /* rows of one span */
        }
        put_run(out, k - i, place == n_before ? 0 : n_before - place);
    }
    return n_ids;
}

/* Writes the trace of each entry of the list: 0 and the id, or k for the k-th last of those written
 * so. */
static void encode_traces(const struct sf_profile_block_writer *w, uint32_t n, struct sf_buf *out)
{
    enum { LOOK_BACK = 16 };
    sf_trace_id given[LOOK_BACK];
    uint32_t n_given = 0;
    for (uint32_t i = 0; i < n; i++) {
        sf_trace_id id = w->pending[w->id_rows[i]].trace_id;
        uint32_t back = 1;
        while (back <= n_given && back <= LOOK_BACK &&
               !sf_trace_id_eq(given[(n_given - back) % LOOK_BACK], id))
            back++;
        bool is_given = back <= n_given && back <= LOOK_BACK;
        sf_buf_add_u8(out, is_given ? (uint8_t)back : 0);
        if (is_given)
            continue;
        sf_buf_add(out, id.b, 16);
        given[n_given++ % LOOK_BACK] = id;
    }
}

void sf_profile_stacks_encode_ids(struct sf_profile_block_writer *w, struct sf_buf *out)
{
    struct sf_buf *runs = &w->runs;
    sf_buf_reset(runs);
    uint32_t n = encode_runs(w, runs);
    sf_buf_add_varint(out, n);
    for (uint32_t i = 0; i < n; i++)
        sf_buf_add_u64le(out, w->pending[w->id_rows[i]].span_id);
    sf_buf_add(out, runs->p, runs->len);
    encode_traces(w, n, out);
    if (!sf_buf_ok(runs))
        out->err = SF_ERR_NOMEM;
}

/* bins.h - encodes numbers by their distribution: used for times and values of detail rows.
 *
 * Numbers such as lengths of waits or gaps between samples have unpredictable low bits but a
 * distribution with a shape. They are divided into bins; for each number its bin is coded, in fewer
 * bits for bins with more numbers, and its offset in the bin is written as plain bits. No general
 * compressor is needed afterwards, and none would find more.
 *
 *   bins varint (1-64), min (signed varint), divisor varint
 *   of each bin, increasing: its lowest number minus that of the bin before (varint, the first
 *     from 0), bits of offsets u8 (0-64), and its states (varint, at least 1) when there is more
 *     than one bin
 *   first state (varint), when there is more than one bin
 *   of each number the bits of its move, then the offset; lowest bits of bytes first, the rest 0
 *
 * A number is min + (lowest of its bin + offset) * divisor, mod 2^64.
 *
 * States: there are 2^log, 5 <= log <= 10, in all. Beginning with bin 0 each bin takes its states,
 * the first 0, each next one 2^(log-1) + 2^(log-3) + 3 further, mod 2^log. The states of a bin with
 * w of them have, in increasing order, x = w, w + 1, ... 2 w - 1. A state determines its bin; its
 * move consists of the k bits with 2^log <= x 2^k < 2^(log+1), and the next state is x 2^k - 2^log
 * plus these bits. The last state is 0. */
#pragma once
#include "base/buf.h"
#include "block/format/cursor.h"

enum { SF_BINS_MAX = 64, SF_BINS_LOG_MIN = 5, SF_BINS_LOG_MAX = 10, SF_BINS_VALUES_MAX = 4096 };

/* Working memory of the encoder, owned by the caller, zeroed once. */
struct sf_bins_work {
    float logs[SF_BINS_VALUES_MAX + 1]; /* n log2 n; filled if the last entry is 0 */
    uint64_t q[SF_BINS_VALUES_MAX], sorted[2][SF_BINS_VALUES_MAX];
    uint16_t moves[SF_BINS_VALUES_MAX];
    uint8_t n_moves[SF_BINS_VALUES_MAX], of[SF_BINS_VALUES_MAX];
};

/* Appends n numbers, 1 to SF_BINS_VALUES_MAX. */
void sf_bins_encode(struct sf_buf *out, const int64_t *vals, uint32_t n, struct sf_bins_work *w);
/* Reads n numbers; false: damaged, and `vals` is undefined. */
bool sf_bins_decode(struct sf_cursor *c, int64_t *vals, uint32_t n);

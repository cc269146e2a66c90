/* ids.h - ids of traces, spans and profiles. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/key.h"
#include "base/num.h"

typedef struct sf_trace_id {
    uint8_t b[16];
} sf_trace_id;

/* A span id is its eight bytes read big-endian, so that numeric and hex order agree; 0 is "none".
 */
typedef uint64_t sf_span_id;

/* A profile's id: series hash64, then time64 (or the sender's UUID unchanged). */
typedef struct sf_profile_id {
    uint8_t b[16];
} sf_profile_id;

static inline bool sf_trace_id_eq(sf_trace_id a, sf_trace_id b)
{
    return memcmp(a.b, b.b, sizeof(a.b)) == 0;
}
static inline int sf_trace_id_cmp(sf_trace_id a, sf_trace_id b)
{
    return memcmp(a.b, b.b, sizeof(a.b));
}
/* Hash for tables in memory. */
static inline uint64_t sf_trace_id_key(sf_trace_id id, uint32_t tenant)
{
    return sf_key_mix(sf_key_u64(sf_load_u64le(id.b)) + tenant, sf_load_u64le(id.b + 8));
}
bool sf_trace_id_is_zero(sf_trace_id id);
uint64_t sf_trace_id_hash(sf_trace_id id, uint32_t tenant); /* used by all filters and indexes */

/* Hex of either case, at most 32 digits, left-padded with zeros; an odd length gets a leading 0.
 * False when empty, longer or not hex. */
bool sf_trace_id_parse(sf_str hex, sf_trace_id *out);
void sf_trace_id_render(sf_trace_id id, char out[33]); /* 32 digits and a terminator */
/* The same for span ids, at most 16 digits. */
bool sf_span_id_parse(sf_str hex, sf_span_id *out);
void sf_span_id_render(sf_span_id id, char out[17]);

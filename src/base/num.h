/* num.h - checked arithmetic, checked narrowing, and stored integers (little-endian, unaligned). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/invariant.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Spanflame runs on little-endian machines (x86_64, aarch64)"
#endif

static inline bool sf_add_size(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}
static inline bool sf_mul_size(size_t n, size_t size, size_t *out)
{
    return !__builtin_mul_overflow(n, size, out);
}
static inline int64_t sf_add_sat_i64(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return a < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}
static inline int64_t sf_sub_sat_i64(int64_t a, int64_t b)
{
    int64_t difference;
    if (__builtin_sub_overflow(a, b, &difference))
        return a < 0 ? INT64_MIN : INT64_MAX;
    return difference;
}
static inline int64_t sf_mul_sat_i64(int64_t a, int64_t b)
{
    int64_t product;
    if (__builtin_mul_overflow(a, b, &product))
        return (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
    return product;
}
static inline uint64_t sf_add_sat_u64(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}
/* Moves a time; saturates at the first and the last representable time. */
static inline uint64_t sf_shift_sat_u64(uint64_t at, int64_t by)
{
    uint64_t back = 0 - (uint64_t)by;
    if (by >= 0)
        return sf_add_sat_u64(at, (uint64_t)by);
    return at > back ? at - back : 0;
}

/* Narrows values whose bounds were checked before; a value that does not fit is a bug. */
static inline uint32_t sf_u32(uint64_t v)
{
    SF_ASSERT(v <= UINT32_MAX);
    return (uint32_t)v;
}
static inline uint16_t sf_u16(uint64_t v)
{
    SF_ASSERT(v <= UINT16_MAX);
    return (uint16_t)v;
}
static inline uint8_t sf_u8(uint64_t v)
{
    SF_ASSERT(v <= UINT8_MAX);
    return (uint8_t)v;
}
static inline int sf_int(uint64_t v)
{
    SF_ASSERT(v <= INT32_MAX);
    return (int)v;
}

static inline uint16_t sf_load_u16le(const void *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}
static inline uint32_t sf_load_u32le(const void *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}
static inline uint64_t sf_load_u64le(const void *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}
static inline uint64_t sf_load_u64be(const void *p)
{
    return __builtin_bswap64(sf_load_u64le(p));
}
static inline uint32_t sf_load_u32be(const void *p)
{
    return __builtin_bswap32(sf_load_u32le(p));
}
static inline void sf_store_u16le(void *p, uint16_t v)
{
    memcpy(p, &v, sizeof(v));
}
static inline void sf_store_u32le(void *p, uint32_t v)
{
    memcpy(p, &v, sizeof(v));
}
static inline void sf_store_u64le(void *p, uint64_t v)
{
    memcpy(p, &v, sizeof(v));
}
static inline void sf_store_u64be(void *p, uint64_t v)
{
    sf_store_u64le(p, __builtin_bswap64(v));
}
static inline void sf_store_u32be(void *p, uint32_t v)
{
    sf_store_u32le(p, __builtin_bswap32(v));
}

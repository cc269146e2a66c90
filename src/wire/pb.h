/* pb.h - a bounded cursor over protobuf bytes; it knows the encoding, not the meaning of fields.
 *
 *     while (sf_pb_next(pb)) {
 *         switch (pb->tag) {
 *         case SF_PB_TAG(1, SF_PB_I64): ev->time_ns = sf_pb_fixed64(pb); break;
 *         default: sf_pb_skip(pb); break;
 *         }
 *     }
 *     return sf_pb_ok(pb);
 *
 * After every step exactly one value is read or skipped. The first error is kept, with its byte
 * offset in the whole body; later steps end the loop and later reads return zero. A known field
 * with an unexpected wire type is not an error: switching over `tag` skips it, and a read function
 * for another type skips it and returns zero. Groups are refused: none of the messages read here
 * has any. Strings and bytes are views into the body. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/num.h"
#include "base/str.h"

enum sf_pb_wire { SF_PB_VARINT = 0, SF_PB_I64 = 1, SF_PB_LEN = 2, SF_PB_I32 = 5 };

#define SF_PB_TAG(number, wire) ((uint32_t)(number) << 3 | (uint32_t)(wire))

struct sf_pb {
    const uint8_t *at, *end;
    const uint8_t *body; /* base of offsets, also in nested messages */
    uint32_t tag;        /* of the current value: field << 3 | wire type */
    uint32_t field;
    size_t fault_off;
    const char *fault; /* NULL: no error; otherwise a constant text */
};

static inline struct sf_pb sf_pb_init(sf_bytes body)
{
    const uint8_t *p = body.p ? body.p : (const uint8_t *)"";
    return (struct sf_pb){.at = p, .end = p + body.len, .body = p};
}
/* A part of `body`, with offsets counted from the start of `body`. */
struct sf_pb sf_pb_part(sf_bytes body, sf_bytes part);

static inline bool sf_pb_ok(const struct sf_pb *pb)
{
    return !pb->fault;
}
/* INPUT with "`what`: <fault> at byte N"; SF_OK if there was no error. */
enum sf_err sf_pb_why(const struct sf_pb *pb, const char *what, struct sf_why *why);
/* Reports a semantic error (depth, count) at the current value; the first one is kept. */
void sf_pb_fault(struct sf_pb *pb, const uint8_t *at, const char *fault);

/* Inline because a span has about a hundred of them. */
uint64_t sf_pb_raw_varint_slow(struct sf_pb *pb);
static inline uint64_t sf_pb_raw_varint(struct sf_pb *pb)
{
    const uint8_t *at = pb->at;
    if (__builtin_expect(at < pb->end && *at < 0x80, 1)) {
        pb->at++;
        return *at;
    }
    if (pb->end - at >= 2 && at[1] < 0x80) { /* typical for indexes into a profile's tables */
        pb->at += 2;
        return (uint64_t)(at[0] & 0x7f) | (uint64_t)at[1] << 7;
    }
    return sf_pb_raw_varint_slow(pb);
}

bool sf_pb_bad_tag(struct sf_pb *pb, const uint8_t *tag_at, uint64_t tag);
static inline bool sf_pb_next(struct sf_pb *pb)
{
    const uint8_t *tag_at = pb->at;
    uint64_t tag;
    if (pb->at == pb->end) /* also after an error, which moves `at` to the end */
        return false;
    tag = sf_pb_raw_varint(pb);
    pb->tag = (uint32_t)tag;
    pb->field = (uint32_t)tag >> 3;
    /* 0x27: wire types 0, 1, 2 and 5 */
    if (__builtin_expect(tag < 8 || tag > UINT32_MAX || !(0x27u >> (tag & 7) & 1), 0))
        return sf_pb_bad_tag(pb, tag_at, tag);
    return true;
}

void sf_pb_skip(struct sf_pb *pb);

void sf_pb_bad_len(struct sf_pb *pb, const uint8_t *len_at);
static inline sf_bytes sf_pb_bytes(struct sf_pb *pb)
{
    const uint8_t *len_at = pb->at;
    uint64_t len;
    sf_bytes out;
    if (__builtin_expect((pb->tag & 7) != SF_PB_LEN, 0)) {
        sf_pb_skip(pb);
        return (sf_bytes){pb->end, 0};
    }
    len = sf_pb_raw_varint(pb);
    if (__builtin_expect(len > (size_t)(pb->end - pb->at), 0)) {
        sf_pb_bad_len(pb, len_at);
        return (sf_bytes){pb->end, 0};
    }
    out = (sf_bytes){pb->at, (size_t)len};
    pb->at += len;
    return out;
}
static inline sf_str sf_pb_str(struct sf_pb *pb)
{
    return sf_bytes_str(sf_pb_bytes(pb));
}
/* The current message as a separate cursor; the parent continues after it. At the end sf_pb_join
 * copies the child's error to the parent. */
static inline struct sf_pb sf_pb_msg(struct sf_pb *pb)
{
    sf_bytes content = sf_pb_bytes(pb);
    return (struct sf_pb){
        .at = content.p, .end = content.p + content.len, .body = pb->body, .fault = pb->fault};
}
static inline bool sf_pb_join(struct sf_pb *pb, const struct sf_pb *child)
{
    if (__builtin_expect(child->fault != NULL, 0) && !pb->fault) {
        pb->fault = child->fault;
        pb->fault_off = child->fault_off;
        pb->at = pb->end;
    }
    return !pb->fault;
}

static inline uint64_t sf_pb_u64(struct sf_pb *pb)
{
    if (__builtin_expect((pb->tag & 7) != SF_PB_VARINT, 0)) {
        sf_pb_skip(pb);
        return 0;
    }
    return sf_pb_raw_varint(pb);
}
static inline int64_t sf_pb_i64(struct sf_pb *pb)
{
    return (int64_t)sf_pb_u64(pb);
}
static inline uint32_t sf_pb_u32(struct sf_pb *pb) /* the low half, as other protobuf libraries
                                                    * do */
{
    return (uint32_t)sf_pb_u64(pb);
}
static inline int32_t sf_pb_i32(struct sf_pb *pb)
{
    return (int32_t)sf_pb_u32(pb);
}
static inline bool sf_pb_bool(struct sf_pb *pb)
{
    return sf_pb_u64(pb) != 0;
}
uint64_t sf_pb_fixed64(struct sf_pb *pb);
uint32_t sf_pb_fixed32(struct sf_pb *pb);
double sf_pb_double(struct sf_pb *pb);

/* Repeated scalars may be packed or have a tag each, or both: for every occurrence,
 *     struct sf_pb run = sf_pb_run(pb);
 *     while (sf_pb_run_varint(&run, &v)) ...
 *     sf_pb_join(pb, &run); */
struct sf_pb sf_pb_run(struct sf_pb *pb);
static inline bool sf_pb_run_varint(struct sf_pb *run, uint64_t *out)
{
    if (run->at == run->end)
        return false;
    *out = sf_pb_raw_varint(run);
    return !run->fault;
}
bool sf_pb_run_fixed64(struct sf_pb *run, uint64_t *out);

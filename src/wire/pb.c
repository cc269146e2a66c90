#include "wire/pb.h"

struct sf_pb sf_pb_part(sf_bytes body, sf_bytes part)
{
    SF_ASSERT(part.len == 0 || (part.p >= body.p && part.p + part.len <= body.p + body.len));
    if (!part.p)
        return sf_pb_init(part);
    return (struct sf_pb){.at = part.p, .end = part.p + part.len, .body = body.p};
}

enum sf_err sf_pb_why(const struct sf_pb *pb, const char *what, struct sf_why *why)
{
    if (!pb->fault)
        return SF_OK;
    return sf_fail(why, SF_ERR_INPUT, "%s: %s at byte %zu", what, pb->fault, pb->fault_off);
}

void sf_pb_fault(struct sf_pb *pb, const uint8_t *at, const char *fault)
{
    if (!pb->fault) {
        pb->fault = fault;
        pb->fault_off = at ? (size_t)(at - pb->body) : 0;
    }
    pb->at = pb->end;
}

/* Padding is valid (a writer may reserve five bytes for a length); an eleventh byte, or bits beyond
 * the 64th, are not. */
uint64_t sf_pb_raw_varint_slow(struct sf_pb *pb)
{
    const uint8_t *start = pb->at;
    size_t left = (size_t)(pb->end - pb->at);
    uint64_t v = 0;

    if (pb->fault)
        return 0;
    for (size_t i = 0; i < 10; i++) {
        uint8_t byte;
        if (i == left) {
            sf_pb_fault(pb, start, "a number is cut off");
            return 0;
        }
        byte = start[i];
        if (i == 9 && byte > 1)
            break;
        v |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            pb->at = start + i + 1;
            return v;
        }
    }
    sf_pb_fault(pb, start, "a number is longer than 64 bits");
    return 0;
}

bool sf_pb_bad_tag(struct sf_pb *pb, const uint8_t *tag_at, uint64_t tag)
{
    if (tag > UINT32_MAX)
        sf_pb_fault(pb, tag_at, "a field number is too large");
    else if (tag < 8)
        sf_pb_fault(pb, tag_at, "field number 0");
    else if ((tag & 7) == 3 || (tag & 7) == 4)
        sf_pb_fault(pb, tag_at, "a group, which no message of this kind has");
    else
        sf_pb_fault(pb, tag_at, "an unknown wire type");
    return false;
}

void sf_pb_bad_len(struct sf_pb *pb, const uint8_t *len_at)
{
    sf_pb_fault(pb, len_at, "a length runs past the end of its message");
}

static const uint8_t *take_fixed(struct sf_pb *pb, size_t len)
{
    const uint8_t *p = pb->at;
    if (len > (size_t)(pb->end - pb->at)) {
        sf_pb_fault(pb, p, "a number is cut off");
        return NULL;
    }
    pb->at += len;
    return p;
}

void sf_pb_skip(struct sf_pb *pb)
{
    switch (pb->tag & 7) {
    case SF_PB_VARINT: sf_pb_raw_varint(pb); break;
    case SF_PB_I64: take_fixed(pb, 8); break;
    case SF_PB_LEN: sf_pb_bytes(pb); break;
    default: take_fixed(pb, 4); break; /* only I32 is possible here */
    }
}

uint64_t sf_pb_fixed64(struct sf_pb *pb)
{
    const uint8_t *p;
    if ((pb->tag & 7) != SF_PB_I64) {
        sf_pb_skip(pb);
        return 0;
    }
    p = take_fixed(pb, 8);
    return p ? sf_load_u64le(p) : 0;
}

uint32_t sf_pb_fixed32(struct sf_pb *pb)
{
    const uint8_t *p;
    if ((pb->tag & 7) != SF_PB_I32) {
        sf_pb_skip(pb);
        return 0;
    }
    p = take_fixed(pb, 4);
    return p ? sf_load_u32le(p) : 0;
}

double sf_pb_double(struct sf_pb *pb)
{
    uint64_t bits = sf_pb_fixed64(pb);
    double v;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

struct sf_pb sf_pb_run(struct sf_pb *pb)
{
    struct sf_pb run;
    if ((pb->tag & 7) == SF_PB_LEN)
        return sf_pb_msg(pb);
    run = *pb;
    sf_pb_skip(pb);
    run.end = pb->fault ? run.at : pb->at; /* the one element's bytes */
    run.fault = pb->fault;
    return run;
}

bool sf_pb_run_fixed64(struct sf_pb *run, uint64_t *out)
{
    const uint8_t *p;
    if (run->at == run->end)
        return false;
    p = take_fixed(run, 8);
    if (!p)
        return false;
    *out = sf_load_u64le(p);
    return true;
}

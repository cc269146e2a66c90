/* encoding.h - encodes lists of strings or numbers as bytes, and decodes them. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"

enum sf_encoding { /* byte in a chunk's descriptor; numbers are part of the format */
                   SF_ENC_FIX8 = 0, /* eight bytes each */
                   SF_ENC_FIX16 = 1,
                   SF_ENC_PLANES = 2, /* planes.h */
                   SF_ENC_CODE8 = 3,  /* byte planes of codes; a dictionary chunk may follow */
                   SF_ENC_CODE16 = 4,
                   SF_ENC_CODE32 = 5,
                   SF_ENC_STR = 6,    /* lengths as planes, then all bytes */
                   SF_ENC_UUID = 7,   /* text in lower case, 16 bytes each */
                   SF_ENC_HEX = 8,    /* digits u16, then digits / 2 bytes each; lower case */
                   SF_ENC_IPV4 = 9,   /* planes of the address as a number */
                   SF_ENC_DEC = 10,   /* digits u8 (0: no leading zeros), prefix u16, planes */
                   SF_ENC_CONST = 11, /* one value for all: eight bytes, or a string's bytes */
                   SF_ENC_BITS = 12,  /* one bit each, lowest first */
                   SF_ENC_F64 = 13,   /* bits xor those before, eight planes */
                   SF_ENC_SHAPE = 14, /* planes of lengths, planes of all keys */
                   SF_ENCODINGS
};

const char *sf_encoding_name(uint8_t enc);

struct sf_str_list { /* contiguous strings; with `order`, string i is entry order[i] */
    const uint8_t *bytes;
    const uint32_t *ends;
    const uint32_t *order;
    uint32_t n;
};

/* Appends the list in the most compact form that fits all strings: UUID, IPV4, DEC, HEX or else
 * STR, and returns which. `scratch` is any buffer; its content is lost. A lack of memory is set in
 * out or scratch. */
uint8_t sf_encoding_strings_encode(struct sf_buf *out, const struct sf_str_list *list,
                                   struct sf_buf *scratch);
/* Decodes n strings into `out`; they may borrow from `raw`. CORRUPT or LIMIT (arena). */
enum sf_err sf_encoding_strings_decode(uint8_t enc, sf_bytes raw, uint32_t n, struct sf_arena *req,
                                       sf_str *out);

/* May `text` be one of the n strings? Searched in the encoded form, which is much faster than
 * decoding. True wrongly only for STR, if the bytes of `text` occur otherwise, for HEX and UUID
 * likewise, and for lists that cannot be decoded. */
bool sf_encoding_strings_may_have(uint8_t enc, sf_bytes raw, uint32_t n, sf_str text);
/* May one of them contain `part`? Only STR is searched; the others are true. */
bool sf_encoding_strings_may_contain(uint8_t enc, sf_bytes raw, uint32_t n, sf_str part);

void sf_encoding_f64_encode(struct sf_buf *out, const uint64_t *bits, uint32_t n);
void sf_encoding_bits_encode(struct sf_buf *out, const uint64_t *vals, uint32_t n);
/* CONST, PLANES, F64 or BITS: n numbers. False: not valid. */
bool sf_encoding_numbers_decode(uint8_t enc, sf_bytes raw, uint32_t n, uint64_t *out);

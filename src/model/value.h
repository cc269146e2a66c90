/* value.h - an attribute: a key and a typed value.
 *
 * Arrays and key-value lists stay in their OTLP protobuf form (the content of an ArrayValue or
 * KeyValueList message, checked for bounds and depth when decoded), so that a value of any shape
 * is one view and round-trips exactly. model/value_list.h steps through them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum sf_value_type {
    SF_VALUE_NONE = 0, /* no such attribute; never stored */
    SF_VALUE_EMPTY,    /* present without a value, which OTLP allows */
    SF_VALUE_STR,      /* UTF-8, or any bytes that the sender declared as a string */
    SF_VALUE_BOOL,
    SF_VALUE_INT,
    SF_VALUE_DOUBLE,
    SF_VALUE_BYTES,
    SF_VALUE_ARRAY,  /* .str is the content of an ArrayValue message */
    SF_VALUE_KVLIST, /* .str is the content of a KeyValueList message */
    SF_VALUE_TYPES
};

struct sf_value {
    enum sf_value_type type;
    union {
        sf_str str; /* STR, BYTES, ARRAY, KVLIST; borrowed from the owner of the value */
        bool is_true;
        int64_t i64;
        double f64;
    };
};

struct sf_attr {
    sf_str key;
    struct sf_value val;
};

struct sf_attrs { /* a borrowed list, in the sender's order; keys may repeat: the last one is
                   * used */
    const struct sf_attr *list;
    uint32_t n;
};

/* Same type and same content; doubles are compared by bits, so NaN equals itself and 0.0 differs
 * from -0.0. */
bool sf_value_eq(struct sf_value a, struct sf_value b);
/* For tables: equal values have equal hashes. */
uint64_t sf_value_hash(struct sf_value v);
/* An order of all values: by type, then by value; 0 means equal. */
int sf_value_cmp(struct sf_value a, struct sf_value b);
/* The value of `key`, or one of type NONE. */
struct sf_value sf_attrs_get(struct sf_attrs attrs, sf_str key);
/* The string under `key`, or empty when it is missing or of another type. */
sf_str sf_attrs_str(struct sf_attrs attrs, sf_str key);

/* tags.h - names and values of attributes, for completion. */
#pragma once
#include "model/select.h"

enum sf_tag_type {
    SF_TAG_STRING, /* the only type that a query puts in quotes */
    SF_TAG_INT,
    SF_TAG_FLOAT,
    SF_TAG_BOOL,
    SF_TAG_DURATION,
    SF_TAG_KEYWORD, /* error, server */
    SF_TAG_TYPES
};

struct sf_tag_value { /* or a name, which is a STRING */
    enum sf_tag_type type;
    sf_str text;
    uint64_t n; /* number of spans with it; copies of a span may be counted */
};

struct sf_tag_scope {
    enum sf_attr_scope scope;
    const struct sf_tag_value *names; /* sorted by name */
    uint32_t n_names;
};

struct sf_tags_result {
    struct sf_tag_scope scopes[SF_SCOPES]; /* for names; only scopes that have any */
    uint32_t n_scopes;
    const struct sf_tag_value *values; /* of one attribute, the most frequent first */
    uint32_t n_values;
    bool is_partial; /* a limit was hit: `note` says which */
    sf_str note;
    uint64_t read_len, n_blocks;
};

/* value_list.h - iterates over the values inside an ARRAY or KVLIST.
 *
 * Such a value is one view of protobuf bytes (see value.h). Decoders check it once with
 * sf_value_list_check; iteration is bounded anyway and ends early on invalid bytes. Of a repeated
 * member of an element the last one is used. */
#pragma once
#include "model/value.h"

struct sf_value_list {
    const uint8_t *at, *end;
    bool is_kvlist;
};

/* A value of another type is an empty list. */
struct sf_value_list sf_value_list_init(struct sf_value val);
/* The next element: its value, and its key in a KVLIST (empty in an ARRAY). Views into the list. */
bool sf_value_list_next(struct sf_value_list *list, struct sf_attr *out);

/* The one error that does not mean damage: the value is nested too deep. */
extern const char sf_value_list_too_deep[];
/* Whether `content` is valid for a value of `type`: well-formed, at most SF_LIMIT_NESTING lists
 * deep. If not, *out_off is the position of the error and *out_fault a constant text. */
bool sf_value_list_check(enum sf_value_type type, sf_str content, size_t *out_off,
                         const char **out_fault);
/* The longest prefix of checked `content` of at most `max` bytes that contains only whole
 * elements. */
sf_str sf_value_list_cut(sf_str content, size_t max);

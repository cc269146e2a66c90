/* value_list.h - step through the values inside an ARRAY or KVLIST.
 *
 * Such a value is one view of protobuf bytes (see value.h). Decoders check it once with
 * sf_value_list_check; stepping is bounded anyway and ends early on bytes that never were checked.
 * A member that one element carries twice counts with its last form. */
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

/* The fault that is not a damage: the value is only deeper than we take. */
extern const char sf_value_list_too_deep[];
/* Is `content` what a value of `type` may hold: well-formed, at most SF_LIMIT_NESTING lists deep?
 * If not, *out_off is where it is not and *out_fault a literal that says why. */
bool sf_value_list_check(enum sf_value_type type, sf_str content, size_t *out_off,
                         const char **out_fault);
/* The longest prefix of checked `content` that is at most `max` bytes and cuts no element. */
sf_str sf_value_list_cut(sf_str content, size_t max);

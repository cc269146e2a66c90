/* json_shape.h - the keys at the top of a JSON text, read once: they distinguish the JSON formats,
 * and error messages name them when the format is unknown. Private to this module. */
#pragma once
#include "base/str.h"

enum { SF_JSON_SHAPE_KEYS = 64 };

struct sf_json_shape {
    struct {
        sf_str
            outer; /* "" at the top, "[]" in the first elements of an array, else the key above */
        sf_str key;
    } keys[SF_JSON_SHAPE_KEYS];
    uint32_t n;
    bool is_array;
    bool is_cut; /* the text ends too early */
    sf_str text;
    const char *fault; /* NULL: no error in the part that was read */
    size_t fault_off;
};

/* False: it does not begin like JSON. */
bool sf_json_shape_read(struct sf_json_shape *s, sf_str text);
/* `outer` as above. */
bool sf_json_shape_has(const struct sf_json_shape *s, const char *outer, const char *key);

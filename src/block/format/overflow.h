/* overflow.h - attributes with keys beyond the limit of keys that have their own dictionary or
 * column: type, name and value encoded as one text. */
#pragma once
#include "base/buf.h"
#include "model/value.h"

/* Replaces the content of `to`. */
void sf_overflow_pack(struct sf_buf *to, const struct sf_attr *a);
bool sf_overflow_unpack(sf_str text, struct sf_attr *out); /* false: not such a text */

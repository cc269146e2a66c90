/* overflow.h - attributes of keys that came when there were too many to have a dictionary or column
 * of their own: type, name and value as one text. */
#pragma once
#include "base/buf.h"
#include "model/value.h"

void sf_overflow_pack(struct sf_buf *to, const struct sf_attr *a); /* instead of what is there */
bool sf_overflow_unpack(sf_str text, struct sf_attr *out);         /* false: no such text */

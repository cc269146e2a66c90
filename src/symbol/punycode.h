/* punycode.h - RFC 3492 as used by Rust: ASCII first, then "_", then the positions of other
 * characters. */
#pragma once
#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

/* Appends UTF-8. False: not punycode, or too long; `out` may have grown. */
bool sf_punycode_print(sf_str text, struct sf_buf *out);

/* punycode.h - RFC 3492 as Rust uses it: ASCII first, then "_", then where the others go. */
#pragma once
#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

/* Appends UTF-8. False: not punycode, or longer than a name is; `out` may have grown. */
bool sf_punycode_print(sf_str text, struct sf_buf *out);

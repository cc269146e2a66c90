/* rust_name.h - Rust's mangled names, both kinds, printed while they are read. Bounded in depth,
 * work and length; false leaves `out` as it was. */
#pragma once
#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

bool sf_rust_name_print(sf_str mangled, struct sf_buf *out);        /* _R... */
bool sf_rust_legacy_name_print(sf_str mangled, struct sf_buf *out); /* _ZN...17h<hash>E */

/* rust_name.h - Rust's mangled names of both kinds, printed while they are parsed. Depth, work and
 * length are limited; on false `out` is unchanged. */
#pragma once
#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

bool sf_rust_name_print(sf_str mangled, struct sf_buf *out);        /* _R... */
bool sf_rust_legacy_name_print(sf_str mangled, struct sf_buf *out); /* _ZN...17h<hash>E */

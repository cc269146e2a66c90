/* demangler.h - demangles the names of functions: Itanium C++ (_Z...), Rust legacy
 * (_ZN...17h<hash>E) and Rust v0 (_R...).
 *
 * Names are not trusted: tree, depth, work and length are limited, and a name that does not parse
 * to its end is treated as not mangled. Only the one workspace is allocated. */
#pragma once
#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

enum { SF_DEMANGLE_MAX_LEN = 4096 }; /* of a name, mangled or not */

struct sf_demangler; /* opaque: the workspace, some 70 KiB; one thread at a time */

struct sf_demangler *sf_demangler_new(void); /* NULL: no memory */
void sf_demangler_free(struct sf_demangler *d);
/* Appends the demangled name. False: not a mangled name, or beyond the limits; `out` is
 * unchanged. */
bool sf_demangler_run(struct sf_demangler *d, sf_str mangled, struct sf_buf *out);

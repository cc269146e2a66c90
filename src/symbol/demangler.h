/* demangler.h - the names compilers give functions, as people write them: Itanium C++ (_Z...), Rust
 * legacy (_ZN...17h<hash>E) and Rust v0 (_R...).
 *
 * A name is anybody's bytes: tree, depth, work and length are bounded, and what does not parse to
 * its end is not a mangled name. Nothing is allocated but the one workspace. */
#pragma once
#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

enum { SF_DEMANGLE_MAX_LEN = 4096 }; /* of a name, both ways */

struct sf_demangler; /* opaque: the workspace, some 70 KiB; one thread at a time */

struct sf_demangler *sf_demangler_new(void); /* NULL: no memory */
void sf_demangler_free(struct sf_demangler *d);
/* Appends the name people know. False: not a mangled name, or one beyond the bounds; `out` is as
 * it was. */
bool sf_demangler_run(struct sf_demangler *d, sf_str mangled, struct sf_buf *out);

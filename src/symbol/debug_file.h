/* debug_file.h - the file that distributions keep a program's debug information in, apart from it.
 *
 * By build id, /usr/lib/debug/.build-id/ab/cdef.debug; or by the name in .gnu_debuglink beside the
 * program, in .debug beside it, or under /usr/lib/debug. A file is accepted if it has the same
 * build id or, if there is none, the checksum recorded in the program. */
#pragma once
#include "symbol/elf_file.h"

#define SF_DEBUG_ROOT "/usr/lib/debug"

/* The file of `f`, which was opened at `path`. False: there is none, or another's. */
bool sf_debug_file_open(struct sf_elf_file *out, const struct sf_elf_file *f, const char *path,
                        const char *root);
/* Empty: it has none. */
sf_bytes sf_debug_file_build_id(const struct sf_elf_file *f);
/* The build id of the file that dwz moved some of its debug information to, which others share.
 * Empty: there is none. */
sf_bytes sf_debug_file_shared_id(const struct sf_elf_file *f);

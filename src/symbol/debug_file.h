/* debug_file.h - finds the separate file in which distributions keep a program's debug information.
 *
 * By build id, /usr/lib/debug/.build-id/ab/cdef.debug; or by the name in .gnu_debuglink beside the
 * program, in .debug beside it, or under /usr/lib/debug. A file is accepted if it has the same
 * build id or, if there is none, the checksum recorded in the program. */
#pragma once
#include "symbol/elf_file.h"

#define SF_DEBUG_ROOT "/usr/lib/debug"

/* Opens the debug file of `f`, which was opened at `path`. False: there is none, or it belongs to
 * another program. */
bool sf_debug_file_open(struct sf_elf_file *out, const struct sf_elf_file *f, const char *path,
                        const char *root);
/* Empty: no build id. */
sf_bytes sf_debug_file_build_id(const struct sf_elf_file *f);
/* The build id of the file to which dwz has moved common debug information of several files. Empty:
 * there is none. */
sf_bytes sf_debug_file_shared_id(const struct sf_elf_file *f);

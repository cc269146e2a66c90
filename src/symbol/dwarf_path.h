/* dwarf_path.h - the path of a source file from the parts that compilers keep. */
#pragma once
#include "base/buf.h"

enum { SF_DWARF_PATH_MAX = 4096 };

/* Appends `name`, in `folder` unless it is absolute, in `root` unless that is; "." and ".." go
 * where a folder before them is known. A text of more than SF_DWARF_PATH_MAX is cut at its front:
 * the file's own name is at the end. */
void sf_dwarf_path_join(struct sf_buf *out, sf_str root, sf_str folder, sf_str name);

/* dwarf_path.h - builds the path of a source file from the parts in the debug information. */
#pragma once
#include "base/buf.h"

enum { SF_DWARF_PATH_MAX = 4096 };

/* Appends `name`, in `folder` unless it is absolute, in `root` unless that is; "." and ".." are
 * resolved where the preceding folder is known. A path longer than SF_DWARF_PATH_MAX is cut at its
 * beginning, because the file name is at the end. */
void sf_dwarf_path_join(struct sf_buf *out, sf_str root, sf_str folder, sf_str name);

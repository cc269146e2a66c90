/* unnamed_text.h - which files would name code that has no names, and where to get them. */
#pragma once
#include "base/buf.h"
#include "model/tree.h"

enum { SF_DEBUG_PACKAGE_CAP = 80 };

/* The package that a distribution with Debian's names keeps the debug file of a library in. False:
 * the file's name is not that of a shared library with a version. A guess: packages may differ. */
bool sf_unnamed_text_debug_package(sf_str module, char out[SF_DEBUG_PACKAGE_CAP]);
/* Some lines on the libraries with the most samples and no names; nothing when all of the code has
 * names. `tree` has its frames as they were sent, not grouped. */
void sf_unnamed_text(const struct sf_tree *tree, struct sf_buf *out);

/* unnamed_text.h - says which debug files would give names to unnamed code, and where to get
 * them. */
#pragma once
#include "base/buf.h"
#include "model/tree.h"

enum { SF_DEBUG_PACKAGE_CAP = 80 };

/* The Debian package with the debug file of a library. False: not the file name of a shared library
 * with a version. A guess: packages may differ. */
bool sf_unnamed_text_debug_package(sf_str module, char out[SF_DEBUG_PACKAGE_CAP]);
/* Writes some lines about the libraries with the most samples without names; nothing when all code
 * has names. `tree` must not be grouped. */
void sf_unnamed_text(const struct sf_tree *tree, struct sf_buf *out);

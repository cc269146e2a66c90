/* guard_files.h - two builds compared by profile files: each file is one run of the same work. */
#pragma once
#include "cli/guard_ask.h"
#include "cli/guard_flame.h"

enum { SF_GUARD_FILES_MIN = 8, SF_GUARD_FILES_MAX = 1000 }; /* runs of a side */

/* `left` and `right` are files or folders of them; `type` may be NULL. The measure is the type's
 * value per run: a time or a size. Strings and the trees of `flame` (NULL: not needed) live in
 * `req`. INPUT, NOT_FOUND: a file. */
enum sf_err sf_guard_files(const char *left, const char *right, const char *type,
                           struct sf_arena *req, struct sf_guard_report *out,
                           struct sf_guard_flame *flame, struct sf_why *why);

/* source_file.h - GET /api/v1/source: lines of a source file below page.source_folder.
 *
 * The path comes from a profile, so any sender can choose it: it is never opened directly. It is
 * cut into names, none of which may be "..", or begin with a dot, the last of which must end as
 * files of source code do, and opened below the folder name by name: symbolic links are not
 * followed. */
#pragma once
#include "serve/call.h"

bool sf_source_file_handle(struct sf_call *call, struct sf_worker *worker);

/* source_file.h - GET /api/v1/source: lines of a source file below page.source_folder.
 *
 * The path comes from a profile, so any sender can choose it: it is never opened directly. It is
 * split into names, none of which may begin with a dot; the last must have the extension of a
 * source file. They are opened one by one below the folder, without following symbolic links. */
#pragma once
#include "serve/call.h"

bool sf_source_file_handle(struct sf_call *call, struct sf_worker *worker);

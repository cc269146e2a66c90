/* frame_name.h - the name of a frame, and the package or module it belongs to. */
#pragma once
#include "base/arena.h"
#include "model/tree.h"

enum sf_frame_group {
    SF_GROUP_FUNCTION, /* its name; "module (no symbols)" without one */
    SF_GROUP_LINE,     /* function, file and line */
    SF_GROUP_FILE,     /* the source file */
    SF_GROUP_PACKAGE,  /* Go import path, Java package, C++ or Rust path, else the directory */
    SF_GROUP_MODULE    /* the program or library */
};

/* Borrowed from the frame, or made in `req`; never empty ("(unknown)"). False: `req` is full. */
bool sf_frame_name(const struct sf_frame *f, enum sf_frame_group group, struct sf_arena *req,
                   sf_str *out);

/* library_frame.h - code that the owner of a service did not write: the C library, the kernel, a
 * language's standard library, packages of others.
 *
 * Advice about such a frame is useless: its time is attributed to the nearest frame of the service
 * above it ("findBoxes spends 43 % in SQLite"). Drawings and lists are not changed. Recognised by
 * the file the code was loaded from, by the source file, else by the function's name:
 * library_table.c. Runtime code (runtime_frame.h) counts as library code too. */
#pragma once
#include "base/arena.h"
#include "model/tree.h"

enum sf_library_where {
    SF_LIBRARY_MODULE,   /* the name of the loaded file begins with it */
    SF_LIBRARY_SOURCE,   /* the path of the source file contains it */
    SF_LIBRARY_FUNCTION, /* the function's name begins with it */
    SF_LIBRARY_NAMED     /* the function's name is equal */
};

struct sf_library_rule {
    uint32_t kinds; /* 1 << enum sf_frame_kind; 0: any */
    enum sf_library_where where;
    const char *text;
    const char *name;    /* display name: "SQLite"; NULL: its own name */
    const char *example; /* a function or path as profilers write it */
};

extern const struct sf_library_rule sf_library_rules[];
extern const uint32_t sf_library_n_rules;

bool sf_library_frame_is(const struct sf_frame *frame);
/* The library of a frame: "SQLite", "libfoo", "encoding/json"; empty: unknown. A view of the
 * frame's strings, or a constant. */
sf_str sf_library_frame_name(const struct sf_frame *frame);
/* For each node: itself, or its nearest caller that is not library code; in a stack without one,
 * its nearest caller that is not runtime code; 0: none. NULL: no memory. */
const uint32_t *sf_library_frame_owners(const struct sf_tree *tree, struct sf_arena *req);

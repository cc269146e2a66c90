/* library_frame.h - code that the owner of a service did not write: the C library, the kernel, a
 * language's standard library, packages of others.
 *
 * Advice about such a frame is useless: its time is attributed to the nearest frame of the service
 * above it ("findBoxes spends 43 % in SQLite"). What is drawn or listed stays as it was measured.
 * Recognised by the file the code was loaded from, by the source file, else by the function's name:
 * library_table.c. Runtime code (runtime_frame.h) is a library's too. */
#pragma once
#include "base/arena.h"
#include "model/tree.h"

enum sf_library_where {
    SF_LIBRARY_MODULE,   /* the name of the file that was loaded begins so */
    SF_LIBRARY_SOURCE,   /* the path of the source file has it */
    SF_LIBRARY_FUNCTION, /* the function's name begins so */
    SF_LIBRARY_NAMED     /* it is the function's name */
};

struct sf_library_rule {
    uint32_t kinds; /* 1 << enum sf_frame_kind; 0: any */
    enum sf_library_where where;
    const char *text;
    const char *name;    /* what people call it: "SQLite"; NULL: as it calls itself */
    const char *example; /* a function or path as profilers write it */
};

extern const struct sf_library_rule sf_library_rules[];
extern const uint32_t sf_library_n_rules;

bool sf_library_frame_is(const struct sf_frame *frame);
/* "SQLite", "libfoo", "encoding/json": what a library frame belongs to; empty: nothing says. In the
 * frame's own strings or constant. */
sf_str sf_library_frame_name(const struct sf_frame *frame);
/* By node: itself, or its nearest caller that is not a library's; where a stack has none, its
 * nearest caller that is not a runtime's, 0: none. NULL: no memory. */
const uint32_t *sf_library_frame_owners(const struct sf_tree *tree, struct sf_arena *req);

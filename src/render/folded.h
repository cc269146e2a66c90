/* folded.h - lines "root;...;leaf VALUE", which all flame graph tools read. */
#pragma once
#include "base/err.h"
#include "model/answer/profile_view.h"

/* Stacks sorted by name, one line for each with a self value. A ';' or line break inside a name
 * becomes ':' or a blank; samples without any frame are "(no stack)". The tree must be grouped, so
 * that frames have names. The format has no remarks: all stacks of an estimate are below one frame
 * that says so, because not all readers skip other lines. */
enum sf_err sf_folded_render(const struct sf_profile_view *v, struct sf_arena scratch,
                             struct sf_buf *out, struct sf_why *why);

/* folded.h - "root;...;leaf VALUE" lines, which every flame graph tool reads. */
#pragma once
#include "base/err.h"
#include "model/answer/profile_view.h"

/* Stacks by name, one line for each with a value of its own. A ';' or line break inside a name
 * becomes ':' or a blank; samples without any frame are "(no stack)". The tree is grouped: frames
 * have names. This form has no place for remarks: all stacks of an estimate stand under one frame
 * that reports it, since not every reader skips a line that is none. */
enum sf_err sf_folded_render(const struct sf_profile_view *v, struct sf_arena scratch,
                             struct sf_buf *out, struct sf_why *why);

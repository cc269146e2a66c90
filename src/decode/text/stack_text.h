/* stack_text.h - stacks written as "root;child;leaf" with a count: shared by folded text, lines,
 * trees and tries. They do not contain type and time, which come from the request. Private to this
 * module. */
#pragma once
#include "decode/profile_build.h"

struct sf_stack_text {
    struct sf_profile_build *b;
    uint32_t series;
    int64_t factor; /* value of one count */
    struct sf_profile_list path;
};

/* INPUT: the request names an unknown type. */
enum sf_err sf_stack_text_init(struct sf_stack_text *t, struct sf_profile_build *b);
/* The location of a frame of this name; a suffix such as "_[k]" becomes its kind. */
uint32_t sf_stack_text_frame(struct sf_stack_text *t, sf_str name);
/* Root first, separated by semicolons. `count` is multiplied by the factor. The text must outlive
 * the batch. */
void sf_stack_text_add(struct sf_stack_text *t, sf_str stack, int64_t count);
/* The same for a path of locations. */
void sf_stack_text_add_path(struct sf_stack_text *t, const uint32_t *path, size_t n, int64_t count);
/* The value itself, not multiplied. */
void sf_stack_text_add_value(struct sf_stack_text *t, sf_str stack, int64_t value);

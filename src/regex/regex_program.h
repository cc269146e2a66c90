/* regex_program.h - a regular expression as a list of instructions, and texts walked through it.
 *
 * For texts on which backtracking would take long: all ways through the expression are followed at
 * once, so that a text costs at most its characters times the instructions. What a class or a
 * letter without case means is determined with PCRE2, so that both ways of matching agree. One
 * thread at a time. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct sf_regex_program; /* opaque */

/* Of a pattern that sf_regex_check_whole() took. NULL: no memory. */
struct sf_regex_program *sf_regex_program_new(sf_str pattern);
void sf_regex_program_free(struct sf_regex_program *p); /* NULL is fine */

enum sf_regex_walk { SF_REGEX_WALK_NONE, SF_REGEX_WALK_FOUND, SF_REGEX_WALK_STOPPED };
/* Does the whole text, which must be UTF-8, match? `goes_on` (may be NULL) is called from time to
 * time; STOPPED when it says no. */
enum sf_regex_walk sf_regex_program_walk(struct sf_regex_program *p, sf_str text,
                                         bool (*goes_on)(void *arg), void *arg);

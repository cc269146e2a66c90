/* regex_program.h - a regular expression as a list of instructions, matched in linear time.
 *
 * For texts on which backtracking would take long: all paths through the expression are followed at
 * once, so the cost is at most the number of characters times the number of instructions. Classes
 * and letters whose case is ignored are evaluated by PCRE2, so that both engines agree. One thread
 * at a time. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct sf_regex_program; /* opaque */

/* For a pattern that sf_regex_check_whole() accepts. NULL: no memory. */
struct sf_regex_program *sf_regex_program_new(sf_str pattern);
void sf_regex_program_free(struct sf_regex_program *p); /* NULL is fine */

enum sf_regex_walk { SF_REGEX_WALK_NONE, SF_REGEX_WALK_FOUND, SF_REGEX_WALK_STOPPED };
/* Whether the whole text, which must be UTF-8, matches. `goes_on` (may be NULL) is called from time
 * to time; STOPPED when it returns false. */
enum sf_regex_walk sf_regex_program_walk(struct sf_regex_program *p, sf_str text,
                                         bool (*goes_on)(void *arg), void *arg);

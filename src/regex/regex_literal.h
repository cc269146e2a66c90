/* regex_literal.h - finds a text that every match of a pattern contains. */
#pragma once
#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

/* For a pattern that sf_regex_check_whole() accepts: the longest text that every whole-text match
 * must contain; empty: none known. *out_is_all: it is also sufficient, because the pattern is
 * .*text.* */
void sf_regex_literal(sf_str pattern, struct sf_buf *out, bool *out_is_all);

/* regex_literal.h - characters that every text of a pattern holds, found without matching. */
#pragma once
#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

/* Of a pattern that sf_regex_check_whole() took: the longest run of characters that any text which
 * matches as a whole must hold; empty: none is known. *out_is_all: and that is all there is to it,
 * the pattern is .*characters.* */
void sf_regex_literal(sf_str pattern, struct sf_buf *out, bool *out_is_all);

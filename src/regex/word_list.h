/* word_list.h - patterns that consist only of words separated by bars: a|b|c.
 *
 * Dashboards write such patterns, one word for each selected value, and they may be longer than the
 * limit for expressions. A sorted list matches them at any length. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct sf_word_list; /* opaque; never changes */

/* Whether it consists of at least two words: no special characters but the bar and escaped
 * punctuation. */
bool sf_word_list_is(sf_str pattern);
/* For such a pattern. NULL: no memory. */
struct sf_word_list *sf_word_list_new(sf_str pattern);
void sf_word_list_free(struct sf_word_list *l); /* NULL is fine */
bool sf_word_list_has(const struct sf_word_list *l, sf_str text);

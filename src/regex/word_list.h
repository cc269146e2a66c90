/* word_list.h - a pattern that is nothing but words with bars between them: a|b|c.
 *
 * Dashboards write such patterns, one word for each selected value, and they become
 * longer than an expression may be. A sorted list answers them at any length. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct sf_word_list; /* opaque; never changes */

/* Only words, two at least: no character with a meaning of its own but the bar and escaped
 * punctuation? */
bool sf_word_list_is(sf_str pattern);
/* Of such a pattern. NULL: no memory. */
struct sf_word_list *sf_word_list_new(sf_str pattern);
void sf_word_list_free(struct sf_word_list *l); /* NULL is fine */
bool sf_word_list_has(const struct sf_word_list *l, sf_str text);

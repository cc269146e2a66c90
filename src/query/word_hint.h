/* word_hint.h - what people probably meant: the end of an error's sentence. */
#pragma once
#include "query/parser.h"

enum { SF_WORD_HINT_LEN = 100 };

/* "; did you mean name?" for the token in hand, or nothing. `known` are the words that could stand
 * there. */
void sf_word_hint(const struct sf_parser *p, const char *const *known, size_t n_known,
                  char out[SF_WORD_HINT_LEN]);

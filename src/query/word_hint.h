/* word_hint.h - suggestions at the end of an error message. */
#pragma once
#include "query/parser.h"

enum { SF_WORD_HINT_LEN = 100 };

/* "; did you mean name?" for the current token, or nothing. `known` are the words allowed there. */
void sf_word_hint(const struct sf_parser *p, const char *const *known, size_t n_known,
                  char out[SF_WORD_HINT_LEN]);

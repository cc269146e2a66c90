/* secret_words.h - the words of a key: split at anything that is not a letter or digit and where
 * camelCase begins a new word. auth_token, AuthToken and authTokens contain the word "token";
 * tokenize does not. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

enum { SF_WORDS_MAX_PARTS = 8, SF_WORDS_MAX_LEN = 64 };
struct sf_word {                   /* one or more parts, lower case: "api key" */
    char joined[SF_WORDS_MAX_LEN]; /* the parts without a gap, so that "apikey" is found too */
    sf_str parts[SF_WORDS_MAX_PARTS];
    sf_str whole;
    size_t n_parts;
};

/* False: no word, or too long. `out` must not move afterwards. */
bool sf_secret_words_init(struct sf_word *out, sf_str text);

enum sf_word_found { SF_WORD_NONE, SF_WORD_ONE, SF_WORD_PLURAL };
/* Whether `text` contains the word's parts one after another, the last one optionally with an s. */
enum sf_word_found sf_secret_words_find(const struct sf_word *w, sf_str text);
/* Whether it occurs anywhere in `text`. */
bool sf_secret_words_find_substring(const struct sf_word *w, sf_str text);

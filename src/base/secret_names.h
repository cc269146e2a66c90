/* secret_names.h - the words that say of a name that its value is a secret. */
#pragma once
#include "base/secret_words.h"

enum { SF_SECRET_NAMES = 38 };
/* A word of several parts is also found written as one. */
extern const char *const sf_secret_names[SF_SECRET_NAMES];

struct sf_secret_name_list { /* compiled; does not move afterwards */
    struct sf_word words[SF_SECRET_NAMES];
};
void sf_secret_names_init(struct sf_secret_name_list *l);
/* Which kind of word `name` has; one of them wins over plurals. */
enum sf_word_found sf_secret_names_find(const struct sf_secret_name_list *l, sf_str name);

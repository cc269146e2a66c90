/* secret_names.h - words in a name (such as "password") which mean that its value is a secret. */
#pragma once
#include "base/secret_words.h"

enum { SF_SECRET_NAMES = 48 };
/* A word of several parts is also found when written as one. */
extern const char *const sf_secret_names[SF_SECRET_NAMES];

struct sf_secret_name_list { /* compiled; must not be moved afterwards */
    struct sf_word words[SF_SECRET_NAMES];
};
void sf_secret_names_init(struct sf_secret_name_list *l);
/* The kind of secret word that `name` contains; singular takes precedence over plural. */
enum sf_word_found sf_secret_names_find(const struct sf_secret_name_list *l, sf_str name);

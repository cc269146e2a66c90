/* theme.h - kinds of work people recognise by name, wherever it happens: parsing JSON, matching
 * patterns, allocating. theme_table.c holds the names. */
#pragma once
#include "model/tree.h"

enum sf_theme {
    SF_THEME_NONE,
    SF_THEME_REGEX,
    SF_THEME_JSON,
    SF_THEME_SERIAL, /* other formats */
    SF_THEME_CRYPTO,
    SF_THEME_LOGGING,
    SF_THEME_ALLOCATOR,
    SF_THEMES
};

struct sf_theme_rule {
    enum sf_theme theme;
    bool is_start;       /* the name begins with the text; otherwise it may stand anywhere */
    const char *text;    /* small letters: case is folded */
    const char *example; /* a frame as profilers write it; the tests ask each rule for its own */
};

extern const struct sf_theme_rule sf_theme_rules[];
extern const uint32_t sf_theme_n_rules;

enum sf_theme sf_theme_of(const struct sf_frame *frame);
const char *sf_theme_words(enum sf_theme theme); /* "pattern matching" */

/* theme.h - recognises kinds of work by function names: parsing JSON, matching patterns,
 * allocating. theme_table.c has the names. */
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

enum sf_theme_fit { /* where in the name the text must be */
                    SF_FIT_ANY,
                    SF_FIT_START,
                    SF_FIT_WHOLE
};

struct sf_theme_rule {
    enum sf_theme theme;
    enum sf_theme_fit fit;
    const char *text;    /* lower case: case is ignored */
    const char *example; /* a frame as profilers write it; used by the tests of each rule */
};

extern const struct sf_theme_rule sf_theme_rules[];
extern const uint32_t sf_theme_n_rules;

/* Words that make such a function a parser: "parse", "decode"; for patterns: "compile". */
struct sf_parser_rule {
    enum sf_theme theme;
    const char *text, *example;
};
extern const struct sf_parser_rule sf_parser_rules[];
extern const uint32_t sf_parser_n_rules;

/* The theme of a function that parses text or bytes, or NONE. */
enum sf_theme sf_theme_of_parser(const struct sf_frame *frame);
enum sf_theme sf_theme_of(const struct sf_frame *frame);
const char *sf_theme_words(enum sf_theme theme); /* "pattern matching" */

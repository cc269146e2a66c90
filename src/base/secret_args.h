/* secret_args.h - secrets among the arguments of a command: --password X, mysql -pX, curl -u
 * user:X. Words are given one after another, from a text or a list of arguments. */
#pragma once
#include "base/secret_shape.h"

struct sf_secret_args {  /* a zeroed struct is the initial state */
    sf_str flag;         /* --NAME, whose value is the next word */
    uint8_t program;     /* index in the table of programs + 1; 0: unknown */
    uint8_t expected;    /* kind of the next word, see the source */
    bool is_command;     /* the program is at the position of a command, not in a sentence */
    bool is_wrapped;     /* flags, or programs that start others, came before */
    bool has_subcommand; /* "login" of docker login */
    bool has_seen_word;
};

/* Whether [*at, *end) of `word` is a secret. */
bool sf_secret_args_next(struct sf_secret_args *a, sf_str word, const struct sf_shape_names *names,
                         size_t *at, size_t *end);

/* The same for a command line in one text. */
struct sf_secret_line {
    sf_str text;
    size_t next; /* where the next word begins */
    struct sf_secret_args args;
};
/* The next secret in it; false: no more. */
bool sf_secret_args_line_next(struct sf_secret_line *l, const struct sf_shape_names *names,
                              size_t *at, size_t *end);

/* The end of a quoted text that begins at `at`. In an escaped one (JSON in a JSON string) \" ends
 * it, otherwise a backslash escapes the next character. */
size_t sf_secret_args_quoted_end(sf_str text, size_t at, char quote, bool is_escaped);

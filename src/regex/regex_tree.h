/* regex_tree.h - the syntax tree of a regular expression.
 *
 * For a pattern that sf_regex_syntax_check() and PCRE2 accept, which limits its length and nesting.
 * Nodes are indexes into a list; children of a sequence or of alternatives are linked. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum sf_regex_op {
    SF_REGEX_CHAR,  /* exactly this character */
    SF_REGEX_CLASS, /* a character of the class */
    SF_REGEX_ANY,
    SF_REGEX_ANY_BUT_NEWLINE,
    SF_REGEX_LINE_START,
    SF_REGEX_LINE_END,
    SF_REGEX_TEXT_START,
    SF_REGEX_TEXT_END,
    SF_REGEX_WORD_EDGE,
    SF_REGEX_NO_WORD_EDGE,
    SF_REGEX_OPS
};

enum sf_regex_kind {
    SF_REGEX_EMPTY,
    SF_REGEX_ONE,
    SF_REGEX_ALL_OF,
    SF_REGEX_ANY_OF,
    SF_REGEX_REPEAT
};

struct sf_regex_node {
    uint8_t kind, op;
    uint32_t arg;   /* ONE: the character or class */
    uint32_t first; /* child; 0: none */
    uint32_t next;  /* sibling; 0: none */
    int min, max;   /* REPEAT; the latter may be SF_REGEX_UNBOUNDED */
};

struct sf_regex_class { /* a class as written, or a letter whose case is ignored */
    size_t at, len;     /* in the pattern */
    bool is_caseless;
};

struct sf_regex_tree {
    struct sf_regex_node *nodes;
    uint32_t n_nodes, nodes_cap, root;
    struct sf_regex_class *classes;
    uint32_t n_classes, classes_cap;
    bool has_no_memory;
};

/* NOMEM. */
enum sf_err sf_regex_tree_make(sf_str pattern, struct sf_regex_tree *out);
void sf_regex_tree_done(struct sf_regex_tree *t);
/* The number of instructions with all repeats expanded; limited to the maximum + 1. */
uint64_t sf_regex_tree_size(const struct sf_regex_tree *t);
/* Why RE2 would refuse it; NULL: it would not. */
const char *sf_regex_tree_check(const struct sf_regex_tree *t);

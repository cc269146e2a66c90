/* gecko.h - tables of Firefox's profiles, in both of their forms: rows with a schema (raw) or an
 * array per column (processed). Private to this module. */
#pragma once
#include "decode/link_tree.h"
#include "wire/json.h"

struct sf_gecko_column {
    const char *name;
    struct sf_profile_list list; /* of double; NAN: null, absent or no number */
};

/* Reads the named columns of the table in `text`; an empty text is an empty table. Uses `j`, which
 * keeps the error. */
void sf_gecko_table_read(struct sf_profile_build *b, struct sf_json *j, sf_str text,
                         struct sf_gecko_column *columns, uint32_t n);
/* The number in row `i`, or NAN. */
double sf_gecko_table_number(const struct sf_gecko_column *c, uint32_t i);
/* The number as an index into a list of `n`, or SF_NONE. */
uint32_t sf_gecko_table_place(const struct sf_gecko_column *c, uint32_t i, uint32_t n);

struct sf_gecko_lib {
    uint64_t start, end;
    sf_str name;
};

struct sf_gecko_texts { /* JSON text of the tables of a thread, or of those shared by its profile */
    sf_str stacks, frames, funcs, resources, strings, sources;
};

struct sf_gecko_stacks { /* tables of a thread, or those shared by all threads */
    struct sf_profile_build *b;
    struct sf_profile_list strings; /* of sf_str */
    struct sf_gecko_column sources; /* files; shared like the strings */
    struct sf_profile_list *libs;   /* of struct sf_gecko_lib */
    struct sf_link_tree tree;
    uint32_t *made; /* for each stack: its index in the batch, or SF_NONE */
    bool is_read;
};

/* Errors are kept in `j`. */
void sf_gecko_table_stacks_read(struct sf_gecko_stacks *s, struct sf_json *j,
                                const struct sf_gecko_texts *texts);
/* SF_NONE: there is no such stack, or it is part of a cycle. */
uint32_t sf_gecko_table_stacks_make(struct sf_gecko_stacks *s, uint32_t place);

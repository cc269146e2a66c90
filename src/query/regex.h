/* regex.h - regular expressions of queries and selectors: RE2 in syntax, anchored at both ends,
 * never exponential.
 *
 * PCRE2 does the matching, after an own check that the pattern is RE2 syntax (no look-around, no
 * back-references, no verbs, repeats of at most 1,000). At its match limit the DFA matcher is
 * tried; when that gives up too the query fails with LIMIT: never "no match". */
#pragma once
#include "base/err.h"
#include "base/str.h"

struct sf_regex;

/* INPUT with the reason and the place in the pattern. */
enum sf_err sf_regex_check(sf_str pattern, struct sf_why *why);
/* Checks and compiles. The result is for one thread at a time. */
enum sf_err sf_regex_new(sf_str pattern, struct sf_regex **out, struct sf_why *why);
enum sf_err sf_regex_match(struct sf_regex *re, sf_str text, bool *out, struct sf_why *why);
void sf_regex_free(struct sf_regex *re); /* NULL is fine */

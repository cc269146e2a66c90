/* regex.h - regular expressions with bounded cost.
 *
 * RE2's syntax, executed by PCRE2: look-around, back-references, atomic and possessive forms,
 * recursion and verbs are refused when compiled, repeats are limited to 1,000. Searching works on
 * bytes and has a limit; a search that reaches it returns GAVE_UP instead of "not found". Whole
 * texts are matched in linear time. A compiled expression never changes: threads may share it, each
 * with its own scratch. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct sf_regex;         /* opaque */
struct sf_regex_scratch; /* one per thread */

/* Only checks: INPUT with what is not allowed and where. */
enum sf_err sf_regex_syntax_check(sf_str pattern, struct sf_why *why);
/* Whether sf_regex_new_whole() would accept it. If not: INPUT, LIMIT or NOMEM. */
enum sf_err sf_regex_check_whole(sf_str pattern, struct sf_why *why);
/* INPUT (syntax), LIMIT (too large), NOMEM. */
enum sf_err sf_regex_new(sf_str pattern, bool is_caseless, struct sf_regex **out,
                         struct sf_why *why);
/* For queries: matches whole texts only, by characters instead of bytes (invalid UTF-8 matches
 * nothing); '.' matches newlines too. Lists of words (a|b|c) may have any length, other patterns at
 * most 16 KiB. Used with sf_regex_match(). */
enum sf_err sf_regex_new_whole(sf_str pattern, struct sf_regex **out, struct sf_why *why);
/* The same with groups, for sf_regex_groups(). At most 16 KiB, no long lists of words. */
enum sf_err sf_regex_new_grouped(sf_str pattern, struct sf_regex **out, struct sf_why *why);
/* A text that every match contains, to exclude texts without matching; empty: none known. For a
 * pattern made by sf_regex_new_whole(); borrowed from it. */
sf_str sf_regex_needs(const struct sf_regex *re);
void sf_regex_free(struct sf_regex *re); /* NULL is fine */

struct sf_regex_scratch *sf_regex_scratch_new(void); /* NULL: no memory */
void sf_regex_scratch_free(struct sf_regex_scratch *s);
/* Sets a function that is called from time to time during long matches to ask whether to
 * continue. */
void sf_regex_scratch_watch(struct sf_regex_scratch *s, bool (*goes_on)(void *arg), void *arg);

enum sf_regex_result { SF_REGEX_NONE, SF_REGEX_FOUND, SF_REGEX_GAVE_UP };
/* The leftmost match that begins at or after `from`. GAVE_UP: the limit was reached. */
enum sf_regex_result sf_regex_find(const struct sf_regex *re, sf_str text, size_t from,
                                   struct sf_regex_scratch *scratch, size_t *out_at,
                                   size_t *out_end);
/* Whether the whole text matches. For a pattern made by sf_regex_new_whole(). When PCRE2 reaches
 * its limit, the linear-time program is used. GAVE_UP: no memory for that, or the function of
 * sf_regex_scratch_watch() has cancelled it. */
enum sf_regex_result sf_regex_match(const struct sf_regex *re, sf_str text,
                                    struct sf_regex_scratch *scratch);
/* The same for a pattern made by sf_regex_new_grouped(), with the texts of its first groups; group
 * 0 is the whole text, an unused group is empty. GAVE_UP: the limit was reached. */
enum { SF_REGEX_GROUPS = 10 };
enum sf_regex_result sf_regex_groups(const struct sf_regex *re, sf_str text,
                                     struct sf_regex_scratch *scratch, sf_str out[SF_REGEX_GROUPS]);

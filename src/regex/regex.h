/* regex.h - regular expressions that cannot run away.
 *
 * RE2's syntax, run by PCRE2: look-around, back-references, atomic and possessive forms, recursion
 * and verbs are refused when compiled, repeats go up to 1,000. Searching is over bytes and bounded;
 * a search that hits its bound reports it instead of claiming that nothing was found. Whole texts
 * are matched in linear time. A compiled expression never changes: threads may share it, each with
 * its own scratch. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct sf_regex;         /* opaque */
struct sf_regex_scratch; /* one per thread */

/* Looks, changes nothing: INPUT with what is not allowed and where. */
enum sf_err sf_regex_syntax_check(sf_str pattern, struct sf_why *why);
/* Would sf_regex_new_whole() take it? INPUT, LIMIT or NOMEM when not; nothing is kept. */
enum sf_err sf_regex_check_whole(sf_str pattern, struct sf_why *why);
/* INPUT (syntax), LIMIT (too large), NOMEM. */
enum sf_err sf_regex_new(sf_str pattern, bool is_caseless, struct sf_regex **out,
                         struct sf_why *why);
/* For queries: matches whole texts only, by characters instead of bytes (bytes that are not UTF-8
 * match nothing), '.' takes newlines too. Words with bars between them (a|b|c) may be of any
 * length, other patterns have 16 KiB. Ask it with sf_regex_match(). */
enum sf_err sf_regex_new_whole(sf_str pattern, struct sf_regex **out, struct sf_why *why);
/* The same with groups that can be requested: sf_regex_groups(). 16 KiB, no long lists of words. */
enum sf_err sf_regex_new_grouped(sf_str pattern, struct sf_regex **out, struct sf_why *why);
/* Characters that every text which matches holds, known without matching; empty: there are none, or
 * they are not known. Of a pattern made by sf_regex_new_whole(); borrowed from it. */
sf_str sf_regex_needs(const struct sf_regex *re);
void sf_regex_free(struct sf_regex *re); /* NULL is fine */

struct sf_regex_scratch *sf_regex_scratch_new(void); /* NULL: no memory */
void sf_regex_scratch_free(struct sf_regex_scratch *s);
/* Asks now and then, when a match takes long, whether to continue; never asks without it. */
void sf_regex_scratch_watch(struct sf_regex_scratch *s, bool (*goes_on)(void *arg), void *arg);

enum sf_regex_result { SF_REGEX_NONE, SF_REGEX_FOUND, SF_REGEX_GAVE_UP };
/* The leftmost match that begins at or after `from`. GAVE_UP: the bound was hit. */
enum sf_regex_result sf_regex_find(const struct sf_regex *re, sf_str text, size_t from,
                                   struct sf_regex_scratch *scratch, size_t *out_at,
                                   size_t *out_end);
/* Does the whole text match? Of a pattern made by sf_regex_new_whole(). At the bound the text is
 * walked through all of the pattern at once, in time linear in both. GAVE_UP: no memory for that,
 * or the scratch's owner has cancelled it. */
enum sf_regex_result sf_regex_match(const struct sf_regex *re, sf_str text,
                                    struct sf_regex_scratch *scratch);
/* The same of a pattern made by sf_regex_new_grouped(), with what its first groups took; the whole
 * text is group 0, a group that took no part is empty. GAVE_UP: the bound was hit. */
enum { SF_REGEX_GROUPS = 10 };
enum sf_regex_result sf_regex_groups(const struct sf_regex *re, sf_str text,
                                     struct sf_regex_scratch *scratch, sf_str out[SF_REGEX_GROUPS]);

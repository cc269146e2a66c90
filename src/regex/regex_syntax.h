/* regex_syntax.h - RE2's syntax: what it does not allow, and the lengths of its elements. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum { SF_REGEX_MAX_REPEAT = 1000, SF_REGEX_UNBOUNDED = -1, SF_REGEX_MAX_LEN = 16 * 1024 };

/* Fails with INPUT: pattern, error and position. */
enum sf_err sf_regex_syntax_refuse(sf_str pattern, size_t at, const char *what, struct sf_why *why);

/* Lengths of the elements at `at`, for a pattern that sf_regex_syntax_check() accepts. */
size_t sf_regex_syntax_class_len(sf_str pattern, size_t at); /* "[...]" */
/* "\\n", "\\x{41}", "\\pL", "\\p{Greek}"; *out_code is the character if it stands for one. */
size_t sf_regex_syntax_escape_len(sf_str pattern, size_t at, uint32_t *out_code);
/* "{n}", "{n,}" or "{n,m}"; 0: a literal brace. */
size_t sf_regex_syntax_repeat_len(sf_str pattern, size_t at, int *out_min, int *out_max);

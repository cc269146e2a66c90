/* regex_syntax.h - how RE2 writes regular expressions, and what it would not take. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum { SF_REGEX_MAX_REPEAT = 1000, SF_REGEX_UNBOUNDED = -1, SF_REGEX_MAX_LEN = 16 * 1024 };

/* INPUT with the pattern, the fault and where. */
enum sf_err sf_regex_syntax_refuse(sf_str pattern, size_t at, const char *what, struct sf_why *why);

/* Lengths of what is written at `at`, of a pattern that sf_regex_syntax_check() took. */
size_t sf_regex_syntax_class_len(sf_str pattern, size_t at); /* "[...]" */
/* "\\n", "\\x{41}", "\\pL", "\\p{Greek}"; *out_code is the character when it represents one. */
size_t sf_regex_syntax_escape_len(sf_str pattern, size_t at, uint32_t *out_code);
/* "{n}", "{n,}" or "{n,m}"; 0: a brace that means itself. */
size_t sf_regex_syntax_repeat_len(sf_str pattern, size_t at, int *out_min, int *out_max);

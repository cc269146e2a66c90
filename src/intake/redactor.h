/* redactor.h - a compiled redactor: its words, expressions and verdicts. Private to
 * redact*.c. */
#pragma once
#include <stdatomic.h>

#include "base/secret_shape.h"
#include "base/secret_words.h"
#include "intake/redact.h"
#include "regex/regex.h"

enum { SF_REDACT_CACHE = 4096, SF_REDACT_MAX_HITS = 64 };

struct sf_redact_word {
    struct sf_word word;
    bool is_builtin; /* numbers under its plural are kept; values and names are not searched for
                      * it */
    bool is_listed;  /* built in, and among the patterns as well */
    uint32_t rule;
};

struct sf_redact_regex {
    struct sf_regex *re;
    uint32_t rule;
};

struct sf_redactor {
    bool has_builtin, is_substring, in_keys, in_values, in_names;
    struct sf_redact_word *words;
    struct sf_redact_regex *regexes;
    size_t n_words, n_regexes;
    bool has_own_words; /* some are searched in values and names */
    bool has_listed_words;
    enum sf_redact_code functions, files;
    char **allow;
    size_t n_allow;
    uint8_t *hash_key;
    size_t hash_key_len;
    char **rules;                    /* names */
    atomic_uint_fast64_t *n_by_rule; /* counters, relaxed */
    size_t n_rules;
    uint64_t seed;
    /* Cache of results per key: the upper bits of a seeded hash and, in the lowest three, the
     * result. A slot is one word, so that threads may write it concurrently. */
    atomic_uint_fast64_t cache[SF_REDACT_CACHE];
};

enum sf_redact_verdict {
    SF_VERDICT_UNKNOWN,
    SF_VERDICT_CLEAN,       /* scan the value */
    SF_VERDICT_ALLOWED,     /* do not change the attribute */
    SF_VERDICT_SECRET,      /* the value goes */
    SF_VERDICT_SECRET_TEXT, /* replace the value unless it is a number: a plural counts things */
    SF_VERDICT_REWRITE      /* the key itself contains a secret */
};

/* `scratch` may be NULL when there are no expressions. */
enum sf_redact_verdict sf_redactor_key(const struct sf_redactor *r, sf_str key,
                                       struct sf_regex_scratch *scratch);
/* By its words alone. */
enum sf_redact_verdict sf_redactor_key_words(const struct sf_redactor *r, sf_str key,
                                             uint32_t *out_rule);
/* The rule by which a key is secret; only for counters and watchers. */
uint32_t sf_redactor_key_rule(const struct sf_redactor *r, sf_str key,
                              struct sf_regex_scratch *scratch);

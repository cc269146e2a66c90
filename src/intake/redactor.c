/* redactor.c - compiles the redaction settings into a redactor and judges attribute keys: the allow
 * list first, then words, then regular expressions. Results for keys are cached in a table of
 * atomic words that threads share without locks. */
#include "intake/redactor.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/heap.h"
#include "base/num.h"
#include "base/secret_names.h"
#include "os/random.h"

static const char *const shape_names[SF_SHAPES] = {
    "shape: card number",
    "shape: cloud key",
    "shape: JWT",
    "shape: authorization header",
    "shape: private key",
    "shape: token with prefix",
    "shape: password in URL",
    "shape: secret=value",
    "shape: unknown field",
    "shape: argument",
    "shape: SQL password",
    "shape: webhook",
};

/* ---- checking keys ---- */

/* '*' matches any characters; case is ignored. */
static bool matches_glob(const char *glob, sf_str key)
{
    size_t at = 0, star_at = 0;
    const char *star = NULL;
    while (at < key.len) {
        char c = key.p[at], g = *glob;
        c = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
        g = (char)(g >= 'A' && g <= 'Z' ? g + 32 : g);
        if (g == '*') {
            star = ++glob;
            star_at = at;
        } else if (g && g == c) {
            glob++;
            at++;
        } else if (star) {
            glob = star;
            at = ++star_at;
        } else {
            return false;
        }
    }
    while (*glob == '*')
        glob++;
    return *glob == 0;
}

static enum sf_word_found find_word(const struct sf_redactor *r, const struct sf_word *w, sf_str in)
{
    if (!r->is_substring)
        return sf_secret_words_find(w, in);
    return sf_secret_words_find_substring(w, in) ? SF_WORD_ONE : SF_WORD_NONE;
}

enum sf_redact_verdict sf_redactor_key_words(const struct sf_redactor *r, sf_str key,
                                             uint32_t *out_rule)
{
    enum sf_redact_verdict verdict = SF_VERDICT_CLEAN;
    for (size_t i = 0; i < r->n_words; i++) {
        enum sf_word_found found = find_word(r, &r->words[i].word, key);
        if (found == SF_WORD_NONE)
            continue;
        *out_rule = r->words[i].rule;
        if (found == SF_WORD_ONE || !r->words[i].is_builtin)
            return SF_VERDICT_SECRET;
        verdict = SF_VERDICT_SECRET_TEXT; /* unless another word gives a stronger result */
    }
    return verdict;
}

/* For a key that contains a pair or an argument: "password=hunter2". */
static bool key_pair_is_secret(const void *arg, sf_str name, bool is_number)
{
    uint32_t rule;
    enum sf_redact_verdict verdict = sf_redactor_key_words(arg, name, &rule);
    return verdict == SF_VERDICT_SECRET || (verdict == SF_VERDICT_SECRET_TEXT && !is_number);
}

static enum sf_redact_verdict redactor_judge(const struct sf_redactor *r, sf_str key,
                                             struct sf_regex_scratch *scratch, uint32_t *out_rule)
{
    struct sf_shape_names names = {key_pair_is_secret, r, r->has_builtin};
    struct sf_shape_hit hit;
    size_t at, end;

    for (size_t i = 0; i < r->n_allow; i++) {
        if (matches_glob(r->allow[i], key))
            return SF_VERDICT_ALLOWED;
    }
    if (!r->in_keys)
        return SF_VERDICT_CLEAN;
    for (size_t i = 0; i < r->n_regexes; i++) {
        if (sf_regex_find(r->regexes[i].re, key, 0, scratch, &at, &end) != SF_REGEX_NONE) {
            *out_rule = r->regexes[i].rule;
            return SF_VERDICT_REWRITE;
        }
    }
    if (sf_secret_shape_find(key, sf_secret_shape_scan(key), &names, &hit, 1)) {
        *out_rule = (uint32_t)hit.shape;
        return SF_VERDICT_REWRITE;
    }
    return sf_redactor_key_words(r, key, out_rule);
}

enum sf_redact_verdict sf_redactor_key(const struct sf_redactor *r, sf_str key,
                                       struct sf_regex_scratch *scratch)
{
    uint64_t hash = sf_hash_seeded(key.p, key.len, r->seed);
    atomic_uint_fast64_t *slot = (atomic_uint_fast64_t *)(uintptr_t)&r->cache[hash >> 52];
    uint64_t known = atomic_load_explicit(slot, memory_order_relaxed);
    uint32_t rule;

    if (__builtin_expect((known & ~7ull) == (hash & ~7ull) && (known & 7), 1))
        return (enum sf_redact_verdict)(known & 7);
    known = (uint64_t)redactor_judge(r, key, scratch, &rule);
    atomic_store_explicit(slot, (hash & ~7ull) | known, memory_order_relaxed);
    return (enum sf_redact_verdict)known;
}

uint32_t sf_redactor_key_rule(const struct sf_redactor *r, sf_str key,
                              struct sf_regex_scratch *scratch)
{
    uint32_t rule = 0;
    redactor_judge(r, key, scratch, &rule);
    return rule;
}

/* ---- compiling a redactor ---- */

static char *redactor_copy_text(const char *prefix, sf_str text)
{
    size_t len = strlen(prefix);
    char *p = sf_heap_new(len + text.len + 1);
    if (p) {
        memcpy(p, prefix, len);
        if (text.len)
            memcpy(p + len, text.p, text.len);
    }
    return p;
}

static bool redactor_add_rule(struct sf_redactor *r, const char *prefix, sf_str text, uint32_t *out)
{
    char *name = redactor_copy_text(prefix, text);
    if (!name)
        return false;
    r->rules[r->n_rules] = name;
    *out = (uint32_t)r->n_rules++;
    return true;
}

static struct sf_redact_word *find_builtin_word(const struct sf_redactor *r,
                                                const struct sf_word *w)
{
    for (size_t i = 0; i < r->n_words && r->words[i].is_builtin; i++) {
        if (sf_str_eq(r->words[i].word.whole, w->whole))
            return &r->words[i];
    }
    return NULL;
}

static enum sf_err add_regex(struct sf_redactor *r, sf_str pattern, struct sf_why *why)
{
    struct sf_redact_regex *to = &r->regexes[r->n_regexes];
    enum sf_err err;
    if (!redactor_add_rule(r, "pattern: ", pattern, &to->rule))
        return sf_no_memory(why, "the rules of redaction");
    err = sf_regex_new(sf_str_part(pattern, 1, pattern.len - 2), true, &to->re, why);
    if (err) {
        if (why)
            sf_why_prefix(why, "redact.patterns");
        return err;
    }
    r->n_regexes++;
    return SF_OK;
}

static enum sf_err add_pattern(struct sf_redactor *r, sf_str pattern, struct sf_why *why)
{
    struct sf_redact_word *to = &r->words[r->n_words], *builtin;

    if (pattern.len > 2 && pattern.p[0] == '/' && pattern.p[pattern.len - 1] == '/')
        return add_regex(r, pattern, why);
    if (!sf_secret_words_init(&to->word, pattern))
        return sf_fail(why, SF_ERR_INPUT,
                       "redact.patterns: \"%.*s\" is not a word of at most %d letters; write an "
                       "expression between slashes: /.../",
                       pattern.len > 60 ? 60 : (int)pattern.len, pattern.p, SF_WORDS_MAX_LEN);
    builtin = find_builtin_word(r, &to->word);
    if (builtin) { /* it is already searched, but not in code */
        builtin->is_listed = r->has_listed_words = true;
        return SF_OK;
    }
    if (!redactor_add_rule(r, "pattern: ", pattern, &to->rule))
        return sf_no_memory(why, "the rules of redaction");
    r->n_words++;
    r->has_own_words = true;
    return SF_OK;
}

static enum sf_err add_builtin(struct sf_redactor *r, struct sf_why *why)
{
    for (size_t i = 0; i < SF_SECRET_NAMES; i++) {
        struct sf_redact_word *to = &r->words[r->n_words];
        sf_str text = sf_str_from(sf_secret_names[i]);
        SF_ASSERT(sf_secret_words_init(&to->word, text));
        to->is_builtin = true;
        if (!redactor_add_rule(r, "word: ", text, &to->rule))
            return sf_no_memory(why, "the rules of redaction");
        r->n_words++;
    }
    return SF_OK;
}

static enum sf_err redactor_fill(struct sf_redactor *r, const struct sf_redact_config *config,
                                 struct sf_why *why)
{
    uint32_t rule;
    enum sf_err err = SF_OK;

    for (size_t i = 0; i < SF_SHAPES; i++) {
        if (!redactor_add_rule(r, shape_names[i], SF_STR_NONE, &rule))
            return sf_no_memory(why, "the rules of redaction");
    }
    if (config->has_builtin)
        err = add_builtin(r, why);
    for (size_t i = 0; !err && i < config->n_patterns; i++)
        err = add_pattern(r, sf_str_from(config->patterns[i]), why);
    for (size_t i = 0; !err && i < config->n_allow; i++) {
        r->allow[i] = redactor_copy_text("", sf_str_from(config->allow[i]));
        if (!r->allow[i])
            return sf_no_memory(why, "the rules of redaction");
        r->n_allow++;
    }
    if (!err && config->hash_key.len) {
        r->hash_key = (uint8_t *)redactor_copy_text("", sf_bytes_str(config->hash_key));
        if (!r->hash_key)
            return sf_no_memory(why, "the rules of redaction");
        r->hash_key_len = config->hash_key.len;
    }
    return err;
}

enum sf_err sf_redactor_new(const struct sf_redact_config *config, struct sf_redactor **out,
                            struct sf_why *why)
{
    size_t n_patterns = config->n_patterns;
    struct sf_redactor *r;
    enum sf_err err;

    if (n_patterns > SF_REDACT_MAX_PATTERNS)
        return sf_fail(why, SF_ERR_LIMIT, "redact.patterns: more than %d", SF_REDACT_MAX_PATTERNS);
    if (config->hash_key.len && config->hash_key.len < 16)
        return sf_fail(why, SF_ERR_INPUT, "redact.hash_key_file: a key needs at least 16 bytes");
    r = sf_heap_new(sizeof(*r));
    if (!r)
        return sf_no_memory(why, "the rules of redaction");
    r->has_builtin = config->has_builtin;
    r->is_substring = config->is_substring;
    r->in_keys = config->in_keys;
    r->in_values = config->in_values;
    r->in_names = config->in_names;
    r->functions = config->functions;
    r->files = config->files;
    r->seed = sf_random_u64();
    r->words = sf_heap_new_n(SF_SECRET_NAMES + n_patterns + 1, sizeof(*r->words));
    r->regexes = sf_heap_new_n(n_patterns + 1, sizeof(*r->regexes));
    r->allow = sf_heap_new_n(config->n_allow + 1, sizeof(*r->allow));
    r->rules = sf_heap_new_n(SF_SHAPES + SF_SECRET_NAMES + n_patterns, sizeof(*r->rules));
    r->n_by_rule = sf_heap_new_n(SF_SHAPES + SF_SECRET_NAMES + n_patterns, sizeof(*r->n_by_rule));
    if (!r->words || !r->regexes || !r->allow || !r->rules || !r->n_by_rule)
        err = sf_no_memory(why, "the rules of redaction");
    else
        err = redactor_fill(r, config, why);
    if (!err) {
        *out = r;
        r = NULL;
    }
    sf_redactor_free(r);
    return err;
}

void sf_redactor_free(struct sf_redactor *r)
{
    if (!r)
        return;
    for (size_t i = 0; r->regexes && i < r->n_regexes; i++)
        sf_regex_free(r->regexes[i].re);
    for (size_t i = 0; r->allow && i < r->n_allow; i++)
        sf_heap_free(r->allow[i]);
    for (size_t i = 0; r->rules && i < r->n_rules; i++)
        sf_heap_free(r->rules[i]);
    sf_heap_free(r->words);
    sf_heap_free(r->regexes);
    sf_heap_free(r->allow);
    sf_heap_free(r->rules);
    sf_heap_free(r->n_by_rule);
    sf_heap_free(r->hash_key);
    sf_heap_free(r);
}

const char *sf_redactor_rule(const struct sf_redactor *r, size_t i, uint64_t *out_n)
{
    if (i >= r->n_rules)
        return NULL;
    *out_n = atomic_load_explicit(&r->n_by_rule[i], memory_order_relaxed);
    return r->rules[i];
}

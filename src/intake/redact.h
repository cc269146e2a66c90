/* redact.h - removes secrets from spans and profiles before anything is written.
 *
 * A redactor is compiled once from the configuration and does not change, except for its cache of
 * results for keys, which uses relaxed atomics; threads share it. docs/redaction.md describes what
 * is searched where. When uncertain it redacts: a pattern that reaches its limit counts as a
 * match. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/profile.h"
#include "model/span.h"

struct sf_redactor;

/* How configured words are searched in names of functions and files. */
enum sf_redact_code {
    SF_REDACT_CODE_MATCH, /* as everywhere */
    SF_REDACT_CODE_WORDS,
    SF_REDACT_CODE_SUBSTRING,
    SF_REDACT_CODE_NONE /* not at all; expressions and shapes are still searched */
};

struct sf_redact_config {
    bool has_builtin;                  /* the built-in words and shapes */
    bool is_substring;                 /* words match anywhere, not only as word parts */
    bool in_keys, in_values, in_names; /* where to look */
    enum sf_redact_code functions, files;
    const char *const *patterns; /* words, or /regular expressions/ */
    size_t n_patterns;           /* at most SF_REDACT_MAX_PATTERNS */
    const char *const *allow;    /* keys that are not redacted; '*' matches any text */
    size_t n_allow;
    sf_bytes hash_key; /* not empty: [REDACTED:hash] instead of [REDACTED]; copied */
};
enum { SF_REDACT_MAX_PATTERNS = 256 };

/* INPUT: a pattern is malformed. LIMIT: too many. NOMEM. */
enum sf_err sf_redactor_new(const struct sf_redact_config *config, struct sf_redactor **out,
                            struct sf_why *why);
void sf_redactor_free(struct sf_redactor *r); /* NULL is fine */

/* One change, for callers that list changes (redact --dry-run). */
struct sf_redact_change {
    const char *place;       /* "span.name", "span.attributes", "event.attributes", ... */
    uint32_t resource, span; /* indexes in the batch; span is UINT32_MAX for resources and scopes;
                              * for profiles it is a row of the table named by `place` */
    sf_str key;              /* of the attribute; empty in names */
    sf_str before;           /* the secret itself: do not print it */
    const char *rule;
};
struct sf_redact_watch {
    void (*see)(void *arg, const struct sf_redact_change *change);
    void *arg;
};

/* `out` is `in` itself when nothing changes (*out_n is 0 then), otherwise a new batch: changed
 * parts are in `req`, the rest is shared with `in`, which is never modified. LIMIT (arena),
 * NOMEM. */
enum sf_err sf_redact_spans(const struct sf_redactor *r, const struct sf_span_batch *in,
                            struct sf_arena *req, const struct sf_redact_watch *watch,
                            struct sf_span_batch *out, uint64_t *out_n, struct sf_why *why);

/* The same for functions, files, labels, threads and processes of a profile. `io` is changed in
 * place; tables with changes are replaced by copies in `req`. */
enum sf_err sf_redact_profiles(const struct sf_redactor *r, struct sf_profile_batch *io,
                               struct sf_arena *req, const struct sf_redact_watch *watch,
                               uint64_t *out_n, struct sf_why *why);
/* Counts the secrets that redaction would replace in the texts of an uploaded profile that are not
 * part of its batch. */
enum sf_err sf_redact_profile_rest(const struct sf_redactor *r, struct sf_attrs attrs,
                                   struct sf_arena *req, uint64_t *out_n, struct sf_why *why);
/* Redacts one key and value; changed texts are in `req`. */
enum sf_err sf_redact_attr(const struct sf_redactor *r, struct sf_arena *req, struct sf_attr *attr,
                           uint64_t *out_n, struct sf_why *why);
/* Redacts one text as the value of `key`; a changed text is in `req` and counted in *io_n. `r` may
 * be NULL: nothing changes. LIMIT, NOMEM: the text must not be used. */
enum sf_err sf_redact_text(const struct sf_redactor *r, struct sf_arena *req, const char *key,
                           sf_str *io, uint64_t *io_n, struct sf_why *why);

/* Number of changes since start by rule, for /metrics: i counts from 0; NULL: no such rule. */
const char *sf_redactor_rule(const struct sf_redactor *r, size_t i, uint64_t *out_n);

/* redact.h - secrets out of spans and profiles before anything is written.
 *
 * A redactor is compiled once from the configuration and never changes (its cache of verdicts on
 * keys does, with relaxed atomics): threads share it. docs/redaction.md says what is searched for
 * and where. When when uncertain it redacts: a pattern that hits its bound counts as a match. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/profile.h"
#include "model/span.h"

struct sf_redactor;

/* How one's own words are searched for in names of functions and in files. */
enum sf_redact_code {
    SF_REDACT_CODE_MATCH, /* as everywhere */
    SF_REDACT_CODE_WORDS,
    SF_REDACT_CODE_SUBSTRING,
    SF_REDACT_CODE_NONE /* not at all; expressions and shapes still are */
};

struct sf_redact_config {
    bool has_builtin;                  /* the built-in words and shapes */
    bool is_substring;                 /* words match anywhere, not only as word parts */
    bool in_keys, in_values, in_names; /* where to look */
    enum sf_redact_code functions, files;
    const char *const *patterns; /* words, or /regular expressions/ */
    size_t n_patterns;           /* at most SF_REDACT_MAX_PATTERNS */
    const char *const *allow;    /* keys that are left alone; '*' represents anything */
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
    uint32_t resource, span; /* numbers in the batch; span is UINT32_MAX in resources and scopes,
                              * and in profiles a row of the table that the place names */
    sf_str key;              /* of the attribute; empty in names */
    sf_str before;           /* the secret itself: do not print it */
    const char *rule;
};
struct sf_redact_watch {
    void (*see)(void *arg, const struct sf_redact_change *change);
    void *arg;
};

/* `out` is `in` itself when nothing had to change (*out_n is 0 then), otherwise a new view: changed
 * parts in `req`, the rest shared with `in`, which is never written to. LIMIT (arena), NOMEM. */
enum sf_err sf_redact_spans(const struct sf_redactor *r, const struct sf_span_batch *in,
                            struct sf_arena *req, const struct sf_redact_watch *watch,
                            struct sf_span_batch *out, uint64_t *out_n, struct sf_why *why);

/* The same for functions, files, labels, threads and processes of a profile. `io` is changed in
 * place; its tables are new ones in `req` where anything in them changed. */
enum sf_err sf_redact_profiles(const struct sf_redactor *r, struct sf_profile_batch *io,
                               struct sf_arena *req, const struct sf_redact_watch *watch,
                               uint64_t *out_n, struct sf_why *why);
/* One key and value; what changed is in `req`. */
enum sf_err sf_redact_attr(const struct sf_redactor *r, struct sf_arena *req, struct sf_attr *attr,
                           uint64_t *out_n, struct sf_why *why);
/* One text, as the value under `key`; what changed is in `req` and counted in *io_n. `r` may be
 * NULL: nothing changes. LIMIT, NOMEM: the text must not be used. */
enum sf_err sf_redact_text(const struct sf_redactor *r, struct sf_arena *req, const char *key,
                           sf_str *io, uint64_t *io_n, struct sf_why *why);

/* Changes since start by rule, for /metrics: i counts from 0; NULL: no such rule. */
const char *sf_redactor_rule(const struct sf_redactor *r, size_t i, uint64_t *out_n);

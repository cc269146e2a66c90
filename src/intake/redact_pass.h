/* redact_pass.h - one pass over a batch of spans or profiles. Private to redact*.c.
 *
 * Parts are copied into the arena when the first change in them is found, so a batch without
 * secrets is only scanned. */
#pragma once
#include "intake/redactor.h"

enum { SF_REDACT_RECENT = 256, SF_REDACT_RECENT_PLACES = 32 };

struct sf_redact_pass {
    const struct sf_redactor *r;
    struct sf_arena *req;
    struct sf_regex_scratch *scratch; /* NULL: no expressions */
    const struct sf_redact_watch *watch;
    struct sf_shape_names names;
    const char *place;
    uint32_t resource, row; /* index in the batch's tables; UINT32_MAX: no row */
    sf_str key;             /* key of the current attribute */
    uint64_t n;
    bool has_own; /* configured words or expressions that any text may match */
    bool is_full; /* the arena is full; the result of this pass is not used */
    /* Spans of one sender have their keys in the same order, and there are few kinds of spans: a
     * key with the same length and position as before is nearly always the same, often with the
     * same value. */
    struct sf_redact_recent {
        sf_str key;
        sf_str clean; /* the last value in which nothing was found */
        enum sf_redact_verdict verdict;
    } recent[SF_REDACT_RECENT];
};

/* NOMEM. The caller calls done. */
enum sf_err sf_redact_pass_init(struct sf_redact_pass *p, const struct sf_redactor *r,
                                struct sf_arena *req, const struct sf_redact_watch *watch,
                                struct sf_why *why);
/* LIMIT: the arena was full; the result of this pass must not be used. */
enum sf_err sf_redact_pass_done(struct sf_redact_pass *p, struct sf_why *why);

/* Each returns true when it changed its argument. `place` is passed to the watcher. */
bool sf_redact_pass_name(struct sf_redact_pass *p, const char *place, sf_str *name);
bool sf_redact_pass_free_text(struct sf_redact_pass *p, const char *place, sf_str *text);
bool sf_redact_pass_code(struct sf_redact_pass *p, const char *place, enum sf_redact_code code,
                         sf_str *text);
bool sf_redact_pass_attrs(struct sf_redact_pass *p, const char *place, struct sf_attrs *attrs);
/* Copies a list at the first change. NULL: the arena is full. */
void *sf_redact_pass_own_list(struct sf_redact_pass *p, void **copy, const void *list, size_t n,
                              size_t size);

/* redact_pass.h - one pass over a batch of spans or profiles. Private to redact*.c.
 *
 * Parts that change are copied into the arena when the first change in them is found, so a batch
 * without secrets costs the looking and nothing else. */
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
    uint32_t resource, row; /* of the batch's tables; UINT32_MAX: no row */
    sf_str key;             /* of the attribute at hand */
    uint64_t n;
    bool has_own; /* words or expressions that any text may match */
    bool is_full; /* the arena is; nothing of this pass will be used */
    /* Spans of one sender carry their keys in one order, and there are few kinds of them: a key of
     * this length that stood at this place before is nearly always what stands there now, and often
     * with the same value. */
    struct sf_redact_recent {
        sf_str key;
        sf_str clean; /* the value seen last in which nothing was found */
        enum sf_redact_verdict verdict;
    } recent[SF_REDACT_RECENT];
};

/* NOMEM. Ends with done. */
enum sf_err sf_redact_pass_init(struct sf_redact_pass *p, const struct sf_redactor *r,
                                struct sf_arena *req, const struct sf_redact_watch *watch,
                                struct sf_why *why);
/* LIMIT: the arena was full, and nothing of this pass may be used. */
enum sf_err sf_redact_pass_done(struct sf_redact_pass *p, struct sf_why *why);

/* Each is true when it changed what it was given. `place` is passed to the watcher. */
bool sf_redact_pass_name(struct sf_redact_pass *p, const char *place, sf_str *name);
bool sf_redact_pass_free_text(struct sf_redact_pass *p, const char *place, sf_str *text);
bool sf_redact_pass_code(struct sf_redact_pass *p, const char *place, enum sf_redact_code code,
                         sf_str *text);
bool sf_redact_pass_attrs(struct sf_redact_pass *p, const char *place, struct sf_attrs *attrs);
/* A list's own copy, made at the first change. NULL: the arena is full. */
void *sf_redact_pass_own_list(struct sf_redact_pass *p, void **copy, const void *list, size_t n,
                              size_t size);

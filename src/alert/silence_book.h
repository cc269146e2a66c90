/* silence_book.h - alerts whose notifications are suppressed for a while, selected by labels.
 *
 * As in Alertmanager, a silence has matchers, all of which must match, a start and an end. Does not
 * use the clock or files; one thread at a time. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "regex/regex.h"
#include "wire/json_write.h"

struct sf_silence_matcher {
    sf_str name, value;
    bool is_regex, is_not;
    struct sf_regex *re; /* owned */
};

struct sf_silence {
    char id[17];
    sf_str tenant, comment, by; /* in `block` */
    struct sf_silence_matcher matchers[SF_LIMIT_SILENCE_MATCHERS];
    size_t n_matchers;
    int64_t created_ns, start_ns, end_ns;
    char *block; /* one allocation for all texts; owned */
};

struct sf_silence_book {
    struct sf_silence *list;
    size_t n, cap;
    struct sf_regex_scratch *regex;
    const struct sf_redactor *redactor; /* applied to added texts; NULL: they are stored
                                         * unchanged */
    uint64_t n_redacted;
};

void sf_silence_book_done(struct sf_silence_book *b);
/* Adds a silence from JSON: {"matchers": [{"name", "value", "isRegex", "isEqual"}], "startsAt",
 * "endsAt" or "duration", "comment", "createdBy"}. INPUT, LIMIT, NOMEM. `out` is borrowed until the
 * next change. */
enum sf_err sf_silence_book_add(struct sf_silence_book *b, sf_str json, sf_str tenant,
                                int64_t now_ns, struct sf_silence **out, struct sf_why *why);
/* Ends a silence now; `*out_end_ns` is its previous end. NOT_FOUND. */
enum sf_err sf_silence_book_expire(struct sf_silence_book *b, sf_str id, sf_str tenant,
                                   int64_t now_ns, int64_t *out_end_ns, struct sf_why *why);
/* Reverts a change whose file could not be written. An unknown id is ignored. */
void sf_silence_book_set_end(struct sf_silence_book *b, sf_str id, int64_t end_ns);
void sf_silence_book_remove(struct sf_silence_book *b, const char *id);
/* Removes those that ended before `before_ns`. */
void sf_silence_book_tidy(struct sf_silence_book *b, int64_t before_ns);
/* The silence that matches an alert's labels (members of a JSON object) at that time, or NULL. */
const struct sf_silence *sf_silence_book_find(struct sf_silence_book *b, sf_str tenant,
                                              sf_str labels, int64_t at_ns);
/* Writes a silence with its state at `now_ns`: pending, active, expired. */
void sf_silence_book_json(const struct sf_silence *s, int64_t now_ns, struct sf_json_writer *j);

/* Writes and reads a file of lines whose first is a checksum. CORRUPT. */
void sf_silence_book_write(const struct sf_silence_book *b, struct sf_buf *out);
enum sf_err sf_silence_book_read(struct sf_silence_book *b, sf_str text, struct sf_why *why);

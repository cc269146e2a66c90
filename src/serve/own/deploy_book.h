/* deploy_book.h - posted deploys: version, service and time.
 *
 * Does not use the clock or files; one thread at a time. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"

struct sf_deploy {
    char id[17];
    sf_str tenant, service, version, commit, environment, comment, url; /* in `block` */
    int64_t time_ns;
    char *block; /* one allocation for all texts; owned */
};

struct sf_deploy_book { /* sorted by time, oldest first */
    struct sf_deploy *list;
    size_t n;
    const struct sf_redactor *redactor; /* applied to added texts; NULL: they are stored
                                         * unchanged */
    uint64_t n_redacted;
};

void sf_deploy_book_done(struct sf_deploy_book *b);
/* Adds a deploy from JSON: {"service", "version", "commit", "environment", "comment", "url",
 * "time"}. INPUT, LIMIT, NOMEM. `out` is borrowed until the next change. The book may then hold one
 * deploy too many, which is no longer written to the file and is removed by the next change or by
 * sf_deploy_book_tidy(): until the file is written, an addition can be reverted without loss. */
enum sf_err sf_deploy_book_add(struct sf_deploy_book *b, sf_str json, sf_str tenant, int64_t now_ns,
                               const struct sf_deploy **out, struct sf_why *why);
/* Above the limit, removes the oldest deploy of the tenant with the most. */
void sf_deploy_book_tidy(struct sf_deploy_book *b);
void sf_deploy_book_remove(struct sf_deploy_book *b, const char *id); /* none is fine */
/* Writes and reads a file of lines whose first is a checksum. CORRUPT: nothing was read. */
void sf_deploy_book_write(const struct sf_deploy_book *b, struct sf_buf *out);
enum sf_err sf_deploy_book_read(struct sf_deploy_book *b, sf_str text, struct sf_why *why);

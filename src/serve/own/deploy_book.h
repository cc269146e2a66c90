/* deploy_book.h - posted deploys: version, service and time.
 *
 * Knows no clock and no file; one thread at a time. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"

struct sf_deploy {
    char id[17];
    sf_str tenant, service, version, commit, environment, comment, url; /* of `block` */
    int64_t time_ns;
    char *block; /* owned: all texts */
};

struct sf_deploy_book { /* by time, oldest first */
    struct sf_deploy *list;
    size_t n;
    const struct sf_redactor *redactor; /* of what is added; NULL: texts stay as they are */
    uint64_t n_redacted;
};

void sf_deploy_book_done(struct sf_deploy_book *b);
/* One from JSON: {"service", "version", "commit", "environment", "comment", "url", "time"}. INPUT,
 * LIMIT, NOMEM. `out` is borrowed until the next change. With it there may be one too many, which
 * is in no file any more and goes with the next change or when the book is tidied: until the file
 * is written, an addition can be reverted and nothing is lost. */
enum sf_err sf_deploy_book_add(struct sf_deploy_book *b, sf_str json, sf_str tenant, int64_t now_ns,
                               const struct sf_deploy **out, struct sf_why *why);
/* Of those that are too many, the oldest of the tenant that has most goes. */
void sf_deploy_book_tidy(struct sf_deploy_book *b);
void sf_deploy_book_remove(struct sf_deploy_book *b, const char *id); /* none is fine */
/* As a file of lines whose first is a checksum. CORRUPT: nothing is taken. */
void sf_deploy_book_write(const struct sf_deploy_book *b, struct sf_buf *out);
enum sf_err sf_deploy_book_read(struct sf_deploy_book *b, sf_str text, struct sf_why *why);

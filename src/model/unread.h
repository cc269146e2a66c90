/* unread.h - parts of what is kept that a query could not read.
 *
 * A damaged block, a shard that did not answer: the query continues without them, and its answer
 * reports it. One list for all store calls of a request; it only grows. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SF_UNREAD_PARTS = 8 }; /* listed individually; further ones are counted */

struct sf_unread {
    uint64_t parts[SF_UNREAD_PARTS];
    uint32_t n;
    bool has_more;
    char first[64]; /* what the first one is, and what is wrong with it */
};

/* `part` is the part's number, so that each counts once however often it is met; `what` a clause
 * such as "block 17 is damaged". `m` NULL: nothing happens. */
void sf_unread_add(struct sf_unread *m, uint64_t part, const char *what);
void sf_unread_join(struct sf_unread *m, const struct sf_unread *other); /* `m` may be NULL */
/* A message for the caller; empty when nothing is missing. */
void sf_unread_say(const struct sf_unread *m, char *out, size_t cap);

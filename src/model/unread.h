/* unread.h - stored data that a query could not read.
 *
 * With a damaged block, or a shard that did not answer, the query continues without it, and its
 * answer says so. One list for all store calls of a request; entries are only added. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SF_UNREAD_PARTS = 8 }; /* listed individually; further ones are counted */

struct sf_unread {
    uint64_t parts[SF_UNREAD_PARTS];
    uint32_t n;
    bool has_more;
    bool is_away;   /* a part may be readable later: a shard did not answer */
    char first[64]; /* description of the first one, and its error */
};

/* `part` is the part's number, so that each is counted once; `what` is a clause such as "block 17
 * is damaged". `m` may be NULL. */
void sf_unread_add(struct sf_unread *m, uint64_t part, const char *what);
/* The same for a part that may be readable later. */
void sf_unread_add_away(struct sf_unread *m, uint64_t part, const char *what);
void sf_unread_join(struct sf_unread *m, const struct sf_unread *other); /* `m` may be NULL */
/* A message for the caller; empty when nothing is missing. */
void sf_unread_say(const struct sf_unread *m, char *out, size_t cap);

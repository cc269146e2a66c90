/* watch_feed.h - what the built-in alerts know of the services of one tenant: sums of each minute,
 * read once from the store.
 *
 * A minute is read when it has been over for a minute. What was missed is read one minute after the
 * other, at the start the last 26 hours, so that a restart loses nothing important. One thread
 * at a time. */
#pragma once
#include "alert/alert_eval.h"
#include "link/service_watch.h"

struct sf_watched { /* a service */
    char *name;
    char *operations[SF_LIMIT_WATCH_OPERATIONS]; /* names of requests; NULL: free */
    struct sf_service_watch watch;
    uint64_t versions[SF_LIMIT_WATCH_OPERATIONS];          /* hashes of those seen; 0: free */
    int64_t first_minute, last_minute;                     /* with anything of it */
    int64_t deploy_minute;                                 /* of its newest version; 0: none came */
    char *new_function;                                    /* since that; NULL: none */
    double new_share;                                      /* of it */
    char *said[SF_WATCH_KINDS][SF_LIMIT_WATCH_OPERATIONS]; /* why, of each alarm, made once */
};

struct sf_watch {
    char *tenant;
    int64_t next_minute; /* to read; 0: not begun */
    struct sf_watched *services[SF_LIMIT_WATCH_SERVICES];
    size_t n;
    uint64_t n_dropped;      /* services above the limit, counted in each minute */
    struct sf_unread unread; /* what could not be read, */
    int64_t unread_minute;   /* and the last minute that was left out for it; 0: none */
};

struct sf_watch *sf_watch_feed_new(sf_str tenant); /* NULL: no memory */
void sf_watch_feed_free(struct sf_watch *w);       /* NULL is fine */
/* Reads the minutes that are over. *out_is_behind: some are left for the next time. */
enum sf_err sf_watch_feed_catch_up(struct sf_watch *w, const struct sf_alert_ask *ask,
                                   struct sf_query_ctx *q, bool *out_is_behind, struct sf_why *why);
/* Texts of a service: no query's memory. */
char *sf_watch_feed_keep_text(sf_str s);
void sf_watch_feed_drop_text(char **p);
/* Which kind of cost a type of profiles is; SF_WATCH_KINDS: none of them. */
enum sf_watch_kind sf_watch_feed_kind_of_type(const struct sf_profile_type *type);
/* A CPU limit in processors, as Kubernetes writes it, too: "2", "0.5", "500m". 0: it is none. */
double sf_watch_feed_cpus(sf_str text);

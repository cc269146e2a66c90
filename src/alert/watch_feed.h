/* watch_feed.h - the input of the built-in alerts for the services of one tenant: sums per minute,
 * read once from the store.
 *
 * A minute is read when it has been over for a minute. Missed minutes are read one after the other,
 * after a start the last 26 hours, so that a restart does not lose the history. One thread at a
 * time. */
#pragma once
#include "alert/alert_eval.h"
#include "link/service_watch.h"

struct sf_watched { /* a service */
    char *name;
    char *operations[SF_LIMIT_WATCH_OPERATIONS]; /* operation names; NULL: free */
    struct sf_service_watch watch;
    uint64_t versions[SF_LIMIT_WATCH_OPERATIONS];          /* hashes of the versions seen; 0:
                                                            * free */
    int64_t first_minute, last_minute;                     /* minutes with data of the service */
    int64_t deploy_minute;                                 /* minute of its newest version; 0: no
                                                            * deploy seen */
    char *new_function;                                    /* function that is new since the deploy;
                                                            * NULL: none */
    double new_share;                                      /* its share */
    char *said[SF_WATCH_KINDS][SF_LIMIT_WATCH_OPERATIONS]; /* explanation of each alarm, written
                                                            * once */
};

struct sf_watch {
    char *tenant;
    int64_t next_minute; /* next minute to read; 0: not begun */
    struct sf_watched *services[SF_LIMIT_WATCH_SERVICES];
    size_t n;
    uint64_t n_dropped;      /* services above the limit, counted in each minute */
    struct sf_unread unread; /* data that could not be read */
    int64_t unread_minute;   /* last minute left out because of that; 0: none */
};

struct sf_watch *sf_watch_feed_new(sf_str tenant); /* NULL: no memory */
void sf_watch_feed_free(struct sf_watch *w);       /* NULL is fine */
/* Reads the minutes that have ended. *out_is_behind: some are left for the next call. */
enum sf_err sf_watch_feed_catch_up(struct sf_watch *w, const struct sf_alert_ask *ask,
                                   struct sf_query_ctx *q, bool *out_is_behind, struct sf_why *why);
/* Copies a text of a service; not charged to the query. */
char *sf_watch_feed_keep_text(sf_str s);
void sf_watch_feed_drop_text(char **p);
/* The kind of cost that a profile type measures; SF_WATCH_KINDS: none. */
enum sf_watch_kind sf_watch_feed_kind_of_type(const struct sf_profile_type *type);
/* A CPU limit in CPUs, also in the notation of Kubernetes: "2", "0.5", "500m". 0: not a limit. */
double sf_watch_feed_cpus(sf_str text);

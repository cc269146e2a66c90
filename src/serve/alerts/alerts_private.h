/* alerts_private.h - what alerts.c and alert_calls.c share. */
#pragma once
#include "alert/alert_book.h"
#include "alert/alert_history.h"
#include "alert/silence_book.h"
#include "alert/watch_feed.h"
#include "os/thread.h"
#include "serve/alerts/alert_delivery.h"
#include "serve/alerts/alerts.h"
#include "serve/fleet_text.h"

struct sf_alert_health { /* of one rule; listed in the order of the rules */
    int64_t last_ns;     /* time of the last evaluation; 0: none yet */
    int64_t took_ns;
    struct sf_why why; /* error of the last evaluation; empty: none */
    double value;      /* measured value; NAN: none, or several */
    bool is_partial;   /* evaluated with incomplete data; `why` says what could not be read */
};

/* Replaces this node's silences by the fleet's if those are newer. The caller holds silence_file.
 * Does nothing on a single server. */
enum sf_err sf_alerts_pull_silences(struct sf_alerts *a, struct sf_service *s, struct sf_why *why);
/* Writes the fleet's silences and the file of silences. The caller holds silence_file. */
enum sf_err sf_alerts_save_silences(struct sf_alerts *a, struct sf_service *s,
                                    const struct sf_buf *text, struct sf_why *why);

struct sf_alerts {
    struct sf_dir *dir;
    struct sf_alert_delivery *delivery; /* used by the delivering thread only */
    int64_t started_ns;                 /* wall clock of the first run; 0: not yet */
    /* In a fleet; used by the evaluating thread only: */
    struct sf_fleet_text fleet_book, fleet_history;
    int64_t asked_ns;                    /* monotonic: last request for the lease */
    int64_t silences_asked_ns;           /* monotonic: last read of the fleet's silences */
    struct sf_mutex silence_file;        /* one change of the silences at a time */
    struct sf_fleet_text fleet_silences; /* guarded by silence_file */
    struct sf_mutex lock;                /* guards what follows; no other lock is taken while it is
                                          * held */
    bool is_ours; /* this node evaluates and notifies: it holds the lease, or there is no fleet */
    struct sf_alert_rules *rules, *next; /* only the thread that evaluates changes `rules` */
    struct sf_alert_book book;           /* likewise */
    struct sf_alert_health *health;      /* SF_LIMIT_ALERT_RULES */
    struct sf_silence_book silences;     /* changed by the thread of control calls */
    struct sf_alert_history history;     /* only the thread that evaluates changes it */
    struct sf_watch *watches[SF_LIMIT_WATCH_TENANTS]; /* only the thread that evaluates adds */
    size_t n_watches, next_watch;                     /* next_watch: the first one of the next
                                                       * pass */
    struct sf_alert_health each_health[SF_LIMIT_WATCH_TENANTS][SF_WATCH_KINDS];
    uint64_t n_unwatched_tenants;
    uint64_t n_evaluations, n_failed, n_sent, n_send_failed, n_pinned, n_captured, n_unwatched;
    uint64_t n_partial; /* evaluations with incomplete data */
};

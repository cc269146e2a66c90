/* control.h - settings for collectors and their state: documents, waiting polls, collectors,
 * captures.
 *
 * A poll for which nothing has changed is parked: it holds a connection and some memory, but no
 * thread. One thread answers parked polls when something changes for them or their time is over,
 * and captures when their collectors are done. */
#pragma once
#include "serve/call.h"
#include "serve/own/control_set.h"

struct sf_control;

struct sf_collector { /* a collector's state, from its last poll */
    struct sf_control_target who;
    char host[65], agent[65]; /* agent: "spanflame-c/1.0" */
    char problem[161];
    char version[17];          /* of the settings it has applied; empty: none yet */
    uint32_t pid, rate_hz;     /* rate 0: it does not sample */
    uint32_t cost_per_1000000; /* overhead, as a share of the process's CPU time */
    bool has_cost;             /* it reported its cost */
    bool is_paused;
    int64_t seen_ms, first_ms; /* unix */
    bool is_waiting;           /* its poll is parked now */
};

struct sf_capture { /* a request for a profile of some seconds */
    uint64_t id;
    struct sf_control_target target;
    char types[64]; /* "cpu,wall" */
    uint32_t rate_hz, seconds;
    int64_t begin_ms, deadline_ms; /* unix */
    int64_t from_ns, until_ns;     /* by the collectors' clocks; 0: no collector is done */
    uint32_t n_collectors, n_done;
};

enum sf_err sf_control_open(struct sf_dir *dir, struct sf_service *service, struct sf_control **out,
                            char notice[240], struct sf_why *why);
/* Answers all parked calls and parks no more; to be called before the listener drains. */
void sf_control_stop(struct sf_control *c);
void sf_control_close(struct sf_control *c); /* NULL is fine */

/* ---- documents: any thread ---- */

/* Replaces the documents by the fleet's if those are newer; does nothing on a single server. */
void sf_control_sync(struct sf_control *c);
/* Changes the document (NULL: deletes it if `is_whole`, else only logs `change`, a capture), writes
 * the file, and wakes polls. `is_whole`: replaces the document; else members missing in `doc` keep
 * their values. */
enum sf_err sf_control_change(struct sf_control *c, const struct sf_control_change *change,
                              const struct sf_control_doc *doc, bool is_whole, struct sf_why *why);
/* Runs under the lock, so that the visitor sees a consistent state. */
void sf_control_visit(struct sf_control *c,
                      void (*look)(void *arg, const struct sf_control_set *set,
                                   const struct sf_collector *list, size_t n),
                      void *arg);

/* ---- polls ---- */

/* Writes the settings of a collector as lines, and their version. */
void sf_control_tell(struct sf_control *c, const struct sf_control_target *who, struct sf_buf *out,
                     char version[17]);
void sf_control_note_collector(struct sf_control *c, const struct sf_collector *seen,
                               sf_str capture_done, int64_t from_ns, int64_t until_ns);
/* True: parked, and answered later. False: too many are parked, or the server stops. */
bool sf_control_park(struct sf_control *c, struct sf_call *call,
                     const struct sf_control_target *who, const char *version, int64_t deadline_ns);

/* ---- captures ---- */

/* NOT_FOUND: no collector of that target polls. BUSY: too many captures are running. */
enum sf_err sf_control_capture(struct sf_control *c, struct sf_capture *io, struct sf_why *why);
bool sf_control_capture_find(struct sf_control *c, uint64_t id, struct sf_capture *out);
/* Gives the call to a query thread when the capture is done or timed out. */
bool sf_control_capture_wait(struct sf_control *c, uint64_t id, struct sf_call *call);

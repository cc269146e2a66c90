/* control.h - settings for collectors and their state: documents, waiting polls, collectors,
 * captures.
 *
 * A poll without news is parked: it holds a connection and some bytes, and no thread.
 * One thread answers parked polls when something changes for them or their time is over, and
 * captures when their collectors are done. */
#pragma once
#include "serve/call.h"
#include "serve/own/control_set.h"

struct sf_control;

struct sf_collector { /* from its last poll */
    struct sf_control_target who;
    char host[65], agent[65]; /* agent: "spanflame-c/1.0" */
    char problem[161];
    char version[17];          /* of what it has applied; empty: nothing yet */
    uint32_t pid, rate_hz;     /* rate 0: nothing is sampled */
    uint32_t cost_per_1000000; /* of the process's CPU time */
    bool has_cost;             /* it told */
    bool is_paused;
    int64_t seen_ms, first_ms; /* unix */
    bool is_waiting;           /* its poll waits now */
};

struct sf_capture { /* samples taken on request */
    uint64_t id;
    struct sf_control_target target;
    char types[64]; /* "cpu,wall" */
    uint32_t rate_hz, seconds;
    int64_t begin_ms, deadline_ms; /* unix */
    int64_t from_ns, until_ns;     /* by the collectors' clocks; 0: none is done */
    uint32_t n_collectors, n_done;
};

enum sf_err sf_control_open(struct sf_dir *dir, struct sf_service *service, struct sf_control **out,
                            char notice[240], struct sf_why *why);
/* All parked calls are answered and none is parked any more; before the listener drains. */
void sf_control_stop(struct sf_control *c);
void sf_control_close(struct sf_control *c); /* NULL is fine */

/* ---- documents: any thread ---- */

/* Changes the document (NULL: deletes it), writes the file, and wakes polls. `is_whole`: replaces
 * it; else what `doc` does not say stays. */
enum sf_err sf_control_change(struct sf_control *c, const struct sf_control_change *change,
                              const struct sf_control_doc *doc, bool is_whole, struct sf_why *why);
/* Under its lock, so that what it sees holds together. */
void sf_control_visit(struct sf_control *c,
                      void (*look)(void *arg, const struct sf_control_set *set,
                                   const struct sf_collector *list, size_t n),
                      void *arg);

/* ---- polls ---- */

/* What a collector is to do, as lines, and the version of that. */
void sf_control_tell(struct sf_control *c, const struct sf_control_target *who, struct sf_buf *out,
                     char version[17]);
void sf_control_note_collector(struct sf_control *c, const struct sf_collector *seen,
                               sf_str capture_done, int64_t from_ns, int64_t until_ns);
/* True: parked, and answered later. False: too many are, or the server stops. */
bool sf_control_park(struct sf_control *c, struct sf_call *call,
                     const struct sf_control_target *who, const char *version, int64_t deadline_ns);

/* ---- captures ---- */

/* NOT_FOUND: no collector of that target polls. BUSY: too many are under way. */
enum sf_err sf_control_capture(struct sf_control *c, struct sf_capture *io, struct sf_why *why);
bool sf_control_capture_find(struct sf_control *c, uint64_t id, struct sf_capture *out);
/* Gives the call to a query thread when the capture is done or its time is over. */
bool sf_control_capture_wait(struct sf_control *c, uint64_t id, struct sf_call *call);

/* self_profile.h - profiles of the server itself, at the paths that Go programs use: /debug/pprof/.
 *
 * One at a time. A profile takes the requested time, so it runs on a thread of its own, which ends
 * early when the client disconnects or the server stops. */
#pragma once
#include "os/thread.h"

struct sf_call;
struct sf_worker;

struct sf_self_profile {
    struct sf_mutex mutex; /* guards is_busy; no other lock is taken while it is held */
    bool is_busy;
    struct sf_thread thread; /* of the last profile; it and all below belong to the call that set
                              * is_busy */
    struct sf_call *call;    /* used by the thread while is_busy */
    int64_t length_ns;       /* likewise; 0: a heap profile */
    unsigned rate_hz;        /* likewise */
};

void sf_self_profile_init(struct sf_self_profile *p);
/* Waits until the thread ends, which it does when the service stops. May be called twice. */
void sf_self_profile_join(struct sf_self_profile *p);
void sf_self_profile_done(struct sf_self_profile *p);

/* GET /debug/pprof/profile?seconds=30&rate=100 and /debug/pprof/heap. */
bool sf_self_profile_cpu(struct sf_call *call, struct sf_worker *worker);
bool sf_self_profile_heap(struct sf_call *call, struct sf_worker *worker);

/* self_profile.h - the server's own profiles, as Go's programs have them: /debug/pprof/.
 *
 * One at a time. A profile takes as long as it was requested, so it has a thread of its own, which
 * ends early when the caller goes away or the server stops. */
#pragma once
#include "os/thread.h"

struct sf_call;
struct sf_worker;

struct sf_self_profile {
    struct sf_mutex mutex; /* guards is_busy; takes nothing */
    bool is_busy;
    struct sf_thread thread; /* the last one; of the call that set is_busy, like all below */
    struct sf_call *call;    /* the thread's, while it is busy */
    int64_t length_ns;       /* likewise; 0: memory */
    unsigned rate_hz;        /* likewise */
};

void sf_self_profile_init(struct sf_self_profile *p);
/* Waits until the thread ends, which it does when the service stops. May be called twice. */
void sf_self_profile_join(struct sf_self_profile *p);
void sf_self_profile_done(struct sf_self_profile *p);

/* GET /debug/pprof/profile?seconds=30&rate=100 and /debug/pprof/heap. */
bool sf_self_profile_cpu(struct sf_call *call, struct sf_worker *worker);
bool sf_self_profile_heap(struct sf_call *call, struct sf_worker *worker);

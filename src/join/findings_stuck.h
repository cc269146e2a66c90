/* findings_stuck.h - threads or goroutines of a service that are stuck on one lock.
 *
 * Profiles of goroutines and threads say how many of them are where. When in each of the last five
 * of a process at least four wait for a mutex in one function, they are stuck, or the lock is
 * always taken: profiles of counts do not tell which. Waits for conditions, channels and queues are
 * no locks here: workers without work wait so. */
#pragma once
#include "join/findings_requests.h"

struct sf_stuck_finding {
    struct sf_finding finding; /* value: the fewest that waited in one of the profiles */
    bool is_found;
};

/* Of a service's profiles in the time; `list` are its series. In q->req. */
enum sf_err sf_findings_stuck(struct sf_store *store, const struct sf_requests_want *want,
                              const struct sf_prof_list *list, struct sf_query_ctx *q,
                              struct sf_stuck_finding *out, struct sf_why *why);

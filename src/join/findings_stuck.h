/* findings_stuck.h - finds threads or goroutines of a service that are stuck on one lock.
 *
 * Profiles of goroutines and threads count how many of them are where. If in each of the last five
 * profiles of a process at least four wait for a mutex in one function, they are stuck, or the lock
 * is always taken: such profiles do not tell which. Waits for conditions, channels and queues are
 * not counted: idle workers wait like that. */
#pragma once
#include "join/findings_requests.h"

struct sf_stuck_finding {
    /* Value: the smallest number of waiting threads in one of the profiles. */
    struct sf_finding finding;
    bool is_found;
};

/* For a service's profiles in the time range; `list` are its series. In q->req. */
enum sf_err sf_findings_stuck(struct sf_store *store, const struct sf_requests_want *want,
                              const struct sf_prof_list *list, struct sf_query_ctx *q,
                              struct sf_stuck_finding *out, struct sf_why *why);

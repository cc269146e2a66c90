/* series_cap.h - limits the number of label sets of a service.
 *
 * Labels come from the sender: one that contains a request id would make every profile a separate
 * series. A service may send `max` distinct sets per hour. Beyond that, new values become "other";
 * if the set is still new, all its values do. No samples are lost, and the caller counts the
 * changed sets. Any thread. */
#pragma once
#include "base/arena.h"
#include "model/profile.h"

struct sf_series_cap;

struct sf_series_cap *sf_series_cap_new(uint32_t max); /* 0: SF_LIMIT_SERIES; NULL: no memory */
void sf_series_cap_free(struct sf_series_cap *c);      /* NULL is fine */

/* Limits that override the default. */
struct sf_series_limits {
    uint32_t of_service; /* 0: the cap's */
    uint32_t of_tenant;  /* for all its services together; 0: none */
};

enum sf_series_verdict {
    SF_SERIES_TAKEN,
    SF_SERIES_FOLDED,  /* with labels of its own in `req` */
    SF_SERIES_REFUSED, /* the tenant has reached its limit, and this service is new */
    SF_SERIES_NO_ROOM  /* `req` is full */
};

enum sf_series_verdict sf_series_cap_admit(struct sf_series_cap *c, uint32_t tenant,
                                           struct sf_series *s, struct sf_series_limits limits,
                                           int64_t now_ns, struct sf_arena *req);
/* Seconds until the counts are reset, at least 1. */
unsigned sf_series_cap_wait_s(struct sf_series_cap *c, int64_t now_ns);

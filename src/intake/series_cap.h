/* series_cap.h - how many label sets a service may have.
 *
 * Labels are the sender's: one that holds a request's id would make every profile a series of its
 * own. A service may bring `max` distinct sets in an hour. Beyond that, values that were not seen
 * before become "other"; when the set is new even so, all its values do. Nothing vanishes: the
 * samples stay, and the caller counts what was folded. Any thread. */
#pragma once
#include "base/arena.h"
#include "model/profile.h"

struct sf_series_cap;

struct sf_series_cap *sf_series_cap_new(uint32_t max); /* 0: SF_LIMIT_SERIES; NULL: no memory */
void sf_series_cap_free(struct sf_series_cap *c);      /* NULL is fine */

/* Other limits than the cap's own. */
struct sf_series_limits {
    uint32_t of_service; /* 0: the cap's */
    uint32_t of_tenant;  /* of all its services together; 0: none */
};

enum sf_series_verdict {
    SF_SERIES_TAKEN,
    SF_SERIES_FOLDED,  /* with labels of its own in `req` */
    SF_SERIES_REFUSED, /* the tenant has enough, and this service is new */
    SF_SERIES_NO_ROOM  /* `req` is full */
};

enum sf_series_verdict sf_series_cap_admit(struct sf_series_cap *c, uint32_t tenant,
                                           struct sf_series *s, struct sf_series_limits limits,
                                           int64_t now_ns, struct sf_arena *req);
/* Seconds until sets are counted again, at least 1. */
unsigned sf_series_cap_wait_s(struct sf_series_cap *c, int64_t now_ns);

/* findings_growth.h - finds resources that a service holds more and more of: memory in use,
 * goroutines or threads.
 *
 * A line is fitted through the profiles of each process by least squares, with a 95 % interval.
 * Neighbours in time are correlated (a heap between two collections), so the interval is computed
 * with the effective number of independent points. Growth is reported if the whole interval is
 * above zero and the growth is at least a fifth. */
#pragma once
#include "join/findings_requests.h"

enum { SF_GROWTH_KINDS = 2 };

struct sf_growth_finding {
    struct sf_finding finding;
    sf_str unit;
    double per_hour, low, high;
};

struct sf_growth_findings {
    struct sf_growth_finding items[SF_GROWTH_KINDS];
    uint32_t n;
};

/* For a service's profiles in the time range; `list` are its series. In q->req. */
enum sf_err sf_findings_growth(struct sf_store *store, const struct sf_requests_want *want,
                               const struct sf_prof_list *list, struct sf_query_ctx *q,
                               struct sf_growth_findings *out, struct sf_why *why);

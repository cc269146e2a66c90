#include "store/local/read/pace.h"

#include "base/time_unit.h"

enum { SPENT_PART = 4, TIMES_OVER = 4 };

static double need_ns(const struct sf_pace *p, int64_t now_ns)
{
    double left = p->n_all > p->n_done ? (double)(p->n_all - p->n_done) : 0;
    return (double)(now_ns - p->began_ns) * left / (double)p->n_done;
}

bool sf_pace_is_hopeless(const struct sf_pace *p, int64_t now_ns, int64_t deadline_ns)
{
    int64_t left_ns = deadline_ns - now_ns, spent_ns = now_ns - p->began_ns;
    if (!deadline_ns || !p->n_done || left_ns <= 0 || spent_ns < (spent_ns + left_ns) / SPENT_PART)
        return false;
    return need_ns(p, now_ns) > (double)TIMES_OVER * (double)left_ns;
}

enum sf_err sf_pace_fail(const struct sf_pace *p, int64_t now_ns, int64_t deadline_ns,
                         struct sf_why *why)
{
    return sf_fail(why, SF_ERR_DEADLINE,
                   "query: would take too long; narrow the time range (it has read %.1f%% of "
                   "the data, needs about %.0f s more and has %.0f s)",
                   100.0 * (double)p->n_done / (double)p->n_all,
                   need_ns(p, now_ns) / (double)SF_NS_PER_S,
                   (double)(deadline_ns - now_ns) / (double)SF_NS_PER_S);
}

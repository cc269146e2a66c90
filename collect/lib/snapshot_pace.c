#include "collect/lib/snapshot_pace.h"

#define PART      0.25 /* of the budget */
#define IDLE_CPUS 0.1  /* a program that uses less is treated as using this much of a CPU */

bool sf_snapshot_pace_is_due(const struct sf_snapshot_pace *p, uint32_t budget_per_10000,
                             int64_t time_ns, uint64_t process_ns)
{
    double used_ns = (double)(process_ns - p->process_ns);
    double idle_ns = (double)(time_ns - p->time_ns) * IDLE_CPUS;
    double earned_ns = (used_ns > idle_ns ? used_ns : idle_ns) * budget_per_10000 / 10000 * PART;
    return (double)p->cost_ns <= earned_ns;
}

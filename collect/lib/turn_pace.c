#include "collect/lib/turn_pace.h"

enum { PARTS = 400 };  /* a turn may cost 1/400 of the CPU time until the next */
#define LEAST_CPUS 0.1 /* a program that sleeps is treated as if it used this much of a CPU */

int64_t sf_turn_pace(struct sf_turn_pace *p, int64_t time_ns, int64_t process_ns, int64_t cost_ns)
{
    double cpus = p->time_ns && time_ns > p->time_ns
                      ? (double)(process_ns - p->process_ns) / (double)(time_ns - p->time_ns)
                      : 1;
    double wait_ns;
    p->cost_ns = p->time_ns ? (3 * p->cost_ns + cost_ns) / 4 : cost_ns;
    p->time_ns = time_ns;
    p->process_ns = process_ns;
    wait_ns = (double)p->cost_ns * PARTS / (cpus > LEAST_CPUS ? cpus : LEAST_CPUS);
    return wait_ns < SF_TURN_NS        ? SF_TURN_NS
           : wait_ns > SF_TURN_MOST_NS ? SF_TURN_MOST_NS
                                       : (int64_t)wait_ns;
}

#include "collect/send/retry.h"

#include "base/time_unit.h"
#include "collect/sys/clock.h"

enum { MOST_S = 30, GIVE_UP_S = 300 };

void sf_retry_begin(struct sf_retry *r, int64_t now_ns)
{
    *r = (struct sf_retry){.begin_ns = now_ns};
}

bool sf_retry_next(struct sf_retry *r, int64_t now_ns, int64_t *out_pause_ns)
{
    int64_t pause_ns = SF_NS_PER_S << (r->n < 5 ? r->n : 5);
    uint64_t chance;

    if (now_ns - r->begin_ns > GIVE_UP_S * SF_NS_PER_S)
        return false;
    r->n++;
    if (pause_ns > MOST_S * SF_NS_PER_S)
        pause_ns = MOST_S * SF_NS_PER_S;
    sf_clock_random_fill(&chance, sizeof(chance));
    pause_ns = pause_ns / 2 + (int64_t)(chance % (uint64_t)(pause_ns / 2));
    if (r->after_s)
        pause_ns = r->after_s * SF_NS_PER_S + (int64_t)(chance % (uint64_t)(SF_NS_PER_S / 4));
    *out_pause_ns = pause_ns;
    return true;
}

bool sf_retry_is_status(int status)
{
    return status == 429 || status == 502 || status == 503 || status == 504;
}

#include "collect/send/retry.h"

#include "collect/sys/clock.h"

#define SECOND_NS ((int64_t)1000000000)

enum { MOST_S = 30, GIVE_UP_S = 300 };

void sf_retry_begin(struct sf_retry *r, int64_t now_ns)
{
    *r = (struct sf_retry){.begin_ns = now_ns};
}

bool sf_retry_next(struct sf_retry *r, int64_t now_ns, int64_t *out_pause_ns)
{
    int64_t pause_ns = SECOND_NS << (r->n < 5 ? r->n : 5);
    uint64_t chance;

    if (now_ns - r->begin_ns > GIVE_UP_S * SECOND_NS)
        return false;
    r->n++;
    if (pause_ns > MOST_S * SECOND_NS)
        pause_ns = MOST_S * SECOND_NS;
    sf_chance_fill(&chance, sizeof(chance));
    pause_ns = pause_ns / 2 + (int64_t)(chance % (uint64_t)(pause_ns / 2));
    if (r->after_s)
        pause_ns = r->after_s * SECOND_NS + (int64_t)(chance % (uint64_t)(SECOND_NS / 4));
    *out_pause_ns = pause_ns;
    return true;
}

bool sf_retry_is_status(int status)
{
    return status == 429 || status == 502 || status == 503 || status == 504;
}

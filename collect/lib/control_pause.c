#include "collect/lib/control_pause.h"

#include "base/time_unit.h"

#define SILENT_NS (10 * SF_NS_PER_MIN)
enum {
    HASTY_MS = 500,
    PATIENT_MS = 4000,
    SLOW_MS = 30000,
    SLOW_AFTER_S = 300,
    MOST_RETRY_S = 3600
};

static void be_patient(struct sf_control_pause *p, int64_t now_ns)
{
    int64_t most = PATIENT_MS;
    if (!p->failing_ns)
        p->failing_ns = now_ns;
    if (now_ns - p->failing_ns > SLOW_AFTER_S * SF_NS_PER_S)
        most = SLOW_MS;
    p->pause_ms = p->pause_ms ? 2 * p->pause_ms : HASTY_MS;
    p->pause_ms = p->pause_ms > most ? most : p->pause_ms;
}

static int64_t half_by_chance(int64_t ns, uint64_t chance)
{
    return ns / 2 + (int64_t)(chance % (uint64_t)(ns / 2));
}

int64_t sf_control_pause(struct sf_control_pause *p, const struct sf_control_heard *h,
                         int64_t now_ns, uint64_t chance)
{
    bool is_answer = (h->status == 200 && h->is_understood) || h->status == 304;
    if (is_answer) {
        *p = (struct sf_control_pause){0};
        /* An immediate answer without changes: the server does not hold the poll open. */
        bool is_at_once = h->status == 304 && h->took_ns < SF_NS_PER_S && !h->is_capturing;
        return half_by_chance(is_at_once ? 5 * SF_NS_PER_S : SF_NS_PER_S / 10, chance);
    }
    if (h->status == 404 || h->status == 405 || h->status == 401 || h->status == 403) {
        *p = (struct sf_control_pause){0};
        return SILENT_NS + (int64_t)(chance % (uint64_t)SF_NS_PER_MIN);
    }
    be_patient(p, now_ns);
    if (h->status && h->retry_after_s > 0)
        return half_by_chance((h->retry_after_s < MOST_RETRY_S ? h->retry_after_s : MOST_RETRY_S) *
                                  SF_NS_PER_S,
                              chance);
    return half_by_chance(p->pause_ms * SF_NS_PER_MS, chance);
}

#include "exec/metrics_window.h"

#include <stddef.h>

#include "base/limits.h"
#include "base/num.h"
#include "base/time_unit.h"
#include "query/expr_text.h"

enum { DEFAULT_STEPS = 240 };

int64_t sf_metrics_window_default_step(int64_t len_ns)
{
    static const int64_t units[] = {SF_NS_PER_HOUR,   5 * SF_NS_PER_MIN, SF_NS_PER_MIN,
                                    15 * SF_NS_PER_S, 5 * SF_NS_PER_S,   SF_NS_PER_S};
    int64_t step_ns = len_ns / DEFAULT_STEPS;
    if (len_ns < SF_NS_PER_MIN) {
        const int64_t unit = SF_NS_PER_S / 20;
        step_ns = (step_ns + unit / 2) / unit * unit;
        return step_ns > 0 ? step_ns : unit;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (step_ns >= units[i])
            return step_ns / units[i] * units[i];
    }
    return SF_NS_PER_S;
}

static enum sf_err check_range(int64_t from_ns, int64_t to_ns, struct sf_why *why)
{
    if (from_ns < 0 || to_ns <= from_ns)
        return sf_fail(why, SF_ERR_INPUT, "end must be greater than start");
    if (to_ns - from_ns > SF_LIMIT_METRICS_RANGE_S * SF_NS_PER_S)
        return sf_fail(why, SF_ERR_INPUT,
                       "metrics query time range exceeds the maximum allowed duration of %dh0m0s",
                       SF_LIMIT_METRICS_RANGE_S / 3600);
    return SF_OK;
}

static enum sf_err refuse_step(int64_t step_ns, int64_t least_ns, struct sf_why *why)
{
    struct sf_buf step = {0}, least = {0};
    enum sf_err err;
    sf_expr_text_duration(step_ns, &step);
    sf_expr_text_duration(least_ns, &least);
    err = sf_fail(why, SF_ERR_INPUT,
                  "step of %.*s is too small, minimum step for given range is %.*s",
                  SF_STR_ARG(sf_buf_str(&step)), SF_STR_ARG(sf_buf_str(&least)));
    sf_buf_done(&step);
    sf_buf_done(&least);
    return err;
}

enum sf_err sf_metrics_window_range(int64_t from_ns, int64_t to_ns, int64_t step_ns,
                                    struct sf_metrics_window *out, struct sf_why *why)
{
    enum sf_err err = check_range(from_ns, to_ns, why);
    int64_t len_ns, first_ns, last_ns;
    if (err)
        return err;
    len_ns = to_ns - from_ns;
    if (step_ns == 0)
        step_ns = sf_metrics_window_default_step(len_ns);
    /* A step longer than any range would only let the edges overflow. */
    if (step_ns <= 0 || step_ns > SF_LIMIT_METRICS_RANGE_S * SF_NS_PER_S)
        return sf_fail(why, SF_ERR_INPUT, "step must be between 1ns and %dh0m0s",
                       SF_LIMIT_METRICS_RANGE_S / 3600);
    if (len_ns / step_ns > SF_LIMIT_METRICS_STEPS)
        return refuse_step(step_ns, (len_ns + SF_LIMIT_METRICS_STEPS - 1) / SF_LIMIT_METRICS_STEPS,
                           why);
    first_ns = from_ns / step_ns * step_ns;
    last_ns = to_ns / step_ns * step_ns;
    if (last_ns < to_ns) {
        if (last_ns > INT64_MAX - step_ns)
            return sf_fail(why, SF_ERR_INPUT, "end is too far in the future");
        last_ns += step_ns;
    }
    *out = (struct sf_metrics_window){
        .from_ns = first_ns - step_ns,
        .to_ns = last_ns,
        .step_ns = step_ns,
        .n_steps = sf_u32((uint64_t)((last_ns - first_ns) / step_ns + 1))};
    return SF_OK;
}

enum sf_err sf_metrics_window_instant(int64_t from_ns, int64_t to_ns, struct sf_metrics_window *out,
                                      struct sf_why *why)
{
    enum sf_err err = check_range(from_ns, to_ns, why);
    if (err)
        return err;
    *out = (struct sf_metrics_window){.from_ns = from_ns,
                                      .to_ns = to_ns,
                                      .step_ns = to_ns - from_ns,
                                      .n_steps = 1,
                                      .is_instant = true};
    return SF_OK;
}

bool sf_metrics_window_place(const struct sf_metrics_window *w, uint64_t start_ns, uint32_t *out)
{
    int64_t at_ns = (int64_t)start_ns;
    if (start_ns > INT64_MAX || at_ns > w->to_ns || at_ns < w->from_ns ||
        (at_ns == w->from_ns && !w->is_instant))
        return false;
    *out = w->is_instant ? 0 : (uint32_t)((at_ns - w->from_ns - 1) / w->step_ns);
    return true;
}

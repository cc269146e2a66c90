#include "link/guard.h"

#include <math.h>

static const double z_99 = 2.5758293035489004; /* two-sided 99 % of the normal distribution */

enum sf_guard_verdict sf_guard_judge(struct sf_guard_measure *m, double max_increase)
{
    if (!m->has_interval)
        m->verdict = SF_GUARD_UNKNOWN;
    else if (m->low > 0 && m->delta > max_increase * m->left)
        m->verdict = SF_GUARD_REGRESSION;
    else
        m->verdict = SF_GUARD_PASS;
    return m->verdict;
}

struct interval {
    double low, high;
};

static struct interval wilson(double n_failed, double n)
{
    double share = n_failed / n, z2 = z_99 * z_99;
    double middle = (share + z2 / (2 * n)) / (1 + z2 / n);
    double half = z_99 * sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n);
    return (struct interval){fmax(0, middle - half), fmin(1, middle + half)};
}

struct sf_guard_measure sf_guard_shares(uint64_t n_left_failed, uint64_t n_left,
                                        uint64_t n_right_failed, uint64_t n_right)
{
    struct sf_guard_measure m = {0};
    if (!n_left || !n_right)
        return m;
    struct interval left = wilson((double)n_left_failed, (double)n_left);
    struct interval right = wilson((double)n_right_failed, (double)n_right);
    m.left = (double)n_left_failed / (double)n_left;
    m.right = (double)n_right_failed / (double)n_right;
    m.delta = m.right - m.left;
    m.low = m.delta - sqrt(pow(m.right - right.low, 2) + pow(left.high - m.left, 2));
    m.high = m.delta + sqrt(pow(right.high - m.right, 2) + pow(m.left - left.low, 2));
    m.has_interval = true;
    return m;
}

struct sf_guard_measure sf_guard_sums(struct sf_guard_sum left, struct sf_guard_sum right, double z)
{
    struct sf_guard_measure m = {
        .left = left.total, .right = right.total, .delta = right.total - left.total};
    /* The variance of a count of n samples is n; if large objects are sampled more often, it is
     * smaller. */
    double half = z * sqrt(left.total * left.period + right.total * right.period);
    m.has_interval = left.period > 0 && right.period > 0 &&
                     left.total >= SF_GUARD_SAMPLES * left.period &&
                     right.total >= SF_GUARD_SAMPLES * right.period;
    if (m.has_interval) {
        m.low = m.delta - half;
        m.high = m.delta + half;
    }
    return m;
}

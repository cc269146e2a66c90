#include "test.h"

#include <math.h>

#include "collect/lib/hook_thread.h"
#include "collect/lib/sample.h"
#include "collect/lib/waits.h"
#include "collect/unwind/modules.h"
#include "spanflame.h"

#define US 1000ull
#define MS 1000000ull

/* Three places that wait, far below and around the means of 2 to 128 ms. */
enum { SITES = 3, ROUNDS = 4000000, STEPS = 7 };
static const uint64_t waited[SITES] = {30 * US, 3 * MS, 40 * MS};
static const enum sf_wait states[SITES] = {SF_WAIT_LOCK, SF_WAIT_NETWORK, SF_WAIT_SLEEP};

struct seen {
    double n, ns, n_by_site[SF_WAITS], by_site[SF_WAITS];
    uint64_t n_samples, longest; /* with a time */
};

/* The kind of wait tells the place. */
static void drain(struct seen *seen)
{
    static const uint8_t none[8];
    struct sf_raw_sample s;
    while (sf_sample_next(&s)) {
        seen->n += (double)s.values[0];
        seen->ns += (double)s.values[1];
        seen->n_by_site[s.wait] += (double)s.values[0];
        seen->by_site[s.wait] += (double)s.values[1];
        seen->n_samples += s.time_ns > 0;
        assert_true(s.time_ns || memcmp(s.span_id, none, 8) == 0);
        if (s.time_ns && s.values[1] > seen->longest)
            seen->longest = s.values[1];
    }
}

static void begin(void)
{
    assert_true(sf_modules_refresh());
    sf_waits_begin(SF_SAMPLES_BLOCK);
    sf_waits_begin(SF_SAMPLES_MUTEX);
    sf_hook_self.chance.state = 1;
}

static void wait_at(int site)
{
    sf_waits_add(SF_SAMPLES_BLOCK, states[site], waited[site], __builtin_return_address(0));
}

static void assert_near(const char *what, int site, double got, double want, double variance)
{
    if (fabs(got - want) > 3 * sqrt(variance) || 3 * sqrt(variance) > 0.1 * want)
        fail_msg("%s of place %d: %g instead of %g, standard error %g", what, site, got, want,
                 sqrt(variance));
}

/* Seeds are fixed: the result is the same in every run. The mean changes often, and before long
 * waits in particular, so that a weight of another mean than that of the gap shows as a bias. */
TEST(waits, totals_are_unbiased_while_the_mean_changes)
{
    struct sf_gap_chance chance = {7};
    struct seen seen = {0};
    double planted_n[SITES] = {0}, planted[SITES] = {0}, n_variance[SITES] = {0};
    double variance[SITES] = {0};
    begin();
    for (int i = 0; i < ROUNDS; i++) {
        int site = (int)(sf_gap_random(&chance) % 1350);
        double ns, mean_ns, p;
        site = site == 0 ? 2 : site < 14 ? 1 : 0; /* a third of the time each */
        if (site || sf_gap_random(&chance) % 1350 == 0)
            sf_waits_pace(MS << (1 + (site == 2 ? STEPS - 1 : sf_gap_random(&chance) % STEPS)));
        wait_at(site);
        ns = (double)waited[site];
        mean_ns = (double)sf_hook_self.block.mean_ns;
        p = ns < mean_ns ? 1 - exp(-ns / mean_ns) : 1;
        planted_n[site]++;
        planted[site] += ns;
        n_variance[site] += (1 - p) / p + 0.25; /* counts are rounded at random */
        variance[site] += (1 - p) / p * ns * ns;
        if (i % 64 == 0 || i == ROUNDS - 1)
            drain(&seen);
    }
    for (int site = 0; site < SITES; site++) {
        assert_near("waits", site, seen.n_by_site[states[site]], planted_n[site], n_variance[site]);
        assert_near("time", site, seen.by_site[states[site]], planted[site], variance[site]);
    }
}

TEST(waits, with_the_usual_mean_totals_are_exact)
{
    struct sf_gap_chance chance = {7};
    struct seen seen = {0};
    double all = 0;
    begin();
    for (int i = 0; i < 100000; i++) {
        int site = sf_gap_random(&chance) % 64 ? 0 : 1;
        wait_at(site);
        all += (double)waited[site];
        drain(&seen);
    }
    assert_int_equal(seen.n + (double)sf_hook_self.block.n, 100000);
    assert_int_equal(seen.ns + (double)(sf_hook_self.block.ns + sf_hook_self.block.rest_ns), all);
}

TEST(waits, a_longer_mean_takes_fewer_samples)
{
    struct seen before = {0}, after = {0};
    uint64_t n[2], mean_ns;
    begin();
    sf_waits_count(&n[0], &mean_ns);
    assert_int_equal(mean_ns, SF_WAIT_MEAN_NS);
    for (int i = 0; i < 1000; i++) {
        wait_at(1);
        drain(&before);
    }
    assert_int_equal(before.n_samples, 1000); /* each is long */
    sf_waits_pace(64 * MS);
    for (int i = 0; i < 1000; i++) {
        wait_at(1);
        drain(&after);
    }
    sf_waits_count(&n[1], &mean_ns);
    assert_int_equal(mean_ns, 64 * MS);
    assert_int_equal(n[1] - n[0], 1000 + after.n_samples);
    assert_in_range(after.n_samples, 20, 80); /* 3 s of waiting are 47 gaps */
    sf_waits_pace(MS);
    for (int i = 0; i < 1000; i++) {
        wait_at(1);
        drain(&before);
    }
    assert_int_equal(before.n_samples, 2000);
}

TEST(waits, a_sample_with_a_time_is_one_wait)
{
    static const uint8_t trace[16] = {1}, span[8] = {2};
    struct seen seen = {0};
    begin();
    sf_context_set(trace, span);
    for (int i = 0; i < 1000; i++) { /* up to a millisecond of them is carried */
        wait_at(0);
        drain(&seen);
    }
    sf_waits_pace(64 * MS);
    seen.longest = 0;
    for (int i = 0; i < 20000; i++) {
        wait_at(i % 10 ? 0 : 1);
        drain(&seen);
    }
    sf_context_clear();
    assert_true(seen.longest < 3 * MS + US);
    assert_true(seen.ns > (double)(10 * seen.n_samples * MS));
}

TEST(waits, what_finds_no_room_is_carried_by_the_next_sample)
{
    struct seen seen = {0};
    uint64_t n = 0;
    begin();
    for (int mean = 0; mean < 2; mean++) {
        sf_waits_pace(mean ? 2 * MS : MS);
        for (int i = 0; i < 5000; i++, n++) /* more than all rings hold; each wait is long */
            wait_at(1);
        drain(&seen);
    }
    assert_true(seen.n_samples < n);
    sf_waits_pace(MS);
    for (int i = 0; i < 200; i++, n++) {
        wait_at(0);
        drain(&seen);
    }
    assert_int_equal((uint64_t)seen.n + sf_hook_self.block.n, n);
}

TEST(waits, a_brake_doubles_the_mean_until_it_is_set_again)
{
    uint64_t n, mean_ns;
    begin();
    sf_waits_pace(4 * MS);
    sf_waits_brake();
    sf_waits_brake();
    sf_waits_count(&n, &mean_ns);
    assert_int_equal(mean_ns, 16 * MS);
    for (int i = 0; i < 100; i++)
        sf_waits_brake();
    sf_waits_count(&n, &mean_ns);
    assert_int_equal(mean_ns, (1 << 16) * MS);
    sf_waits_pace(4 * MS);
    sf_waits_count(&n, &mean_ns);
    assert_int_equal(mean_ns, 4 * MS);
}

#include "collect/lib/control_pause.h"

#include "base/time_unit.h"
#include "test.h"

static const int64_t S = SF_NS_PER_S;

/* The least and the most that chance makes of it. */
static void check(struct sf_control_pause p, struct sf_control_heard h, int64_t now_ns,
                  int64_t least_ns, int64_t most_ns)
{
    struct sf_control_pause again = p;
    assert_int_equal(sf_control_pause(&p, &h, now_ns, 0), least_ns);
    for (uint64_t chance = 1; chance < UINT64_MAX / 3; chance = chance * 3 + 1) {
        struct sf_control_pause one = again;
        int64_t ns = sf_control_pause(&one, &h, now_ns, chance);
        assert_true(ns >= least_ns && ns < most_ns);
    }
}

TEST(control_pause, asks_again_at_once_after_news_and_after_a_wait)
{
    struct sf_control_pause p = {.failing_ns = 7, .pause_ms = 4000};
    struct sf_control_heard news = {.status = 200, .is_understood = true};
    struct sf_control_heard waited = {.status = 304, .took_ns = 30 * S};
    check(p, news, 0, S / 20, S / 10);
    check(p, waited, 0, S / 20, S / 10);
    (void)sf_control_pause(&p, &news, 0, 1);
    assert_true(p.failing_ns == 0 && p.pause_ms == 0);
}

TEST(control_pause, waits_five_seconds_where_polls_may_not_wait)
{
    struct sf_control_heard h = {.status = 304, .took_ns = S / 100};
    check((struct sf_control_pause){0}, h, 0, 5 * S / 2, 5 * S);
    h.is_capturing = true;
    check((struct sf_control_pause){0}, h, 0, S / 20, S / 10);
}

TEST(control_pause, is_silent_for_ten_minutes_where_there_is_no_such_call)
{
    static const unsigned statuses[] = {401, 403, 404, 405};
    for (int i = 0; i < 4; i++) {
        struct sf_control_heard h = {.status = statuses[i]};
        check((struct sf_control_pause){0}, h, 0, 600 * S, 660 * S);
    }
}

TEST(control_pause, doubles_up_to_four_seconds_and_after_five_minutes_to_thirty)
{
    struct sf_control_pause p = {0};
    struct sf_control_heard h = {0};
    static const int64_t ms[] = {500, 1000, 2000, 4000, 4000};
    for (int i = 0; i < 5; i++)
        assert_int_equal(sf_control_pause(&p, &h, 1 + i * S, 0), ms[i] * SF_NS_PER_MS / 2);
    assert_int_equal(sf_control_pause(&p, &h, 300 * S, 0), 2 * S);
    assert_int_equal(sf_control_pause(&p, &h, 302 * S, 0), 4 * S);
    for (int i = 0; i < 5; i++)
        (void)sf_control_pause(&p, &h, 310 * S, 0);
    check(p, h, 311 * S, 15 * S, 30 * S);
}

TEST(control_pause, heeds_retry_after_and_bounds_it)
{
    struct sf_control_heard h = {.status = 503, .retry_after_s = 8};
    check((struct sf_control_pause){0}, h, 1, 4 * S, 8 * S);
    h.retry_after_s = INT64_MAX;
    check((struct sf_control_pause){0}, h, 1, 1800 * S, 3600 * S);
}

TEST(control_pause, is_patient_with_a_document_that_is_not_understood)
{
    struct sf_control_pause p = {0};
    struct sf_control_heard h = {.status = 200};
    check(p, h, 1, S / 4, S / 2);
    for (int i = 0; i < 4; i++)
        (void)sf_control_pause(&p, &h, 2, 0);
    check(p, h, 3, 2 * S, 4 * S);
}

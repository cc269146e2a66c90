#include "exec/services.h"

#include "test.h"

TEST(services, quantiles_lie_within_a_tenth)
{
    uint64_t buckets[SF_SKETCH_BUCKETS] = {0};
    /* 1..1000 ms evenly: bucket i ends at 1000 * 2^(i / 4) ns */
    for (uint64_t ms = 1; ms <= 1000; ms++) {
        double end = 1000;
        size_t i = 0;
        while (end < (double)ms * 1e6 && i < SF_SKETCH_BUCKETS - 1) {
            end *= 1.189207115002721;
            i++;
        }
        buckets[i]++;
    }
    static const double quantiles[] = {0.01, 0.1, 0.5, 0.95, 0.99};
    for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++) {
        double got = (double)sf_services_sketch_quantile(buckets, quantiles[i]) /
                     (quantiles[i] * 1e9);
        if (got < 0.9 || got > 1.1)
            fail_msg("quantile %g is off by a factor of %g", quantiles[i], got);
    }
}

static void see_off(double q, uint64_t n, double most)
{
    for (double ns = 2e3; ns < 1e12; ns *= 1.013) {
        uint64_t buckets[SF_SKETCH_BUCKETS] = {0};
        size_t i = 0;
        for (double end = 1000; end < ns; end *= 1.189207115002721)
            i++;
        buckets[i] = n;
        double got = (double)sf_services_sketch_quantile(buckets, q) / ns;
        if (got < 1 / most || got > most)
            fail_msg("quantile %g of %g ns is off by a factor of %g", q, ns, got);
    }
}

/* Interpolation gave the end of the bucket: 1,244 ms of one request of 1,100. */
TEST(services, quantile_of_one_lies_within_a_tenth)
{
    see_off(0.99, 1, 1.0906);
    see_off(0.5, 1, 1.0906);
}

TEST(services, quantile_of_equal_ones_lies_within_a_fifth)
{
    see_off(0.99, 1000, 1.1893);
    see_off(0.5, 1000, 1.0906);
    see_off(0.01, 1000, 1.1893);
}

TEST(services, quantile_of_nothing_is_zero)
{
    uint64_t buckets[SF_SKETCH_BUCKETS] = {0};
    assert_int_equal(sf_services_sketch_quantile(buckets, 0.5), 0);
}

TEST(services, sum_operations_into_their_service)
{
    struct sf_operation_row rows[] = {
        {.service = SF_STR("api"),
         .name = SF_STR("GET"),
         .all = {.n_spans = 10, .n_errors = 1, .sum_ns = 1000},
         .entries = {.n_spans = 4, .n_errors = 1, .sum_ns = 800}},
        {.service = SF_STR("api"),
         .name = SF_STR("PUT"),
         .all = {.n_spans = 30, .n_errors = 3, .sum_ns = 7000}},
        {.service = SF_STR("db"), .name = SF_STR("SELECT"), .all = {.n_spans = 5, .sum_ns = 500}}};
    struct sf_operation_rows in = {rows, 3};
    struct sf_services out = {0};
    struct sf_arena req;
    rows[0].all.buckets[10] = 10;
    rows[1].all.buckets[20] = 30;
    assert_true(sf_arena_init(&req, 1 << 20));
    assert_ok(sf_services_sum(&in, SF_STR_NONE, &req, &out, NULL));
    assert_int_equal(out.n, 2);
    assert_str(out.list[0].sum.name, "api");
    assert_int_equal(out.list[0].sum.spans.n, 40);
    assert_int_equal(out.list[0].sum.spans.n_errors, 4);
    assert_int_equal(out.list[0].sum.requests.n, 4);
    assert_int_equal(out.list[0].sum.requests.mean_ns, 200);
    assert_int_equal(out.list[0].sum.spans.mean_ns, 200);
    assert_int_equal(out.list[0].n_operations, 2);
    assert_true(out.list[0].sum.spans.p50_ns > 26900 && out.list[0].sum.spans.p50_ns <= 32000);
    assert_str(out.list[1].operations[0].name, "SELECT");
    assert_ok(sf_services_sum(&in, SF_STR("db"), &req, &out, NULL));
    assert_int_equal(out.n, 1);
    assert_str(out.list[0].sum.name, "db");
    sf_arena_done(&req);
}

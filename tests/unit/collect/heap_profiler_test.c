#include "test.h"

#include <math.h>

#include "collect/lib/heap_profiler.h"
#include "collect/lib/sample.h"
#include "collect/unwind/modules.h"

/* Planted objects: sizes far below, around and far above the means. */
static const size_t sizes[] = {1000, 9000, 60000, 700000};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), ROUNDS = 60000 };
/* Means of 16 KiB to 1 MiB: the rate changes by a factor of 64. */
enum { LEAST_MEAN = 16 * 1024, STEPS = 7 };

static struct {
    double bytes, objects; /* what was allocated */
    double seen_bytes, seen_objects;
    double kept_bytes, variance, kept_variance, objects_variance;
} sum;

static void drain(void)
{
    struct sf_raw_sample s;
    while (sf_sample_next(&s)) {
        sum.seen_objects += (double)s.values[0];
        sum.seen_bytes += (double)s.values[1];
    }
}

static const void *address(uint32_t n)
{
    return (const void *)((uintptr_t)(n + 1) * SF_HEAP_ALIGN);
}

/* Counts down as the hooks of malloc do. */
static bool allocate(struct sf_hook_thread *t, uint32_t n, size_t len)
{
    if (len < t->heap_left) {
        t->heap_left -= len;
        return false;
    }
    if (!sf_heap_profiler_wants(t, len))
        return false;
    sf_heap_profiler_add(t, address(n), len, NULL);
    return true;
}

/* An object of `size` in a gap of that mean, and the variance of what it is counted as. */
static void plant(size_t size, uint64_t mean, bool is_kept)
{
    double p = 1 - exp(-(double)size / (double)mean);
    double variance = (1 - p) / p;
    sum.bytes += (double)size;
    sum.objects++;
    sum.variance += variance * (double)size * (double)size;
    sum.objects_variance += variance + 0.25; /* counts are rounded at random */
    if (is_kept) {
        sum.kept_bytes += (double)size;
        sum.kept_variance += variance * (double)size * (double)size;
    }
}

static void assert_near(const char *what, double got, double want, double variance)
{
    if (fabs(got - want) > 3 * sqrt(variance) || 3 * sqrt(variance) > 0.1 * want)
        fail_msg("%s: %g instead of %g, standard error %g", what, got, want, sqrt(variance));
}

/* The seed is fixed: the result is the same in every run. The mean changes often, and right before
 * large objects in particular, so that a weight taken from another mean than that of the sample's
 * gap shows as a bias. */
TEST(heap_profiler, totals_are_unbiased_while_the_mean_changes)
{
    struct sf_hook_thread t = {.chance = {1}};
    struct sf_gap_chance chance = {7};
    int64_t bytes, objects;
    assert_true(sf_modules_refresh());
    assert_int_equal(sf_heap_alloc_source.begin(LEAST_MEAN, NULL), SF_OK);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        for (uint32_t k = 0; k < SIZES; k++) {
            uint32_t n = i * SIZES + k;
            bool is_kept = i % 8 == 0;
            if (sf_gap_random(&chance) % 2)
                sf_heap_alloc_source.pace(
                    (uint64_t)LEAST_MEAN
                    << (k == SIZES - 1 ? STEPS - 1 : sf_gap_random(&chance) % STEPS));
            plant(sizes[k], t.heap_mean ? t.heap_mean : LEAST_MEAN, is_kept);
            if (allocate(&t, n, sizes[k]) && !is_kept)
                sf_heap_profiler_take(address(n), NULL);
            drain();
        }
    }
    assert_near("bytes", sum.seen_bytes, sum.bytes, sum.variance);
    assert_near("objects", sum.seen_objects, sum.objects, sum.objects_variance);
    assert_true(sf_heap_profiler_inuse(&bytes, &objects));
    assert_near("bytes in use", (double)bytes, sum.kept_bytes, sum.kept_variance);
    for (uint32_t n = 0; n < ROUNDS * SIZES; n++)
        sf_heap_profiler_take(address(n), NULL);
    assert_true(sf_heap_profiler_inuse(&bytes, &objects));
    assert_int_equal(objects, 0); /* each object leaves with the weight it had */
    sf_heap_alloc_source.end();
}

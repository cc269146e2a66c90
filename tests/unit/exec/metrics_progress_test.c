#include "exec/metrics_progress.h"

#include <math.h>

#include "test.h"

static struct sf_arena arena;

static struct sf_metric_series *add(struct sf_metrics_set *set, const char *name, double a,
                                    double b)
{
    struct sf_attr label = {SF_STR("x"), {.type = SF_VALUE_STR, .str = sf_str_from(name)}};
    struct sf_metric_series *s = sf_metrics_set_add(set, (struct sf_attrs){&label, 1},
                                                    (struct sf_attr){0});
    assert_non_null(s);
    s->values[0] = a;
    s->values[1] = b;
    return s;
}

TEST(metrics_progress, leaves_out_what_was_told_before)
{
    struct sf_metrics_set now = {.req = &arena, .n_steps = 2},
                          before = {.req = &arena, .n_steps = 2};
    assert_true(sf_arena_init(&arena, 1 << 20));
    add(&before, "b", 1, 2);
    add(&before, "c", 3, NAN);
    add(&now, "a", 5, 0);
    add(&now, "b", 1, 2);
    add(&now, "c", 3, 4);
    sf_metrics_progress_subtract(&now, &before);
    assert_int_equal(now.n, 2); /* "b" is as it was */
    assert_true(now.list[0].values[0] == 5 && now.list[0].values[1] == 0);
    assert_true(isnan(now.list[1].values[0]) && now.list[1].values[1] == 4);
    sf_arena_done(&arena);
}

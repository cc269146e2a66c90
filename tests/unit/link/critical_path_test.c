#include "test.h"

#include "link/critical_path.h"

static struct sf_span span(sf_span_id id, sf_span_id parent, uint64_t start, uint64_t end)
{
    return (struct sf_span){.span_id = id, .parent_id = parent, .start_ns = start, .end_ns = end};
}

/* Finds the path and writes it as "id:from-to id:from-to ..." */
static void expect_path(const struct sf_span *s, uint32_t n, const char *want)
{
    struct sf_trace_tree t;
    struct sf_critical_path p;
    struct sf_arena req;
    char got[256] = "";
    uint64_t sum = 0;
    assert_true(sf_arena_init(&req, 1 << 16));
    assert_ok(sf_trace_tree_build(s, n, &req, &t, NULL));
    assert_ok(sf_critical_path_find(s, &t, &req, &p, NULL));
    for (uint32_t i = 0; i < p.n_steps; i++) {
        size_t len = strlen(got);
        snprintf(got + len, sizeof(got) - len, "%s%d:%d-%d", i ? " " : "",
                 (int)s[p.steps[i].place].span_id, (int)p.steps[i].from_ns, (int)p.steps[i].to_ns);
        sum += p.steps[i].to_ns - p.steps[i].from_ns;
    }
    for (uint32_t i = 0; i < n; i++)
        sum -= p.own_ns[i];
    assert_int_equal(sum, 0);
    assert_string_equal(got, want);
    sf_arena_done(&req);
}

TEST(critical_path, follows_sequential_children_and_the_gaps_between)
{
    struct sf_span s[] = {span(1, 0, 0, 100), span(2, 1, 10, 40), span(3, 1, 50, 90)};
    expect_path(s, 3, "1:0-10 2:10-40 1:40-50 3:50-90 1:90-100");
}

TEST(critical_path, of_parallel_children_only_the_last_to_end_counts)
{
    struct sf_span s[] = {span(1, 0, 0, 100), span(2, 1, 0, 80), span(3, 1, 50, 90)};
    expect_path(s, 3, "1:0-50 3:50-90 1:90-100");
}

TEST(critical_path, child_that_outlives_its_parent_is_clipped)
{
    struct sf_span s[] = {span(1, 0, 0, 100), span(2, 1, 60, 130)};
    expect_path(s, 2, "1:0-60 2:60-100");
}

TEST(critical_path, consumers_are_not_waited_for)
{
    struct sf_span s[] = {span(1, 0, 0, 100), span(2, 1, 60, 130)};
    s[1].kind = SF_KIND_CONSUMER;
    expect_path(s, 2, "1:0-100");
}

TEST(critical_path, survives_children_before_their_parents_and_ends_before_starts)
{
    struct sf_span s[] = {span(1, 0, 50, 100), span(2, 1, 10, 60), span(3, 1, 70, 65)};
    expect_path(s, 3, "2:10-60 1:60-100");
}

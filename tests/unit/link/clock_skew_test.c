#include "link/clock_skew.h"

#include "test.h"

static struct sf_arena req;

/* A client 0..100 that calls a server of another process. */
static const struct sf_clock_skew *skew(uint64_t start_ns, uint64_t end_ns, uint8_t child_kind,
                                        uint64_t process, uint32_t *n)
{
    struct sf_span spans[] = {
        {.span_id = 1, .kind = SF_KIND_CLIENT, .start_ns = 1000, .end_ns = 1100},
        {.span_id = 2, .parent_id = 1, .kind = child_kind, .start_ns = start_ns, .end_ns = end_ns}};
    const struct sf_span_origin origins[] = {{7, 0}, {process, 0}};
    struct sf_span_tree tree;
    const struct sf_clock_skew *out;
    uint32_t n_calls;
    sf_arena_done(&req);
    assert_true(sf_arena_init(&req, 1 << 20));
    assert_ok(sf_span_tree_build(spans, origins, 2, &req, &tree, NULL));
    assert_ok(sf_clock_skew_find(&tree, &req, &out, n, &n_calls, NULL));
    assert_int_equal(n_calls, process == 7 ? 0 : 1);
    return out;
}

TEST(clock_skew, is_the_middle_of_what_would_fit)
{
    uint32_t n;
    const struct sf_clock_skew *s = skew(1310, 1390, SF_KIND_SERVER, 8, &n);
    assert_int_equal(n, 1);
    assert_int_equal(s->parent, 0);
    assert_int_equal(s->child, 1);
    assert_int_equal(s->offset_ns, 300);
    assert_int_equal(s->slack_ns, 10);
    s = skew(900, 1000, SF_KIND_SERVER, 8, &n); /* as long as its client: known exactly */
    assert_int_equal(n, 1);
    assert_int_equal(s->offset_ns, -100);
    assert_int_equal(s->slack_ns, 0);
    sf_arena_done(&req);
}

TEST(clock_skew, is_not_claimed_without_a_contradiction)
{
    uint32_t n;
    skew(1000, 1100, SF_KIND_SERVER, 8, &n); /* fits */
    assert_int_equal(n, 0);
    skew(1010, 1300, SF_KIND_SERVER, 8, &n); /* longer than its client: it continued alone */
    assert_int_equal(n, 0);
    skew(1310, 1390, SF_KIND_SERVER, 7, &n); /* one process has one clock */
    assert_int_equal(n, 0);
    skew(1310, 1390, SF_KIND_CONSUMER, 8, &n); /* nobody waited */
    assert_int_equal(n, 0);
    skew(UINT64_MAX, 0, SF_KIND_SERVER, 8, &n); /* absurd times are no fault */
    sf_arena_done(&req);
}

TEST(clock_skew, of_what_begins_before_its_cause_is_at_least_that)
{
    uint32_t n;
    const struct sf_clock_skew *s = skew(950, 1300, SF_KIND_SERVER, 8, &n); /* it continued alone */
    assert_int_equal(n, 1);
    assert_int_equal(s->offset_ns, -50);
    assert_int_equal(s->slack_ns, SF_SLACK_UNKNOWN);
    s = skew(990, 995, SF_KIND_CONSUMER, 8, &n); /* a message came before it was sent */
    assert_int_equal(n, 1);
    assert_int_equal(s->offset_ns, -10);
    sf_arena_done(&req);
}

TEST(clock_skew, is_not_claimed_of_a_server_whose_caller_gave_up)
{
    struct sf_span spans[] = {
        {.span_id = 1,
         .kind = SF_KIND_CLIENT,
         .status = SF_STATUS_ERROR,
         .start_ns = 1000,
         .end_ns = 1100},
        {.span_id = 2, .parent_id = 1, .kind = SF_KIND_SERVER, .start_ns = 1090, .end_ns = 1140}};
    const struct sf_span_origin origins[] = {{7, 0}, {8, 0}};
    const struct sf_clock_skew *out;
    struct sf_span_tree tree;
    uint32_t n, n_calls;
    assert_true(sf_arena_init(&req, 1 << 20));
    assert_ok(sf_span_tree_build(spans, origins, 2, &req, &tree, NULL));
    assert_ok(sf_clock_skew_find(&tree, &req, &out, &n, &n_calls, NULL));
    assert_int_equal(n, 0);
    sf_arena_done(&req);
}

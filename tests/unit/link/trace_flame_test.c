#include "link/trace_flame.h"

#include "flame/tree_builder.h"
#include "flame/tree_order.h"
#include "test.h"

/* gateway: "GET /cart" 0..100 > checkout: "checkout" 10..90 > "pay" 40..80 */
static struct sf_span spans[] = {
    {.span_id = 1, .name = SF_STR("GET /cart"), .start_ns = 0, .end_ns = 100},
    {.span_id = 2, .parent_id = 1, .name = SF_STR("checkout"), .start_ns = 10, .end_ns = 90},
    {.span_id = 3, .parent_id = 2, .name = SF_STR("pay"), .start_ns = 40, .end_ns = 80},
};
static const struct sf_span_origin origins[] = {{7, 0}, {8, 0}, {8, 0}};
static const sf_str services[] = {SF_STR("gateway"), SF_STR("shop"), SF_STR("shop")};
static const struct sf_frame frames[] = {
    {.function = SF_STR("main")}, {.function = SF_STR("sign")}, {.function = SF_STR("sum")}};
static const struct sf_tree_node nodes[] = {{0}, {0, 0, 0}, {1, 1, 0}, {1, 2, 0}};
static const struct sf_tree stacks = {
    .frames = frames, .nodes = nodes, .n_frames = 3, .n_nodes = 4, .unit = SF_STR("bytes")};
enum { MAIN = 1, SIGN, SUM };

static const struct sf_link_sample samples[] = {
    {.span_id = 2, .value = 6, .node = SUM},
    {.span_id = 3, .value = 3, .node = SIGN},
    {.span_id = 3, .value = 1, .node = MAIN},
};

static struct sf_arena req;

static bool is_time;

static struct sf_tree draw(uint32_t n_samples, const uint64_t *weights)
{
    struct sf_span_tree *tree;
    struct sf_local_index *index;
    struct sf_attribution *claims;
    struct sf_attribution_input in = {.samples = samples, .n_samples = n_samples};
    struct sf_tree out;
    sf_arena_done(&req);
    assert_true(sf_arena_init(&req, 1 << 20));
    tree = sf_arena_new(&req, sizeof(*tree));
    index = sf_arena_new(&req, sizeof(*index));
    claims = sf_arena_new(&req, sizeof(*claims));
    assert_ok(sf_span_tree_build(spans, origins, 3, &req, tree, NULL));
    assert_ok(sf_local_index_build(tree, &req, index, NULL));
    assert_ok(sf_attribution_make(index, &in, &req, claims, NULL));
    struct sf_trace_flame_input what = {.spans = tree,
                                        .services = services,
                                        .stacks = &stacks,
                                        .samples = samples,
                                        .claims = claims,
                                        .weights_ns = weights,
                                        .is_time = is_time};
    assert_ok(sf_trace_flame(&what, &req, &out, NULL));
    return out;
}

/* Self value of "shop;checkout;pay"; -1: no such bar. */
static int64_t self_of(const struct sf_tree *t, const char *folded)
{
    sf_str rest = sf_str_from(folded), name;
    uint32_t at = 0;
    while (rest.len > 0 && sf_str_split_next(&rest, ';', &name)) {
        uint32_t i = at + 1;
        while (i < t->n_nodes && !(t->nodes[i].parent == at &&
                                   sf_str_eq(t->frames[t->nodes[i].frame].function, name)))
            i++;
        if (i >= t->n_nodes)
            return -1;
        at = i;
    }
    return t->nodes[at].self;
}

TEST(trace_flame, hangs_stacks_below_spans_below_services)
{
    struct sf_tree t = draw(3, NULL);
    assert_str(t.unit, "bytes");
    assert_int_equal(t.total, 10);
    assert_int_equal(self_of(&t, "shop;checkout;main;sum"), 6);
    assert_int_equal(self_of(&t, "shop;checkout;pay;main;sign"), 3);
    assert_int_equal(self_of(&t, "shop;checkout;pay;main"), 1);
    assert_int_equal(self_of(&t, "gateway;GET /cart"), 0);
    assert_int_equal(self_of(&t, "shop;pay"), -1);
}

TEST(trace_flame, cuts_a_spans_time_by_its_samples)
{
    const uint64_t weights[] = {20, 40, 41};
    struct sf_tree t = draw(3, weights);
    assert_str(t.unit, "nanoseconds");
    assert_int_equal(t.total, 101);
    assert_int_equal(self_of(&t, "gateway;GET /cart"), 20); /* no samples: its own bar */
    assert_int_equal(self_of(&t, "shop;checkout;main;sum"), 40);
    assert_int_equal(self_of(&t, "shop;checkout;pay;main;sign"), 31);
    assert_int_equal(self_of(&t, "shop;checkout;pay;main"), 10);
}

/* Of checkout's own 40 six were seen, of pay's 40 four: the rest was not spent in that code. */
TEST(trace_flame, leaves_time_that_no_sample_saw_on_the_spans_bar)
{
    const uint64_t wall[] = {20, 40, 40}, critical[] = {20, 20, 40};
    is_time = true;
    struct sf_tree t = draw(3, wall);
    assert_int_equal(t.total, 100);
    assert_int_equal(self_of(&t, "shop;checkout;main;sum"), 6);
    assert_int_equal(self_of(&t, "shop;checkout"), 34);
    assert_int_equal(self_of(&t, "shop;checkout;pay;main;sign"), 3);
    assert_int_equal(self_of(&t, "shop;checkout;pay"), 36);
    t = draw(3, critical); /* half of checkout's own time, and half of what was seen in it */
    assert_int_equal(t.total, 80);
    assert_int_equal(self_of(&t, "shop;checkout;main;sum"), 3);
    assert_int_equal(self_of(&t, "shop;checkout"), 17);
    is_time = false;
}

TEST(trace_flame, needs_no_samples_at_all)
{
    const uint64_t weights[] = {20, 40, 40};
    struct sf_tree t = draw(0, weights);
    assert_int_equal(t.total, 100);
    assert_int_equal(self_of(&t, "shop;checkout;pay"), 40);
    t = draw(0, NULL);
    assert_int_equal(t.total, 0);
    assert_int_equal(self_of(&t, "shop;checkout;pay"), 0);
}

#include "link/keep_verdict.h"

#include "base/time_unit.h"
#include "base/trace_share.h"

#include "test.h"

enum { N = 3 };

static const struct sf_keep_rule RULE = {.slow_ns = SF_NS_PER_S,
                                         .cpu_percent = 80,
                                         .has_errors = true,
                                         .tail_min_ns = 100 * SF_NS_PER_MS};

struct made { /* a request of 200 ms in one process, which calls another for 100 ms of it */
    struct sf_span spans[N];
    struct sf_span_origin origins[N];
    uint64_t usual_ns[N];
    int64_t cpu_ns[N];
    bool is_flagged[N];
};

static struct made make(void)
{
    return (struct made){.spans = {{.span_id = 1, .end_ns = 200 * SF_NS_PER_MS},
                                   {.span_id = 2, .parent_id = 1, .end_ns = 150 * SF_NS_PER_MS},
                                   {.span_id = 3, .parent_id = 2, .end_ns = 100 * SF_NS_PER_MS}},
                         .origins = {{7, 0}, {7, 0}, {8, 0}}};
}

static unsigned judge(const struct made *m, const struct sf_keep_rule *rule)
{
    struct sf_span_tree tree;
    struct sf_arena req;
    int64_t root_ns[N];
    assert_true(sf_arena_init(&req, 1 << 20));
    assert_ok(sf_span_tree_build(m->spans, m->origins, N, &req, &tree, NULL));
    const struct sf_keep_rule *rules[N] = {rule, rule, rule};
    uint32_t baseline;
    struct sf_keep_facts facts = {&tree, rules, m->usual_ns, m->cpu_ns, m->is_flagged};
    unsigned out = sf_keep_verdict(&facts, root_ns, &baseline);
    assert_int_equal(baseline, rule->baseline_per_10000);
    sf_arena_done(&req);
    return out;
}

TEST(keep_verdict, lets_an_ordinary_request_go)
{
    struct made m = make();
    assert_int_equal(judge(&m, &RULE), 0);
}

TEST(keep_verdict, keeps_what_failed_unless_told_otherwise)
{
    struct sf_keep_rule rule = RULE;
    struct made m = make();
    m.spans[2].status = SF_STATUS_ERROR;
    assert_int_equal(judge(&m, &rule), 1u << SF_KEEP_ERROR);
    rule.has_errors = false;
    assert_int_equal(judge(&m, &rule), 0);
}

TEST(keep_verdict, keeps_a_slow_local_root_and_not_a_slow_part)
{
    struct sf_keep_rule rule = RULE;
    struct made m = make();
    rule.slow_ns = 200 * SF_NS_PER_MS;
    assert_int_equal(judge(&m, &rule), 1u << SF_KEEP_SLOW);
    rule.slow_ns++;
    m.spans[1].end_ns = SF_NS_PER_S; /* outlives its request */
    assert_int_equal(judge(&m, &rule), 0);
    m.spans[2].end_ns = SF_NS_PER_S; /* a request of its own */
    assert_int_equal(judge(&m, &rule), 1u << SF_KEEP_SLOW);
    rule.slow_ns = 0;
    assert_int_equal(judge(&m, &rule), 0);
}

TEST(keep_verdict, keeps_what_is_unusual_for_its_operation)
{
    struct made m = make();
    m.usual_ns[0] = 199 * SF_NS_PER_MS;
    m.usual_ns[1] = 1; /* no local root */
    assert_int_equal(judge(&m, &RULE), 1u << SF_KEEP_UNUSUAL);
    m.usual_ns[0] = 200 * SF_NS_PER_MS;
    assert_int_equal(judge(&m, &RULE), 0);
    m.usual_ns[2] = 10 * SF_NS_PER_MS;
    assert_int_equal(judge(&m, &RULE), 1u << SF_KEEP_UNUSUAL);
    m.spans[2].end_ns = 99 * SF_NS_PER_MS; /* unusual, and still quick */
    assert_int_equal(judge(&m, &RULE), 0);
}

/* The samples of a process's spans together, against the time of its local root. */
TEST(keep_verdict, keeps_what_used_much_cpu)
{
    struct made m = make();
    m.cpu_ns[0] = 80 * SF_NS_PER_MS;
    m.cpu_ns[1] = 80 * SF_NS_PER_MS;
    m.cpu_ns[2] = 80 * SF_NS_PER_MS;
    assert_int_equal(judge(&m, &RULE), 0);
    m.cpu_ns[2]++;
    assert_int_equal(judge(&m, &RULE), 1u << SF_KEEP_CPU);
    m.cpu_ns[2] = 0;
    m.cpu_ns[1]++;
    assert_int_equal(judge(&m, &RULE), 1u << SF_KEEP_CPU);
}

TEST(keep_verdict, keeps_what_says_so_with_every_other_reason)
{
    struct sf_keep_rule rule = RULE;
    struct made m = make();
    m.is_flagged[1] = true;
    assert_int_equal(judge(&m, &rule), 1u << SF_KEEP_FLAGGED);
    m.spans[0].status = SF_STATUS_ERROR;
    rule.baseline_per_10000 = 10000;
    assert_int_equal(judge(&m, &rule),
                     1u << SF_KEEP_FLAGGED | 1u << SF_KEEP_ERROR | 1u << SF_KEEP_BASELINE);
}

/* 1 % of 100,000 ids is 1,000, with a deviation of 31; and more of them keep those of fewer. */
TEST(keep_verdict, has_a_baseline_of_the_share_asked_for)
{
    uint32_t n[3] = {0};
    for (uint32_t i = 0; i < 100000; i++) {
        sf_trace_id id = {{0}};
        sf_store_u32le(id.b + 12, i);
        bool is_one = sf_trace_share_has(id.b, 100);
        n[0] += is_one;
        n[1] += sf_trace_share_has(id.b, 10000);
        n[2] += sf_trace_share_has(id.b, 0);
        assert_true(!is_one || sf_trace_share_has(id.b, 200));
    }
    assert_in_range(n[0], 850, 1150);
    assert_int_equal(n[1], 100000);
    assert_int_equal(n[2], 0);
}

TEST(keep_verdict, judges_each_span_by_the_rule_of_its_service)
{
    struct sf_keep_rule strict = RULE;
    struct made m = make();
    struct sf_span_tree tree;
    struct sf_arena req;
    int64_t root_ns[N];
    uint32_t baseline;
    const struct sf_keep_rule *rules[N] = {&RULE, &RULE, &strict};
    struct sf_keep_facts facts = {&tree, rules, m.usual_ns, m.cpu_ns, m.is_flagged};
    assert_true(sf_arena_init(&req, 1 << 20));
    assert_ok(sf_span_tree_build(m.spans, m.origins, N, &req, &tree, NULL));
    strict.slow_ns = 100 * SF_NS_PER_MS; /* the third span runs in another process */
    assert_int_equal(sf_keep_verdict(&facts, root_ns, &baseline), 1u << SF_KEEP_SLOW);
    strict.slow_ns = 101 * SF_NS_PER_MS;
    assert_int_equal(sf_keep_verdict(&facts, root_ns, &baseline), 0);
    /* The largest share counts for the whole trace. */
    strict.baseline_per_10000 = 10000;
    assert_int_equal(sf_keep_verdict(&facts, root_ns, &baseline), 1u << SF_KEEP_BASELINE);
    assert_int_equal(baseline, 10000);
    sf_arena_done(&req);
}

#include "test.h"

#include "base/buf.h"
#include "query/expr_text.h"
#include "query/query_parse.h"

static struct sf_arena req;

static const struct sf_query *parse(const char *text)
{
    const struct sf_query *q = NULL;
    struct sf_why why = {0};
    if (!req.base)
        assert_true(sf_arena_init(&req, 16 << 20));
    sf_arena_reset(&req);
    if (sf_query_parse(sf_str_from(text), &req, &q, NULL, &why))
        fail_msg("%s: %s", text, why.text);
    return q;
}

static void expect_expr(const char *text, const char *want)
{
    const struct sf_query *q = parse(text);
    struct sf_buf out = {0};
    sf_expr_text(q->pipeline->stages[0].spanset->filter, &out);
    sf_buf_add_u8(&out, 0);
    assert_string_equal((char *)out.p, want);
    sf_buf_done(&out);
}

static void expect_fault(const char *text, uint32_t column, const char *words)
{
    const struct sf_query *q = NULL;
    struct sf_query_fault fault;
    struct sf_why why = {0};
    if (!req.base)
        assert_true(sf_arena_init(&req, 16 << 20));
    sf_arena_reset(&req);
    if (!sf_query_parse(sf_str_from(text), &req, &q, &fault, &why))
        fail_msg("%s is accepted", text);
    if (!strstr(why.text, words))
        fail_msg("%s: \"%s\" does not say \"%s\"", text, why.text, words);
    if (column && fault.column != column)
        fail_msg("%s: column %u, not %u (%s)", text, fault.column, column, why.text);
}

TEST(query_parse, follows_the_precedence_table)
{
    expect_expr("{ .a || .b && .c }", "(.a || .b) && .c");
    expect_expr("{ !.a = .b }", "!.a = .b");
    expect_expr("{ (-.a * 2) = 1 }", "-(.a * 2) = 1");
    expect_expr("{ 2 ^ .x ^ 2 = 1 }", "(2 ^ (.x ^ 2)) = 1");
    expect_expr("{ .a + .b * .c - 1 = 2 }", "((.a + (.b * .c)) - 1) = 2");
}

TEST(query_parse, knows_what_samples_say)
{
    expect_expr("{ profile.frame =~ \"json.*\" && profile.cpu > 50ms }",
                "(profile.frame =~ \"json.*\") && (profile.cpu > 50ms)");
    expect_expr("{ profile.mutex>1ms||profile.off_cpu<=2s }",
                "(profile.lock > 1ms) || (profile.off_cpu <= 2s)");
    expect_expr("{ profile.alloc = nil }", "profile.alloc = nil");
    expect_expr("{ .profile.frame = 1 }", ".profile.frame = 1"); /* an attribute as any other */
    expect_expr("{ span.profile.cpu = 1 }", "span.profile.cpu = 1");
    parse("{ } | avg(profile.wall) > 1s");
    parse("{ } | select(profile.block)");
    parse("{ } | quantile_over_time(profile.cpu, .9) by (resource.service.name)");
    expect_fault("{ profile.frame < \"a\" }", 3, "profile.frame takes =, !=, =~ or !~");
    expect_fault("{ profile.thread = 1 }", 11, "frame, cpu, wall, lock, block, off_cpu or alloc");
    expect_fault("{ } | by(profile.frame)", 10, "profile.frame has many values");
}

TEST(query_parse, folds_constants)
{
    expect_expr("{ 1 + 1 = 2 }", "true");
    expect_expr("{ .x = -2 ^ 2 }", ".x = -4.0");
    expect_expr("{ .x = 7 / 2 }", ".x = 3");
    expect_expr("{ duration > 500ms * 2 }", "duration > 1e+09");
}

TEST(query_parse, attribute_names_end_where_the_language_says)
{
    expect_expr("{ span.a*2 = 1 }", "span.a*2 = 1");
    expect_expr("{ span.a>2 }", "span.a > 2");
    expect_expr("{ .a.\"b c\".d = 1 }", ".a.b c.d = 1");
    expect_expr("{ .name = \"x\" }", ".name = \"x\"");
    expect_expr("{ span:name = `x` }", "name = \"x\"");
    expect_expr("{ trace:rootService = \"a\\n\\x41\" }", "rootServiceName = \"a\\nA\"");
}

TEST(query_parse, reads_durations_in_both_forms)
{
    expect_expr("{ duration > 1d12h }", "duration > 36h0m0s");
    expect_expr("{ duration > 1.5s }", "duration > 1.5s");
    expect_expr("{ duration > 100\xc2\xb5s }", "duration > 100\xc2\xb5s");
    expect_expr("{ duration > .24h }", "duration > 14m24s");
}

TEST(query_parse, tells_pipelines_from_metrics)
{
    const struct sf_query *q = parse(
        "{ status = error } | by(resource.service.name) | count() > 1");
    assert_non_null(q->pipeline);
    assert_int_equal(q->pipeline->n_stages, 3);
    assert_str(q->pipeline->stages[1].text, "by(resource.service.name)");
    q = parse("{ } | rate() | topk(2147483648)"); /* all of them */
    assert_int_equal(q->metrics->seconds[0].k, INT32_MAX);
    q = parse("{ } | quantile_over_time(duration, 0, 0.5, 1) by (span.x) | topk(3) < 4 "
              "with(exemplars=false)");
    assert_null(q->pipeline);
    assert_int_equal(q->metrics->metric.n_quantiles, 3);
    assert_int_equal(q->metrics->n_seconds, 2);
    assert_int_equal(q->n_hints, 1);
    q = parse("100 * ({ kind = server } | rate()) / ({ } | rate()) > 5");
    assert_int_equal(q->metrics->kind, SF_METRICS_BINARY);
    assert_int_equal(q->metrics->op, SF_EXPR_DIV);
    assert_int_equal(q->metrics->n_seconds, 1);
    q = parse("({ } | rate() by (.a) | topk(5)) | bottomk(2) > 1");
    assert_int_equal(q->metrics->n_seconds, 3);
    q = parse("({ kind = server } | count() > 1) >> ({ status = error })");
    assert_int_equal(q->pipeline->stages[0].spanset->op, SF_SPANSET_DESCENDANT);
    assert_int_equal(q->pipeline->stages[0].spanset->left->op, SF_SPANSET_PIPELINE);
    q = parse("{ } | ((count())) > (2 + 3)");
    assert_int_equal(q->pipeline->stages[1].cmp, SF_EXPR_GT);
    assert_int_equal(q->pipeline->stages[1].literal.i64, 5);
    q = parse("{ .a } && { .b } > { .c }");
    assert_int_equal(q->pipeline->stages[0].spanset->op, SF_SPANSET_AND);
}

TEST(query_parse, refuses_syntax_errors_with_the_place)
{
    static const char *const bad[] = {
        "{ .a == 4 }",
        "{ span. }",
        "{ 'x' = name }",
        "{ true } | count()",
        "count() | { }",
        "coalesce() | { }",
        "5 > 3",
        "{ } | rate() == 42",
        "{ } | topk(10)",
        "{ } | rate() | count() > 1",
        "{ } > ",
        "{ name = foo }",
        "{ } with()",
        "{ } | select()",
        "{ } | by()",
        "",
        "{",
        "{ .a = \"x }",
        "{ .a = 1 } {",
        "{ resource. = 1 }",
        "{ .a = 0x10 }",
        "{ .a = 99999999999999999999 }",
        "{ /* }",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        expect_fault(bad[i], 0, "");
    expect_fault("{ .a == 4 }", 7, "unexpected =");
    expect_fault("{ name = foo }", 10, "expecting");
    expect_fault("{ } > ", 7, "end of query");
}

TEST(query_parse, refuses_types_that_cannot_meet)
{
    expect_fault("{ status }", 0, "span filter field expressions must resolve to a boolean");
    expect_fault("{ 1 + 1 }", 0, "span filter field expressions must resolve to a boolean");
    expect_fault("{ 1 = \"x\" }", 0, "binary operations must operate on the same type");
    expect_fault("{ name = 4 }", 0, "binary operations must operate on the same type");
    expect_fault("{ duration > \"5s\" }", 0, "binary operations must operate on the same type");
    expect_fault("{ duration =~ \"5\" }", 0, "binary operations must operate on the same type");
    expect_fault("{ status > ok }", 0, "illegal operation for the given types");
    expect_fault("{ name + \"x\" = \"y\" }", 0, "illegal operation for the given types");
    expect_fault("{ true > false }", 0, "illegal operation for the given types");
    expect_fault("{ .a =~ 5 }", 0, "invalid type for =~ or !~");
    expect_fault("{ .a =~ \"(\" }", 0, "invalid regex");
    expect_fault("{ .a =~ \"(?=x)\" }", 0, "invalid regex");
    expect_fault("{ .a =~ \"[\" }", 9,
                 "invalid regex: regular expression /[/: missing terminating ]");
    expect_fault("{ .a =~ \"*\" }", 9, "invalid regex");
    expect_fault("{ .a =~ \"[z-a]\" }", 9, "invalid regex");
    expect_fault("{ .a !~ \"a{2,1}\" }", 9, "invalid regex");
    expect_fault("{ !name }", 0, "illegal operation for the given type");
    expect_fault("{ -name = 1 }", 0, "illegal operation for the given type");
    expect_fault("{ name = nil }", 0, "name = nil is not valid because");
    expect_fault("{ resource.service.name = nil }", 0, "= nil is not valid because");
    expect_fault("{ } | by(1)", 0, "grouping field expressions must reference the span");
    expect_fault("{ } | max(1) > 1", 0, "aggregate field expressions must reference the span");
    expect_fault("{ } | max(name) > 1", 0,
                 "aggregate field expressions must resolve to a number type");
    expect_fault("{ } | count() + 1 > 2", 0, "not yet supported");
    expect_fault("{ parent.x = 1 }", 0, "not yet supported");
    expect_fault("{ } | quantile_over_time(duration, 2)", 0, "between 0 and 1");
    expect_fault("{ } | rate() | topk(0)", 0, "greater than 0");
    expect_fault("{ } | rate() | topk(9223372036854775808)", 0, "does not fit 64 bits");
    expect_fault("{ } | compare({ }, 0)", 0, "between 1 and");
    expect_fault("{ } | rate() by (.a,.b,.c,.d,.e,.f)", 0, "at most 5");
    expect_fault("{ } | compare({ }) | topk(1)", 0,
                 "`compare()` cannot be used with second stage functions");
    expect_fault("({ } | rate()) * 5s", 0, "duration cannot be used as a scalar operand");
}

TEST(query_parse, bounds_depth_and_length)
{
    static char text[SF_QUERY_DEPTH * 4000];
    size_t n = 100000;
    memset(text, '(', n);
    text[n] = 0;
    expect_fault(text, 0, "nested deeper");
    text[0] = '{';
    expect_fault(text, 0, "nested deeper");
    memset(text + 1, '!', n - 1);
    expect_fault(text, 0, "nested deeper");
    memset(text, ' ', sizeof(text) - 1);
    expect_fault(text, 0, "at most");
}

static void assert_partial(const char *text, const char *want)
{
    const struct sf_query *q;
    struct sf_buf out = {0};
    parse("{ }");
    q = sf_query_parse_partial(sf_str_from(text), &req);
    if (!want) {
        if (q)
            fail_msg("%s filters", text);
        return;
    }
    if (!q)
        fail_msg("nothing is left of %s", text);
    sf_expr_text(q->pipeline->stages[0].spanset->filter, &out);
    if (!sf_str_eq(sf_buf_str(&out), sf_str_from(want)))
        fail_msg("of %s is left %.*s", text, SF_STR_ARG(sf_buf_str(&out)));
    sf_buf_done(&out);
}

TEST(query_parse, keeps_the_whole_conditions_of_half_written_filters)
{
    assert_partial("{ resource.service.name = \"a\" && span.http.status_code = }",
                   "resource.service.name = \"a\"");
    assert_partial("{ span.x= && status=error }", "status = error");
    assert_partial("{ status=error && span.x=", "status = error");
    assert_partial("{ name=`&&` && span.x=~ && kind=server }",
                   "(name = \"&&\") && (kind = server)");
    assert_partial("{ (name=\"a\" || name=\"b\") && span.", "(name = \"a\") || (name = \"b\")");
    assert_partial("{ name = \"a", NULL);
    assert_partial("{ status=error && name = \"a }", "status = error");
    assert_partial("{ span.x = ", NULL);
    assert_partial("{ name =~ \"[\" }", NULL);
    assert_partial("{ status=error && name =~ \"*\" }", "status = error");
    assert_partial("{}", NULL);
    assert_partial("", NULL);
    assert_partial("nonsense", NULL);
    /* what is not whole counts as true, and true or anything is true */
    assert_partial("{ name=\"a\" || span.x= }", NULL);
    assert_partial("{ name=\"a\" && status=error || span.x= }", NULL);
    /* only one filter is used */
    assert_partial("{ name=\"a\" } | count() > 1", NULL);
    assert_partial("{ name=\"a\" } >> { name=\"b\" }", NULL);
    assert_partial("{ name=\"a\" && x= } >> { name=\"b\" }", NULL);
}

TEST(query_parse, reads_one_attribute_and_nothing_else)
{
    static const char *const bad[] = {"",      "foo",    "span.",  "a) | select(.b",
                                      ".a,.b", ".a = 1", "{ .a }", "span.a)"};
    struct sf_query_attr a;
    struct sf_why why;
    parse("{ }");
    assert_ok(sf_query_parse_attr(SF_STR("span.\"a b\""), &req, &a, &why));
    assert_int_equal(a.scope, SF_SCOPE_SPAN);
    assert_str(a.name, "a b");
    assert_ok(sf_query_parse_attr(SF_STR("span:kind"), &req, &a, &why));
    assert_int_equal(a.intrinsic, SF_INTRINSIC_KIND);
    assert_ok(sf_query_parse_attr(SF_STR("resource.k8s.io/name"), &req, &a, &why));
    assert_str(a.name, "k8s.io/name");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (!sf_query_parse_attr(sf_str_from(bad[i]), &req, &a, &why))
            fail_msg("%s is taken for an attribute", bad[i]);
    }
}

/* `part` n times with `sign` between; what parsing says. */
static enum sf_err parse_chain(const char *part, const char *sign, size_t n)
{
    const struct sf_query *q = NULL;
    struct sf_buf text = {0};
    enum sf_err err;
    for (size_t i = 0; i < n; i++)
        sf_buf_print(&text, "%s%s", i ? sign : "", part);
    sf_arena_reset(&req);
    err = sf_query_parse(sf_buf_str(&text), &req, &q, NULL, NULL);
    sf_buf_done(&text);
    return err;
}

static bool is_run(const struct sf_expr *e)
{
    return e->kind == SF_EXPR_BINARY && (e->op == SF_EXPR_AND || e->op == SF_EXPR_OR);
}

static int64_t check_order(const struct sf_expr *e, int64_t next)
{
    if (is_run(e))
        return check_order(e->right, check_order(e->left, next));
    assert_int_equal(e->right->literal.i64, next);
    return next + 1;
}

TEST(query_parse, long_runs_of_and_and_or_make_low_trees)
{
    static const size_t lengths[] = {1, 2, 63, 64, 65, 128, 129, 1000, 6000, 9000};
    static const char *const signs[] = {"||", "&&"};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]) * 2; i++) {
        struct sf_buf text = {0};
        sf_buf_print(&text, "{");
        for (size_t k = 0; k < lengths[i / 2]; k++)
            sf_buf_print(&text, "%s.a=%zu", k ? signs[i % 2] : "", k);
        sf_buf_print(&text, "}");
        sf_buf_add_u8(&text, 0);
        const struct sf_query *q = parse((const char *)text.p);
        const struct sf_expr *e = q->pipeline->stages[0].spanset->filter;
        assert_int_equal(check_order(e, 0), lengths[i / 2]);
        assert_true(e->height <= 64 + 32);
        sf_buf_done(&text);
    }
    expect_expr("{ .a || .b || .c && .d && .e }", "(((.a || .b) || .c) && .d) && .e");
}

TEST(query_parse, refuses_chains_no_walk_could_survive)
{
    static const char *const chains[][2] = {
        {"{}", ">>"}, {"{}", "&&"}, {"{}", "||"}, {"({}|count()>1)", "~"}};
    for (size_t i = 0; i < sizeof(chains) / sizeof(chains[0]); i++) {
        assert_ok(parse_chain(chains[i][0], chains[i][1], 900));
        assert_int_equal(parse_chain(chains[i][0], chains[i][1], 8000), SF_ERR_LIMIT);
    }
    assert_int_equal(parse_chain("1", "+", 8000), SF_ERR_INPUT);
    assert_ok(parse_chain("({}|rate())", "+", 10));
    struct sf_buf text = {0};
    sf_buf_print(&text, "({}|rate())");
    for (size_t i = 0; i < 8000; i++)
        sf_buf_print(&text, "+1");
    sf_buf_add_u8(&text, 0);
    expect_fault((const char *)text.p, 0, "more than 1000 operators build on each other");
    sf_buf_reset(&text);
    sf_buf_print(&text, "{.a=1");
    for (size_t i = 0; i < 4000; i++)
        sf_buf_print(&text, "%s.a=1", i % 2 ? "&&" : "||");
    sf_buf_print(&text, "}");
    sf_buf_add_u8(&text, 0);
    expect_fault((const char *)text.p, 0, "more than 1000 operators build on each other");
    sf_buf_done(&text);
}

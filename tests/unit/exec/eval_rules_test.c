/* Rules of the language that the worked queries do not reach, one small trace for all of them. */
#include "test.h"

#include "exec/eval.h"
#include "query/expr_text.h"
#include "query/query_parse.h"

#define ATTRS(list)                            \
    {                                          \
        list, sizeof(list) / sizeof((list)[0]) \
    }
#define INT(name, number)                         \
    {                                             \
        SF_STR(name),                             \
        {                                         \
            .type = SF_VALUE_INT, .i64 = (number) \
        }                                         \
    }
#define STR(name, text)                               \
    {                                                 \
        SF_STR(name),                                 \
        {                                             \
            .type = SF_VALUE_STR, .str = SF_STR(text) \
        }                                             \
    }
#define BOOL(name, truth)                             \
    {                                                 \
        SF_STR(name),                                 \
        {                                             \
            .type = SF_VALUE_BOOL, .is_true = (truth) \
        }                                             \
    }
#define LIST(name, kind, bytes)                  \
    {                                            \
        SF_STR(name),                            \
        {                                        \
            .type = (kind), .str = SF_STR(bytes) \
        }                                        \
    }

/* [1, 2] as the content of an OTLP ArrayValue. */
#define ONE_TWO  "\x0a\x02\x18\x01\x0a\x02\x18\x02"
#define TRACE_ID "0000000000000000000000000000abcd"

static const struct sf_attr on_resource[] = {INT("a", 4), STR("service.name", "shop")};
static const struct sf_attr first_attrs[] = {LIST("a", SF_VALUE_BYTES, "raw"),
                                             LIST("list", SF_VALUE_ARRAY, ONE_TWO), INT("one", 1),
                                             INT("group", 1)};
static const struct sf_attr second_attrs[] = {LIST("list", SF_VALUE_ARRAY, ""), INT("group", 2),
                                              STR("origin", TRACE_ID)};
static const struct sf_attr third_attrs[] = {INT("a", 9), INT("group", 1)};
static const struct sf_attr event_one[] = {INT("x", 7), BOOL("flag", false)};
static const struct sf_attr event_two[] = {INT("x", 1), BOOL("flag", true)};
static const struct sf_event first_events[] = {{.name = SF_STR("e"), .attrs = ATTRS(event_one)},
                                               {.name = SF_STR("f"), .attrs = ATTRS(event_two)}};
static const struct sf_event third_events[] = {{.name = SF_STR("e"), .attrs = ATTRS(event_one)}};

static const struct sf_resource resource = {.attrs = ATTRS(on_resource), .service = SF_STR("shop")};
static const struct sf_scope scope;

/* 1 the root; 2 its child, which ends before it starts; 3 a child of 2. */
static const struct sf_span spans[] = {
    {.span_id = 1,
     .start_ns = 100,
     .end_ns = 150,
     .kind = SF_KIND_SERVER,
     .attrs = ATTRS(first_attrs),
     .events = first_events,
     .n_events = 2},
    {.span_id = 2,
     .parent_id = 1,
     .start_ns = 300,
     .end_ns = 20,
     .kind = SF_KIND_CLIENT,
     .attrs = ATTRS(second_attrs)},
    {.span_id = 3,
     .parent_id = 2,
     .start_ns = 310,
     .end_ns = 320,
     .kind = SF_KIND_CLIENT,
     .attrs = ATTRS(third_attrs),
     .events = third_events,
     .n_events = 1},
};

/* Spans of each spanset in brackets, after the values of its attributes. */
static enum sf_err evaluate(const char *text, uint32_t n_spans, struct sf_buf *out,
                            struct sf_why *why)
{
    struct sf_arena req;
    struct sf_trace_view v = {
        .spans = spans, .n_spans = n_spans, .resources = &resource, .scopes = &scope};
    struct sf_spansets sets = {0};
    const struct sf_query *q;
    struct sf_eval *e;
    enum sf_err err;
    assert_true(sf_arena_init(&req, 1 << 20));
    assert_true(sf_trace_id_parse(SF_STR(TRACE_ID), &v.id));
    if (sf_query_parse(sf_str_from(text), &req, &q, NULL, why))
        fail_msg("%s: %s", text, why->text);
    assert_ok(sf_eval_new(q, &e, why));
    sf_trace_view_init(&v);
    err = sf_eval_pipeline(e, q->pipeline, &v, &req, &sets, why);
    for (uint32_t i = 0; i < sets.n && !err; i++) {
        sf_buf_print(out, "[");
        for (uint32_t k = 0; k < sets.list[i].n_attrs; k++) {
            sf_expr_text_static(sets.list[i].attrs[k].val, out);
            sf_buf_print(out, ":");
        }
        for (uint32_t k = 0; k < sets.list[i].n_spans; k++)
            sf_buf_print(out, "%u", (unsigned)spans[sets.list[i].spans[k]].span_id);
        sf_buf_print(out, "]");
    }
    sf_eval_free(e);
    sf_arena_done(&req);
    return err;
}

static void expect_of(const char *text, uint32_t n_spans, const char *want)
{
    struct sf_buf out = {0};
    struct sf_why why = {0};
    if (evaluate(text, n_spans, &out, &why))
        sf_buf_print(&out, "ERROR");
    if (!sf_str_eq(sf_buf_str(&out), sf_str_from(want)))
        fail_msg("%s gives %.*s, not %s", text, SF_STR_ARG(sf_buf_str(&out)), want);
    sf_buf_done(&out);
}

static void expect(const char *text, const char *want)
{
    expect_of(text, 3, want);
}

TEST(eval_rules, groups_come_in_the_order_of_their_first_spans)
{
    expect("{ } | by(kind) | by(span.group)", "[server:1:1][client:2:2][client:1:3]");
    expect("{ } | by(span.group) | by(kind)", "[1:server:1][2:client:2][1:client:3]");
}

TEST(eval_rules, a_value_that_cannot_be_seen_hides_no_resource_attribute)
{
    expect("{ .a = 4 }", "[12]");
    expect("{ .a = nil }", "");
    expect("{ span.a = nil }", "[12]");
}

TEST(eval_rules, an_array_compares_on_either_side)
{
    expect("{ span.list = span.one }", "[1]");
    expect("{ span.one = span.list }", "[1]");
    expect("{ 2 = span.list }", "[1]");
    expect("{ 1 < span.list }", "[1]");
    expect("{ span.list != 1 }", "[2]");
    expect("{ span.list = span.list }", "");
}

TEST(eval_rules, nothing_compares_with_a_missing_attribute)
{
    expect("{ span.list != span.missing }", "");
    expect("{ span.missing != span.list }", "");
}

TEST(eval_rules, a_comparison_sees_every_event_on_either_side)
{
    expect("{ span.one = event.x }", "[1]");
    expect("{ event.x = span.one }", "[1]");
    expect("{ 1 = event.x }", "[1]");
}

TEST(eval_rules, an_attribute_of_events_is_a_condition_when_some_event_says_so)
{
    expect("{ event.flag }", "[1]");
    expect("{ !event.flag }", "[3]");
    expect("{ event.flag || span.group = 2 }", "[12]");
}

TEST(eval_rules, leading_zeros_of_trace_ids_matter_on_no_side)
{
    expect("{ trace:id = \"abcd\" }", "[123]");
    expect("{ \"" TRACE_ID "\" = trace:id }", "[123]");
    expect("{ span.origin = trace:id }", "[2]");
    expect("{ trace:id = span.origin }", "[2]");
}

TEST(eval_rules, what_divides_by_zero_is_missing_and_not_the_word_nil)
{
    expect("{ span.missing = 1 / 0 }", "");
    expect("{ span.one != 1 % 0 }", "");
}

TEST(eval_rules, and_and_or_take_the_spans_of_all_spansets)
{
    expect("({ } | by(kind)) && ({ })", "[123]");
    expect("({ span.group = 1 } | by(kind)) || ({ false })", "[13]");
    expect("({ } | by(kind)) > ({ })", "ERROR");
}

TEST(eval_rules, parentheses_around_stages_change_nothing)
{
    expect("({ } | by(kind) | count() > 1)", "[client:2:23]");
}

TEST(eval_rules, a_span_that_ends_before_it_starts_takes_no_time)
{
    expect_of("{ traceDuration = 200ns }", 2, "[12]");
    expect("{ traceDuration = 220ns && duration = 0 }", "[2]");
}

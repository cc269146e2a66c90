/* The sentence of an explanation: it adds up, and claims no more of a place than is there. */
#include "render/explain.h"
#include "test.h"

#include <math.h>

enum { MS = 1000000 };

static struct sf_explain_part part_of(const char *name, const char *words, int64_t ms)
{
    return (struct sf_explain_part){.name = name,
                                    .words = words,
                                    .ledger = name,
                                    .source = "measured",
                                    .ns = ms * MS,
                                    .low_ns = NAN,
                                    .high_ns = NAN};
}

static struct sf_explain_view view_of(enum sf_explain_of of, int64_t ms,
                                      struct sf_explain_part *parts, uint32_t n)
{
    return (struct sf_explain_view){.of = of,
                                    .service = SF_STR("shop"),
                                    .duration_ns = ms * MS,
                                    .low_ns = NAN,
                                    .high_ns = NAN,
                                    .is_significant = true,
                                    .n_spans = 100,
                                    .n_left = 100,
                                    .parts = parts,
                                    .n_parts = n};
}

static void check_sentence(const struct sf_explain_view *v, const char *want)
{
    struct sf_buf out = {0};
    sf_explain_sentence(v, &out);
    if (!sf_str_eq(sf_buf_str(&out), sf_str_from(want)))
        fail_msg("\"%.*s\"", SF_STR_ARG(sf_buf_str(&out)));
    sf_buf_done(&out);
}

TEST(explain_sentence, says_how_much_of_a_wait_is_in_the_place_it_names)
{
    struct sf_explain_span spans[] = {
        {.service = SF_STR("pricing"), .name = SF_STR("GET /price"), .ns = 279 * MS, .count = 1}};
    struct sf_explain_function code[] = {{.function = SF_STR("readAll"), .ns = 101 * MS}};
    struct sf_explain_part parts[] = {part_of("run_queue", "waiting for a CPU", 482),
                                      part_of("net", "waiting for the network", 118)};
    struct sf_explain_view v = view_of(SF_EXPLAIN_TRACE, 600, parts, 2);
    parts[0].children = spans;
    parts[0].n_children = 1;
    parts[1].functions = code;
    parts[1].n_functions = 1;
    check_sentence(&v, "600 ms: 482 ms waiting for a CPU, 279 ms of it in pricing: GET /price; "
                       "118 ms waiting for the network, 101 ms of it in readAll");
    spans[0].ns = 480 * MS;
    code[0].ns = 118 * MS;
    check_sentence(&v, "600 ms: 482 ms waiting for a CPU in pricing: GET /price; "
                       "118 ms waiting for the network in readAll");
}

TEST(explain_sentence, says_how_much_one_child_takes_if_there_are_others)
{
    struct sf_explain_span spans[] = {
        {.service = SF_STR("shop"), .name = SF_STR("load"), .ns = 2 * MS, .count = 12}};
    struct sf_explain_part parts[] = {part_of("child", "in child spans", 16)};
    struct sf_explain_view v = view_of(SF_EXPLAIN_SPAN, 16, parts, 1);
    parts[0].children = spans;
    parts[0].n_children = 1;
    check_sentence(&v, "16 ms: 16 ms in child spans: 2 ms 12 x load");
}

TEST(explain_sentence, says_how_long_the_longest_of_several_is_if_it_is_longer_than_its_part)
{
    struct sf_explain_part below[] = {part_of("unknown", "unknown", 5000)};
    struct sf_explain_span spans[] = {{.service = SF_STR("shop"),
                                       .name = SF_STR("part"),
                                       .ns = 50 * MS,
                                       .duration_ns = 5000ull * MS,
                                       .count = 50,
                                       .most_ns = 50 * MS,
                                       .parts = below,
                                       .n_parts = 1}};
    struct sf_explain_part parts[] = {part_of("child", "in child spans", 50)};
    struct sf_explain_view v = view_of(SF_EXPLAIN_SPAN, 50, parts, 1);
    parts[0].children = spans;
    parts[0].n_children = 1;
    check_sentence(&v, "50 ms: 50 ms in child spans: 1 of 50 x part (of its 5 s: 5 s unknown)");
}

TEST(explain_sentence, says_that_not_everything_was_read)
{
    struct sf_explain_part parts[] = {part_of("unknown", "unknown", 50)};
    struct sf_explain_view v = view_of(SF_EXPLAIN_TRACE, 50, parts, 1);
    v.is_partial = true;
    check_sentence(&v, "50 ms: 50 ms unknown (part of the trace was not read)");
    v.of = SF_EXPLAIN_SET;
    check_sentence(&v, "50 ms, mean of 100 spans: 50 ms unknown (part of the data was not read)");
}

TEST(explain_sentence, names_one_of_many_if_it_takes_the_time)
{
    struct sf_explain_part below[] = {part_of("lock", "waiting for a lock", 280)};
    struct sf_explain_span spans[] = {{.service = SF_STR("shop"),
                                       .name = SF_STR("shard"),
                                       .ns = 300 * MS,
                                       .most_ns = 295 * MS,
                                       .count = 20,
                                       .parts = below,
                                       .n_parts = 1}};
    struct sf_explain_part parts[] = {part_of("child", "in child spans", 300)};
    struct sf_explain_view v = view_of(SF_EXPLAIN_SPAN, 300, parts, 1);
    parts[0].children = spans;
    parts[0].n_children = 1;
    check_sentence(&v,
                   "300 ms: 300 ms in child spans: 1 of 20 x shard (280 ms waiting for a lock)");
    spans[0].most_ns = 30 * MS;
    check_sentence(&v,
                   "300 ms: 300 ms in child spans: 20 x shard (the longest: 280 ms waiting for a "
                   "lock)");
}

TEST(explain_sentence, adds_up)
{
    struct sf_explain_part parts[] = {
        part_of("run_queue", "waiting for a CPU", 279), part_of("on_cpu", "running", 60),
        part_of("child", "in child spans", 17), part_of("unknown", "unknown", 1)};
    struct sf_explain_view v = view_of(SF_EXPLAIN_SPAN, 357, parts, 4);
    check_sentence(&v, "357 ms: 279 ms waiting for a CPU; 60 ms running; 17 ms in child spans");
    parts[2].ns = 9 * MS;
    parts[3].ns = 9 * MS;
    check_sentence(&v, "357 ms: 279 ms waiting for a CPU; 60 ms running; 18 ms in smaller parts");
}

TEST(explain_sentence, of_a_difference_adds_up_too)
{
    struct sf_explain_part parts[] = {part_of("child", "in child spans", 90),
                                      part_of("net", "waiting for the network", -8),
                                      part_of("on_cpu", "running", -2)};
    struct sf_explain_view v = view_of(SF_EXPLAIN_DIFFERENCE, 80, parts, 3);
    check_sentence(&v,
                   "slow spans take 80 ms more per request than the rest: 90 ms in child spans; "
                   "offset by 10 ms in other parts");
    parts[1].ns = -10 * MS;
    parts[2].ns = 0;
    check_sentence(&v,
                   "slow spans take 80 ms more per request than the rest: 90 ms in child spans; "
                   "offset by 10 ms waiting for the network");
}

TEST(explain_sentence, says_that_other_spans_are_compared_and_how_often_children_are_called)
{
    struct sf_explain_span spans[] = {
        {.name = SF_STR("POST bank"), .ns = 80 * MS, .count = 1, .before_per = 1, .after_per = 3}};
    struct sf_explain_part parts[] = {part_of("child", "in child spans", 80)};
    struct sf_explain_view v = view_of(SF_EXPLAIN_DIFFERENCE, 80, parts, 1);
    parts[0].children = spans;
    parts[0].n_children = 1;
    v.after_version = SF_STR("v2");
    v.before_version = SF_STR("v1");
    check_sentence(&v, "shop v2 takes 80 ms more per request than v1: 80 ms in child spans: POST "
                       "bank (3 per request instead of 1)");
    parts[0].n_children = 0;
    v.mix = (struct sf_explain_mix){SF_STR("GET /report"), 70 * MS, 0.1, 0.6};
    check_sentence(&v, "shop v2 takes 80 ms more per request than v1, 70 ms of it because GET "
                       "/report is 60 % of these spans, and 10 % of the others: 80 ms in child "
                       "spans");
}

TEST(explain_sentence, gives_the_reason_once_when_there_is_nothing_to_compare)
{
    struct sf_explain_view v = view_of(SF_EXPLAIN_DIFFERENCE, 0, NULL, 0);
    struct sf_buf out = {0};
    v.n_left = 0;
    v.reason = SF_STR("no spans of \"v1\" in this time: nothing to compare");
    sf_explain_text(&v, &out);
    assert_str(sf_buf_str(&out), "no spans of \"v1\" in this time: nothing to compare\n\n");
    sf_buf_done(&out);
}

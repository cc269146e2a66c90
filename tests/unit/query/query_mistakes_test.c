/* What typical mistakes are told: tests/golden/traceql_mistakes.txt has each with the place marked
 * and the sentence. SF_GOLDEN_WRITE=1 writes it again; read the difference. */
#include "unit/render/golden.h"

#include "query/query_parse.h"

static const char *const mistakes[] = {
    /* forgotten or wrong brackets */
    "",
    "name = \"GET\"",
    "resource.service.name = \"shop\"",
    "span:name = \"GET\"",
    "{ name = \"GET\"",
    "{ name = \"GET\" )",
    "{ (name = \"GET\" }",
    "({ name = \"GET\" }",
    "{ name = \"GET\" } }",
    "{ name = \"GET\" } { status = error }",
    "{ { name = \"GET\" } }",
    "{ name = \"GET\" } status = error",
    /* signs of other languages */
    "{ name == \"GET\" }",
    "{ name <> \"GET\" }",
    "{ name = \"GET\" and status = error }",
    "{ name = \"GET\" AND status = error }",
    "{ name = \"GET\" or status = error }",
    "{ not status = error }",
    "{ name = \"GET\" & status = error }",
    "{ name = \"GET\" | status = error }",
    "{ name = \"GET\", status = error }",
    "{ name like \"GET%\" }",
    "{ name in (\"GET\", \"POST\") }",
    "{ name contains \"GET\" }",
    "{ span.a is null }",
    "{ span.a = null }",
    "{ span.a != None }",
    "{ .a = [1, 2] }",
    "{ .a = 1; }",
    "{ $a = 1 }",
    /* names */
    "{ nam = \"GET\" }",
    "{ Name = \"GET\" }",
    "{ durations > 5ms }",
    "{ service.name = \"shop\" }",
    "{ http.status_code = 500 }",
    "{ spam.http.route = \"/\" }",
    "{ resorce.service.name = \"shop\" }",
    "{ span:nme = \"GET\" }",
    "{ trace:name = \"GET\" }",
    "{ event:timeSinceSart > 5ms }",
    "{ span. = 1 }",
    "{ span .a = 1 }",
    "{ span.http status = 1 }",
    "{ parent.name = \"GET\" }",
    /* values */
    "{ name = GET }",
    "{ name = 'GET' }",
    "{ name = \"GET }",
    "{ span.\"http route = 1 }",
    "{ status = \"error\" }",
    "{ status = err }",
    "{ status = Error }",
    "{ status = 2 }",
    "{ kind = \"server\" }",
    "{ kind = servr }",
    "{ duration > \"500ms\" }",
    "{ duration > 5sec }",
    "{ duration > 500 ms }",
    "{ .a = 0x10 }",
    "{ .a = 99999999999999999999 }",
    "{ name = 5 }",
    "{ .a = }",
    "{ = 5 }",
    "{ .a = 5 && }",
    "{ && .a = 5 }",
    "{ .a = 5 } && ",
    "{ .a } >>> { .b }",
    "{ name }",
    "{ 5 }",
    "{ status > ok }",
    "{ name + \"x\" = \"y\" }",
    "{ !name }",
    "{ name = nil }",
    "{ nil }",
    /* patterns */
    "{ name =~ \"\\d+\" }",
    "{ name =~ \"(\" }",
    "{ name =~ \"*a\" }",
    "{ name =~ \"(?=a)\" }",
    "{ name =~ \"(a)\\\\1\" }",
    "{ name =~ \"a{2000}\" }",
    "{ name =~ \"[a-\" }",
    "{ name =~ \"(((a{1000}){1000}){1000})\" }",
    "{ name =~ span.a }",
    "{ duration =~ \"5.*\" }",
    /* profiles */
    "{ profile.fram = \"f\" }",
    "{ profile.cpus > 5ms }",
    "{ profile:cpu > 5ms }",
    "{ profile.frame }",
    "{ profile.frame > \"f\" }",
    "{ \"f\" = profile.frame }",
    "{ profile.frame = span.a }",
    "{ profile.frame =~ \"(\" }",
    "{ profile.cpu =~ \"5.*\" }",
    "{ profile.cpu > \"50ms\" }",
    "{ } | by(profile.frame)",
    "{ } | rate() by (profile.frame)",
    "{ } | avg_over_time(profile.frame)",
    /* stages */
    "{ } | cuont() > 1",
    "{ } | count() ",
    "{ } | count > 1",
    "{ } | count(span.a) > 1",
    "{ } | sum() > 1",
    "{ } | max(name) > 1",
    "{ } | avg(5) > 1",
    "{ } | avg(duration) > error",
    "{ } | count() + 1 > 2",
    "{ } | by()",
    "{ } | by(5)",
    "{ } | by(name, kind)",
    "{ } | group by(name)",
    "{ } | select()",
    "{ } | select(5)",
    "{ } | select(nam)",
    "{ } |",
    "| count() > 1",
    "coalesce()",
    /* metrics */
    "{ } | rat()",
    "{ } | rate",
    "{ } | rate(duration)",
    "{ } | rate() by resource.service.name",
    "{ } | rate() by ()",
    "{ } | rate() | rate()",
    "{ } | rate() | count() > 1",
    "{ } | rate() | topk()",
    "{ } | rate() | topk(0)",
    "{ } | rate() | topk(1.5)",
    "{ } | topk(10)",
    "{ } | rate() > \"5\"",
    "{ } | rate() by (.a, .b, .c, .d, .e, .f)",
    "{ } | min_over_time()",
    "{ } | quantile_over_time(duration)",
    "{ } | quantile_over_time(duration, 99)",
    "{ } | quantile_over_time(0.99, duration)",
    "{ } | compare()",
    "{ } | compare({ }, 0)",
    "{ } | compare({ }) | topk(1)",
    "rate({ }[5m])",
    "{ }[5m]",
    "({ } | rate()) * 5ms",
    "({ } | rate()) / { }",
    "sum(rate())",
    /* hints, comments, lines */
    "{ } with()",
    "{ } with(most_recent)",
    "{ } with most_recent=true",
    "{ } /* all",
    "{ name = \"GET\" &&\n  status = \"error\"\n}",
    "{ name = \"GET\" &&\n  stats = error }",
};

TEST(query_mistakes, are_told_where_they_are_and_what_was_expected)
{
    struct sf_arena req;
    struct sf_buf out = {0};
    assert_true(sf_arena_init(&req, 16 << 20));
    for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
        sf_str text = sf_str_from(mistakes[i]), rest = text, line;
        const struct sf_query *q;
        struct sf_query_fault fault;
        struct sf_why why = {0};
        sf_arena_reset(&req);
        if (!sf_query_parse(text, &req, &q, &fault, &why))
            fail_msg("%s is accepted", mistakes[i]);
        assert_true(fault.line > 0 && fault.column > 0);
        for (uint32_t n = 1; sf_str_split_next(&rest, '\n', &line) || n == 1; n++) {
            sf_buf_print(&out, "  %.*s\n", SF_STR_ARG(line));
            if (n != fault.line)
                continue;
            sf_buf_print(&out, "%*s", (int)fault.column + 1, "");
            for (uint32_t k = 0; k < fault.len; k++)
                sf_buf_add_u8(&out, '^');
            sf_buf_add_u8(&out, '\n');
        }
        sf_buf_print(&out, "%s\n\n", why.text);
    }
    assert_golden("traceql_mistakes.txt", &out);
    sf_buf_done(&out);
    sf_arena_done(&req);
}

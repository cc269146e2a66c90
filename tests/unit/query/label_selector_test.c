#include "test.h"

#include "query/label_selector.h"

static struct sf_arena req;
static struct sf_label_selector s;
static struct sf_why why;

static enum sf_err parse(const char *text)
{
    if (!req.base && !sf_arena_init(&req, 1 << 20))
        fail();
    sf_arena_reset(&req);
    s = (struct sf_label_selector){0};
    return sf_label_selector_parse(sf_str_from(text), &req, &s, &why);
}

TEST(label_selector, reads_matchers_of_every_kind)
{
    assert_ok(parse("{a=\"b\", c!='d\\'x' ,e=~`x|y\\d`, \"f.g\"!~\"z\", }"));
    assert_int_equal(s.n, 4);
    assert_str(s.list[0].val, "b");
    assert_str(s.list[1].val, "d'x");
    assert_int_equal(s.list[1].op, SF_OP_NE);
    assert_str(s.list[2].val, "x|y\\d");
    assert_int_equal(s.list[2].op, SF_OP_MATCH);
    assert_str(s.list[3].key, "f.g");
    assert_int_equal(s.list[3].op, SF_OP_NO_MATCH);
    assert_ok(parse(""));
    assert_int_equal(s.n, 0);
    assert_ok(parse(" {} "));
    assert_int_equal(s.n, 0);
}

TEST(label_selector, takes_a_name_in_front_for_the_name_or_the_type)
{
    assert_ok(parse("process_cpu{a=\"b\"}"));
    assert_str(s.list[0].key, "__name__");
    assert_ok(parse("process_cpu:cpu:nanoseconds:cpu:nanoseconds{}"));
    assert_str(s.list[0].key, "__profile_type__");
}

TEST(label_selector, refuses_what_it_cannot_mean)
{
    static const char *const bad[] = {
        "{",        "{a}",        "{a=}", "{a=\"b}",  "{a=\"b\" c=\"d\"}",
        "{=\"b\"}", "{a=\"b\"}x", "a b",  "{a>\"b\"}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_err(parse(bad[i]), SF_ERR_INPUT);
}

TEST(label_selector, reads_what_people_type)
{
    struct sf_label_selector again = {0};
    struct sf_buf text = {0};
    assert_ok(parse(""));
    assert_ok(sf_label_selector_parse_loose(
        SF_STR("order service/2{env=prod, commit != \"a,b\\\"\" ,otel.scope.name=~x|y}"), &req, &s,
        &why));
    assert_int_equal(s.n, 4);
    assert_str(s.list[0].key, "service_name");
    assert_str(s.list[0].val, "order service/2");
    assert_str(s.list[1].val, "prod");
    assert_str(s.list[2].val, "a,b\"");
    assert_int_equal(s.list[2].op, SF_OP_NE);
    assert_str(s.list[3].key, "otel.scope.name");
    assert_str(s.list[3].val, "x|y");
    sf_label_selector_render(&s, &text);
    assert_str(sf_buf_str(&text), "{\"service_name\"=\"order service/2\",\"env\"=\"prod\","
                                  "\"commit\"!=\"a,b\\\"\",\"otel.scope.name\"=~\"x|y\"}");
    assert_ok(sf_label_selector_parse(sf_buf_str(&text), &req, &again, &why));
    assert_int_equal(again.n, 4);
    assert_str(again.list[2].val, "a,b\"");
    sf_buf_done(&text);
    s = (struct sf_label_selector){0};
    assert_ok(sf_label_selector_parse_loose(SF_STR("a:b:c{}"), &req, &s, &why));
    assert_str(s.list[0].key, "__profile_type__");
    s = (struct sf_label_selector){0};
    assert_err(sf_label_selector_parse_loose(SF_STR("svc{a=}"), &req, &s, &why), SF_ERR_INPUT);
    assert_err(parse("svc{a=b}"), SF_ERR_INPUT); /* the strict grammar wants quotes */
}

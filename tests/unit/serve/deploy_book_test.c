#include "serve/own/deploy_book.h"

#include "base/time_unit.h"
#include "test.h"

static const int64_t T = INT64_C(1763200000) * SF_NS_PER_S;
static struct sf_why why;

static enum sf_err add(struct sf_deploy_book *b, const char *json, int64_t now_ns)
{
    const struct sf_deploy *made;
    memset(&why, 0, sizeof(why));
    return sf_deploy_book_add(b, sf_str_from(json), SF_STR("t"), now_ns, &made, &why);
}

TEST(deploy_book, keeps_them_by_time_and_forgets_the_oldest)
{
    struct sf_deploy_book b = {0}, again = {0};
    struct sf_buf text = {0};
    assert_ok(add(&b, "{\"service\":\"shop\",\"version\":\"2\",\"comment\":\"a\\n\\\"b\\\"\"}", T));
    assert_ok(
        add(&b, "{\"service\":\"shop\",\"commit\":\"abc\",\"time\":\"2025-01-01T00:00:00Z\"}", T));
    assert_true(sf_str_eq(b.list[0].version, SF_STR("abc"))); /* earlier; its commit names it */
    sf_deploy_book_write(&b, &text);
    assert_ok(sf_deploy_book_read(&again, sf_buf_str(&text), &why));
    assert_int_equal(again.n, 2);
    assert_true(again.list[1].time_ns == T);
    assert_true(sf_str_eq(again.list[1].comment, SF_STR("a\n\"b\"")));
    assert_string_equal(again.list[1].id, b.list[1].id);
    sf_deploy_book_done(&again);
    text.p[text.len - 4] ^= 1;
    assert_err(sf_deploy_book_read(&again, sf_buf_str(&text), &why), SF_ERR_CORRUPT);
    assert_int_equal(again.n, 0);
    for (int i = 0; i < SF_LIMIT_DEPLOYS; i++)
        assert_ok(add(&b, "{\"service\":\"shop\",\"version\":\"3\"}", T + 1 + i));
    sf_deploy_book_tidy(&b);
    assert_int_equal(b.n, SF_LIMIT_DEPLOYS);
    assert_true(b.list[0].time_ns == T + 1);
    sf_buf_done(&text);
    sf_deploy_book_done(&b);
}

/* The page makes a link of `url`: a script there would run with the page's rights. */
TEST(deploy_book, takes_no_address_but_of_the_web)
{
    struct sf_deploy_book b = {0};
    static const char *const bad[] = {
        "javascript:alert(1)", "data:text/html,x", "//evil.example", "JavaScript://x\\nalert(1)",
        "file:///etc/passwd",  "https://",         "http:///x",      "https://a b/",
        "https://a/\\n"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct sf_buf json = {0};
        sf_buf_print(&json, "{\"service\":\"shop\",\"version\":\"1\",\"url\":\"%s\"}%c", bad[i], 0);
        assert_err(add(&b, (const char *)json.p, T), SF_ERR_INPUT);
        assert_non_null(strstr(why.text, "url"));
        sf_buf_done(&json);
    }
    assert_int_equal(b.n, 0);
    assert_ok(add(&b, "{\"service\":\"shop\",\"version\":\"1\",\"url\":\"https://ci/7?a=1\"}", T));
    sf_deploy_book_done(&b);
}

TEST(deploy_book, refuses_keys_it_does_not_know)
{
    struct sf_deploy_book b = {0};
    assert_err(add(&b, "{\"service\":\"shop\",\"version\":\"1\",\"tenant\":\"x\"}", T),
               SF_ERR_INPUT);
    assert_err(add(&b, "{\"service\":\"shop\",\"version\":\"1\",\"Url\":\"x\"}", T), SF_ERR_INPUT);
    assert_err(add(&b, "{\"service\":\"shop\",\"version\":\"1\",\"id\":\"x\"}", T), SF_ERR_INPUT);
    sf_deploy_book_done(&b);
}

TEST(deploy_book, who_tells_of_many_forgets_their_own)
{
    const sf_str one = SF_STR("{\"service\":\"shop\",\"version\":\"3\"}");
    struct sf_deploy_book b = {0};
    const struct sf_deploy *made;
    for (int i = 0; i < 3; i++)
        assert_ok(sf_deploy_book_add(&b, one, SF_STR("few"), T + i, &made, &why));
    for (int i = 0; i < SF_LIMIT_DEPLOYS; i++)
        assert_ok(add(&b, "{\"service\":\"shop\",\"version\":\"3\"}", T + 10 + i));
    sf_deploy_book_tidy(&b);
    assert_int_equal(b.n, SF_LIMIT_DEPLOYS);
    assert_true(b.list[2].time_ns == T + 2 && b.list[3].time_ns == T + 13);
    sf_deploy_book_done(&b);
}

TEST(deploy_book, one_that_is_taken_back_costs_nothing)
{
    struct sf_deploy_book b = {0}, again = {0};
    struct sf_buf text = {0};
    const struct sf_deploy *made;
    char id[17];
    for (int i = 0; i < SF_LIMIT_DEPLOYS; i++)
        assert_ok(add(&b, "{\"service\":\"shop\",\"version\":\"3\"}", T + i));
    assert_ok(sf_deploy_book_add(&b, SF_STR("{\"service\":\"shop\",\"version\":\"4\"}"),
                                 SF_STR("t"), T + SF_LIMIT_DEPLOYS, &made, &why));
    memcpy(id, made->id, sizeof(id));
    sf_deploy_book_write(&b, &text); /* the file has no more than there may be */
    assert_ok(sf_deploy_book_read(&again, sf_buf_str(&text), &why));
    assert_int_equal(again.n, SF_LIMIT_DEPLOYS);
    assert_true(again.list[0].time_ns == T + 1);
    sf_deploy_book_remove(&b, id);
    sf_deploy_book_remove(&b, id);
    sf_deploy_book_tidy(&b);
    assert_int_equal(b.n, SF_LIMIT_DEPLOYS);
    assert_true(b.list[0].time_ns == T);
    sf_buf_done(&text);
    sf_deploy_book_done(&again);
    sf_deploy_book_done(&b);
}

TEST(deploy_book, says_what_is_wrong)
{
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"service\":\"shop\"}",
        "{\"service\":\"shop\",\"version\":\"2\"} {}",
        "{\"version\":\"2\"}",
        "{\"service\":\"shop\",\"version\":\"2\",\"time\":\"soon\"}",
        "{\"service\":\"s\",\"version\":\"2\",\"time\":\"2099-01-01T00:00:00Z\"}",
        "{\"service\":\"\xff\",\"version\":\"2\"}"};
    struct sf_deploy_book b = {0};
    struct sf_buf text = {0};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_true(add(&b, bad[i], T) != SF_OK && why.text[0]);
    sf_buf_print(&text, "{\"service\":\"s\",\"version\":\"%0*d\"}%c", SF_LIMIT_DEPLOY_TEXT_LEN, 1,
                 0);
    assert_err(add(&b, (const char *)text.p, T), SF_ERR_LIMIT);
    assert_int_equal(b.n, 0);
    sf_buf_done(&text);
    sf_deploy_book_done(&b);
}

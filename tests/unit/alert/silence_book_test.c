#include "alert/silence_book.h"

#include "alert/alert_history.h"
#include "base/time_unit.h"
#include "intake/redact.h"
#include "test.h"

static const int64_t T = INT64_C(1763200000) * SF_NS_PER_S;
static struct sf_why why;

static enum sf_err add(struct sf_silence_book *b, const char *json)
{
    struct sf_silence *made;
    memset(&why, 0, sizeof(why));
    return sf_silence_book_add(b, sf_str_from(json), SF_STR("t"), T, &made, &why);
}

static bool is_silent(struct sf_silence_book *b, const char *labels, int64_t at_ns)
{
    return sf_silence_book_find(b, SF_STR("t"), sf_str_from(labels), at_ns) != NULL;
}

TEST(silence_book, all_matchers_must_hold)
{
    struct sf_silence_book b = {0};
    int64_t end_ns = 0;
    assert_ok(add(&b,
                  "{\"matchers\":[{\"name\":\"alertname\",\"value\":\"slow\"},{\"name\":\"env\","
                  "\"value\":\"prod|te.*\",\"isRegex\":true},{\"name\":\"team\",\"value\":\"a\","
                  "\"isEqual\":false}],\"duration\":\"2h\",\"comment\":\"a \\\"deploy\\\"\"}"));
    assert_true(is_silent(&b, "\"alertname\":\"slow\",\"env\":\"test\"", T));
    assert_true(is_silent(&b, "\"alertname\":\"sl\\u006fw\",\"env\":\"prod\",\"team\":\"b\"", T));
    assert_false(is_silent(&b, "\"alertname\":\"slow\",\"env\":\"production\"", T));
    assert_false(is_silent(&b, "\"alertname\":\"slow\",\"env\":\"prod\",\"team\":\"a\"", T));
    assert_false(is_silent(&b, "\"alertname\":\"fast\",\"env\":\"prod\"", T));
    assert_false(is_silent(&b, "\"alertname\":\"slow\",\"env\":\"prod\"", T - 1));
    assert_false(is_silent(&b, "\"alertname\":\"slow\",\"env\":\"prod\"", T + 2 * SF_NS_PER_HOUR));
    assert_null(sf_silence_book_find(&b, SF_STR("other"),
                                     SF_STR("\"alertname\":\"slow\",\"env\":\"prod\""), T));
    assert_err(sf_silence_book_expire(&b, SF_STR("x"), SF_STR("t"), T, &end_ns, &why),
               SF_ERR_NOT_FOUND);
    assert_err(
        sf_silence_book_expire(&b, sf_str_from(b.list[0].id), SF_STR("other"), T, &end_ns, &why),
        SF_ERR_NOT_FOUND);
    assert_ok(
        sf_silence_book_expire(&b, sf_str_from(b.list[0].id), SF_STR("t"), T + 1, &end_ns, &why));
    assert_true(end_ns == T + 2 * SF_NS_PER_HOUR);
    assert_false(is_silent(&b, "\"alertname\":\"slow\",\"env\":\"prod\"", T + 1));
    sf_silence_book_tidy(&b, T + 2);
    assert_int_equal(b.n, 0);
    sf_silence_book_done(&b);
}

TEST(silence_book, refuses_what_would_silence_all_or_for_ever)
{
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"matchers\":[],\"duration\":\"1h\"}",
        "{\"matchers\":[{\"name\":\"a\",\"value\":\"x\"}],\"duration\":\"1h\"}}",
        "{\"matchers\":[{\"value\":\"x\"}],\"duration\":\"1h\"}",
        "{\"matchers\":[{\"name\":\"a\",\"value\":\"x\"}]}",
        "{\"matchers\":[{\"name\":\"a\",\"value\":\"x\"}],\"endsAt\":\"soon\"}",
        "{\"matchers\":[{\"name\":\"a\",\"value\":\"x\"}],\"endsAt\":\"2001-01-01T00:00:00Z\"}",
        "{\"matchers\":[{\"name\":\"a\",\"value\":\"x\"}],\"duration\":\"much\"}",
        "{\"matchers\":[{\"name\":\"a\",\"value\":\"(\",\"isRegex\":true}],\"duration\":\"1h\"}",
        /* slips that would match what nobody meant: alerts without the label */
        "{\"matchers\":[{\"name\":\"a\"}],\"duration\":\"1h\"}",
        "{\"matchers\":[{\"name\":\"a\",\"values\":\"x\",\"value\":\"x\"}],\"duration\":\"1h\"}",
        "{\"matchers\":[{\"name\":\"a\",\"value\":\"\"}],\"duration\":\"1h\"}",
        "{\"matchers\":[{\"name\":\"a\",\"value\":\".*\",\"isRegex\":true}],\"duration\":\"1h\"}",
        "{\"matchers\":[{\"name\":\"a\",\"value\":\"x\",\"isEqual\":false}],\"duration\":\"1h\"}",
        "{\"matchers\":[{\"name\":\"a\",\"value\":\"x\"}],\"duration\":\"1h\",\"endAt\":\"\"}",
    };
    struct sf_silence_book b = {0};
    struct sf_buf text = {0};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_err(add(&b, bad[i]), SF_ERR_INPUT);
    assert_ok(
        add(&b, "{\"id\":\"\",\"status\":{\"state\":\"active\"},\"updatedAt\":\"x\",\"matchers\":["
                "{\"name\":\"a\",\"value\":\"\",\"isEqual\":false},{\"name\":\"b\","
                "\"value\":\".*\",\"isRegex\":true}],\"duration\":\"1h\"}"));
    assert_true(is_silent(&b, "\"a\":\"x\"", T));
    assert_false(is_silent(&b, "\"b\":\"x\"", T));
    assert_err(add(&b, "{\"matchers\":[{\"name\":\"a\",\"value\":\"x\"}],\"duration\":\"400d\"}"),
               SF_ERR_LIMIT); /* SF_LIMIT_SILENCE_DAYS */
    sf_buf_print(&text, "{\"duration\":\"1h\",\"matchers\":[");
    for (int i = 0; i <= SF_LIMIT_SILENCE_MATCHERS; i++)
        sf_buf_print(&text, "%s{\"name\":\"a\",\"value\":\"x\"}", i ? "," : "");
    sf_buf_print(&text, "]}%c", 0);
    assert_err(add(&b, (const char *)text.p), SF_ERR_LIMIT);
    sf_buf_reset(&text);
    sf_buf_print(&text,
                 "{\"matchers\":[{\"name\":\"a\",\"value\":\"%0*d\"}],\"duration\":\"1h\"}%c",
                 SF_LIMIT_SILENCE_TEXT_LEN, 1, 0);
    assert_err(add(&b, (const char *)text.p), SF_ERR_LIMIT);
    sf_buf_done(&text);
    sf_silence_book_done(&b);
}

TEST(silence_book, a_tenant_leaves_room_for_others)
{
    const sf_str one = SF_STR(
        "{\"matchers\":[{\"name\":\"a\",\"value\":\"x\"}],\"duration\":\"1h\"}");
    static const char *const tenants[] = {"t", "u"};
    struct sf_silence_book b = {0};
    struct sf_silence *made;
    char first[17];
    for (size_t k = 0; k < 2; k++) {
        for (int i = 0; i < SF_LIMIT_SILENCES / 2; i++)
            assert_ok(sf_silence_book_add(&b, one, sf_str_from(tenants[k]), T, &made, &why));
        assert_err(sf_silence_book_add(&b, one, sf_str_from(tenants[k]), T, &made, &why),
                   SF_ERR_LIMIT);
    }
    assert_err(sf_silence_book_add(&b, one, SF_STR("v"), T, &made, &why), SF_ERR_LIMIT);
    memcpy(first, b.list[0].id, sizeof(first));
    sf_silence_book_remove(&b, first);
    assert_int_equal(b.n, SF_LIMIT_SILENCES - 1);
    assert_string_not_equal(b.list[0].id, first);
    assert_ok(sf_silence_book_add(&b, one, SF_STR("v"), T, &made, &why));
    sf_silence_book_set_end(&b, sf_str_from(made->id), T + 7);
    assert_true(b.list[SF_LIMIT_SILENCES - 1].end_ns == T + 7);
    assert_true(b.list[0].end_ns == T + SF_NS_PER_HOUR);
    sf_silence_book_done(&b);
}

TEST(silence_book, keeps_no_secrets)
{
    struct sf_redact_config config = {.has_builtin = true, .in_keys = true, .in_values = true};
    struct sf_redactor *redactor = NULL;
    struct sf_silence_book b = {0};
    assert_ok(sf_redactor_new(&config, &redactor, &why));
    b.redactor = redactor;
    assert_ok(add(&b, "{\"matchers\":[{\"name\":\"a\",\"value\":\"x\"}],\"duration\":\"1h\","
                      "\"comment\":\"password=hunter2\",\"createdBy\":\"me, token=hunter2\"}"));
    assert_str(b.list[0].comment, "password=[REDACTED]");
    assert_str(b.list[0].by, "me, token=[REDACTED]");
    assert_int_equal(b.n_redacted, 2);
    assert_err(add(&b, "{\"matchers\":[{\"name\":\"password\",\"value\":\"hunter2\"}],"
                       "\"duration\":\"1h\"}"),
               SF_ERR_INPUT);
    assert_err(add(&b, "{\"matchers\":[{\"name\":\"token=hunter2\",\"value\":\"x\"}],"
                       "\"duration\":\"1h\"}"),
               SF_ERR_INPUT);
    /* as the label of an alert has it, with a keyed hash */
    assert_ok(add(&b, "{\"matchers\":[{\"name\":\"password\",\"value\":\"[REDACTED:0123]\"}],"
                      "\"duration\":\"1h\"}"));
    assert_int_equal(b.n, 2);
    sf_silence_book_done(&b);
    sf_redactor_free(redactor);
}

TEST(silence_book, patterns_are_few_and_shared)
{
    struct sf_silence_book b = {0};
    struct sf_silence *made;
    struct sf_buf text = {0};
    static const char *const tenants[] = {"t", "u"};
    enum { EACH = 10 };
    sf_buf_print(&text, "{\"duration\":\"1h\",\"matchers\":[");
    for (int i = 0; i < EACH; i++)
        sf_buf_print(&text, "%s{\"name\":\"a\",\"value\":\"x|y\",\"isRegex\":true}", i ? "," : "");
    sf_buf_print(&text, "]}");
    for (size_t k = 0; k < 2; k++) {
        sf_str tenant = sf_str_from(tenants[k]);
        for (int i = 0; i < SF_LIMIT_SILENCE_PATTERNS / 2 / EACH; i++)
            assert_ok(sf_silence_book_add(&b, sf_buf_str(&text), tenant, T, &made, &why));
        assert_err(sf_silence_book_add(&b, sf_buf_str(&text), tenant, T, &made, &why),
                   SF_ERR_LIMIT);
    }
    assert_err(sf_silence_book_add(&b, sf_buf_str(&text), SF_STR("v"), T, &made, &why),
               SF_ERR_LIMIT);
    assert_ok(add(&b, "{\"matchers\":[{\"name\":\"a\",\"value\":\"x\"}],\"duration\":\"1h\"}"));
    sf_buf_done(&text);
    sf_silence_book_done(&b);
}

TEST(silence_book, is_read_back_and_damage_is_found)
{
    struct sf_silence_book b = {0}, again = {0};
    struct sf_buf text = {0};
    assert_ok(add(&b, "{\"matchers\":[{\"name\":\"a\",\"value\":\"x.*\",\"isRegex\":true}],"
                      "\"duration\":\"1h\",\"createdBy\":\"me\",\"comment\":\"c\\n\"}"));
    sf_silence_book_write(&b, &text);
    assert_ok(sf_silence_book_read(&again, sf_buf_str(&text), &why));
    assert_int_equal(again.n, 1);
    assert_string_equal(again.list[0].id, b.list[0].id);
    assert_true(again.list[0].end_ns / 1000000 == b.list[0].end_ns / 1000000);
    assert_true(is_silent(&again, "\"a\":\"xy\"", T + 1000000));
    sf_silence_book_done(&again);
    text.p[text.len - 5] ^= 1;
    assert_err(sf_silence_book_read(&again, sf_buf_str(&text), &why), SF_ERR_CORRUPT);
    assert_int_equal(again.n, 0);
    sf_buf_done(&text);
    sf_silence_book_done(&b);
}

TEST(silence_book, one_that_was_ended_before_it_began_is_no_damage)
{
    struct sf_silence_book b = {0}, again = {0};
    struct sf_buf text = {0};
    int64_t end_ns;
    assert_ok(add(&b, "{\"matchers\":[{\"name\":\"a\",\"value\":\"x\"}],\"duration\":\"1h\","
                      "\"startsAt\":\"2030-01-01T00:00:00Z\"}"));
    assert_ok(add(&b, "{\"matchers\":[{\"name\":\"a\",\"value\":\"y\"}],\"duration\":\"1us\"}"));
    assert_ok(add(&b, "{\"matchers\":[{\"name\":\"a\",\"value\":\"z\"}],\"duration\":\"1h\"}"));
    assert_ok(sf_silence_book_expire(&b, sf_str_from(b.list[0].id), SF_STR("t"), T, &end_ns, &why));
    sf_silence_book_write(&b, &text);
    assert_ok(sf_silence_book_read(&again, sf_buf_str(&text), &why));
    assert_int_equal(again.n, 3);
    assert_true(is_silent(&again, "\"a\":\"z\"", T + SF_NS_PER_S));
    assert_false(is_silent(&again, "\"a\":\"x\"", INT64_C(1893456001) * SF_NS_PER_S));
    sf_buf_done(&text);
    sf_silence_book_done(&again);
    sf_silence_book_done(&b);
}

TEST(silence_book, history_keeps_the_newest_and_is_read_back)
{
    struct sf_alert_history h = {0}, again = {0};
    struct sf_buf text = {0};
    char labels[32];
    struct sf_alert a = {.rule = (char *)"r",
                         .tenant = (char *)"t",
                         .labels = labels,
                         .reason = (char *)"because",
                         .value = 3};
    struct sf_alert_book book = {.list = &a, .n = 1};
    for (int i = 0; i < SF_LIMIT_ALERT_HISTORY + 5; i++) {
        snprintf(labels, sizeof(labels), "\"n\":\"%d\"", i);
        a.state = SF_ALERT_FIRING;
        a.fired_ns = a.changed_ns = T + i;
        sf_alert_history_see(&h, &book, T + i);
        sf_alert_history_see(&h, &book, T + i); /* told twice is once */
        a.state = SF_ALERT_RESOLVED;
        a.resolved_ns = a.changed_ns = T + i;
        sf_alert_history_see(&h, &book, T + i);
        sf_alert_history_see(&h, &book, T + i + 1); /* nothing changed then */
    }
    assert_int_equal(h.n, SF_LIMIT_ALERT_HISTORY);
    assert_string_equal(h.list[0].labels, "\"n\":\"5\"");
    assert_true(h.list[0].resolved_ns == T + 5 && h.list[0].value == 3);
    sf_alert_history_write(&h, &text);
    assert_ok(sf_alert_history_read(&again, sf_buf_str(&text), &why));
    assert_int_equal(again.n, h.n);
    assert_string_equal(again.list[9].reason, "because");
    sf_alert_history_done(&again);
    text.p[text.len / 2] ^= 1;
    assert_err(sf_alert_history_read(&again, sf_buf_str(&text), &why), SF_ERR_CORRUPT);
    assert_int_equal(again.n, 0);
    sf_buf_done(&text);
    sf_alert_history_done(&h);
}

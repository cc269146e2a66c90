#include "test.h"

#include "alert/alert_book.h"
#include "alert/alert_send.h"
#include "base/time_unit.h"

static struct sf_why why;
static const int64_t T = INT64_C(1763200000) * SF_NS_PER_S, MIN = SF_NS_PER_MIN;
static const struct sf_alert_rule RULE = {
    .name = SF_STR("r"), .tenant = SF_STR("t"), .for_ns = 5 * SF_NS_PER_MIN};
static const struct sf_alert_value ONE = {SF_STR("\"alertname\":\"r\""), SF_STR("\"a\":\"b\""), 7,
                                          SF_STR_NONE, SF_STR_NONE};

static void step(struct sf_alert_book *b, size_t n, int64_t now_ns)
{
    assert_ok(sf_alert_book_step(b, &RULE, &ONE, n, false, now_ns, &why));
}

TEST(alert_book, waits_fires_and_is_resolved)
{
    struct sf_alert_book b = {0};
    struct sf_alert_rules rules = {.list = (struct sf_alert_rule *)(uintptr_t)&RULE, .n = 1};
    step(&b, 1, T);
    assert_int_equal(b.n, 1);
    assert_int_equal(b.list[0].state, SF_ALERT_PENDING);
    step(&b, 1, T + 4 * MIN);
    assert_int_equal(b.list[0].state, SF_ALERT_PENDING);
    step(&b, 1, T + 5 * MIN);
    assert_int_equal(b.list[0].state, SF_ALERT_FIRING);
    assert_true(b.list[0].since_ns == T && b.list[0].fired_ns == T + 5 * MIN);
    step(&b, 0, T + 6 * MIN);
    assert_int_equal(b.list[0].state, SF_ALERT_RESOLVED);
    sf_alert_book_tidy(&b, &rules, T + 20 * MIN);
    assert_int_equal(b.n, 1);
    step(&b, 1, T + 20 * MIN); /* and it begins again */
    assert_int_equal(b.list[0].state, SF_ALERT_PENDING);
    assert_true(b.list[0].since_ns == T + 20 * MIN);
    step(&b, 0, T + 21 * MIN);
    assert_int_equal(b.n, 0);
    sf_alert_book_done(&b);
}

TEST(alert_book, a_partial_answer_begins_alerts_and_ends_none)
{
    struct sf_alert_book b = {0};
    assert_ok(sf_alert_book_step(&b, &RULE, &ONE, 1, true, T, &why));
    assert_ok(sf_alert_book_step(&b, &RULE, &ONE, 0, true, T + 4 * MIN, &why));
    assert_int_equal(b.list[0].state, SF_ALERT_PENDING);
    assert_ok(sf_alert_book_step(&b, &RULE, &ONE, 1, true, T + 5 * MIN, &why));
    assert_int_equal(b.list[0].state, SF_ALERT_FIRING);
    assert_ok(sf_alert_book_step(&b, &RULE, &ONE, 0, true, T + 6 * MIN, &why));
    assert_int_equal(b.list[0].state, SF_ALERT_FIRING);
    step(&b, 0, T + 7 * MIN);
    assert_int_equal(b.list[0].state, SF_ALERT_RESOLVED);
    sf_alert_book_done(&b);
}

TEST(alert_book, forgets_what_was_resolved_and_resolves_what_has_no_rule)
{
    struct sf_alert_book b = {0};
    struct sf_alert_rules none = {0};
    step(&b, 1, T);
    step(&b, 1, T + 5 * MIN);
    sf_alert_book_tidy(&b, &none, T + 6 * MIN);
    assert_int_equal(b.list[0].state, SF_ALERT_RESOLVED);
    sf_alert_book_tidy(&b, &none, T + 22 * MIN);
    assert_int_equal(b.n, 0);
    sf_alert_book_done(&b);
}

TEST(alert_book, keeps_its_limit)
{
    struct sf_alert_book b = {0};
    struct sf_alert_value many[SF_LIMIT_ALERT_SERIES + 3];
    char names[SF_LIMIT_ALERT_SERIES + 3][16];
    for (size_t i = 0; i < SF_LIMIT_ALERT_SERIES + 3; i++) {
        snprintf(names[i], sizeof(names[i]), "\"a\":\"%zu\"", i);
        many[i] = (struct sf_alert_value){.labels = sf_str_from(names[i]), .value = 1};
    }
    assert_ok(sf_alert_book_step(&b, &RULE, many, SF_LIMIT_ALERT_SERIES + 3, false, T, &why));
    assert_int_equal(b.n, SF_LIMIT_ALERT_SERIES);
    assert_int_equal(b.n_dropped, 3);
    sf_alert_book_done(&b);
}

TEST(alert_book, is_read_as_it_was_written_or_not_at_all)
{
    struct sf_alert_book b = {.last_ns = T}, other = {0};
    struct sf_buf text = {0};
    step(&b, 1, T);
    step(&b, 1, T + 5 * MIN);
    sf_alert_book_write(&b, &text);
    assert_ok(sf_alert_book_read(&other, sf_buf_str(&text), &why));
    assert_int_equal(other.n, 1);
    assert_string_equal(other.list[0].labels, b.list[0].labels);
    assert_string_equal(other.list[0].notes, b.list[0].notes);
    assert_true(other.list[0].state == SF_ALERT_FIRING && other.list[0].value == 7 &&
                other.list[0].since_ns == T && other.last_ns == T);
    sf_alert_book_done(&other);
    for (size_t i = 0; i < text.len; i++) {
        text.p[i] ^= 1;
        assert_int_equal(sf_alert_book_read(&other, sf_buf_str(&text), &why), SF_ERR_CORRUPT);
        assert_int_equal(other.n, 0);
        text.p[i] ^= 1;
    }
    for (size_t len = 0; len < text.len; len++)
        assert_int_equal(sf_alert_book_read(&other, (sf_str){(char *)text.p, len}, &why),
                         SF_ERR_CORRUPT);
    sf_alert_book_done(&b);
    sf_buf_done(&text);
}

TEST(alert_book, a_receiver_hears_changes_repeats_and_the_end)
{
    struct sf_alert_book b = {0};
    struct sf_alert_rules rules = {.list = (struct sf_alert_rule *)(uintptr_t)&RULE, .n = 1};
    struct sf_alert_receiver r = {.url = "http://127.0.0.1:1", .is_webhook = true};
    struct sf_alert_sending s = {&b, &rules, T, T};
    struct sf_buf body = {0};
    step(&b, 1, T);
    assert_false(sf_alert_send_is_due(&r, &s)); /* pending */
    step(&b, 1, s.mono_ns = T + 5 * MIN);
    assert_false(sf_alert_send_is_due(&r, &s)); /* its reason is not known yet */
    sf_alert_book_publish(&b);
    assert_true(sf_alert_send_is_due(&r, &s));
    r.told = b.n_changes;
    r.last_ns = s.mono_ns;
    assert_false(sf_alert_send_is_due(&r, &s));
    s.mono_ns += MIN;
    assert_true(sf_alert_send_is_due(&r, &s)); /* said again */
    r.last_ns = s.mono_ns;
    step(&b, 0, s.mono_ns += 1);
    assert_false(sf_alert_send_is_due(&r, &s));
    sf_alert_book_publish(&b);
    assert_true(sf_alert_send_is_due(&r, &s));
    assert_int_equal(sf_alert_send_body(&r, &s, &body), 1);
    r.told = b.n_changes;
    s.mono_ns += 2 * MIN;
    assert_false(sf_alert_send_is_due(&r, &s));
    sf_buf_done(&body);
    sf_alert_book_done(&b);
}

static bool holds(const struct sf_buf *b, const char *part)
{
    size_t at;
    return sf_str_find(sf_buf_str(b), sf_str_from(part), &at);
}

TEST(alert_book, a_webhook_hears_what_all_alerts_of_the_message_have_in_common)
{
    struct sf_alert_rule rule = RULE;
    struct sf_alert_rules rules = {.list = &rule, .n = 1};
    struct sf_alert_book b = {0};
    struct sf_alert_receiver r = {.url = "http://127.0.0.1:1", .is_webhook = true};
    struct sf_alert_sending s = {&b, &rules, T, T};
    struct sf_buf body = {0};
    struct sf_alert_value two[] = {
        {.labels = SF_STR("\"alertname\":\"r\",\"team\":\"x\",\"s\":\"\\u0061\""),
         .notes = SF_STR("\"sum\":\"one\""),
         .value = 7},
        {.labels = SF_STR("\"alertname\":\"r\",\"s\":\"b\",\"team\":\"x\""),
         .notes = SF_STR("\"sum\":\"two\""),
         .value = 7}};
    rule.for_ns = 0;
    assert_ok(sf_alert_book_step(&b, &rule, two, 1, false, T, &why));
    sf_alert_book_publish(&b);
    assert_int_equal(sf_alert_send_body(&r, &s, &body), 1);
    assert_true(holds(&body, "\"status\":\"firing\",\"receiver\""));
    assert_true(holds(&body, "\"commonLabels\":{\"alertname\":\"r\",\"team\":\"x\",\"s\":\"a\"}"));
    assert_true(holds(&body, "\"commonAnnotations\":{\"sum\":\"one\",\"value\":\"7\"}"));
    assert_ok(sf_alert_book_step(&b, &rule, two, 2, false, T, &why));
    sf_alert_book_publish(&b);
    sf_buf_reset(&body);
    assert_int_equal(sf_alert_send_body(&r, &s, &body), 2);
    assert_true(holds(&body, "\"commonLabels\":{\"alertname\":\"r\",\"team\":\"x\"}"));
    assert_true(holds(&body, "\"commonAnnotations\":{\"value\":\"7\"}"));
    /* The one that still fires is silenced: of those that are told none fires. */
    b.list[0].is_silenced = true;
    assert_ok(sf_alert_book_step(&b, &rule, two, 1, false, T + MIN, &why));
    sf_alert_book_publish(&b);
    sf_buf_reset(&body);
    assert_int_equal(sf_alert_send_body(&r, &s, &body), 1);
    assert_true(holds(&body, "\"status\":\"resolved\",\"receiver\""));
    sf_buf_done(&body);
    sf_alert_book_done(&b);
}

TEST(alert_book, an_alert_keeps_the_spans_it_is_about)
{
    struct sf_alert_rule rule = RULE;
    struct sf_alert_rules rules = {.list = &rule, .n = 1, .url = SF_STR("http://s")};
    struct sf_alert_book b = {0}, other = {0};
    struct sf_alert_receiver r = {.url = "http://127.0.0.1:1"};
    struct sf_alert_sending s = {&other, &rules, T, T};
    struct sf_buf text = {0}, body = {0};
    struct sf_alert_value one = ONE;
    one.spans = SF_STR("{ } | { name = \"a\" }");
    rule.for_ns = 0;
    rule.kind = SF_ALERT_TRACEQL;
    rule.spans = SF_STR("{ }");
    assert_ok(sf_alert_book_step(&b, &rule, &one, 1, false, T, &why));
    sf_alert_book_write(&b, &text);
    assert_ok(sf_alert_book_read(&other, sf_buf_str(&text), &why));
    sf_alert_book_publish(&other);
    assert_string_equal(other.list[0].spans, "{ } | { name = \"a\" }");
    assert_int_equal(sf_alert_send_body(&r, &s, &body), 1);
    assert_true(
        holds(&body, "view=search&q=%7B%20%7D%20%7C%20%7B%20name%20%3D%20%22a%22%20%7D&from="));
    sf_alert_book_done(&b);
    sf_alert_book_done(&other);
    sf_buf_done(&text);
    sf_buf_done(&body);
}

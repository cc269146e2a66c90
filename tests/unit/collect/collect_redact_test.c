#include "test.h"

#include "base/err.h"
#include "collect/lib/attr_write.h"
#include "collect/lib/redact.h"

static bool holds(const struct sf_buf *b, const char *text)
{
    return b->len && memmem(b->p, b->len, text, strlen(text));
}

TEST(collect_redact, hides_values_under_secret_keys)
{
    struct sf_buf out = {0};
    sf_redact_set(true);
    sf_attr_write_str(&out, 1, SF_STR("db.password"), SF_STR("hunter2"));
    sf_attr_write_int(&out, 1, SF_STR("card.cvv"), 4711);
    sf_attr_write_double(&out, 1, SF_STR("api_key"), 1.5);
    assert_false(holds(&out, "hunter2"));
    assert_true(holds(&out, "db.password"));
    assert_true(holds(&out, "[REDACTED]"));
    sf_buf_reset(&out);
    sf_attr_write_int(&out, 1, SF_STR("gen_ai.usage.input_tokens"), 1532); /* a count */
    sf_attr_write_bool(&out, 1, SF_STR("has_password"), true);
    sf_attr_write_str(&out, 1, SF_STR("tokenizer"), SF_STR("bpe"));
    assert_false(holds(&out, "[REDACTED]"));
    assert_true(holds(&out, "bpe"));
    sf_buf_done(&out);
}

TEST(collect_redact, hides_what_looks_like_a_secret)
{
    static const char *const texts[] = {"postgres://app:hunter2@db/x",
                                        "tool --password hunter2 run",
                                        "mysql -phunter2 shop",
                                        "curl -u alice:hunter2 h",
                                        "ALTER USER a IDENTIFIED BY 'hunter2'",
                                        "{\"token\":\"hunter2\"}",
                                        "password=hunter2"};
    sf_redact_set(true);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct sf_buf value = {0}, key = {0};
        sf_attr_write_str(&value, 1, SF_STR("note"), sf_str_from(texts[i]));
        sf_attr_write_str(&key, 1, sf_str_from(texts[i]), SF_STR("x"));
        if (holds(&value, "hunter2") || holds(&key, "hunter2"))
            fail_msg("%s", texts[i]);
        assert_true(holds(&value, "[REDACTED]"));
        sf_buf_done(&value);
        sf_buf_done(&key);
    }
}

TEST(collect_redact, leaves_the_rest_as_it_is)
{
    struct sf_buf room = {0};
    sf_str text = SF_STR("GET /orders/42"), was = text;
    sf_redact_set(true);
    text = sf_redact_text(text, &room);
    assert_ptr_equal(text.p, was.p);
    assert_str(sf_redact_text(SF_STR("token=a, token=b."), &room),
               "token=[REDACTED], token=[REDACTED]");
    sf_buf_done(&room);
}

TEST(collect_redact, hides_all_of_a_text_that_is_full_of_secrets)
{
    struct sf_buf room = {0}, text = {0};
    sf_redact_set(true);
    for (int i = 0; i < 100; i++)
        sf_buf_print(&text, "token=%d ", i);
    assert_str(sf_redact_text(sf_buf_str(&text), &room), "[REDACTED]");
    sf_buf_done(&room);
    sf_buf_done(&text);
}

TEST(collect_redact, can_be_switched_off)
{
    struct sf_buf room = {0};
    sf_redact_set(false);
    assert_str(sf_redact_text(SF_STR("token=a"), &room), "token=a");
    assert_false(sf_redact_key(SF_STR("password"), false));
    sf_redact_set(true);
    sf_buf_done(&room);
}

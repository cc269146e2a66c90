#include "scrape/relabel.h"

#include "test.h"

static struct sf_arena arena;
static struct sf_regex_scratch *scratch;
static struct sf_why why;

static void rule(struct sf_relabel *r, const char *text) /* key=value|key=value */
{
    sf_str rest = sf_str_from(text), pair, key;
    *r = (struct sf_relabel){0};
    while (sf_str_split_next(&rest, '|', &pair)) {
        assert_true(sf_str_split_next(&pair, '=', &key));
        assert_ok(sf_relabel_set(r, key, pair, &why));
    }
    assert_ok(sf_relabel_check(r, &why));
}

static bool run(const char *text, struct sf_label_set *io)
{
    struct sf_relabel r;
    bool keeps;
    rule(&r, text);
    assert_ok(sf_relabel_run(&r, 1, io, &arena, scratch, &keeps, &why));
    sf_relabel_done(&r);
    return keeps;
}

static void is(const struct sf_label_set *s, const char *key, const char *val)
{
    assert_true(sf_str_eq(sf_relabel_label_get(s, sf_str_from(key)), sf_str_from(val)));
}

static void begin(struct sf_label_set *s)
{
    if (!scratch) {
        assert_true(sf_arena_init(&arena, 1 << 20));
        scratch = sf_regex_scratch_new();
        assert_non_null(scratch);
    }
    *s = (struct sf_label_set){0};
    assert_ok(sf_relabel_label_put(s, SF_STR("__address__"), SF_STR("10.0.0.7:6060"), &why));
    assert_ok(sf_relabel_label_put(s, SF_STR("__meta_app"), SF_STR("Cart"), &why));
    assert_ok(sf_relabel_label_put(s, SF_STR("env"), SF_STR("prod"), &why));
}

static void end(void)
{
    sf_arena_done(&arena);
    sf_regex_scratch_free(scratch);
    scratch = NULL;
}

TEST(relabel, does_what_prometheus_does)
{
    struct sf_label_set s;
    begin(&s);
    assert_true(
        run("source_labels=__address__|regex=([^:]+):.*|target_label=host|replacement=h-$1", &s));
    is(&s, "host", "h-10.0.0.7");
    assert_true(run("source_labels=env,host|separator=/|target_label=where", &s));
    is(&s, "where", "prod/h-10.0.0.7");
    assert_true(run("source_labels=env|regex=no.*|target_label=env|replacement=x", &s));
    is(&s, "env", "prod"); /* no match changes nothing */
    assert_true(run("source_labels=env|regex=pr|target_label=env|replacement=x", &s));
    is(&s, "env", "prod"); /* the whole text must match */
    assert_true(run("action=labelmap|regex=__meta_(.+)|replacement=k_${1}", &s));
    is(&s, "k_app", "Cart");
    assert_true(run("action=lowercase|source_labels=k_app|target_label=service_name", &s));
    is(&s, "service_name", "cart");
    assert_true(run("action=uppercase|source_labels=env|target_label=up", &s));
    is(&s, "up", "PROD");
    assert_true(
        run("action=hashmod|source_labels=env,service_name|target_label=part|modulus=1000", &s));
    is(&s, "part", "786");
    assert_true(run("action=labeldrop|regex=k_.*", &s));
    is(&s, "k_app", "");
    assert_true(run("source_labels=env|target_label=price|replacement=$$$1$", &s));
    is(&s, "price", "$prod$");
    assert_true(run("target_label=up|replacement=", &s)); /* an empty value removes */
    is(&s, "up", "");
    assert_true(run("action=labelkeep|regex=env", &s));
    assert_int_equal(s.n, 1);
    end();
}

TEST(relabel, keeps_and_drops_targets)
{
    struct sf_label_set s;
    begin(&s);
    assert_true(run("action=keep|source_labels=env|regex=prod", &s));
    assert_false(run("action=keep|source_labels=env|regex=test", &s));
    assert_false(run("action=drop|source_labels=env|regex=p.*d", &s));
    assert_true(run("action=drop|source_labels=none|regex=.+", &s));
    assert_false(run("action=keepequal|source_labels=env|target_label=__meta_app", &s));
    assert_true(run("action=dropequal|source_labels=env|target_label=__meta_app", &s));
    end();
}

TEST(relabel, refuses_rules_that_mean_nothing)
{
    struct sf_relabel r = {0};
    assert_err(sf_relabel_set(&r, SF_STR("action"), SF_STR("hash"), &why), SF_ERR_INPUT);
    assert_err(sf_relabel_set(&r, SF_STR("modulus"), SF_STR("0"), &why), SF_ERR_INPUT);
    r = (struct sf_relabel){.action = SF_RELABEL_HASH_MOD, .target = SF_STR("a")};
    assert_err(sf_relabel_check(&r, &why), SF_ERR_INPUT); /* without a modulus */
    r = (struct sf_relabel){.target = SF_STR("a"), .modulus = 2};
    assert_err(sf_relabel_check(&r, &why), SF_ERR_INPUT); /* nothing but hashmod has one */
    r = (struct sf_relabel){0};
    assert_err(sf_relabel_check(&r, &why), SF_ERR_INPUT); /* replace without a target_label */
    for (int i = 0; i < SF_LIMIT_SCRAPE_SOURCES; i++)
        assert_ok(sf_relabel_set(&r, SF_STR("source_labels"), SF_STR("a"), &why));
    assert_err(sf_relabel_set(&r, SF_STR("source_labels"), SF_STR("a"), &why), SF_ERR_LIMIT);
    r = (struct sf_relabel){.target = SF_STR("a"), .pattern = SF_STR("(")};
    assert_err(sf_relabel_check(&r, &why), SF_ERR_INPUT);
    r = (struct sf_relabel){.target = SF_STR("a"), .pattern = SF_STR("(?=x)")};
    assert_err(sf_relabel_check(&r, &why), SF_ERR_INPUT);
}

TEST(relabel, ends_texts_and_labels_without_end)
{
    struct sf_label_set s;
    struct sf_relabel r;
    bool keeps;
    char long_text[SF_LIMIT_SCRAPE_TEXT_LEN + 1];
    begin(&s);
    memset(long_text, 'x', sizeof(long_text));
    assert_err(sf_relabel_label_put(&s, SF_STR("a"), (sf_str){long_text, sizeof(long_text)}, &why),
               SF_ERR_LIMIT);
    assert_ok(sf_relabel_label_put(&s, SF_STR("a"), (sf_str){long_text, 3000}, &why));
    rule(&r, "source_labels=a|target_label=b|replacement=$1$1");
    assert_err(sf_relabel_run(&r, 1, &s, &arena, scratch, &keeps, &why), SF_ERR_LIMIT);
    sf_relabel_done(&r);
    for (size_t i = s.n; i < SF_LIMIT_SCRAPE_LABELS; i++) {
        sf_str key;
        assert_true(sf_arena_print(&arena, &key, "l%zu", i));
        assert_ok(sf_relabel_label_put(&s, key, SF_STR("v"), &why));
    }
    assert_err(sf_relabel_label_put(&s, SF_STR("more"), SF_STR("v"), &why), SF_ERR_LIMIT);
    end();
}

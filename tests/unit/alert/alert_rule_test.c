#include "test.h"

#include <stdio.h>

#include "alert/alert_rule.h"
#include "alert/alert_watch.h"
#include "alert/watch_feed.h"
#include "base/time_unit.h"

static struct sf_why why;

static enum sf_err set(struct sf_alert_rules *r, struct sf_alert_rule *rule, const char *path,
                       const char *val)
{
    return sf_alert_rule_set(r, rule, sf_str_from(path), sf_str_from(val), &why);
}

static struct sf_alert_rule *add(struct sf_alert_rules *r, const char *name)
{
    struct sf_alert_rule *rule = NULL;
    assert_ok(sf_alert_rules_add(r, &rule, &why));
    assert_ok(set(r, rule, "name", name));
    return rule;
}

static void says(const char *part)
{
    size_t at;
    if (!sf_str_find(sf_str_from(why.text), sf_str_from(part), &at))
        fail_msg("\"%s\" does not say \"%s\"", why.text, part);
}

TEST(alert_rule, a_query_gets_its_spans_and_seconds)
{
    struct sf_alert_rules *r = sf_alert_rules_new();
    struct sf_alert_rule *rule = add(r, "slow");
    assert_ok(set(r, rule, "traceql",
                  "{ name =~ \"a|b\" } | quantile_over_time(duration, .95) by (resource.x)"));
    assert_ok(set(r, rule, "above", "500ms"));
    assert_ok(set(r, rule, "for", "5m"));
    assert_ok(sf_alert_rule_check(r, rule, &why));
    assert_true(sf_str_eq(rule->spans, SF_STR("{ name =~ \"a|b\" }")));
    assert_true(rule->threshold == 0.5 && rule->for_ns == 5 * SF_NS_PER_MIN);
    assert_true(sf_alert_rule_holds(rule, 0.6) && !sf_alert_rule_holds(rule, 0.5));
    sf_alert_rules_free(r);
}

TEST(alert_rule, what_is_wrong_is_said)
{
    static const struct {
        const char *path, *val, *said;
    } cases[] = {
        {"traceqll", "x", "did you mean traceql?"},
        {"ledger.prt", "lock", "there is no prt in ledger; did you mean part?"},
        {"above", "much", "expects a number"},
        {"for", "2d", "up to 1d"},
        {"labels.a-b", "x", "not a valid label name"},
        {"labels.alertname", "x", "cannot be set"},
        {"share", "x", "share holds several values"},
        {"traceql.a", "x", "traceql has one value"},
        {"share.selectr", "x", "did you mean selector?"},
        {"absent", "no", "absent must be true"},
        {"share.lable", "x", "did you mean label?"},
        {"labels.a", "{{ $value }}", "write it into annotations"},
    };
    struct sf_alert_rules *r = sf_alert_rules_new();
    struct sf_alert_rule *rule = add(r, "a");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(set(r, rule, cases[i].path, cases[i].val), SF_ERR_INPUT);
        says(cases[i].said);
        *rule = (struct sf_alert_rule){.name = rule->name};
    }
    assert_int_equal(sf_alert_rule_check(r, rule, &why), SF_ERR_INPUT);
    says("one of traceql, share, amount");
    assert_ok(set(r, rule, "traceql", "{ } | rate("));
    assert_ok(set(r, rule, "above", "1"));
    assert_int_equal(sf_alert_rule_check(r, rule, &why), SF_ERR_INPUT);
    assert_ok(set(r, rule, "traceql", "{ }"));
    assert_int_equal(sf_alert_rule_check(r, rule, &why), SF_ERR_INPUT);
    says("not a metrics query");
    assert_int_equal(set(r, rule, "share.selector", "x"), SF_ERR_INPUT);
    says("not two");
    rule = add(r, "b");
    assert_ok(set(r, rule, "share.selector", "shop{env=prod}"));
    assert_ok(set(r, rule, "share.function", "json.("));
    assert_ok(set(r, rule, "above", "20%"));
    assert_int_equal(sf_alert_rule_check(r, rule, &why), SF_ERR_INPUT);
    assert_ok(set(r, rule, "share.function", "json.*"));
    assert_ok(sf_alert_rule_check(r, rule, &why));
    assert_true(sf_str_eq(rule->service, SF_STR("shop")));
    assert_ok(set(r, rule, "share.package", "json"));
    assert_int_equal(sf_alert_rule_check(r, rule, &why), SF_ERR_INPUT);
    says("one of function, package and label");
    rule->function = SF_STR_NONE;
    assert_ok(sf_alert_rule_check(r, rule, &why));
    rule->package = SF_STR_NONE;
    assert_ok(set(r, rule, "share.label", "env"));
    assert_int_equal(sf_alert_rule_check(r, rule, &why), SF_ERR_INPUT);
    assert_ok(set(r, rule, "share.label", "thread=gc"));
    assert_ok(sf_alert_rule_check(r, rule, &why));
    rule = add(r, "b");
    assert_int_equal(sf_alert_rule_check(r, rule, &why), SF_ERR_INPUT);
    says("already");
    sf_alert_rules_free(r);
}

TEST(alert_rule, kinds_about_requests_say_what_they_want)
{
    static const struct {
        const char *fields, *said; /* "path=value|..."; said NULL: it is fine */
    } cases[] = {
        {"change.q={ }|significant=true", NULL},
        {"change.q={ }|change.by=resource.service.version|above=20%", NULL},
        {"change.q={ }|change.against=yesterday|above=20%", NULL},
        {"change.q={ }|change.measure=run_queue|above=20%", NULL},
        {"change.q={ }", "expects above, significant"},
        {"change.above=1", "there is no above in change"},
        {"change.by=resource.service.version|above=1%", "change expects q"},
        {"change.q={ } \\x7c rate()|above=1%", "not of metrics"},
        {"change.q={ |above=1%", "change.q"},
        {"change.q={ }|change.by=a b|above=1%", "is not an attribute"},
        {"change.q={ }|change.by=name|change.against=before|above=1%", "not both"},
        {"change.q={ }|change.against=monday|above=1%", "before or yesterday"},
        {"change.q={ }|change.measure=luck|above=1%", "duration, value"},
        {"change.q={ }|below=1%", "above a percentage"},
        {"change.q={ }|above=1", "expects a percentage"},
        {"ledger.q={ }|ledger.part=lock|above=50ms", NULL},
        {"ledger.q={ }|ledger.part=luck|above=50ms", "ledger.part is one of"},
        {"ledger.q={ }|ledger.part=lock|below=50ms", "expects a time per request"},
        {"finding.service=a", NULL},
        {"finding.q={ }|above=20%", NULL},
        {"finding.service=a|finding.q={ }", "either a service or q"},
        {"finding.service=a|above=3", "a share, as above"},
        {"coverage.service=a|below=50%", NULL},
        {"coverage.service=a|coverage.of=luck|below=50%", "coverage.of is"},
        {"coverage.service=a|above=50%", "below: 50%"},
        {"coverage.below=1", "there is no below in coverage"},
        {"finding.service=a|coverage.service=a", "one kind, not two"},
        {"traceql={ } \\x7c rate()|above=1|significant=true", "only change"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sf_alert_rules *r = sf_alert_rules_new();
        struct sf_alert_rule *rule = add(r, "a");
        sf_str rest = sf_str_from(cases[i].fields), pair, key;
        enum sf_err err = SF_OK;
        while (!err && sf_str_split_next(&rest, '|', &pair)) {
            char val[64];
            size_t at;
            assert_true(sf_str_split_next(&pair, '=', &key));
            snprintf(val, sizeof(val), "%.*s", SF_STR_ARG(pair));
            if (sf_str_find(sf_str_from(val), SF_STR("\\x7c"), &at))
                memcpy(val + at, "|   ", 4); /* a bar that parts no fields */
            err = sf_alert_rule_set(r, rule, key, sf_str_from(val), &why);
        }
        if (!err)
            err = sf_alert_rule_check(r, rule, &why);
        if (cases[i].said) {
            assert_int_equal(err, SF_ERR_INPUT);
            says(cases[i].said);
        } else {
            assert_ok(err);
        }
        sf_alert_rules_free(r);
    }
}

TEST(alert_rule, keeps_its_limits)
{
    struct sf_alert_rules *r = sf_alert_rules_new();
    struct sf_alert_rule *rule = NULL;
    char path[32], text[SF_LIMIT_ALERT_TEXT_LEN + 2] = "";
    const char *urls[SF_LIMIT_ALERT_RECEIVERS + 1];
    for (int i = 0; i < SF_LIMIT_ALERT_RULES; i++)
        assert_ok(sf_alert_rules_add(r, &rule, &why));
    for (int i = 0; i < SF_LIMIT_ALERT_LABELS; i++) {
        snprintf(path, sizeof(path), "labels.a%d", i);
        assert_ok(set(r, rule, path, "x"));
    }
    assert_int_equal(set(r, rule, "labels.more", "x"), SF_ERR_LIMIT);
    assert_int_equal(sf_alert_rules_add(r, &rule, &why), SF_ERR_LIMIT);
    memset(text, 'a', SF_LIMIT_ALERT_TEXT_LEN);
    assert_ok(set(r, rule, "traceql", text));
    text[SF_LIMIT_ALERT_TEXT_LEN] = 'a';
    assert_int_equal(set(r, rule, "traceql", text), SF_ERR_LIMIT);
    for (size_t i = 0; i <= SF_LIMIT_ALERT_RECEIVERS; i++)
        urls[i] = "http://127.0.0.1:1";
    assert_ok(sf_alert_rules_receivers(r, urls, SF_LIMIT_ALERT_RECEIVERS, NULL, 0, NULL, &why));
    assert_int_equal(
        sf_alert_rules_receivers(r, urls, SF_LIMIT_ALERT_RECEIVERS, urls, 1, NULL, &why),
        SF_ERR_LIMIT);
    urls[0] = "file:///etc/passwd";
    assert_int_equal(sf_alert_rules_receivers(r, urls, 1, NULL, 0, NULL, &why), SF_ERR_INPUT);
    sf_alert_rules_free(r);
}

TEST(alert_rule, fills_templates)
{
    struct sf_alert_pair labels[] = {{SF_STR("svc"), SF_STR("shop")}};
    struct sf_buf out = {0};
    sf_alert_rule_text_fill(
        SF_STR("{{ $labels.svc }}: {{$value}} {{ $labels.none }}{{ .x }} {{ open"), labels, 1, 2.5,
        &out);
    assert_true(sf_str_eq(sf_buf_str(&out), SF_STR("shop: 2.5 {{ .x }} {{ open")));
    sf_buf_reset(&out);
    sf_alert_rule_label_name(SF_STR("resource.service.name"), &out);
    assert_true(sf_str_eq(sf_buf_str(&out), SF_STR("resource_service_name")));
    sf_buf_done(&out);
}

TEST(alert_rule, watch_and_capture)
{
    struct sf_alert_rules *r = sf_alert_rules_new();
    struct sf_alert_rule *rule = add(r, "w");
    struct sf_buf text = {0};
    assert_ok(set(r, rule, "watch.kind", "latency"));
    assert_ok(set(r, rule, "watch.service", "cart"));
    assert_ok(set(r, rule, "capture.seconds", "1m"));
    assert_ok(set(r, rule, "capture.types", "wall"));
    assert_ok(sf_alert_rule_check(r, rule, &why));
    assert_int_equal(rule->capture_s, 60);
    assert_int_equal(rule->capture_hz, 100);
    sf_alert_rule_print(rule, &text);
    assert_true(sf_str_eq(sf_buf_str(&text), SF_STR("watch latency of cart")));
    sf_buf_done(&text);
    assert_err(set(r, rule, "capture.types", "heap"), SF_ERR_INPUT);
    says("cpu or wall");
    assert_err(set(r, rule, "capture.seconds", "601"), SF_ERR_INPUT);
    assert_err(set(r, rule, "capture.rate", "0"), SF_ERR_INPUT);
    assert_err(set(r, rule, "capture.second", "1"), SF_ERR_INPUT);
    says("not second");
    rule = add(r, "w2");
    assert_ok(set(r, rule, "watch.kind", "latencies"));
    assert_err(sf_alert_rule_check(r, rule, &why), SF_ERR_INPUT);
    says("watch.kind is one of latency");
    assert_ok(set(r, rule, "watch.kind", "cpu"));
    assert_ok(set(r, rule, "above", "1"));
    assert_err(sf_alert_rule_check(r, rule, &why), SF_ERR_INPUT);
    sf_alert_rules_free(r);
}

TEST(alert_rule, watches_of_too_many_tenants_are_refused)
{
    struct sf_alert_rules *r = sf_alert_rules_new();
    for (int i = 0; i <= SF_LIMIT_WATCH_TENANTS; i++) {
        char name[20];
        struct sf_alert_rule *rule;
        snprintf(name, sizeof(name), "t%d", i);
        rule = add(r, name);
        assert_ok(set(r, rule, "watch.kind", "cpu"));
        assert_ok(set(r, rule, "tenant", name));
        assert_err(sf_alert_rule_check(r, rule, &why),
                   i < SF_LIMIT_WATCH_TENANTS ? SF_OK : SF_ERR_LIMIT);
    }
    r->n--;
    assert_ok(sf_alert_watch_add_pack(r, true, &why)); /* for those that have space */
    assert_true(r->list[r->n - 1].is_each && r->list[r->n - 1].tenant.len == 0);
    sf_alert_rules_free(r);
}

TEST(alert_rule, a_cpu_limit_is_a_number_of_processors)
{
    assert_true(sf_watch_feed_cpus(SF_STR("2")) == 2 && sf_watch_feed_cpus(SF_STR("0.5")) == 0.5);
    assert_true(sf_watch_feed_cpus(SF_STR("500m")) == 0.5);
    assert_true(sf_watch_feed_cpus(SF_STR("m")) == 0 && sf_watch_feed_cpus(SF_STR("")) == 0);
    assert_true(sf_watch_feed_cpus(SF_STR("-1")) == 0 && sf_watch_feed_cpus(SF_STR("nan")) == 0);
    assert_true(sf_watch_feed_cpus(SF_STR("inf")) == 0 &&
                sf_watch_feed_cpus(SF_STR("2 cores")) == 0);
}

TEST(alert_rule, values_of_quantiles_are_estimates)
{
    struct sf_alert_rule list[] = {
        {.kind = SF_ALERT_TRACEQL,
         .name = SF_STR("slow"),
         .query = SF_STR("{ } | quantile_over_time(duration, .95)")},
        {.kind = SF_ALERT_TRACEQL, .name = SF_STR("many"), .query = SF_STR("{ } | rate()")}};
    struct sf_alert_rules rules = {.list = list, .n = 2};
    assert_true(sf_alert_rules_is_estimate(&rules, SF_STR("slow")));
    assert_false(sf_alert_rules_is_estimate(&rules, SF_STR("many")));
    assert_false(sf_alert_rules_is_estimate(&rules, SF_STR("gone")));
}

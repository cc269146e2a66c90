#include "test.h"

#include "alert/alert_rule.h"
#include "app/config.h"

static struct sf_why why;

TEST(alert_yaml, reads_the_rules_of_a_configuration)
{
    struct sf_config *c = NULL;
    assert_ok(sf_config_parse(
        SF_STR("alerts:\n  interval: 10s\n  webhook: ['http://127.0.0.1:1/hook']\n  rules:\n"
               "    - {name: errors, traceql: '{ status = error } | rate()', above: 1, for: 5m}\n"
               "    - name: hot\n      share: {selector: 'a{env=prod}', function: 'json.*'}\n"
               "      above: 20%\n      labels: {team: x}\n"),
        "f.yaml", &c, &why));
    assert_int_equal(c->alerts.rules->n, 2 + 8); /* and the pack: there is a receiver */
    assert_int_equal(c->alerts.rules->n_webhooks, 1);
    assert_int_equal(c->alerts.rules->list[1].kind, SF_ALERT_SHARE);
    assert_int_equal(c->alerts.rules->list[1].labels.n, 1);
    sf_config_free(c);
}

TEST(alert_yaml, a_bad_rule_names_its_line)
{
    static const struct {
        const char *yaml, *said;
    } cases[] = {
        {"alerts:\n  rules: 5\n", "f.yaml:2: alerts.rules expects a list"},
        {"alerts:\n  rules:\n    - errors\n", "f.yaml:3: a rule is a map"},
        {"alerts:\n  rules:\n    - {name: a}\n", "f.yaml:3: a rule needs one of traceql"},
        {"alerts:\n  rules:\n    - name: a\n      traceql: '{'\n      above: 1\n",
         "f.yaml:3: traceql: "},
        {"alerts:\n  rules:\n    - name: a\n      for: x\n", "f.yaml:4: for expects a time"},
        {"alerts:\n  rules:\n    - name: a\n      change: {q: x}\n", "f.yaml:3: change.q: "},
        {"alerts:\n  rules:\n    - name: a\n      share: {selector: {x: y}}\n",
         "f.yaml:4: the values of a rule"},
        {"alerts:\n  rules:\n    - name: a\n      labels: [x]\n", "f.yaml:4: the values of a rule"},
        {"alerts:\n  rules:\n    - name: &x a\n", "anchors"},
        {"alerts:\n  rules:\n    - {name: a, traceql: '{ } | rate()', above: 1, tenant: red}\n",
         "f.yaml:3: rule \"a\" names a tenant and tenancy.enabled is false"},
        {"scrape:\n  - {url: 'http://x/p', service: a}\n"
         "  - {url: 'http://x/p', service: b, tenant: red}\n",
         "f.yaml:3: scrape \"b\" names a tenant and tenancy.enabled is false"},
        {"tenancy: {enabled: true}\nscrape:\n  - {url: 'http://x/p', service: b, tenant: 'a|b'}\n",
         "f.yaml:3: "},
        {"alerts:\n  webhook: ['ftp://x']\n", "not an address to send to"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sf_config *c = NULL;
        size_t at;
        if (!sf_config_parse(sf_str_from(cases[i].yaml), "f.yaml", &c, &why))
            fail_msg("taken: %s", cases[i].yaml);
        if (!sf_str_find(sf_str_from(why.text), sf_str_from(cases[i].said), &at))
            fail_msg("\"%s\" does not say \"%s\"", why.text, cases[i].said);
    }
}

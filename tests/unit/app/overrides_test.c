#include "test.h"

#include <stdlib.h>
#include <unistd.h>

#include "app/overrides.h"
#include "base/buf.h"
#include "base/limits.h"
#include "os/text_file.h"

static struct sf_why why;

static void refuses(const char *yaml, const char *sentence)
{
    struct sf_quota_rules *rules = NULL;
    assert_int_equal(sf_overrides_parse(sf_str_from(yaml), "f", &rules, &why), SF_ERR_INPUT);
    assert_null(rules);
    assert_string_equal(why.text, sentence);
}

static uint64_t value(const struct sf_quota_rules *rules, const char *tenant, const char *service,
                      enum sf_quota_key key)
{
    uint64_t out = UINT64_MAX;
    (void)sf_quota_rules_get(rules, sf_str_from(tenant), sf_str_from(service), key, &out);
    return out;
}

TEST(overrides, reads_every_key_of_tenants_and_services)
{
    struct sf_quota_rules *rules = NULL;
    const char *yaml = "overrides:\n"
                       "  \"red\":\n"
                       "    spans_per_second: 100\n"
                       "    spans_burst: 200\n"
                       "    bytes_per_second: 1MB\n"
                       "    bytes_burst: 2MiB\n"
                       "    series: 10\n"
                       "    queries: 3\n"
                       "    query_memory: 8MiB\n"
                       "    retention_spans: 3d\n"
                       "    retention_profiles: 12h\n"
                       "    disk: 5GB\n"
                       "    services:\n"
                       "      checkout: {spans_per_second: 0, series: 4}\n"
                       "      \"*\":\n"
                       "        bytes_per_second: 10KB\n"
                       "  empty:\n"
                       "  \"*\": {queries: 20}\n";
    assert_int_equal(sf_overrides_parse(sf_str_from(yaml), "f", &rules, &why), SF_OK);
    assert_int_equal(value(rules, "red", "", SF_QUOTA_SPANS_RATE), 100);
    assert_int_equal(value(rules, "red", "", SF_QUOTA_SPANS_BURST), 200);
    assert_int_equal(value(rules, "red", "", SF_QUOTA_BYTES_RATE), 1000000);
    assert_int_equal(value(rules, "red", "", SF_QUOTA_BYTES_BURST), 2 << 20);
    assert_int_equal(value(rules, "red", "", SF_QUOTA_SERIES), 10);
    assert_int_equal(value(rules, "red", "", SF_QUOTA_QUERIES), 3);
    assert_int_equal(value(rules, "red", "", SF_QUOTA_QUERY_MEMORY), 8 << 20);
    assert_true(value(rules, "red", "", SF_QUOTA_RETAIN_SPANS) == UINT64_C(259200000000000));
    assert_true(value(rules, "red", "", SF_QUOTA_RETAIN_PROFILES) == UINT64_C(43200000000000));
    assert_true(value(rules, "red", "", SF_QUOTA_DISK) == UINT64_C(5000000000));
    assert_int_equal(value(rules, "red", "checkout", SF_QUOTA_SPANS_RATE), 0);
    assert_int_equal(value(rules, "red", "checkout", SF_QUOTA_BYTES_RATE), 10000);
    assert_int_equal(value(rules, "red", "other", SF_QUOTA_BYTES_RATE), 10000);
    assert_int_equal(value(rules, "blue", "", SF_QUOTA_QUERIES), 20);
    assert_true(value(rules, "blue", "", SF_QUOTA_SERIES) == UINT64_MAX);
    sf_quota_rules_free(rules);
}

TEST(overrides, an_empty_file_has_no_limits)
{
    static const char *const texts[] = {"", "\n# nothing\n", "overrides:\n", "overrides: {}\n"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct sf_quota_rules *rules = NULL;
        assert_int_equal(sf_overrides_parse(sf_str_from(texts[i]), "f", &rules, &why), SF_OK);
        assert_true(sf_quota_rules_is_empty(rules));
        sf_quota_rules_free(rules);
    }
}

TEST(overrides, a_mistake_is_named_with_its_line)
{
    refuses("overrides:\n  red:\n    spans_per_secnd: 1\n",
            "f:3: there is no limit spans_per_secnd; did you mean spans_per_second?");
    refuses("overrides:\n  red:\n    series: many\n",
            "f:3: series expects a whole number, not \"many\"");
    refuses("overrides:\n  red:\n    disk: 5XB\n",
            "f:3: disk expects a size such as 512KB or 50GB, not \"5XB\": \"XB\" is not a unit "
            "(B, KB, KiB, "
            "MB, MiB, GB, GiB, ...)");
    refuses("overrides:\n  red:\n    query_memory: 1KB\n",
            "f:3: query_memory: 1KB is too little; 0 means no limit");
    refuses("overrides:\n  red:\n    series: 5\n    series: 6\n", "f:4: series is given twice");
    refuses("overrides:\n  red:\n    services:\n      web: {queries: 5}\n",
            "f:4: queries is a limit of a tenant, not of a service");
    refuses("overrides:\n  \"a b\": {series: 1}\n",
            "f:2: X-Scope-OrgID: ' ' is not allowed; letters, digits and ! - _ . * ' ( )");
    refuses("limits: {}\n", "f:1: the file has one key, overrides");
    refuses("- a\n", "f:1: the file has one key, overrides, and tenants below it");
    refuses("overrides:\n  red: 5\n", "f:2: a tenant expects keys below it, not one value");
    refuses("overrides:\n  red: &a {series: 1}\n", "f:2: anchors (&name) are not allowed here");
    refuses("overrides: {}\n---\noverrides: {}\n",
            "f:2: only one YAML document is read; here a second begins");
}

/* Names up to SF_LIMIT_OVERRIDE_NAMES; the next is named with its line. */
TEST(overrides, there_is_an_end_to_names)
{
    struct sf_quota_rules *rules = NULL;
    struct sf_buf text = {0};
    char sentence[80];
    sf_buf_print(&text, "overrides:\n  red:\n    services:\n");
    for (unsigned i = 0; i < SF_LIMIT_OVERRIDE_NAMES; i++)
        sf_buf_print(&text, "      s%u: {series: 1}\n", i);
    assert_int_equal(sf_overrides_parse(sf_buf_str(&text), "f", &rules, &why), SF_OK);
    sf_quota_rules_free(rules);
    sf_buf_print(&text, "      one-more: {series: 1}\n");
    snprintf(sentence, sizeof(sentence), "f:%u: more than %u tenants and services",
             SF_LIMIT_OVERRIDE_NAMES + 4, SF_LIMIT_OVERRIDE_NAMES);
    assert_int_equal(sf_overrides_parse(sf_buf_str(&text), "f", &rules, &why), SF_ERR_INPUT);
    assert_string_equal(why.text, sentence);
    sf_buf_done(&text);
}

/* SF_LIMIT_OVERRIDES_LEN */
TEST(overrides, a_file_that_is_too_long_is_refused_and_the_limits_stay)
{
    char path[] = "/tmp/spanflame_overrides_XXXXXX";
    int fd = mkstemp(path);
    struct sf_quota *quota = sf_quota_new();
    struct sf_overrides *o = NULL;
    const char text[] = "overrides: {red: {series: 7}}\n";
    assert_true(fd >= 0 && write(fd, text, sizeof(text) - 1) > 0);
    assert_int_equal(sf_overrides_open(path, quota, &o, &why), SF_OK);
    assert_false(sf_overrides_is_changed(o));
    assert_int_equal(ftruncate(fd, SF_LIMIT_OVERRIDES_LEN + 1), 0);
    assert_true(sf_overrides_is_changed(o));
    assert_int_equal(sf_overrides_reload(o, &why), SF_ERR_LIMIT);
    assert_false(sf_overrides_is_changed(o)); /* it is not tried again until it changes */
    assert_int_equal(sf_quota_value(quota, SF_STR("red"), SF_STR_NONE, SF_QUOTA_SERIES), 7);
    sf_overrides_close(o);
    sf_quota_free(quota);
    close(fd);
    unlink(path);
}

TEST(overrides, every_key_is_on_its_page)
{
    struct sf_buf page = {0};
    char path[512], line[512];
    size_t at;
    snprintf(path, sizeof(path), "%s/docs/limits-per-tenant.md", getenv("SPANFLAME_SOURCE"));
    assert_int_equal(sf_text_file_read(path, 1 << 20, &page, &why), SF_OK);
    for (unsigned k = 0; k < SF_QUOTA_KEYS; k++) {
        snprintf(line, sizeof(line), "| `%s` | tenant%s | %s |", sf_quota_key_infos[k].name,
                 k < SF_QUOTA_SERVICE_KEYS ? ", service" : "", sf_quota_key_infos[k].doc);
        assert_true(sf_str_find(sf_buf_str(&page), sf_str_from(line), &at));
    }
    sf_buf_done(&page);
}

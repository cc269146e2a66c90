#include "test.h"

#include <stdlib.h>
#include <unistd.h>

#include "app/config.h"
#include "base/heap.h"
#include "base/limits.h"
#include "profiling_spellings.h"

static struct sf_why why;

static struct sf_config *parse(const char *yaml)
{
    struct sf_config *c = NULL;
    enum sf_err err = sf_config_parse(sf_str_from(yaml), "f.yaml", &c, &why);
    if (err)
        fail_msg("refused: %s", why.text);
    return c;
}

static void assert_refused(const char *yaml, const char *sentence)
{
    struct sf_config *c = NULL;
    enum sf_err err = sf_config_parse(sf_str_from(yaml), "f.yaml", &c, &why);
    if (err != SF_ERR_INPUT)
        fail_msg("accepted: %s", yaml);
    if (strcmp(why.text, sentence) != 0)
        fail_msg("says:\n  %s\nnot\n  %s", why.text, sentence);
    assert_null(c);
}

TEST(config, defaults_to_loopback_on_the_four_ports)
{
    static const uint16_t ports[] = {4317, 4318, 4040, 3200};
    struct sf_config *c = parse("");
    assert_int_equal(c->n_addresses, 8);
    for (size_t i = 0; i < 8; i++) {
        assert_string_equal(c->addresses[i].host, i < 4 ? "127.0.0.1" : "::1");
        assert_int_equal(c->addresses[i].port, ports[i % 4]);
        assert_int_equal(c->addresses[i].is_optional, i >= 4);
        assert_null(c->addresses[i].tls);
    }
    assert_ok(sf_config_address_check_public(c, &why));
    sf_config_free(c);
}

TEST(config, a_small_share_of_a_cpu_is_not_none)
{
    struct sf_config *c = parse(
        "profiling: {conditional: {cpu_threshold_percent: 0.5%, rules: [{service: shop, "
        "cpu_threshold_percent: 0}]}}\n");
    assert_int_equal(c->retention.keep.all.cpu_percent, 1);
    assert_int_equal(c->retention.keep.services[0].rule.cpu_percent, 0);
    sf_config_free(c);
}

TEST(config, has_the_defaults_of_limits_h)
{
    struct sf_config *c = parse("# nothing\n");
    assert_true(c->memory_len == SF_LIMIT_MEMORY_LEN);
    assert_true(c->limits.connections == SF_LIMIT_CONNECTIONS);
    assert_true(c->limits.body_len == SF_LIMIT_BODY_LEN);
    assert_true(c->limits.inflated_len == SF_LIMIT_INFLATED_LEN);
    assert_true(c->limits.header_timeout_ns == SF_LIMIT_HEADER_TIMEOUT_MS * 1000000ll);
    assert_true(c->limits.body_timeout_ns == SF_LIMIT_BODY_TIMEOUT_MS * 1000000ll);
    assert_true(c->limits.idle_timeout_ns == SF_LIMIT_IDLE_TIMEOUT_MS * 1000000ll);
    assert_true(c->limits.total_timeout_ns == SF_LIMIT_TOTAL_TIMEOUT_MS * 1000000ll);
    assert_true(c->limits.attrs == SF_LIMIT_ATTRS);
    assert_true(c->limits.value_len == SF_LIMIT_VALUE_LEN);
    assert_true(c->limits.stack_depth == SF_LIMIT_STACK_DEPTH);
    assert_true(c->limits.series == SF_LIMIT_SERIES);
    assert_true(c->limits.query_memory_len == SF_LIMIT_QUERY_MEMORY_LEN);
    assert_true(c->limits.query_ns == SF_LIMIT_QUERY_MS * 1000000ll);
    sf_config_free(c);
}

TEST(config, reads_the_words_people_know)
{
    struct sf_config *c = parse(
        "profiling:\n"
        "  cpu:    {enabled: true, sample_rate: 99}     # Hz\n"
        "  memory: {enabled: false, sample_rate: 512KB}\n"
        "  conditional: {slow_request_threshold: 2s, cpu_threshold_percent: 80, profile_errors: "
        "true, baseline: 0.5%}\n"
        "  max_stack_depth: 64\n"
        "  max_profile_size: 10MB\n"
        "  upload_interval: 10s\n"
        "  adaptive: {base_rate: 100, max_rate: 1000, cpu_threshold: 80%, memory_threshold: 512MB, "
        "interval: 10s}\n"
        "  load_shedding: {enabled: true, cpu_threshold: 90%}\n"
        "redact: {match: words, patterns: [password, secret, credential, token]}\n"
        "retention: {spans: 7d, profiles: 30d, full_resolution: 2d, detail: 7d, max_bytes: "
        "50GB}\n");
    assert_true(c->profiling.cpu_rate == 99 && !c->profiling.has_memory);
    assert_true(c->profiling.memory_rate == 512000);
    assert_true(c->retention.keep.all.slow_ns == 2000000000 &&
                c->retention.keep.all.cpu_percent == 80);
    assert_true(c->retention.keep.all.baseline_per_10000 == 50 && c->retention.keep.all.has_errors);
    assert_int_equal(c->redact.patterns.n, 4);
    assert_string_equal(c->redact.patterns.items[3], "token");
    assert_true(c->retention.max_len == 50000000000u);
    sf_config_free(c);
}

TEST(config, reads_listeners_plain_and_with_tls)
{
    struct sf_config *c = parse(
        "listen:\n"
        "  - localhost:1\n"
        "  - \"[::1]:2\"\n"
        "  - {tls: {cert: a.crt, key: a.key, client_ca: ca.crt}, address: 0.0.0.0:3}\n");
    assert_int_equal(c->n_addresses, 3);
    assert_string_equal(c->addresses[1].host, "::1");
    assert_false(c->addresses[1].is_optional);
    assert_int_equal(c->addresses[2].port, 3);
    assert_string_equal(c->addresses[2].tls->cert_file, "a.crt");
    assert_string_equal(c->addresses[2].tls->client_ca_file, "ca.crt");
    assert_ok(sf_config_address_check_public(c, &why));
    sf_config_free(c);
    c = parse("listen: localhost:9\ncors:\n  origins: https://a.example\n");
    assert_int_equal(c->n_addresses, 1);
    assert_int_equal(c->cors_origins.n, 1);
    sf_config_free(c);
}

TEST(config, names_the_line_and_the_nearest_key)
{
    assert_refused("\nretention:\n  span: 7d\n",
                   "f.yaml:3: there is no key retention.span; did you mean retention.spans?");
    assert_refused("retenton: {spans: 7d}\n",
                   "f.yaml:1: there is no key retenton; did you mean retention?");
    assert_refused("max_bytes: 1GB\n",
                   "f.yaml:1: there is no key max_bytes; did you mean retention.max_bytes?");
    assert_refused("bananas: 1\n", "f.yaml:1: there is no key bananas");
    assert_refused("listen: [{adress: a:1}]\n",
                   "f.yaml:1: listen: no key \"adress\"; did you mean address?");
    assert_refused("listen: [{address: a:1, tls: {cert: a, kee: b}}]\n",
                   "f.yaml:1: listen: tls has no key \"kee\"; did you mean key?");
}

TEST(config, refuses_wrong_types_in_words)
{
    assert_refused("memory: lots\n",
                   "f.yaml:1: memory expects a size such as 512KB, 64MiB or 50GB, "
                   "not \"lots\": it does not begin with a number");
    assert_refused("memory: 1MB\n", "f.yaml:1: memory: 1MB is below the minimum of 64MiB");
    assert_refused("limits: {header_timeout: 2d}\n",
                   "f.yaml:1: limits.header_timeout: 2d is above the maximum of 1h");
    assert_refused("retention: {spans: 7}\n",
                   "f.yaml:1: retention.spans expects a duration such as "
                   "500ms, 1h30m or 7d, not \"7\": a number has no unit "
                   "(ns, us, ms, s, m, h, d)");
    assert_refused("retention:\n  spans: [7d]\n",
                   "f.yaml:2: retention.spans expects one value, not a list");
    assert_refused("retention: 7d\n",
                   "f.yaml:1: retention is a section: it expects keys below it, not one value");
    assert_refused("tenancy: {enabled: maybe}\n",
                   "f.yaml:1: tenancy.enabled is true or false, not \"maybe\"");
    assert_refused("other_signals: discart\n", "f.yaml:1: other_signals is one of discard|reject, "
                                               "not \"discart\"; did you mean discard?");
    assert_refused("limits: {connections: -1}\n",
                   "f.yaml:1: limits.connections expects a whole number, not \"-1\"");
    assert_refused("profiling: {conditional: {baseline: 101%}}\n",
                   "f.yaml:1: profiling.conditional.baseline expects a percentage such as 80%, not "
                   "\"101%\"");
    assert_refused("redact: {patterns: {a: b}}\n",
                   "f.yaml:1: redact.patterns expects a list, not a map");
    assert_refused("redact: {patterns: [[a]]}\n",
                   "f.yaml:1: redact.patterns expects words in its list, not a list");
    assert_refused("data: \"a\\0b\"\n", "f.yaml:1: a setting must not contain a zero byte");
    assert_refused("- a\n", "f.yaml:1: a configuration is a map: lines of the form  key: value");
}

TEST(config, refuses_bad_addresses)
{
    assert_refused("listen: [4317]\n",
                   "f.yaml:1: \"4317\" is not an address: write HOST:PORT, such as "
                   "127.0.0.1:4317");
    assert_refused("listen: [\"::1:4317\"]\n",
                   "f.yaml:1: \"::1:4317\": put an IPv6 address in brackets: [::1]:4317");
    assert_refused("listen: [\"a:70000\"]\n",
                   "f.yaml:1: \"a:70000\": a port is a number up to 65535");
    assert_refused("listen: [\"[zz]:1\"]\n",
                   "f.yaml:1: \"[zz]:1\" is not an address: \"zz\" is not a host");
    assert_refused("listen: [\"a/b:1\"]\n",
                   "f.yaml:1: \"a/b:1\" is not an address: \"a/b\" is not a host");
    assert_refused("listen: []\n",
                   "f.yaml:1: listen is empty: a server needs at least one address");
    assert_refused("listen: [{tls: {cert: a, key: b}}]\n",
                   "f.yaml:1: listen: a map needs an address: HOST:PORT");
    assert_refused("listen: [{address: a:1, tls: {cert: a}}]\n",
                   "f.yaml:1: listen: tls needs both cert and key");
}

TEST(config, refuses_links_that_lead_elsewhere)
{
    static const struct {
        const char *yaml, *says;
    } wrong[] = {
        {"page: {source_link: 'javascript:alert(1)'}", "begins with http:// or https://"},
        {"page: {source_folder: 'src'}", "must be an absolute path"},
        {"page: {source_link: 'https://'}", "begins with http:// or https://"},
        {"page: {source_link: 'https://{file}.example/'}", "the host must not contain {file}"},
        {"page: {source_link: 'https://git.example/{path}'}", "unknown placeholder {path}"},
        {"page: {source_link: 'https://git.example/{file'}", "unknown placeholder {file"},
        {"page: {logs_link: 'https://logs.example/{file}'}",
         "page.logs_link: unknown placeholder {file}"},
        {"page: {logs_link: 'https://logs.example/a b'}", "a blank, a quote"},
    };
    struct sf_config *c = NULL;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(sf_config_parse(sf_str_from(wrong[i].yaml), "f.yaml", &c, &why),
                         SF_ERR_INPUT);
        assert_non_null(strstr(why.text, wrong[i].says));
        assert_non_null(strstr(why.text, "f.yaml:1"));
    }
    char longest[SF_LIMIT_LINK_LEN + 64];
    for (int more = 0; more < 2; more++) { /* as long as allowed, and a byte more */
        int head = snprintf(longest, sizeof(longest), "page: {logs_link: 'http://a/");
        size_t len = (size_t)head + SF_LIMIT_LINK_LEN - strlen("http://a/") + (size_t)more;
        memset(longest + head, 'x', len - (size_t)head);
        memcpy(longest + len, "'}", 3);
        assert_int_equal(sf_config_parse(sf_str_from(longest), "f.yaml", &c, &why),
                         more ? SF_ERR_INPUT : SF_OK);
        if (!more)
            sf_config_free(c);
    }
    assert_non_null(strstr(why.text, "is longer than 2048 bytes"));
    assert_ok(sf_config_parse(SF_STR("page: {source_link: 'https://git.example/{file}#L{line}'}"),
                              "f.yaml", &c, &why));
    sf_config_free(c);
}

TEST(config, refuses_what_makes_yaml_dangerous)
{
    assert_refused("data: &a x\n", "f.yaml:1: anchors (&name) are not allowed here");
    assert_refused("data: *a\n", "f.yaml:1: aliases (*name) are not allowed here");
    assert_refused("data: x\n---\ndata: y\n",
                   "f.yaml:2: only one YAML document is read; here a second begins");
    assert_refused("data: x\nmemory: 1GiB\ndata: y\n",
                   "f.yaml:3: data is given twice; first on line 1");
}

TEST(config, refuses_settings_that_contradict_each_other)
{
    assert_refused("auth: {header: \"a b\"}\n",
                   "f.yaml:1: auth.header: \"a b\" is not the name of a header");
    assert_refused("retention:\n  full_resolution: 40d\n",
                   "f.yaml:2: retention.full_resolution is longer than retention.profiles: such "
                   "data would already be deleted");
    assert_refused(
        "redact:\n  replace: hash\n",
        "f.yaml:2: redact.replace: hash needs a key; add  hash_key_file: FILE  (make one "
        "with: head -c 32 /dev/urandom > FILE)");
    sf_config_free(parse("retention: {profiles: 0, full_resolution: 40d}\n"));
}

TEST(config, lets_environment_win_over_file_and_flags_over_both)
{
    static const char *const env[] = {"SPANFLAME_RETENTION_SPANS=2d",
                                      "SPANFLAME_MEMORY=1GiB",
                                      "SPANFLAME_CORS_ORIGINS=https://a, https://b",
                                      "SPANFLAME_RETENTON_SPANS=9d",
                                      "SPANFLAME_SERVICE_HOST=10.0.0.1",
                                      "HOME=/",
                                      NULL};
    static const struct sf_config_setting flags[] = {{"--memory", "memory", "2GiB"},
                                                     {"--listen", "listen", "localhost:1"},
                                                     {"--listen", "listen", "localhost:2"}};
    char path[] = "/tmp/spanflame_config_XXXXXX";
    struct sf_config_inputs in = {.file = path, .env = env, .flags = flags, .n_flags = 3};
    struct sf_config *c = NULL;
    struct sf_buf text = {0};
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, "retention:\n  spans: 1d\n  detail: 1d\n", 36), 36);
    close(fd);
    assert_ok(sf_config_load(&in, &c, &why));
    assert_true(c->retention.spans_ns == 2 * 86400000000000);
    assert_true(c->retention.detail_ns == 86400000000000);
    assert_true(c->memory_len == 2ull << 30);
    assert_int_equal(c->n_addresses, 2);
    assert_int_equal(c->cors_origins.n, 2);
    assert_string_equal(c->cors_origins.items[1], "https://b");
    /* The slip is told, what an orchestrator sets is not. */
    assert_int_equal(c->warnings.n, 1);
    assert_string_equal(
        c->warnings.items[0],
        "the environment has SPANFLAME_RETENTON_SPANS, which is not a setting; did you "
        "mean SPANFLAME_RETENTION_SPANS?");
    for (size_t i = 0; i < sf_config_n_keys; i++) {
        sf_buf_reset(&text);
        sf_config_render_origin(c, i, &text);
        if (strcmp(sf_config_keys[i].path, "retention.detail") == 0)
            assert_true(sf_str_ends(sf_buf_str(&text), SF_STR(":3")));
        else if (strcmp(sf_config_keys[i].path, "retention.spans") == 0)
            assert_str(sf_buf_str(&text), "SPANFLAME_RETENTION_SPANS");
        else if (strcmp(sf_config_keys[i].path, "memory") == 0)
            assert_str(sf_buf_str(&text), "--memory");
        else if (strcmp(sf_config_keys[i].path, "data") == 0)
            assert_str(sf_buf_str(&text), "default");
    }
    sf_buf_done(&text);
    sf_config_free(c);
    unlink(path);
    c = NULL;
    assert_err(sf_config_load(&in, &c, &why), SF_ERR_NOT_FOUND);
}

TEST(config, names_the_variable_or_flag_in_a_mistake)
{
    static const char *const env[] = {"SPANFLAME_MEMORY=lots", NULL};
    static const struct sf_config_setting flag = {"--set", "retention.span", "1d"};
    struct sf_config_inputs in = {.env = env};
    struct sf_config *c = NULL;
    assert_err(sf_config_load(&in, &c, &why), SF_ERR_INPUT);
    assert_string_equal(why.text, "SPANFLAME_MEMORY: memory expects a size such as 512KB, 64MiB or "
                                  "50GB, not \"lots\": it does not begin with a number");
    in = (struct sf_config_inputs){.flags = &flag, .n_flags = 1};
    assert_err(sf_config_load(&in, &c, &why), SF_ERR_INPUT);
    assert_string_equal(why.text,
                        "--set: there is no key retention.span; did you mean retention.spans?");
}

TEST(config, refuses_a_public_bind_with_the_line_to_add)
{
    struct sf_config *c = parse("listen: [\"127.0.0.1:1\", \"[::]:4318\"]\n");
    assert_err(sf_config_address_check_public(c, &why), SF_ERR_DENIED);
    assert_string_equal(
        why.text,
        "[::]:4318 can be reached from other machines and requires no token. Add the line  "
        "auth: {token_file: /etc/spanflame/tokens}  (spanflame token new makes one) "
        "or the flag  --allow-public-without-auth");
    sf_config_free(c);
    c = parse("listen: [\"0.0.0.0:1\"]\nauth: {token_file: /etc/spanflame/tokens}\n");
    assert_ok(sf_config_address_check_public(c, &why));
    sf_config_free(c);
    c = parse("listen: [\"0.0.0.0:1\"]\nauth: {allow_public_without_auth: true}\n");
    assert_ok(sf_config_address_check_public(c, &why));
    sf_config_free(c);
    c = parse("listen: [{address: \"0.0.0.0:1\", tls: {cert: a, key: b}}]\n");
    assert_err(sf_config_address_check_public(c, &why), SF_ERR_DENIED);
    sf_config_free(c);
}

TEST(config, writes_every_value_as_it_reads_it)
{
    struct sf_config *c = parse("profiling: {conditional: {baseline: 0.25%}}\n"
                                "limits: {query_time: 1h30m5ms}\nmemory: 1536MiB\n");
    struct sf_buf text = {0};
    for (size_t i = 0; i < sf_config_n_keys; i++) {
        const char *path = sf_config_keys[i].path;
        sf_buf_reset(&text);
        sf_config_render_value(c, i, &text);
        if (strcmp(path, "profiling.conditional.baseline") == 0)
            assert_str(sf_buf_str(&text), "0.25%");
        else if (strcmp(path, "limits.query_time") == 0)
            assert_str(sf_buf_str(&text), "1h30m5ms");
        else if (strcmp(path, "memory") == 0)
            assert_str(sf_buf_str(&text), "1536MiB");
        else if (strcmp(path, "limits.body_timeout") == 0)
            assert_str(sf_buf_str(&text), "1m");
        else if (strcmp(path, "limits.idle_timeout") != 0 && strncmp(path, "store.", 6) != 0)
            if (!sf_str_eq(sf_buf_str(&text), sf_str_from(sf_config_keys[i].initial)))
                fail_msg("%s: wrote \"%.*s\"", path, SF_STR_ARG(sf_buf_str(&text)));
    }
    sf_buf_done(&text);
    sf_config_free(c);
}

TEST(config, means_by_a_text_what_the_library_means)
{
    for (int i = 0; i < N_SPELLINGS; i++) {
        const struct sf_profiling_key *key = sf_profiling_keys;
        struct sf_config_setting flag = {"--set", spellings[i].path, spellings[i].text};
        struct sf_config_inputs in = {.flags = &flag, .n_flags = 1};
        struct sf_config *c = NULL;
        enum sf_err err = sf_config_load(&in, &c, &why);
        if (spellings[i].is_refused != (err != SF_OK))
            fail_msg("%s: \"%s\": %s", flag.path, flag.value, err ? why.text : "accepted");
        while (strcmp(key->path, flag.path) != 0)
            key++;
        if (!err) {
            uint64_t value = spelling_value(key->kind, (uint8_t *)&c->profiling + key->offset);
            if (value != spellings[i].value)
                fail_msg("%s: \"%s\" is %llu", flag.path, flag.value, (unsigned long long)value);
        }
        sf_config_free(c);
    }
}

TEST(config, survives_every_failed_allocation)
{
    for (uint64_t n = 1; n < 40; n++) {
        struct sf_config *c = NULL;
        enum sf_err err;
        sf_heap_fail_after(n);
        err = sf_config_parse(SF_STR("listen: [localhost:1]\nredact: {patterns: [a, b]}\n"),
                              "f.yaml", &c, &why);
        sf_heap_fail_after(0);
        assert_true(err ? c == NULL : c != NULL);
        if (err)
            assert_int_equal(err, SF_ERR_NOMEM);
        sf_config_free(c);
    }
}

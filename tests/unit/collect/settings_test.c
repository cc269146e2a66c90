#include "test.h"

#include "base/heap.h"
#include "collect/lib/settings.h"
#include "profiling_spellings.h"
#include "wire/pb.h"

static const char *pairs[16][2];
static int n_pairs;

static const char *get(const char *name)
{
    for (int i = 0; i < n_pairs; i++) {
        if (!strcmp(pairs[i][0], name))
            return pairs[i][1];
    }
    return NULL;
}

static void say(const char *name, const char *val)
{
    pairs[n_pairs][0] = name;
    pairs[n_pairs++][1] = val;
}

static struct sf_settings s;
static struct sf_why why;

static enum sf_err read_as(const char *service)
{
    enum sf_err err;
    why = (struct sf_why){0};
    err = sf_settings_read(&s, service, get, &why);
    n_pairs = 0;
    return err;
}

/* The text of resource attribute `key`, cut to fit. */
static const char *attr(const char *key)
{
    static char found[300];
    struct sf_pb pb = sf_pb_init(sf_buf_bytes(&s.resource));
    while (sf_pb_next(&pb)) {
        struct sf_pb kv = sf_pb_msg(&pb);
        bool is_it = false;
        while (sf_pb_next(&kv)) {
            if (kv.field == 1) {
                is_it = sf_str_eq(sf_pb_str(&kv), sf_str_from(key));
            } else {
                struct sf_pb value = sf_pb_msg(&kv);
                while (sf_pb_next(&value)) {
                    sf_str text = sf_pb_str(&value);
                    if (is_it) {
                        snprintf(found, sizeof(found), "%.*s", SF_STR_ARG(text));
                        return found;
                    }
                }
            }
        }
    }
    return "";
}

TEST(settings, have_defaults_as_every_sdk)
{
    assert_ok(read_as(NULL));
    assert_string_equal(s.exporter.to.host, "localhost");
    assert_int_equal(s.exporter.to.port, 4318);
    assert_string_equal(s.exporter.to.path, "/v1/traces");
    assert_true(s.exporter.timeout_ns == 10000000000);
    assert_true(s.exporter.is_gzip);
    assert_false(s.exporter.is_grpc);
    assert_true(s.sampler.is_parent_based);
    assert_int_equal(s.max_attrs, 128);
    assert_memory_equal(s.service, "unknown_service:", 16);
    assert_string_equal(why.text, "");
    sf_settings_done(&s);
}

TEST(settings, follow_the_environment)
{
    say("OTEL_SERVICE_NAME", "cart");
    say("OTEL_RESOURCE_ATTRIBUTES", "service.name=other, team=a%2Cb ,broken,deployment=x=y");
    say("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:1/otlp");
    say("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20t,x-scope-orgid=one");
    say("OTEL_EXPORTER_OTLP_TIMEOUT", "250");
    say("OTEL_EXPORTER_OTLP_COMPRESSION", "none");
    say("OTEL_TRACES_SAMPLER", "parentbased_always_off");
    say("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "3");
    assert_ok(read_as(NULL));
    assert_string_equal(s.service, "cart");
    assert_string_equal(attr("service.name"), "cart");
    assert_string_equal(attr("team"), "a,b");
    assert_string_equal(attr("deployment"), "x=y");
    assert_string_equal(s.exporter.to.path, "/otlp/v1/traces");
    assert_str(s.exporter.headers, "authorization: Bearer t\r\nx-scope-orgid: one\r\n");
    assert_true(s.exporter.timeout_ns == 250000000);
    assert_false(s.exporter.is_gzip);
    assert_true(s.sampler.threshold > 0);
    assert_int_equal(s.max_attrs, 3);
    sf_settings_done(&s);
}

TEST(settings, for_traces_win_and_are_used_as_they_stand)
{
    say("OTEL_EXPORTER_OTLP_ENDPOINT", "http://general:1");
    say("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://special:2/in");
    say("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "1");
    say("OTEL_EXPORTER_OTLP_TIMEOUT", "2");
    assert_ok(read_as("name"));
    assert_string_equal(s.exporter.to.host, "special");
    assert_string_equal(s.exporter.to.path, "/in");
    assert_true(s.exporter.timeout_ns == 1000000);
    assert_string_equal(s.service, "name");
    sf_settings_done(&s);
}

TEST(settings, fall_back_to_a_pyroscope_address)
{
    say("PYROSCOPE_SERVER_ADDRESS", "http://p:4040");
    assert_ok(read_as(NULL));
    assert_string_equal(s.exporter.to.host, "p");
    assert_string_equal(s.exporter.to.path, "/v1/traces");
    sf_settings_done(&s);
}

TEST(settings, that_are_mistyped_are_told_and_replaced)
{
    say("OTEL_TRACES_SAMPLER", "sometimes");
    say("OTEL_BSP_SCHEDULE_DELAY", "soon");
    assert_ok(read_as(NULL));
    assert_non_null(strstr(why.text, "OTEL_TRACES_SAMPLER: 'sometimes'"));
    assert_true(s.exporter.delay_ns == 5000000000);
    assert_int_equal(s.sampler.threshold, 0);
    sf_settings_done(&s);
}

TEST(settings, do_not_let_a_header_end_its_line)
{
    say("OTEL_EXPORTER_OTLP_HEADERS", "a=b%0d%0aEvil: 1,content-length=5,x y=1,ok=2");
    assert_ok(read_as(NULL));
    assert_str(s.exporter.headers, "ok: 2\r\n");
    assert_true(why.text[0]);
    sf_settings_done(&s);
}

TEST(settings, refuse_an_endpoint_that_cannot_be_used)
{
    say("OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://x");
    assert_err(read_as(NULL), SF_ERR_INPUT);
    assert_true(why.text[0]);
}

TEST(settings, survive_every_allocation_that_fails)
{
    for (uint64_t n = 1;; n++) {
        enum sf_err err;
        say("OTEL_RESOURCE_ATTRIBUTES", "a=b,c=d");
        say("OTEL_EXPORTER_OTLP_HEADERS", "e=f");
        sf_heap_fail_after(n);
        err = read_as("x");
        sf_heap_fail_after(0);
        if (!err) {
            sf_settings_done(&s);
            assert_true(n > 2);
            return;
        }
        assert_int_equal(err, SF_ERR_NOMEM);
    }
}

TEST(settings, profiles_have_variables_of_their_own)
{
    say("OTEL_EXPORTER_OTLP_ENDPOINT", "http://here:1");
    say("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT", "http://there:2/own/path");
    say("SPANFLAME_PROFILES", "wall, heap");
    say("SPANFLAME_PROFILING_CPU_SAMPLE_RATE", "250");
    say("SPANFLAME_PROFILING_MEMORY_SAMPLE_RATE", "1MB");
    say("SPANFLAME_PROFILING_UPLOAD_INTERVAL", "500ms");
    assert_int_equal(read_as("x"), SF_OK);
    assert_string_equal(s.exporter.to.path, "/v1/traces");
    assert_string_equal(s.profile_exporter.to.path, "/own/path");
    assert_int_equal(s.profiling.kinds,
                     1u << SF_SAMPLES_WALL | 1u << SF_SAMPLES_ALLOC | 1u << SF_SAMPLES_INUSE);
    assert_false(s.profiling.is_default);
    assert_int_equal(s.profiling.periods[SF_SAMPLES_CPU], 4000000);
    assert_int_equal(s.profiling.periods[SF_SAMPLES_ALLOC], 1000000);
    assert_int_equal(s.profiling.block.upload_interval_ns, 500000000);
    sf_settings_done(&s);
}

TEST(settings, what_profiles_cannot_use_is_said_and_the_default_stays)
{
    say("SPANFLAME_PROFILES", "cpu,gpu");
    say("SPANFLAME_PROFILING_CPU_SAMPLE_RATE", "often");
    assert_int_equal(read_as("x"), SF_OK);
    assert_non_null(strstr(why.text, "SPANFLAME_PRO"));
    assert_int_equal(s.profiling.periods[SF_SAMPLES_CPU], 10000000);
    assert_true(s.profiling.kinds & 1u << SF_SAMPLES_CPU);
    sf_settings_done(&s);
    say("SPANFLAME_PROFILES", "none");
    assert_int_equal(read_as("x"), SF_OK);
    assert_int_equal(s.profiling.kinds, 0);
    sf_settings_done(&s);
}

TEST(settings, means_by_a_text_what_the_server_means)
{
    for (int i = 0; i < N_SPELLINGS; i++) {
        const struct sf_profiling_key *key = sf_profiling_keys;
        char name[SF_PROFILING_VARIABLE_CAP];
        uint64_t value;
        sf_profiling_settings_variable(spellings[i].path, name);
        while (strcmp(key->path, spellings[i].path) != 0)
            key++;
        say(name, spellings[i].text);
        assert_int_equal(read_as("x"), SF_OK);
        value = spelling_value(key->kind, (const uint8_t *)&s.profiling.block + key->offset);
        if (spellings[i].is_refused != (why.text[0] != 0))
            fail_msg("%s: \"%s\": %s", name, spellings[i].text, why.text);
        if (!spellings[i].is_refused && value != spellings[i].value)
            fail_msg("%s: \"%s\" is %llu", name, spellings[i].text, (unsigned long long)value);
        sf_settings_done(&s);
    }
}

TEST(settings, has_the_limits_of_the_documentation)
{
    assert_int_equal(read_as("x"), SF_OK);
    assert_int_equal(s.profiling.block.max_stack_depth, 64);
    assert_int_equal(s.profiling.block.max_profile_len, 10000000);
    assert_int_equal(s.profiling.periods[SF_SAMPLES_ALLOC], 512000);
    assert_int_equal(s.profile_exporter.timeout_ns, 10000000000);
    sf_settings_done(&s);
}

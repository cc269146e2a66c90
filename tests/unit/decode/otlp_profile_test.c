/* OTLP profiles of every version that is sent, as their producers write them. */
#include "base/heap.h"
#include "support/profile_rig.h"
#include "wire/pb_write.h"

static struct profile_rig rig;
static struct sf_buf body;

/* The numbers of a version, by hand and not from the decoder. */
struct numbers {
    const char *name;
    bool has_stacks, is_own; /* tables in the profile itself */
    int values, attrs, link, times;
    int time, period_type, period, locations;
    int location_attrs;
    int mapping_t, location_t, function_t, link_t, string_t, attr_t;
};

static const struct numbers v1_4 = {"1.4", false, true, 3, 4, 5, 6, 11, 13,
                                    14,    5,     5,    3, 4, 6, 9, 10, 7};
static const struct numbers v1_7 = {"1.7", false, false, 3, 4, 5, 6, 4, 6,
                                    7,     3,     5,     1, 2, 3, 4, 5, 6};
static const struct numbers v1_9 = {"1.9", true, false, 2, 3, 4, 5, 3, 5,
                                    6,     0,    4,     1, 2, 3, 4, 5, 6};
static const struct numbers v1_10 = {"1.10", true, false, 4, 2, 3, 5, 3, 5,
                                     6,      0,    4,     1, 2, 3, 4, 5, 6};
static const struct numbers *const versions[] = {&v1_4, &v1_7, &v1_9, &v1_10};

static const char *const strings[] = {"",
                                      "samples",
                                      "count",
                                      "cpu",
                                      "nanoseconds",
                                      "service.name",
                                      "api",
                                      "main",
                                      "work",
                                      "a.go",
                                      "thread.name",
                                      "profile.frame.type",
                                      "off_cpu",
                                      "route",
                                      "thread.name",
                                      "process.executable.build_id.gnu"};
enum { N_STRINGS = sizeof(strings) / sizeof(*strings) };

static void write_ints(uint32_t field, const uint64_t *list, size_t n)
{
    size_t mark = sf_pb_write_begin(&body, field);
    for (size_t i = 0; i < n; i++)
        sf_pb_write_raw_varint(&body, list[i]);
    sf_pb_write_end(&body, mark);
}

static void write_attr(const struct numbers *v, uint32_t key, const char *text)
{
    size_t mark = sf_pb_write_begin(&body, (uint32_t)v->attr_t), value;
    if (v->has_stacks)
        sf_pb_write_u64(&body, 1, key);
    else
        sf_pb_write_str(&body, 1, sf_str_from(strings[key]));
    value = sf_pb_write_begin(&body, 2);
    sf_pb_write_str(&body, 1, sf_str_from(text));
    sf_pb_write_end(&body, value);
    sf_pb_write_end(&body, mark);
}

static void write_location(const struct numbers *v, uint64_t function, uint64_t line)
{
    size_t mark = sf_pb_write_begin(&body, (uint32_t)v->location_t), inner;
    inner = sf_pb_write_begin(&body, 3);
    sf_pb_write_u64(&body, 1, function);
    sf_pb_write_u64(&body, 2, line);
    sf_pb_write_end(&body, inner);
    if (v->has_stacks)
        write_ints((uint32_t)v->location_attrs, (uint64_t[]){2}, 1);
    sf_pb_write_end(&body, mark);
}

/* main > work, in a table with (1.8 and later) or without a zero entry. */
static void write_tables(const struct numbers *v)
{
    static const uint8_t trace[16] = {0x5b, 0x8e, 0xff, 0xf7, 0x98, 0x03, 0x81, 0x03,
                                      0xd2, 0x69, 0xb6, 0x33, 0x81, 0x3f, 0xc6, 0x0c};
    static const uint8_t span[8] = {0xee, 0xe1, 0x9b, 0x7e, 0xc3, 0xc1, 0xb1, 0x74};
    uint32_t base = v->has_stacks;
    size_t mark;
    for (int t = v->mapping_t; v->has_stacks && t <= 7; t++) {
        if (t != v->string_t)
            sf_pb_write_bytes(&body, (uint32_t)t, SF_BYTES_NONE);
    }
    for (int i = 0; i < N_STRINGS; i++)
        sf_pb_write_str(&body, (uint32_t)v->string_t, sf_str_from(strings[i]));
    for (uint32_t f = 7; f <= 8; f++) {
        mark = sf_pb_write_begin(&body, (uint32_t)v->function_t);
        sf_pb_write_u64(&body, 1, f);
        sf_pb_write_u64(&body, 3, 9);
        sf_pb_write_end(&body, mark);
    }
    write_location(v, base + 1, 42); /* work */
    write_location(v, base + 0, 7);  /* main */
    mark = sf_pb_write_begin(&body, (uint32_t)v->link_t);
    sf_pb_write_bytes(&body, 1, (sf_bytes){trace, 16});
    sf_pb_write_bytes(&body, 2, (sf_bytes){span, 8});
    sf_pb_write_end(&body, mark);
    write_attr(v, 10, "worker-1");
    write_attr(v, 11, "go");
    write_attr(v, 13, "/cart");
    if (v->has_stacks) {
        mark = sf_pb_write_begin(&body, 7);
        write_ints(1, (uint64_t[]){1, 2}, 2);
        sf_pb_write_end(&body, mark);
    }
}

struct content {
    uint32_t type, unit, period_type;
    uint64_t period;
    int64_t values[4];
    uint32_t n_values;
    uint64_t times[4];
    uint32_t n_times;
    bool has_no_link, is_unpacked, has_no_attrs;
};

static void write_sample(const struct numbers *v, const struct content *c)
{
    size_t sample = sf_pb_write_begin(&body, 2), mark;
    uint32_t base = v->has_stacks;
    if (v->has_stacks)
        sf_pb_write_u64(&body, 1, 1);
    else
        sf_pb_write_u64(&body, 2, 2); /* from 0 on */
    for (uint32_t i = 0; c->is_unpacked && i < c->n_values; i++)
        sf_pb_write_i64(&body, (uint32_t)v->values, c->values[i]);
    if (!c->is_unpacked && c->n_values)
        write_ints((uint32_t)v->values, (const uint64_t *)c->values, c->n_values);
    if (c->is_unpacked && !c->has_no_attrs) {
        sf_pb_write_u64(&body, (uint32_t)v->attrs, base + 0);
        sf_pb_write_u64(&body, (uint32_t)v->attrs, base + 2);
    } else if (!c->has_no_attrs) {
        write_ints((uint32_t)v->attrs, (uint64_t[]){base + 0, base + 2}, 2);
    }
    if (!c->has_no_link)
        sf_pb_write_u64(&body, (uint32_t)v->link, base + 0);
    if (c->n_times) {
        mark = sf_pb_write_begin(&body, (uint32_t)v->times);
        for (uint32_t i = 0; i < c->n_times; i++) {
            if (v->has_stacks)
                sf_buf_add_u64le(&body, c->times[i]);
            else
                sf_pb_write_raw_varint(&body, c->times[i]);
        }
        sf_pb_write_end(&body, mark);
    }
    sf_pb_write_end(&body, sample);
}

static void write_type(uint32_t field, uint32_t type, uint32_t unit)
{
    size_t mark = sf_pb_write_begin(&body, field);
    sf_pb_write_u64(&body, 1, type);
    sf_pb_write_u64(&body, 2, unit);
    sf_pb_write_end(&body, mark);
}

static void write_profile(const struct numbers *v, const struct content *c)
{
    size_t mark = sf_pb_write_begin(&body, 2);
    write_type(1, c->type, c->unit);
    write_sample(v, c);
    if (v->has_stacks)
        sf_pb_write_fixed64(&body, (uint32_t)v->time, 1699999999000000000);
    else
        sf_pb_write_u64(&body, (uint32_t)v->time, 1699999999000000000);
    if (c->period_type) {
        write_type((uint32_t)v->period_type, c->period_type, 4);
        sf_pb_write_u64(&body, (uint32_t)v->period, c->period);
    }
    if (v->locations)
        write_ints((uint32_t)v->locations, (uint64_t[]){0, 1}, 2);
    if (v->is_own)
        write_tables(v);
    sf_pb_write_end(&body, mark);
}

static void write_request(const struct numbers *v, const struct content *c)
{
    size_t resource, mark, kv, any;
    sf_buf_reset(&body);
    resource = sf_pb_write_begin(&body, 1);
    mark = sf_pb_write_begin(&body, 1);
    kv = sf_pb_write_begin(&body, 1);
    sf_pb_write_str(&body, 1, SF_STR("service.name"));
    any = sf_pb_write_begin(&body, 2);
    sf_pb_write_str(&body, 1, SF_STR("api"));
    sf_pb_write_end(&body, any);
    sf_pb_write_end(&body, kv);
    sf_pb_write_end(&body, mark);
    mark = sf_pb_write_begin(&body, 2);
    write_profile(v, c);
    sf_pb_write_end(&body, mark);
    sf_pb_write_end(&body, resource);
    if (!v->is_own) {
        mark = sf_pb_write_begin(&body, 2);
        write_tables(v);
        sf_pb_write_end(&body, mark);
    }
    assert_true(sf_buf_ok(&body));
}

static void decode_request(const struct numbers *v, const struct content *c)
{
    write_request(v, c);
    rig.hint = (struct sf_profile_hint){0};
    if (profile_decode_text(&rig, sf_buf_str(&body)))
        fail_msg("%s: %s", v->name, rig.why.text);
}

static const struct content summed = {.type = 3, .unit = 4, .values = {5}, .n_values = 1};
static const struct content events = {.type = 1,
                                      .unit = 2,
                                      .period_type = 3,
                                      .period = 50000000,
                                      .times = {1700000000000000000, 1700000000500000000},
                                      .n_times = 2};
static const struct content waits = {.type = 12,
                                     .unit = 4,
                                     .values = {1000, 2500},
                                     .n_values = 2,
                                     .times = {1700000000000000000, 1700000000500000000},
                                     .n_times = 2};

static void check_ids(const struct numbers *v)
{
    const struct sf_sample *s = &rig.got.samples[0];
    char hex[33];
    sf_trace_id_render(s->trace_id, hex);
    if (strcmp(hex, "5b8efff798038103d269b633813fc60c") != 0 || s->span_id != 0xeee19b7ec3c1b174)
        fail_msg("%s: trace %s, span %" PRIx64, v->name, hex, s->span_id);
    assert_str(s->thread_name, "worker-1");
    assert_int_equal(rig.got.series[0].n_labels, 2);
    assert_str(rig.got.series[0].labels[0].key, "route");
    assert_str(rig.got.series[0].service, "api");
}

TEST(otlp_profile, every_version_says_the_same)
{
    for (size_t i = 0; i < 4; i++) {
        for (int is_unpacked = 0; is_unpacked < 2; is_unpacked++) {
            struct content c = summed;
            c.is_unpacked = is_unpacked;
            decode_request(versions[i], &c);
            assert_int_equal(rig.got.n_samples, 1);
            if (profile_value(&rig, "cpu:nanoseconds", "main;work") != 5)
                fail_msg("%s%s: no 5 at main;work", versions[i]->name,
                         is_unpacked ? ", unpacked" : "");
            assert_str(rig.got.series[0].type.name, "process_cpu");
            assert_int_equal(rig.got.series[0].time_ns, 1699999999000000000);
            assert_false(rig.got.samples[0].has_time);
            check_ids(versions[i]);
        }
    }
}

TEST(otlp_profile, events_count_one_period_each)
{
    for (size_t i = 0; i < 4; i++) {
        struct content c = events;
        if (!versions[i]->has_stacks) { /* as the host profiler wrote then */
            c.values[0] = 1;
            c.n_values = 1;
        }
        decode_request(versions[i], &c);
        assert_int_equal(rig.got.n_samples, 2);
        assert_sum(&rig, "process_cpu:cpu:nanoseconds", 100000000);
        assert_true(rig.got.samples[1].has_time);
        assert_int_equal(rig.got.samples[1].start_ns, 1700000000500000000);
        assert_int_equal(rig.got.samples[1].length_ns, 0);
        assert_int_equal(rig.got.samples[1].count, 1);
        assert_int_equal(rig.got.series[0].period, 50000000);
        check_ids(versions[i]);
    }
}

TEST(otlp_profile, waits_are_stamped_at_their_end)
{
    for (size_t i = 0; i < 4; i++) {
        decode_request(versions[i], &waits);
        assert_int_equal(rig.got.n_samples, 2);
        assert_sum(&rig, "off_cpu:off_cpu:nanoseconds", 3500);
        assert_int_equal(rig.got.samples[1].start_ns, 1700000000500000000 - 2500);
        assert_int_equal(rig.got.samples[1].length_ns, 2500);
    }
}

TEST(otlp_profile, a_frame_knows_its_language_and_line)
{
    const struct sf_location *l;
    decode_request(&v1_10, &summed);
    l = &rig.got.locations[rig.got.stacks[rig.got.samples[0].stack].locations[0]];
    assert_int_equal(l->kind, SF_FRAME_GO);
    assert_int_equal(l->lines[0].line, 42);
    assert_str(rig.got.functions[l->lines[0].function].file, "a.go");
}

/* As reference vectors have them: stack 1, attributes 2 and 3, link 1, value 5, one time. */
TEST(otlp_profile, wrong_version_by_hand_and_right_one_by_content)
{
    write_request(&v1_9, &summed);
    rig.hint = (struct sf_profile_hint){.otlp_version = SF_STR("1.10")};
    /* values read as attribute 5, of 4 */
    assert_err(profile_decode_text(&rig, sf_buf_str(&body)), SF_ERR_INPUT);
    assert_non_null(strstr(rig.why.text, "attribute 5, of 4"));
    rig.hint.otlp_version = SF_STR("1.9");
    assert_ok(profile_decode_text(&rig, sf_buf_str(&body)));
    rig.hint.otlp_version = SF_STR("2.0");
    assert_err(profile_decode_text(&rig, sf_buf_str(&body)), SF_ERR_INPUT);
}

TEST(otlp_profile, few_fields_are_enough_to_tell_the_version)
{
    struct content c = {.type = 3, .unit = 4, .values = {1}, .n_values = 1};
    c.has_no_attrs = c.has_no_link = true;
    for (size_t i = 2; i < 4; i++) {
        for (int is_unpacked = 0; is_unpacked < 2; is_unpacked++) {
            c.is_unpacked = is_unpacked;
            decode_request(versions[i], &c);
            assert_sum(&rig, "process_cpu:cpu:nanoseconds", 1);
            assert_int_equal(rig.got.samples[0].span_id, 0);
        }
    }
}

static const char json[] =
    "{\"resourceProfiles\":[{\"resource\":{\"attributes\":[{\"keyStrindex\":5,\"value\":"
    "{\"stringValueStrindex\":6}},{\"key\":\"process.pid\",\"value\":{\"intValue\":\"77\"}},"
    "{\"key\":\"container.id\",\"value\":{\"stringValue\":\"c1\"}},"
    "{\"key\":\"cpu.limit\",\"value\":{\"doubleValue\":0.5}},"
    "{\"key\":\"k8s.pod.labels\",\"value\":{\"arrayValue\":{\"values\":[{\"stringValue\":\"x\"}]}}}"
    "]},\"scopeProfiles\":[{\"profiles\":["
    "{\"sampleType\":{\"typeStrindex\":1,\"unitStrindex\":2},\"samples\":[{\"stackIndex\":1,"
    "\"linkIndex\":1,\"timestampsUnixNano\":[\"1700000000000000000\"]}],\"timeUnixNano\":"
    "\"1699999999000000000\",\"durationNano\":\"5000000000\",\"periodType\":{\"typeStrindex\":3,"
    "\"unitStrindex\":4},\"period\":\"50000000\",\"profileId\":"
    "\"000102030405060708090a0b0c0d0e0f\"}]}]}],\"dictionary\":{\"stringTable\":[\"\",\"samples\","
    "\"count\",\"cpu\",\"nanoseconds\",\"service.name\",\"api\",\"ma\\u0069n\"],\"functionTable\":"
    "[{},{\"nameStrindex\":7}],\"locationTable\":[{},{\"lines\":[{\"functionIndex\":1}]}],"
    "\"stackTable\":[{},{\"locationIndices\":[1]}],\"linkTable\":[{},{\"traceId\":"
    "\"5b8efff798038103d269b633813fc60c\",\"spanId\":\"EEE19b7ec3c1b174\"}],\"mappingTable\":[{}],"
    "\"attributeTable\":[{}]}}";

TEST(otlp_profile, json_of_today)
{
    rig.hint = (struct sf_profile_hint){0};
    assert_ok(profile_decode_text(&rig, sf_str_from(json)));
    assert_int_equal(rig.got.n_samples, 1);
    assert_int_equal(profile_value(&rig, "cpu:nanoseconds", "main"), 50000000);
    assert_str(rig.got.series[0].service, "api");
    assert_int_equal(rig.got.series[0].duration_ns, 5000000000);
    assert_int_equal(rig.got.series[0].id.b[15], 15);
    assert_int_equal(rig.got.samples[0].span_id, 0xeee19b7ec3c1b174);
    assert_str(rig.got.processes[rig.got.series[0].process].key, "machine=c1;pid=77");
    assert_int_equal(rig.got.series[0].n_labels, 4); /* the pid is none */
    assert_str(rig.got.series[0].labels[1].val, "0.5");
    assert_str(rig.got.series[0].labels[2].val, "x");
    assert_string_equal(sf_profile_format_find(sf_str_from(json)), "otlp-json");
}

TEST(otlp_profile, json_a_request_a_line)
{
    struct sf_buf text = {0};
    sf_buf_print(&text, "%s\n%s\n\n", json, json);
    rig.hint = (struct sf_profile_hint){0};
    assert_ok(profile_decode_text(&rig, sf_buf_str(&text)));
    assert_int_equal(rig.got.n_samples, 2);
    assert_int_equal(profile_value(&rig, "cpu:nanoseconds", "main"), 100000000);
    sf_buf_print(&text, "x");
    assert_err(profile_decode_text(&rig, sf_buf_str(&text)), SF_ERR_INPUT);
    sf_buf_done(&text);
}

TEST(otlp_profile, json_of_old)
{
    static const char old[] =
        "{\"resource_profiles\":[{\"scope_profiles\":[{\"profiles\":[{\"sample_type\":[{"
        "\"type_strindex\":1,\"unit_strindex\":2},{\"type_strindex\":3,\"unit_strindex\":4}],"
        "\"sample\":[{\"locations_start_index\":1,\"locations_length\":2,\"value\":[2,\"20\"],"
        "\"attribute_indices\":[0]}],\"location_indices\":[9,1,0],%s\"time_nanos\":1700000000}"
        "]}]}]%s}";
    static const char tables[] =
        "\"string_table\":[\"\",\"alloc_objects\",\"count\",\"alloc_space\",\"bytes\",\"f\",\"g\"],"
        "\"function_table\":[{\"name_strindex\":5},{\"name_strindex\":6}],\"location_table\":[{"
        "\"line\":[{\"function_index\":0}]},{\"line\":[{\"function_index\":1}]}],"
        "\"attribute_table\":[{\"key\":\"route\",\"value\":{\"stringValue\":\"/\"}}]";
    char own[1000], apart[1000], text[4000];
    snprintf(own, sizeof(own), "%s,", tables);
    snprintf(apart, sizeof(apart), ",\"dictionary\":{%s}", tables);
    for (int is_own = 0; is_own < 2; is_own++) {
        snprintf(text, sizeof(text), old, is_own ? own : "", is_own ? "" : apart);
        rig.hint = (struct sf_profile_hint){.format = SF_STR("otlp-json")};
        assert_err(profile_decode_text(&rig, sf_str_from(text)), SF_ERR_INPUT);
        assert_non_null(strstr(rig.why.text, "location 9, of 2"));
        memcpy(strstr(text, "[9,1"), "[0,1", 4);
        assert_ok(profile_decode_text(&rig, sf_str_from(text)));
        assert_int_equal(profile_value(&rig, "alloc_objects:count", "f;g"), 2);
        assert_sum(&rig, "memory:alloc_space:bytes", 20);
    }
}

TEST(otlp_profile, a_number_that_leads_nowhere_costs_its_profile)
{
    struct sf_buf two = {0};
    const struct content bad = summed;
    size_t len;
    write_request(&v1_10, &bad);
    sf_buf_add(&two, body.p, body.len);
    /* The same resource once more, its sample's stack 99. */
    for (len = 0; len + 4 < body.len; len++) {
        if (!memcmp(body.p + len, "\x08\x01\x22\x01\x05", 5))
            body.p[len + 1] = 99;
    }
    sf_buf_add(&two, body.p, 2 + (size_t)body.p[1]);
    rig.hint = (struct sf_profile_hint){.format = SF_STR("otlp")};
    assert_ok(profile_decode_text(&rig, sf_buf_str(&two)));
    assert_int_equal(rig.got.n_samples, 1);
    assert_int_equal(rig.got.drops.n_parts, 1);
    assert_non_null(strstr(rig.got.drops.first, "profile 1 at byte"));
    assert_non_null(strstr(rig.got.drops.first, "stack 99, of 2"));
    sf_buf_done(&two);
}

TEST(otlp_profile, samples_without_values_or_times_are_counted)
{
    struct content c = {.type = 3, .unit = 4};
    write_request(&v1_10, &c);
    rig.hint = (struct sf_profile_hint){.otlp_version = SF_STR("1.10")};
    assert_err(profile_decode_text(&rig, sf_buf_str(&body)), SF_ERR_INPUT);
    assert_non_null(strstr(rig.why.text, "0 values and 0 timestamps"));
}

TEST(otlp_profile, says_where_bytes_are_broken)
{
    write_request(&v1_10, &summed);
    rig.hint = (struct sf_profile_hint){.format = SF_STR("otlp")};
    assert_err(profile_decode_text(&rig, (sf_str){(char *)body.p, body.len - 1}), SF_ERR_INPUT);
    assert_non_null(strstr(rig.why.text, "at byte"));
    rig.hint.format = SF_STR("otlp-json");
    assert_err(
        profile_decode_text(&rig, SF_STR("{\"resourceProfiles\":[{\"scopeProfiles\":[7]}]}")),
        SF_ERR_INPUT);
    assert_non_null(strstr(rig.why.text, "scopeProfiles[0]"));
    assert_err(profile_decode_text(&rig, SF_STR("{\"dictionary\":{\"linkTable\":[{\"traceId\":"
                                                "\"xyz\"}]}}")),
               SF_ERR_INPUT);
    assert_non_null(strstr(rig.why.text, "linkTable[0].traceId"));
}

TEST(otlp_profile, a_request_of_1_6_has_no_tables)
{
    static const uint8_t bytes[] = {0x0a, 0x08, 0x12, 0x06, 0x12, 0x04, 0x12, 0x02, 0x10, 0x01};
    rig.hint = (struct sf_profile_hint){.format = SF_STR("otlp")};
    assert_err(profile_decode_text(&rig, (sf_str){(const char *)bytes, sizeof(bytes)}),
               SF_ERR_INPUT);
    assert_non_null(strstr(rig.why.text, "1.6"));
}

TEST(otlp_profile, an_empty_request_is_fine)
{
    rig.hint = (struct sf_profile_hint){.format = SF_STR("otlp")};
    assert_ok(profile_decode_text(&rig, SF_STR("")));
    rig.hint.format = SF_STR("otlp-json");
    assert_ok(profile_decode_text(&rig, SF_STR("{}")));
    assert_int_equal(rig.got.n_samples, 0);
}

/* Attributes of samples that say whose they are, as the host profiler wrote until 2026. */
TEST(otlp_profile, samples_of_two_services)
{
    static const char text[] =
        "{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{\"sampleType\":{"
        "\"typeStrindex\":1,\"unitStrindex\":2},\"samples\":[{\"values\":[1],\"attributeIndices\":"
        "[1]},{\"values\":[2],\"attributeIndices\":[2,3]},{\"values\":[4],\"attributeIndices\":"
        "[3]}]}]}]}],\"dictionary\":{\"stringTable\":[\"\",\"wall\",\"nanoseconds\",\"service."
        "name\""
        ",\"process.executable.name\"],\"attributeTable\":[{},{\"keyStrindex\":3,\"value\":{"
        "\"stringValue\":\"a\"}},{\"keyStrindex\":3,\"value\":{\"stringValue\":\"b\"}},"
        "{\"keyStrindex\":4,\"value\":{\"stringValue\":\"nginx\"}}]}}";
    rig.hint = (struct sf_profile_hint){0};
    assert_ok(profile_decode_text(&rig, sf_str_from(text)));
    assert_int_equal(rig.got.n_series, 3);
    assert_str(rig.got.series[0].service, "a");
    assert_str(rig.got.series[1].service, "b");
    assert_str(rig.got.series[2].service, "unknown_service:nginx");
}

TEST(otlp_profile, a_payload_counts_only_without_samples)
{
    /* pprof: sample_type {1,2}, sample {value 7}, strings "", "cpu", "nanoseconds" */
    static const char payload[] = "CgQIARACEgIQBzIAMgNjcHUyC25hbm9zZWNvbmRz";
    char text[1000];
    for (int has_sample = 0; has_sample < 2; has_sample++) {
        snprintf(text, sizeof(text),
                 "{\"resourceProfiles\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\","
                 "\"value\":{\"stringValue\":\"api\"}}]},\"scopeProfiles\":[{\"profiles\":[{%s"
                 "\"originalPayloadFormat\":\"pprof\",\"originalPayload\":\"%s\"}]}]}],"
                 "\"dictionary\":{\"stringTable\":[\"\"],\"stackTable\":[{}]}}",
                 has_sample ? "\"samples\":[{\"values\":[3]}]," : "", payload);
        rig.hint = (struct sf_profile_hint){0};
        assert_ok(profile_decode_text(&rig, sf_str_from(text)));
        assert_int_equal(rig.got.n_samples, 1);
        assert_int_equal(rig.got.samples[0].value, has_sample ? 3 : 7);
        assert_str(rig.got.series[0].service, "api");
    }
}

static void fail_heap_calls(const char *text, int64_t want)
{
    enum sf_err err = SF_ERR_NOMEM;
    rig.hint = (struct sf_profile_hint){0};
    for (uint64_t n = 1; err; n++) {
        profile_rig_init(&rig);
        sf_heap_fail_after(n);
        err = sf_profile_format_decode(sf_str_from(text), &rig.hint, &rig.arena, &rig.got,
                                       &rig.why);
        sf_heap_fail_after(0);
        assert_true(err == SF_OK || err == SF_ERR_NOMEM);
        assert_true(rig.why.text[0] || !err);
        assert_true(n < 100);
    }
    assert_int_equal(rig.got.n_samples, 1);
    assert_int_equal(rig.got.samples[0].value, want);
    assert_int_equal(rig.got.drops.n_parts, 0);
}

TEST(otlp_profile, survives_each_heap_call_that_fails)
{
    fail_heap_calls(json, 50000000);
    fail_heap_calls("{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{"
                    "\"originalPayloadFormat\":\"pprof\",\"originalPayload\":"
                    "\"CgQIARACEgIQBzIAMgNjcHUyC25hbm9zZWNvbmRz\"}]}]}],\"dictionary\":{"
                    "\"stringTable\":[\"\"],\"stackTable\":[{}]}}",
                    7);
}

TEST(otlp_profile, survives_every_size_of_arena)
{
    for (size_t i = 0; i < 4; i++) {
        write_request(versions[i], &events);
        rig.hint = (struct sf_profile_hint){0};
        if (versions[i]->has_stacks)
            profile_try_small_arenas(&rig, sf_buf_str(&body), 300);
    }
    profile_try_small_arenas(&rig, sf_str_from(json), 300);
    sf_buf_done(&body);
    profile_rig_done(&rig);
}

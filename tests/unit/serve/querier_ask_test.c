#include "serve/pyroscope/querier_ask.h"

#include "serve/pyroscope/profile_uuid.h"
#include "test.h"
#include "wire/pb_write.h"

static struct sf_arena req;
static struct sf_why why;

static struct sf_querier_ask *read_json(enum sf_querier_method method, const char *text,
                                        enum sf_err want)
{
    struct sf_querier_ask *a;
    if (!req.base)
        assert_true(sf_arena_init(&req, 16 << 20));
    a = sf_arena_new(&req, sizeof(*a));
    assert_non_null(a);
    assert_err(sf_querier_ask_read(method, sf_str_from(text), true, &req, a, &why), want);
    return a;
}

TEST(querier_ask, reads_both_spellings_of_every_name)
{
    const char *camel = "{\"profileTypeID\":\"t\",\"maxNodes\":\"7\",\"stackTraceSelector\":"
                        "{\"callSite\":[{\"name\":\"a\"},{\"name\":\"b\"}]},\"format\":"
                        "\"PROFILE_FORMAT_TREE\",\"labelSelector\":null,\"unknown\":[{}]}";
    const char *snake = "{\"profile_typeID\":\"t\",\"max_nodes\":7,\"stackTraceSelector\":"
                        "{\"call_site\":[{\"name\":\"a\"},{\"name\":\"b\"}]},\"format\":2}";
    for (int i = 0; i < 2; i++) {
        struct sf_querier_ask *a = read_json(SF_QUERIER_STACKTRACES, i ? snake : camel, SF_OK);
        assert_str(a->type, "t");
        assert_int_equal(a->max_nodes, 7);
        assert_int_equal(a->format, SF_QUERIER_TREE);
        assert_int_equal(a->n_sites, 2);
        assert_str(a->sites[1], "b");
    }
}

TEST(querier_ask, reads_the_sides_of_a_comparison_from_protobuf)
{
    struct sf_buf body = {0};
    struct sf_querier_ask *a;
    size_t side, site, part;
    if (!req.base)
        assert_true(sf_arena_init(&req, 16 << 20));
    side = sf_pb_write_begin(&body, 2);
    sf_pb_write_str(&body, 1, SF_STR("t"));
    sf_pb_write_i64(&body, 3, 1000);
    site = sf_pb_write_begin(&body, 7);
    part = sf_pb_write_begin(&body, 1);
    sf_pb_write_str(&body, 1, SF_STR("main"));
    sf_pb_write_end(&body, part);
    part = sf_pb_write_begin(&body, 2);
    sf_pb_write_u64(&body, 1, 5);
    sf_pb_write_bool(&body, 2, true);
    sf_pb_write_end(&body, part);
    sf_pb_write_end(&body, site);
    sf_pb_write_end(&body, side);
    a = sf_arena_new(&req, sizeof(*a));
    assert_ok(sf_querier_ask_read(SF_QUERIER_DIFF, sf_buf_str(&body), false, &req, a, &why));
    assert_null(a->sides[0]);
    assert_non_null(a->sides[1]);
    assert_int_equal(a->sides[1]->start_ms, 1000);
    assert_str(a->sides[1]->sites[0], "main");
    assert_true(a->sides[1]->has_pgo && a->sides[1]->is_flat);
    assert_int_equal(a->sides[1]->keep_leaves, 5);
    sf_buf_done(&body);
}

TEST(querier_ask, reads_frame_filters_in_both_forms)
{
    const char *json =
        "{\"stackTraceSelector\":{\"frameFilter\":{\"includeFunctionNames\":[\"a\","
        "\"b\"],\"exclude_function_name_regexes\":[\"^c\"],\"includeFunctionNameRegexes\""
        ":null}}}";
    struct sf_buf body = {0};
    struct sf_querier_ask *a = read_json(SF_QUERIER_POINTS, json, SF_OK);
    size_t site, part;
    assert_int_equal(a->n_frames, 3);
    assert_int_equal(a->frames[1].kind, SF_STACK_HAS);
    assert_str(a->frames[1].text, "b");
    assert_int_equal(a->frames[2].kind, SF_STACK_LACKS_PATTERN);
    assert_int_equal(a->n_unknown, 0);
    site = sf_pb_write_begin(&body, 6); /* of SelectMergeProfile */
    part = sf_pb_write_begin(&body, 3);
    sf_pb_write_str(&body, 2, SF_STR("x"));
    sf_pb_write_str(&body, 3, SF_STR("y"));
    sf_pb_write_str(&body, 9, SF_STR("of another time"));
    sf_pb_write_end(&body, part);
    sf_pb_write_end(&body, site);
    a = sf_arena_new(&req, sizeof(*a));
    assert_ok(sf_querier_ask_read(SF_QUERIER_PROFILE, sf_buf_str(&body), false, &req, a, &why));
    assert_int_equal(a->n_frames, 2);
    assert_int_equal(a->frames[0].kind, SF_STACK_LACKS);
    assert_int_equal(a->frames[1].kind, SF_STACK_HAS_PATTERN);
    assert_int_equal(a->n_unknown, 1);
    sf_buf_done(&body);
}

/* A field that changes the answer elsewhere is never passed over. */
TEST(querier_ask, refuses_what_it_knows_and_does_not_do)
{
    struct sf_buf body = {0};
    struct sf_querier_ask *a;
    static const char *const words[] = {"{\"format\":\"PROFILE_FORMAT_OTHER\"}", "{\"format\":9}",
                                        "{\"format\":-1}", "{\"format\":-3}"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        read_json(SF_QUERIER_STACKTRACES, words[i], SF_ERR_UNSUPPORTED);
    read_json(SF_QUERIER_POINTS, "{\"exemplarType\":\"EXEMPLAR_TYPE_OTHER\"}", SF_ERR_UNSUPPORTED);
    read_json(SF_QUERIER_POINTS, "{\"aggregation\":7}", SF_ERR_UNSUPPORTED);
    read_json(SF_QUERIER_HEATMAP, "{\"queryType\":\"x\"}", SF_ERR_UNSUPPORTED);
    sf_pb_write_u64(&body, 6, 5);
    a = sf_arena_new(&req, sizeof(*a));
    assert_err(sf_querier_ask_read(SF_QUERIER_STACKTRACES, sf_buf_str(&body), false, &req, a, &why),
               SF_ERR_UNSUPPORTED);
    sf_buf_done(&body);
    /* A field of another method is none of this one. */
    a = read_json(SF_QUERIER_POINTS, "{\"spanSelector\":[\"0011223344556677\"],\"x\":1}", SF_OK);
    assert_int_equal(a->n_spans, 0);
    assert_int_equal(a->n_unknown, 2);
}

TEST(querier_ask, reads_whose_callers_and_callees_are_wanted)
{
    static const char *const forms[] = {
        "{\"format\":\"PROFILE_FORMAT_SANDWICH\",\"sandwichFunction\":\"f\"}",
        "{\"sandwich_function\":\"f\",\"format\":\"PROFILE_FORMAT_SANDWICH\"}"};
    for (size_t i = 0; i < 2; i++) {
        struct sf_querier_ask *a = read_json(SF_QUERIER_STACKTRACES, forms[i], SF_OK);
        assert_int_equal(a->format, SF_QUERIER_SANDWICH);
        assert_true(sf_str_eq(a->function, SF_STR("f")));
        assert_int_equal(a->n_unknown, 0);
    }
}

TEST(querier_ask, refuses_ids_that_are_none)
{
    read_json(SF_QUERIER_STACKTRACES, "{\"spanSelector\":[\"12\"]}", SF_ERR_INPUT);
    read_json(SF_QUERIER_STACKTRACES, "{\"traceIdSelector\":[\"1234567812345678\"]}", SF_ERR_INPUT);
    read_json(SF_QUERIER_STACKTRACES, "{\"profileIdSelector\":[\"x\"]}", SF_ERR_INPUT);
    read_json(SF_QUERIER_STACKTRACES, "[]", SF_ERR_INPUT);
    read_json(SF_QUERIER_DIFF, "{\"left\":7}", SF_ERR_INPUT);
}

TEST(querier_ask, writes_and_reads_profile_ids)
{
    sf_profile_id id = {{0}}, again;
    char text[37];
    for (uint8_t i = 0; i < 16; i++)
        id.b[i] = (uint8_t)(i * 17);
    sf_profile_uuid_render(id, text);
    assert_string_equal(text, "00112233-4455-6677-8899-aabbccddeeff");
    assert_true(sf_profile_uuid_parse(sf_str_from(text), &again));
    assert_memory_equal(&id, &again, sizeof(id));
    assert_true(sf_profile_uuid_parse(SF_STR("00112233445566778899AABBCCDDEEFF"), &again));
    assert_memory_equal(&id, &again, sizeof(id));
    assert_false(sf_profile_uuid_parse(SF_STR("00112233-4455-6677-8899-aabbccddeef"), &again));
    assert_false(sf_profile_uuid_parse(SF_STR("00112233-4455-6677-8899-aabbccddeeff0"), &again));
}

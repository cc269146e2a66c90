#include "support/profile_rig.h"

#include "wire/pb_write.h"

static struct profile_rig rig;
static struct sf_buf b;

static const char *const strings[] = {"",
                                      "samples",
                                      "count",
                                      "cpu",
                                      "nanoseconds",
                                      "main",
                                      "work",
                                      "main.go",
                                      "span_id",
                                      "trace_id",
                                      "endpoint",
                                      "/pay",
                                      "thread id",
                                      "bytes",
                                      "span id",
                                      "00000000000000ff",
                                      "0123456789abcdef0123456789abcdef",
                                      "profile_id",
                                      "kernel",
                                      "[kernel.kallsyms]",
                                      "service_name",
                                      "sample",
                                      "wall"};
enum {
    SAMPLES = 1,
    COUNT,
    CPU,
    NS,
    MAIN,
    WORK,
    MAIN_GO,
    SPAN_ID,
    TRACE_ID,
    ENDPOINT,
    PAY,
    THREAD_ID,
    BYTES,
    DD_SPAN_ID,
    ID16,
    ID32,
    PROFILE_ID,
    KERNEL,
    KALLSYMS,
    SERVICE,
    SAMPLE,
    WALL,
    N_STRINGS
};

static void add_strings(void)
{
    for (size_t i = 0; i < N_STRINGS; i++)
        sf_pb_write_str(&b, 6, sf_str_from(strings[i]));
}

static void add_type(uint32_t field, int type, int unit)
{
    size_t m = sf_pb_write_begin(&b, field);
    sf_pb_write_i64(&b, 1, type);
    sf_pb_write_i64(&b, 2, unit);
    sf_pb_write_end(&b, m);
}

static void add_function(uint64_t id, int name)
{
    size_t m = sf_pb_write_begin(&b, 5);
    sf_pb_write_u64(&b, 1, id);
    sf_pb_write_i64(&b, 2, name);
    sf_pb_write_i64(&b, 4, MAIN_GO);
    sf_pb_write_end(&b, m);
}

static void add_location(uint64_t id, uint64_t function, int64_t line)
{
    size_t m = sf_pb_write_begin(&b, 4), l;
    sf_pb_write_u64(&b, 1, id);
    l = sf_pb_write_begin(&b, 4);
    sf_pb_write_u64(&b, 1, function);
    sf_pb_write_i64(&b, 2, line);
    sf_pb_write_end(&b, l);
    sf_pb_write_end(&b, m);
}

/* An open sample with one value. */
static size_t begin_sample(int64_t value)
{
    size_t m = sf_pb_write_begin(&b, 2);
    sf_pb_write_i64(&b, 2, value);
    return m;
}

static void add_label(int key, int str, int64_t num)
{
    size_t m = sf_pb_write_begin(&b, 3);
    sf_pb_write_i64(&b, 1, key);
    if (str)
        sf_pb_write_i64(&b, 2, str);
    else
        sf_pb_write_i64(&b, 3, num);
    sf_pb_write_end(&b, m);
}

/* work called by main, 5 counts, strings last as Go writes them. */
static void simple(void)
{
    size_t m;
    sf_buf_reset(&b);
    rig.hint = (struct sf_profile_hint){0};
    add_type(1, SAMPLES, COUNT);
    add_location(1, 1, 10);
    add_location(2, 2, 20);
    m = begin_sample(5);
    sf_pb_write_u64(&b, 1, 2);
    sf_pb_write_u64(&b, 1, 1);
    sf_pb_write_end(&b, m);
    add_function(1, MAIN);
    add_function(2, WORK);
}

static enum sf_err decode(void)
{
    assert_true(sf_buf_ok(&b));
    return profile_decode_text(&rig, sf_buf_str(&b));
}

TEST(pprof, reads_lists_packed_unpacked_and_mixed)
{
    size_t m, run;
    simple();
    m = sf_pb_write_begin(&b, 2);
    run = sf_pb_write_begin(&b, 1);
    sf_pb_write_raw_varint(&b, 2);
    sf_pb_write_end(&b, run);
    sf_pb_write_u64(&b, 1, 1);
    run = sf_pb_write_begin(&b, 2);
    sf_pb_write_raw_varint(&b, 7);
    sf_pb_write_end(&b, run);
    sf_pb_write_end(&b, m);
    add_strings();
    assert_ok(decode());
    assert_int_equal(rig.got.n_stacks, 1);
    assert_int_equal(profile_value(&rig, "samples:count", "main;work"), 12);
    assert_int_equal(rig.got.functions[0].start_line, 0);
    assert_int_equal(rig.got.locations[rig.got.stacks[0].locations[0]].lines[0].line, 20);
    assert_int_equal(rig.got.locations[0].kind, SF_FRAME_GO);
}

static void add_thread_sample(int64_t value, int64_t thread, bool has_trace)
{
    size_t m = begin_sample(value);
    sf_pb_write_u64(&b, 1, 1);
    add_label(THREAD_ID, 0, thread);
    if (has_trace)
        add_label(TRACE_ID, ID32, 0);
    sf_pb_write_end(&b, m);
}

static void lend_ids(void)
{
    rig.hint.span_id = 0xabc;
    assert_true(sf_trace_id_parse(sf_str_from(strings[ID32]), &rig.hint.trace_id));
    sf_buf_reset(&b);
    add_type(1, SAMPLES, COUNT);
    add_location(1, 1, 10);
    add_function(1, MAIN);
}

TEST(pprof, a_whole_process_uploaded_for_a_request_is_certain_of_tied_threads_only)
{
    rig.hint = (struct sf_profile_hint){0};
    lend_ids();
    add_thread_sample(1, 7, false);
    add_thread_sample(2, 8, true); /* its own id ties its thread */
    add_thread_sample(3, 8, false);
    add_strings();
    assert_ok(decode());
    assert_int_equal(rig.got.n_samples, 3);
    assert_true(rig.got.series[0].is_request);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(rig.got.samples[i].span_id, 0xabc);
        assert_int_equal(rig.got.samples[i].trace_id.b[1], 0x23);
    }
    assert_true(rig.got.samples[0].is_lent);
    assert_false(rig.got.samples[1].is_lent);
    assert_false(rig.got.samples[2].is_lent);
}

TEST(pprof, one_thread_uploaded_for_a_request_is_taken_at_its_word)
{
    rig.hint = (struct sf_profile_hint){0};
    lend_ids();
    add_thread_sample(1, 7, false);
    add_thread_sample(2, 7, false);
    add_strings();
    assert_ok(decode());
    assert_false(rig.got.samples[0].is_lent);
    assert_false(rig.got.samples[1].is_lent);
    assert_int_equal(rig.got.samples[1].span_id, 0xabc);
}

TEST(pprof, a_sample_of_another_trace_is_not_given_the_span_of_the_upload)
{
    rig.hint = (struct sf_profile_hint){0};
    lend_ids();
    rig.hint.trace_id.b[0] ^= 0xff;
    add_thread_sample(1, 7, true);
    add_strings();
    assert_ok(decode());
    assert_int_equal(rig.got.samples[0].span_id, 0);
    assert_int_equal(rig.got.samples[0].trace_id.b[1], 0x23);
    assert_false(rig.got.samples[0].is_lent);
}

TEST(pprof, ids_in_labels_are_of_the_sample_and_never_of_the_series)
{
    size_t m;
    simple();
    m = begin_sample(1);
    sf_pb_write_u64(&b, 1, 1);
    add_label(SPAN_ID, ID16, 0);
    add_label(TRACE_ID, ID32, 0);
    add_label(ENDPOINT, PAY, 0);
    add_label(BYTES, 0, 64);
    add_label(THREAD_ID, 0, 77);
    sf_pb_write_end(&b, m);
    m = begin_sample(2);
    add_label(PROFILE_ID, ID16, 0);
    sf_pb_write_end(&b, m);
    m = begin_sample(3);
    add_label(DD_SPAN_ID, 0, -2);
    sf_pb_write_end(&b, m);
    m = begin_sample(4);
    add_label(SPAN_ID, PAY, 0);
    sf_pb_write_end(&b, m);
    add_strings();
    assert_ok(decode());
    assert_int_equal(rig.got.n_series, 2); /* with and without endpoint */
    assert_int_equal(rig.got.samples[1].span_id, 0xff);
    assert_int_equal(rig.got.samples[1].trace_id.b[1], 0x23);
    assert_int_equal(rig.got.samples[1].thread, 77);
    assert_int_equal(rig.got.samples[2].span_id, 0xff);
    assert_true(rig.got.samples[3].span_id == UINT64_MAX - 1);
    assert_int_equal(rig.got.samples[4].span_id, 0);
    assert_int_equal(rig.got.series[1].n_labels, 2);
    assert_str(rig.got.series[1].labels[0].key, "endpoint");
}

/* What samples before had is remembered: a key is another one than that 16 strings before it. */
TEST(pprof, samples_of_the_same_labels_share_a_series_in_any_order)
{
    simple();
    for (int i = 0; i < 6; i++) {
        size_t m = begin_sample(1 + i);
        sf_pb_write_u64(&b, 1, 1);
        if (i % 3 == 0)
            add_label(PROFILE_ID, ID16, 0);
        else if (i % 3 == 1)
            add_label(PROFILE_ID - 16, PAY, 0);
        sf_pb_write_end(&b, m);
    }
    add_strings();
    assert_ok(decode());
    assert_int_equal(rig.got.n_series, 2);
    assert_int_equal(rig.got.n_samples, 7);
    for (uint32_t i = 0; i < 6; i++) {
        const struct sf_sample *s = &rig.got.samples[i + 1];
        assert_int_equal(s->value, 1 + i);
        assert_int_equal(s->series, i % 3 == 1);
        assert_int_equal(s->span_id, i % 3 == 0 ? 0xff : 0);
    }
    assert_str(rig.got.series[1].labels[0].key, "samples");
}

TEST(pprof, ids_of_the_upload_are_of_every_sample_and_its_labels_win)
{
    struct sf_label labels[] = {{SF_STR("span_id"), SF_STR("00000000000000aa")},
                                {SF_STR("endpoint"), SF_STR("upload")},
                                {SF_STR("__name__"), SF_STR("godeltaprof_memory")},
                                {SF_STR("__session_id__"), SF_STR("abc")},
                                {SF_STR("service_name"), SF_STR("shop")},
                                {SF_STR("__delta__"), SF_STR("false")}};
    size_t m;
    simple();
    m = begin_sample(1);
    add_label(ENDPOINT, PAY, 0);
    add_label(SERVICE, PAY, 0);
    add_label(SPAN_ID, ID16, 0);
    sf_pb_write_end(&b, m);
    add_strings();
    rig.hint.labels = labels;
    rig.hint.n_labels = 6;
    rig.hint.service = SF_STR("other");
    assert_ok(decode());
    assert_int_equal(rig.got.n_series, 1);
    assert_int_equal(rig.got.series[0].n_labels, 2);
    assert_str(rig.got.series[0].labels[0].val, "upload");
    assert_str(rig.got.series[0].service, "shop");
    assert_str(rig.got.series[0].type.name, "memory");
    assert_str(rig.got.processes[rig.got.series[0].process].key, "session=abc");
    assert_int_equal(rig.got.samples[0].span_id, 0xaa);
    assert_int_equal(rig.got.samples[1].span_id, 0xff);
}

TEST(pprof, counts_with_a_period_of_time_are_cpu_time_too)
{
    simple();
    add_type(11, CPU, NS);
    sf_pb_write_i64(&b, 12, 10000000);
    add_strings();
    assert_ok(decode());
    assert_sum(&rig, "process_cpu:samples:count", 5);
    assert_sum(&rig, "process_cpu:cpu:nanoseconds", 50000000);
    assert_int_equal(rig.got.samples[1].count, 5);
}

TEST(pprof, microseconds_of_old_clients_are_known_by_their_year)
{
    simple();
    sf_pb_write_i64(&b, 9, 1700000000000000);
    sf_pb_write_i64(&b, 10, 10000000);
    add_strings();
    assert_ok(decode());
    assert_int_equal(rig.got.series[0].time_ns, 1700000000000000000);
    assert_int_equal(rig.got.series[0].duration_ns, 10000000000);
}

TEST(pprof, without_a_time_of_its_own_the_uploads_counts)
{
    simple();
    add_strings();
    rig.hint.from_ns = 1000;
    rig.hint.until_ns = 5000;
    assert_ok(decode());
    assert_int_equal(rig.got.series[0].time_ns, 1000);
    assert_int_equal(rig.got.series[0].duration_ns, 4000);
}

/* Node stamps the end of its wall profiles: from and until say which it is. */
TEST(pprof, a_time_that_is_the_end_is_moved_to_the_start)
{
    static const int64_t S = 1000000000, AT = INT64_C(1700000100) * 1000000000;
    static const struct {
        int64_t from_s, until_s, start_s;
    } cases[] = {{100, 110, 100}, {90, 100, 90}, {89, 101, 90}, {0, 0, 100}, {99, 111, 100}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        simple();
        sf_pb_write_i64(&b, 9, AT);
        sf_pb_write_i64(&b, 10, 10 * S);
        add_strings();
        if (cases[i].from_s) {
            rig.hint.from_ns = (INT64_C(1700000000) + cases[i].from_s) * S;
            rig.hint.until_ns = (INT64_C(1700000000) + cases[i].until_s) * S;
        }
        assert_ok(decode());
        assert_int_equal(rig.got.series[0].time_ns, (INT64_C(1700000000) + cases[i].start_s) * S);
        assert_int_equal(rig.got.series[0].duration_ns, 10 * S);
    }
}

/* Node's libraries are known by their types where the upload does not say when it was. */
TEST(pprof, a_profile_of_nodes_libraries_begins_before_its_time)
{
    static const int64_t S = 1000000000, AT = INT64_C(1700000100) * 1000000000;
    static const struct {
        int count, unit, period_type;
        int64_t start_s;
    } cases[] = {{SAMPLE, NS, WALL, 90}, {SAMPLES, NS, WALL, 100}, {SAMPLE, NS, CPU, 100}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sf_buf_reset(&b);
        rig.hint = (struct sf_profile_hint){0};
        add_type(1, cases[i].count, COUNT);
        add_type(1, WALL, cases[i].unit);
        add_location(1, 1, 10);
        size_t m = begin_sample(5);
        sf_pb_write_i64(&b, 2, 50000000);
        sf_pb_write_u64(&b, 1, 1);
        sf_pb_write_end(&b, m);
        add_function(1, MAIN);
        sf_pb_write_i64(&b, 9, AT);
        sf_pb_write_i64(&b, 10, 10 * S);
        add_type(11, cases[i].period_type, NS);
        sf_pb_write_i64(&b, 12, 10000000);
        add_strings();
        assert_ok(decode());
        assert_int_equal(rig.got.series[0].time_ns, (INT64_C(1700000000) + cases[i].start_s) * S);
    }
}

TEST(pprof, labels_of_the_upload_name_the_instance)
{
    static const struct {
        const char *key, *val, *want;
    } cases[] = {{"service_instance_id", "a", "instance=a"},
                 {"instance", "h:80", "instance=h:80"},
                 {"pod", "shop-1", "pod=shop-1"},
                 {"k8s_pod_name", "p", "pod=p"},
                 {"service.instance.id", "b", "instance=b"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sf_label label = {sf_str_from(cases[i].key), sf_str_from(cases[i].val)};
        simple();
        add_strings();
        rig.hint = (struct sf_profile_hint){
            .labels = &label, .n_labels = 1, .peer = SF_STR("127.0.0.1")};
        assert_ok(decode());
        assert_true(sf_str_eq(rig.got.processes[rig.got.series[0].process].key,
                              sf_str_from(cases[i].want)));
        assert_false(rig.got.processes[rig.got.series[0].process].is_guess);
    }
}

TEST(pprof, functions_without_ids_belong_to_locations_by_position)
{
    size_t m;
    sf_buf_reset(&b);
    rig.hint = (struct sf_profile_hint){0};
    add_type(1, SAMPLES, COUNT);
    add_location(1, 0, 10);
    add_location(2, 0, 20);
    add_function(0, MAIN);
    add_function(0, WORK);
    m = begin_sample(5);
    sf_pb_write_u64(&b, 1, 2);
    sf_pb_write_u64(&b, 1, 1);
    sf_pb_write_end(&b, m);
    add_strings();
    assert_ok(decode());
    assert_int_equal(profile_value(&rig, "samples:count", "main;work"), 5);
}

TEST(pprof, addresses_become_offsets_in_the_file)
{
    size_t m;
    sf_buf_reset(&b);
    rig.hint = (struct sf_profile_hint){0};
    add_type(1, SAMPLES, COUNT);
    m = sf_pb_write_begin(&b, 3);
    sf_pb_write_u64(&b, 1, 9);
    sf_pb_write_u64(&b, 2, 0x400000);
    sf_pb_write_u64(&b, 3, 0x500000);
    sf_pb_write_u64(&b, 4, 0x1000);
    sf_pb_write_i64(&b, 5, KALLSYMS);
    sf_pb_write_end(&b, m);
    m = sf_pb_write_begin(&b, 4);
    sf_pb_write_u64(&b, 1, 0xffffffffffffffff);
    sf_pb_write_u64(&b, 2, 9);
    sf_pb_write_u64(&b, 3, 0x400123);
    sf_pb_write_end(&b, m);
    m = begin_sample(1);
    sf_pb_write_u64(&b, 1, 0xffffffffffffffff);
    sf_pb_write_end(&b, m);
    add_strings();
    assert_ok(decode());
    assert_int_equal(rig.got.locations[0].addr, 0x1123);
    assert_int_equal(rig.got.locations[0].kind, SF_FRAME_KERNEL);
    assert_str(rig.got.mappings[rig.got.locations[0].mapping].file, "[kernel.kallsyms]");
}

TEST(pprof, cuts_a_stack_of_a_million_frames_in_the_middle)
{
    size_t m, run;
    const struct sf_stack *s;
    simple();
    m = begin_sample(1);
    run = sf_pb_write_begin(&b, 1);
    for (int i = 0; i < 1000000; i++)
        sf_pb_write_raw_varint(&b, i < 999990 ? 2 : 1);
    sf_pb_write_end(&b, run);
    sf_pb_write_end(&b, m);
    add_strings();
    rig.hint.max_frames = 64;
    assert_ok(decode());
    assert_int_equal(rig.got.drops.n_cut_stacks, 1);
    s = &rig.got.stacks[rig.got.samples[1].stack];
    assert_int_equal(s->n, 64);
    assert_int_equal(rig.got.locations[s->locations[47]].kind, SF_FRAME_MARKER);
    assert_str(rig.got.functions[rig.got.locations[s->locations[47]].lines[0].function].name,
               "(truncated)");
    assert_int_equal(s->locations[63], rig.got.stacks[0].locations[1]); /* main, the root */
    assert_int_equal(s->locations[53], rig.got.stacks[0].locations[0]);
}

TEST(pprof, is_recognised_by_content)
{
    simple();
    add_strings();
    assert_string_equal(sf_profile_format_find(sf_buf_str(&b)), "pprof");
    assert_null(sf_profile_format_find(SF_STR("\n\n")));
    assert_null(sf_profile_format_find(SF_STR_NONE));
}

TEST(pprof, an_empty_profile_is_fine)
{
    sf_buf_reset(&b);
    rig.hint = (struct sf_profile_hint){.format = SF_STR("pprof")};
    assert_ok(decode());
    assert_int_equal(rig.got.n_samples, 0);
    add_type(1, SAMPLES, COUNT);
    add_strings();
    assert_ok(decode());
}

TEST(pprof, says_what_is_missing)
{
    size_t m;
    sf_buf_reset(&b);
    rig.hint = (struct sf_profile_hint){.format = SF_STR("pprof")};
    m = begin_sample(1);
    sf_pb_write_end(&b, m);
    assert_err(decode(), SF_ERR_INPUT);
    assert_string_equal(rig.why.text, "pprof: no string table");
    add_strings();
    assert_err(decode(), SF_ERR_INPUT);
    assert_string_equal(rig.why.text, "pprof: no sample types");
    add_type(1, SAMPLES, COUNT);
    add_type(1, CPU, NS);
    assert_err(decode(), SF_ERR_INPUT); /* its only sample has one value */
    assert_non_null(strstr(rig.why.text, "sample 0 at byte 1"));
}

TEST(pprof, survives_every_size_of_arena)
{
    simple();
    add_strings();
    profile_try_small_arenas(&rig, sf_buf_str(&b), 200);
    rig.hint.prev = sf_buf_str(&b);
    profile_try_small_arenas(&rig, sf_buf_str(&b), 200);
    rig.hint.prev = SF_STR_NONE;
}

TEST(pprof, every_truncation_is_an_error_or_a_shorter_profile)
{
    simple();
    add_strings();
    rig.hint.format = SF_STR("pprof");
    for (size_t n = 0; n < b.len; n++)
        (void)profile_decode_text(&rig, (sf_str){(const char *)b.p, n});
    sf_buf_done(&b);
    profile_rig_done(&rig);
}

TEST(pprof, has_as_many_samples_as_it_may_have)
{
    for (uint32_t more = 0; more < 2; more++) {
        simple(); /* has one */
        for (uint32_t i = 1; i < SF_LIMIT_SAMPLES + more; i++)
            sf_buf_add(&b, "\x12\0", 2); /* an empty one */
        add_strings();
        enum sf_err err = decode();
        assert_int_equal(err, more ? SF_ERR_LIMIT : SF_OK);
        if (!more)
            assert_int_equal(profile_value(&rig, "samples:count", "main;work"), 5);
    }
    sf_buf_done(&b);
    profile_rig_done(&rig);
}

TEST(pprof, keeps_as_many_labels_of_a_sample_as_it_may_have)
{
    for (int more = 0; more < 2; more++) {
        size_t m;
        simple();
        m = begin_sample(7);
        sf_pb_write_u64(&b, 1, 2);
        for (int i = 0; i < SF_LIMIT_SAMPLE_LABELS + more; i++)
            add_label(N_STRINGS + i, PAY, 0);
        sf_pb_write_end(&b, m);
        add_strings();
        for (int i = 0; i < SF_LIMIT_SAMPLE_LABELS + more; i++) {
            char key[16];
            snprintf(key, sizeof(key), "key%d", i);
            sf_pb_write_str(&b, 6, sf_str_from(key));
        }
        assert_ok(decode());
        assert_int_equal(rig.got.drops.n_labels, more);
    }
    sf_buf_done(&b);
    profile_rig_done(&rig);
}

#include "support/profile_rig.h"

static struct profile_rig rig;

static void decode(const char *text)
{
    assert_string_equal(sf_profile_format_find(sf_str_from(text)), "trace-event");
    if (profile_decode_text(&rig, sf_str_from(text)))
        fail_msg("%s", rig.why.text);
}

#define E(ph, name, ts) \
    "{\"pid\":0,\"tid\":0,\"ph\":\"" ph "\",\"name\":\"" name "\",\"ts\":" #ts "}"
#define X(name, ts, dur) \
    "{\"pid\":0,\"tid\":0,\"ph\":\"X\",\"name\":\"" name "\",\"ts\":" #ts ",\"dur\":" #dur "}"

TEST(trace_event, slices_are_stacks_of_wall_time_whatever_their_order)
{
    rig.hint = (struct sf_profile_hint){0};
    decode("[" E("B", "B", 1) "," E("E", "B", 9) "," E("B", "A", 0) "," E("E", "A", 10) "," E(
        "B", "C", 2) "," E("E", "C", 8) "]");
    assert_int_equal(profile_value(&rig, "wall:nanoseconds", "A"), 2000);
    assert_int_equal(profile_value(&rig, "wall:nanoseconds", "A;B"), 2000);
    assert_int_equal(profile_value(&rig, "wall:nanoseconds", "A;B;C"), 6000);
    /* complete ones; the longer is outside, of equal ones the first */
    decode("[" X("b", 1, 1) "," X("c", 1, 1) "," X("a", 0, 10) "," X("b", 5, 9) "]");
    assert_int_equal(profile_value(&rig, "wall:nanoseconds", "a;b;c"), 1000);
    assert_int_equal(profile_value(&rig, "wall:nanoseconds", "a;b"), 5000); /* cut at 10 */
    assert_sum(&rig, "wall:nanoseconds", 10000);
}

TEST(trace_event, ends_without_begins_and_begins_without_ends)
{
    rig.hint = (struct sf_profile_hint){0};
    decode("[" E("B", "a", 0) "," E("E", "nobody", 3) "," E("B", "b", 4) "," X("x", 9, 1));
    assert_int_equal(profile_value(&rig, "wall:nanoseconds", "a"), 4000);
    assert_int_equal(profile_value(&rig, "wall:nanoseconds", "a;b"), 5000);
    assert_int_equal(profile_value(&rig, "wall:nanoseconds", "a;b;x"), 1000);
    assert_int_equal(rig.got.drops.n_parts, 0); /* a list left open is fine */
    /* an end of the outer one closes the inner one too */
    decode("[" E("B", "a", 0) "," E("B", "b", 1) "," E("E", "a", 9) "," E("E", "b", 10) "]");
    assert_sum(&rig, "wall:nanoseconds", 9000);
    /* begun and ended at one moment, in whatever order they are written */
    decode("[" E("B", "a", 0) "," E("E", "c", 2) "," E("B", "c", 2) "," E("E", "a", 10) "]");
    assert_int_equal(profile_value(&rig, "wall:nanoseconds", "a"), 10000);
    decode("[" E("B", "a", 0) "," E("E", "a", 10) ",{\"ph\":\"B\",\"na");
    assert_sum(&rig, "wall:nanoseconds", 10000);
    assert_int_equal(rig.got.drops.n_parts, 1);
}

TEST(trace_event, threads_processes_and_moments_are_kept)
{
    rig.hint = (struct sf_profile_hint){.from_ns = 1000000000000000000};
    decode(
        "[{\"pid\":1,\"tid\":2,\"ph\":\"X\",\"name\":\"a\",\"ts\":100,\"dur\":5},"
        "{\"pid\":3,\"tid\":4,\"ph\":\"X\",\"name\":\"b\",\"ts\":107.5,\"dur\":1},"
        "{\"pid\":1,\"tid\":2,\"ph\":\"M\",\"name\":\"thread_name\",\"args\":{\"name\":\"T\"}},"
        "{\"pid\":1,\"tid\":9,\"ph\":\"M\",\"name\":\"process_name\",\"args\":{\"name\":\"P\"}}]");
    assert_int_equal(rig.got.n_samples, 2);
    assert_int_equal(rig.got.samples[0].thread, 2);
    assert_str(rig.got.samples[0].thread_name, "T");
    assert_int_equal(rig.got.samples[0].start_ns, 1000000000000000000);
    assert_int_equal(rig.got.samples[0].length_ns, 5000);
    assert_int_equal(rig.got.samples[1].start_ns, 1000000000000007500);
    assert_int_equal(rig.got.n_series, 2);
    assert_str(rig.got.series[0].labels[0].key, "process");
    assert_str(rig.got.series[0].labels[0].val, "P");
    assert_str(rig.got.series[1].labels[0].val, "3");
}

TEST(trace_event, hermes_and_py_spy_say_where_functions_are)
{
    rig.hint = (struct sf_profile_hint){0};
    decode("[{\"pid\":0,\"tid\":0,\"ph\":\"B\",\"name\":\"f\",\"ts\":0,\"args\":{\"url\":\"a.js\","
           "\"line\":\"12\",\"name\":\"f\"}},{\"pid\":0,\"tid\":0,\"ph\":\"E\",\"name\":\"f\","
           "\"ts\":3}]");
    assert_sum(&rig, "wall:nanoseconds", 3000);
    for (uint32_t i = 0; i < rig.got.n_locations; i++) {
        assert_int_equal(rig.got.locations[i].lines[0].line, 12);
        assert_str(rig.got.functions[rig.got.locations[i].lines[0].function].file, "a.js");
    }
}

TEST(trace_event, profiles_in_chunks_are_put_together)
{
    rig.hint = (struct sf_profile_hint){.from_ns = 1000000000000000000};
    decode("[{\"pid\":7,\"tid\":9,\"ph\":\"P\",\"name\":\"ProfileChunk\",\"id\":\"0x2\",\"ts\":30,"
           "\"args\":{\"data\":{\"cpuProfile\":{\"nodes\":[{\"callFrame\":{\"functionName\":\"b\"},"
           "\"id\":3,\"parent\":2}],\"samples\":[3,2]},\"timeDeltas\":[5,5],\"endTime\":60}}},"
           "{\"pid\":7,\"tid\":8,\"ph\":\"P\",\"name\":\"Profile\",\"id\":\"0x2\",\"ts\":10,"
           "\"args\":{\"data\":{\"startTime\":10}}},"
           "{\"pid\":7,\"tid\":9,\"ph\":\"P\",\"name\":\"ProfileChunk\",\"id\":\"0x2\",\"ts\":20,"
           "\"args\":{\"data\":{\"cpuProfile\":{\"nodes\":[{\"callFrame\":{\"functionName\":"
           "\"(root)\"},\"id\":1},{\"callFrame\":{\"functionName\":\"a\"},\"id\":2,\"parent\":1}],"
           "\"samples\":[2,2]},\"timeDeltas\":[10,10]}}},"
           "{\"pid\":7,\"tid\":9,\"ph\":\"P\",\"name\":\"ProfileChunk\",\"id\":\"0x2\",\"ts\":40,"
           "\"args\":{}},{\"pid\":7,\"tid\":8,\"ph\":\"M\",\"name\":\"thread_name\",\"args\":{"
           "\"name\":\"Main\"}}," X("a task of the browser", 1, 1000) "]");
    /* at 20, 30 and 40 a, at 35 b, until 60 */
    assert_int_equal(profile_value(&rig, "cpu:nanoseconds", "a"), 35000);
    assert_int_equal(profile_value(&rig, "cpu:nanoseconds", "a;b"), 5000);
    assert_int_equal(rig.got.samples[0].thread, 8);
    assert_str(rig.got.samples[0].thread_name, "Main");
    /* the upload began with the first event, at 1 us */
    assert_int_equal(rig.got.samples[0].start_ns, 1000000000000000000 + 19000);
    assert_sum(&rig, "wall:nanoseconds", 40000);
}

TEST(trace_event, sampled_stacks_have_weights_and_times)
{
    static const char text[] =
        "{\"traceEvents\":[],\"samples\":[{\"ts\":\"100\",\"tid\":\"7\",\"weight\":\"1\",\"sf\":1},"
        "{\"ts\":\"140\",\"tid\":\"7\",\"weight\":\"2\",\"sf\":\"2\"},{\"ts\":1,\"sf\":3},"
        "{\"ts\":150,\"tid\":7,\"sf\":9}],\"stackFrames\":{\"1\":{\"name\":\"r\"},\"2\":{\"name\":"
        "\"f\",\"parent\":1},\"3\":{\"name\":\"x\",\"parent\":4},\"4\":{\"name\":\"y\",\"parent\":"
        "3}}}";
    rig.hint = (struct sf_profile_hint){0};
    decode(text);
    assert_int_equal(profile_value(&rig, "samples:count", "r"), 1);
    assert_int_equal(profile_value(&rig, "samples:count", "r;f"), 2);
    assert_int_equal(profile_value(&rig, "wall:nanoseconds", "r"), 40000);
    assert_int_equal(profile_value(&rig, "wall:nanoseconds", "r;f"), 10000);
    assert_int_equal(rig.got.drops.n_samples, 2); /* a circle, and a frame that is not there */
    profile_try_small_arenas(&rig, sf_str_from(text), 40);
    profile_try_small_arenas(&rig, SF_STR("[" E("B", "a", 0) "," X("b", 1, 1) "]"), 40);
    profile_rig_done(&rig);
}

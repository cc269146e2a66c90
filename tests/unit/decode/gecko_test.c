#include "support/profile_rig.h"

static struct profile_rig rig;

static void decode(const char *text)
{
    rig.hint = (struct sf_profile_hint){0};
    assert_string_equal(sf_profile_format_find(sf_str_from(text)), "gecko");
    if (profile_decode_text(&rig, sf_str_from(text)))
        fail_msg("%s", rig.why.text);
}

static const char raw[] =
    "{\"meta\":{\"version\":24,\"interval\":2,\"startTime\":1700000000000},"
    "\"libs\":\"[{\\\"name\\\":\\\"libxul.so\\\",\\\"start\\\":4096,\\\"end\\\":8192}]\","
    "\"processes\":[{\"meta\":{\"startTime\":1700000000010,\"interval\":1},\"libs\":[],\"threads\":"
    "[{\"name\":\"Child\",\"tid\":9,\"pid\":8,\"samples\":{\"schema\":{\"time\":0,\"stack\":1},"
    "\"data\":[[1.5,0],[2.5,null]]},\"stackTable\":{\"schema\":{\"prefix\":0,\"frame\":1},\"data\":"
    "[[null,0]]},\"frameTable\":{\"data\":[[0,3]],\"schema\":{\"location\":0,\"line\":1}},"
    "\"stringTable\":[\"go (https://x/a.js:12:3)\"]}]}],"
    "\"threads\":[{\"name\":\"GeckoMain\",\"tid\":7,\"pid\":6,\"samples\":{\"schema\":{\"stack\":0,"
    "\"time\":1},\"data\":[[1,0],[2,1,0],[2]]},\"stackTable\":{\"schema\":{\"prefix\":0,\"frame\":"
    "1},\"data\":[[null,0],[0,1],[1,2]]},\"frameTable\":{\"schema\":{\"location\":0},\"data\":[[0],"
    "[1],[2]]},\"stringTable\":[\"(root)\",\"0x1010\",\"run\"]},"
    "\"{\\\"meta\\\":{\\\"interval\\\":1},\\\"threads\\\":[{\\\"name\\\":\\\"T\\\",\\\"samples\\\":"
    "{\\\"schema\\\":{\\\"stack\\\":0,\\\"time\\\":1},\\\"data\\\":[[0,1]]},\\\"stackTable\\\":{"
    "\\\"schema\\\":{\\\"prefix\\\":0,\\\"frame\\\":1},\\\"data\\\":[[null,0]]},\\\"frameTable\\\":"
    "{\\\"schema\\\":{\\\"location\\\":0},\\\"data\\\":[[0]]},\\\"stringTable\\\":[\\\"old\\\"]}]}"
    "\"]}";

TEST(gecko, raw_threads_of_all_processes_are_read)
{
    uint32_t n_timed = 0;
    decode(raw);
    assert_int_equal(profile_value(&rig, "samples:count", "0x10"), 1); /* in libxul.so */
    assert_int_equal(profile_value(&rig, "samples:count", "0x10;run"), 2);
    assert_int_equal(profile_value(&rig, "samples:count", "go"), 1);
    assert_int_equal(profile_value(&rig, "samples:count", "old"), 1);
    assert_int_equal(profile_value(&rig, "wall:nanoseconds", "0x10;run"), 4000000);
    for (uint32_t i = 0; i < rig.got.n_samples; i++) {
        const struct sf_sample *s = &rig.got.samples[i];
        n_timed += s->has_time;
        if (s->thread == 9) {
            assert_str(s->thread_name, "Child");
            assert_int_equal(s->start_ns, 1700000000011500000);
        }
    }
    assert_int_equal(n_timed, 6); /* not that of the last row, nor of the profile without a start */
    profile_try_small_arenas(&rig, sf_str_from(raw), 60);
}

TEST(gecko, processed_tables_may_be_shared)
{
    decode("{\"meta\":{\"version\":34,\"preprocessedProfileVersion\":68,\"interval\":1,"
           "\"startTime\":1700000000000,\"sampleUnits\":{\"threadCPUDelta\":\"\xc2\xb5s\"}},"
           "\"libs\":[],\"shared\":{\"stringArray\":[\"main\",\"work\",\"/lib/x.so\",\"a.js\"],"
           "\"stackTable\":{\"frame\":[0,1],\"prefixOffset\":[0,1]},"
           "\"frameTable\":{\"func\":[0,1],\"line\":[null,5]},"
           "\"funcTable\":{\"name\":[0,1],\"isJS\":[false,true],\"resource\":[0,-1],\"source\":"
           "[null,0],\"lineNumber\":[null,4]},\"resourceTable\":{\"name\":[2]},\"sources\":{"
           "\"filename\":[3]}},\"threads\":[{\"name\":\"T\",\"tid\":\"t1\",\"pid\":\"5\","
           "\"processName\":\"P\",\"samples\":{\"stack\":[0,1,1,null],\"timeDeltas\":[1,1,1,1],"
           "\"weight\":null,\"weightType\":\"samples\",\"threadCPUDelta\":[9,500,700,1]}},"
           "{\"name\":\"A\",\"tid\":3,\"pid\":\"6\",\"samples\":{\"stack\":[1],\"time\":[1],"
           "\"weight\":[64],\"weightType\":\"bytes\"}},"
           "{\"name\":\"M\",\"tid\":4,\"pid\":\"6\",\"samples\":{\"stack\":[1],\"time\":[1],"
           "\"weight\":[2.5],\"weightType\":\"tracing-ms\"}}]}");
    assert_int_equal(profile_value(&rig, "samples:count", "main;work"), 2);
    assert_int_equal(profile_value(&rig, "cpu:nanoseconds", "main;work"), 1200000);
    assert_sum(&rig, "memory:samples:bytes", 64);
    assert_int_equal(profile_value(&rig, "wall:nanoseconds", "main;work"), 2000000 + 2500000);
    assert_int_equal(rig.got.samples[0].start_ns, 1700000000001000000);
    assert_str(rig.got.series[0].labels[0].key, "process");
    assert_str(rig.got.series[0].labels[0].val, "P");
    for (uint32_t i = 0; i < rig.got.n_locations; i++) {
        const struct sf_location *l = &rig.got.locations[i];
        if (sf_str_eq(rig.got.functions[l->lines[0].function].name, SF_STR("work"))) {
            assert_int_equal(l->lines[0].line, 5);
            assert_str(rig.got.functions[l->lines[0].function].file, "a.js");
        } else {
            assert_str(rig.got.mappings[l->mapping].file, "/lib/x.so");
        }
    }
}

TEST(gecko, links_in_a_circle_are_no_stacks)
{
    static const char text[] =
        "{\"meta\":{},\"threads\":[{\"name\":\"t\",\"samples\":{\"schema\":{\"stack\":0},\"data\":"
        "[[1],[2],[9],[null]]},\"stackTable\":{\"schema\":{\"prefix\":0,\"frame\":1},\"data\":"
        "[[null,0],[2,0],[1,1]]},\"frameTable\":{\"schema\":{\"location\":0},\"data\":[[0],[55]]},"
        "\"stringTable\":[\"main\"]}]}";
    rig.hint = (struct sf_profile_hint){0};
    assert_err(profile_decode_text(&rig, sf_str_from(text)), SF_ERR_INPUT);
    assert_non_null(strstr(rig.why.text, "circle"));
    profile_rig_done(&rig);
}

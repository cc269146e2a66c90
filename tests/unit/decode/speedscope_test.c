#include "support/profile_rig.h"

static struct profile_rig rig;

#define SCHEMA "\"$schema\":\"https://www.speedscope.app/file-format-schema.json\""
#define FRAMES \
    "\"shared\":{\"frames\":[{\"name\":\"a\"},{\"name\":\"b\",\"file\":\"b.py\",\"line\":7}]}"

static enum sf_err decode(const char *profiles)
{
    static char text[4000];
    snprintf(text, sizeof(text), "{" SCHEMA ",\"profiles\":[%s]," FRAMES "}", profiles);
    rig.hint = (struct sf_profile_hint){0};
    return profile_decode_text(&rig, sf_str_from(text));
}

TEST(speedscope, samples_are_rounded_after_they_are_scaled)
{
    const struct sf_location *l;
    assert_ok(decode("{\"weights\":[0.01,0.02,0],\"samples\":[[0,1],[0],[1]],\"unit\":\"seconds\","
                     "\"type\":\"sampled\",\"name\":\"t\",\"startValue\":0,\"endValue\":1}"));
    assert_int_equal(profile_value(&rig, "cpu:nanoseconds", "a;b"), 10000000);
    assert_int_equal(profile_value(&rig, "cpu:nanoseconds", "a"), 20000000);
    assert_str(rig.got.series[0].type.name, "process_cpu");
    assert_int_equal(rig.got.series[0].n_labels, 1);
    l = &rig.got.locations[rig.got.stacks[rig.got.samples[0].stack].locations[0]];
    assert_int_equal(l->kind, SF_FRAME_PYTHON);
    assert_int_equal(l->lines[0].line, 7);
}

TEST(speedscope, events_give_the_innermost_frame_its_time)
{
    assert_ok(decode("{\"type\":\"evented\",\"unit\":\"none\",\"endValue\":12,\"events\":["
                     "{\"type\":\"O\",\"at\":1,\"frame\":0},{\"type\":\"O\",\"at\":3,\"frame\":1},"
                     "{\"type\":\"C\",\"at\":8,\"frame\":1}]}"));
    assert_int_equal(profile_value(&rig, "samples:count", "a"), 2 + 4);
    assert_int_equal(profile_value(&rig, "samples:count", "a;b"), 5);
}

TEST(speedscope, several_profiles_are_told_apart)
{
    assert_ok(decode("{\"type\":\"sampled\",\"name\":\"t1\",\"unit\":\"bytes\",\"samples\":[[0]],"
                     "\"weights\":[3]},{\"type\":\"sampled\",\"name\":\"t2\",\"unit\":\"bytes\","
                     "\"samples\":[[0]],\"weights\":[4]},{\"type\":\"evented\",\"unit\":\"none\","
                     "\"events\":[{\"type\":\"C\",\"at\":0,\"frame\":0}]},{\"type\":\"x\"},"
                     "{\"type\":\"sampled\",\"unit\":\"parsec\"},{\"type\":\"sampled\",\"unit\":"
                     "\"none\",\"samples\":[[0],[0]],\"weights\":[1]}"));
    assert_int_equal(rig.got.n_samples, 2);
    assert_sum(&rig, "memory:samples:bytes", 7);
    assert_str(rig.got.series[rig.got.samples[1].series].labels[0].key, "profile_name");
    assert_str(rig.got.series[rig.got.samples[1].series].labels[0].val, "t2");
    assert_int_equal(rig.got.drops.n_parts, 4);
    assert_non_null(strstr(rig.got.drops.first, "profile 2: a frame closes"));
}

TEST(speedscope, says_where_it_is_broken)
{
    assert_err(decode("{\"type\":\"sampled\",\"unit\":\"none\",\"samples\":[[0,\"x\"]],\"weights\":"
                      "[1]}"),
               SF_ERR_INPUT);
    assert_non_null(strstr(rig.why.text, "profiles[0].samples[0][1]"));
    assert_err(
        decode("{\"type\":\"sampled\",\"unit\":\"none\",\"samples\":[[0]],\"weights\":[-1]}"),
        SF_ERR_INPUT);
    assert_err(decode("{\"type\":\"sampled\",\"unit\":\"none\",\"samples\":[[2]],\"weights\":[1]}"),
               SF_ERR_INPUT);
    assert_non_null(strstr(rig.why.text, "a frame that is not there"));
}

TEST(speedscope, survives_every_size_of_arena)
{
    static const char text[] =
        "{" SCHEMA
        ",\"profiles\":[{\"type\":\"sampled\",\"unit\":\"seconds\",\"samples\":[[0],[0,1]"
        "],\"weights\":[1,2]}]," FRAMES "}";
    rig.hint = (struct sf_profile_hint){0};
    profile_try_small_arenas(&rig, sf_str_from(text), 300);
}

TEST(speedscope, shared_files_hold_what_is_stated)
{
    rig.hint = (struct sf_profile_hint){0};
    assert_ok(profile_decode_fixture(&rig, "speedscope/simple.speedscope.json"));
    assert_sum(&rig, "process_cpu:samples:count", 14);
    assert_ok(profile_decode_fixture(&rig, "speedscope/simple-sampled.speedscope.json"));
    assert_sum(&rig, "process_cpu:cpu:nanoseconds", 14000000000);
    assert_err(profile_decode_fixture(&rig, "speedscope/out-of-order-events.json"), SF_ERR_INPUT);
    assert_ok(profile_decode_fixture(&rig, "speedscope/incomplete-trace.json"));
    assert_ok(
        profile_decode_fixture(&rig, "hostile/speedscope-frame-equals-length.speedscope.json"));
    assert_int_equal(rig.got.drops.n_samples, 1);
    assert_err(
        profile_decode_fixture(&rig, "hostile/speedscope-close-without-open.speedscope.json"),
        SF_ERR_INPUT);
    profile_rig_done(&rig);
}

/* What profilers print for people: pprof -raw and -traces, async-profiler, Austin, stackprof, flame
 * graphs. */
#include "support/profile_rig.h"

static struct profile_rig rig;

static void decode(const char *text, const char *format)
{
    const char *found = sf_profile_format_find(sf_str_from(text));
    rig.hint = (struct sf_profile_hint){0};
    assert_string_equal(found ? found : "nothing", format);
    if (profile_decode_text(&rig, sf_str_from(text)))
        fail_msg("%s", rig.why.text);
}

TEST(tool_text, pprof_raw_has_locations_behind_its_samples)
{
    decode("PeriodType: cpu nanoseconds\nPeriod: 10000000\nSamples:\n"
           "samples/count cpu/nanoseconds[dflt]\n          2   20000000: 1 2 \n"
           "                thread:[main]\n 1: 1\n          1   10000000: 3 9\nLocations\n"
           "     1: 0x40c2b0 M=1 main.small /a.go:5:0 s=1\n"
           "             main.work(int, char) /a.go:12 s=10\n"
           "     2: 0x4b43df M=1 main.main /a.go:20:0 s=18\n     3: 0x10 M=1 \nMappings\n"
           "1: 0x400000/0x4b6000/0x0 /bin/server abc [FN]\n",
           "pprof-raw");
    assert_int_equal(
        profile_value(&rig, "cpu:nanoseconds", "main.main;main.work(int, char);main.small"),
        20000000);
    assert_int_equal(profile_value(&rig, "samples:count", "0x10"), 1);
    assert_int_equal(rig.got.drops.n_samples, 1);
    assert_int_equal(rig.got.drops.n_frames, 1);
    assert_int_equal(rig.got.series[0].period, 10000000);
    assert_err(profile_decode_text(&rig, SF_STR("PeriodType: cpu nanoseconds\nPer")), SF_ERR_INPUT);
    assert_non_null(strstr(rig.why.text, "cut short"));
}

TEST(tool_text, pprof_raw_has_labels_below_its_samples)
{
    decode("PeriodType: cpu nanoseconds\nSamples:\ncpu/nanoseconds\n"
           "         20: 1 \n"
           "                env:[a [b] c] pool id:[x:y] span_id:[00f1a2b3c4d5e6f7]\n"
           "                bytes:[4096] wait:[7 seconds]\n"
           "         30: 1 \n         40: 1 \n                env:[prod] \n"
           "Locations\n     1: 0x10 M=1 f /a.go:5:0 s=1\nMappings\n1: 0x1/0x2/0x0 /bin/x\n",
           "pprof-raw");
    assert_int_equal(rig.got.n_samples, 3);
    assert_int_equal(rig.got.n_series, 3);
    assert_true(rig.got.samples[0].span_id == UINT64_C(0x00f1a2b3c4d5e6f7));
    assert_true(rig.got.samples[1].span_id == 0);
    const struct sf_series *first = &rig.got.series[rig.got.samples[0].series];
    assert_int_equal(first->n_labels, 3); /* and the service */
    assert_str(first->labels[0].key, "env");
    assert_str(first->labels[0].val, "a [b] c");
    assert_str(first->labels[1].key, "pool id");
    assert_str(first->labels[1].val, "x:y");
    assert_str(rig.got.series[rig.got.samples[2].series].labels[0].val, "prod");
    assert_sum(&rig, "cpu:nanoseconds", 90);
}

TEST(tool_text, pprof_traces_are_values_with_units)
{
    decode("File: server\nType: cpu\nDuration: 2s, Total samples = 1.76s (87.91%)\n"
           "-----------+-------------------------------------------------------\n"
           "     thread:  main\n      10ms   main.work (inline)\n             main.main\n"
           "-----------+-------------------------------------------------------\n"
           "     1.06s   main.main\n"
           "-----------+-------------------------------------------------------\n     5ms m\n",
           "pprof-traces");
    assert_int_equal(profile_value(&rig, "cpu:nanoseconds", "main.main;main.work"), 10000000);
    assert_int_equal(profile_value(&rig, "cpu:nanoseconds", "main.main"), 1060000000);
    assert_int_equal(rig.got.drops.n_samples, 1); /* the last one does not end */
    decode("File: x\nType: inuse_space\n-----------+----\n     bytes:  2kB\n    1.50MB   f\n"
           "-----------+----\n",
           "pprof-traces");
    assert_sum(&rig, "inuse_space:bytes", 1572864);
}

TEST(tool_text, async_profiler_writes_stacks_or_leaves)
{
    decode("--- Execution profile ---\nTotal samples       : 3\n\n"
           "--- 20000000 ns (66.67%), 2 samples\n  [ 0] copy_user_[k]\n"
           "  [ 1] java.lang.Foo.bar_[j]\n\n--- 10000000 ns (33.33%), 1 sample\n  [ 0] main\n\n"
           "          ns  percent  samples  top\n  ----------  -------  -------  ---\n"
           "    20000000   66.67%        2  copy_user_[k]\n",
           "async-profiler");
    assert_int_equal(profile_value(&rig, "cpu:nanoseconds", "java.lang.Foo.bar;copy_user"),
                     20000000);
    assert_sum(&rig, "cpu:nanoseconds", 30000000);
    assert_sum(&rig, "samples:count", 3);
    decode("--- Execution profile ---\nTotal samples       : 3\n\n"
           "       bytes  percent  samples  top\n  ----------  -------  -------  ---\n"
           "    20000000   66.67%        2  byte[]_[i]\n         512   33.33%        1  int[]\n",
           "async-profiler");
    assert_sum(&rig, "memory:alloc_space:bytes", 20000512);
    assert_err(profile_decode_text(&rig, SF_STR("--- Execution profile ---\nTotal samples : 3\n")),
               SF_ERR_INPUT);
}

TEST(tool_text, async_profiler_html_of_all_versions)
{
    decode("<!DOCTYPE html>\n<html>async-profiler\nconst cpool = [\n'all',\n"
           "' java/lang/Foo.bar',\n'/qux_\\'x\\'',\n' main'\n];\nunpack(cpool);\n\n"
           "f(3,0,0,10)\nu(9,6)\nu(17,2)\nn(29,1)\nf(28,1,4,4)\nsearch();\n",
           "async-profiler-html");
    assert_int_equal(profile_value(&rig, "samples:count", "java/lang/Foo.bar"), 3);
    assert_int_equal(
        profile_value(&rig, "samples:count", "java/lang/Foo.bar;java/lang/Foo.bqux_'x'"), 2);
    assert_int_equal(profile_value(&rig, "samples:count", "java/lang/Foo.bar;main"), 1);
    assert_int_equal(profile_value(&rig, "samples:count", "main"), 4);
    decode("<!DOCTYPE html>\n<html>async-profiler\nf(0,0,10,3,'all')\nf(1,0,6,0,'a.b')\n"
           "f(2,0,2,2,'k\\'s',1,0,0)\nf(1,6,4,4,'main')\n",
           "async-profiler-html");
    assert_int_equal(profile_value(&rig, "samples:count", "a.b;k's"), 2);
    assert_sum(&rig, "samples:count", 10);
    decode("<!DOCTYPE html>\n<html>async-profiler\n<ul class=\"tree\">\n"
           "<li><div>[1] 60.00% 6 self: 40.00% 4</div><span class=\"t1\"> a.&lt;init&gt;</span>\n"
           "<ul>\n<li><div>[2] 20.00% 2 self: 20.00% 2</div><span class=\"t2\"> k</span>\n</ul>\n"
           "<li><div class=\"o\">40.00% [1,004] &bull; self: 40.00% [1,004]</div> "
           "<span class=\"t3\">main</span>\n</ul>\n",
           "async-profiler-html");
    assert_int_equal(profile_value(&rig, "samples:count", "a.<init>;k"), 2);
    assert_int_equal(profile_value(&rig, "samples:count", "a.<init>"), 4);
    assert_int_equal(profile_value(&rig, "samples:count", "main"), 1004);
}

/* Leaves first: k was called by a six times, of which a was called by main four times. */
TEST(tool_text, async_profilers_reversed_trees_are_turned_round)
{
    decode("<!DOCTYPE html>\n<html>async-profiler\n<ul class=\"tree\">\n"
           "<li><div>[1] 60.00% 6</div><span class=\"t1\"> k</span>\n"
           "<ul>\n<li><div>[2] 60.00% 6</div><span class=\"t2\"> a</span>\n"
           "<ul>\n<li><div>[3] 40.00% 4</div><span class=\"t2\"> main</span>\n</ul>\n</ul>\n"
           "<li><div>[1] 40.00% 1,004</div><span class=\"t3\"> main</span>\n</ul>\n",
           "async-profiler-html");
    assert_int_equal(profile_value(&rig, "samples:count", "main;a;k"), 4);
    assert_int_equal(profile_value(&rig, "samples:count", "a;k"), 2);
    assert_int_equal(profile_value(&rig, "samples:count", "main"), 1004);
    assert_sum(&rig, "samples:count", 1010);
}

TEST(tool_text, flame_graphs_as_svg_grow_up_or_down)
{
    static const char *const rows[][3] = {{"36", "52", "68"}, {"68", "52", "36"}};
    for (int i = 0; i < 2; i++) {
        char text[2000];
        snprintf(text, sizeof(text),
                 "<?xml version=\"1.0\"?><svg><svg id=\"frames\">"
                 "<g><title>all (10 samples, 100%%)</title><rect x=\"0.0%%\" y=\"%s\" "
                 "width=\"100.0%%\" height=\"15\"/></g>"
                 "<g><title>a &lt;b&gt; (f.py:3) (6 samples, 60.00%%)</title><rect x=\"0%%\" "
                 "y=\"%s\" width=\"60%%\"/></g><g><title>c (4 samples, 40%%)</title><rect "
                 "x=\"60%%\" y=\"%s\" width=\"40%%\"/></g><g><title>d (2 samples, 20%%)</title>"
                 "<rect x=\"40%%\" y=\"%s\" width=\"20%%\"/></g></svg></svg>",
                 rows[i][0], rows[i][1], rows[i][1], rows[i][2]);
        decode(text, "flame-svg");
        assert_int_equal(profile_value(&rig, "samples:count", "a <b> (f.py:3)"), 4);
        assert_int_equal(profile_value(&rig, "samples:count", "a <b> (f.py:3);d"), 2);
        assert_int_equal(profile_value(&rig, "samples:count", "c"), 4);
    }
}

TEST(tool_text, austin_modes_and_both_forms)
{
    static const char mojo[] =
        "MOJ\x03\x01mode\0full\0\x0b\x05"
        "app.py\0\x0b\x06main\0\x02\x2a\x00"
        "7f12\0\x03\x0a\x05\x06\x03\x03\x01\x02\x05\x0a\x09\xa8\x0f\x0a\x41\x02\x2a\x00"
        "7f12\0\x05\x0a\x07\x08\x09\x05";
    decode("# austin: 3.6.0\n# mode: wall\n\nP42;T0:7f12;app.py:main:3;C:\\a.py:work:17 1000\n"
           "P42;T7f13;:GC: 5\nnothing\n",
           "austin");
    assert_int_equal(profile_value(&rig, "wall:nanoseconds", "main;work"), 1000000);
    assert_int_equal(profile_value(&rig, "wall:nanoseconds", "GC"), 5000);
    assert_int_equal(rig.got.samples[0].thread, 0x7f12);
    assert_int_equal(rig.got.drops.n_parts, 1);
    decode("P42;T7f12;app.py:main:3 1000,0,-64\nP42;T7f12;app.py:main:3 500,1,4096\n", "austin");
    assert_sum(&rig, "wall:nanoseconds", 1500000);
    assert_sum(&rig, "cpu:nanoseconds", 1000000);
    assert_sum(&rig, "alloc_space:bytes", 4096);
    assert_sum(&rig, "free_space:bytes", 64);
    rig.hint = (struct sf_profile_hint){0};
    assert_ok(profile_decode_text(&rig, (sf_str){mojo, sizeof(mojo) - 1}));
    assert_int_equal(profile_value(&rig, "wall:nanoseconds", "main"), 1000000);
    assert_int_equal(profile_value(&rig, "wall:nanoseconds", "main;GC"), 5000);
    assert_sum(&rig, "cpu:nanoseconds", 1000000);
    assert_sum(&rig, "free_space:bytes", 1);
    assert_int_equal(rig.got.samples[0].thread, 0x7f12);
    assert_err(profile_decode_text(&rig, SF_STR("MOJ\x07\x01")), SF_ERR_UNSUPPORTED);
}

TEST(tool_text, pyroscopes_flame_graphs_are_stacks_again)
{
    static const char one[] =
        "{\"version\":1,\"flamebearer\":{\"names\":[\"total\",\"main\",\"work\",\"idle\"],"
        "\"levels\":[[0,9,0,0],[0,9,1,1],[1,5,5,2,0,3,3,3,0,0,0,2],[6,3,0,2]]},\"metadata\":{"
        "\"format\":\"single\",\"units\":\"samples\",\"name\":\"cpu\",\"sampleRate\":100}}";
    decode(one, "flamebearer");
    assert_int_equal(profile_value(&rig, "cpu:nanoseconds", "main;work"), 50000000);
    assert_int_equal(profile_value(&rig, "cpu:nanoseconds", "main"), 10000000);
    assert_sum(&rig, "process_cpu:cpu:nanoseconds", 90000000);
    decode("{\"flamebearer\":{\"names\":[\"total\",\"a\"],\"levels\":[[0,9,2,0],[0,7,7,1]]},"
           "\"metadata\":{\"units\":\"bytes\",\"name\":\"inuse_space\"}}",
           "flamebearer");
    assert_int_equal(profile_value(&rig, "inuse_space:bytes", "a"), 7);
    assert_sum(&rig, "memory:inuse_space:bytes", 9);
    assert_err(profile_decode_text(&rig, SF_STR("{\"flamebearer\":{\"names\":[\"total\",\"a\"],"
                                                "\"levels\":[[0,9,0,0],[5,6,6,1]]}}")),
               SF_ERR_INPUT);
    assert_non_null(strstr(rig.why.text, "stands on none, in level 1"));
    assert_err(
        profile_decode_text(&rig, SF_STR("{\"flamebearer\":{\"names\":[\"total\"],\"levels\":"
                                         "[[0,9,0,7]]}}")),
        SF_ERR_INPUT);
    assert_err(profile_decode_text(
                   &rig, SF_STR("{\"flamebearer\":{},\"metadata\":{\"format\":\"double\"}}")),
               SF_ERR_UNSUPPORTED);
    rig.hint = (struct sf_profile_hint){0};
    profile_try_small_arenas(&rig, sf_str_from(one), 40);
}

TEST(tool_text, stackprof_with_and_without_raw_stacks)
{
    static const char raw[] =
        "{\"version\":1.2,\"mode\":\"wall\",\"interval\":1000,\"samples\":3,\"frames\":{\"1\":{"
        "\"name\":\"main\",\"file\":\"a.rb\",\"line\":3,\"samples\":0},\"2\":{\"name\":\"work\","
        "\"samples\":3}},\"raw\":[2,1,2,2,1,1,1,1,9,1],\"raw_timestamp_deltas\":[900,1100,1000,5]}";
    decode(raw, "stackprof");
    assert_int_equal(profile_value(&rig, "wall:nanoseconds", "main;work"), 2000000);
    assert_int_equal(profile_value(&rig, "wall:nanoseconds", "main"), 1000000);
    assert_sum(&rig, "samples:count", 3);
    assert_int_equal(rig.got.drops.n_samples, 1);
    decode("{\"mode\":\"object\",\"interval\":2,\"frames\":{\"1\":{\"name\":\"a\",\"samples\":4}}}",
           "stackprof");
    assert_sum(&rig, "memory:alloc_objects:count", 8);
    profile_try_small_arenas(&rig, sf_str_from(raw), 40);
    profile_rig_done(&rig);
}

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
    assert_err(profile_decode_text(&rig, SF_STR("MOJ\x03")), SF_ERR_INPUT);
    assert_non_null(strstr(rig.why.text, "MOJO: it ends after its header"));
}

/* Written by Ruby 3.1: both frames have the file of the first, and ids of more than 31 bits. */
TEST(tool_text, stackprof_dumps_are_rubys_marshal)
{
    static const char dump[] =
        "\x04\x08{\x0f:\x0cversionf\x08"
        "1.2:\x09mode:\x09wall:\x0dintervali"
        "\x02\xe8\x03:\x0csamplesi\x08:\x0fgc_samplesi\x00:\x13missed_sample"
        "si\x00:\x0dmetadata{\x00:\x0b"
        "frames{\x07l+\x08\x01\x9f_\xc2 \x00{"
        "\x0c:\x09nameI\x22\x0dObject#a\x06:\x06"
        "ET:\x09"
        "fileI\x22\x09"
        "a."
        "rb\x06;\x0fT:\x09linei\x08:\x12total_samplesi\x08;\x09i\x06:\x0a"
        "e"
        "dges{\x06l+\x08\x02\x9f_\xc2 \x00i\x07:\x0alines{\x06i\x09[\x07i\x06"
        "i\x06l+\x08\x02\x9f_\xc2 \x00{\x0a;\x0eI\x22\x0eObject#\xc3\xbc\x06"
        ";\x0fT;\x10@\x0c;\x11"
        "0;\x12i\x07;\x09i\x07:\x08raw[\x0ci\x07l+\x08"
        "\x01\x9f_\xc2 \x00l+\x08\x02\x9f_\xc2 \x00i\x07i\x06l+\x08\x01\x9f_"
        "\xc2 \x00i\x06:\x19raw_timestamp_deltas[\x08i\x02\x84\x03i\x02L\x04"
        "i\x02\xe8\x03";
    sf_str all = {dump, sizeof(dump) - 1};
    rig.hint = (struct sf_profile_hint){0};
    assert_string_equal(sf_profile_format_find(all), "stackprof-dump");
    assert_ok(profile_decode_text(&rig, all));
    assert_int_equal(profile_value(&rig, "wall:nanoseconds", "Object#a;Object#\xc3\xbc"), 2000000);
    assert_int_equal(profile_value(&rig, "samples:count", "Object#a"), 1);
    assert_int_equal(rig.got.n_functions, 2);
    assert_str(rig.got.functions[1].file, "a.rb");
    for (size_t len = 3; len < all.len;
         len++) { /* cut anywhere it reports it, and reads nothing more */
        char *copy = malloc(len);
        memcpy(copy, dump, len);
        rig.hint = (struct sf_profile_hint){.format = SF_STR("stackprof-dump")};
        assert_err(profile_decode_text(&rig, (sf_str){copy, len}), SF_ERR_INPUT);
        free(copy);
    }
    assert_non_null(strstr(rig.why.text, "stackprof's dump: "));
    static const struct {
        sf_str bytes;
        const char *word;
    } bad[] = {{SF_STR("\x04\x08{\x06:\x06xo:\x06Y\x00"), "not part of a profile"},
               {SF_STR("\x04\x08{\x06:\x06x@\x0a"), "link to nothing"},
               {SF_STR("\x04\x08{\x06:\x06x;\x0a"), "not there before"},
               {SF_STR("\x04\x08{\x06[\x00\x30"), "not a word"},
               {SF_STR("\x04\x08{\x04\xff\xff\xff\x7f"), "length"}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_err(profile_decode_text(&rig, bad[i].bytes), SF_ERR_INPUT);
        assert_non_null(strstr(rig.why.text, bad[i].word));
    }
    char deep[200] = "\x04\x08";
    memset(deep + 2, '[', sizeof(deep) - 2);
    for (size_t i = 3; i < sizeof(deep); i += 2)
        deep[i] = 6;
    assert_err(profile_decode_text(&rig, (sf_str){deep, sizeof(deep)}), SF_ERR_INPUT);
    assert_non_null(strstr(rig.why.text, "nested too deeply"));
    rig.hint = (struct sf_profile_hint){0};
    profile_try_small_arenas(&rig, all, 40);
}

TEST(tool_text, gos_dumps_are_a_stack_each)
{
    static const char text[] =
        "panic: no\n\ngoroutine 1 [running]:\nmain.(*pool).work(0xc0000140a8, {0x1, 0x2})\n"
        "\t/src/pool.go:12 +0x1d\nmain.main()\n\t/src/main.go:20 +0x3\n\n"
        "goroutine 18 gp=0xc000003340 m=nil [chan receive, 3 minutes]:\nmain.worker(...)\n"
        "\t/src/pool.go:30\n...additional frames elided...\n"
        "created by main.main in goroutine 1\n\t/src/main.go:18 +0x3\n\n"
        "goroutine 19 [chan receive]:\nmain.worker(...)\n\t/src/pool.go:30\n";
    decode(text, "goroutine-dump");
    assert_sum(&rig, "goroutines:goroutine:count", 3);
    assert_int_equal(profile_value(&rig, "goroutine:count", "main.main;main.(*pool).work"), 1);
    assert_int_equal(profile_value(&rig, "goroutine:count", "main.worker"), 2);
    assert_int_equal(rig.got.n_series, 2);
    assert_str(rig.got.series[1].labels[1].key, "state");
    assert_str(rig.got.series[1].labels[1].val, "chan receive");
    assert_str(rig.got.functions[0].file, "/src/pool.go");
    profile_try_small_arenas(&rig, sf_str_from(text), 40);
}

static bool holds(const char *secret)
{
    for (uint32_t i = 0; i < rig.got.n_functions; i++)
        if (sf_str_find(rig.got.functions[i].name, sf_str_from(secret), &(size_t){0}) ||
            sf_str_find(rig.got.functions[i].file, sf_str_from(secret), &(size_t){0}))
            return true;
    return false;
}

TEST(tool_text, py_spys_dumps_are_a_stack_of_each_thread)
{
    static const char text[] =
        "Process 16254: python3 w.py --token hunter2\nPython v3.11.7 (/usr/bin/python3.11)\n\n"
        "Thread 16254 (active+gil): \"MainThread\"\n    leaf (w.py:3)\n        Arguments:\n"
        "            password: \"hunter2\" (x.py:1)\n    <module> (w.py:7)\n"
        "Thread 16301 (idle): \"worker (1)\"\n    poll (libc.so.6)\n    run (w.py:12)\n"
        "Thread 0x7FCD (idle)\n";
    static const char json[] =
        "[{\"pid\":1,\"thread_name\":\"MainThread\",\"os_thread_id\":16254,\"active\":true,"
        "\"owns_gil\":true,\"frames\":[{\"name\":\"leaf\",\"filename\":\"w.py\",\"line\":3,"
        "\"locals\":[{\"name\":\"p\",\"repr\":\"hunter2\"}]},{\"name\":\"<module>\","
        "\"filename\":\"w.py\",\"line\":7}]},{\"thread_name\":\"worker "
        "(1)\",\"os_thread_id\":16301,"
        "\"active\":false,\"owns_gil\":false,\"frames\":[{\"name\":\"poll\",\"filename\":"
        "\"libc.so.6\",\"line\":0},{\"name\":\"run\",\"filename\":\"w.py\",\"line\":12}]}]";
    for (int i = 0; i < 2; i++) {
        decode(i ? json : text, i ? "py-spy-dump-json" : "py-spy-dump");
        assert_sum(&rig, "threads:thread:count", 2);
        assert_int_equal(profile_value(&rig, "thread:count", "<module>;leaf"), 1);
        assert_int_equal(profile_value(&rig, "thread:count", "run;poll"), 1);
        assert_int_equal(rig.got.n_series, 2);
        assert_str(rig.got.series[0].labels[1].val, "active+gil");
        assert_str(rig.got.series[1].labels[1].val, "idle");
        assert_int_equal(rig.got.samples[0].thread, 16254);
        assert_str(rig.got.samples[1].thread_name, "worker (1)");
        assert_str(rig.got.functions[0].file, "w.py");
        assert_false(holds("hunter2"));
        profile_try_small_arenas(&rig, sf_str_from(i ? json : text), 40);
    }
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

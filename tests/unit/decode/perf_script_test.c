#include "support/profile_rig.h"

static struct profile_rig rig;

static void decode(const char *text)
{
    rig.hint = (struct sf_profile_hint){0};
    assert_string_equal(sf_profile_format_find(sf_str_from(text)), "perf-script");
    if (profile_decode_text(&rig, sf_str_from(text)))
        fail_msg("%s", rig.why.text);
}

TEST(perf_script, commands_threads_and_frames_are_taken_apart)
{
    decode("# header\n"
           "my (odd) comm 12/34 [001] 5.000001: 250000 cpu-clock:u: \n"
           "\t  7f00 std::foo(int, char) const+0x10 (/usr/lib/libx.so (deleted))\n"
           "\t  7f10 java.lang.String.hashCode ([JIT app cache])\n"
           "\t  7f20 [unknown] (/usr/lib/liby.so)\n"
           "\tffffffff81 sys_read+0x1 ([kernel.kallsyms])\n\n"
           "no_stack 77 5.000002:  1 cpu-clock:u: \n\n"
           "lastone 78 5.000003: cpu-clock:u: \n\t 1 f (x)");
    assert_int_equal(rig.got.n_samples, 3);
    assert_int_equal(rig.got.n_series, 1);
    assert_int_equal(
        profile_value(&rig, "cpu:nanoseconds",
                      "my_(odd)_comm;sys_read;[liby.so];java.lang.String.hashCode;std::foo"),
        250000);
    assert_int_equal(profile_value(&rig, "cpu:nanoseconds", "no_stack"), 1);
    assert_int_equal(profile_value(&rig, "cpu:nanoseconds", "lastone;f"), 1);
    assert_int_equal(rig.got.samples[0].thread, 34);
    assert_str(rig.got.samples[0].thread_name, "my (odd) comm");
    assert_int_equal(rig.got.samples[1].thread, 77);
    assert_false(rig.got.samples[0].has_time);
    for (uint32_t i = 0; i < rig.got.n_locations; i++) {
        const struct sf_location *l = &rig.got.locations[i];
        sf_str name = rig.got.functions[l->lines[0].function].name;
        if (sf_str_eq(name, SF_STR("sys_read")))
            assert_int_equal(l->kind, SF_FRAME_KERNEL);
        if (sf_str_eq(name, SF_STR("std::foo")))
            assert_str(rig.got.mappings[l->mapping].file, "/usr/lib/libx.so (deleted)");
    }
}

TEST(perf_script, moments_follow_from_when_the_upload_began)
{
    rig.hint = (struct sf_profile_hint){.from_ns = 1000000000000000000};
    assert_ok(profile_decode_text(&rig, SF_STR("a 1 5.000001: 7 cycles: \n\t1 f (x)\n\n"
                                               "a 2 5.500001000: 8 cycles: \n\t1 f (x)\n")));
    assert_int_equal(rig.got.n_samples, 2);
    assert_true(rig.got.samples[0].has_time && rig.got.samples[1].has_time);
    assert_int_equal(rig.got.samples[0].start_ns, 1000000000000000000);
    assert_int_equal(rig.got.samples[1].start_ns, 1000000000500000000);
    assert_sum(&rig, "cycles:cycles:count", 15);
}

TEST(perf_script, each_event_is_a_type_of_its_own)
{
    decode("a 1 [000] 1.000000:  3 cycles:ppp: \n\t1 f (x)\n\n"
           "a 1 [000] 1.000001:  4 instructions:u: \n\t1 f (x)\n\n"
           "a 1 [000] 1.000002: sched:sched_switch: prev_comm=a prev_pid=1 ==> next_comm=b\n"
           "\t1 f (x)\n\n"
           "a 1 [000] 1.000003: page-faults: \n\t1 f (x)\n");
    assert_int_equal(rig.got.n_series, 4);
    assert_sum(&rig, "cycles:count", 3);
    assert_sum(&rig, "instructions:count", 4);
    assert_sum(&rig, "sched.sched_switch:count", 1);
    assert_sum(&rig, "page-faults:count", 1);
}

TEST(perf_script, columns_that_options_add_or_leave_out)
{
    /* -G: no call graph, the frame on the same line, no blank lines */
    decode("              sh 25156  1914.097287:     250000 cpu-clock:      7f34 main+0xde7 "
           "(/usr/lib/ld-linux-x86-64.so.2)\n"
           "              sh 25156  1914.097528:     250000 cpu-clock:  ffff815 fault "
           "([kernel.kallsyms])\n");
    assert_int_equal(profile_value(&rig, "cpu:nanoseconds", "sh;main"), 250000);
    assert_int_equal(profile_value(&rig, "cpu:nanoseconds", "sh;fault"), 250000);
    /* -F pid,tid,time,event,ip,sym,dso */
    decode("25156/25157  1914.097287: cpu-clock: \n\t 16477 main (/bin/x)\n\n");
    assert_int_equal(profile_value(&rig, "samples:count", "main"), 1);
    assert_int_equal(rig.got.samples[0].thread, 25157);
    /* without time, as old versions print it */
    decode("node-v011 31912 cpu-clock: \n"
           "     c6d LazyCompile:~body_0 evalmachine.<anonymous>:1 (/tmp/perf-31912.map)\n"
           "     dd7 v8::internal::Execution::Call(v8::internal::Isolate*, int) (/tmp/node)\n\n");
    assert_int_equal(profile_value(&rig, "samples:count",
                                   "node-v011;v8::internal::Execution::Call;"
                                   "LazyCompile:~body_0 evalmachine.<anonymous>:1"),
                     1);
    /* -F +srcline, and inlined calls */
    decode("sh 25156  1.097287:     5 cpu-clock: \n"
           "\t  16477 small (inlined)\n  small.h:12\n"
           "\t  16477 init+0xde7 (/usr/lib/ld.so)\n  cpu-features.c:311\n\n");
    assert_int_equal(profile_value(&rig, "cpu:nanoseconds", "sh;init;small"), 5);
    for (uint32_t i = 0; i < rig.got.n_functions; i++) {
        if (sf_str_eq(rig.got.functions[i].name, SF_STR("init")) && rig.got.functions[i].file.len)
            assert_str(rig.got.functions[i].file, "cpu-features.c");
    }
    /* Android's simpleperf separates with tabs */
    decode("Gecko\t25122 [007] 115539.936601:\t\t1000000 task-clock:u:\n"
           "        b3cea6c4\tnsCreate::operator()(nsID const&) const (/system/lib/libc.so)\n"
           "        b3cea6c5\t(anonymous namespace)::run(int) (/system/lib/libc.so)\n");
    assert_int_equal(profile_value(&rig, "cpu:nanoseconds",
                                   "Gecko;(anonymous namespace)::run;nsCreate::operator()"),
                     1000000);
}

TEST(perf_script, lines_that_fit_nowhere_are_counted)
{
    decode("a 1 1.000000: 3 cycles: \n\t1 f (x)\n\nFailed to open /tmp/perf-1.map\n"
           "a 1 1.000001: 3 cycles: \n\t1 f (x)\n");
    assert_sum(&rig, "cycles:count", 6);
    assert_int_equal(rig.got.drops.n_parts, 1);
    assert_non_null(strstr(rig.got.drops.first, "line 4"));
    profile_try_small_arenas(
        &rig, SF_STR("a b 1 1.000000: 3 c:u: \n\t1 f(\"x\") (x)\n\t2 g->h (y)\n"), 40);
    profile_rig_done(&rig);
}

TEST(perf_script, what_stands_beside_samples_is_stepped_over)
{
    /* --show-mmap-events, --show-task-events, -F +misc, -F +uregs */
    decode("swapper 0 0.000000: PERF_RECORD_MMAP -1/0: [0xffff(0x3f) @ 0]: x [kernel.kallsyms]\n"
           "busy 7 1.000000: PERF_RECORD_COMM exec: busy:7/7\n"
           "busy 7 U 1.000001: 3 cycles: \n\t11dc work (/bin/busy)\n"
           " ABI:2    AX:0x7f2d522d4b00    BX:0x7f2d522d4b00\n"
           "busy 7 K 1.000002: 4 cycles: \n\t11dc work (/bin/busy)\n\n");
    assert_int_equal(profile_value(&rig, "cycles:count", "busy;work"), 7);
    assert_int_equal(rig.got.n_series, 1);
    assert_int_equal(rig.got.samples[0].thread, 7);
    assert_int_equal(rig.got.drops.n_parts, 0);
}

TEST(perf_script, frames_need_no_module_below_a_time)
{
    decode("busy 7 1.000001: cpu-clock:ppp: \n\t            11dc work\n\n"
           "busy 7 1.000002: cpu-clock:ppp: \n\t            11dc work\n\t  10 main\n\n");
    assert_int_equal(profile_value(&rig, "samples:count", "busy;work"), 1);
    assert_int_equal(profile_value(&rig, "samples:count", "busy;main;work"), 1);
}

TEST(perf_script, source_lines_of_the_kernel_and_of_inlined_calls)
{
    decode("busy 7 1.000001: 5 cycles: \n\tffff81 charge+0x25 ([kernel.kallsyms])\n"
           "  [kernel.kallsyms][ffff81]\n\t 1204 mix+0x64 (inlined)\n  w.c:3 (inlined)\n"
           "\t 1204 work+0x64 (/bin/busy)\n  w.c:4\n\t 10c0 _start+0x20 (/bin/busy)\n  ??:0\n\n");
    assert_int_equal(profile_value(&rig, "cycles:count", "busy;_start;work;mix;charge"), 5);
    assert_int_equal(rig.got.drops.n_parts, 0);
    for (uint32_t i = 0; i < rig.got.n_functions; i++)
        if (sf_str_eq(rig.got.functions[i].name, SF_STR("mix")) && rig.got.functions[i].file.len)
            assert_str(rig.got.functions[i].file, "w.c");
}

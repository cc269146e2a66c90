/* pprof's formats from before protobuf. */
#include "support/profile_rig.h"

static struct profile_rig rig;

static void decode(sf_str bytes, const char *format)
{
    rig.hint = (struct sf_profile_hint){0};
    assert_string_equal(sf_profile_format_find(bytes), format);
    if (profile_decode_text(&rig, bytes))
        fail_msg("%s", rig.why.text);
}

static void put(uint8_t *to, size_t *at, unsigned size, bool is_big, uint64_t v)
{
    for (unsigned i = 0; i < size; i++)
        to[*at + (is_big ? size - 1 - i : i)] = (uint8_t)(v >> (8 * i));
    *at += size;
}

TEST(legacy, cpu_profiles_of_every_word)
{
    static const uint64_t words[] = {0,        3,        0, 10000, 0, 2, 3, 0x401000,
                                     0x401001, 0x402000, 1, 1,     7, 0, 1, 0};
    static const char map[] = "00400000-00500000 r-xp 00001000 08:01 5 /bin/app\n"
                              "00600000-00700000 rw-p 00001000 08:01 5 /bin/app\n";
    uint8_t file[400];
    for (unsigned i = 0; i < 4; i++) {
        size_t at = 0;
        for (size_t k = 0; k < sizeof(words) / sizeof(*words); k++)
            put(file, &at, i < 2 ? 8 : 4, i % 2, words[k]);
        memcpy(file + at, map, sizeof(map) - 1);
        decode((sf_str){(char *)file, at + sizeof(map) - 1}, "pprof-legacy-cpu");
        assert_sum(&rig, "process_cpu:samples:count", 3);
        assert_sum(&rig, "process_cpu:cpu:nanoseconds", 30000000);
        /* the leaf as it is, the signal's copy of it left out, a call's address less one */
        assert_int_equal(profile_value(&rig, "samples:count", "0x2fff;0x2000"), 2);
        assert_str(rig.got.mappings[0].file, "/bin/app");
        assert_err(profile_decode_text(&rig, (sf_str){(char *)file, at - 8}), SF_ERR_INPUT);
        assert_non_null(strstr(rig.why.text, "cut short"));
    }
}

/* 40 stacks of one function with one caller, as a signal handler sees them; `n_other` without its
 * frame. */
static void decode_signals(uint64_t n, uint64_t n_other, const char *map)
{
    static uint8_t file[8192];
    size_t at = 0;
    const uint64_t header[] = {0, 3, 0, 10000, 0}, end[] = {0, 1, 0};
    for (size_t i = 0; i < 5; i++)
        put(file, &at, 8, false, header[i]);
    for (uint64_t i = 0; i < n; i++) {
        bool is_other = i < n_other;
        put(file, &at, 8, false, 1);
        put(file, &at, 8, false, is_other ? 3 : 4);
        put(file, &at, 8, false, 0x401000 + i);
        if (!is_other)
            put(file, &at, 8, false, 0x7f0000000500);
        put(file, &at, 8, false, 0x402001);
        put(file, &at, 8, false, 0x403001);
    }
    for (size_t i = 0; i < 3; i++)
        put(file, &at, 8, false, end[i]);
    memcpy(file + at, map, strlen(map));
    decode((sf_str){(char *)file, at + strlen(map)}, "pprof-legacy-cpu");
}

TEST(legacy, the_way_back_from_a_signal_is_no_caller)
{
    static const char libc[] =
        "00400000-00500000 r-xp 00000000 08:01 5 /bin/app\n"
        "7f0000000000-7f0000010000 r-xp 00000000 08:01 6 /lib/libc-2.15.so\n";
    static const char own[] = "00400000-00500000 r-xp 00000000 08:01 5 /bin/app\n"
                              "7f0000000000-7f0000010000 r-xp 00000000 08:01 6 /lib/libshop.so\n";
    decode_signals(40, 0, libc);
    assert_int_equal(profile_value(&rig, "samples:count", "0x3000;0x2000;0x1007"), 1);
    decode_signals(40, 1, libc);
    assert_int_equal(profile_value(&rig, "samples:count", "0x3000;0x2000;0x1007"), 1);
    decode_signals(40, 0, ""); /* it is not known what is there: as pprof does */
    assert_int_equal(profile_value(&rig, "samples:count", "0x403000;0x402000;0x401007"), 1);
    /* A library of the program, two stacks that have no such frame, and few stacks. */
    decode_signals(40, 0, own);
    assert_int_equal(profile_value(&rig, "samples:count", "0x3000;0x2000;0x4ff;0x1007"), 1);
    decode_signals(40, 2, libc);
    assert_int_equal(profile_value(&rig, "samples:count", "0x3000;0x2000;0x4ff;0x1007"), 1);
    decode_signals(31, 0, libc);
    assert_int_equal(profile_value(&rig, "samples:count", "0x3000;0x2000;0x4ff;0x1007"), 1);
}

TEST(legacy, heaps_are_scaled_by_what_was_sampled)
{
    decode(SF_STR("heap profile: 1: 9216 [ 1: 9216] @ heapz_v2/524288\n"
                  " 1: 9216 [ 1: 9216] @ 0xc635c8 0x42ecc3\n"
                  "MAPPED_LIBRARIES:\n00400000-00fcb000: server\n"),
           "pprof-legacy");
    assert_sum(&rig, "memory:inuse_objects:count", 57);
    assert_sum(&rig, "memory:inuse_space:bytes", 528909);
    assert_int_equal(profile_value(&rig, "inuse_objects:count", "0x2ecc2;0x8635c7"), 57);
    /* Go's: with names below each stack, and what was freed too */
    decode(SF_STR("heap profile: 1: 524288 [3: 1572864] @ heap/1048576\n"
                  "1: 524288 [3: 1572864] @ 0x420cef 0x422151\n"
                  "#\t0x420cee\tmain.alloc+0x2e\t/src/main.go:12\n"
                  "#\t0x422150\tmain.main+0x10\t/src/main.go:20\n\n# runtime.MemStats\n"),
           "pprof-legacy");
    assert_int_equal(profile_value(&rig, "alloc_space:bytes", "main.main;main.alloc"), 2488234);
    assert_sum(&rig, "memory:inuse_space:bytes", 829411);
    decode(SF_STR("heap profile: 2: 10 [ 2: 10] @ growthz\n 2: 10 [2: 10] @ 0x1\n"),
           "pprof-legacy");
    assert_sum(&rig, "memory:inuse_space:bytes", 10);
}

TEST(legacy, contention_counts_and_threads)
{
    decode(SF_STR("--- contentionz 1 ---\ncycles/second = 2000000000\nsampling period = 100\n"
                  "ms since reset = 5\n  2000  3 @ 0x401001\n bad @ 0x1\n"
                  "--- Memory map: ---\n  00400000-00fcb000: server\n"),
           "pprof-legacy");
    assert_sum(&rig, "mutex:contentions:count", 300);
    assert_sum(&rig, "mutex:delay:nanoseconds", 100000);
    assert_int_equal(rig.got.series[0].duration_ns, 5000000);
    assert_int_equal(rig.got.drops.n_samples, 1);
    decode(SF_STR("goroutine profile: total 7\n2 @ 0x1 0x2\n#\t0x1\tf+0x1\t/a.go:3\n\n5 @ 0x3\n"),
           "pprof-legacy");
    assert_int_equal(profile_value(&rig, "goroutine:count", "f"), 2);
    assert_sum(&rig, "goroutine:count", 7);
    decode(
        SF_STR("--- threadz 1 ---\n\n--- Thread 7f79 (name: main/14748) stack: ---\n"
               "  PC: 0x10: helper(arg *)\n  0x21\n--- Thread 7f80 (name: b) stack: ---\n 0x5\n"),
        "pprof-legacy");
    assert_sum(&rig, "thread:count", 2);
    assert_int_equal(profile_value(&rig, "thread:count", "0x20;0x10"), 1);
    assert_int_equal(rig.got.samples[0].thread, 14748);
    assert_str(rig.got.samples[0].thread_name, "main");
    decode(SF_STR("--- heapz 1 ---\nformat = java\nresolution = bytes\n   7048  1 @ 0x3 0x4\n"
                  " 0x00000003 com.example.f (Source.java:17)\n 0x00000004 GC\n"),
           "pprof-legacy");
    assert_int_equal(profile_value(&rig, "inuse_space:bytes", "GC;com.example.f"), 527819);
    profile_try_small_arenas(&rig, SF_STR("goroutine profile: total 7\n2 @ 0x1 0x2\n"), 30);
    profile_rig_done(&rig);
}

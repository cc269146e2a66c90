#include "support/profile_rig.h"

static struct profile_rig rig;

static void hint(const char *format)
{
    rig.hint = (struct sf_profile_hint){.format = sf_str_from(format)};
}

TEST(folded, counts_are_behind_the_last_blank)
{
    hint("");
    assert_ok(profile_decode_text(&rig, SF_STR("a;b c 3\r\na;b c 2\n\na;d 5")));
    assert_int_equal(profile_value(&rig, "samples:count", "a;b c"), 5);
    assert_int_equal(profile_value(&rig, "samples:count", "a;d"), 5);
    assert_str(rig.got.series[0].type.name, "process_cpu");
    assert_int_equal(rig.got.n_stacks, 2);
}

TEST(folded, the_request_says_what_was_measured)
{
    hint("folded");
    rig.hint.has_sample_rate = true;
    rig.hint.sample_rate = 100;
    rig.hint.from_ns = 1700000000000000000;
    rig.hint.until_ns = 1700000010000000000;
    rig.hint.service = SF_STR("app");
    assert_ok(profile_decode_text(&rig, SF_STR("a;b 3\na;c 2.5\n")));
    assert_int_equal(profile_value(&rig, "cpu:nanoseconds", "a;b"), 30000000);
    assert_int_equal(profile_value(&rig, "cpu:nanoseconds", "a;c"), 25000000);
    assert_int_equal(rig.got.samples[0].count, 3);
    assert_int_equal(rig.got.series[0].period, 10000000);
    assert_int_equal(rig.got.series[0].duration_ns, 10000000000);
    assert_str(rig.got.series[0].type.period_type, "cpu");
    rig.hint.type_word = SF_STR("alloc_space");
    assert_ok(profile_decode_text(&rig, SF_STR("a;b 3\n")));
    assert_sum(&rig, "memory:alloc_space:bytes", 3);
    rig.hint.type_word = SF_STR("app");
    assert_err(profile_decode_text(&rig, SF_STR("a;b 3\n")), SF_ERR_INPUT);
    rig.hint.type_word = SF_STR_NONE;
    rig.hint.type = (struct sf_profile_type){
        .name = SF_STR("gpu"), .sample_type = SF_STR("busy"), .sample_unit = SF_STR("cycles")};
    assert_ok(profile_decode_text(&rig, SF_STR("a;b 3\n")));
    assert_sum(&rig, "gpu:busy:cycles", 3);
}

TEST(folded, suffixes_of_frames_become_their_kind)
{
    hint("folded");
    assert_ok(profile_decode_text(&rig, SF_STR("java;do_sys_open_[k];Foo.bar_[j] 1\n")));
    assert_int_equal(profile_value(&rig, "samples:count", "java;do_sys_open;Foo.bar"), 1);
    assert_int_equal(rig.got.locations[1].kind, SF_FRAME_KERNEL);
}

TEST(folded, an_unusable_line_is_counted_and_the_rest_is_read)
{
    hint("folded");
    assert_ok(profile_decode_text(
        &rig, SF_STR("main;a 1\nmain;b\nmain;c 99999999999999999999\nmain;d -4\n;;; 3\n")));
    assert_int_equal(rig.got.drops.n_parts, 3);
    assert_non_null(strstr(rig.got.drops.first, "line 2"));
    assert_int_equal(profile_value(&rig, "samples:count", "(unknown)"), 3);
    assert_err(profile_decode_text(&rig, SF_STR("nothing usable\n")), SF_ERR_INPUT);
    assert_ok(profile_decode_text(&rig, SF_STR("\n")));
}

TEST(folded, is_recognised_and_not_taken_for_protobuf)
{
    assert_string_equal(sf_profile_format_find(SF_STR("\n\na;b 3\n")), "folded");
    assert_null(sf_profile_format_find(SF_STR("just a letter\nwithout counts\n")));
    assert_string_equal(sf_profile_format_find(SF_STR("heap profile: 1: 2 [3: 4] @ heap/1\n")),
                        "pprof-legacy");
}

TEST(folded, lines_count_one_each)
{
    hint("lines");
    assert_ok(profile_decode_text(&rig, SF_STR("a;b\na;b\n\na;c\n")));
    assert_int_equal(profile_value(&rig, "samples:count", "a;b"), 2);
}

TEST(folded, survives_every_size_of_arena)
{
    hint("folded");
    profile_try_small_arenas(&rig, SF_STR("a;b;c\x01 3\na;d 2.5\n"), 200);
    profile_try_small_arenas(&rig,
                             SF_STR("\xff\xfe"
                                    "a\0;\0b\0 \0003\0\n\0"),
                             100);
}

TEST(folded, a_very_deep_line_is_cut)
{
    struct sf_buf text = {0};
    hint("folded");
    for (int i = 0; i < 100000; i++)
        sf_buf_print(&text, "f%d;", i);
    sf_buf_print(&text, "leaf 1\n");
    assert_ok(profile_decode_text(&rig, sf_buf_str(&text)));
    assert_int_equal(rig.got.stacks[0].n, SF_LIMIT_FRAMES);
    assert_int_equal(rig.got.drops.n_cut_stacks, 1);
    assert_str(
        rig.got.functions[rig.got.locations[rig.got.stacks[0].locations[0]].lines[0].function].name,
        "leaf");
    assert_str(rig.got
                   .functions[rig.got.locations[rig.got.stacks[0].locations[SF_LIMIT_FRAMES - 1]]
                                  .lines[0]
                                  .function]
                   .name,
               "f0");
    assert_str(rig.got
                   .functions[rig.got.locations[rig.got.stacks[0].locations[SF_LIMIT_FRAMES - 16]]
                                  .lines[0]
                                  .function]
                   .name,
               "f15");
    sf_buf_done(&text);
    profile_rig_done(&rig);
}

TEST(folded, a_line_is_as_long_as_it_may_be)
{
    for (size_t more = 0; more < 2; more++) {
        struct sf_buf text = {0};
        hint("folded");
        for (size_t i = 0; i < SF_LIMIT_LINE_LEN + more - 2; i++)
            sf_buf_add_u8(&text, 'f');
        sf_buf_print(&text, " 1\nb 2\n");
        assert_ok(profile_decode_text(&rig, sf_buf_str(&text)));
        assert_int_equal(rig.got.n_stacks, more ? 1 : 2);
        assert_int_equal(rig.got.drops.n_parts, more);
        sf_buf_done(&text);
    }
    profile_rig_done(&rig);
}

TEST(folded, shared_files_hold_what_is_stated)
{
    static const struct {
        const char *file;
        int64_t total;
        uint32_t deepest;
        uint64_t n_bad;
    } files[] = {
        {"collapsed/simple.txt", 14, 3, 0},
        {"collapsed/simple-crlf.txt", 14, 3, 0},
        {"collapsed/simple-utf16-le.txt", 14, 3, 0},
        {"collapsed/simple-utf16-be.txt", 14, 3, 0},
        {"collapsed/simple-with-invalids.txt", 14, 3, 3},
        {"collapsed/recursion.txt", 10, 6, 0},
        {"collapsed/sample1.collapsed", 185, 12, 0},
        {"collapsed/perf-vertx.txt.gz", 285, 69, 0},
        {"pyroscope-raw/checkout.groups.txt", 788, 33, 0},
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        uint32_t deepest = 0;
        if (!profile_is_here(files[i].file))
            continue;
        hint("");
        if (profile_decode_fixture(&rig, files[i].file))
            fail_msg("%s: %s", files[i].file, rig.why.text);
        for (uint32_t k = 0; k < rig.got.n_stacks; k++)
            deepest = rig.got.stacks[k].n > deepest ? rig.got.stacks[k].n : deepest;
        if (profile_sum(&rig, "samples:count") != files[i].total || deepest != files[i].deepest ||
            rig.got.drops.n_parts != files[i].n_bad)
            fail_msg("%s: total %" PRId64 ", depth %" PRIu32 ", %" PRIu64 " bad", files[i].file,
                     profile_sum(&rig, "samples:count"), deepest, rig.got.drops.n_parts);
    }
    hint("");
    assert_ok(profile_decode_fixture(&rig, "hostile/collapsed-odd-lines.txt"));
    assert_int_equal(profile_value(&rig, "samples:count", "main;a"), 1);
    assert_int_equal(profile_value(&rig, "samples:count", "main;sp ace;f"), 4);
    assert_int_equal(profile_value(&rig, "samples:count", "last;no;newline"), 9);
    assert_int_equal(profile_value(&rig, "samples:count", "main;g"), 7);
    assert_int_equal(profile_value(&rig, "samples:count", "main;e"), 3); /* 2.5, rounded */
    assert_int_equal(rig.got.drops.n_parts, 3);
    profile_rig_done(&rig);
}

/* Formats are recognised by content, wrapped or not; and what we do not read is called by name. */
#include "support/profile_rig.h"
#include "wire/deflate.h"

static struct profile_rig rig;

static void expect_format(const char *file, const char *format)
{
    const char *found;
    sf_str plain;
    profile_rig_init(&rig);
    assert_ok(profile_unwrap_fixture(&rig, file, &rig.file, &rig.plain, &plain));
    found = sf_profile_format_find(plain);
    if (!found != !format || (found && strcmp(found, format) != 0))
        fail_msg("%s is taken for %s", file, found ? found : "nothing");
}

TEST(profile_format, shared_files_are_recognised_by_content)
{
    static const char *const files[][2] = {
        {"jfr/minimal.jfr", "jfr"},
        {"jfr/wall.jfr.gz", "jfr"},
        {"pprof/go-cpu-sample.pb.gz", "pprof"},
        {"pprof/go-contention.pb", "pprof"},
        {"pprof/two-stacks.pb.gz", "pprof"},
        {"pprof/folded-made.pb.gz", "pprof"},
        {"pprof/ebpf-node-unsymbolised.pb.gz", "pprof"},
        {"cpuprofile/chrome65-simple.cpuprofile", "cpuprofile"},
        {"cpuprofile/old-tree-form.cpuprofile", "cpuprofile"},
        {"heapprofile/node20-checkout.heapprofile", "heapprofile"},
        {"speedscope/simple.speedscope.json", "speedscope"},
        {"collapsed/perf-vertx.txt.gz", "folded"},
        {"collapsed/sample1.collapsed", "folded"},
        {"collapsed/simple-utf16-be.txt", "folded"},
        {"collapsed/simple-crlf.txt", "folded"},
        {"pyroscope-raw/checkout.groups.txt", "folded"},
        {"hostile/jfr-truncated.jfr", "jfr"},
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        if (profile_is_here(files[i][0]))
            expect_format(files[i][0], files[i][1]);
    }
}

TEST(profile_format, what_is_not_a_profile_is_none)
{
    static const char *const texts[] = {"",          "hello",    "{}",      "[]",
                                        "{\"a\":1}", "\x0a\x02", "\x1f\x8b"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        rig.hint = (struct sf_profile_hint){0};
        assert_null(sf_profile_format_find(sf_str_from(texts[i])));
        assert_true(profile_decode_text(&rig, sf_str_from(texts[i])) != SF_OK);
        assert_true(rig.why.text[0]);
    }
}

TEST(profile_format, every_file_of_every_kind_ends_well)
{
    static const char *const files[] = {"pprof-legacy/cppbench.cpu",
                                        "pprof-legacy/cppbench.heap",
                                        "pprof-legacy/gobench.heap",
                                        "pprof-legacy/go.godoc.thread",
                                        "gecko/gecko-1.json",
                                        "gecko/processed-68.json",
                                        "trace-event/simple.json",
                                        "chrome-trace/chrome69-simple.json.gz",
                                        "perf-script/one-sample.linux-perf.txt",
                                        "jitdump/node20-checkout.dump.gz",
                                        "perf-map/jdk17-perf.map",
                                        "hostile/json-bracket-bomb.json"};
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        rig.hint = (struct sf_profile_hint){0};
        if (profile_is_here(files[i]) && profile_decode_fixture(&rig, files[i]))
            assert_true(rig.why.text[0]);
    }
}

TEST(profile_format, one_layer_of_gzip_or_zstd_is_taken_off)
{
    static const char text[] = "a;b 3\na 4\n";
    const sf_bytes in = {(const uint8_t *)text, sizeof(text) - 1};
    struct sf_buf packed = {0}, out = {0};
    struct sf_deflate *d = sf_deflate_new();
    sf_str plain;
    assert_non_null(d);
    for (int is_zstd = 0; is_zstd < 2; is_zstd++) {
        profile_rig_init(&rig);
        sf_buf_reset(&packed);
        assert_ok(is_zstd ? sf_deflate_zstd(d, 3, true, in, &packed, NULL)
                          : sf_deflate_gzip(d, 6, in, &packed, NULL));
        assert_ok(
            sf_profile_format_unwrap(rig.z, sf_buf_str(&packed), 1000, &out, &plain, &rig.why));
        assert_string_equal(sf_profile_format_find(plain), "folded");
        assert_err(sf_profile_format_unwrap(rig.z, sf_buf_str(&packed), 5, &out, &plain, &rig.why),
                   SF_ERR_LIMIT);
    }
    sf_deflate_free(d);
    sf_buf_done(&packed);
    sf_buf_done(&out);
    profile_rig_done(&rig);
}

TEST(profile_format, an_error_says_what_the_file_looks_like_and_what_is_read)
{
    static const struct {
        const char *text, *says;
    } files[] = {
        {"", "it is empty"},
        {" \n\n", "only whitespace"},
        {"{\"nodes\":[{\"id\":1}],\"samples\":[1]}", "JSON with `nodes` and no `timeDeltas`."},
        {"{\"nodes\":[{\"id\":1}],\"samples\":[1", "cut short at byte 32: JSON with `nodes`"},
        {"{\"nodes\":[{\"id\":1}],\"sam", "cut short at byte 24: JSON with `nodes`"},
        {"{\"nodes\":[{\"id\":1}],\"a\":\"b\\\"", "cut short at byte 28: JSON with `nodes`"},
        {"{\"nodes\":[{\"id\":1}],\"a\":tru", "cut short at byte 27: JSON with `nodes`"},
        {"{\"nodes\":[{\"id\":1}],\"a\":tru}", "broken at byte 24: JSON with `nodes`"},
        {"{\"shared\":{},\"profiles\":[]}", "JSON with `shared`, `profiles` and no `$schema`"},
        {"{\"apiVersion\":1,\"kind\":2}", "JSON with `apiVersion`, `kind`."},
        {"[{\"x\":1},{\"y\":2}]", "a JSON array of objects with `x`, `y`"},
        {"{\"snapshot\":{}}", "a V8 heap snapshot"},
        {"{}", "JSON without any key"},
        {"hello\nworld", "text that begins \"hello\""},
        {"\x01\x02\x03", "3 bytes of binary data that begin 01 02 03"},
        {"\x7f"
         "ELF\x02",
         "a program is not read"},
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        rig.hint = (struct sf_profile_hint){0};
        assert_true(profile_decode_text(&rig, sf_str_from(files[i].text)) != SF_OK);
        if (!strstr(rig.why.text, files[i].says) || !strstr(rig.why.text, "Read: JFR, pprof") ||
            !strstr(rig.why.text, "folded"))
            fail_msg("\"%s\": %s", files[i].text, rig.why.text);
    }
    profile_rig_done(&rig);
}

TEST(profile_format, bare_trees_tries_and_lines_are_told_by_content)
{
    static const char tree[] = "\0\0\1\1a\0\2\1b\1\0\1c\2";
    static const char trie[] = "\0\0\1\3a;b\0\2\1c\1\0\1d\2";
    rig.hint = (struct sf_profile_hint){0};
    assert_ok(profile_decode_text(&rig, (sf_str){tree, sizeof(tree)}));
    assert_int_equal(profile_value(&rig, "samples:count", "a;c"), 2);
    assert_ok(profile_decode_text(&rig, (sf_str){trie, sizeof(trie)}));
    assert_int_equal(profile_value(&rig, "samples:count", "a;bd"), 2);
    assert_true(profile_decode_text(&rig, (sf_str){tree, sizeof(tree) - 1}) != SF_OK);
    assert_true(profile_decode_text(&rig, SF_STR("\0\0\0")) != SF_OK);
    assert_ok(profile_decode_text(&rig, SF_STR("main;a b\nmain;c\nmain;a b\n")));
    assert_int_equal(profile_value(&rig, "samples:count", "main;a b"), 2);
    assert_true(profile_decode_text(&rig, SF_STR("int a;\nint b;\n")) != SF_OK);
    profile_rig_done(&rig);
}

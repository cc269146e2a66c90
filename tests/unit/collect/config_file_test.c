#include "test.h"

#include "base/heap.h"
#include "collect/lib/config_file.h"

static const char block[] = "# a file of the server's\n"
                            "retention: {spans: 7d}\n"
                            "profiling:\n"
                            "  cpu:    {enabled: true, sample_rate: 250}     # Hz\n"
                            "  memory:\n"
                            "    enabled: false\n"
                            "    sample_rate: \"1MB\"\n"
                            "  upload_interval: 5s\n"
                            "  adaptive: {base_rate: 100, cpu_threshold: 80%}\n"
                            "redact:\n"
                            "  patterns: [password]\n";

static const char *get(struct sf_config_file *f, const char *name)
{
    const char *val = sf_config_file_get(f, name);
    return val ? val : "(unsaid)";
}

TEST(config_file, gives_the_block_as_variables)
{
    struct sf_config_file f = {0};
    struct sf_why why = {0};
    assert_int_equal(sf_config_file_parse(&f, sf_str_from(block), &why), SF_OK);
    assert_string_equal(get(&f, "SPANFLAME_PROFILING_CPU_ENABLED"), "true");
    assert_string_equal(get(&f, "SPANFLAME_PROFILING_CPU_SAMPLE_RATE"), "250");
    assert_string_equal(get(&f, "SPANFLAME_PROFILING_MEMORY_ENABLED"), "false");
    assert_string_equal(get(&f, "SPANFLAME_PROFILING_MEMORY_SAMPLE_RATE"), "1MB");
    assert_string_equal(get(&f, "SPANFLAME_PROFILING_UPLOAD_INTERVAL"), "5s");
    assert_string_equal(get(&f, "SPANFLAME_PROFILING_ADAPTIVE_CPU_THRESHOLD"), "80%");
    assert_string_equal(get(&f, "SPANFLAME_RETENTION_SPANS"), "(unsaid)");
    assert_string_equal(sf_config_file_line(&f, "SPANFLAME_PROFILING_CPU_SAMPLE_RATE"), "4");
    assert_string_equal(sf_config_file_line(&f, "SPANFLAME_PROFILING_ADAPTIVE_CPU_THRESHOLD"), "9");
    assert_null(sf_config_file_line(&f, "SPANFLAME_RETENTION_SPANS"));
    sf_config_file_done(&f);
}

TEST(config_file, names_the_line_it_does_not_understand)
{
    static const char *const bad[] = {
        "profiling:\n  cpu: {enabled: true\n", "profiling:\n  - cpu\n", "profiling:\n  c p u: 1\n",
        "profiling:\n  cpu: {enabled: true} more\n",
        "profiling:\n  a: {b: {c: {d: {e: {f: {g: {h: {i: {j: 1}}}}}}}}}\n"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct sf_config_file f = {0};
        struct sf_why why = {0};
        assert_int_equal(sf_config_file_parse(&f, sf_str_from(bad[i]), &why), SF_ERR_INPUT);
        assert_non_null(strstr(why.text, "line 2"));
        sf_config_file_done(&f);
    }
}

/* Whatever bytes: no crash, and what was kept can be read back. */
TEST(config_file, keeps_whole_entries_of_a_block_that_is_too_large)
{
    for (size_t extra = 0; extra < 40; extra++) {
        struct sf_config_file f = {0};
        struct sf_buf text = {0};
        struct sf_why why = {0};
        sf_buf_add_str(&text, SF_STR("profiling:\n  cpu: {sample_rate: 250}\n  x: "));
        for (size_t i = 0; i < extra; i++)
            sf_buf_add_u8(&text, 'y');
        sf_buf_add_u8(&text, '\n');
        while (text.len < 100000)
            sf_buf_add_str(&text, SF_STR("  name: value\n"));
        assert_err(sf_config_file_parse(&f, sf_buf_str(&text), &why), SF_ERR_LIMIT);
        assert_string_equal(get(&f, "SPANFLAME_PROFILING_CPU_SAMPLE_RATE"), "250");
        assert_string_equal(get(&f, "SPANFLAME_PROFILING_NAME"), "value");
        assert_string_equal(get(&f, "SPANFLAME_NOT_THERE"), "(unsaid)");
        assert_int_equal(f.vars.p[f.vars.len - 1], 0);
        for (size_t at = 0, n = 0; at < f.vars.len; n++) { /* three texts an entry */
            at += strlen((const char *)f.vars.p + at) + 1;
            assert_true(at < f.vars.len || n % 3 == 2);
        }
        sf_config_file_done(&f);
        sf_buf_done(&text);
    }
}

TEST(config_file, survives_any_bytes)
{
    char text[sizeof(block)];
    uint64_t chance = 7;
    for (int round = 0; round < 20000; round++) {
        struct sf_config_file f = {0};
        char *exact;
        size_t len;
        memcpy(text, block, sizeof(block));
        for (int i = 0; i < 6; i++) {
            chance = chance * 6364136223846793005u + 1442695040888963407u;
            text[(chance >> 33) % (sizeof(block) - 1)] = "{}:,\n #'\"a\0-"[(chance >> 20) % 13];
        }
        len = (chance >> 40) % sizeof(block);
        exact = sf_heap_new(len + 1);
        memcpy(exact, text, len);
        sf_config_file_parse(&f, (sf_str){exact, len}, NULL);
        get(&f, "SPANFLAME_PROFILING_UPLOAD_INTERVAL");
        sf_heap_free(exact);
        sf_config_file_done(&f);
    }
}

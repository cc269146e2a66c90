#include "test.h"

#include "render/units.h"

static void expect(struct sf_buf *b, const char *want)
{
    sf_buf_add_u8(b, 0);
    assert_true(sf_buf_ok(b));
    assert_string_equal((char *)b->p, want);
    sf_buf_reset(b);
}

TEST(units, durations_have_three_digits_and_one_unit)
{
    static const struct {
        uint64_t ns;
        const char *want;
    } cases[] = {
        {0, "0 ns"},
        {999, "999 ns"},
        {1000, "1 us"},
        {1250000, "1.25 ms"},
        {12500000, "12.5 ms"},
        {999600, "1 ms"},
        {999600000, "1 s"},
        {59990000000, "60 s"},
        {125000000000, "2 m 05 s"},
        {12000000000000, "3 h 20 m"},
        {UINT64_MAX, "213503 d 23 h"},
    };
    struct sf_buf b = {0};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sf_units_duration(&b, cases[i].ns);
        expect(&b, cases[i].want);
    }
    sf_buf_done(&b);
}

TEST(units, bytes_counts_rates_and_shares)
{
    struct sf_buf b = {0};
    sf_units_bytes(&b, 1400);
    expect(&b, "1.4 KB");
    sf_units_bytes(&b, 999900);
    expect(&b, "1 MB");
    sf_units_count(&b, 12345);
    expect(&b, "12.3 k");
    sf_units_rate(&b, 0.2);
    expect(&b, "0.2/s");
    sf_units_rate(&b, 4.0 / 60);
    expect(&b, "4/min");
    sf_units_rate(&b, 4.0 / 3600);
    expect(&b, "4/h");
    sf_units_rate(&b, 0);
    expect(&b, "0/s");
    sf_units_percent(&b, 0.0312);
    expect(&b, "3.1 %");
    sf_units_percent(&b, 0);
    expect(&b, "0 %");
    sf_units_percent(&b, -0.0001);
    expect(&b, "0 %");
    sf_units_percent(&b, -0.0312);
    expect(&b, "-3.1 %");
    sf_units_percent(&b, -0.42);
    expect(&b, "-42 %");
    sf_buf_done(&b);
}

TEST(units, hostile_text_is_tamed_and_cut)
{
    struct sf_buf b = {0};
    assert_int_equal(sf_units_text(&b, SF_STR("a\033[31mb\xff"), 80), 8);
    expect(&b, "a?[31mb?");
    assert_int_equal(sf_units_text(&b, SF_STR("abcdefgh"), 5), 5);
    expect(&b, "abcd\xe2\x80\xa6");
    assert_int_equal(sf_units_text(&b,
                                   SF_STR("x\xe2\x80\xae"
                                          "evil"),
                                   80),
                     6);
    expect(&b, "x?evil");
    assert_int_equal(sf_units_text(&b, SF_STR("\033\033\033\033"), 2), 2);
    sf_buf_done(&b);
}

TEST(units, prose_is_broken_between_words)
{
    struct sf_buf b = {0};
    static const char word[] = "wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww"; /* 39 of 78 columns */
    char two[96], want[96];
    snprintf(two, sizeof(two), "%s %.38s", word, word);
    sf_units_prose(&b, sf_str_from(two), 0, 4);
    expect(&b, two);
    snprintf(want, sizeof(want), "%s\n    %.38s", word, word);
    assert_int_equal(sf_units_prose(&b, sf_str_from(two), 1, 4), 4 + 38);
    expect(&b, want);
    sf_units_prose(&b, SF_STR("a\033 b"), 0, 0);
    expect(&b, "a? b");
    sf_units_prose(&b, SF_STR_NONE, 0, 0);
    expect(&b, "");
    snprintf(two, sizeof(two), "%s%s%s", word, word, "w");
    sf_units_prose(&b, sf_str_from(two), 2, 2);
    expect(&b, two);
    sf_buf_done(&b);
}

/* A name with a line break would be a line of its own in a list. */
TEST(units, a_line_of_telemetry_is_one_line)
{
    struct sf_buf out = {0};
    sf_buf_print(&out, "first\n");
    size_t from = out.len;
    sf_buf_print(&out, "shop\nfiring forged\x1b[2J \xe2\x80\xae%c", 0xff);
    sf_units_end_line(&out, from);
    sf_buf_add_u8(&out, 0);
    assert_string_equal((const char *)out.p, "first\nshop?firing forged?[2J ??\n");
    sf_buf_done(&out);
}

#include "link/theme.h"

#include "test.h"

TEST(theme, knows_every_example_of_its_table)
{
    assert_true(sf_theme_n_rules > 60);
    for (uint32_t i = 0; i < sf_theme_n_rules; i++) {
        const struct sf_theme_rule *rule = &sf_theme_rules[i];
        struct sf_frame f = {.function = sf_str_from(rule->example)};
        if (sf_theme_of(&f) != rule->theme)
            fail_msg("%s: %s, not %s", rule->example, sf_theme_words(sf_theme_of(&f)),
                     sf_theme_words(rule->theme));
        for (const char *c = rule->text; *c; c++)
            if (*c >= 'A' && *c <= 'Z')
                fail_msg("%s: texts are in small letters", rule->text);
    }
}

TEST(theme, knows_what_reads)
{
    for (uint32_t i = 0; i < sf_parser_n_rules; i++) {
        const struct sf_parser_rule *rule = &sf_parser_rules[i];
        struct sf_frame f = {.function = sf_str_from(rule->example)};
        if (sf_theme_of_parser(&f) != rule->theme)
            fail_msg("%s: %s", rule->example, sf_theme_words(sf_theme_of_parser(&f)));
    }
    const char *names[] = {"json.dumps",
                           "encoding/json.Marshal",
                           "regexp.(*Regexp).doExecute",
                           "log.parse",
                           "parse",
                           ""};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct sf_frame f = {.function = sf_str_from(names[i])};
        if (sf_theme_of_parser(&f) != SF_THEME_NONE)
            fail_msg("%s: %s", names[i], sf_theme_words(sf_theme_of_parser(&f)));
    }
}

TEST(theme, leaves_ordinary_names_alone)
{
    const char *names[] = {"login",      "catalog.lookup", "main",    "remarks",
                           "logistics",  "encode",         "shape_1", "free_seats",
                           "regional_x", "Dialog.open",    ""};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct sf_frame f = {.function = sf_str_from(names[i])};
        if (sf_theme_of(&f) != SF_THEME_NONE)
            fail_msg("%s: %s", names[i], sf_theme_words(sf_theme_of(&f)));
    }
}

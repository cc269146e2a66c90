/* theme.c - recognises kinds of work by function names. */
#include "link/theme.h"

#include <string.h>

static char theme_fold(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_at(sf_str name, size_t at, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (theme_fold(name.p[at + i]) != text[i])
            return false;
    return true;
}

static bool theme_has(sf_str name, const char *text, enum sf_theme_fit fit)
{
    size_t len = strlen(text);
    if (name.len < len || (fit == SF_FIT_WHOLE && name.len != len))
        return false;
    for (size_t at = 0; at <= (fit == SF_FIT_ANY ? name.len - len : 0); at++)
        if (is_at(name, at, text, len))
            return true;
    return false;
}

enum sf_theme sf_theme_of(const struct sf_frame *frame)
{
    for (uint32_t i = 0; i < sf_theme_n_rules; i++)
        if (theme_has(frame->function, sf_theme_rules[i].text, sf_theme_rules[i].fit))
            return sf_theme_rules[i].theme;
    return SF_THEME_NONE;
}

enum sf_theme sf_theme_of_parser(const struct sf_frame *frame)
{
    enum sf_theme theme = sf_theme_of(frame);
    for (uint32_t i = 0; i < sf_parser_n_rules && theme != SF_THEME_NONE; i++)
        if (sf_parser_rules[i].theme == theme &&
            theme_has(frame->function, sf_parser_rules[i].text, SF_FIT_ANY))
            return theme;
    return SF_THEME_NONE;
}

const char *sf_theme_words(enum sf_theme theme)
{
    static const char *const words[SF_THEMES] = {"other work",    "pattern matching", "JSON",
                                                 "serialisation", "cryptography",     "logging",
                                                 "the allocator"};
    return words[theme];
}

/* theme.c - kinds of work people recognise by name. */
#include "link/theme.h"

#include <string.h>

static char fold(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_at(sf_str name, size_t at, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (fold(name.p[at + i]) != text[i])
            return false;
    return true;
}

static bool fits(const struct sf_theme_rule *rule, sf_str name)
{
    size_t len = strlen(rule->text);
    if (name.len < len)
        return false;
    for (size_t at = 0; at <= (rule->is_start ? 0 : name.len - len); at++)
        if (is_at(name, at, rule->text, len))
            return true;
    return false;
}

enum sf_theme sf_theme_of(const struct sf_frame *frame)
{
    for (uint32_t i = 0; i < sf_theme_n_rules; i++)
        if (fits(&sf_theme_rules[i], frame->function))
            return sf_theme_rules[i].theme;
    return SF_THEME_NONE;
}

const char *sf_theme_words(enum sf_theme theme)
{
    static const char *const words[SF_THEMES] = {"other work",    "pattern matching", "JSON",
                                                 "serialisation", "cryptography",     "logging",
                                                 "the allocator"};
    return words[theme];
}

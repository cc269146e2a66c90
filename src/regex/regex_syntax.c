#include "regex/regex_syntax.h"

#include <string.h>

#include "base/text.h"
#include "regex/regex.h"

enum sf_err sf_regex_syntax_refuse(sf_str pattern, size_t at, const char *what, struct sf_why *why)
{
    return sf_fail(why, SF_ERR_INPUT, "regular expression /%.*s/: %s at character %zu",
                   pattern.len > 80 ? 80 : (int)pattern.len, pattern.p, what, at + 1);
}

static bool regex_syntax_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "(?...": non-capturing groups, flags and names are allowed; other PCRE forms are not. */
static bool is_allowed_group(sf_str rest)
{
    size_t i = 0;
    if (rest.len && rest.p[0] == ':')
        return true;
    if (sf_str_starts(rest, SF_STR("P<")))
        return true;
    if (rest.len > 1 && rest.p[0] == '<')
        return rest.p[1] != '=' && rest.p[1] != '!';
    while (i < rest.len && (rest.p[i] == 'i' || rest.p[i] == 'm' || rest.p[i] == 's' ||
                            rest.p[i] == 'U' || rest.p[i] == '-'))
        i++;
    return i > 0 && i < rest.len && (rest.p[i] == ')' || rest.p[i] == ':');
}

/* Reads digits from *at on; a number too large for any repeat is limited. */
static int regex_syntax_read_number(sf_str p, size_t *at)
{
    int n = 0;
    for (; *at < p.len && regex_syntax_is_digit(p.p[*at]); ++*at)
        n = n > SF_REGEX_MAX_REPEAT ? n : n * 10 + (p.p[*at] - '0');
    return n;
}

size_t sf_regex_syntax_repeat_len(sf_str p, size_t at, int *out_min, int *out_max)
{
    size_t i = at + 1;
    int min, max;
    if (i >= p.len || !regex_syntax_is_digit(p.p[i]))
        return 0;
    min = max = regex_syntax_read_number(p, &i);
    if (i < p.len && p.p[i] == ',') {
        i++;
        max = i < p.len && regex_syntax_is_digit(p.p[i]) ? regex_syntax_read_number(p, &i)
                                                         : SF_REGEX_UNBOUNDED;
    }
    if (i >= p.len || p.p[i] != '}')
        return 0;
    *out_min = min;
    *out_max = max;
    return i + 1 - at;
}

static const char *check_escape(char c)
{
    if (c >= '1' && c <= '9')
        return "back-references are not allowed";
    /* Escapes that RE2 has; escaped punctuation stands for itself. */
    if (((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) && !strchr("abfnrtvxdDsSwWABzpPQ", c))
        return "this escape is not allowed";
    return NULL;
}

/* The end of a bracket class, or of the pattern if it is not closed (which PCRE2 reports). */
static size_t skip_class(sf_str p, size_t at, const char **out_fault)
{
    size_t i = at + 1;
    if (i < p.len && p.p[i] == '^')
        i++;
    if (i < p.len && p.p[i] == ']')
        i++;
    for (; i < p.len && p.p[i] != ']'; i++) {
        if (p.p[i] == '\\') {
            i++;
            if (i < p.len && (check_escape(p.p[i]) || strchr("AbBzQ", p.p[i])))
                *out_fault = "this escape is not allowed";
        } else if (p.p[i] == '[' && i + 1 < p.len && p.p[i + 1] == ':') {
            size_t end;
            if (sf_str_find(sf_str_from_at(p, i), SF_STR(":]"), &end))
                i += end + 1;
        }
    }
    return i + 1;
}

size_t sf_regex_syntax_class_len(sf_str p, size_t at)
{
    const char *fault;
    size_t end = skip_class(p, at, &fault);
    return (end < p.len ? end : p.len) - at;
}

static uint32_t regex_syntax_digits(sf_str p, size_t from, size_t to, uint32_t base)
{
    uint32_t n = 0;
    for (size_t i = from; i < to && n < 0x110000; i++)
        n = n * base +
            (uint32_t)(regex_syntax_is_digit(p.p[i]) ? p.p[i] - '0' : (p.p[i] | 32) - 'a' + 10);
    return n;
}

static bool regex_syntax_is_hex(char c)
{
    return regex_syntax_is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f');
}

/* "{...}" at `at`, or 0. */
static size_t braces_len(sf_str p, size_t at)
{
    size_t end;
    return at < p.len && p.p[at] == '{' && sf_str_find(sf_str_from_at(p, at), SF_STR("}"), &end)
               ? end + 1
               : 0;
}

size_t sf_regex_syntax_escape_len(sf_str p, size_t at, uint32_t *out_code)
{
    static const char names[] = "afnrtv", codes[] = "\a\f\n\r\t\v";
    size_t i = at + 2, braces = braces_len(p, i), len;
    char c = p.p[at + 1];
    const char *name = c ? strchr(names, c) : NULL;
    if (c == 'p' || c == 'P')
        return 2 + (braces ? braces : 1);
    if (c == 'x' && braces) {
        *out_code = regex_syntax_digits(p, i + 1, i + braces - 1, 16);
        return 2 + braces;
    }
    if (c == 'x') {
        for (len = 0; len < 2 && i + len < p.len && regex_syntax_is_hex(p.p[i + len]);)
            len++;
        *out_code = regex_syntax_digits(p, i, i + len, 16);
        return 2 + len;
    }
    if (c == '0') {
        for (len = 0; len < 2 && i + len < p.len && p.p[i + len] >= '0' && p.p[i + len] <= '7';)
            len++;
        *out_code = regex_syntax_digits(p, i, i + len, 8);
        return 2 + len;
    }
    if (name) {
        *out_code = (uint8_t)codes[name - names];
        return 2;
    }
    len = sf_utf8_char_len(sf_str_from_at(p, at + 1), out_code);
    return 1 + (len ? len : 1);
}

/* "\\Q...\\E", or to the end. */
static size_t quoted_len(sf_str p, size_t at)
{
    size_t end;
    return sf_str_find(sf_str_from_at(p, at + 2), SF_STR("\\E"), &end) ? end + 4 : p.len - at;
}

enum sf_err sf_regex_syntax_check(sf_str p, struct sf_why *why)
{
    size_t i = 0, depth = 0;
    bool was_repeat = false;

    if (p.len > SF_REGEX_MAX_LEN)
        return sf_fail(why, SF_ERR_LIMIT, "regular expression: longer than %d characters",
                       SF_REGEX_MAX_LEN);
    while (i < p.len) {
        size_t step = 1;
        bool is_repeat = false;
        int min = 0, max = 0;
        const char *fault = NULL;
        switch (p.p[i]) {
        case '\\':
            step = i + 1 < p.len && p.p[i + 1] == 'Q' ? quoted_len(p, i) : 2;
            fault = i + 1 < p.len ? check_escape(p.p[i + 1]) : "trailing backslash";
            break;
        case '[': step = skip_class(p, i, &fault) - i; break;
        case ')':
            /* Counted here, so that a pattern cannot close the group added around it. */
            if (depth-- == 0)
                return sf_regex_syntax_refuse(p, i, "unexpected )", why);
            break;
        case '(':
            depth++;
            if (i + 1 < p.len && p.p[i + 1] == '*')
                fault = "verbs are not allowed";
            else if (i + 1 < p.len && p.p[i + 1] == '?' &&
                     !is_allowed_group(sf_str_from_at(p, i + 2)))
                fault = "look-around and special groups are not allowed";
            else if (i + 1 < p.len && p.p[i + 1] == '?')
                step = 2;
            break;
        case '*':
        case '+':
        case '?': is_repeat = true; break;
        case '{':
            step = sf_regex_syntax_repeat_len(p, i, &min, &max);
            is_repeat = step > 0;
            step = step ? step : 1;
            if (min > SF_REGEX_MAX_REPEAT || max > SF_REGEX_MAX_REPEAT)
                fault = "repeats go up to 1,000";
            break;
        default: break;
        }
        if (!fault && is_repeat && i + step < p.len && p.p[i + step] == '+')
            fault = "possessive repeats are not allowed";
        if (!fault && is_repeat && was_repeat)
            fault = "a repeat of a repeat needs parentheses";
        was_repeat = is_repeat;
        if (fault)
            return sf_regex_syntax_refuse(p, i, fault, why);
        if (is_repeat && i + step < p.len && p.p[i + step] == '?')
            step++; /* lazy */
        i += step;
    }
    return depth ? sf_regex_syntax_refuse(p, p.len, "missing )", why) : SF_OK;
}

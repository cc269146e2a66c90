#include "decode/jfr/jfr_name.h"

#include <string.h>

static bool jfr_name_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool jfr_name_is_name_char(char c)
{
    return jfr_name_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Number of characters after `at` that a code generator has made up; its mark ends at `at`. */
static size_t made_up(sf_str s, size_t at, bool is_lambda)
{
    size_t i = at;
    if (!is_lambda) {
        while (i < s.len && jfr_name_is_digit(s.p[i]))
            i++;
        return i - at;
    }
    /* $123, .0x..., /0x..., +0x.../456 */
    while (i < s.len && (s.p[i] == '$' || s.p[i] == '.' || s.p[i] == '/' || s.p[i] == '+' ||
                         jfr_name_is_digit(s.p[i]))) {
        size_t start = i++;
        if (i + 1 < s.len && s.p[i] == '0' && s.p[i + 1] == 'x')
            i += 2;
        else if (!jfr_name_is_digit(s.p[start]) && (i == s.len || !jfr_name_is_digit(s.p[i])))
            return start - at; /* a class inside the lambda's */
        while (i < s.len && (jfr_name_is_digit(s.p[i]) || (s.p[i] >= 'a' && s.p[i] <= 'f')))
            i++;
    }
    return i - at;
}

/* "$$EnhancerBySpringCGLIB$$1a2b3c": the part after the second "$$". */
static size_t made_up_hex(sf_str s, size_t at)
{
    size_t i = at;
    while (i < s.len && jfr_name_is_name_char(s.p[i]))
        i++;
    if (i + 1 >= s.len || s.p[i] != '$' || s.p[i + 1] != '$')
        return 0;
    for (i += 2; i < s.len && jfr_name_is_name_char(s.p[i]);)
        i++;
    return i - at;
}

static const struct mark {
    const char *text;
    bool is_lambda, is_hex;
} marks[] = {
    {"$$Lambda", true, false},
    {"GeneratedMethodAccessor", false, false},
    {"GeneratedConstructorAccessor", false, false},
    {"GeneratedSerializationConstructorAccessor", false, false},
    {"$Proxy", false, false},
    {"$$EnhancerBy", false, true},
    {"$$FastClassBy", false, true},
};

static size_t jfr_name_mark_at(sf_str s, size_t at, const struct mark **out)
{
    if (s.p[at] != '$' && s.p[at] != 'G')
        return 0;
    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
        sf_str text = sf_str_from(marks[i].text);
        if (sf_str_starts(sf_str_from_at(s, at), text)) {
            *out = &marks[i];
            return text.len;
        }
    }
    return 0;
}

size_t sf_jfr_name_of_class(sf_str in, bool has_dots, char *out)
{
    const struct mark *mark = NULL;
    size_t len = 0;
    for (size_t i = 0; i < in.len;) {
        size_t n = jfr_name_mark_at(in, i, &mark);
        if (!n) {
            char ch = in.p[i++];
            out[len++] = has_dots && ch == '/' ? '.' : ch;
            continue;
        }
        memcpy(out + len, in.p + i, n);
        len += n;
        i += n;
        if (mark->is_hex) { /* keep the generator's name, remove the number */
            size_t cut = made_up_hex(in, i), from = i;
            while (i < from + cut && in.p[i] != '$')
                out[len++] = in.p[i++];
            i = from + cut;
        } else {
            i += made_up(in, i, mark->is_lambda);
        }
    }
    return len;
}

size_t sf_jfr_name_of_library(sf_str in, char *out)
{
    sf_str deleted = SF_STR(" (deleted)"), so = SF_STR(".so");
    size_t end, dot;
    if (sf_str_ends(in, deleted))
        in.len -= deleted.len;
    if (!sf_str_ends(in, so) || in.len == so.len) {
        memcpy(out, in.p, in.len);
        return in.len;
    }
    dot = end = in.len - so.len;
    while (end && jfr_name_is_digit(in.p[end - 1]))
        end--;
    /* Long numbers are random, short ones are versions; under /tmp all are random. */
    if (dot - end < 6 && !sf_str_starts(in, SF_STR("/tmp/")))
        end = dot;
    else if (end && in.p[end - 1] == '-')
        end--;
    memcpy(out, in.p, end);
    memcpy(out + end, so.p, so.len);
    return end + so.len;
}

#include "query/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

#include "base/buf.h"
#include "base/heap.h"

enum { MAX_PATTERN_LEN = 16 * 1024, MAX_REPEAT = 1000, MATCH_LIMIT = 200000, DFA_WORKSPACE = 4096 };

struct sf_regex {
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *limits;
    int *workspace; /* of the DFA matcher; made when it is first needed */
};

/* ---- is it RE2? ---- */

struct scan {
    sf_str s;
    size_t at;
    struct sf_why *why;
};

static enum sf_err refuse(const struct scan *c, size_t at, const char *what)
{
    return sf_fail(c->why, SF_ERR_INPUT, "%s at character %zu", what, at + 1);
}

static char at(const struct scan *c, size_t ahead)
{
    return c->s.len - c->at > ahead ? c->s.p[c->at + ahead] : 0;
}

static bool is_octal(char d)
{
    return d >= '0' && d <= '7';
}

static enum sf_err scan_escape(struct scan *c)
{
    size_t start = c->at;
    char e = at(c, 1);
    if (c->at + 1 >= c->s.len)
        return refuse(c, start, "trailing backslash");
    if (e == 'Q') { /* literal text up to \E */
        size_t end;
        sf_str rest = sf_str_from_at(c->s, c->at + 2);
        c->at = sf_str_find(rest, SF_STR("\\E"), &end) ? c->at + 2 + end + 2 : c->s.len;
        return SF_OK;
    }
    if (e >= '1' && e <= '9' && !(is_octal(e) && is_octal(at(c, 2))))
        return refuse(c, start, "back-references are not supported");
    if (((e >= 'a' && e <= 'z') || (e >= 'A' && e <= 'Z')) && !strchr("abfnrtvxdDsSwWABzpP", e))
        return refuse(c, start, "unknown escape sequence");
    c->at += 2;
    return SF_OK;
}

static enum sf_err scan_class(struct scan *c)
{
    size_t start = c->at++;
    c->at += at(c, 0) == '^';
    c->at += at(c, 0) == ']'; /* first, it is a member */
    while (c->at < c->s.len) {
        char k = at(c, 0);
        if (k == ']') {
            c->at++;
            return SF_OK;
        }
        if (k == '[' && at(c, 1) == ':') {
            size_t end;
            if (sf_str_find(sf_str_from_at(c->s, c->at), SF_STR(":]"), &end)) {
                c->at += end + 2;
                continue;
            }
        }
        if (k == '\\') {
            enum sf_err err = scan_escape(c);
            if (err)
                return err;
            continue;
        }
        c->at++;
    }
    return refuse(c, start, "missing ]");
}

/* After "(?": groups, names and flags that RE2 has. */
static enum sf_err scan_group(struct scan *c)
{
    size_t start = c->at;
    c->at += 2;
    if (at(c, 0) == 'P' && at(c, 1) == '<')
        c->at += 2;
    else if (at(c, 0) == '<' && at(c, 1) != '=' && at(c, 1) != '!')
        c->at += 1;
    else {
        while (at(c, 0) && strchr("imsU-", at(c, 0)))
            c->at++;
        if (at(c, 0) != ':' && at(c, 0) != ')')
            return refuse(c, start, "look-around and other extensions are not supported: (?");
        c->at += at(c, 0) == ':'; /* a ')' is seen by the caller */
    }
    return SF_OK;
}

static bool read_count(struct scan *c, unsigned *out)
{
    unsigned n = 0;
    size_t start = c->at;
    while (at(c, 0) >= '0' && at(c, 0) <= '9') {
        n = n > MAX_REPEAT ? n : n * 10 + (unsigned)(at(c, 0) - '0');
        c->at++;
    }
    *out = n;
    return c->at > start;
}

/* "{n}", "{n,}", "{n,m}" is a repeat; any other brace is itself. */
static bool scan_braces(struct scan *c, bool *out_too_many)
{
    size_t start = c->at++;
    unsigned low, high;
    *out_too_many = false;
    if (!read_count(c, &low)) {
        c->at = start + 1;
        return false;
    }
    high = low;
    if (at(c, 0) == ',') {
        c->at++;
        if (!read_count(c, &high))
            high = low;
    }
    if (at(c, 0) != '}') {
        c->at = start + 1;
        return false;
    }
    c->at++;
    *out_too_many = low > MAX_REPEAT || high > MAX_REPEAT;
    return true;
}

static enum sf_err scan_repeat(struct scan *c, bool *out_is_repeat)
{
    size_t start = c->at;
    bool is_too_many = false;
    char k = at(c, 0);
    *out_is_repeat = true;
    if (k == '{')
        *out_is_repeat = scan_braces(c, &is_too_many);
    else
        c->at++;
    if (is_too_many)
        return refuse(c, start, "repeat of more than 1000");
    if (*out_is_repeat) {
        c->at += at(c, 0) == '?'; /* ungreedy */
        if (at(c, 0) == '+' || at(c, 0) == '*' || at(c, 0) == '?')
            return refuse(c, c->at, "bad repetition operator");
    }
    return SF_OK;
}

enum sf_err sf_regex_check(sf_str pattern, struct sf_why *why)
{
    struct scan c = {.s = pattern, .why = why};
    size_t depth = 0;
    if (pattern.len > MAX_PATTERN_LEN)
        return sf_fail(why, SF_ERR_INPUT, "pattern of %zu bytes, at most %d are allowed",
                       pattern.len, MAX_PATTERN_LEN);
    while (c.at < c.s.len) {
        enum sf_err err = SF_OK;
        char k = at(&c, 0);
        bool is_repeat;
        depth += k == '(';
        if (k == ')' && depth-- == 0)
            return refuse(&c, c.at, "unexpected )");
        if (k == '\\')
            err = scan_escape(&c);
        else if (k == '[')
            err = scan_class(&c);
        else if (k == '(' && at(&c, 1) == '?')
            err = scan_group(&c);
        else if (k == '(' && at(&c, 1) == '*')
            err = refuse(&c, c.at, "missing argument to repetition operator");
        else if (k == '*' || k == '+' || k == '?' || k == '{')
            err = scan_repeat(&c, &is_repeat);
        else
            c.at++;
        if (err)
            return err;
    }
    return depth ? refuse(&c, c.s.len, "missing )") : SF_OK;
}

/* ---- matching ---- */

void sf_regex_free(struct sf_regex *re)
{
    if (!re)
        return;
    pcre2_match_data_free(re->data);
    pcre2_match_context_free(re->limits);
    pcre2_code_free(re->code);
    sf_heap_free(re->workspace);
    sf_heap_free(re);
}

static enum sf_err compile(sf_str pattern, struct sf_regex *re, struct sf_why *why)
{
    struct sf_buf anchored = {0};
    int code = 0;
    PCRE2_SIZE off = 0;
    /* The check has counted the parentheses: nothing in the pattern can close this group early. */
    sf_buf_add_str(&anchored, SF_STR("\\A(?:"));
    sf_buf_add_str(&anchored, pattern);
    sf_buf_add_str(&anchored, SF_STR(")\\z"));
    if (sf_buf_ok(&anchored))
        re->code = pcre2_compile(anchored.p, anchored.len,
                                 PCRE2_DOLLAR_ENDONLY | PCRE2_DOTALL | PCRE2_UTF |
                                     PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C |
                                     PCRE2_NO_AUTO_CAPTURE,
                                 &code, &off, NULL);
    sf_buf_done(&anchored);
    if (!re->code) {
        PCRE2_UCHAR words[128] = "no memory";
        if (code)
            pcre2_get_error_message(code, words, sizeof(words));
        return sf_fail(why, SF_ERR_INPUT, "%s at character %zu", (char *)words,
                       off > 5 ? off - 4 : 1);
    }
    (void)pcre2_jit_compile(re->code, PCRE2_JIT_COMPLETE); /* without it matching is only slower */
    re->data = pcre2_match_data_create(1, NULL);
    re->limits = pcre2_match_context_create(NULL);
    if (!re->data || !re->limits)
        return sf_fail(why, SF_ERR_NOMEM, "no memory for the pattern");
    pcre2_set_match_limit(re->limits, MATCH_LIMIT);
    pcre2_set_heap_limit(re->limits, 4096); /* KiB */
    return SF_OK;
}

enum sf_err sf_regex_new(sf_str pattern, struct sf_regex **out, struct sf_why *why)
{
    struct sf_regex *re;
    enum sf_err err = sf_regex_check(pattern, why);
    if (err)
        return err;
    re = sf_heap_new(sizeof(*re));
    if (!re)
        return sf_fail(why, SF_ERR_NOMEM, "no memory for the pattern");
    err = compile(pattern, re, why);
    if (err) {
        sf_regex_free(re);
        return err;
    }
    *out = re;
    return SF_OK;
}

static bool is_over_limit(int code)
{
    return code == PCRE2_ERROR_MATCHLIMIT || code == PCRE2_ERROR_DEPTHLIMIT ||
           code == PCRE2_ERROR_HEAPLIMIT || code == PCRE2_ERROR_JIT_STACKLIMIT;
}

enum sf_err sf_regex_match(struct sf_regex *re, sf_str text, bool *out, struct sf_why *why)
{
    PCRE2_SPTR subject = (PCRE2_SPTR)(text.p ? text.p : "");
    int code = pcre2_match(re->code, subject, text.len, 0, 0, re->data, re->limits);
    if (is_over_limit(code)) {
        if (!re->workspace)
            re->workspace = sf_heap_new_n(DFA_WORKSPACE, sizeof(int));
        if (!re->workspace)
            return sf_fail(why, SF_ERR_NOMEM, "no memory to match the pattern");
        code = pcre2_dfa_match(re->code, subject, text.len, 0, 0, re->data, re->limits,
                               re->workspace, DFA_WORKSPACE);
    }
    if (code >= 0) {
        *out = true;
        return SF_OK;
    }
    if (code == PCRE2_ERROR_NOMATCH) {
        *out = false;
        return SF_OK;
    }
    return sf_fail(why, SF_ERR_LIMIT,
                   "the pattern takes too long on a value of %zu bytes; simplify it", text.len);
}

#define PCRE2_CODE_UNIT_WIDTH 8
#include "wire/regex.h"

#include <pcre2.h>
#include <string.h>

#include "base/buf.h"
#include "base/heap.h"
#include "base/text.h"

enum {
    MAX_PATTERN_LEN = 16 * 1024,
    MAX_REPEAT = 1000,
    MATCH_LIMIT = 100000,
    HEAP_LIMIT_KIB = 1024,
    DFA_WORKSPACE = 4096 /* integers */
};

struct sf_regex {
    pcre2_code *code;
    struct sf_regex *dfa; /* of whole patterns: without MATCH_INVALID_UTF, which DFA refuses */
};

struct sf_regex_scratch {
    pcre2_match_data *data;
    pcre2_match_context *context;
    int *workspace; /* of the DFA matcher; made when it is first needed */
};

static void *take_memory(size_t len, void *arg)
{
    (void)arg;
    return sf_heap_new(len);
}

static void give_memory(void *p, void *arg)
{
    (void)arg;
    sf_heap_free(p);
}

/* ---- what RE2 would not take ---- */

static enum sf_err refuse(struct sf_why *why, sf_str pattern, size_t at, const char *what)
{
    return sf_fail(why, SF_ERR_INPUT, "regular expression /%.*s/: %s at character %zu",
                   pattern.len > 80 ? 80 : (int)pattern.len, pattern.p, what, at + 1);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "(?...": groups without capture, flags and names pass; everything else of PCRE does not. */
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

/* Digits from *at on; stays at a number too large for any repeat. */
static uint64_t read_number(sf_str p, size_t *at)
{
    uint64_t n = 0;
    for (; *at < p.len && is_digit(p.p[*at]); ++*at)
        n = n > MAX_REPEAT ? n : n * 10 + (uint64_t)(p.p[*at] - '0');
    return n;
}

/* The length of "{n}", "{n,}" or "{n,m}" at `at`; 0: a brace that means itself. */
static size_t read_repeat(sf_str p, size_t at, uint64_t *most)
{
    size_t i = at + 1;
    uint64_t n, m = 0;
    if (i >= p.len || !is_digit(p.p[i]))
        return 0;
    n = read_number(p, &i);
    if (i < p.len && p.p[i] == ',') {
        i++;
        m = read_number(p, &i);
    }
    if (i >= p.len || p.p[i] != '}')
        return 0;
    *most = n > m ? n : m;
    return i + 1 - at;
}

static const char *check_escape(char c)
{
    if (c >= '1' && c <= '9')
        return "back-references are not allowed";
    /* What RE2 knows; any punctuation stands for itself. */
    if (((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) && !strchr("abfnrtvxdDsSwWABzpPQE", c))
        return "this escape is not allowed";
    return NULL;
}

/* Past a bracket class, or to the end when it is not closed (PCRE2 says so then). */
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
            if (i < p.len && check_escape(p.p[i]))
                *out_fault = "this escape is not allowed";
        } else if (p.p[i] == '[' && i + 1 < p.len && p.p[i + 1] == ':') {
            size_t end;
            if (sf_str_find(sf_str_from_at(p, i), SF_STR(":]"), &end))
                i += end + 1;
        }
    }
    return i + 1;
}

/* "\\Q...\\E", or to the end. */
static size_t quoted_len(sf_str p, size_t at)
{
    size_t end;
    return sf_str_find(sf_str_from_at(p, at + 2), SF_STR("\\E"), &end) ? end + 4 : p.len - at;
}

enum sf_err sf_regex_check(sf_str p, struct sf_why *why)
{
    size_t i = 0, depth = 0;

    if (p.len > MAX_PATTERN_LEN)
        return sf_fail(why, SF_ERR_LIMIT, "regular expression: longer than %d characters",
                       MAX_PATTERN_LEN);
    while (i < p.len) {
        size_t step = 1;
        bool is_repeat = false;
        uint64_t most = 0;
        const char *fault = NULL;
        switch (p.p[i]) {
        case '\\':
            step = i + 1 < p.len && p.p[i + 1] == 'Q' ? quoted_len(p, i) : 2;
            fault = i + 1 < p.len ? check_escape(p.p[i + 1]) : "trailing backslash";
            break;
        case '[': step = skip_class(p, i, &fault) - i; break;
        case ')':
            /* Counted here, so that a pattern cannot close a group put around it. */
            if (depth-- == 0)
                return refuse(why, p, i, "unexpected )");
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
            step = read_repeat(p, i, &most);
            is_repeat = step > 0;
            step = step ? step : 1;
            if (most > MAX_REPEAT)
                fault = "repeats go up to 1,000";
            break;
        default: break;
        }
        if (!fault && is_repeat && i + step < p.len && p.p[i + step] == '+')
            fault = "possessive repeats are not allowed";
        if (fault)
            return refuse(why, p, i, fault);
        if (is_repeat && i + step < p.len && p.p[i + step] == '?')
            step++; /* lazy */
        i += step;
    }
    return depth ? refuse(why, p, p.len, "missing )") : SF_OK;
}

/* ---- PCRE2 ---- */

/* Asks PCRE2 for machine code too. */
enum { FAST = 1 };

static enum sf_err compile(sf_str pattern, sf_str shown, uint32_t options, int speed,
                           struct sf_regex **out, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    pcre2_compile_context *context = NULL;
    pcre2_code *code = NULL;
    PCRE2_SIZE fault_at = 0;
    int code_number = 0;
    struct sf_regex *re = sf_heap_new(sizeof(*re));
    pcre2_general_context *general = pcre2_general_context_create(take_memory, give_memory, NULL);

    context = general ? pcre2_compile_context_create(general) : NULL;
    if (re && context) {
        pcre2_set_parens_nest_limit(context, 100);
        code = pcre2_compile((PCRE2_SPTR)(pattern.p ? pattern.p : ""), pattern.len,
                             options | PCRE2_NEVER_BACKSLASH_C | PCRE2_NEVER_UCP, &code_number,
                             &fault_at, context);
    }
    if (code) {
        if (speed == FAST)
            pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* without it slower, not wrong */
        re->code = code;
        *out = re;
        re = NULL;
    } else if (!re || !context || code_number == 121 /* no memory for the code */) {
        err = sf_fail(why, SF_ERR_NOMEM, "regular expression: no memory");
    } else {
        PCRE2_UCHAR text[96] = "malformed";
        size_t lead = pattern.len - shown.len > 3 ? 5 : 0; /* what was put in front */
        pcre2_get_error_message(code_number, text, sizeof(text));
        fault_at = fault_at > lead ? fault_at - lead : 0;
        err = refuse(why, shown, fault_at < shown.len ? fault_at : shown.len, (const char *)text);
    }
    sf_heap_free(re);
    pcre2_compile_context_free(context);
    pcre2_general_context_free(general);
    return err;
}

enum sf_err sf_regex_new(sf_str pattern, bool is_caseless, struct sf_regex **out,
                         struct sf_why *why)
{
    enum sf_err err = sf_regex_check(pattern, why);
    if (err)
        return err;
    return compile(pattern, pattern, (is_caseless ? PCRE2_CASELESS : 0) | PCRE2_NEVER_UTF, FAST,
                   out, why);
}

static const uint32_t whole = PCRE2_DOLLAR_ENDONLY | PCRE2_DOTALL | PCRE2_UTF |
                              PCRE2_NO_AUTO_CAPTURE;

/* By itself, not inside what anchors it: a class left open would swallow that, and the fault be
 * told of a text nobody wrote. */
enum sf_err sf_regex_check_whole(sf_str pattern, struct sf_why *why)
{
    struct sf_regex *re = NULL;
    enum sf_err err = sf_regex_check(pattern, why);
    if (!err)
        err = compile(pattern, pattern, whole, 0, &re, why);
    sf_regex_free(re);
    return err;
}

enum sf_err sf_regex_new_whole(sf_str pattern, struct sf_regex **out, struct sf_why *why)
{
    struct sf_buf anchored = {0};
    struct sf_regex *re = NULL;
    enum sf_err err = sf_regex_check_whole(pattern, why);
    if (err)
        return err;
    sf_buf_add_str(&anchored, SF_STR("\\A(?:"));
    sf_buf_add_str(&anchored, pattern);
    sf_buf_add_str(&anchored, SF_STR(")\\z"));
    if (!sf_buf_ok(&anchored))
        err = sf_fail(why, SF_ERR_NOMEM, "regular expression: no memory");
    if (!err)
        err = compile(sf_buf_str(&anchored), pattern, whole | PCRE2_MATCH_INVALID_UTF, FAST, &re,
                      why);
    if (!err)
        err = compile(sf_buf_str(&anchored), pattern, whole, 0, &re->dfa, why);
    if (!err) {
        *out = re;
        re = NULL;
    }
    sf_regex_free(re);
    sf_buf_done(&anchored);
    return err;
}

void sf_regex_free(struct sf_regex *re)
{
    if (re) {
        sf_regex_free(re->dfa);
        pcre2_code_free(re->code);
        sf_heap_free(re);
    }
}

struct sf_regex_scratch *sf_regex_scratch_new(void)
{
    struct sf_regex_scratch *s = sf_heap_new(sizeof(*s));
    pcre2_general_context *general = pcre2_general_context_create(take_memory, give_memory, NULL);

    if (s && general) {
        s->data = pcre2_match_data_create(1, general);
        s->context = pcre2_match_context_create(general);
    }
    pcre2_general_context_free(general);
    if (s && (!s->data || !s->context)) {
        sf_regex_scratch_free(s);
        return NULL;
    }
    if (s) {
        pcre2_set_match_limit(s->context, MATCH_LIMIT);
        pcre2_set_heap_limit(s->context, HEAP_LIMIT_KIB);
    }
    return s;
}

void sf_regex_scratch_free(struct sf_regex_scratch *s)
{
    if (s) {
        pcre2_match_data_free(s->data);
        pcre2_match_context_free(s->context);
        sf_heap_free(s->workspace);
        sf_heap_free(s);
    }
}

enum sf_regex_result sf_regex_find(const struct sf_regex *re, sf_str text, size_t from,
                                   struct sf_regex_scratch *scratch, size_t *out_at,
                                   size_t *out_end)
{
    PCRE2_SIZE *bounds;
    int found = pcre2_match(re->code, (PCRE2_SPTR)(text.p ? text.p : ""), text.len, from, 0,
                            scratch->data, scratch->context);
    if (found == PCRE2_ERROR_NOMATCH)
        return SF_REGEX_NONE;
    if (found < 0)
        return SF_REGEX_GAVE_UP;
    bounds = pcre2_get_ovector_pointer(scratch->data);
    *out_at = bounds[0];
    *out_end = bounds[1];
    return SF_REGEX_FOUND;
}

static bool is_at_bound(int code)
{
    return code == PCRE2_ERROR_MATCHLIMIT || code == PCRE2_ERROR_DEPTHLIMIT ||
           code == PCRE2_ERROR_HEAPLIMIT || code == PCRE2_ERROR_JIT_STACKLIMIT;
}

enum sf_regex_result sf_regex_match(const struct sf_regex *re, sf_str text,
                                    struct sf_regex_scratch *scratch)
{
    PCRE2_SPTR subject = (PCRE2_SPTR)(text.p ? text.p : "");
    int found = pcre2_match(re->code, subject, text.len, 0, 0, scratch->data, scratch->context);
    if (is_at_bound(found)) {
        if (!scratch->workspace)
            scratch->workspace = sf_heap_new_n(DFA_WORKSPACE, sizeof(int));
        if (!scratch->workspace || !sf_utf8_is_valid(text))
            return SF_REGEX_GAVE_UP;
        found = pcre2_dfa_match(re->dfa->code, subject, text.len, 0, 0, scratch->data,
                                scratch->context, scratch->workspace, DFA_WORKSPACE);
    }
    if (found == PCRE2_ERROR_NOMATCH)
        return SF_REGEX_NONE;
    return found >= 0 ? SF_REGEX_FOUND : SF_REGEX_GAVE_UP;
}

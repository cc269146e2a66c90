/* regex.c - regular expressions on PCRE2 with bounded cost. A pattern is checked against RE2's
 * syntax, compiled with JIT, and matched with a step limit; a pattern that once hits the limit is
 * matched by the linear-time program from then on. Long lists of plain words are looked up instead.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "regex/regex.h"

#include <pcre2.h>
#include <stdatomic.h>
#include <string.h>

#include "base/buf.h"
#include "base/heap.h"
#include "base/text.h"
#include "regex/regex_literal.h"
#include "regex/regex_program.h"
#include "regex/regex_syntax.h"
#include "regex/regex_tree.h"
#include "regex/word_list.h"

enum { MATCH_LIMIT = 100000, HEAP_LIMIT_KIB = 1024 };

struct sf_regex {
    pcre2_code *code;
    struct sf_word_list *words; /* for long lists of words: used instead of code */
    sf_str pattern;             /* for whole-text patterns: source of the linear-time program */
    struct sf_buf literal;      /* for whole-text patterns: text that every match contains */
    bool is_literal;            /* and it is the only condition */
    uint64_t number;
};

struct slow { /* a pattern that once reached the limit: from then on matched by the linear-time
               * program */
    uint64_t number;
    struct sf_regex_program *program;
    struct slow *next;
};

struct sf_regex_scratch {
    pcre2_match_data *data;
    pcre2_match_context *context;
    struct slow *slow;
    bool (*goes_on)(void *arg);
    void *goes_on_arg;
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

/* ---- PCRE2 ---- */

/* Compile to machine code too. */
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
            pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* on failure matching is slower, but
                                                          * correct */
        re->code = code;
        *out = re;
        re = NULL;
    } else if (!re || !context || code_number == 121 /* no memory for the code */) {
        err = sf_fail(why, SF_ERR_NOMEM, "regular expression: no memory");
    } else {
        PCRE2_UCHAR text[96] = "malformed";
        size_t lead = pattern.len - shown.len > 3 ? 5 : 0; /* length of the prefix that was added */
        pcre2_get_error_message(code_number, text, sizeof(text));
        fault_at = fault_at > lead ? fault_at - lead : 0;
        err = sf_regex_syntax_refuse(shown, fault_at < shown.len ? fault_at : shown.len,
                                     (const char *)text, why);
    }
    sf_heap_free(re);
    pcre2_compile_context_free(context);
    pcre2_general_context_free(general);
    return err;
}

enum sf_err sf_regex_new(sf_str pattern, bool is_caseless, struct sf_regex **out,
                         struct sf_why *why)
{
    enum sf_err err = sf_regex_syntax_check(pattern, why);
    if (err)
        return err;
    return compile(pattern, pattern, (is_caseless ? PCRE2_CASELESS : 0) | PCRE2_NEVER_UTF, FAST,
                   out, why);
}

static const uint32_t whole = PCRE2_DOLLAR_ENDONLY | PCRE2_DOTALL | PCRE2_UTF |
                              PCRE2_NO_AUTO_CAPTURE | PCRE2_ALT_CIRCUMFLEX;

/* RE2's limits on nested repeats; PCRE2 would expand them. */
static enum sf_err check_size(sf_str pattern, struct sf_why *why)
{
    struct sf_regex_tree tree;
    const char *fault;
    if (sf_regex_tree_make(pattern, &tree))
        return sf_fail(why, SF_ERR_NOMEM, "regular expression: no memory");
    fault = sf_regex_tree_check(&tree);
    sf_regex_tree_done(&tree);
    return fault ? sf_fail(why, SF_ERR_INPUT, "regular expression /%.*s/: %s",
                           pattern.len > 80 ? 80 : (int)pattern.len, pattern.p, fault)
                 : SF_OK;
}

/* Longer than a pattern may be, but only words. */
static bool is_long_list(sf_str pattern)
{
    return pattern.len > SF_REGEX_MAX_LEN && sf_word_list_is(pattern);
}

/* Compiled alone, without the added anchors: an unterminated class would include the anchor, and
 * the error would refer to text that is not in the pattern. */
enum sf_err sf_regex_check_whole(sf_str pattern, struct sf_why *why)
{
    struct sf_regex *re = NULL;
    if (is_long_list(pattern))
        return SF_OK;
    enum sf_err err = sf_regex_syntax_check(pattern, why);
    if (!err)
        err = compile(pattern, pattern, whole, 0, &re, why);
    if (!err)
        err = check_size(pattern, why);
    sf_regex_free(re);
    return err;
}

static bool keep_pattern(struct sf_regex *re, sf_str pattern)
{
    static atomic_uint_fast64_t n_made;
    char *copy = sf_heap_new(pattern.len + 1);
    if (!copy)
        return false;
    if (pattern.len)
        memcpy(copy, pattern.p, pattern.len);
    re->pattern = (sf_str){copy, pattern.len};
    re->number = atomic_fetch_add(&n_made, 1) + 1;
    return true;
}

static enum sf_err new_list(sf_str pattern, struct sf_regex **out, struct sf_why *why)
{
    struct sf_regex *re = sf_heap_new(sizeof(*re));
    if (re)
        re->words = sf_word_list_new(pattern);
    if (!re || !re->words) {
        sf_heap_free(re);
        return sf_fail(why, SF_ERR_NOMEM, "regular expression: no memory");
    }
    *out = re;
    return SF_OK;
}

static enum sf_err new_anchored(sf_str pattern, uint32_t options, struct sf_regex **out,
                                struct sf_why *why)
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
        err = compile(sf_buf_str(&anchored), pattern, options, FAST, &re, why);
    if (!err && !keep_pattern(re, pattern))
        err = sf_fail(why, SF_ERR_NOMEM, "regular expression: no memory");
    if (!err) {
        *out = re;
        re = NULL;
    }
    sf_regex_free(re);
    sf_buf_done(&anchored);
    return err;
}

enum sf_err sf_regex_new_whole(sf_str pattern, struct sf_regex **out, struct sf_why *why)
{
    enum sf_err err;
    if (is_long_list(pattern))
        return new_list(pattern, out, why);
    err = new_anchored(pattern, whole, out, why);
    if (!err)
        sf_regex_literal(pattern, &(*out)->literal, &(*out)->is_literal);
    return err;
}

sf_str sf_regex_needs(const struct sf_regex *re)
{
    return sf_buf_str(&re->literal);
}

enum sf_err sf_regex_new_grouped(sf_str pattern, struct sf_regex **out, struct sf_why *why)
{
    if (pattern.len > SF_REGEX_MAX_LEN)
        return sf_fail(why, SF_ERR_LIMIT, "regular expression: longer than %d bytes",
                       SF_REGEX_MAX_LEN);
    return new_anchored(pattern, whole & ~PCRE2_NO_AUTO_CAPTURE, out, why);
}

void sf_regex_free(struct sf_regex *re)
{
    if (re) {
        pcre2_code_free(re->code);
        sf_word_list_free(re->words);
        sf_buf_done(&re->literal);
        sf_heap_free((void *)(uintptr_t)re->pattern.p);
        sf_heap_free(re);
    }
}

struct sf_regex_scratch *sf_regex_scratch_new(void)
{
    struct sf_regex_scratch *s = sf_heap_new(sizeof(*s));
    pcre2_general_context *general = pcre2_general_context_create(take_memory, give_memory, NULL);

    if (s && general) {
        s->data = pcre2_match_data_create(SF_REGEX_GROUPS, general);
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
        for (struct slow *one = s->slow, *next; one; one = next) {
            next = one->next;
            sf_regex_program_free(one->program);
            sf_heap_free(one);
        }
        pcre2_match_data_free(s->data);
        pcre2_match_context_free(s->context);
        sf_heap_free(s);
    }
}

void sf_regex_scratch_watch(struct sf_regex_scratch *s, bool (*goes_on)(void *arg), void *arg)
{
    s->goes_on = goes_on;
    s->goes_on_arg = arg;
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

static const struct slow *find_slow(const struct sf_regex_scratch *s, const struct sf_regex *re)
{
    const struct slow *one = s->slow;
    while (one && one->number != re->number)
        one = one->next;
    return one;
}

static const struct slow *add_slow(struct sf_regex_scratch *s, const struct sf_regex *re)
{
    struct slow *one = sf_heap_new(sizeof(*one));
    if (!one)
        return NULL;
    one->number = re->number;
    one->program = sf_regex_program_new(re->pattern);
    if (!one->program) {
        sf_heap_free(one);
        return NULL;
    }
    one->next = s->slow;
    s->slow = one;
    return one;
}

static enum sf_regex_result regex_walk(const struct slow *slow, sf_str text,
                                       const struct sf_regex_scratch *s)
{
    static const enum sf_regex_result results[] = {[SF_REGEX_WALK_NONE] = SF_REGEX_NONE,
                                                   [SF_REGEX_WALK_FOUND] = SF_REGEX_FOUND,
                                                   [SF_REGEX_WALK_STOPPED] = SF_REGEX_GAVE_UP};
    return results[sf_regex_program_walk(slow->program, text, s->goes_on, s->goes_on_arg)];
}

enum sf_regex_result sf_regex_match(const struct sf_regex *re, sf_str text,
                                    struct sf_regex_scratch *scratch)
{
    const struct slow *slow;
    int found;
    if (re->words)
        return sf_word_list_has(re->words, text) ? SF_REGEX_FOUND : SF_REGEX_NONE;
    if (re->literal.len &&
        (text.len < re->literal.len || !memmem(text.p, text.len, re->literal.p, re->literal.len)))
        return SF_REGEX_NONE;
    /* Invalid UTF-8 matches nothing, and the whole text must match. (PCRE2 can handle such texts,
     * but its machine code then misses matches: /\\S*x/ on "äx".) */
    if (!sf_utf8_is_valid(text))
        return SF_REGEX_NONE;
    if (re->is_literal)
        return SF_REGEX_FOUND;
    slow = scratch->slow ? find_slow(scratch, re) : NULL;
    if (slow)
        return regex_walk(slow, text, scratch);
    found = pcre2_match(re->code, (PCRE2_SPTR)(text.p ? text.p : ""), text.len, 0,
                        PCRE2_NO_UTF_CHECK, scratch->data, scratch->context);
    if (is_at_bound(found)) {
        slow = add_slow(scratch, re);
        return slow ? regex_walk(slow, text, scratch) : SF_REGEX_GAVE_UP;
    }
    if (found == PCRE2_ERROR_NOMATCH)
        return SF_REGEX_NONE;
    return found >= 0 ? SF_REGEX_FOUND : SF_REGEX_GAVE_UP;
}

enum sf_regex_result sf_regex_groups(const struct sf_regex *re, sf_str text,
                                     struct sf_regex_scratch *scratch, sf_str out[SF_REGEX_GROUPS])
{
    const PCRE2_SIZE *bounds;
    int found;
    if (!sf_utf8_is_valid(text))
        return SF_REGEX_NONE;
    found = pcre2_match(re->code, (PCRE2_SPTR)(text.p ? text.p : ""), text.len, 0,
                        PCRE2_NO_UTF_CHECK, scratch->data, scratch->context);
    if (found == PCRE2_ERROR_NOMATCH)
        return SF_REGEX_NONE;
    if (found < 0)
        return SF_REGEX_GAVE_UP;
    if (found == 0) /* more groups than there is space for */
        found = SF_REGEX_GROUPS;
    bounds = pcre2_get_ovector_pointer(scratch->data);
    for (int i = 0; i < SF_REGEX_GROUPS; i++) {
        bool has = i < found && bounds[2 * i] != PCRE2_UNSET && bounds[2 * i] <= bounds[2 * i + 1];
        out[i] = has ? sf_str_part(text, bounds[2 * i], bounds[2 * i + 1] - bounds[2 * i])
                     : SF_STR_NONE;
    }
    return SF_REGEX_FOUND;
}

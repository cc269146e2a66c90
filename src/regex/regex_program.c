/* regex_program.c - linear-time matching (Thompson's construction). The tree of an expression
 * becomes a list of instructions; a text is matched by keeping the set of instructions that can
 * take the next character, so no text causes backtracking. Character classes are decided by PCRE2,
 * so both engines agree. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "regex/regex_program.h"

#include <pcre2.h>
#include <string.h>

#include "base/heap.h"
#include "base/invariant.h"
#include "base/text.h"
#include "regex/regex_syntax.h"
#include "regex/regex_tree.h"

enum {
    FORK = SF_REGEX_OPS, /* continue at two places */
    JUMP,
    DONE,
    STEPS_A_LOOK = 1 << 20, /* steps between two calls of `goes_on`: a few milliseconds */
    NO_CHAR = -1
};

struct inst {
    uint8_t op;
    uint32_t arg; /* character, class, or index of the next instruction */
    uint32_t other;
};

struct class
{
    pcre2_code *code;
    uint64_t ascii[2];
    int64_t last; /* cache: the last other character, and */
    bool is_in;   /* whether it is in the class */
};

struct sf_regex_program {
    struct inst *insts;
    uint32_t n, cap;
    struct class *classes;
    uint32_t n_classes;
    pcre2_match_data *data;
    /* State of matching: instructions that wait for the next character, in two alternating
     * lists. */
    uint32_t *lists[2], n_list[2];
    uint32_t *seen; /* the step in which an instruction was last put on a list */
    uint32_t *stack;
    uint32_t turn;
    bool is_done; /* matched in this step */
};

/* ---- compiling ---- */

static uint32_t regex_program_add(struct sf_regex_program *p, int op, uint32_t arg)
{
    SF_ASSERT(p->n < p->cap);
    p->insts[p->n] = (struct inst){.op = (uint8_t)op, .arg = arg};
    return p->n++;
}

static void regex_program_emit(struct sf_regex_program *p, const struct sf_regex_tree *t,
                               uint32_t at);

static void emit_any_of(struct sf_regex_program *p, const struct sf_regex_tree *t, uint32_t first)
{
    uint32_t jumps = UINT32_MAX; /* a list linked through their arguments */
    for (uint32_t c = first; c; c = t->nodes[c].next) {
        uint32_t fork = t->nodes[c].next ? regex_program_add(p, FORK, p->n + 1) : UINT32_MAX;
        regex_program_emit(p, t, c);
        if (fork == UINT32_MAX)
            break;
        jumps = regex_program_add(p, JUMP, jumps);
        p->insts[fork].other = p->n;
    }
    while (jumps != UINT32_MAX) {
        uint32_t before = p->insts[jumps].arg;
        p->insts[jumps].arg = p->n;
        jumps = before;
    }
}

static void emit_repeat(struct sf_regex_program *p, const struct sf_regex_tree *t,
                        const struct sf_regex_node *n)
{
    uint32_t forks = UINT32_MAX; /* a list linked through their second targets */
    for (int i = 0; i < n->min; i++)
        regex_program_emit(p, t, n->first);
    for (int i = n->min; i < n->max || (n->max == SF_REGEX_UNBOUNDED && i == n->min); i++) {
        uint32_t fork = regex_program_add(p, FORK, p->n + 1);
        p->insts[fork].other = forks;
        forks = fork;
        regex_program_emit(p, t, n->first);
        if (n->max == SF_REGEX_UNBOUNDED)
            regex_program_add(p, JUMP, fork);
    }
    while (forks != UINT32_MAX) {
        uint32_t before = p->insts[forks].other;
        p->insts[forks].other = p->n;
        forks = before;
    }
}

/* PCRE2 has limited the nesting of groups and repeats. */
static void regex_program_emit(struct sf_regex_program *p, const struct sf_regex_tree *t,
                               uint32_t at)
{
    const struct sf_regex_node *n = &t->nodes[at];
    switch ((enum sf_regex_kind)n->kind) {
    case SF_REGEX_EMPTY: break;
    case SF_REGEX_ONE: regex_program_add(p, n->op, n->arg); break;
    case SF_REGEX_ANY_OF: emit_any_of(p, t, n->first); break;
    case SF_REGEX_REPEAT: emit_repeat(p, t, n); break;
    case SF_REGEX_ALL_OF:
        for (uint32_t c = n->first; c; c = t->nodes[c].next)
            regex_program_emit(p, t, c);
        break;
    }
}

static bool regex_program_ask(const struct sf_regex_program *p, const struct class *c,
                              sf_str character)
{
    return pcre2_match(c->code, (PCRE2_SPTR)character.p, character.len, 0, PCRE2_NO_UTF_CHECK,
                       p->data, NULL) >= 0;
}

static bool make_class(struct sf_regex_program *p, struct class *c, sf_str text, bool is_caseless)
{
    int code;
    PCRE2_SIZE at;
    c->last = NO_CHAR;
    c->code = pcre2_compile((PCRE2_SPTR)text.p, text.len,
                            PCRE2_UTF | PCRE2_NEVER_UCP | PCRE2_ANCHORED | PCRE2_ENDANCHORED |
                                PCRE2_DOTALL | (is_caseless ? PCRE2_CASELESS : 0),
                            &code, &at, NULL);
    if (!c->code)
        return false;
    for (unsigned i = 0; i < 128; i++) {
        char one = (char)i;
        if (regex_program_ask(p, c, (sf_str){&one, 1}))
            c->ascii[i / 64] |= UINT64_C(1) << i % 64;
    }
    return true;
}

static bool regex_program_make(struct sf_regex_program *p, const struct sf_regex_tree *t,
                               sf_str pattern)
{
    p->cap = (uint32_t)sf_regex_tree_size(t) + 2;
    p->insts = sf_heap_new_n(p->cap, sizeof(*p->insts));
    p->classes = sf_heap_new_n(t->n_classes + 1, sizeof(*p->classes));
    p->lists[0] = sf_heap_new_n(p->cap, sizeof(uint32_t));
    p->lists[1] = sf_heap_new_n(p->cap, sizeof(uint32_t));
    p->seen = sf_heap_new_n(p->cap, sizeof(uint32_t));
    p->stack = sf_heap_new_n(2 * (size_t)p->cap, sizeof(uint32_t)); /* each instruction forks at
                                                                     * most once per step */
    p->data = pcre2_match_data_create(1, NULL);
    if (!p->insts || !p->classes || !p->lists[0] || !p->lists[1] || !p->seen || !p->stack ||
        !p->data)
        return false;
    regex_program_emit(p, t, t->root);
    regex_program_add(p, DONE, 0);
    for (; p->n_classes < t->n_classes; p->n_classes++) {
        const struct sf_regex_class *c = &t->classes[p->n_classes];
        if (!make_class(p, &p->classes[p->n_classes], sf_str_part(pattern, c->at, c->len),
                        c->is_caseless))
            return false;
    }
    return true;
}

struct sf_regex_program *sf_regex_program_new(sf_str pattern)
{
    struct sf_regex_tree tree;
    struct sf_regex_program *p;
    if (sf_regex_tree_make(pattern, &tree))
        return NULL;
    p = sf_heap_new(sizeof(*p));
    if (p && !regex_program_make(p, &tree, pattern)) {
        sf_regex_program_free(p);
        p = NULL;
    }
    sf_regex_tree_done(&tree);
    return p;
}

void sf_regex_program_free(struct sf_regex_program *p)
{
    if (!p)
        return;
    for (uint32_t i = 0; i < p->n_classes; i++)
        pcre2_code_free(p->classes[i].code);
    pcre2_match_data_free(p->data);
    sf_heap_free(p->insts);
    sf_heap_free(p->classes);
    sf_heap_free(p->lists[0]);
    sf_heap_free(p->lists[1]);
    sf_heap_free(p->seen);
    sf_heap_free(p->stack);
    sf_heap_free(p);
}

/* ---- walking ---- */

struct place { /* a position between two characters */
    int64_t before, after;
};

static bool regex_program_is_word(int64_t c)
{
    return (c >= '0' && c <= '9') || c == '_' || ((c | 32) >= 'a' && (c | 32) <= 'z' && c < 128);
}

static bool regex_program_holds(int op, struct place at)
{
    switch (op) {
    case SF_REGEX_LINE_START: return at.before == NO_CHAR || at.before == '\n';
    case SF_REGEX_LINE_END: return at.after == NO_CHAR || at.after == '\n';
    case SF_REGEX_TEXT_START: return at.before == NO_CHAR;
    case SF_REGEX_TEXT_END: return at.after == NO_CHAR;
    default:
        return (regex_program_is_word(at.before) != regex_program_is_word(at.after)) ==
               (op == SF_REGEX_WORD_EDGE);
    }
}

/* Follows all instructions that consume no character. */
static void reach(struct sf_regex_program *p, int list, uint32_t from, struct place at)
{
    uint32_t n = 0;
    p->stack[n++] = from;
    while (n) {
        uint32_t i = p->stack[--n];
        const struct inst *is = &p->insts[i];
        if (p->seen[i] == p->turn)
            continue;
        p->seen[i] = p->turn;
        switch (is->op) {
        case FORK:
            p->stack[n++] = is->other;
            p->stack[n++] = is->arg;
            break;
        case JUMP: p->stack[n++] = is->arg; break;
        case DONE: p->is_done = true; break;
        case SF_REGEX_CHAR:
        case SF_REGEX_CLASS:
        case SF_REGEX_ANY:
        case SF_REGEX_ANY_BUT_NEWLINE: p->lists[list][p->n_list[list]++] = i; break;
        default:
            if (regex_program_holds(is->op, at))
                p->stack[n++] = i + 1;
        }
    }
}

static bool regex_program_has(const struct sf_regex_program *p, struct class *c, uint32_t code,
                              sf_str character)
{
    if (code < 128)
        return c->ascii[code / 64] >> code % 64 & 1;
    if (c->last != code) {
        c->is_in = regex_program_ask(p, c, character);
        c->last = code;
    }
    return c->is_in;
}

static bool takes(const struct sf_regex_program *p, const struct inst *is, uint32_t code,
                  sf_str character)
{
    switch (is->op) {
    case SF_REGEX_CHAR: return is->arg == code;
    case SF_REGEX_CLASS: return regex_program_has(p, &p->classes[is->arg], code, character);
    case SF_REGEX_ANY_BUT_NEWLINE: return code != '\n';
    default: return true;
    }
}

static void next_turn(struct sf_regex_program *p, int list)
{
    p->n_list[list] = 0;
    p->is_done = false;
    if (++p->turn == 0) {
        memset(p->seen, 0, p->cap * sizeof(*p->seen));
        p->turn = 1;
    }
}

static int64_t char_at(sf_str text, size_t at, size_t *out_len)
{
    uint32_t code = 0;
    *out_len = at < text.len ? sf_utf8_char_len(sf_str_from_at(text, at), &code) : 0;
    return *out_len ? (int64_t)code : NO_CHAR;
}

enum sf_regex_walk sf_regex_program_walk(struct sf_regex_program *p, sf_str text,
                                         bool (*goes_on)(void *arg), void *arg)
{
    int list = 0;
    size_t at = 0, len;
    uint64_t n_steps = 0;
    struct place place = {NO_CHAR, char_at(text, 0, &len)};
    next_turn(p, list);
    reach(p, list, 0, place);
    while (at < text.len && len && p->n_list[list]) {
        sf_str character = sf_str_part(text, at, len);
        at += len;
        place = (struct place){place.after, char_at(text, at, &len)};
        next_turn(p, !list);
        for (uint32_t i = 0; i < p->n_list[list]; i++) {
            uint32_t inst = p->lists[list][i];
            if (takes(p, &p->insts[inst], (uint32_t)place.before, character))
                reach(p, !list, inst + 1, place);
            if (++n_steps % STEPS_A_LOOK == 0 && goes_on && !goes_on(arg))
                return SF_REGEX_WALK_STOPPED;
        }
        list = !list;
    }
    return at == text.len && p->is_done ? SF_REGEX_WALK_FOUND : SF_REGEX_WALK_NONE;
}

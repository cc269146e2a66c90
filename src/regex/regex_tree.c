/* regex_tree.c - a recursive-descent parser for patterns whose RE2 syntax was checked before. Nodes
 * are in one array and refer to each other by index. The size computed here limits nested repeats
 * before anything is compiled. */
#include "regex/regex_tree.h"

#include <string.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/text.h"
#include "regex/regex_syntax.h"

enum { MAX_SIZE = 100000, NONE = 0 };

struct parser {
    sf_str p;
    size_t at;
    struct sf_regex_tree tree; /* node 0 means none */
};

struct flags {
    bool is_caseless, is_multiline, is_single; /* i m s */
};

static bool has_more(const struct parser *r)
{
    return !r->tree.has_no_memory && r->at < r->p.len;
}

static uint32_t regex_tree_add_node(struct parser *r, struct sf_regex_node n)
{
    if (!sf_list_room(&r->tree.nodes, r->tree.n_nodes, &r->tree.nodes_cap, 64)) {
        r->tree.has_no_memory = true;
        return NONE;
    }
    if (r->tree.n_nodes == 0)
        r->tree.nodes[r->tree.n_nodes++] = (struct sf_regex_node){0};
    r->tree.nodes[r->tree.n_nodes] = n;
    return r->tree.n_nodes++;
}

static uint32_t regex_tree_add_one(struct parser *r, enum sf_regex_op op, uint32_t arg)
{
    return regex_tree_add_node(
        r, (struct sf_regex_node){.kind = SF_REGEX_ONE, .op = (uint8_t)op, .arg = arg});
}

/* The class written at [at, at + len); the same text gives the same class. */
static uint32_t regex_tree_add_class(struct parser *r, size_t at, size_t len, struct flags f)
{
    uint32_t i = 0;
    while (i < r->tree.n_classes &&
           (r->tree.classes[i].is_caseless != f.is_caseless || r->tree.classes[i].len != len ||
            memcmp(r->p.p + r->tree.classes[i].at, r->p.p + at, len) != 0))
        i++;
    if (i == r->tree.n_classes) {
        if (!sf_list_room(&r->tree.classes, r->tree.n_classes, &r->tree.classes_cap, 16)) {
            r->tree.has_no_memory = true;
            return NONE;
        }
        r->tree.classes[r->tree.n_classes++] = (struct sf_regex_class){
            .at = at, .len = len, .is_caseless = f.is_caseless};
    }
    return regex_tree_add_one(r, SF_REGEX_CLASS, i);
}

/* ---- parsing ---- */

static bool has_case(uint32_t c)
{
    return c > 127 || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static uint32_t add_char(struct parser *r, size_t at, size_t len, uint32_t code, struct flags f)
{
    return f.is_caseless && has_case(code) ? regex_tree_add_class(r, at, len, f)
                                           : regex_tree_add_one(r, SF_REGEX_CHAR, code);
}

static uint32_t parse_literal(struct parser *r, struct flags f)
{
    size_t at = r->at;
    uint32_t code = 0;
    size_t len = sf_utf8_char_len(sf_str_from_at(r->p, at), &code);
    r->at += len ? len : 1;
    return add_char(r, at, r->at - at, code, f);
}

static uint32_t parse_escape(struct parser *r, struct flags f)
{
    size_t at = r->at;
    uint32_t code = 0;
    char c = r->p.p[at + 1];
    size_t len = sf_regex_syntax_escape_len(r->p, at, &code);
    r->at += len;
    switch (c) {
    case 'A': return regex_tree_add_one(r, SF_REGEX_TEXT_START, 0);
    case 'z': return regex_tree_add_one(r, SF_REGEX_TEXT_END, 0);
    case 'b': return regex_tree_add_one(r, SF_REGEX_WORD_EDGE, 0);
    case 'B': return regex_tree_add_one(r, SF_REGEX_NO_WORD_EDGE, 0);
    case 'd':
    case 'D':
    case 's':
    case 'S':
    case 'w':
    case 'W':
    case 'p':
    case 'P': return regex_tree_add_class(r, at, len, f);
    default: return add_char(r, at, len, code, f);
    }
}

static uint32_t parse_any_of(struct parser *r, struct flags f);

/* "(", "(?:", "(?P<name>", "(?i:", or "(?i)", which has no content and changes `f`. */
static uint32_t regex_tree_parse_group(struct parser *r, struct flags *f)
{
    struct flags inner = *f;
    bool is_on = true;
    uint32_t n;
    r->at++;
    if (r->at < r->p.len && r->p.p[r->at] == '?') {
        for (r->at++; r->at < r->p.len && r->p.p[r->at] != ':' && r->p.p[r->at] != ')' &&
                      r->p.p[r->at] != '>';
             r->at++) {
            switch (r->p.p[r->at]) {
            case '<': /* a name: its letters are not flags */
                while (r->at + 1 < r->p.len && r->p.p[r->at + 1] != '>')
                    r->at++;
                break;
            case '-': is_on = false; break;
            case 'i': inner.is_caseless = is_on; break;
            case 'm': inner.is_multiline = is_on; break;
            case 's': inner.is_single = is_on; break;
            default: break; /* P; U: greediness does not matter here */
            }
        }
        if (r->at < r->p.len && r->p.p[r->at++] == ')') {
            *f = inner;
            return NONE;
        }
    }
    n = parse_any_of(r, inner);
    r->at++; /* ) */
    return n;
}

static uint32_t parse_item(struct parser *r, struct flags *f)
{
    size_t at = r->at;
    switch (r->p.p[at]) {
    case '(': return regex_tree_parse_group(r, f);
    case '[':
        r->at += sf_regex_syntax_class_len(r->p, at);
        return regex_tree_add_class(r, at, r->at - at, *f);
    case '.':
        r->at++;
        return regex_tree_add_one(r, f->is_single ? SF_REGEX_ANY : SF_REGEX_ANY_BUT_NEWLINE, 0);
    case '^':
        r->at++;
        return regex_tree_add_one(r, f->is_multiline ? SF_REGEX_LINE_START : SF_REGEX_TEXT_START,
                                  0);
    case '$':
        r->at++;
        return regex_tree_add_one(r, f->is_multiline ? SF_REGEX_LINE_END : SF_REGEX_TEXT_END, 0);
    case '\\': return parse_escape(r, *f);
    default: return parse_literal(r, *f);
    }
}

/* A repeat after the item just read; false: there is none. */
static bool parse_repeat(struct parser *r, uint32_t *item)
{
    struct sf_regex_node n = {.kind = SF_REGEX_REPEAT, .first = *item, .max = SF_REGEX_UNBOUNDED};
    size_t len = 1;
    if (!has_more(r))
        return false;
    switch (r->p.p[r->at]) {
    case '*': break;
    case '+': n.min = 1; break;
    case '?': n.max = 1; break;
    case '{':
        len = sf_regex_syntax_repeat_len(r->p, r->at, &n.min, &n.max);
        if (len == 0)
            return false;
        break;
    default: return false;
    }
    r->at += len;
    if (r->at < r->p.len && r->p.p[r->at] == '?')
        r->at++; /* greediness does not matter here */
    *item = regex_tree_add_node(r, n);
    return true;
}

/* Appends a node to a list of siblings. */
static void chain(struct parser *r, uint32_t *first, uint32_t *last, uint32_t n)
{
    if (n == NONE)
        return;
    if (*first == NONE)
        *first = n;
    else
        r->tree.nodes[*last].next = n;
    *last = n;
}

static uint32_t parent_of(struct parser *r, enum sf_regex_kind kind, uint32_t first)
{
    if (first == NONE)
        return regex_tree_add_node(r, (struct sf_regex_node){.kind = SF_REGEX_EMPTY});
    return r->tree.nodes[first].next
               ? regex_tree_add_node(r,
                                     (struct sf_regex_node){.kind = (uint8_t)kind, .first = first})
               : first;
}

/* "\\Q...\\E": each character is literal. */
static bool parse_quote(struct parser *r, struct flags f, uint32_t *first, uint32_t *last)
{
    size_t end;
    if (!sf_str_starts(sf_str_from_at(r->p, r->at), SF_STR("\\Q")))
        return false;
    r->at += 2;
    if (sf_str_find(sf_str_from_at(r->p, r->at), SF_STR("\\E"), &end))
        end += r->at;
    else
        end = r->p.len;
    while (!r->tree.has_no_memory && r->at < end) {
        uint32_t n = parse_literal(r, f);
        if (r->at >= end) {
            r->at = end + 2 < r->p.len ? end + 2 : r->p.len;
            (void)parse_repeat(r, &n);
            chain(r, first, last, n);
            return true;
        }
        chain(r, first, last, n);
    }
    r->at = end + 2 < r->p.len ? end + 2 : r->p.len;
    return true;
}

static uint32_t parse_all_of(struct parser *r, struct flags *f)
{
    uint32_t first = NONE, last = NONE;
    while (has_more(r) && r->p.p[r->at] != '|' && r->p.p[r->at] != ')') {
        uint32_t item;
        if (parse_quote(r, *f, &first, &last))
            continue;
        item = parse_item(r, f);
        if (item != NONE)
            (void)parse_repeat(r, &item);
        chain(r, &first, &last, item);
    }
    return parent_of(r, SF_REGEX_ALL_OF, first);
}

static uint32_t parse_any_of(struct parser *r, struct flags f)
{
    uint32_t first = NONE, last = NONE;
    for (;;) {
        chain(r, &first, &last, parse_all_of(r, &f));
        if (!has_more(r) || r->p.p[r->at] != '|')
            return parent_of(r, SF_REGEX_ANY_OF, first);
        r->at++;
    }
}

/* ---- size with repeats expanded ---- */

struct size {
    uint64_t n_insts;
    uint64_t repeats; /* largest product of nested repeats */
};

static struct size regex_tree_size_of(const struct sf_regex_tree *t, uint32_t at)
{
    const struct sf_regex_node *n = &t->nodes[at];
    struct size all = {n->kind == SF_REGEX_ONE ? 1 : 0, 1};
    for (uint32_t c = n->first; c; c = t->nodes[c].next) {
        struct size one = regex_tree_size_of(t, c);
        all.n_insts += one.n_insts + (n->kind == SF_REGEX_ANY_OF ? 2 : 0);
        all.repeats = one.repeats > all.repeats ? one.repeats : all.repeats;
    }
    if (n->kind == SF_REGEX_REPEAT) {
        uint64_t times = (uint64_t)(n->max == SF_REGEX_UNBOUNDED ? n->min : n->max);
        all.n_insts = (all.n_insts + 1) * (times + 1) + 1;
        all.repeats *= times > 1 ? times : 1;
    }
    /* Limited, so that no product of outer levels can overflow. */
    if (all.n_insts > MAX_SIZE)
        all.n_insts = MAX_SIZE + 1;
    if (all.repeats > SF_REGEX_MAX_REPEAT)
        all.repeats = SF_REGEX_MAX_REPEAT + 1;
    return all;
}

uint64_t sf_regex_tree_size(const struct sf_regex_tree *t)
{
    return regex_tree_size_of(t, t->root).n_insts;
}

const char *sf_regex_tree_check(const struct sf_regex_tree *t)
{
    struct size size = regex_tree_size_of(t, t->root);
    if (size.repeats > SF_REGEX_MAX_REPEAT)
        return "repeats in repeats go up to 1,000 in all";
    return size.n_insts > MAX_SIZE ? "too large with its repeats written out" : NULL;
}

enum sf_err sf_regex_tree_make(sf_str pattern, struct sf_regex_tree *out)
{
    struct parser r = {.p = pattern};
    r.tree.root = parse_any_of(&r, (struct flags){.is_single = true});
    if (r.tree.has_no_memory) {
        sf_regex_tree_done(&r.tree);
        return SF_ERR_NOMEM;
    }
    *out = r.tree;
    return SF_OK;
}

void sf_regex_tree_done(struct sf_regex_tree *t)
{
    sf_heap_free(t->nodes);
    sf_heap_free(t->classes);
    *t = (struct sf_regex_tree){0};
}

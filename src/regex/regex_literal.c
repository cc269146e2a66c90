#include "regex/regex_literal.h"

#include "base/text.h"
#include "regex/regex_syntax.h"
#include "regex/regex_tree.h"

struct search {
    const struct sf_regex_tree *tree;
    struct sf_buf run;   /* current sequence of characters */
    struct sf_buf *best; /* the longest so far */
    uint32_t n_runs;     /* number of sequences that are not empty */
    bool has_other;      /* something other than characters and .* */
    uint32_t n_anything; /* .* so far */
};

static void regex_literal_end_run(struct search *s)
{
    s->n_runs += s->run.len > 0;
    if (s->run.len > s->best->len) {
        sf_buf_reset(s->best);
        sf_buf_add_str(s->best, sf_buf_str(&s->run));
    }
    sf_buf_reset(&s->run);
}

static bool is_anything(const struct search *s, const struct sf_regex_node *n)
{
    const struct sf_regex_node *child = &s->tree->nodes[n->first];
    return n->kind == SF_REGEX_REPEAT && n->min == 0 && n->max == SF_REGEX_UNBOUNDED && n->first &&
           !child->next && child->kind == SF_REGEX_ONE && child->op == SF_REGEX_ANY;
}

/* All elements of a sequence are required; nothing is known about other nodes. */
static void regex_literal_walk(struct search *s, uint32_t at)
{
    const struct sf_regex_node *n = &s->tree->nodes[at];
    switch (n->kind) {
    case SF_REGEX_EMPTY: return;
    case SF_REGEX_ALL_OF:
        for (uint32_t child = n->first; child; child = s->tree->nodes[child].next)
            regex_literal_walk(s, child);
        return;
    case SF_REGEX_ONE:
        if (n->op == SF_REGEX_CHAR) {
            sf_utf8_add(&s->run, n->arg);
            return;
        }
        break;
    default: break;
    }
    regex_literal_end_run(s);
    if (is_anything(s, n))
        s->n_anything++;
    else
        s->has_other = true;
}

void sf_regex_literal(sf_str pattern, struct sf_buf *out, bool *out_is_all)
{
    struct sf_regex_tree tree = {0};
    struct search s = {.tree = &tree, .best = out};
    *out_is_all = false;
    if (sf_regex_tree_make(pattern, &tree) == SF_OK) {
        const struct sf_regex_node *root = &tree.nodes[tree.root];
        bool ends = false;
        regex_literal_walk(&s, tree.root);
        ends = s.run.len == 0; /* .* stands last */
        regex_literal_end_run(&s);
        /* Two .* with one sequence of characters between them: the first node must be .* too. */
        *out_is_all = !s.has_other && s.n_runs == 1 && s.n_anything == 2 && ends &&
                      root->kind == SF_REGEX_ALL_OF && root->first &&
                      is_anything(&s, &tree.nodes[root->first]);
    }
    sf_regex_tree_done(&tree);
    if (!sf_buf_ok(&s.run) || !sf_buf_ok(out)) {
        sf_buf_reset(out);
        *out_is_all = false;
    }
    sf_buf_done(&s.run);
}

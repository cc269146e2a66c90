#include "exec/touched.h"

#include "exec/eval_attr.h"
#include "query/expr_text.h"

void sf_touched_add(struct sf_touched *t, const struct sf_query_attr *a)
{
    for (uint32_t i = 0; i < t->n; i++) {
        if (sf_expr_text_attr_eq(&t->attrs[i], a))
            return;
    }
    if (t->n < SF_TOUCHED_MAX)
        t->attrs[t->n++] = *a;
}

void sf_touched_add_expr(struct sf_touched *t, const struct sf_expr *e)
{
    if (!e)
        return;
    if (e->kind == SF_EXPR_ATTR)
        sf_touched_add(t, &e->attr);
    sf_touched_add_expr(t, e->left);
    sf_touched_add_expr(t, e->right);
}

static void touched_add_spanset(struct sf_touched *t, const struct sf_spanset *set)
{
    if (!set)
        return;
    sf_touched_add_expr(t, set->filter);
    if (set->op == SF_SPANSET_PIPELINE)
        sf_touched_add_pipeline(t, set->pipeline);
    touched_add_spanset(t, set->left);
    touched_add_spanset(t, set->right);
}

void sf_touched_add_pipeline(struct sf_touched *t, const struct sf_pipeline *p)
{
    for (uint32_t i = 0; i < p->n_stages; i++) {
        const struct sf_stage *s = &p->stages[i];
        touched_add_spanset(t, s->spanset);
        sf_touched_add_expr(t, s->expr);
        for (uint32_t k = 0; k < s->n_attrs; k++)
            sf_touched_add(t, &s->attrs[k]);
    }
}

bool sf_touched_needs_tree(const struct sf_touched *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        if (sf_eval_attr_needs_tree(&t->attrs[i]))
            return true;
    }
    return false;
}

#include "exec/filter_key.h"

#include "exec/metrics_count.h"
#include "wire/pb.h"

void sf_filter_key_attr(struct sf_buf *out, const struct sf_query_attr *a)
{
    sf_buf_add_u8(out, (uint8_t)a->scope);
    sf_buf_add_u8(out, (uint8_t)a->intrinsic);
    sf_buf_add_varint(out, a->name.len);
    sf_buf_add_str(out, a->name);
}

static void filter_key_expr(struct sf_buf *out, const struct sf_expr *e)
{
    sf_buf_add_u8(out, e ? (uint8_t)(e->kind + 1) : 0);
    if (!e)
        return;
    switch (e->kind) {
    case SF_EXPR_LITERAL: sf_metrics_count_key_add(out, e->literal); return;
    case SF_EXPR_ATTR: sf_filter_key_attr(out, &e->attr); return;
    case SF_EXPR_UNARY:
    case SF_EXPR_BINARY: break;
    }
    sf_buf_add_u8(out, (uint8_t)e->op);
    filter_key_expr(out, e->left);
    if (e->kind == SF_EXPR_BINARY)
        filter_key_expr(out, e->right);
}

void sf_filter_key_spanset(struct sf_buf *out, const struct sf_spanset *s)
{
    sf_buf_add_u8(out, (uint8_t)s->op);
    if (s->op == SF_SPANSET_OR) {
        sf_filter_key_spanset(out, s->left);
        sf_filter_key_spanset(out, s->right);
    } else {
        filter_key_expr(out, s->filter);
    }
}

bool sf_filter_key_has(const struct sf_spanset *s)
{
    if (s->op == SF_SPANSET_OR && s->form == SF_FORM_PLAIN)
        return sf_filter_key_has(s->left) && sf_filter_key_has(s->right);
    return s->op == SF_SPANSET_FILTER;
}

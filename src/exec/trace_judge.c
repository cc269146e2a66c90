#include "exec/trace_judge.h"

#include <string.h>

#include "exec/column_filter.h"
#include "exec/filter_key.h"

struct judge_node {
    struct sf_column_filter *filter; /* a leaf */
    bool is_or;
    bool is_any; /* a leaf that every span satisfies */
    struct judge_node *left, *right;
};

/* ---- making ---- */

struct maker {
    struct sf_trace_judge *j;
    bool is_out; /* memory ran out */
};

static struct judge_node *new_node(struct maker *m, bool is_or, struct judge_node *left,
                                   struct judge_node *right)
{
    struct judge_node *n = sf_arena_new(m->j->req, sizeof(*n));
    if (!n) {
        m->is_out = true;
        return NULL;
    }
    *n = (struct judge_node){.is_or = is_or, .left = left, .right = right};
    return n;
}

static struct judge_node *of_pipeline(struct maker *m, const struct sf_pipeline *p);

static struct judge_node *trace_judge_of_filter(struct maker *m, const struct sf_expr *filter)
{
    struct judge_node *n = new_node(m, false, NULL, NULL);
    if (!n)
        return NULL;
    n->is_any = !filter;
    n->filter = sf_column_filter_new(m->j->eval, filter, m->j->req);
    m->is_out = m->is_out || !n->filter;
    return n;
}

static struct judge_node *trace_judge_of_spanset(struct maker *m, const struct sf_spanset *s)
{
    struct judge_node *left, *right;
    if (s->op == SF_SPANSET_FILTER)
        return trace_judge_of_filter(m, s->filter);
    if (s->op == SF_SPANSET_PIPELINE)
        return of_pipeline(m, s->pipeline);
    right = trace_judge_of_spanset(m, s->right);
    if (s->form == SF_FORM_NOT)
        return right; /* the left side may be empty */
    left = trace_judge_of_spanset(m, s->left);
    return left && right ? new_node(m, s->op == SF_SPANSET_OR, left, right) : NULL;
}

/* Further stages only restrict the result of the first one. */
static struct judge_node *of_pipeline(struct maker *m, const struct sf_pipeline *p)
{
    if (p->n_stages == 0 || p->stages[0].kind != SF_STAGE_SPANSET)
        return trace_judge_of_filter(m, NULL);
    return trace_judge_of_spanset(m, p->stages[0].spanset);
}

/* ---- judging ---- */

struct judging {
    struct sf_column_batch batch;
    struct sf_span_columns *cols;
    bool is_loose; /* of several sides, one is enough for a match */
    struct sf_why *why;
};

static bool trace_judge_has_any(const uint8_t *traces, uint32_t n)
{
    return memchr(traces, 1, n) != NULL;
}

static void mark_rows(const struct sf_span_columns *c, const uint8_t *traces, uint8_t *mask)
{
    for (uint32_t t = 0; t < c->n_traces; t++)
        memset(mask + c->firsts[t], traces[t], c->firsts[t + 1] - c->firsts[t]);
    for (uint32_t i = 0; c->rows.is_in && i < c->rows.n_rows; i++)
        mask[i] &= c->rows.is_in[i];
}

static void mark_traces(const struct sf_span_columns *c, const uint8_t *mask, uint8_t *traces)
{
    const uint8_t *hit = memchr(mask, 1, c->rows.n_rows);
    uint32_t t = 0;
    memset(traces, 0, c->n_traces);
    while (hit) {
        uint32_t row = (uint32_t)(hit - mask);
        while (c->firsts[t + 1] <= row)
            t++;
        traces[t] = 1;
        row = c->firsts[t + 1];
        hit = row < c->rows.n_rows ? memchr(mask + row, 1, c->rows.n_rows - row) : NULL;
    }
}

/* Clears traces in `traces` that cannot match. */
static enum sf_err judge_node_of(struct judging *l, const struct judge_node *n, uint8_t *traces)
{
    struct sf_span_columns *c = l->cols;
    uint8_t *other;
    enum sf_err err;
    if (n->filter) {
        uint8_t *mask = sf_arena_raw(c->scratch, c->rows.n_rows, 1);
        if (!mask)
            return sf_no_room(l->why, "the query");
        mark_rows(c, traces, mask);
        err = sf_column_filter_run(n->filter, &l->batch, mask, l->why);
        if (!err)
            mark_traces(c, mask, traces);
        return err;
    }
    if (!n->is_or && !l->is_loose) {
        err = judge_node_of(l, n->left, traces);
        return err || !trace_judge_has_any(traces, c->n_traces)
                   ? err
                   : judge_node_of(l, n->right, traces);
    }
    other = sf_arena_raw(c->scratch, c->n_traces, 1);
    if (!other)
        return sf_no_room(l->why, "the query");
    memcpy(other, traces, c->n_traces);
    err = judge_node_of(l, n->left, traces);
    if (!err)
        err = judge_node_of(l, n->right, other);
    for (uint32_t t = 0; !err && t < c->n_traces; t++)
        traces[t] |= other[t];
    return err;
}

/* Traces that are only in this granule must satisfy all sides, others any. */
static enum sf_err judge_both(struct judging *l, const struct judge_node *root, uint8_t *traces)
{
    struct sf_span_columns *c = l->cols;
    uint8_t *parted = sf_arena_raw(c->scratch, c->n_traces, 1);
    enum sf_err err = SF_OK;
    if (!parted)
        return sf_no_room(l->why, "the query");
    for (uint32_t t = 0; t < c->n_traces; t++) {
        parted[t] = traces[t] & c->is_parted[t];
        traces[t] &= !c->is_parted[t];
    }
    if (trace_judge_has_any(traces, c->n_traces))
        err = judge_node_of(l, root, traces);
    l->is_loose = true;
    if (!err && trace_judge_has_any(parted, c->n_traces))
        err = judge_node_of(l, root, parted);
    for (uint32_t t = 0; !err && t < c->n_traces; t++)
        traces[t] |= parted[t];
    return err;
}

/* One filter over all rows: if none matches, their traces need not be determined. */
static enum sf_err judge_rows(struct judging *l, const struct judge_node *root, uint8_t *hits)
{
    struct sf_span_columns *c = l->cols;
    uint8_t *mask = sf_arena_raw(c->scratch, c->rows.n_rows, 1);
    enum sf_err err;
    if (!mask)
        return sf_no_room(l->why, "the query");
    memset(mask, 1, c->rows.n_rows);
    err = sf_column_filter_run(root->filter, &l->batch, mask, l->why);
    if (err)
        return err;
    if (!trace_judge_has_any(mask, c->rows.n_rows)) {
        memset(hits, 0, c->n_traces);
        return SF_OK;
    }
    err = c->add(c, SF_COL_TRACES, l->why);
    if (!err)
        mark_traces(c, mask, hits);
    return err;
}

static enum sf_err exec_trace_judge(void *arg, struct sf_span_columns *c, uint8_t *hits,
                                    struct sf_why *why)
{
    struct sf_trace_judge *j = arg;
    struct judging l = {.cols = c, .is_loose = !c->is_parted, .why = why};
    enum sf_err err = SF_OK;
    sf_column_batch_init(&l.batch, c);
    if (j->root->filter && !c->rows.is_in && !memchr(hits, 0, c->n_traces))
        return judge_rows(&l, j->root, hits);
    err = c->add(c, SF_COL_TRACES, why);
    if (err)
        return err;
    return c->is_parted ? judge_both(&l, j->root, hits) : judge_node_of(&l, j->root, hits);
}

/* Filters, and filters joined by ||, depend only on the rows of a granule, so their results can be
 * cached. With other queries, samples or other rows of the trace may arrive later. */
static enum sf_err trace_judge_write_question(struct sf_trace_judge *j, const struct sf_pipeline *p,
                                              struct sf_why *why)
{
    struct sf_buf text = {0};
    sf_str copy;
    bool is_ok;
    if (!j->root || sf_eval_profiles(j->eval) || !sf_filter_key_has(p->stages[0].spanset))
        return SF_OK;
    sf_buf_add_u8(&text, SF_FILTER_KEY_SEARCH);
    sf_filter_key_spanset(&text, p->stages[0].spanset);
    is_ok = sf_buf_ok(&text) && sf_arena_copy(j->req, sf_buf_str(&text), &copy);
    sf_buf_done(&text);
    if (!is_ok)
        return sf_no_room(why, "the query");
    j->base.question = (sf_bytes){(const uint8_t *)copy.p, copy.len};
    return SF_OK;
}

enum sf_err sf_trace_judge_init(struct sf_trace_judge *j, struct sf_eval *eval,
                                const struct sf_pipeline *p, struct sf_arena *req,
                                struct sf_why *why)
{
    struct maker m = {.j = j};
    *j = (struct sf_trace_judge){.eval = eval, .req = req};
    j->root = of_pipeline(&m, p);
    if (m.is_out || !j->root)
        return sf_no_room(why, "the query");
    j->is_exact = p->n_stages == 1 && p->stages[0].kind == SF_STAGE_SPANSET &&
                  p->stages[0].spanset->op == SF_SPANSET_FILTER;
    if (j->root->is_any)
        j->root = NULL;
    j->base = (struct sf_span_judge){
        .judge = exec_trace_judge,
        .arg = j,
        .wants_parts = sf_eval_profiles(eval) || (j->root && !j->root->filter && !j->root->is_or)};
    return trace_judge_write_question(j, p, why);
}

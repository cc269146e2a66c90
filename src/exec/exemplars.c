#include "exec/exemplars.h"

#include "exec/eval_attr.h"
#include "exec/static_value.h"
#include "query/expr_text.h"

enum {
    PER_PIECE = 2,
    ALL_PER_PIECE = 16,
    PART_LEAST = 8, /* per granule, if it has few steps; */
    PART_MOST = 64  /* or if it has many: each costs about as much memory as twenty cells */
};

void sf_exemplars_init(struct sf_exemplars *x)
{
    static const struct sf_query_attr trace_id = {SF_SCOPE_INTRINSIC, SF_INTRINSIC_TRACE_ID, {0}};
    if (!x->n_max)
        return;
    sf_touched_add(&x->touched, &trace_id);
    x->n_pieces = x->n_max > 1 ? x->n_max / 2 : 1;
    x->counts = sf_arena_new(x->req, x->n_pieces);
    x->keys = sf_arena_new_n(x->req, x->touched.n, sizeof(*x->keys));
    if (!x->counts || !x->keys) {
        x->n_max = 0;
        return;
    }
    for (uint32_t i = 0; i < x->touched.n; i++)
        x->keys[i] = sf_expr_text_attr(&x->touched.attrs[i], x->req);
}

static bool exemplars_describe(struct sf_exemplars *x, const struct sf_trace_view *v, uint32_t span,
                               struct sf_attrs *out)
{
    struct sf_attr *list = sf_arena_new_n(x->req, x->touched.n, sizeof(*list));
    uint32_t n = 0;
    if (!list)
        return false;
    for (uint32_t i = 0; i < x->touched.n; i++) {
        char text[SF_EVAL_TEXT_LEN];
        struct sf_static val = sf_eval_attr_one(&x->touched.attrs[i], v, span, text);
        if (val.type == SF_TYPE_NIL)
            continue;
        list[n].key = x->keys[i];
        if (!sf_static_value_of(x->req, val, &list[n].val))
            return false;
        n++;
    }
    *out = (struct sf_attrs){list, n};
    return true;
}

/* The piece of time of a start, which is mostly that of the previous span. The product does not
 * overflow: days in ns times at most a hundred pieces. */
static uint64_t exemplars_piece_of(struct sf_exemplars *x, uint64_t start_ns)
{
    const struct sf_metrics_window *w = x->window;
    uint64_t len = (uint64_t)(w->to_ns - w->from_ns) + 1, at = start_ns - (uint64_t)w->from_ns;
    uint64_t n = x->n_pieces;
    if (at - x->piece_from < x->piece_len)
        return x->piece;
    x->piece = at * n / len;
    x->piece_from = (x->piece * len + n - 1) / n;
    x->piece_len = ((x->piece + 1) * len + n - 1) / n - x->piece_from;
    return x->piece;
}

bool sf_exemplars_init_part(struct sf_exemplars *x, const struct sf_exemplars *of,
                            const struct sf_metrics_window *window, struct sf_arena *req)
{
    x->window = window;
    x->n_max = of->n_max;
    x->n_pieces = window->n_steps;
    x->most = (uint8_t)(PART_LEAST / x->n_pieces > PER_PIECE ? PART_LEAST / x->n_pieces
                                                             : PER_PIECE);
    x->n_left = PART_MOST;
    x->is_full = false;
    x->piece_len = 0;
    x->req = req;
    x->counts = x->n_max ? sf_arena_new(req, x->n_pieces) : NULL;
    return !x->n_max || x->counts;
}

static bool exemplars_has_room(const struct sf_exemplars *x, const struct sf_table_series *s,
                               uint64_t piece)
{
    return x->counts[piece] < (x->most ? x->most : ALL_PER_PIECE) &&
           (!s || !s->exemplar_counts || s->exemplar_counts[piece] < PER_PIECE);
}

bool sf_exemplars_has_room(struct sf_exemplars *x, const struct sf_table_series *s,
                           uint64_t start_ns)
{
    return x->n_max && !x->is_full && exemplars_has_room(x, s, exemplars_piece_of(x, start_ns));
}

bool sf_exemplars_may_keep(struct sf_exemplars *x, const struct sf_table_series *s, uint64_t min_ns,
                           uint64_t max_ns)
{
    uint64_t last;
    if (!x->n_max || x->is_full)
        return false;
    last = exemplars_piece_of(x, max_ns);
    for (uint64_t i = exemplars_piece_of(x, min_ns); i <= last; i++) {
        if (exemplars_has_room(x, s, i))
            return true;
    }
    return false;
}

/* Counts one more, for which the caller found space; NULL: no memory. */
static struct sf_kept_exemplar *exemplars_add_one(struct sf_exemplars *x, struct sf_table_series *s,
                                                  uint64_t start_ns)
{
    uint64_t piece = exemplars_piece_of(x, start_ns);
    struct sf_kept_exemplar *kept;
    if (!s->exemplar_counts)
        s->exemplar_counts = sf_arena_new(x->req, x->n_pieces);
    kept = s->exemplar_counts ? sf_arena_new(x->req, sizeof(*kept)) : NULL;
    if (!kept)
        return NULL;
    kept->next = s->exemplars;
    s->exemplars = kept;
    s->exemplar_counts[piece]++;
    x->counts[piece]++;
    x->is_full = x->n_left && --x->n_left == 0;
    return kept;
}

void sf_exemplars_keep(struct sf_exemplars *x, struct sf_table_series *s,
                       const struct sf_metric_exemplar *e)
{
    struct sf_attr *list;
    struct sf_kept_exemplar *kept;
    if (!sf_exemplars_has_room(x, s, (uint64_t)e->time_ns))
        return;
    list = sf_arena_new_n(x->req, e->labels.n + 1, sizeof(*list));
    for (uint32_t i = 0; list && i < e->labels.n; i++) {
        list[i] = e->labels.list[i];
        if (list[i].val.type == SF_VALUE_STR &&
            !sf_arena_copy(x->req, e->labels.list[i].val.str, &list[i].val.str))
            return;
    }
    kept = list ? exemplars_add_one(x, s, (uint64_t)e->time_ns) : NULL;
    if (!kept)
        return;
    kept->is = *e;
    kept->is.labels.list = list;
}

bool sf_exemplars_add(struct sf_exemplars *x, struct sf_table_series *s,
                      const struct sf_trace_view *v, uint32_t span, double value)
{
    int64_t at_ns = (int64_t)v->spans[span].start_ns;
    struct sf_attrs labels;
    struct sf_kept_exemplar *kept;
    if (!sf_exemplars_has_room(x, s, (uint64_t)at_ns) || !exemplars_describe(x, v, span, &labels))
        return false;
    kept = exemplars_add_one(x, s, (uint64_t)at_ns);
    if (!kept)
        return false;
    kept->is = (struct sf_metric_exemplar){.labels = labels, .value = value, .time_ns = at_ns};
    return true;
}

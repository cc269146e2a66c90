/* compare.c - what one set of spans does more of than another, per request. */
#include "exec/compare.h"

#include <stdlib.h>

#include "exec/no_room.h"
#include "exec/span_profile.h"
#include "flame/batch_tree.h"
#include "flame/tree_builder.h"
#include "flame/tree_group.h"
#include "flame/tree_top.h"
#include "link/cohort.h"

enum { MAX_TRACES = 1000 };
#define MAX_NAMES_LEN ((size_t)32 << 20)

struct side {
    struct sf_set_span *spans; /* found */
    uint32_t n_found;
    struct sf_cohort_cost *costs;
    uint32_t cap_costs;
    struct sf_cohort cohort;
    struct sf_comparison_side view;
};

struct work {
    struct sf_store *store;
    const struct sf_compare_want *want;
    struct sf_query_ctx *q;
    struct side left, right;
    struct sf_tree_builder names; /* functions by place */
    struct sf_comparison out;
    bool is_partial;
};

/* ---- the two sets ---- */

static int by_duration(const void *a, const void *b)
{
    const struct sf_set_span *x = a, *y = b;
    if (x->duration_ns != y->duration_ns)
        return x->duration_ns < y->duration_ns ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static enum sf_err find(struct work *w, sf_str query, struct sf_span_set *out, struct sf_why *why)
{
    struct sf_span_set_want ask = {.query = query,
                                   .from_ns = w->want->from_ns,
                                   .to_ns = w->want->to_ns,
                                   .limit_traces = MAX_TRACES,
                                   .scratch = w->want->scratch};
    enum sf_err err = sf_span_set_find(w->store, &ask, w->q, out, why);
    if (!err)
        w->is_partial = w->is_partial || out->is_partial;
    return err;
}

static enum sf_err split(struct work *w, struct sf_why *why)
{
    struct sf_span_set all;
    enum sf_err err = find(w, w->want->query, &all, why);
    if (err)
        return err;
    if (all.n > 0)
        qsort(all.spans, all.n, sizeof(*all.spans), by_duration);
    uint32_t at = (uint32_t)((double)all.n * w->want->split);
    uint64_t bound_ns = at < all.n ? all.spans[at].duration_ns : 0;
    w->left.spans = all.spans;
    w->left.n_found = at;
    w->right.spans = all.spans + at;
    w->right.n_found = all.n - at;
    double percent = w->want->split * 100;
    if (!sf_arena_print(w->q->req, &w->left.view.words, "fast: below p%g (%.3g ms) of %.*s",
                        percent, (double)bound_ns / 1e6, SF_STR_ARG(w->want->query)) ||
        !sf_arena_print(w->q->req, &w->right.view.words, "slow: from p%g (%.3g ms) on", percent,
                        (double)bound_ns / 1e6))
        return sf_exec_no_room(why);
    return SF_OK;
}

static enum sf_err find_both(struct work *w, struct sf_why *why)
{
    struct sf_span_set left, right;
    enum sf_err err = find(w, w->want->left, &left, why);
    if (!err)
        err = find(w, w->want->right, &right, why);
    if (err)
        return err;
    w->left.spans = left.spans;
    w->left.n_found = left.n;
    w->right.spans = right.spans;
    w->right.n_found = right.n;
    w->left.view.words = w->want->left;
    w->right.view.words = w->want->right;
    return SF_OK;
}

/* ---- what each span spent ---- */

static bool add_cost(struct work *w, struct side *s, uint32_t span, uint32_t frame, double value)
{
    if (s->cohort.n_costs == s->cap_costs) {
        uint32_t cap = s->cap_costs ? s->cap_costs * 2 : 1024;
        struct sf_cohort_cost *grown = sf_arena_grow(
            w->q->req, s->costs, s->cap_costs * sizeof(*s->costs), cap * sizeof(*s->costs));
        if (!grown)
            return false;
        s->costs = grown;
        s->cap_costs = cap;
    }
    s->costs[s->cohort.n_costs++] = (struct sf_cohort_cost){span, frame, value};
    return true;
}

static enum sf_err add_profile(struct work *w, struct side *s, uint32_t span,
                               const struct sf_span_profile *p, struct sf_arena *req,
                               struct sf_why *why)
{
    struct sf_tree tree;
    const struct sf_top_row *rows;
    uint32_t n;
    enum sf_err err = sf_tree_group(
        &p->view.tree, (struct sf_tree_grouping){SF_GROUP_FUNCTION, false}, req, &tree, why);
    if (!err)
        err = sf_tree_top(&tree, SF_TOP_BY_SELF, req, &rows, &n, why);
    for (uint32_t i = 0; !err && i < n; i++) {
        struct sf_frame f = {.function = tree.frames[rows[i].frame].function};
        uint32_t frame = rows[i].self > 0 ? sf_tree_builder_frame(&w->names, &f) : SF_NONE;
        if (frame != SF_NONE && !add_cost(w, s, span, frame, (double)rows[i].self))
            err = sf_exec_no_room(why);
    }
    return err;
}

static enum sf_err note_type(struct work *w, const struct sf_span_profile *p, struct sf_why *why)
{
    const struct sf_profile_type *t = &p->view.type;
    if (w->out.type.len > 0 || t->sample_type.len == 0)
        return SF_OK;
    if (!sf_profile_type_print(t, w->q->req, &w->out.type) ||
        !sf_arena_copy(w->q->req, t->sample_unit, &w->out.unit))
        return sf_exec_no_room(why);
    return SF_OK;
}

/* All spans must be asked for one type: the first one found is it. */
static enum sf_err look_at(struct work *w, struct side *s, const struct sf_set_span *span,
                           struct sf_why *why)
{
    struct sf_query_ctx q = *w->q;
    struct sf_span_profile p;
    struct sf_span_profile_want ask = {.trace = span->trace,
                                       .span = span->id,
                                       .type = w->out.type.len ? w->out.type : w->want->type};
    sf_arena_reset(w->want->scratch);
    q.req = w->want->scratch;
    uint32_t place = s->cohort.n_spans++;
    s->view.mean_duration_ns += (double)span->duration_ns;
    enum sf_err err = sf_span_profile_make(w->store, &ask, &q, &p, why);
    w->q->stats = q.stats;
    if (err == SF_ERR_NOT_FOUND)
        return SF_OK; /* its service has no such profiles, or it was erased meanwhile */
    if (!err)
        err = note_type(w, &p, why);
    if (err || p.n_samples == 0)
        return err;
    s->view.n_sampled++;
    s->view.mean_value += (double)p.view.tree.total;
    return add_profile(w, s, place, &p, q.req, why);
}

static enum sf_err look_at_all(struct work *w, struct side *s, struct sf_why *why)
{
    uint64_t *ids = sf_arena_new_n(w->q->req, s->n_found + 1u, sizeof(*ids));
    uint32_t *kept = sf_arena_new_n(w->q->req, s->n_found + 1u, sizeof(*kept));
    enum sf_err err = SF_OK;
    if (!ids || !kept)
        return sf_exec_no_room(why);
    for (uint32_t i = 0; i < s->n_found; i++)
        ids[i] = sf_trace_id_hash(s->spans[i].trace, 0) ^ s->spans[i].id;
    uint32_t n = sf_cohort_thin(ids, s->n_found, SF_COMPARE_SPANS, kept);
    for (uint32_t i = 0; !err && i < n; i++)
        err = look_at(w, s, &s->spans[kept[i]], why);
    s->cohort.costs = s->costs;
    s->view.n_found = s->n_found;
    s->view.n_spans = s->cohort.n_spans;
    if (s->cohort.n_spans > 0) {
        s->view.mean_duration_ns /= s->cohort.n_spans;
        s->view.mean_value /= s->cohort.n_spans;
    }
    return err;
}

/* ---- the answer ---- */

static enum sf_err give_rows(struct work *w, const struct sf_cohort_result *r, struct sf_why *why)
{
    struct sf_comparison_row *rows = sf_arena_new_n(w->q->req, r->n_rows + 1u, sizeof(*rows));
    if (!rows)
        return sf_exec_no_room(why);
    for (uint32_t i = 0; i < r->n_rows; i++) {
        const struct sf_cohort_row *from = &r->rows[i];
        rows[i] = (struct sf_comparison_row){.function = w->names.frames[from->frame].function,
                                             .left = from->left,
                                             .right = from->right,
                                             .delta = from->delta,
                                             .low = from->low,
                                             .high = from->high,
                                             .n_left = from->n_left,
                                             .n_right = from->n_right,
                                             .is_significant = from->is_significant};
    }
    w->out.rows = rows;
    w->out.n_rows = r->n_rows;
    w->out.n_significant = r->n_significant;
    w->out.left = w->left.view;
    w->out.right = w->right.view;
    if (w->is_partial)
        w->out.note = SF_STR("there were more spans than a comparison asks for: these are of the "
                             "newest traces");
    if (w->left.n_found == 0 || w->right.n_found == 0)
        w->out.reason = SF_STR("one side has no spans: nothing to compare");
    else if (w->left.view.n_sampled == 0 || w->right.view.n_sampled == 0)
        w->out.reason = SF_STR("one side has no samples: nothing to compare");
    else if (r->is_too_small)
        w->out.reason = SF_STR("a side has under eight spans: no difference can be significant");
    else if (r->n_significant == 0)
        w->out.reason = SF_STR("no difference is significant");
    return SF_OK;
}

enum sf_err sf_compare_make(struct sf_store *store, const struct sf_compare_want *want,
                            struct sf_query_ctx *q, struct sf_comparison *out, struct sf_why *why)
{
    struct work w = {.store = store, .want = want, .q = q};
    struct sf_cohort_result result;
    enum sf_err err = want->query.len > 0 ? split(&w, why) : find_both(&w, why);
    if (err)
        return err;
    sf_tree_builder_init(&w.names, q->req, MAX_NAMES_LEN, SF_TREE_COPIES);
    err = look_at_all(&w, &w.left, why);
    if (!err)
        err = look_at_all(&w, &w.right, why);
    if (!err && w.names.err)
        err = sf_exec_no_room(why);
    if (!err)
        err = sf_cohort_compare(&w.left.cohort, &w.right.cohort, w.names.n_frames, 1, q->req,
                                &result, why);
    if (!err)
        err = give_rows(&w, &result, why);
    sf_tree_builder_done(&w.names);
    if (!err)
        *out = w.out;
    return err;
}

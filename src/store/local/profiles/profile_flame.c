/* profile_flame.c - merges many profiles into one tree: from aggregates, or from single samples. */
#include "flame/stack_filter.h"
#include "store/local/profiles/profile_details.h"
#include "store/local/profiles/profile_names.h"
#include "store/local/profiles/profile_query.h"
#include "store/local/profiles/profile_tree.h"

enum { MAX_TREE_LEN = 64 << 20 };

struct merging {
    const struct sf_prof_query *query;
    struct sf_profile_select select;
    struct sf_tree_builder builder;
    sf_str unit;
    bool *is_series, *is_row; /* of the current source */
    struct sf_profile_tree tree;
    int64_t *sums; /* by node of the current source */
    /* Samples whose ids are inherited: the answer if there are no others. */
    struct sf_tree_builder lent;
    struct sf_profile_tree lent_tree;
    uint64_t n_own, n_lent;
};

/* ---- a tree from the aggregate ---- */

/* A stack occurs once in every slot of a day: values are first summed by node, and each node is
 * looked up in the answer's tree once. A sum that would overflow is added there directly, which
 * marks the tree. */
static void profile_flame_add(struct merging *m, uint32_t node, int64_t value)
{
    int64_t sum;
    if (!__builtin_add_overflow(m->sums[node], value, &sum)) {
        m->sums[node] = sum;
        return;
    }
    sf_tree_builder_add(&m->builder, sf_profile_tree_node(&m->tree, node), m->sums[node], 0);
    m->sums[node] = value;
}

static void profile_flame_add_sums(struct merging *m, uint32_t n_nodes)
{
    for (uint32_t i = 0; i < n_nodes; i++) {
        if (m->sums[i])
            sf_tree_builder_add(&m->builder, sf_profile_tree_node(&m->tree, i), m->sums[i], 0);
    }
}

/* Are all rows of the chunk selected, some, or none? */
static unsigned profile_flame_count_rows(const struct merging *m, const struct sf_profile_chunk *c)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n_rows; i++)
        n += m->is_row[c->first_row + i];
    return n == 0 ? 0 : n == c->n_rows ? 2 : 1;
}

/* Handles a slot of which only the sum is left. It is not shown if a part of it was erased. If the
 * time range cuts it, it is shown completely, and the answer is marked. */
static bool take_alone(const struct merging *m, struct sf_profile_walk *w,
                       const struct sf_profile_read_source *s, const struct sf_profile_chunk *c)
{
    static const sf_trace_id NO_TRACE = {{0}};
    for (uint32_t i = 0; i < c->n_rows; i++) {
        if (m->is_row[c->first_row + i])
            continue;
        w->q->is_exact = false;
        if (sf_profile_read_source_hides(s, NO_TRACE, s->rows[c->first_row + i].time_ns))
            return false;
    }
    return true;
}

static bool has_rollup(const struct sf_profile_places *p, uint32_t chunk)
{
    return chunk + 1 < p->n_chunks && p->chunks[chunk + 1].is_rollup &&
           p->chunks[chunk + 1].first_row == p->chunks[chunk].first_row;
}

static enum sf_err merge_block(struct merging *m, struct sf_profile_walk *w,
                               struct sf_profile_read_source *s, struct sf_why *why)
{
    enum sf_err err = sf_profile_read_source_places(w, s, why);
    struct sf_profile_held held = {0};
    for (uint32_t i = 0; !err && i < s->places.n_chunks; i++) {
        const struct sf_profile_chunk *c = &s->places.chunks[i];
        bool is_alone = sf_profile_chunk_is_alone(&s->places, i);
        unsigned rows = m->is_series[c->series] && (!c->is_rollup || is_alone)
                            ? profile_flame_count_rows(m, c)
                            : 0;
        struct sf_arena tmp;
        const struct sf_profile_entry *e;
        size_t n = 0;
        if (rows == 0 || (is_alone && !take_alone(m, w, s, c)))
            continue;
        if (is_alone)
            rows = 2;
        else if (rows == 2 && has_rollup(&s->places, i))
            c++;
        err = sf_profile_samples_hold(s->reader, c->section, &held, &w->scratch, why);
        tmp = w->scratch;
        if (!err)
            err = sf_profile_samples_chunk(s->reader, s->number, c, &held, &tmp, &e, &n, why);
        for (size_t k = 0; !err && k < n; k++) {
            if (rows == 2 || m->is_row[e[k].row])
                profile_flame_add(m, e[k].node, e[k].value);
        }
        if (!err)
            err = sf_profile_read_check(w, why);
    }
    return err;
}

static void merge_set(struct merging *m, const struct sf_profile_set *set)
{
    for (uint32_t i = 0; i < set->n_entries; i++) {
        if (m->is_row[set->entries[i].row])
            profile_flame_add(m, set->entries[i].node, set->entries[i].value);
    }
}

static enum sf_err merge_aggregate(struct merging *m, struct sf_profile_walk *w,
                                   struct sf_profile_read_source *s, struct sf_why *why)
{
    enum sf_err err = sf_profile_read_source_rows(w, s, why);
    uint64_t n_samples = 0;
    bool has_any = false;
    if (err)
        return err;
    m->is_row = sf_arena_new_n(&w->scratch, (size_t)s->n_rows + 1, sizeof(*m->is_row));
    if (!m->is_row)
        return sf_no_room(why, "the answer");
    for (uint32_t i = 0; i < s->n_rows; i++) {
        m->is_row[i] = m->is_series[s->rows[i].series] &&
                       sf_profile_read_source_is_asked(m->query, w->q, s, i);
        has_any = has_any || m->is_row[i];
        n_samples += m->is_row[i] ? s->rows[i].n_samples : 0;
    }
    if (!has_any)
        return SF_OK;
    err = sf_profile_read_source_symbols(w, s, why);
    if (err)
        return err;
    m->sums = sf_arena_new_n(&w->scratch, (size_t)s->symbols.n_nodes + 1, sizeof(*m->sums));
    if (!m->sums || !sf_profile_tree_init(&m->tree, &m->builder, &s->symbols, &w->scratch))
        return sf_no_room(why, "the answer");
    sf_tree_builder_add(&m->builder, 0, 0, n_samples);
    if (s->set)
        merge_set(m, s->set);
    else
        err = merge_block(m, w, s, why);
    if (!err)
        profile_flame_add_sums(m, s->symbols.n_nodes);
    return err;
}

/* ---- a tree from details ---- */

static enum sf_err begin_details(void *arg, struct sf_profile_walk *w,
                                 struct sf_profile_read_source *s, const bool *is_series,
                                 struct sf_why *why)
{
    struct merging *m = arg;
    enum sf_err err = sf_profile_read_source_symbols(w, s, why);
    (void)is_series;
    if (!err && (!sf_profile_tree_init(&m->tree, &m->builder, &s->symbols, &w->scratch) ||
                 !sf_profile_tree_init(&m->lent_tree, &m->lent, &s->symbols, &w->scratch)))
        err = sf_no_room(why, "the answer");
    return err;
}

static bool see_detail(void *arg, const struct sf_profile_detail *d)
{
    struct merging *m = arg;
    if (d->is_lent)
        sf_tree_builder_add(&m->lent, sf_profile_tree_node(&m->lent_tree, d->node), d->value, 1);
    else
        sf_tree_builder_add(&m->builder, sf_profile_tree_node(&m->tree, d->node), d->value, 1);
    m->n_lent += d->is_lent;
    m->n_own += !d->is_lent;
    return true;
}

static enum sf_err merge_details(struct merging *m, struct sf_profile_walk *w,
                                 struct sf_profile_read_source *s, struct sf_why *why)
{
    struct sf_profile_want want = {.span_ids = m->query->span_ids,
                                   .n_spans = m->query->n_spans,
                                   .trace_ids = m->query->trace_ids,
                                   .n_traces = m->query->n_traces,
                                   .from_ns = m->query->from_ns,
                                   .to_ns = m->query->to_ns,
                                   .select = m->query->select,
                                   .process = m->query->process,
                                   .is_series = m->is_series};
    struct sf_profile_see see = {begin_details, see_detail, m, NULL, NULL, NULL};
    return sf_profile_details_each(w, s, &want, &see, why);
}

static enum sf_err see_merge(void *arg, struct sf_profile_walk *w, struct sf_profile_read_source *s,
                             struct sf_why *why)
{
    struct merging *m = arg;
    bool has_ids = m->query->n_spans || m->query->n_traces;
    m->is_series = sf_arena_new_n(&w->scratch, (size_t)s->n_series + 1, sizeof(*m->is_series));
    if (!m->is_series)
        return sf_no_room(why, "the answer");
    if (!sf_profile_select_series(&m->select, s->series, s->n_series,
                                  has_ids || m->query->n_profiles, m->is_series))
        return SF_OK;
    for (uint32_t i = 0; m->unit.len == 0 && i < s->n_series; i++) {
        if (m->is_series[i] && !sf_arena_copy(w->q->req, s->series[i].type.sample_unit, &m->unit))
            return sf_no_room(why, "the answer");
    }
    return has_ids ? merge_details(m, w, s, why) : merge_aggregate(m, w, s, why);
}

enum sf_err sf_profile_flame_merge(struct sf_store *store, const struct sf_prof_query *query,
                                   struct sf_query_ctx *q, const struct sf_tree **out,
                                   struct sf_why *why)
{
    struct merging m = {.query = query};
    struct sf_profile_walk w = {.l = (struct sf_local *)store, .q = q, .select = &m.select};
    struct sf_tree *tree = sf_arena_new(q->req, sizeof(*tree));
    enum sf_err err = tree ? sf_profile_select_init(&m.select, query->type, query->match,
                                                    query->n_match, why)
                           : sf_no_room(why, "the answer");
    if (err)
        return err;
    sf_tree_builder_init(&m.builder, q->req, MAX_TREE_LEN, SF_TREE_COPIES);
    sf_tree_builder_init(&m.lent, q->req, MAX_TREE_LEN, SF_TREE_COPIES);
    sf_profile_read_range(&w, query);
    if (query->n_spans || query->n_traces)
        sf_profile_details_range(&w, query->from_ns, query->to_ns);
    err = sf_profile_read_run(&w, see_merge, &m, why);
    bool is_lent = m.n_own == 0 && m.n_lent > 0;
    if (!err)
        err = sf_tree_builder_take(is_lent ? &m.lent : &m.builder, m.unit, tree, why);
    if (!err)
        err = sf_profile_names_give(w.l, q, tree, NULL, 0, why);
    if (!err && query->stacks)
        err = sf_stack_filter_tree(query->stacks, tree, q->req, tree, why);
    if (!err && is_lent)
        q->is_exact = false;
    sf_tree_builder_done(&m.lent);
    sf_tree_builder_done(&m.builder);
    sf_profile_select_done(&m.select);
    if (!err)
        *out = tree;
    return err;
}

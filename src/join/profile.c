/* profile.c - answers a request for one flame graph: finds the span by id or prefix, chooses the
 * profile type, merges the stacks from the store, then filters, groups and cuts the tree. A stored
 * span gets the same samples as on its own page, through the join of spans and samples. */
#include "join/profile.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "exec/profile_types.h"
#include "flame/batch_tree.h"
#include "flame/tree_cut.h"
#include "flame/tree_group.h"
#include "join/profile_ids.h"
#include "join/sample_count.h"
#include "join/span_find.h"
#include "join/span_profile.h"

enum { CANDIDATES = 9, MAX_MATCHERS = 64 };
#define SCRATCH_CAP ((size_t)256 << 20) /* reserved; at most a trace is stored */

/* ---- which span ---- */

static enum sf_err check_id(sf_str text, struct sf_why *why)
{
    for (size_t i = 0; i < text.len; i++) {
        if (sf_hex_digit(text.p[i]) < 0)
            return sf_fail(why, SF_ERR_INPUT,
                           "span_id: only hexadecimal digits, not '%c' at position %zu", text.p[i],
                           i + 1);
    }
    if (text.len > 16)
        return sf_fail(why, SF_ERR_INPUT, "span_id: at most 16 hexadecimal digits, not %zu",
                       text.len);
    return SF_OK;
}

static enum sf_err say_candidates(sf_str text, const struct sf_prof_span *spans, size_t n,
                                  struct sf_why *why)
{
    char list[160];
    size_t len = 0;
    for (size_t i = 0; i < n && len + 20 < sizeof(list); i++)
        len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%016" PRIx64, len ? ", " : "",
                                spans[i].id);
    return sf_fail(why, SF_ERR_INPUT, "span_id %.*s is ambiguous: %s%s", SF_STR_ARG(text), list,
                   n >= CANDIDATES ? ", ..." : "");
}

/* The id as given, padded on the left; otherwise the only span whose id begins so. */
static enum sf_err profile_find_span(struct sf_store *store, const struct sf_profile_ask *ask,
                                     struct sf_query_ctx *q, sf_span_id *out, struct sf_why *why)
{
    const struct sf_prof_span *spans;
    size_t n = 0;
    sf_span_id id = 0;
    bool has_service = false;
    enum sf_err err = check_id(ask->span_id, why);
    if (err)
        return err;
    (void)sf_span_id_parse(ask->span_id, &id);
    if (id)
        err = store->ops->prof_spans(store, id, id, CANDIDATES, q, &spans, &n, why);
    if (!err && n == 0 && ask->span_id.len < 16) {
        unsigned shift = 4 * (16 - (unsigned)ask->span_id.len);
        sf_span_id low = id << shift;
        err = store->ops->prof_spans(store, low, low | ((UINT64_C(1) << shift) - 1), CANDIDATES, q,
                                     &spans, &n, why);
        for (size_t i = 1; !err && i < n; i++) {
            if (spans[i].id != spans[0].id)
                return say_candidates(ask->span_id, spans, n, why);
        }
    }
    if (err)
        return err;
    if (n == 0)
        return sf_fail(why, SF_ERR_NOT_FOUND,
                       "no samples carry the span id %.*s: the span is unknown, its profiles have "
                       "expired, or its profiler does not tag samples with spans",
                       SF_STR_ARG(ask->span_id));
    for (size_t i = 0; i < n; i++)
        has_service = has_service || sf_str_eq(spans[i].service, ask->service);
    if (ask->service.len && !has_service)
        return sf_fail(why, SF_ERR_NOT_FOUND, "span %016" PRIx64 " belongs to %.*s, not to %.*s",
                       spans[0].id, SF_STR_ARG(sf_str_part(spans[0].service, 0, 80)),
                       SF_STR_ARG(sf_str_part(ask->service, 0, 80)));
    *out = spans[0].id;
    return SF_OK;
}

/* ---- which type ---- */

static enum sf_err type_id(const struct sf_profile_type *type, struct sf_arena *req, sf_str *out,
                           struct sf_why *why)
{
    struct sf_buf text = {0};
    enum sf_err err = SF_OK;
    sf_batch_tree_type_add(&text, type);
    if (!sf_buf_ok(&text) || !sf_arena_copy(req, sf_buf_str(&text), out))
        err = sf_no_room(why, "the answer");
    sf_buf_done(&text);
    return err;
}

/* The query without ids; if it had ids, also without its time range. */
static struct sf_prof_query without_ids(const struct sf_prof_query *query)
{
    struct sf_prof_query every = *query;
    if (query->n_spans || query->n_traces || query->n_profiles)
        every.from_ns = every.to_ns = 0;
    every.span_ids = NULL;
    every.trace_ids = NULL;
    every.profiles = NULL;
    every.n_spans = every.n_traces = every.n_profiles = 0;
    return every;
}

enum sf_err sf_profile_type_of(struct sf_store *store, const struct sf_prof_query *query,
                               struct sf_query_ctx *q, struct sf_profile_type *out,
                               struct sf_why *why)
{
    struct sf_prof_query every = without_ids(query);
    struct sf_prof_list list;
    enum sf_err err = store->ops->prof_list(store, &every, q, &list, why);
    sf_str rest = query->type;
    if (err)
        return err;
    *out = (struct sf_profile_type){0};
    if (list.n)
        *out = list.series[0].type;
    else if (sf_str_split_next(&rest, ':', &out->name) &&
             sf_str_split_next(&rest, ':', &out->sample_type) &&
             sf_str_split_next(&rest, ':', &out->sample_unit) &&
             sf_str_split_next(&rest, ':', &out->period_type))
        out->period_unit = rest;
    return SF_OK;
}

enum sf_err sf_profile_functions(struct sf_store *store, const struct sf_prof_query *query,
                                 struct sf_query_ctx *q, struct sf_tree *out, struct sf_why *why)
{
    struct sf_tree_grouping how = {.by = SF_GROUP_FUNCTION};
    const struct sf_tree *tree;
    enum sf_err err = store->ops->prof_merge(store, query, q, &tree, why);
    return err ? err : sf_tree_group(tree, how, q->req, out, why);
}

/* ---- the answer ---- */

struct types { /* the existing types, and the selected one */
    const struct sf_batch_type *list;
    uint32_t n, at;
};

static enum sf_err profile_choose_type(struct sf_store *store, const struct sf_profile_ask *ask,
                                       const struct sf_prof_query *query, struct sf_query_ctx *q,
                                       struct types *out, struct sf_why *why)
{
    struct sf_prof_query every = without_ids(query);
    struct sf_prof_list list;
    enum sf_err err = store->ops->prof_list(store, &every, q, &list, why);
    if (!err && list.n == 0)
        err = sf_fail(why, SF_ERR_NOT_FOUND, "no profiles%s%.*s in this time range",
                      ask->service.len ? " of " : "", SF_STR_ARG(sf_str_part(ask->service, 0, 80)));
    if (!err)
        err = sf_profile_types(&list, q->req, &out->list, &out->n, why);
    if (!err)
        err = sf_batch_tree_choose(out->list, out->n, ask->type, &out->at, why);
    return err;
}

static enum sf_err merge_type(struct sf_store *store, const struct sf_profile_type *type,
                              struct sf_prof_query *query, struct sf_query_ctx *q,
                              const struct sf_tree **out, struct sf_why *why)
{
    enum sf_err err = type_id(type, q->req, &query->type, why);
    return err ? err : store->ops->prof_merge(store, query, q, out, why);
}

/* The type was chosen among those of the whole service, but a span may have only others. Then one
 * of these is used, unless the type was requested: then the message suggests it. */
static enum sf_err profile_merge(struct sf_store *store, const struct sf_profile_ask *ask,
                                 struct sf_prof_query *query, struct sf_query_ctx *q,
                                 struct sf_batch_type *out_type, const struct sf_tree **out,
                                 struct sf_why *why)
{
    struct types types = {0};
    enum sf_err err = profile_choose_type(store, ask, query, q, &types, why);
    const char *whose = query->n_spans ? "this span" : "this trace";
    sf_str meant;
    if (!err)
        err = merge_type(store, &types.list[types.at].type, query, q, out, why);
    if (err)
        return err;
    *out_type = types.list[types.at];
    meant = query->type;
    if ((*out)->n_nodes > 1 || (query->n_spans == 0 && query->n_traces == 0))
        return SF_OK;
    for (uint32_t i = 0; i < types.n; i++) {
        if (i == types.at)
            continue;
        err = merge_type(store, &types.list[i].type, query, q, out, why);
        if (err)
            return err;
        *out_type = types.list[i];
        if ((*out)->n_nodes > 1)
            return ask->type.len == 0 ? SF_OK
                                      : sf_fail(why, SF_ERR_NOT_FOUND,
                                                "%s has no samples of %.*s; it has some of %.*s",
                                                whose, SF_STR_ARG(meant), SF_STR_ARG(query->type));
    }
    return sf_fail(why, SF_ERR_NOT_FOUND, "%s has no samples of %.*s", whose, SF_STR_ARG(meant));
}

/* The samples that the link gives a stored span, as on its own page; without samples an empty tree
 * and the reason. NOT_FOUND leaves `why` unchanged if no trace has such a span. */
static enum sf_err profile_ask_link(struct sf_store *store, const struct sf_profile_ask *ask,
                                    sf_span_id span, struct sf_query_ctx *q,
                                    struct sf_profile_view *out, struct sf_why *why)
{
    struct sf_span_profile_want want = {.trace = ask->trace_id, .span = span, .type = ask->type};
    struct sf_arena scratch = {0};
    struct sf_span_profile p;
    struct sf_why own = {0};
    char id[17];
    enum sf_err err = SF_OK;
    if (!sf_arena_init(&scratch, SCRATCH_CAP))
        return sf_no_memory(why, "the query");
    if (!ask->has_trace)
        err = sf_span_find(store, want.span, ask->from_ns, ask->until_ns, &scratch, q, &want.trace,
                           &own);
    sf_arena_done(&scratch);
    if (err == SF_ERR_NOT_FOUND)
        return err;
    if (!err)
        err = sf_span_profile_best(store, &want, q, &p, &own);
    if (err)
        return sf_fail(why, err, "%s", own.text);
    sf_span_id_render(span, id);
    if (ask->service.len && !sf_str_eq(ask->service, p.service))
        return sf_fail(why, SF_ERR_NOT_FOUND, "span %s belongs to %.*s, not to %.*s", id,
                       SF_STR_ARG(sf_str_part(p.service, 0, 80)),
                       SF_STR_ARG(sf_str_part(ask->service, 0, 80)));
    if (p.grades.rows[SF_GRADE_ROW_EXACT].n_samples +
            p.grades.rows[SF_GRADE_ROW_SUBTREE].n_samples ==
        0)
        q->is_exact = false; /* no sample names the span or a descendant */
    *out = p.view;
    out->reason = p.reason;
    return SF_OK;
}

static enum sf_err shape(const struct sf_profile_ask *ask, struct sf_query_ctx *q,
                         struct sf_profile_view *io, struct sf_why *why)
{
    struct sf_tree whole = io->tree;
    enum sf_err err = SF_OK;
    if (ask->stacks)
        err = sf_stack_filter_tree(ask->stacks, &whole, q->req, &io->tree, why);
    if (!err && ask->max_nodes) {
        whole = io->tree;
        err = sf_tree_cut(&whole, ask->max_nodes, q->req, &io->tree, why);
    }
    return err;
}

static enum sf_err profile_add_ids(struct sf_store *store, const struct sf_prof_query *query,
                                   struct sf_query_ctx *q, struct sf_profile_view *io,
                                   struct sf_why *why)
{
    struct sf_owned owned = {0};
    enum sf_err err = sf_profile_ids(store, query, &io->tree, q, &owned, why);
    io->owned = owned.list;
    io->n_owned = owned.n;
    return err;
}

/* A stored span has the same answer however it is requested. Labels and ranges select among samples
 * that carry its id, and so do ids of spans that are not stored. */
static bool is_of_link(const struct sf_profile_ask *ask, enum sf_err found, sf_span_id *io)
{
    if (ask->n_match > 0)
        return false;
    if (!found)
        return ask->from_ns == 0 && ask->until_ns == 0;
    return found == SF_ERR_NOT_FOUND && ask->span_id.len == 16 &&
           sf_span_id_parse(ask->span_id, io);
}

enum sf_err sf_profile_get(struct sf_store *store, const struct sf_profile_ask *ask,
                           struct sf_query_ctx *q, struct sf_profile_view *out, struct sf_why *why)
{
    struct sf_matcher *match = sf_arena_new_n(q->req, MAX_MATCHERS, sizeof(*match));
    struct sf_prof_query query = {.match = match, .from_ns = ask->from_ns, .to_ns = ask->until_ns};
    struct sf_profile_view view = {.service = ask->service};
    struct sf_batch_type type = {0};
    const struct sf_tree *tree = NULL;
    sf_span_id span = 0;
    enum sf_err err = SF_OK;
    if (!match || ask->n_match + 1 > MAX_MATCHERS)
        return sf_no_room(why, "the answer");
    if (ask->service.len)
        match[query.n_match++] = (struct sf_matcher){SF_STR("service_name"), SF_OP_EQ,
                                                     ask->service};
    for (size_t i = 0; i < ask->n_match; i++)
        match[query.n_match++] = ask->match[i];
    if (ask->span_id.len) {
        err = profile_find_span(store, ask, q, &span, why);
        if (is_of_link(ask, err, &span)) {
            struct sf_why other = err ? *why : (struct sf_why){0};
            enum sf_err linked = profile_ask_link(store, ask, span, q, &view, &other);
            if (!linked)
                linked = shape(ask, q, &view, &other);
            if (!linked)
                *out = view;
            if (!linked || err || (linked != SF_ERR_NOT_FOUND && linked != SF_ERR_INPUT)) {
                *why = other;
                return linked;
            }
        }
        query.span_ids = &span;
        query.n_spans = 1;
    }
    if (ask->has_trace) {
        query.trace_ids = &ask->trace_id;
        query.n_traces = 1;
    }
    if (!err)
        err = profile_merge(store, ask, &query, q, &type, &tree, why);
    if (!err) {
        view.tree = *tree;
        view.type = type.type;
        view.taken = sf_sample_count(&type.type, type.period, tree->total, tree->n_samples);
        view.is_few = (query.n_spans || query.n_traces) &&
                      sf_sample_count_is_few(&type.type, type.period, view.taken);
    }
    if (!err)
        err = shape(ask, q, &view, why);
    if (!err && ask->has_ids)
        err = profile_add_ids(store, &query, q, &view, why);
    view.time_ns = ask->from_ns;
    view.duration_ns = ask->until_ns - ask->from_ns;
    if (!err)
        *out = view;
    return err;
}

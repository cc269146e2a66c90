/* querier.c - the calls of QuerierService that list what there is: profile types, label names and
 * values, series, statistics. Each gets its decoded request in a sf_querier_work and writes
 * protobuf or JSON through the same message writer. Calls that return profiles are in the other
 * querier_ files. */
#include "serve/pyroscope/querier.h"

#include <stdlib.h>

#include "base/time_unit.h"
#include "exec/profile_types.h"
#include "flame/batch_tree.h"
#include "join/profile.h"
#include "serve/pyroscope/querier_work.h"

static int querier_by_text(const void *a, const void *b)
{
    return sf_str_cmp(*(const sf_str *)a, *(const sf_str *)b);
}

/* Writes the texts, sorted and without duplicates, as field 1 of the answer. */
static void querier_write_texts(struct sf_message *m, sf_str *list, size_t n)
{
    if (n == 0)
        return;
    qsort(list, n, sizeof(*list), querier_by_text);
    sf_message_list(m, "names");
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || !sf_str_eq(list[i - 1], list[i]))
            sf_message_item_str(m, 1, list[i]);
    }
    sf_message_list_end(m);
}

static bool querier_is_shown(const struct sf_querier_work *x, sf_str name)
{
    size_t at;
    bool is_plain = name.len > 0 && !(name.p[0] >= '0' && name.p[0] <= '9');
    for (size_t i = 0; i < name.len; i++) {
        char c = name.p[i];
        is_plain = is_plain && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                (c >= '0' && c <= '9') || c == '_');
    }
    return is_plain || sf_str_find(sf_request_header(x->call->request, SF_STR("accept")),
                                   SF_STR("allow-utf8-labelnames=true"), &at);
}

static enum sf_err list_series(struct sf_querier_work *x, struct sf_prof_list *out)
{
    return x->store->ops->prof_list(x->store, &x->query, &x->q, out, &x->why);
}

/* ---- types ---- */

struct typed {
    sf_str id;
    const struct sf_profile_type *type;
};

static int by_type(const void *a, const void *b)
{
    return sf_str_cmp(((const struct typed *)a)->id, ((const struct typed *)b)->id);
}

static enum sf_err answer_types(struct sf_querier_work *x)
{
    const struct sf_batch_type *types;
    struct sf_prof_list list;
    struct typed *sorted;
    uint32_t n = 0;
    enum sf_err err = list_series(x, &list);
    if (!err)
        err = sf_profile_types(&list, x->req, &types, &n, &x->why);
    if (err || n == 0)
        return err;
    sorted = sf_arena_new_n(x->req, n, sizeof(*sorted));
    if (!sorted)
        return sf_no_room(&x->why, "the answer");
    for (uint32_t i = 0; i < n; i++) {
        struct sf_series one = {.type = types[i].type};
        sorted[i].type = &types[i].type;
        if (!sf_querier_work_label(x->req, &one, SF_STR("__profile_type__"), &sorted[i].id))
            return sf_no_room(&x->why, "the answer");
    }
    qsort(sorted, n, sizeof(*sorted), by_type);
    sf_message_list(&x->m, "profileTypes");
    for (uint32_t i = 0; i < n; i++) {
        size_t mark = sf_message_item(&x->m, 1);
        sf_message_str(&x->m, 1, "ID", sorted[i].id);
        sf_message_str(&x->m, 2, "name", sorted[i].type->name);
        sf_message_str(&x->m, 4, "sampleType", sorted[i].type->sample_type);
        sf_message_str(&x->m, 5, "sampleUnit", sorted[i].type->sample_unit);
        sf_message_str(&x->m, 6, "periodType", sorted[i].type->period_type);
        sf_message_str(&x->m, 7, "periodUnit", sorted[i].type->period_unit);
        sf_message_end(&x->m, mark);
    }
    sf_message_list_end(&x->m);
    return SF_OK;
}

/* ---- labels ---- */

static enum sf_err answer_names(struct sf_querier_work *x)
{
    struct sf_prof_list list;
    sf_str *names;
    size_t n = 0, cap = SF_QUERIER_OWN_NAMES;
    enum sf_err err = list_series(x, &list);
    if (err)
        return err;
    for (uint32_t i = 0; i < list.n; i++)
        cap += list.series[i].n_labels;
    names = sf_arena_new_n(x->req, cap, sizeof(*names));
    if (!names)
        return sf_no_room(&x->why, "the answer");
    for (size_t i = 0; list.n && i < SF_QUERIER_OWN_NAMES; i++)
        names[n++] = sf_querier_own_names[i];
    for (uint32_t i = 0; i < list.n; i++) {
        for (uint32_t k = 0; k < list.series[i].n_labels; k++) {
            if (querier_is_shown(x, list.series[i].labels[k].key))
                names[n++] = list.series[i].labels[k].key;
        }
    }
    querier_write_texts(&x->m, names, n);
    return SF_OK;
}

static enum sf_err answer_values(struct sf_querier_work *x)
{
    struct sf_prof_list list;
    sf_str *values;
    size_t n = 0;
    enum sf_err err;
    if (x->ask->name.len == 0)
        return sf_fail(&x->why, SF_ERR_INPUT, "name is missing");
    err = list_series(x, &list);
    if (err)
        return err;
    values = sf_arena_new_n(x->req, (size_t)list.n + 1, sizeof(*values));
    if (!values)
        return sf_no_room(&x->why, "the answer");
    for (uint32_t i = 0; i < list.n; i++) {
        if (!sf_querier_work_label(x->req, &list.series[i], x->ask->name, &values[n]))
            return sf_no_room(&x->why, "the answer");
        n += values[n].len > 0;
    }
    querier_write_texts(&x->m, values, n);
    return SF_OK;
}

/* Encodes one label set as bytes, so that equal sets are found by sorting. */
static enum sf_err render_set(struct sf_querier_work *x, const struct sf_series *s, sf_str *out)
{
    struct sf_buf text = {0};
    struct sf_message m = sf_message_init(&text, x->m.is_json);
    size_t n_keys = x->ask->n_keys ? x->ask->n_keys : SF_QUERIER_OWN_NAMES;
    enum sf_err err = SF_OK;
    sf_str val;
    for (size_t i = 0; !err && i < n_keys; i++) {
        sf_str key = x->ask->n_keys ? x->ask->keys[i] : sf_querier_own_names[i];
        if (!sf_querier_work_label(x->req, s, key, &val))
            err = sf_no_room(&x->why, "the answer");
        else if (val.len)
            sf_querier_work_write_label(&m, 1, key, val);
    }
    for (uint32_t i = 0; !err && x->ask->n_keys == 0 && i < s->n_labels; i++) {
        if (querier_is_shown(x, s->labels[i].key))
            sf_querier_work_write_label(&m, 1, s->labels[i].key, s->labels[i].val);
    }
    if (!err && (!sf_buf_ok(&text) || !sf_arena_copy(x->req, sf_buf_str(&text), out)))
        err = sf_no_room(&x->why, "the answer");
    sf_buf_done(&text);
    return err;
}

static enum sf_err answer_series(struct sf_querier_work *x)
{
    struct sf_prof_list list;
    sf_str *sets = NULL;
    enum sf_err err = list_series(x, &list);
    if (!err) {
        sets = sf_arena_new_n(x->req, (size_t)list.n + 1, sizeof(*sets));
        err = sets ? SF_OK : sf_no_room(&x->why, "the answer");
    }
    for (uint32_t i = 0; !err && i < list.n; i++)
        err = render_set(x, &list.series[i], &sets[i]);
    if (err || list.n == 0)
        return err;
    qsort(sets, list.n, sizeof(*sets), querier_by_text);
    sf_message_list(&x->m, "labelsSet");
    for (uint32_t i = 0; i < list.n; i++) {
        size_t mark;
        if ((i && sf_str_eq(sets[i - 1], sets[i])) || sets[i].len == 0)
            continue;
        mark = sf_message_item(&x->m, 2);
        sf_message_list(&x->m, "labels");
        if (x->m.is_json)
            sf_json_write_raw(&x->m.w, sets[i]);
        else
            sf_buf_add_str(x->m.out, sets[i]);
        sf_message_list_end(&x->m);
        sf_message_end(&x->m, mark);
    }
    sf_message_list_end(&x->m);
    return SF_OK;
}

/* ---- statistics ---- */

/* Answers whether there are profiles and of which times: those of the largest profile in the first
 * and in the last minute with data. Profiles of single requests have no points, but count as
 * data. */
static enum sf_err answer_stats(struct sf_querier_work *x)
{
    const struct sf_prof_query every = {0};
    struct sf_prof_points points;
    struct sf_prof_list list;
    enum sf_err err = x->store->ops->prof_points(x->store, &every, NULL, 0, SF_NS_PER_MIN, &x->q,
                                                 &points, &x->why);
    if (!err && points.n_points == 0)
        err = list_series(x, &list);
    if (err || (points.n_points == 0 && list.n == 0))
        return err;
    sf_message_bool(&x->m, 1, "dataIngested", true);
    if (points.n_points) {
        sf_message_i64(&x->m, 2, "oldestProfileTime", points.points[0].id_ns / SF_NS_PER_MS);
        sf_message_i64(&x->m, 3, "newestProfileTime",
                       points.points[points.n_points - 1].id_ns / SF_NS_PER_MS);
    }
    return SF_OK;
}

/* Counts the series, profiles and samples that a query would read; they are not estimated. */
static enum sf_err answer_analysis(struct sf_querier_work *x)
{
    struct sf_label_selector selector = {0};
    struct sf_prof_points points = {0};
    struct sf_store_state state;
    struct sf_prof_list list;
    uint64_t n_profiles = 0, n_samples = 0;
    size_t mark;
    enum sf_err err = sf_label_selector_parse(x->ask->query, x->req, &selector, &x->why);
    x->query.match = selector.list;
    x->query.n_match = selector.n;
    if (!err)
        err = list_series(x, &list);
    if (!err)
        err = x->store->ops->prof_points(x->store, &x->query, NULL, 0, INT64_MAX / 4, &x->q,
                                         &points, &x->why);
    if (!err)
        err = x->store->ops->state(x->store, &state, &x->why);
    if (err)
        return err;
    for (uint32_t i = 0; i < points.n_points; i++) {
        n_profiles += points.points[i].n_profiles;
        n_samples += points.points[i].n_samples;
    }
    sf_message_list(&x->m, "queryScopes");
    mark = sf_message_item(&x->m, 1);
    sf_message_str(&x->m, 1, "componentType", SF_STR("store"));
    sf_message_u64(&x->m, 2, "componentCount", 1);
    sf_message_u64(&x->m, 3, "blockCount", state.n_blocks);
    sf_message_u64(&x->m, 4, "seriesCount", list.n);
    sf_message_u64(&x->m, 5, "profileCount", n_profiles);
    sf_message_u64(&x->m, 6, "sampleCount", n_samples);
    sf_message_u64(&x->m, 8, "profileBytes", x->q.stats.read_len);
    sf_message_end(&x->m, mark);
    sf_message_list_end(&x->m);
    mark = sf_message_begin(&x->m, 2, "queryImpact");
    sf_message_u64(&x->m, 2, "totalBytesInTimeRange", state.kept_len);
    sf_message_u64(&x->m, 3, "totalQueriedSeries", list.n);
    sf_message_end(&x->m, mark);
    return SF_OK;
}

/* ---- routes ---- */

bool sf_querier_types(struct sf_call *call, struct sf_worker *worker)
{
    return sf_querier_work_run(call, worker, SF_QUERIER_TYPES, SF_QUERIER_TIMES_OPTIONAL,
                               answer_types);
}
bool sf_querier_label_names(struct sf_call *call, struct sf_worker *worker)
{
    return sf_querier_work_run(call, worker, SF_QUERIER_LABEL_NAMES, SF_QUERIER_TIMES_REQUIRED,
                               answer_names);
}
bool sf_querier_label_values(struct sf_call *call, struct sf_worker *worker)
{
    return sf_querier_work_run(call, worker, SF_QUERIER_LABEL_VALUES, SF_QUERIER_TIMES_REQUIRED,
                               answer_values);
}
bool sf_querier_series(struct sf_call *call, struct sf_worker *worker)
{
    return sf_querier_work_run(call, worker, SF_QUERIER_SERIES, SF_QUERIER_TIMES_REQUIRED,
                               answer_series);
}
bool sf_querier_stats(struct sf_call *call, struct sf_worker *worker)
{
    return sf_querier_work_run(call, worker, SF_QUERIER_STATS, SF_QUERIER_TIMES_NONE, answer_stats);
}
bool sf_querier_analyze(struct sf_call *call, struct sf_worker *worker)
{
    return sf_querier_work_run(call, worker, SF_QUERIER_ANALYZE, SF_QUERIER_TIMES_OPTIONAL,
                               answer_analysis);
}

/* profile_points.c - sums of profiles over time: of totals, or of selected stacks. */
#include <stdlib.h>

#include "base/hash.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/num.h"
#include "base/time_unit.h"
#include "block/format/dict.h"
#include "model/process.h"
#include "store/local/profiles/profile_query.h"
#include "store/local/profiles/profile_read.h"
#include "store/local/profiles/profile_stacks.h"

struct summing {
    const struct sf_prof_query *query;
    struct sf_profile_select select;
    const sf_str *keys;
    size_t n_keys;
    int64_t step_ns;
    struct sf_dict groups; /* keys are label values, each preceded by its length */
    struct sf_prof_point *points;
    uint32_t n, cap;
};

static bool profile_points_group_of(struct summing *x, const struct sf_profile_series *s,
                                    struct sf_buf *key, uint32_t *out)
{
    sf_buf_reset(key);
    for (size_t i = 0; i < x->n_keys; i++) {
        sf_str val = sf_profile_select_label(s, x->keys[i]);
        sf_buf_add_u32le(key, (uint32_t)val.len);
        sf_buf_add_str(key, val);
    }
    return sf_buf_ok(key) && sf_dict_add(&x->groups, sf_buf_str(key), out);
}

/* Steps end at from, from + step, ...: a profile counts for the step with its start in (end - step,
 * end]. Later profiles count for the last step, or at the end of the range if the query has_end, so
 * that the points sum up to the whole range. */
static int64_t profile_points_step_of(const struct summing *x, int64_t start_ns)
{
    const struct sf_prof_query *q = x->query;
    int64_t from = q->grid_ns ? q->grid_ns : q->from_ns, since = sf_sub_sat_i64(start_ns, from);
    int64_t steps, most;
    if (x->step_ns <= 0)
        return start_ns;
    if (q->has_end)
        since -= since % SF_NS_PER_MS;
    if (since <= 0)
        return from;
    steps = since / x->step_ns + (since % x->step_ns > 0);
    most = q->to_ns > from ? (q->to_ns - 1 - from) / x->step_ns : steps;
    if (steps > most && q->has_end)
        return from + (q->to_ns - 1 - from) / SF_NS_PER_MS * SF_NS_PER_MS;
    return from + (steps < most ? steps : most) * x->step_ns;
}

static int profile_points_by_time(const void *a, const void *b)
{
    const struct sf_prof_point *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static uint32_t profile_points_settle(struct sf_prof_point *list, uint32_t n, bool is_joining)
{
    uint32_t n_out = 0;
    if (n)
        qsort(list, n, sizeof(*list), profile_points_by_time);
    for (uint32_t i = 0; i < n; i++) {
        struct sf_prof_point *last = n_out ? &list[n_out - 1] : NULL;
        if (!is_joining || !last || profile_points_by_time(last, &list[i]) != 0) {
            list[n_out++] = list[i];
            continue;
        }
        last->value = sf_add_sat_i64(last->value, list[i].value);
        last->n_samples += list[i].n_samples;
        last->n_profiles += list[i].n_profiles;
        if (list[i].duration_ns > last->duration_ns)
            last->duration_ns = list[i].duration_ns;
        if (list[i].process != last->process)
            last->process = 0;
        last->is_slot = last->is_slot || list[i].is_slot;
        if (list[i].id_value > last->id_value) {
            last->id = list[i].id;
            last->id_value = list[i].id_value;
            last->id_ns = list[i].id_ns;
        }
    }
    return n_out;
}

enum { MAX_POINTS = 1 << 22 };

static bool profile_points_make_room(struct summing *x)
{
    if (x->n < x->cap)
        return true;
    x->n = profile_points_settle(x->points, x->n, x->step_ns > 0);
    if (x->cap && x->n <= x->cap / 2)
        return true;
    return sf_list_room_max(&x->points, x->cap, &x->cap, 1024, MAX_POINTS);
}

static struct sf_prof_point point_of(const struct summing *x,
                                     const struct sf_profile_read_source *s, uint32_t i,
                                     uint32_t group, int64_t value)
{
    const struct sf_profile_row *row = &s->rows[i];
    const struct sf_process *process = row->process == SF_NONE ? NULL : &s->processes[row->process];
    struct sf_prof_point p = {
        .group = group,
        .time_ns = profile_points_step_of(x, sf_profile_source_start(s, i)),
        .duration_ns = row->duration_ns,
        .process = process ? sf_process_hash(s->service, process->key) : 0,
        .value = value,
        .n_samples = row->n_samples,
        .n_profiles = 1,
        .id = sf_profile_select_row_id(s->service, &s->series[row->series], row),
        .id_value = value,
        .id_ns = row->time_ns,
        .is_slot = s->starts && s->is_alone[i],
    };
    if (process)
        p.process_kind = (uint8_t)sf_process_kind_of(process->key, process->is_guess);
    if (p.is_slot)
        p.duration_ns = SF_PROFILE_SLOT_NS;
    return p;
}

static enum sf_err profile_points_see(void *arg, struct sf_profile_walk *w,
                                      struct sf_profile_read_source *s, struct sf_why *why)
{
    struct summing *x = arg;
    struct sf_buf key = {0};
    uint32_t *groups = sf_arena_new_n(&w->scratch, (size_t)s->n_series + 1, sizeof(*groups));
    const int64_t *sums = NULL;
    enum sf_err err = groups ? sf_profile_read_source_rows(w, s, why)
                             : sf_no_memory(why, "a time series");
    for (uint32_t i = 0; !err && i < s->n_series; i++) {
        groups[i] = SF_NONE;
        if (sf_profile_select_is(&x->select, &s->series[i]) &&
            !profile_points_group_of(x, &s->series[i], &key, &groups[i]))
            err = sf_no_memory(why, "a time series");
    }
    if (!err && x->query->stacks)
        err = sf_profile_stacks_sum(w, s, x->query->stacks, groups, &sums, why);
    for (uint32_t i = 0; !err && i < s->n_rows; i++) {
        const struct sf_profile_row *row = &s->rows[i];
        if (sums && sums[i] == 0)
            continue; /* no selected stack in it */
        if (groups[row->series] == SF_NONE || s->series[row->series].flags & SF_PROFILE_REQUEST ||
            !sf_profile_read_source_is_asked(x->query, w->q, s, i))
            continue;
        if (!profile_points_make_room(x)) {
            err = sf_fail(why, SF_ERR_LIMIT, "query: too many points; ask for longer steps");
            break;
        }
        x->points[x->n++] = point_of(x, s, i, groups[row->series], sums ? sums[i] : row->total);
    }
    sf_buf_done(&key);
    return err;
}

/* The group keys as labels; labels that a group does not have are left out. */
static bool take_groups(const struct summing *x, struct sf_arena *req, struct sf_label_sets *out)
{
    struct sf_label *labels = sf_arena_new_n(req, x->groups.n * x->n_keys + 1, sizeof(*labels));
    uint32_t *ends = sf_arena_new_n(req, (size_t)x->groups.n + 1, sizeof(*ends)), n = 0;
    if (!labels || !ends)
        return false;
    for (uint32_t i = 0; i < x->groups.n; i++) {
        sf_str key = sf_dict_get(&x->groups, i);
        for (size_t k = 0; k < x->n_keys; k++) {
            uint32_t len = sf_load_u32le(key.p);
            labels[n].key = x->keys[k];
            if (len && !sf_arena_copy(req, sf_str_part(key, 4, len), &labels[n].val))
                return false;
            n += len > 0;
            key = sf_str_from_at(key, 4 + (size_t)len);
        }
        ends[i] = n;
    }
    *out = (struct sf_label_sets){labels, ends, x->groups.n};
    return true;
}

/* Symbolization must not wait while a source is examined; the flame graph of the same query has
 * already loaded the names. */
static enum sf_err load_names(struct sf_store *store, const struct sf_prof_query *query,
                              struct sf_query_ctx *q, struct sf_why *why)
{
    struct sf_arena as_it_was = *q->req;
    struct sf_query_ctx uncounted = *q;
    struct sf_prof_query all = *query;
    const struct sf_tree *tree;
    enum sf_err err;
    all.stacks = NULL;
    uncounted.naming = NULL;
    err = sf_profile_flame_merge(store, &all, &uncounted, &tree, why);
    *q->req = as_it_was;
    q->stats = uncounted.stats;
    q->is_exact = uncounted.is_exact;
    return err;
}

enum sf_err sf_profile_points_read(struct sf_store *store, const struct sf_prof_query *query,
                                   const sf_str *keys, size_t n_keys, int64_t step_ns,
                                   struct sf_query_ctx *q, struct sf_prof_points *out,
                                   struct sf_why *why)
{
    struct summing x = {.query = query, .keys = keys, .n_keys = n_keys, .step_ns = step_ns};
    struct sf_profile_walk w = {.l = (struct sf_local *)store, .q = q, .select = &x.select};
    struct sf_prof_points answer = {0};
    struct sf_prof_point *points = NULL;
    enum sf_err err = sf_profile_select_init(&x.select, query->type, query->match, query->n_match,
                                             why);
    if (err)
        return err;
    sf_profile_read_range(&w, query);
    if (query->stacks && w.l->config.namer)
        err = load_names(store, query, q, why);
    if (!err)
        err = sf_profile_read_run(&w, profile_points_see, &x, why);
    if (!err) {
        x.n = profile_points_settle(x.points, x.n, step_ns > 0);
        points = sf_arena_new_n(q->req, (size_t)x.n + 1, sizeof(*points));
        if (!points || !take_groups(&x, q->req, &answer.groups))
            err = sf_fail(why, SF_ERR_LIMIT, "query: the time series does not fit its memory");
    }
    if (!err) {
        if (x.n)
            memcpy(points, x.points, x.n * sizeof(*points));
        answer.points = points;
        answer.n_points = x.n;
        *out = answer;
    }
    sf_heap_free(x.points);
    sf_dict_done(&x.groups);
    sf_profile_select_done(&x.select);
    return err;
}

/* coverage_time.c - the profiles of a service over time. */
#include "join/coverage_time.h"
#include "base/time_unit.h"

#include <stdlib.h>

#include "exec/profile_types.h"
#include "flame/batch_tree.h"
#include "join/profile.h"

enum { MAX_TYPES = 64, MAX_GAPS = 100 };

static int coverage_time_by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Instances send independently, each at its own interval: the usual distance between profiles tells
 * how dense they are, and a minute without any is not yet a gap. */
static bool find_gaps(const struct sf_prof_points *p, struct sf_arena *req,
                      struct sf_coverage_type *out)
{
    struct sf_coverage_gap *gaps = sf_arena_new_n(req, MAX_GAPS, sizeof(*gaps));
    int64_t *distances = sf_arena_new_n(req, p->n_points + 1u, sizeof(*distances));
    int64_t *times = sf_arena_new_n(req, p->n_points + 1u, sizeof(*times));
    if (!gaps || !distances || !times)
        return false;
    for (uint32_t i = 0; i < p->n_points;
         i++) /* at their own times, even if only sums of slots are left */
        times[i] = p->points[i].id_ns;
    qsort(times, p->n_points, sizeof(*times), coverage_time_by_size);
    for (uint32_t i = 1; i < p->n_points; i++)
        distances[i - 1] = times[i] - times[i - 1];
    if (p->n_points > 1) {
        qsort(distances, p->n_points - 1, sizeof(*distances), coverage_time_by_size);
        out->spacing_ns = (uint64_t)distances[(p->n_points - 1) / 2];
    }
    int64_t most_ns = 3 * (int64_t)out->spacing_ns;
    most_ns = most_ns > SF_NS_PER_MIN ? most_ns : SF_NS_PER_MIN;
    for (uint32_t i = 1; i < p->n_points; i++) {
        int64_t distance_ns = times[i] - times[i - 1];
        if (distance_ns <= most_ns)
            continue;
        out->gap_ns += (uint64_t)distance_ns;
        if (out->n_gaps == MAX_GAPS)
            out->n_more_gaps++;
        else
            gaps[out->n_gaps++] = (struct sf_coverage_gap){times[i - 1], times[i]};
    }
    out->gaps = gaps;
    return true;
}

static enum sf_err inspect_type(struct sf_store *store, const struct sf_prof_query *ask,
                                struct sf_query_ctx *q, struct sf_coverage_type *out,
                                struct sf_why *why)
{
    struct sf_prof_points points;
    enum sf_err err = store->ops->prof_points(store, ask, NULL, 0, 0, q, &points, why);
    if (err)
        return err;
    for (uint32_t i = 0; i < points.n_points; i++) {
        out->n_profiles += points.points[i].n_profiles;
        out->n_samples += points.points[i].n_samples;
    }
    return find_gaps(&points, q->req, out) ? SF_OK : sf_no_room(why, "the query");
}

static double coverage_time_rate_of(const struct sf_prof_list *list,
                                    const struct sf_profile_type *type)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (sf_batch_tree_type_eq(&list->series[i].type, type) && list->series[i].period > 0 &&
            sf_str_eq(type->period_unit, SF_STR("nanoseconds")))
            return 1e9 / (double)list->series[i].period;
    return 0;
}

enum sf_err sf_coverage_time_make(struct sf_store *store, sf_str service, int64_t from_ns,
                                  int64_t until_ns, struct sf_query_ctx *q, struct sf_coverage *out,
                                  struct sf_why *why)
{
    struct sf_matcher match = {SF_STR("service_name"), SF_OP_EQ, service};
    struct sf_prof_query ask = {
        .match = &match, .n_match = 1, .from_ns = from_ns, .to_ns = until_ns};
    const struct sf_batch_type *types;
    struct sf_prof_list list;
    uint32_t n = 0;
    enum sf_err err = store->ops->prof_list(store, &ask, q, &list, why);
    if (!err)
        err = sf_profile_types(&list, q->req, &types, &n, why);
    if (err)
        return err;
    out->n_more_types = n < MAX_TYPES ? 0 : n - MAX_TYPES;
    n -= out->n_more_types;
    struct sf_coverage_type *rows = sf_arena_new_n(q->req, n + 1u, sizeof(*rows));
    if (!rows)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; !err && i < n; i++) {
        if (!sf_batch_tree_type_print(&types[i].type, q->req, &rows[i].type))
            return sf_no_room(why, "the query");
        rows[i].rate_hz = coverage_time_rate_of(&list, &types[i].type);
        ask.type = rows[i].type;
        err = inspect_type(store, &ask, q, &rows[i], why);
    }
    out->types = rows;
    out->n_types = n;
    return err;
}

/* link_window.c - finds the profiles without ids that may belong to a span, and the time that each
 * covers. */
#include "join/link_window.h"

#include <stdlib.h>

enum {
    MAX_WINDOWS = 64, /* each is queried separately; for a longer span an average is enough */
    MAX_KEYS = 64,    /* of labels */
    MAX_PAIRS = 256   /* a profile is compared with at most this many that begin after it */
};
#define OVERLAP 0.4 /* share of the shorter of two profiles; more than rounded times explain */

/* Is there a profile of the process? If not, are there profiles of other processes named in the
 * same way? */
static void link_window_find_process(const struct sf_link_window_ask *ask,
                                     const struct sf_prof_points *points,
                                     struct sf_link_windows *out)
{
    bool has_other = false, has_name = false;
    for (uint32_t k = 0; k < ask->spans->n_aliases; k++) {
        const struct sf_link_alias *a = &ask->spans->aliases[k];
        if (a->process != ask->process)
            continue;
        has_name = true;
        for (uint32_t i = 0; i < points->n_points; i++) {
            const struct sf_prof_point *p = &points->points[i];
            if (p->is_slot || p->process_kind != a->kind)
                continue;
            has_other = true;
            if (p->process == a->name) {
                out->by = SF_LINK_BY_PROCESS;
                out->process = a->name;
                return;
            }
        }
    }
    out->by = has_name && has_other ? SF_LINK_BY_NOBODY : SF_LINK_BY_SERVICE;
}

/* ---- by what else the series say ---- */

/* The labels of profiles that correspond to these attributes. */
static const struct {
    const char *attr, *labels[3];
} names[] = {
    {"service.instance.id", {"service.instance.id", "service_instance_id", "instance"}},
    {"k8s.pod.uid", {"k8s.pod.uid", "k8s_pod_uid", NULL}},
    {"k8s.pod.name", {"k8s.pod.name", "k8s_pod_name", "pod"}},
};

/* Does a series have the label with that value? *out_has_other: does one have another value? */
static bool has_series(const struct sf_prof_list *list, sf_str label, sf_str value,
                       bool *out_has_other)
{
    for (uint32_t i = 0; i < list->n; i++)
        for (uint32_t k = 0; k < list->series[i].n_labels; k++) {
            const struct sf_label *l = &list->series[i].labels[k];
            if (!sf_str_eq(l->key, label))
                continue;
            if (sf_str_eq(l->val, value))
                return true;
            *out_has_other = true;
        }
    return false;
}

static void find_label(const struct sf_link_window_ask *ask, const struct sf_prof_list *list,
                       struct sf_link_windows *out)
{
    bool has_other = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        sf_str value = sf_attrs_str(ask->resource, sf_str_from(names[i].attr));
        for (int k = 0; value.len > 0 && k < 3 && names[i].labels[k]; k++) {
            sf_str label = sf_str_from(names[i].labels[k]);
            if (!has_series(list, label, value, &has_other))
                continue;
            out->by = SF_LINK_BY_LABEL;
            out->match[out->n_match++] = (struct sf_matcher){label, SF_OP_EQ, value};
            return;
        }
    }
    if (has_other)
        out->by = SF_LINK_BY_NOBODY;
}

/* ---- what each covers ---- */

static bool covers(const struct sf_link_window_ask *ask, int64_t from_ns, int64_t to_ns)
{
    return from_ns <= ask->end_ns && (to_ns > ask->start_ns || from_ns >= ask->start_ns);
}

/* Profiles that start together are one window, as long as the longest of them: so all spans use the
 * same windows. Points are sorted by time. */
static uint32_t add_windows(const struct sf_link_window_ask *ask,
                            const struct sf_prof_points *points, const struct sf_link_windows *by,
                            struct sf_link_window *list)
{
    uint32_t n = 0;
    for (uint32_t i = 0, end; i < points->n_points; i = end) {
        const struct sf_prof_point *first = &points->points[i];
        struct sf_link_window w = {first->time_ns, first->time_ns, false};
        bool has_any = false;
        for (end = i; end < points->n_points && points->points[end].time_ns == first->time_ns;
             end++) {
            const struct sf_prof_point *p = &points->points[end];
            int64_t to_ns = p->time_ns + (p->duration_ns > 0 ? p->duration_ns : 1);
            if (by->by == SF_LINK_BY_PROCESS && !p->is_slot && p->process != by->process)
                continue;
            has_any = true;
            w.is_slot = w.is_slot || p->is_slot;
            w.to_ns = to_ns > w.to_ns ? to_ns : w.to_ns;
        }
        if (has_any && covers(ask, w.from_ns, w.to_ns))
            list[n++] = w;
    }
    return n;
}

static uint32_t join_windows(struct sf_link_window *list, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        list[0].to_ns = list[i].to_ns > list[0].to_ns ? list[i].to_ns : list[0].to_ns;
        list[0].is_slot = list[0].is_slot || list[i].is_slot;
    }
    return 1;
}

/* ---- by service: is it one process? ---- */

struct sent { /* a profile near the span */
    int64_t from_ns, to_ns;
    uint64_t process; /* a session or the sender's address: different ones prove different
                         processes, equal ones prove nothing */
    uint32_t series;
};

static int order_sent(const void *a, const void *b)
{
    const struct sent *x = a, *y = b;
    return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

/* One process sends a profile after the previous one has ended; those of one upload begin and end
 * together, and differ in their labels. */
static bool is_of_two(const struct sent *a, const struct sent *b)
{
    int64_t end_ns = a->to_ns < b->to_ns ? a->to_ns : b->to_ns, both_ns = end_ns - b->from_ns;
    int64_t a_ns = a->to_ns - a->from_ns, b_ns = b->to_ns - b->from_ns;
    int64_t shorter_ns = a_ns < b_ns ? a_ns : b_ns;
    bool is_one_upload = a->from_ns == b->from_ns && a->to_ns == b->to_ns &&
                         a->process == b->process && a->series != b->series;
    return !is_one_upload && (double)both_ns > OVERLAP * (double)shorter_ns;
}

/* All label names of these series. */
static const sf_str *names_of(const struct sf_prof_list *list, struct sf_arena *req, size_t *out_n)
{
    sf_str *keys = sf_arena_new_n(req, MAX_KEYS, sizeof(*keys));
    size_t n = 0;
    for (uint32_t i = 0; keys && i < list->n; i++)
        for (uint32_t k = 0; k < list->series[i].n_labels && n < MAX_KEYS; k++) {
            size_t at = 0;
            while (at < n && !sf_str_eq(keys[at], list->series[i].labels[k].key))
                at++;
            if (at == n)
                keys[n++] = list->series[i].labels[k].key;
        }
    *out_n = n;
    return keys;
}

static enum sf_err find_mixed(struct sf_store *store, const struct sf_link_window_ask *ask,
                              const struct sf_prof_query *query, const struct sf_prof_list *series,
                              struct sf_query_ctx *q, struct sf_link_windows *out,
                              struct sf_why *why)
{
    struct sf_prof_points points;
    uint32_t n = 0;
    size_t n_keys = 0;
    const sf_str *keys = names_of(series, q->req, &n_keys);
    enum sf_err err = keys ? store->ops->prof_points(store, query, keys, n_keys, 0, q, &points, why)
                           : sf_no_room(why, "the query");
    struct sent *list = err ? NULL : sf_arena_new_n(q->req, points.n_points + 1u, sizeof(*list));
    if (!list)
        return err ? err : sf_no_room(why, "the query");
    for (uint32_t i = 0; i < points.n_points; i++) {
        const struct sf_prof_point *p = &points.points[i];
        struct sent s = {p->time_ns, p->time_ns + p->duration_ns, p->process, p->group};
        if (!p->is_slot && p->duration_ns > 0 &&
            covers(ask, s.from_ns - p->duration_ns, s.to_ns + p->duration_ns))
            list[n++] = s;
    }
    qsort(list, n, sizeof(*list), order_sent);
    for (uint32_t i = 0; i < n && !out->is_mixed; i++)
        for (uint32_t k = i + 1;
             k < n && k <= i + MAX_PAIRS && list[k].from_ns < list[i].to_ns && !out->is_mixed; k++)
            out->is_mixed = is_of_two(&list[i], &list[k]);
    return SF_OK;
}

enum sf_err sf_link_windows_find(struct sf_store *store, const struct sf_link_window_ask *ask,
                                 struct sf_query_ctx *q, struct sf_link_windows *out,
                                 struct sf_why *why)
{
    struct sf_link_windows w = {.n_match = 1};
    struct sf_prof_query query = {.type = ask->type,
                                  .match = w.match,
                                  .n_match = 1,
                                  .from_ns = ask->from_ns,
                                  .to_ns = ask->to_ns,
                                  .select = SF_PROF_OVERLAP};
    struct sf_prof_points points;
    struct sf_prof_list series;
    w.match[0] = (struct sf_matcher){SF_STR("service_name"), SF_OP_EQ, ask->service};
    enum sf_err err = store->ops->prof_points(store, &query, NULL, 0, 0, q, &points, why);
    if (err)
        return err;
    link_window_find_process(ask, &points, &w);
    if (w.by == SF_LINK_BY_SERVICE && points.n_points > 0) {
        err = store->ops->prof_list(store, &query, q, &series, why);
        if (!err)
            find_label(ask, &series, &w);
        query.n_match = w.n_match;
        if (!err && w.by == SF_LINK_BY_SERVICE)
            err = find_mixed(store, ask, &query, &series, q, &w, why);
        if (!err && w.by == SF_LINK_BY_LABEL)
            err = store->ops->prof_points(store, &query, NULL, 0, 0, q, &points, why);
    }
    struct sf_link_window *list = err ? NULL
                                      : sf_arena_new_n(q->req, points.n_points + 1u, sizeof(*list));
    if (!list)
        return err ? err : sf_no_room(why, "the query");
    w.list = list;
    if (w.by != SF_LINK_BY_NOBODY)
        w.n = add_windows(ask, &points, &w, list);
    w.is_joined = w.n > MAX_WINDOWS;
    if (w.is_joined)
        w.n = join_windows(list, w.n);
    for (uint32_t i = 0; i < w.n; i++)
        if (list[i].is_slot &&
            w.by == SF_LINK_BY_PROCESS) /* only sums are left, without processes */
            w.by = SF_LINK_BY_SERVICE;
    if (w.by == SF_LINK_BY_SERVICE)
        w.process = 0;
    *out = w;
    return SF_OK;
}

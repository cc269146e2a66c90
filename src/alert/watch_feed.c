/* watch_feed.c - input of the built-in alerts: for each finished minute, requests, errors and
 * durations from a metrics query and usage from profiles, added to a history per service. After a
 * restart the last 26 hours are read minute by minute. */
#include "alert/watch_feed.h"

#include <math.h>
#include <string.h>

#include "base/account.h"
#include "base/hash.h"
#include "base/heap.h"
#include "base/time_unit.h"
#include "exec/metrics.h"
#include "exec/profile_types.h"
#include "os/clock.h"
#include "query/query_parse.h"

enum {
    SETTLED = 1,
    PAST = 26 * 60,
    FORGET = 24 * 60,
    AT_ONCE = 120,
    TYPES = 16,
    NEW_AFTER = 30,
    SAID = 60
};
static const int64_t TURN_NS = 5 * SF_NS_PER_S; /* time limit of one evaluation */

#define REQUESTS "{ kind = server || kind = consumer } | "

/* ---- services ---- */

/* Allocates without charging the query, because the data outlives it. */
static void *watch_feed_keep(size_t len)
{
    struct sf_account *paused = sf_account_pause();
    void *p = sf_heap_new(len);
    sf_account_resume(paused);
    return p;
}

static void watch_feed_let_go(void *p)
{
    struct sf_account *paused = sf_account_pause();
    sf_heap_free(p);
    sf_account_resume(paused);
}

char *sf_watch_feed_keep_text(sf_str s)
{
    char *p = watch_feed_keep(s.len + 1);
    if (p && s.len)
        memcpy(p, s.p, s.len);
    return p;
}

void sf_watch_feed_drop_text(char **p)
{
    watch_feed_let_go(*p);
    *p = NULL;
}

struct sf_watch *sf_watch_feed_new(sf_str tenant)
{
    struct sf_watch *w = watch_feed_keep(sizeof(*w));
    if (w)
        w->tenant = sf_watch_feed_keep_text(tenant);
    if (w && w->tenant)
        return w;
    sf_watch_feed_free(w);
    return NULL;
}

static void free_service(struct sf_watched *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < SF_LIMIT_WATCH_OPERATIONS; i++)
        watch_feed_let_go(s->operations[i]);
    for (size_t k = 0; k < SF_WATCH_KINDS; k++)
        for (size_t i = 0; i < SF_LIMIT_WATCH_OPERATIONS; i++)
            watch_feed_let_go(s->said[k][i]);
    watch_feed_let_go(s->new_function);
    watch_feed_let_go(s->name);
    watch_feed_let_go(s);
}

void sf_watch_feed_free(struct sf_watch *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->n; i++)
        free_service(w->services[i]);
    watch_feed_let_go(w->tenant);
    watch_feed_let_go(w);
}

/* The data of one minute, a row for each service. */
struct reading {
    struct sf_watch *watch;
    int64_t minute;
    struct sf_watch_minute *rows; /* SF_LIMIT_WATCH_SERVICES */
    double *cpu_ns, *room_ns;     /* of the CPU limit: used and allowed CPU time */
    double *n_levels;             /* number of memory profiles */
    uint32_t types[SF_LIMIT_WATCH_SERVICES][SF_WATCH_KINDS]; /* the profile type used; 0: none
                                                              * yet */
};

/* NULL: too many services, or no memory. */
static struct sf_watched *watch_feed_find(struct reading *r, sf_str name, size_t *out_at)
{
    struct sf_watch *w = r->watch;
    struct sf_watched *s;
    for (size_t i = 0; i < w->n; i++) {
        if (sf_str_eq(name, sf_str_from(w->services[i]->name))) {
            *out_at = i;
            w->services[i]->last_minute = r->minute;
            return w->services[i];
        }
    }
    if (w->n == SF_LIMIT_WATCH_SERVICES || name.len == 0) {
        w->n_dropped += name.len > 0;
        return NULL;
    }
    s = watch_feed_keep(sizeof(*s));
    if (s)
        s->name = sf_watch_feed_keep_text(name);
    if (!s || !s->name) {
        free_service(s);
        return NULL;
    }
    s->first_minute = s->last_minute = r->minute;
    *out_at = w->n;
    w->services[w->n++] = s;
    return s;
}

static void watch_feed_forget_old(struct sf_watch *w, int64_t minute)
{
    for (size_t i = w->n; i-- > 0;) {
        if (minute - w->services[i]->last_minute < FORGET)
            continue;
        free_service(w->services[i]);
        w->services[i] = w->services[--w->n];
    }
}

/* ---- requests ---- */

static sf_str watch_feed_label_of(const struct sf_metric_series *s, sf_str key)
{
    for (uint32_t i = 0; i < s->labels.n; i++) {
        const struct sf_attr *a = &s->labels.list[i];
        if (sf_str_eq(a->key, key) && a->val.type == SF_VALUE_STR)
            return a->val.str;
    }
    return SF_STR_NONE;
}

/* The first operations get an index; others count only for the service. */
static bool watch_feed_place_of(struct sf_watched *s, sf_str name, size_t *out)
{
    for (size_t i = 0; i < SF_LIMIT_WATCH_OPERATIONS; i++) {
        if (!s->operations[i])
            s->operations[i] = sf_watch_feed_keep_text(
                sf_str_part(name, 0, SF_LIMIT_ALERT_TEXT_LEN));
        *out = i;
        if (!s->operations[i])
            return false;
        if (sf_str_eq(name, sf_str_from(s->operations[i])))
            return true;
    }
    return false;
}

/* A version that was not seen before is a deploy, if the service has been known for a while. */
static void see_version(struct sf_watched *s, sf_str version, int64_t minute)
{
    uint64_t hash = sf_hash(version.p, version.len) | 1;
    if (version.len == 0 || sf_str_eq(version, SF_STR("nil")))
        return;
    for (size_t i = 0; i < SF_LIMIT_WATCH_OPERATIONS; i++) {
        if (s->versions[i] == hash)
            return;
    }
    memmove(&s->versions[1], s->versions,
            (SF_LIMIT_WATCH_OPERATIONS - 1) * sizeof(*s->versions)); /* the oldest goes */
    s->versions[0] = hash;
    if (minute - s->first_minute < NEW_AFTER)
        return;
    s->deploy_minute = minute;
    sf_watch_feed_drop_text(&s->new_function);
}

static enum sf_err ask_metrics(const struct sf_alert_ask *ask, const struct reading *r,
                               const char *text, struct sf_query_ctx *q,
                               struct sf_metrics_result *out, struct sf_why *why)
{
    struct sf_metrics_ask metrics = {.scratch = ask->scratch};
    int64_t from_ns = r->minute * SF_NS_PER_MIN;
    enum sf_err err = sf_query_parse(sf_str_from(text), q->req, &metrics.query, NULL, why);
    if (!err)
        err = sf_metrics_window_instant(from_ns, from_ns + SF_NS_PER_MIN - 1, &metrics.window, why);
    if (!err)
        err = sf_metrics_run(ask->store, &metrics, q, out, why);
    if (!err && out->is_cut)
        err = sf_fail(why, SF_ERR_LIMIT, "the answer is incomplete: %.*s",
                      SF_STR_ARG(sf_str_part(out->note, 0, 160)));
    return err;
}

static enum sf_err read_requests(const struct sf_alert_ask *ask, struct reading *r,
                                 struct sf_query_ctx *q, struct sf_why *why)
{
    struct sf_metrics_result counts = {0}, means = {0};
    size_t at, place;
    enum sf_err err = ask_metrics(ask, r,
                                  REQUESTS "count_over_time() by (resource.service.name, name, "
                                           "resource.service.version)",
                                  q, &counts, why);
    if (!err && counts.n_series)
        err = ask_metrics(ask, r,
                          REQUESTS "avg_over_time(duration) by (resource.service.name, name)", q,
                          &means, why);
    for (uint32_t i = 0; !err && i < counts.n_series; i++) {
        const struct sf_metric_series *one = &counts.series[i];
        struct sf_watched *s;
        double n = one->values[0];
        if (isnan(n) || n <= 0)
            continue;
        s = watch_feed_find(r, watch_feed_label_of(one, SF_STR("resource.service.name")), &at);
        if (!s)
            continue;
        r->rows[at].n_requests += n;
        see_version(s, watch_feed_label_of(one, SF_STR("resource.service.version")), r->minute);
        if (watch_feed_place_of(s, watch_feed_label_of(one, SF_STR("name")), &place))
            r->rows[at].operations[place].n += n;
    }
    for (uint32_t i = 0; !err && i < means.n_series; i++) {
        const struct sf_metric_series *one = &means.series[i];
        struct sf_watched *s = watch_feed_find(
            r, watch_feed_label_of(one, SF_STR("resource.service.name")), &at);
        if (s && !isnan(one->values[0]) &&
            watch_feed_place_of(s, watch_feed_label_of(one, SF_STR("name")), &place))
            r->rows[at].operations[place].mean_ns = one->values[0] * SF_NS_PER_S;
    }
    return err;
}

/* ---- profiles ---- */

enum sf_watch_kind sf_watch_feed_kind_of_type(const struct sf_profile_type *type)
{
    bool is_time = sf_str_eq(type->sample_unit, SF_STR("nanoseconds"));
    bool is_size = sf_str_eq(type->sample_unit, SF_STR("bytes"));
    if (is_time && sf_str_eq(type->sample_type, SF_STR("cpu")))
        return SF_WATCH_CPU;
    if (is_time && sf_str_eq(type->sample_type, SF_STR("delay")) &&
        !sf_str_eq(type->name, SF_STR("monitor_wait")))
        return SF_WATCH_LOCK;
    if (is_size && (sf_str_eq(type->sample_type, SF_STR("alloc_space")) ||
                    sf_str_eq(type->sample_type, SF_STR("alloc_in_new_tlab_bytes"))))
        return SF_WATCH_ALLOCATION;
    if (is_size && sf_str_eq(type->sample_type, SF_STR("inuse_space")))
        return SF_WATCH_MEMORY;
    return SF_WATCH_KINDS;
}

static sf_str watch_feed_group_label(const struct sf_label_sets *sets, uint32_t set, sf_str key)
{
    for (uint32_t i = set ? sets->ends[set - 1] : 0; i < sets->ends[set]; i++) {
        if (sf_str_eq(sets->labels[i].key, key))
            return sets->labels[i].val;
    }
    return SF_STR_NONE;
}

static void add_point(struct reading *r, const struct sf_prof_point *p, size_t at,
                      enum sf_watch_kind kind, double limit)
{
    struct sf_watch_minute *row = &r->rows[at];
    double value = (double)p->value;
    row->n_samples += (double)p->n_samples;
    if (kind == SF_WATCH_MEMORY) {
        row->memory = (isnan(row->memory) ? 0 : row->memory) + value;
        r->n_levels[at] += (double)p->n_profiles;
    } else if (kind < SF_WATCH_MEMORY) {
        double *cost = &row->costs[kind - SF_WATCH_CPU];
        *cost = (isnan(*cost) ? 0 : *cost) + value;
    }
    if (kind == SF_WATCH_CPU && limit > 0 && p->duration_ns > 0) {
        r->cpu_ns[at] += value;
        r->room_ns[at] += limit * (double)p->duration_ns;
    }
}

/* Attribute names of the CPU limit; labels of Pyroscope's clients have no dots. */
static const char *const limit_keys[] = {"cpu.limit",
                                         "cpu_limit",
                                         "container.cpu.limit",
                                         "container_cpu_limit",
                                         "k8s.container.cpu.limit",
                                         "k8s.container.cpu_limit",
                                         "k8s_container_cpu_limit"};

double sf_watch_feed_cpus(sf_str text)
{
    bool is_milli = text.len > 1 && text.p[text.len - 1] == 'm';
    double n = 0;
    if (is_milli)
        text.len--;
    if (!text.len || !sf_str_to_f64(text, &n) || !(n > 0 && n < 1e9))
        return 0;
    return is_milli ? n / 1000 : n;
}

/* Of two types of one kind (Go has allocations in two profiles) the first of a service is used. */
static enum sf_err watch_feed_read_type(const struct sf_alert_ask *ask, struct reading *r,
                                        uint32_t number, const struct sf_profile_type *type,
                                        struct sf_query_ctx *q, struct sf_why *why)
{
    enum { N_KEYS = sizeof(limit_keys) / sizeof(limit_keys[0]) + 1 };
    sf_str keys[N_KEYS] = {SF_STR("service_name")};
    enum sf_watch_kind kind = sf_watch_feed_kind_of_type(type);
    struct sf_prof_query query = {.from_ns = r->minute * SF_NS_PER_MIN,
                                  .to_ns = (r->minute + 1) * SF_NS_PER_MIN};
    struct sf_prof_points points = {0};
    enum sf_err err;
    for (size_t i = 1; i < N_KEYS; i++)
        keys[i] = sf_str_from(limit_keys[i - 1]);
    err = sf_batch_tree_type_print(type, q->req, &query.type)
              ? ask->store->ops->prof_points(ask->store, &query, keys, N_KEYS, 0, q, &points, why)
              : sf_no_room(why, "a type");
    for (uint32_t i = 0; !err && i < points.n_points; i++) {
        const struct sf_prof_point *p = &points.points[i];
        double limit = 0;
        size_t at;
        enum sf_watch_kind as = kind;
        if (!watch_feed_find(r, watch_feed_group_label(&points.groups, p->group, keys[0]), &at))
            continue;
        if (kind < SF_WATCH_KINDS && !r->types[at][kind])
            r->types[at][kind] = number;
        if (kind < SF_WATCH_KINDS && r->types[at][kind] != number)
            as = SF_WATCH_KINDS;
        for (size_t k = 1; k < N_KEYS && limit <= 0; k++)
            limit = sf_watch_feed_cpus(watch_feed_group_label(&points.groups, p->group, keys[k]));
        add_point(r, p, at, as, limit);
    }
    return err;
}

static enum sf_err watch_feed_read_profiles(const struct sf_alert_ask *ask, struct reading *r,
                                            struct sf_query_ctx *q, struct sf_why *why)
{
    struct sf_prof_query query = {.from_ns = r->minute * SF_NS_PER_MIN,
                                  .to_ns = (r->minute + 1) * SF_NS_PER_MIN};
    struct sf_prof_list list = {0};
    const struct sf_batch_type *types = NULL;
    uint32_t n = 0;
    enum sf_err err = ask->store->ops->prof_list(ask->store, &query, q, &list, why);
    if (!err && list.n)
        err = sf_profile_types(&list, q->req, &types, &n, why);
    for (uint32_t i = 0; !err && i < n && i < TYPES; i++)
        err = watch_feed_read_type(ask, r, i + 1, &types[i].type, q, why);
    return err;
}

/* ---- minutes ---- */

static void step_all(struct reading *r)
{
    for (size_t i = 0; i < r->watch->n; i++) {
        struct sf_watch_minute *row = &r->rows[i];
        if (r->n_levels[i] > 0)
            row->memory /= r->n_levels[i];
        if (r->room_ns[i] > 0)
            row->cpu_share = r->cpu_ns[i] / r->room_ns[i];
        sf_service_watch_step(&r->watch->services[i]->watch, row);
    }
}

static enum sf_err read_minute(struct sf_watch *w, const struct sf_alert_ask *ask,
                               struct sf_query_ctx *q, struct sf_why *why)
{
    struct reading *r = sf_arena_new(q->req, sizeof(*r));
    enum sf_err err;
    if (!r)
        return sf_no_room(why, "the rule");
    r->watch = w;
    r->minute = w->next_minute;
    r->rows = sf_arena_new_n(q->req, SF_LIMIT_WATCH_SERVICES, sizeof(*r->rows));
    r->cpu_ns = sf_arena_new_n(q->req, SF_LIMIT_WATCH_SERVICES, sizeof(*r->cpu_ns));
    r->room_ns = sf_arena_new_n(q->req, SF_LIMIT_WATCH_SERVICES, sizeof(*r->room_ns));
    r->n_levels = sf_arena_new_n(q->req, SF_LIMIT_WATCH_SERVICES, sizeof(*r->n_levels));
    if (!r->rows || !r->cpu_ns || !r->room_ns || !r->n_levels)
        return sf_no_room(why, "the rule");
    for (size_t i = 0; i < SF_LIMIT_WATCH_SERVICES; i++)
        r->rows[i] = (struct sf_watch_minute){
            .minute = r->minute, .costs = {NAN, NAN, NAN}, .memory = NAN, .cpu_share = NAN};
    err = read_requests(ask, r, q, why);
    if (!err)
        err = watch_feed_read_profiles(ask, r, q, why);
    if (!err && q->unread->n == 0)
        step_all(r);
    return err;
}

/* A minute that could not be read completely is treated as one without data: with a part of its
 * requests or samples it would look like a change. This is reported for an hour. */
static enum sf_err try_minute(struct sf_watch *w, const struct sf_alert_ask *ask,
                              struct sf_query_ctx *q, struct sf_why *why)
{
    struct sf_unread own = {0}, *outer = q->unread;
    enum sf_err err;
    q->unread = &own;
    err = read_minute(w, ask, q, why);
    q->unread = outer;
    if (own.n == 0)
        return err;
    if (w->next_minute - w->unread_minute >= SAID)
        w->unread = (struct sf_unread){0};
    sf_unread_join(&w->unread, &own);
    w->unread_minute = w->next_minute;
    return err;
}

/* Before the oldest data of any tenant there is nothing to read. */
static int64_t first_minute(const struct sf_alert_ask *ask, int64_t last)
{
    struct sf_store_state state = {0};
    int64_t oldest = 0;
    if (!ask->store->ops->state(ask->store, &state, NULL) && state.oldest_ns > 0)
        oldest = state.oldest_ns / SF_NS_PER_MIN;
    if (oldest > last)
        oldest = last;
    return oldest > last - PAST ? oldest : last - PAST;
}

enum sf_err sf_watch_feed_catch_up(struct sf_watch *w, const struct sf_alert_ask *ask,
                                   struct sf_query_ctx *q, bool *out_is_behind, struct sf_why *why)
{
    int64_t last = ask->at_ns / SF_NS_PER_MIN - 1 - SETTLED;
    int64_t until_ns = sf_clock_mono_ns() + TURN_NS;
    struct sf_arena before = *q->req;
    enum sf_err err = SF_OK;
    if (w->next_minute < last - PAST || w->next_minute > last + 1 + SETTLED)
        w->next_minute = first_minute(ask, last); /* at the start, or after the clock was
                                                   * corrected */
    for (int i = 0; !err && i < AT_ONCE && w->next_minute <= last; i++) {
        if (i && sf_clock_mono_ns() > until_ns)
            break;
        *q->req = before;
        err = q->n_tenants ? try_minute(w, ask, q, why) : SF_OK;
        if (!err || err == SF_ERR_LIMIT || err == SF_ERR_CORRUPT) /* these errors would occur
                                                                   * again */
            w->next_minute++;
    }
    *q->req = before;
    watch_feed_forget_old(w, w->next_minute);
    *out_is_behind = w->next_minute <= last;
    if (w->unread_minute && last - w->unread_minute < SAID)
        sf_unread_join(q->unread, &w->unread);
    return err;
}

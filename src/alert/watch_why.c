#include "alert/watch_why.h"

#include <math.h>

#include "alert/alert_change.h"
#include "base/time_unit.h"
#include "exec/profile_types.h"
#include "flame/tree_diff.h"
#include "flame/tree_group.h"
#include "flame/tree_lines.h"
#include "join/compare.h"
#include "query/expr_text.h"
#include "render/units.h"

/* The two compared ranges: 15 minutes each, the earlier one begins 45 minutes before the later. */
static const int64_t LEN_NS = 15 * SF_NS_PER_MIN, APART_NS = 45 * SF_NS_PER_MIN;
static const struct sf_tree_grouping by_function = {SF_GROUP_FUNCTION, false};

bool sf_watch_why_spans(const struct sf_watch_alarm *a, struct sf_arena *req, sf_str *out)
{
    struct sf_buf text = {0};
    bool is_ok;
    sf_buf_print(&text, "{ resource.service.name = ");
    sf_expr_text_static((struct sf_static){SF_TYPE_STRING, {.str = a->service}}, &text);
    if (a->operation.len) {
        sf_buf_print(&text, " && name = ");
        sf_expr_text_static((struct sf_static){SF_TYPE_STRING, {.str = a->operation}}, &text);
    }
    sf_buf_print(&text, " && (kind = server || kind = consumer) }");
    is_ok = sf_buf_ok(&text) && sf_arena_copy(req, sf_buf_str(&text), out);
    sf_buf_done(&text);
    return is_ok;
}

/* ---- comparison of profiles ---- */

struct sides {
    struct sf_tree trees[2]; /* before, now; with lines */
    double n_profiles[2];    /* for levels: number of profiles in the sum; else 1 */
    struct sf_tree_diff diff;
};

static enum sf_err watch_why_count_profiles(const struct sf_alert_ask *ask,
                                            const struct sf_prof_query *query,
                                            struct sf_query_ctx *q, double *out, struct sf_why *why)
{
    struct sf_prof_points points = {0};
    double n = 0;
    enum sf_err err = ask->store->ops->prof_points(ask->store, query, NULL, 0,
                                                   query->to_ns - query->from_ns, q, &points, why);
    for (uint32_t i = 0; !err && i < points.n_points; i++)
        n += (double)points.points[i].n_profiles;
    *out = fmax(1, n);
    return err;
}

/* NOT_FOUND: the service has no such profiles. */
static enum sf_err watch_why_merge(const struct sf_alert_ask *ask, sf_str service,
                                   enum sf_watch_kind kind, const int64_t times[4],
                                   struct sf_query_ctx *q, struct sides *out, struct sf_why *why)
{
    struct sf_matcher match = {.key = SF_STR("service_name"), .op = SF_OP_EQ, .val = service};
    struct sf_prof_query query = {
        .from_ns = times[2], .to_ns = times[3], .match = &match, .n_match = 1};
    struct sf_prof_list list = {0};
    const struct sf_batch_type *types = NULL;
    struct sf_tree grouped[2];
    uint32_t n = 0, at = 0;
    enum sf_err err = ask->store->ops->prof_list(ask->store, &query, q, &list, why);
    if (!err && list.n)
        err = sf_profile_types(&list, q->req, &types, &n, why);
    while (at < n && sf_watch_feed_kind_of_type(&types[at].type) != kind)
        at++;
    if (!err && at == n)
        err = sf_fail(why, SF_ERR_NOT_FOUND, "no such profiles");
    if (!err && !sf_batch_tree_type_print(&types[at].type, q->req, &query.type))
        err = sf_no_room(why, "a type");
    for (int i = 0; !err && i < 2; i++) {
        const struct sf_tree *tree = NULL;
        query.from_ns = times[2 * i];
        query.to_ns = times[2 * i + 1];
        err = ask->store->ops->prof_merge(ask->store, &query, q, &tree, why);
        out->n_profiles[i] = 1;
        if (!err && sf_profile_types_is_level(&types[at].type))
            err = watch_why_count_profiles(ask, &query, q, &out->n_profiles[i], why);
        if (!err) {
            out->trees[i] = *tree;
            err = sf_tree_group(tree, by_function, q->req, &grouped[i], why);
        }
    }
    return err ? err : sf_tree_diff(&grouped[0], &grouped[1], q->req, &out->diff, why);
}

/* "; parse grew most, 1.2 s to 4 s in 15 minutes, at parse.c:12" */
static void add_grown(const struct sf_alert_ask *ask, sf_str service, enum sf_watch_kind kind,
                      struct sf_query_ctx *q, struct sf_buf *out)
{
    const int64_t times[4] = {ask->at_ns - APART_NS - LEN_NS, ask->at_ns - APART_NS,
                              ask->at_ns - LEN_NS, ask->at_ns};
    struct sides *s = sf_arena_new(q->req, sizeof(*s));
    const struct sf_diff_row *rows = NULL, *row = NULL;
    struct sf_line_cost line;
    double most = 0;
    uint32_t n = 0;
    if (!s || watch_why_merge(ask, service, kind, times, q, s, NULL) ||
        sf_tree_diff_top(&s->diff, SF_DIFF_VALUE, q->req, &rows, &n, NULL))
        return;
    for (uint32_t i = 0; i < n; i++) {
        double grown = (double)rows[i].right_self / s->n_profiles[1] -
                       (double)rows[i].left_self / s->n_profiles[0];
        if (grown > most) {
            most = grown;
            row = &rows[i];
        }
    }
    if (!row)
        return;
    sf_buf_print(out, "; %.*s grew most, from ",
                 SF_STR_ARG(s->diff.shape.frames[row->frame].function));
    sf_units_amount(out, llround((double)row->left_self / s->n_profiles[0]), s->trees[1].unit);
    sf_buf_print(out, " to ");
    sf_units_amount(out, llround((double)row->right_self / s->n_profiles[1]), s->trees[1].unit);
    if (kind != SF_WATCH_MEMORY)
        sf_buf_print(out, " in 15 minutes");
    line = sf_tree_lines_hottest(&s->trees[1], s->diff.shape.frames[row->frame].function);
    if (line.file.len)
        sf_buf_print(out, ", at %.*s:%u", SF_STR_ARG(line.file), line.line);
}

enum sf_err sf_watch_why_new(const struct sf_alert_ask *ask, sf_str service, int64_t deploy_ns,
                             struct sf_query_ctx *q, sf_str *out, double *out_share,
                             struct sf_why *why)
{
    const int64_t times[4] = {deploy_ns - SF_NS_PER_HOUR, deploy_ns - 1, deploy_ns, ask->at_ns};
    struct sides *s = sf_arena_new(q->req, sizeof(*s));
    const struct sf_diff_row *rows = NULL;
    uint32_t n = 0;
    double left, right;
    enum sf_err err = s ? watch_why_merge(ask, service, SF_WATCH_CPU, times, q, s, why)
                        : sf_no_room(why, "the rule");
    *out = SF_STR_NONE;
    if (!err)
        err = sf_tree_diff_top(&s->diff, SF_DIFF_SHARE, q->req, &rows, &n, why);
    if (err)
        return err == SF_ERR_NOT_FOUND ? SF_OK : err;
    left = fmax(1, (double)s->diff.left.total);
    right = fmax(1, (double)s->diff.right.total);
    for (uint32_t i = 0; i < n && !out->len; i++) {
        double share = (double)rows[i].right_self / right;
        if (!sf_service_watch_is_new((double)rows[i].left_self / left,
                                     (double)s->trees[0].n_samples, share,
                                     (double)s->trees[1].n_samples))
            continue;
        *out = s->diff.shape.frames[rows[i].frame].function;
        *out_share = share;
    }
    return SF_OK;
}

/* ---- comparison of requests ---- */

static void add_compared(const struct sf_alert_ask *ask, const struct sf_watch_alarm *a,
                         struct sf_query_ctx *q, struct sf_buf *out)
{
    struct sf_comparison *c = sf_arena_new(q->req, sizeof(*c));
    struct sf_compare_want want = {.from_ns = ask->at_ns - LEN_NS,
                                   .to_ns = ask->at_ns,
                                   .left_from_ns = ask->at_ns - APART_NS - LEN_NS,
                                   .left_to_ns = ask->at_ns - APART_NS,
                                   .is_charged = true,
                                   .scratch = ask->scratch};
    if (!c || !sf_watch_why_spans(a, q->req, &want.left))
        return;
    want.right = want.left;
    if (!sf_compare_make(ask->store, &want, q, c, NULL) && c->time.summary.len)
        sf_buf_print(out, "; %.*s", SF_STR_ARG(sf_alert_change_words(c->time.summary)));
}

/* ---- the sentence ---- */

static void watch_why_add_amounts(const struct sf_watch_alarm *a, const char *what, sf_str unit,
                                  struct sf_buf *out)
{
    sf_buf_print(out, "%s of %.*s%s%.*s is up by %.0f %%, from ", what, SF_STR_ARG(a->service),
                 a->operation.len ? " " : "", SF_STR_ARG(a->operation),
                 a->before > 0 ? 100 * (a->now / a->before - 1) : 0);
    sf_units_amount(out, llround(a->before), unit);
    sf_buf_print(out, " to ");
    sf_units_amount(out, llround(a->now), unit);
}

void sf_watch_why(const struct sf_alert_ask *ask, const struct sf_watch_alarm *a,
                  struct sf_query_ctx *q, struct sf_buf *out)
{
    sf_str ns = SF_STR("nanoseconds"), bytes = SF_STR("bytes");
    switch (a->kind) {
    case SF_WATCH_LATENCY:
        watch_why_add_amounts(a, "the mean duration", ns, out);
        add_compared(ask, a, q, out);
        break;
    case SF_WATCH_CPU:
        watch_why_add_amounts(a, "CPU time per request", ns, out);
        add_grown(ask, a->service, a->kind, q, out);
        break;
    case SF_WATCH_LOCK:
        watch_why_add_amounts(a, "lock time per request", ns, out);
        add_grown(ask, a->service, a->kind, q, out);
        break;
    case SF_WATCH_ALLOCATION:
        watch_why_add_amounts(a, "allocation per request", bytes, out);
        add_grown(ask, a->service, a->kind, q, out);
        break;
    case SF_WATCH_MEMORY:
        watch_why_add_amounts(a, "memory in use per process", bytes, out);
        add_grown(ask, a->service, a->kind, q, out);
        break;
    case SF_WATCH_CPU_LIMIT:
        sf_buf_print(out, "%.*s uses %.0f %% of its CPU limit", SF_STR_ARG(a->service),
                     100 * a->now);
        add_grown(ask, a->service, SF_WATCH_CPU, q, out);
        break;
    case SF_WATCH_STOPPED:
        sf_buf_print(out,
                     "%.*s has sent no samples for 10 minutes, and requests still come: before, "
                     "each had %.3g",
                     SF_STR_ARG(a->service), a->before);
        break;
    case SF_WATCH_NEW_FUNCTION:
        sf_buf_print(out,
                     "since its deploy %.*s spends %.0f %% of its CPU time in %.*s, which was "
                     "not hot in the hour before",
                     SF_STR_ARG(a->service), 100 * a->now, SF_STR_ARG(a->function));
        break;
    case SF_WATCH_KINDS: break;
    }
}

#include "decode/json/v8_cpu.h"

#include <math.h>
#include <stdlib.h>

#include "base/num.h"

#define MAX_US INT64_C(4000000000000000) /* 127 years */

struct tick { /* a sample */
    int64_t us;
    uint32_t node;
    uint32_t order; /* original order, because qsort is not stable */
};

static int64_t read_us(struct sf_json *j)
{
    double v = sf_json_f64(j);
    if (!isfinite(v) || v < (double)-MAX_US || v > (double)MAX_US) {
        sf_json_fault(j, "a time out of range");
        return 0;
    }
    return llround(v);
}

static void v8_cpu_read_numbers(struct sf_v8_cpu *p, struct sf_json *j, struct sf_profile_list *to)
{
    if (!sf_json_array(j))
        return;
    while (sf_json_item(j)) {
        int64_t *v = sf_profile_list_more(p->b, to, sizeof(*v));
        int64_t read = read_us(j);
        if (!v)
            return;
        *v = read;
        to->n++;
    }
}

static int v8_cpu_by_time(const void *x, const void *y)
{
    const struct tick *a = x, *b = y;
    if (a->us != b->us)
        return a->us < b->us ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* The samples with their times, sorted by time. Samples of unknown nodes are left out and
 * counted. */
static struct tick *make_ticks(struct sf_v8_cpu *p, uint32_t *out_n)
{
    const int64_t *ids = p->ids.items, *deltas = p->deltas.items, *stamps = p->stamps.items;
    bool has_stamps = !p->deltas.n && p->stamps.n;
    struct tick *ticks = sf_profile_new(p->b, p->ids.n + 1u, sizeof(*ticks));
    int64_t us = p->start_us;
    uint32_t n = 0;

    for (uint32_t i = 0; ticks && i < p->ids.n; i++) {
        uint32_t node = sf_v8_nodes_find(&p->nodes, (uint64_t)ids[i]);
        if (has_stamps)
            us = stamps[i];
        else if (us > MAX_US || us < -MAX_US)
            break; /* a delta is at most MAX_US, so that no sum overflows */
        else
            us += deltas[i];
        if (node == SF_NONE)
            sf_profile_build_drop(p->b, &p->b->drops.n_samples,
                                  "CPU profile: samples[%u] is node %lld, which is not there",
                                  (unsigned)i, (long long)ids[i]);
        else
            ticks[n++] = (struct tick){us, node, i};
    }
    if (n)
        qsort(ticks, n, sizeof(*ticks), v8_cpu_by_time);
    *out_n = n;
    return ticks;
}

static void v8_cpu_add(struct sf_v8_cpu *p, uint32_t node, int64_t start_us, int64_t us,
                       uint32_t count)
{
    const struct sf_v8_node *at = sf_v8_node_at(&p->nodes, node);
    struct sf_sample s = {.stack = sf_v8_nodes_stack(&p->nodes, node),
                          .count = count,
                          .thread = p->thread,
                          .thread_name = p->thread_name};
    s.state = at->is_idle ? SF_STATE_SLEEP : at->is_gc ? SF_STATE_GC : SF_STATE_RUNNING;
    if (__builtin_mul_overflow(us, 1000, &s.value))
        s.value = INT64_MAX;
    if (p->anchor_ns) {
        int64_t off_ns;
        s.has_time = !__builtin_mul_overflow(start_us - p->start_us, 1000, &off_ns) &&
                     !__builtin_add_overflow(p->anchor_ns, off_ns, &s.start_ns);
        s.length_ns = s.has_time ? s.value : 0;
    }
    s.series = p->wall;
    sf_profile_build_sample(p->b, &p->b->me, &s);
    s.series = p->cpu;
    if (!at->is_idle)
        sf_profile_build_sample(p->b, &p->b->me, &s);
}

/* Consecutive samples of the same node become one interval. */
static void add_intervals(struct sf_v8_cpu *p, const struct tick *ticks, uint32_t n)
{
    int64_t end = p->end_us;
    if (n && end < ticks[n - 1].us)
        end = ticks[n - 1].us;
    for (uint32_t i = 0, k; i < n && sf_profile_build_ok(p->b); i = k) {
        for (k = i + 1; k < n && ticks[k].node == ticks[i].node; k++)
            ;
        v8_cpu_add(p, ticks[i].node, ticks[i].us, (k < n ? ticks[k].us : end) - ticks[i].us, k - i);
    }
}

/* Without times only the sums per node are added. */
static void v8_cpu_add_sums(struct sf_v8_cpu *p, const struct tick *ticks, uint32_t n)
{
    struct sum {
        int64_t us;
        uint32_t count;
    } *sums = sf_profile_new(p->b, p->nodes.list.n + 1u, sizeof(*sums));
    for (uint32_t i = 0; sums && i < n; i++) {
        int64_t end = i + 1 < n ? ticks[i + 1].us : p->end_us;
        if (end > ticks[i].us)
            sums[ticks[i].node].us += end - ticks[i].us;
        sums[ticks[i].node].count++;
    }
    for (uint32_t i = 0; sums && i < p->nodes.list.n && sf_profile_build_ok(p->b); i++) {
        if (sums[i].us)
            v8_cpu_add(p, i, 0, sums[i].us, sums[i].count);
    }
}

static void v8_cpu_add_hits(struct sf_v8_cpu *p)
{
    int64_t n_hits = 0, interval;
    for (uint32_t i = 0; i < p->nodes.list.n; i++) {
        int64_t hits = sf_v8_node_at(&p->nodes, i)->hits;
        if (hits > 0 && __builtin_add_overflow(n_hits, hits, &n_hits))
            return;
    }
    if (!n_hits || p->end_us <= p->start_us)
        return;
    interval = (p->end_us - p->start_us) / n_hits;
    p->anchor_ns = 0;
    for (uint32_t i = 0; i < p->nodes.list.n && sf_profile_build_ok(p->b); i++) {
        int64_t hits = sf_v8_node_at(&p->nodes, i)->hits;
        if (hits > 0)
            v8_cpu_add(p, i, 0, hits * interval, hits < UINT32_MAX ? (uint32_t)hits : UINT32_MAX);
    }
}

/* Clocks that count from 1970 are rare but usable; for others the upload must give the start. */
static void find_anchor(struct sf_v8_cpu *p)
{
    const int64_t year_2001_us = 978307200000000;
    if (p->clock.unix_ns)
        p->anchor_ns = sf_add_sat_i64(p->clock.unix_ns,
                                      sf_mul_sat_i64(p->start_us, 1000) - p->clock.own_ns);
    else if (p->b->hint->from_ns)
        p->anchor_ns = p->b->hint->from_ns;
    else if (p->start_us > year_2001_us && p->start_us < INT64_MAX / 1000)
        p->anchor_ns = p->start_us * 1000;
}

static void v8_cpu_add_series(struct sf_v8_cpu *p, uint32_t n_samples)
{
    struct sf_profile_what what = {.type = {SF_STR("process_cpu"), SF_STR("cpu"),
                                            SF_STR("nanoseconds"), SF_STR("cpu"),
                                            SF_STR("nanoseconds")},
                                   .time_ns = p->anchor_ns};
    uint32_t set = sf_profile_build_set(p->b, &p->b->me, p->labels, p->n_labels);
    int64_t us = p->end_us - p->start_us;
    if (us > 0 && us < INT64_MAX / 1000) {
        what.duration_ns = us * 1000;
        what.period = n_samples ? what.duration_ns / n_samples : 0;
    }
    p->cpu = sf_profile_build_series(p->b, set, sf_profile_build_what(p->b, &what, false));
    what.type = (struct sf_profile_type){SF_STR("wall"), SF_STR("wall"), SF_STR("nanoseconds"),
                                         SF_STR("wall"), SF_STR("nanoseconds")};
    p->wall = sf_profile_build_series(p->b, set, sf_profile_build_what(p->b, &what, false));
}

/* The old form has seconds, and one timestamp more than samples: the end. */
static void fix_old_times(struct sf_v8_cpu *p)
{
    const int64_t *stamps = p->stamps.items;
    if (p->deltas.n || !p->stamps.n)
        return;
    p->start_us = stamps[0];
    p->end_us = stamps[p->stamps.n - 1];
}

void sf_v8_cpu_init(struct sf_v8_cpu *p, struct sf_profile_build *b)
{
    *p = (struct sf_v8_cpu){.b = b};
    sf_v8_nodes_init(&p->nodes, b);
}

bool sf_v8_cpu_take(struct sf_v8_cpu *p, struct sf_json *j, sf_str key)
{
    if (sf_str_eq(key, SF_STR("nodes")))
        sf_v8_nodes_read_list(&p->nodes, j);
    else if (sf_str_eq(key, SF_STR("head")) && !p->nodes.list.n)
        sf_v8_nodes_read_tree(&p->nodes, j);
    else if (sf_str_eq(key, SF_STR("samples")))
        v8_cpu_read_numbers(p, j, &p->ids);
    else if (sf_str_eq(key, SF_STR("timeDeltas")))
        v8_cpu_read_numbers(p, j, &p->deltas);
    else if (sf_str_eq(key, SF_STR("timestamps")))
        v8_cpu_read_numbers(p, j, &p->stamps);
    else if (sf_str_eq(key, SF_STR("startTime")))
        p->start_us = read_us(j);
    else if (sf_str_eq(key, SF_STR("endTime")))
        p->end_us = read_us(j);
    else
        return false;
    return true;
}

enum sf_err sf_v8_cpu_finish(struct sf_v8_cpu *p)
{
    struct sf_profile_build *b = p->b;
    struct tick *ticks;
    uint32_t n;
    enum sf_err err = b->is_full ? SF_OK : sf_v8_nodes_close(&p->nodes);

    if (err || b->is_full)
        return err;
    if (p->deltas.n ? p->deltas.n != p->ids.n : p->stamps.n < p->ids.n)
        return sf_fail(b->why, SF_ERR_INPUT, "CPU profile: %u samples, but %u time differences",
                       p->ids.n, p->deltas.n ? p->deltas.n : p->stamps.n);
    fix_old_times(p);
    find_anchor(p);
    v8_cpu_add_series(p, p->ids.n);
    ticks = make_ticks(p, &n);
    if (!p->ids.n)
        v8_cpu_add_hits(p);
    else if (p->anchor_ns)
        add_intervals(p, ticks, n);
    else
        v8_cpu_add_sums(p, ticks, n);
    return SF_OK;
}

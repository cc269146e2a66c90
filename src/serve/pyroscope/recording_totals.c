/* recording_totals.c - counters of recording rules. A series holds the closed sum and the open sum,
 * which may still change; a pass adds the newly closed part and replaces the open one. The file has
 * one JSON line per rule and per series. */
#include "serve/pyroscope/recording_totals.h"

#include <string.h>

#include "base/heap.h"
#include "base/limits.h"
#include "base/num.h"
#include "base/time_unit.h"
#include "wire/json.h"

/* ---- the list ---- */

static void drop_series(struct sf_recording_totals *t, struct sf_recording_total *total, uint32_t i)
{
    sf_heap_free(total->list[i].labels);
    total->list[i] = total->list[--total->n];
    t->n_series--;
}

static void drop_total(struct sf_recording_totals *t, struct sf_recording_total *total)
{
    while (total->n)
        drop_series(t, total, total->n - 1);
    sf_heap_free(total->list);
    sf_heap_free(total->tenant);
    sf_heap_free(total->id);
    *total = (struct sf_recording_total){0};
}

void sf_recording_totals_done(struct sf_recording_totals *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        drop_total(t, &t->list[i]);
    sf_heap_free(t->list);
    *t = (struct sf_recording_totals){0};
}

struct sf_recording_total *sf_recording_totals_find(struct sf_recording_totals *t, sf_str tenant,
                                                    sf_str id)
{
    for (uint32_t i = 0; i < t->n; i++) {
        if (sf_str_eq(sf_str_from(t->list[i].tenant), tenant) &&
            sf_str_eq(sf_str_from(t->list[i].id), id))
            return &t->list[i];
    }
    return NULL;
}

static char *recording_totals_copy_text(sf_str text)
{
    char *p = sf_heap_new(text.len + 1);
    if (p && text.len)
        memcpy(p, text.p, text.len);
    return p;
}

struct sf_recording_total *sf_recording_totals_add(struct sf_recording_totals *t, sf_str tenant,
                                                   sf_str id, int64_t closed_ns)
{
    struct sf_recording_total one = {.tenant = recording_totals_copy_text(tenant),
                                     .id = recording_totals_copy_text(id),
                                     .closed_ns = closed_ns};
    struct sf_recording_total *list = t->list;
    if (t->n == t->cap) {
        list = sf_heap_grow(t->list, t->cap + 16u, sizeof(*list));
        if (list) {
            t->list = list;
            t->cap += 16;
        }
    }
    if (!one.tenant || !one.id || !list) {
        drop_total(t, &one);
        return NULL;
    }
    t->list[t->n] = one;
    t->is_changed = true;
    return &t->list[t->n++];
}

void sf_recording_totals_remove(struct sf_recording_totals *t, sf_str tenant, sf_str id)
{
    struct sf_recording_total *total = sf_recording_totals_find(t, tenant, id);
    if (!total)
        return;
    drop_total(t, total);
    *total = t->list[--t->n];
    t->is_changed = true;
}

/* ---- labels of a series: u32 length and bytes, of a name and its value in turn ---- */

static void recording_totals_add_text(struct sf_buf *out, sf_str s)
{
    sf_buf_add_u32le(out, (uint32_t)s.len);
    sf_buf_add_str(out, s);
}

static sf_str recording_totals_next_text(const uint8_t **at)
{
    uint32_t len = sf_load_u32le(*at);
    sf_str s = {(const char *)*at + 4, len};
    *at += 4 + len;
    return s;
}

static struct sf_recording_series *recording_totals_find_series(struct sf_recording_total *total,
                                                                sf_bytes labels)
{
    for (uint32_t i = 0; i < total->n; i++) {
        struct sf_recording_series *s = &total->list[i];
        if (s->labels_len == labels.len &&
            (labels.len == 0 || memcmp(s->labels, labels.p, labels.len) == 0))
            return s;
    }
    return NULL;
}

/* *out is NULL without an error: the limit of series is reached. */
static enum sf_err recording_totals_add_series(struct sf_recording_totals *t,
                                               struct sf_recording_total *total, sf_bytes labels,
                                               struct sf_recording_series **out, struct sf_why *why)
{
    struct sf_recording_series one = {.labels_len = (uint32_t)labels.len};
    *out = NULL;
    if (total->n >= SF_LIMIT_RULE_SERIES || t->n_series >= SF_LIMIT_RULES_SERIES) {
        t->n_dropped++;
        return SF_OK;
    }
    if (total->n == total->cap) {
        struct sf_recording_series *list = sf_heap_grow(total->list, total->cap + 16u,
                                                        sizeof(*list));
        if (!list)
            return sf_no_memory(why, "a recorded series");
        total->list = list;
        total->cap += 16;
    }
    one.labels = sf_heap_new(labels.len + 1);
    if (!one.labels)
        return sf_no_memory(why, "a recorded series");
    if (labels.len)
        memcpy(one.labels, labels.p, labels.len);
    total->list[total->n] = one;
    t->n_series++;
    *out = &total->list[total->n++];
    return SF_OK;
}

/* ---- results of a pass ---- */

static enum sf_err recording_totals_find_or_add(struct sf_recording_totals *t,
                                                struct sf_recording_total *total,
                                                const struct sf_label_sets *sets, uint32_t set,
                                                struct sf_buf *room,
                                                struct sf_recording_series **out,
                                                struct sf_why *why)
{
    sf_buf_reset(room);
    for (uint32_t i = set ? sets->ends[set - 1] : 0; i < sets->ends[set]; i++) {
        if (sets->labels[i].val.len == 0)
            continue;
        recording_totals_add_text(room, sets->labels[i].key);
        recording_totals_add_text(room, sets->labels[i].val);
    }
    if (!sf_buf_ok(room))
        return sf_no_memory(why, "a recorded series");
    *out = recording_totals_find_series(total, sf_buf_bytes(room));
    return *out ? SF_OK : recording_totals_add_series(t, total, sf_buf_bytes(room), out, why);
}

static enum sf_err recording_totals_add_points(struct sf_recording_totals *t,
                                               struct sf_recording_total *total,
                                               const struct sf_prof_points *points, bool is_closed,
                                               struct sf_why *why)
{
    struct sf_buf room = {0};
    enum sf_err err = SF_OK;
    for (uint32_t i = 0; !err && i < points->n_points; i++) {
        const struct sf_prof_point *p = &points->points[i];
        struct sf_recording_series *s = NULL;
        err = recording_totals_find_or_add(t, total, &points->groups, p->group, &room, &s, why);
        if (!s)
            continue;
        if (is_closed)
            s->closed = sf_add_sat_i64(s->closed, p->value);
        else
            s->open = sf_add_sat_i64(s->open, p->value);
    }
    sf_buf_done(&room);
    return err;
}

enum sf_err sf_recording_totals_apply(struct sf_recording_totals *t,
                                      struct sf_recording_total *total, int64_t closed_ns,
                                      const struct sf_prof_points *closed,
                                      const struct sf_prof_points *open, int64_t now_ns,
                                      struct sf_why *why)
{
    const int64_t stale_ns = SF_LIMIT_METER_STALE_MS * SF_NS_PER_MS;
    enum sf_err err;
    for (uint32_t i = 0; i < total->n; i++)
        total->list[i].open = 0;
    err = recording_totals_add_points(t, total, closed, true, why);
    if (!err)
        err = recording_totals_add_points(t, total, open, false, why);
    t->is_changed |= total->closed_ns != closed_ns;
    total->closed_ns = closed_ns;
    for (uint32_t i = total->n; i-- > 0;) {
        struct sf_recording_series *s = &total->list[i];
        int64_t sum = sf_add_sat_i64(s->closed, s->open);
        if (sum > s->shown || s->changed_ns == 0) {
            s->shown = sum > 0 ? sum : 0;
            s->changed_ns = now_ns;
            t->is_changed = true;
        } else if (s->open == 0 && s->changed_ns < now_ns - stale_ns) {
            drop_series(t, total, i);
            t->is_changed = true;
        }
    }
    return err;
}

/* ---- /metrics ---- */

enum { MAX_LABELS = SF_RULE_GROUPS + SF_RULE_LABELS + 2 };

struct shown {
    char names[MAX_LABELS][SF_RULE_NAME_LEN + 1];
    struct sf_metric_label labels[MAX_LABELS];
    size_t n;
};

/* Shows the first label of each name; a name must not occur twice in a series. */
static void recording_totals_show(struct shown *x, sf_str name, sf_str val)
{
    for (size_t i = 0; i < x->n; i++) {
        if (sf_str_eq(sf_str_from(x->names[i]), name))
            return;
    }
    if (x->n == MAX_LABELS || name.len > SF_RULE_NAME_LEN)
        return;
    memcpy(x->names[x->n], name.p, name.len);
    x->names[x->n][name.len] = 0;
    x->labels[x->n] = (struct sf_metric_label){x->names[x->n], val};
    x->n++;
}

void sf_recording_totals_render_one(const struct sf_recording_total *total,
                                    const struct sf_recording_rule *rule, sf_str tenant,
                                    struct sf_exposition *e)
{
    for (uint32_t i = 0; i < total->n; i++) {
        const struct sf_recording_series *s = &total->list[i];
        const uint8_t *at = s->labels;
        struct shown x = {.n = 0};
        recording_totals_show(&x, SF_STR("profiles_rule_id"), rule->id);
        if (tenant.len)
            recording_totals_show(&x, SF_STR("tenant"), tenant);
        while (at < s->labels + s->labels_len) {
            sf_str name = recording_totals_next_text(&at);
            recording_totals_show(&x, name, recording_totals_next_text(&at));
        }
        for (size_t k = 0; k < rule->n_labels; k++) {
            if (!sf_str_eq(rule->labels[k].key, SF_STR("__name__")))
                recording_totals_show(&x, rule->labels[k].key, rule->labels[k].val);
        }
        sf_exposition_u64(e, x.labels, x.n, (uint64_t)s->shown);
    }
}

/* ---- the file: a line for a rule, then one for each of its series ---- */

void sf_recording_totals_write(const struct sf_recording_totals *t, struct sf_buf *out)
{
    for (uint32_t i = 0; i < t->n; i++) {
        const struct sf_recording_total *total = &t->list[i];
        struct sf_json_writer w = sf_json_writer_init(out);
        sf_json_write_object(&w);
        sf_json_write_key_str(&w, SF_STR("tenant"), sf_str_from(total->tenant));
        sf_json_write_key_str(&w, SF_STR("rule"), sf_str_from(total->id));
        sf_json_write_key(&w, SF_STR("closedNs"));
        sf_json_write_i64(&w, total->closed_ns);
        sf_json_write_object_end(&w);
        sf_buf_add_u8(out, '\n');
        for (uint32_t k = 0; k < total->n; k++) {
            const struct sf_recording_series *s = &total->list[k];
            const uint8_t *at = s->labels;
            w = sf_json_writer_init(out);
            sf_json_write_object(&w);
            sf_json_write_key(&w, SF_STR("labels"));
            sf_json_write_array(&w);
            while (at < s->labels + s->labels_len)
                sf_json_write_str(&w, recording_totals_next_text(&at));
            sf_json_write_array_end(&w);
            sf_json_write_key(&w, SF_STR("closed"));
            sf_json_write_i64(&w, s->closed);
            sf_json_write_key(&w, SF_STR("shown"));
            sf_json_write_i64(&w, s->shown);
            sf_json_write_key(&w, SF_STR("changedNs"));
            sf_json_write_i64(&w, s->changed_ns);
            sf_json_write_object_end(&w);
            sf_buf_add_u8(out, '\n');
        }
    }
}

struct line {
    sf_str tenant, rule;
    struct sf_buf labels;
    size_t n_labels;
    struct sf_recording_series series;
    int64_t closed_ns;
    bool is_series;
};

static bool recording_totals_read_line(struct sf_json *j, struct line *out)
{
    sf_str key;
    if (!sf_json_object(j))
        return false;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("tenant")))
            out->tenant = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("rule")))
            out->rule = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("closedNs")))
            out->closed_ns = sf_json_i64(j);
        else if (sf_str_eq(key, SF_STR("closed")))
            out->series.closed = sf_json_i64(j);
        else if (sf_str_eq(key, SF_STR("shown")))
            out->series.shown = sf_json_i64(j);
        else if (sf_str_eq(key, SF_STR("changedNs")))
            out->series.changed_ns = sf_json_i64(j);
        else if (sf_str_eq(key, SF_STR("labels")) && sf_json_array(j)) {
            out->is_series = true;
            while (sf_json_item(j)) {
                recording_totals_add_text(&out->labels, sf_json_str(j));
                out->n_labels++;
            }
        } else {
            sf_json_skip(j);
        }
    }
    return sf_json_ok(j) && sf_buf_ok(&out->labels) && out->n_labels % 2 == 0 &&
           (out->is_series || (out->tenant.len && out->rule.len));
}

static enum sf_err recording_totals_take_line(struct sf_recording_totals *t,
                                              const struct line *line,
                                              struct sf_recording_total **total, struct sf_why *why)
{
    struct sf_recording_series *s = NULL;
    enum sf_err err;
    if (!line->is_series) {
        *total = sf_recording_totals_add(t, line->tenant, line->rule, line->closed_ns);
        return *total ? SF_OK : sf_no_memory(why, "recorded series");
    }
    if (!*total || line->series.shown < 0)
        return sf_fail(why, SF_ERR_CORRUPT, "a series without a rule");
    err = recording_totals_add_series(t, *total, sf_buf_bytes(&line->labels), &s, why);
    if (s) {
        s->closed = line->series.closed;
        s->shown = line->series.shown;
        s->changed_ns = line->series.changed_ns;
    }
    return err;
}

enum sf_err sf_recording_totals_read(struct sf_recording_totals *t, sf_str text,
                                     struct sf_arena scratch, struct sf_why *why)
{
    struct sf_recording_totals fresh = {0};
    struct sf_recording_total *total = NULL;
    enum sf_err err = SF_OK;
    sf_str line;
    size_t n = 0;
    while (!err && sf_str_split_next(&text, '\n', &line)) {
        struct line one = {0};
        struct sf_arena room = scratch;
        struct sf_json *j = sf_arena_new(&room, sizeof(*j));
        n++;
        if (line.len == 0)
            continue;
        if (!j) {
            err = sf_no_room(why, "recorded series");
            break;
        }
        sf_json_init(j, line, &room);
        err = recording_totals_read_line(j, &one)
                  ? recording_totals_take_line(&fresh, &one, &total, why)
                  : sf_fail(why, SF_ERR_CORRUPT, "line %zu cannot be read", n);
        sf_buf_done(&one.labels);
    }
    if (err) {
        sf_recording_totals_done(&fresh);
        return err;
    }
    sf_recording_totals_done(t);
    *t = fresh;
    t->is_changed = false;
    return SF_OK;
}

#include "serve/querier.h"

#include <stdlib.h>

#include "base/num.h"
#include "exec/profile.h"
#include "flame/batch_tree.h"
#include "flame/flamebearer.h"
#include "flame/tree_cut.h"
#include "flame/tree_group.h"
#include "os/clock.h"
#include "serve/connect.h"
#include "serve/profile_take.h"
#include "serve/querier_ask.h"
#include "serve/tenant.h"
#include "wire/json_writer.h"
#include "wire/pb_writer.h"

enum { DEFAULT_NODES = 8192, MAX_NODES = 1 << 20, BODY_MAX = 1 << 20 };

struct work {
    struct sf_call *call;
    struct sf_arena *req;
    struct sf_store *store;
    struct sf_querier_ask *ask;
    struct sf_query_ctx q;
    struct sf_prof_query query;
    struct sf_buf *out;
    struct sf_json_writer w;
    bool is_json;
    struct sf_why why;
};

typedef enum sf_err method_fn(struct work *x);

static enum sf_err no_room(struct work *x)
{
    return sf_fail(&x->why, SF_ERR_LIMIT, "query: the answer does not fit its memory");
}

/* ---- the question ---- */

static enum sf_err read_body(struct work *x, struct sf_worker *worker, sf_str *out)
{
    const struct sf_exchange_body *body = sf_exchange_body(x->call->ex);
    enum sf_coding coding = x->call->request->coding;
    struct sf_inflate *z;
    struct sf_buf plain = {0};
    size_t got = 0;
    char *p;
    enum sf_err err;
    (void)worker;
    if (body->len > BODY_MAX)
        return sf_fail(&x->why, SF_ERR_LIMIT, "a question of %llu bytes",
                       (unsigned long long)body->len);
    p = sf_arena_raw(x->req, (size_t)body->len + 1, 1);
    if (!p)
        return no_room(x);
    err = sf_exchange_body_read(x->call->ex, 0, p, (size_t)body->len, &got, &x->why);
    *out = (sf_str){p, got};
    if (err || coding == SF_CODING_NONE || got == 0)
        return err;
    z = sf_inflate_new();
    err = z ? sf_inflate_bytes(z,
                               coding == SF_CODING_GZIP   ? SF_INFLATE_GZIP
                               : coding == SF_CODING_ZSTD ? SF_INFLATE_ZSTD
                                                          : SF_INFLATE_ZLIB,
                               sf_str_bytes(*out), BODY_MAX, &plain, &x->why)
            : sf_fail(&x->why, SF_ERR_NOMEM, "no memory to inflate");
    if (!err && !sf_arena_copy(x->req, sf_buf_str(&plain), out))
        err = no_room(x);
    sf_inflate_free(z);
    sf_buf_done(&plain);
    return err;
}

static enum sf_err set_range(struct work *x, bool is_required)
{
    struct sf_querier_ask *a = x->ask;
    const int64_t most = INT64_MAX / 1000000;
    if (a->start_ms == 0 && a->end_ms == 0 && !is_required) {
        x->query.to_ns = sf_clock_wall_ns();
        x->query.from_ns = x->query.to_ns - INT64_C(3600) * 1000000000;
        return SF_OK;
    }
    if (a->start_ms == 0 || a->end_ms == 0)
        return sf_fail(&x->why, SF_ERR_INPUT, "missing time range in the query");
    if (a->start_ms > a->end_ms || a->start_ms < 0 || a->end_ms > most)
        return sf_fail(&x->why, SF_ERR_INPUT, "the start of the time range lies after its end");
    x->query.from_ns = a->start_ms * 1000000;
    x->query.to_ns = a->end_ms * 1000000 + 999999;
    return SF_OK;
}

static bool run(struct sf_call *call, struct sf_worker *worker, enum sf_querier_method method,
                bool is_required, method_fn *answer)
{
    struct work x = {.call = call,
                     .req = &worker->arena,
                     .store = atomic_load(&call->service->store),
                     .out = &call->response->body,
                     .is_json = sf_connect_is_json(call)};
    uint32_t tenants[SF_TENANTS_MAX];
    sf_str body;
    enum sf_err err;
    if (!sf_connect_admit(call))
        return true;
    x.ask = sf_arena_new(x.req, sizeof(*x.ask));
    err = x.ask ? read_body(&x, worker, &body) : no_room(&x);
    if (!err)
        err = sf_querier_ask_read(method, body, x.is_json, x.req, x.ask, &x.why);
    if (!err)
        err = set_range(&x, is_required);
    if (!err)
        err = sf_call_query(call, worker, tenants, &x.q, &x.why);
    if (!err) {
        x.query.type = x.ask->type;
        x.query.match = x.ask->selector.list;
        x.query.n_match = x.ask->selector.n;
        x.w = sf_json_writer_init(x.out);
        if (x.is_json)
            sf_json_write_object(&x.w);
        err = answer(&x);
        if (x.is_json)
            sf_json_write_object_end(&x.w);
    }
    if (!err && !sf_buf_ok(x.out))
        err = sf_fail(&x.why, SF_ERR_NOMEM, "no memory for the answer");
    if (err)
        return sf_call_fail(call, err, &x.why);
    sf_connect_ok(call);
    return true;
}

/* ---- lists ---- */

static int by_text(const void *a, const void *b)
{
    return sf_str_cmp(*(const sf_str *)a, *(const sf_str *)b);
}

/* Sorted, each once, as field 1 of the answer. */
static void write_texts(struct work *x, sf_str *list, size_t n)
{
    if (n)
        qsort(list, n, sizeof(*list), by_text);
    if (n == 0)
        return;
    if (x->is_json) {
        sf_json_write_key(&x->w, SF_STR("names"));
        sf_json_write_array(&x->w);
    }
    for (size_t i = 0; i < n; i++) {
        if (i && sf_str_eq(list[i - 1], list[i]))
            continue;
        if (x->is_json)
            sf_json_write_str(&x->w, list[i]);
        else
            sf_pb_write_str(x->out, 1, list[i]);
    }
    if (x->is_json)
        sf_json_write_array_end(&x->w);
}

static const sf_str OWN_NAMES[] = {SF_STR("__name__"),         SF_STR("__period_type__"),
                                   SF_STR("__period_unit__"),  SF_STR("__profile_type__"),
                                   SF_STR("__service_name__"), SF_STR("__type__"),
                                   SF_STR("__unit__")};
enum { N_OWN = sizeof(OWN_NAMES) / sizeof(OWN_NAMES[0]) };

/* The value of a label, those made of the type included; empty: none. */
static bool label_of(struct work *x, const struct sf_series *s, sf_str key, sf_str *out)
{
    const sf_str own[N_OWN] = {s->type.name, s->type.period_type, s->type.period_unit, SF_STR_NONE,
                               s->service,   s->type.sample_type, s->type.sample_unit};
    *out = SF_STR_NONE;
    for (uint32_t i = 0; i < s->n_labels; i++) {
        if (sf_str_eq(s->labels[i].key, key)) {
            *out = s->labels[i].val;
            return true;
        }
    }
    for (size_t i = 0; i < N_OWN; i++) {
        if (sf_str_eq(OWN_NAMES[i], key))
            *out = own[i];
    }
    if (sf_str_eq(key, SF_STR("__profile_type__"))) {
        struct sf_buf text = {0};
        bool is_ok;
        sf_profile_type_add(&text, &s->type);
        is_ok = sf_buf_ok(&text) && sf_arena_copy(x->req, sf_buf_str(&text), out);
        sf_buf_done(&text);
        return is_ok;
    }
    return true;
}

static bool is_shown(const struct work *x, sf_str name)
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

static enum sf_err list_series(struct work *x, struct sf_prof_list *out)
{
    return x->store->ops->prof_list(x->store, &x->query, &x->q, out, &x->why);
}

static void write_type(struct work *x, const struct sf_profile_type *t, sf_str id)
{
    const sf_str parts[] = {
        id, t->name, t->sample_type, t->sample_unit, t->period_type, t->period_unit};
    static const uint32_t numbers[] = {1, 2, 4, 5, 6, 7};
    static const char *const keys[] = {"ID",         "name",       "sampleType",
                                       "sampleUnit", "periodType", "periodUnit"};
    size_t mark = x->is_json ? 0 : sf_pb_write_begin(x->out, 1);
    if (x->is_json)
        sf_json_write_object(&x->w);
    for (size_t i = 0; i < 6; i++) {
        if (parts[i].len == 0)
            continue;
        if (x->is_json)
            sf_json_write_key_str(&x->w, sf_str_from(keys[i]), parts[i]);
        else
            sf_pb_write_str(x->out, numbers[i], parts[i]);
    }
    if (x->is_json)
        sf_json_write_object_end(&x->w);
    else
        sf_pb_write_end(x->out, mark);
}

struct typed {
    sf_str id;
    const struct sf_profile_type *type;
};

static int by_type(const void *a, const void *b)
{
    return sf_str_cmp(((const struct typed *)a)->id, ((const struct typed *)b)->id);
}

static enum sf_err answer_types(struct work *x)
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
        return no_room(x);
    for (uint32_t i = 0; i < n; i++) {
        struct sf_series one = {.type = types[i].type};
        sorted[i].type = &types[i].type;
        if (!label_of(x, &one, SF_STR("__profile_type__"), &sorted[i].id))
            return no_room(x);
    }
    qsort(sorted, n, sizeof(*sorted), by_type);
    if (x->is_json) {
        sf_json_write_key(&x->w, SF_STR("profileTypes"));
        sf_json_write_array(&x->w);
    }
    for (uint32_t i = 0; i < n; i++)
        write_type(x, sorted[i].type, sorted[i].id);
    if (x->is_json)
        sf_json_write_array_end(&x->w);
    return SF_OK;
}

static enum sf_err answer_names(struct work *x)
{
    struct sf_prof_list list;
    sf_str *names;
    size_t n = 0, cap = N_OWN;
    enum sf_err err = list_series(x, &list);
    if (err)
        return err;
    for (uint32_t i = 0; i < list.n; i++)
        cap += list.series[i].n_labels;
    names = sf_arena_new_n(x->req, cap, sizeof(*names));
    if (!names)
        return no_room(x);
    for (size_t i = 0; list.n && i < N_OWN; i++)
        names[n++] = OWN_NAMES[i];
    for (uint32_t i = 0; i < list.n; i++) {
        for (uint32_t k = 0; k < list.series[i].n_labels; k++) {
            if (is_shown(x, list.series[i].labels[k].key))
                names[n++] = list.series[i].labels[k].key;
        }
    }
    write_texts(x, names, n);
    return SF_OK;
}

static enum sf_err answer_values(struct work *x)
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
        return no_room(x);
    for (uint32_t i = 0; i < list.n; i++) {
        if (!label_of(x, &list.series[i], x->ask->name, &values[n]))
            return no_room(x);
        n += values[n].len > 0;
    }
    write_texts(x, values, n);
    return SF_OK;
}

static void write_label(struct work *x, sf_str key, sf_str val)
{
    size_t mark;
    if (x->is_json) {
        sf_json_write_object(&x->w);
        sf_json_write_key_str(&x->w, SF_STR("name"), key);
        sf_json_write_key_str(&x->w, SF_STR("value"), val);
        sf_json_write_object_end(&x->w);
        return;
    }
    mark = sf_pb_write_begin(x->out, 1);
    sf_pb_write_str(x->out, 1, key);
    sf_pb_write_str(x->out, 2, val);
    sf_pb_write_end(x->out, mark);
}

/* One set as its own bytes, so that equal ones are found by sorting. */
static enum sf_err render_set(struct work *x, const struct sf_series *s, sf_str *out)
{
    struct sf_buf text = {0}, *whole = x->out;
    struct sf_json_writer before = x->w;
    enum sf_err err = SF_OK;
    sf_str val;
    x->out = &text;
    x->w = sf_json_writer_init(&text);
    for (size_t i = 0; !err && i < (x->ask->n_keys ? x->ask->n_keys : N_OWN); i++) {
        sf_str key = x->ask->n_keys ? x->ask->keys[i] : OWN_NAMES[i];
        if (!label_of(x, s, key, &val))
            err = no_room(x);
        else if (val.len)
            write_label(x, key, val);
    }
    for (uint32_t i = 0; !err && x->ask->n_keys == 0 && i < s->n_labels; i++) {
        if (is_shown(x, s->labels[i].key))
            write_label(x, s->labels[i].key, s->labels[i].val);
    }
    if (!err && (!sf_buf_ok(&text) || !sf_arena_copy(x->req, sf_buf_str(&text), out)))
        err = no_room(x);
    sf_buf_done(&text);
    x->out = whole;
    x->w = before;
    return err;
}

static enum sf_err answer_series(struct work *x)
{
    struct sf_prof_list list;
    sf_str *sets = NULL;
    enum sf_err err = list_series(x, &list);
    if (!err) {
        sets = sf_arena_new_n(x->req, (size_t)list.n + 1, sizeof(*sets));
        err = sets ? SF_OK : no_room(x);
    }
    for (uint32_t i = 0; !err && i < list.n; i++)
        err = render_set(x, &list.series[i], &sets[i]);
    if (err || list.n == 0)
        return err;
    qsort(sets, list.n, sizeof(*sets), by_text);
    if (x->is_json) {
        sf_json_write_key(&x->w, SF_STR("labelsSet"));
        sf_json_write_array(&x->w);
    }
    for (uint32_t i = 0; i < list.n; i++) {
        if ((i && sf_str_eq(sets[i - 1], sets[i])) || sets[i].len == 0)
            continue;
        if (x->is_json) {
            sf_json_write_object(&x->w);
            sf_json_write_key(&x->w, SF_STR("labels"));
            sf_json_write_array(&x->w);
            sf_json_write_raw(&x->w, sets[i]);
            sf_json_write_array_end(&x->w);
            sf_json_write_object_end(&x->w);
        } else {
            sf_pb_write_bytes(x->out, 2, sf_str_bytes(sets[i]));
        }
    }
    if (x->is_json)
        sf_json_write_array_end(&x->w);
    return SF_OK;
}

/* ---- flame graphs ---- */

static void write_numbers(struct work *x, const char *key, uint32_t number, int64_t v)
{
    if (v == 0)
        return;
    if (x->is_json) {
        sf_json_write_key(&x->w, sf_str_from(key));
        sf_json_write_i64_text(&x->w, v);
    } else {
        sf_pb_write_i64(x->out, number, v);
    }
}

static void write_level(struct work *x, const struct sf_flame_level *level)
{
    size_t mark, inner;
    if (x->is_json) {
        sf_json_write_object(&x->w);
        sf_json_write_key(&x->w, SF_STR("values"));
        sf_json_write_array(&x->w);
        for (uint32_t i = 0; i < level->n; i++)
            sf_json_write_i64_text(&x->w, level->values[i]);
        sf_json_write_array_end(&x->w);
        sf_json_write_object_end(&x->w);
        return;
    }
    mark = sf_pb_write_begin(x->out, 2);
    inner = sf_pb_write_begin(x->out, 1);
    for (uint32_t i = 0; i < level->n; i++)
        sf_pb_write_raw_varint(x->out, (uint64_t)level->values[i]);
    sf_pb_write_end(x->out, inner);
    sf_pb_write_end(x->out, mark);
}

static void write_flame(struct work *x, const struct sf_flamebearer *f)
{
    size_t mark = 0;
    if (x->is_json) {
        sf_json_write_key(&x->w, SF_STR("flamegraph"));
        sf_json_write_object(&x->w);
        sf_json_write_key(&x->w, SF_STR("names"));
        sf_json_write_array(&x->w);
    } else {
        mark = sf_pb_write_begin(x->out, 1);
    }
    for (uint32_t i = 0; i < f->n_names; i++) {
        if (x->is_json)
            sf_json_write_str(&x->w, f->names[i]);
        else
            sf_pb_write_str(x->out, 1, f->names[i]);
    }
    if (x->is_json) {
        sf_json_write_array_end(&x->w);
        sf_json_write_key(&x->w, SF_STR("levels"));
        sf_json_write_array(&x->w);
    }
    for (uint32_t i = 0; i < f->n_levels; i++)
        write_level(x, &f->levels[i]);
    if (x->is_json)
        sf_json_write_array_end(&x->w);
    write_numbers(x, "total", 3, f->total);
    write_numbers(x, "maxSelf", 4, f->max_self);
    if (x->is_json)
        sf_json_write_object_end(&x->w);
    else
        sf_pb_write_end(x->out, mark);
}

static int by_span(const void *a, const void *b)
{
    sf_span_id x = *(const sf_span_id *)a, y = *(const sf_span_id *)b;
    return x < y ? -1 : x > y;
}

static enum sf_err answer_tree(struct work *x)
{
    struct sf_tree_grouping how = {.by = SF_GROUP_FUNCTION};
    const struct sf_tree *tree;
    struct sf_tree grouped, cut;
    struct sf_flamebearer flame;
    struct sf_querier_ask *a = x->ask;
    enum sf_err err;
    if (a->type.len == 0)
        return sf_fail(&x->why, SF_ERR_INPUT, "profile_typeID is missing");
    if (a->max_nodes < 0 || a->max_nodes > MAX_NODES)
        return sf_fail(&x->why, SF_ERR_INPUT, "max_nodes is 0 to %d", MAX_NODES);
    if (a->n_spans)
        qsort(a->spans, a->n_spans, sizeof(*a->spans), by_span);
    x->query.span_ids = a->spans;
    x->query.n_spans = a->n_spans;
    err = x->store->ops->prof_merge(x->store, &x->query, &x->q, &tree, &x->why);
    if (!err)
        err = sf_tree_group(tree, how, x->req, &grouped, &x->why);
    if (!err)
        err = sf_tree_cut(&grouped, a->max_nodes ? (uint32_t)a->max_nodes : DEFAULT_NODES, x->req,
                          &cut, &x->why);
    if (!err)
        err = sf_flamebearer_single(&cut, x->req, &flame, &x->why);
    if (!err)
        write_flame(x, &flame);
    return err;
}

static enum sf_err answer_spans(struct work *x)
{
    if (x->ask->n_spans == 0)
        return sf_fail(&x->why, SF_ERR_INPUT, "span_selector is missing");
    return answer_tree(x);
}

/* ---- time series ---- */

struct group {
    uint32_t number, first, n;
    double total;
};

static int by_total(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static void write_point(struct work *x, const struct sf_prof_point *p)
{
    double value = (double)p->value;
    size_t mark;
    if (x->ask->is_average && p->n_profiles)
        value /= (double)p->n_profiles;
    if (x->is_json) {
        sf_json_write_object(&x->w);
        sf_json_write_key(&x->w, SF_STR("value"));
        sf_json_write_f64(&x->w, value);
        sf_json_write_key(&x->w, SF_STR("timestamp"));
        sf_json_write_i64_text(&x->w, p->time_ns / 1000000);
        sf_json_write_object_end(&x->w);
        return;
    }
    mark = sf_pb_write_begin(x->out, 2);
    sf_pb_write_double(x->out, 1, value);
    sf_pb_write_i64(x->out, 2, p->time_ns / 1000000);
    sf_pb_write_end(x->out, mark);
}

static void write_group(struct work *x, const struct sf_prof_points *points, const struct group *g)
{
    const struct sf_label_sets *sets = &points->groups;
    uint32_t from = g->number ? sets->ends[g->number - 1] : 0;
    size_t mark = x->is_json ? 0 : sf_pb_write_begin(x->out, 1);
    if (x->is_json) {
        sf_json_write_object(&x->w);
        sf_json_write_key(&x->w, SF_STR("labels"));
        sf_json_write_array(&x->w);
    }
    for (uint32_t i = from; i < sets->ends[g->number]; i++)
        write_label(x, sets->labels[i].key, sets->labels[i].val);
    if (x->is_json) {
        sf_json_write_array_end(&x->w);
        sf_json_write_key(&x->w, SF_STR("points"));
        sf_json_write_array(&x->w);
    }
    for (uint32_t i = 0; i < g->n; i++)
        write_point(x, &points->points[g->first + i]);
    if (x->is_json) {
        sf_json_write_array_end(&x->w);
        sf_json_write_object_end(&x->w);
    } else {
        sf_pb_write_end(x->out, mark);
    }
}

static enum sf_err answer_points(struct work *x)
{
    struct sf_prof_points points;
    struct group *groups;
    uint32_t n = 0;
    int64_t step_ns;
    enum sf_err err;
    if (!(x->ask->step_s >= 0.001) || x->ask->step_s > 1e9)
        return sf_fail(&x->why, SF_ERR_INPUT, "step is at least 0.001 s");
    if (x->ask->type.len == 0)
        return sf_fail(&x->why, SF_ERR_INPUT, "profile_typeID is missing");
    step_ns = (int64_t)(x->ask->step_s * 1000) * 1000000;
    err = x->store->ops->prof_points(x->store, &x->query, x->ask->keys, x->ask->n_keys, step_ns,
                                     &x->q, &points, &x->why);
    if (err)
        return err;
    groups = sf_arena_new_n(x->req, (size_t)points.groups.n_sets + 1, sizeof(*groups));
    if (!groups)
        return no_room(x);
    for (uint32_t i = 0; i < points.n_points; i++) {
        if (n == 0 || groups[n - 1].number != points.points[i].group)
            groups[n++] = (struct group){.number = points.points[i].group, .first = i};
        groups[n - 1].n++;
        groups[n - 1].total += (double)points.points[i].value;
    }
    if (n == 0)
        return SF_OK;
    qsort(groups, n, sizeof(*groups), by_total);
    if (x->ask->limit > 0 && n > x->ask->limit)
        n = (uint32_t)x->ask->limit;
    if (x->is_json) {
        sf_json_write_key(&x->w, SF_STR("series"));
        sf_json_write_array(&x->w);
    }
    for (uint32_t i = 0; i < n; i++)
        write_group(x, &points, &groups[i]);
    if (x->is_json)
        sf_json_write_array_end(&x->w);
    return SF_OK;
}

static enum sf_err answer_stats(struct work *x)
{
    struct sf_store_stats stats;
    bool has_any;
    enum sf_err err = x->store->ops->stats(x->store, &stats, &x->why);
    if (err)
        return err;
    has_any = stats.block_samples || stats.n_samples_appended;
    if (!has_any)
        return SF_OK;
    if (x->is_json) {
        sf_json_write_key(&x->w, SF_STR("dataIngested"));
        sf_json_write_bool(&x->w, true);
    } else {
        sf_pb_write_bool(x->out, 1, true);
    }
    write_numbers(x, "oldestProfileTime", 2, stats.oldest_ns / 1000000);
    write_numbers(x, "newestProfileTime", 3,
                  (stats.newest_ns ? stats.newest_ns : sf_clock_wall_ns()) / 1000000);
    return SF_OK;
}

/* ---- routes ---- */

bool sf_querier_types(struct sf_call *call, struct sf_worker *worker)
{
    return run(call, worker, SF_QUERIER_TYPES, false, answer_types);
}
bool sf_querier_label_names(struct sf_call *call, struct sf_worker *worker)
{
    return run(call, worker, SF_QUERIER_LABEL_NAMES, true, answer_names);
}
bool sf_querier_label_values(struct sf_call *call, struct sf_worker *worker)
{
    return run(call, worker, SF_QUERIER_LABEL_VALUES, true, answer_values);
}
bool sf_querier_series(struct sf_call *call, struct sf_worker *worker)
{
    return run(call, worker, SF_QUERIER_SERIES, true, answer_series);
}
bool sf_querier_stacktraces(struct sf_call *call, struct sf_worker *worker)
{
    return run(call, worker, SF_QUERIER_STACKTRACES, true, answer_tree);
}
bool sf_querier_spans(struct sf_call *call, struct sf_worker *worker)
{
    return run(call, worker, SF_QUERIER_SPANS, true, answer_spans);
}
bool sf_querier_points(struct sf_call *call, struct sf_worker *worker)
{
    return run(call, worker, SF_QUERIER_POINTS, true, answer_points);
}
bool sf_querier_stats(struct sf_call *call, struct sf_worker *worker)
{
    return run(call, worker, SF_QUERIER_STATS, false, answer_stats);
}

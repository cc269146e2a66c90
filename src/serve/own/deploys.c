/* deploys.c - deployments. POST stores a reported one; GET lists reported ones together with those
 * detected: the first time a service's spans (or, without versions there, its profiles) show a
 * version after another. */
#include "serve/own/deploys.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/time_unit.h"
#include "exec/metrics.h"
#include "exec/tenant.h"
#include "os/clock.h"
#include "os/thread.h"
#include "query/expr_text.h"
#include "query/query_parse.h"
#include "render/units.h"
#include "serve/own/deploy_book.h"
#include "serve/own/own_form.h"
#include "serve/params.h"
#include "wire/json_write.h"
#include "wire/time_text.h"

enum { FILE_MAX = 64 << 20, STEPS = 120 };
static const char book_file[] = "deploys", damaged_file[] = "deploys.damaged";

struct sf_deploys {
    struct sf_dir *dir;
    struct sf_mutex lock;       /* guards what follows; no other lock is taken while it is held */
    struct sf_deploy_book book; /* only the thread of control calls changes it */
};

/* ---- open and close ---- */

enum sf_err sf_deploys_open(struct sf_dir *dir, struct sf_deploys **out, char notice[240],
                            struct sf_why *why)
{
    struct sf_deploys *d = sf_heap_new(sizeof(*d));
    struct sf_file file = SF_FILE_NONE;
    struct sf_buf text = {0};
    struct sf_why bad = {0};
    enum sf_err err;
    notice[0] = 0;
    if (!d)
        return sf_no_memory(why, "deploys");
    sf_mutex_init(&d->lock, SF_LOCK_SERVE_DEPLOYS);
    d->dir = dir;
    err = sf_dir_open_read(dir, book_file, &file, why);
    if (!err) {
        err = sf_file_read_all(&file, FILE_MAX, &text, why);
        sf_file_close(&file);
        if (!err && sf_deploy_book_read(&d->book, sf_buf_str(&text), &bad)) {
            err = sf_dir_rename(dir, book_file, damaged_file, why);
            snprintf(notice, 240, "%.100s; the file was renamed to %s", bad.text, damaged_file);
        }
        sf_buf_done(&text);
    } else if (err == SF_ERR_NOT_FOUND) {
        err = SF_OK;
    }
    if (err)
        sf_deploys_close(d);
    else
        *out = d;
    return err;
}

void sf_deploys_close(struct sf_deploys *d)
{
    if (!d)
        return;
    sf_deploy_book_done(&d->book);
    sf_mutex_done(&d->lock);
    sf_heap_free(d);
}

/* ---- POST ---- */

bool sf_deploys_post(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_deploys *d = call->service->deploys;
    const struct sf_deploy *made = NULL;
    struct sf_buf text = {0};
    struct sf_why why = {0};
    char id[17] = "";
    sf_str body;
    enum sf_err err = sf_call_body(call, SF_LIMIT_DEPLOY_BODY_LEN, "a deploy", &body, &why);
    (void)worker;
    if (err)
        return sf_call_fail(call, err, &why);
    sf_mutex_lock(&d->lock);
    d->book.redactor = call->service->intake.redactor;
    d->book.n_redacted = 0;
    err = sf_deploy_book_add(&d->book, body, call->tenant, sf_clock_wall_ns(), &made, &why);
    if (!err) {
        memcpy(id, made->id, sizeof(id));
        sf_deploy_book_write(&d->book, &text);
    }
    sf_counters_add(call->service->counters, SF_COUNT_REDACTIONS, d->book.n_redacted);
    sf_mutex_unlock(&d->lock);
    if (!err)
        err = sf_buf_ok(&text) ? sf_dir_replace(d->dir, book_file, sf_buf_bytes(&text), &why)
                               : sf_no_memory(&why, "deploys");
    sf_buf_done(&text);
    sf_mutex_lock(&d->lock);
    if (err) /* undo the change in memory: the file could not be written */
        sf_deploy_book_remove(&d->book, id);
    else
        sf_deploy_book_tidy(&d->book);
    sf_mutex_unlock(&d->lock);
    if (err)
        return sf_call_fail(call, err, &why);
    sf_call_ok(call, "application/json");
    sf_buf_print(&call->response->body, "{\"id\":\"%s\"}", id);
    return true;
}

/* ---- GET ---- */

struct item {
    const char *id; /* NULL: only detected, not posted */
    sf_str service, version, against, key, commit, environment, comment, url;
    int64_t time_ns;
    bool is_seen; /* detected in spans, or in profiles (then without a key) */
};

struct found {
    struct item *list;
    uint32_t n, cap;
    struct sf_arena *req;
    bool is_full;
};

static void deploys_add(struct found *f, struct item item)
{
    if (!sf_list_room_in(f->req, &f->list, f->n, &f->cap, 16))
        f->is_full = true;
    else
        f->list[f->n++] = item;
}

static sf_str deploys_label_of(const struct sf_metric_series *s, sf_str key)
{
    for (uint32_t i = 0; i < s->labels.n; i++) {
        const struct sf_attr *a = &s->labels.list[i];
        if (sf_str_eq(a->key, key) && a->val.type == SF_VALUE_STR &&
            !sf_str_eq(a->val.str, SF_STR("nil")))
            return a->val.str;
    }
    return SF_STR_NONE;
}

static int by_service_and_time(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = sf_str_cmp(x->service, y->service);
    return order ? order : (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static int by_version_and_time(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = sf_str_cmp(x->service, y->service);
    order = order ? order : sf_str_cmp(x->version, y->version);
    order = order ? order : sf_str_cmp(x->commit, y->commit);
    return order ? order : (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static int deploys_newest_first(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = (x->time_ns < y->time_ns) - (x->time_ns > y->time_ns);
    return order ? order : sf_str_cmp(x->service, y->service);
}

/* Lists each version of each service with the step in which it first appears. */
static void first_seen(const struct sf_metrics_result *r, struct found *f)
{
    for (uint32_t i = 0; i < r->n_series; i++) {
        const struct sf_metric_series *s = &r->series[i];
        sf_str version = deploys_label_of(s, SF_STR("resource.service.version"));
        sf_str commit = deploys_label_of(s, SF_STR("resource.commit"));
        uint32_t at = 0;
        while (at < r->n_steps && (isnan(s->values[at]) || s->values[at] <= 0))
            at++;
        if (at == r->n_steps || (!version.len && !commit.len))
            continue;
        deploys_add(f,
                    (struct item){.service = deploys_label_of(s, SF_STR("resource.service.name")),
                                  .version = version.len ? version : commit,
                                  .key = version.len ? SF_STR("resource.service.version")
                                                     : SF_STR("resource.commit"),
                                  .commit = commit,
                                  .time_ns = r->from_ns + (int64_t)at * r->step_ns,
                                  .is_seen = true});
    }
}

/* A version detected on several days is kept with the first of them. */
static void keep_first(struct found *f)
{
    uint32_t n = 0;
    if (f->n)
        qsort(f->list, f->n, sizeof(*f->list), by_version_and_time);
    for (uint32_t i = 0; i < f->n; i++) {
        const struct item *now = &f->list[i], *last = n ? &f->list[n - 1] : NULL;
        if (!last || !sf_str_eq(last->service, now->service) ||
            !sf_str_eq(last->version, now->version) || !sf_str_eq(last->commit, now->commit))
            f->list[n++] = *now;
    }
    f->n = n;
}

/* Of the detected versions, keeps those that follow another version of the same service. */
static void keep_changes(struct found *f)
{
    struct item last = {0};
    uint32_t n = 0;
    if (f->n)
        qsort(f->list, f->n, sizeof(*f->list), by_service_and_time);
    for (uint32_t i = 0; i < f->n; i++) {
        struct item now = f->list[i];
        bool is_same = sf_str_eq(now.service, last.service);
        now.against = is_same ? last.version : SF_STR_NONE;
        last = now;
        if (is_same && !sf_str_eq(now.against, now.version))
            f->list[n++] = now;
    }
    f->n = n;
}

static sf_str deploys_group_label(const struct sf_label_sets *sets, uint32_t set, sf_str key)
{
    for (uint32_t i = set ? sets->ends[set - 1] : 0; i < sets->ends[set]; i++) {
        if (sf_str_eq(sets->labels[i].key, key))
            return sets->labels[i].val;
    }
    return SF_STR_NONE;
}

static bool deploys_has_service(const struct found *f, uint32_t n, sf_str service)
{
    for (uint32_t i = 0; i < n; i++) {
        if (sf_str_eq(f->list[i].service, service))
            return true;
    }
    return false;
}

/* The same from profiles, for services whose spans carry no version: `key` stays empty. */
static enum sf_err first_profiled(struct sf_store *store, sf_str service, int64_t from_ns,
                                  int64_t to_ns, int64_t step_ns, struct sf_query_ctx *q,
                                  struct found *f, struct sf_why *why)
{
    const sf_str keys[] = {SF_STR("service_name"), SF_STR("service.version"),
                           SF_STR("service_version"), SF_STR("commit")};
    struct sf_matcher match = {SF_STR("service_name"), SF_OP_EQ, service};
    struct sf_prof_query query = {
        .match = &match, .n_match = service.len > 0, .from_ns = from_ns, .to_ns = to_ns};
    struct sf_prof_points points = {0};
    uint32_t n_spans = f->n;
    enum sf_err err = store->ops->prof_points(store, &query, keys, 4, step_ns, q, &points, why);
    for (uint32_t i = 0; !err && i < points.n_points; i++) {
        const struct sf_prof_point *p = &points.points[i];
        sf_str of = deploys_group_label(&points.groups, p->group, keys[0]);
        sf_str version = deploys_group_label(&points.groups, p->group, keys[1]);
        sf_str commit = deploys_group_label(&points.groups, p->group, keys[3]);
        bool is_first = i == 0 || points.points[i - 1].group != p->group;
        if (!version.len)
            version = deploys_group_label(&points.groups, p->group, keys[2]);
        if (!is_first || (!version.len && !commit.len) || deploys_has_service(f, n_spans, of))
            continue;
        deploys_add(f, (struct item){.service = of,
                                     .version = version.len ? version : commit,
                                     .commit = commit,
                                     .time_ns = p->time_ns - step_ns,
                                     .is_seen = true});
    }
    return err;
}

static enum sf_err detect(struct sf_store *store, sf_str service, int64_t from_ns, int64_t to_ns,
                          struct sf_arena *scratch, struct sf_query_ctx *q, struct found *f,
                          sf_str *out_note, struct sf_why *why)
{
    struct sf_metrics_ask ask = {.scratch = scratch};
    struct sf_metrics_result r = {0};
    struct sf_buf text = {0};
    sf_str query;
    const int64_t day_ns = SF_LIMIT_METRICS_RANGE_S * SF_NS_PER_S;
    int64_t step_ns, end_ns;
    bool is_ok, is_cut = to_ns - from_ns > SF_LIMIT_DEPLOYS_RANGE_S * SF_NS_PER_S;
    enum sf_err err;
    if (is_cut) {
        from_ns = to_ns - SF_LIMIT_DEPLOYS_RANGE_S * SF_NS_PER_S;
        *out_note = SF_STR("versions of the last 31 days of the range; older ones are left out");
    }
    step_ns = (to_ns - from_ns) / STEPS;
    step_ns = step_ns > SF_NS_PER_S ? step_ns : SF_NS_PER_S;
    sf_buf_print(&text, "{ ");
    if (service.len) {
        sf_buf_print(&text, "resource.service.name = ");
        sf_expr_text_static((struct sf_static){SF_TYPE_STRING, {.str = service}}, &text);
    }
    sf_buf_print(&text, " } | count_over_time() by (resource.service.name, "
                        "resource.service.version, resource.commit)");
    is_ok = sf_buf_ok(&text) && sf_arena_copy(q->req, sf_buf_str(&text), &query);
    sf_buf_done(&text);
    err = is_ok ? sf_query_parse(query, q->req, &ask.query, NULL, why)
                : sf_no_room(why, "the query");
    /* A metrics query covers one day at most. */
    for (int64_t at_ns = from_ns; !err && at_ns < to_ns; at_ns = end_ns) {
        end_ns = to_ns - at_ns > day_ns ? at_ns + day_ns : to_ns;
        r = (struct sf_metrics_result){0};
        err = sf_metrics_window_range(at_ns, end_ns, step_ns, &ask.window, why);
        if (!err && q->n_tenants)
            err = sf_metrics_run(store, &ask, q, &r, why);
        if (!err && r.is_partial)
            *out_note = r.note;
        if (!err)
            first_seen(&r, f);
    }
    if (err)
        return err;
    keep_first(f);
    if (q->n_tenants)
        err = first_profiled(store, service, from_ns, to_ns, step_ns, q, f, why);
    keep_changes(f);
    return err;
}

static bool deploys_is_ours(const struct sf_call *call, sf_str tenant)
{
    sf_str rest = call->tenant, one; /* a read request may name several tenants: a|b */
    while (sf_str_split_next(&rest, '|', &one)) {
        if (sf_str_eq(one, tenant))
            return true;
    }
    return false;
}

static void add_told(const struct sf_deploy *d, struct found *f)
{
    struct item told = {.time_ns = d->time_ns};
    const sf_str from[] = {d->service, d->version, d->commit, d->environment, d->comment, d->url};
    sf_str *to[] = {&told.service,     &told.version, &told.commit,
                    &told.environment, &told.comment, &told.url};
    sf_str id;
    for (size_t i = 0; i < 6; i++)
        f->is_full |= !sf_arena_copy(f->req, from[i], to[i]);
    f->is_full |= !sf_arena_print(f->req, &id, "%s", d->id);
    if (f->is_full)
        return;
    told.id = id.p;
    for (uint32_t i = 0; i < f->n; i++) { /* a posted deploy that was also detected is listed
                                           * once */
        struct item *seen = &f->list[i];
        if (!seen->id && sf_str_eq(seen->service, told.service) &&
            (sf_str_eq(seen->version, told.version) || sf_str_eq(seen->commit, told.version))) {
            told.against = seen->against;
            told.key = seen->key;
            told.is_seen = true;
            *seen = told;
            return;
        }
    }
    deploys_add(f, told);
}

static void deploys_write_json(const struct found *f, sf_str note, struct sf_buf *out)
{
    struct sf_json_writer j = sf_json_writer_init(out);
    sf_json_write_object(&j);
    sf_json_write_key(&j, SF_STR("deploys"));
    sf_json_write_array(&j);
    for (uint32_t i = 0; i < f->n; i++) {
        const struct item *d = &f->list[i];
        sf_json_write_object(&j);
        if (d->id)
            sf_json_write_key_str(&j, SF_STR("id"), sf_str_from(d->id));
        sf_json_write_key_str(&j, SF_STR("service"), d->service);
        sf_json_write_key_str(&j, SF_STR("version"), d->version);
        sf_json_write_key_str(&j, SF_STR("against"), d->against);
        sf_json_write_key_str(&j, SF_STR("attribute"), d->key);
        sf_json_write_key(&j, SF_STR("timeUnixNano"));
        sf_json_write_u64_text(&j, (uint64_t)d->time_ns);
        sf_json_write_key(&j, SF_STR("posted"));
        sf_json_write_bool(&j, d->id != NULL);
        sf_json_write_key(&j, SF_STR("seen"));
        sf_json_write_bool(&j, d->is_seen);
        sf_json_write_key_str(&j, SF_STR("commit"), d->commit);
        sf_json_write_key_str(&j, SF_STR("environment"), d->environment);
        sf_json_write_key_str(&j, SF_STR("comment"), d->comment);
        sf_json_write_key_str(&j, SF_STR("url"), d->url);
        sf_json_write_object_end(&j);
    }
    sf_json_write_array_end(&j);
    sf_json_write_key_str(&j, SF_STR("note"), note);
    sf_json_write_object_end(&j);
}

static void deploys_write_text(const struct found *f, sf_str note, struct sf_buf *out)
{
    for (uint32_t i = 0; i < f->n; i++) {
        const struct item *d = &f->list[i];
        size_t from = out->len;
        sf_time_text_add(out, (uint64_t)d->time_ns);
        sf_buf_print(out, "  %.*s %.*s", SF_STR_ARG(d->service), SF_STR_ARG(d->version));
        if (d->against.len)
            sf_buf_print(out, ", before: %.*s", SF_STR_ARG(d->against));
        sf_buf_print(out, " (%s)",
                     d->id && !d->is_seen  ? "posted, not seen in spans or profiles"
                     : d->id && d->key.len ? "posted and seen in spans"
                     : d->id               ? "posted and seen in profiles"
                     : d->key.len          ? "seen in spans"
                                           : "seen in profiles");
        if (d->comment.len)
            sf_buf_print(out, "  %.*s", SF_STR_ARG(d->comment));
        sf_units_end_line(out, from);
    }
    if (f->n == 0)
        sf_buf_print(out, "no deploys in this time\n");
    if (note.len)
        sf_buf_print(out, "not whole: %.*s\n", SF_STR_ARG(note));
}

bool sf_deploys_list(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_deploys *d = call->service->deploys;
    sf_str service = sf_params_word(call->request, "service", &worker->arena), note = SF_STR_NONE;
    bool is_text = sf_own_form_is_text(sf_params_word(call->request, "format", &worker->arena));
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q;
    struct sf_arena scratch = {0};
    struct sf_why why = {0};
    struct found f = {0};
    int64_t from_ns, to_ns;
    enum sf_err err = sf_call_query(call, worker, tenants, &q, &why);
    if (!err)
        err = sf_params_range(call->request, sf_clock_wall_ns(), SF_NS_PER_DAY, &from_ns, &to_ns,
                              &why);
    f.req = q.req;
    if (!err && !sf_arena_init(&scratch, call->service->query_memory_len))
        err = sf_no_memory(&why, "the query");
    if (!err)
        err = detect(atomic_load(&call->service->store), service, from_ns, to_ns, &scratch, &q, &f,
                     &note, &why);
    sf_arena_done(&scratch);
    if (!err) {
        sf_mutex_lock(&d->lock);
        for (size_t i = 0; i < d->book.n; i++) {
            const struct sf_deploy *one = &d->book.list[i];
            if (one->time_ns >= from_ns && one->time_ns < to_ns &&
                deploys_is_ours(call, one->tenant) &&
                (!service.len || sf_str_eq(service, one->service)))
                add_told(one, &f);
        }
        sf_mutex_unlock(&d->lock);
        if (f.is_full)
            err = sf_no_room(&why, "the query");
    }
    if (err)
        return sf_call_fail(call, err, &why);
    if (f.n)
        qsort(f.list, f.n, sizeof(*f.list), deploys_newest_first);
    sf_call_ok(call, is_text ? "text/plain; charset=utf-8" : "application/json");
    if (is_text)
        deploys_write_text(&f, note, &call->response->body);
    else
        deploys_write_json(&f, note, &call->response->body);
    return true;
}

/* control_calls.c - HTTP handlers of remote control: the collectors' poll (answered at once or
 * parked), documents (get, merge, replace, delete), the list of changes, the list of collectors,
 * captures. They parse and render; control.c holds the state. */
#include "serve/own/control_calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/time_unit.h"
#include "os/clock.h"
#include "render/units.h"
#include "serve/kept_text.h"
#include "serve/own/profile_read.h"
#include "serve/params.h"
#include "serve/plain_body.h"
#include "serve/profile_form.h"
#include "wire/json_write.h"
#include "wire/time_text.h"

enum { TIME_CAP = 32 };

static void time_text(int64_t ms, char out[TIME_CAP])
{
    struct sf_buf room = {0};
    sf_time_text_add(&room, (uint64_t)(ms * SF_NS_PER_MS));
    snprintf(out, TIME_CAP, "%.*s", SF_STR_ARG(sf_buf_str(&room)));
    sf_buf_done(&room);
}

/* ---- parameters ---- */

static sf_str control_calls_param(const struct sf_request *r, const char *name, struct sf_buf *room)
{
    sf_buf_reset(room);
    return sf_request_param(r, sf_str_from(name), room) ? sf_buf_str(room) : SF_STR_NONE;
}

/* Copies a parameter that any client may set and users will see: removes secrets and control
 * characters. */
static enum sf_err copy_param(const struct sf_call *call, const char *name, char *to, size_t cap,
                              struct sf_why *why)
{
    struct sf_buf room = {.max = SF_LIMIT_PARAM_LEN};
    struct sf_arena kept = {0};
    sf_str text = control_calls_param(call->request, name, &room);
    size_t n = 0;
    enum sf_err err = sf_kept_text_clean(call->service, &kept, name, &text, why);
    text = sf_str_part(text, 0, err ? 0 : cap - 1);
    for (size_t i = 0; i < text.len; i++)
        to[n++] = (unsigned char)text.p[i] < 0x20 || text.p[i] == 0x7f ? ' ' : text.p[i];
    to[sf_utf8_cut((sf_str){to, n}, n)] = 0;
    sf_arena_done(&kept);
    sf_buf_done(&room);
    return err;
}

/* Reads service and instance; `is_one`: of a collector itself, so that "*" is not allowed. */
static enum sf_err read_target(const struct sf_call *call, bool is_one,
                               struct sf_control_target *out, struct sf_why *why)
{
    struct sf_buf service = {.max = SF_LIMIT_PARAM_LEN}, instance = {.max = SF_LIMIT_PARAM_LEN};
    struct sf_arena kept = {0};
    sf_str s = control_calls_param(call->request, "service", &service);
    sf_str i = control_calls_param(call->request, "instance", &instance);
    enum sf_err err = sf_kept_text_clean(call->service, &kept, "service.name", &s, why);
    if (!err)
        err = sf_kept_text_clean(call->service, &kept, "service.instance.id", &i, why);
    if (!i.len && !is_one)
        i = SF_STR("*");
    if (err)
        s = SF_STR_NONE;
    else if (!s.len)
        err = sf_fail(why, SF_ERR_INPUT, "service is missing: set a service, or * for all");
    else if (is_one && (sf_str_eq(s, SF_STR("*")) || sf_str_eq(i, SF_STR("*"))))
        err = sf_fail(why, SF_ERR_INPUT,
                      "a collector must send its own service and instance, not *");
    else if (sf_str_eq(s, SF_STR("*")) && !sf_str_eq(i, SF_STR("*")))
        err = sf_fail(why, SF_ERR_INPUT, "instance: the service of the instance is missing");
    else
        err = sf_control_set_target_make(call->tenant, s, i, out, why);
    sf_arena_done(&kept);
    sf_buf_done(&service);
    sf_buf_done(&instance);
    return err;
}

static bool check_on(struct sf_call *call)
{
    struct sf_why why = {0};
    if (call->service->control_docs)
        return true;
    sf_fail(&why, SF_ERR_UNSUPPORTED, "this server controls no collectors");
    return !sf_call_fail(call, SF_ERR_UNSUPPORTED, &why);
}

/* ---- polls ---- */

static bool control_calls_is_text(const struct sf_call *call)
{
    struct sf_buf room = {.max = SF_LIMIT_PARAM_LEN};
    bool is = sf_str_eq(control_calls_param(call->request, "format", &room), SF_STR("text"));
    sf_buf_done(&room);
    return is;
}

static sf_str control_calls_take_word(sf_str *line)
{
    sf_str word = SF_STR_NONE;
    (void)sf_str_split_next(line, ' ', &word);
    return word;
}

/* The object that a line's member belongs to: "rate", "conditional" or none. */
static sf_str object_of(sf_str key)
{
    size_t at;
    return sf_str_find_char(key, '.', &at) ? sf_str_part(key, 0, at) : SF_STR_NONE;
}

static void control_calls_write_value(struct sf_json_writer *j, sf_str key, sf_str val)
{
    bool is_raw = sf_str_starts(key, SF_STR("rate.")) || sf_str_eq(key, SF_STR("enabled"));
    sf_str object = object_of(key);
    sf_str name = object.len ? sf_str_from_at(key, object.len + 1) : key;
    if (sf_str_eq(key, SF_STR("capture"))) {
        sf_str id = control_calls_take_word(&val), types = control_calls_take_word(&val),
               rate = control_calls_take_word(&val);
        sf_json_write_key(j, key);
        sf_json_write_object(j);
        sf_json_write_key_str(j, SF_STR("id"), id);
        sf_json_write_key_str(j, SF_STR("types"), types);
        sf_json_write_key(j, SF_STR("rate"));
        sf_json_write_raw(j, rate);
        sf_json_write_key(j, SF_STR("seconds"));
        sf_json_write_raw(j, val);
        sf_json_write_object_end(j);
    } else if (is_raw) {
        sf_json_write_key(j, name);
        sf_json_write_raw(j, val);
    } else {
        sf_json_write_key_str(j, name, val);
    }
}

/* Converts lines to JSON: each is a path and its value; those of one object are adjacent. */
static void control_calls_write_lines(sf_str lines, struct sf_json_writer *j)
{
    sf_str line, open = SF_STR_NONE;
    sf_json_write_object(j);
    while (sf_str_split_next(&lines, '\n', &line)) {
        sf_str key = control_calls_take_word(&line), object = object_of(key);
        if (!key.len)
            continue;
        if (!sf_str_eq(object, open)) {
            if (open.len)
                sf_json_write_object_end(j);
            if (object.len) {
                bool is_rate = sf_str_eq(object, SF_STR("rate"));
                sf_json_write_key(j, is_rate ? object : SF_STR("conditions"));
                sf_json_write_object(j);
            }
            open = object;
        }
        control_calls_write_value(j, key, line);
    }
    if (open.len)
        sf_json_write_object_end(j);
    sf_json_write_object_end(j);
}

static void control_calls_answer(struct sf_call *call, sf_str lines, const char *version,
                                 bool is_new)
{
    struct sf_json_writer j = sf_json_writer_init(&call->response->body);
    char tag[20];
    snprintf(tag, sizeof(tag), "\"%s\"", version);
    sf_call_ok(call,
               control_calls_is_text(call) ? "text/plain; charset=utf-8" : "application/json");
    sf_response_header(call->response, "etag", sf_str_from(tag));
    sf_response_header(call->response, "cache-control", SF_STR("no-cache"));
    if (!is_new)
        call->response->status = 304;
    else if (control_calls_is_text(call))
        sf_buf_print(&call->response->body, "version %s\n%.*s", version, SF_STR_ARG(lines));
    else
        control_calls_write_lines(lines, &j);
}

void sf_control_calls_poll_answer(struct sf_call *call, const struct sf_control_target *who,
                                  const char *version)
{
    struct sf_buf lines = {0};
    char now[17];
    sf_control_tell(call->service->control_docs, who, &lines, now);
    control_calls_answer(call, sf_buf_str(&lines), now, strcmp(now, version) != 0);
    sf_buf_done(&lines);
}

/* Reads If-None-Match: "0123456789abcdef", the version that the collector has applied. */
static void read_version(const struct sf_request *r, char out[17])
{
    sf_str tag = sf_request_header(r, SF_STR("if-none-match"));
    bool is_tag = tag.len == 18 && tag.p[0] == '"' && tag.p[17] == '"';
    for (size_t i = 0; is_tag && i < 16; i++)
        is_tag = sf_hex_digit(tag.p[1 + i]) >= 0;
    snprintf(out, 17, "%.*s", is_tag ? 16 : 0, is_tag ? tag.p + 1 : "");
}

static enum sf_err read_collector(const struct sf_call *call, struct sf_collector *out,
                                  struct sf_why *why)
{
    const struct sf_request *r = call->request;
    uint64_t pid = 0, rate = 0, cost = UINT64_MAX;
    enum sf_err err = read_target(call, true, &out->who, why);
    if (!err)
        err = sf_params_count(r, SF_STR("pid"), &pid, why);
    if (!err)
        err = sf_params_count(r, SF_STR("rate"), &rate, why);
    if (!err)
        err = sf_params_count(r, SF_STR("cost"), &cost, why);
    if (!err)
        err = sf_params_bool(r, SF_STR("paused"), &out->is_paused, why);
    out->has_cost = cost != UINT64_MAX;
    if (!err && (pid > UINT32_MAX || rate > 1000000 || (out->has_cost && cost > 1000000)))
        err = sf_fail(why, SF_ERR_INPUT, "pid, rate or cost is out of bounds");
    out->pid = (uint32_t)pid;
    out->rate_hz = (uint32_t)rate;
    out->cost_per_1000000 = out->has_cost ? (uint32_t)cost : 0;
    if (!err)
        err = copy_param(call, "host", out->host, sizeof(out->host), why);
    if (!err)
        err = copy_param(call, "agent", out->agent, sizeof(out->agent), why);
    if (!err)
        err = copy_param(call, "problem", out->problem, sizeof(out->problem), why);
    read_version(r, out->version);
    out->seen_ms = out->first_ms = sf_clock_wall_ns() / SF_NS_PER_MS;
    return err;
}

bool sf_control_calls_poll(struct sf_call *call, __attribute__((unused)) struct sf_worker *worker)
{
    struct sf_collector seen = {0};
    struct sf_buf lines = {0}, done = {.max = SF_LIMIT_PARAM_LEN};
    struct sf_why why = {0};
    uint64_t from_ns = 0, until_ns = 0;
    int64_t wait_ns = 0, deadline_ns;
    char version[17];
    bool is_parked = false;
    enum sf_err err;
    if (!check_on(call))
        return true;
    err = read_collector(call, &seen, &why);
    if (!err)
        err = sf_params_duration(call->request, SF_STR("wait"), &wait_ns, &why);
    if (!err)
        err = sf_params_count(call->request, SF_STR("from"), &from_ns, &why);
    if (!err)
        err = sf_params_count(call->request, SF_STR("until"), &until_ns, &why);
    if (!err && (from_ns > INT64_MAX || until_ns > INT64_MAX || from_ns > until_ns))
        err = sf_fail(&why, SF_ERR_INPUT, "from and until: a range in ns since 1970");
    if (err)
        return sf_call_fail(call, err, &why);
    sf_control_note_collector(call->service->control_docs, &seen,
                              control_calls_param(call->request, "capture", &done),
                              (int64_t)from_ns, (int64_t)until_ns);
    sf_buf_done(&done);
    if (wait_ns > SF_LIMIT_CONTROL_WAIT_S * SF_NS_PER_S)
        wait_ns = SF_LIMIT_CONTROL_WAIT_S * SF_NS_PER_S;
    sf_control_tell(call->service->control_docs, &seen.who, &lines, version);
    deadline_ns = sf_clock_mono_ns() + wait_ns;
    if (call->request->deadline_ns && deadline_ns > call->request->deadline_ns - SF_NS_PER_S)
        deadline_ns = call->request->deadline_ns - SF_NS_PER_S; /* limits.total_timeout */
    if (wait_ns && !strcmp(version, seen.version))
        is_parked = sf_control_park(call->service->control_docs, call, &seen.who, version,
                                    deadline_ns);
    sf_buf_done(&lines);
    if (is_parked)
        return false; /* the call may be freed already */
    sf_control_calls_poll_answer(call, &seen.who, seen.version);
    return true;
}

/* ---- documents ---- */

struct view {
    struct sf_call *call;
    struct sf_control_target target;
    bool is_text;
};

static void control_calls_write_target(struct sf_json_writer *j, const struct sf_control_target *t)
{
    sf_json_write_key_str(j, SF_STR("service"), sf_str_from(t->service));
    sf_json_write_key_str(j, SF_STR("instance"), sf_str_from(t->instance));
}

/* Whether a document applies to the target or to a part of it. */
static bool concerns(const struct sf_control_target *rule, const struct sf_control_target *target)
{
    return sf_control_set_target_holds(rule, target) || sf_control_set_target_holds(target, rule);
}

static void show_documents(void *arg, const struct sf_control_set *set,
                           const struct sf_collector *list, size_t n)
{
    struct view *v = arg;
    struct sf_json_writer j = sf_json_writer_init(&v->call->response->body);
    int64_t now_ms = sf_clock_wall_ns() / SF_NS_PER_MS, next_ms = INT64_MAX;
    struct sf_control_doc d = sf_control_set_effective(set, &v->target, now_ms, &next_ms);
    size_t n_collectors = 0;
    for (size_t i = 0; i < n; i++)
        n_collectors += sf_control_set_target_holds(&v->target, &list[i].who);
    sf_json_write_object(&j);
    control_calls_write_target(&j, &v->target);
    sf_json_write_key(&j, SF_STR("effective"));
    sf_json_write_object(&j);
    sf_control_doc_write(&d, &j);
    sf_json_write_object_end(&j);
    sf_json_write_key(&j, SF_STR("documents"));
    sf_json_write_array(&j);
    for (size_t i = 0; i < sf_control_set_n(set); i++) {
        const struct sf_control_entry *e = sf_control_set_at(set, i);
        struct sf_control_doc one = e->doc;
        if (!concerns(&e->target, &v->target))
            continue;
        sf_control_doc_end_rates(&one, now_ms);
        sf_json_write_object(&j);
        control_calls_write_target(&j, &e->target);
        sf_control_doc_write(&one, &j);
        sf_json_write_object_end(&j);
    }
    sf_json_write_array_end(&j);
    sf_json_write_key_u64(&j, SF_STR("collectors"), n_collectors);
    sf_json_write_object_end(&j);
    sf_buf_add_u8(&v->call->response->body, '\n');
}

bool sf_control_calls_get(struct sf_call *call, __attribute__((unused)) struct sf_worker *worker)
{
    struct view v = {.call = call};
    struct sf_why why = {0};
    enum sf_err err;
    if (!check_on(call))
        return true;
    err = read_target(call, false, &v.target, &why);
    if (err)
        return sf_call_fail(call, err, &why);
    sf_call_ok(call, "application/json");
    sf_control_visit(call->service->control_docs, show_documents, &v);
    return true;
}

static void sign(const struct sf_call *call, struct sf_control_change *c)
{
    snprintf(c->who, sizeof(c->who), "%s", call->caller);
    snprintf(c->from, sizeof(c->from), "%s", call->request->peer);
    c->time_ms = sf_clock_wall_ns() / SF_NS_PER_MS;
}

static enum sf_err read_document(struct sf_call *call, struct sf_worker *worker, const char *verb,
                                 struct sf_control_doc *out, struct sf_control_change *change,
                                 struct sf_why *why)
{
    struct sf_buf body = {.max = SF_LIMIT_CONTROL_BODY}, text = {0};
    struct sf_json_writer j = sf_json_writer_init(&text);
    enum sf_err err = sf_exchange_body(call->ex)->len > SF_LIMIT_CONTROL_BODY
                          ? sf_fail(why, SF_ERR_LIMIT, "a document has at most %d bytes",
                                    SF_LIMIT_CONTROL_BODY)
                          : sf_plain_body_read(call, &body, why);
    if (!err)
        err = sf_control_doc_parse(sf_buf_str(&body), change->time_ms, &worker->arena, out, why);
    if (!err) { /* log the document as parsed, not as sent */
        sf_json_write_object(&j);
        sf_control_doc_write(out, &j);
        sf_json_write_object_end(&j);
        snprintf(change->what, sizeof(change->what), "%s %.*s", verb,
                 SF_STR_ARG(sf_buf_str(&text)));
    }
    sf_buf_done(&body);
    sf_buf_done(&text);
    return err;
}

static void say_change(struct sf_call *call, const struct sf_control_change *c)
{
    sf_service_say(call->service, SF_SAY_INFO,
                   "control: %s service=%s instance=%s tenant=%s by=%s from=%s", c->what,
                   c->target.service, c->target.instance, c->target.tenant, c->who, c->from);
}

static bool change(struct sf_call *call, struct sf_worker *worker, const char *verb)
{
    struct sf_control_change c = {0};
    struct sf_control_doc doc;
    struct sf_why why = {0};
    struct view v = {.call = call};
    bool is_delete = !strcmp(verb, "delete");
    enum sf_err err;
    if (!check_on(call))
        return true;
    sign(call, &c);
    err = read_target(call, false, &c.target, &why);
    if (!err && is_delete)
        snprintf(c.what, sizeof(c.what), "delete");
    else if (!err)
        err = read_document(call, worker, verb, &doc, &c, &why);
    if (!err)
        err = sf_control_change(call->service->control_docs, &c, is_delete ? NULL : &doc,
                                strcmp(verb, "post") != 0, &why);
    if (err)
        return sf_call_fail(call, err, &why);
    say_change(call, &c);
    v.target = c.target;
    sf_call_ok(call, "application/json");
    sf_control_visit(call->service->control_docs, show_documents, &v);
    return true;
}

bool sf_control_calls_post(struct sf_call *call, struct sf_worker *worker)
{
    return change(call, worker, "post");
}

bool sf_control_calls_put(struct sf_call *call, struct sf_worker *worker)
{
    return change(call, worker, "put");
}

bool sf_control_calls_delete(struct sf_call *call, struct sf_worker *worker)
{
    return change(call, worker, "delete");
}

static void show_changes(void *arg, const struct sf_control_set *set,
                         __attribute__((unused)) const struct sf_collector *list,
                         __attribute__((unused)) size_t n)
{
    struct view *v = arg;
    struct sf_buf *out = &v->call->response->body;
    struct sf_json_writer j = sf_json_writer_init(out);
    if (!v->is_text) {
        sf_json_write_object(&j);
        sf_json_write_key(&j, SF_STR("changes"));
        sf_json_write_array(&j);
    }
    for (size_t i = sf_control_set_n_changes(set); i > 0; i--) { /* the newest first */
        const struct sf_control_change *c = sf_control_set_change(set, i - 1);
        char time[TIME_CAP];
        size_t from = out->len;
        if (strcmp(c->target.tenant, v->target.tenant) != 0 || !concerns(&c->target, &v->target))
            continue;
        time_text(c->time_ms, time);
        if (v->is_text) {
            sf_buf_print(out, "%s  %s  %s  %s/%s  %s", time, c->who, c->from, c->target.service,
                         c->target.instance, c->what);
            sf_units_end_line(out, from);
            continue;
        }
        sf_json_write_object(&j);
        sf_json_write_key_str(&j, SF_STR("time"), sf_str_from(time));
        sf_json_write_key_str(&j, SF_STR("who"), sf_str_from(c->who));
        sf_json_write_key_str(&j, SF_STR("from"), sf_str_from(c->from));
        control_calls_write_target(&j, &c->target);
        sf_json_write_key_str(&j, SF_STR("what"), sf_str_from(c->what));
        sf_json_write_object_end(&j);
    }
    if (!v->is_text) {
        sf_json_write_array_end(&j);
        sf_json_write_object_end(&j);
        sf_buf_add_u8(out, '\n');
    }
}

/* Like read_target, but a list may be requested without a service: then of all. */
static enum sf_err read_wide(struct sf_call *call, struct view *v, struct sf_why *why)
{
    struct sf_buf room = {.max = SF_LIMIT_PARAM_LEN};
    struct sf_arena kept = {0};
    sf_str service = control_calls_param(call->request, "service", &room);
    enum sf_err err = sf_kept_text_clean(call->service, &kept, "service.name", &service, why);
    if (!err)
        err = sf_control_set_target_make(call->tenant, service.len ? service : SF_STR("*"),
                                         SF_STR("*"), &v->target, why);
    sf_arena_done(&kept);
    sf_buf_done(&room);
    v->call = call;
    v->is_text = control_calls_is_text(call);
    return err;
}

static bool control_calls_show(struct sf_call *call,
                               void (*look)(void *arg, const struct sf_control_set *set,
                                            const struct sf_collector *list, size_t n))
{
    struct view v = {0};
    struct sf_why why = {0};
    enum sf_err err;
    if (!check_on(call))
        return true;
    err = read_wide(call, &v, &why);
    if (err)
        return sf_call_fail(call, err, &why);
    sf_call_ok(call, v.is_text ? "text/plain; charset=utf-8" : "application/json");
    sf_control_visit(call->service->control_docs, look, &v);
    return true;
}

bool sf_control_calls_audit(struct sf_call *call, __attribute__((unused)) struct sf_worker *worker)
{
    return control_calls_show(call, show_changes);
}

/* ---- collectors ---- */

static void write_collector(struct sf_json_writer *j, const struct sf_collector *c, int64_t now_ms)
{
    char time[TIME_CAP];
    sf_json_write_object(j);
    control_calls_write_target(j, &c->who);
    sf_json_write_key_str(j, SF_STR("host"), sf_str_from(c->host));
    sf_json_write_key_u64(j, SF_STR("pid"), c->pid);
    sf_json_write_key_str(j, SF_STR("agent"), sf_str_from(c->agent));
    sf_json_write_key_str(j, SF_STR("version"), sf_str_from(c->version));
    sf_json_write_key_u64(j, SF_STR("rate"), c->rate_hz);
    sf_json_write_key(j, SF_STR("paused"));
    sf_json_write_bool(j, c->is_paused);
    sf_json_write_key(j, SF_STR("ownCostPercent"));
    if (c->has_cost)
        sf_json_write_f64(j, c->cost_per_1000000 / 10000.0);
    else
        sf_json_write_null(j);
    time_text(c->seen_ms, time);
    sf_json_write_key_str(j, SF_STR("lastSeen"), sf_str_from(time));
    sf_json_write_key_u64(j, SF_STR("secondsAgo"), (uint64_t)((now_ms - c->seen_ms) / 1000));
    sf_json_write_key(j, SF_STR("waiting"));
    sf_json_write_bool(j, c->is_waiting);
    sf_json_write_key_str(j, SF_STR("problem"), sf_str_from(c->problem));
    sf_json_write_object_end(j);
}

static void print_collector(struct sf_buf *out, const struct sf_collector *c, int64_t now_ms)
{
    char rate[16] = "paused", cost[16] = "-";
    size_t from = out->len;
    if (!c->is_paused)
        snprintf(rate, sizeof(rate), "%u Hz", c->rate_hz);
    if (c->has_cost)
        snprintf(cost, sizeof(cost), "%.3f%%", c->cost_per_1000000 / 10000.0);
    sf_buf_print(out, "%-24s %-36s %-16s %7u %7s %8s %6" PRId64 "s  %-16s %s", c->who.service,
                 c->who.instance, c->host, c->pid, rate, cost, (now_ms - c->seen_ms) / 1000,
                 c->version[0] ? c->version : "-", c->problem);
    sf_units_end_line(out, from);
}

static void show_collectors(void *arg, const struct sf_control_set *set,
                            const struct sf_collector *list, size_t n)
{
    struct view *v = arg;
    struct sf_buf *out = &v->call->response->body;
    struct sf_json_writer j = sf_json_writer_init(out);
    int64_t now_ms = sf_clock_wall_ns() / SF_NS_PER_MS;
    (void)set;
    if (v->is_text) {
        sf_buf_print(out, "%-24s %-36s %-16s %7s %7s %8s %7s  %-16s %s\n", "service", "instance",
                     "host", "pid", "rate", "own cost", "seen", "version", "problem");
    } else {
        sf_json_write_object(&j);
        sf_json_write_key(&j, SF_STR("collectors"));
        sf_json_write_array(&j);
    }
    for (size_t i = 0; i < n; i++) {
        if (!sf_control_set_target_holds(&v->target, &list[i].who))
            continue;
        if (v->is_text)
            print_collector(out, &list[i], now_ms);
        else
            write_collector(&j, &list[i], now_ms);
    }
    if (!v->is_text) {
        sf_json_write_array_end(&j);
        sf_json_write_object_end(&j);
        sf_buf_add_u8(out, '\n');
    }
}

bool sf_control_calls_collectors(struct sf_call *call,
                                 __attribute__((unused)) struct sf_worker *worker)
{
    return control_calls_show(call, show_collectors);
}

/* ---- captures ---- */

static void write_capture(struct sf_call *call, const struct sf_capture *cap)
{
    struct sf_json_writer j = sf_json_writer_init(&call->response->body);
    int64_t now_ms = sf_clock_wall_ns() / SF_NS_PER_MS;
    int64_t left_ms = cap->begin_ms + (int64_t)cap->seconds * 1000 - now_ms;
    bool is_done = cap->n_done >= cap->n_collectors;
    char id[17];
    snprintf(id, sizeof(id), "%016" PRIx64, cap->id);
    sf_call_ok(call, "application/json");
    sf_json_write_object(&j);
    sf_json_write_key_str(&j, SF_STR("id"), sf_str_from(id));
    control_calls_write_target(&j, &cap->target);
    sf_json_write_key_str(&j, SF_STR("types"), sf_str_from(cap->types));
    sf_json_write_key_u64(&j, SF_STR("rate"), cap->rate_hz);
    sf_json_write_key_u64(&j, SF_STR("seconds"), cap->seconds);
    sf_json_write_key_str(&j, SF_STR("state"),
                          is_done                     ? SF_STR("done")
                          : now_ms > cap->deadline_ms ? SF_STR("over")
                                                      : SF_STR("running"));
    sf_json_write_key_u64(&j, SF_STR("secondsLeft"),
                          left_ms > 0 ? ((uint64_t)left_ms + 999) / 1000 : 0);
    sf_json_write_key_u64(&j, SF_STR("collectors"), cap->n_collectors);
    sf_json_write_key_u64(&j, SF_STR("collectorsDone"), cap->n_done);
    if (cap->from_ns) {
        sf_json_write_key(&j, SF_STR("fromNs"));
        sf_json_write_i64_text(&j, cap->from_ns);
        sf_json_write_key(&j, SF_STR("untilNs"));
        sf_json_write_i64_text(&j, cap->until_ns);
    }
    sf_json_write_object_end(&j);
    sf_buf_add_u8(&call->response->body, '\n');
}

bool sf_control_calls_capture_get(struct sf_call *call,
                                  __attribute__((unused)) struct sf_worker *worker)
{
    struct sf_capture cap;
    struct sf_why why = {0};
    uint8_t bytes[8];
    uint64_t id = 0;
    if (!check_on(call))
        return true;
    if (sf_hex_decode(call->arg, bytes, sizeof(bytes))) {
        for (int i = 0; i < 8; i++)
            id = id << 8 | bytes[i];
    }
    if (id && sf_control_capture_find(call->service->control_docs, id, &cap) &&
        sf_str_eq(sf_str_from(cap.target.tenant), call->tenant)) {
        write_capture(call, &cap);
        return true;
    }
    sf_fail(&why, SF_ERR_NOT_FOUND,
            "there is no such capture; captures are deleted after ten minutes");
    return sf_call_fail(call, SF_ERR_NOT_FOUND, &why);
}

/* Reads the parameters of a capture; one profile type for one answer: cpu or wall. */
static enum sf_err control_calls_read_capture(struct sf_call *call, struct sf_capture *out,
                                              bool *waits, struct sf_why *why)
{
    struct sf_buf room = {.max = SF_LIMIT_PARAM_LEN}, words = {.max = SF_LIMIT_PARAM_LEN};
    const struct sf_profile_form *form;
    uint64_t seconds = 30, rate = 100;
    sf_str type, format;
    enum sf_err err = read_target(call, false, &out->target, why);
    if (!err)
        err = sf_params_count(call->request, SF_STR("seconds"), &seconds, why);
    if (!err)
        err = sf_params_count(call->request, SF_STR("rate"), &rate, why);
    if (!err)
        err = sf_params_bool(call->request, SF_STR("wait"), waits, why);
    format = control_calls_param(call->request, "format", &words);
    if (!err && format.len) /* check the format before the capture, not after it */
        err = sf_profile_form_find(format, false, &form, why);
    sf_buf_done(&words);
    type = control_calls_param(call->request, "type", &room);
    if (!type.len)
        type = SF_STR("cpu");
    if (!err && (seconds < 1 || seconds > SF_LIMIT_CAPTURE_S))
        err = sf_fail(why, SF_ERR_INPUT, "seconds: 1 to %d", SF_LIMIT_CAPTURE_S);
    if (!err && (rate < 1 || rate > 1000))
        err = sf_fail(why, SF_ERR_INPUT, "rate: 1 to 1000 samples per second");
    if (!err && !sf_str_eq(type, SF_STR("cpu")) && !sf_str_eq(type, SF_STR("wall")))
        err = sf_fail(why, SF_ERR_INPUT, "type: cpu or wall");
    if (!err && sf_str_eq(sf_str_from(out->target.service), SF_STR("*")))
        err = sf_fail(why, SF_ERR_INPUT, "service: a capture is of one service");
    snprintf(out->types, sizeof(out->types), "%.*s", SF_STR_ARG(type));
    out->seconds = (uint32_t)seconds;
    out->rate_hz = (uint32_t)rate;
    sf_buf_done(&room);
    return err;
}

static enum sf_err control_calls_begin_capture(struct sf_call *call, struct sf_capture *cap,
                                               bool *waits, struct sf_why *why)
{
    struct sf_control *control = call->service->control_docs;
    struct sf_control_change c = {0};
    enum sf_err err = control_calls_read_capture(call, cap, waits, why);
    if (!err)
        err = sf_control_capture(control, cap, why);
    if (err)
        return err;
    sign(call, &c);
    c.target = cap->target;
    snprintf(c.what, sizeof(c.what), "capture %s at %u Hz for %u s", cap->types, cap->rate_hz,
             cap->seconds);
    err = sf_control_change(control, &c, NULL, false, why);
    if (!err)
        say_change(call, &c);
    return err;
}

/* Appends a URL-encoded value of a parameter, or a string in one. */
static void add_encoded(struct sf_buf *out, const char *before, const char *text, bool is_quoted)
{
    sf_buf_print(out, "%s%s", before, is_quoted ? "%22" : "");
    for (; *text; text++)
        sf_buf_print(out, "%s%%%02x", is_quoted && (*text == '"' || *text == '\\') ? "%5c" : "",
                     (unsigned char)*text);
    sf_buf_print(out, "%s", is_quoted ? "%22" : "");
}

/* Answers with the captured profile, as GET /api/v1/profile does; of one instance ("": of those
 * whose profiles name none), or, with NULL, of all instances of the service. */
static bool answer_of(struct sf_call *call, struct sf_worker *worker, const struct sf_capture *cap,
                      const char *instance)
{
    const struct sf_request *asked = call->request;
    struct sf_request *r = sf_arena_new(&worker->arena, sizeof(*r));
    struct sf_buf query = {.max = 8192}, room = {.max = SF_LIMIT_PARAM_LEN};
    struct sf_why why = {0};
    sf_str text;
    bool is_made;
    sf_buf_print(&query, "type=%s&from=%" PRId64 "&until=%" PRId64 "&format=%.*s&", cap->types,
                 cap->from_ns, cap->until_ns,
                 SF_STR_ARG(control_calls_param(asked, "format", &room)));
    if (instance) {
        add_encoded(&query, "selector={service_name=", cap->target.service, true);
        add_encoded(&query, ",service.instance.id=", instance, true);
        sf_buf_add_u8(&query, '}');
    } else {
        add_encoded(&query, "service=", cap->target.service, false);
    }
    is_made = r && sf_buf_ok(&query) && sf_arena_copy(&worker->arena, sf_buf_str(&query), &text);
    sf_buf_done(&query);
    sf_buf_done(&room);
    if (!is_made)
        return sf_call_fail(call, sf_no_memory(&why, "the answer"), &why);
    *r = *asked;
    r->query = text;
    call->request = r; /* in the arena until this call is answered */
    sf_profile_read_handle(call, worker);
    call->request = asked;
    return true;
}

static bool answer_capture(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_capture cap;
    struct sf_why why = {0};
    bool is_one;
    if (!sf_control_capture_find(call->service->control_docs, call->capture, &cap) ||
        !cap.from_ns) {
        sf_fail(&why, SF_ERR_DEADLINE,
                "no collector sent the capture in time; `spanflame control collectors` shows when "
                "each was last seen");
        return sf_call_fail(call, SF_ERR_DEADLINE, &why);
    }
    is_one = strcmp(cap.target.instance, "*") != 0;
    answer_of(call, worker, &cap, is_one ? cap.target.instance : NULL);
    if (is_one && call->response->status == 404) { /* maybe its profiles carry no instance name */
        sf_buf_reset(&call->response->body);
        answer_of(call, worker, &cap, "");
    }
    if (call->response->status != 404)
        return true;
    sf_buf_reset(&call->response->body);
    sf_fail(&why, SF_ERR_NOT_FOUND,
            "no samples were captured: the program used no CPU time, or its host is overloaded and "
            "profiling pauses (profiling.load_shedding); GET /api/v1/collectors says which");
    return sf_call_fail(call, SF_ERR_NOT_FOUND, &why);
}

bool sf_control_calls_capture_post(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_capture cap = {0};
    struct sf_why why = {0};
    bool waits = true;
    enum sf_err err;
    if (!check_on(call))
        return true;
    if (call->capture)
        return answer_capture(call, worker);
    err = sf_plain_body_none(call, &why);
    if (!err)
        err = control_calls_begin_capture(call, &cap, &waits, &why);
    if (err)
        return sf_call_fail(call, err, &why);
    if (!waits) {
        write_capture(call, &cap);
        call->response->status = 202;
        return true;
    }
    call->capture = cap.id;
    if (sf_control_capture_wait(call->service->control_docs, cap.id, call))
        return false;
    sf_fail(&why, SF_ERR_BUSY, "too many callers wait; use wait=false");
    return sf_call_fail(call, SF_ERR_BUSY, &why);
}

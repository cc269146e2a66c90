/* recording_rules.c - recording rules: the list in memory, its file, and the calls to get, list,
 * upsert and delete. A rule with a new sum starts a new counter; an upsert must name the generation
 * it replaces. */
#include "serve/pyroscope/recording_rules.h"

#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "base/limits.h"
#include "base/time_unit.h"
#include "intake/redact.h"
#include "os/clock.h"
#include "os/random.h"
#include "serve/connect.h"
#include "serve/pyroscope/recording_list.h"
#include "wire/json.h"

enum { BODY_MAX = 64 << 10, FILE_MAX = 128 << 20, NEW_ID_LEN = 10 };
static const char rules_file[] = "rules", damaged_file[] = "rules.damaged";
const char sf_recording_totals_file[] = "rule_totals";

/* ---- the list ---- */

bool sf_recording_rules_list_read(const struct sf_recording_entry *e, struct sf_arena *req,
                                  struct sf_recording_rule *out)
{
    sf_str line;
    return sf_arena_copy(req, sf_str_from(e->line), &line) &&
           sf_recording_rule_read_line(line, req, out);
}

/* Index of a rule; n: not found. `out` is the parsed rule, in `req`. */
static enum sf_err recording_rules_find(const struct sf_recording_rules *r, sf_str tenant,
                                        sf_str id, struct sf_arena *req,
                                        struct sf_recording_rule *out, size_t *out_at,
                                        struct sf_why *why)
{
    for (size_t i = 0; i < r->n; i++) {
        struct sf_arena before = *req;
        if (!sf_recording_rules_list_read(&r->list[i], req, out))
            return sf_no_room(why, "the rules");
        if (sf_str_eq(out->tenant, tenant) && sf_str_eq(out->id, id)) {
            *out_at = i;
            return SF_OK;
        }
        *req = before;
    }
    *out_at = r->n;
    return SF_OK;
}

static enum sf_err recording_rules_count(const struct sf_recording_rules *r, sf_str tenant,
                                         struct sf_arena scratch, size_t *out, struct sf_why *why)
{
    *out = 0;
    for (size_t i = 0; i < r->n; i++) {
        struct sf_arena room = scratch;
        struct sf_recording_rule rule;
        if (!sf_recording_rules_list_read(&r->list[i], &room, &rule))
            return sf_no_room(why, "the rules");
        *out += sf_str_eq(rule.tenant, tenant);
    }
    return SF_OK;
}

/* ---- the files ---- */

static enum sf_err recording_rules_save(struct sf_recording_rules *r, struct sf_why *why)
{
    struct sf_buf text = {0};
    enum sf_err err;
    for (size_t i = 0; i < r->n; i++)
        sf_buf_print(&text, "%s\n", r->list[i].line);
    err = sf_buf_ok(&text) ? sf_dir_replace(r->dir, rules_file, sf_buf_bytes(&text), why)
                           : sf_no_memory(why, "the rules");
    sf_buf_done(&text);
    return err;
}

static char *copy_line(sf_str line)
{
    char *p = sf_heap_new(line.len + 1);
    if (p && line.len)
        memcpy(p, line.p, line.len);
    return p;
}

static enum sf_err recording_rules_read_file(struct sf_dir *dir, const char *name,
                                             struct sf_buf *out, struct sf_why *why)
{
    struct sf_file file = SF_FILE_NONE;
    enum sf_err err = sf_dir_open_read(dir, name, &file, why);
    if (!err)
        err = sf_file_read_all(&file, FILE_MAX, out, why);
    else if (err == SF_ERR_NOT_FOUND)
        err = SF_OK;
    sf_file_close(&file);
    return err;
}

/* Lines that cannot be read are left out and counted. */
static enum sf_err recording_rules_load(struct sf_recording_rules *r, sf_str text,
                                        struct sf_arena scratch, size_t *n_bad, struct sf_why *why)
{
    sf_str line;
    while (sf_str_split_next(&text, '\n', &line)) {
        struct sf_arena room = scratch;
        struct sf_recording_rule rule;
        if (line.len == 0)
            continue;
        if (r->n == SF_LIMIT_RULES || !sf_recording_rule_read_line(line, &room, &rule)) {
            ++*n_bad;
            continue;
        }
        r->list[r->n].line = copy_line(line);
        if (!r->list[r->n].line)
            return sf_no_memory(why, "the rules");
        r->n++;
    }
    return SF_OK;
}

/* Renames the damaged file for inspection and writes the readable rules in its place, so that the
 * server can start. */
static enum sf_err recording_rules_set_aside(struct sf_recording_rules *r, size_t n_bad,
                                             char notice[240], struct sf_why *why)
{
    enum sf_err err = sf_dir_rename(r->dir, rules_file, damaged_file, why);
    if (!err)
        err = recording_rules_save(r, why);
    if (!err)
        snprintf(notice, 240,
                 "rules: %zu of %zu lines of the file cannot be read and are left out; the file "
                 "is kept as %s",
                 n_bad, n_bad + r->n, damaged_file);
    return err;
}

enum sf_err sf_recording_rules_open(struct sf_dir *dir, struct sf_recording_rules **out,
                                    char notice[240], struct sf_why *why)
{
    struct sf_recording_rules *r = sf_heap_new(sizeof(*r));
    struct sf_buf text = {.max = FILE_MAX};
    struct sf_arena scratch = {0};
    struct sf_why lost = {0};
    size_t n_bad = 0;
    enum sf_err err;
    notice[0] = 0;
    if (!r)
        return sf_no_memory(why, "the rules");
    sf_mutex_init(&r->lock, SF_LOCK_SERVE_RULES);
    r->dir = dir;
    err = sf_arena_init(&scratch, (size_t)4 << 20) ? SF_OK : sf_no_memory(why, "the rules");
    if (!err)
        err = recording_rules_read_file(dir, rules_file, &text, why);
    if (!err)
        err = recording_rules_load(r, sf_buf_str(&text), scratch, &n_bad, why);
    if (!err && n_bad)
        err = recording_rules_set_aside(r, n_bad, notice, why);
    sf_buf_reset(&text);
    if (!err)
        err = recording_rules_read_file(dir, sf_recording_totals_file, &text, why);
    if (!err && sf_recording_totals_read(&r->totals, sf_buf_str(&text), scratch, &lost))
        snprintf(notice + strlen(notice), 240 - strlen(notice),
                 "%srules: the sums of recording rules are made anew from the store: %.100s: %.80s",
                 notice[0] ? "; " : "", sf_recording_totals_file, lost.text);
    sf_arena_done(&scratch);
    sf_buf_done(&text);
    if (err)
        sf_recording_rules_close(r);
    else
        *out = r;
    return err;
}

void sf_recording_rules_close(struct sf_recording_rules *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->n; i++)
        sf_heap_free(r->list[i].line);
    sf_recording_totals_done(&r->totals);
    sf_mutex_done(&r->lock);
    sf_heap_free(r);
}

/* ---- changes; with the lock ---- */

/* Whether a change stays within the limits; a rule that does not get longer always does. */
static bool recording_rules_fits(const struct sf_recording_rules *r, size_t at, size_t len,
                                 struct sf_why *why)
{
    size_t all_len = len;
    if (at < r->n && len <= strlen(r->list[at].line))
        return true;
    for (size_t i = 0; i < r->n; i++)
        all_len += i == at ? 0 : strlen(r->list[i].line);
    return all_len <= SF_LIMIT_RULES_TEXT_LEN ||
           !sf_fail(why, SF_ERR_LIMIT, "recording rules have at most %u bytes together",
                    SF_LIMIT_RULES_TEXT_LEN);
}

/* Undoes the change in memory when the file cannot be written. */
static enum sf_err recording_rules_put(struct sf_recording_rules *r, size_t at,
                                       const struct sf_recording_rule *rule,
                                       struct sf_arena scratch, struct sf_why *why)
{
    struct sf_recording_entry before = {0};
    struct sf_buf line = {0};
    char *fresh;
    enum sf_err err;
    sf_recording_rule_add_line(rule, scratch, &line);
    fresh = sf_buf_ok(&line) ? copy_line(sf_str_part(sf_buf_str(&line), 0, line.len - 1)) : NULL;
    sf_buf_done(&line);
    if (!fresh)
        return sf_no_memory(why, "the rule");
    if (!recording_rules_fits(r, at, strlen(fresh), why)) {
        sf_heap_free(fresh);
        return SF_ERR_LIMIT;
    }
    if (at < r->n)
        before = r->list[at];
    else
        r->n++;
    r->list[at].line = fresh;
    err = recording_rules_save(r, why);
    if (!err) {
        sf_heap_free(before.line);
        return SF_OK;
    }
    sf_heap_free(fresh);
    r->list[at] = before;
    if (!before.line)
        r->n--;
    return err;
}

static enum sf_err recording_rules_take_out(struct sf_recording_rules *r, size_t at,
                                            struct sf_why *why)
{
    struct sf_recording_entry before = r->list[at];
    enum sf_err err;
    memmove(&r->list[at], &r->list[at + 1], (r->n - at - 1) * sizeof(before));
    r->n--;
    err = recording_rules_save(r, why);
    if (!err) {
        sf_heap_free(before.line);
        return SF_OK;
    }
    memmove(&r->list[at + 1], &r->list[at], (r->n - at) * sizeof(before));
    r->list[at] = before;
    r->n++;
    return err;
}

/* ---- the calls ---- */

static const struct sf_outcome conflict = {409, 6, 0};

static bool send_rule(struct sf_call *call, const struct sf_recording_rule *rule,
                      struct sf_arena scratch)
{
    struct sf_message m = sf_message_init(&call->response->body, sf_connect_is_json(call));
    size_t mark;
    sf_message_open(&m);
    mark = sf_message_begin(&m, 1, "rule");
    sf_recording_rule_write(rule, scratch, &m);
    sf_message_end(&m, mark);
    sf_message_close(&m);
    if (!sf_buf_ok(m.out))
        return sf_call_fail(call, SF_ERR_NOMEM, NULL);
    sf_connect_ok(call);
    return true;
}

/* Reads the id of a get or a delete: field 1. */
static enum sf_err recording_rules_read_id(struct sf_call *call, struct sf_arena *req, sf_str *out,
                                           struct sf_why *why)
{
    struct sf_recording_rule ask = {0};
    sf_str body;
    enum sf_err err = sf_connect_body(call, BODY_MAX, req, &body, why);
    if (!err)
        err = sf_recording_rule_read(body, sf_connect_is_json(call), req, &ask, why);
    sf_counters_add(call->service->counters, SF_COUNT_UNKNOWN_PYROSCOPE, ask.n_unknown);
    if (!err && sf_str_trim(ask.id).len == 0)
        err = sf_fail(why, SF_ERR_INPUT, "id is required");
    if (!err)
        *out = ask.id;
    return err;
}

static enum sf_err no_rule(sf_str id, struct sf_why *why)
{
    return sf_fail(why, SF_ERR_NOT_FOUND, "no rule with id='%.*s' found",
                   SF_STR_ARG(sf_str_part(id, 0, 80)));
}

/* The rule that a call names; NOT_FOUND when there is none. */
static enum sf_err recording_rules_find_known(const struct sf_recording_rules *r, sf_str tenant,
                                              sf_str id, struct sf_arena *req,
                                              struct sf_recording_rule *out, size_t *out_at,
                                              struct sf_why *why)
{
    enum sf_err err = recording_rules_find(r, tenant, id, req, out, out_at, why);
    return !err && *out_at == r->n ? no_rule(id, why) : err;
}

bool sf_recording_rules_get(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_recording_rules *r = call->service->rules;
    struct sf_recording_rule rule;
    struct sf_why why = {0};
    sf_str id;
    size_t at = 0;
    enum sf_err err;
    if (!sf_connect_admit(call))
        return true;
    err = recording_rules_read_id(call, &worker->arena, &id, &why);
    if (!err) {
        sf_mutex_lock(&r->lock);
        err = recording_rules_find_known(r, call->tenant, id, &worker->arena, &rule, &at, &why);
        sf_mutex_unlock(&r->lock);
    }
    return err ? sf_call_fail(call, err, &why) : send_rule(call, &rule, worker->arena);
}

bool sf_recording_rules_list(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_recording_rules *r = call->service->rules;
    struct sf_message m = sf_message_init(&call->response->body, sf_connect_is_json(call));
    struct sf_why why = {0};
    enum sf_err err = SF_OK;
    bool has_any = false;
    if (!sf_connect_admit(call))
        return true;
    sf_message_open(&m);
    sf_mutex_lock(&r->lock);
    for (size_t i = 0; !err && i < r->n; i++) {
        struct sf_arena room = worker->arena;
        struct sf_recording_rule rule;
        size_t mark;
        if (!sf_recording_rules_list_read(&r->list[i], &room, &rule))
            err = sf_no_room(&why, "the rules");
        if (err || !sf_str_eq(rule.tenant, call->tenant))
            continue;
        if (!has_any)
            sf_message_list(&m, "rules");
        has_any = true;
        mark = sf_message_item(&m, 1);
        sf_recording_rule_write(&rule, room, &m);
        sf_message_end(&m, mark);
    }
    sf_mutex_unlock(&r->lock);
    if (has_any)
        sf_message_list_end(&m);
    sf_message_close(&m);
    if (!err && !sf_buf_ok(m.out))
        err = sf_no_memory(&why, "the answer");
    if (err)
        return sf_call_fail(call, err, &why);
    sf_connect_ok(call);
    return true;
}

static void recording_rules_make_id(char out[NEW_ID_LEN])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (size_t i = 0; i < NEW_ID_LEN; i++)
        out[i] = letters[sf_random_u64() % (sizeof(letters) - 1)];
}

/* A text that selects data is refused if it contains a secret: after redaction it would select
 * something else. Labels of profiles have [REDACTED] in its place. */
static enum sf_err recording_rules_refuse_secret(const struct sf_redactor *redactor,
                                                 struct sf_arena *req, sf_str key, sf_str value,
                                                 struct sf_why *why)
{
    struct sf_attr attr = {key, {.type = SF_VALUE_STR, .str = value}};
    uint64_t n = 0;
    enum sf_err err = sf_redact_attr(redactor, req, &attr, &n, why);
    if (err || sf_str_starts(value, SF_STR("[REDACTED")))
        return err;
    return sf_str_eq(attr.key, key) && sf_str_eq(attr.val.str, value)
               ? SF_OK
               : sf_fail(why, SF_ERR_INPUT,
                         "a name or matcher looks like a secret, and rules are stored; labels of "
                         "profiles have [REDACTED] in its place");
}

static enum sf_err recording_rules_refuse_secrets(const struct sf_redactor *redactor,
                                                  const struct sf_recording_rule *rule,
                                                  struct sf_arena *req, struct sf_why *why)
{
    struct sf_label_selector selector = {0};
    enum sf_err err = sf_recording_rule_selector(rule, req, &selector, why);
    for (size_t i = 0; !err && i < selector.n; i++)
        err = recording_rules_refuse_secret(redactor, req, selector.list[i].key,
                                            selector.list[i].val, why);
    for (size_t i = 0; !err && i < rule->n_groups; i++)
        err = recording_rules_refuse_secret(redactor, req, SF_STR("label"), rule->groups[i], why);
    if (!err)
        err = recording_rules_refuse_secret(redactor, req, SF_STR("name"), rule->metric, why);
    return err ? err
               : recording_rules_refuse_secret(redactor, req, SF_STR("function"), rule->function,
                                               why);
}

/* Rules are written to disk, and external labels exposed on /metrics: without secrets. */
static enum sf_err recording_rules_redact(struct sf_call *call, struct sf_arena *req,
                                          struct sf_recording_rule *rule, struct sf_why *why)
{
    const struct sf_redactor *redactor = call->service->intake.redactor;
    enum sf_err err = redactor ? recording_rules_refuse_secrets(redactor, rule, req, why) : SF_OK;
    uint64_t n = 0;
    for (size_t i = 0; redactor && !err && i < rule->n_labels; i++) {
        struct sf_label *l = &rule->labels[i];
        struct sf_attr attr = {l->key, {.type = SF_VALUE_STR, .str = l->val}};
        err = sf_redact_attr(redactor, req, &attr, &n, why);
        if (!err)
            l->val = attr.val.str;
    }
    sf_counters_add(call->service->counters, SF_COUNT_REDACTIONS, n);
    return err;
}

/* Outcome of an upsert that returned SF_OK. */
enum upsert { DONE, CONFLICT, EXHAUSTED };

/* With the lock. */
static enum sf_err upsert(struct sf_recording_rules *r, struct sf_recording_rule *rule,
                          struct sf_arena *req, enum upsert *out, struct sf_why *why)
{
    struct sf_recording_rule before;
    size_t at = 0, n = 0;
    enum sf_err err = recording_rules_find(r, rule->tenant, rule->id, req, &before, &at, why);
    bool is_new = at == r->n;
    if (!err && !is_new && rule->generation != before.generation) {
        *out = CONFLICT;
        return SF_OK;
    }
    if (!err && is_new)
        err = recording_rules_count(r, rule->tenant, *req, &n, why);
    if (!err && is_new && (n >= SF_LIMIT_TENANT_RULES || r->n == SF_LIMIT_RULES)) {
        *out = EXHAUSTED;
        return SF_OK;
    }
    if (err)
        return err;
    rule->generation = is_new ? 1 : before.generation + 1;
    rule->since_ns = is_new || !sf_recording_rule_is_same_sum(&before, rule) ? sf_clock_wall_ns()
                                                                             : before.since_ns;
    err = recording_rules_put(r, at, rule, *req, why);
    if (!err && (is_new || rule->since_ns != before.since_ns))
        sf_recording_totals_remove(&r->totals, rule->tenant, rule->id);
    return err;
}

bool sf_recording_rules_upsert(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_recording_rules *r = call->service->rules;
    struct sf_recording_rule rule = {0};
    struct sf_why why = {0};
    char id[NEW_ID_LEN];
    enum upsert outcome = DONE;
    bool is_full = false;
    sf_str body;
    enum sf_err err;
    if (!sf_connect_admit(call))
        return true;
    err = sf_connect_body(call, BODY_MAX, &worker->arena, &body, &why);
    if (!err)
        err = sf_recording_rule_read(body, sf_connect_is_json(call), &worker->arena, &rule, &why);
    sf_counters_add(call->service->counters, SF_COUNT_UNKNOWN_PYROSCOPE, rule.n_unknown);
    if (!err)
        err = sf_recording_rule_check(&rule, worker->arena, &why);
    if (!err)
        err = recording_rules_redact(call, &worker->arena, &rule, &why);
    if (!err) {
        rule.tenant = call->tenant;
        if (rule.id.len == 0) {
            recording_rules_make_id(id);
            rule.id = (sf_str){id, NEW_ID_LEN};
        }
        sf_mutex_lock(&r->lock);
        err = upsert(r, &rule, &worker->arena, &outcome, &why);
        is_full = err == SF_ERR_LIMIT;
        sf_mutex_unlock(&r->lock);
    }
    if (is_full)
        return sf_call_refuse(call, SF_COUNT_REJECT_TOO_LARGE, sf_status_quota, why.text);
    if (err)
        return sf_call_fail(call, err, &why);
    if (outcome == CONFLICT)
        return sf_call_refuse(call, SF_COUNT_REJECT_MALFORMED, conflict,
                              "conflicting update, please try again");
    if (outcome == EXHAUSTED) {
        sf_fail(&why, SF_ERR_LIMIT, "recording rules limit (%d) exceeded for this tenant",
                SF_LIMIT_TENANT_RULES);
        return sf_call_refuse(call, SF_COUNT_REJECT_TOO_LARGE, sf_status_quota, why.text);
    }
    return send_rule(call, &rule, worker->arena);
}

bool sf_recording_rules_delete(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_recording_rules *r = call->service->rules;
    struct sf_message m = sf_message_init(&call->response->body, sf_connect_is_json(call));
    struct sf_recording_rule rule;
    struct sf_why why = {0};
    sf_str id;
    size_t at = 0;
    enum sf_err err;
    if (!sf_connect_admit(call))
        return true;
    err = recording_rules_read_id(call, &worker->arena, &id, &why);
    if (!err) {
        sf_mutex_lock(&r->lock);
        err = recording_rules_find_known(r, call->tenant, id, &worker->arena, &rule, &at, &why);
        if (!err)
            err = recording_rules_take_out(r, at, &why);
        if (!err)
            sf_recording_totals_remove(&r->totals, call->tenant, id);
        sf_mutex_unlock(&r->lock);
    }
    if (err)
        return sf_call_fail(call, err, &why);
    sf_message_open(&m);
    sf_message_close(&m);
    sf_connect_ok(call);
    return true;
}

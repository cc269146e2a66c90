/* alert_book.c - a list of alerts, found by rule, tenant and labels. A step marks the alerts that
 * the rule's results contain, moves them from pending to firing after the rule's `for` time, and
 * resolves those that are missing. The list is written to and read from a file of one line per
 * alert. */
#include "alert/alert_book.h"

#include <inttypes.h>
#include <string.h>

#include "base/checked_lines.h"
#include "base/heap.h"
#include "base/time_unit.h"
#include "wire/json.h"
#include "wire/json_write.h"

/* How long a resolved alert is kept for receivers that cannot be reached. */
static const int64_t KEPT_NS = 15 * SF_NS_PER_MIN;
enum { MOST = SF_LIMIT_ALERT_RULES * SF_LIMIT_ALERT_SERIES, TEXTS = 6 };

/* ---- the list ---- */

static void alert_book_done(struct sf_alert *a)
{
    sf_heap_free(a->rule);
    sf_heap_free(a->tenant);
    sf_heap_free(a->labels);
    sf_heap_free(a->notes);
    sf_heap_free(a->reason);
    sf_heap_free(a->spans);
}

void sf_alert_book_done(struct sf_alert_book *b)
{
    for (size_t i = 0; i < b->n; i++)
        alert_book_done(&b->list[i]);
    sf_heap_free(b->list);
    *b = (struct sf_alert_book){0};
}

char *sf_alert_book_copy(sf_str s)
{
    char *p = sf_heap_new(s.len + 1);
    if (p && s.len)
        memcpy(p, s.p, s.len);
    return p;
}

static void alert_book_drop(struct sf_alert_book *b, size_t i)
{
    alert_book_done(&b->list[i]);
    memmove(&b->list[i], &b->list[i + 1], (b->n - i - 1) * sizeof(*b->list));
    b->n--;
    b->is_changed = true;
}

static struct sf_alert *alert_book_add(struct sf_alert_book *b, sf_str rule, sf_str tenant,
                                       sf_str labels)
{
    struct sf_alert *a;
    if (b->n == b->cap) {
        size_t cap = b->cap ? 2 * b->cap : 16;
        struct sf_alert *list = sf_heap_new_n(cap, sizeof(*list));
        if (!list)
            return NULL;
        if (b->n)
            memcpy(list, b->list, b->n * sizeof(*list));
        sf_heap_free(b->list);
        b->list = list;
        b->cap = cap;
    }
    a = &b->list[b->n];
    *a = (struct sf_alert){.rule = sf_alert_book_copy(rule),
                           .tenant = sf_alert_book_copy(tenant),
                           .labels = sf_alert_book_copy(labels)};
    if (!a->rule || !a->tenant || !a->labels) {
        alert_book_done(a);
        return NULL;
    }
    b->n++;
    b->is_changed = true;
    return a;
}

bool sf_alert_book_is_of(const struct sf_alert *a, const struct sf_alert_rule *rule)
{
    return sf_str_eq(sf_str_from(a->rule), rule->name) &&
           (rule->is_each || sf_str_eq(sf_str_from(a->tenant), rule->tenant));
}

static struct sf_alert *alert_book_find(struct sf_alert_book *b, const struct sf_alert_rule *rule,
                                        sf_str labels)
{
    for (size_t i = 0; i < b->n; i++) {
        if (sf_alert_book_is_of(&b->list[i], rule) &&
            sf_str_eq(sf_str_from(b->list[i].labels), labels))
            return &b->list[i];
    }
    return NULL;
}

/* ---- applying a result ---- */

static void alert_book_resolve(struct sf_alert_book *b, struct sf_alert *a, int64_t now_ns)
{
    a->state = SF_ALERT_RESOLVED;
    a->resolved_ns = a->changed_ns = now_ns;
    a->is_news = b->is_changed = true;
}

static enum sf_err alert_book_see(struct sf_alert_book *b, const struct sf_alert_rule *rule,
                                  const struct sf_alert_value *v, int64_t now_ns,
                                  struct sf_why *why)
{
    struct sf_alert *a = alert_book_find(b, rule, v->labels);
    char *notes = sf_alert_book_copy(v->notes);
    if (!a && notes)
        a = alert_book_add(b, rule->name, rule->tenant, v->labels);
    if (!a || !notes) {
        sf_heap_free(notes);
        return sf_no_memory(why, "alerts");
    }
    sf_heap_free(a->notes);
    a->notes = notes;
    a->value = v->value;
    a->is_seen = true;
    if (a->since_ns == 0 || a->state == SF_ALERT_RESOLVED) {
        a->state = SF_ALERT_PENDING;
        a->since_ns = now_ns;
        a->fired_ns = a->resolved_ns = 0;
        sf_heap_free(a->reason);
        a->reason = NULL;
        b->is_changed = true;
    }
    if (!a->spans && v->spans.len)
        a->spans = sf_alert_book_copy(v->spans); /* on failure NULL: the spans of the rule are
                                                  * used */
    if (!a->reason && v->reason.len)
        a->reason = sf_alert_book_copy(v->reason); /* on failure NULL: the alert has no reason */
    if (a->state == SF_ALERT_PENDING && now_ns - a->since_ns >= rule->for_ns) {
        a->state = SF_ALERT_FIRING;
        a->fired_ns = a->changed_ns = now_ns;
        a->is_news = b->is_changed = true;
    }
    return SF_OK;
}

enum sf_err sf_alert_book_step(struct sf_alert_book *b, const struct sf_alert_rule *rule,
                               const struct sf_alert_value *values, size_t n, bool is_partial,
                               int64_t now_ns, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (size_t i = 0; i < b->n; i++)
        b->list[i].is_seen = false;
    if (n > SF_LIMIT_ALERT_SERIES) {
        b->n_dropped += n - SF_LIMIT_ALERT_SERIES;
        n = SF_LIMIT_ALERT_SERIES;
    }
    for (size_t i = 0; !err && i < n; i++)
        err = alert_book_see(b, rule, &values[i], now_ns, why);
    if (err || is_partial)
        return err;
    for (size_t i = b->n; i-- > 0;) {
        struct sf_alert *a = &b->list[i];
        if (a->is_seen || !sf_alert_book_is_of(a, rule))
            continue;
        if (a->state == SF_ALERT_PENDING)
            alert_book_drop(b, i);
        else if (a->state == SF_ALERT_FIRING)
            alert_book_resolve(b, a, now_ns);
    }
    return SF_OK;
}

void sf_alert_book_tidy(struct sf_alert_book *b, const struct sf_alert_rules *rules, int64_t now_ns)
{
    for (size_t i = b->n; i-- > 0;) {
        struct sf_alert *a = &b->list[i];
        bool is_known = false;
        for (size_t k = 0; !is_known && k < rules->n; k++)
            is_known = sf_alert_book_is_of(a, &rules->list[k]);
        if (!is_known && a->state == SF_ALERT_FIRING)
            alert_book_resolve(b, a, now_ns);
        if ((!is_known && a->state == SF_ALERT_PENDING) ||
            (a->state == SF_ALERT_RESOLVED && now_ns - a->resolved_ns > KEPT_NS))
            alert_book_drop(b, i);
    }
}

void sf_alert_book_publish(struct sf_alert_book *b)
{
    uint64_t change = b->n_changes + 1;
    for (size_t i = 0; i < b->n; i++) {
        if (!b->list[i].is_news)
            continue;
        b->list[i].is_news = false;
        b->list[i].change = b->n_changes = change;
    }
}

/* ---- the file ---- */

static const char head[] = "spanflame-alerts 1 ";

void sf_alert_book_write(const struct sf_alert_book *b, struct sf_buf *out)
{
    struct sf_buf body = {0};
    sf_buf_print(&body, "%" PRId64 "\n", b->last_ns);
    for (size_t i = 0; i < b->n; i++) {
        const struct sf_alert *a = &b->list[i];
        struct sf_json_writer j = sf_json_writer_init(&body);
        const char *const texts[] = {a->rule, a->tenant, a->labels, a->notes, a->reason, a->spans};
        sf_json_write_array(&j);
        sf_json_write_u64(&j, a->state);
        sf_json_write_i64(&j, a->since_ns);
        sf_json_write_i64(&j, a->fired_ns);
        sf_json_write_i64(&j, a->resolved_ns);
        sf_json_write_i64(&j, a->changed_ns);
        sf_json_write_f64(&j, a->value);
        for (size_t k = 0; k < TEXTS; k++)
            sf_json_write_str(&j, sf_str_from(texts[k]));
        sf_json_write_array_end(&j);
        sf_buf_add_u8(&body, '\n');
    }
    sf_checked_lines_write(head, &body, out);
}

static bool alert_book_read_line(struct sf_alert_book *b, sf_str line, struct sf_arena *room)
{
    struct sf_json j;
    struct sf_alert read = {0}, *a;
    sf_str texts[TEXTS] = {{0}};
    sf_json_init(&j, line, room);
    if (!sf_json_array(&j))
        return false;
    for (unsigned i = 0; sf_json_item(&j); i++) {
        switch (i) {
        case 0: read.state = (enum sf_alert_state)sf_json_u32(&j); break;
        case 1: read.since_ns = sf_json_i64(&j); break;
        case 2: read.fired_ns = sf_json_i64(&j); break;
        case 3: read.resolved_ns = sf_json_i64(&j); break;
        case 4: read.changed_ns = sf_json_i64(&j); break;
        case 5: read.value = sf_json_f64(&j); break;
        default:
            if (i < 6 + TEXTS) /* files of older versions have fewer */
                texts[i - 6] = sf_json_str(&j);
            else
                sf_json_skip(&j);
        }
    }
    if (!sf_json_ok(&j) || read.state > SF_ALERT_RESOLVED || read.since_ns <= 0 ||
        texts[0].len == 0 || b->n == MOST)
        return false;
    a = alert_book_add(b, texts[0], texts[1], texts[2]);
    if (!a)
        return false;
    read.rule = a->rule;
    read.tenant = a->tenant;
    read.labels = a->labels;
    read.notes = sf_alert_book_copy(texts[3]);
    read.reason = texts[4].len ? sf_alert_book_copy(texts[4]) : NULL;
    read.spans = texts[5].len ? sf_alert_book_copy(texts[5]) : NULL;
    read.is_news = read.state != SF_ALERT_PENDING; /* receivers of this run do not know it yet */
    *a = read;
    return a->notes != NULL;
}

enum sf_err sf_alert_book_read(struct sf_alert_book *b, sf_str text, struct sf_why *why)
{
    struct sf_arena arena = {0};
    sf_str line, rest;
    bool is_ok;
    enum sf_err err = sf_checked_lines_read(head, "alerts", text, &rest, why);
    if (err)
        return err;
    if (!sf_arena_init(&arena, (size_t)1 << 20))
        return sf_no_memory(why, "alerts");
    is_ok = sf_str_split_next(&rest, '\n', &line) && sf_str_to_i64(line, &b->last_ns);
    while (is_ok && sf_str_split_next(&rest, '\n', &line)) {
        sf_arena_reset(&arena);
        is_ok = line.len == 0 || alert_book_read_line(b, line, &arena);
    }
    sf_arena_done(&arena);
    b->is_changed = false;
    if (is_ok)
        return SF_OK;
    sf_alert_book_done(b);
    return sf_fail(why, SF_ERR_CORRUPT, "alerts: a line that cannot be read");
}

bool sf_alert_book_label(const struct sf_alert *a, sf_str key, struct sf_arena *req, sf_str *out)
{
    struct sf_json j;
    sf_str text, name;
    bool has = false;
    if (!sf_arena_print(req, &text, "{%s}", a->labels))
        return false;
    sf_json_init(&j, text, req);
    if (!sf_json_object(&j))
        return false;
    while (sf_json_key(&j, &name)) {
        if (sf_str_eq(name, key)) {
            *out = sf_json_str(&j);
            has = true;
        } else {
            sf_json_skip(&j);
        }
    }
    return has && sf_json_ok(&j);
}

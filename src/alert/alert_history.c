#include "alert/alert_history.h"

#include <string.h>

#include "base/checked_lines.h"
#include "base/heap.h"
#include "wire/json.h"
#include "wire/json_write.h"

static void alert_history_done(struct sf_alert_event *e)
{
    sf_heap_free(e->rule);
    sf_heap_free(e->tenant);
    sf_heap_free(e->labels);
    sf_heap_free(e->reason);
}

void sf_alert_history_done(struct sf_alert_history *h)
{
    for (size_t i = 0; i < h->n; i++)
        alert_history_done(&h->list[i]);
    sf_heap_free(h->list);
    *h = (struct sf_alert_history){0};
}

static struct sf_alert_event *alert_history_add(struct sf_alert_history *h, sf_str rule,
                                                sf_str tenant, sf_str labels)
{
    struct sf_alert_event e = {.rule = sf_alert_book_copy(rule),
                               .tenant = sf_alert_book_copy(tenant),
                               .labels = sf_alert_book_copy(labels)};
    if (!h->list)
        h->list = sf_heap_new_n(SF_LIMIT_ALERT_HISTORY, sizeof(*h->list));
    if (!h->list || !e.rule || !e.tenant || !e.labels) {
        alert_history_done(&e);
        return NULL;
    }
    if (h->n == SF_LIMIT_ALERT_HISTORY) {
        alert_history_done(&h->list[0]);
        memmove(&h->list[0], &h->list[1], (h->n - 1) * sizeof(*h->list));
        h->n--;
    }
    h->list[h->n] = e;
    return &h->list[h->n++];
}

static struct sf_alert_event *find_open(struct sf_alert_history *h, const struct sf_alert *a)
{
    for (size_t i = h->n; i-- > 0;) {
        struct sf_alert_event *e = &h->list[i];
        if (!e->resolved_ns && strcmp(e->rule, a->rule) == 0 && strcmp(e->tenant, a->tenant) == 0 &&
            strcmp(e->labels, a->labels) == 0)
            return e;
    }
    return NULL;
}

void sf_alert_history_see(struct sf_alert_history *h, const struct sf_alert_book *b, int64_t now_ns)
{
    for (size_t i = 0; i < b->n; i++) {
        const struct sf_alert *a = &b->list[i];
        struct sf_alert_event *e;
        if (a->state == SF_ALERT_PENDING || a->changed_ns != now_ns)
            continue;
        e = find_open(h, a);
        if (!e && a->state == SF_ALERT_FIRING) {
            e = alert_history_add(h, sf_str_from(a->rule), sf_str_from(a->tenant),
                                  sf_str_from(a->labels));
            if (!e)
                continue;
            e->fired_ns = a->fired_ns;
            e->value = a->value;
            e->was_silenced = a->is_silenced;
        } else if (e && a->state == SF_ALERT_RESOLVED) {
            e->resolved_ns = a->resolved_ns;
        }
        if (e && !e->reason && a->reason)
            e->reason = sf_alert_book_copy(sf_str_from(a->reason));
        h->is_changed = true;
    }
}

/* ---- the file ---- */

static const char head[] = "spanflame-alert-history 1 ";

void sf_alert_history_write(const struct sf_alert_history *h, struct sf_buf *out)
{
    struct sf_buf body = {0};
    for (size_t i = 0; i < h->n; i++) {
        const struct sf_alert_event *e = &h->list[i];
        struct sf_json_writer j = sf_json_writer_init(&body);
        const char *const texts[] = {e->rule, e->tenant, e->labels, e->reason};
        sf_json_write_array(&j);
        sf_json_write_i64(&j, e->fired_ns);
        sf_json_write_i64(&j, e->resolved_ns);
        sf_json_write_f64(&j, e->value);
        sf_json_write_bool(&j, e->was_silenced);
        for (size_t k = 0; k < 4; k++)
            sf_json_write_str(&j, sf_str_from(texts[k]));
        sf_json_write_array_end(&j);
        sf_buf_add_u8(&body, '\n');
    }
    sf_checked_lines_write(head, &body, out);
}

static bool alert_history_read_line(struct sf_alert_history *h, sf_str line, struct sf_arena *room)
{
    struct sf_alert_event read = {0}, *e;
    sf_str texts[4] = {{0}};
    struct sf_json j;
    sf_json_init(&j, line, room);
    if (!sf_json_array(&j))
        return false;
    for (unsigned i = 0; sf_json_item(&j); i++) {
        switch (i) {
        case 0: read.fired_ns = sf_json_i64(&j); break;
        case 1: read.resolved_ns = sf_json_i64(&j); break;
        case 2: read.value = sf_json_f64(&j); break;
        case 3: read.was_silenced = sf_json_bool(&j); break;
        case 4:
        case 5:
        case 6:
        case 7: texts[i - 4] = sf_json_str(&j); break;
        default: sf_json_skip(&j); break;
        }
    }
    if (!sf_json_ok(&j) || read.fired_ns <= 0 || !texts[0].len)
        return false;
    e = alert_history_add(h, texts[0], texts[1], texts[2]);
    if (!e)
        return false;
    e->fired_ns = read.fired_ns;
    e->resolved_ns = read.resolved_ns;
    e->value = read.value;
    e->was_silenced = read.was_silenced;
    e->reason = texts[3].len ? sf_alert_book_copy(texts[3]) : NULL;
    return true;
}

enum sf_err sf_alert_history_read(struct sf_alert_history *h, sf_str text, struct sf_why *why)
{
    struct sf_arena arena = {0};
    sf_str line, rest;
    bool is_ok = true;
    enum sf_err err = sf_checked_lines_read(head, "history of alerts", text, &rest, why);
    if (err)
        return err;
    if (!sf_arena_init(&arena, (size_t)1 << 20))
        return sf_no_memory(why, "alerts");
    while (is_ok && sf_str_split_next(&rest, '\n', &line)) {
        sf_arena_reset(&arena);
        is_ok = line.len == 0 || alert_history_read_line(h, line, &arena);
    }
    sf_arena_done(&arena);
    h->is_changed = false;
    if (is_ok)
        return SF_OK;
    sf_alert_history_done(h);
    return sf_fail(why, SF_ERR_CORRUPT, "history of alerts: a line that cannot be read");
}
